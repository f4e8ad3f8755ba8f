/**
 * Runs the tests beside the rules, and says what they have not shown: of each rule and each of its conditions, whether it
 * was ever true, false and unknown. What every request has cannot be unknown, and what no value of a fact can make false cannot
 * be false, so nothing has to show that; nor has a rule whose last day is over to show anything.
 */
import { dayOf } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { escapeMarkup } from '../domain/markup.ts';
import { createFrame, isFalse, isTrue, type Truth } from './compile.ts';
import { evaluateOffer, evaluateRequest, joinedReview, type OfferVerdict, type RequestVerdict } from './evaluate.ts';
import { economicsParameters, limitParameters, type Parameter } from './events.ts';
import { comparisonsOf, factsIn, neverHolds } from './extents.ts';
import { type Facts, isAlwaysPresent, lackedByCaps } from './facts.ts';
import type { Comparison, Condition } from './rule.ts';
import type { RuleSet, RuleSummary } from './rule-set.ts';
import type { RuleTest } from './test-file.ts';

type TestFailure = { field: string; expected: string; actual: string };
type TestResult = { test: RuleTest; failures: readonly TestFailure[] };

const truths = ['true', 'false', 'unknown'] as const;
type TruthName = (typeof truths)[number];

type Uncovered = {
  rule: string;
  /** Null: the rule as a whole. */
  condition: string | null;
  missing: readonly TruthName[];
};

export type TestReport = {
  results: readonly TestResult[];
  failed: number;
  /** Truths shown of those that can be shown, of all rules and conditions; 1 where there is nothing to show. */
  coverage: number;
  uncovered: readonly Uncovered[];
};

