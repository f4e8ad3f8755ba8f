/**
 * What a request takes of Redis's memory, and what it takes besides while a copy is taken or put back and its append-only file
 * is written anew: the figures behind `maxmemory` and the memory limit in docker-compose.yml. A server of its own, set as
 * there; requests go in by the desk's own fold.
 */
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openRedisStore, type RedisStore } from '../src/adapters/redis/store.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { createLedger, type Ledger } from '../src/bidding/ledger.ts';
import { createSnapshotKeeper, type SnapshotKeeper } from '../src/bidding/snapshots.ts';
import type { AuctionRecord } from '../src/domain/records.ts';
import type { LinkDetail } from '../src/domain/request.ts';
import { snapshotSettings } from '../src/engine.ts';
import { createSnapshotsInMemory } from '../test/adapters/redis/snapshots-in-memory.ts';
import { steadyPort } from '../test/crash/desk-process.ts';
import { sampleLink } from '../test/rules/sample-request.ts';
import { createRedis } from '../test/stack/servers.ts';
import { createWatchdog } from '../test/stack/watchdog.ts';
import { type Benchmark, rounded, type Say } from './figures.ts';
import { partitions } from './kafka-loops.ts';
import { createLives } from './lives.ts';
import { setAsShipped } from './shipped-redis.ts';
import { configOf, environmentOf, roomyRules } from './workload.ts';

/** Requests folded at once, and those of them that are still open where open ones are measured. */
const foldRequests = 500;
const openShare = 0.1;
const marginCount = 10_000;
const pseudonymLength = 43;
const samplePollMs = 25;
const bytesPerMb = 1_048_576;

type Memory = {
  /** What `maxmemory` is compared with. */
  usedMb: number;
  /** Pages of the process. */
  residentMb: number;
  /** Pages that a child of it has, or had at its end, no longer in common with it. */
  childMb: number;
  lastChildMb: number;
};

async function memoryOf(client: Redis): Promise<Memory> {
  const info = await client.info();
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? Number.NaN) / bytesPerMb;
  return {
    usedMb: read('used_memory') - read('mem_not_counted_for_evict'),
    residentMb: read('used_memory_rss'),
    childMb: read('current_cow_size'),
    lastChildMb: read('aof_last_cow_size'),
  };
}

/** A container's limit counts resident and child together. */
type Peak = { usedMb: number; residentMb: number; childMb: number };

/** The most that was taken at any time of `work`, while the file is written anew all the time. */
async function peakOf(client: Redis, work: () => Promise<unknown>): Promise<Peak> {
  const peak: Peak = { usedMb: 0, residentMb: 0, childMb: 0 };
  let over = false;
  const look = async () => {
    const { usedMb, residentMb, childMb, lastChildMb } = await memoryOf(client);
    peak.usedMb = Math.max(peak.usedMb, usedMb);
    peak.residentMb = Math.max(peak.residentMb, residentMb);
    peak.childMb = Math.max(peak.childMb, childMb, lastChildMb);
  };
  const watching = (async () => {
    for (; !over; await sleep(samplePollMs)) await look();
  })();
  const rewriting = (async () => {
    do await rewritten(client);
    while (!over);
  })();
  await work();
  over = true;
  await Promise.all([watching, rewriting]);
  await look();
  return { usedMb: rounded(peak.usedMb), residentMb: rounded(peak.residentMb), childMb: rounded(peak.childMb) };
}

async function rewritten(client: Redis): Promise<void> {
  const isUnderWay = async () => /aof_rewrite_(in_progress|scheduled):1/.test(await client.info('persistence'));
  while (await isUnderWay()) await sleep(samplePollMs);
  await client.bgrewriteaof();
  while (await isUnderWay()) await sleep(samplePollMs);
}

/** MB by what is kept under the keys: `rows`, `pages`, `h` for a statistic, … */
async function byKind(client: Redis): Promise<Record<string, number>> {
  const sums = new Map<string, number>();
  for (let cursor = '0'; ; ) {
    const [next, keys] = await client.scan(cursor, 'COUNT', 1_000);
    for (const key of keys) {
      const kind = /:v:\d+:[^:]+:([^:]+)/.exec(key)?.[1] ?? (/:m:/.test(key) ? 'margins' : 'other');
      const bytes = (await client.memory('USAGE', key, 'SAMPLES', 500)) ?? 0;
      sums.set(kind, (sums.get(kind) ?? 0) + bytes);
    }
    cursor = next;
    if (cursor === '0') break;
  }
  const kinds = [...sums].sort((a, b) => b[1] - a[1]);
  return Object.fromEntries(kinds.map(([kind, bytes]) => [kind, rounded(bytes / bytesPerMb, 2)]));
}

