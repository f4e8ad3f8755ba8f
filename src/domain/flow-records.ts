/**
 * What can happen to a flow: everything after a won bid, or on a worker's own wish. Topic `flows`, keyed by flow. Records hold
 * nothing that names a person in clear: orders, bytes and answers are sealed.
 */
import type { AmountCents, EpochMs, RateHundredths, RequestId } from './glossary.ts';
import type { CreditNote, ThawAction } from './records.ts';
import type { Via } from './roles.ts';

/**
 * `lookup` asks for a worker's links on a person's demand. `event` is no flow: it holds what the service told under a request code that nobody knows (yet), until a flow turns out to
 * have waited for it.
 */
export const flowKinds = ['contract', 'renegotiation', 'withdrawal', 'lookup', 'event'] as const;
export type FlowKind = (typeof flowKinds)[number];

/** Operations of the service that flows use. */
export type FlowOperation =
  | 'contract'
  | 'endorsement'
  | 'renegotiation'
  | 'simulation'
  | 'inclusion'
  | 'proposal'
  | 'installments'
  | 'splits'
  | 'signers'
  | 'finalisation'
  | 'account-update';

/** What a person asks of a flow. Those named like an operation ask for it. */
export const flowSteps = [
  'amend',
  'sign',
  'cancel',
  'confirm',
  'deny',
  'regenerate',
  'accept',
  'simulation',
  'inclusion',
  'proposal',
  'installments',
  'splits',
  'signers',
  'finalisation',
  'account-update',
] as const;
export type FlowStep = (typeof flowSteps)[number];

/** What the flow is about, in clear; keys are pseudonyms. */
export type FlowSubject = {
  requestId: RequestId | null;
  workerKey: string | null;
  linkKey: string | null;
  /** What may not be exceeded: the rate of the bid, or of the contract that is renegotiated. */
  rateLimitHundredths: RateHundredths | null;
  /** Of a contract, what may be released at most: the amount of the bid. Absent: another flow, or an earlier version wrote it. */
  amountLimitCents?: AmountCents;
  /** Of a contract: the instalment of the bid. Absent: as above. */
  installmentLimitCents?: AmountCents;
  closedContract: string | null;
  /** Pseudonyms of those who have to have signed before a withdrawal is finalised. */
  signerKeys: readonly string[];
};

/** What is asked for. Of a contract exactly one of the two amounts, of a renegotiation what is estimated of it. */
export type FlowTerms = {
  amountCents: AmountCents | null;
  installmentCents: AmountCents | null;
  installments: number;
  rateHundredths: RateHundredths;
  insuranceCents: AmountCents | null;
};

type OfFlow = { flowId: string; at: EpochMs };

/**
 * Settings that the fold of a flow needs, as they were where its records were written: so whoever folds them comes to the same
 * state, whatever its own settings are. Each record carries those that it brings into the fold; records of earlier versions carry
 * none.
 */
export type FlowFoldTerms = {
  /** Steps kept in the state. */
  stepsKept: number;
  /** How often the same bytes are written with one key at most. */
  keyedAttempts: number;
  /** Before what was not done is tried again; doubled up to `retryMaxMs`. */
  retryMs: number;
  retryMaxMs: number;
};
export type FlowRetryTerms = Omit<FlowFoldTerms, 'stepsKept'>;

export type FlowStarted = OfFlow & {
  kind: 'started';
  flow: Exclude<FlowKind, 'event'>;
  by: string;
  /** Idempotency key of whoever asked, and a pseudonym of what was asked: the same twice is one. */
  key: string;
  requestHash: string;
  subject: FlowSubject;
  terms: FlowTerms | null;
  /** A cancelled flow is begun once more; absent: it is the first beginning. */
  again?: true;
  /** The id of the log that it was begun in, from which its keys at the service follow; absent: an earlier version wrote it. */
  logId?: string;
  /** Of a withdrawal whose proposal was made elsewhere; absent: it is made here. */
  proposalCode?: string;
  /** Names of what whoever asked knew and went on despite of, such as `despiteBid`; absent: of nothing, or an earlier version wrote it. */
  despite?: readonly string[];
  /** The whole order: what the operation's request is made of, and the worker's identity where a link has to be asked. */
  sealed: string;
};

/** `figures`: the note, or what is said of the proposal, as it stands. `late`: a note that nobody waited for any more. */
export type AcceptedKind = 'figures' | 'late';

