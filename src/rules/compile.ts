/**
 * Conditions as plain functions, three-valued. json-rules-engine gives format and meaning; this form is what decides,
 * because it is fast, has no state between runs, and knows that a missing fact makes a comparison unknown, not true.
 */
import type { Facts } from './facts.ts';
import type { Comparison, Condition, Scalar } from './rule.ts';

/** Kleene's three values in an order in which `all` is the least, `any` the greatest and `not` the mirror image. */
type Truth = 0 | 1 | 2;
export const isFalse = 0;
const isUnknown = 1;
export const isTrue = 2;

type Test = (facts: Facts, offerFacts: Facts) => Truth;

export type CompiledCondition = {
  test: Test;
  /** Adds the absent facts that keep the condition unknown. Called only when it is. */
  collectMissing: (facts: Facts, offerFacts: Facts, into: Set<string>) => void;
};

/** Lists longer than this are looked up in a set. */
const longList = 8;

function within(values: readonly Scalar[]): (value: Scalar) => boolean {
  if (values.length <= longList) return (value) => values.includes(value);
  const set = new Set(values);
  return (value) => set.has(value);
}

function numberTest(fact: string, holds: (value: number) => boolean): Test {
  return (facts) => {
    const value = facts[fact];
    if (typeof value !== 'number' || Number.isNaN(value)) return isUnknown;
    return holds(value) ? isTrue : isFalse;
  };
}

/** Compares with `type`: a value of any other type says nothing. */
function typedTest(fact: string, type: string, holds: (value: Scalar) => boolean): Test {
  return (facts) => {
    const value = facts[fact];
    if (typeof value !== type || Number.isNaN(value)) return isUnknown;
    return holds(value as Scalar) ? isTrue : isFalse;
  };
}

function listTest(fact: string, wanted: string, contained: boolean): Test {
  return (facts) => {
    const value = facts[fact];
    if (!Array.isArray(value)) return isUnknown;
    return value.includes(wanted) === contained ? isTrue : isFalse;
  };
}

function equalTest(fact: string, wanted: Scalar, same: boolean): Test {
  const type = typeof wanted;
  return same ? typedTest(fact, type, (value) => value === wanted) : typedTest(fact, type, (value) => value !== wanted);
}

function inTest(fact: string, values: readonly Scalar[], inside: boolean): Test {
  const type = typeof values[0];
  const isIn = within(values);
  return inside ? typedTest(fact, type, isIn) : typedTest(fact, type, (value) => !isIn(value));
}

function testOf({ fact, operator, value }: Comparison): Test {
  const bound = value as number;
  switch (operator) {
    case 'equal':
    case 'notEqual':
      return equalTest(fact, value as Scalar, operator === 'equal');
    case 'in':
    case 'notIn':
      return inTest(fact, value as readonly Scalar[], operator === 'in');
    case 'lessThan':
      return numberTest(fact, (number) => number < bound);
    case 'lessThanInclusive':
      return numberTest(fact, (number) => number <= bound);
    case 'greaterThan':
      return numberTest(fact, (number) => number > bound);
    case 'greaterThanInclusive':
      return numberTest(fact, (number) => number >= bound);
    case 'contains':
    case 'doesNotContain':
      return listTest(fact, value as string, operator === 'contains');
    default:
      return operator satisfies never;
  }
}

function compileComparison(comparison: Comparison): CompiledCondition {
  const plain = testOf(comparison);
  const { fact } = comparison;
  const test: Test = fact.startsWith('offer.') ? (_facts, offerFacts) => plain(offerFacts, offerFacts) : plain;
  return { test, collectMissing: (_facts, _offerFacts, into) => void into.add(fact) };
}

function compileGroup(kind: 'all' | 'any', parts: readonly CompiledCondition[]): CompiledCondition {
  const tests = parts.map((part) => part.test);
  const count = tests.length;
  const decisive = kind === 'all' ? isFalse : isTrue;
  const neutral = kind === 'all' ? isTrue : isFalse;
  const test: Test = (facts, offerFacts) => {
    let truth: Truth = neutral;
    for (let index = 0; index < count; index += 1) {
      const part = tests[index]!(facts, offerFacts);
      if (part === decisive) return decisive;
      if (part === isUnknown) truth = isUnknown;
    }
    return truth;
  };
  const collectMissing = (facts: Facts, offerFacts: Facts, into: Set<string>) => {
    for (const part of parts) {
      if (part.test(facts, offerFacts) === isUnknown) part.collectMissing(facts, offerFacts, into);
    }
  };
  return { test, collectMissing };
}

export function compileCondition(condition: Condition): CompiledCondition {
  switch (condition.kind) {
    case 'comparison':
      return compileComparison(condition);
    case 'not': {
      const part = compileCondition(condition.part);
      return {
        test: (facts, offerFacts) => (isTrue - part.test(facts, offerFacts)) as Truth,
        collectMissing: part.collectMissing,
      };
    }
    case 'all':
    case 'any':
      return compileGroup(condition.kind, condition.parts.map(compileCondition));
    default:
      return condition satisfies never;
  }
}
