/** Operators' controls, what became of rule sets and of API tokens, and where the desk lives, as rows: changed by the daemon's writer thread or by the command line's own short transaction. */
import type { DatabaseSync } from 'node:sqlite';
import {
  type ControlHistory,
  type ControlState,
  type HouseMark,
  historyOf,
  type OperatorChange,
  type OperatorWord,
  type Pause,
  type RuleOrder,
  readHouseMark,
  type Snooze,
  type UnreadableMark,
  withChanges,
  withOrder,
  withoutSnooze,
  withSnooze,
} from '../../bidding/ports.ts';
import type { OriginEntry } from '../../domain/audit.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import type { BookRows } from '../../domain/kept-book.ts';
import type { TokenEntry } from '../../domain/roles.ts';
import { readStoredRow } from '../../domain/stored-rows.ts';
import { Fault } from '../../errors.ts';
import { writeOne } from '../../state/schema.ts';
import { controlEntry, createChain, createRowCheck, hasTable, houseBook, readControlEntry } from './chain.ts';
import { houseTable } from './tables.ts';

export type ControlChange =
  | { kind: 'pause'; pause: Pause }
  | { kind: 'resume'; word: OperatorWord }
  | { kind: 'cap'; name: string; limitCents: number | null; word: OperatorWord }
  | { kind: 'snooze'; snooze: Snooze }
  | { kind: 'resume-rule'; rule: string; word: OperatorWord }
  | { kind: 'rules'; order: RuleOrder };

/** What is kept of it; null: no operator did it. */
function traceOf(change: ControlChange, revision: number): OperatorChange | null {
  switch (change.kind) {
    case 'pause':
      return { ...change.pause, revision, kind: 'paused' };
    case 'resume':
      return { ...change.word, revision, kind: 'resumed' };
    case 'cap': {
      const { name, limitCents, word } = change;
      if (limitCents === null) return { ...word, revision, kind: 'cap-removed', name };
      return { ...word, revision, kind: 'cap-set', name, limitCents };
    }
    case 'snooze': {
      const { rule: name, ...said } = change.snooze;
      return { ...said, revision, kind: 'rule-snoozed', name };
    }
    case 'resume-rule':
      return { ...change.word, revision, kind: 'rule-resumed', name: change.rule };
    case 'rules':
      return null;
    default:
      return change satisfies never;
  }
}

export type Acknowledgement = { instance: string; revision: number; at: EpochMs };

/** Instances are drawn anew at each start; those silent for a day are gone. */
const forgottenAfterMs = 86_400_000;

export type ControlRows = {
  read: () => ControlState;
  /** One entry after the other: each holds a state. */
  history: () => ControlHistory;
  acknowledged: () => Acknowledgement[];
  /** Inside the caller's transaction; returns the new revision. */
  change: (change: ControlChange) => number;
  acknowledge: (acknowledgement: Acknowledgement) => void;
  /** By the process that holds the directory, before its first sign of life: nobody else can live there. */
  forgetOthers: () => void;
  house: () => HouseMark | UnreadableMark | null;
  setHouse: (mark: HouseMark | null) => void;
  /** Without `add`: whose transaction that is inside of differs. */
  ruleBook: Omit<BookRows, 'add'>;
  /** Inside the caller's transaction. */
  addToRuleBook: (text: string) => void;
  origins: () => OriginEntry[];
  /** Inside the caller's transaction. */
  addOrigin: (entry: OriginEntry) => void;
  tokenBook: () => TokenEntry[];
  /** Inside the caller's transaction. */
  addToTokenBook: (entry: TokenEntry) => void;
};

/** Entry of a mark that was taken away. */
const noMark = 'null';

type NumberedRow = { number: number; entry: string };
type Row = { revision: number; pause: string | null; caps: string };
/** `snoozes` stands in chained records alone, and only where there are any. */
type StoredControl = Row & { orders: string; changes: string; snoozes?: string };

function stateOf({ revision, pause, caps, orders, changes, snoozes }: StoredControl): ControlState {
  return {
    revision,
    pause: pause === null ? null : JSON.parse(pause),
    caps: JSON.parse(caps),
    snoozes: JSON.parse(snoozes ?? '[]'),
    ruleOrders: JSON.parse(orders),
    changes: JSON.parse(changes),
  };
}