/** `stepId` is the asker's idempotency key: asked twice it is one step. */
export type FlowAsked = OfFlow & {
  kind: 'asked';
  stepId: string;
  by: string;
  step: FlowStep;
  requestHash: string;
  /** Of `amend`: what is asked for from now on. */
  terms: FlowTerms | null;
  /** As of `started`. */
  despite?: readonly string[];
  /** Of `sign`: when the worker signed. */
  signedAt: EpochMs | null;
  /** Of `confirm`: the code under which the service goes on, where there is one. */
  requestCode: string | null;
  /** Of `confirm`: in place of the code that was confirmed before; absent: it was unclear. */
  corrects?: true;
  /** Of one that corrects: the code before is this flow's no more; absent: an earlier version wrote it. */
  givesCodeUp?: true;
  /** Of `deny`: it takes an endorsement back that counts as done; absent: one that was unclear. */
  ofEndorsed?: true;
  /** Of `deny`: it goes against a success that was shown, so nothing is lent again before that is settled; absent: it does not, or an earlier version wrote it. */
  ofShown?: true;
  /** Of `deny`: of a generation that the service took and whose note has not come. Absent: of something else. */
  ofAwaited?: true;
  /** Of `deny`: of an endorsement that counts as refused although a success was shown (`isContradicted`). Absent: of something else. */
  ofContradicted?: true;
  /** How whoever asked is known; absent: an earlier version wrote it. */
  via?: Via;
  /** Of `accept` and `confirm`: the intent of the late success that it settles; absent: it is about none. */
  lateIntentId?: string;
  /** Of `accept`: what it takes; absent: it settles a late success, or an earlier version wrote it, which took both. */
  accepts?: readonly AcceptedKind[];
  /** Of `amend`: the link from now on, as a pseudonym; absent: it stays. */
  linkKey?: string;
  /** Of `simulation` and `signers`, and of `amend` with a link: whose, as pseudonyms. */
  personKeys: readonly string[];
  /** Of `inclusion` and `splits`: what its splits come to; absent: it has none, or an earlier version wrote it. */
  splitCents?: AmountCents;
  /** Absent in records of earlier versions. */
  stepsKept?: number;
  /** In clear only in records of earlier versions. */
  reason: string | null;
  /** A word of the asker, for those who read the history; absent: none was said, or an earlier version wrote it. */
  sealedReason?: string;
  sealed: string | null;
};

/**
 * Our own arithmetic of a contract, to be held against the credit note: what can be told before the service answers. Of the
 * proposal of a withdrawal: what was simulated and asked for, to be held against what is said of it.
 */
export type ExpectedLoan = { readonly [F in LoanFigure]?: number };
/** In cents, or hundredths of a percent; `installments` is a count. */
export type LoanFigure =
  | 'rateHundredths'
  | 'loanCents'
  | 'creditCents'
  /** What was split of it, shown where that is more. */
  | 'splitCents'
  /** What it pays to others that nobody ordered here. */
  | 'foreignSplitCents'
  | 'financedCents'
  | 'feeCents'
  | 'otherCostsCents'
  | 'otherServicesCents'
  | 'totalDebtCents'
  | 'installments'
  | 'iofCents'
  | 'installmentCents'
  | 'insuranceCents'
  | 'rateAnnualHundredths'
  | 'cetAnnualHundredths'
  | 'cetMonthlyHundredths';

/** The exact bytes of an operation, before any of them is written. The first one of its slot, in log order, is the one. */
export type FlowIntended = OfFlow & {
  kind: 'intended';
  intentId: string;
  instance: string;
  operation: FlowOperation;
  /** `operation#n`: the n-th operation of the flow. */
  slot: string;
  /** Null where the contract has none: then nobody but the writer of this record sends it, once. */
  idempotencyKey: string | null;
  path: string;
  sealedBody: string;
  expected: ExpectedLoan | null;
  /** Of an inclusion: what its proposal may come to at most; absent: it is none, or an earlier version wrote it. */
  most?: ExpectedLoan;
  /** Absent in records of earlier versions. */
  retry?: FlowRetryTerms;
  /** Of an endorsement: what is told under the code of the one before is not about this one; absent: an earlier version wrote it. */
  forgetsCode?: true;
};

/** A rule that the operation would have broken. */
export type FlowBreach = { rule: string; field: string; problem: string };

type FlowWithheld = OfFlow & {
  kind: 'withheld';
  operation: FlowOperation;
  slot: string;
  breaches: readonly FlowBreach[];
};

/**
 * `ending`: the answer names a reason for which the proposal has ended; null: none. `unread`: figures that it names and that cannot
 * be read; `empty`: that it names with nothing in them. Absent: an earlier version wrote it.
 */
export type ProposalSaid = {
  figures: ExpectedLoan;
  unread?: readonly LoanFigure[];
  empty?: readonly LoanFigure[];
  ending: ProposalEnding | null;
};
export type ProposalEnding = 'cancellation' | 'rejection';

export type FlowResult =
  | {
      kind: 'accepted';
      requestCode: string | null;
      proposalCode: string | null;
      /** Of a proposal query: the service's number for where the proposal stands. */
      situation: number | null;
      /** Of a proposal query that was answered for the proposal asked about; absent: another one, or an earlier version wrote it. */
      said?: ProposalSaid;
      /** As of `unknown`. */
      saysDone?: true;
    }
  /** `saysExists`: it says that such a thing is there already; absent: it does not, or an earlier version wrote it. */
  | { kind: 'rejected'; code: string; errors: readonly string[]; saysExists?: true }
  /** `isFinal`: asked again it would be answered the same, so somebody has to look; absent: it would not. `requestCode`: named beside a refusal; `proposalCode`: of an inclusion, named in its answer. `saysDone`: of an endorsement, its words say that it was done; absent: they do not, or an earlier version wrote it. */
  | { kind: 'unknown'; reason: string; isFinal?: true; requestCode?: string; proposalCode?: string; saysDone?: true }
  /** Certainly not done. */
  | { kind: 'not-sent'; reason: string; retryAt: EpochMs | null };

