/**
 * What conditions leave to their facts. From intervals and sets of values it follows that two rules exclude each other,
 * that one holds whenever another does, and that a condition can never hold. Facts compared with facts say nothing here.
 */
import { factNamed } from './facts.ts';
import { complements } from './operators.ts';
import type { Comparison, Condition, Scalar } from './rule.ts';

/** What a comparison lets a fact be: one of some values, none of some values, or an interval; of a list, a member or not; of a text, its beginning. */
export type Extent =
  | { kind: 'some'; values: ReadonlySet<Scalar> }
  | { kind: 'none'; values: ReadonlySet<Scalar> }
  | { kind: 'interval'; low: number; lowOpen: boolean; high: number; highOpen: boolean }
  | { kind: 'has' | 'lacks'; value: Scalar }
  | { kind: 'begins' | 'begins-otherwise'; text: string };

const knownExtents = new WeakMap<Comparison, Extent>();

/** Null: nothing that these checks understand. */
export function extentOf(comparison: Comparison): Extent | null {
  if (comparison.around.length > 0 || comparison.valueFact !== null) return null;
  const known = knownExtents.get(comparison) ?? makeExtent(comparison);
  knownExtents.set(comparison, known);
  return known;
}

function makeExtent({ operator, value }: Comparison): Extent {
  const values = () => new Set(Array.isArray(value) ? (value as readonly Scalar[]) : [value as Scalar]);
  const bound = value as number;
  switch (operator) {
    case 'equal':
    case 'in':
      return { kind: 'some', values: values() };
    case 'notEqual':
    case 'notIn':
      return typeof value === 'boolean'
        ? { kind: 'some', values: new Set([!value]) }
        : { kind: 'none', values: values() };
    case 'lessThan':
    case 'lessThanInclusive':
      return { kind: 'interval', low: -Infinity, lowOpen: true, high: bound, highOpen: operator === 'lessThan' };
    case 'greaterThan':
    case 'greaterThanInclusive':
      return { kind: 'interval', low: bound, lowOpen: operator === 'greaterThan', high: Infinity, highOpen: true };
    case 'contains':
      return { kind: 'has', value: value as Scalar };
    case 'doesNotContain':
      return { kind: 'lacks', value: value as Scalar };
    case 'startsWith':
      return { kind: 'begins', text: String(value) };
    case 'doesNotStartWith':
      return { kind: 'begins-otherwise', text: String(value) };
    default:
      return operator satisfies never;
  }
}

export function admits(extent: Extent, value: Scalar): boolean {
  if (extent.kind === 'some') return extent.values.has(value);
  if (extent.kind === 'none') return !extent.values.has(value);
  if (extent.kind === 'begins') return typeof value === 'string' && value.startsWith(extent.text);
  if (extent.kind === 'begins-otherwise') return typeof value === 'string' && !value.startsWith(extent.text);
  if (extent.kind !== 'interval') return true;
  if (typeof value !== 'number') return false;
  const { low, lowOpen, high, highOpen } = extent;
  return (lowOpen ? value > low : value >= low) && (highOpen ? value < high : value <= high);
}

/** A comparison with its polarity; a negated one holds exactly where the plain one is false. */
export function negated(comparison: Comparison): Comparison {
  const known = knownNegations.get(comparison);
  if (known !== undefined) return known;
  const { around, operator } = comparison;
  const opposite: Comparison =
    around.length > 0
      ? { ...comparison, around: ['not', ...around] }
      : { ...comparison, operator: complements[operator] };
  knownNegations.set(comparison, opposite);
  return opposite;
}

const knownNegations = new WeakMap<Comparison, Comparison>();

type Interval = Extract<Extent, { kind: 'interval' }>;

function endsBefore(one: Interval, other: Interval): boolean {
  return one.high < other.low || (one.high === other.low && (one.highOpen || other.lowOpen));
}

