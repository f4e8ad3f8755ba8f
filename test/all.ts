/**
 * `npm test`: every test file, each in a process of its own, on one stack; of patterns that are given, what they match. Files that only compute run two at a time,
 * after them those that bear another one beside them, then the others, one at a time, for they start desks and hold them to limits of seconds. Ends with the one line that CI reads.
 */
import { globSync, readFileSync } from 'node:fs';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import report from './reporter.ts';
import { globalSetup, globalTeardown } from './stack/global-setup.ts';

const timeoutMs = 600_000;
/** Of files that wait for nothing and start nothing but themselves. */
const computing = [
  'adapters/kafka/own-records',
  'adapters/kafka/produce-bytes',
  'adapters/kafka/sticky-assigner',
  'adapters/service/measures',
  'adapters/vault/',
  'bench/',
  'bidding/',
  'cli/figures',
  'cli/flow-text',
  'cli/letters-texts',
  'cli/refusal-texts',
  'cli/rules-hits',
  'cli/terminal',
  'config/',
  'console/pages',
  'contract/',
  'domain/',
  'durability/trace',
  'http/api-fuzz',
  'http/described',
  'http/fields',
  'http/guard',
  'http/lag',
  'http/metrics',
  'http/turns',
  'impact/',
  'monitoring/',
  'origination/',
  'pricing/',
  'privacy/roles',
  'privacy/rule-keys',
  'rules/',
  'sandbox/',
  'simulation/',
  'state/',
  'wire/',
];
/** A file that looks at a clock, starts a program or needs a server runs alone wherever it is. */
const needsTheMachine =
  /performance\.now|cpuUsage|setTimeout|\bsleep\(|startDaemon|\/desk\.ts|describeOnStack|browser\.ts/;

/**
 * Files that mostly keep one core busy, with programs that they run to their ends, or wait for servers. What they hold to a limit is
 * held to ten seconds and more, or counted in looks that each wait for a program; where they need a bid, its auction lasts half a
 * minute or there is another one. A step of `cli/flows` has five seconds and needs a fifth of one. So two of them at a time do not make
 * each other fail. The longest stand first.
 */
const besideAnother = [
  'readme',
  'deploy/package',
  'readme-tools',
  'cli/broker-away',
  'cli/rules-activate',
  'deploy/rehearsal',
  'bidding/rule-desk',
  'cli/flow-examples',
  'cli/flows',
  'cli/audit',
  'cli/accept-restore-killed',
  'cli/doctor',
  'adapters/embedded/audit',
  'cli/lost-keys-on-kafka',
  'adapters/kafka/identity',
  'privacy/key-check-on-kafka',
  'conformance/embedded',
  'cli/poison-on-kafka',
  'cli/readers-on-kafka',
  'cli/lost-topics-on-kafka',
  'adapters/kafka/fronts',
  'cli/lost-controls-on-kafka',
  'cli/rules',
  'cli/move-refusals',
  'cli/control',
  'cli/move',
  'stack/handles',
  'cli/views-in-files',
  'cli/questions-on-kafka',
  'cli/bids',
  'cli/status',
  'cli/restored',
  'cli/log-changed',
  'cli/story',
  'cli/sandbox',
  'cli/rules-new',
  'cli/mapping',
  'cli/rules-reasons',
  'privacy/key-check',
  'cli/review',
  'simulation/mutations',
  'cli/review-on-kafka',
  'cli/doctor-tries',
  'adapters/kafka/settings-watch',
  'console/widths-in-browser',
  'cli/views-on-kafka',
].map((name) => `test/${name}.test.ts`);

const isComputing = (file: string): boolean =>
  computing.some((place) => file.startsWith(`test/${place}`)) && !needsTheMachine.test(readFileSync(file, 'utf8'));

const patterns = process.argv.slice(2);
const files = globSync(patterns.length > 0 ? patterns : ['test/**/*.test.ts']).sort();
const beside = besideAnother.filter((file) => files.includes(file));
const { together = [], alone = [] } = Object.groupBy(
  files.filter((file) => !beside.includes(file)),
  (file) => (isComputing(file) ? 'together' : 'alone'),
);

const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());

async function* played(): AsyncGenerator<TestEvent> {
  for (const { paths, concurrency } of [
    { paths: together, concurrency: 2 },
    { paths: beside, concurrency: 2 },
    { paths: alone, concurrency: 1 },
  ]) {
    if (ending.signal.aborted) return;
    for await (const event of run({ files: paths, concurrency, timeout: timeoutMs, signal: ending.signal })) {
      const { type, data } = event as TestEvent;
      if (type === 'test:fail' && (data.todo === undefined || data.todo === false)) process.exitCode = 1;
      yield event as TestEvent;
    }
  }
}

await globalSetup();
try {
  for await (const text of report(played())) process.stdout.write(text);
} finally {
  await globalTeardown();
}
if (ending.signal.aborted) process.exitCode = 1;