const doubt =
  'the last record of the controls is not what was written, so nobody can say whether bids are allowed; see lance audit verify, look at caps and rules, then run lance resume';

/** Nobody knows what operators have said: nothing is sent until one of them says it again. */
function doubted(stored: StoredControl): ControlState {
  const pause: Pause = { by: 'lance', reason: doubt, at: 0 };
  try {
    return { ...stateOf({ ...stored, pause: null }), pause };
  } catch {
    return { revision: stored.revision, pause, caps: {}, snoozes: [], ruleOrders: [], changes: [] };
  }
}

function snoozesAfter(snoozes: readonly Snooze[], change: ControlChange): readonly Snooze[] {
  if (change.kind === 'snooze') return withSnooze(snoozes, change.snooze);
  return change.kind === 'resume-rule' ? withoutSnooze(snoozes, change.rule, change.word.at) : snoozes;
}

function historyEntry(number: number, entry: string): ControlHistory {
  try {
    return readControlEntry(entry);
  } catch {
    const text = `Record ${number} of the controls was edited or is damaged; see lance audit verify.`;
    throw new Fault('store-damaged', text);
  }
}

export function createControlRows(database: DatabaseSync): ControlRows {
  const select = database.prepare('SELECT revision, pause, caps FROM control WHERE id = 1');
  const update = database.prepare('UPDATE control SET revision = ?, pause = ?, caps = ? WHERE id = 1');
  const selectAll = database.prepare('SELECT instance, revision, at FROM acknowledgements ORDER BY instance');
  const upsert = database.prepare(
    'INSERT INTO acknowledgements (instance, revision, at) VALUES (?, ?, ?) ON CONFLICT (instance) DO UPDATE SET revision = excluded.revision, at = excluded.at',
  );
  const forget = database.prepare('DELETE FROM acknowledgements WHERE at < ?');
  const forgetAll = database.prepare('DELETE FROM acknowledgements');

  const selectOrders = database.prepare('SELECT orders FROM rule_orders WHERE id = 1');
  const upsertOrders = database.prepare('INSERT OR REPLACE INTO rule_orders (id, orders) VALUES (1, ?)');
  const selectChanges = database.prepare('SELECT changes FROM operator_changes WHERE id = 1');
  const upsertChanges = database.prepare('INSERT OR REPLACE INTO operator_changes (id, changes) VALUES (1, ?)');
  const selectStates = database.prepare('SELECT number, entry FROM control_changes ORDER BY number');
  const selectLast = database.prepare('SELECT number, entry FROM control_changes ORDER BY number DESC LIMIT 1');
  const isWritten = createRowCheck(database, 'control_changes');
  const selectBookRow = database.prepare('SELECT entry FROM rule_book WHERE number = ?');
  const selectNext = database.prepare('SELECT number, entry FROM rule_book WHERE number > ? ORDER BY number LIMIT 1');
  const selectTokens = database.prepare('SELECT number, entry FROM token_book ORDER BY number');
  const selectOrigins = database.prepare('SELECT number, entry FROM origins ORDER BY number');
  const chains = {
    ruleBook: createChain(database, 'rule_book'),
    changes: createChain(database, 'control_changes'),
    origins: createChain(database, 'origins'),
    tokens: createChain(database, 'token_book'),
  };
  const chained = (chain: keyof typeof chains, entry: string): void => {
    const { next, link } = chains[chain].head();
    chains[chain].add(next, link, '', entry);
  };

  const selectHouse = database.prepare('SELECT mark FROM house WHERE id = 1');
  const upsertHouse = database.prepare('INSERT OR REPLACE INTO house (id, mark) VALUES (1, ?)');
  const clearHouse = database.prepare('DELETE FROM house');
  /** A desk that was never moved has no such table. */
  const lastMark = (): string => {
    if (!hasTable(database, houseBook)) return noMark;
    const row = database.prepare(`SELECT entry FROM ${houseBook} ORDER BY number DESC LIMIT 1`).get();
    return (row as { entry: string } | undefined)?.entry ?? noMark;
  };
  const keepMark = (mark: HouseMark | null): void => {
    database.exec(houseTable);
    const chain = createChain(database, houseBook);
    const { next, link } = chain.head();
    chain.add(next, link, '', JSON.stringify(mark));
  };

  const inRows = (): StoredControl => {
    const row = select.get() as Row;
    const orders = selectOrders.get() as { orders: string } | undefined;
    const changes = selectChanges.get() as { changes: string } | undefined;
    return { ...row, orders: orders?.orders ?? '[]', changes: changes?.changes ?? '[]' };
  };
  /** The chained records are the truth: anybody who can write the file could change the rows unseen. */
  const read = (): ControlState => {
    const last = selectLast.get() as { number: number; entry: string } | undefined;
    // A store of an earlier version has none until the first change.
    const fits = last === undefined || isWritten({ place: last.number, key: '', value: last.entry }) === 'fits';
    try {
      if (fits) return stateOf(last === undefined ? inRows() : JSON.parse(last.entry));
    } catch {
      // No JSON, so it was edited.
    }
    return doubted(inRows());
  };
  function* states(): Generator<ControlHistory> {
    for (const { number, entry } of selectStates.iterate() as Iterable<{ number: number; entry: string }>) {
      yield historyEntry(number, entry);
    }
    // A store of an earlier version had no entries until its first change.
    yield read();
  }
  return {
    read,
    history: () => historyOf(states()),
    acknowledged: () =>
      (selectAll.all() as Acknowledgement[]).map(({ instance, revision, at }) => ({ instance, revision, at })),
    change: (change) => {
      const before = read();
      const orders = change.kind === 'rules' ? withOrder(before.ruleOrders, change.order) : before.ruleOrders;
      if (change.kind === 'rules' && orders === before.ruleOrders) return before.revision;
      const revision = before.revision + 1;
      const trace = traceOf(change, revision);
      const changes = JSON.stringify(trace === null ? before.changes : withChanges(before.changes, [trace]));
      const ordersText = JSON.stringify(orders);
      writeOne(upsertOrders, ordersText);
      writeOne(upsertChanges, changes);
      let { pause } = before;
      if (change.kind === 'pause') pause = change.pause;
      else if (change.kind === 'resume') pause = null;
      const caps = new Map(Object.entries(before.caps));
      if (change.kind === 'cap' && change.limitCents === null) caps.delete(change.name);
      if (change.kind === 'cap' && change.limitCents !== null) caps.set(change.name, change.limitCents);
      const row = {
        revision,
        pause: pause === null ? null : JSON.stringify(pause),
        caps: JSON.stringify(Object.fromEntries(caps)),
      };
      writeOne(update, row.revision, row.pause, row.caps);
      chained('changes', controlEntry(row, ordersText, changes, snoozesAfter(before.snoozes, change)));
      return revision;
    },
    acknowledge: ({ instance, revision, at }) => {
      upsert.run(instance, revision, at);
      forget.run(at - forgottenAfterMs);
    },
    forgetOthers: () => forgetAll.run(),
    house: () => {
      const row = selectHouse.get() as { mark: string } | undefined;
      if (row !== undefined) return readHouseMark(row.mark);
      // The row can be taken away unseen, and a desk that has moved would begin again.
      const last = lastMark();
      return last === noMark ? null : readHouseMark(last);
    },
    ruleBook: {
      // One at a time: a row may be megabytes long.
      *after(place) {
        for (let number = place ?? 0; ; ) {
          const row = selectNext.get(number) as { number: number; entry: string } | undefined;
          if (row === undefined) return;
          number = row.number;
          yield { place: number, text: row.entry };
        }
      },
      at: async (place) => (selectBookRow.get(place) as { entry: string }).entry,
    },
    addToRuleBook: (text) => chained('ruleBook', text),
    origins: () => (selectOrigins.all() as NumberedRow[]).map((row) => readStoredRow('origins', row.number, row.entry)),
    addOrigin: (entry) => chained('origins', JSON.stringify(entry)),
    tokenBook: () =>
      (selectTokens.all() as NumberedRow[]).map((row) => readStoredRow('token_book', row.number, row.entry)),
    addToTokenBook: (entry) => chained('tokens', JSON.stringify(entry)),
    setHouse: (mark) => {
      if (mark === null) clearHouse.run();
      else writeOne(upsertHouse, JSON.stringify(mark));
      keepMark(mark);
    },
  };
}
