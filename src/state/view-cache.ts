/** Ledger rows and statistics in memory: what changed since the last flush, and what was used of late. */
import assert from 'node:assert/strict';
import type { Reservation } from '../domain/cap-book.ts';
import { withHolder } from '../domain/code-holders.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { HalfLives, Histogram, PartHistogram } from '../domain/histogram.ts';
import type { RequestState } from '../domain/states.ts';
import { createStoredIds } from './stored-ids.ts';
import { type StoredExposure, type StoredStatistic, storedState, type ViewReader } from './view-rows.ts';
import type { ViewLimits } from './views.ts';

export type CachedRow = {
  requestId: RequestId;
  state: RequestState | null;
  open: boolean;
  reservation: Reservation;
  /** Its id is among the stored ones. */
  listed: boolean;
  stateDirty: boolean;
  exposureDirty: boolean;
  /** Being stored: not to be dropped from memory yet, for the disk still shows the row before. */
  flushing: boolean;
};

type CachedStatistic = {
  histogram: Histogram | null;
  /** Of the last result; null: none, or not asked for yet, or nowhere stored. */
  halfLives: HalfLives | null;
  /** The half-lives are other ones than those that are stored. */
  changedHalfLives: boolean;
  dirty: boolean;
  flushing: boolean;
};

/** What changed of a row: null for the half that did not. */
export type DirtyRow = {
  row: CachedRow;
  requestId: RequestId;
  state: RequestState | null;
  open: boolean;
  exposure: StoredExposure | null;
};

type DirtyParts = {
  rows: readonly DirtyRow[];
  bids: ReadonlyMap<string, RequestId>;
  statistics: readonly StoredStatistic[];
  stored: () => void;
  failed: () => void;
};

export type ViewCache = {
  row: (requestId: RequestId) => CachedRow;
  statistic: (key: string) => CachedStatistic;
  /** The same with its half-lives, where the reader has them; null: nothing was learnt. Its cells are those of the cache. */
  part: (key: string) => PartHistogram | null;
  /** Keys under which something was learnt: since this was asked last, or ever. */
  learntKeys: (which: 'changed' | 'all') => string[];
  /** As `code-holders.ts` writes them. */
  holdersOfBid: (bidId: string) => string | null;
  markState: (row: CachedRow, bidIds: readonly string[]) => void;
  markExposure: (row: CachedRow) => void;
  markStatistic: (key: string, statistic: CachedStatistic, histogram: Histogram, halfLives: HalfLives) => void;
  dirtyCount: () => number;
  /** Everything that is not on disk. The caller says later whether it was stored. */
  takeDirty: (exposureOf: (row: CachedRow) => StoredExposure) => DirtyParts;
};

/** The most recently used entries, and all that are not on disk. */
type Entries<K, V> = {
  /** The entry, read by `load` when it is not at hand. */
  use: (key: K, load: () => V) => V;
  /** Drops the least recently used entries that are on disk, where there are a quarter more than should stay. */
  evict: () => void;
};

function createEntries<K, V extends { flushing: boolean }>(limit: number, dirty: (value: V) => boolean): Entries<K, V> {
  let entries = new Map<K, V>();
  const mostEntries = limit * 1.25;
  /** Memory may grow by a quarter between two evictions, also where hardly anything could be dropped. */
  let evictAt = mostEntries;

  const evict = () => {
    if (entries.size > mostEntries) {
      let excess = entries.size - limit;
      // Made anew: a map that was emptied from its front is slow to go through from there.
      const kept = new Map<K, V>();
      for (const [key, value] of entries) {
        if (excess > 0 && !value.flushing && !dirty(value)) excess -= 1;
        else kept.set(key, value);
      }
      entries = kept;
    }
    evictAt = Math.max(mostEntries, entries.size * 1.25);
  };

  return {
    evict,
    // The use makes an entry the youngest one, unless it is dirty: it stays anyway until it is stored, and is asked for many times
    // until then.
    use: (key, load) => {
      let value = entries.get(key);
      if (value === undefined) {
        value = load();
        if (entries.size > evictAt) evict();
      } else {
        if (dirty(value)) return value;
        entries.delete(key);
      }
      entries.set(key, value);
      return value;
    },
  };
}

const newRow = { state: null, open: false, reservation: 'none' } as const;

const isDirtyRow = (row: CachedRow) => row.stateDirty || row.exposureDirty;
const isDirtyStatistic = (statistic: CachedStatistic) => statistic.dirty;

