/**
 * Conditions as plain functions, three-valued. json-rules-engine gives format and meaning; this form is what decides,
 * because it is fast and knows that a missing fact makes a comparison unknown, not true. The facts of one evaluation are
 * put into a frame; a condition that several rules share is evaluated once in it. Synchronous from `load` to the last
 * test, so evaluations cannot meet.
 */
import { type Facts, listPrefix } from './facts.ts';
import { compileList, type ListLookup, type RuleList } from './lists.ts';
import { compareWith, memberType, type ValueType } from './operators.ts';
import type { Comparison, Condition, Scalar } from './rule.ts';

/** Kleene's three values in an order in which `all` is the least, `any` the greatest and `not` the mirror image. */
export type Truth = 0 | 1 | 2;
export const isFalse = 0;
export const isUnknown = 1;
export const isTrue = 2;

type Test = () => Truth;

export type CompiledCondition = {
  test: Test;
  /** Adds the absent facts that keep the condition unknown. Called only when it is. */
  collectMissing: (into: Set<string>) => void;
};

export type CompiledList = { fact: RuleList['fact']; lookup: ListLookup };

export type Frame = {
  /** Compiled on first sight; equal conditions share one form. */
  condition: (condition: Condition) => CompiledCondition;
  /** Takes up the facts that the next tests look at. */
  load: (facts: Facts, offerFacts: Facts) => void;
  /** What a fact was in the last `load`; undefined: absent. Only facts of compiled conditions. */
  seen: (fact: string) => unknown;
};

/** Lists longer than this are looked up in a set. */
const longList = 8;

function within(values: readonly Scalar[]): (value: Scalar) => boolean {
  if (values.length <= longList) return (value) => values.includes(value);
  const set = new Set(values);
  return (value) => set.has(value);
}

function isOf(type: ValueType, value: unknown): boolean {
  if (memberType(type) !== null) return Array.isArray(value);
  return typeof value === type && !Number.isNaN(value);
}

/** Names under `offer.` come from the second map, lists from their lookup. */
function isOffer(fact: string): boolean {
  return fact.startsWith('offer.');
}

type Slots = { of: (fact: string) => number; values: unknown[] };

function numberTest(values: unknown[], slot: number, holds: (value: number) => boolean): Test {
  return () => {
    const value = values[slot];
    if (typeof value !== 'number' || Number.isNaN(value)) return isUnknown;
    return holds(value) ? isTrue : isFalse;
  };
}

/** Compares with `type`: a value of any other type says nothing. */
function typedTest(values: unknown[], slot: number, type: string, holds: (value: Scalar) => boolean): Test {
  return () => {
    const value = values[slot];
    if (typeof value !== type || Number.isNaN(value)) return isUnknown;
    return holds(value as Scalar) ? isTrue : isFalse;
  };
}

function listTest(values: unknown[], slot: number, wanted: Scalar, contained: boolean): Test {
  return () => {
    const value = values[slot];
    if (!Array.isArray(value)) return isUnknown;
    return value.includes(wanted) === contained ? isTrue : isFalse;
  };
}

/** Decorated operators and facts compared with facts. */
function generalTest({ values, of }: Slots, comparison: Comparison): Test {
  const { around, operator, types, value, valueFact } = comparison;
  const compare = compareWith(around, operator);
  const left = of(comparison.fact);
  if (valueFact === null) {
    return () => {
      const fact = values[left];
      if (!isOf(types.fact, fact)) return isUnknown;
      return compare(fact, value) ? isTrue : isFalse;
    };
  }
  const right = of(valueFact);
  return () => {
    const [fact, other] = [values[left], values[right]];
    if (!isOf(types.fact, fact) || !isOf(types.value, other)) return isUnknown;
    return compare(fact, other) ? isTrue : isFalse;
  };
}

function testOf(slots: Slots, comparison: Comparison): Test {
  const { fact, operator, value, around, valueFact } = comparison;
  if (around.length > 0 || valueFact !== null) return generalTest(slots, comparison);
  const { values } = slots;
  const slot = slots.of(fact);
  const bound = value as number;
  switch (operator) {
    case 'equal':
      return typedTest(values, slot, typeof value, (seen) => seen === value);
    case 'notEqual':
      return typedTest(values, slot, typeof value, (seen) => seen !== value);
    case 'in':
    case 'notIn': {
      const list = value as readonly Scalar[];
      const isIn = within(list);
      const holds = operator === 'in' ? isIn : (seen: Scalar) => !isIn(seen);
      return typedTest(values, slot, typeof list[0], holds);
    }
    case 'lessThan':
      return numberTest(values, slot, (number) => number < bound);
    case 'lessThanInclusive':
      return numberTest(values, slot, (number) => number <= bound);
    case 'greaterThan':
      return numberTest(values, slot, (number) => number > bound);
    case 'greaterThanInclusive':
      return numberTest(values, slot, (number) => number >= bound);
    case 'contains':
    case 'doesNotContain':
      return listTest(values, slot, value as Scalar, operator === 'contains');
    default:
      return operator satisfies never;
  }
}

function groupTest(kind: 'all' | 'any', parts: readonly CompiledCondition[]): Test {
  const tests = parts.map((part) => part.test);
  const count = tests.length;
  const decisive = kind === 'all' ? isFalse : isTrue;
  const neutral = kind === 'all' ? isTrue : isFalse;
  return () => {
    let truth: Truth = neutral;
    for (let index = 0; index < count; index += 1) {
      const part = tests[index]!();
      if (part === decisive) return decisive;
      if (part === isUnknown) truth = isUnknown;
    }
    return truth;
  };
}

