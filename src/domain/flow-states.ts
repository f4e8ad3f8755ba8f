/** The state of a flow: what its records say, folded in log order. */
import type {
  ExpectedLoan,
  FlowBreach,
  FlowKind,
  FlowOperation,
  FlowRetryTerms,
  FlowStep,
  FlowSubject,
  FlowTerms,
  FlowTold,
  LoanFigure,
  ProposalEnding,
} from './flow-records.ts';
import type { AmountCents, EpochMs } from './glossary.ts';
import type { RecordPlaces } from './record-places.ts';
import type { CreditNote } from './records.ts';
import type { FrozenMark } from './states.ts';
import type { SealedPlace } from './vault.ts';

export const flowPhases = {
  contract: [
    'waiting-proposal',
    'preparing',
    'withheld',
    'generating',
    'unclear',
    'awaiting-note',
    'refused',
    'awaiting-signature',
    'signed',
    'endorsing',
    'endorsement-unclear',
    'endorsement-refused',
    'endorsed',
    'failed',
    'cancelled',
  ],
  renegotiation: [
    'preparing',
    'withheld',
    'generating',
    'unclear',
    'awaiting-note',
    'refused',
    'renegotiated',
    'cancelled',
  ],
  withdrawal: ['started', 'simulated', 'included', 'signed', 'finalised', 'cancelled'],
  lookup: ['preparing', 'awaiting-answer', 'answered', 'refused', 'cancelled'],
  event: ['unclaimed', 'claimed', 'closed'],
} as const satisfies Record<FlowKind, readonly string[]>;
export type FlowPhase = (typeof flowPhases)[FlowKind][number];

/**
 * `asked`: to be prepared. `intended`: its bytes are durable; it may have been sent. `unclear`: it may have been done, and
 * somebody has to say.
 */
type OperationStatus = 'asked' | 'intended' | 'unclear' | 'done' | 'rejected' | 'withheld' | 'not-sent';

/** The operation of the service that the flow is at, or was at last. */
export type FlowOperationState = {
  operation: FlowOperation;
  slot: string;
  status: OperationStatus;
  /** The step that asked for it; null: the flow itself. */
  stepId: string | null;
  /** Of the step: what the request is made of. Null: the flow's order. */
  sealedRequest: string | null;
  /** Of `simulation` and `signers`: whose, as pseudonyms. */
  personKeys: readonly string[];
  /** As of its step. */
  splitCents?: AmountCents;
  intent: {
    intentId: string;
    instance: string;
    path: string;
    idempotencyKey: string | null;
    sealedBody: string;
    at: EpochMs;
    /** Absent: an earlier version wrote it, and the settings of the process hold. */
    retry?: FlowRetryTerms;
  } | null;
  /** Answers that said nothing, so far. */
  unknowns: number;
  /** How often its bytes were written, by all processes that said so; absent: an earlier version counted `unknowns` alone. */
  attempts?: number;
  /**
   * Of one without a key: when the first of the intents was written that the service turned away with 401 or 429, since somebody
   * last said that it was not done. It may be done all the same. Absent: none, or an earlier version did not count them.
   */
  turnedAwayAt?: EpochMs;
  /** Of one with a key: an attempt may have been taken whose answer nobody heard. Absent: none is known. */
  mayBeDone?: true;
  /** Of an endorsement: its answer was unclear before an event said that it failed; it may be done. Absent: it was not. */
  wasUnclear?: true;
  /** Of an endorsement that is unclear: the service had said that it was done. Absent: it had not, or an earlier version folded it. */
  wasShown?: true;
  /** Of an inclusion: proposals that answers named which left open whether it was done. Absent: none. */
  namedProposals?: readonly string[];
  /**
   * Of an endorsement: whether the service, or a person, has said that it was done, and not only that it was received. Absent: an earlier
   * version folded it.
   */
  toldDone?: boolean;
  /** Not to be tried again before. */
  retryAt: EpochMs | null;
  reason: string | null;
};

export type FlowStepState = {
  stepId: string;
  step: FlowStep;
  by: string;
  at: EpochMs;
  requestHash: string;
  /** `ignored`: not allowed where the flow stood. */
  outcome: 'pending' | 'done' | 'rejected' | 'withheld' | 'unclear' | 'ignored';
};

/** A figure of the credit note, or of what is said of a proposal, that is not ours. Cents, hundredths of a percent, or a count. */
export type NoteDifference = { field: LoanFigure; ours: number; theirs: number };

/**
 * `refused`: the service said no. `place`: what it was sealed for, where that is not the flow's answer. `sealedRequest`: the step
 * that it answers, of an inclusion; absent: it was folded by an earlier version.
 */
