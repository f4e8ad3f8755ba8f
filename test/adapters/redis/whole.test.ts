/** A cap is common to all partitions: while a part of what was promised may be missing, no room is found for anything. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import type { ApplyResult, ViewBatch, ViewChange, Views } from '../../../src/bidding/ports.ts';
import { eventually } from '../../conformance/backend.ts';
import { describeOnRedis } from './redis-server.ts';

const at = 1_763_700_000_000;
const caps = [{ keys: ['day'], limitAmountCents: 100, limitCount: null }];

function reserve(requestId: string, amountCents: number): ViewChange {
  return { kind: 'reserve', requestId, at, amountCents, caps, expiresAt: at + 60_000, force: false };
}

const batch = (partition: number, first: number, ...changes: ViewChange[]): ViewBatch => ({
  partition,
  first,
  next: first + 1,
  changes,
});

const done = (whole: boolean, ...refused: string[]): ApplyResult => ({ kind: 'applied', refused, whole });

await describeOnRedis('redis views that lost a part', (redis) => {
  const settings = { url: redis.url, reconnectFirstMs: 10, reconnectMaxMs: 50 };

  /** `ends` stands for the log: what each partition holds, whatever the views know of it. */
  const withViews = async (run: (views: Views, ends: Map<number, number>, prefix: string) => Promise<void>) => {
    const prefix = `{whole ${Math.random()}}:`;
    const store = await openRedisStore({ ...settings, keyPrefix: prefix });
    const ends = new Map([
      [0, 0],
      [1, 0],
    ]);
    try {
      assert.equal((await store.views.apply(batch(0, 0, reserve('early', 1)))).kind, 'applied');
      ends.set(0, 1);
      assert.equal(await store.views.wholeUsage(['day'], at), null, 'nobody has looked yet');
      assert.equal(await store.views.areWhole(async () => ends), true);
      await run(store.views, ends, prefix);
    } finally {
      await store.close();
    }
  };
  const usedIn = async (views: Views) => (await views.wholeUsage(['day'], at))?.get('day')?.amountCents ?? null;

  test('emptied, they find room for nobody until every partition is as far as the log was', () =>
    withViews(async (views, ends) => {
      assert.deepEqual(await views.apply(batch(0, 1, reserve('1', 80))), done(true));
      assert.deepEqual(await views.apply(batch(1, 0, reserve('2', 20))), done(true, '2'));
      ends.set(0, 2).set(1, 1);
      await redis.flush();
      // What partition 0 promised is missing: partition 1 must not give it away once more.
      assert.deepEqual(await views.apply(batch(1, 0, reserve('3', 90))), done(false));
      assert.equal(await views.areWhole(async () => ends), false);
      assert.equal(await usedIn(views), null);
      assert.deepEqual(await views.apply(batch(0, 0, reserve('early', 1))), done(false));
      assert.equal(await views.areWhole(async () => ends), false);
      assert.deepEqual(await views.apply(batch(0, 1, reserve('1', 80))), done(false));
      assert.equal(await views.areWhole(async () => ends), true);
      // By now whoever was held without a look is counted, and can be told that it is too much.
      assert.equal(await usedIn(views), 171);
      assert.deepEqual(await views.apply(batch(1, 1, reserve('4', 1))), done(true, '4'));
    }));

  test('how far the log is, is asked after a loss was seen, and not while all is there', () =>
    withViews(async (views, ends) => {
      let asked = 0;
      const ask = async () => {
        asked += 1;
        return ends;
      };
      assert.equal(await views.areWhole(ask), true);
      assert.equal(asked, 0);
      await redis.flush();
      await views.areWhole(ask);
      await views.areWhole(ask);
      assert.equal(asked, 1);
      // Emptied once more: what was folded by then is missing again, though the first answer said less.
      await views.apply(batch(0, 0, reserve('early', 1)));
      await views.apply(batch(0, 1, reserve('1', 80)));
      ends.set(0, 2);
      await redis.flush();
      await views.apply(batch(0, 0, reserve('early', 1)));
      assert.equal(await views.areWhole(ask), false);
      assert.equal(asked, 2);
    }));

  test('set back to an older dump that says all was there, they are not whole before the rest is folded', () =>
    withViews(async (views, ends) => {
      await redis.keep();
      assert.deepEqual(await views.apply(batch(0, 1, reserve('1', 80))), done(true));
      ends.set(0, 2);
      await redis.rollBack();
      await eventually(async () => (await views.applied(0).catch(() => -1)) === 1);
      assert.deepEqual(await views.apply(batch(1, 0, reserve('2', 90))), done(false));
      ends.set(1, 1);
      assert.equal(await views.areWhole(async () => ends), false);
      await views.apply(batch(0, 1, reserve('1', 80)));
      assert.equal(await views.areWhole(async () => ends), true);
      assert.equal(await usedIn(views), 171);
    }));

  test('a partition made anew, for whatever reason, has to be looked at again', () =>
    withViews(async (views, ends, prefix) => {
      await views.apply(batch(1, 0, reserve('1', 10)));
      ends.set(1, 1);
      const admin = new Redis(redis.url);
      // As a fold leaves it that broke off half way.
      await admin.hdel(`${prefix}applied`, '1');
      await admin.quit();
      assert.equal(await usedIn(views), null);
      assert.equal(await views.areWhole(async () => ends), false);
      assert.deepEqual(await views.apply(batch(0, 1, reserve('2', 90))), done(false));
      ends.set(0, 2);
      assert.deepEqual(await views.apply(batch(1, 0, reserve('1', 10))), done(false));
      assert.equal(await usedIn(views), null, 'nobody has looked since');
      assert.equal(await views.areWhole(async () => ends), true);
      assert.equal(await usedIn(views), 101);
    }));
});
