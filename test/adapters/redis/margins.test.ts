/** Margins in Redis count where they were written with the key of the log, under that very link and time, and nowhere else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { linkDetail } from '../../conformance/samples.ts';
import { describeOnRedis } from './redis-server.ts';

const key = createAuditKey('a key of the tests of margins in Redis and of nothing else');
const at = 1_763_700_000_000;

await describeOnRedis('margins in redis', (redis) => {
  for (const [what, edit, isTold] of [
    [
      'a higher margin',
      (text: string) => text.replace('"availableMarginCents":5', '"availableMarginCents":9900000'),
      true,
    ],
    ['a later time', (text: string) => text.replaceAll(String(at), String(at + 1)), true],
    ['a later time before it', (text: string) => text.replace(String(at), String(at + 1)), true],
    ['all of another link', (text: string) => text.replace('"linkKey":"a"', '"linkKey":"b"'), true],
    ['no code, as of an earlier version', (text: string) => text.replace(/\n\S+ /, '\n'), false],
  ] as const) {
    test(`a kept margin with ${what} is left out`, async () => {
      const keyPrefix = `{margins ${Math.random()}}:`;
      let told = 0;
      const store = await openRedisStore({ url: redis.url, keyPrefix }, null, { key, onUnfit: () => (told += 1) });
      const client = new Redis(redis.url);
      try {
        await store.margins.write([linkDetail('a', at, 5)]);
        assert.deepEqual((await store.margins.read(['a'], at)).get('a'), linkDetail('a', at, 5));
        const text = (await client.get(`${keyPrefix}m:a`))!;
        const edited = edit(text);
        assert.notEqual(edited, text);
        await client.set(`${keyPrefix}m:a`, edited);
        await client.set(`${keyPrefix}m:b`, edited);
        assert.equal((await store.margins.read(['a', 'b'], at + 2)).size, 0);
        assert.equal(told > 0, isTold);
        await store.margins.write([linkDetail('a', at + 2, 7)]);
        assert.equal((await store.margins.read(['a'], at + 2)).get('a')?.availableMarginCents, 7);
      } finally {
        client.disconnect();
        await store.close();
      }
    });
  }
});