export type FlowAnswered = OfFlow & {
  kind: 'answered';
  intentId: string;
  /** What was sent; absent: nothing was, or an earlier version wrote it. */
  operation?: FlowOperation;
  instance: string;
  result: FlowResult;
  /** An attempt before those of this record may have been taken unseen. */
  earlierAttemptPossible: boolean;
  /** Another process may have written the bytes, and its answer stands in no record; absent: an earlier version did not say. */
  othersMayHaveSent?: boolean;
  firstByteAt: EpochMs | null;
  /** How often the bytes were written for this record; absent in records of earlier versions. */
  attempts?: number;
  status: number | null;
  /** The answer's body as received. */
  sealedAnswer: string | null;
};

/** What the service told under a request code. `sealed` is the whole body. */
export type FlowTold = OfFlow & {
  kind: 'told';
  requestCode: string;
  /** `link-query`: the flow's query of its link failed. */
  of: 'contract' | 'renegotiation' | 'operation' | 'link-query';
  note: CreditNote | null;
  /** Which other flow has had this note, by its number or its proposal; null: none; absent: an earlier version did not look. */
  holder?: string | null;
  /** Of the note of a renegotiation, or of an order by its instalment: what it should say, reckoned from its loan; absent: none came, or an earlier version wrote it. */
  reckoned?: ExpectedLoan;
  /** It cannot be read but for its code; absent: it can. */
  unread?: true;
  /** Of `operation` and of what is unread: a pseudonym of the body, the same for the same bytes; absent: it could not be read, or an earlier version wrote it. */
  bodyKey?: string;
  /** Of `operation`: it says no in another way than `errors`; absent: it does not, or an earlier version wrote it. */
  denies?: true;
  /** Of `operation` without errors: whether its words show a success; absent: it reports errors or denies, or an earlier version wrote it. */
  shows?: EventShown;
  /** Of `operation`: nobody is asked any more what became of the endorsement; absent: an earlier version wrote it, and somebody is. */
  settles?: true;
  /** Of `operation`: under the code of a contract it tells of the endorsement of that contract; absent: an earlier version wrote it, and it is a doubt about the note. */
  endorses?: true;
  /** Of `operation` with errors: its words say all the same that it was done; absent: they do not, or an earlier version wrote it. */
  saysDone?: true;
  /** Of `operation`: a no is a doubt where a success was shown; absent: an earlier version wrote it, and it is a refusal. */
  keepsDone?: true;
  errors: readonly string[];
  sealed: string;
};

/** `nothing`: its words are not known, or it has none. */
export type EventShown = 'success' | 'nothing';

/** The service answered the flow's link query, by callback. */
export type FlowLinkTold = OfFlow & {
  kind: 'link-told';
  /** Null: the callback named none. */
  requestCode: string | null;
  workerKey: string;
  /** Under which the margin cache has the detail; null: it was the list of the worker's links. */
  linkKey: string | null;
  /** The whole body, sealed for the place of its callback: `workerKey`. */
  sealed: string;
};

/** As of requests: `Frozen`, `Unfrozen` and `Unreadable` in `records.ts`. */
export type FlowFreezeRecord =
  | (OfFlow & { kind: 'frozen'; problem: string })
  | (OfFlow & { kind: 'unfrozen'; action: ThawAction; by: string; via?: Via; reason: string })
  | (OfFlow & { kind: 'unreadable'; problem: string });

export type FlowRecord = FlowLifeRecord | FlowFreezeRecord;

export type FlowLifeRecord =
  | FlowStarted
  | FlowAsked
  | FlowIntended
  | FlowWithheld
  | FlowAnswered
  | FlowTold
  | FlowLinkTold
  /** Where the won bid stands, as the ledger says. */
  | (OfFlow & {
      kind: 'proposed';
      proposalCode: string | null;
      proposalNumber: string | null;
      validUntil: EpochMs | null;
      errors: readonly string[];
    })
  /** The link was asked for its margin. `refusal`: why the service does not answer; null when it will. */
  /** `requestCode`: under which it will; absent or null: the service named none. */
  /** `sealedAnswer`: what the service answered; absent where it was not asked, took the query, or an earlier version wrote it. */
  | (OfFlow & { kind: 'margin-asked'; refusal: string | null; requestCode?: string | null; sealedAnswer?: string })
  /** The competence in which the contract was generated is over. */
  | (OfFlow & { kind: 'turned' })
  /** Somebody was shown what the service answered: an operation's name, or `links`. Changes nothing. */
  | (OfFlow & { kind: 'shown'; by: string; via?: Via; what: string; sealedReason: string | null })
  /** An event has found its flow. `givenUp`: that flow had taken it under a code that is another one's, and has it no more. */
  | (OfFlow & { kind: 'claimed-by'; owner: string; givenUp?: true });
