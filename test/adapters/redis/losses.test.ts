/** Redis emptied, restarted, set back, frozen or gone; two writers where one is meant to be. The log stays, so the views come back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import type { ViewBatch, ViewChange, Views } from '../../../src/bidding/ports.ts';
import { Fault } from '../../../src/errors.ts';
import { eventually } from '../../conformance/backend.ts';
import { stateOf } from '../../conformance/samples.ts';
import { describeOnRedis } from './redis-server.ts';

const at = 1_763_700_000_000;

/** Batch n of a log of ten requests: each batch claims one, and releases or commits another. */
function batchOf(n: number): ViewBatch {
  const requestId = String(n % 10);
  const state = { ...stateOf(requestId, n % 2 === 0 ? 'claimed' : 'won', at + n), repeats: n };
  const caps = [{ keys: [`day ${n % 3}`], limitAmountCents: 500, limitCount: null }];
  const reserve = { at, amountCents: 50 + n, caps, expiresAt: at + 1_000, force: n % 4 === 0 };
  const changes: ViewChange[] = [
    { kind: 'reserve', requestId, ...reserve },
    n % 3 === 0
      ? { kind: 'release', requestId: String((n + 3) % 10) }
      : { kind: 'commit', requestId, expiresAt: at + 5 },
    {
      kind: 'learn',
      keys: ['*', `s${n % 2}`],
      additions: [[n % 499, 1]],
      at: at + 1_000 * n,
      halfLives: { halfLifeMs: 10_000, halfLifeResults: 20 },
    },
    { kind: 'state', state, open: n % 5 !== 0, bidIds: [`b${n}`] },
  ];
  return { partition: 0, first: n, next: n + 1, changes };
}

const ids = Array.from({ length: 10 }, (_, i) => String(i));
const days = ['day 0', 'day 1', 'day 2'];

async function pictureOf(views: Views): Promise<unknown> {
  const rows = [...(await views.read(ids)).values()].sort((a, b) => (a.state.requestId < b.state.requestId ? -1 : 1));
  return {
    applied: await views.applied(0),
    rows,
    open: (await views.open(0))
      .flatMap(({ rows }) => rows)
      .map(({ state }) => state.requestId)
      .sort(),
    usage: [[...(await views.usage(days, at))], [...(await views.usage(days, at + 10))]],
    statistics: [...(await views.statistics(['*', 's0', 's1']))],
    bids: [...(await views.findByBid(['b1', 'b39']))],
    page: await views.query({ phase: null, limit: 20, before: null }),
  };
}

async function foldAll(views: Views, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += 1) assert.equal((await views.apply(batchOf(n))).kind, 'applied');
}

const unavailable = (fault: unknown) =>
  fault instanceof Fault && fault.code === 'views-unavailable' && fault.retryable && !fault.message.includes('sealed');

