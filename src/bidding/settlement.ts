/** What the published bids of an auction say about our own bid and about its best rival. Pure. */
import { type EpochMs, noRivalCell } from '../domain/glossary.ts';
import type { PublishedBid } from '../domain/offer.ts';
import { isSameCode } from '../domain/request-codes.ts';
import type { Answer, AuctionResult, Claim } from '../domain/states.ts';

export type Settlement = 'settled-won' | 'settled-lost' | 'settled-ambiguous' | 'settled-absent';

/** The service stamps bids in whole seconds with a clock of its own. */
const stampToleranceMs = 3_000;

/** Results are told late when a door was closed or letters are replayed, and the service's clock may be wrong by its zone. */
const mostLateMs = 30 * 86_400_000;
const mostAheadMs = 86_400_000;

/** A time in a result as far as it can be true, for whoever was told at `toldAt`: a mistyped year counts as no time at all. */
function believedTime(time: EpochMs | null, toldAt: EpochMs): EpochMs | null {
  return time === null || time < toldAt - mostLateMs || time > toldAt + mostAheadMs ? null : time;
}

/**
 * Which of the bids are ours by what the service called it. Of a bid that was not accepted the codes of all answers are known, each of
 * which may be its own: a refusal names no other bid. Null: the codes do not tell.
 */
export function namedAmong(
  bids: readonly PublishedBid[],
  answer: Answer | null,
  codes: readonly string[],
): readonly PublishedBid[] | null {
  const outcome = answer?.outcome;
  if (outcome?.kind === 'accepted') return bids.filter((bid) => isSameCode(bid.bidId, outcome.bidId));
  const named = bids.filter((bid) => codes.some((code) => isSameCode(bid.bidId, code)));
  return named.length > 0 || (outcome?.kind === 'rejected' && codes.length > 0) ? named : null;
}

/** Bids that may be ours by what our bytes say and when they can have arrived. */
function alikeAmong(bids: readonly PublishedBid[], claim: Claim, deadlineAt: EpochMs): readonly PublishedBid[] {
  // Nobody knows what it says: each may be ours.
  if (claim.unread) return bids;
  return bids.filter(
    (bid) =>
      !bid.offGrid &&
      bid.rateHundredths === claim.offer.rateHundredths &&
      bid.amountCents === claim.offer.amountCents &&
      bid.installments === claim.offer.installments &&
      (bid.placedAt === null ||
        (bid.placedAt >= claim.at - stampToleranceMs && bid.placedAt <= deadlineAt + stampToleranceMs)),
  );
}

/**
 * Folds the published bids. Bids dated after the end are kept by the log and not learnt. When several may be ours, the
 * best rival is the same whichever of them is taken out.
 */
export function readAuction(
  ended: { at: EpochMs; startedAt: EpochMs | null; endedAt: EpochMs | null; bids: readonly PublishedBid[] },
  claim: Claim | null,
  answer: Answer | null,
  deadlineAt: EpochMs,
  /** Of all answers, beside the id of an accepted bid. */
  codes: readonly string[] = [],
): AuctionResult {
  const endedAt = believedTime(ended.endedAt, ended.at);
  const inTime = ended.bids.filter(
    (bid) => bid.placedAt === null || endedAt === null || bid.placedAt <= endedAt + stampToleranceMs,
  );
  const named = namedAmong(ended.bids, answer, codes);
  const candidates = claim === null ? [] : (named ?? alikeAmong(ended.bids, claim, deadlineAt));
  // Where neither the bytes of our bid nor its code are known, no published bid can be told to be ours.
  const own = claim?.unread && named === null ? null : (candidates[0] ?? null);
  let bestRivalCell = noRivalCell;
  let bestRivalOffGrid = false;
  for (const bid of inTime) {
    if (own !== null && bid.bidId === own.bidId) continue;
    if (bid.rateHundredths > bestRivalCell) continue;
    // On one cell, a rate below the cell beats it while an equal one only ties.
    bestRivalOffGrid = bid.rateHundredths < bestRivalCell ? bid.offGrid : bestRivalOffGrid || bid.offGrid;
    bestRivalCell = Math.max(0, bid.rateHundredths);
  }
  return {
    startedAt: believedTime(ended.startedAt, ended.at),
    endedAt,
    bidCount: inTime.length,
    bestRivalCell,
    bestRivalOffGrid,
    position: candidates.length === 1 && own !== null ? own.position : null,
    candidates,
  };
}

/**
 * Null while our own answer is still out: a claim without a match may yet turn out to be accepted. A refusal is believed until our bid is
 * among those published.
 */
export function settle(
  claim: Claim | null,
  answer: Answer | null,
  auction: AuctionResult | null,
  codes: readonly string[] = [],
): Settlement | null {
  if (claim === null || answer === null || auction === null) return null;
  if (answer.outcome.kind === 'accepted-outside') return null;
  if (claim.unread && namedAmong(auction.candidates, answer, codes) === null) return null;
  const settlement = settleByBids(auction);
  return answer.outcome.kind === 'rejected' && settlement === 'settled-absent' ? null : settlement;
}

/** By the published bids alone. */
export function settleByBids({ candidates }: AuctionResult): Settlement {
  if (candidates.length === 0) return 'settled-absent';
  if (candidates.length > 1) return 'settled-ambiguous';
  return candidates[0]!.position === 1 ? 'settled-won' : 'settled-lost';
}
