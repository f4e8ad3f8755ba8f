/** Folds batches of the log into the store of flows, and keeps the open ones of this process at hand. */
import { createKeptRows } from '../bidding/kept-rows.ts';
import type { EventLog, LogBatch, LogEntry } from '../bidding/ports.ts';
import type { FlowFoldTerms, FlowKind, FlowRecord } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import { placesBefore, withPlace } from '../domain/record-places.ts';
import { evolveAgain, evolveOrFreeze, proposalIndexes } from './evolve.ts';
import { noteCodes } from './notes.ts';
import type { FlowRow, FlowStore } from './ports.ts';
import { isFinished } from './transitions.ts';

/** One record folded in by us, or `record: null` for a flow that another process folded further meanwhile. */
type FlowFold = { state: FlowState; before: FlowState | null; record: FlowRecord | null };

type Tally = 'frozen' | 'unfinished';

type FlowLedger = {
  /** In log order. Rejects with `views-behind` when the store lost what was folded. */
  fold: (batch: LogBatch<FlowRecord>) => Promise<FlowFold[]>;
  /** Takes up every open flow of a partition, as after a start. Rejects with `views-behind` as `fold` does. */
  load: (partition: number, position: number) => Promise<FlowState[]>;
  /** An open flow of this process. */
  get: (flowId: string) => FlowState | null;
  partitionOf: (flowId: string) => number | null;
  lose: (partition: number) => string[];
  /** All that are kept. */
  all: () => FlowState[];
  count: () => number;
  frozenCount: () => number;
  /** Those of them, without a look at the others. */
  rowsOf: (tally: Tally) => FlowState[];
  clear: () => void;
};

/** Something is to be done or waited for; what waits for a person alone is not open. */
function isOpen(state: FlowState): boolean {
  // The process that takes its partition up raises the alarm again.
  if (state.frozen !== undefined) return true;
  const status = state.operation?.status;
  if (status === 'asked' || status === 'intended') return true;
  switch (state.phase) {
    case 'waiting-proposal':
    case 'preparing':
    case 'awaiting-note':
    case 'awaiting-answer':
    case 'awaiting-signature':
    case 'endorsement-refused':
    case 'unclaimed':
      return true;
    case 'signed':
      return state.flow === 'contract';
    default:
      return false;
  }
}

/** All that a flow is found under. */
function codesOf(state: FlowState): readonly string[] {
  const { requestId, workerKey } = state.subject;
  const note = state.flow === 'event' ? null : state.note;
  return [
    ...state.codes,
    ...(state.proposalCode === null ? [] : proposalIndexes(state.proposalCode)),
    ...(state.proposal?.code ? proposalIndexes(state.proposal.code) : []),
    ...(requestId === null ? [] : [requestIndex(requestId)]),
    ...(note === null ? [] : noteCodes(note)),
    ...(state.lateNote == null ? [] : noteCodes(state.lateNote.note)),
    ...(workerKey === null ? [] : [workerIndex(workerKey)]),
    // The id of a lookup says it. Under earlier keys a cancelled flow was begun before.
    ...(state.flow === 'lookup' || state.flow === 'event'
      ? []
      : [state.key, ...(state.earlier ?? [])].flatMap((key) => (key ? [keyIndex(state.flow, key)] : []))),
  ];
}

export function requestIndex(requestId: string): string {
  return `request:${requestId}`;
}

export function workerIndex(workerKey: string): string {
  return `worker:${workerKey}`;
}

/** Under which a flow is found by the key that began it, as it is stored. */
export function keyIndex(flow: FlowKind, key: string): string {
  return `key:${flow}:${key}`;
}

export function createFlowLedger(store: FlowStore, terms: FlowFoldTerms, log: Pick<EventLog, 'readKey'>): FlowLedger {
  const kept = createKeptRows<FlowState, FlowRecord, Tally>({
    readAt: store.readAt,
    idOfRow: (state) => state.flowId,
    idOf: (record) => record.flowId,
    isOpen,
    tallies: {
      frozen: ({ frozen }) => frozen !== undefined,
      unfinished: ({ phase }) => !isFinished(phase),
    },
  });
  /** What a retry folds again: all records before it, by its offset. Retries are rare. */
  async function historiesOf(
    entries: readonly LogEntry<FlowRecord>[],
    states: ReadonlyMap<string, FlowState>,
  ): Promise<ReadonlyMap<number, readonly FlowRecord[]>> {
    const histories = new Map<number, readonly FlowRecord[]>();
    for (const { offset, record } of entries) {
      if (record.kind !== 'unfrozen' || record.action !== 'retry') continue;
      const { flowId } = record;
      const own = entries.filter((entry) => entry.record.flowId === flowId);
      const places = placesBefore(states.get(flowId) ?? null, own, offset);
      const earlier = (await log.readKey('flows', flowId, places)).filter((entry) => entry.offset < offset);
      histories.set(
        offset,
        earlier.map((entry) => entry.record),
      );
    }
    return histories;
  }

  return {
    fold: (batch) => {
      const { partition, next } = batch;
      return kept.fold<FlowFold>(batch, {
        foldOnto: async (position, entries, states) => {
          const { folds, rows } = foldEntries(entries, states, await historiesOf(entries, states), terms);
          const result = await store.apply({ partition, first: position, next, rows });
          if (result.kind === 'out-of-step') return result;
          for (const { state } of rows) kept.put(state, partition, next);
          return folds;
        },
        takeOver: (state) => ({ state, before: null, record: null }),
      });
    },
    load: async (partition, position) => kept.putRead(partition, position, await store.open(partition)),
    get: kept.get,
    partitionOf: kept.partitionOf,
    lose: kept.lose,
    all: kept.all,
    count: () => kept.countOf('unfinished'),
    frozenCount: () => kept.countOf('frozen'),
    rowsOf: kept.rowsOf,
    clear: kept.clear,
  };
}

function foldEntries(
  entries: readonly LogEntry<FlowRecord>[],
  known: ReadonlyMap<string, FlowState>,
  histories: ReadonlyMap<number, readonly FlowRecord[]>,
  terms: FlowFoldTerms,
): { folds: FlowFold[]; rows: FlowRow[] } {
  const current = new Map(known);
  const touched = new Set<string>();
  const folds: FlowFold[] = [];
  for (const { offset, record } of entries) {
    const before = current.get(record.flowId) ?? null;
    const history = record.kind === 'unfrozen' && before?.frozen !== undefined ? histories.get(offset) : undefined;
    const evolved =
      history !== undefined && record.kind === 'unfrozen'
        ? evolveAgain(history, record, terms)
        : evolveOrFreeze(before, record, terms);
    if (evolved === null) continue;
    const state = withPlace(evolved, before, offset);
    current.set(record.flowId, state);
    touched.add(record.flowId);
    folds.push({ state, before, record });
  }
  const rows = [...touched].map((flowId) => {
    const state = current.get(flowId)!;
    const codes = codesOf(state);
    const givenUp = (state.codesGivenUp ?? []).flatMap(({ indexes }) => indexes);
    return { state, open: isOpen(state), codes, givenUp: givenUp.filter((code) => !codes.includes(code)) };
  });
  return { folds, rows };
}
