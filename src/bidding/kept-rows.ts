/**
 * Rows of open work in memory, beside the view that they stand in. The view may be folded further by others, or be set back and
 * made anew, so each row says how far it is: none that is ahead of a record, or may be behind it, is folded onto.
 */
import { Fault } from '../errors.ts';
import type { LogBatch, LogEntry, OutOfStep, RowsAt } from './ports.ts';

export type KeptRows<Row, Entry, Tally extends string> = {
  /**
   * Folds a batch, from where the view stands on; what others folded of it meanwhile is taken over as the view has it. Rejects
   * with `views-behind` when the view lost what was folded before.
   */
  fold: <Folded>(batch: LogBatch<Entry>, work: FoldWork<Row, Entry, Folded>) => Promise<Folded[]>;
  /** Keeps a row that is folded up to `applied`, or forgets it where it is not open. */
  put: (row: Row, partition: number, applied: number) => void;
  /** `put` for all that was read, none of it less far than `position`: else throws `views-behind`. Returns the rows. */
  putRead: (partition: number, position: number, pages: readonly RowsAt<Row>[]) => Row[];
  /**
   * Keeps the open ones of these rows of a partition, as the view has them, and returns them, with those that a fold has kept before:
   * a record that changed nothing keeps a row too. Null: something was folded meanwhile, or the view was set back, so what was read may
   * be older than what was folded; to be tried again.
   */
  adopt: (partition: number, ids: readonly string[]) => Promise<Row[] | null>;
  get: (id: string) => Row | null;
  partitionOf: (id: string) => number | null;
  /** Forgets a partition's rows, and says which they were. */
  lose: (partition: number) => string[];
  all: () => Row[];
  count: () => number;
  /** How many rows are so; known without looking at them. */
  countOf: (tally: Tally) => number;
  /** The rows that are so; the others are not looked at. */
  rowsOf: (tally: Tally) => Row[];
  /** Forgets all rows, and says which they were. */
  clear: () => string[];
};

type FoldWork<Row, Entry, Folded> = {
  /** Folds these entries onto the rows, stores the outcome at `position`, and puts the new rows. */
  foldOnto: (
    position: number,
    entries: readonly LogEntry<Entry>[],
    rows: ReadonlyMap<string, Row>,
  ) => Promise<Folded[] | OutOfStep>;
  /** These records were folded by somebody else: the row is where they led. */
  takeOver: (row: Row, records: readonly Entry[]) => Folded;
};

