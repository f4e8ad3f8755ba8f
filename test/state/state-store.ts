/** State stores as the suites are handed them: on a log that has every record that anybody asks for. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCapBook } from '../../src/domain/cap-book.ts';
import { openStateStore, type PartitionLog, type StateStoreOptions } from '../../src/state/state-store.ts';
import type { ViewsKind } from '../conformance/backend.ts';

const places: string[] = [];
process.once('exit', () => {
  for (const place of places) rmSync(place, { recursive: true, force: true });
});

export function createPlace(): string {
  const place = mkdtempSync(join(tmpdir(), 'lance-state-'));
  places.push(place);
  return place;
}

export function pathIn(place: string, partition = 0): string {
  return join(place, `auctions-${partition}.sqlite`);
}

/** A log that goes on for ever; what it differs in is given. */
export function endlessLog(over: Partial<PartitionLog> = {}): PartitionLog {
  return {
    genesis: 'of the suites',
    extent: async () => ({ first: 0, end: Number.MAX_SAFE_INTEGER }),
    hashAt: async (offset) => `hash of ${offset}`,
    ...over,
  };
}

export function openStore(directory: string, over: Partial<StateStoreOptions> = {}) {
  return openStateStore({
    directory,
    caps: { ...createCapBook(), complete: true },
    snapshots: null,
    snapshotAheadRecords: 100,
    onRestoring: () => undefined,
    onDiscarded: (partition, reason) => assert.fail(`partition ${partition}: ${reason}`),
    onFault: assert.fail,
    ...over,
  });
}

/** What a process leaves that dies: its files as they are. */
export function leftOf(place: string): string {
  const left = createPlace();
  for (const ending of ['', '-wal']) {
    const path = pathIn(place) + ending;
    if (existsSync(path)) copyFileSync(path, pathIn(left) + ending);
  }
  return left;
}

export const viewsKind: ViewsKind = {
  name: 'state store',
  createPlace: async () => createPlace(),
  open: async (place) => {
    // Small, so that the suites meet rows that only the disk holds.
    const store = await openStore(place, { limits: { rows: 3, dirtyRows: 3 } });
    const { views } = await store.open(0, endlessLog());
    return { views, close: store.close };
  },
  crash: async (place, { close }) => {
    const left = leftOf(place);
    await close();
    return left;
  },
  burnViews: async (place) => {
    for (const ending of ['', '-wal', '-shm']) rmSync(pathIn(place) + ending, { force: true });
  },
};
