/** Redis at its `maxmemory`: what would be folded is refused whole, and the copy that makes room is taken all the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import type { ViewBatch, Views } from '../../../src/bidding/ports.ts';
import { createSnapshotKeeper } from '../../../src/bidding/snapshots.ts';
import { snapshotSettings } from '../../../src/engine.ts';
import { Fault } from '../../../src/errors.ts';
import { stateOf } from '../../conformance/samples.ts';
import { describeOnRedis } from './redis-server.ts';
import { createSnapshotsInMemory } from './snapshots-in-memory.ts';

const at = 1_763_700_000_000;
const requests = 4_000;
const batchRequests = 200;

/** Closed requests of some kilobytes each. */
function batchOf(first: number): ViewBatch {
  const changes = Array.from({ length: batchRequests }, (_, i) => {
    const state = { ...stateOf(`r${first + i}`, 'lost', at + first + i), sealed: `${first + i}`.repeat(500) };
    return { kind: 'state', state, open: false, bidIds: [] } as const;
  });
  return { partition: 0, first, next: first + batchRequests, changes };
}

async function pictureOf(views: Views): Promise<unknown> {
  return [await views.applied(0), await views.query({ phase: null, limit: 3, before: null })];
}

await describeOnRedis('redis with its memory full', (redis) => {
  test('a fold is refused whole; a copy is taken, and makes room to go on', async () => {
    const { url } = redis;
    const client = new Redis(url);
    const usedBytes = async () => Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))![1]);
    const store = await openRedisStore({ url });
    const { views, copies } = store;
    const snapshots = createSnapshotsInMemory();
    const keeper = createSnapshotKeeper({
      ...{ views, copies, snapshots, clock: createSystemClock(), settings: snapshotSettings },
      partitions: () => [0],
      onProgress: () => undefined,
      onFault: assert.fail,
    });
    try {
      for (let first = 0; first < requests; first += batchRequests) await views.apply(batchOf(first));
      const before = await pictureOf(views);
      await client.config('SET', 'maxmemory', String(await usedBytes()));
      await assert.rejects(views.apply(batchOf(requests)), (fault) => {
        assert.ok(fault instanceof Fault && fault.code === 'views-unavailable' && fault.retryable);
        return /OOM|maxmemory/.test(fault.message);
      });
      assert.deepEqual(await pictureOf(views), before);
      assert.equal(await keeper.take(0), requests);
      assert.equal((await views.apply(batchOf(requests))).kind, 'applied');
      assert.deepEqual((await views.read(['r7'])).get('r7')?.state.sealed, '7'.repeat(500));
    } finally {
      await client.config('SET', 'maxmemory', '0');
      client.disconnect();
      await store.close();
    }
  });
});
