/**
 * What Redis has to hold: cap keys that are open, margins and statistics. These are the figures behind `maxmemory` and the memory limit in
 * docker-compose.yml. A server of its own, set as there.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { openRedisStore } from '../src/adapters/redis/store.ts';
import type { CapOperation } from '../src/domain/cap-book.ts';
import type { LinkDetail } from '../src/domain/request.ts';
import { steadyPort } from '../test/crash/desk-process.ts';
import { sampleLink } from '../test/rules/sample-request.ts';
import { createRedis } from '../test/stack/servers.ts';
import { createWatchdog } from '../test/stack/watchdog.ts';
import { type Benchmark, rounded, type Say } from './figures.ts';
import { partitions } from './kafka-loops.ts';
import { setAsShipped } from './shipped-redis.ts';

const atOnce = 500;
const marginCount = 10_000;
const statisticCount = 1_000;
const statisticCells = 998;
const pseudonymLength = 43;

const named = (index: number): string => `${index}`.padStart(pseudonymLength, 'k');

/** A claim that counts under a key of its worker alone and under the cap of the desk. */
function claimOf(index: number): CapOperation {
  const requestId = named(index);
  return {
    kind: 'hold',
    reserved: false,
    offset: index,
    requestId,
    amountCents: 500_000,
    keys: [`worker ${requestId}`, 'desk'],
  };
}

function marginOf(_: unknown, index: number): LinkDetail {
  return { ...sampleLink, linkKey: named(index), workerKey: named(index), receivedAt: Date.now() };
}

async function measure(url: string, requests: number, say: Say) {
  const client = new Redis(url);
  await setAsShipped(client);
  const { capBook, margins, learntBook, close } = await openRedisStore({ url, keyPrefix: '{memory}:' });
  const used = async () => Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))![1]);
  /** Kilobytes that each of `count` added. */
  const added = async (name: string, count: number, work: () => Promise<unknown>) => {
    const before = await used();
    await work();
    const kb = rounded(((await used()) - before) / 1_024 / count, 2);
    say(`${count} ${name}: ${kb} KB each`);
    return kb;
  };
  try {
    const { server } = await capBook.begin({ server: '', epoch: 0, partitions });
    const { book } = await capBook.begin({ server, epoch: 1, partitions });
    const { id } = book!;
    const all = Array.from({ length: partitions }, (_, partition) => ({ partition, applied: 0, sums: new Map() }));
    await capBook.commit({ server, id, parts: all });
    const kbOpen = await added('open claims', requests, async () => {
      for (let first = 0; first < requests; first += atOnce) {
        const next = Math.min(requests, first + atOnce);
        const operations = Array.from({ length: next - first }, (_, place) => claimOf(first + place));
        const part = { partition: 0, applied: next, acknowledged: first, operations };
        await capBook.apply({ server, id, parts: [part] });
      }
    });
    const kbMargin = await added('margins', marginCount, async () => {
      const details = Array.from({ length: marginCount }, marginOf);
      for (let first = 0; first < marginCount; first += atOnce)
        await margins.write(details.slice(first, first + atOnce));
    });
    const kbStatistic = await added('statistics of a partition', statisticCount, async () => {
      const cells = new Float64Array(statisticCells).fill(1);
      const halfLives = { halfLifeMs: 1, halfLifeResults: 1 };
      const part = { landmarkAt: 0, landmarkCount: 0, count: statisticCells, halfLives, cells };
      const parts = Array.from({ length: statisticCount }, (_, index) => [`segment ${index}`, part] as const);
      await learntBook('bench').write({ partition: 0, applied: 1, before: null, mark: '1', parts });
    });
    return { kbOpen, kbMargin, kbStatistic };
  } finally {
    await close();
    client.disconnect();
  }
}

export const memory: Benchmark = {
  run: async (say, { requests }) => {
    const place = await mkdtemp(join(tmpdir(), 'lance-memory-'));
    const watchdog = createWatchdog(place);
    const port = await steadyPort(Math.random);
    const changed = () => watchdog.watch([redis.pid()].filter((pid) => pid !== null));
    const redis = await createRedis({ directory: join(place, 'redis'), port, changed });
    await redis.start();
    try {
      return { requests, ...(await measure(`redis://127.0.0.1:${port}`, requests, say)) };
    } finally {
      await redis.stop();
      await watchdog.close();
    }
  },
};
