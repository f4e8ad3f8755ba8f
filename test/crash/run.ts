/**
 * `npm run crash -- --kills 50 [--backend kafka] [--begin-with DIR] [--seed 1] [--json]`: kills the real daemon again and again under load and
 * lets the auditor judge the whole run. Prints what was found; the last line is the summary. Exits 1 on a violation or a
 * figure that is not what it has to be; how many were bid for and in flight is judged from 10 kills on.
 * With `--begin-with`, the checkout of an earlier version (with its node_modules) begins the store and is killed for the first half of
 * the run, and this version goes on with what it left.
 *
 * On Kafka there are two desks behind one address, and the broker, Redis and the registry have their faults too. The load is
 * 60 requests a second, because two desks, the sandbox, the broker and Redis share two cores; an auction lasts 60 s, and the
 * desks take 20 s from the receipt for it: a session of 6 s and a hand-over fit
 * into the one, and a broker that starts anew into the other.
 */
import { resolve } from 'node:path';
import { oneOf, readOptions, wholeNumber } from '../command-line.ts';
import { startStack } from '../stack/stack.ts';
import { runCrashes } from './crash-run.ts';
import { figuresOf, summaryText, tableHead, tableRow } from './report.ts';
import { sharedFiguresOf, sharedSummary, sharedTableHead, sharedTableRow } from './shared-report.ts';
import { runSharedCrashes } from './shared-run.ts';
import type { Verdict } from './verdict.ts';

const usage = 'usage: npm run crash -- [--kills 50] [--backend embedded|kafka] [--begin-with DIR] [--seed 1] [--json]';
const { values } = readOptions(usage, {
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    backend: { type: 'string', default: 'embedded' },
    'begin-with': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const kills = wholeNumber(usage, '--kills', values.kills, 1);
const backend = oneOf(usage, '--backend', values.backend, ['embedded', 'kafka']);

const beginWith = values['begin-with'];
if (beginWith !== undefined && kills < 2) throw new Error(usage);
/** Of the runs of both backends. */
const begin =
  beginWith === undefined ? {} : { beginWith: { directory: resolve(beginWith), kills: Math.floor(kills / 2) } };

const startedAt = performance.now();
/** Violations that are printed. */
const shown = 20;
const onStage = (text: string) => void process.stderr.write(`${text}\n`);
switch (backend) {
  case 'embedded':
    await onOneMachine();
    break;
  case 'kafka':
    await onServers();
    break;
  default:
    backend satisfies never;
}

async function onOneMachine(): Promise<void> {
  const run = await runCrashes({
    kills,
    seed: values.seed,
    windowMs: 8_000,
    requestsPerSecond: 220,
    ...begin,
    onStage,
    onKill: ({ found, readyMs }) => {
      const inFlight = found.phases.claimed ?? 0;
      onStage(`killed with ${inFlight} bids in flight; had been ready after ${readyMs ?? '–'} ms`);
    },
  });
  const figures = figuresOf(run);
  console.log(tableHead);
  for (const [index, kill] of run.kills.entries()) console.log(tableRow(kill, index + 1));
  console.log(`\nFound at recovery, all starts together: ${listOf(figures.found)}`);
  console.log(`Faults played: ${listOf(figures.faults)}`);
  conclude(run.verdict, figures, summaryText(figures));
}

async function onServers(): Promise<void> {
  const stack = await startStack({ tell: onStage, lastingRegistry: true });
  if (stack.kind === 'missing') throw new Error(stack.sentence);
  try {
    let told = 0;
    const run = await runSharedCrashes({
      stack,
      kills,
      seed: values.seed,
      windowMs: 60_000,
      requestsPerSecond: 60,
      ...begin,
      onStage,
      onFault: (fault) => {
        told += 1;
        onStage(sharedTableRow(fault, told));
      },
    });
    const figures = sharedFiguresOf(run);
    console.log(sharedTableHead);
    for (const [index, fault] of run.faults.entries()) console.log(sharedTableRow(fault, index + 1));
    console.log(`\nFaults played by the service: ${listOf(figures.faults)}`);
    conclude(run.verdict, figures, sharedSummary(figures));
  } finally {
    await stack.stop();
  }
}

function conclude(verdict: Verdict, figures: { missed: readonly string[] }, summary: string): void {
  console.log(`Ends: ${listOf(verdict.ends)}`);
  console.log(`Passed: ${listOf(verdict.passed)}`);
  console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s, ${verdict.records} records`);
  for (const { code, requestId, text } of verdict.violations.slice(0, shown)) {
    console.log(`violation: ${code} ${requestId ?? ''} ${text}`);
  }
  console.log(values.json ? JSON.stringify(figures) : summary);
  process.exitCode = figures.missed.length === 0 ? 0 : 1;
}

function listOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, left], [, right]) => right - left)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}
