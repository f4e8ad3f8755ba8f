/**
 * The views of one cluster, shared by all instances: ledger, exposure, statistics, each batch at applied + 1. They may
 * be slow, fail, be set back to an older copy or be gone. What they are asked to do twice is remembered for the checker.
 */
import { cursorOf, type LedgerRow, type ViewBatch, type ViewChange, type Views } from '../../src/bidding/ports.ts';
import type { Reservation } from '../../src/domain/cap-book.ts';
import { holdersIn, withHolder } from '../../src/domain/code-holders.ts';
import type { EpochMs, RequestId } from '../../src/domain/glossary.ts';
import { emptyHistogram, foldSums, type Histogram } from '../../src/domain/histogram.ts';
import type { CapReservation, Usage } from '../../src/domain/offer.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { isSettled } from '../../src/domain/states.ts';
import { Fault } from '../../src/errors.ts';
import { call, type Remote } from './remote.ts';
import type { Process } from './virtual-time.ts';

export type Held = {
  status: Exclude<Reservation, 'none'>;
  amountCents: number;
  /** Bucket that each cap is written to. */
  keys: readonly string[];
  expiresAt: EpochMs;
  forced: boolean;
};

type Row = { text: string; open: boolean; partition: number };

/** Everything that a fail-over can set back. Rows and reservations are replaced, never changed. */
export type ViewData = {
  applied: Map<number, number>;
  rows: Map<RequestId, Row>;
  byBid: Map<string, string>;
  reservations: Map<RequestId, Held>;
  histograms: Map<string, Histogram>;
};

export type ViewStore = {
  data: ViewData;
  copies: ViewData[];
  /** Phases that each request went through, whatever the views lost since. */
  trails: Map<RequestId, string[]>;
  /** Requests that were released although nothing was held. */
  releasedTwice: RequestId[];
  setbacks: number;
  /** Times that anything was lost before all that is promised was last known to be here; -1 before that was first known. */
  wholeAfter: number;
};

function emptyData(): ViewData {
  return { applied: new Map(), rows: new Map(), byBid: new Map(), reservations: new Map(), histograms: new Map() };
}

export function createViewStore(): ViewStore {
  return { data: emptyData(), copies: [], trails: new Map(), releasedTwice: [], setbacks: 0, wholeAfter: -1 };
}

function copyOf(data: ViewData): ViewData {
  const histograms = new Map<string, Histogram>();
  for (const [key, value] of data.histograms) histograms.set(key, { ...value, cells: value.cells.slice() });
  return {
    applied: new Map(data.applied),
    rows: new Map(data.rows),
    byBid: new Map(data.byBid),
    reservations: new Map(data.reservations),
    histograms,
  };
}

export function keepCopy(store: ViewStore): void {
  store.copies.push(copyOf(store.data));
  if (store.copies.length > 4) store.copies.shift();
}

/** Back to an older copy, or to nothing. */
export function setBack(store: ViewStore, copy: ViewData | null): void {
  store.data = copy === null ? emptyData() : copyOf(copy);
  store.setbacks += 1;
}

function areWhole(store: ViewStore): boolean {
  return store.wholeAfter === store.setbacks;
}

export function usageOf(
  data: ViewData,
  keys: readonly string[],
  at: EpochMs,
  except: RequestId | null,
): Map<string, Usage> {
  const wanted = new Map(keys.map((key) => [key, { amountCents: 0, count: 0 }]));
  for (const [requestId, held] of data.reservations) {
    if (requestId === except || held.status === 'released' || held.status === 'refused') continue;
    for (const key of held.keys) {
      const usage = wanted.get(key);
      const counts = held.expiresAt > at || (held.status === 'committed' && /\|(hour|6h)-\d+$/.test(key));
      if (usage === undefined || !counts) continue;
      usage.amountCents += held.amountCents;
      usage.count += 1;
    }
  }
  return wanted;
}

