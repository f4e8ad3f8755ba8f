/** CSV as spreadsheets write it (RFC 4180, with comma or semicolon), made into lists and decision tables of a rule set. */
import type { Json, JsonObject } from './json.ts';

export type CsvRow = { line: number; cells: readonly string[] };
export type BadLine = { line: number; text: string };

function separatorOf(text: string): string {
  const head = text.slice(0, text.search(/[\r\n]|$/));
  return head.split(';').length > head.split(',').length ? ';' : ',';
}

/** Rows of a file or a sheet, and what cannot be read of it. `separator`: tells how numbers are written. */
export type Cells = { rows: readonly CsvRow[]; bad: readonly BadLine[]; separator: string };

/** Rows with the line each begins on; blank lines are left out. A quote that is never closed is a bad line. */
export function parseCsv(given: string): Cells {
  const rows: CsvRow[] = [];
  const { bad, separator } = readCsv(given, (row) => void rows.push(row));
  return { rows, bad, separator };
}

/** The same, a row at a time, so that no more than one is held. */
export function readCsv(
  given: string,
  onRow: (row: CsvRow, separator: string) => void,
): { bad: readonly BadLine[]; separator: string } {
  const text = given.startsWith('\uFEFF') ? given.slice(1) : given;
  const separator = separatorOf(text);
  let line = 1;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const raw = text.slice(at, end);
    const begunOn = line;
    let cells: string[];
    if (raw.includes('"')) {
      const quoted = readQuoted(text, at, line, separator);
      if (quoted.openedOn !== null) {
        return { bad: [{ line: quoted.openedOn, text: 'a quote is opened here and never closed' }], separator };
      }
      ({ cells, next: at, line } = quoted);
    } else {
      cells = raw
        .replaceAll('\r', '')
        .split(separator)
        .map((cell) => cell.trim());
      at = end + 1;
      line += 1;
    }
    if (cells.some((cell) => cell !== '')) onRow({ line: begunOn, cells }, separator);
  }
  return { bad: [], separator };
}

type QuotedRow = { cells: string[]; next: number; line: number; openedOn: number | null };

/** A row that quotes stand in, and so may go on over several lines. */
function readQuoted(text: string, from: number, begunOn: number, separator: string): QuotedRow {
  const cells: string[] = [];
  let cell = '';
  /** Whether `cell` holds nothing but blanks; asked of the text itself it would be read again for each character. */
  let blank = true;
  let quotedFrom: number | null = null;
  let line = begunOn;
  const add = (character: string) => {
    cell += character;
    blank &&= character.trim() === '';
  };
  const endCell = () => {
    cells.push(cell.trim());
    cell = '';
    blank = true;
  };
  for (let index = from; index < text.length; index += 1) {
    const character = text[index]!;
    if (character === '\n') line += 1;
    if (quotedFrom !== null) {
      if (character !== '"') add(character);
      else if (text[index + 1] === '"') {
        add('"');
        index += 1;
      } else quotedFrom = null;
    } else if (character === '"' && blank) {
      cell = '';
      quotedFrom = line;
    } else if (character === separator) endCell();
    else if (character === '\n') {
      endCell();
      return { cells, next: index + 1, line, openedOn: null };
    } else if (character !== '\r') add(character);
  }
  endCell();
  return { cells, next: text.length, line, openedOn: quotedFrom };
}

function bare(): JsonObject {
  return Object.create(null);
}

const numberShape = /^-?\d+(\.\d+)?$/;
/** Thousands in groups of three, and perhaps a fraction. */
const grouped = {
  '.': /^(-?)([1-9]\d{0,2}(?:\.\d{3})+)(?:,(\d+))?$/,
  ',': /^(-?)([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d+))?$/,
};

type Refuse = (text: string) => void;

/**
 * What to write instead of a number that can be read in two ways: `20.000` is twenty to one reader and twenty thousand to another.
 * Null: it can be read in one. One group behind the decimal sign of the file is a fraction, unless it ends with a zero that
 * nobody needs.
 */
function plainly(cell: string, decimal: '.' | ','): string | null {
  for (const mark of ['.', ','] as const) {
    const [, sign, groups, fraction] = grouped[mark].exec(cell) ?? [];
    if (sign === undefined || groups === undefined) continue;
    const parts = groups.split(mark);
    const isFraction = parts.length === 2 && fraction === undefined;
    if (isFraction && mark === decimal && !cell.endsWith('0')) return null;
    const whole = sign + parts.join('');
    if (fraction !== undefined) return `${whole}${decimal}${fraction}`;
    const small = String(Number(`${sign}${parts.join('.')}`)).replace('.', decimal);
    return isFraction ? `${whole} or ${small}` : whole;
  }
  return null;
}

