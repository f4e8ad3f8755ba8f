/** The state of a request: what its records say, folded in log order. */
import type { EpochMs, RequestId } from './glossary.ts';
import type { BidOutcome, CapReservation, Offer, PublishedBid, Reason, Review, SourceLook, Trial } from './offer.ts';
import type { RecordPlaces } from './record-places.ts';
import type { ClaimTerms, Resolution } from './records.ts';
import type { LoanRequest } from './request.ts';

export const phases = [
  'early-ended',
  'requested',
  'claimed',
  'passed',
  'accepted',
  'accepted-presumed',
  'accepted-outside',
  'rejected',
  'foreign-bid',
  'unknown',
  'won',
  'lost',
  'ambiguous',
  'not-landed',
  'result-missing',
  'contemplated',
  'proposed',
  'winner-failed',
  'cancelled',
  'expired',
] as const;
export type Phase = (typeof phases)[number];

/** Phases in which nothing is awaited any more. */
export function isSettled(phase: Phase): boolean {
  switch (phase) {
    case 'early-ended':
    case 'passed':
    case 'rejected':
    case 'lost':
    case 'not-landed':
    case 'winner-failed':
    case 'cancelled':
    case 'expired':
    case 'contemplated':
    case 'proposed':
    case 'won':
      return true;
    case 'requested':
    case 'claimed':
    case 'accepted':
    case 'accepted-presumed':
    case 'accepted-outside':
    case 'foreign-bid':
    case 'unknown':
    case 'ambiguous':
    case 'result-missing':
      return false;
    default:
      return phase satisfies never;
  }
}

/** What the first claim fixed. */
export type Claim = {
  claimId: string;
  instance: string;
  at: EpochMs;
  body: string;
  offer: Offer;
  caps: readonly CapReservation[];
  /** Absent: the claim is of an earlier version. */
  terms?: ClaimTerms;
  /**
   * The record of it cannot be read: an answer shows that there was one. Its amount is the most that an offer for the request may
   * be, and the rest of the offer says nothing. Absent: it was read.
   */
  unread?: true;
  /** Its decision looked at how we fare in the auctions of its segment. Absent: it did not, or was of an earlier version. */
  market?: true;
};

export type AuctionResult = {
  startedAt: EpochMs | null;
  endedAt: EpochMs | null;
  bidCount: number;
  /** Best rival cell; `noRivalCell` when nobody else bid; null when it could not be told. */
  bestRivalCell: number | null;
  bestRivalOffGrid: boolean;
  /** Our rank, when our bid was found among the published ones. */
  position: number | null;
  /** Bids that may be ours: by id, or by rate, amount, term and send window. */
  candidates: readonly PublishedBid[];
  /** The same for every list that says the same. Absent: it was read before there was a claim, or by an earlier version. */
  listHash?: string;
  /** Another list that came after this one, about a bid of ours: the last, unless one before it was worse for us. Absent: none. */
  again?: LaterList;
};

export type LaterList = Omit<AuctionResult, 'again'> & { toldAt: EpochMs };

/** Money promised for this request: reserved at the claim, then released or committed, once. */
export type ExposureStatus = 'none' | 'held' | 'committed' | 'released';

/** An error of a winner event. `kind` absent: an earlier version kept it, of whichever of the two. */
export type WinnerError = {
  kind?: 'contemplated' | 'proposed';
  requestCode: string;
  errors: readonly string[];
};

/** One that was shown or said to be wrong. `toldAgainAt`: when it was delivered last and changed nothing; absent: not since. */
export type ContradictedError = WinnerError & { toldAgainAt?: EpochMs };

/** What tells a proposal that the service has included from any other. */
export type IncludedProposal = {
  requestCode: string;
  proposalCode: string | null;
  proposalNumber: string | null;
  validUntil: EpochMs | null;
};

/** `attempts`: how often it was asked. `answer` null: there is none yet. */
export type SourceState = {
  source: string;
  hash: string;
  attempts: number;
  answer: Pick<SourceLook, 'failure' | 'found'> | null;
};

