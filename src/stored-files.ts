/**
 * The state files of this machine, for `lance views`: each is compared with a fold of its own log beside a running desk, or folded anew
 * while the desk is stopped. A file may be of a partition that another machine has by now: it is as far as it is.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readEarlierTerms } from './bidding/earlier-terms.ts';
import { createLedger } from './bidding/ledger.ts';
import type { ViewDifference, Views } from './bidding/ports.ts';
import type { StoredViews } from './cli/world.ts';
import { type FoldedLog, foldTo, openCommandState } from './command-state.ts';
import type { Clock } from './domain/clock.ts';
import type { FoldTerms } from './domain/records.ts';
import { Fault } from './errors.ts';
import { createFlowLedger } from './origination/ledger.ts';
import { termsOfEarlier } from './origination/unfolded.ts';
import { detailPlacesFile } from './state/detail-places.ts';
import { createOwnFlows } from './state/own-flows.ts';
import { withoutCaps } from './state/own-partitions.ts';
import {
  type FoldedTopic,
  foldVersions,
  partitionsIn,
  pathOf,
  readOrigin,
  removeFile,
  type StateOrigin,
  storedOperations,
  Unusable,
} from './state/state-file.ts';
import { openStateStore, type PartitionLog, type PartitionState } from './state/state-store.ts';
import { type ComparedTable, compareTables, viewTables } from './state/view-comparison.ts';

const readerTimeoutMs = 2_000;
const readerKibibytes = 8_000;

/** With what a state file has beside the views. */
const comparedTables: readonly ComparedTable[] = [
  ...viewTables,
  { name: 'half_lives', key: 'key', columns: ['ms', 'results'], shown: ['ms', 'results'] },
  { name: 'cap_operations', key: 'offset', columns: ['operation'], shown: [] },
];

/** What is learnt has no row of the log: it is of all records together. */
const learntTables: ReadonlySet<string> = new Set(['statistics', 'half_lives']);

export type DeskFiles = {
  directory: string;
  log: FoldedLog;
  partitionLog: (partition: number, genesis: string, topic: FoldedTopic) => PartitionLog;
  /** Names the log; null: no desk has named it yet. */
  genesis: string | null;
  /** Of this process: taken where the log states none. */
  terms: FoldTerms;
};

/** Of each partition of `auctions` that has a file here, in order. */
export async function storedFiles(files: DeskFiles): Promise<StoredViews[]> {
  if (!existsSync(files.directory)) return [];
  return Promise.all(partitionsIn(files.directory, 'auctions').map((partition) => storedFile(files, partition)));
}

async function storedFile(files: DeskFiles, partition: number): Promise<StoredViews> {
  const path = pathOf(files.directory, 'auctions', partition);
  const own = files.partitionLog(partition, files.genesis ?? '', 'auctions');
  const { first } = await own.extent();
  const reading = (): DatabaseSync => {
    const database = new DatabaseSync(path, { readOnly: true, timeout: readerTimeoutMs });
    database.exec(`PRAGMA cache_size = -${readerKibibytes}`);
    return database;
  };
  const origin = (database: DatabaseSync): StateOrigin => readOrigin(database, 'auctions');
  const appliedNow = (): number => {
    const database = reading();
    try {
      return origin(database).applied;
    } finally {
      database.close();
    }
  };
  return {
    partition,
    first,
    unused: unusedBecause(() => {
      const database = reading();
      try {
        return misfitOf(origin(database), files.genesis);
      } finally {
        database.close();
      }
    }),
    applied: async () => appliedNow(),
    scratch: async () => {
      const state = await openCommandState('lance-views-');
      const database = reading();
      const folded = await state.store.open(partition, state.logOf());
      const operationsAsStored = () => folded.caps.acknowledge(storedOperations(database).acknowledged);
      operationsAsStored();
      return {
        views: withOperations(folded),
        pin: () => {
          database.exec('BEGIN');
          operationsAsStored();
          return origin(database).applied;
        },
        compare: async function* (onRows) {
          await folded.flush();
          database.prepare('ATTACH ? AS scratch').run(pathOf(state.directory, 'auctions', partition));
          const { applied, lastHash } = origin(database);
          const found = lastHash === null || applied === 0 ? null : await own.hashAt(applied - 1);
          if (found !== null && found !== lastHash)
            yield { table: 'origin', key: String(applied - 1), what: 'changed', columns: [] };
          for await (const difference of compareTables(database, comparedTables, onRows)) {
            if (first === 0 || isOfKept(database, difference, first)) yield difference;
          }
        },
        close: async () => {
          database.close();
          await state.close();
        },
      };
    },
  };
}

/** A desk throws such a file away and folds again. */
function misfitOf({ foldVersion, genesis }: StateOrigin, own: string | null): string | null {
  if (foldVersion !== foldVersions.auctions) return 'another version of the program folded it';
  if (genesis !== own) return 'it is of another log';
  return null;
}

function unusedBecause(look: () => string | null): string | null {
  try {
    return look();
  } catch (cause) {
    if (cause instanceof Unusable || (cause instanceof Error && 'errcode' in cause)) return cause.message;
    throw cause;
  }
}

