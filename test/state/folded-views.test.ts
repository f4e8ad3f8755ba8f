/** Views that a command folds for itself from a log of several partitions. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { createLedger } from '../../src/bidding/ledger.ts';
import { callbackPartition, type EventLog, type LogEntry } from '../../src/bidding/ports.ts';
import { createCapBook } from '../../src/domain/cap-book.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { createFoldedViews } from '../../src/folded-views.ts';
import * as parts from '../bidding/parts.ts';
import { createPlace, endlessLog, openOwned } from './state-store.ts';

type Entry = LogEntry<AuctionRecord>;

/** Two partitions; the first one has lost its oldest records, as a topic does after its time. */
function createLog(lives: number): { log: Pick<EventLog, 'read' | 'readKey' | 'ends'>; stored: Map<number, Entry[]> } {
  const stored = new Map<number, Entry[]>([
    [0, []],
    [1, []],
  ]);
  const ends = new Map([
    [0, 7],
    [1, 0],
  ]);
  for (let index = 0; index < lives; index += 1) {
    const partition = index % 2;
    const requestId = String(index);
    for (const record of [parts.requested(), parts.claimed(), parts.answered(parts.accepted)]) {
      const offset = ends.get(partition)!;
      stored.get(partition)!.push({ partition, offset, key: requestId, record: { ...record, requestId } });
      ends.set(partition, offset + 1);
    }
  }
  const read = async (_topic: string, partition: number, from: number, limit: number) =>
    stored
      .get(partition)!
      .filter(({ offset }) => offset >= from)
      .slice(0, limit);
  const log = { read, readKey: async () => [], ends: async () => new Map(ends) };
  return { log: log as unknown as Pick<EventLog, 'read' | 'readKey' | 'ends'>, stored };
}

const directories = () => readdirSync(tmpdir()).filter((name) => name.startsWith('lance-views-'));

test('they are what a process that owns all partitions has, and are gone when they are closed', async () => {
  const { log, stored } = createLog(1_000);
  const before = directories();
  const folded = createFoldedViews(log, parts.settings);
  assert.deepEqual(directories(), before, 'nothing was asked yet');
  assert.equal(await folded.views.applied(callbackPartition(0)), 0);
  const query = { phase: null, limit: 5_000, before: null };
  const rows = await folded.views.query(query);
  assert.equal(rows.length, 1_000);
  assert.equal(directories().length, before.length + 1);

  const owned = await openOwned(createPlace(), () => endlessLog(), {
    partitions: 2,
    caps: { ...createCapBook(), complete: false },
  });
  const ledger = createLedger(owned.views, parts.settings, log);
  for (const [partition, entries] of stored) {
    await owned.take(partition);
    await ledger.fold({ partition, first: 0, next: entries.at(-1)!.offset + 1, entries });
    assert.equal(await folded.views.applied(partition), entries.at(-1)!.offset + 1);
  }
  assert.deepEqual(rows, await owned.views.query(query));
  const keys = [...new Set(rows.flatMap(({ state }) => state.claim?.caps.flatMap((cap) => cap.keys) ?? []))];
  assert.ok(keys.length > 0);
  assert.deepEqual(await folded.views.usage(keys, parts.at), await owned.views.usage(keys, parts.at));
  assert.deepEqual(await folded.views.wholeUsage(keys, parts.at), await owned.views.usage(keys, parts.at));
  await assert.rejects(folded.views.apply({ partition: 0, first: 0, next: 1, changes: [] }), { code: 'not-allowed' });
  await owned.close();
  await folded.close();
  assert.deepEqual(directories(), before);
});

test('a log that does not answer is told, and leaves nothing behind', async () => {
  const before = directories();
  const { log } = createLog(4);
  const read = () => Promise.reject(new Error('no broker'));
  const folded = createFoldedViews({ ...log, read }, parts.settings);
  await assert.rejects(folded.views.read(['1']), { message: 'no broker' });
  await folded.close();
  assert.deepEqual(directories(), before);
});
