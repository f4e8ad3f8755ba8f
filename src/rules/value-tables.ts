/**
 * Value tables: files `NAME.values.json` of a rule set, with the rows in them or in `NAME.values.csv` beside. A row stands under a key,
 * which is the value of a fact, and gives numbers, texts and days, each the fact `values.NAME.COLUMN`. What has no row is unknown, as
 * is an empty cell: a table never lets through what it could not look up. Rows are kept as one text in the order of their keys, with
 * an index into it, so that a table of a hundred thousand rows opens between two decisions.
 */
import { createHash } from 'node:crypto';
import type { TableLook } from '../domain/offer.ts';
import { type CsvRow, readCsv, scalarOf } from './csv.ts';
import type { DerivedFact } from './derived.ts';
import { extraPrefix, type FactDefinition, type Facts, type FactValue, factNamed, tablesRead } from './facts.ts';
import { canonicalJson, type Json } from './json.ts';
import { clearPart } from './keys.ts';
import { listValueProblem } from './lists.ts';
import { isObject, type Place, readNumber, readObject, readText, refuse, shown, suggestion, within } from './place.ts';

export const valuesPrefix = 'values.';

export type Column = { name: string; definition: FactDefinition };

export type ValueTable = {
  name: string;
  keyFact: string;
  columns: readonly Column[];
  /** SHA-256 of what the table says, the same however its rows were written. */
  hash: string;
  /** The rows as CSV, in the order of their keys. */
  text: string;
};

/** Rows that stand in a file of their own. */
export type RowsFile = { place: Place; text: string };

const tablePath = /^([a-z][A-Za-z0-9]{0,39})\.values\.json$/;
const columnShape = /^[a-z][A-Za-z0-9]{0,39}$/;
const maxColumns = 20;
const maxTextLength = 200;
const maxKeyLength = 80;
export const valueUnits = [
  'R$',
  'R$ a month',
  'months',
  'days',
  'years',
  '%',
  '% a month',
  '% a year',
  'share',
  'points',
];
const wholeUnits = ['months', 'days', 'years', 'points'];
const largest = 1_000_000_000_000;

// --- Declaration ----------------------------------------------------------------------------------------------------

type KeyCheck = { fact: string; problem: (key: string) => string | null };

