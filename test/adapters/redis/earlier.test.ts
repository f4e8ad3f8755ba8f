/** What an earlier version kept in Redis: how far it had dealt with callbacks is read, all else is removed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import { callbackPartition } from '../../../src/bidding/ports.ts';
import { describeOnRedis } from './redis-server.ts';

await describeOnRedis('views of an earlier version', ({ url }) => {
  test('positions are read; rows, pages and flows are removed, and nothing of others', async () => {
    const admin = new Redis(url);
    const prefix = '{desk}:';
    const store = await openRedisStore({ url, keyPrefix: prefix });
    const { earlier, margins } = store;
    const place = { 0: 90, [callbackPartition(0)]: 7, [callbackPartition(1)]: 3 };
    try {
      assert.deepEqual([await earlier.applied(callbackPartition(0)), await earlier.flowsDealtWith(0)], [0, 0]);
      await admin.hset(`${prefix}applied`, place);
      await admin.hset(`${prefix}f:applied`, { 0: 12, [callbackPartition(1)]: 5 });
      await admin.hset(`${prefix}generations`, { 0: 'g' });
      for (const name of ['v:0:g:rows', 'v:0:g:pages', 'f:states', 'f:named', 'f:c:contract:won', 'taking:0', 'whole'])
        await admin.hset(prefix + name, { a: 'b' });
      await admin.hset('{other}:v:0:g:rows', { a: 'b' });
      await margins.write([]);
      await store.control.setPause({ by: 'ana', at: 1, reason: 'x' });
      assert.deepEqual(
        [await earlier.applied(callbackPartition(0)), await earlier.applied(callbackPartition(2))],
        [7, 0],
      );
      assert.deepEqual([await earlier.flowsDealtWith(0), await earlier.flowsDealtWith(1)], [0, 5]);
      await earlier.clear();
      const left = async () => (await admin.keys('*')).sort();
      assert.deepEqual(
        await left(),
        [`${prefix}applied`, `${prefix}control`, `${prefix}f:applied`, '{other}:v:0:g:rows'].sort(),
      );
      assert.equal(await earlier.flowsDealtWith(1), 5);
      await earlier.clear();
      await earlier.remove();
      assert.deepEqual(await left(), [`${prefix}control`, '{other}:v:0:g:rows'].sort());
    } finally {
      admin.disconnect();
      await store.close();
    }
  });
});
