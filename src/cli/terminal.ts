/** What the command line writes: tables and progress for people, one JSON object a line for machines. */
import { printable } from '../domain/printable.ts';

/** All that the command line writes to its two outputs goes through here. */
export function writePrintable(stream: NodeJS.WriteStream, text: string): void {
  stream.write(printable(text));
}

/** Sentences for people, such as a refusal: broken at the width of the terminal; a pipe or a file gets each as one line. */
export function writeProse(stream: NodeJS.WriteStream, text: string): void {
  writePrintable(stream, `${proseText(text, widthOf(stream))}\n`);
}

export type Terminal = {
  /** Results: stdout. */
  write: (text: string) => void;
  /** Everything else: stderr. */
  say: (text: string) => void;
  interactive: boolean;
};

export function createTerminal(): Terminal {
  // A reader that has seen enough, such as `head`, is no fault.
  process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
    if (fault.code === 'EPIPE') process.exit(0);
    throw fault;
  });
  return {
    write: (text) => writePrintable(process.stdout, `${text}\n`),
    say: (text) => writeProse(process.stderr, text),
    interactive: process.stderr.isTTY === true,
  };
}

/** Columns of the terminal that results go to. */
export function outputWidth(): number {
  return widthOf(process.stdout);
}

/** A pipe or a file has no end of the line, unless `COLUMNS` says where, as under `watch`. A terminal may not say how wide it is. */
function widthOf({ isTTY, columns }: Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>): number {
  const { COLUMNS = '' } = process.env;
  const said = /^[1-9]\d{0,3}$/.test(COLUMNS) ? Number(COLUMNS) : null;
  if (!isTTY && said === null) return Number.POSITIVE_INFINITY;
  return Math.max(narrowest, (isTTY ? columns : said) || usualWidth);
}

const narrowest = 40;
const usualWidth = 80;

/** An amount stands beside its currency, and a percentage beside its sign. */
function wordsOf(text: string): string[] {
  return text.split(/(?<!R\$)\s+(?!%)/).filter((each) => each !== '');
}

/** Within a word: after a hyphen, and between the parts of a code, such as `fact-missing:margin.availableReais`. */
const breaks = /(?<=.-)|(?<=[a-z][:.])(?=[a-z])/gi;

/** Where a word is broken at last so that its beginning fits; null: nowhere. */
function lastBreak(word: string, width: number): number | null {
  let found: number | null = null;
  for (const { index } of word.matchAll(breaks)) if (index > 0 && index <= width) found = index;
  return found;
}

/** Lines of at most `width` characters, broken between words; a word that is longer by itself is broken where it has to be. */
export function wrapText(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const lines: string[] = [];
  let current = '';
  for (const word of wordsOf(text)) {
    if (current !== '' && current.length + 1 + word.length <= width) {
      current = `${current} ${word}`;
      continue;
    }
    if (current !== '') lines.push(current);
    current = word;
    for (; current.length > width; current = current.slice(lines.at(-1)!.length)) {
      lines.push(current.slice(0, lastBreak(current, width) ?? width));
    }
  }
  if (current !== '') lines.push(current);
  return lines;
}

/** Sentences, each line broken between words where it is too long; the further lines stand as the first one does. */
export function proseText(text: string, width: number = outputWidth()): string {
  const broken = (line: string): string[] => {
    const indent = line.slice(0, line.length - line.trimStart().length);
    return wrapText(line.trimStart(), Math.max(leastColumn, width - indent.length)).map((part) => `${indent}${part}`);
  };
  return text.split('\n').flatMap(broken).join('\n');
}

const gaps = ['  ', ' '];
const leastColumn = 8;

export type TableOptions = {
  /** Columns of figures, which stand at their right edge and are never broken. */
  right?: readonly number[];
  /** Columns of ids, which are never broken either. */
  whole?: readonly number[];
  /** Columns that are left out, in this order, where there is no room for them. */
  spare?: readonly number[];
  width?: number;
};

/**
 * Columns as wide as their widest cell. Where that is wider than `width`, texts are broken within their columns; where that does
 * not do, spare columns go, then space between columns; where that does not do either, each row is a paragraph of its own.
 */
export function tableText(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { right = [], whole = [], spare = [], width = outputWidth() }: TableOptions = {},
): string {
  // Within a cell the end of a line would begin a row that nobody wrote.
  const shown = rows.map((row) => header.map((_, column) => printable(row[column] ?? '').replaceAll('\n', '\\n')));
  const all = header.map((_, column) => column);
  for (const gap of gaps) {
    for (let gone = 0; gone <= spare.length; gone += 1) {
      const columns = all.filter((column) => !spare.slice(0, gone).includes(column));
      const table = { lines: [header, ...shown], columns, right, whole };
      const widths = fittedWidths(table, width - gap.length * (columns.length - 1));
      if (widths !== null) return drawnTable(table, widths, gap);
    }
  }
  const paragraphs = shown.map((row) =>
    labelledText(
      header.map((name, column) => [name, row[column] || null]),
      width,
    ),
  );
  return paragraphs.join('\n\n');
}

