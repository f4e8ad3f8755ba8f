/** What is offered, what it was decided from, and what the service said of it. */
import type { AmountCents, EpochMs, RateHundredths } from './glossary.ts';
import type { LinkDetail } from './request.ts';
import type { Via } from './roles.ts';

export type Offer = {
  rateHundredths: RateHundredths;
  amountCents: AmountCents;
  installments: number;
  installmentCents: AmountCents;
  financedCents: AmountCents;
  iofCents: AmountCents;
  /** Effective annual cost, hundredths of a percent. */
  cetAnnualHundredths: number;
  /** Expected value of placing this bid, in cents (J of the design), rounded to whole cents. */
  expectedValueCents: AmountCents;
  /** Probability that the bid wins the auction, as the curve said. */
  winProbability: number;
  validUntil: EpochMs;
};

/** `joint`: rate, amount and term are chosen together. `largest`: the amount is the largest that fits at each rate. */
export type AmountSearch = 'joint' | 'largest';

/** A cap that an exposure is reserved under. `key` has its window already resolved (a day, or an hour bucket). */
export type CapReservation = {
  /** Buckets summed for the check; the reservation is written to the first. */
  keys: readonly string[];
  limitAmountCents: AmountCents | null;
  limitCount: number | null;
  /** A day's budget, to be spent over the day by a price on the amount; its one key ends with the day. */
  paced?: boolean;
};

/** One cause of a decision in a form that can be shown: a rule, a limit, a missing fact. */
export type Reason = { code: string; rule: string | null; text: string };

/**
 * Every input of a decision, or the hash of a stored one, so that a replay gives the same bytes.
 * Stored inputs (topic `inputs`): rule set, settings, win curve, shapes of errors.
 */
export type DecisionTrace = {
  decidedAt: EpochMs;
  ruleSetHash: string;
  settingsHash: string;
  curveHash: string | null;
  /** Absent: the stored curve was used as it is. */
  tailoring?: Tailoring;
  /** Segment keys from most general to most special; statistics are learnt under all of them. */
  segmentKeys: readonly string[];
  link: LinkDetail | null;
  /** Since when the request waited for the detail that was asked for, and until when; absent: it did not wait, or an earlier version wrote it. */
  linkAsked?: { from: EpochMs; until: EpochMs };
  /** Facts that request and link told differently, so that the worse counted or none; absent: none, or the request's word counted. */
  contradicted?: readonly string[];
  /**
   * Economics that the word of one of the two made worse than the facts did; absent: nothing was contradicted, or an earlier program
   * decided, by the facts alone.
   */
  worseEconomics?: readonly WorseValue[];
  usage: Readonly<Record<string, Usage>>;
  /** Facts of the ledger that the rules looked at, as they were; absent when no rule looks at any. */
  ledger?: Readonly<Record<string, number>>;
  shadowPricePerCent: number;
  /** Which of the pacer's prices that was: `cap#n`; absent where no budget is paced. */
  shadowPriceVersion?: string;
  /** How the amount was chosen; absent: it was the largest that fits. */
  amounts?: 'joint';
  /**
   * Each fact of the key of a cap was known. Absent: an earlier version decided, whose requests without one shared a cap, and whose caps of
   * a day read that day alone.
   */
  capKeys?: 'known';
  /** What our own wins had taught of acceptance; absent: nothing. */
  acceptance?: AcceptanceShift;
  caps: readonly CapReservation[];
  rulesFired: readonly string[];
  /** What the value tables gave that the rules look at, one look a table; absent: they look at none. */
  tables?: readonly TableLook[];
  /** What external sources had said of the request, as recorded before the decision; absent: none was asked or had an answer. */
  sources?: readonly SourceLook[];
  /** Rules that operators had put to sleep, and so had no say; absent: none. */
  snoozed?: readonly SnoozedRule[];
  /** The review that was asked for, with its answer; absent: none was. */
  review?: Review;
  reasons: readonly Reason[];
  /** Null when no curve was needed; programs before this one did not write it. */
  trial?: Trial | null;
};

/**
 * What a value table of the rule set said of a request. `hash`: of the table as it was. `key`: what was looked up, as it stands in keys of
 * caps; null: nobody knew it. `found`: by column; what is not in it was unknown.
 */
export type TableLook = {
  table: string;
  hash: string;
  key: string | null;
  found: Readonly<Record<string, number | string>>;
};

/**
 * What an external source said of a request. `hash`: of its declaration in the rule set. `failure` null: it answered. `found`: by field;
 * what is not in it was unknown. Of a failure it is what the declaration says for that.
 */
export type SourceLook = {
  source: string;
  hash: string;
  failure: SourceFailure | null;
  found: Readonly<Record<string, number | string>>;
};

/** Longest answer of a source that is read. */
export const maxReplyLength = 16_384;

