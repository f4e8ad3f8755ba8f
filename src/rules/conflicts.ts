/** What no single rule shows: two of one name, two of equal priority on one field, one cap name with two meanings. */
import { refuse, within } from './place.ts';
import type { Comparison, Condition, Operator, Rule, Scalar } from './rule.ts';

const complements: Readonly<Record<Operator, Operator>> = {
  equal: 'notEqual',
  notEqual: 'equal',
  in: 'notIn',
  notIn: 'in',
  lessThan: 'greaterThanInclusive',
  greaterThanInclusive: 'lessThan',
  lessThanInclusive: 'greaterThan',
  greaterThan: 'lessThanInclusive',
  contains: 'doesNotContain',
  doesNotContain: 'contains',
};

/** Comparisons that hold whenever the condition holds. */
function necessary(condition: Condition, negated: boolean): readonly Comparison[] {
  switch (condition.kind) {
    case 'comparison':
      return [negated ? { ...condition, operator: complements[condition.operator] } : condition];
    case 'not':
      return necessary(condition.part, !negated);
    case 'all':
    case 'any': {
      const together = (condition.kind === 'all') !== negated;
      if (!together && condition.parts.length > 1) return [];
      return condition.parts.flatMap((part) => necessary(part, negated));
    }
    default:
      return condition satisfies never;
  }
}

/** What a comparison lets a fact be: one of some values, none of some values, or an interval. */
type Extent =
  | { kind: 'some'; values: ReadonlySet<Scalar> }
  | { kind: 'none'; values: ReadonlySet<Scalar> }
  | { kind: 'interval'; low: number; lowOpen: boolean; high: number; highOpen: boolean }
  | { kind: 'has' | 'lacks'; value: Scalar };

function extentOf({ operator, value }: Comparison): Extent {
  const values = new Set(Array.isArray(value) ? (value as readonly Scalar[]) : [value as Scalar]);
  const bound = value as number;
  switch (operator) {
    case 'equal':
    case 'in':
      return { kind: 'some', values };
    case 'notEqual':
    case 'notIn':
      return typeof value === 'boolean' ? { kind: 'some', values: new Set([!value]) } : { kind: 'none', values };
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
    default:
      return operator satisfies never;
  }
}

function admits(extent: Extent, value: Scalar): boolean {
  if (extent.kind === 'some') return extent.values.has(value);
  if (extent.kind === 'none') return !extent.values.has(value);
  if (extent.kind !== 'interval' || typeof value !== 'number') return true;
  const { low, lowOpen, high, highOpen } = extent;
  return (lowOpen ? value > low : value >= low) && (highOpen ? value < high : value <= high);
}

function disjoint(left: Extent, right: Extent): boolean {
  if (left.kind === 'interval' && right.kind === 'interval') {
    const apart = (a: typeof left, b: typeof right) =>
      a.high < b.low || (a.high === b.low && (a.highOpen || b.lowOpen));
    return apart(left, right) || apart(right, left);
  }
  const opposed = (left.kind === 'has' && right.kind === 'lacks') || (left.kind === 'lacks' && right.kind === 'has');
  return opposed && left.value === right.value;
}

type Tests = readonly { fact: string; extent: Extent }[];

function testsOf(rule: Rule): Tests {
  return necessary(rule.conditions, false).map((comparison) => ({
    fact: comparison.fact,
    extent: extentOf(comparison),
  }));
}

/** Every value that one rule leaves to a fact is ruled out by the other. */
function emptied(left: Tests, right: Tests): boolean {
  return left.some(({ fact, extent }) => {
    if (extent.kind !== 'some') return false;
    const others = right.filter((test) => test.fact === fact);
    return [...extent.values].every((value) => others.some((other) => !admits(other.extent, value)));
  });
}

/** First form: the rules contradict each other directly on one fact. */
function exclude(left: Tests, right: Tests): boolean {
  if (emptied(left, right) || emptied(right, left)) return true;
  return left.some((a) => right.some((b) => a.fact === b.fact && disjoint(a.extent, b.extent)));
}

/** Fields of which only one rule can have its way. */
function contestedFields(rule: Rule): readonly string[] {
  const { event } = rule;
  if (event.type === 'segment' || event.type === 'strategy') return [event.type];
  return event.type === 'economics' ? Object.keys(event.changes).map((field) => `economics ${field}`) : [];
}

/** Comparing every pair may cost this many steps (well under a second); a set beyond it was not written by people. */
const maxSteps = 50_000_000;

type Contender = { rule: Rule; tests: Tests; valueCount: number };

function contenderOf(rule: Rule): Contender {
  const tests = testsOf(rule);
  const counts = tests.map(({ extent }) => ('values' in extent ? extent.values.size : 1));
  return { rule, tests, valueCount: counts.reduce((sum, count) => sum + count, 0) };
}

function stepsOf(left: Contender, right: Contender): number {
  return 1 + left.valueCount * right.tests.length + right.valueCount * left.tests.length;
}

/** The first of `others` that may hold together with `contender`; undefined: each excludes it. */
function rivalOf(contender: Contender, others: readonly Contender[]): Contender | undefined {
  return others.find((other) => !exclude(other.tests, contender.tests));
}

function refuseEqualPriorities(rules: readonly Rule[]): void {
  const seen = new Map<string, Contender[]>();
  let steps = 0;
  for (const rule of rules) {
    const contender = contenderOf(rule);
    const place = within(rule.place, 'priority');
    for (const field of contestedFields(rule)) {
      const key = `${field} ${rule.priority}`;
      const others = seen.get(key) ?? [];
      for (const other of others) steps += stepsOf(contender, other);
      if (steps > maxSteps) {
        refuse(place, `Too many rules decide ${field} with priority ${rule.priority}; give them different priorities.`);
        return;
      }
      const rival = rivalOf(contender, others);
      if (rival !== undefined) {
        const both = `"${rule.name}" and "${rival.rule.name}" both decide ${field} with priority ${rule.priority}`;
        refuse(place, `${both} and may hold at once; give one of them another priority.`);
      }
      others.push(contender);
      seen.set(key, others);
    }
  }
}

function refuseEqualNames(rules: readonly Rule[]): void {
  const seen = new Map<string, Rule>();
  for (const rule of rules) {
    const other = seen.get(rule.name);
    if (other === undefined) seen.set(rule.name, rule);
    else {
      const where = `${other.place.file}${other.place.pointer}`;
      refuse(within(rule.place, 'name'), `The name "${rule.name}" is taken by the rule at ${where}; choose another.`);
    }
  }
}

/** Rules may tighten one cap together, but its key must mean the same money. */
function refuseUnequalCaps(rules: readonly Rule[]): void {
  const seen = new Map<string, { meaning: string; rule: Rule }>();
  for (const rule of rules) {
    if (rule.event.type !== 'cap') continue;
    const { name, keyFacts, windowHours } = rule.event.cap;
    const meaning = JSON.stringify([rule.stage, windowHours, keyFacts]);
    const first = seen.get(name);
    if (first === undefined) seen.set(name, { meaning, rule });
    else if (first.meaning !== meaning) {
      refuse(
        within(within(within(rule.place, 'event'), 'params'), 'name'),
        `The cap "${name}" has another stage, window or keyFacts in "${first.rule.name}"; make them equal or choose another name.`,
      );
    }
  }
}

export function refuseConflicts(rules: readonly Rule[]): void {
  refuseEqualNames(rules);
  refuseEqualPriorities(rules);
  refuseUnequalCaps(rules);
}
