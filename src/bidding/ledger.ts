/** Folds batches of the log into the views and keeps the rows of open requests at hand. */
import type { AmountCents, EpochMs, RequestId } from '../domain/glossary.ts';
import type { AuctionRecord } from '../domain/records.ts';
import type { RequestState } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { evolve, viewChanges } from './evolve.ts';
import type { LedgerRow, LogBatch, LogEntry, ViewChange, Views } from './ports.ts';
import type { BiddingSettings } from './settings.ts';
import { isSettled } from './transitions.ts';

/** One record folded in by us, or `record: null` for a request that another process folded further meanwhile. */
export type Fold = {
  row: LedgerRow;
  before: RequestState | null;
  record: AuctionRecord | null;
  /** What came by in the log, whoever folded it. */
  readBack: readonly AuctionRecord[];
};

export type Ledger = {
  /** In log order. Rejects with `views-behind` when the views lost what this process had already folded. */
  fold: (batch: LogBatch<AuctionRecord>) => Promise<Fold[]>;
  /** Takes up every open request of a partition, as after a start. Rejects with `views-behind` as `fold` does. */
  load: (partition: number, position: number) => Promise<LedgerRow[]>;
  get: (requestId: RequestId) => LedgerRow | null;
  /** Where the records of an open request at hand stand; null for one that is not. */
  partitionOf: (requestId: RequestId) => number | null;
  /** Forgets a partition's open requests, and says which they were. */
  lose: (partition: number) => RequestId[];
  openCount: () => number;
  /** Requests whose end is still awaited. */
  unsettledCount: () => number;
  /** Bids sent whose answer is unknown, and since when the oldest has been. */
  unknown: () => { count: number; oldestAt: EpochMs | null };
  /** Money promised in open requests, in cents by status. */
  exposure: () => { held: AmountCents; committed: AmountCents };
  /** Forgets everything at hand; the views are asked again. */
  clear: () => void;
};

function isOpen(state: RequestState): boolean {
  return state.phase === 'requested' || state.phase === 'claimed' || state.timer !== null;
}

function bidIdsOf(state: RequestState): readonly string[] {
  const ids = new Set(state.auction?.candidates.map((bid) => bid.bidId));
  const outcome = state.answer?.outcome;
  if ((outcome?.kind === 'accepted' || outcome?.kind === 'accepted-outside') && outcome.bidId !== null) {
    ids.add(outcome.bidId);
  }
  return [...ids];
}

