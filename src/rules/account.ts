/**
 * Why a rule came out as it did: each of its conditions with the value it saw, by the same compiled form that decides.
 * And, for facts alone, the smallest change of one fact that no rule would pass on any more.
 */
import { dayOf } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { createFrame, type Frame, isFalse, isTrue, type Truth } from './compile.ts';
import { baseFact } from './derived.ts';
import { evaluateOffer, evaluateRequest } from './evaluate.ts';
import { comparisonsOf } from './extents.ts';
import { type Facts, type FactValue, factNamed, listPrefix } from './facts.ts';
import type { Comparison, Condition, Scalar } from './rule.ts';
import type { RuleSet, RuleSummary } from './rule-set.ts';
import { sharePrefix } from './shares.ts';

type TruthName = 'true' | 'false' | 'unknown';

/** `points` null: unknown, and so is the score. `bin` null: the points of what is unknown. */
export type SeenFact = { fact: string; seen: FactValue | null; bin?: string | null; points?: number | null };

export type ConditionAccount =
  | {
      kind: 'comparison';
      fact: string;
      operator: string;
      /** What it was compared with: a value, or the name of a fact and what that was. */
      value: Scalar | readonly Scalar[];
      valueFact: string | null;
      /** Null: absent. */
      seen: FactValue | null;
      /** Of a fact that is made of others: what those were. */
      from?: readonly SeenFact[];
      truth: TruthName;
    }
  | {
      kind: 'all' | 'any' | 'atLeast' | 'not' | 'named';
      name: string | null;
      /** Of `atLeast`: how many of the parts have to hold. */
      count?: number;
      truth: TruthName;
      parts: readonly ConditionAccount[];
    };

export type RuleAccount = {
  name: string;
  event: RuleSummary['event'];
  file: string;
  pointer: string;
  truth: TruthName;
  /** False on days outside of `validFrom` … `validUntil`: then it has no effect, whatever its conditions say. */
  valid: boolean;
  /** An operator had put it to sleep: it had no effect either. Absent: it was awake. */
  snoozed?: true;
  condition: ConditionAccount;
  /** Facts that tell the values of the event, with what those are made of; absent where none does. */
  values?: readonly (SeenFact & { from?: readonly SeenFact[] })[];
};

function nameOf(truth: Truth): TruthName {
  if (truth === isTrue) return 'true';
  return truth === isFalse ? 'false' : 'unknown';
}

function valueSeen(frame: Frame, fact: string): FactValue | null {
  return (frame.seen(fact) as FactValue | undefined) ?? null;
}

/** What a fact is made of; nothing for one that is there by itself. */
type MadeOf = (fact: string) => { from?: readonly SeenFact[] };

function accountOf(frame: Frame, condition: Condition, madeOf: MadeOf): ConditionAccount {
  const truth = nameOf(frame.condition(condition).test());
  switch (condition.kind) {
    case 'comparison': {
      const { fact, written, value, valueFact } = condition;
      const right = valueFact === null ? value : ((valueSeen(frame, valueFact) as Scalar | null) ?? []);
      return {
        kind: 'comparison',
        fact,
        operator: written,
        value: right,
        valueFact,
        seen: valueSeen(frame, fact),
        ...madeOf(fact),
        truth,
      };
    }
    case 'not':
      return { kind: 'not', name: null, truth, parts: [accountOf(frame, condition.part, madeOf)] };
    case 'named':
      return { kind: 'named', name: condition.name, truth, parts: [accountOf(frame, condition.part, madeOf)] };
    case 'all':
    case 'any':
      return {
        kind: condition.kind,
        name: null,
        truth,
        parts: condition.parts.map((part) => accountOf(frame, part, madeOf)),
      };
    case 'atLeast': {
      const parts = condition.parts.map((part) => accountOf(frame, part, madeOf));
      return { kind: 'atLeast', name: null, count: condition.count, truth, parts };
    }
    default:
      return condition satisfies never;
  }
}

