/**
 * The hash chains over the tables that are truth: each row's link is the SHA-256 of the link before it and of all that the row
 * says, so a row that is changed, removed or put in later breaks every link after it. Whoever can write the file can also compute
 * new links: that is told by the heads anchored outside of it (anchor.ts).
 */
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { ControlHistory, Snooze } from '../../bidding/ports.ts';
import type { ChainHead, ChainHeads, ChainVerdict, Tampering, Unverified } from '../../domain/audit.ts';
import { writeOne } from '../../state/schema.ts';

type ChainedTable = {
  name: string;
  /** The column of the primary key, which counts without gaps, and its first value. */
  place: 'offset' | 'number';
  first: 0 | 1;
  keyed: boolean;
  content: 'value' | 'entry';
};

const ofTopic = (name: string): ChainedTable => ({ name, place: 'offset', first: 0, keyed: true, content: 'value' });
const numbered = (name: string): ChainedTable => ({ name, place: 'number', first: 1, keyed: false, content: 'entry' });

const chainedTopics = ['auctions', 'callbacks', 'dead_letters', 'inputs', 'flows'] as const;
/** See `houseTable`. */
export const houseBook = 'house_book';
const numberedTables = ['rule_book', 'control_changes', 'origins', 'signed_heads', 'token_book', houseBook] as const;
/** Where people's words stand: the command line writes there too, beside the writer. */
export const bookTables: readonly string[] = numberedTables.filter((name) => name !== 'signed_heads');
const chainedTables: readonly ChainedTable[] = [...chainedTopics.map(ofTopic), ...numberedTables.map(numbered)];

/** The chain of `auctions` is older than the others and begins with nothing; the others begin with their name. */
export function firstLink(table: string): string {
  return table === 'auctions' ? '' : table;
}

/** The key's length is hashed too, so that no two pairs of key and value read the same. */
export function nextLink(previous: string, offset: number, key: string, value: string): string {
  return hash('sha256', `${previous}\n${offset}\n${key.length}\n${key}${value}`, 'base64url');
}

type Row = { place: number; key: string; value: string; chain: string | null };

const columns = ({ place, keyed, content }: ChainedTable) =>
  `${place} AS place, ${keyed ? 'key' : "''"} AS key, ${content} AS value, chain`;

export function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !== undefined;
}

function hasChain(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = 'chain'").get(name) !== undefined;
}

/**
 * Gives the tables of an older file their column. The rows that stand there are folded into one link, with which the chain goes
 * on: from now on a change of them is noticed, but not which of them it was.
 */
export function beginChains(database: DatabaseSync): void {
  const begin = database.prepare('INSERT OR IGNORE INTO chain_starts (name, next, link) VALUES (?, ?, ?)');
  for (const table of chainedTables) {
    if (!hasTable(database, table.name) || hasChain(database, table.name)) continue;
    database.exec(`ALTER TABLE ${table.name} ADD COLUMN chain TEXT`);
    let link = firstLink(table.name);
    let next: number = table.first;
    for (const row of database
      .prepare(`SELECT ${columns(table)} FROM ${table.name} ORDER BY ${table.place}`)
      .iterate()) {
      const { place, key, value } = row as Row;
      link = nextLink(link, place, key, value);
      next = place + 1;
    }
    begin.run(table.name, next, link);
  }
}

type Start = { next: number; link: string };

function startOf(database: DatabaseSync, { name, first }: ChainedTable): Start {
  const none = { next: first, link: firstLink(name) };
  if (!hasTable(database, 'chain_starts')) return none;
  const row = database.prepare('SELECT next, link FROM chain_starts WHERE name = ?').get(name);
  return (row as Start | undefined) ?? none;
}

/** The head of a table, and how a row is put behind it. Both inside the caller's transaction. */
export type Chain = {
  /** Asked anew in every transaction: another process may have written since the last one. */
  head: () => { next: number; link: string };
  /** Writes the row at `next` and returns its link. Throws `store-damaged` where the row is not there then. */
  add: (next: number, link: string, key: string, value: string) => string;
};

