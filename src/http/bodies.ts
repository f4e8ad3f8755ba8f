/** Bodies while they come in: each within its limit, all within their room, and what nobody reads thrown away in bounds. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** `name` is the same for all that one sender sends: an address, or the name of a token. */
export type BodySender = { room: 'webhooks' | 'api'; name: string };

export type Bodies = {
  /**
   * Rejects with `statusCode` 413, 503 (there is no room, or not any more) or 400 (it broke off). What was read counts until
   * `release`.
   */
  read: (request: IncomingMessage, limitBytes: number, sender: BodySender) => Promise<Buffer>;
  /** The body of this request is in use no longer. */
  release: (request: IncomingMessage) => void;
  heldBytes: () => number;
};

/** `giveUp` makes room: the body is not read on. */
type Coming = { sinceMs: number; giveUp: () => void };
/** `coming`: bodies that are not whole yet, in the order in which they began. */
type Share = { held: number; limitBytes: number; coming: Set<Coming> };

/** So much of a body always finds room: it is bounded by the number of connections. */
const firstBytes = 65_536;
/** Of webhooks' room, for one sender; never less than one body. */
const webhookPart = 0.5;
/** Bodies of the API do not compete with webhooks: so many of the largest for one token, and for all together. */
const apiTokenBodies = 2;
const apiRoomBodies = 8;
/** A body that takes longer than this makes room for others when there is none. */
const patienceMs = 1_000;

const codings: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'compress', 'x-compress']);

/** How a body is coded that is not sent as it is, in words that quote nothing else; null: it is sent as it is. */
export function codingOf(headers: IncomingHttpHeaders): string | null {
  const named = (headers['content-encoding'] ?? '').split(',').map((each) => each.trim().toLowerCase());
  const coding = named.find((each) => each !== '' && each !== 'identity');
  if (coding === undefined) return null;
  return codings.has(coding) ? coding : 'a coding that is not known here';
}

/** Whether it was sent in a transfer coding other than chunked (RFC 9112, 6.1); Node takes that one off, and leaves others on. */
export function isTransferCoded(headers: IncomingHttpHeaders): boolean {
  const named = headers['transfer-encoding'];
  return named !== undefined && named.trim().toLowerCase() !== 'chunked';
}

/** `webhookBytes`: room for all webhooks together. `apiBodyBytes`: the largest body of the API. `onFull` hears of each body that found no room or had to give it up. */
export function createBodies(
  { webhookBytes, apiBodyBytes }: { webhookBytes: number; apiBodyBytes: number },
  monotonicMs: () => number,
  onFull: (room: BodySender['room']) => void,
): Bodies {
  const rooms = { webhooks: newShare(webhookBytes), api: newShare(apiRoomBodies * apiBodyBytes) };
  /** Of those that have a body here. */
  const senders = new Map<string, Share & { bodies: number }>();
  const heldBy = new Map<IncomingMessage, { bytes: number; leave: () => void; shares: readonly Share[] }>();

  function release(request: IncomingMessage): void {
    const held = heldBy.get(request);
    if (held === undefined) return;
    heldBy.delete(request);
    for (const share of held.shares) share.held -= held.bytes;
    held.leave();
  }

  function enter({ room, name }: BodySender, bodyLimitBytes: number): { shares: Share[]; leave: () => void } {
    const key = `${room}:${name}`;
    const part =
      room === 'api' ? apiTokenBodies * apiBodyBytes : Math.max(bodyLimitBytes, Math.floor(webhookBytes * webhookPart));
    const own = senders.get(key) ?? { ...newShare(part), bodies: 0 };
    senders.set(key, own);
    own.bodies += 1;
    const leave = (): void => {
      own.bodies -= 1;
      if (own.bodies === 0) senders.delete(key);
    };
    return { shares: [own, rooms[room]], leave };
  }

  /** Whether there is room for so many more bytes, where need be after bodies that take too long have given up. */
  function makeRoom(shares: readonly Share[], bytes: number, asking: Coming): boolean {
    for (const share of shares) {
      while (share.held + bytes > share.limitBytes) {
        const [slowest] = share.coming;
        if (slowest === undefined || slowest === asking || monotonicMs() - slowest.sinceMs < patienceMs) return false;
        slowest.giveUp();
      }
    }
    return true;
  }

  function read(request: IncomingMessage, limitBytes: number, sender: BodySender): Promise<Buffer> {
    const declared = Number(request.headers['content-length'] ?? Number.NaN);
    if (declared > limitBytes) return Promise.reject(refusal(413));
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const { shares, leave } = enter(sender, limitBytes);
    const held = { bytes: 0, leave, shares };
    heldBy.set(request, held);
    // Grown by doubling, not kept in pieces: a million pieces of a byte each would take far more room than they count.
    const longest = Number.isNaN(declared) ? limitBytes : declared;
    let body = Buffer.allocUnsafeSlow(Math.min(firstBytes, longest));
    let size = 0;

    const take = (chunk: Buffer): void => {
      const next = size + chunk.length;
      if (next > limitBytes) {
        end(refusal(413));
        return;
      }
      if (next > firstBytes && !makeRoom(shares, chunk.length, coming)) {
        full();
        return;
      }
      for (const share of shares) share.held += chunk.length;
      held.bytes = next;
      if (next > body.length) {
        const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(next, 2 * body.length), Math.max(next, longest)));
        body.copy(grown, 0, 0, size);
        body = grown;
      }
      chunk.copy(body, size);
      size = next;
    };
    const whole = (): void => end(null);
    const broken = (): void => end(refusal(400));
    const end = (fault: Error | null): void => {
      request.off('data', take).off('end', whole).off('error', broken).off('close', broken);
      for (const share of shares) share.coming.delete(coming);
      if (fault === null) {
        resolve(size === body.length ? body : body.subarray(0, size));
        return;
      }
      release(request);
      reject(fault);
    };
    const full = (): void => {
      onFull(sender.room);
      end(refusal(503));
    };
    const coming: Coming = { sinceMs: monotonicMs(), giveUp: full };
    for (const share of shares) share.coming.add(coming);
    request.on('data', take).on('end', whole).on('error', broken).on('close', broken);
    return promise;
  }

  return { read, release, heldBytes: () => rooms.webhooks.held + rooms.api.held };
}

function newShare(limitBytes: number): Share {
  return { held: 0, limitBytes, coming: new Set() };
}

function refusal(statusCode: 400 | 413 | 503): Error {
  return Object.assign(new Error('the body is not taken'), { statusCode });
}

/**
 * A sender that is answered before its body is read may go on with it for so much and so long. The connection ends by the
 * time, not with the last byte allowed: a reset would overtake the answer.
 */
const drainedBytes = 1_048_576;
const drainedMs = 2_000;

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** For a request that is answered: whatever of its body is still to come is thrown away. */
export function drain(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed || !hasBody(request.headers)) return;
  const { socket } = request;
  let left = drainedBytes;
  const timer = setTimeout(() => socket.destroy(), drainedMs);
  timer.unref();
  const over = () => clearTimeout(timer);
  request.on('end', over).on('close', over).on('error', over);
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.pause();
  });
}
