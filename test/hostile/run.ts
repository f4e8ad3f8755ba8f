/**
 * `npm run hostile -- [--line 6] [--json]`: does to the real daemon what an attacker, a clock or a disk does to it. Prints one
 * line for each scenario, with `--json` one object a line. Exits 1 when one of them did not hold.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readOptions, refuse, wholeNumber } from '../command-line.ts';
import { endDaemons, shareCompiledCode } from './daemon.ts';
import type { Figures, Scenario } from './scenario.ts';

const usage = 'usage: npm run hostile -- [--line N] [--json]';
const { values } = readOptions(usage, {
  options: { line: { type: 'string' }, json: { type: 'boolean', default: false } },
});
const wanted = values.line === undefined ? null : wholeNumber(usage, '--line', values.line, 1);

const scenarioLimitMs = 60_000;

type Outcome = { line: number; name: string; passed: boolean; durationMs: number; figures: Figures; problem?: string };

async function play(scenario: Scenario): Promise<Outcome> {
  const { line, name } = scenario;
  const directory = mkdtempSync(join(tmpdir(), `lance-hostile-${line}-`));
  const startedAt = performance.now();
  const outcome = (rest: Pick<Outcome, 'passed' | 'figures'> & { problem?: string }): Outcome => {
    return { line, name, durationMs: Math.round(performance.now() - startedAt), ...rest };
  };
  const tooLong = sleep(scenarioLimitMs, undefined, { ref: false }).then(() => {
    throw new Error(`not over after ${scenarioLimitMs / 1_000} s`);
  });
  try {
    return outcome({ passed: true, figures: await Promise.race([scenario.run(directory), tooLong]) });
  } catch (problem) {
    return outcome({
      passed: false,
      figures: {},
      problem: problem instanceof Error ? problem.message : String(problem),
    });
  } finally {
    await endDaemons();
    rmSync(directory, { recursive: true, force: true });
  }
}

function lineOf(outcome: Outcome): string {
  if (values.json) return JSON.stringify(outcome);
  const figures = Object.entries(outcome.figures).map(([name, value]) => `${name} ${value}`);
  const seconds = `${(outcome.durationMs / 1_000).toFixed(1)} s`;
  const verdict = !outcome.passed ? 'FAILED' : 'skipped' in outcome.figures ? 'skipped' : 'held  ';
  return `${verdict} ${String(outcome.line).padStart(2)} ${outcome.name} (${[seconds, ...figures].join(', ')})${
    outcome.problem === undefined ? '' : `\n       ${outcome.problem}`
  }`;
}

const folder = new URL('scenarios/', import.meta.url);
const scenarios: Scenario[] = [];
for (const file of readdirSync(folder).sort()) {
  if (!file.endsWith('.ts')) continue;
  const module = (await import(new URL(file, folder).href)) as { scenario: Scenario };
  scenarios.push(module.scenario);
}
const played = scenarios
  .filter(({ line }) => wanted === null || line === wanted)
  .sort((one, other) => one.line - other.line);
if (played.length === 0) refuse(usage, `--line ${wanted}: no scenario is of this line`);

const compiled = mkdtempSync(join(tmpdir(), 'lance-hostile-compiled-'));
shareCompiledCode(compiled);
let failed = 0;
let skipped = 0;
for (const scenario of played) {
  const outcome = await play(scenario);
  if (!outcome.passed) failed += 1;
  if ('skipped' in outcome.figures) skipped += 1;
  console.log(lineOf(outcome));
}
rmSync(compiled, { recursive: true, force: true });
if (!values.json) console.log(`${played.length - failed - skipped} held, ${failed} failed, ${skipped} skipped`);
// A scenario that failed may have left a timer behind.
process.exit(failed === 0 ? 0 : 1);
