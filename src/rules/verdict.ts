/** The check of a folder of rules, the same for `lance rules check` and for activation: compiled, tested, tested enough. */
import type { EpochMs } from '../domain/glossary.ts';
import { faultText, type RuleFault } from './place.ts';
import {
  compileRuleSet,
  type RuleFile,
  type RuleSet,
  type WhyAbsent,
  type WrittenConditions,
  withLines,
} from './rule-set.ts';
import { runTests, type TestReport } from './rule-tests.ts';

export type RuleVerdict =
  | { kind: 'refused'; faults: readonly RuleFault[] }
  | {
      kind: 'good' | 'tests-failed';
      ruleSet: RuleSet;
      warnings: readonly RuleFault[];
      report: TestReport;
      written: WrittenConditions;
    };

/** `at`: now; rules whose last day is over by then need no tests. Null: every rule does. `whyAbsent`: as for `compileRuleSet`. */
export function judgeRules(
  files: readonly RuleFile[],
  leastCoveragePercent: number,
  at: EpochMs | null = null,
  whyAbsent?: WhyAbsent,
): RuleVerdict {
  const compiled = compileRuleSet(files, whyAbsent);
  if (compiled.kind === 'refused') return compiled;
  const { ruleSet, warnings, written } = compiled;
  const report = runTests(ruleSet, at);
  const good = report.failed === 0 && report.coverage * 100 >= leastCoveragePercent;
  return { kind: good ? 'good' : 'tests-failed', ruleSet, warnings, report, written };
}

/** As `judgeRules`, and json-rules-engine has to say the same of every test of a set that is good so far. */
export async function confirmRules(...given: Parameters<typeof judgeRules>): Promise<RuleVerdict> {
  const verdict = judgeRules(...given);
  if (verdict.kind !== 'good') return verdict;
  const { differencesFromLibrary } = await import('./second-opinion.ts');
  const { faults } = await differencesFromLibrary(verdict.ruleSet, verdict.written);
  return faults.length === 0 ? verdict : { kind: 'refused', faults: withLines(faults, given[0]) };
}

/** How the reasons are said. `coverage` is a share. */
export type ReasonTexts = {
  fault: (text: string) => string;
  testFailed: (field: string, expected: string, actual: string) => string;
  uncovered: (rule: string, condition: string | null, missing: Uncovered['missing']) => string;
  tooLittle: (coverage: number) => string;
};

type Uncovered = TestReport['uncovered'][number];

const inEnglish: ReasonTexts = {
  fault: (text) => text,
  testFailed: (field, expected, actual) => `${field}: expected ${expected}, got ${actual}`,
  uncovered: (rule, condition, missing) =>
    `"${rule}"${condition === null ? '' : `, ${condition}`}: never ${missing.join(', ')} in the tests`,
  tooLittle: (coverage) => `The tests show ${(coverage * 100).toFixed(1)} % of the rules, which is not enough.`,
};

/** Why it is no good, a line for each reason; none where it is. */
export function reasonsAgainst(verdict: RuleVerdict, texts: ReasonTexts = inEnglish): string[] {
  if (verdict.kind === 'refused')
    return verdict.faults.map((fault) => faultText({ ...fault, text: texts.fault(fault.text) }));
  if (verdict.kind === 'good') return [];
  const { results, uncovered, coverage } = verdict.report;
  const failed = results.flatMap(({ test, failures }) =>
    failures.map(({ field, expected, actual }) => {
      return `${test.file}${test.pointer} "${test.name}": ${texts.testFailed(field, expected, actual)}`;
    }),
  );
  if (failed.length > 0) return failed;
  const unseen = uncovered.map(({ rule, condition, missing }) => texts.uncovered(rule, condition, missing));
  return [texts.tooLittle(coverage), ...unseen];
}
