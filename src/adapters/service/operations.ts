/**
 * The operations after a bid (port `LoanService`). Where the contract has an idempotency key, an unknown answer is asked for
 * again with the same bytes and key; where it has none, what was written once is never written again by one call, not even
 * after a 401. Every write is counted.
 */
import type { Clock } from '../../domain/clock.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import type { LoanService } from '../../origination/ports.ts';
import {
  type AnswerOf,
  doneDespiteRefusal,
  type OperationName,
  type OperationResult,
  operations,
  type Prepared,
  type Root,
  readOperationAnswer,
  refusedWithCode,
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

  /** `left`: how often it may be written. After a 401 that is twice at most, the second time with a renewed token. */
  async function attempt<N extends OperationName>(
    lane: Lane,
    prepared: Prepared<N>,
    mayWrite: () => boolean,
    left: number,
  ): Promise<OperationResult<AnswerOf<N>>> {
    const { operation } = prepared;
    const isUnkeyed = prepared.idempotencyKey === null;
    let attempts = 0;
    const gate = () => {
      if (!mayWrite()) return 'stopped' as const;
      attempts += 1;
      return null;
    };
    const isLast = (refused: Exchange) => isUnkeyed || left < 2 || saysDone(operation, refused) !== null;
    const result = await parts.send(lane, prepared, { deadlineAt: null, gate, isLast });
    const written = attempts > 0 ? { attempts } : {};
    if (result === null) {
      return { kind: 'not-sent', reason: 'unauthorised', retryAt: parts.blockedUntil(), ...written };
    }
    if (result.kind === 'withheld') return { kind: 'not-sent', reason: result.reason, retryAt: null, ...written };
    const { response, writtenAt: firstByteAt } = result;
    if (result.kind === 'broken') return { kind: 'unknown', reason: result.reason, response, firstByteAt, attempts };
    const done = saysDone(operation, result);
    if (done !== null) return { ...done, response, firstByteAt, attempts };
    const { status, body } = result.response;
    if (status === 429) {
      const retryAt = retryTime(result.retryAfter, clock.now(), parts.skewMs());
      return { kind: 'not-sent', reason: 'throttled', retryAt, attempts };
    }
    // With a key and a renewed token, a 400 or 403 is about the request, whatever its words are.
    if (status === 401 || (refusesToken(result) && (isUnkeyed || attempts === 1))) {
      return { kind: 'not-sent', reason: 'unauthorised', retryAt: parts.blockedUntil(), attempts };
    }
    return { ...readOperationAnswer(operation, status, body), response: result.response, firstByteAt, attempts };
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
    let written = 0;
    for (let made = 1; ; made += 1) {
      const result = await attempt(lane, prepared, mayWrite, attempts - written);
      written += result.attempts ?? 0;
      if (result.kind === 'accepted') return { ...result, attempts: written };
      if (result.kind === 'not-sent' && doubt === null) return result;
      if (result.kind === 'rejected') {
        if (doubt === null || reads) return { ...result, attempts: written };
        // An earlier attempt may have been taken: this "no" may only say that it was.
        const { response, firstByteAt } = result;
        return { kind: 'unknown', reason: 'rejected-on-retry', response, firstByteAt, attempts: written };
      }
      // What was named may stand: another attempt could make a second one, and its answer would hide this code.
      if (result.kind === 'unknown' && namesDone(result)) return { ...result, attempts: written };
      if (result.kind === 'unknown') doubt = result;
      const isOver = made >= attempts || written >= attempts || !mayWrite();
      if (doubt !== null && isOver) return { ...doubt, attempts: written };
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

/** It is turned away, or refused otherwise, and says all the same that it was done. */
function saysDone(operation: OperationName, result: Exchange): ReturnType<typeof doneDespiteRefusal> {
  if (result.kind !== 'answered') return null;
  return doneDespiteRefusal(operation, result.response.status, result.response.body);
}

function namesDone({ reason, code }: Extract<OperationResult<never>, { kind: 'unknown' }>): boolean {
  return reason === refusedWithCode || code !== undefined;
}