export type RequestState = {
  requestId: RequestId;
  phase: Phase;
  batchId: string | null;
  request: LoanRequest | null;
  /** Length of the auction, where the request names no end. Absent: it does, or its record is of an earlier version. */
  windowMs?: number;
  /** Until the decision, which may need it to ask for the margin; afterwards the log alone keeps it. */
  sealed: string | null;
  rawHash: string | null;
  /** Receipts after the first: equal ones, and ones that differ (counted, not decided). */
  repeats: number;
  conflicts: number;
  claim: Claim | null;
  lateClaims: number;
  segmentKeys: readonly string[];
  /** What policies would have bid; null before the decision and after the auction's end. */
  trial: Trial | null;
  pass: { code: string; reasons: readonly Reason[]; at: EpochMs; maybeSent: boolean; unread?: true } | null;
  answer: Answer | null;
  /** Codes of all answers, whichever of them counts, beside the id of the bid; absent: none. */
  codes?: readonly string[];
  auction: AuctionResult | null;
  winner:
    | (IncludedProposal & {
        /** Of the event that was told last. Absent: what it names says it, or an earlier version kept its errors. */
        kind?: 'contemplated' | 'proposed';
        errors: readonly string[];
        /** Others that were told, and that nothing has contradicted. Absent: none. */
        laterErrors?: readonly WinnerError[];
        /** Errors told before the service included the proposal all the same: delivered again they change nothing. Absent: none. */
        contradicts?: readonly ContradictedError[];
        /** Included ones that were told before: delivered again they contradict no error. Absent: none, or an earlier version did not keep them. */
        earlierProposals?: readonly IncludedProposal[];
      })
    | null;
  /** Winner events under a code that other requests have as well, the last of each kind: of none until a person says so. Absent: none. */
  unclaimed?: { contemplated?: UnclaimedEvent; proposed?: UnclaimedEvent };
  resolution: {
    as: Resolution;
    by: string;
    reason: string;
    at: EpochMs;
    /** Errors of winner events that a person has said to be wrong: delivered again they change nothing. Absent: none. */
    contradicts?: readonly ContradictedError[];
    /** Errors of winner events that came while the bid was cancelled, until another event is taken. Absent: none. */
    laterErrors?: readonly WinnerError[];
  } | null;
  exposure: ExposureStatus;
  decidedAt: EpochMs | null;
  /** When something is due if no record comes first, and what. */
  timer: { at: EpochMs; due: TimerKind } | null;
  /** What a person was asked before a bid; absent: nothing. */
  review?: Review;
  /** External sources that were asked, or were not for a reason; absent: none. */
  sources?: readonly SourceState[];
  /** One of its records could not be processed: nothing is sent for it. Absent: it is not so. */
  frozen?: FrozenMark;
  /** Where its records stand. Absent: its first ones were folded by an earlier version. */
  places?: RecordPlaces;
};

/**
 * `at`: of the first record that could not be processed, 0 where it does not say. `retriedAt`: of the last retry, which failed.
 * `mayBeClaim`: such a record stands where a claim may stand.
 */
export type FrozenMark = { at: EpochMs; problem: string; retriedAt?: EpochMs; mayBeClaim?: true };

/** Its words stand sealed in its record alone. */
type UnclaimedEvent = {
  at: EpochMs;
  requestCode: string;
  proposalCode: string | null;
  proposalNumber: string | null;
  validUntil: EpochMs | null;
  errors: readonly string[];
  /** The other requests that it may be of. */
  sharedWith: readonly RequestId[];
};

export type Answer = {
  outcome: BidOutcome;
  /** A duplicate answer that can only mean our own earlier attempt. */
  presumedOurs: boolean;
  /** Codes that it gave, where a bid under another code may be ours as well; absent: none, or an earlier version wrote it. */
  told?: readonly string[];
  attempts: number;
  at: EpochMs;
};

export type TimerKind = 'deadline' | 'result' | 'contemplation' | 'validity';
