/** Instances of one desk share the partitions; who leaves, dies or freezes has none of them any more, and knows it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type KafkaLog, openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import type { KafkaSettings } from '../../../src/adapters/kafka/settings.ts';
import type { Consumer } from '../../../src/bidding/ports.ts';
import { eventually } from '../../conformance/backend.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { describeOnStack, type SuiteStack } from '../../stack/suite.ts';

const partitions = [0, 1, 2, 3];

const settingsFor = (stack: SuiteStack, name: string): KafkaSettings => ({
  ...settingsOn(stack, `${stack.prefix}${name}.`),
  partitions: partitions.length,
  // The least that a broker allows.
  sessionTimeoutMs: 6_000,
});

type Instance = {
  opened: KafkaLog;
  consumer: Consumer;
  froms: number[];
  lost: number[];
  read: string[];
  owned: () => number[];
};

/** `applied` plays the views that instances share. */
async function join(settings: KafkaSettings, applied: Map<number, number>): Promise<Instance> {
  const fail = (fault: unknown): never => {
    throw fault;
  };
  const opened = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
  const [froms, lost, read]: [number[], number[], string[]] = [[], [], []];
  const consumer = await opened.log.consume({
    topic: 'auctions',
    scope: 'owned',
    from: async (partition) => {
      froms.push(partition);
      return applied.get(partition) ?? 0;
    },
    onLost: (partition) => lost.push(partition),
    maxEntries: 10,
    handler: async ({ partition, first, next, entries }) => {
      assert.equal(first, applied.get(partition) ?? 0, 'read on from where the views are');
      applied.set(partition, next);
      for (const { record } of entries) if (record.kind === 'resolved') read.push(record.reason);
    },
    onFault: fail,
  });
  return { opened, consumer, froms, lost, read, owned: () => partitions.filter(consumer.owns) };
}

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => auctionEntry(`k${from + index}`, `${from + index}`));

async function killed(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

function testHandOver(stack: SuiteStack): void {
  test('a second instance takes half, keeps the rest where it is, and gives it back when it stops', async () => {
    const settings = settingsFor(stack, 'share');
    const applied = new Map<number, number>();
    const first = await join(settings, applied);
    assert.deepEqual(first.owned(), partitions);
    await first.opened.log.append(numbered(0, 40));
    await eventually(() => first.read.length === 40);
    const second = await join(settings, applied);
    await eventually(() => first.owned().length === 2 && second.owned().length === 2);
    assert.deepEqual([...first.owned(), ...second.owned()].sort(), partitions);
    assert.deepEqual(first.lost.toSorted(), second.owned(), 'told of what it lost, and of nothing else');
    assert.deepEqual(first.froms.toSorted(), partitions, 'not asked again for what it kept');
    await first.opened.log.append(numbered(40, 40));
    await eventually(() => first.read.length + second.read.length === 80);
    assert.ok(second.read.length > 0);
    await second.opened.close();
    await eventually(() => first.owned().length === 4);
    await first.opened.log.append(numbered(80, 40));
    await eventually(() => first.read.length + second.read.length === 120);
    assert.equal(new Set([...first.read, ...second.read]).size, 120);
    await first.opened.close();
    assert.deepEqual(first.owned(), []);
  });
}

/** A process that starts, and a broker that makes its first group, on a busy machine. */
const joinMs = 30_000;

type Said = { at: number; owned: number[] };

/** An owner in a process of its own; `said` grows. */
function spawnOwner(settings: KafkaSettings, stepMs = 0): { child: ChildProcess; said: Said[] } {
  const script = fileURLToPath(new URL('./owning-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(settings), String(stepMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: Said[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const [at, owned] = line.split(' ');
      said.push({ at: Number(at), owned: owned === '' ? [] : owned!.split(',').map(Number) });
    }
  });
  return { child, said };
}

function testSteps(stack: SuiteStack): void {
  for (const [name, stepMs] of [
    ['back', -3_600_000],
    ['ahead', 3_600_000],
  ] as const) {
    test(`a process goes on owning when the machine's clock is set an hour ${name} (defect line 20)`, async () => {
      const settings = settingsFor(stack, `step-${name}`);
      const { child, said } = spawnOwner(settings, stepMs);
      const owning = () => said.findIndex(({ owned }) => owned.length === 4);
      try {
        await eventually(() => owning() >= 0, joinMs);
        const untilAt = said[owning()]!.at + 2 * settings.sessionTimeoutMs;
        await eventually(() => said.at(-1)!.at >= untilAt, 3 * settings.sessionTimeoutMs);
        const without = said.slice(owning()).filter(({ owned }) => owned.length < 4);
        assert.deepEqual(without, []);
      } finally {
        await killed(child);
      }
    });
  }
}

function testFreeze(stack: SuiteStack): void {
  test('a process that was frozen past its session does not believe for a moment that it still owns', async () => {
    const settings = settingsFor(stack, 'freeze');
    const { child, said } = spawnOwner(settings);
    try {
      await eventually(() => said.at(-1)?.owned.length === 4, joinMs);
      const joining = join(settings, new Map());
      child.kill('SIGSTOP');
      const other = await joining;
      await eventually(() => other.owned().length === 4, 12_000);
      const wokenAt = Date.now();
      child.kill('SIGCONT');
      await eventually(() => said.filter(({ at }) => at >= wokenAt).length >= 20, 5_000);
      for (const { at, owned } of said.filter((each) => each.at >= wokenAt)) {
        // Until it has heard of the group again it has none; then what the group gives it, which the other one gave up.
        assert.ok(owned.length === 0 || owned.length === 2, `${at - wokenAt} ms after it woke it owns ${owned}`);
        assert.ok(!owned.some(other.consumer.owns));
      }
      await other.opened.close();
    } finally {
      await killed(child);
    }
  });
}

await describeOnStack('the group', (stack) => {
  describe('of instances', { concurrency: 2 }, () => {
    testHandOver(stack);
    testFreeze(stack);
    testSteps(stack);
  });
});
