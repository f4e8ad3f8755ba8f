/** Numbers in cells: read in the one way that is stated, or refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCsv, tableFromCells } from '../../src/rules/csv.ts';

function read(cell: string, separator: ',' | ';') {
  const quoted = `"${cell}"`;
  const { columns, bad } = tableFromCells(parseCsv(`when a${separator}set b\nx${separator}${quoted}\n`));
  const [row] = columns.rows as { set: unknown[] }[];
  return bad.length > 0 ? bad.map(({ line, text }) => `${line} ${text}`) : row!.set[0];
}

const remedyIn = (cell: string, separator: ',' | ';') => {
  const told = read(cell, separator);
  return Array.isArray(told) ? /write (.*?),? without/.exec(told[0] as string)?.[1] : told;
};

test('a number that can be read in two ways is refused, with what to write (issue 20, line 2)', () => {
  const refused: [cell: string, separator: ',' | ';', remedy: string][] = [
    ['20.000', ';', '20000 or 20'],
    ['2.125', ';', '2125 or 2,125'],
    ['1.234,56', ';', '1234,56'],
    ['1.234.567', ';', '1234567'],
    ['20,000', ';', '20000 or 20'],
    ['1,234.5', ';', '1234,5'],
    ['20.000', ',', '20000 or 20'],
    ['20,000', ',', '20000 or 20'],
    ['2,125', ',', '2125 or 2.125'],
    ['-1.234,5', ',', '-1234.5'],
    ['1,234,567.25', ',', '1234567.25'],
  ];
  for (const [cell, separator, remedy] of refused) {
    assert.equal(remedyIn(cell, separator), remedy, `${cell} between ${separator}`);
    // What it tells to write is taken.
    for (const written of remedy.split(' or ')) assert.equal(typeof read(written, separator), 'number', written);
  }
});

test('other numbers are read as the separator of the file says', () => {
  const numbers: [cell: string, separator: ',' | ';', value: unknown][] = [
    ['2,5', ';', 2.5],
    ['2.5', ';', 2.5],
    ['2,125', ';', 2.125],
    ['0.125', ';', 0.125],
    ['0,250', ';', 0.25],
    ['20000', ';', 20_000],
    ['2.125', ',', 2.125],
    ['1.99', ',', 1.99],
    ['0.250', ',', 0.25],
    ['-0.5', ',', -0.5],
    ['12345.678', ',', 12345.678],
    ['004711', ',', 4_711],
    ['4711-3/02', ';', '4711-3/02'],
  ];
  for (const [cell, separator, value] of numbers) assert.equal(read(cell, separator), value, cell);
});

test('ranges and choices are looked through as well', () => {
  const { bad } = tableFromCells(parseCsv('when a;set b\n1.000..2.000;1\n5|6.000;1\n'));
  assert.deepEqual(
    bad.map(({ line, text }) => [line, /^column 1: "([^"]*)"/.exec(text)?.[1]]),
    [
      [2, '1.000'],
      [2, '2.000'],
      [3, '6.000'],
    ],
  );
});
