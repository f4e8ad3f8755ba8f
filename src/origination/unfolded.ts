/** Flows as the log has them: what was asked for while no desk ran stands in no row yet. */
import type { EventLog, LogEntry } from '../bidding/ports.ts';
import type { FlowFoldTerms, FlowRecord, FlowStep } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { evolveOrFreeze } from './evolve.ts';
import type { FlowStore } from './ports.ts';

/** A flow's row, null where it has none, the records that the row does not hold, in log order, and the state after them. */
export type UnreadFlow = { row: FlowState | null; records: readonly FlowRecord[]; state: FlowState };

export type UnfoldedFlows = {
  /** `state` null: there is no such flow. */
  read: (flowId: string) => Promise<Omit<UnreadFlow, 'state'> & { state: FlowState | null }>;
  /** Flows with records that no row holds, by id, in the order of the first of them. */
  unread: () => Promise<ReadonlyMap<string, UnreadFlow>>;
  /** Flows that stand in no row at all, in the order of their first records. */
  begun: () => Promise<readonly FlowState[]>;
};

const pageEntries = 1_000;
/** More than people ask for while a desk is away: so many mean that rows are being made again. */
const mostRecords = 20_000;

/** Of records that tell no terms, which versions wrote that left none of them unfolded. */
export const termsOfEarlier: FlowFoldTerms = { stepsKept: 100, keyedAttempts: 1, retryMs: 60_000, retryMaxMs: 60_000 };

/** An order, a step, or a word about what is frozen, of a person. */
export type Asked = { step: FlowStep | 'start' | 'retry' | 'cancel'; by: string; at: EpochMs };

/** What people ask for in these records. */
export function askedIn(records: readonly FlowRecord[]): readonly Asked[] {
  return records.flatMap((record): readonly Asked[] => {
    switch (record.kind) {
      case 'started':
        return [{ step: 'start', by: record.by, at: record.at }];
      case 'asked':
        return [{ step: record.step, by: record.by, at: record.at }];
      case 'unfrozen':
        return [{ step: record.action, by: record.by, at: record.at }];
      default:
        return [];
    }
  });
}

type Reader = { flows: Pick<FlowStore, 'applied' | 'read' | 'readAt'>; log: Pick<EventLog, 'read' | 'ends'> };
type Waiting = { partition: number; entries: LogEntry<FlowRecord>[] };

/** Reads what stands in the log past the rows; where that is more than people leave behind, the rows alone count. */
export async function readUnfolded({ flows, log }: Reader): Promise<UnfoldedFlows> {
  const waiting = new Map<string, Waiting>();
  const ends = await log.ends('flows');
  const ranges = await Promise.all(
    [...ends].map(async ([part, end]) => [part, await flows.applied(part), end] as const),
  );
  const behind = ranges.reduce((sum, [, applied, end]) => sum + Math.max(0, end - applied), 0);
  for (const [partition, applied, end] of behind > mostRecords ? [] : ranges) {
    for (let position = applied; position < end; ) {
      const entries = await log.read('flows', partition, position, Math.min(pageEntries, end - position));
      const last = entries.at(-1);
      if (last === undefined) break;
      for (const entry of entries) {
        const { flowId } = entry.record;
        const known = waiting.get(flowId);
        if (known === undefined) waiting.set(flowId, { partition, entries: [entry] });
        else known.entries.push(entry);
      }
      position = last.offset + 1;
    }
  }

  /** A desk may have taken some records up since they were read. */
  const read: UnfoldedFlows['read'] = async (flowId) => {
    const known = waiting.get(flowId);
    if (known === undefined) {
      const row = (await flows.read([flowId])).get(flowId) ?? null;
      return { row, records: [], state: row };
    }
    const [page] = await flows.readAt(known.partition, [flowId]);
    const row = page?.rows[0] ?? null;
    const records = known.entries.filter(({ offset }) => offset >= (page?.applied ?? 0)).map(({ record }) => record);
    const state = records.reduce((before, record) => evolveOrFreeze(before, record, termsOfEarlier), row);
    return { row, records, state };
  };

  return {
    read,
    unread: async () => {
      const found = await Promise.all([...waiting.keys()].map(read));
      return new Map(
        found.flatMap(({ row, records, state }) =>
          state === null || records.length === 0 ? [] : [[state.flowId, { row, records, state }] as const],
        ),
      );
    },
    begun: async () => {
      const rows = await flows.read([...waiting.keys()]);
      const begun = await Promise.all([...waiting.keys()].filter((flowId) => !rows.has(flowId)).map(read));
      return begun.map(({ state }) => state).filter((state) => state !== null);
    },
  };
}
