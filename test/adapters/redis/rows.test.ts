/** A row that is added to reads as one that was written whole, and nothing is added to a row that is not there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import type { ApplyResult, Views } from '../../../src/bidding/ports.ts';
import type { RequestState } from '../../../src/domain/states.ts';
import { withBackend } from '../../conformance/backend.ts';
import { stateOf } from '../../conformance/samples.ts';
import { describeOnRedis } from './redis-server.ts';
import { redisKind } from './redis-store.ts';

const at = 1_763_700_000_000;

async function put(views: Views, state: RequestState, before: RequestState | null, open = true): Promise<ApplyResult> {
  const first = await views.applied(0);
  const changes = [{ kind: 'state' as const, state, open, bidIds: [], before }];
  return views.apply({ partition: 0, first, next: first + 1, changes });
}

await describeOnRedis('rows in redis', ({ url }) => {
  const kind = redisKind(url);

  /** The one row of all partitions as it stands there, and its key. */
  async function stored(redis: Redis, requestId: string): Promise<{ key: string; row: string }> {
    for (const key of await redis.keys('*:rows')) {
      const row = await redis.hget(key, requestId);
      if (row !== null) return { key, row };
    }
    throw new Error('no such row');
  }

  test('what changed is added, a few times, and what is read is the last state', () =>
    withBackend(kind, async ({ views }) => {
      const redis = new Redis(url);
      try {
        let before: RequestState | null = null;
        let longest = 0;
        for (let repeats = 0; repeats < 30; repeats += 1) {
          const phase = repeats % 3 === 0 ? 'claimed' : 'unknown';
          const state: RequestState = {
            ...(before ?? stateOf('added', phase, at)),
            phase,
            repeats,
            decidedAt: at + repeats,
            batchId: repeats % 2 === 0 ? 'a\tb\n' : null,
          };
          assert.equal((await put(views, state, before)).kind, 'applied');
          before = state;
          assert.deepEqual((await views.read(['added'])).get('added')?.state, state);
          const [page] = await views.query({ phase, limit: 9, before: null });
          assert.deepEqual(page?.state, state);
          longest = Math.max(longest, (await stored(redis, 'added')).row.split('\t').length - 1);
        }
        assert.equal(longest, 6);
        const closed: RequestState = { ...before!, phase: 'lost' };
        await put(views, closed, before, false);
        assert.deepEqual((await views.read(['added'])).get('added')?.state, closed);
        // Opened anew: the row may stand on a page by now.
        const opened: RequestState = { ...closed, phase: 'contemplated' };
        await put(views, opened, closed);
        assert.deepEqual((await views.read(['added'])).get('added')?.state, opened);
        assert.equal((await stored(redis, 'added')).row.split('\t').length - 1, 1);
      } finally {
        redis.disconnect();
      }
    }));

  test('a row that is gone is not added to: the views are behind, and stay as they are', () =>
    withBackend(kind, async ({ views }) => {
      const redis = new Redis(url);
      try {
        const [one, other] = [stateOf('one', 'requested', at), stateOf('other', 'requested', at)];
        await put(views, one, null);
        await put(views, other, null);
        const { key } = await stored(redis, 'one');
        await redis.hdel(key, 'one');
        const changes = [other, one].map((before) => ({
          kind: 'state' as const,
          state: { ...before, phase: 'claimed' as const },
          open: true,
          bidIds: [],
          before,
        }));
        const result = await views.apply({ partition: 0, first: 2, next: 3, changes });
        assert.ok(result.kind === 'out-of-step' && result.applied < 2);
        assert.equal(await views.applied(0), 2);
        assert.deepEqual((await views.read(['other'])).get('other')?.state, other);
      } finally {
        redis.disconnect();
      }
    }));
});
