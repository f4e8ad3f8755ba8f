/** Views that are lost under a running intake: it closes, puts the snapshot back, folds the rest, and goes on. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { openRedisStore, type RedisStore } from '../../../src/adapters/redis/store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createIntake } from '../../../src/bidding/intake.ts';
import { createLedger } from '../../../src/bidding/ledger.ts';
import type { EventLog } from '../../../src/bidding/ports.ts';
import { createSnapshotKeeper, type RebuildProgress } from '../../../src/bidding/snapshots.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import { createManualClock } from '../../bidding/manual-clock.ts';
import * as parts from '../../bidding/parts.ts';
import { eventually } from '../../conformance/backend.ts';
import { describeOnRedis } from './redis-server.ts';
import { createSnapshotsInMemory } from './snapshots-in-memory.ts';

const snapshotSettings = { everyMs: 60_000, keepClosedMs: 1e12, pieceBytes: 200_000, retryMs: 20 };

/** A request's whole way to a win: four records. */
function recordsOf(requestId: string): AuctionRecord[] {
  const outcome = { kind: 'accepted' as const, bidId: `ours ${requestId}` };
  const bids = [parts.bid('other', { rateHundredths: 180 + (Number(requestId) % 100), position: 2 })];
  const records = [
    parts.requested({ sealed: 'x'.repeat(800) }),
    parts.claimed('a:1', { body: 'y'.repeat(600) }),
    parts.answered(outcome),
    parts.ended([...bids, parts.bid(outcome.bidId)]),
  ];
  return records.map((record) => ({ ...record, requestId }));
}

async function appendAll(log: EventLog, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i += 500) {
    const ids = Array.from({ length: Math.min(500, to - i) }, (_, k) => String(i + k));
    const records = ids.map(recordsOf);
    const inOrder = [0, 1, 2, 3].flatMap((step) => records.map((each) => each[step]!));
    await log.append(inOrder.map((record) => ({ topic: 'auctions', key: record.requestId, record })));
  }
}

async function pictureOf({ views }: RedisStore, ids: readonly string[]): Promise<unknown> {
  const rows = await views.read(ids);
  return {
    applied: await views.applied(0),
    rows: ids.map((id) => rows.get(id)),
    usage: [...(await views.usage(['day|2026-11-20'], parts.at))],
    statistics: [...(await views.statistics(['all', 'all/private']))],
  };
}

function createHouse(store: RedisStore, log: EventLog) {
  const clock = createSystemClock();
  const progress: RebuildProgress[] = [];
  let stopping = false;
  const faults: string[] = [];
  /** Longest list of records handed on at once. */
  const longest = { live: 0, catchingUp: 0 };
  const onRebuild = (each: RebuildProgress) => void progress.push(each);
  const keeper = createSnapshotKeeper({
    views: store.views,
    copies: store.copies,
    snapshots: createSnapshotsInMemory(),
    clock,
    settings: snapshotSettings,
    partitions: () => [0],
    onProgress: onRebuild,
    onFault: (fault) => faults.push(fault.code),
  });
  const ledger = createLedger(store.views, parts.settings, log);
  const intake = createIntake({
    log,
    views: store.views,
    ledger,
    clock,
    settings: parts.settings,
    observer: (event) => event.kind === 'fault' && faults.push(event.code),
    stopping: () => stopping,
    onFolds: async (folds, live) => {
      const kind = live ? 'live' : 'catchingUp';
      longest[kind] = Math.max(longest[kind], folds.length);
    },
    onLive: async (partition, position) => void (await ledger.load(partition, position)),
    onLost: ledger.clear,
    onRestart: ledger.clear,
    callbacks: { hear: async () => {}, handle: async () => {}, lose: () => {} },
    restoreViews: keeper.restore,
    onRebuild,
  });
  const stop = async () => {
    stopping = true;
    await intake.stop();
  };
  return { keeper, intake, progress, faults, longest, stop };
}

