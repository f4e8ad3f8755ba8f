/**
 * What is promised in open requests, which bids have no answer and what waits for people: kept where rows come and go, for health checks and metrics ask every
 * second, however many requests are open.
 */
import { isPromised } from '../domain/cap-book.ts';
import type { AmountCents, EpochMs, RequestId } from '../domain/glossary.ts';
import { createHeap } from './heap.ts';
import type { LedgerRow } from './ports.ts';

export type OpenSums = {
  /** The row that is kept of a request is another one now; null: none. */
  changed: (before: LedgerRow | null, after: LedgerRow | null) => void;
  /** Bids sent whose answer is unknown, and since when the oldest has been. */
  unknown: () => { count: number; oldestAt: EpochMs | null };
  /** Money promised in open requests, in cents by status. */
  exposure: () => { held: AmountCents; committed: AmountCents };
  /** Requests that wait for a person, by queue; a queue without any may be absent. */
  reviews: () => ReadonlyMap<string, number>;
};

/** `since` is infinite where the row does not tell. */
type Unknown = { requestId: RequestId; since: EpochMs };

const oldestFirst = (one: Unknown, other: Unknown): number => one.since - other.since;

export function createOpenSums(): OpenSums {
  const sums = { held: 0, committed: 0 };
  const reviews = new Map<string, number>();
  const unknown = new Map<RequestId, Unknown>();
  const oldest = createHeap(oldestFirst, unknown, ({ requestId }) => requestId);

  function promise({ state, reservation }: LedgerRow, times: 1 | -1): void {
    if (isPromised(reservation)) sums[reservation] += times * (state.claim?.offer.amountCents ?? 0);
  }

  function waitForReview({ state: { phase, review } }: LedgerRow, times: 1 | -1): void {
    if (phase !== 'requested' || review === undefined || review.answer !== null) return;
    reviews.set(review.queue, (reviews.get(review.queue) ?? 0) + times);
    if (reviews.get(review.queue) === 0) reviews.delete(review.queue);
  }

  return {
    changed: (before, after) => {
      if (before !== null) {
        promise(before, -1);
        waitForReview(before, -1);
        if (before.state.phase === 'unknown') unknown.delete(before.state.requestId);
      }
      if (after === null) return;
      promise(after, 1);
      waitForReview(after, 1);
      const { phase, requestId, answer, claim } = after.state;
      if (phase !== 'unknown') return;
      const entry = { requestId, since: answer?.at ?? claim?.at ?? Number.POSITIVE_INFINITY };
      unknown.set(requestId, entry);
      oldest.push(entry);
    },
    unknown: () => {
      const since = oldest.peek()?.since ?? Number.POSITIVE_INFINITY;
      return { count: unknown.size, oldestAt: Number.isFinite(since) ? since : null };
    },
    exposure: () => ({ ...sums }),
    reviews: () => reviews,
  };
}