export function createChain(database: DatabaseSync, name: string): Chain {
  const table = chainedTables.find((each) => each.name === name)!;
  const { place, keyed, content } = table;
  const last = database.prepare(`SELECT ${place} AS place, chain FROM ${name} ORDER BY ${place} DESC LIMIT 1`);
  const insert = database.prepare(
    keyed
      ? `INSERT INTO ${name} (${place}, key, ${content}, chain) VALUES (?, ?, ?, ?)`
      : `INSERT INTO ${name} (${place}, ${content}, chain) VALUES (?, ?, ?)`,
  );
  const start = startOf(database, table);
  return {
    head: () => {
      const row = last.get() as { place: number; chain: string | null } | undefined;
      return row === undefined
        ? { next: table.first, link: firstLink(name) }
        : { next: row.place + 1, link: row.chain ?? start.link };
    },
    add: (next, link, key, value) => {
      const chained = nextLink(link, next, key, value);
      if (keyed) writeOne(insert, next, key, value, chained);
      else writeOne(insert, next, value, chained);
      return chained;
    },
  };
}

/**
 * How a row fits its neighbours: `before`, it or the row before it is not what was written; `after`, it or the row after it. Which of
 * two it was their links do not tell: one edited with a new link of its own and the next one edited without look the same.
 */
export type RowFit = 'fits' | 'before' | 'after';

/**
 * Whether a row is what was written, as far as its own link and that of the row after it tell: a row that was edited fits one of
 * the two at most, with or without a new link. More is told by the walk from the beginning. A table without links tells nothing.
 */
export function createRowCheck(database: DatabaseSync, name: string): (row: Omit<Row, 'chain'>) => RowFit {
  const table = chainedTables.find((each) => each.name === name)!;
  if (!hasChain(database, name)) return () => 'fits';
  const { place, first } = table;
  const linkOf = database.prepare(`SELECT chain FROM ${name} WHERE ${place} = ?`);
  const following = database.prepare(
    `SELECT ${columns(table)} FROM ${name} WHERE ${place} > ? ORDER BY ${place} LIMIT 1`,
  );
  const start = startOf(database, table);
  const linkAfter = (at: number): string | null => {
    if (at < first) return firstLink(name);
    if (at === start.next - 1) return start.link;
    return (linkOf.get(at) as Pick<Row, 'chain'> | undefined)?.chain ?? null;
  };
  return ({ place: at, key, value }) => {
    // Stood there before the chain began, which goes on from all of these together.
    if (at < start.next) return (linkOf.get(at) as Pick<Row, 'chain'> | undefined)?.chain === null ? 'fits' : 'before';
    const before = linkAfter(at - 1);
    const own = linkAfter(at);
    if (before === null || own === null || own !== nextLink(before, at, key, value)) return 'before';
    const next = following.get(at) as Row | undefined;
    const isFollowed =
      next === undefined || (next.place === at + 1 && next.chain === nextLink(own, at + 1, next.key, next.value));
    return isFollowed ? 'fits' : 'after';
  };
}

/** Of every chained table that is there, also in a file that only has a part of them. `only`: of no others. */
export function headsOf(database: DatabaseSync, only?: readonly string[]): ChainHeads {
  const heads: Record<string, ChainHead> = {};
  for (const table of chainedTables) {
    if (only?.includes(table.name) === false) continue;
    if (!hasTable(database, table.name) || !hasChain(database, table.name)) continue;
    const { next, link } = createChain(database, table.name).head();
    heads[table.name] = [next - table.first, link];
  }
  return heads;
}

/** The link that the table had when it had so many rows; null when it does not reach that far. */
export function linkAt(database: DatabaseSync, name: string, count: number): string | null {
  if (count === 0) return firstLink(name);
  const table = chainedTables.find((each) => each.name === name);
  if (table === undefined || !hasTable(database, name) || !hasChain(database, name)) return null;
  const place = table.first + count - 1;
  const row = database.prepare(`SELECT chain FROM ${name} WHERE ${table.place} = ?`).get(place) as
    | { chain: string | null }
    | undefined;
  if (row === undefined) return null;
  return row.chain ?? startOf(database, table).link;
}

/** The rows of a table that come after a head. `head`: up to and with each of them, as computed, whatever link stands there. */
export function* rowsBehind(
  database: DatabaseSync,
  name: string,
  [count, head]: ChainHead,
): Generator<{ place: number; text: string; head: ChainHead }> {
  const table = chainedTables.find((each) => each.name === name);
  if (table === undefined || !hasTable(database, name)) return;
  const select = database.prepare(
    `SELECT ${columns(table)} FROM ${name} WHERE ${table.place} >= ? ORDER BY ${table.place}`,
  );
  let link = head;
  for (const row of select.iterate(table.first + count)) {
    const { place, key, value } = row as Row;
    link = nextLink(link, place, key, value);
    yield { place, text: value, head: [place - table.first + 1, link] };
  }
}

