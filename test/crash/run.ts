/**
 * `npm run crash -- --kills 50 [--seed 1] [--json]`: kills the real daemon again and again under load and lets the auditor
 * judge the whole run. Prints what was found at each recovery; the last line is the summary. Exits 1 on a violation or a
 * figure that is not what it has to be.
 */
import { parseArgs } from 'node:util';
import { runCrashes } from './crash-run.ts';
import { figuresOf, summaryText, tableHead, tableRow } from './report.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const kills = Number(values.kills);
if (!Number.isInteger(kills) || kills < 1) throw new Error('--kills: write a whole number of at least 1');

const startedAt = performance.now();
const run = await runCrashes({
  kills,
  seed: values.seed,
  windowMs: 8_000,
  requestsPerSecond: 220,
  onStage: (text) => void process.stderr.write(`${text}\n`),
  onKill: ({ found, readyMs }) => {
    const inFlight = found.phases.claimed ?? 0;
    process.stderr.write(`killed with ${inFlight} bids in flight; had been ready after ${readyMs ?? '–'} ms\n`);
  },
});
const figures = figuresOf(run);
console.log(tableHead);
for (const [index, kill] of run.kills.entries()) console.log(tableRow(kill, index + 1));
console.log(`\nFound at recovery, all starts together: ${listOf(figures.found)}`);
console.log(`Ends: ${listOf(run.verdict.ends)}`);
console.log(`Passed: ${listOf(figures.passed)}`);
console.log(`Faults played: ${listOf(figures.faults)}`);
console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s, ${figures.records} records`);
const shown = 20;
for (const { code, requestId, text } of run.verdict.violations.slice(0, shown)) {
  console.log(`violation: ${code} ${requestId ?? ''} ${text}`);
}
console.log(values.json ? JSON.stringify(figures) : summaryText(figures));
process.exitCode = figures.missed.length === 0 ? 0 : 1;

function listOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, left], [, right]) => right - left)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}