/** Why there is no answer of a source. The first five: it was not asked. `incomplete`: the request does not say all that is to be sent. */
export const sourceFailures = [
  'not-configured',
  'incomplete',
  'over-budget',
  'queue-full',
  'no-time',
  'interrupted',
  'time-out',
  'unreachable',
  'redirected',
  'refused',
  'too-long',
  'unreadable',
] as const;
export type SourceFailure = (typeof sourceFailures)[number];

/** A field of the economics, whose word made it so, and the rule that says so; `rule` null: none, it is as where no rule says any. */
export type WorseValue = { field: string; value: number; word: 'request' | 'link'; rule: string | null };

/** What the name of a queue of reviews may look like. */
export const queueShape = /^[a-z][a-z0-9-]{0,39}$/;

/** What a person says in a review, or what holds where nobody says anything in time. */
export type ReviewAnswer = 'pass' | 'bid';

/**
 * A person was asked whether to bid. `rules`: those that asked, the highest priority first, whose queue it is. `until`: an answer at or
 * after it counts for nothing; the same as `askedAt` where no time was left to ask. `answer` null: there is none.
 */
export type Review = {
  queue: string;
  rules: readonly string[];
  askedAt: EpochMs;
  until: EpochMs;
  otherwise: ReviewAnswer;
  answer: { decision: ReviewAnswer; by: string; via?: Via; reason: string; at: EpochMs } | null;
};

/** `digest`: of the rule as it was when it was put to sleep; one that says something else is awake. */
export type SnoozedRule = { rule: string; digest: string };

/**
 * What every candidate policy would have bid from the statistics that the decision used, noted so that the published bids
 * can score them.
 */
export type Trial = {
  /** Of late, ascending: hundredths of a percent a month. */
  breakEvens: readonly number[];
  /** A row of one rate for each break-even: the readings of the whole market, each segment, the additive readings, the mean of them all. */
  rates: readonly number[];
  /** Surplus that the mean expected, summed over the break-evens. */
  scale: number;
  /** Absent: no reading looked at the features of the request. Its readings' rows stand between the segments and the mean. */
  additive?: AdditiveTrial;
  /** What a surplus is worth before it is known whether the worker takes the loan; absent: it is taken at any rate. */
  acceptance?: TrialAcceptance;
};

/** What the additive readings of `pricing/additive.ts` made of one request. */
export type AdditiveTrial = {
  /** Names the features that there were. */
  layout: string;
  /** Columns of the levels that the request's features have, ascending. */
  levels: readonly number[];
  /** By reading: the cell around which it expected the best rival. */
  locations: readonly number[];
};

/** How the stored curve was mixed, for one request, with the stored shapes of errors. */
export type Tailoring = {
  shapesHash: string;
  /** By shape: what it weighs; the stored curve weighs the rest. */
  weights: readonly number[];
  /** By shape: the cell that its middle stands on. */
  locations: readonly number[];
};

/** Workers take a won loan with a probability proportional to `1 / (1 + exp(slope · (rate − midpoint)))`, rate in percent a month. */
export type TrialAcceptance = { midpointPercent: number; slope: number };

/** How workers differ from the configured acceptance: a rate that is as welcome as one this much lower was thought, and fewer or more of them at any rate. */
export type AcceptanceShift = { midpointShiftPercent: number; ceilingFactor: number };

/** What is already used under one cap key. */
export type Usage = { amountCents: AmountCents; count: number };

/** Outcomes that the service can give to a bid, after the classification table of the configuration. */
export type BidOutcome =
  | { kind: 'accepted'; bidId: string }
  | { kind: 'accepted-outside'; bidId: string | null }
  /** `names`: codes that the answer gave, under which the bid is published if it stands all the same. Absent: none, or an earlier version wrote it. */
  | { kind: 'rejected'; code: RejectionCode; names?: readonly string[] }
  /** `names`: as of a refusal; the bid that stood before may be another one than ours. */
  | { kind: 'duplicate'; names?: readonly string[] }
  | { kind: 'unknown'; reason: string; names?: readonly string[] };

/**
 * Why nobody knows what the service did: it refused in words that nobody knows, and named a code all the same, as of what was done, or
 * spoke of a conflict. The same bytes again would tell no more.
 */
export const refusedInDoubt = 'refused-in-doubt';

/** Why an answer that came whole does not tell whether the bid landed: the same bytes again may. */
export type AnswerDoubt = 'unreadable-success' | `status-${number}`;

export type RejectionCode = 'request-not-found' | 'request-expired' | 'validity-too-long' | 'unclassified';

/** One bid as published at the end of an auction. */
export type PublishedBid = {
  bidId: string;
  rateHundredths: RateHundredths;
  /** The published rate had digits below a hundredth; `rateHundredths` is then the cell it beats (rounded up). */
  offGrid: boolean;
  amountCents: AmountCents;
  installments: number;
  position: number;
  placedAt: EpochMs | null;
};
