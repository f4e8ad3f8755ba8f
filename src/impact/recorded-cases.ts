/** A request with everything that was known when it was decided, and how its auction ended: what impact runs on. */

import { operatorCapsOf } from '../bidding/explain.ts';
import { hindrancesIn } from '../bidding/hindrances.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { AcceptanceShift, PublishedBid, Review, SnoozedRule, SourceLook } from '../domain/offer.ts';
import type { AuctionRecord, Claimed, Passed } from '../domain/records.ts';
import type { LinkDetail, LoanRequest } from '../domain/request.ts';
import { isSameCode } from '../domain/request-codes.ts';
import { comesWithLink } from '../rules/facts.ts';

export type RecordedCase = {
  request: LoanRequest;
  link: LinkDetail | null;
  /** The desk asked for the link, or was not allowed to: that it is not there was known. Absent: nobody asked, as far as is told. */
  linkAskedInVain?: true;
  /** What external sources had said of it; absent: nothing. */
  sources?: readonly SourceLook[];
  /** For one that was never decided, when it came in. */
  decidedAt: EpochMs;
  /** Null: the end of the auction is not known, so that nothing is learnt of it or scored by it. */
  auction: {
    startedAt: EpochMs | null;
    endedAt: EpochMs | null;
    /** When the desk heard of it: only decisions after that have learnt of it. */
    knownAt: EpochMs;
    /** Of rivals alone. */
    rivals: readonly PublishedBid[];
  } | null;
  /** What operators had set at the time. */
  control: { paused: boolean; caps: Readonly<Record<string, number>>; snoozed?: readonly SnoozedRule[] };
  /** What own wins had taught by then; null: nothing. */
  acceptance: AcceptanceShift | null;
  /** What a person was asked, with the answer; absent: nothing. */
  review?: Review;
};

/** What became of the request at the desk itself, where that is known. */
export type RecordedEnd = {
  decision: Claimed | Passed | null;
  sealed: string;
  /** All that were published, ours among them. */
  bids: readonly PublishedBid[];
  ownBidId: string | null;
  /** The worker took the offer. */
  taken: boolean;
};

function isTaken(record: AuctionRecord): boolean {
  if (record.kind !== 'contemplated' && record.kind !== 'proposed') return false;
  return record.errors.length === 0 && record.sharedWith === undefined;
}

/** Whether a set that looks at facts of the link would have had the same answer as the desk: none. */
export function askedInVain(records: readonly AuctionRecord[], decision: Claimed | Passed | null): boolean {
  if (hindrancesIn(records).some(({ kind, cause }) => kind === 'query' || cause === 'link')) return true;
  if (decision?.kind !== 'passed') return false;
  const fact = /^fact-missing:(.*)$/.exec(decision.code)?.[1];
  return fact === undefined ? linkCodes.has(decision.code) : comesWithLink(fact);
}

const linkCodes: ReadonlySet<string> = new Set([
  'margin-missing',
  'authorisation-missing',
  'link-in-doubt',
  'link-refused',
]);

/** Of equal bids any may be ours: the best rival is the same whichever is taken out. */
function ownBidOf(records: readonly AuctionRecord[], bids: readonly PublishedBid[], claim: Claimed): string | null {
  for (const record of records) {
    if (record.kind === 'answered' && record.claimId === claim.claimId && record.outcome.kind === 'accepted')
      return record.outcome.bidId;
  }
  const sent = records.some((record) => record.kind === 'answered' && record.claimId === claim.claimId);
  if (!sent) return null;
  const { rateHundredths, amountCents, installments } = claim.offer;
  const own = bids.find(
    (bid) =>
      !bid.offGrid &&
      bid.rateHundredths === rateHundredths &&
      bid.amountCents === amountCents &&
      bid.installments === installments,
  );
  return own?.bidId ?? null;
}

/** From all records of one request, in log order; null for one that never came in. */
export function recordedCaseOf(records: readonly AuctionRecord[]): (RecordedCase & { end: RecordedEnd }) | null {
  const requested = records.find((record) => record.kind === 'requested');
  if (requested === undefined) return null;
  const claim = records.find((record) => record.kind === 'claimed') ?? null;
  const passes = records.filter((record) => record.kind === 'passed');
  const decision = claim ?? passes.find((record) => record.trace !== null) ?? passes[0] ?? null;
  const trace = decision?.trace ?? null;
  const ended = records.find((record) => record.kind === 'ended');
  const ownBidId = claim === null || ended === undefined ? null : ownBidOf(records, ended.bids, claim);
  const { request, sealed } = requested;
  const link = trace?.link ?? null;
  return {
    request,
    link,
    ...(link === null && askedInVain(records, decision) ? { linkAskedInVain: true } : {}),
    ...(trace?.sources === undefined ? {} : { sources: trace.sources }),
    decidedAt: trace?.decidedAt ?? request.receivedAt,
    auction:
      ended === undefined
        ? null
        : {
            startedAt: ended.startedAt,
            endedAt: ended.endedAt,
            knownAt: ended.at,
            rivals: ended.bids.filter((bid) => ownBidId === null || !isSameCode(bid.bidId, ownBidId)),
          },
    control: {
      paused: passes.some((record) => record.code === 'paused'),
      caps: trace === null ? {} : operatorCapsOf(trace),
      ...(trace?.snoozed === undefined ? {} : { snoozed: trace.snoozed }),
    },
    acceptance: trace?.acceptance ?? null,
    ...(trace?.review === undefined ? {} : { review: trace.review }),
    end: { decision, sealed, bids: ended?.bids ?? [], ownBidId, taken: records.some(isTaken) },
  };
}
