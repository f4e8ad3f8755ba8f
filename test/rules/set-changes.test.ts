/** What one set has that another has not, in words a risk team has for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileRuleSet, openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { changesBetween } from '../../src/rules/set-changes.ts';
import { judgeRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { codesFile, compiledFiles, ruleOf } from './sample-request.ts';

const list = (values: readonly string[]): RuleFile => ({
  path: 'lists/blocked.json',
  text: JSON.stringify({ description: 'Fraud.', fact: 'employer.key', values }),
});
const table = (rate: number): RuleFile => ({
  path: 'rates.table.json',
  text: JSON.stringify({
    name: 'Rates',
    description: 'By sector.',
    event: 'limit',
    inputs: ['employer.sector'],
    outputs: ['maxRatePercent'],
    rows: [{ when: ['public'], set: [rate] }],
  }),
});
const rules = (path: string, ...all: object[]): RuleFile => ({ path, text: JSON.stringify({ rules: all }) });
const sourceOf = (...files: RuleFile[]) => compiledFiles([codesFile, ...files]).source;

test('rules by name, wherever they stand; lists, tables and codes by file', () => {
  const older = ruleOf({ name: 'Older', description: 'd' });
  const before = sourceOf(rules('a.json', ruleOf(), older), list(['12345678']), table(1.5));
  assert.deepEqual(
    changesBetween(before, sourceOf(rules('b.json', older, ruleOf()), list(['12345678']), table(1.5))),
    [],
  );
  const after = sourceOf(rules('a.json', ruleOf({ priority: 4 }), ruleOf({ name: 'New' })), table(1.6));
  assert.deepEqual(changesBetween(before, after), [
    { what: 'rule', name: 'Adults', change: 'changed' },
    { what: 'rule', name: 'New', change: 'added' },
    { what: 'table', name: 'rates', change: 'changed' },
    { what: 'rule', name: 'Older', change: 'removed' },
    { what: 'list', name: 'blocked', change: 'removed' },
  ]);
  const names = changesBetween(null, before).map(({ what, change }) => `${change} ${what}`);
  assert.deepEqual(names.sort(), ['added codes', 'added list', 'added rule', 'added rule', 'added table']);
});

test('a set opened as checked is the same set, without its tests', () => {
  const { source, hash, rules: all } = compiledFiles([codesFile, rules('a.json', ruleOf())]);
  const opened = openRuleSet(source, true);
  assert.ok(opened.kind === 'compiled');
  assert.deepEqual([opened.ruleSet.hash, opened.ruleSet.source, opened.ruleSet.rules], [hash, source, all]);
});

test('the check refuses faults, failing tests and too few of them, each in its words', () => {
  const tested = (expect: object): RuleFile => ({
    path: 'a.test.json',
    text: JSON.stringify({
      base: { 'worker.ageYears': 30 },
      tests: [
        { name: 'grown', facts: {}, expect },
        { name: 'child', facts: { 'worker.ageYears': 10 }, expect: { pass: 'too-young' } },
        { name: 'unknown', facts: { 'worker.ageYears': null }, expect: { pass: 'fact-missing:worker.ageYears' } },
      ],
    }),
  });
  const files = [codesFile, rules('a.json', ruleOf())];
  const good = judgeRules([...files, tested({ pass: null })], 100);
  assert.deepEqual([good.kind, reasonsAgainst(good)], ['good', []]);
  const failing = judgeRules([...files, tested({ pass: 'too-young' })], 100);
  assert.match(reasonsAgainst(failing)[0]!, /^a\.test\.json\/tests\/0 "grown": pass: expected "too-young", got null$/);
  const untested = judgeRules(files, 100);
  assert.equal(untested.kind, 'tests-failed');
  assert.match(
    reasonsAgainst(untested).join('\n'),
    /show 0\.0 % of the rules[\s\S]*"Adults": never true, false, unknown/,
  );
  assert.equal(judgeRules(files, 0).kind, 'good');
  const broken = judgeRules([...files, { path: 'b.json', text: '{' }], 100);
  assert.equal(broken.kind, 'refused');
  assert.match(reasonsAgainst(broken)[0]!, /^b\.json:1/);
  assert.equal(compileRuleSet([...files, { path: 'b.json', text: '{' }]).kind, 'refused');
});