/** Equal text, equal meaning. */
function keyOf(condition: Condition, keys: WeakMap<Condition, string>): string {
  const known = keys.get(condition);
  if (known !== undefined) return known;
  let key: string;
  if (condition.kind === 'comparison') {
    const { fact, around, operator, types, value, valueFact } = condition;
    key = JSON.stringify([fact, around, operator, types.fact, valueFact ?? value, valueFact !== null]);
  } else if (condition.kind === 'named') key = keyOf(condition.part, keys);
  else if (condition.kind === 'not') key = `!(${keyOf(condition.part, keys)})`;
  else key = `${condition.kind}(${condition.parts.map((part) => keyOf(part, keys)).join(',')})`;
  keys.set(condition, key);
  return key;
}

/** How often each condition stands in the rules; what stands in a shared one counts once. */
function countUses(conditions: readonly Condition[], keys: WeakMap<Condition, string>): ReadonlyMap<string, number> {
  const uses = new Map<string, number>();
  const visit = (condition: Condition): void => {
    if (condition.kind === 'named') {
      visit(condition.part);
      return;
    }
    const key = keyOf(condition, keys);
    const before = uses.get(key) ?? 0;
    uses.set(key, before + 1);
    if (before > 0 || condition.kind === 'comparison') return;
    if (condition.kind === 'not') visit(condition.part);
    else for (const part of condition.parts) visit(part);
  };
  for (const condition of conditions) visit(condition);
  return uses;
}

/** `conditions`: all that will be asked for. */
export function createFrame(lists: ReadonlyMap<string, CompiledList>, conditions: readonly Condition[]): Frame {
  const values: unknown[] = [];
  const names: string[] = [];
  const slotOf = new Map<string, number>();
  const lookups: (ListLookup | null)[] = [];
  const known = new Map<string, CompiledCondition>();
  const keys = new WeakMap<Condition, string>();
  const uses = countUses(conditions, keys);
  let run = 0;

  const of = (fact: string): number => {
    const slot = slotOf.get(fact) ?? names.length;
    if (slot === names.length) {
      names.push(fact);
      values.push(undefined);
      slotOf.set(fact, slot);
      const list = fact.startsWith(listPrefix) ? lists.get(fact.slice(listPrefix.length)) : undefined;
      lookups.push(list?.lookup ?? null);
    }
    return slot;
  };
  const slots: Slots = { of, values };

  /** A list that says nothing lacks the fact it looks up. */
  const lacking = (fact: string): string => lists.get(fact.slice(listPrefix.length))?.fact ?? fact;

  const compileComparison = (comparison: Comparison): CompiledCondition => {
    const { fact, types, valueFact } = comparison;
    const test = testOf(slots, comparison);
    const report = (name: string) => (name.startsWith(listPrefix) ? lacking(name) : name);
    return {
      test,
      collectMissing: (into) => {
        if (valueFact === null || !isOf(types.fact, values[of(fact)])) into.add(report(fact));
        if (valueFact !== null && !isOf(types.value, values[of(valueFact)])) into.add(report(valueFact));
      },
    };
  };

  const compileNew = (condition: Condition): CompiledCondition => {
    switch (condition.kind) {
      case 'comparison':
        return compileComparison(condition);
      case 'named':
        return compile(condition.part);
      case 'not': {
        const part = compile(condition.part);
        return { test: () => (isTrue - part.test()) as Truth, collectMissing: part.collectMissing };
      }
      case 'all':
      case 'any': {
        const parts = condition.parts.map(compile);
        return {
          test: groupTest(condition.kind, parts),
          collectMissing: (into) => {
            for (const part of parts) if (part.test() === isUnknown) part.collectMissing(into);
          },
        };
      }
      default:
        return condition satisfies never;
    }
  };

  /** Remembers its truth for the rest of a run. */
  const sharing = ({ test, collectMissing }: CompiledCondition): CompiledCondition => {
    let ranAt = -1;
    let truth: Truth = isUnknown;
    const remembered: Test = () => {
      if (ranAt !== run) {
        truth = test();
        ranAt = run;
      }
      return truth;
    };
    return { test: remembered, collectMissing };
  };

  function compile(condition: Condition): CompiledCondition {
    const key = keyOf(condition, keys);
    const before = known.get(key);
    if (before !== undefined) return before;
    const plain = compileNew(condition);
    const compiled = (uses.get(key) ?? 0) > 1 ? sharing(plain) : plain;
    known.set(key, compiled);
    return compiled;
  }

  return {
    condition: compile,
    load: (facts, offerFacts) => {
      run += 1;
      for (let slot = 0; slot < names.length; slot += 1) {
        const lookup = lookups[slot]!;
        const name = names[slot]!;
        values[slot] = lookup === null ? (isOffer(name) ? offerFacts : facts)[name] : lookup(facts);
      }
    },
    seen: (fact) => values[slotOf.get(fact) ?? -1],
  };
}

export function compileLists(lists: readonly RuleList[]): ReadonlyMap<string, CompiledList> {
  return new Map(lists.map((list) => [list.name, { fact: list.fact, lookup: compileList(list) }]));
}