function hasRoom(data: ViewData, change: Extract<ViewChange, { kind: 'reserve' }>): boolean {
  return change.caps.every((cap: CapReservation) => {
    const used = [...usageOf(data, cap.keys, change.at, change.requestId).values()];
    const amountCents = used.reduce((sum, usage) => sum + usage.amountCents, change.amountCents);
    const count = used.reduce((sum, usage) => sum + usage.count, 1);
    return amountCents <= (cap.limitAmountCents ?? Infinity) && count <= (cap.limitCount ?? Infinity);
  });
}

function applyChange(store: ViewStore, partition: number, change: ViewChange, refused: RequestId[]): void {
  const { data } = store;
  switch (change.kind) {
    case 'state': {
      const { requestId, phase } = change.state;
      data.rows.set(requestId, { text: JSON.stringify(change.state), open: change.open, partition });
      for (const bidId of change.bidIds) data.byBid.set(bidId, withHolder(data.byBid.get(bidId) ?? null, requestId));
      const trail = store.trails.get(requestId) ?? [];
      if (trail.at(-1) !== phase) trail.push(phase);
      store.trails.set(requestId, trail);
      return;
    }
    case 'reserve': {
      const known = data.reservations.get(change.requestId);
      const stands =
        known !== undefined && !(change.force && (known.status === 'released' || known.status === 'refused'));
      if (!stands) {
        const status = change.force || !areWhole(store) || hasRoom(data, change) ? 'held' : 'refused';
        data.reservations.set(change.requestId, {
          status,
          amountCents: change.amountCents,
          keys: change.caps.map((cap) => cap.keys[0]!),
          expiresAt: change.expiresAt,
          forced: change.force,
        });
      }
      if (data.reservations.get(change.requestId)!.status === 'refused') refused.push(change.requestId);
      return;
    }
    case 'release': {
      const known = data.reservations.get(change.requestId);
      if (known === undefined || known.status === 'released') store.releasedTwice.push(change.requestId);
      else data.reservations.set(change.requestId, { ...known, status: 'released' });
      return;
    }
    case 'commit': {
      const known = data.reservations.get(change.requestId);
      if (known === undefined) return;
      data.reservations.set(change.requestId, { ...known, status: 'committed', expiresAt: change.expiresAt });
      return;
    }
    case 'count-under': {
      const known = data.reservations.get(change.requestId);
      const { keys, expiresAt } = change;
      if (known !== undefined) data.reservations.set(change.requestId, { ...known, keys, expiresAt });
      return;
    }
    case 'learn':
      for (const key of change.keys) {
        const histogram = data.histograms.get(key) ?? emptyHistogram(change.at);
        foldSums(histogram, change.additions, change.at, change.halfLives);
        data.histograms.set(key, histogram);
      }
      return;
    default:
      change satisfies never;
  }
}

function applyBatch(store: ViewStore, batch: ViewBatch) {
  const applied = store.data.applied.get(batch.partition) ?? 0;
  if (applied !== batch.first) return { kind: 'out-of-step' as const, applied };
  const refused: RequestId[] = [];
  for (const change of batch.changes) applyChange(store, batch.partition, change, refused);
  store.data.applied.set(batch.partition, batch.next);
  return { kind: 'applied' as const, refused, whole: areWhole(store) };
}

export function rowOf(data: ViewData, requestId: RequestId): LedgerRow | null {
  const row = data.rows.get(requestId);
  if (row === undefined) return null;
  const state = JSON.parse(row.text) as RequestState;
  return { state, reservation: data.reservations.get(requestId)?.status ?? 'none', hadRoom: false };
}

export type ViewWorld = Remote & {
  store: ViewStore;
  /** A process has read these rows: what they claim counts as read back. */
  onRead: (process: Process, rows: readonly LedgerRow[]) => void;
};

function unavailable(): Fault {
  return new Fault('views-unavailable', 'the simulated views did not answer');
}