/** A comma is the decimal sign where semicolons separate the cells, else a dot is. */
export function scalarOf(cell: string, separator: string, refuse: Refuse): Json {
  if (cell === 'true' || cell === 'false') return cell === 'true';
  const plain = plainly(cell, separator === ';' ? ',' : '.');
  if (plain?.includes(' or ')) refuse(`"${cell}" can be read in two ways; write ${plain}, without signs for thousands`);
  else if (plain !== null) refuse(`"${cell}" cannot be read; write ${plain} without signs for thousands`);
  const number = separator === ';' ? cell.replace(',', '.') : cell;
  return numberShape.test(number) ? Number(number) : cell;
}

/** Nothing: any; `a|b`: one of these; `12..36`, `..12`, `36..`: from the first, below the second. */
function inputOf(cell: string, separator: string, refuse: Refuse): Json {
  if (cell === '') return null;
  const range = /^([^.|]*(?:\.\d+)?)\.\.([^|]*)$/.exec(cell);
  if (range !== null) {
    const bounds = bare();
    if (range[1] !== '') bounds.from = scalarOf(range[1]!, separator, refuse);
    if (range[2] !== '') bounds.below = scalarOf(range[2]!, separator, refuse);
    return bounds;
  }
  if (!cell.includes('|')) return scalarOf(cell, separator, refuse);
  return cell.split('|').map((part) => scalarOf(part.trim(), separator, refuse));
}

export type Imported = {
  /** The file's content, without its name and description. */
  columns: JsonObject;
  /** The line that each row or value came from. */
  lines: readonly number[];
  bad: readonly BadLine[];
};

const columnShape = /^(when|set) (.+)$/;

/** The first row names the columns: `when <fact>` and `set <parameter>`. */
export function tableFromCells({ rows, bad, separator }: Cells): Imported {
  const [head, ...body] = rows;
  const faults: BadLine[] = [...bad];
  const columns = (head?.cells ?? []).map((cell) => columnShape.exec(cell));
  if (head === undefined) faults.push({ line: 1, text: 'the file is empty; begin with a line that names the columns' });
  for (const [index, column] of columns.entries()) {
    if (column !== null) continue;
    const text = `column ${index + 1} is called "${head!.cells[index]}"; write "when <fact>" or "set <parameter>"`;
    faults.push({ line: head!.line, text });
  }
  const made: Json[] = [];
  const lines: number[] = [];
  for (const { line, cells } of body) {
    if (cells.length !== columns.length) {
      faults.push({ line, text: `${cells.length} cells where the first line names ${columns.length} columns` });
      continue;
    }
    const row = bare();
    const of = (kind: string, read: (cell: string, refuse: Refuse) => Json) =>
      cells.flatMap((cell, index) =>
        columns[index]?.[1] === kind
          ? [read(cell, (text) => faults.push({ line, text: `column ${index + 1}: ${text}` }))]
          : [],
      );
    row.when = of('when', (cell, refuse) => inputOf(cell, separator, refuse));
    row.set = of('set', (cell, refuse) => (cell === '' ? null : scalarOf(cell, separator, refuse)));
    made.push(row);
    lines.push(line);
  }
  const named = (kind: string) => columns.flatMap((column) => (column?.[1] === kind ? [column[2]!] : []));
  const content = bare();
  content.inputs = named('when');
  content.outputs = named('set');
  content.rows = made;
  return { columns: content, lines, bad: faults };
}

/** `read` makes a value of a list from a cell, or says what is wrong with it. The first row is a heading if nothing in it can be read. */
export function listFromCells(
  { rows, bad }: Cells,
  read: (cell: string) => { kind: 'value'; value: string } | { kind: 'wrong'; text: string },
): Imported {
  const faults: BadLine[] = [...bad];
  const values: string[] = [];
  const lines: number[] = [];
  const firstLines = new Map<string, number>();
  for (const [index, { line, cells }] of rows.entries()) {
    const result = read(cells[0] ?? '');
    if (result.kind === 'wrong') {
      // A heading has letters and no digits; anything else in the first line is a mistake to be told.
      if (index > 0 || !/^\p{L}[\p{L} _.-]*$/u.test(cells[0] ?? '')) faults.push({ line, text: result.text });
      continue;
    }
    const before = firstLines.get(result.value);
    if (before === undefined) {
      firstLines.set(result.value, line);
      values.push(result.value);
      lines.push(line);
    } else faults.push({ line, text: `the same as line ${before}` });
  }
  if (rows.length === 0) faults.push({ line: 1, text: 'the file is empty' });
  const content = bare();
  content.values = values;
  return { columns: content, lines, bad: faults };
}