/** In order of evaluation. `offerFacts` null: the request was not priced, and rules after pricing are left out. */
export function accountRules(
  ruleSet: RuleSet,
  facts: Facts,
  offerFacts: Facts | null,
  at: EpochMs,
  snoozed: ReadonlySet<string> | null = null,
): RuleAccount[] {
  const rules = ruleSet.rules.filter((rule) => rule.stage === 'request' || offerFacts !== null);
  const frame = createFrame(
    ruleSet.derived,
    rules.map((rule) => rule.conditions),
  );
  for (const rule of rules) frame.condition(rule.conditions);
  frame.load(facts, offerFacts ?? {});
  const day = dayOf(at);
  const seenIn = (fact: string) => baseFact(facts, offerFacts ?? {}, fact) ?? null;
  const madeOf: MadeOf = (fact) => {
    const isLookedUp = fact.startsWith(listPrefix) || fact.startsWith(sharePrefix);
    const source = isLookedUp ? undefined : ruleSet.derived.get(fact);
    if (source?.parts !== undefined) return { from: source.parts(facts, offerFacts ?? {}) };
    if (source === undefined) return {};
    const told = (source.reads ?? []).filter((read) => read !== fact);
    const tables = told.map((read) => ({
      fact: read,
      seen: ruleSet.derived.get(read)?.value(facts, offerFacts ?? {}) ?? null,
    }));
    // Values of a list have no value as one: their sum and their number are shown.
    const shown = source.uses.filter((use) => !use.includes('.*'));
    return { from: [...shown.map((use) => ({ fact: use, seen: seenIn(use) })), ...tables] };
  };
  return rules.map(({ name, event, file, pointer, validity, conditions, valueFacts }) => {
    const condition = accountOf(frame, conditions, madeOf);
    const { from, until } = validity;
    const valid = (from === null || from <= day) && (until === null || day <= until);
    const values = valueFacts.map((fact) => {
      const source = ruleSet.derived.get(fact);
      const seen = source === undefined ? seenIn(fact) : (source.value(facts, offerFacts ?? {}) ?? null);
      return { fact, seen, ...madeOf(fact) };
    });
    const told = values.length === 0 ? {} : { values };
    const asleep = snoozed?.has(name) ? { snoozed: true as const } : {};
    return { name, event, file, pointer, truth: condition.truth, valid, ...asleep, condition, ...told };
  });
}

export type FactChange = { fact: string; from: FactValue | null; to: FactValue };

/** The values just at and just beyond what a comparison names. */
function candidatesOf({ fact, types, value, valueFact }: Comparison, facts: Facts): FactValue[] {
  if (fact === 'desk.always') return [];
  const given: readonly Scalar[] = Array.isArray(value) ? (value as readonly Scalar[]) : [value as Scalar];
  if (types.fact === 'string-list') return [[], given.map(String)];
  if (types.fact === 'boolean') return [true, false];
  if (types.fact === 'string') return [...(factNamed(fact)?.values ?? []), ...given.map(String)];
  const other = valueFact === null ? undefined : facts[valueFact];
  const bounds = valueFact === null ? given : typeof other === 'number' ? [other] : [];
  const step = factNamed(fact)?.whole ? 1 : 0.01;
  const range = factNamed(fact)?.range ?? { min: -Infinity, max: Infinity };
  return bounds
    .flatMap((bound) => [Number(bound), Number(bound) - step, Number(bound) + step])
    .map((number) => Number(number.toFixed(6)))
    .filter((number) => number >= range.min && number <= range.max);
}

function distance(from: FactValue | null, to: FactValue): number {
  return typeof from === 'number' && typeof to === 'number' ? Math.abs(to - from) : 0;
}

/** What a rule sees under this name: for a list, whether the request is on it. `facts`: of the request, or of both. */
export function factSeen({ derived }: RuleSet, facts: Facts, name: string): FactValue | null {
  return facts[name] ?? derived.get(name)?.value(facts, facts) ?? null;
}

/** For each fact that rules look at, the values worth trying, the nearest to what it is first. */
export function candidateValues(
  ruleSet: RuleSet,
  facts: Facts,
  offerFacts: Facts,
): ReadonlyMap<string, readonly FactValue[]> {
  const found = new Map<string, Set<FactValue>>();
  for (const { conditions } of ruleSet.rules) {
    for (const comparison of comparisonsOf(conditions)) {
      const values = found.get(comparison.fact) ?? new Set();
      for (const value of candidatesOf(comparison, facts)) values.add(value);
      found.set(comparison.fact, values);
    }
  }
  const sorted = new Map<string, readonly FactValue[]>();
  for (const [fact, values] of found) {
    const from = factSeen(ruleSet, fact.startsWith('offer.') ? offerFacts : facts, fact);
    const others = [...values].filter((value) => value !== from);
    sorted.set(
      fact,
      others.sort((left, right) => distance(from, left) - distance(from, right)),
    );
  }
  return sorted;
}

/** Changes of one fact, each the smallest of its fact, after which no rule passes; empty when nothing passes now. */
export function nearestClear(ruleSet: RuleSet, facts: Facts, offerFacts: Facts | null, at: EpochMs): FactChange[] {
  const passes = (own: Facts, offer: Facts | null) =>
    evaluateRequest(ruleSet, own, at).passes.length > 0 ||
    (offer !== null && evaluateOffer(ruleSet, own, offer, at).passes.length > 0);
  if (!passes(facts, offerFacts)) return [];
  const changes: FactChange[] = [];
  for (const [fact, values] of candidateValues(ruleSet, facts, offerFacts ?? {})) {
    const isOffer = fact.startsWith('offer.');
    if (isOffer && offerFacts === null) continue;
    const to = values.find((value) =>
      isOffer ? !passes(facts, { ...offerFacts, [fact]: value }) : !passes({ ...facts, [fact]: value }, offerFacts),
    );
    if (to !== undefined) changes.push({ fact, from: factSeen(ruleSet, isOffer ? offerFacts! : facts, fact), to });
  }
  return changes;
}