export function createLedger(views: Views, settings: BiddingSettings): Ledger {
  const rows = new Map<RequestId, LedgerRow>();
  const places = new Map<RequestId, number>();

  async function rowsOf(
    partition: number,
    position: number,
    requestIds: ReadonlySet<RequestId>,
  ): Promise<Map<RequestId, LedgerRow>> {
    const found = new Map<RequestId, LedgerRow>();
    const absent: RequestId[] = [];
    for (const requestId of requestIds) {
      const row = rows.get(requestId);
      if (row === undefined) absent.push(requestId);
      else found.set(requestId, row);
    }
    if (absent.length === 0) return found;
    const [, read] = await Promise.all([refuseOlder(partition, position), views.read(absent)]);
    for (const [requestId, row] of read) found.set(requestId, row);
    return found;
  }

  function remember(row: LedgerRow, partition: number): void {
    const { requestId } = row.state;
    if (isOpen(row.state)) {
      rows.set(requestId, row);
      places.set(requestId, partition);
    } else {
      forget(requestId);
    }
  }

  function forget(requestId: RequestId): void {
    rows.delete(requestId);
    places.delete(requestId);
  }

  function lose(partition: number): RequestId[] {
    const lost = [...places].filter(([, place]) => place === partition).map(([requestId]) => requestId);
    for (const requestId of lost) forget(requestId);
    return lost;
  }

  async function fold(batch: LogBatch<AuctionRecord>): Promise<Fold[]> {
    let first = batch.first;
    let skipped: readonly LogEntry<AuctionRecord>[] = [];
    for (;;) {
      const position = first;
      const entries = batch.entries.filter((entry) => entry.offset >= position);
      const requestIds = new Set(entries.map((entry) => entry.record.requestId));
      const known = await rowsOf(batch.partition, position, requestIds);
      const { folds, changes } = foldEntries(entries, known, settings);
      const result = await views.apply({ partition: batch.partition, first, next: batch.next, changes });
      if (result.kind === 'applied') {
        const refused = new Set(result.refused);
        for (const { row } of folds) if (refused.has(row.state.requestId)) row.reservation = 'refused';
        for (const { row } of folds) remember(row, batch.partition);
        return [...(await takeOver(batch.partition, first, skipped)), ...folds];
      }
      if (result.applied < first) throw new Fault('views-behind', 'the views lost what was folded; folding again');
      for (const requestId of known.keys()) forget(requestId);
      first = result.applied;
      skipped = batch.entries.filter((entry) => entry.offset < result.applied);
      if (first >= batch.next) return takeOver(batch.partition, first, skipped);
    }
  }

  /** Rows read from views that were just set back would be kept, and folded onto once others have made the views again. */
  async function refuseOlder(partition: number, position: number): Promise<void> {
    if ((await views.applied(partition)) < position) {
      throw new Fault('views-behind', 'the views lost what was folded; folding again');
    }
  }

  /** Somebody else folded these: the views say where their requests stand. */
  async function takeOver(
    partition: number,
    position: number,
    entries: readonly LogEntry<AuctionRecord>[],
  ): Promise<Fold[]> {
    if (entries.length === 0) return [];
    const byRequest = Map.groupBy(
      entries.map((entry) => entry.record),
      (record) => record.requestId,
    );
    for (const requestId of byRequest.keys()) forget(requestId);
    const found = await views.read([...byRequest.keys()]);
    await refuseOlder(partition, position);
    for (const row of found.values()) remember(row, partition);
    return [...found].map(([requestId, row]) => ({
      row,
      before: null,
      record: null,
      readBack: byRequest.get(requestId) ?? [],
    }));
  }

  function exposure(): { held: AmountCents; committed: AmountCents } {
    const sums = { held: 0, committed: 0 };
    for (const { state, reservation } of rows.values()) {
      if (reservation === 'held' || reservation === 'committed')
        sums[reservation] += state.claim?.offer.amountCents ?? 0;
    }
    return sums;
  }

  function unknown(): { count: number; oldestAt: EpochMs | null } {
    let count = 0;
    let oldestAt = Number.POSITIVE_INFINITY;
    for (const { state } of rows.values()) {
      if (state.phase !== 'unknown') continue;
      count += 1;
      oldestAt = Math.min(oldestAt, state.answer?.at ?? state.claim?.at ?? oldestAt);
    }
    return { count, oldestAt: Number.isFinite(oldestAt) ? oldestAt : null };
  }

  return {
    fold,
    exposure,
    unknown,
    load: async (partition, position) => {
      const open = await views.open(partition);
      await refuseOlder(partition, position);
      for (const row of open) remember(row, partition);
      return open;
    },
    get: (requestId) => rows.get(requestId) ?? null,
    partitionOf: (requestId) => places.get(requestId) ?? null,
    lose,
    openCount: () => rows.size,
    unsettledCount: () => {
      let count = 0;
      for (const { state } of rows.values()) if (!isSettled(state.phase)) count += 1;
      return count;
    },
    clear: () => {
      rows.clear();
      places.clear();
    },
  };
}

function foldEntries(
  entries: readonly LogEntry<AuctionRecord>[],
  known: ReadonlyMap<RequestId, LedgerRow>,
  settings: BiddingSettings,
): { folds: Fold[]; changes: ViewChange[] } {
  const current = new Map(known);
  const folds: Fold[] = [];
  const changes: ViewChange[] = [];
  for (const { record } of entries) {
    const row = current.get(record.requestId) ?? null;
    const before = row?.state ?? null;
    const state = evolve(before, record, settings);
    const own = viewChanges(before, state, record, settings);
    changes.push(...own);
    const stillRefused = row?.reservation === 'refused' && !own.some((change) => change.kind === 'reserve');
    const reservation = stillRefused && state.exposure === 'held' ? 'refused' : state.exposure;
    const next: LedgerRow = { state, reservation };
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
