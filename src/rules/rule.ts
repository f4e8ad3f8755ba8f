/** A rule after it was read and checked: everything in the units of the domain, nothing left to doubt. */
import type { Economics, Limits, Strategy } from '../domain/policy.ts';
import type { Stage } from './facts.ts';
import type { Place } from './place.ts';

export const operators = [
  'equal',
  'notEqual',
  'in',
  'notIn',
  'lessThan',
  'lessThanInclusive',
  'greaterThan',
  'greaterThanInclusive',
  'contains',
  'doesNotContain',
] as const;
export type Operator = (typeof operators)[number];

export type Scalar = number | string | boolean;

export type Comparison = {
  kind: 'comparison';
  fact: string;
  operator: Operator;
  /** A list for `in` and `notIn`, one value for the others. */
  value: Scalar | readonly Scalar[];
};

export type Condition =
  | { kind: 'all' | 'any'; parts: readonly Condition[] }
  | { kind: 'not'; part: Condition }
  | Comparison;

/** `cuts` null: the fact has few values, each is a segment; otherwise ascending bounds, each belonging to the part above. */
export type Dimension = { fact: string; cuts: readonly number[] | null };

export type CapRule = {
  name: string;
  keyFacts: readonly string[];
  /** Hours of a rolling window; null: the calendar day in São Paulo. */
  windowHours: number | null;
  limitAmountCents: number | null;
  limitCount: number | null;
  /** The amount is a budget that a shadow price spends over the day. */
  paced: boolean;
};

export type RuleEvent =
  | { type: 'pass'; code: string; reason: string }
  | { type: 'limit'; limits: Partial<Limits> }
  | { type: 'economics'; changes: Partial<Economics> }
  | { type: 'segment'; dimensions: readonly Dimension[] }
  | { type: 'strategy'; strategy: Strategy }
  | { type: 'cap'; cap: CapRule };

export type Rule = {
  name: string;
  description: string;
  owner: string | null;
  /** Higher is evaluated first and wins where one must win. */
  priority: number;
  stage: Stage;
  /** What an undecidable `pass` rule does: pass with `fact-missing:<fact>`, or nothing. */
  onMissing: 'pass' | 'ignore';
  conditions: Condition;
  event: RuleEvent;
  place: Place;
};
