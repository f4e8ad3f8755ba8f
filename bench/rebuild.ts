/**
 * How long bidding stays closed when Redis is empty: the daemon puts the views of all requests back from a snapshot one hour
 * old and folds the tail, first at a start and then, warm, when Redis is emptied under it. What is before the snapshot goes
 * into the views by the desk's own fold and is not in the log, as in a desk whose log has forgotten it: no rebuild reads it.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openKafkaLog } from '../src/adapters/kafka/log.ts';
import { openRedisStore } from '../src/adapters/redis/store.ts';
import type { Config } from '../src/config.ts';
import type { RunningStack } from '../test/stack/stack.ts';
import { type Benchmark, rounded, type Say } from './figures.ts';
import { keepAsShipped, runningStack, type SharedPlaces, sharedEnvironment, startSharedDesk } from './kafka-loops.ts';
import { createLives } from './lives.ts';
import { originOf } from './loops.ts';
import { cpuUsOf, type LoopProcess } from './processes.ts';
import { type Filled, fill, type OpenStore, settledIn } from './rebuild-fill.ts';
import { configOf, roomyRules } from './workload.ts';

/** Of all requests: what a busy hour brings. */
const tailShare = 0.1;
const targetS = 60;
const pollMs = 100;
const patienceMs = 1_200_000;

async function askRedis(url: string, ask: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(url);
  await ask(client);
  client.disconnect();
}

/** The stack itself dumps everything every few seconds, for its tests. */
async function keepNothing(client: Redis): Promise<void> {
  await client.config('SET', 'save', '');
  await client.config('SET', 'appendonly', 'no');
}

async function openStore(config: Config): Promise<OpenStore> {
  assert(config.store.backend === 'kafka');
  const { kafka, redis } = config.store;
  const fail = (fault: Error): never => {
    throw fault;
  };
  const { log, snapshots, close } = await openKafkaLog({
    settings: { ...kafka, appendTimeoutMs: 60_000 },
    seal: (_place, text) => text,
    onClosed: fail,
    onStalled: fail,
  });
  // A page of a million rows may take longer than any question of a desk.
  const shared = await openRedisStore({ ...redis, commandTimeoutMs: 60_000 });
  return {
    ...{ log, snapshots, views: shared.views, copies: shared.copies },
    close: async () => {
      await close();
      await shared.close();
    },
  };
}

async function isReady(origin: string): Promise<boolean> {
  const answer = await fetch(`${origin}/readyz`);
  await answer.body?.cancel();
  return answer.ok;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedAt > patienceMs) throw new Error('the desk does not come back to bidding');
    await sleep(pollMs);
  }
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

/** When the last entry of a snapshot was put back, from what the daemon tells of its progress. */
function createRestoreWatch(meter: Meter): { hear: (line: string) => void; ended: () => Reading } {
  let ended = meter();
  return {
    hear: (line) => {
      const said = JSON.parse(line) as { count?: number };
      if (line.includes('rebuilding') && (said.count ?? 0) > 0) ended = meter();
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
  const watch = createRestoreWatch(meter);
  const tell = (name: string, told: Rebuild): void => {
    const { seconds, restoreSeconds, rowsPerS, cpuSeconds, restoreCpuSeconds } = told;
    say(`${name}: ${seconds} s (target ≤ ${targetS}), of it ${restoreSeconds} s for the snapshot; ${rowsPerS} rows/s`);
    const shareOf = (process: Processes) => `${cpuSeconds[process]} s (${restoreCpuSeconds[process] ?? '?'} s)`;
    say(`  CPU (for the snapshot): desk ${shareOf('desk')}, Redis ${shareOf('redis')}, broker ${shareOf('broker')}`);
  };
  await askRedis(stack.redisUrl, (client) => client.flushall('SYNC'));
  await keepAsShipped(stack);
  const before = meter();
  const begun = { ...before, cpuUs: { ...before.cpuUs, desk: 0 } };
  desk = await startSharedDesk(places, watch.hear);
  try {
    const origin = originOf(desk.port);
    await until(() => isReady(origin));
    const cold = rebuildOf(begun, watch.ended(), meter(), requests);
    tell('a start with Redis empty, until it bids', cold);
    const flushed = meter();
    // Gone at once, as after a restart: gigabytes take seconds to be given back, which is not what is measured.
    await askRedis(stack.redisUrl, (client) => client.flushall('ASYNC'));
    await until(async () => !(await isReady(origin)));
    await until(() => isReady(origin));
    const warm = rebuildOf(flushed, watch.ended(), meter(), requests);
    tell('emptied under the daemon, until it bids again', warm);
    return { cold, warm };
  } finally {
    await desk.stop();
  }
}

/** Throws unless the views are whole: as far as the log, with every result learnt and every request asked for there. */
async function verify(store: OpenStore, filled: Filled): Promise<void> {
  for (const [partition, end] of await store.log.ends('auctions')) {
    assert.equal(await store.views.applied(partition), end, `partition ${partition} is folded to its end`);
  }
  assert.equal(await settledIn(store.views), filled.settled, 'every auction was learnt from once');
  const found = await store.views.read(filled.sample);
  assert.equal(found.size, filled.sample.length, 'every request that was asked for is there');
}

export const rebuild: Benchmark = {
  run: async (say, { requests }) => {
    const { directory, rulesDir } = roomyRules();
    const stack = await runningStack();
    const cores = availableParallelism();
    const places = { stack, directory, rulesDir, baseUrl: 'http://127.0.0.1:1', sendLimit: 64, name: 'rebuild' };
    const config = configOf(sharedEnvironment(places));
    await askRedis(stack.redisUrl, keepNothing);
    const store = await openStore(config);
    try {
      const lives = createLives(Date.now(), rulesDir);
      const tail = Math.round(requests * tailShare);
      say(`${requests} requests, ${tail} of them since the snapshot; ${rounded(lives.bidShare * 100)} % with a bid`);
      const filled = await fill({ store, config, lives, requests, tail, say });
      const { cold, warm } = await measure(places, stack, requests, say);
      await verify(store, filled);
      const { snapshotSeconds, tailRecords } = filled;
      return { requests, tail, tailRecords, snapshotSeconds, cold, warm, targetS, cores, verified: 'views whole' };
    } finally {
      await store.close();
      await stack.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
