/** What tests beside rules have to show, and what nobody can ask of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuleFile } from '../../src/rules/rule-set.ts';
import { judgeRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { at, codesFile, ruleOf } from './sample-request.ts';

const fileOf = (path: string, content: object): RuleFile => ({ path, text: JSON.stringify(content) });
const limit = { type: 'limit', params: { maxRatePercent: 2 } };

function reportOf(files: readonly RuleFile[], now: number | null = at) {
  const verdict = judgeRules([codesFile, ...files], 100, now);
  assert.ok(verdict.kind !== 'refused', JSON.stringify(verdict));
  return { kind: verdict.kind, coverage: verdict.report.coverage, uncovered: verdict.report.uncovered };
}

const good = { kind: 'good', coverage: 1, uncovered: [] };

test('a condition that no value makes false need not be seen false, in a table or in a rule', () => {
  const table = fileOf('rates.table.json', {
    name: 'Rates',
    description: 'By tenure.',
    event: 'limit',
    inputs: ['worker.tenureMonths'],
    outputs: ['maxRatePercent'],
    rows: [
      { when: [{ from: 0, below: 12 }], set: [2] },
      { when: [{ from: 12 }], set: [1.5] },
    ],
  });
  const tests = [6, 24, null].map((tenure) => {
    return { name: `${tenure} months`, facts: { 'worker.tenureMonths': tenure }, expect: { pass: null } };
  });
  assert.deepEqual(reportOf([table, fileOf('rates.test.json', { base: {}, tests })]), good);
  const whole = { fact: 'worker.tenureMonths', operator: 'greaterThanInclusive', value: 0 };
  const rule = fileOf('rules.json', { rules: [ruleOf({ conditions: { all: [whole] }, event: limit })] });
  assert.deepEqual(reportOf([rule, fileOf('rules.test.json', { base: {}, tests: tests.slice(1) })]), good);
  const unseen = reportOf([rule, fileOf('rules.test.json', { base: {}, tests: tests.slice(1, 2) })]);
  assert.deepEqual(
    unseen.uncovered.map(({ missing }) => missing),
    [['unknown'], ['unknown']],
  );
});

test('a condition that some value makes false still has to be seen false', () => {
  const some = { fact: 'worker.tenureMonths', operator: 'greaterThanInclusive', value: 1 };
  const rule = fileOf('rules.json', { rules: [ruleOf({ conditions: { all: [some] }, event: limit })] });
  const tests = [24, null].map((tenure) => {
    return { name: `${tenure} months`, facts: { 'worker.tenureMonths': tenure }, expect: { pass: null } };
  });
  const { uncovered } = reportOf([rule, fileOf('rules.test.json', { base: {}, tests })]);
  assert.deepEqual(
    uncovered.map(({ missing }) => missing),
    [['false'], ['false']],
  );
});

test('a rule has to be shown up to its last day and before its first, and no longer after its last', () => {
  const rule = (validity: Record<string, string>) => fileOf('rules.json', { rules: [ruleOf(validity)] });
  const nothing = { kind: 'tests-failed', coverage: 0 };
  const seen = (validity: Record<string, string>, now: number | null = at) => {
    const { kind, coverage } = reportOf([rule(validity)], now);
    return { kind, coverage };
  };
  assert.deepEqual(reportOf([rule({ validUntil: '2026-11-19' })]), good);
  assert.deepEqual(seen({ validUntil: '2026-11-20' }), nothing);
  assert.deepEqual(seen({ validFrom: '2026-11-21' }), nothing);
  assert.deepEqual(seen({ validUntil: '2026-11-19' }, null), nothing);
  // 02:30 in UTC is still the day before in São Paulo.
  assert.deepEqual(seen({ validUntil: '2026-11-19' }, Date.parse('2026-11-20T02:30:00Z')), nothing);
});

test('a test that fails says so in the words and units of the files', () => {
  const economics = { type: 'economics', params: { contractCostReais: 12.34, fundingAnnualPercent: 13.65 } };
  const params = { maxRatePercent: 1.99, maxAmountReais: 5000, maxInstallments: 24 };
  const rules = [ruleOf({ event: { type: 'limit', params } }), ruleOf({ name: 'Costs', event: economics })];
  const facts = { 'worker.ageYears': 17 };
  const limits = {
    maxRatePercent: 2.01,
    maxAmountReais: 30_000,
    maxInstallments: 36,
    minProfitReais: 10,
    minAmountReais: null,
  };
  const expect = { limits, economics: { contractCostReais: 12, fundingAnnualPercent: 13, spreadTaxPercent: 1 } };
  const verdict = judgeRules(
    [codesFile, fileOf('a.json', rules), fileOf('a.test.json', { tests: [{ name: 'one', facts, expect }] })],
    100,
  );
  assert.equal(verdict.kind, 'tests-failed', JSON.stringify(verdict));
  assert.deepEqual(
    reasonsAgainst(verdict)
      .map((text) => text.replace(/^.* "one": /, ''))
      .sort(),
    [
      'economics.contractCostReais: expected 12, got 12.34',
      'economics.fundingAnnualPercent: expected 13, got 13.65',
      'economics.spreadTaxPercent: expected 1, got null',
      'limits.maxAmountReais: expected 30000, got 5000',
      'limits.maxInstallments: expected 36, got 24',
      'limits.maxRatePercent: expected 2.01, got 1.99',
      'limits.minProfitReais: expected 10, got null',
    ],
  );
});