/** The first table that does not hold any more what it held at its head, among `tables`; null: all do. */
export function setBackAmong(database: DatabaseSync, heads: ChainHeads, tables: readonly string[]): string | null {
  const lost = tables.find((table) => {
    const [count, link] = heads[table] ?? [0, ''];
    return count > 0 && linkAt(database, table, count) !== link;
  });
  return lost ?? null;
}

export type AnchoredHeads = { at: number; heads: ChainHeads };

const pageRows = 500;

/** How many rows are read at once, and what is waited for after them. */
export type Pace = { rows: number; rest: () => Promise<unknown> };
export const atOnce: Pace = { rows: pageRows, rest: () => turn() };

type Break = Extract<ChainVerdict, { kind: 'broken' }>;
type Walked = { kind: 'walked'; count: number; head: string } | Omit<Break, 'unverified'>;

/**
 * Reads page by page and lets other work go on in between. `onProgress` hears how many rows fit so far, of all tables.
 * `anchored` are heads written outside of the store, in any order.
 */
export async function verifyChains(
  database: DatabaseSync,
  anchored: readonly AnchoredHeads[],
  onProgress: (verified: number) => void,
  pace: Pace = atOnce,
): Promise<Exclude<ChainVerdict, { kind: `anchor-${string}` }>> {
  const unverified: Unverified[] = [];
  const tables: Record<string, { entries: number; head: string }> = {};
  let before = 0;
  for (const table of chainedTables) {
    if (table.name === houseBook && !hasTable(database, houseBook)) {
      const isLost = anchored.some(({ heads }) => (heads[houseBook]?.[0] ?? 0) > 0);
      if (isLost) return { kind: 'broken', table: houseBook, offset: table.first, what: 'truncated', unverified };
      continue;
    }
    const start = startOf(database, table);
    if (start.next > table.first) unverified.push({ kind: 'before-chain', table: table.name, until: start.next });
    const walked = await walk(database, table, start, { anchored, pace }, (count) => onProgress(before + count));
    if (walked.kind === 'broken') return { ...walked, unverified };
    before += walked.count;
    tables[table.name] = { entries: walked.count, head: walked.head };
  }
  const edited = editedControl(database);
  if (edited !== null) return { ...edited, unverified };
  return {
    kind: 'intact',
    entries: tables.auctions!.entries,
    head: tables.auctions!.head,
    tables,
    anchors: anchored.length,
    anchoredAt: anchored.length === 0 ? null : Math.max(...anchored.map(({ at }) => at)),
    unverified,
  };
}

async function walk(
  database: DatabaseSync,
  table: ChainedTable,
  start: Start,
  { anchored, pace }: { anchored: readonly AnchoredHeads[]; pace: Pace },
  onProgress: (verified: number) => void,
): Promise<Walked> {
  const { name, place, first } = table;
  const page = database.prepare(`SELECT ${columns(table)} FROM ${name} WHERE ${place} >= ? ORDER BY ${place} LIMIT ?`);
  const marks = anchored.flatMap(({ heads }) => (heads[name] === undefined ? [] : [heads[name]]));
  marks.sort(([one], [other]) => one - other);
  let mark = 0;
  let expected: number = first;
  let head = firstLink(name);
  let lastFitting: number = first;
  /** An anchored head differs, so the chain was written anew somewhere since the anchor before. */
  const rewritten = (): Walked | null => {
    for (; mark < marks.length && marks[mark]![0] <= expected - first; mark += 1) {
      const [count, link] = marks[mark]!;
      if (count === expected - first && link !== head) {
        return { kind: 'broken', table: name, offset: lastFitting, what: 'rewritten', until: expected - 1 };
      }
      lastFitting = expected;
    }
    return null;
  };
  for (;;) {
    const rows = page.all(expected, pace.rows) as Row[];
    for (const [index, row] of rows.entries()) {
      const link = nextLink(head, expected, row.key, row.value);
      const chained = expected >= start.next;
      if (row.place !== expected || (chained && row.chain !== link)) {
        const next = page.all(rows.at(-1)!.place + 1, pageRows) as Row[];
        const what = tamperingOf([...rows.slice(index), ...next], head, expected);
        return { kind: 'broken', table: name, offset: expected, what };
      }
      head = link;
      expected += 1;
      if (expected === start.next && expected > first && head !== start.link) {
        return { kind: 'broken', table: name, offset: first, what: 'rewritten', until: expected - 1 };
      }
      const differs = rewritten();
      if (differs !== null) return differs;
    }
    if (rows.length > 0) onProgress(expected - first);
    if (rows.length < pace.rows) break;
    await pace.rest();
  }
  const differs = rewritten();
  if (differs !== null) return differs;
  if (mark < marks.length || expected < start.next) {
    return { kind: 'broken', table: name, offset: expected, what: 'truncated' };
  }
  return { kind: 'walked', count: expected - first, head };
}