await describeOnRedis('redis rebuild', (redis) => {
  test('emptied under a running intake, the views are back from snapshot and tail, told step by step', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'lance-rebuild-'));
    const embedded = await openEmbeddedStore({ directory, onFault: assert.fail });
    const store = await openRedisStore({ url: redis.url, reconnectFirstMs: 10 });
    const { keeper, intake, progress, faults, longest, stop } = createHouse(store, embedded.log);
    try {
      const requests = 5_000;
      await appendAll(embedded.log, 0, requests);
      const foldedAt = performance.now();
      await intake.start();
      await eventually(() => intake.isLive(), 20_000);
      const foldMs = performance.now() - foldedAt;
      assert.ok(progress.length >= 20 && progress.every(({ restored, end }) => restored === 0 && end === 4 * requests));
      assert.equal(await keeper.take(0), 4 * requests);
      assert.equal(await keeper.take(0), null, 'nothing new');
      await appendAll(embedded.log, requests, requests + 500);
      const end = 4 * (requests + 500);
      await eventually(async () => (await store.views.applied(0)) === end);
      assert.deepEqual(longest, { live: parts.settings.batchEntries, catchingUp: 1_000 });
      const ids = [0, 1, requests - 1, requests, requests + 499].map(String);
      const whole = await pictureOf(store, ids);

      progress.length = 0;
      const lostAt = performance.now();
      await redis.flush();
      await eventually(() => !intake.isLive());
      await eventually(() => intake.isLive(), 10_000);
      const backMs = performance.now() - lostAt;
      assert.deepEqual(faults, ['views-behind']);
      assert.deepEqual(await pictureOf(store, ids), whole);
      assert.equal(progress.at(-1)?.applied, end);
      const put = Math.max(...progress.map(({ restored }) => restored));
      assert.ok(put >= 2 * requests, `${put} entries`);
      const applied = progress.map((each) => each.applied).filter((offset) => offset > 4 * requests);
      for (const [i, offset] of applied.entries()) assert.ok(offset - (applied[i - 1] ?? 4 * requests) <= 1_000);
      assert.ok(applied.length >= 2);
      t.diagnostic(
        `figure: redis fold ${Math.round((4 * requests * 1_000) / foldMs)} records/s; emptied to live again ${Math.round(backMs)} ms`,
      );
    } finally {
      await stop();
      await store.close();
      await embedded.close();
      rmSync(directory, { recursive: true });
    }
  });

  test('two processes that find the views gone restore them once', async () => {
    const one = await openRedisStore({ url: redis.url, keyPrefix: '{two}:' });
    const two = await openRedisStore({ url: redis.url, keyPrefix: '{two}:' });
    const snapshots = createSnapshotsInMemory();
    const restored: number[] = [];
    const keeperOf = (store: RedisStore) =>
      createSnapshotKeeper({
        views: store.views,
        copies: store.copies,
        snapshots,
        clock: createSystemClock(),
        settings: snapshotSettings,
        partitions: () => [0],
        onProgress: ({ applied }) => applied > 0 && restored.push(applied),
        onFault: assert.fail,
      });
    try {
      const ledger = createLedger(one.views, parts.settings, { readKey: async () => [] });
      const records = Array.from({ length: 400 }, (_, i) => recordsOf(String(i))).flat();
      const entries = records.map((record, offset) => ({ partition: 0, offset, key: record.requestId, record }));
      await ledger.fold({ partition: 0, first: 0, next: entries.length, entries });
      await keeperOf(one).take(0);
      const whole = await pictureOf(one, ['0', '399']);
      await redis.flush();
      await Promise.all([keeperOf(one).restore(0), keeperOf(two).restore(0)]);
      assert.deepEqual(restored, [1_600]);
      assert.deepEqual(await pictureOf(two, ['0', '399']), whole);
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
  });

  test('snapshots are taken by the clock; one that fails leaves the one before', async () => {
    const store = await openRedisStore({ url: redis.url, keyPrefix: '{clock}:', reconnectFirstMs: 10 });
    const snapshots = createSnapshotsInMemory();
    const clock = createManualClock(parts.at);
    const faults: string[] = [];
    const keeper = createSnapshotKeeper({
      views: store.views,
      copies: store.copies,
      snapshots,
      clock,
      settings: snapshotSettings,
      partitions: () => [0, 1],
      onProgress: () => {},
      onFault: (fault) => faults.push(fault.code),
    });
    try {
      const ledger = createLedger(store.views, parts.settings, { readKey: async () => [] });
      const entries = recordsOf('1').map((record, offset) => ({ partition: 0, offset, key: '1', record }));
      await ledger.fold({ partition: 0, first: 0, next: 2, entries: entries.slice(0, 2) });
      const admin = new Redis(redis.url);
      await admin.sadd('{clock}:garbage', '0:replaced');
      await admin.set('{clock}:v:0:replaced:rows', 'left');
      keeper.start();
      await clock.advance(snapshotSettings.everyMs);
      const appliedOf = async () => (await snapshots.readLatest(0))?.applied ?? null;
      await eventually(async () => (await appliedOf()) === 2);
      // What replaced views left behind goes along.
      await eventually(async () => (await admin.exists('{clock}:garbage')) === 0);
      assert.equal(await admin.exists('{clock}:v:0:replaced:rows'), 0);
      admin.disconnect();
      await ledger.fold({ partition: 0, first: 2, next: 4, entries: entries.slice(2) });
      await eventually(() => clock.pending() > 0);
      await redis.kill();
      await clock.advance(snapshotSettings.everyMs);
      await eventually(() => faults.length > 0);
      assert.equal(await appliedOf(), 2);
      assert.ok(faults.every((code) => code === 'views-unavailable'));
    } finally {
      await keeper.stop();
      await redis.start();
      await store.close();
    }
  });
});
