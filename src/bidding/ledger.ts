/** Folds batches of the log into the views and keeps the rows of open requests at hand. */

import type { CapOperation } from '../domain/cap-book.ts';
import type { RequestId } from '../domain/glossary.ts';
import { placesBefore, withPlace } from '../domain/record-places.ts';
import type { AuctionRecord, FoldTerms, Unfrozen } from '../domain/records.ts';
import { isSettled, type RequestState } from '../domain/states.ts';
import { capOperations, evolveAgain, evolveOrFreeze } from './evolve.ts';
import { createKeptRows } from './kept-rows.ts';
import { createOpenSums, type OpenSums } from './open-sums.ts';
import type { EventLog, LedgerRow, LogBatch, LogEntry, ViewChange, Views } from './ports.ts';

/** One record folded in by us, or `record: null` for a request that another process folded further meanwhile. */
export type Fold = {
  row: LedgerRow;
  before: RequestState | null;
  record: AuctionRecord | null;
  /** What came by in the log, whoever folded it. */
  readBack: readonly AuctionRecord[];
};

export type Ledger = Pick<OpenSums, 'unknown' | 'exposure' | 'reviews'> & {
  /** In log order. Rejects with `views-behind` when the views lost what this process had already folded. */
  fold: (batch: LogBatch<AuctionRecord>) => Promise<Fold[]>;
  /**
   * Takes up the open requests of a partition, as after a start, but for those that the view left out (`OpenRows`); their ids are
   * `later`. Rejects with `views-behind` as `fold` does.
   */
  load: (partition: number, position: number) => Promise<{ rows: LedgerRow[]; later: readonly RequestId[] }>;
  get: (requestId: RequestId) => LedgerRow | null;
  /** Where the records of an open request at hand stand; null for one that is not. */
  partitionOf: (requestId: RequestId) => number | null;
  /** Takes up what `load` left for later. Null: something was folded meanwhile; try again. */
  takeUp: (partition: number, requestIds: readonly RequestId[]) => Promise<LedgerRow[] | null>;
  /** Forgets a partition's open requests, and says which they were. */
  lose: (partition: number) => RequestId[];
  openCount: () => number;
  /** Requests that wait for somebody to retry or cancel them. */
  frozenCount: () => number;
  /** Requests whose end is still awaited. */
  unsettledCount: () => number;
  /** Forgets everything at hand, and says which requests that was; the views are asked again. */
  clear: () => RequestId[];
};

/** Frozen ones are open until somebody has looked: whoever takes their partition up says so again. */
function isOpen(state: RequestState): boolean {
  const awaits = state.phase === 'requested' || state.phase === 'claimed' || state.timer !== null;
  return awaits || state.frozen !== undefined;
}

function bidIdsOf(state: RequestState): readonly string[] {
  const ids = new Set([...(state.auction?.candidates.map((bid) => bid.bidId) ?? []), ...(state.codes ?? [])]);
  const outcome = state.answer?.outcome;
  if ((outcome?.kind === 'accepted' || outcome?.kind === 'accepted-outside') && outcome.bidId !== null) {
    ids.add(outcome.bidId);
  }
  return [...ids];
}