function opposes(one: Extent, other: Extent): boolean {
  if (one.kind === 'has') return other.kind === 'lacks' && one.value === other.value;
  if (one.kind !== 'begins') return false;
  if (other.kind === 'begins') return !one.text.startsWith(other.text) && !other.text.startsWith(one.text);
  return other.kind === 'begins-otherwise' && one.text.startsWith(other.text);
}

/** Whether no value at all is let through by both. */
export function areDisjoint(left: Extent, right: Extent): boolean {
  if (left.kind === 'interval' && right.kind === 'interval') return endsBefore(left, right) || endsBefore(right, left);
  return opposes(left, right) || opposes(right, left);
}

/** One way in which a condition holds: all of these comparisons. */
type Conjunct = readonly Comparison[];

/** More ways than this are not looked at: then nothing is proven. */
const maxConjuncts = 64;
const maxComparisons = 200;

/** All ways in which the condition holds; null when there are too many to look at. */
function waysOf(condition: Condition, isNegated: boolean): readonly Conjunct[] | null {
  switch (condition.kind) {
    case 'comparison':
      return [[isNegated ? negated(condition) : condition]];
    case 'not':
      return waysOf(condition.part, !isNegated);
    case 'named':
      return waysOf(condition.part, isNegated);
    case 'all':
    case 'any': {
      const together = (condition.kind === 'all') !== isNegated;
      let ways: readonly Conjunct[] = together ? [[]] : [];
      for (const part of condition.parts) {
        const own = waysOf(part, isNegated);
        if (own === null) return null;
        ways = together ? ways.flatMap((left) => own.map((right) => [...left, ...right])) : [...ways, ...own];
        if (ways.length > maxConjuncts || (ways[0]?.length ?? 0) > maxComparisons) return null;
      }
      return ways;
    }
    case 'atLeast': {
      // Negated: so many that too few are left.
      const { parts } = condition;
      const needed = isNegated ? parts.length - condition.count + 1 : condition.count;
      return waysOfMany(parts, needed, isNegated);
    }
    default:
      return condition satisfies never;
  }
}

/** In how many ways `count` can be chosen of `size`. */
export function choices(size: number, count: number): number {
  let ways = 1;
  for (let chosen = 1; chosen <= count; chosen += 1) ways = (ways * (size - count + chosen)) / chosen;
  return ways;
}

/** All ways in which `needed` of the parts hold. */
function waysOfMany(parts: readonly Condition[], needed: number, isNegated: boolean): readonly Conjunct[] | null {
  if (choices(parts.length, needed) > maxConjuncts) return null;
  if (needed === 0) return [[]];
  if (parts.length < needed) return [];
  const [first, ...rest] = parts;
  const [own, others, without] = [
    waysOf(first!, isNegated),
    waysOfMany(rest, needed - 1, isNegated),
    waysOfMany(rest, needed, isNegated),
  ];
  if (own === null || others === null || without === null) return null;
  const ways = [...own.flatMap((left) => others.map((right) => [...left, ...right])), ...without];
  return ways.length > maxConjuncts || ways.some((way) => way.length > maxComparisons) ? null : ways;
}

/** Closed sets of values; null when a fact may be anything. */
function universeOf(fact: string, comparison: Comparison): readonly Scalar[] | null {
  if (fact === 'desk.always') return [true];
  if (comparison.types.fact === 'boolean') return [true, false];
  return factNamed(fact)?.values ?? null;
}

