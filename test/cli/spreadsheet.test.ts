/** Lists and tables from .xlsx workbooks: read as people see them, or refused where a program would see something else. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { utils, type WorkSheet, write } from '@e965/xlsx';
import { createFormat } from '../../src/cli/format.ts';
import { ruleFaultPt } from '../../src/cli/rule-fault-texts-pt.ts';
import { readSpreadsheet } from '../../src/cli/spreadsheet.ts';
import type { CommandWorld } from '../../src/cli/world.ts';
import { parseCsv, tableFromCells } from '../../src/rules/csv.ts';
import { lance } from './desk.ts';

const root = mkdtempSync(join(tmpdir(), 'lance-spreadsheet-'));
after(() => rmSync(root, { recursive: true, force: true }));
const shipped = new URL('../../rules/', import.meta.url).pathname;
const english = { LANCE_LANG: 'en' };
const world = { format: createFormat('en') } as CommandWorld;

let count = 0;
/** A workbook of these sheets, as a file. */
function workbook(
  sheets: Readonly<Record<string, WorkSheet>>,
  special: { hidden?: string[]; date1904?: boolean } = {},
): string {
  const book = utils.book_new();
  for (const [name, sheet] of Object.entries(sheets)) utils.book_append_sheet(book, sheet, name);
  const states = Object.keys(sheets).map((name) => ({
    Hidden: special.hidden?.includes(name) ? (1 as const) : (0 as const),
  }));
  book.Workbook = { ...book.Workbook, Sheets: states, WBProps: { date1904: special.date1904 === true } };
  count += 1;
  const path = join(root, `book-${count}.xlsx`);
  writeFileSync(path, write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer);
  return path;
}

const head = ['when employer.sector', 'when worker.tenureMonths', 'set maxRatePercent'];
const rates = (change: (sheet: WorkSheet) => void = () => undefined): WorkSheet => {
  const sheet = utils.aoa_to_sheet([
    head,
    ['public', null, 1.5],
    [],
    ['commerce|industry', '..12', 2.5],
    ['commerce', '12..', 1.1],
  ]);
  change(sheet);
  return sheet;
};
const read = (path: string, sheet: string | null = null) => readSpreadsheet(world, path, sheet, 'a table');

test('a sheet gives the rows that the same table gives as CSV, on the lines of the sheet', async () => {
  const cells = await read(workbook({ Rates: rates() }));
  const csv = `${head.join(',')}\npublic,,1.5\n\ncommerce|industry,..12,2.5\ncommerce,12..,1.1\n`;
  assert.deepEqual(cells, parseCsv(csv));
  assert.deepEqual(tableFromCells(cells), tableFromCells(parseCsv(csv)));
  assert.deepEqual(
    cells.rows.map(({ line }) => line),
    [1, 2, 4, 5],
  );
});

test('numbers come as they are stored, days as days, in either calendar of a spreadsheet', async () => {
  const days = utils.aoa_to_sheet([
    ['a', 'b', 'c'],
    [0.1 + 0.2, true, 11_222_333_000_181],
  ]);
  const [a1, a2] = [utils.aoa_to_sheet([['day'], [46_346]]), utils.aoa_to_sheet([['day'], [46_346 - 1_462]])];
  for (const sheet of [a1, a2]) sheet.A2.z = 'dd/mm/yyyy';
  assert.deepEqual((await read(workbook({ days }))).rows[1]!.cells, [String(0.1 + 0.2), 'true', '11222333000181']);
  assert.deepEqual((await read(workbook({ a1 }))).rows[1]!.cells, ['2026-11-20']);
  assert.deepEqual((await read(workbook({ a2 }, { date1904: true }))).rows[1]!.cells, ['2026-11-20']);
});

const wrongs: [what: string, (sheet: WorkSheet) => void, line: number, RegExp][] = [
  [
    'percent',
    (sheet) => Object.assign(sheet.C2, { v: 0.015, z: '0.00%' }),
    2,
    /column 3: .*formatted as percent; write 1\.99/,
  ],
  [
    'an error',
    (sheet) => Object.assign(sheet.C2, { t: 'e', v: 0x17, w: '#REF!' }),
    2,
    /column 3: the cell holds an error/,
  ],
  [
    'a formula without its value',
    (sheet) => Object.assign(sheet, { C2: { t: 'z', f: 'A1+1' } }),
    2,
    /column 3: the formula has no value/,
  ],
  [
    'merged cells',
    (sheet) => Object.assign(sheet, { '!merges': [{ s: { r: 3, c: 0 }, e: { r: 4, c: 0 } }] }),
    4,
    /column 1: .*merged/,
  ],
  ['a hidden row', (sheet) => Object.assign(sheet, { '!rows': [{}, { hidden: true }] }), 2, /the row is hidden/],
  ['a hidden column', (sheet) => Object.assign(sheet, { '!cols': [{}, { hidden: true }] }), 1, /column 2 is hidden/],
  [
    'a time of day',
    (sheet) => Object.assign(sheet.C2, { v: 46_346.5, z: 'dd/mm/yyyy hh:mm' }),
    2,
    /column 3: .*time of day/,
  ],
];

