/**
 * A sheet of an .xlsx workbook as the rows that a CSV file would give. What shows one thing to people and is another one to a program is
 * refused: 1,99 % is stored as 0.0199, merged cells are empty but for one, and hidden rows are rows.
 */
import { statSync } from 'node:fs';
import type { CellObject, SSF as Formats, WorkSheet } from '@e965/xlsx';
import { Fault } from '../errors.ts';
import { readRegularBytes } from '../regular-files.ts';
import type { BadLine, Cells, CsvRow } from '../rules/csv.ts';
import type { CommandWorld } from './world.ts';

const maxBytes = 20_000_000;
/** Of a ZIP archive, which an .xlsx file is. */
const zipMark = 'PK\u0003\u0004';

/** Numbers are written with a dot, as in a CSV file with commas. */
const separator = ',';

export function isSpreadsheet(path: string): boolean {
  return path.toLowerCase().endsWith('.xlsx');
}

function bytesOf({ format }: CommandWorld, path: string, what: string): Buffer {
  try {
    const { size } = statSync(path);
    if (size > maxBytes) throw new Fault('not-allowed', format.texts.rules.sheetTooLong(path, maxBytes / 1_000_000));
    return readRegularBytes(path);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    throw new Fault('not-found', format.texts.rules.unreadable(path, code, what), cause);
  }
}

const refused = (text: string): Cells => ({ rows: [], bad: [{ line: 1, text }], separator });

/** `sheet` null: the workbook has one. Throws `not-found` where the file cannot be read. */
export async function readSpreadsheet(
  world: CommandWorld,
  path: string,
  sheet: string | null,
  what: string,
): Promise<Cells> {
  const bytes = bytesOf(world, path, what);
  if (bytes.toString('latin1', 0, 4) !== zipMark) return refused('this is no .xlsx workbook');
  const { read, SSF } = await import('@e965/xlsx');
  let book: ReturnType<typeof read>;
  try {
    book = read(bytes, { dense: true, cellNF: true, cellStyles: true, cellText: false, cellHTML: false });
  } catch {
    return refused('this is no .xlsx workbook');
  }
  const told = book.Workbook?.Sheets ?? [];
  const seen = book.SheetNames.filter((_, index) => !told[index]?.Hidden);
  const names = seen.map((name) => `"${name}"`).join(', ');
  if (sheet === null && seen.length !== 1)
    return refused(`the workbook has ${seen.length} sheets (${names}); name one with --sheet`);
  const own = book.Sheets[sheet ?? seen[0]!];
  if (own === undefined) return refused(`there is no sheet "${sheet}"; there are: ${names}`);
  return cellsOf(own, SSF, book.Workbook?.WBProps?.date1904 === true);
}

type Wrong = (text: string) => string;

/** What stands in the cell, as a CSV file would have it. */
function cellText(cell: CellObject | undefined, formats: typeof Formats, date1904: boolean, wrong: Wrong): string {
  if (cell === undefined) return '';
  const { t: type, v: value, f: formula, z: shownAs } = cell;
  if (type === 'e') return wrong('the cell holds an error; mend it');
  if (value === undefined || value === null || type === 'z')
    return formula === undefined ? '' : wrong('the formula has no value; save the file in the spreadsheet program');
  if (typeof value !== 'number') return String(value).trim();
  const pattern = typeof shownAs === 'string' ? shownAs : '';
  if (pattern.includes('%'))
    return wrong('the cell is formatted as percent; write 1.99 for 1.99 %, and 0.9 for a share of 90 %, as a number');
  if (!formats.is_date(pattern)) return String(value);
  const { y, m, d } = formats.parse_date_code(value, { date1904 }) as { y: number; m: number; d: number };
  if (!Number.isInteger(value)) return wrong('the cell holds a time of day; write the day alone');
  return `${y}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`;
}

function cellsOf(sheet: WorkSheet, formats: typeof Formats, date1904: boolean): Cells {
  const data = (sheet['!data'] ?? []) as (readonly (CellObject | undefined)[] | undefined)[];
  const bad: BadLine[] = [];
  const merged = new Set<string>();
  for (const { s, e } of sheet['!merges'] ?? [])
    for (let row = s.r; row <= Math.min(e.r, data.length - 1); row += 1)
      for (let column = s.c; column <= e.c; column += 1) merged.add(`${row}/${column}`);
  const width = Math.max(
    0,
    ...(data[firstFilled(data)] ?? []).map((cell, index) => (cell?.v === undefined ? 0 : index + 1)),
  );
  for (let column = 0; column < width; column += 1)
    if (sheet['!cols']?.[column]?.hidden === true)
      bad.push({ line: 1, text: `column ${column + 1} is hidden; show it or remove it` });
  const rows: CsvRow[] = [];
  for (let row = 0; row < data.length; row += 1) {
    const own = data[row] ?? [];
    const faults: BadLine[] = [];
    const cells: string[] = [];
    for (let column = 0; column < Math.max(width, own.length); column += 1) {
      const wrong = (text: string) => {
        faults.push({ line: row + 1, text: `column ${column + 1}: ${text}` });
        return '?';
      };
      const isMerged = merged.has(`${row}/${column}`);
      const text = cellText(own[column], formats, date1904, wrong);
      cells.push(isMerged ? wrong('the cell is one of several merged ones; split them and fill each') : text);
    }
    while (cells.length > width && cells.at(-1) === '') cells.pop();
    if (cells.every((cell) => cell === '')) continue;
    if (sheet['!rows']?.[row]?.hidden === true)
      faults.push({ line: row + 1, text: 'the row is hidden; show it or remove it' });
    bad.push(...faults);
    // The first names the columns: without it every row would be wrong.
    if (faults.length === 0 || rows.length === 0) rows.push({ line: row + 1, cells });
  }
  return { rows, bad, separator };
}

function firstFilled(data: readonly (readonly (CellObject | undefined)[] | undefined)[]): number {
  return data.findIndex((row) => row?.some((cell) => cell?.v !== undefined));
}
