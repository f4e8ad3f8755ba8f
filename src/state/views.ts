/**
 * The views of one partition: changed in memory, stored every moment. A batch is in memory whole or not at all, and reaches the disk
 * in one transaction with `applied`; what a crash loses is folded again from the log, which gives the same rows.
 */
import { setImmediate as turn } from 'node:timers/promises';
import {
  type ApplyResult,
  cursorOf,
  type KeptOperation,
  type LedgerRow,
  type ViewBatch,
  type ViewChange,
  type Views,
} from '../bidding/ports.ts';
import {
  type CapBook,
  isPromised,
  isWindowKey,
  nothingUsed,
  type Promised,
  type Reservation,
  type Reserve,
} from '../domain/cap-book.ts';
import { holdersIn } from '../domain/code-holders.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { emptyHistogram, foldSums, type Histogram, type PartHistogram } from '../domain/histogram.ts';
import type { Usage } from '../domain/offer.ts';
import { Fault } from '../errors.ts';
import type { KeptOperations } from './kept-operations.ts';
import { type CachedRow, createViewCache, type DirtyRow, type ViewCache } from './view-cache.ts';
import { emptyFlush, type ViewFlush, type ViewReader } from './view-rows.ts';

export type PartitionViews = {
  views: Views;
  /** Stores what is only in memory. Rejects with `views-unavailable`. */
  flush: () => Promise<void>;
  /** What the partition's requests promise under each key, expired or not: what a cap book is filled with. */
  sums: () => ReadonlyMap<string, Usage>;
  /** What this partition learnt under the keys, to be added to what others did; for readers that have half-lives. */
  learnt: (keys: readonly string[]) => ReadonlyMap<string, PartHistogram>;
  learntKeys: ViewCache['learntKeys'];
  /** Stores what can be stored, and takes the promises of this partition out of the caps. */
  close: () => Promise<void>;
};

/**
 * The caps, which count over all partitions: each partition puts in what it holds. `complete`: they cover every partition. Else a
 * reservation of this partition is held in any case, and whoever sends its bid looks for room first.
 */
export type Caps = CapBook & { readonly complete: boolean };

export type ViewLimits = {
  /** Ledger rows and histograms kept in memory beyond those not yet stored. */
  rows: number;
  statistics: number;
  /**
   * Size of the filter of known ids, as a power of two in bits. With 26, which is 8 MiB, one of 6,000 ids without a row is looked for
   * when there are a million rows, and one of three when there are ten.
   */
  filterBits: number;
  /** With more rows than this to be stored, beside those being stored, `apply` waits for the disk. */
  dirtyRows: number;
  /** While the disk takes nothing, `apply` goes on up to this many rows, and rejects beyond them. */
  unstoredRows: number;
  flushIntervalMs: number;
};

const retryAfterMs = 1_000;
/**
 * After storing rows the views rest for this many times the work that it took, so that a row that changes several times is
 * written once. Waiting for turns of the event loop and for the writer does not count as work. Rows that are not stored are
 * folded again at the next start, so the rest is at most `longestRestMs`.
 */
const restShare = 24;
const longestRestMs = 4_000;
/** Rows written out in one turn of the event loop. */
const sliceRows = 128;

function unavailable(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Fault('views-unavailable', `The views cannot be read or stored: ${why}.`, cause);
}

function guarded<R>(work: () => R): R {
  try {
    return work();
  } catch (cause) {
    throw unavailable(cause);
  }
}

/** Caps that do not cover every partition refuse nothing: what they say depends on which partitions are here. */
function withoutLimits(order: Reserve): Reserve {
  const caps = order.caps.map((cap) => ({ ...cap, limitAmountCents: null, limitCount: null }));
  return { ...order, caps };
}