/** `earlier`: see `evolve`. */
export function createLedger(views: Views, earlier: FoldTerms, log: Pick<EventLog, 'readKey'>): Ledger {
  const sums = createOpenSums();
  const kept = createKeptRows<LedgerRow, AuctionRecord, 'frozen' | 'unsettled'>({
    readAt: views.readAt,
    idOfRow: (row) => row.state.requestId,
    idOf: (record) => record.requestId,
    isOpen: (row) => isOpen(row.state),
    tallies: {
      frozen: ({ state }) => state.frozen !== undefined,
      unsettled: ({ state }) => !isSettled(state.phase),
    },
    onChanged: sums.changed,
  });

  function fold(batch: LogBatch<AuctionRecord>): Promise<Fold[]> {
    const { partition, next } = batch;
    return kept.fold<Fold>(batch, {
      foldOnto: async (position, entries, rows) => {
        const { folds, changes } = foldEntries(entries, rows, await historiesOf(entries, rows), earlier);
        const operations = views.verdicts === undefined ? [] : operationsOf(folds, entries);
        const reserved = new Set(changes.flatMap((change) => (change.kind === 'reserve' ? [change.requestId] : [])));
        const result = await views.apply({ partition, first: position, next, changes, operations });
        if (result.kind === 'out-of-step') return result;
        const refused = new Set(result.refused);
        for (const { row } of folds) {
          const { requestId } = row.state;
          if (refused.has(requestId)) row.reservation = 'refused';
          if (reserved.has(requestId)) row.hadRoom = result.whole;
        }
        for (const { row } of folds) kept.put(row, partition, next);
        return folds;
      },
      takeOver: (row, readBack) => ({ row, before: null, record: null, readBack }),
    });
  }

  /** What a retry folds again: all records before it, by its offset. Retries are rare. */
  async function historiesOf(
    entries: readonly LogEntry<AuctionRecord>[],
    rows: ReadonlyMap<RequestId, LedgerRow>,
  ): Promise<ReadonlyMap<number, readonly AuctionRecord[]>> {
    const histories = new Map<number, readonly AuctionRecord[]>();
    for (const { offset, record } of entries) {
      if (record.kind !== 'unfrozen' || record.action !== 'retry') continue;
      const { requestId } = record;
      const own = entries.filter((entry) => entry.record.requestId === requestId);
      const places = placesBefore(rows.get(requestId)?.state ?? null, own, offset);
      const earlier = (await log.readKey('auctions', requestId, places)).filter((entry) => entry.offset < offset);
      histories.set(
        offset,
        earlier.map((entry) => entry.record),
      );
    }
    return histories;
  }

  return {
    fold,
    exposure: sums.exposure,
    unknown: sums.unknown,
    reviews: sums.reviews,
    load: async (partition, position) => {
      const pages = await views.open(partition);
      return { rows: kept.putRead(partition, position, pages), later: pages.flatMap(({ later }) => later ?? []) };
    },
    takeUp: kept.adopt,
    get: kept.get,
    partitionOf: kept.partitionOf,
    lose: kept.lose,
    openCount: kept.count,
    frozenCount: () => kept.countOf('frozen'),
    unsettledCount: () => kept.countOf('unsettled'),
    clear: kept.clear,
  };
}

/** What each record did to the cap book: the folds are of these entries, one each. */
function operationsOf(folds: readonly Fold[], entries: readonly LogEntry<AuctionRecord>[]): CapOperation[] {
  return folds.flatMap(({ before, row }, index) => capOperations(before, row.state, entries[index]!.offset));
}

function foldEntries(
  entries: readonly LogEntry<AuctionRecord>[],
  known: ReadonlyMap<RequestId, LedgerRow>,
  histories: ReadonlyMap<number, readonly AuctionRecord[]>,
  earlier: FoldTerms,
): { folds: Fold[]; changes: ViewChange[] } {
  const current = new Map(known);
  const folds: Fold[] = [];
  const changes: ViewChange[] = [];
  for (const { offset, record } of entries) {
    const row = current.get(record.requestId) ?? null;
    const before = row?.state ?? null;
    const history = record.kind === 'unfrozen' && before?.frozen !== undefined ? histories.get(offset) : undefined;
    const again = history === undefined ? null : evolveAgain(before, history, record as Unfrozen, earlier);
    const { state: evolved, changes: own } = again ?? evolveOrFreeze(before, record, earlier);
    const state = withPlace(evolved, before, offset);
    changes.push(...own);
    const stillRefused = row?.reservation === 'refused' && !own.some((change) => change.kind === 'reserve');
    const reservation = stillRefused && state.exposure === 'held' ? 'refused' : state.exposure;
    const next: LedgerRow = { state, reservation, hadRoom: row?.hadRoom ?? false };
    current.set(record.requestId, next);
    folds.push({ row: next, before, record, readBack: [record] });
  }
  // Only the last state of each request is written, whatever it went through within the batch.
  for (const requestId of new Set(entries.map((entry) => entry.record.requestId))) {
    const { state } = current.get(requestId)!;
    changes.push({ kind: 'state', state, open: isOpen(state), bidIds: bidIdsOf(state) });
  }
  return { folds, changes };
}
