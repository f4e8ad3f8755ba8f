/** Bodies while they come in: each within its limit, all together within one, and what nobody reads thrown away in bounds. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

export type Bodies = {
  /** Rejects with `statusCode` 413, 503 (there is no room) or 400 (it broke off). What was read counts until `release`. */
  read: (request: IncomingMessage, limitBytes: number) => Promise<Buffer>;
  /** The body of this request is in use no longer. */
  release: (request: IncomingMessage) => void;
  heldBytes: () => number;
};

const firstBytes = 65_536;

export function createBodies(roomBytes: number): Bodies {
  const heldBy = new Map<IncomingMessage, number>();
  let held = 0;

  function release(request: IncomingMessage): void {
    held -= heldBy.get(request) ?? 0;
    heldBy.delete(request);
  }

  function read(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
    const declared = Number(request.headers['content-length'] ?? Number.NaN);
    if (declared > limitBytes) return Promise.reject(refusal(413));
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    // Grown by doubling, not kept in pieces: a million pieces of a byte each would take far more room than they count.
    const longest = Number.isNaN(declared) ? limitBytes : declared;
    let body = Buffer.allocUnsafeSlow(Math.min(firstBytes, longest));
    let size = 0;

    const take = (chunk: Buffer): void => {
      const next = size + chunk.length;
      const refused = next > limitBytes ? 413 : held + chunk.length > roomBytes ? 503 : null;
      if (refused !== null) {
        end(refusal(refused));
        return;
      }
      held += chunk.length;
      heldBy.set(request, next);
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
      if (fault === null) {
        resolve(size === body.length ? body : body.subarray(0, size));
        return;
      }
      release(request);
      reject(fault);
    };
    request.on('data', take).on('end', whole).on('error', broken).on('close', broken);
    return promise;
  }

  return { read, release, heldBytes: () => held };
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