/** The reservations of the partition's requests; whoever has none that counts keeps only its outcome. */
function createExposure(reader: ViewReader, caps: Caps, markExposure: (row: CachedRow) => void) {
  const counting = new Set<RequestId>();
  /** Those that count under windows alone, and until when. */
  const lasting = new Map<RequestId, EpochMs>();
  const noteLasting = ({ requestId, status, keys, expiresAt }: Promised) => {
    if (status === 'committed' && keys.length > 0 && keys.every(isWindowKey)) lasting.set(requestId, expiresAt);
    else lasting.delete(requestId);
  };
  for (const { requestId, status, amountCents, keys, expiresAt } of reader.liveExposures()) {
    if (!isPromised(status)) continue;
    const promised: Promised = { requestId, status, amountCents, keys, expiresAt };
    caps.restore(promised);
    counting.add(requestId);
    noteLasting(promised);
  }
  const become = (row: CachedRow, after: Reservation) => {
    if (after === row.reservation) return;
    row.reservation = after;
    if (isPromised(after)) counting.add(row.requestId);
    else {
      counting.delete(row.requestId);
      lasting.delete(row.requestId);
    }
    markExposure(row);
  };
  return {
    reserve: (row: CachedRow, order: Reserve) =>
      become(row, caps.reserve(row.reservation, caps.complete ? order : withoutLimits(order))),
    release: (row: CachedRow) => become(row, caps.release(row.reservation, row.requestId)),
    commit: (row: CachedRow, expiresAt: EpochMs) => {
      if (caps.find(row.requestId) === null) return;
      row.reservation = caps.commit(row.reservation, row.requestId, expiresAt);
      // Committed once more it may last longer.
      markExposure(row);
    },
    countUnder: (row: CachedRow, keys: readonly string[], expiresAt: EpochMs) => {
      caps.countUnder(row.requestId, keys, expiresAt);
      const promised = caps.find(row.requestId);
      if (promised === null) return;
      noteLasting(promised);
      markExposure(row);
    },
    over: (at: EpochMs, limit: number) => {
      const found: RequestId[] = [];
      for (const [requestId, until] of lasting) {
        if (until <= at) found.push(requestId);
        if (found.length >= limit) break;
      }
      return found;
    },
    sums: () => {
      const sums = new Map<string, Usage>();
      for (const requestId of counting) {
        const { amountCents, keys } = caps.find(requestId)!;
        for (const key of keys) {
          const before = sums.get(key) ?? nothingUsed;
          sums.set(key, { amountCents: before.amountCents + amountCents, count: before.count + 1 });
        }
      }
      return sums;
    },
    /** From here on the partition counts nowhere in this process. */
    withdraw: () => {
      for (const requestId of counting) caps.release('held', requestId);
      counting.clear();
      lasting.clear();
    },
    stored: (row: CachedRow) => {
      const { requestId, reservation } = row;
      const promised = caps.find(requestId);
      if (promised !== null) return promised;
      const status: 'released' | 'refused' = reservation === 'refused' ? 'refused' : 'released';
      return { requestId, status, amountCents: 0, keys: [], expiresAt: 0 };
    },
  };
}

/** In slices, between which the desk goes on: states are never changed, so they say then what they said when taken. */
async function writtenOut(
  { rows, bids, statistics }: Pick<ReturnType<ViewCache['takeDirty']>, 'rows' | 'bids' | 'statistics'>,
  applied: ViewFlush['applied'],
): Promise<{ flush: ViewFlush; workMs: number }> {
  const flush: ViewFlush = {
    ...emptyFlush(applied),
    bidIds: [...bids.keys()],
    bidRequestIds: [...bids.values()],
    statistics,
  };
  let workMs = 0;
  for (let first = 0; first < rows.length; first += sliceRows) {
    const startedAt = performance.now();
    for (const row of rows.slice(first, first + sliceRows)) writeOut(row, flush);
    workMs += performance.now() - startedAt;
    await turn();
  }
  return { flush, workMs };
}

function writeOut({ requestId, state, open, exposure }: DirtyRow, flush: ViewFlush): void {
  if (state !== null) {
    flush.ledgerIds.push(requestId);
    flush.ledgerPhases.push(state.phase);
    flush.ledgerOpens.push(open ? 1 : 0);
    flush.ledgerCursors.push(cursorOf(state));
    flush.ledgerStates.push(JSON.stringify(state));
  }
  if (exposure !== null) {
    flush.exposureIds.push(requestId);
    flush.exposureStatuses.push(exposure.status);
    flush.exposureAmounts.push(exposure.amountCents);
    flush.exposureKeys.push(JSON.stringify(exposure.keys));
    flush.exposureExpiries.push(exposure.expiresAt);
  }
}

