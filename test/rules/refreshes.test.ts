/** Which set only refreshes another one: new rows of a table that says so, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRefresh } from '../../src/rules/refreshes.ts';
import { compileRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';

const declared = {
  ...{ description: 'Scores', key: 'employer.key', refresh: true },
  columns: { score: { type: 'number', unit: 'points' } },
};
const rule = {
  ...{ name: 'Poor', description: 'Poor score.', owner: 'risk' },
  conditions: { all: [{ fact: 'values.bureau.score', operator: 'lessThan', value: 400 }] },
  event: { type: 'pass', params: { code: 'poor', reason: 'Poor score.' } },
};
const rowsOf = (scores: readonly number[]) =>
  `key,score\n${scores.map((score, index) => `${11_222_333 + index},${score}\n`).join('')}`;

function filesOf(
  scores: readonly number[],
  special: { table?: object; value?: number; rows?: string } = {},
): RuleFile[] {
  const condition = { ...rule.conditions.all[0], value: special.value ?? 400 };
  return [
    { path: 'codes.json', text: '{"codes": {"poor": "Poor score"}}' },
    { path: 'own.json', text: JSON.stringify({ ...rule, conditions: { all: [condition] } }) },
    { path: 'bureau.values.json', text: JSON.stringify({ ...declared, ...special.table }) },
    { path: 'bureau.values.csv', text: special.rows ?? rowsOf(scores) },
  ];
}

function sourceOf(files: readonly RuleFile[]): string {
  const compiled = compileRuleSet(files);
  assert.ok(compiled.kind === 'compiled', JSON.stringify(compiled));
  return compiled.ruleSet.source;
}

const four = [810, 300, 500, 640];
const base = sourceOf(filesOf(four));

test('other rows, more rows, half of the rows: a refresh', () => {
  for (const scores of [
    [811, 300, 500, 640],
    [...four, 700, 701],
    [810, 300],
  ])
    assert.equal(isRefresh(base, sourceOf(filesOf(scores))), true, `${scores}`);
});

test('the same set, fewer rows, another rule or column beside the rows, a table that says nothing of it: none', () => {
  const others: [string, RuleFile[]][] = [
    ['the same', filesOf(four)],
    ['written otherwise', filesOf([], { rows: rowsOf(four).replaceAll(',', ';') })],
    ['one of four rows', filesOf([810])],
    ['no row', filesOf([])],
    ['a rule as well', filesOf([1, 2, 3, 4], { value: 401 })],
    ['a rule alone', filesOf(four, { value: 401 })],
    ['the declaration as well', filesOf([1, 2, 3, 4], { table: { description: 'Other' } })],
    ['no more to be refreshed', filesOf([1, 2, 3, 4], { table: { refresh: undefined } })],
    [
      'a file more',
      [
        ...filesOf([1, 2, 3, 4]),
        { path: 'holidays.json', text: '{"from":"2026-01-01","until":"2026-12-31","holidays":{"2026-12-25":"Natal"}}' },
      ],
    ],
  ];
  for (const [what, files] of others) assert.equal(isRefresh(base, sourceOf(files)), false, what);
  const unsaid = sourceOf(filesOf(four, { table: { refresh: undefined } }));
  assert.equal(isRefresh(unsaid, sourceOf(filesOf([1, 2, 3, 4], { table: { refresh: undefined } }))), false);
  assert.equal(isRefresh(unsaid, sourceOf(filesOf([1, 2, 3, 4]))), false, 'it has to be said before');
});