export function createViewCache(
  reader: ViewReader,
  limits: Pick<ViewLimits, 'rows' | 'statistics' | 'filterBits'>,
): ViewCache {
  const rows = createEntries<RequestId, CachedRow>(limits.rows, isDirtyRow);
  const storedIds = createStoredIds(reader.ids(), limits.filterBits);
  const statistics = createEntries<string, CachedStatistic>(limits.statistics, isDirtyStatistic);
  const dirtyRows = new Set<CachedRow>();
  const dirtyStatistics = new Map<string, CachedStatistic>();
  /** Learnt since somebody asked; null: nobody has. */
  let changedKeys: Set<string> | null = null;
  let flushingKeys: readonly string[] = [];
  let bids = new Map<string, string>();
  let flushingBids = new Map<string, string>();

  const storedHolders = (bidId: string) => (storedIds.mayHave(bidId) ? reader.holdersOfBid(bidId) : null);
  const holdersOfBid = (bidId: string) => bids.get(bidId) ?? flushingBids.get(bidId) ?? storedHolders(bidId);

  const list = (row: CachedRow): void => {
    if (row.listed) return;
    storedIds.add(row.requestId);
    row.listed = true;
  };

  /** As they are now; whoever changes them meanwhile makes them dirty again. */
  const takeRows = (exposureOf: (row: CachedRow) => StoredExposure): DirtyRow[] => {
    const taken = [...dirtyRows].map((row): DirtyRow => {
      const { requestId, state, open, stateDirty, exposureDirty } = row;
      row.stateDirty = false;
      row.exposureDirty = false;
      row.flushing = true;
      const exposure = exposureDirty ? exposureOf(row) : null;
      return { row, requestId, state: stateDirty ? state : null, open, exposure };
    });
    dirtyRows.clear();
    return taken;
  };
  const restoreRows = (taken: readonly DirtyRow[]) => {
    for (const { row, state, exposure } of taken) {
      row.stateDirty ||= state !== null;
      row.exposureDirty ||= exposure !== null;
      dirtyRows.add(row);
    }
  };

  const statisticOf = (key: string) =>
    statistics.use(key, () => ({
      ...{ histogram: reader.statistic(key), halfLives: null, changedHalfLives: false },
      ...{ dirty: false, flushing: false },
    }));
  const halfLivesOf = (key: string, statistic: CachedStatistic): HalfLives | null => {
    if (statistic.histogram !== null) statistic.halfLives ??= reader.halfLives?.(key) ?? null;
    return statistic.halfLives;
  };

  return {
    row: (requestId) =>
      rows.use(requestId, () => {
        const listed = storedIds.mayHave(requestId);
        const { state, open, reservation } = listed ? reader.row(requestId) : newRow;
        return {
          requestId,
          state: state === null ? null : storedState(state),
          open,
          reservation,
          listed,
          stateDirty: false,
          exposureDirty: false,
          flushing: false,
        };
      }),
    statistic: statisticOf,
    part: (key) => {
      const statistic = statisticOf(key);
      const halfLives = halfLivesOf(key, statistic);
      if (statistic.histogram === null) return null;
      assert(halfLives !== null, 'half-lives are stored with what was learnt');
      return { ...statistic.histogram, halfLives };
    },
    learntKeys: (which) => {
      const changed = changedKeys ?? new Set();
      changedKeys = new Set();
      if (which === 'changed') return [...changed];
      return [...new Set([...reader.statisticKeys(), ...flushingKeys, ...dirtyStatistics.keys()])];
    },
    holdersOfBid,
    markState: (row, bidIds) => {
      row.stateDirty = true;
      dirtyRows.add(row);
      list(row);
      for (const bidId of bidIds) {
        bids.set(bidId, withHolder(holdersOfBid(bidId), row.requestId));
        storedIds.add(bidId);
      }
    },
    markExposure: (row) => {
      row.exposureDirty = true;
      dirtyRows.add(row);
      list(row);
    },
    markStatistic: (key, statistic, histogram, halfLives) => {
      if (reader.halfLives !== undefined) {
        const before = halfLivesOf(key, statistic);
        statistic.changedHalfLives ||=
          before?.halfLifeMs !== halfLives.halfLifeMs || before.halfLifeResults !== halfLives.halfLifeResults;
        statistic.halfLives = halfLives;
      }
      statistic.histogram = histogram;
      statistic.dirty = true;
      dirtyStatistics.set(key, statistic);
      changedKeys?.add(key);
    },
    dirtyCount: () => dirtyRows.size,
    takeDirty: (exposureOf) => {
      const takenStatistics = [...dirtyStatistics];
      flushingKeys = takenStatistics.map(([key]) => key);
      dirtyStatistics.clear();
      flushingBids = bids;
      bids = new Map();
      const rowsTaken = takeRows(exposureOf);
      const statisticsTaken = takenStatistics.map(([key, statistic]): StoredStatistic => {
        statistic.dirty = false;
        statistic.flushing = true;
        const { landmarkAt, landmarkCount, count, cells } = statistic.histogram!;
        const halfLives = statistic.changedHalfLives ? statistic.halfLives : null;
        statistic.changedHalfLives = false;
        // A copy: the sums go on while rows are written out.
        return { key, landmarkAt, landmarkCount, count, cells: new Uint8Array(cells.slice().buffer), halfLives };
      });
      const settle = () => {
        for (const { row } of rowsTaken) row.flushing = false;
        for (const [, statistic] of takenStatistics) statistic.flushing = false;
        flushingKeys = [];
      };
      return {
        rows: rowsTaken,
        bids: flushingBids,
        statistics: statisticsTaken,
        stored: () => {
          settle();
          flushingBids = new Map();
          rows.evict();
          statistics.evict();
        },
        failed: () => {
          settle();
          restoreRows(rowsTaken);
          for (const [index, [key, statistic]] of takenStatistics.entries()) {
            statistic.changedHalfLives ||= statisticsTaken[index]!.halfLives !== null;
            statistic.dirty = true;
            dirtyStatistics.set(key, statistic);
          }
          bids = new Map([...flushingBids, ...bids]);
          flushingBids = new Map();
        },
      };
    },
  };
}
