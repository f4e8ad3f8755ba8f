/**
 * One POST by undici's `dispatch`, told apart by the only thing that matters to a bid: was a byte written? The gate is
 * asked in `onRequestStart`, which undici calls in the same turn in which it writes. Nothing is ever sent twice here.
 */
import type { Dispatcher } from 'undici';
import type { BrokenReason } from '../../bidding/ports.ts';
import type { Clock, Timer } from '../../domain/clock.ts';
import type { EpochMs } from '../../domain/glossary.ts';

type Response = { status: number; body: string };

/** `elapsedMs`: from the first byte to the end. */
export type Exchange =
  | {
      kind: 'answered';
      response: Response;
      date: string | null;
      retryAfter: string | null;
      writtenAt: EpochMs;
      /** From the first byte to the headers of the answer. */
      roundTripMs: number;
      elapsedMs: number;
    }
  /** Bytes were written; what came back, if anything, is not a whole answer. */
  | { kind: 'broken'; reason: BrokenReason; response: Response | null; writtenAt: EpochMs; elapsedMs: number }
  /** No byte was written. */
  | { kind: 'withheld'; reason: 'deadline' | 'stopped' | 'unreachable' };

export type Post = {
  path: string;
  authorization: string;
  /** Null: the header is left out. */
  idempotencyKey: string | null;
  body: string;
  /** While the request waits for a connection it is given up at this time; null: the pool's timeouts end it. */
  deadlineAt: EpochMs | null;
  /** Asked with the time that counts as the first byte's. Null lets the bytes out. */
  gate: (now: EpochMs) => 'deadline' | 'stopped' | null;
  /** From the first byte written to the last byte of the answer. */
  longestAnswerMs: number;
  /** A longer answer is broken off. */
  longestBodyBytes: number;
};

function brokenReason(error: unknown): BrokenReason {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return 'headers-timeout';
  if (code === 'UND_ERR_BODY_TIMEOUT') return 'body-timeout';
  // The parser's fault has a name, but in undici 8.12 no code.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'answer-unreadable';
  if (code.startsWith('UND_ERR_HEADERS') || code.startsWith('UND_ERR_RES')) {
    return 'answer-unreadable';
  }
  return 'connection-lost';
}

function firstValue(value: string | string[] | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : (value[0] ?? null);
}

/** The first bytes of an answer. */
function createBody(longestBodyBytes: number) {
  const chunks: Buffer[] = [];
  let room = longestBodyBytes;
  return {
    /** False when the answer is longer than what is kept. */
    add: (chunk: Buffer): boolean => {
      const fits = chunk.length <= room;
      chunks.push(fits ? chunk : chunk.subarray(0, room));
      room -= chunk.length;
      return fits;
    },
    text: (): string => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8'),
  };
}

/** Never rejects. */
export function exchange(pool: Dispatcher, clock: Clock, post: Post): Promise<Exchange> {
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const body = createBody(post.longestBodyBytes);
  let writtenAt: EpochMs | null = null;
  let writtenAtMs = 0;
  let roundTripMs = 0;
  let status = 0;
  let told: { date: string | null; retryAfter: string | null } = { date: null, retryAfter: null };
  let ended: 'deadline' | 'stopped' | BrokenReason | null = null;
  let waiting: Timer | null = null;
  let settled = false;

  const elapsedMs = (): number => (writtenAt === null ? 0 : clock.monotonicMs() - writtenAtMs);

  const settle = (result: Exchange): void => {
    settled = true;
    waiting?.cancel();
    resolve(result);
  };

  const end = (controller: Dispatcher.DispatchController, reason: NonNullable<typeof ended>): void => {
    ended = reason;
    controller.abort(new Error(reason));
  };

  pool.dispatch(
    { method: 'POST', path: post.path, headers: headersOf(post), body: post.body },
    {
      onRequestStart: (controller) => {
        waiting?.cancel();
        const now = clock.now();
        const refusal = ended === 'deadline' ? ended : post.gate(now);
        if (refusal === null) {
          writtenAt = now;
          writtenAtMs = clock.monotonicMs();
        } else end(controller, refusal);
      },
      onResponseStart: (controller, statusCode, headers) => {
        roundTripMs = elapsedMs();
        if (statusCode < 200) {
          if (roundTripMs > post.longestAnswerMs) end(controller, 'answer-too-slow');
          return;
        }
        status = statusCode;
        told = { date: firstValue(headers.date), retryAfter: firstValue(headers['retry-after']) };
      },
      onResponseData: (controller, chunk) => {
        if (!body.add(chunk)) end(controller, 'answer-too-large');
        else if (elapsedMs() > post.longestAnswerMs) end(controller, 'answer-too-slow');
      },
      onResponseEnd: () => {
        const response = { status, body: body.text() };
        const times = { writtenAt: writtenAt ?? clock.now(), roundTripMs, elapsedMs: elapsedMs() };
        settle({ kind: 'answered', response, ...told, ...times });
      },
      onResponseError: (_controller, error) => {
        if (writtenAt === null) {
          settle({ kind: 'withheld', reason: ended === 'deadline' || ended === 'stopped' ? ended : 'unreachable' });
          return;
        }
        const reason = ended === null || ended === 'deadline' || ended === 'stopped' ? brokenReason(error) : ended;
        const response = status === 0 ? null : { status, body: body.text() };
        settle({ kind: 'broken', reason, response, writtenAt, elapsedMs: elapsedMs() });
      },
    },
  );
  // Written or failed in the same turn, mostly; else it waits for a connection.
  if (writtenAt === null && !settled && post.deadlineAt !== null) {
    waiting = clock.schedule(post.deadlineAt, () => {
      ended = 'deadline';
      settle({ kind: 'withheld', reason: 'deadline' });
    });
  }
  return promise;
}

function headersOf({ authorization, idempotencyKey }: Post): string[] {
  const headers = ['authorization', authorization, 'content-type', 'application/json', 'accept', 'application/json'];
  if (idempotencyKey !== null) headers.push('IdempotencyKey', idempotencyKey);
  return headers;
}
