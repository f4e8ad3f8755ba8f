/**
 * The operations after a bid (port `LoanService`). Where the contract has an idempotency key, an unknown answer is asked for
 * again with the same bytes and key; where it has none, what was written once is never written again by one call, not even
 * after a 401.
 */
import type { Clock } from '../../domain/clock.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import type { LoanService } from '../../origination/ports.ts';
import {
  type AnswerOf,
  type OperationName,
  type OperationResult,
  operations,
  type Prepared,
  type Root,
  readOperationAnswer,
} from '../../wire/operations.ts';
import type { Exchange } from './exchange.ts';
import { type Lane, refusesToken, retryTime, type Send } from './sender.ts';

/** Operations that may be under way at once. */
const operationLimit = 1_000;
/** A longer Retry-After is the caller's to wait for. */
const longestPauseMs = 10_000;

export type RetrySettings = {
  /** Further attempts at an operation with a key whose answer is unknown. */
  retries: number;
  pauseMs: number;
};

export function createOperations(parts: {
  send: Send;
  /** Null: no address is set for this root. */
  lanes: Readonly<Record<Root, Lane | null>>;
  blockedUntil: () => EpochMs | null;
  skewMs: () => number;
  clock: Clock;
  settings: RetrySettings;
}): LoanService {
  const { clock, settings } = parts;
  let open = 0;

  async function attempt<N extends OperationName>(
    lane: Lane,
    prepared: Prepared<N>,
    mayWrite: () => boolean,
  ): Promise<OperationResult<AnswerOf<N>>> {
    const once = prepared.idempotencyKey === null;
    const gate = () => (mayWrite() ? null : 'stopped');
    const result = await parts.send(lane, prepared, { deadlineAt: null, gate, once });
    const written = once ? { attempts: 1 } : {};
    if (result === null || (once && refusesToken(result))) {
      const refused = { kind: 'not-sent', reason: 'unauthorised', retryAt: parts.blockedUntil() } as const;
      return result === null ? refused : { ...refused, ...written };
    }
    const said = resultOf(prepared.operation, result, clock.now(), parts.skewMs());
    return said.kind === 'not-sent' && said.reason === 'throttled' ? { ...said, ...written } : said;
  }

  async function insist<N extends OperationName>(
    lane: Lane,
    prepared: Prepared<N>,
    mayWrite: () => boolean,
    maxAttempts: number,
  ): Promise<OperationResult<AnswerOf<N>>> {
    const { reads } = operations[prepared.operation];
    const attempts = prepared.idempotencyKey === null ? 1 : Math.min(1 + settings.retries, maxAttempts);
    let doubt: Extract<OperationResult<never>, { kind: 'unknown' }> | null = null;
    for (let made = 1; ; made += 1) {
      const result = await attempt(lane, prepared, mayWrite);
      if (result.kind === 'accepted') return { ...result, attempts: made };
      if (result.kind === 'not-sent' && doubt === null) return result;
      if (result.kind === 'rejected') {
        if (doubt === null || reads) return { ...result, attempts: made };
        // An earlier attempt may have been taken: this "no" may only say that it was.
        const { response, firstByteAt } = result;
        return { kind: 'unknown', reason: 'rejected-on-retry', response, firstByteAt, attempts: made };
      }
      if (result.kind === 'unknown') doubt = { ...result, attempts: made };
      if (doubt !== null && (made >= attempts || !mayWrite())) return doubt;
      const retryAt = result.kind === 'not-sent' ? (result.retryAt ?? 0) : 0;
      const pauseMs = Math.min(Math.max(settings.pauseMs, retryAt - clock.now()), longestPauseMs);
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    }
  }

  return {
    perform: async (prepared, mayWrite = () => true, maxAttempts = Number.POSITIVE_INFINITY) => {
      const lane = parts.lanes[operations[prepared.operation].root];
      if (lane === null) return { kind: 'not-sent', reason: 'no-address', retryAt: null };
      if (open >= operationLimit) return { kind: 'not-sent', reason: 'busy', retryAt: null };
      open += 1;
      try {
        return await insist(lane, prepared, mayWrite, maxAttempts);
      } finally {
        open -= 1;
      }
    },
  };
}

function resultOf<N extends OperationName>(
  operation: N,
  result: Exchange,
  now: EpochMs,
  skewMs: number,
): OperationResult<AnswerOf<N>> {
  if (result.kind === 'withheld') return { kind: 'not-sent', reason: result.reason, retryAt: null };
  const { response, writtenAt: firstByteAt } = result;
  if (result.kind === 'broken') return { kind: 'unknown', reason: result.reason, response, firstByteAt, attempts: 1 };
  const { status, body } = result.response;
  if (status === 429) {
    return { kind: 'not-sent', reason: 'throttled', retryAt: retryTime(result.retryAfter, now, skewMs) };
  }
  const reading = readOperationAnswer(operation, status, body);
  return { ...reading, response: result.response, firstByteAt, attempts: 1 };
}
