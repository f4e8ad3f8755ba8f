/**
 * How long bidding stays closed when a process starts with nothing local: it restores its partitions from snapshots that are an hour old
 * and folds the tail of the log; then once more with its own files.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type KafkaLog, openKafkaLog } from '../src/adapters/kafka/log.ts';
import type { Config } from '../src/config.ts';
import { createFoldedViews } from '../src/folded-views.ts';
import type { RunningStack } from '../test/stack/stack.ts';
import { type Benchmark, rounded, type Say } from './figures.ts';
import { keepAsShipped, runningStack, type SharedPlaces, sharedEnvironment, startSharedDesk } from './kafka-loops.ts';
import { createLives } from './lives.ts';
import { originOf } from './loops.ts';
import { cpuUsOf, type LoopProcess } from './processes.ts';
import { whenReady } from './ready.ts';
import { type Filled, fill, settledIn } from './rebuild-fill.ts';
import { configOf, roomyRules } from './workload.ts';

/** Of all requests: what a busy hour brings. */
const tailShare = 0.1;
const targetS = 30;

function openRecords(config: Config): Promise<KafkaLog> {
  assert(config.store.backend === 'kafka');
  const fail = (fault: Error): never => {
    throw fault;
  };
  return openKafkaLog({
    settings: { ...config.store.kafka, appendTimeoutMs: 60_000 },
    seal: (_place, text) => text,
    onClosed: fail,
    onStalled: fail,
  });
}

type Rebuild = {
  seconds: number;
  restoreSeconds: number;
  rowsPerS: number;
  /** Seconds of CPU; null where the system does not tell. They say more than the clock where others use the machine too. */
  cpuSeconds: CpuSeconds;
  /** Of it, until the snapshot was back; the rest is the tail's. Not known of a desk that has not said yet that it listens. */
  restoreCpuSeconds: CpuSeconds;
};

type CpuSeconds = Record<Processes, number | null>;

type Processes = 'desk' | 'redis' | 'broker';
/** When, and what each process has used of its CPU by then. */
type Reading = { at: number; cpuUs: Record<Processes, number | null> };
type Meter = () => Reading;

/** When the last bytes of a snapshot were put back, from what the daemon tells of its progress. */
function createRestoreWatch(meter: Meter): { hear: (line: string) => void; ended: () => Reading } {
  let ended = meter();
  return {
    hear: (line) => {
      if (line.includes('"restoring"')) ended = meter();
    },
    ended: () => ended,
  };
}

function cpuBetween(from: Reading, to: Reading): CpuSeconds {
  const used = (name: Processes): number | null => {
    const [before, after] = [from.cpuUs[name], to.cpuUs[name]];
    return before === null || after === null ? null : rounded((after - before) / 1_000_000);
  };
  return { desk: used('desk'), redis: used('redis'), broker: used('broker') };
}

function rebuildOf(from: Reading, restored: Reading, to: Reading, requests: number): Rebuild {
  return {
    seconds: rounded((to.at - from.at) / 1_000),
    restoreSeconds: rounded((restored.at - from.at) / 1_000),
    rowsPerS: rounded((requests / (to.at - from.at)) * 1_000, 0),
    cpuSeconds: cpuBetween(from, to),
    restoreCpuSeconds: cpuBetween(from, restored),
  };
}

async function measure(places: SharedPlaces, stack: RunningStack, requests: number, say: Say) {
  let desk: LoopProcess | null = null;
  const meter: Meter = () => {
    const [redis, broker] = [cpuUsOf(stack.redis.pid()), cpuUsOf(stack.broker.pid())];
    return { at: performance.now(), cpuUs: { desk: desk?.cpuUs() ?? null, redis, broker } };
  };
  const tell = (name: string, told: Rebuild): void => {
    const { seconds, restoreSeconds, rowsPerS, cpuSeconds, restoreCpuSeconds } = told;
    say(`${name}: ${seconds} s (target ≤ ${targetS}), of it ${restoreSeconds} s for the snapshot; ${rowsPerS} rows/s`);
    const shareOf = (process: Processes) => `${cpuSeconds[process]} s (${restoreCpuSeconds[process] ?? '?'} s)`;
    say(`  CPU (for the snapshot): desk ${shareOf('desk')}, Redis ${shareOf('redis')}, broker ${shareOf('broker')}`);
  };
  await keepAsShipped(stack);
  const started = async (name: string): Promise<Rebuild> => {
    const before = meter();
    const begun = { ...before, cpuUs: { ...before.cpuUs, desk: 0 } };
    const watch = createRestoreWatch(meter);
    desk = await startSharedDesk(places, watch.hear);
    try {
      const origin = originOf(desk.port);
      await whenReady(origin);
      const told = rebuildOf(begun, watch.ended(), meter(), requests);
      tell(name, told);
      return told;
    } finally {
      await desk.stop();
      desk = null;
    }
  };
  const cold = await started('a start with nothing local, until it bids');
  const warm = await started('a start with its own files, until it bids');
  return { cold, warm };
}

/** Throws unless what is in the log gives whole views: every result learnt and every request asked for there. */
async function verify({ log }: KafkaLog, config: Config, filled: Filled): Promise<void> {
  const { views, close } = createFoldedViews(log, config.bidding);
  assert.equal(await settledIn(views), filled.settled, 'every auction was learnt from once');
  const found = await views.read(filled.sample);
  assert.equal(found.size, filled.sample.length, 'every request that was asked for is there');
  await close();
}

export const rebuild: Benchmark = {
  run: async (say, { requests }) => {
    const { directory, rulesDir } = roomyRules();
    const stack = await runningStack();
    const cores = availableParallelism();
    const places = { stack, directory, rulesDir, baseUrl: 'http://127.0.0.1:1', sendLimit: 64, name: 'rebuild' };
    const config = configOf(sharedEnvironment(places));
    const records = await openRecords(config);
    try {
      const lives = createLives(Date.now(), rulesDir);
      const tail = Math.round(requests * tailShare);
      say(`${requests} requests, ${tail} of them since the snapshot; ${rounded(lives.bidShare * 100)} % with a bid`);
      const filled = await fill({ records, config, lives, requests, tail, say });
      const { cold, warm } = await measure(places, stack, requests, say);
      await verify(records, config, filled);
      const { snapshotSeconds, tailRecords } = filled;
      return { requests, tail, tailRecords, snapshotSeconds, cold, warm, targetS, cores, verified: 'views whole' };
    } finally {
      await records.close();
      await stack.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
