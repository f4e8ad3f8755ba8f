/** Everything that can happen, as records. The topic `auctions` is the truth; everything else can be made again from it. */
import type { EventShown, FlowRecord } from './flow-records.ts';
import type { AmountCents, EpochMs, RequestId } from './glossary.ts';
import type {
  BidOutcome,
  CapReservation,
  DecisionTrace,
  Offer,
  PublishedBid,
  Reason,
  Review,
  ReviewAnswer,
  SourceLook,
} from './offer.ts';
import type { DetailOfLink, Link, LoanRequest } from './request.ts';
import type { Via } from './roles.ts';

/** Common to all records on `auctions`: the request is the key, `at` is when the writer wrote it. */
type OfRequest = { requestId: RequestId; at: EpochMs };

/**
 * Settings that the fold of a request needs, in ms, as they were where its records were written: so whoever folds them comes to
 * the same state, whatever its own settings are. Each record carries those that it brings into the fold; records of earlier
 * versions carry none.
 */
export type FoldTerms = {
  /** Length of an auction whose request names no end. */
  windowMs: number;
  /** From the deadline of an answered bid to `result-missing`. */
  resultTimeoutMs: number;
  /** From the end of a won auction to the alarm that nothing came of it. */
  contemplationTimeoutMs: number;
  /** Exposure outlives the validity of its bid by this much. */
  graceMs: number;
  /** Of what an auction teaches. */
  halfLifeMs: number;
};
export type ClaimTerms = Omit<FoldTerms, 'windowMs'>;

export type Requested = OfRequest & {
  kind: 'requested';
  request: LoanRequest;
  /** Written where the request names no end. */
  windowMs?: number;
  /** Identity and raw element, sealed (AES-256-GCM). */
  sealed: string;
  /** HMAC-SHA256 of the raw element, so that two receipts can be compared and nothing be guessed. */
  rawHash: string;
};

export type Claimed = OfRequest & {
  kind: 'claimed';
  /** `instance:sequence`; the instance is drawn anew at each start of a process. */
  claimId: string;
  instance: string;
  /** The exact bytes to send. */
  body: string;
  offer: Offer;
  trace: DecisionTrace;
  terms?: ClaimTerms;
};

/** What is kept of a claim outside of the log: its money counts, and its bid can be told, where the log has lost the record. */
export type LostClaim = Pick<Claimed, 'claimId' | 'at' | 'offer' | 'terms'> & { caps: readonly CapReservation[] };

/** A claim, or a request (`claimId` null), that was put into the log by somebody else than a desk. */
export type ForgedEntry = { requestId: RequestId; claimId: string | null };

/** A part of what kept a request from its end. */
export type Hindrance = {
  /** `attempt`: to place the bid; `query`: of the worker's link. */
  kind: 'attempt' | 'query' | 'wait';
  /**
   * Why it came to nothing: `unauthorised`, `throttled`, `unreachable`, `status-503` …; of a wait, for what: a cause of closed
   * bidding, or `link` for the detail of the worker's link.
   */
  cause: string;
  /** Attempts or queries in a row that ended alike; 1 of a wait. */
  count: number;
  from: EpochMs;
  until: EpochMs;
};

export type Passed = OfRequest & {
  kind: 'passed';
  code: string;
  /** The claim that will not be sent; null when there was none. A pass never ends somebody else's claim. */
  claimId: string | null;
  /** Another process may have sent the claim all the same. Absent: surely nobody has. */
  maybeSent?: true;
  /**
   * What came under this id could not be read. It ends only a request of which nothing readable has come, and one that comes later
   * begins it. Absent: it ends for good; so does every pass of an earlier version.
   */
  unread?: true;
  reasons: readonly Reason[];
  /** Null when the request ended without being decided (too late, overload, unusable). */
  trace: DecisionTrace | null;
  /** Absent: nothing kept it, or an earlier version wrote the record. */
  hindrances?: readonly Hindrance[];
};

export type Answered = OfRequest & {
  kind: 'answered';
  claimId: string;
  outcome: BidOutcome;
  /** The record of the claim is lost, and this was kept of it. Absent: it is in the log, or nothing was kept. */
  lostClaim?: LostClaim;
  /** Codes that the answers gave, beside the bid's id: the service tells of the bid under any of them. Absent: none. */
  codes?: readonly string[];
  /** Attempts by the process that writes this, and whether an earlier one may have landed unseen. */
  attempts: number;
  earlierAttemptPossible: boolean;
  firstByteAt: EpochMs | null;
  /** Status and body as received, for the auditor; null when no answer came. */
  response: {
    status: number;
    /** In clear only in records of earlier versions. */
    body: string | null;
    /** Absent in records of earlier versions. */
    sealedBody?: string | null;
  } | null;
  /** Before this answer. Absent: nothing, or an earlier version wrote the record. */
  hindrances?: readonly Hindrance[];
};

