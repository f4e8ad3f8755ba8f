/** States of flows as rows: one transaction a batch, checked against where the view stands. */
import type { DatabaseSync } from 'node:sqlite';
import type { FlowState } from '../domain/flow-states.ts';
import { type FlowBatch, type FlowQuery, flowCursor } from '../origination/ports.ts';
import { writeOne } from './schema.ts';
import { storedState } from './view-rows.ts';

/** Missing ones are made when a file is opened: what stood in them is folded again. */
export const flowTables = `
  CREATE TABLE IF NOT EXISTS flow_applied (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS flow_states (
    flow_id TEXT PRIMARY KEY, flow TEXT NOT NULL, phase TEXT NOT NULL, open INTEGER NOT NULL, cursor TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS flow_states_open ON flow_states (flow_id) WHERE open = 1;
  CREATE INDEX IF NOT EXISTS flow_states_cursor ON flow_states (cursor);
  CREATE TABLE IF NOT EXISTS flow_codes (code TEXT NOT NULL, flow_id TEXT NOT NULL, PRIMARY KEY (code, flow_id)) STRICT;`;

/** As `viewFigures`. */
export const flowFigures = {
  flows: 'SELECT count(*) AS n FROM flow_states',
  open: 'SELECT count(*) AS n FROM flow_states WHERE open = 1',
  codes: 'SELECT count(*) AS n FROM flow_codes',
} as const;

type AddFigures = (
  applied: readonly (readonly [partition: number, next: number])[],
  added: Record<keyof typeof flowFigures, number>,
  /** What was counted before is gone. */
  restart: boolean,
) => void;

/** A batch as the writer thread takes it: states are text already. */
export type FlowFlush = {
  partition: number;
  first: number;
  next: number;
  rows: readonly {
    flowId: string;
    flow: string;
    phase: string;
    open: number;
    cursor: string;
    state: string;
    codes: readonly string[];
    givenUp: readonly string[];
  }[];
};

export function flushOf({ partition, first, next, rows }: FlowBatch): FlowFlush {
  return {
    ...{ partition, first, next },
    rows: rows.map(({ state, open, codes, givenUp }) => ({
      ...{ flowId: state.flowId, flow: state.flow, phase: state.phase, open: open ? 1 : 0 },
      ...{ cursor: flowCursor(state), state: JSON.stringify(state), codes, givenUp },
    })),
  };
}

/**
 * Returns where the view stood: `first` when the batch was folded in. Inside the caller's transaction. `own`: the partition whose flows
 * the tables hold.
 */
export function createFlowWriter(
  database: DatabaseSync,
  own: number,
  addFigures: AddFigures,
): (flush: FlowFlush) => number {
  const applied = database.prepare('SELECT next FROM flow_applied WHERE partition = ?');
  const advance = database.prepare(
    'INSERT INTO flow_applied (partition, next) VALUES (?, ?) ON CONFLICT (partition) DO UPDATE SET next = excluded.next',
  );
  const isOpen = database.prepare('SELECT open FROM flow_states WHERE flow_id = ?');
  const put = database.prepare(
    `INSERT INTO flow_states (flow_id, flow, phase, open, cursor, state) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (flow_id) DO UPDATE SET phase = excluded.phase, open = excluded.open, cursor = excluded.cursor, state = excluded.state`,
  );
  const name = database.prepare('INSERT OR IGNORE INTO flow_codes (code, flow_id) VALUES (?, ?)');
  const unname = database.prepare('DELETE FROM flow_codes WHERE code = ? AND flow_id = ?');
  return ({ partition, first, next, rows }) => {
    const stood = Number((applied.get(partition) as { next: number } | undefined)?.next ?? 0);
    if (stood !== first) return stood;
    // Begun anew: what an earlier fold left is not built upon.
    const restart = first === 0 && partition === own;
    if (restart) database.exec('DELETE FROM flow_states; DELETE FROM flow_codes;');
    const added = { flows: 0, open: 0, codes: 0 };
    for (const { flowId, flow, phase, open, cursor, state, codes, givenUp } of rows) {
      const before = isOpen.get(flowId) as { open: number } | undefined;
      if (before === undefined) added.flows += 1;
      added.open += open - (before?.open ?? 0);
      writeOne(put, flowId, flow, phase, open, cursor, state);
      for (const code of givenUp) added.codes -= Number(unname.run(code, flowId).changes);
      for (const code of codes) added.codes += Number(name.run(code, flowId).changes);
    }
    writeOne(advance, partition, next);
    addFigures([[partition, next]], added, restart);
    return first;
  };
}

export type FlowReader = {
  applied: (partition: number) => number;
  state: (flowId: string) => FlowState | null;
  open: () => FlowState[];
  flowOf: (code: string) => string | null;
  query: (query: FlowQuery) => FlowState[];
};

const pageRows = 500;
type Stored = { state: string };

export function createFlowReader(database: DatabaseSync): FlowReader {
  const applied = database.prepare('SELECT next FROM flow_applied WHERE partition = ?');
  const state = database.prepare('SELECT state FROM flow_states WHERE flow_id = ?');
  const open = database.prepare(
    'SELECT flow_id, state FROM flow_states WHERE open = 1 AND flow_id > ? ORDER BY flow_id LIMIT ?',
  );
  const found = database.prepare(
    'SELECT c.flow_id FROM flow_codes c JOIN flow_states s USING (flow_id) WHERE c.code = ? ORDER BY s.cursor DESC LIMIT 1',
  );
  const latest = database.prepare(
    `SELECT state FROM flow_states WHERE cursor < :before AND (:flow IS NULL OR flow = :flow) AND (:phase IS NULL OR phase = :phase)
     AND (:code IS NULL OR flow_id IN (SELECT flow_id FROM flow_codes WHERE code = :code)) ORDER BY cursor DESC LIMIT :limit`,
  );
  const stateIn = (row: unknown): FlowState => storedState((row as Stored).state);
  return {
    applied: (partition) => Number((applied.get(partition) as { next: number } | undefined)?.next ?? 0),
    state: (flowId) => {
      const row = state.get(flowId);
      return row === undefined ? null : stateIn(row);
    },
    open: () => {
      const states: FlowState[] = [];
      for (let after = ''; ; after = states.at(-1)!.flowId) {
        const page = open.all(after, pageRows);
        states.push(...page.map(stateIn));
        if (page.length < pageRows) return states;
      }
    },
    flowOf: (code) => (found.get(code) as { flow_id: string } | undefined)?.flow_id ?? null,
    // Cursors start with digits, so ';' is after all of them.
    query: ({ flow, phase, code, limit, before }) =>
      latest.all({ before: before ?? ';', flow, phase, code, limit }).map(stateIn),
  };
}
