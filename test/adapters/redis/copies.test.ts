/** A copy shows the views as of one offset while they change under it; put back, they are the same to the last bit. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { type Connection, connect, redisDefaults } from '../../../src/adapters/redis/connection.ts';
import { openRedisStore, type RedisStore } from '../../../src/adapters/redis/store.ts';
import { createViewCopies } from '../../../src/adapters/redis/view-copies.ts';
import { createViews } from '../../../src/adapters/redis/views.ts';
import { callbackPartition, type ViewChange, type Views } from '../../../src/bidding/ports.ts';
import type { Phase } from '../../../src/domain/states.ts';
import { eventually } from '../../conformance/backend.ts';
import { stateOf } from '../../conformance/samples.ts';
import { describeOnRedis } from './redis-server.ts';

const at = 1_763_700_000_000;
const count = 1_200;
const days = ['day|a', 'day|b'];
const segments = Array.from({ length: 120 }, (_, i) => `segment ${i}`);
/** Those that are new in the second round come first, while there is much left to be read. */
const hundreds = [9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8].map((hundred) => hundred * 100);
const ids = Array.from({ length: count }, (_, i) => String(10_000 + i));

/** Everything that can happen to request i in one round; rounds differ. */
function changesOf(i: number, round: number): ViewChange[] {
  const requestId = ids[i]!;
  const phase: Phase = round % 2 === 0 ? 'claimed' : 'won';
  const caps = [{ keys: [days[i % 2]!], limitAmountCents: 40_000, limitCount: null }];
  const reserve = { at, amountCents: 100 + i, caps, expiresAt: at + 1_000 + i, force: round > 0 };
  const changes: ViewChange[] = [
    {
      kind: 'state',
      state: { ...stateOf(requestId, phase, at + i), repeats: round },
      open: (i + round) % 3 === 0,
      bidIds: [`bid ${i}\t"${round}`],
    },
    {
      kind: 'learn',
      keys: [segments[i < 900 ? i % 100 : 100 + (i % 20)]!],
      // Some statistics are of the first half alone, others grow.
      additions: [
        [(i + round) % 499, 1],
        [(i * 7 + round) % (i % 3 === 0 ? 998 : 499), -0.3],
      ],
      at: at + i * 977,
      halfLives: { halfLifeMs: 50_000, halfLifeResults: i % 2 === 0 ? 30 : Number.POSITIVE_INFINITY },
    },
  ];
  if (i % 4 !== 3) changes.push({ kind: 'reserve', requestId, ...reserve });
  if (i % 5 === round) changes.push({ kind: 'release', requestId });
  if (i % 7 === round) changes.push({ kind: 'commit', requestId, expiresAt: at + 9_000 });
  return changes;
}

async function foldRound(views: Views, round: number, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i += 100) {
    const changes = Array.from({ length: Math.min(100, to - i) }, (_, k) => changesOf(i + k, round)).flat();
    const first = await views.applied(0);
    assert.equal((await views.apply({ partition: 0, first, next: first + 100, changes })).kind, 'applied');
  }
}

/** Hashes: where thousands of values differ, an assertion that lists them takes minutes. */
async function pictureOf(views: Views): Promise<Map<string, unknown>> {
  const hashOf = (value: unknown) => createHash('sha1').update(JSON.stringify(value)).digest('hex');
  const byId = (rows: Iterable<{ state: { requestId: string } }>) =>
    [...rows].sort((a, b) => (a.state.requestId < b.state.requestId ? -1 : 1));
  const statistics = [...(await views.statistics(segments))].map(([key, { cells, ...rest }]) => [
    key,
    rest,
    [...cells],
  ]);
  return new Map<string, unknown>([
    ['applied', await views.applied(0)],
    ['rows', hashOf(byId((await views.read(ids)).values()))],
    ['open', hashOf(byId((await views.open(0)).flatMap(({ rows }) => rows)))],
    ['usage', [[...(await views.usage(days, at))], [...(await views.usage(days, at + 1_500))]]],
    ['statistics', hashOf(statistics.sort())],
    ['page', hashOf(await views.query({ phase: null, limit: 500, before: null }))],
    ['claimed', hashOf(await views.query({ phase: 'claimed', limit: 500, before: null }))],
  ]);
}

const everything = { keepFrom: 0, pieceBytes: 8_000 };

