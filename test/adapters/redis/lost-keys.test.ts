/** Single keys of the views that are gone: what they promised is not counted as nothing, and nothing is decided before they are back. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { openRedisStore, type RedisStore } from '../../../src/adapters/redis/store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createIntake, type Intake } from '../../../src/bidding/intake.ts';
import { createLedger } from '../../../src/bidding/ledger.ts';
import type { DeskEvent } from '../../../src/bidding/observer.ts';
import type { EventLog, Views } from '../../../src/bidding/ports.ts';
import { createSnapshotKeeper } from '../../../src/bidding/snapshots.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { Fault } from '../../../src/errors.ts';
import * as parts from '../../bidding/parts.ts';
import { eventually } from '../../conformance/backend.ts';
import { describeOnRedis } from './redis-server.ts';
import { createSnapshotsInMemory } from './snapshots-in-memory.ts';

const snapshotSettings = { everyMs: 600_000, keepClosedMs: 1e12, pieceBytes: 200_000, retryMs: 20 };
const capKey = 'day|2026-11-20';
const count = 8;

/** Of the first half an auction is over, every other one lost, which closes the request; the other half waits for its result. */
function recordsOf(n: number): AuctionRecord[] {
  const outcome = { kind: 'accepted' as const, bidId: `ours ${n}` };
  const bids =
    n % 2 === 0
      ? [parts.bid('other', { rateHundredths: 120 }), parts.bid(outcome.bidId, { position: 2 })]
      : [parts.bid('other', { rateHundredths: 180, position: 2 }), parts.bid(outcome.bidId)];
  const records = [
    parts.requested(),
    parts.claimed('a:1'),
    parts.answered(outcome),
    ...(n < count / 2 ? [parts.ended(bids)] : []),
  ];
  return records.map((record) => ({ ...record, requestId: String(n) }));
}

async function append(log: EventLog, ...records: readonly AuctionRecord[]): Promise<void> {
  await log.append(records.map((record) => ({ topic: 'auctions' as const, key: record.requestId, record })));
}

const ids = Array.from({ length: count }, (_, n) => String(n));

async function pictureOf(views: Views): Promise<unknown> {
  const rows = await views.read(ids);
  return {
    applied: await views.applied(0),
    rows: ids.map((id) => rows.get(id)),
    open: (await views.open(0)).flatMap((page) => page.rows.map(({ state }) => state.requestId)).sort(),
    usage: [...(await views.usage([capKey], parts.at))],
    bids: [...(await views.findByBid(['ours 0', 'ours 7']))],
    statistics: [...(await views.statistics(['all', 'all/private']))],
    page: await views.query({ phase: null, limit: 20, before: null }),
  };
}

/** What a process does with its views, without what it decides. */
function beginIntake(store: RedisStore, log: EventLog, snapshots = createSnapshotsInMemory()) {
  const clock = createSystemClock();
  const events: DeskEvent[] = [];
  let stopping = false;
  const keeper = createSnapshotKeeper({
    ...{ views: store.views, copies: store.copies, snapshots, clock, settings: snapshotSettings },
    partitions: () => [0],
    onProgress: () => {},
    onFault: (fault) => events.push({ kind: 'fault', code: fault.code, message: fault.message }),
  });
  const ledger = createLedger(store.views, parts.settings, log);
  const taken: string[][] = [];
  const intake: Intake = createIntake({
    ...{ log, views: store.views, ledger, clock, settings: parts.settings },
    observer: (event) => events.push(event),
    stopping: () => stopping,
    onFolds: async () => {},
    onLive: async (partition, position) => {
      const { rows } = await ledger.load(partition, position);
      taken.push(rows.map(({ state }) => state.requestId).sort());
    },
    onLost: ledger.clear,
    onRestart: ledger.clear,
    callbacks: { hear: async () => {}, handle: async () => {}, lose: () => {} },
    restoreViews: keeper.restore,
  });
  const isOpen = () => intake.isLive() && intake.viewsWhole();
  return {
    ...{ intake, keeper, events, taken, isOpen, snapshots },
    alarms: () => events.flatMap((event) => (event.kind === 'alarm' ? [`${event.code}: ${event.text}`] : [])),
    stop: async () => {
      stopping = true;
      await intake.stop();
    },
  };
}