type FlowResultKept = {
  at: EpochMs;
  sealedAnswer: string | null;
  refused?: true;
  place?: SealedPlace;
  sealedRequest?: string;
};

/** A request that the service took and that says where money goes; `sealed` as in the record of its step. */
type PaymentTaken = { operation: PaymentOperation; at: EpochMs; sealed: string };
export type PaymentOperation = 'inclusion' | 'splits' | 'account-update';

/** A sealed body, and the place that it was sealed for: that of the record that it came in. */
export type SealedWords = { place: SealedPlace; sealed: string };

/**
 * A generation, endorsement, inclusion or split whose outcome the flow does not hear any more, as it counts as not done or belongs to a
 * contract that was given up. `code`: its request code, or the code of the proposal of an inclusion; null: not known. `note`: what it endorsed.
 */
export type OperationGivenUp = {
  operation: FlowOperation;
  intentId: string;
  code: string | null;
  note: CreditNote | null;
  /** Of an endorsement: what its contract goes on with where a person takes it over; absent: an earlier version gave it up. */
  of?: {
    /** Without its bytes: nobody sends it any more. */
    operation: FlowOperationState;
    requestCode: string | null;
    generatedAt: EpochMs | null;
    expected: ExpectedLoan | null;
  };
  /** A person said that it is settled: told again under its code it is nothing new. Absent: nobody did. */
  isSettled?: true;
  /** What was settled showed that it was done: shown again it is nothing new. Absent: it did not, or an earlier version folded it. */
  isSettledShown?: true;
  /** What was settled did not show it. Nothing here reads it: the version before goes by it. */
  isSettledUnshown?: true;
};

/**
 * The service told, at a time, that one of those was done; `unshown`: its words do not show whether it was done. `denied`: it was shown
 * to be done, and this person says that it was not; `isOfEarlier`: to a version that let the flow go on after it;
 * `isTold`: something was told since that stands as a mark of its own once the flow has gone on.
 */
export type LateSuccess = OperationGivenUp & {
  at: EpochMs;
  unshown?: true;
  denied?: { by: string; isOfEarlier?: true; isTold?: true };
};