async function collect(
  pieces: AsyncIterable<Buffer>,
  between: (index: number) => Promise<void> = async () => {},
): Promise<Buffer[]> {
  const kept: Buffer[] = [];
  for await (const piece of pieces) {
    kept.push(piece);
    await between(kept.length);
  }
  return kept;
}

async function* given(kept: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* kept;
}

await describeOnRedis('redis copies of views', (redis) => {
  const withStore = async (name: string, run: (store: RedisStore, admin: Redis) => Promise<void>) => {
    const store = await openRedisStore({ url: redis.url, keyPrefix: `{${name}}:` });
    const admin = new Redis(redis.url);
    try {
      await run(store, admin);
    } finally {
      admin.disconnect();
      await store.close();
    }
  };

  const moving = (name: string, copiedBefore: boolean) =>
    withStore(name, async ({ views, copies }, admin) => {
      await foldRound(views, 0, 0, 900);
      if (copiedBefore) await collect((await copies.take(0, everything))!.pieces);
      const then = await pictureOf(views);
      const copy = (await copies.take(0, everything))!;
      assert.equal(copy.applied, then.get('applied'));
      assert.equal(await copies.take(0, everything), null, 'one copy at a time');
      let rounds = 0;
      const kept = await collect(copy.pieces, async (index) => {
        if (index % 4 !== 1 || rounds >= 12) return;
        // All that is there changes, and rows come that were not.
        await foldRound(views, 1, hundreds[rounds]!, hundreds[rounds]! + 100);
        rounds += 1;
      });
      assert.ok(rounds === 12, `${kept.length} pieces`);
      assert.ok(kept.every((piece) => piece.length <= everything.pieceBytes));
      const now = await pictureOf(views);
      assert.notDeepEqual(now, then);
      assert.equal((await admin.keys(`{${name}}:v:*:undo`)).length, 0);

      await redis.flush();
      let put = 0;
      const result = await copies.restore(0, { applied: copy.applied, pieces: given(kept) }, (entries) => {
        put += entries;
      });
      assert.equal(result, 'restored');
      assert.ok(put >= 900 * 2);
      assert.deepEqual(await pictureOf(views), then);
      for (const from of hundreds) await foldRound(views, 1, from, from + 100);
      assert.deepEqual(await pictureOf(views), now);
      const bids = [`bid 7\t"0`, `bid 7\t"1`];
      assert.deepEqual(
        [...(await views.findByBid(bids))],
        bids.map((bid) => [bid, [ids[7]]]),
      );
    });

  test('folding goes on while a copy is taken, and shows in nothing of it', () => moving('moving', false));

  test('nor does it when an earlier copy has put the closed rows on pages', () => moving('moved', true));

  test('a copy puts closed rows on pages, where they are read and folded on from', () =>
    withStore('pages', async ({ views, copies }, admin) => {
      const takeAll = async () => await collect((await copies.take(0, everything))!.pieces);
      const stored = async (name: string) => {
        const generation = await admin.hget('{pages}:generations', '0');
        return await admin.hgetall(`{pages}:v:0:${generation}:${name}`);
      };
      const pagesNamed = async () =>
        new Set(Object.values(await stored('rows')).flatMap((row) => /\t@(\d+):\d+$/.exec(row)?.[1] ?? []));
      await foldRound(views, 0, 0, 300);
      const [then, rows] = [await pictureOf(views), await stored('rows')];
      await takeAll();
      assert.deepEqual(await pictureOf(views), then);
      for (const [id, row] of Object.entries(await stored('rows'))) {
        assert.equal(row === rows[id], Number(id) % 3 === Number(ids[0]) % 3, 'open rows stay, closed ones are placed');
      }
      const before = await pagesNamed();
      assert.ok(before.size > 5 && before.size < 50, `${before.size} pages`);

      await foldRound(views, 1, 0, 3);
      const folded = await pictureOf(views);
      const kept = await takeAll();
      assert.deepEqual(await pictureOf(views), folded);
      const { last, ...pages } = await stored('pages');
      assert.deepEqual(new Set(Object.keys(pages)), await pagesNamed(), 'no page is left that nobody is on');
      assert.ok(Number(last) > before.size);
      assert.ok(
        [...before].some((page) => page in pages),
        'a page that is whole stays',
      );
      const again = await takeAll();
      assert.deepEqual(
        again.filter((piece) => piece.toString('latin1', 0, 200).includes('["HSET","pages",')).length,
        Object.keys(pages).length,
      );
      for (const pieces of [kept, again]) {
        await redis.flush();
        assert.equal(await copies.restore(0, { applied: 500, pieces: given(pieces) }, () => {}), 'restored');
        assert.deepEqual(await pictureOf(views), new Map([...folded, ['applied', 500]]));
      }
      assert.equal(await copies.take(0, everything).then((copy) => copy!.applied), 500);
    }));

  test('where a page was given up between a row and its state, the row is asked for again; views that are gone are a fault', () =>
    withStore('given up', async ({ views, copies }, admin) => {
      await foldRound(views, 0, 0, 100);
      const then = await pictureOf(views);
      await collect((await copies.take(0, everything))!.pieces);
      const generation = await admin.hget('{given up}:generations', '0');
      const key = `{given up}:v:0:${generation}:pages`;
      const pages = await admin.hgetallBuffer(key);
      const connection = await connect({ ...redisDefaults, url: redis.url });
      let looks = 0;
      /** The page is there again from the second look on, or never. */
      const readerThatMisses = (forGood: boolean): Views => {
        looks = 0;
        const bytes = async <R>(name: string, ...args: (string | Buffer)[]): Promise<R> => {
          looks += 1;
          if (looks === 1) await admin.hdel(key, ...Object.keys(pages).filter((page) => page !== 'last'));
          const answer = await connection.bytes<R>(name, ...args);
          if (!forGood) await admin.hset(key, pages);
          return answer;
        };
        return createViews({ ...connection, bytes }, '{given up}:');
      };
      try {
        assert.deepEqual(await pictureOf(readerThatMisses(false)), then);
        assert.ok(looks > 1);
        await assert.rejects(readerThatMisses(true).read(ids), { code: 'views-behind' });
        assert.equal(looks, 3);
      } finally {
        await connection.close();
      }
    }));

  test('closed requests of long ago stay behind; open ones and promised money do not', () =>
    withStore('old', async ({ views, copies }) => {
      await foldRound(views, 0, 0, 100);
      const usage = await views.usage(days, at);
      await collect((await copies.take(0, everything))!.pieces);
      const copy = (await copies.take(0, { ...everything, keepFrom: at + 50 }))!;
      const kept = await collect(copy.pieces);
      assert.equal((await views.read(ids)).size, 100, 'here they stay');
      await redis.flush();
      await copies.restore(0, { applied: copy.applied, pieces: given(kept) }, () => {});
      const found = await views.read(ids);
      const bidOf = (i: number) => `bid ${i}\t"0`;
      const bids = await views.findByBid(Array.from({ length: 100 }, (_, i) => bidOf(i)));
      for (let i = 0; i < 100; i += 1) {
        const stays = i >= 50 || i % 3 === 0;
        assert.equal(found.has(ids[i]!), stays, `request ${i}`);
        assert.equal(bids.has(bidOf(i)), stays, `the bid of request ${i}`);
      }
      assert.deepEqual(await views.usage(days, at), usage);
    }));

  test('a restore that breaks off shows nothing, and leaves nothing once the next one is through', () =>
    withStore('broken', async ({ views, copies }, admin) => {
      await foldRound(views, 0, 0, 300);
      const then = await pictureOf(views);
      const copy = (await copies.take(0, everything))!;
      const kept = await collect(copy.pieces);
      await redis.flush();
      async function* torn(): AsyncGenerator<Buffer> {
        yield* kept.slice(0, 3);
        throw new Error('the transport broke');
      }
      const restore = (pieces: AsyncIterable<Buffer>) => copies.restore(0, { applied: copy.applied, pieces }, () => {});
      await assert.rejects(restore(torn()), /the transport broke/);
      assert.deepEqual([await views.applied(0), (await views.read(ids)).size], [0, 0]);
      assert.equal(await restore(given(kept)), 'busy', 'the one that broke off may still live');
      await admin.del('{broken}:restoring:0');
      assert.equal(await restore(given(kept)), 'restored');
      assert.deepEqual(await pictureOf(views), then);
      assert.equal(await restore(given(kept)), 'out-of-step');
      const generations = new Set((await admin.keys('{broken}:v:*')).map((key) => key.split(':')[3]));
      assert.equal(generations.size, 1);
      assert.equal(await admin.exists('{broken}:garbage'), 0);
    }));

  test('of two restores the one that was given up for dead changes nothing any more', () =>
    withStore('dead', async ({ views, copies }, admin) => {
      await foldRound(views, 0, 0, 300);
      const then = await pictureOf(views);
      const copy = (await copies.take(0, everything))!;
      const kept = await collect(copy.pieces);
      await redis.flush();
      const restore = (pieces: AsyncIterable<Buffer>) => copies.restore(0, { applied: copy.applied, pieces }, () => {});
      async function* slow(): AsyncGenerator<Buffer> {
        yield* kept.slice(0, 2);
        await admin.del('{dead}:restoring:0');
        const rival = restore(rivals());
        yield* kept.slice(2, 5);
        await rival;
      }
      async function* rivals(): AsyncGenerator<Buffer> {
        yield kept[0]!;
        await outcome;
        yield* kept.slice(1);
      }
      const outcome: Promise<string> = restore(slow());
      assert.equal(await outcome, 'out-of-step');
      await eventually(async () => (await views.applied(0)) > 0);
      assert.deepEqual(await pictureOf(views), then);
    }));

  test('a fold from the beginning wins over a restore under way; a copy of lost views is none', () =>
    withStore('overtaken', async ({ views, copies }, admin) => {
      await foldRound(views, 0, 0, 300);
      const copy = (await copies.take(0, everything))!;
      const kept = await collect(copy.pieces);
      const lost = (await copies.take(0, everything))!;
      await redis.flush();
      await assert.rejects(collect(lost.pieces), { code: 'views-behind' });
      async function* overtaken(): AsyncGenerator<Buffer> {
        yield kept[0]!;
        await foldRound(views, 0, 0, 100);
        yield* kept.slice(1);
      }
      assert.equal(await copies.restore(0, { applied: copy.applied, pieces: overtaken() }, () => {}), 'out-of-step');
      assert.deepEqual([await views.applied(0), (await views.read(ids)).size], [100, 100]);
      await copies.sweep();
      const generations = new Set((await admin.keys('{overtaken}:v:*')).map((key) => key.split(':')[3]));
      assert.equal(generations.size, 1);
      assert.equal(await copies.take(1, everything), null);
    }));

  test('a sweep that looked while a restore was under way leaves alone what that restore has shown since', () =>
    withStore('swept', async ({ views, copies }) => {
      await foldRound(views, 0, 0, 300);
      const then = await pictureOf(views);
      const copy = (await copies.take(0, everything))!;
      const kept = await collect(copy.pieces);
      await redis.flush();
      const connection = await connect({ ...redisDefaults, url: redis.url });
      const looked = Promise.withResolvers<void>();
      const lateReader: Connection = {
        ...connection,
        command: async <R>(name: string, ...args: (string | Buffer)[]): Promise<R> => {
          const answer = await connection.command<R>(name, ...args);
          if (name === 'SMEMBERS') {
            looked.resolve();
            await restoring;
          }
          return answer;
        },
      };
      let sweeping: Promise<void> = Promise.resolve();
      async function* pieces(): AsyncGenerator<Buffer> {
        yield kept[0]!;
        sweeping = createViewCopies(lateReader, '{swept}:').sweep();
        await looked.promise;
        yield* kept.slice(1);
      }
      const restoring = copies.restore(0, { applied: copy.applied, pieces: pieces() }, () => {});
      assert.equal(await restoring, 'restored');
      await sweeping;
      await connection.close();
      assert.deepEqual(await pictureOf(views), then);
    }));

  test('views that are given up leave nothing of them behind, and what else a desk keeps there stays', () =>
    withStore('removed', async ({ views, flows, copies, control }, admin) => {
      const paused = await control.setPause({ by: 'ana', reason: 'restore', at });
      const kept = await admin.keys('{removed}:*');
      await foldRound(views, 0, 0, 300);
      await views.apply({ partition: callbackPartition(0), first: 0, next: 7, changes: [] });
      await flows.apply({ partition: 0, first: 0, next: 3, rows: [] });
      await views.areWhole(async () => new Map([[0, 300]]));
      await (await copies.take(0, everything))!.pieces[Symbol.asyncIterator]().next();
      assert.ok((await admin.keys('{removed}:*')).length > kept.length + 5);
      await copies.removeAll();
      assert.deepEqual((await admin.keys('{removed}:*')).sort(), kept.sort());
      assert.deepEqual(
        [await views.applied(0), await views.applied(callbackPartition(0)), await flows.applied(0)],
        [0, 0, 0],
      );
      assert.deepEqual((await control.read()).pause?.reason, 'restore', String(paused));
    }));
});