/** What is wrong with a key is said without the key, which may be personal. */
function keyCheckOf(fact: string, definition: FactDefinition | null): KeyCheck['problem'] {
  if (fact === 'employer.key' || fact === 'worker.key' || fact === 'employer.activityCode')
    return (key) => listValueProblem(fact, key);
  if (definition?.type === 'number') {
    return (key) => (/^(?:0|[1-9]\d{0,14})$/.test(key) ? null : 'This key is no whole number; write digits alone.');
  }
  const digits = definition?.digits;
  if (digits !== undefined) {
    const wanted = new RegExp(`^\\d{${digits}}$`);
    return (key) => (wanted.test(key) ? null : `This key is no ${fact}; write its ${digits} digits, zeros included.`);
  }
  const values = definition?.values ?? null;
  if (values !== null) {
    return (key) => (values.includes(key) ? null : `"${fact}" is never like this key. ${suggestion(key, values)}`);
  }
  return (key) =>
    key.length <= maxKeyLength && /^[^\p{Cc}",]+$/u.test(key) && key.trim() === key && key.isWellFormed()
      ? null
      : `A key is a text of 1 to ${maxKeyLength} characters without quotes, commas, line breaks and blanks around it; write it so.`;
}

function readKey(place: Place, value: Json): KeyCheck | null {
  const name = readText(place, value, 'The key', 200);
  if (name === null) return null;
  if (name.startsWith(extraPrefix) && name.length > extraPrefix.length)
    return { fact: name, problem: keyCheckOf(name, null) };
  const definition = factNamed(name);
  if (definition === null) {
    const known = ['employer.key', 'worker.key', 'employer.activityCode', 'worker.occupation', 'employer.sector'];
    return refuse(place, `There is no fact ${shown(name)} of a request. ${suggestion(name, known)}`);
  }
  const isText = definition.type === 'string' && !definition.isDay;
  if (definition.stage === 'request' && (isText || (definition.type === 'number' && definition.whole)))
    return { fact: name, problem: keyCheckOf(name, definition) };
  return refuse(
    place,
    `"${name}" cannot be looked up; name a fact of the request that is a text or a whole number. Ranges are for NAME.table.json.`,
  );
}

const columnKeys = { required: ['type'], optional: ['unit', 'values', 'description'] };

export function readColumn(place: Place, value: Json, fact: string, present: string): FactDefinition | null {
  const object = readObject(place, value, 'A column', columnKeys);
  if (object === null) return null;
  const before = place.faults.length;
  const { type, unit, values } = object;
  if ('description' in object) readText(within(place, 'description'), object.description!, 'The description', 600);
  const plain = { name: fact, present, range: null, values: null, stage: 'request' as const, whole: false };
  if (type !== 'number' && unit !== undefined)
    refuse(within(place, 'unit'), 'A text or a day has no unit; remove "unit".');
  if (type !== 'text' && values !== undefined)
    refuse(within(place, 'values'), 'Only a text has a closed set of values; remove "values".');
  if (place.faults.length > before) return null;
  switch (type) {
    case 'number': {
      const known = valueUnits.find((one) => one === unit);
      if (known === undefined) {
        const hint = suggestion(String(unit), valueUnits) || `Write one of: ${valueUnits.join(', ')}.`;
        return refuse(
          'unit' in object ? within(place, 'unit') : place,
          `The unit of a number is ${shown(unit ?? null)}. ${hint}`,
        );
      }
      const range = known === 'share' ? { min: 0, max: 1 } : { min: -largest, max: largest };
      return { ...plain, type: 'number', unit: known, example: 0, range, whole: wholeUnits.includes(known) };
    }
    case 'text': {
      const list = values ?? null;
      if (list !== null && (!Array.isArray(list) || list.length === 0 || list.length > 500)) {
        return refuse(within(place, 'values'), `"values" is ${shown(list)}; write a list of 1 to 500 texts.`);
      }
      for (const [index, one] of (list ?? []).entries()) {
        const at = within(within(place, 'values'), index);
        const problem = typeof one === 'string' ? textProblem(one) : `This is ${shown(one)}; write a text in quotes.`;
        if (problem !== null) refuse(at, problem);
        else if (list!.indexOf(one) < index) refuse(at, 'This value is in the list already; remove it.');
      }
      if (place.faults.length > before) return null;
      const known = list as readonly string[] | null;
      return { ...plain, type: 'string', unit: null, example: known?.[0] ?? 'A', values: known };
    }
    case 'day':
      return { ...plain, type: 'string', unit: null, example: '2026-12-31', isDay: true };
    default:
      return refuse(
        within(place, 'type'),
        `The type is ${shown(type!)}; write "number" (whole cents are "R$"), "text" or "day".`,
      );
  }
}

function readColumns(place: Place, value: Json, table: string, keyFact: string): Column[] | null {
  if (!isObject(value) || Object.keys(value).length === 0 || Object.keys(value).length > maxColumns) {
    const example = '{"score": {"type": "number", "unit": "points"}}';
    return refuse(place, `"columns" is ${shown(value)}; write an object ${example} of 1 to ${maxColumns} columns.`);
  }
  const before = place.faults.length;
  const columns: Column[] = [];
  const present = `when the table ${table} has a value for ${keyFact}`;
  for (const [name, content] of Object.entries(value)) {
    const at = within(place, name);
    if (!columnShape.test(name) || name === 'key') {
      refuse(at, `${shown(name)} is no name of a column; write one like "latePayments" (the first column is "key").`);
      continue;
    }
    const definition = readColumn(at, content, `${valuesPrefix}${table}.${name}`, present);
    if (definition !== null) columns.push({ name, definition });
  }
  // By name, as the canonical text of the file has them.
  return place.faults.length > before ? null : columns.sort((left, right) => (left.name < right.name ? -1 : 1));
}

// --- Rows -----------------------------------------------------------------------------------------------------------

function textProblem(text: string): string | null {
  if (text === '') return 'This text is empty; what is not known is null, or an empty cell.';
  if (text.length > maxTextLength) return `This text is longer than ${maxTextLength} characters; shorten it.`;
  if (/\p{Cc}/u.test(text) || !text.isWellFormed())
    return 'This text holds a line break or another character that nobody sees; remove it.';
  return text.trim() === text ? null : 'This text begins or ends with a blank; remove it.';
}

function decimalsOf({ unit, whole }: FactDefinition): number {
  if (whole) return 0;
  return unit === 'R$' || unit === 'R$ a month' ? 2 : 6;
}

/** The cell as the canonical text has it, empty for null; null: refused. */
export function readCell(place: Place, value: Json, { name, definition }: Column): string | null {
  if (value === null) return '';
  if (definition.type === 'number') {
    const measure = { unit: definition.unit!, ...definition.range!, decimals: decimalsOf(definition) };
    const number = readNumber(place, value, name, measure);
    return number === null ? null : String(number);
  }
  if (typeof value !== 'string') return refuse(place, `"${name}" is ${shown(value)}; write a text in quotes.`);
  const problem = textProblem(value);
  if (problem !== null) return refuse(place, `"${name}": ${problem}`);
  if (definition.isDay && !isDay(value))
    return refuse(place, `"${name}" is ${shown(value)}; write a day like "2026-12-31".`);
  if (definition.values !== null && !definition.values.includes(value))
    return refuse(place, `"${name}" is never ${shown(value)}. ${suggestion(value, definition.values)}`);
  return /[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** `lines`: by key, the rest of its row. */
function textOf(columns: readonly Column[], lines: ReadonlyMap<string, string>): string {
  const head = ['key', ...columns.map(({ name }) => name)].join(',');
  const rows = [...lines.keys()].sort().map((key) => `${key}${lines.get(key)!}\n`);
  return `${head}\n${rows.join('')}`;
}

/** `[{"key": "12345678", "score": 640}]`: places are counted, for a key may be personal. Null: refused. */
function readRows(place: Place, value: Json, columns: readonly Column[], key: KeyCheck): string | null {
  if (!Array.isArray(value))
    return refuse(place, `"rows" is ${shown(value)}; write a list [{"key": "…", "${columns[0]!.name}": … }].`);
  const before = place.faults.length;
  const lines = new Map<string, string>();
  const keys = { required: ['key', ...columns.map(({ name }) => name)], optional: [] };
  for (const [index, content] of value.entries()) {
    const at = within(place, index);
    const row = readObject(at, content, 'A row', keys);
    if (row === null) continue;
    const own = row.key!;
    const problem = typeof own === 'string' ? key.problem(own) : 'This key is no text; write it in quotes.';
    if (problem !== null) refuse(within(at, 'key'), problem);
    else if (lines.has(own as string)) refuse(within(at, 'key'), 'This key has a row already; keep one of the two.');
    let line = '';
    for (const column of columns) line += `,${readCell(within(at, column.name), row[column.name]!, column) ?? ''}`;
    lines.set(own as string, line);
  }
  return place.faults.length > before ? null : textOf(columns, lines);
}

/** Which cell of a line each column is; null: the heading is not good. */
function readHead(place: Place, cells: readonly string[], columns: readonly Column[]): readonly number[] | null {
  const before = place.faults.length;
  const known = ['key', ...columns.map(({ name }) => name)];
  for (const [index, cell] of cells.entries()) {
    if (!known.includes(cell)) {
      refuse(
        place,
        `Column ${index + 1} is called ${shown(cell)}, which the .json beside does not declare. ${suggestion(cell, known)}`,
      );
    } else if (cells.indexOf(cell) < index)
      refuse(place, `Column ${index + 1} is called "${cell}" as well; remove one.`);
  }
  for (const name of known)
    if (!cells.includes(name)) refuse(place, `The column "${name}" is missing; name it in the first line.`);
  return place.faults.length > before ? null : known.map((name) => cells.indexOf(name));
}

/** The first line names the columns. Null: refused. Holds one row at a time beside what it makes of them. */
function readRowsFile({ place, text }: RowsFile, columns: readonly Column[], key: KeyCheck): string | null {
  const before = place.faults.length;
  /** Where the reader stands: moved on, for a place of its own for each of a million cells would take longer than all else. */
  const at: Place = { ...place, pinned: true, line: 1, said: '' };
  let order: readonly number[] | null = null;
  let isHead = true;
  const lines = new Map<string, string>();
  const linesOfKeys = new Map<string, number>();
  const onRow = ({ line, cells }: CsvRow, separator: string): void => {
    at.line = line;
    at.said = '';
    if (isHead) {
      isHead = false;
      order = readHead(at, cells, columns);
      return;
    }
    if (order === null) return;
    if (cells.length !== order.length) {
      refuse(at, `${cells.length} cells where the first line names ${order.length} columns; write as many.`);
      return;
    }
    const own = cells[order[0]!]!;
    const problem = key.problem(own);
    const first = linesOfKeys.get(own);
    if (problem !== null) refuse(at, `Column ${order[0]! + 1} ("key"): ${problem}`);
    else if (first !== undefined) refuse(at, `The same key as on line ${first}; keep one of the two rows.`);
    linesOfKeys.set(own, line);
    let rest = '';
    for (let position = 0; position < columns.length; position += 1) {
      const column = columns[position]!;
      const index = order[position + 1]!;
      const cell = cells[index]!;
      at.said = `Column ${index + 1}: `;
      rest += `,${readCell(at, cellValue(at, cell, column, separator), column) ?? ''}`;
    }
    lines.set(own, rest);
  };
  const { bad } = readCsv(text, onRow);
  at.said = '';
  for (const { line, text: problem } of bad) refuse({ ...at, line }, `${problem}; close it.`);
  if (isHead && bad.length === 0) refuse(at, 'The file is empty; begin with a line that names the columns.');
  return place.faults.length > before ? null : textOf(columns, lines);
}

function cellValue(place: Place, cell: string, { definition }: Column, separator: string): Json {
  if (cell === '') return null;
  if (definition.type !== 'number') return cell;
  let isPlain = true;
  const value = scalarOf(cell, separator, (why) => {
    isPlain = false;
    refuse(place, `${why}.`);
  });
  return isPlain ? value : null;
}

const tableKeys = { required: ['description', 'key', 'columns'], optional: ['$schema', 'owner', 'rows', 'refresh'] };

/** `checked`: the very same text has passed, so that its rows are not looked at again. */
export function readValueTable(place: Place, value: Json, beside: RowsFile | null, checked = false): ValueTable | null {
  const name = tablePath.exec(place.file)?.[1];
  if (name === undefined)
    return refuse(place, 'A value table is named like a fact; call the file like "bureau.values.json".');
  const object = readObject(place, value, 'A value table', tableKeys);
  if (object === null) return null;
  const before = place.faults.length;
  readText(within(place, 'description'), object.description!, 'The description', 600);
  if ('owner' in object) readText(within(place, 'owner'), object.owner!, 'The owner', 80);
  if ('refresh' in object) {
    const at = within(place, 'refresh');
    if (object.refresh !== true) refuse(at, `"refresh" is ${shown(object.refresh!)}; write true or remove it.`);
    else if (beside === null)
      refuse(at, `Only rows in a file of their own can be refreshed; move them to ${name}.values.csv beside.`);
  }
  const key = readKey(within(place, 'key'), object.key!);
  const columns = readColumns(within(place, 'columns'), object.columns!, name, key?.fact ?? 'its key');
  if ('rows' in object && beside !== null) {
    return refuse(within(place, 'rows'), `The rows stand in ${beside.place.file} as well; keep one of the two.`);
  }
  if (!('rows' in object) && beside === null) {
    const file = `${name}.values.csv`;
    return refuse(place, `A value table has no rows; write them here under "rows", or beside it in ${file}.`);
  }
  if (key === null || columns === null || place.faults.length > before) return null;
  const text =
    beside === null
      ? readRows(within(place, 'rows'), object.rows!, columns, key)
      : checked
        ? beside.text
        : readRowsFile(beside, columns, key);
  if (text === null) return null;
  const said = canonicalJson({ key: object.key!, columns: object.columns! });
  const hash = createHash('sha256').update(`${said}\n`).update(text).digest('hex');
  return { name, keyFact: key.fact, columns, hash, text };
}

// --- Values ---------------------------------------------------------------------------------------------------------

const [comma, quote] = [44, 34];

type Index = {
  /** Where the row of this key begins; -1: it has none. */
  find: (key: string) => number;
  /** The cell of a column, counted from 0 behind the key. */
  cell: (row: number, column: number) => string;
};

/** Less than 0: the row that begins there stands before the key. As `sort` orders texts. */
function compareKey(text: string, row: number, key: string): number {
  for (let at = 0; at < key.length; at += 1) {
    const code = text.charCodeAt(row + at);
    if (code === comma) return -1;
    const difference = code - key.charCodeAt(at);
    if (difference !== 0) return difference;
  }
  return text.charCodeAt(row + key.length) === comma ? 0 : 1;
}

/**
 * Of a text that `textOf` made. Its rows stand in the order of their keys, so a key is found by halves: whoever writes the keys cannot
 * make a look at them, or their opening, slower than others do, as they could with keys chosen for a hash.
 */
function indexOf(text: string, columnCount: number): Index {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  /** Where rows begin; behind each line break but the last. */
  const rows = new Int32Array(Math.max(0, count - 1));
  /** Whether a key of so many characters has a row. */
  const lengths = new Uint8Array(maxKeyLength + 1);
  let start = text.indexOf('\n') + 1;
  for (let row = 0; row < rows.length; row += 1) {
    rows[row] = start;
    lengths[text.indexOf(',', start) - start] = 1;
    start = text.indexOf('\n', start) + 1;
  }
  const endOfQuoted = (from: number): number => {
    for (let at = from + 1; ; at += 2) {
      at = text.indexOf('"', at);
      if (text.charCodeAt(at + 1) !== quote) return at + 1;
    }
  };
  return {
    find: (key) => {
      if (lengths[key.length] !== 1) return -1;
      for (let [from, to] = [0, rows.length]; from < to; ) {
        const middle = (from + to) >>> 1;
        const order = compareKey(text, rows[middle]!, key);
        if (order === 0) return rows[middle]!;
        if (order < 0) from = middle + 1;
        else to = middle;
      }
      return -1;
    },
    cell: (row, column) => {
      let start = text.indexOf(',', row) + 1;
      for (let before = 0; before < column; before += 1) {
        start = (text.charCodeAt(start) === quote ? endOfQuoted(start) : text.indexOf(',', start)) + 1;
      }
      if (text.charCodeAt(start) === quote) return text.slice(start + 1, endOfQuoted(start) - 1).replaceAll('""', '"');
      return text.slice(start, text.indexOf(column === columnCount - 1 ? '\n' : ',', start));
    },
  };
}

type Row = (facts: Facts) => number;

const [rootLength, companyLength] = [8, 14];
const pseudonymLength = 43;

/** Whether it is digits and capital letters alone; asked for every request. */
function isBare(key: string): boolean {
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    if (code < 48 || code > 90 || (code > 57 && code < 65)) return false;
  }
  return true;
}

/** A company by its whole number, else by its root; as it comes: with dots, without its leading zeros, or as the root alone. */
function employerRow({ find }: Index): Row {
  return (facts) => {
    const key = facts['employer.key'];
    if (typeof key !== 'string') return -1;
    if (key.length === pseudonymLength) return find(key);
    const bare = isBare(key) ? key : key.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
    const whole = bare.padStart(bare.length <= rootLength ? rootLength : companyLength, '0');
    const row = find(whole);
    return row === -1 && whole.length > rootLength ? find(whole.slice(0, rootLength)) : row;
  };
}

/** By the longest code that has a row: subclass, class, group, division. */
function activityRow({ find }: Index): Row {
  return (facts) => {
    const code = facts['employer.activityCode'];
    if (typeof code !== 'number' || !Number.isInteger(code) || code < 1_000) return -1;
    const text = String(code).padStart(code >= 100_000 ? 7 : 5, '0');
    for (const length of [7, 5, 3, 2]) {
      const row = length <= text.length ? find(text.slice(0, length)) : -1;
      if (row !== -1) return row;
    }
    return -1;
  };
}

function rowOf(index: Index, fact: string): Row {
  if (fact === 'employer.key') return employerRow(index);
  if (fact === 'employer.activityCode') return activityRow(index);
  return (facts) => {
    const key = facts[fact];
    if (typeof key === 'string') return index.find(key);
    return typeof key === 'number' && Number.isInteger(key) ? index.find(String(key)) : -1;
  };
}

export type OpenTable = {
  facts: readonly DerivedFact[];
  /** What the table says of these facts, in those of its columns that are named. */
  look: (facts: Facts, columns: ReadonlySet<string>) => TableLook;
};

export function openTable({ name, keyFact, columns, hash, text }: ValueTable): OpenTable {
  const index = indexOf(text, columns.length);
  const row = rowOf(index, keyFact);
  const valueIn = (own: number, column: number): number | string | undefined => {
    if (own === -1) return undefined;
    const cell = index.cell(own, column);
    if (cell === '') return undefined;
    return columns[column]!.definition.type === 'number' ? Number(cell) : cell;
  };
  return {
    facts: columns.map(({ definition }, column): DerivedFact => {
      const fact = definition.name;
      return {
        definition,
        // What a test says itself, also that it is unknown, or a decision has looked up already.
        value: (facts) => (facts[tablesRead] || Object.hasOwn(facts, fact) ? facts[fact] : valueIn(row(facts), column)),
        uses: [keyFact],
        needed: [keyFact],
        reads: [fact],
        lacking: (facts) => [facts[keyFact] === undefined ? keyFact : fact],
        isTotal: false,
        comesFirst: false,
        isSettable: true,
      };
    }),
    look: (facts, used) => {
      const own = row(facts);
      const found: Record<string, number | string> = {};
      for (let column = 0; column < columns.length; column += 1) {
        const { name: called } = columns[column]!;
        const value = used.has(called) ? valueIn(own, column) : undefined;
        if (value !== undefined) found[called] = value;
      }
      return { table: name, hash, key: facts[keyFact] === undefined ? null : clearPart(facts, keyFact), found };
    },
  };
}

/** The facts with what tables gave; no table is asked again. */
export function withLooks(facts: Facts, looks: readonly TableLook[]): Facts {
  if (looks.length === 0) return facts;
  const own: Record<string, FactValue | undefined> & { [tablesRead]?: true } = { ...facts, [tablesRead]: true };
  for (const { table, found } of looks)
    for (const column of Object.keys(found)) own[`${valuesPrefix}${table}.${column}`] = found[column];
  return own;
}