function shown(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** In the words and units of the files. */
function compareFields<Field extends string>(
  what: string,
  expected: Partial<Record<Field, number | null>> | undefined,
  actual: Partial<Record<Field, number | null>>,
  parameters: Readonly<Record<string, Parameter<Field>>>,
): TestFailure[] {
  return Object.entries(parameters).flatMap(([key, { field, scale }]) => {
    const [wanted, found] = [expected?.[field], actual[field] ?? null];
    if (wanted === undefined || wanted === found) return [];
    const written = (value: number | null) => shown(value === null ? null : value / scale);
    return [{ field: `${what}.${key}`, expected: written(wanted), actual: written(found) }];
  });
}

function compareReview(expected: RuleTest['expect']['review'], actual: ReturnType<typeof joinedReview>): TestFailure[] {
  if (expected === undefined) return [];
  if (expected === null || actual === null) {
    if (expected === actual) return [];
    return [{ field: 'review', expected: shown(expected?.queue ?? null), actual: shown(actual?.queue ?? null) }];
  }
  return (['queue', 'minutes', 'otherwise'] as const).flatMap((field) => {
    const [wanted, found] = [expected[field], actual[field]];
    if (wanted === undefined || wanted === found) return [];
    return [{ field: `review.${field}`, expected: shown(wanted), actual: shown(found) }];
  });
}

function failuresOf(
  ruleSet: RuleSet,
  { expect, facts, offerFacts }: RuleTest,
  verdict: RequestVerdict,
  offer: OfferVerdict | null,
): TestFailure[] {
  const failures: TestFailure[] = [];
  const pass = verdict.passes[0] ?? offer?.passes[0];
  const code = pass?.code ?? null;
  if (expect.pass !== undefined && expect.pass !== code) {
    // Both rules of the conflict: its text names them.
    const why = pass?.code === 'limits-conflict' ? ` (${pass.text})` : '';
    failures.push({ field: 'pass', expected: shown(expect.pass), actual: `${shown(code)}${why}` });
  }
  failures.push(...compareReview(expect.review, joinedReview(verdict.reviews)));
  failures.push(...compareFields('limits', expect.limits, verdict.limits, limitParameters));
  failures.push(...compareFields('economics', expect.economics, verdict.economics, economicsParameters));
  for (const [name, wanted] of Object.entries(expect.facts ?? {})) {
    const found = ruleSet.derived.get(name)?.value(facts, offerFacts) ?? null;
    if (found !== wanted) failures.push({ field: `facts.${name}`, expected: shown(wanted), actual: shown(found) });
  }
  const fired = new Set([...verdict.fired, ...(offer?.fired ?? [])]);
  const names = fired.size === 0 ? 'no rule' : [...fired].map(shown).join(', ');
  for (const name of expect.fired ?? []) {
    if (!fired.has(name)) failures.push({ field: 'fired', expected: shown(name), actual: names });
  }
  for (const name of expect.silent ?? []) {
    if (fired.has(name)) failures.push({ field: 'silent', expected: `not ${shown(name)}`, actual: names });
  }
  return failures;
}

function runTest(ruleSet: RuleSet, test: RuleTest): TestResult {
  // A test says what matters of its request: the key of a cap is unknown only where the test takes a fact of it away.
  const facts: Facts = { ...test.facts, [lackedByCaps]: test.removed ?? [] };
  const verdict = evaluateRequest(ruleSet, facts, test.at);
  const offer = test.stage === 'offer' ? evaluateOffer(ruleSet, facts, test.offerFacts, test.at) : null;
  return { test, failures: failuresOf(ruleSet, test, verdict, offer) };
}

const maxShownValue = 60;

/** As in the file: `worker.ageYears lessThan 21`. */
function comparisonText({ fact, written, value, valueFact }: Comparison): string {
  const right = valueFact ?? JSON.stringify(value);
  return `${fact} ${written} ${right.length > maxShownValue ? `${right.slice(0, maxShownValue)}…` : right}`;
}

/** The truths that a condition can have at all. */
function possible(ruleSet: RuleSet, condition: Condition): readonly TruthName[] {
  const facts = factsIn(condition);
  if (facts.every((fact) => fact === 'desk.always')) return ['true'];
  const cannotBeFalse = neverHolds({ kind: 'not', part: condition });
  const cannotBeUnknown = !facts.some((fact) => canBeUnknown(ruleSet, fact));
  return truths.filter((truth) => !(truth === 'false' && cannotBeFalse) && !(truth === 'unknown' && cannotBeUnknown));
}

function nameOf(truth: Truth): TruthName {
  if (truth === isTrue) return 'true';
  return truth === isFalse ? 'false' : 'unknown';
}

type Observed = {
  rule: string;
  /** File and pointer of the rule. */
  place: string;
  condition: string | null;
  possible: readonly TruthName[];
  test: () => Truth;
  seen: Set<TruthName>;
};

function isOver({ validity }: RuleSummary, at: EpochMs | null): boolean {
  return at !== null && validity.until !== null && validity.until < dayOf(at);
}

/** The truths that a condition on these facts can have: unknown where one of them can be. */
function canBeUnknown({ derived }: RuleSet, fact: string): boolean {
  const source = derived.get(fact);
  if (source === undefined) return !isAlwaysPresent(fact);
  return !source.isTotal || source.needed.some((use) => !isAlwaysPresent(use));
}

function placeOf({ file, pointer }: { file: string; pointer: string }): string {
  return `${file}${pointer}`;
}

function observe(ruleSet: RuleSet, stage: RuleSummary['stage'], at: EpochMs | null): Observed[] {
  const rules = ruleSet.rules.filter((rule) => rule.stage === stage && !isOver(rule, at));
  const frame = createFrame(
    ruleSet.derived,
    rules.map((rule) => rule.conditions),
  );
  const observed = rules.flatMap((rule): Observed[] => {
    const own = (of: Condition, condition: string | null): Observed => {
      const { test } = frame.condition(of);
      return {
        rule: rule.name,
        place: placeOf(rule),
        condition,
        possible: possible(ruleSet, of),
        test,
        seen: new Set(),
      };
    };
    return [
      own(rule.conditions, null),
      ...comparisonsOf(rule.conditions).map((leaf) => own(leaf, comparisonText(leaf))),
    ];
  });
  const values = rules.flatMap((rule) =>
    rule.valueFacts.map((fact) => ({ rule: rule.name, place: placeOf(rule), fact, seen: new Set<TruthName>() })),
  );
  const observedIn = Map.groupBy(observed, ({ place }) => place);
  const valuesIn = Map.groupBy(values, ({ place }) => place);
  const shownByPeople = new Set<string>();
  for (const test of ruleSet.tests) {
    // Tests of the request stage say nothing of rules after pricing.
    if (stage === 'offer' && test.stage !== 'offer') continue;
    // What is generated of the cells of a row shows that row; all else has to be shown by people.
    const ownObserved = test.isGenerated ? (observedIn.get(placeOf(test)) ?? []) : observed;
    const ownValues = test.isGenerated ? (valuesIn.get(placeOf(test)) ?? []) : values;
    if (ownObserved.length === 0) continue;
    frame.load(test.facts, test.offerFacts);
    for (const one of ownObserved) {
      const truth = one.test();
      one.seen.add(nameOf(truth));
      if (!test.isGenerated && one.condition === null && truth === isTrue) shownByPeople.add(one.place);
    }
    for (const { fact, seen } of ownValues) {
      const isKnown =
        (ruleSet.derived.get(fact)?.value ?? (() => test.facts[fact]))(test.facts, test.offerFacts) !== undefined;
      seen.add(isKnown ? 'true' : 'unknown');
    }
  }
  const told = values.map(({ rule, place, fact, seen }): Observed => {
    const needed: readonly TruthName[] = canBeUnknown(ruleSet, fact) ? ['true', 'unknown'] : ['true'];
    return { rule, place, condition: `${fact} is known`, possible: needed, test: () => isTrue, seen };
  });
  return [...observed, ...told, ...tablesShown(ruleSet, rules, shownByPeople)];
}

/** Of a table whose rows are shown by generated tests, people have to show one row: no test that is made of cells says what is meant. */
function tablesShown(
  { tests }: RuleSet,
  rules: readonly RuleSummary[],
  shownByPeople: ReadonlySet<string>,
): Observed[] {
  const generated = new Set(tests.filter(({ isGenerated }) => isGenerated).map(placeOf));
  const tables = Map.groupBy(
    rules.filter((rule) => generated.has(placeOf(rule))),
    ({ file }) => file,
  );
  return [...tables].map(([place, rows]) => ({
    ...{ rule: rows[0]!.name.replace(/ #\d+$/, ''), place, condition: 'any row, in a test that is not generated' },
    ...{ possible: ['true'] as const, test: () => isTrue },
    seen: new Set(rows.some((row) => shownByPeople.has(placeOf(row))) ? (['true'] as const) : []),
  }));
}

/** `at`: the time as of which rules that are over have nothing to show; null: none is over. */
export function runTests(ruleSet: RuleSet, at: EpochMs | null): TestReport {
  const results = ruleSet.tests.map((test) => runTest(ruleSet, test));
  const observed = (['request', 'offer'] as const).flatMap((stage) => observe(ruleSet, stage, at));
  let all = 0;
  let lacking = 0;
  const uncovered: Uncovered[] = [];
  for (const one of observed) {
    const missing = one.possible.filter((truth) => !one.seen.has(truth));
    all += one.possible.length;
    lacking += missing.length;
    if (missing.length === 0) continue;
    uncovered.push({ rule: one.rule, condition: one.condition, missing });
  }
  return {
    results,
    failed: results.filter(({ failures }) => failures.length > 0).length,
    coverage: all === 0 ? 1 : (all - lacking) / all,
    uncovered,
  };
}

function escaped(text: string): string {
  // Characters that XML 1.0 cannot hold at all.
  return escapeMarkup(text.replace(/[\p{Cc}\uFFFE\uFFFF]/gu, ' '));
}

/** JUnit's XML, as build servers read it: one suite a file. */
export function junitOf({ results, failed }: TestReport): string {
  const suites = [...Map.groupBy(results, ({ test }) => test.file)].map(([file, own]) => {
    const failures = own.filter((result) => result.failures.length > 0).length;
    const cases = own.map(({ test, failures: wrong }) => {
      const head = `    <testcase classname="${escaped(file)}" name="${escaped(test.name)}"`;
      if (wrong.length === 0) return `${head}/>`;
      const text = wrong
        .map(({ field, expected, actual }) => `${field}: expected ${expected}, got ${actual}`)
        .join('; ');
      return `${head}><failure message="${escaped(text)}">${escaped(`${file}${test.pointer}`)}</failure></testcase>`;
    });
    const head = `  <testsuite name="${escaped(file)}" tests="${own.length}" failures="${failures}">`;
    return [head, ...cases, '  </testsuite>'].join('\n');
  });
  const head = `<testsuites name="rules" tests="${results.length}" failures="${failed}">`;
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...suites, '</testsuites>', ''].join('\n');
}