/** Folds requests `from` … `to` as if they had come by in the log, one step of some hundred lives after the other. */
async function foldAll(
  ledger: Ledger,
  offsets: Map<number, number>,
  recordsOf: (index: number) => AuctionRecord[],
  from: number,
  to: number,
): Promise<void> {
  for (let first = from; first < to; first += foldRequests) {
    const partition = Math.floor(first / foldRequests) % partitions;
    const lives = Array.from({ length: Math.min(foldRequests, to - first) }, (_, i) => recordsOf(first + i));
    const steps = Math.max(...lives.map(({ length }) => length));
    for (let step = 0; step < steps; step += 1) {
      const start = offsets.get(partition) ?? 0;
      const records = lives.flatMap((life) => life[step] ?? []);
      const entries = records.map((record, i) => ({ partition, offset: start + i, key: record.requestId, record }));
      await ledger.fold({ partition, first: start, next: start + records.length, entries });
      offsets.set(partition, start + records.length);
    }
  }
}

async function everyPartition(work: (partition: number) => Promise<unknown>): Promise<void> {
  for (let partition = 0; partition < partitions; partition += 1) await work(partition);
}

function keeperOf({ views, copies }: RedisStore): SnapshotKeeper {
  return createSnapshotKeeper({
    ...{ views, copies, snapshots: createSnapshotsInMemory(), clock: createSystemClock(), settings: snapshotSettings },
    partitions: () => [],
    onProgress: () => undefined,
    onFault: (fault) => {
      throw fault;
    },
  });
}

function marginOf(_: unknown, index: number): LinkDetail {
  const key = `${index}`.padStart(pseudonymLength, 'k');
  return { ...sampleLink, linkKey: key, workerKey: key, receivedAt: Date.now() };
}

async function measure(url: string, requests: number, rulesDir: string, dataDir: string, say: Say) {
  const client = new Redis(url);
  await setAsShipped(client);
  const store = await openRedisStore({ url, keyPrefix: '{memory}:', commandTimeoutMs: 60_000 });
  try {
    const now = Date.now();
    const lives = createLives(now, rulesDir);
    const ledger = createLedger(
      store.views,
      configOf(environmentOf({ dataDir, rulesDir, baseUrl: 'http://127.0.0.1:1' })).bidding,
      { readKey: async () => [] },
    );
    const keeper = keeperOf(store);
    const offsets = new Map<number, number>();
    const whole = (index: number) => lives.recordsOf(index, now - 3_600_000);
    /** Kilobytes of `used_memory` that each of `count` requests added, or took away. */
    const added = async (count: number, work: () => Promise<unknown>) => {
      const before = (await memoryOf(client)).usedMb;
      const peak = await peakOf(client, work);
      const kb = ((await memoryOf(client)).usedMb - before) * (1_024 / count);
      return { kb: rounded(kb, 2), peak };
    };

    const empty = await memoryOf(client);
    const closed = await added(requests, () => foldAll(ledger, offsets, whole, 0, requests));
    say(`${requests} requests folded since the last copy: ${closed.kb} KB each; peak ${JSON.stringify(closed.peak)}`);
    const folded = await byKind(client);
    say(`  MB: ${JSON.stringify(folded)}`);

    // The worst that a copy can meet: every row is new, and is replaced.
    const paged = await added(requests, () => everyPartition(keeper.take));
    const copied = await memoryOf(client);
    const kbClosed = rounded(((copied.usedMb - empty.usedMb) * 1_024) / requests, 2);
    say(`copied: ${kbClosed} KB each; peak ${JSON.stringify(paged.peak)}`);
    const pages = await byKind(client);
    say(`  MB: ${JSON.stringify(pages)}`);

    const open = Math.round(requests * openShare);
    const unfinished = (index: number) =>
      whole(index).filter(({ kind }) => kind !== 'ended' && kind !== 'contemplated');
    const running = await added(open, () => foldAll(ledger, offsets, unfinished, requests, requests + open));
    say(`${open} open requests: ${running.kb} KB each`);
    const margins = await added(marginCount, () => store.margins.write(Array.from({ length: marginCount }, marginOf)));
    say(`${marginCount} margins: ${margins.kb} KB each`);

    await everyPartition(keeper.take);
    await client.flushall('SYNC');
    const restored = await added(requests, () => everyPartition(keeper.restore));
    const after = await memoryOf(client);
    say(`put back from the copy: peak ${JSON.stringify(restored.peak)}, then ${rounded(after.usedMb)} MB used`);
    await everyPartition(async (partition) =>
      assert.equal(await store.views.applied(partition), offsets.get(partition) ?? 0),
    );
    return {
      kbSinceCopy: closed.kb,
      kbClosed,
      kbOpen: running.kb,
      kbMargin: margins.kb,
      peaks: { folding: closed.peak, copying: paged.peak, restoring: restored.peak },
      megabytesByKind: { sinceCopy: folded, closed: pages },
    };
  } finally {
    await store.close();
    client.disconnect();
  }
}

export const memory: Benchmark = {
  run: async (say, { requests }) => {
    const { directory, rulesDir } = roomyRules();
    const place = await mkdtemp(join(tmpdir(), 'lance-memory-'));
    const watchdog = createWatchdog(place);
    const port = await steadyPort(Math.random);
    const changed = () => watchdog.watch([redis.pid()].filter((pid) => pid !== null));
    const redis = await createRedis({ directory: join(place, 'redis'), port, changed });
    await redis.start();
    try {
      return { requests, ...(await measure(`redis://127.0.0.1:${port}`, requests, rulesDir, directory, say)) };
    } finally {
      await redis.stop();
      await watchdog.close();
    }
  },
};
