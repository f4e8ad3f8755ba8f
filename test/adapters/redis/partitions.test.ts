/** What several partitions share in Redis, and what each has of its own; and that statistics have the bits of our own fold. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import { cursorOf, type ViewChange } from '../../../src/bidding/ports.ts';
import { decayFactor, emptyHistogram, foldSums, timeAlone } from '../../../src/domain/histogram.ts';
import { withBackend } from '../../conformance/backend.ts';
import { stateOf } from '../../conformance/samples.ts';
import { describeOnRedis } from './redis-server.ts';
import { redisKind } from './redis-store.ts';

const at = 1_763_700_000_000;
const row = (requestId: string, decidedAt = at): ViewChange => ({
  kind: 'state',
  state: stateOf(requestId, 'claimed', decidedAt),
  open: true,
  bidIds: [`bid of ${requestId}`],
});
const reserve = (requestId: string, amountCents: number): ViewChange => ({
  kind: 'reserve',
  requestId,
  at,
  amountCents,
  caps: [{ keys: ['day'], limitAmountCents: 100, limitCount: null }],
  expiresAt: at + 1_000,
  force: false,
});

await describeOnRedis('redis partitions', ({ url }) => {
  const kind = redisKind(url);

  test('a partition has its own open rows; reading, bids and pages go over all', () =>
    withBackend(kind, async ({ views }) => {
      await views.apply({ partition: 0, first: 0, next: 1, changes: [row('1', at), row('2', at + 2)] });
      await views.apply({ partition: 3, first: 0, next: 1, changes: [row('3', at + 1), row('4', at + 3)] });
      const idsOf = async (partition: number) =>
        (await views.open(partition)).flatMap(({ rows }) => rows).map(({ state }) => state.requestId);
      assert.deepEqual((await idsOf(0)).sort(), ['1', '2']);
      assert.deepEqual((await idsOf(3)).sort(), ['3', '4']);
      assert.deepEqual(await idsOf(1), []);
      assert.deepEqual([...(await views.read(['1', '4', '5'])).keys()].sort(), ['1', '4']);
      assert.deepEqual([...(await views.findByBid(['bid of 2', 'bid of 3']))].sort(), [
        ['bid of 2', ['2']],
        ['bid of 3', ['3']],
      ]);
      const first = await views.query({ phase: null, limit: 3, before: null });
      assert.deepEqual(
        first.map(({ state }) => state.requestId),
        ['4', '2', '3'],
      );
      const before = cursorOf(first.at(-1)!.state);
      const second = await views.query({ phase: 'claimed', limit: 3, before });
      assert.deepEqual(
        second.map(({ state }) => state.requestId),
        ['1'],
      );
    }));

  test('a cap counts what all partitions promised', () =>
    withBackend(kind, async ({ views }) => {
      assert.equal(
        await views.areWhole(
          async () =>
            new Map([
              [0, 0],
              [1, 0],
            ]),
        ),
        true,
      );
      await views.apply({ partition: 0, first: 0, next: 1, changes: [row('1'), reserve('1', 60)] });
      const other = await views.apply({ partition: 1, first: 0, next: 1, changes: [row('2'), reserve('2', 41)] });
      assert.deepEqual(other, { kind: 'applied', refused: ['2'], whole: true });
      const fits = await views.apply({ partition: 1, first: 1, next: 2, changes: [row('3'), reserve('3', 40)] });
      assert.deepEqual(fits, { kind: 'applied', refused: [], whole: true });
      assert.deepEqual((await views.usage(['day'], at)).get('day'), { amountCents: 100, count: 2 });
      assert.deepEqual((await views.usage(['day'], at + 1_000)).get('day'), { amountCents: 0, count: 0 });
    }));

  test('what several partitions learnt is one statistic', () =>
    withBackend(kind, async ({ views }) => {
      const halfLives = timeAlone(3_600_000);
      const whole = emptyHistogram(at);
      const results = [0, 5_000_000, 70_000, 400_000_000, 1_000].map((age, i) => ({
        age,
        cell: i % 3,
        partition: i % 2,
      }));
      const offsets = [0, 0];
      for (const { age, cell, partition } of results) {
        const learn: ViewChange = { kind: 'learn', keys: ['*'], additions: [[cell, 1]], at: at + age, halfLives };
        const first = offsets[partition]!;
        offsets[partition] = first + 1;
        await views.apply({ partition, first, next: first + 1, changes: [learn] });
        foldSums(whole, [[cell, 1]], at + age, halfLives);
      }
      const sum = (await views.statistics(['*'])).get('*')!;
      assert.equal(sum.count, 5);
      const now = at + 400_000_000;
      for (let cell = 0; cell < 4; cell += 1) {
        const expected = whole.cells[cell]! * decayFactor(whole, now, halfLives);
        const found = sum.cells[cell]! * decayFactor(sum, now, halfLives);
        assert.ok(Math.abs(found - expected) <= 1e-12 * Math.max(expected, 1e-300), `${cell}: ${found} ${expected}`);
      }
    }));

  test('a half-life in results counts those of a partition', () =>
    withBackend(kind, async ({ views }) => {
      const halfLives = { halfLifeMs: Number.POSITIVE_INFINITY, halfLifeResults: 2 };
      const learn = (index: number): ViewChange => ({
        kind: 'learn',
        keys: ['*'],
        additions: [[index, 1]],
        at,
        halfLives,
      });
      await views.apply({ partition: 0, first: 0, next: 1, changes: [learn(5), learn(6), learn(7), learn(990)] });
      await views.apply({ partition: 1, first: 0, next: 1, changes: [learn(8)] });
      const sum = (await views.statistics(['*'])).get('*')!;
      assert.deepEqual([sum.count, sum.cells.length], [5, 998]);
      const factor = decayFactor(sum, at, halfLives);
      for (const [index, age] of [
        [5, 3],
        [6, 2],
        [7, 1],
        [990, 0],
        [8, 0],
      ] as const) {
        assert.ok(Math.abs(sum.cells[index]! * factor - 2 ** (-age / 2)) < 1e-12, `${index}: ${sum.cells[index]}`);
      }
    }));

  test('weights grow by the very bits that Math.exp gives', async () => {
    const source = readFileSync(new URL('../../../src/adapters/redis/lua/exp.lua', import.meta.url), 'utf8');
    const script = `${source}\nlocal found = {}\nfor i, x in ipairs(ARGV) do found[i] = struct.pack('<d', exp(struct.unpack('<d', x))) end\nreturn found`;
    const bytesOf = (x: number) => Buffer.from(new Float64Array([x]).buffer);
    const redis = new Redis(url);
    try {
      const corners = [0, -0, 1, -1, 40, -40, 709.79, -745.2, -720, 2 ** -28, -(2 ** -29), 0.3465735902799726, 1.04];
      const drawn = fc.sample(
        fc.oneof(fc.double({ min: -760, max: 720, noNaN: true }), fc.double({ min: -41, max: 41, noNaN: true })),
        { numRuns: 20_000, seed: 7 },
      );
      const inputs = [...corners, ...drawn];
      for (let from = 0; from < inputs.length; from += 5_000) {
        const page = inputs.slice(from, from + 5_000);
        const found = (await redis.callBuffer('EVAL', script, 0, ...page.map(bytesOf))) as Buffer[];
        for (const [i, x] of page.entries()) assert.equal(found[i]!.readDoubleLE(0), Math.exp(x), `exp(${x})`);
      }
    } finally {
      redis.disconnect();
    }
  });

  test('versions and memory that are unfit are refused by name', async () => {
    const redis = new Redis(url);
    try {
      await redis.config('SET', 'maxmemory', '100mb');
      await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await assert.rejects(openRedisStore({ url }), {
        code: 'configuration-invalid',
        message: /maxmemory-policy allkeys-lru/,
      });
      await redis.config('SET', 'maxmemory-policy', 'volatile-ttl');
      await (await openRedisStore({ url })).close();
    } finally {
      await redis.config('SET', 'maxmemory', '0');
      redis.disconnect();
    }
  });
});