export type FlowState = {
  flowId: string;
  flow: FlowKind;
  phase: FlowPhase;
  by: string | null;
  key: string | null;
  requestHash: string | null;
  /** Under which keys it was begun before it was cancelled; absent: never. */
  earlier?: readonly string[];
  /** As of its beginning; absent: an earlier version began it, and its keys at the service follow from its id alone. */
  logId?: string;
  startedAt: EpochMs;
  /** When `by` ordered it once more, after it was cancelled; absent: never, or an earlier version began it again. */
  orderedAt?: EpochMs;
  changedAt: EpochMs;
  subject: FlowSubject;
  terms: FlowTerms | null;
  sealed: string | null;
  /** Operations begun, over the flow's life: the next one's slot is one more. */
  begun: number;
  operation: FlowOperationState | null;
  steps: readonly FlowStepState[];
  proposal: { code: string | null; number: string | null; validUntil: EpochMs | null } | null;
  /** `code`: of the latest query, where the service named one. */
  marginAsks: { last: EpochMs; count: number; code?: string | null } | null;
  /** Why it stands still: rules that would be broken, or what the service said. */
  breaches: readonly FlowBreach[];
  /** What the service said against it: one for each, its code at most. Its words stand sealed in `errorsIn`. */
  errors: readonly string[];
  /** The sealed body that `errors` were read from; absent or null: they have no other words. */
  errorsIn?: SealedWords | null;
  /** Under which the service tells of the contract that counts; and all codes so far, for what comes late. */
  requestCode: string | null;
  endorsementCode: string | null;
  /** The code that a person gave to what was generated last. Absent: nobody did, or an earlier version took it. */
  confirmedCode?: string;
  /** Body keys of the latest events that were told of its endorsements: one of them told again changes nothing. Absent: none. */
  endorsementEvents?: readonly string[];
  codes: readonly string[];
  /**
   * Codes that somebody confirmed by mistake, the latest last, with all that the flow was found under because of each: it is found
   * under them no more. Absent: none.
   */
  codesGivenUp?: readonly { requestCode: string; indexes: readonly string[] }[];
  /** Those that may be told late, the latest last. Absent: none, or an earlier version gave them up. */
  operationsGivenUp?: readonly OperationGivenUp[];
  /** Those that were told late, or denied after they were shown, and that nobody has settled, the latest last. Absent: none were. */
  lateSuccesses?: readonly LateSuccess[];
  generatedAt: EpochMs | null;
  /** Contracts generated: more than one where the competence turned. */
  generations: number;
  expected: ExpectedLoan | null;
  /** Of a withdrawal: what its proposal may come to at most; absent: it is not included, or an earlier version included it. */
  most?: ExpectedLoan;
  note: CreditNote | null;
  differences: readonly NoteDifference[];
  /** Another flow that has had the note, or this one where it was replaced; absent or null: none is known. */
  noteHolder?: string | null;
  /**
   * What was told last for the same contract, where it is not this note; `note` null: that it failed, or with `unread`, something that
   * cannot be read or is of another kind. `bodyKey`: of that, as earlier versions wrote it. Absent or null: nothing.
   */
  noteAgain?: { at: EpochMs; note: CreditNote | null; unread?: true; bodyKey?: string } | null;
  /**
   * When such a thing came last under the code of the contract, whatever was told after it. Null: somebody has seen it. Absent: none
   * came, or an earlier version kept it in `noteAgain` alone.
   */
  unread?: { at: EpochMs } | null;
  /** Body keys of the latest callbacks that could not be read: one of them told again changes nothing. Absent: none. */
  unreadBodies?: readonly string[];
  /**
   * All notes that were told for the same contract and are not this one, each once, the one of `noteAgain` too: callbacks may come in
   * any order. Of many the worst and the latest. Absent: none, or an earlier version kept `noteAgain` alone.
   */
  notesAgain?: readonly CreditNote[];
  /**
   * The latest note that came after its generation counted no more: the flow was cancelled, or generated again. `isLast`: it is of
   * the latest generation, so a cancelled flow may take it up. Absent or null: none, or somebody has seen it.
   */
  lateNote?: {
    at: EpochMs;
    requestCode: string;
    note: CreditNote;
    isLast: boolean;
    /** Others that came before it under the same code; absent: none. */
    others?: readonly CreditNote[];
  } | null;
  /** Numbers of notes that the flow has had before, the latest ones: told again they are nothing new. Absent: none. */
  earlierNotes?: readonly string[];
  /**
   * Who took the note as it is, although it is doubtful or its figures are not ours, or the proposal of a withdrawal as it was last
   * said to be; absent or null: nobody.
   */
  noteAccepted?: { by: string; at: EpochMs } | null;
  signature: { signedAt: EpochMs; sealed: string } | null;
  /** Of a withdrawal. */
  proposalCode: string | null;
  /** The intent that `proposalCode` is of; absent: it was included elsewhere, or by an earlier version. */
  includedBy?: string;
  /** Other proposals that the service named for an inclusion of this flow; `isSettled`: a person has said since which one holds. Absent: none. */
  otherProposals?: readonly { code: string; isSettled?: true }[];
  simulatedKey: string | null;
  signedKeys: readonly string[];
  /** What was split, by all operations that are known to be done; absent: nothing, or before these were counted. */
  splitCents?: AmountCents;
  /** What says where its money goes, the inclusion and the latest of the others; absent: nothing, or an earlier version took it. */
  payments?: readonly PaymentTaken[];
  situation: number | null;
  /** Of a withdrawal: what was said of its proposal, each figure as it was said last; absent: nothing, or an earlier version took it. */
  saidFigures?: ExpectedLoan;
  /** Of these, and of others that are compared, the ones that were said last in no way that can be used; absent: none. */
  unusableFigures?: readonly LoanFigure[];
  /** Of a withdrawal: why its proposal has ended, as was last said of it; absent or null: nothing says that it has. */
  ending?: ProposalEnding | null;
  /** Of a withdrawal that is signed: the service refused its finalisation as done already, and a person may confirm that. Absent: it did not, or an earlier version folded it. */
  saidFinalised?: true;
  /** `links`: of a lookup. */
  results: { readonly [O in FlowOperation | 'links']?: FlowResultKept };
  /** What an event holds, and whose it turned out to be. */
  told: FlowTold | null;
  owner: string | null;
  /** Records that changed nothing: second intents, answers to other attempts, events told twice. */
  strays: number;
  /** One of its records could not be processed: nothing is done for it. Absent: it is not so. */
  frozen?: FrozenMark;
  /** Of a contract as people read it: its bid failed or has ended, so nothing is signed or lent of it. Absent: it is not so. In no row. */
  lostBid?: FlowBreach;
  /** Of a contract as people read it: a renegotiation of its note stands. Absent: it is not so, or not looked for. In no row. */
  renegotiated?: FlowBreach;
  /** Where its records stand. Absent: its first ones were folded by an earlier version. */
  places?: RecordPlaces;
};
