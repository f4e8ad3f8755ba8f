/**
 * Conditions compiled, three-valued. json-rules-engine gives format and meaning; this form is what decides, because it is
 * fast and knows that a missing fact makes a comparison unknown, not true. A frame holds every distinct condition of its
 * rules once, parts before wholes; `load` takes up the facts of one evaluation and works out all of them in one pass, so
 * that what rules share is evaluated once. Synchronous from `load` to the last `test`, so evaluations cannot meet.
 */
import { baseFact, type DerivedFact, type DerivedFacts } from './derived.ts';
import type { Facts } from './facts.ts';
import { compareWith, memberType, type ValueType } from './operators.ts';
import type { Comparison, Condition, Scalar } from './rule.ts';

/** Kleene's three values in an order in which `all` is the least, `any` the greatest and `not` the mirror image. */
export type Truth = 0 | 1 | 2;
export const isFalse = 0;
const isUnknown = 1;
export const isTrue = 2;

type Test = () => Truth;

export type CompiledCondition = {
  test: Test;
  /** Adds the absent facts that keep the condition unknown. Called only when it is. */
  collectMissing: (into: Set<string>) => void;
};

export type Frame = {
  /** One of the conditions that the frame was made of, or a part of one. */
  condition: (condition: Condition) => CompiledCondition;
  /** Takes up the facts that the next tests look at, and evaluates every condition. */
  load: (facts: Facts, offerFacts: Facts) => void;
  /** The truth of every condition after `load`; `indexOf` says where. For those who look at many. */
  truths: Uint8Array;
  indexOf: (condition: Condition) => number;
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
    case 'startsWith':
    case 'doesNotStartWith': {
      const [text, wanted] = [String(value), operator === 'startsWith'];
      return typedTest(values, slot, 'string', (seen) => (seen as string).startsWith(text) === wanted);
    }
    default:
      return operator satisfies never;
  }
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
  else
    key = `${condition.kind === 'atLeast' ? condition.count : condition.kind}(${condition.parts.map((part) => keyOf(part, keys)).join(',')})`;
  keys.set(condition, key);
  return key;
}

type Node = { condition: Condition; parts: readonly number[] };

/**
 * Every distinct condition once, parts before wholes; named ones and `not` are no nodes of their own. A reference is twice
 * the node's number, and one more where it is negated: there its opposite stands among the truths.
 */
function layOut(conditions: readonly Condition[]): {
  nodes: readonly Node[];
  indexOf: (condition: Condition) => number;
} {
  const keys = new WeakMap<Condition, string>();
  const nodes: Node[] = [];
  const references = new Map<string, number>();
  const add = (condition: Condition): number => {
    if (condition.kind === 'named') return add(condition.part);
    const key = keyOf(condition, keys);
    const known = references.get(key);
    if (known !== undefined) return known;
    let reference: number;
    if (condition.kind === 'not') reference = add(condition.part) ^ 1;
    else {
      nodes.push({ condition, parts: condition.kind === 'comparison' ? [] : condition.parts.map(add) });
      reference = 2 * (nodes.length - 1);
    }
    references.set(key, reference);
    return reference;
  };
  for (const condition of conditions) add(condition);
  return { nodes, indexOf: add };
}

/** Where the neutral value of `all` and `any` stands in a program, `atLeast` has this and how many of its parts it wants. */
const counting = 2;

/** `sure` parts are true, `open` ones unknown. */
function countedTruth(truths: Uint8Array, codes: Int32Array, from: number, end: number, wanted: number): Truth {
  let sure = 0;
  let open = 0;
  for (let part = from; part < end; part += 1) {
    const own = truths[codes[part]!]!;
    if (own === isTrue) sure += 1;
    else if (own === isUnknown) open += 1;
  }
  if (sure >= wanted) return isTrue;
  return sure + open >= wanted ? isUnknown : isFalse;
}