function copyOf(histogram: Histogram): Histogram {
  return { ...histogram, cells: histogram.cells.slice() };
}

export function createViews(options: {
  partition: number;
  reader: ViewReader;
  /** Stores a flush in one transaction. Resolves to the milliseconds of work that this took. */
  store: (flush: ViewFlush) => Promise<number>;
  caps: Caps;
  /** Where operations on the cap book are kept; left out: nowhere. */
  operations?: KeptOperations;
  /** Hears of each batch of the partition in the turn in which `sums` has it. */
  onFolded?: (applied: number, operations: readonly KeptOperation[]) => void;
  limits: ViewLimits;
}): PartitionViews {
  const { reader, caps, operations, limits } = options;
  const cache = createViewCache(reader, limits);
  const exposure = createExposure(reader, caps, cache.markExposure);
  const applied = new Map<number, number>();
  const dirtyApplied = new Set<number>();
  let storing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  let restMs = limits.flushIntervalMs;
  /** Why the last flush was not stored; null: it was. */
  let refusal: Fault | null = null;

  const store = async () => {
    const partitions = [...dirtyApplied];
    dirtyApplied.clear();
    const parts = cache.takeDirty(exposure.stored);
    const taken = operations?.takeDirty();
    const progress = partitions.map((partition) => [partition, applied.get(partition)!] as const);
    try {
      const { flush, workMs } = await writtenOut(parts, progress);
      if (taken !== undefined) flush.operations = taken.flush;
      const writerMs = await options.store(flush);
      parts.stored();
      refusal = null;
      restMs = Math.max(limits.flushIntervalMs, Math.min(longestRestMs, restShare * (workMs + writerMs)));
    } catch (cause) {
      parts.failed();
      taken?.failed();
      for (const partition of partitions) dirtyApplied.add(partition);
      refusal = unavailable(cause);
      throw refusal;
    } finally {
      storing = null;
    }
  };
  const flush = async (): Promise<void> => {
    // What is being stored now was taken before the latest changes.
    if (storing !== null) await storing;
    if (storing !== null) return flush();
    if (dirtyApplied.size === 0 && operations?.isDirty() !== true) return;
    storing = store();
    await storing;
  };
  const flushLater = (afterMs: number) => {
    if (closed) return;
    timer ??= setTimeout(() => {
      timer = null;
      // Nothing is lost: the rows stay in memory and are tried again; a full memory makes `apply` reject.
      flush().then(
        () => dirtyApplied.size > 0 && flushLater(restMs),
        () => flushLater(retryAfterMs),
      );
    }, afterMs);
  };

  /** Begun in time, storing goes on beside the folding; a fold waits only where rows come faster than they are stored. */
  const makeRoom = async () => {
    const rows = cache.dirtyCount();
    const isBearable = rows <= limits.unstoredRows;
    // The timer tries again.
    if (refusal !== null && isBearable) return;
    if (rows > limits.dirtyRows) {
      await (storing ?? flush()).catch((fault: unknown) => {
        if (!isBearable) throw fault;
      });
    }
    // A fault is met by whoever waits for room.
    const isHalfFull = cache.dirtyCount() > limits.dirtyRows / 2;
    if (isHalfFull && storing === null && refusal === null) flush().catch(() => undefined);
  };

  const appliedOf = (partition: number) => {
    let next = applied.get(partition);
    if (next === undefined) {
      next = guarded(() => reader.applied(partition));
      applied.set(partition, next);
    }
    return next;
  };

  /** Reads all that the changes touch, so that a read that fails leaves nothing half changed. */
  const preload = (changes: readonly ViewChange[]) => {
    for (const change of changes) {
      if (change.kind === 'learn') for (const key of change.keys) cache.statistic(key);
      else cache.row(change.kind === 'state' ? change.state.requestId : change.requestId);
    }
  };

  const change = (change: ViewChange, refused: RequestId[]): void => {
    switch (change.kind) {
      case 'state': {
        const row = cache.row(change.state.requestId);
        row.state = change.state;
        row.open = change.open;
        cache.markState(row, change.bidIds);
        return;
      }
      case 'reserve': {
        const row = cache.row(change.requestId);
        exposure.reserve(row, change);
        if (row.reservation === 'refused') refused.push(change.requestId);
        return;
      }
      case 'release':
        exposure.release(cache.row(change.requestId));
        return;
      case 'commit':
        exposure.commit(cache.row(change.requestId), change.expiresAt);
        return;
      case 'count-under':
        exposure.countUnder(cache.row(change.requestId), change.keys, change.expiresAt);
        return;
      case 'learn':
        for (const key of change.keys) {
          const statistic = cache.statistic(key);
          const histogram = statistic.histogram ?? emptyHistogram(change.at);
          foldSums(histogram, change.additions, change.at, change.halfLives);
          cache.markStatistic(key, statistic, histogram, change.halfLives);
        }
        return;
      default:
        change satisfies never;
    }
  };

  const apply = async (batch: ViewBatch): Promise<ApplyResult> => {
    await makeRoom();
    if (closed) throw new Fault('views-unavailable', `The views of partition ${options.partition} are closed.`);
    const at = appliedOf(batch.partition);
    if (batch.first !== at) return { kind: 'out-of-step', applied: at };
    guarded(() => preload(batch.changes));
    const refused: RequestId[] = [];
    for (const each of batch.changes) change(each, refused);
    operations?.add(batch.operations ?? []);
    applied.set(batch.partition, batch.next);
    if (batch.partition === options.partition) options.onFolded?.(batch.next, batch.operations ?? []);
    dirtyApplied.add(batch.partition);
    flushLater(restMs);
    return { kind: 'applied', refused, whole: caps.complete };
  };

  const rowsOf = (requestIds: readonly RequestId[]): LedgerRow[] =>
    requestIds.flatMap((requestId) => {
      const { state, reservation } = guarded(() => cache.row(requestId));
      return state === null ? [] : [{ state, reservation, hadRoom: caps.complete }];
    });

  const usage = (keys: readonly string[], at: EpochMs) => new Map(keys.map((key) => [key, caps.usage(key, at)]));

  const views: Views = {
    applied: async (partition) => appliedOf(partition),
    apply,
    read: async (requestIds) => new Map(rowsOf(requestIds).map((row) => [row.state.requestId, row])),
    readAt: async (partition, requestIds) => [{ applied: appliedOf(partition), rows: rowsOf(requestIds) }],
    open: async (partition) => {
      if (partition !== options.partition) return [];
      await flush();
      const { rows, ...page } = guarded(() => reader.openRows(partition));
      return [{ ...page, rows: rows.map((row) => ({ ...row, hadRoom: caps.complete })) }];
    },
    findByBid: async (bidIds) => {
      const found = new Map<string, readonly RequestId[]>();
      for (const bidId of bidIds) {
        const holders = guarded(() => cache.holdersOfBid(bidId));
        if (holders !== null) found.set(bidId, holdersIn(holders));
      }
      return found;
    },
    usage: async (keys, at) => usage(keys, at),
    areWhole: async () => caps.complete,
    wholeUsage: async (keys, at) => (caps.complete ? usage(keys, at) : null),
    windowsOver: async (partition, at, limit) => (partition === options.partition ? exposure.over(at, limit) : []),
    statistics: async (keys) => {
      const found = new Map<string, Histogram>();
      for (const key of keys) {
        const { histogram } = guarded(() => cache.statistic(key));
        if (histogram !== null) found.set(key, copyOf(histogram));
      }
      return found;
    },
    query: async (query) => {
      await flush();
      return guarded(() => reader.query(query));
    },
  };
  return {
    views,
    flush,
    sums: exposure.sums,
    learnt: (keys) => {
      const found = new Map<string, PartHistogram>();
      for (const key of keys) {
        const part = guarded(() => cache.part(key));
        if (part !== null) found.set(key, { ...part, cells: part.cells.slice() });
      }
      return found;
    },
    learntKeys: (which) => guarded(() => cache.learntKeys(which)),
    close: async () => {
      closed = true;
      try {
        await flush();
      } catch {
        // The next start folds it again from the log.
      }
      if (timer !== null) clearTimeout(timer);
      timer = null;
      exposure.withdraw();
    },
  };
}
