/** The views that desks with files of their own left behind: each partition from the file that got furthest, and the rest of the log. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { KafkaLog } from '../../src/adapters/kafka/log.ts';
import { readEarlierTerms } from '../../src/bidding/earlier-terms.ts';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { Views } from '../../src/bidding/ports.ts';
import { createCapBook } from '../../src/domain/cap-book.ts';
import type { FoldTerms } from '../../src/domain/records.ts';
import { createOwnedViews } from '../../src/state/owned-views.ts';
import { openStateStore } from '../../src/state/state-store.ts';

const pageEntries = 1_000;

/** Throws where a file does not fit the log. The desks have to have ended. */
export async function openLeftViews(
  { log, partitionLog, genesis }: KafkaLog,
  directories: readonly string[],
  terms: FoldTerms,
): Promise<{ views: Views; close: () => Promise<void> }> {
  const place = mkdtempSync(join(tmpdir(), 'lance-left-'));
  const ends = await log.ends('auctions');
  for (const partition of ends.keys()) {
    const [furthest] = directories
      .map((directory) => join(directory, nameOf(partition)))
      .filter((path) => existsSync(path))
      .sort((left, right) => appliedIn(right, partition) - appliedIn(left, partition));
    assert.ok(furthest !== undefined, `no desk left a file of partition ${partition}`);
    copyFileSync(furthest, join(place, nameOf(partition)));
  }
  const caps = { ...createCapBook(), complete: false };
  const store = await openStateStore({
    ...{ directory: place, caps, snapshots: null, snapshotAheadRecords: 0 },
    onDiscarded: (partition, reason) => assert.fail(`the file of partition ${partition} is of no use: ${reason}`),
    onRestoring: () => undefined,
    onFault: (fault) => assert.fail(fault.message),
  });
  const known = await genesis.read();
  assert.ok(known !== null, 'the log was not named');
  const logOf = (partition: number) => partitionLog(partition, known.id);
  const { views, take, close } = createOwnedViews({ store, partitions: ends.size, logOf, caps });
  const ledger = createLedger(views, (await readEarlierTerms(log)) ?? terms, log);
  for (const [partition, end] of ends) {
    for (let first = await take(partition); first < end; ) {
      const entries = await log.read('auctions', partition, first, pageEntries);
      const next = entries.at(-1)!.offset + 1;
      await ledger.fold({ partition, first, next, entries });
      first = next;
    }
  }
  return {
    views,
    close: async () => {
      await close();
      await store.close();
      rmSync(place, { recursive: true });
    },
  };
}

function nameOf(partition: number): string {
  return `auctions-${partition}.sqlite`;
}

function appliedIn(path: string, partition: number): number {
  const database = new DatabaseSync(path);
  const row = database.prepare('SELECT next FROM applied WHERE partition = ?').get(partition);
  // What a kill left beside the file is put into it.
  database.close();
  return Number(row?.next ?? 0);
}
