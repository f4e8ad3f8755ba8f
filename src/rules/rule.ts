/** A rule after it was read and checked: everything in the units of the domain, nothing left to doubt. */
import type { Day } from '../domain/glossary.ts';
import type { ReviewAnswer } from '../domain/offer.ts';
import type { Economics, Limits, Strategy } from '../domain/policy.ts';
import type { Stage } from './facts.ts';
import type { Json } from './json.ts';
import type { Decorator, Operator, ValueType } from './operators.ts';
import type { Place } from './place.ts';

export type Scalar = number | string | boolean;

export type Comparison = {
  kind: 'comparison';
  fact: string;
  /** As the file writes it, decorators included. */
  written: string;
  /** Decorators, outermost first; a `not` next to the operator is already its complement. */
  around: readonly Decorator[];
  operator: Operator;
  /** What each side has to be; a value of another type says nothing. */
  types: { fact: ValueType; value: ValueType };
  value: Scalar | readonly Scalar[];
  /** The fact that stands on the right instead of `value`; null: `value` counts. */
  valueFact: string | null;
};

export type Condition =
  | { kind: 'all' | 'any'; parts: readonly Condition[] }
  /** `count` of the parts hold, or more. */
  | { kind: 'atLeast'; count: number; parts: readonly Condition[] }
  | { kind: 'not'; part: Condition }
  /** A condition that `conditions.json` names; `part` is what stands there. */
  | { kind: 'named'; name: string; part: Condition }
  | Comparison;

/** Days in São Paulo, both included; null: open. */
export type Validity = { from: Day | null; until: Day | null };

/** `cuts` null: the fact has few values, each is a segment; otherwise ascending bounds, each belonging to the part above. */
export type Dimension = { fact: string; cuts: readonly number[] | null };

/** `param` as the files write it. A value of the fact outside `least` … `most` leaves no bid, or limits nothing, whichever is tighter. */
export type LimitByFact = {
  param: string;
  field: keyof Limits;
  fact: string;
  scale: number;
  least: number;
  most: number;
};

export type CapRule = {
  name: string;
  keyFacts: readonly string[];
  /** Hours of a rolling window; null: the calendar day in São Paulo. */
  windowHours: number | null;
  limitAmountCents: number | null;
  limitCount: number | null;
  /** Facts that tell the two limits instead; null: the numbers do. */
  amountFact: string | null;
  countFact: string | null;
  /** The amount is a budget that a shadow price spends over the day. */
  paced: boolean;
};

/** Who is treated differently, to learn what it changes: a share of the workers, always the same ones. */
export type ExperimentRule = {
  name: string;
  /** A worker is in one experiment of a layer. */
  layer: string;
  share: number;
  /** What is changed for those treated; one of the two is there. */
  economics: Partial<Economics> | null;
  strategy: Strategy | null;
};

export type RuleEvent =
  | { type: 'pass'; code: string; reason: string }
  /** `byFact`: what a limit is told by a fact, in the units of the files. */
  | { type: 'limit'; limits: Partial<Limits>; byFact: readonly LimitByFact[] }
  | { type: 'economics'; changes: Partial<Economics> }
  | { type: 'segment'; dimensions: readonly Dimension[] }
  | { type: 'strategy'; strategy: Strategy }
  | { type: 'cap'; cap: CapRule }
  | { type: 'experiment'; experiment: ExperimentRule }
  /** A person is asked before a bid. `minutes`: how long at most; `otherwise`: what holds where nobody answers. */
  | { type: 'review'; queue: string; minutes: number; otherwise: ReviewAnswer };

/** `salt`: what the workers are drawn by, the rule's name or that of its table. `fact`: whether the worker is in. */
export type WorkerShare = { salt: string; share: number; fact: string };

export type Rule = {
  name: string;
  description: string;
  owner: string | null;
  /** Higher is evaluated first and wins where one must win. */
  priority: number;
  stage: Stage;
  /** Outside of it the rule does not exist. */
  validity: Validity;
  /** What an undecidable `pass` rule does: pass with `fact-missing:<fact>`, or nothing. */
  onMissing: 'pass' | 'ignore';
  /** It exists for a share of the workers alone; null: for all. `conditions` ask for it. */
  share: WorkerShare | null;
  conditions: Condition;
  /** The conditions as the file writes them. */
  written: Json;
  /** The rule as the file writes it, or as its row does. */
  whole: Json;
  event: RuleEvent;
  place: Place;
};
