/** The states of flows, shared by all instances: one Lua function folds a batch in, plain commands read. */
import type { RowsAt } from '../../bidding/ports.ts';
import { type FlowKind, flowKinds } from '../../domain/flow-records.ts';
import { type FlowState, flowPhases } from '../../domain/flow-states.ts';
import { type FlowQuery, type FlowStore, flowCursor } from '../../origination/ports.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { keysOf } from './view-text.ts';

const rowsAtOnce = 500;
const cursorTimeLength = 15;

export function createFlows(connection: Connection, prefix: string): FlowStore {
  const { flowsApplied: applied } = keysOf(prefix);
  const statesKey = `${prefix}f:states`;
  const command = connection.command;

  async function statesOf(flowIds: readonly string[]): Promise<FlowState[]> {
    const found: FlowState[] = [];
    for (let from = 0; from < flowIds.length; from += rowsAtOnce) {
      const page = flowIds.slice(from, from + rowsAtOnce);
      const rows = await command<(string | null)[]>('HMGET', statesKey, ...page);
      for (const row of rows) if (row !== null) found.push(stateIn(row));
    }
    return found;
  }

  /** `flowIds` null: all that are open. */
  async function pageAt(partition: number, flowIds: readonly string[] | null): Promise<RowsAt<FlowState>> {
    const names = [applied, statesKey, `${prefix}f:open:${partition}`];
    const [stood, ...rows] = await connection.run<string[]>(scripts.flowRows, names, [
      String(partition),
      ...(flowIds ?? []),
    ]);
    return { applied: Number(stood), rows: rows.map(stateIn) };
  }

  /** The latest cursors of an index, before one of them. */
  function cursorsIn(index: string, before: string | null, limit: number): Promise<string[]> {
    const most = before === null ? '+' : `(${before}`;
    return command<string[]>('ZREVRANGEBYLEX', `${prefix}f:${index}`, most, '-', 'LIMIT', '0', String(limit));
  }

  async function query({ flow, phase, code, limit, before }: FlowQuery): Promise<FlowState[]> {
    const fits = (state: FlowState) =>
      (flow === null || state.flow === flow) && (phase === null || state.phase === phase);
    if (code !== null) {
      const cursors = await cursorsIn(`code:${code}`, before, -1);
      return (await statesOf(cursors.map(idIn))).filter(fits).slice(0, limit);
    }
    const indices = flowKinds
      .filter((kind) => flow === null || kind === flow)
      .flatMap((kind: FlowKind) =>
        flowPhases[kind].filter((each) => phase === null || each === phase).map((each) => `c:${kind}:${each}`),
      );
    const pages = await Promise.all(indices.map((index) => cursorsIn(index, before, limit)));
    const latest = pages.flat().sort().reverse().slice(0, limit);
    return statesOf(latest.map(idIn));
  }

  return {
    applied: async (partition) => Number((await command<string | null>('HGET', applied, String(partition))) ?? 0),
    apply: async ({ partition, first, next, rows }) => {
      const args = rows.flatMap(({ state, open, codes, givenUp }) => [
        ...[state.flowId, open ? '1' : '0', `${state.flow}:${state.phase}`, flowCursor(state), JSON.stringify(state)],
        ...[String(givenUp.length), ...givenUp, String(codes.length), ...codes],
      ]);
      const head = [prefix, String(partition), String(first), String(next)];
      const [stood] = await connection.run<string[]>(scripts.flows, [applied], [...head, ...args]);
      return stood === '' ? { kind: 'applied' } : { kind: 'out-of-step', applied: Number(stood) };
    },
    read: async (flowIds) => new Map((await statesOf(flowIds)).map((state) => [state.flowId, state])),
    readAt: async (partition, flowIds) => {
      const pages: RowsAt<FlowState>[] = [];
      for (let from = 0; from < flowIds.length; from += rowsAtOnce) {
        pages.push(await pageAt(partition, flowIds.slice(from, from + rowsAtOnce)));
      }
      return pages;
    },
    open: async (partition) => [await pageAt(partition, null)],
    findByCode: async (codes) => {
      const found = new Map<string, string>();
      for (const code of new Set(codes)) {
        const [latest] = await cursorsIn(`code:${code}`, null, 1);
        if (latest !== undefined) found.set(code, idIn(latest));
      }
      return found;
    },
    query,
  };
}

function stateIn(row: string): FlowState {
  return JSON.parse(row.slice(row.indexOf('\t') + 1));
}

function idIn(cursor: string): string {
  return cursor.slice(cursorTimeLength + 1);
}
