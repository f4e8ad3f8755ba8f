/** Figures and plots as people read them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFormat } from '../../src/cli/format.ts';
import { languageOf } from '../../src/cli/texts.ts';
import { plotText } from '../../src/cli/value-plot.ts';

const pt = createFormat('pt');
const en = createFormat('en');

test('money, rates and times follow the language', () => {
  assert.equal(pt.money(123_456), 'R$ 1.234,56');
  assert.equal(pt.money(-5), '-R$ 0,05');
  assert.equal(pt.money(123_456_789_00), 'R$ 123.456.789,00');
  assert.equal(en.money(123_456), 'R$ 1,234.56');
  assert.equal(pt.rate(332), '3,32 % a.m.');
  assert.equal(en.rate(332), '3.32 % a month');
  assert.equal(pt.share(0.617), '61,7 %');
  assert.equal(pt.number(-0.001, 2), '0,00');
  // 2026-06-19T02:30:00Z is the evening before in São Paulo.
  assert.equal(pt.time(Date.UTC(2026, 5, 19, 2, 30, 0, 7)), '18/06/2026 23:30:00,007 -03');
  assert.equal(en.time(Date.UTC(2026, 5, 19, 2, 30)), '2026-06-18 23:30:00.000 -03');
  assert.equal(pt.minute(Date.UTC(2026, 5, 19, 2, 30)), '18/06/2026 23:30 -03');
  // In 2018 there was summer time.
  assert.equal(en.minute(Date.UTC(2018, 11, 19, 2, 30)), '2018-12-19 00:30 -02');
  assert.equal(pt.time(null), '–');
  const said = 'none ran after 2026-06-19T02:30:00.007Z (x); until 2026-06-19T02:31:00Z';
  assert.equal(
    pt.localTimes(said),
    'none ran after 18/06/2026 23:30:00,007 -03 (x); until 18/06/2026 23:31:00,000 -03',
    'one clock on one screen',
  );
});

test('money keeps every cent', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (cents) => {
      const digits = pt.money(cents).replace(/[^\d-]/g, '');
      assert.equal(Number(digits), cents);
    }),
  );
});

test('the language is that of the option, else of the environment, else Portuguese', () => {
  assert.equal(languageOf(['bids', 'list'], {}), 'pt');
  assert.equal(languageOf(['bids', '--lang', 'en'], { LANCE_LANG: 'pt' }), 'en');
  assert.equal(languageOf(['bids', '--lang=en'], {}), 'en');
  assert.equal(languageOf([], { LANCE_LANG: 'en_US.UTF-8' }), 'en');
  assert.equal(languageOf([], { LANCE_LANG: 'pt-BR' }), 'pt');
});

test('a plot is as wide and high as asked for, highest where the values are', () => {
  const points = Array.from({ length: 200 }, (_, index) => ({
    x: 100 + index,
    y: 50 - Math.abs(index - 60),
    forbidden: index < 10,
  }));
  const lines = plotText(points, { width: 50, height: 4, mark: 160, label: String, top: String });
  assert.equal(lines.length, 7);
  const cells = lines.slice(0, 4).map((line) => [...line.slice(line.indexOf('│') + 1)]);
  for (const row of cells) assert.equal(row.length, 50);
  assert.equal(cells[0]![15], '█', 'the column of the mark is the highest');
  assert.equal(cells[0]![2], ' ');
  assert.equal(cells[0]![40], ' ');
  assert.equal(lines[5]!.indexOf('▲') - lines[3]!.indexOf('│') - 1, 15);
  assert.deepEqual(cells[3]!.slice(0, 2), ['·', '·'], 'forbidden points are dots');
  assert.equal(cells[3]!.at(-1), ' ', 'what is not above zero is empty');
});
