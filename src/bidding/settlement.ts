/** What the published bids of an auction say about our own bid and about its best rival. Pure. */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type EpochMs, noRivalCell } from '../domain/glossary.ts';
import type { PublishedBid } from '../domain/offer.ts';
import { isSameCode } from '../domain/request-codes.ts';
import type { Answer, AuctionResult, Claim, LaterList } from '../domain/states.ts';

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

/** Those of the bids that are ours by the codes that the answer gave, whatever else looks alike. Null: it gave none. */
export function namedAmong(bids: readonly PublishedBid[], answer: Answer | null): readonly PublishedBid[] | null {
  const names = namesOf(answer);
  return names === null ? null : bids.filter((bid) => names.some((name) => isSameCode(name, bid.bidId)));
}

function namesOf(answer: Answer | null): readonly string[] | null {
  switch (answer?.outcome.kind) {
    case 'accepted':
      return [answer.outcome.bidId];
    case 'rejected':
    case 'unknown':
      return answer.outcome.names ?? null;
    default:
      return null;
  }
}

/**
 * Bids published under a code of our answer with another rate, amount or term than were sent. The contract lets nobody change a bid,
 * so either the service has changed it or somebody else bids in our name.
 */
export function differingBids(
  { claim, answer }: { claim: Claim | null; answer: Answer | null },
  bids: readonly PublishedBid[],
): readonly PublishedBid[] {
  if (claim === null || claim.unread) return [];
  return (namedAmong(bids, answer) ?? []).filter((bid) => !saysSame(bid, claim));
}

function saysSame(bid: PublishedBid, { offer }: Claim): boolean {
  return (
    !bid.offGrid &&
    bid.rateHundredths === offer.rateHundredths &&
    bid.amountCents === offer.amountCents &&
    bid.installments === offer.installments
  );
}

/** Bids that may be ours: by the codes of the answer, else by what our bytes say and when they can have arrived. */
function ownCandidates(
  claim: Claim,
  answer: Answer | null,
  deadlineAt: EpochMs,
  bids: readonly PublishedBid[],
): readonly PublishedBid[] {
  const named = namedAmong(bids, answer);
  if (named !== null) return named;
  // Nobody knows what it says: each may be ours.
  if (claim.unread) return bids;
  const same = bids.filter((bid) => saysSame(bid, claim));
  // Under a code that the service gave for our bytes it is ours, whenever its clock says that it came.
  const told = same.filter((bid) => answer?.told?.some((code) => isSameCode(code, bid.bidId)));
  if (told.length > 0) return told;
  return same.filter(
    ({ placedAt }) =>
      placedAt === null || (placedAt >= claim.at - stampToleranceMs && placedAt <= deadlineAt + stampToleranceMs),
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
): AuctionResult {
  const endedAt = believedTime(ended.endedAt, ended.at);
  const inTime = ended.bids.filter(
    (bid) => bid.placedAt === null || endedAt === null || bid.placedAt <= endedAt + stampToleranceMs,
  );
  const candidates = claim === null ? [] : ownCandidates(claim, answer, deadlineAt, ended.bids);
  const own = isUntold(claim, answer) ? null : (candidates[0] ?? null);
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

/** Neither the bytes of our bid nor its code are known, so no published bid can be told to be ours. */
function isUntold(claim: Claim | null, answer: Answer | null): boolean {
  return claim?.unread === true && namesOf(answer) === null;
}

/**
 * Null while our own answer is still out: a claim without a match may yet turn out to be accepted. A refusal is believed until the bid is
 * published under a code that it gave.
 */
export function settle(claim: Claim | null, answer: Answer | null, auction: OneList | null): Settlement | null {
  if (claim === null || answer === null || auction === null) return null;
  if (answer.outcome.kind === 'accepted-outside' || isUntold(claim, answer)) return null;
  if (answer.outcome.kind !== 'rejected') return settleByBids(auction);
  const named = namedAmong(auction.candidates, answer) ?? [];
  return named.length === 0 ? null : settleByBids({ ...auction, candidates: named });
}

type OneList = Omit<AuctionResult, 'again'>;

/** The same for the same bids in whatever order. */
export function listHashOf(bids: readonly PublishedBid[]): string {
  const rows = bids.map(({ bidId, rateHundredths, offGrid, amountCents, installments, position, placedAt }) =>
    JSON.stringify([bidId, rateHundredths, offGrid, amountCents, installments, position, placedAt]),
  );
  return hash('sha256', rows.sort().join('\n'), 'base64url').slice(0, 16);
}

/** Whether two lists differ, as far as is known of the first: without its hash, the number of bids alone tells. */
export function saysOtherwise(known: OneList, told: OneList): boolean {
  return known.listHash === undefined ? known.bidCount !== told.bidCount : known.listHash !== told.listHash;
}

export function saysOtherwiseOfOurs(known: OneList, told: OneList): boolean {
  return !isDeepStrictEqual(known.candidates, told.candidates);
}

/** By this list our bid may have won. */
export function mayHaveWon({ candidates }: Pick<OneList, 'candidates'>): boolean {
  return candidates.some(({ position }) => position === 1);
}

/**
 * The first list of an auction counts. Where a later one says that our bid may have won, and the first one does not, only a person or a
 * winner event can tell which of them is right.
 */
export function settleByLists(first: Settlement | null, again: Settlement | null, later: LaterList): Settlement | null {
  const isWorse = (again === 'settled-won' || again === 'settled-ambiguous') && mayHaveWon(later);
  return isWorse && first !== 'settled-won' ? 'settled-ambiguous' : first;
}

/** By the published bids alone. */
export function settleByBids({ candidates }: Pick<AuctionResult, 'candidates'>): Settlement {
  if (candidates.length === 0) return 'settled-absent';
  if (candidates.length > 1) return 'settled-ambiguous';
  return candidates[0]!.position === 1 ? 'settled-won' : 'settled-lost';
}