for (const [what, change, line, text] of wrongs) {
  test(`${what}: refused with its place, in both languages, and the row is not read`, async () => {
    const { bad, rows } = await read(workbook({ Rates: rates(change) }));
    assert.ok(bad.length > 0, 'nothing was refused');
    assert.equal(bad[0]!.line, line);
    assert.match(bad[0]!.text, text);
    if (line > 1) assert.ok(!rows.some((row) => row.line === line));
    for (const { text: said } of bad) {
      assert.doesNotMatch(ruleFaultPt(said), /\b(?:the|is|cell|column|row|write|hidden)\b/, said);
    }
  });
}

test('a workbook of several sheets wants one named; one that nobody sees does not count; what is no workbook is refused', async () => {
  const two = workbook({ Rates: rates(), Notes: utils.aoa_to_sheet([['x']]) });
  assert.match((await read(two)).bad[0]!.text, /has 2 sheets \("Rates", "Notes"\); name one with --sheet/);
  assert.match((await read(two, 'Ratios')).bad[0]!.text, /no sheet "Ratios"; there are: "Rates", "Notes"/);
  assert.equal((await read(two, 'Rates')).rows.length, 4);
  const veiled = workbook({ Rates: rates(), Notes: utils.aoa_to_sheet([['x']]) }, { hidden: ['Notes'] });
  assert.equal((await read(veiled)).rows.length, 4);
  for (const bytes of ['a;b\n1;2\n', 'PK\u0003\u0004 and no archive', '']) {
    const path = join(root, 'none.xlsx');
    writeFileSync(path, bytes);
    assert.deepEqual((await read(path)).bad, [{ line: 1, text: 'this is no .xlsx workbook' }], bytes);
  }
  await assert.rejects(read(join(root, 'nowhere.xlsx')), /cannot be read \(ENOENT\); give the path of: a table/);
});

test('rules import takes a workbook for a table and a list, and writes nothing while a row is bad', async () => {
  const directory = join(root, 'rules');
  cpSync(shipped, directory, { recursive: true });
  const words = [
    '--table',
    'rates',
    '--event',
    'limit',
    '--title',
    'Rates',
    '--description',
    'By sector.',
    '--dir',
    directory,
  ];
  const percent = workbook({ Rates: rates((sheet) => Object.assign(sheet.C2, { v: 0.015, z: '0.00%' })) });
  const bad = await lance(english, 'rules', 'import', percent, ...words);
  assert.equal(bad.code, 65);
  assert.match(bad.stderr, /book-\d+\.xlsx:2: column 3: the cell is formatted as percent/);
  assert.ok(!existsSync(join(directory, 'rates.table.json')));
  const outside = workbook({ Rates: rates((sheet) => Object.assign(sheet.C4, { v: 250 })) });
  assert.match((await lance(english, 'rules', 'import', outside, ...words)).stderr, /xlsx:4: maxRatePercent is 250/);
  const good = await lance(english, 'rules', 'import', workbook({ Rates: rates() }), ...words);
  assert.equal(good.code, 0, good.stderr);
  assert.deepEqual(JSON.parse(readFileSync(join(directory, 'rates.table.json'), 'utf8')).rows, [
    { when: ['public', null], set: [1.5] },
    { when: [['commerce', 'industry'], { below: 12 }], set: [2.5] },
    { when: ['commerce', { from: 12 }], set: [1.1] },
  ]);
  const list = workbook({
    Notes: utils.aoa_to_sheet([['x']]),
    Blocked: utils.aoa_to_sheet([
      ['CNPJ', 'why'],
      [11_222_333_000_181, 'late'],
      ['44.555.666', 'late'],
    ]),
  });
  const ofList = ['--list', 'blocked', '--fact', 'employer.key', '--description', 'Late.', '--dir', directory];
  const listed = await lance(english, 'rules', 'import', list, '--sheet', 'Blocked', ...ofList);
  assert.equal(listed.code, 0, listed.stderr);
  const { values } = JSON.parse(readFileSync(join(directory, 'lists', 'blocked.json'), 'utf8'));
  assert.deepEqual(values, ['11222333000181', '44555666']);
});
