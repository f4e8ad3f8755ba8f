/** What no single rule shows: two of one name, two of equal priority on one field, one cap name with two meanings. */
import {
  admits,
  areDisjoint,
  type Extent,
  extentOf,
  factsIn,
  implies,
  negated,
  type Ways,
  waysToHold,
} from './extents.ts';
import { type RuleFault, refuse, within } from './place.ts';
import type { Comparison, Condition, Rule, Validity } from './rule.ts';

/** Comparisons that hold whenever the condition holds. */
function necessary(condition: Condition, isNegated: boolean): readonly Comparison[] {
  switch (condition.kind) {
    case 'comparison':
      return [isNegated ? negated(condition) : condition];
    case 'not':
      return necessary(condition.part, !isNegated);
    case 'named':
      return necessary(condition.part, isNegated);
    case 'all':
    case 'any': {
      const together = (condition.kind === 'all') !== isNegated;
      if (!together && condition.parts.length > 1) return [];
      return condition.parts.flatMap((part) => necessary(part, isNegated));
    }
    case 'atLeast': {
      // All of them, or, negated, none: else no single one has to hold.
      const { parts, count } = condition;
      if (count !== (isNegated ? 1 : parts.length)) return [];
      return parts.flatMap((part) => necessary(part, isNegated));
    }
    default:
      return condition satisfies never;
  }
}

type Tests = readonly { fact: string; extent: Extent }[];

function testsOf(rule: Rule): Tests {
  return necessary(rule.conditions, false).flatMap((comparison) => {
    const extent = extentOf(comparison);
    return extent === null ? [] : [{ fact: comparison.fact, extent }];
  });
}

/** Every value that one rule leaves to a fact is ruled out by the other. */
function emptied(left: Tests, right: Tests): boolean {
  return left.some(({ fact, extent }) => {
    if (extent.kind !== 'some') return false;
    const others = right.filter((test) => test.fact === fact);
    return [...extent.values].every((value) => others.some((other) => !admits(other.extent, value)));
  });
}

/** Whether the rules contradict each other directly on one fact. */
function exclude(left: Tests, right: Tests): boolean {
  if (emptied(left, right) || emptied(right, left)) return true;
  return left.some((a) => right.some((b) => a.fact === b.fact && areDisjoint(a.extent, b.extent)));
}

/** Fields of which only one rule can have its way. */
function contestedFields(rule: Rule): readonly string[] {
  const { event } = rule;
  if (event.type === 'segment' || event.type === 'strategy') return [event.type];
  if (event.type === 'experiment') return [`experiments of layer ${event.experiment.layer}`];
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

function apart(left: Validity, right: Validity): boolean {
  const before = (a: Validity, b: Validity) => a.until !== null && b.from !== null && a.until < b.from;
  return before(left, right) || before(right, left);
}

/** The first of `others` that may hold together with `contender`; undefined: each excludes it. */
function rivalOf(contender: Contender, others: readonly Contender[]): Contender | undefined {
  return others.find(
    (other) => !apart(other.rule.validity, contender.rule.validity) && !exclude(other.tests, contender.tests),
  );
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

/** Every two rows of a table exclude each other: which one counts must not hang on their order. */
function refuseOverlaps(rows: readonly Rule[]): void {
  const contenders: Contender[] = [];
  let steps = 0;
  for (const rule of rows) {
    const contender = contenderOf(rule);
    for (const other of contenders) steps += stepsOf(contender, other);
    if (steps > maxSteps) {
      refuse(rule.place, 'This table is too large to be checked; split it.');
      return;
    }
    const rival = rivalOf(contender, contenders);
    if (rival !== undefined) {
      refuse(
        rule.place,
        `"${rule.name}" and "${rival.rule.name}" may hold at once; make their cells exclude each other.`,
      );
    }
    contenders.push(contender);
  }
}

/** `tables`: the rules of each table, which are among `rules` too. */
export function refuseConflicts(rules: readonly Rule[], tables: readonly (readonly Rule[])[]): void {
  for (const rows of tables) refuseOverlaps(rows);
  refuseEqualNames(rules);
  refuseEqualPriorities(rules);
  refuseUnequalCaps(rules);
}

/** Whether `rule` adds nothing while `other` has its effect. */
function isCovered(rule: Rule, other: Rule): boolean {
  const [own, wider] = [rule.event, other.event];
  if (own.type === 'pass' && wider.type === 'pass') return true;
  if (own.type === 'limit' && wider.type === 'limit') {
    if (own.byFact.length > 0) return false;
    return Object.entries(own.limits).every(([field, value]) => {
      const bound = wider.limits[field as keyof typeof wider.limits];
      if (value === null || bound === null || bound === undefined) return false;
      return field.startsWith('min') ? bound >= value : bound <= value;
    });
  }
  if (own.type === 'review' && wider.type === 'review') {
    return other.priority > rule.priority && wider.minutes <= own.minutes && wider.otherwise === 'pass';
  }
  if (other.priority <= rule.priority) return false;
  const fields = contestedFields(other);
  return contestedFields(rule).length > 0 && contestedFields(rule).every((field) => fields.includes(field));
}

/** Finding shadows may cost this many steps (well under a second); beyond it the warnings are left out. */
const maxShadowSteps = 1_000_000;

type Candidate = { rule: Rule; facts: ReadonlySet<string>; ways: Ways };

function alwaysWith({ rule, ways }: Candidate, other: Candidate): boolean {
  const { from, until } = other.rule.validity;
  if (from !== null && (rule.validity.from === null || rule.validity.from < from)) return false;
  if (until !== null && (rule.validity.until === null || rule.validity.until > until)) return false;
  return implies(ways, other.ways);
}

/** `other` can only follow from `rule` when it looks at nothing else. */
function mayCover(rule: Candidate, other: Candidate): boolean {
  const [own, wider] = [rule.rule, other.rule];
  if (wider === own || wider.stage !== own.stage || wider.event.type !== own.event.type) return false;
  for (const fact of other.facts) if (fact !== 'desk.always' && !rule.facts.has(fact)) return false;
  return isCovered(own, wider);
}

/** Rules that never change anything, because another one holds whenever they do. */
export function shadowedRules(rules: readonly Rule[]): RuleFault[] {
  const warnings: RuleFault[] = [];
  const candidates = rules.flatMap((rule): Candidate[] => {
    const ways = waysToHold(rule.conditions);
    return ways === null ? [] : [{ rule, facts: new Set(factsIn(rule.conditions)), ways }];
  });
  let steps = 0;
  for (const candidate of candidates) {
    const { rule } = candidate;
    for (const other of candidates) {
      steps += 1;
      if (!mayCover(candidate, other)) continue;
      steps += 10 + candidate.ways.size * other.ways.size;
      if (steps > maxShadowSteps) return warnings;
      if (!alwaysWith(candidate, other)) continue;
      // Two rules that say the same shadow each other: one warning is enough.
      if (other.rule.name > rule.name && mayCover(other, candidate) && alwaysWith(other, candidate)) continue;
      const { file, pointer } = rule.place;
      const text = `"${rule.name}" changes nothing: whenever it holds, "${other.rule.name}" does. Remove it or mend one of them.`;
      warnings.push({ file, pointer, line: null, text });
      break;
    }
  }
  return warnings;
}