export function createKeptRows<Row, Entry, Tally extends string>(options: {
  readAt: (partition: number, ids: readonly string[]) => Promise<readonly RowsAt<Row>[]>;
  idOfRow: (row: Row) => string;
  idOf: (record: Entry) => string;
  isOpen: (row: Row) => boolean;
  /** What is counted of the rows, for those who ask often. */
  tallies: Readonly<Record<Tally, (row: Row) => boolean>>;
  /** Hears of each change of what is kept; null: no row of that request was, or is. A row that was put does not change. */
  onChanged?: (before: Row | null, after: Row | null) => void;
}): KeptRows<Row, Entry, Tally> {
  const { readAt, idOfRow, idOf, isOpen, onChanged = () => undefined } = options;
  /** `applied`: no record of this row stands between there and what was folded here since. */
  const kept = new Map<string, { row: Row; partition: number; applied: number }>();
  const tallies = Object.entries<(row: Row) => boolean>(options.tallies).map(([name, isSo]) => {
    return { name, isSo, ids: new Set<string>() };
  });
  /** Of each partition: folds that are under way, and how often what is kept of it has changed. */
  const folding = new Map<number, number>();
  const changes = new Map<number, number>();
  /** How far each partition was folded or read here: rows of a view that was set back are behind it. */
  const reached = new Map<number, number>();
  const idsOf = new Map(tallies.map(({ name, ids }) => [name, ids]));

  function forget(id: string): void {
    const before = kept.get(id);
    if (before === undefined) return;
    kept.delete(id);
    onChanged(before.row, null);
    for (const { ids } of tallies) ids.delete(id);
  }

  async function rowsAt(
    partition: number,
    position: number,
    ids: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, Row> | OutOfStep> {
    const rows = new Map<string, Row>();
    const absent: string[] = [];
    for (const id of ids) {
      const own = kept.get(id);
      // The view may be set back before what is made of a row that is ahead reaches it, and would take that.
      if (own === undefined || own.applied > position) absent.push(id);
      else rows.set(id, own.row);
    }
    if (absent.length === 0) return rows;
    const pages = await readAt(partition, absent);
    refuseOlder(pages, position);
    const applied = Math.max(...pages.map((page) => page.applied));
    if (applied > position) return { kind: 'out-of-step', applied };
    for (const page of pages) for (const row of page.rows) rows.set(idOfRow(row), row);
    return rows;
  }

  function count(counts: Map<number, number>, partition: number, by: number): void {
    counts.set(partition, (counts.get(partition) ?? 0) + by);
  }

  async function fold<Folded>(batch: LogBatch<Entry>, work: FoldWork<Row, Entry, Folded>): Promise<Folded[]> {
    const { partition, next } = batch;
    count(folding, partition, 1);
    try {
      const folded = await foldNow(batch, work);
      reached.set(partition, Math.max(reached.get(partition) ?? 0, next));
      return folded;
    } finally {
      count(folding, partition, -1);
      count(changes, partition, 1);
    }
  }

  async function foldNow<Folded>(batch: LogBatch<Entry>, work: FoldWork<Row, Entry, Folded>): Promise<Folded[]> {
    const { partition, next } = batch;
    for (let position = batch.first; ; ) {
      const from = position;
      const entries = batch.entries.filter((entry) => entry.offset >= from);
      const rows = await rowsAt(partition, from, new Set(entries.map((entry) => idOf(entry.record))));
      const result = 'kind' in rows ? rows : await work.foldOnto(from, entries, rows);
      const skipped = batch.entries.filter((entry) => entry.offset < from);
      if (!('kind' in result)) return [...(await takeOver(partition, from, skipped, work)), ...result];
      if (result.applied < from) throw viewsBehind();
      // Others folded these further than the rows at hand.
      for (const { record } of batch.entries) forget(idOf(record));
      position = result.applied;
      if (position >= next) return takeOver(partition, position, batch.entries, work);
    }
  }

  async function takeOver<Folded>(
    partition: number,
    position: number,
    entries: readonly LogEntry<Entry>[],
    work: FoldWork<Row, Entry, Folded>,
  ): Promise<Folded[]> {
    if (entries.length === 0) return [];
    const records = Map.groupBy(
      entries.map((entry) => entry.record),
      idOf,
    );
    for (const id of records.keys()) forget(id);
    const rows = putRead(partition, position, await readAt(partition, [...records.keys()]));
    return rows.map((row) => work.takeOver(row, records.get(idOfRow(row)) ?? []));
  }

  function put(row: Row, partition: number, applied: number): void {
    const id = idOfRow(row);
    if (!isOpen(row)) {
      forget(id);
      return;
    }
    const before = kept.get(id)?.row ?? null;
    kept.set(id, { row, partition, applied });
    onChanged(before, row);
    for (const { isSo, ids } of tallies) {
      if (isSo(row)) ids.add(id);
      else ids.delete(id);
    }
  }

  function putRead(partition: number, position: number, pages: readonly RowsAt<Row>[]): Row[] {
    refuseOlder(pages, position);
    reached.set(partition, position);
    for (const page of pages) for (const row of page.rows) put(row, partition, page.applied);
    return pages.flatMap((page) => page.rows);
  }

  async function adopt(partition: number, ids: readonly string[]): Promise<Row[] | null> {
    const isFolding = () => (folding.get(partition) ?? 0) > 0;
    if (isFolding()) return null;
    const before = changes.get(partition);
    const pages = await readAt(
      partition,
      ids.filter((id) => !kept.has(id)),
    );
    const position = reached.get(partition);
    if (isFolding() || changes.get(partition) !== before || position === undefined) return null;
    if (pages.some(({ applied }) => applied < position)) return null;
    for (const page of pages) for (const row of page.rows) put(row, partition, page.applied);
    return ids.flatMap((id) => kept.get(id)?.row ?? []);
  }

  return {
    fold,
    put,
    putRead,
    adopt,
    get: (id) => kept.get(id)?.row ?? null,
    partitionOf: (id) => kept.get(id)?.partition ?? null,
    lose: (partition) => {
      count(changes, partition, 1);
      reached.delete(partition);
      const lost = [...kept].filter(([, own]) => own.partition === partition).map(([id]) => id);
      for (const id of lost) forget(id);
      return lost;
    },
    all: () => [...kept.values()].map(({ row }) => row),
    count: () => kept.size,
    countOf: (tally) => idsOf.get(tally)!.size,
    rowsOf: (tally) => [...idsOf.get(tally)!].map((id) => kept.get(id)!.row),
    clear: () => {
      for (const partition of reached.keys()) count(changes, partition, 1);
      reached.clear();
      const all = [...kept.keys()];
      for (const id of all) forget(id);
      return all;
    },
  };
}

function viewsBehind(): Fault {
  return new Fault('views-behind', 'the views lost what was folded; folding again');
}

/** Rows of a view that was just set back would be kept, and folded onto once others have made it again. */
function refuseOlder(pages: readonly RowsAt<unknown>[], position: number): void {
  if (pages.some((page) => page.applied < position)) throw viewsBehind();
}
