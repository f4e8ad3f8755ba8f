/**
 * Requests that wait for a person because rules of the set say so, and the answer: a record beside the running desk, which decides with it.
 * The same for API and command line.
 */
import type { BidSearch } from '../bidding/bid-search.ts';
import type { UnaskedPartition } from '../bidding/ports.ts';
import { isAwaitingReview } from '../bidding/review.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Review, ReviewAnswer } from '../domain/offer.ts';
import type { ReviewAnswered } from '../domain/records.ts';
import type { Identity } from '../domain/roles.ts';
import type { Phase, RequestState } from '../domain/states.ts';
import { type EndingParts, recordOfRequest } from './endings.ts';

export type WaitingReview = Pick<Review, 'queue' | 'rules' | 'askedAt' | 'until' | 'otherwise'> & {
  requestId: RequestId;
  /** As the request asks; null: it does not say. */
  requestedAmountCents: number | null;
  requestedInstallments: number | null;
  /** Of the month's pay, as the request says; null: it does not. Absent: an earlier version says it. */
  availableMarginCents?: number | null | undefined;
};

export type ReviewPage = {
  reviews: readonly WaitingReview[];
  next: string | null;
  missing?: readonly UnaskedPartition[] | undefined;
};

/** `searchBids`, or the same over the owners of partitions. */
export type BidFinder = (
  search: BidSearch,
  page: { limit: number; before: string | null },
) => Promise<{ found: readonly RequestState[]; next: string | null; unasked?: readonly UnaskedPartition[] }>;

const rowsAtOnce = 200;
/** Pages of undecided requests looked at for one page of reviews, which may come back short. */
const pagesLookedAt = 10;

/** The latest first. */
export async function waitingReviews(
  find: BidFinder,
  { queue, limit, before }: { queue?: string | undefined; limit: number; before: string | null },
  now: EpochMs,
): Promise<ReviewPage> {
  const reviews: WaitingReview[] = [];
  const missing = new Map<number, UnaskedPartition>();
  let cursor = before;
  for (let page = 0; page < pagesLookedAt; page += 1) {
    // No more rows than there is room for: the cursor stands behind all that were looked at.
    const rows = Math.min(rowsAtOnce, limit - reviews.length);
    const { found, next, unasked = [] } = await find({ state: 'requested' }, { limit: rows, before: cursor });
    for (const each of unasked) missing.set(each.partition, each);
    for (const state of found) {
      const review = waitingReview(state, now);
      if (review !== null && (queue === undefined || review.queue === queue)) reviews.push(review);
    }
    cursor = next;
    if (cursor === null || reviews.length === limit) break;
  }
  return { reviews, next: cursor, ...(missing.size === 0 ? {} : { missing: [...missing.values()] }) };
}

/** Null: it does not wait for a person. */
export function waitingReview(state: RequestState, now: EpochMs): WaitingReview | null {
  const { requestId, review, request } = state;
  if (review === undefined || !isAwaitingReview(state, now)) return null;
  const { queue, rules, askedAt, until, otherwise } = review;
  return {
    ...{ requestId, queue, rules, askedAt, until, otherwise },
    requestedAmountCents: request?.requestedAmountCents ?? null,
    requestedInstallments: request?.requestedInstallments ?? null,
    availableMarginCents: request?.availableMarginCents ?? null,
  };
}

export type ReviewOrder = { requestId: RequestId; decision: ReviewAnswer; reason: string };

export type ReviewOutcome =
  | { kind: 'done' }
  /** Recorded, and no process runs. */
  | { kind: 'stored' }
  /** Recorded, and a live desk has not folded it in time. */
  | { kind: 'late' }
  | { kind: 'unknown' }
  /** Nobody was asked about it, or it was decided before anybody was. */
  | { kind: 'not-waiting'; phase: Phase }
  /** Somebody has answered. */
  | { kind: 'answered'; decision: ReviewAnswer; by: string }
  /** The wait is over: what the rules say otherwise holds. */
  | { kind: 'over'; until: EpochMs; otherwise: ReviewAnswer }
  /** Another record came first, and this one changed nothing. */
  | { kind: 'overtaken'; phase: Phase };

export async function decideReview(
  parts: Omit<EndingParts, 'flows'>,
  who: Identity,
  { requestId, decision, reason }: ReviewOrder,
): Promise<ReviewOutcome> {
  const { clock, views } = parts;
  const read = async () => (await views.read([requestId])).get(requestId)?.state ?? null;
  const before = await read();
  if (before === null || before.request === null) return { kind: 'unknown' };
  const at = clock.now();
  const refusal = refusalOf(before, at);
  if (refusal !== null) return refusal;
  const record: ReviewAnswered = { kind: 'review-answered', requestId, at, decision, ...who, reason };
  const recorded = await recordOfRequest(parts, record);
  if (recorded !== 'folded') return { kind: recorded };
  const after = (await read()) ?? before;
  const answer = after.review?.answer ?? null;
  const isOurs = answer?.at === at && answer.by === who.by && answer.decision === decision && answer.reason === reason;
  if (isOurs) return { kind: 'done' };
  if (answer !== null) return { kind: 'answered', decision: answer.decision, by: answer.by };
  return { kind: 'overtaken', phase: after.phase };
}

function refusalOf({ phase, review }: RequestState, now: EpochMs): ReviewOutcome | null {
  if (review?.answer) return { kind: 'answered', decision: review.answer.decision, by: review.answer.by };
  if (review !== undefined && (phase !== 'requested' || now >= review.until))
    return { kind: 'over', until: review.until, otherwise: review.otherwise };
  return phase === 'requested' && review !== undefined ? null : { kind: 'not-waiting', phase };
}
