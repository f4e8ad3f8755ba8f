/** Folds batches of the log into the views and keeps the rows of open requests at hand. */
import type { AmountCents, EpochMs, RequestId } from '../domain/glossary.ts';
import type { AuctionRecord } from '../domain/records.ts';
import type { RequestState } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { evolve, viewChanges } from './evolve.ts';
import type { LedgerRow, LogBatch, LogEntry, RowsAt, ViewChange, Views } from './ports.ts';
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

/** `applied`: up to where it is folded, at least; no record of this request stands between there and what was folded here since. */
type KeptRow = { row: LedgerRow; partition: number; applied: number };

type Known = { kind: 'known'; rows: ReadonlyMap<RequestId, LedgerRow> };
type Folded = { kind: 'folded'; folds: Fold[] };
/** The views are at `applied`: others folded on, or they were set back. */
type OutOfStep = { kind: 'out-of-step'; applied: number };

function behind(): Fault {
  return new Fault('views-behind', 'the views lost what was folded; folding again');
}

/** Rows read from views that were just set back would be kept, and folded onto once others have made the views again. */
function notOlder(pages: readonly RowsAt[], position: number): readonly RowsAt[] {
  if (pages.some((page) => page.applied < position)) throw behind();
  return pages;
}

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
  const kept = new Map<RequestId, KeptRow>();

  /**
   * The rows that the record at `position` can be folded onto, or how far the views are when others folded beyond it. A row that
   * is ahead of `position` is never one of them: views set back a moment later would take what was made of it.
   */
  async function rowsOf(
    partition: number,
    position: number,
    requestIds: ReadonlySet<RequestId>,
  ): Promise<Known | OutOfStep> {
    const rows = new Map<RequestId, LedgerRow>();
    const absent: RequestId[] = [];
    for (const requestId of requestIds) {
      const own = kept.get(requestId);
      if (own === undefined || own.applied > position) absent.push(requestId);
      else rows.set(requestId, own.row);
    }
    if (absent.length === 0) return { kind: 'known', rows };
    const pages = notOlder(await views.readAt(partition, absent), position);
    const applied = Math.max(...pages.map((page) => page.applied));
    if (applied > position) return { kind: 'out-of-step', applied };
    for (const page of pages) for (const row of page.rows) rows.set(row.state.requestId, row);
    return { kind: 'known', rows };
  }

  function remember(row: LedgerRow, partition: number, applied: number): void {
    const { requestId } = row.state;
    if (isOpen(row.state)) kept.set(requestId, { row, partition, applied });
    else kept.delete(requestId);
  }

  function lose(partition: number): RequestId[] {
    const lost = [...kept].filter(([, own]) => own.partition === partition).map(([requestId]) => requestId);
    for (const requestId of lost) kept.delete(requestId);
    return lost;
  }

  async function fold(batch: LogBatch<AuctionRecord>): Promise<Fold[]> {
    let { first } = batch;
    for (;;) {
      const position = first;
      const result = await foldFrom(batch, position);
      const skipped = batch.entries.filter((entry) => entry.offset < position);
      if (result.kind === 'folded') return [...(await takeOver(batch.partition, position, skipped)), ...result.folds];
      if (result.applied < position) throw behind();
      // Others folded these further than the rows at hand.
      for (const { record } of batch.entries) kept.delete(record.requestId);
      first = result.applied;
      if (first >= batch.next) return takeOver(batch.partition, first, batch.entries);
    }
  }

  /** Folds what stands in a batch from `position` on, unless the views are elsewhere. */
  async function foldFrom(batch: LogBatch<AuctionRecord>, position: number): Promise<Folded | OutOfStep> {
    const { partition, next } = batch;
    const entries = batch.entries.filter((entry) => entry.offset >= position);
    const known = await rowsOf(partition, position, new Set(entries.map((entry) => entry.record.requestId)));
    if (known.kind === 'out-of-step') return known;
    const { folds, changes } = foldEntries(entries, known.rows, settings);
    const result = await views.apply({ partition, first: position, next, changes });
    if (result.kind === 'out-of-step') return result;
    const refused = new Set(result.refused);
    for (const { row } of folds) if (refused.has(row.state.requestId)) row.reservation = 'refused';
    for (const { row } of folds) remember(row, partition, next);
    return { kind: 'folded', folds };
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
    for (const requestId of byRequest.keys()) kept.delete(requestId);
    const found = keep(partition, position, await views.readAt(partition, [...byRequest.keys()]));
    return found.map((row) => ({
      row,
      before: null,
      record: null,
      readBack: byRequest.get(row.state.requestId) ?? [],
    }));
  }

  function keep(partition: number, position: number, pages: readonly RowsAt[]): LedgerRow[] {
    for (const page of notOlder(pages, position)) {
      for (const row of page.rows) remember(row, partition, page.applied);
    }
    return pages.flatMap((page) => page.rows);
  }

  function exposure(): { held: AmountCents; committed: AmountCents } {
    const sums = { held: 0, committed: 0 };
    for (const { row } of kept.values()) {
      const { state, reservation } = row;
      if (reservation === 'held' || reservation === 'committed')
        sums[reservation] += state.claim?.offer.amountCents ?? 0;
    }
    return sums;
  }

  function unknown(): { count: number; oldestAt: EpochMs | null } {
    let count = 0;
    let oldestAt = Number.POSITIVE_INFINITY;
    for (const { row } of kept.values()) {
      const { state } = row;
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
    load: async (partition, position) => keep(partition, position, await views.open(partition)),
    get: (requestId) => kept.get(requestId)?.row ?? null,
    partitionOf: (requestId) => kept.get(requestId)?.partition ?? null,
    lose,
    openCount: () => kept.size,
    unsettledCount: () => {
      let count = 0;
      for (const { row } of kept.values()) if (!isSettled(row.state.phase)) count += 1;
      return count;
    },
    clear: () => kept.clear(),
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