export type Ended = OfRequest & {
  kind: 'ended';
  batchId: string;
  startedAt: EpochMs | null;
  endedAt: EpochMs | null;
  bids: readonly PublishedBid[];
  halfLifeMs?: number;
};

/** What the service wrote about a winner. */
type WinnerWords = {
  /** In clear only in records of earlier versions. */
  message: string | null;
  /** One for each error, its code at most; in records of earlier versions its text as well. */
  errors: readonly string[];
  /** The whole body, sealed under the place of its callback (`requestCode`); absent in records of earlier versions. */
  sealed?: string;
};

/** Requests that have the code of the event as well: kept with each of them, and of none until a person says so. Absent: it is of this one. */
type Shared = { sharedWith?: readonly RequestId[] };

export type Contemplated = OfRequest &
  Shared & {
    kind: 'contemplated';
    requestCode: string;
  } & WinnerWords;

export type Proposed = OfRequest &
  Shared & {
    kind: 'proposed';
    requestCode: string;
    proposalCode: string | null;
    proposalNumber: string | null;
    validUntil: EpochMs | null;
  } & WinnerWords;

export type Resolution = 'won' | 'contemplated' | 'lost' | 'not-landed' | 'cancelled' | 'result-missing' | 'expired';

/** Ends what nothing else ended: by an operator, or by the desk when a time has passed (`by: 'desk'`). */
export type Resolved = OfRequest & {
  kind: 'resolved';
  as: Resolution;
  by: string;
  via?: Via;
  reason: string;
  /**
   * Of a proposal whose time is over: it counts on under caps over a window of hours until then, for nobody says that it came to nothing.
   * Absent: it counts no more; so it is in records of earlier versions.
   */
  windowsUntil?: EpochMs;
};

/** Something that follows from the request's records could not be worked out: nothing is sent for it from here on. */
export type Frozen = OfRequest & { kind: 'frozen'; problem: string };

/** `retry`: its records are read again, with this program. `cancel`: what could not be processed is left out for good. */
export type ThawAction = 'retry' | 'cancel';
export type Unfrozen = OfRequest & { kind: 'unfrozen'; action: ThawAction; by: string; via?: Via; reason: string };

/** Somebody was shown who the worker of a won bid is. Changes nothing. */
type WorkerRead = OfRequest & { kind: 'worker-read'; by: string; via?: Via; reason: string };

/** It would be bid for, and waits for a person, because rules of the set say so. The first one of a request counts. */
export type ReviewAsked = OfRequest & { kind: 'review-asked'; ruleSetHash: string } & Omit<
    Review,
    'askedAt' | 'answer'
  >;

/** An external source is about to be asked. `attempt`: 2 where whoever asked first did not live to write the answer. */
export type SourceAsked = OfRequest & {
  kind: 'source-asked';
  source: string;
  hash: string;
  attempt: number;
  ruleSetHash: string;
};

/** What the source said, or why it did not. The first one of a source and declaration counts, and only before the decision. */
export type SourceAnswered = OfRequest & { kind: 'source-answered' } & SourceLook;

/** The answer to a review. The first one that came before the end of the wait counts; every other changes nothing. */
export type ReviewAnswered = OfRequest & {
  kind: 'review-answered';
  decision: ReviewAnswer;
  by: string;
  via?: Via;
  reason: string;
};

/**
 * Stands where the log has a record whose content cannot be read; written only where a desk that has one is moved. Folded, it
 * freezes what its key names.
 */
type Unreadable = { kind: 'unreadable'; at: EpochMs; problem: string };

/** What a request's own history consists of. */
export type LifeRecord = Requested | Claimed | Passed | Answered | Ended | Contemplated | Proposed | Resolved;
type FreezeRecord = Frozen | Unfrozen | (Unreadable & { requestId: RequestId });
export type AuctionRecord =
  | LifeRecord
  | FreezeRecord
  | ReviewAsked
  | ReviewAnswered
  | SourceAsked
  | SourceAnswered
  | WorkerRead;

