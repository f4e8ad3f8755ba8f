/**
 * json-rules-engine gives the format and the meaning; here it is the reference, one run at a time. First each place where
 * it fails open (seen happening, and not happening here), then generated rule sets on which both must agree.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine, type RuleProperties } from 'json-rules-engine';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Facts } from '../../src/rules/facts.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { always, at, compiled, filesOf, ruleOf } from './sample-request.ts';

/** Names of the rules that the library fires, sorted. */
async function firedByLibrary(rules: readonly Record<string, unknown>[], facts: Facts): Promise<string[]> {
  const engine = new Engine([], { allowUndefinedFacts: true });
  for (const { name, conditions, priority } of rules) {
    engine.addRule({ name, conditions, priority, event: { type: 'fired' } } as unknown as RuleProperties);
  }
  const { results } = await engine.run({ 'desk.always': true, ...facts });
  return results.map((result) => result.name).sort();
}

function codes(rules: readonly unknown[], facts: Facts): string[] {
  const ruleSet = compiled(rules);
  return evaluateRequest(ruleSet, { 'desk.always': true, ...facts }, at).passes.map((reason) => reason.code);
}

function isRefused(rule: unknown): boolean {
  return compileRuleSet(filesOf([rule])).kind === 'refused';
}

const on = (fact: string, operator: string, value: unknown, more: object = {}) =>
  ruleOf({ conditions: { all: [{ fact, operator, value, ...more }] } });

test('a missing fact makes its notEqual and notIn fire; here it is unknown', async () => {
  for (const rule of [on('employer.sector', 'notEqual', 'public'), on('employer.sector', 'notIn', ['public'])]) {
    assert.deepEqual(await firedByLibrary([rule], {}), ['Adults']);
    assert.deepEqual(codes([rule], {}), ['fact-missing:employer.sector']);
  }
});

test('a missing fact under "not" makes it fire; here it stays unknown', async () => {
  const rule = ruleOf({ conditions: { not: { fact: 'request.eligible', operator: 'equal', value: true } } });
  assert.deepEqual(await firedByLibrary([rule], {}), ['Adults']);
  assert.deepEqual(codes([rule], {}), ['fact-missing:request.eligible']);
});

test('a missing fact silences its lessThan, so the rule lets pass; here it does not', async () => {
  const rule = on('worker.ageYears', 'lessThan', 18);
  assert.deepEqual(await firedByLibrary([rule], {}), []);
  assert.deepEqual(codes([rule], {}), ['fact-missing:worker.ageYears']);
});

test('its empty any and all fire; here they do not load', async () => {
  for (const conditions of [{ any: [] }, { all: [] }]) {
    assert.deepEqual(await firedByLibrary([ruleOf({ conditions })], {}), ['Adults']);
    assert.ok(isRefused(ruleOf({ conditions })));
  }
});

test('its "10" is greater than 9; here a text is no number', async () => {
  const rule = on('extra.score', 'greaterThan', 9);
  assert.deepEqual(await firedByLibrary([rule], { 'extra.score': '10' }), ['Adults']);
  assert.deepEqual(codes([rule], { 'extra.score': '10' }), ['fact-missing:extra.score']);
  assert.ok(isRefused(on('request.amountReais', 'greaterThan', '9')));
});

test('it takes unknown operators, keys and doubled groups at load; here they are refused', () => {
  const rules = [
    on('worker.ageYears', 'isBelow', 18),
    on('worker.ageYears', 'lessThan', 18, { onMising: 'ignore' }),
    ruleOf({ conditions: { ...always, any: [{ fact: 'worker.ageYears', operator: 'lessThan', value: 18 }] } }),
  ];
  for (const rule of rules) {
    new Engine([], {}).addRule(rule as unknown as RuleProperties);
    assert.ok(isRefused(rule));
  }
});

test('its paths run filters; here only plain keys load', () => {
  for (const path of ['$..[?(@.a.match(/(a+)+$/))]', '$[?(@.x)]', '$..*', '$.a[0]', '', '$', '$.a..b']) {
    assert.ok(isRefused(on('extra', 'equal', 'x', { path })), path);
  }
  assert.ok(!isRefused(on('extra', 'equal', 'x', { path: '$.a.b' })));
});

test('its order at equal priority follows timing; here the order of files changes nothing', () => {
  const rules = ['b', 'a', 'd', 'c'].map((name, index) =>
    ruleOf({
      name,
      event: { type: 'limit', params: { maxRatePercent: 2, maxInstallments: 10 + index } },
      conditions: always,
    }),
  );
  const verdicts = [rules, [...rules].reverse()].map((order) =>
    evaluateRequest(compiled(order), { 'desk.always': true }, at),
  );
  assert.deepEqual(verdicts[0], verdicts[1]);
  assert.deepEqual(verdicts[0]?.fired, ['a', 'b', 'c', 'd']);
  assert.equal(verdicts[0]?.limitRules.maxRateHundredths, 'a');
});

test('its runs share state; here evaluation has none', async () => {
  const rule = on('worker.ageYears', 'lessThan', 18);
  const ruleSet = compiled([rule]);
  const ages = Array.from({ length: 200 }, (_, index) => 10 + (index % 20));
  const passes = await Promise.all(
    ages.map(async (age) => {
      await Promise.resolve();
      return evaluateRequest(ruleSet, { 'worker.ageYears': age }, at).passes.length === 1;
    }),
  );
  assert.deepEqual(
    passes,
    ages.map((age) => age < 18),
  );
});