/** The ledger hands the operations on the cap book to views that keep them. */
function withOperations({ views }: PartitionState): Views {
  const none = { of: () => 'unknown', areToBeHad: () => false, changed: async () => undefined } as const;
  return { ...views, verdicts: none as NonNullable<Views['verdicts']> };
}

/** False where it is of records that the log keeps no longer, so that a fold cannot give it. */
function isOfKept(database: DatabaseSync, { table, key }: ViewDifference, first: number): boolean {
  if (learntTables.has(table)) return false;
  if (table === 'cap_operations') return Number(key) >= first;
  const holder = table === 'bid_index' ? '(SELECT request_id FROM bid_index WHERE bid_id = ?)' : '?';
  const row = database
    .prepare(
      `SELECT json_extract(state, '$.places.offsets[0]') AS offset FROM main.ledger WHERE request_id = ${holder}`,
    )
    .get(key) as { offset: number | null } | undefined;
  return row === undefined || (row.offset !== null && row.offset >= first);
}

/**
 * Deletes the state files and folds the partitions that they were of once more from the log. How far callbacks were dealt with, and what
 * the cap book has, is taken over from each file that says it. Rejects with `data-directory-in-use` while a desk runs on them.
 */
export async function foldFilesAnew(
  files: DeskFiles & { clock: Clock; discardSnapshot: (partition: number) => Promise<void> },
  onProgress: (done: number, of: number) => void,
): Promise<{ partitions: readonly number[]; records: number }> {
  const { directory, log, genesis } = files;
  if (genesis === null || !existsSync(directory)) return { partitions: [], records: 0 };
  const store = await openStateStore({
    ...{ directory, caps: withoutCaps(), snapshots: null, snapshotAheadRecords: 0 },
    ...{ onDiscarded: () => undefined, onRestoring: () => undefined },
    onFault: (fault) => {
      throw fault;
    },
  });
  try {
    const parts = { auctions: partitionsIn(directory, 'auctions'), flows: partitionsIn(directory, 'flows') };
    const ends = { auctions: await log.ends('auctions'), flows: await log.ends('flows') };
    const total = (topic: FoldedTopic) => parts[topic].reduce((sum, each) => sum + (ends[topic].get(each) ?? 0), 0);
    const of = total('auctions') + total('flows');
    let before = 0;
    const terms = (await readEarlierTerms(log)) ?? files.terms;
    const tell = (next: number) => onProgress(before + next, of);
    const logOf = (topic: FoldedTopic) => (partition: number) => files.partitionLog(partition, genesis, topic);
    for (const partition of parts.auctions) {
      const end = ends.auctions.get(partition) ?? 0;
      const known = knownOf(pathOf(directory, 'auctions', partition), genesis);
      removeFile(pathOf(directory, 'auctions', partition));
      await files.discardSnapshot(partition);
      const state = await store.open(partition, logOf('auctions')(partition));
      state.caps.acknowledge(known.acknowledged);
      for (const [stream, next] of known.places) {
        await state.views.apply({ partition: stream, first: 0, next, changes: [] });
      }
      await state.flush();
      const ledger = createLedger(withOperations(state), terms, log);
      await foldTo({ log, topic: 'auctions', partition }, ledger, { from: 0, end, onFolded: tell });
      await state.close();
      before += end;
    }
    for (const partition of parts.flows) removeFile(pathOf(directory, 'flows', partition));
    const none = () => Promise.reject(new Fault('not-allowed', 'A command deals with no callbacks.'));
    const flows = createOwnFlows({
      ...{ store, logOf: logOf('flows'), clock: files.clock, callbacks: { dealtWith: none, dealWith: none } },
      ends: async () => new Map(),
    });
    const flowLedger = createFlowLedger(flows, termsOfEarlier, log);
    for (const partition of parts.flows) {
      const end = ends.flows.get(partition) ?? 0;
      const from = await flows.own.take(partition);
      await foldTo({ log, topic: 'flows', partition }, flowLedger, { from, end, onFolded: tell });
      before += end;
    }
    removeFile(join(directory, detailPlacesFile));
    return { partitions: parts.auctions, records: before };
  } finally {
    await store.close();
  }
}

/** What stays true whatever was folded wrong. */
function knownOf(path: string, genesis: string): { acknowledged: number; places: NonNullable<StateOrigin['places']> } {
  const nothing = { acknowledged: 0, places: [] };
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: readerTimeoutMs });
    try {
      const { places = [], ...origin } = readOrigin(database, 'auctions');
      if (origin.genesis !== genesis) return nothing;
      const { acknowledged } = storedOperations(database);
      // Operations of another fold need not be those that the book was told of.
      return { acknowledged: origin.foldVersion === foldVersions.auctions ? acknowledged : 0, places };
    } finally {
      database.close();
    }
  } catch (cause) {
    if (cause instanceof Unusable || (cause instanceof Error && 'errcode' in cause)) return nothing;
    throw cause;
  }
}