/** The port of one process. */
export function createViews(world: ViewWorld, process: Process): Views {
  const { store, chance, faults } = world;
  const journey = () => {
    const slow = faults.strikes('views-slow', 0.01) ? chance.between(100, 3_000) : 0;
    return { thereMs: chance.between(0, 3) + slow, backMs: chance.between(0, 3) };
  };
  const ask = <T>(effect: () => T) =>
    call(world, process, journey(), () => {
      if (faults.strikes('views-read-failed', 0.005)) throw unavailable();
      return effect();
    });
  const tell = (rows: LedgerRow[]) => {
    world.onRead(process, rows);
    return rows;
  };
  const openRowsIn = (partition: number) =>
    [...store.data.rows]
      .filter(([, row]) => row.open && row.partition === partition)
      .map(([requestId]) => rowOf(store.data, requestId)!);
  const at = (partition: number, rows: LedgerRow[]) => ({ applied: store.data.applied.get(partition) ?? 0, rows });
  return {
    applied: (partition) => ask(() => store.data.applied.get(partition) ?? 0),
    apply: (batch) => {
      const sent = structuredClone(batch);
      return call(world, process, journey(), () => {
        if (faults.strikes('views-apply-failed', 0.005)) throw unavailable();
        const result = applyBatch(store, sent);
        if (faults.strikes('views-apply-answer-lost', 0.005)) throw unavailable();
        return result;
      });
    },
    read: (requestIds) =>
      ask(() => {
        const rows = tell(requestIds.flatMap((requestId) => rowOf(store.data, requestId) ?? []));
        return new Map(rows.map((row) => [row.state.requestId, row]));
      }),
    readAt: (partition, requestIds) =>
      ask(() => [at(partition, tell(requestIds.flatMap((requestId) => rowOf(store.data, requestId) ?? [])))]),
    open: (partition) =>
      ask(() => {
        const rows = openRowsIn(partition).filter(({ state }) => !isSettled(state.phase));
        const later = openRowsIn(partition).flatMap(({ state }) => (isSettled(state.phase) ? [state.requestId] : []));
        return [{ ...at(partition, tell(rows)), later }];
      }),
    findByBid: (bidIds) =>
      ask(
        () =>
          new Map(
            bidIds.flatMap((bidId) => {
              const holders = store.data.byBid.get(bidId);
              return holders === undefined ? [] : [[bidId, holdersIn(holders)] as const];
            }),
          ),
      ),
    usage: (keys, at) => ask(() => usageOf(store.data, keys, at, null)),
    areWhole: async (readEnds) => {
      const known = await ask(() => ({ whole: areWhole(store), setbacks: store.setbacks }));
      if (known.whole) return true;
      const ends = await readEnds();
      return ask(() => {
        const isCaughtUp = [...ends].every(([partition, end]) => (store.data.applied.get(partition) ?? 0) >= end);
        if (isCaughtUp && store.setbacks === known.setbacks) store.wholeAfter = known.setbacks;
        return areWhole(store);
      });
    },
    wholeUsage: (keys, at) => ask(() => (areWhole(store) ? usageOf(store.data, keys, at, null) : null)),
    statistics: (keys) =>
      ask(
        () =>
          new Map(
            keys.flatMap((key) => {
              const histogram = store.data.histograms.get(key);
              return histogram === undefined ? [] : [[key, { ...histogram, cells: histogram.cells.slice() }] as const];
            }),
          ),
      ),
    query: ({ phase, limit, before }) =>
      ask(() => {
        const rows = [...store.data.rows.keys()].map((requestId) => rowOf(store.data, requestId)!);
        const wanted = rows.filter(({ state }) => phase === null || state.phase === phase);
        wanted.sort((a, b) => (cursorOf(a.state) < cursorOf(b.state) ? 1 : -1));
        return wanted.filter(({ state }) => before === null || cursorOf(state) < before).slice(0, limit);
      }),
  };
}
