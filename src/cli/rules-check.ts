/** `lance rules check` and `lance rules test`: what activation does with a folder of rules, without activating it. */

import { whyAbsentIn } from '../absent-facts.ts';
import { lacksSealed, type SealedGroup } from '../domain/sealed-facts.ts';
import { Fault } from '../errors.ts';
import { type RuleFault, suggestion } from '../rules/place.ts';
import { type RuleSet, withLines } from '../rules/rule-set.ts';
import type { TestReport } from '../rules/rule-tests.ts';
import { junitOf } from '../rules/rule-tests.ts';
import { notConfigured } from '../rules/sources.ts';
import { unseenFacts } from '../rules/unseen-facts.ts';
import { confirmRules } from '../rules/verdict.ts';
import { writeNamed } from './named-file.ts';
import { tellFaults } from './rules-files.ts';
import { latest } from './rules-try.ts';
import { wholeRequests } from './whole-request.ts';
import { type CommandWorld, withReader } from './world.ts';

/** `run`: only the tests whose name holds this; how much of the rules they show is not asked then. */
export type TestOptions = {
  json: boolean;
  coverage: number;
  junit?: string | undefined;
  run?: string | undefined;
  /** So many recorded requests are asked what they have brought. Left out: none. */
  last?: number | undefined;
};

const hashLength = 12;
const extra: ReadonlySet<SealedGroup> = new Set(['extra']);
const shownUncovered = 40;

function reportTests(world: CommandWorld, report: TestReport, least: number): void {
  const { terminal, format } = world;
  const { rules } = format.texts;
  for (const { test, failures } of report.results) {
    if (failures.length === 0) continue;
    terminal.say(`✗ ${test.file}${test.pointer} "${test.name}"`);
    for (const { field, expected, actual } of failures)
      terminal.say(`    ${rules.testFailed(field, expected, actual)}`);
  }
  const advice = adviceOnBase(report, rules);
  if (advice !== null) terminal.say(advice);
  for (const { rule, condition, missing } of report.uncovered.slice(0, shownUncovered)) {
    terminal.say(`· ${rules.uncovered(rule, condition, missing.map((truth) => rules.truths[truth]).join(', '))}`);
  }
  if (report.uncovered.length > shownUncovered) terminal.say(rules.more(report.uncovered.length - shownUncovered));
  const { results, failed, coverage } = report;
  terminal.write(rules.tested(results.length, failed, format.share(coverage), `${least} %`));
}

/** A new rule makes tests pass for want of a fact that they never needed: their file says it once for all of them. */
function adviceOnBase(report: TestReport, { factsForBase }: CommandWorld['format']['texts']['rules']): string | null {
  const facts = new Set<string>();
  const files = new Set<string>();
  for (const { test, failures } of report.results) {
    for (const { actual } of failures) {
      for (const [, fact] of actual.matchAll(/fact-missing:([\w.-]+)/g)) {
        // A value in the base would change nothing.
        if (test.removed?.includes(fact!)) continue;
        facts.add(`"${fact}"`);
        files.add(test.file);
      }
    }
  }
  return facts.size === 0 ? null : factsForBase([...facts].join(', '), [...files].join(', '));
}

/** Of the tests with such a name alone. Throws `not-found` where there is none. */
function reportOf({ format }: CommandWorld, report: TestReport, name: string): TestReport {
  const results = report.results.filter(({ test }) => test.name.toLowerCase().includes(name.toLowerCase()));
  if (results.length === 0) {
    const hint = suggestion(
      name,
      report.results.map(({ test }) => test.name),
    );
    throw new Fault('not-found', format.texts.rules.noTest(name, hint));
  }
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  return { results, failed, coverage: report.coverage, uncovered: [] };
}

/** Facts under `extra` that the latest requests have not brought. Throws `configuration-invalid` without the key that they are sealed by. */
async function unseenIn(world: CommandWorld, ruleSet: RuleSet, last: number): Promise<RuleFault[]> {
  return withReader(world, async ({ log, views }, { pseudonymKey }) => {
    if (pseudonymKey === null) throw new Fault('configuration-invalid', world.format.texts.impact.keyMissing);
    const whole = wholeRequests(world, pseudonymKey);
    const requests: string[][] = [];
    for await (const { state } of latest(views, last)) {
      if (state.request === null) continue;
      const records = await log.readKey('auctions', state.requestId, state.places);
      const sealed = records.map(({ record }) => record).find((record) => record.kind === 'requested')?.sealed ?? null;
      const request = whole(state.request, sealed);
      // Sealed by another key: nobody knows what it has brought.
      if (!lacksSealed(request, extra)) requests.push(Object.keys(request.extra));
    }
    return unseenFacts(ruleSet, requests);
  });
}

/** Resolves to the exit code: 65 when the files are refused, 1 when a test fails or too little is tested. */
export async function checkRules(world: CommandWorld, directory: string, options: TestOptions): Promise<number> {
  const { terminal, format } = world;
  const { rules } = format.texts;
  const files = world.readRules(directory);
  const verdict = await confirmRules(files, options.coverage, world.clock.now(), whyAbsentIn(world.mapping(null)));
  if (verdict.kind === 'refused') {
    if (options.json) terminal.write(JSON.stringify({ kind: 'refused', faults: verdict.faults }));
    else tellFaults(world, rules.refused(verdict.faults.length), verdict.faults);
    return 65;
  }
  const { ruleSet } = verdict;
  const unconfigured = withLines(notConfigured(ruleSet.sources, world.endpoints()), files);
  const unseen = options.last === undefined ? [] : await unseenIn(world, ruleSet, options.last);
  const warnings = [...verdict.warnings, ...unconfigured, ...withLines(unseen, files)];
  const report = options.run === undefined ? verdict.report : reportOf(world, verdict.report, options.run);
  const good = options.run === undefined ? verdict.kind === 'good' : report.failed === 0;
  if (options.junit !== undefined) writeNamed(world, options.junit, junitOf(report));
  if (options.json) {
    const { coverage, uncovered, failed } = report;
    const failures = report.results.filter((result) => result.failures.length > 0);
    const found = failures.map(({ test, failures: wrong }) => {
      return { file: test.file, pointer: test.pointer, name: test.name, failures: wrong };
    });
    const { hash } = ruleSet;
    const counts = { rules: ruleSet.rules.length, tests: report.results.length, failed };
    terminal.write(
      JSON.stringify({
        kind: verdict.kind,
        hash,
        ...counts,
        coverage,
        warnings,
        uncovered,
        failures: found,
      }),
    );
    return good ? 0 : 1;
  }
  tellFaults(world, rules.warnings(warnings.length), warnings);
  reportTests(world, report, options.coverage);
  if (good) terminal.write(rules.good(ruleSet.rules.length, ruleSet.hash.slice(0, hashLength)));
  else terminal.say(rules.bad);
  return good ? 0 : 1;
}
