/** Folds batches of the log into the store of flows, and keeps the open ones of this process at hand. */
import type { LogBatch } from '../bidding/ports.ts';
import type { FlowRecord } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import { Fault } from '../errors.ts';
import { evolve, proposalIndex } from './evolve.ts';
import type { FlowRow, FlowStore } from './ports.ts';
import type { FlowSettings } from './settings.ts';
import { isFinished } from './transitions.ts';

type FlowFold = { state: FlowState; before: FlowState | null; record: FlowRecord };

type FlowLedger = {
  /** In log order. Rejects with `views-behind` when the store lost what was folded. */
  fold: (batch: LogBatch<FlowRecord>) => Promise<FlowFold[]>;
  load: (partition: number) => Promise<FlowState[]>;
  /** An open flow of this process. */
  get: (flowId: string) => FlowState | null;
  partitionOf: (flowId: string) => number | null;
  lose: (partition: number) => string[];
  count: () => number;
  clear: () => void;
};

/** Something is to be done or waited for; what waits for a person alone is not open. */
function isOpen(state: FlowState): boolean {
  const status = state.operation?.status;
  if (status === 'asked' || status === 'intended') return true;
  switch (state.phase) {
    case 'waiting-proposal':
    case 'preparing':
    case 'awaiting-note':
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
  const note = state.flow === 'contract' ? state.note : null;
  return [
    ...state.codes,
    ...(state.proposalCode === null ? [] : [proposalIndex(state.proposalCode)]),
    ...(requestId === null ? [] : [requestIndex(requestId)]),
    ...(note === null ? [] : [noteIndex(note.noteNumber)]),
    ...(workerKey === null ? [] : [workerIndex(workerKey)]),
  ];
}

export function requestIndex(requestId: string): string {
  return `request:${requestId}`;
}

/** A contract of ours is found under the number of its credit note. */
export function noteIndex(noteNumber: string): string {
  return `note:${noteNumber}`;
}

function workerIndex(workerKey: string): string {
  return `worker:${workerKey}`;
}

export function createFlowLedger(store: FlowStore, settings: FlowSettings): FlowLedger {
  const states = new Map<string, FlowState>();
  const places = new Map<string, number>();

  async function statesOf(flowIds: ReadonlySet<string>): Promise<Map<string, FlowState>> {
    const absent = [...flowIds].filter((flowId) => !states.has(flowId));
    const read = absent.length === 0 ? new Map<string, FlowState>() : await store.read(absent);
    const found = new Map(read);
    for (const flowId of flowIds) {
      const state = states.get(flowId);
      if (state !== undefined) found.set(flowId, state);
    }
    return found;
  }

  function remember(state: FlowState, partition: number): void {
    if (isOpen(state)) {
      states.set(state.flowId, state);
      places.set(state.flowId, partition);
    } else forget(state.flowId);
  }

  function forget(flowId: string): void {
    states.delete(flowId);
    places.delete(flowId);
  }

  async function fold(batch: LogBatch<FlowRecord>): Promise<FlowFold[]> {
    const { partition, next } = batch;
    for (let first = batch.first; first < next; ) {
      const entries = batch.entries.filter(({ offset }) => offset >= first);
      const flowIds = new Set(entries.map(({ record }) => record.flowId));
      const current = first === 0 ? new Map<string, FlowState>() : await statesOf(flowIds);
      const { folds, rows } = foldEntries(
        entries.map(({ record }) => record),
        current,
        settings,
      );
      const result = await store.apply({ partition, first, next, rows });
      if (result.kind === 'applied') {
        for (const { state } of rows) remember(state, partition);
        return folds;
      }
      if (result.applied < first) throw new Fault('views-behind', 'the states of flows were lost; folding again');
      // Another process folded these: what is at hand of them is old.
      for (const { record } of batch.entries) forget(record.flowId);
      first = result.applied;
    }
    return [];
  }

  return {
    fold,
    load: async (partition) => {
      const open = await store.open(partition);
      for (const state of open) remember(state, partition);
      return open;
    },
    get: (flowId) => states.get(flowId) ?? null,
    partitionOf: (flowId) => places.get(flowId) ?? null,
    lose: (partition) => {
      const lost = [...places].filter(([, place]) => place === partition).map(([flowId]) => flowId);
      for (const flowId of lost) forget(flowId);
      return lost;
    },
    count: () => [...states.values()].filter(({ phase }) => !isFinished(phase)).length,
    clear: () => {
      states.clear();
      places.clear();
    },
  };
}

function foldEntries(
  records: readonly FlowRecord[],
  known: ReadonlyMap<string, FlowState>,
  settings: FlowSettings,
): { folds: FlowFold[]; rows: FlowRow[] } {
  const current = new Map(known);
  const touched = new Set<string>();
  const folds: FlowFold[] = [];
  for (const record of records) {
    const before = current.get(record.flowId) ?? null;
    const state = evolve(before, record, settings);
    if (state === null) continue;
    current.set(record.flowId, state);
    touched.add(record.flowId);
    folds.push({ state, before, record });
  }
  const rows = [...touched].map((flowId) => {
    const state = current.get(flowId)!;
    return { state, open: isOpen(state), codes: codesOf(state) };
  });
  return { folds, rows };
}