/** What is lost: by the end of its name, and what the alarm says of it. */
const losses: readonly (readonly [name: string, key: RegExp, said: RegExp])[] = [
  ['what is promised under cap keys', /:sums$/, /sums/],
  ['the requests under a cap key', /:z:day\|/, /z:day/],
  ['rows', /:rows$/, /rows/],
  ['open requests', /:open$/, /open/],
  ['reservations', /:exp$/, /exp/],
  ['bids', /:bids$/, /bids/],
  ['cursors of a phase', /:c:accepted$/, /c:accepted/],
  ['a statistic', /:h:all$/, /h:all/],
  ['names of the statistics', /:stats$/, /stats/],
  ['which generation counts', /:generations$/, /generations/],
  ['pages of closed rows', /:pages$/, /pages/],
];

await describeOnRedis('redis views that lost single keys', (redis) => {
  let places = 0;
  const withStore = async (run: (store: RedisStore, log: EventLog, admin: Redis, prefix: string) => Promise<void>) => {
    places += 1;
    const directory = mkdtempSync(join(tmpdir(), 'lance-lost-keys-'));
    const prefix = `{lost ${places}}:`;
    const embedded = await openEmbeddedStore({ directory, onFault: assert.fail });
    const store = await openRedisStore({ url: redis.url, reconnectFirstMs: 10, keyPrefix: prefix });
    const admin = new Redis(redis.url);
    try {
      await run(store, embedded.log, admin, prefix);
    } finally {
      await admin.quit();
      await store.close();
      await embedded.close();
      rmSync(directory, { recursive: true, force: true });
    }
  };
  const lose = async (admin: Redis, prefix: string, key: RegExp) => {
    const found = (await admin.keys(`${prefix}*`)).filter((name) => key.test(name));
    assert.ok(found.length > 0, `no key like ${key}`);
    await admin.del(...found);
  };
  const fill = async (log: EventLog) => {
    for (const id of ids) await append(log, ...recordsOf(Number(id)));
  };

  for (const [name, key, said] of losses) {
    test(`${name}: lost beside a process, it closes, says so, and folds anew`, () =>
      withStore(async (store, log, admin, prefix) => {
        const desk = beginIntake(store, log);
        try {
          await fill(log);
          await desk.intake.start();
          await eventually(desk.isOpen, 10_000);
          // The others are folded from the beginning, the next time from a snapshot.
          if (name.startsWith('pages')) await desk.keeper.take(0);
          const picture = await pictureOf(store.views);
          await lose(admin, prefix, key);
          await eventually(() => !desk.isOpen(), 10_000);
          await eventually(desk.isOpen, 10_000);
          await eventually(() => desk.alarms().length > 0, 5_000);
          const [alarm] = desk.alarms();
          assert.match(alarm!, /^views-lost: partition 0/);
          assert.match(alarm!, said);
          assert.deepEqual(await pictureOf(store.views), picture);
        } finally {
          await desk.stop();
        }
      }));

    test(`${name}: lost while no process runs, the next one folds anew before it goes on`, () =>
      withStore(async (store, log, admin, prefix) => {
        const before = beginIntake(store, log);
        await fill(log);
        await before.intake.start();
        await eventually(before.isOpen, 10_000);
        await before.keeper.take(0);
        const picture = await pictureOf(store.views);
        await before.stop();
        await lose(admin, prefix, key);
        const desk = beginIntake(store, log, before.snapshots);
        try {
          await desk.intake.start();
          await eventually(desk.isOpen, 10_000);
          await eventually(() => desk.alarms().some((alarm) => said.test(alarm)), 5_000);
          await eventually(async () => {
            const now = await pictureOf(store.views).catch(() => null);
            return JSON.stringify(now) === JSON.stringify(picture);
          }, 5_000);
          assert.deepEqual(desk.taken.at(-1), ['1', '3', '4', '5', '6', '7'], 'open requests go on');
        } finally {
          await desk.stop();
        }
      }));
  }

  const behind = (fault: unknown) => fault instanceof Fault && fault.code === 'views-behind' && fault.retryable;
  /** Nobody looks meanwhile: each read and write that decides has to see it by itself. */
  const reads: readonly (readonly [name: string, key: RegExp, read: (views: Views) => Promise<void>])[] = [
    ['usage', /:sums$/, (views) => assert.rejects(views.usage([capKey], parts.at), behind)],
    ['usage of expired', /:exp$/, (views) => assert.rejects(views.usage([capKey], parts.at + 1e12), behind)],
    ['usage by generation', /:generations$/, (views) => assert.rejects(views.usage([capKey], parts.at), behind)],
    ['whole usage', /:sums$/, async (views) => assert.equal(await views.wholeUsage([capKey], parts.at), null)],
    ['a row before a fold', /:rows$/, async (views) => assert.equal((await views.readAt(0, ['0']))[0]!.applied, 0)],
    ['open rows', /:open$/, async (views) => assert.equal((await views.open(0))[0]!.applied, 0)],
    ['rows by request', /:rows$/, (views) => assert.rejects(views.read(['0']), behind)],
    ['requests by bid', /:bids$/, (views) => assert.rejects(views.findByBid(['ours 0']), behind)],
    ['a list', /:c:accepted$/, (views) => assert.rejects(views.query({ phase: null, limit: 1, before: null }), behind)],
    ['how far', /:rows$/, async (views) => assert.equal(await views.applied(0), 0)],
  ];
  for (const [name, key, read] of reads) {
    test(`${name} is not answered as if nothing were there`, () =>
      withStore(async (store, log, admin, prefix) => {
        const desk = beginIntake(store, log);
        await fill(log);
        await desk.intake.start();
        await eventually(desk.isOpen, 10_000);
        await desk.stop();
        await lose(admin, prefix, key);
        await read(store.views);
        if (name === 'a list') return;
        // A batch is not folded onto it either, and from then on it is gone.
        const next = count * 4;
        const first = next - count / 2;
        assert.deepEqual(await store.views.apply({ partition: 0, first, next: first + 1, changes: [] }), {
          kind: 'out-of-step',
          applied: 0,
        });
        assert.equal(await admin.hexists(`${prefix}applied`, '0'), 0);
      }));
  }

  /** A store without the counts, and one that a desk without them folds on, are counted, not called lost. */
  test('what an earlier version left is counted; what is lost from then on is noticed', () =>
    withStore(async (store, log, admin, prefix) => {
      const desk = beginIntake(store, log);
      try {
        await fill(log);
        await desk.intake.start();
        await eventually(desk.isOpen, 10_000);
        const line = async () => (await admin.hget(`${prefix}applied`, '0:holds')) ?? '';
        const before = await line();
        await admin.hdel(`${prefix}applied`, '0:holds');
        await eventually(async () => (await line()) === before, 5_000);
        // An earlier version goes on beside: it writes rows and its offset, and leaves the line as it is.
        const generation = await admin.hget(`${prefix}generations`, '0');
        const row = (await admin.hget(`${prefix}v:0:${generation}:rows`, '7'))!;
        await append(log, { ...parts.requested(), requestId: 'other' });
        const rowsIn = async () => (await line()).split('|')[3];
        await eventually(async () => (await rowsIn()) === '9', 5_000);
        const [applied] = (await line()).split('|');
        await admin
          .multi()
          .hset(`${prefix}v:0:${generation}:rows`, 'of an earlier version', row)
          .zadd(`${prefix}v:0:${generation}:c:accepted`, 0, 'of an earlier version')
          .hset(`${prefix}applied`, '0:holds', (await line()).replace(`${applied}|`, '1|'))
          .exec();
        await eventually(async () => (await rowsIn()) === '10', 5_000);
        assert.deepEqual([desk.isOpen(), desk.alarms()], [true, []]);
        await lose(admin, prefix, /:sums$/);
        await eventually(() => desk.alarms().length > 0, 10_000);
      } finally {
        await desk.stop();
      }
    }));

  test('a snapshot is not taken of views that lost something, nor put back where a part of it gets lost', () =>
    withStore(async (store, log, admin, prefix) => {
      const desk = beginIntake(store, log);
      await fill(log);
      await desk.intake.start();
      await eventually(desk.isOpen, 10_000);
      await desk.stop();
      const copy = await store.copies.take(0, { keepFrom: 0, pieceBytes: 200_000 });
      const pieces: Buffer[] = [];
      for await (const piece of copy!.pieces) pieces.push(piece);
      const begun = await store.copies.take(0, { keepFrom: 0, pieceBytes: 200_000 });
      await lose(admin, prefix, /:bids$/);
      await assert.rejects(async () => {
        for await (const _ of begun!.pieces);
      }, behind);
      assert.equal(await store.copies.take(0, { keepFrom: 0, pieceBytes: 200_000 }), null);
      const given = async function* (isLosing: boolean) {
        for (const piece of pieces) yield piece;
        if (isLosing) await lose(admin, prefix, /:open$/);
      };
      const restored = (isLosing: boolean) =>
        store.copies.restore(0, { applied: copy!.applied, pieces: given(isLosing) }, () => {});
      assert.equal(await restored(true), 'out-of-step');
      assert.equal(await store.views.applied(0), 0);
      assert.equal(await restored(false), 'restored');
      assert.equal(await store.views.applied(0), copy!.applied);
    }));

  test('a policy by which any key may be taken away closes while it lasts, and what it took is looked for after it', () =>
    withStore(async (store, log, admin, prefix) => {
      const desk = beginIntake(store, log);
      try {
        await fill(log);
        await desk.intake.start();
        await eventually(desk.isOpen, 10_000);
        await admin.config('SET', 'maxmemory', '1gb');
        await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
        await eventually(() => !desk.isOpen(), 5_000);
        await eventually(() => desk.alarms().length > 0, 5_000);
        assert.match(desk.alarms()[0]!, /^views-evictable: maxmemory-policy is allkeys-lru/);
        assert.equal((await store.views.losses!()).evicting, 'allkeys-lru');
        assert.equal(await store.views.wholeUsage([capKey], parts.at), null);
        await admin.config('SET', 'maxmemory-policy', 'noeviction');
        await eventually(desk.isOpen, 5_000);
        // Set and put back between two looks: the number of keys taken away says so.
        const loss = await admin.hget(`${prefix}whole`, 'loss');
        const filler = new Redis(redis.url);
        await filler.set('filler', 'x'.repeat(8_000_000));
        const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))![1]);
        await admin
          .multi()
          .config('SET', 'maxmemory', String(used - 4_000_000))
          .config('SET', 'maxmemory-policy', 'allkeys-random')
          .exec();
        await filler.set('other', 'y').catch(() => {});
        await admin.multi().config('SET', 'maxmemory-policy', 'noeviction').config('SET', 'maxmemory', '0').exec();
        await filler.quit();
        assert.doesNotMatch(await admin.info('stats'), /evicted_keys:0\b/);
        await eventually(async () => {
          const now = await admin.hget(`${prefix}whole`, 'loss');
          return desk.isOpen() && now !== null && now !== loss;
        }, 10_000);
      } finally {
        await admin.config('SET', 'maxmemory-policy', 'noeviction');
        await admin.config('SET', 'maxmemory', '0');
        await desk.stop();
      }
    }));
});
