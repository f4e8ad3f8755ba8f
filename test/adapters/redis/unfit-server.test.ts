/** Redis that is too old, may take keys away, or answers nothing: nothing is built on it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import { Fault } from '../../../src/errors.ts';
import { eventually } from '../../conformance/backend.ts';
import { describeOnRedis } from './redis-server.ts';

const at = 1_763_700_000_000;

const unavailable = (fault: unknown) =>
  fault instanceof Fault && fault.code === 'views-unavailable' && fault.retryable && !fault.message.includes('sealed');

await describeOnRedis('a server that is unfit', (redis) => {
  const { url } = redis;
  const settings = { url, commandTimeoutMs: 400, reconnectFirstMs: 10, reconnectMaxMs: 50 };

  test('one that may take away any key is refused by name, and told of later', async () => {
    const admin = new Redis(url);
    const store = await openRedisStore({ url });
    try {
      assert.equal(await store.evicting(), null);
      await admin.config('SET', 'maxmemory', '100mb');
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await assert.rejects(openRedisStore({ url }), {
        code: 'configuration-invalid',
        message: /maxmemory-policy allkeys-lru/,
      });
      assert.equal(await store.evicting(), 'allkeys-lru');
      await admin.config('SET', 'maxmemory-policy', 'volatile-ttl');
      assert.equal(await store.evicting(), null);
      await (await openRedisStore({ url })).close();
    } finally {
      await admin.config('SET', 'maxmemory', '0');
      admin.disconnect();
      await store.close();
    }
  });

  test('one that answers nothing is a fault in bounded time, and is gone on with when it answers', async () => {
    const store = await openRedisStore({ ...settings, keyPrefix: '{frozen}:' });
    redis.freeze();
    const startedAt = performance.now();
    try {
      await assert.rejects(store.margins.read(['a'], at), /^Fault: Redis at \S+ does not answer\.$/);
      await assert.rejects(store.control.read(), unavailable);
    } finally {
      redis.thaw();
    }
    assert.ok(performance.now() - startedAt < 3_000);
    await eventually(() =>
      store.margins.read(['a'], at).then(
        () => true,
        () => false,
      ),
    );
    await store.close();
  });

  test('started again without its scripts, the same connection goes on', async () => {
    const store = await openRedisStore({ ...settings, keyPrefix: '{restart}:' });
    await store.control.setPause({ by: 'ana', at, reason: 'x' });
    await redis.kill();
    await redis.loseAll();
    await eventually(() =>
      store.control.read().then(
        () => true,
        () => false,
      ),
    );
    assert.equal((await store.control.read()).pause?.by, 'ana');
    await store.close();
  });

  test('with nobody there, opening and every question fail as something to try again', async () => {
    const store = await openRedisStore(settings);
    await redis.kill();
    try {
      await assert.rejects(openRedisStore({ ...settings, connectTimeoutMs: 300 }), unavailable);
      await assert.rejects(store.margins.read(['a'], at), unavailable);
      await assert.rejects(store.control.read(), unavailable);
    } finally {
      await redis.start();
      await store.close();
    }
  });
});