await describeOnRedis('redis losses', (redis) => {
  const { url } = redis;
  const settings = { url, commandTimeoutMs: 400, reconnectFirstMs: 10, reconnectMaxMs: 50 };
  const withStore = async (name: string, run: (views: Views) => Promise<void>) => {
    const store = await openRedisStore({ ...settings, keyPrefix: `{${name}}:` });
    try {
      await run(store.views);
    } finally {
      await store.close();
    }
  };

  test('emptied, the views say so, refuse who goes on, and come back by the same fold', () =>
    withStore('flush', async (views) => {
      await foldAll(views, 0, 40);
      const whole = await pictureOf(views);
      await redis.flush();
      assert.equal(await views.applied(0), 0);
      assert.deepEqual(await views.apply(batchOf(40)), { kind: 'out-of-step', applied: 0 });
      assert.equal((await views.read(ids)).size, 0);
      await foldAll(views, 0, 40);
      assert.deepEqual(await pictureOf(views), whole);
    }));

  test('set back to an older dump, the views are older, and catch up from there', () =>
    withStore('rollback', async (views) => {
      await foldAll(views, 0, 25);
      await redis.keep();
      const older = await pictureOf(views);
      await foldAll(views, 25, 40);
      const whole = await pictureOf(views);
      await redis.rollBack();
      await eventually(async () => (await views.applied(0).catch(() => -1)) === 25);
      assert.deepEqual(await pictureOf(views), older);
      assert.deepEqual(await views.apply(batchOf(40)), { kind: 'out-of-step', applied: 25 });
      await foldAll(views, 25, 40);
      assert.deepEqual(await pictureOf(views), whole);
    }));

  test('started again with nothing, neither data nor scripts, the same connection goes on', () =>
    withStore('restart', async (views) => {
      await foldAll(views, 0, 5);
      await redis.kill();
      await assert.rejects(views.apply(batchOf(5)), unavailable);
      await redis.loseAll();
      await eventually(async () => (await views.applied(0).catch(() => -1)) === 0);
      await foldAll(views, 0, 6);
      assert.equal(await views.applied(0), 6);
    }));

  test('a stale writer changes nothing, and of two that race each batch is folded once', () =>
    withStore('race', async (views) => {
      const rival = await openRedisStore({ ...settings, keyPrefix: '{race}:' });
      const alone = await openRedisStore({ ...settings, keyPrefix: '{alone}:' });
      try {
        const applied = new Map<number, number>();
        const race = async (writer: Views) => {
          for (let n = 0; n < 60; n += 1) {
            const result = await writer.apply(batchOf(n));
            if (result.kind === 'applied') applied.set(n, (applied.get(n) ?? 0) + 1);
            else if (result.applied < n) n = result.applied - 1;
          }
        };
        await Promise.all([race(views), race(rival.views)]);
        assert.deepEqual(
          [...applied.values()],
          Array.from({ length: 60 }, () => 1),
        );
        assert.deepEqual(await rival.views.apply(batchOf(59)), { kind: 'out-of-step', applied: 60 });
        await foldAll(alone.views, 0, 60);
        assert.deepEqual(await pictureOf(views), await pictureOf(alone.views));
      } finally {
        await Promise.all([rival.close(), alone.close()]);
      }
    }));

  test('a fold that dies half way leaves views that are gone, never half a batch', () =>
    withStore('broken', async (views) => {
      await foldAll(views, 0, 10);
      const whole = await pictureOf(views);
      const admin = new Redis(url);
      try {
        const generation = await admin.hget('{broken}:generations', '0');
        // A key of another type stops the script after it has written the row.
        await admin.del(`{broken}:v:0:${generation}:z:day 0`);
        await admin.set(`{broken}:v:0:${generation}:z:day 0`, 'no sorted set');
        await assert.rejects(views.apply(batchOf(10)), unavailable);
        assert.equal(await views.applied(0), 0);
        await foldAll(views, 0, 10);
        assert.deepEqual(await pictureOf(views), whole);
      } finally {
        admin.disconnect();
      }
    }));

  test('a server that answers nothing is a fault in bounded time, and what was sent is done once or not at all', () =>
    withStore('frozen', async (views) => {
      await foldAll(views, 0, 3);
      redis.freeze();
      const startedAt = performance.now();
      try {
        await assert.rejects(views.apply(batchOf(3)), /^Fault: Redis at \S+ does not answer\.$/);
        await assert.rejects(views.applied(0), unavailable);
      } finally {
        redis.thaw();
      }
      assert.ok(performance.now() - startedAt < 3_000);
      await eventually(async () => (await views.applied(0).catch(() => -1)) >= 3);
      await new Promise((resolve) => setTimeout(resolve, 100));
      const applied = await views.applied(0);
      assert.ok(applied === 3 || applied === 4);
      const sum = (await views.statistics(['*'])).get('*');
      assert.equal(sum?.count, applied);
      await foldAll(views, applied, 8);
    }));

  test('with nobody there, opening and every question fail as something to try again', async () => {
    const store = await openRedisStore(settings);
    await redis.kill();
    try {
      await assert.rejects(openRedisStore({ ...settings, connectTimeoutMs: 300 }), unavailable);
      await assert.rejects(store.views.read(['1']), unavailable);
      await assert.rejects(store.margins.read(['a'], at), unavailable);
      await assert.rejects(store.control.read(), unavailable);
    } finally {
      await redis.start();
      await store.close();
    }
  });
});