/** `columns`: those that are shown. */
type Table = { lines: readonly (readonly string[])[]; columns: readonly number[] } & Required<
  Pick<TableOptions, 'right' | 'whole'>
>;

/** The widest columns of text give way first, down to their longest words. Null: that is not enough. */
function fittedWidths({ lines, columns, right, whole }: Table, room: number): ReadonlyMap<number, number> | null {
  // A table may have more cells than a call takes arguments.
  const longest = (column: number, lengthOf: (cell: string) => number) =>
    lines.reduce((most, line) => Math.max(most, lengthOf(line[column]!)), 0);
  const widths = new Map(columns.map((column) => [column, longest(column, (cell) => cell.length)]));
  /** Of figures only the name of the column may be broken. */
  const widthBelow = (column: number) => lines.slice(1).reduce((most, line) => Math.max(most, line[column]!.length), 0);
  if (sum([...widths.values()]) <= room) return widths;
  const least = new Map(
    columns.map((column) => {
      const width = widths.get(column)!;
      if (whole.includes(column)) return [column, width];
      if (right.includes(column)) return [column, Math.max(widthBelow(column), longestWord(lines[0]![column]!))];
      return [column, Math.min(width, Math.max(leastColumn, longest(column, longestWord)))];
    }),
  );
  for (let total = sum([...widths.values()]); total > room; total -= 1) {
    const widest = columns
      .filter((column) => widths.get(column)! > least.get(column)!)
      .reduce<number | null>(
        (best, column) => (best === null || widths.get(column)! > widths.get(best)! ? column : best),
        null,
      );
    if (widest === null) return null;
    widths.set(widest, widths.get(widest)! - 1);
  }
  return widths;
}

/** A word ends at a space, or where it may be broken. */
function longestWord(cell: string): number {
  return wordsOf(cell)
    .flatMap((word) => word.split(breaks))
    .reduce((most, word) => Math.max(most, word.length), 0);
}

function drawnTable({ lines, columns, right }: Table, widths: ReadonlyMap<number, number>, gap: string): string {
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => {
        const width = widths.get(columns[at]!)!;
        return right.includes(columns[at]!) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join(gap)
      .trimEnd();
  const wrapped = (cells: readonly string[]): string[] => {
    const parts = columns.map((column) => wrapText(cells[column]!, widths.get(column)!));
    const height = Math.max(...parts.map((each) => each.length));
    return Array.from({ length: height }, (_, at) => line(parts.map((each) => each[at] ?? '')));
  };
  const rule = line(columns.map((column) => '─'.repeat(widths.get(column)!)));
  const [header, ...rows] = lines;
  return [...wrapped(header!), rule, ...rows.flatMap(wrapped)].join('\n');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Labels and what they label, in two columns; rows without a text are left out. */
export function labelledText(
  rows: readonly (readonly [label: string, text: string | null])[],
  width: number = outputWidth(),
): string {
  const said = rows.flatMap(([label, text]) => (text === null ? [] : [[label, text] as const]));
  const column = Math.max(0, ...said.map(([label]) => label.length)) + 2;
  const lines = (text: string) =>
    text.split('\n').flatMap((line) => wrapText(line, Math.max(leastColumn, width - column)));
  return said
    .map(([label, text]) => `${label.padEnd(column)}${lines(text).join(`\n${' '.repeat(column)}`)}`)
    .join('\n');
}

/** One line that is written over on a terminal; every tenth step as a line of its own elsewhere. */
export function createProgress(
  terminal: Terminal,
  title: string,
): { show: (done: number, of: number, note: string) => void; end: () => void } {
  const width = 28;
  let lastTenth = -1;
  return {
    show: (done, of, note) => {
      const share = of === 0 ? 1 : done / of;
      if (terminal.interactive) {
        const filled = Math.round(share * width);
        const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
        process.stderr.write(`\r\x1b[2K${printable(`${title} ${bar} ${done}/${of} ${note}`)}`);
        return;
      }
      const tenth = Math.floor(share * 10);
      if (tenth === lastTenth) return;
      lastTenth = tenth;
      terminal.say(`${title} ${done}/${of} ${note}`);
    },
    end: () => {
      if (terminal.interactive) process.stderr.write('\n');
    },
  };
}