/**
 * What was done where the chain breaks. `rows` stand there now, `head` is the last link that fits, `expected` the place after it.
 * A guess that the stored links bear out; `changed` where none does.
 */
function tamperingOf(rows: readonly Row[], head: string, expected: number): Tampering {
  const [at, ...later] = rows;
  if (at === undefined || at.place !== expected) return 'deleted';
  const fits = (row: Row, link: string, place: number) => row.chain === nextLink(link, place, row.key, row.value);
  const content = (row: Row) => nextLink(head, expected, row.key, row.value);
  // Two rows whose contents changed places while the links stayed.
  if (later.some((row) => content(row) === at.chain)) return 'reordered';
  const stray = later.find((row) => fits(row, head, expected));
  if (stray !== undefined) {
    // The record that belongs here stands later: pushed back by one that was put in, or moved.
    const after = later[later.indexOf(stray) + 1];
    const pushed = later[0] === stray && (after === undefined || fits(after, stray.chain!, expected + 1));
    return pushed ? 'inserted' : 'reordered';
  }
  const [next] = later;
  if (next === undefined || at.chain === null) return 'changed';
  if (fits(next, at.chain, expected + 1)) return 'changed';
  // The links of the rest fit with the places that they had before some were taken out.
  for (let missing = 1; missing <= pageRows; missing += 1) {
    if (fits(next, at.chain, expected + 1 + missing)) return 'deleted';
  }
  return 'changed';
}

/** A change between two of the reads below would look like a difference. */
function editedControl(database: DatabaseSync): Omit<Break, 'unverified'> | null {
  database.exec('BEGIN');
  try {
    return editedControlNow(database);
  } finally {
    database.exec('COMMIT');
  }
}

/** The controls are one row that changes; every change leaves a chained row, the last of which has to say the same. */
function editedControlNow(database: DatabaseSync): Omit<Break, 'unverified'> | null {
  const last = database.prepare('SELECT number, entry FROM control_changes ORDER BY number DESC LIMIT 1').get() as
    | { number: number; entry: string }
    | undefined;
  if (last === undefined) return null;
  const row = database.prepare('SELECT revision, pause, caps FROM control WHERE id = 1').get() as
    | { revision: number; pause: string | null; caps: string }
    | undefined;
  const orders = database.prepare('SELECT orders FROM rule_orders WHERE id = 1').get() as
    | { orders: string }
    | undefined;
  const changes = database.prepare('SELECT changes FROM operator_changes WHERE id = 1').get() as
    | { changes: string }
    | undefined;
  const snoozes = snoozesIn(last.entry);
  const now = row === undefined ? null : controlEntry(row, orders?.orders ?? '[]', changes?.changes ?? '[]', snoozes);
  return now === last.entry ? null : { kind: 'broken', table: 'control', offset: last.number, what: 'changed' };
}

export function controlEntry(
  row: { revision: number; pause: string | null; caps: string },
  orders: string,
  changes: string,
  snoozes: readonly Snooze[],
): string {
  const asleep = snoozes.length === 0 ? {} : { snoozes: JSON.stringify(snoozes) };
  return JSON.stringify({ revision: row.revision, pause: row.pause, caps: row.caps, orders, changes, ...asleep });
}

/** The rows beside the chain say nothing of snoozes. */
function snoozesIn(entry: string): readonly Snooze[] {
  try {
    return JSON.parse((JSON.parse(entry) as { snoozes?: string }).snoozes ?? '[]');
  } catch {
    return [];
  }
}

/** What operators and rule sets had come to with this entry. */
export function readControlEntry(entry: string): ControlHistory {
  const { orders, changes } = JSON.parse(entry) as { orders: string; changes: string };
  return { ruleOrders: JSON.parse(orders), changes: JSON.parse(changes) };
}
