/** The smallest change of one fact that lets a request through: found again by trying every value, and for lists by membership. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountRules, nearestClear } from '../../src/rules/account.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';

const at = Date.parse('2026-11-20T12:00:00Z');
const key = (letter: string) => letter.repeat(43);

function ruleSetOf(rules: readonly object[]) {
  const compiled = compileRuleSet([
    { path: 'codes.json', text: JSON.stringify({ codes: { refused: 'Refused.' } }) },
    { path: 'lists/blocked.json', text: JSON.stringify({ description: 'B', fact: 'worker.key', values: [key('a')] }) },
    { path: 'rules.json', text: JSON.stringify({ rules }) },
  ]);
  assert.equal(compiled.kind, 'compiled', JSON.stringify(compiled));
  return compiled.kind === 'compiled' ? compiled.ruleSet : assert.fail();
}

function pass(name: string, ...all: object[]) {
  const event = { type: 'pass', params: { code: 'refused', reason: 'no' } };
  return { name, description: name, conditions: { all }, event };
}

const rules = [
  pass('Young', { fact: 'worker.ageYears', operator: 'lessThan', value: 25 }),
  pass('Old', { fact: 'worker.ageYears', operator: 'greaterThan', value: 68 }),
  pass('Listed', { fact: 'list.blocked', operator: 'equal', value: true }),
  pass('Exposed', { fact: 'worker.politicallyExposed', operator: 'equal', value: true }),
];
const fine = { 'worker.ageYears': 40, 'worker.key': key('b'), 'worker.politicallyExposed': false };

test('a number moves just over the threshold: no nearer one would do', () => {
  const ruleSet = ruleSetOf(rules);
  for (const age of [18, 24, 69, 90]) {
    const facts = { ...fine, 'worker.ageYears': age };
    const clear = Array.from({ length: 131 }, (_, years) => years).filter(
      (years) => evaluateRequest(ruleSet, { ...facts, 'worker.ageYears': years }, at).passes.length === 0,
    );
    const nearest = clear.sort((left, right) => Math.abs(left - age) - Math.abs(right - age))[0];
    assert.deepEqual(nearestClear(ruleSet, facts, null, at), [{ fact: 'worker.ageYears', from: age, to: nearest }]);
  }
});

test('a flag is flipped, and a name taken off the list', () => {
  const ruleSet = ruleSetOf(rules);
  const exposed = { ...fine, 'worker.politicallyExposed': true };
  assert.deepEqual(nearestClear(ruleSet, exposed, null, at), [
    { fact: 'worker.politicallyExposed', from: true, to: false },
  ]);
  const listed = { ...fine, 'worker.key': key('a') };
  assert.deepEqual(nearestClear(ruleSet, listed, null, at), [{ fact: 'list.blocked', from: true, to: false }]);
  const [account] = accountRules(ruleSet, listed, null, at).filter(({ name }) => name === 'Listed');
  assert.equal(account!.truth, 'true');
});

test('two reasons at once: no single change helps; what passes nothing needs none', () => {
  const ruleSet = ruleSetOf(rules);
  const twice = { ...fine, 'worker.ageYears': 20, 'worker.politicallyExposed': true };
  assert.deepEqual(nearestClear(ruleSet, twice, null, at), []);
  assert.deepEqual(nearestClear(ruleSet, fine, null, at), []);
});

test('what is missing is looked for among the values that rules name', () => {
  const ruleSet = ruleSetOf(rules);
  const { 'worker.ageYears': _age, ...without } = fine;
  const [change] = nearestClear(ruleSet, without, null, at);
  assert.equal(change?.fact, 'worker.ageYears');
  assert.equal(change?.from, null);
  assert.equal(evaluateRequest(ruleSet, { ...without, 'worker.ageYears': change.to }, at).passes.length, 0);
});
