/** State stores as the suites are handed them: on a log that has every record that anybody asks for. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { type CapOperation, createCapBook } from '../../src/domain/cap-book.ts';
import type { CapKeeper } from '../../src/state/cap-keeper.ts';
import { type CallbackPlaces, createOwnFlows } from '../../src/state/own-flows.ts';
import { createOwnedViews } from '../../src/state/owned-views.ts';
import type { SharedLearning } from '../../src/state/shared-learning.ts';
import { openStateStore, type PartitionLog, type StateStoreOptions } from '../../src/state/state-store.ts';
import type { FlowsKind, ViewsKind } from '../conformance/backend.ts';

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

/** What a process leaves that dies: its files as they are, of this many partitions. */
export function leftOf(place: string, partitions = 1): string {
  const left = createPlace();
  for (let partition = 0; partition < partitions; partition += 1) {
    for (const ending of ['', '-wal']) {
      const path = pathIn(place, partition) + ending;
      if (existsSync(path)) copyFileSync(path, pathIn(left, partition) + ending);
    }
  }
  return left;
}

function removeFiles(place: string, partitions: number): void {
  for (let partition = 0; partition < partitions; partition += 1) {
    for (const ending of ['', '-wal', '-shm']) rmSync(pathIn(place, partition) + ending, { force: true });
  }
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
  burnViews: async (place) => removeFiles(place, 1),
};

/** Where all processes keep how far callbacks are dealt with. */
export function sharedPositions(): CallbackPlaces {
  const positions = new Map<number, number>();
  return {
    dealtWith: async (partition) => positions.get(partition) ?? 0,
    dealWith: async (partition, next) => void positions.set(partition, next),
  };
}

/** Flows of several partitions with their store, none of them taken up. */
export async function openFlows(
  place: string,
  over: Partial<Parameters<typeof createOwnFlows>[0]> & Pick<Partial<StateStoreOptions>, 'onDiscarded'> = {},
) {
  const { onDiscarded, ...given } = over;
  const store = await openStore(place, onDiscarded === undefined ? {} : { onDiscarded });
  const flows = createOwnFlows({
    ...{ store, logOf: () => endlessLog(), ends: async () => new Map(), callbacks: sharedPositions() },
    clock: createSystemClock(),
    ...given,
  });
  return { flows, close: store.close };
}

/** Four partitions, all of them taken up; the suite folds into the first one. */
export const flowsKind: FlowsKind = {
  name: 'flows in files',
  createPlace: async () => createPlace(),
  open: async (place) => {
    const { flows, close } = await openFlows(place);
    await Promise.all([0, 1, 2, 3].map(flows.own.take));
    return { flows, close };
  },
  burnViews: async (place) => {
    for (const ending of ['', '-wal', '-shm']) rmSync(join(place, `flows-0.sqlite${ending}`), { force: true });
  },
};

/** Views of several partitions with their store. `caps` count over all of them. */
export async function openOwned(
  place: string,
  logOf: (partition: number) => PartitionLog,
  over: Partial<StateStoreOptions> & {
    partitions?: number;
    book?: CapKeeper;
    learnt?: Pick<SharedLearning, 'read'>;
    partitionOf?: (requestId: string) => Promise<number>;
    dealtWith?: ReadonlyMap<number, number>;
  } = {},
) {
  const { partitions = 3, book = null, learnt = null, partitionOf, dealtWith, ...storeOptions } = over;
  const known = { ...(partitionOf && { partitionOf }), ...(dealtWith && { dealtWith }) };
  const caps = storeOptions.caps ?? { ...createCapBook(), complete: true };
  // What is kept for the book is what the fold yields for it.
  const onFolded: StateStoreOptions['onFolded'] = (partition, applied, operations) =>
    book?.folded(partition, applied, operations as readonly CapOperation[]);
  const store = await openStore(place, { ...storeOptions, caps, onFolded });
  const owned = createOwnedViews({ store, partitions, logOf, caps, book, learnt, ...known });
  const close = async () => {
    await owned.close();
    await store.close();
  };
  return { ...owned, caps, close };
}

/** Three partitions, all of them held; the suites fold into the first one. */
export function ownedViewsKind(name: string, logOf: (partition: number) => PartitionLog): ViewsKind {
  const partitions = 3;
  return {
    name,
    createPlace: async () => createPlace(),
    open: async (place) => {
      const { views, take, close } = await openOwned(place, logOf, { partitions, limits: { rows: 3, dirtyRows: 3 } });
      await Promise.all(Array.from({ length: partitions }, (_, partition) => take(partition)));
      return { views, close };
    },
    crash: async (place, { close }) => {
      const left = leftOf(place, partitions);
      await close();
      return left;
    },
    burnViews: async (place) => removeFiles(place, partitions),
  };
}