function isEmptyInterval(fact: string, extents: readonly Extent[]): boolean {
  const definition = factNamed(fact);
  let { low, high, lowOpen, highOpen } = {
    low: definition?.range?.min ?? -Infinity,
    high: definition?.range?.max ?? Infinity,
    lowOpen: false,
    highOpen: false,
  };
  for (const extent of extents) {
    if (extent.kind !== 'interval') continue;
    if (extent.low > low || (extent.low === low && extent.lowOpen)) ({ low, lowOpen } = extent);
    if (extent.high < high || (extent.high === high && extent.highOpen)) ({ high, highOpen } = extent);
  }
  if (definition?.whole) {
    low = lowOpen ? Math.floor(low) + 1 : Math.ceil(low);
    high = highOpen ? Math.ceil(high) - 1 : Math.floor(high);
    lowOpen = false;
    highOpen = false;
  }
  if (low > high || (low === high && (lowOpen || highOpen))) return true;
  return low === high && !extents.every((extent) => admits(extent, low));
}

function leavesNothing(fact: string, comparisons: readonly Comparison[]): boolean {
  const extents = comparisons.flatMap((comparison) => extentOf(comparison) ?? []);
  if (extents.length === 0) return false;
  const types = new Set(comparisons.filter((one) => one.around.length === 0).map((one) => one.types.fact));
  if (types.size > 1) return true;
  const some = extents.find((extent) => extent.kind === 'some');
  const candidates = some?.kind === 'some' ? [...some.values] : universeOf(fact, comparisons[0]!);
  if (candidates !== null) {
    const universe = universeOf(fact, comparisons[0]!);
    return !candidates.some(
      (value) => (universe === null || universe.includes(value)) && extents.every((extent) => admits(extent, value)),
    );
  }
  if (types.has('number')) return isEmptyInterval(fact, extents);
  return extents.some((extent) => extents.some((other) => areDisjoint(extent, other)));
}

function isContradiction(conjunct: Conjunct): boolean {
  const byFact = Map.groupBy(conjunct, (comparison) => comparison.fact);
  for (const [fact, comparisons] of byFact) if (leavesNothing(fact, comparisons)) return true;
  return false;
}

/** Whether it is proven that the condition never holds, whatever the facts. */
export function neverHolds(condition: Condition): boolean {
  return waysOf(condition, false)?.every(isContradiction) ?? false;
}

/** How a condition can hold and how it can fail to, worked out once to be compared with many others. */
export type Ways = { holding: readonly Conjunct[]; failing: readonly Conjunct[]; size: number };

/** Null when there are too many ways to look at. */
export function waysToHold(condition: Condition): Ways | null {
  const holding = waysOf(condition, false);
  const failing = waysOf(condition, true);
  if (holding === null || failing === null) return null;
  const size = [...holding, ...failing].reduce((sum, conjunct) => sum + conjunct.length, 1);
  return { holding, failing, size };
}

/** Whether it is proven that `second` holds whenever `first` does. */
export function implies(first: Ways, second: Ways): boolean {
  return first.holding.every((holds) => second.failing.every((fails) => isContradiction([...holds, ...fails])));
}

/** Every comparison of the condition, in the order of the file. */
export function comparisonsOf(condition: Condition): readonly Comparison[] {
  switch (condition.kind) {
    case 'comparison':
      return [condition];
    case 'not':
    case 'named':
      return comparisonsOf(condition.part);
    case 'all':
    case 'any':
    case 'atLeast':
      return condition.parts.flatMap(comparisonsOf);
    default:
      return condition satisfies never;
  }
}

/** Facts that the condition looks at, each once. */
export function factsIn(condition: Condition): readonly string[] {
  const names = comparisonsOf(condition).flatMap(({ fact, valueFact }) =>
    valueFact === null ? [fact] : [fact, valueFact],
  );
  return [...new Set(names)];
}

const knownCounts = new WeakMap<Condition, number>();

/** Comparisons in the condition, counted anew wherever a named condition stands. */
export function leafCount(condition: Condition): number {
  if (condition.kind === 'comparison') return 1;
  const known = knownCounts.get(condition);
  if (known !== undefined) return known;
  const parts = 'parts' in condition ? condition.parts : [condition.part];
  const count = parts.reduce((sum, part) => sum + leafCount(part), 0);
  knownCounts.set(condition, count);
  return count;
}