/** A bank credit note as the service generated it. Percentages are the service's own, not rounded by us; null: it did not say. */
export type CreditNote = {
  noteNumber: string;
  proposalCode: string | null;
  /** Released value, IOF and insurance together. */
  loanCents: AmountCents | null;
  iofCents: AmountCents | null;
  insuranceCents: AmountCents | null;
  installmentCents: AmountCents | null;
  rateMonthlyPercent: number | null;
  rateAnnualPercent: number | null;
  cetMonthlyPercent: number | null;
  cetAnnualPercent: number | null;
  /** Figures that it names in a way that cannot be read, or twice with other values; absent: none, or an earlier version wrote it. */
  unreadable?: readonly NoteFigure[];
};
export type NoteFigure = Exclude<keyof CreditNote, 'noteNumber' | 'proposalCode' | 'unreadable'>;

/** Topic `callbacks`: what the service tells us outside an auction, keyed by worker or request code. */
export type CallbackRecord =
  | ({ kind: 'link-detail'; at: EpochMs; requestCode: string | null; sealed: string } & DetailOfLink)
  | {
      kind: 'link-list';
      at: EpochMs;
      requestCode: string | null;
      workerKey: string;
      links: readonly Link[];
      sealed: string;
    }
  | ({ kind: 'contemplated'; at: EpochMs; requestCode: string } & WinnerWords)
  | ({
      kind: 'proposed';
      at: EpochMs;
      requestCode: string;
      proposalCode: string | null;
      proposalNumber: string | null;
      validUntil: EpochMs | null;
    } & WinnerWords)
  /**
   * Ends a contract or a renegotiation; `note` is null when it failed. `sealed` is the whole body. `unread`: it cannot be read but for
   * its code, and is a dead letter too; absent: it can.
   */
  | {
      kind: 'credit-note';
      at: EpochMs;
      requestCode: string;
      of: 'contract' | 'renegotiation';
      note: CreditNote | null;
      unread?: true;
      errors: readonly string[];
      sealed: string;
    }
  /**
   * About an operation whose events the contract does not show, such as an endorsement, or that a link query failed; a list without
   * links has the one error `no-links`. `sealed` is the whole body. `denies`: it says no in another way than `errors`; absent: it does
   * not, or an earlier version wrote it. `shows`: as of `FlowTold`.
   */
  | {
      kind: 'operation-event';
      at: EpochMs;
      requestCode: string;
      endpoint: string | null;
      errors: readonly string[];
      denies?: true;
      shows?: EventShown;
      /** As of `FlowTold`. */
      saysDone?: true;
      /** The answer to a query of links came and cannot be read but for its code; it is a dead letter too. Absent: it can. */
      unread?: true;
      sealed: string;
    }
  /**
   * Somebody asked for what there is of a worker whom they named by CPF, whether or not anything is known. Stands under the pseudonym of
   * the worker, and changes nothing. `linkKey` null: not of one link.
   */
  | {
      kind: 'personal-read';
      at: EpochMs;
      requestCode: null;
      by: string;
      via: Via;
      what: DailyReading;
      workerKey: string;
      linkKey: string | null;
    }
  | (Unreadable & { requestCode: null });

/** Readings that a program may do thousands of times a day. */
export type DailyReading = 'worker-searched' | 'margins-queried';

export type ReplayOrder = { by: string; via: Via; reason: string | null };

/** Topic `dead-letters`: valid JSON that nobody understood, or a record that could not be processed. Sealed: it may name a worker. */
type DeadLetter = {
  at: EpochMs;
  receivedAt: EpochMs;
  reason: string;
  /** Where in the payload, as a JSON pointer, when that is known. */
  pointer: string | null;
  sealedPayload: string;
  /** This is no letter: the one under the same key was read again and understood, or dismissed. Absent in letters. */
  replayOf?: { offset: number };
  /** Who had it read again. Absent in letters, and where nobody was named. */
  replayedBy?: ReplayOrder;
  /** Who closed it without reading it again, and why. Absent in letters, and in marks of a replay. */
  dismissedBy?: ReplayOrder;
};

/** Values that all processes of a log agree on once (`first-said.ts`): each is looked up under its own kind as the key. */
export const agreedInputs = ['key-check', 'log-id', 'fold-terms'] as const;
export type AgreedInput = (typeof agreedInputs)[number];

/** Topic `inputs`: rule sets, settings and win curves, each stored once under its hash; what tells the pseudonym key (`key-check.ts`), the id of the log (`log-id.ts`), and the terms of earlier records (`earlier-terms.ts`). */
export type StoredInput = {
  kind: 'rule-set' | 'settings' | 'win-curve' | 'win-shapes' | AgreedInput;
  hash: string;
  content: string;
};

/** The record type of each topic. */
export type Topics = {
  auctions: AuctionRecord;
  flows: FlowRecord;
  callbacks: CallbackRecord;
  'dead-letters': DeadLetter;
  inputs: StoredInput;
};
export type Topic = keyof Topics;