/** Groups as numbers in a row, so that one loop without calls works them out. */
function compileGroups(nodes: readonly Node[]): (truths: Uint8Array) => void {
  const program: number[] = [];
  for (const [index, { condition, parts }] of nodes.entries()) {
    if (condition.kind === 'all' || condition.kind === 'any') {
      program.push(2 * index, condition.kind === 'all' ? isTrue : isFalse, parts.length, ...parts);
    }
    if (condition.kind === 'atLeast') {
      program.push(2 * index, counting + condition.count, parts.length, ...parts);
    }
  }
  const codes = Int32Array.from(program);
  return (truths) => {
    for (let at = 0; at < codes.length; ) {
      const target = codes[at]!;
      const neutral = codes[at + 1]!;
      const end = at + 3 + codes[at + 2]!;
      // `all` is the least of its parts, `any` the greatest.
      let truth = neutral;
      if (neutral > counting) truth = countedTruth(truths, codes, at + 3, end, neutral - counting);
      else {
        const decisive = isTrue - neutral;
        for (let part = at + 3; part < end && truth !== decisive; part += 1) {
          const own = truths[codes[part]!]!;
          if (own !== neutral) truth = own === decisive ? decisive : isUnknown;
        }
      }
      truths[target] = truth;
      truths[target + 1] = isTrue - truth;
      at = end;
    }
  };
}

/** `conditions`: all that will be asked for. */
export function createFrame(derived: DerivedFacts, conditions: readonly Condition[]): Frame {
  const { nodes, indexOf } = layOut(conditions);
  const values: unknown[] = [];
  const names: string[] = [];
  const slotOf = new Map<string, number>();
  const sources: (DerivedFact | null)[] = [];
  let loaded: { facts: Facts; offerFacts: Facts } = { facts: {}, offerFacts: {} };
  const of = (fact: string): number => {
    const slot = slotOf.get(fact) ?? names.length;
    if (slot === names.length) {
      names.push(fact);
      values.push(undefined);
      slotOf.set(fact, slot);
      sources.push(derived.get(fact) ?? null);
    }
    return slot;
  };
  const truths = new Uint8Array(2 * nodes.length);
  const leaves: Test[] = [];
  const leafNodes: number[] = [];
  for (const [index, { condition }] of nodes.entries()) {
    if (condition.kind !== 'comparison') continue;
    leaves.push(testOf({ of, values }, condition));
    leafNodes.push(2 * index);
  }
  const evaluate = compileGroups(nodes);

  /** A fact that is made of others lacks those. */
  const lacking = (fact: string): readonly string[] =>
    derived.get(fact)?.lacking(loaded.facts, loaded.offerFacts) ?? [fact];

  const collect = (reference: number, into: Set<string>): void => {
    if (truths[reference] !== isUnknown) return;
    const { condition, parts } = nodes[reference >> 1]!;
    for (const part of parts) collect(part, into);
    if (condition.kind !== 'comparison') return;
    const { fact, types, valueFact } = condition;
    if (valueFact === null || !isOf(types.fact, values[of(fact)])) for (const name of lacking(fact)) into.add(name);
    if (valueFact !== null && !isOf(types.value, values[of(valueFact)])) {
      for (const name of lacking(valueFact)) into.add(name);
    }
  };

  return {
    condition: (condition) => {
      const index = indexOf(condition);
      return { test: () => truths[index] as Truth, collectMissing: (into) => collect(index, into) };
    },
    load: (facts, offerFacts) => {
      loaded = { facts, offerFacts };
      for (let slot = 0; slot < names.length; slot += 1) {
        const source = sources[slot]!;
        const name = names[slot]!;
        if (source === null) values[slot] = baseFact(facts, offerFacts, name);
        // Nothing but an explanation says by itself what is made of other facts.
        else values[slot] = (source.comesFirst ? undefined : facts[name]) ?? source.value(facts, offerFacts);
      }
      for (let leaf = 0; leaf < leaves.length; leaf += 1) {
        const truth = leaves[leaf]!();
        const target = leafNodes[leaf]!;
        truths[target] = truth;
        truths[target + 1] = isTrue - truth;
      }
      evaluate(truths);
    },
    truths,
    indexOf,
    seen: (fact) => values[slotOf.get(fact) ?? -1],
  };
}
