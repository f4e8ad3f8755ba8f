/** Experiments: who is treated, always the same; one of a layer; never more than economics or strategy. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';

const at = Date.parse('2026-11-20T12:00:00Z');
const codes = { path: 'codes.json', text: JSON.stringify({ codes: { refused: 'Refused.' } }) };
const always = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };

function rule(name: string, type: string, params: object, more: object = {}) {
  return { name, description: name, conditions: always, event: { type, params }, ...more };
}

function compile(rules: readonly object[]) {
  return compileRuleSet([codes, { path: 'rules.json', text: JSON.stringify({ rules }) }]);
}

function setOf(...rules: readonly object[]) {
  const compiled = compile(rules);
  assert.equal(compiled.kind, 'compiled', JSON.stringify(compiled));
  return compiled.kind === 'compiled' ? compiled.ruleSet : assert.fail();
}

function refusal(params: object, more: object = {}): string {
  const compiled = compile([rule('E', 'experiment', params, more)]);
  return compiled.kind === 'refused' ? compiled.faults.map(({ pointer, text }) => `${pointer} ${text}`).join('\n') : '';
}

const workers = Array.from({ length: 20_000 }, (_, index) => `pseudonym-${index}`);
const up = { name: 'rate-up', layer: 'price', share: 0.2, economics: { acceptanceMidpointPercent: 3.9 } };

test('a share of the workers is treated, the same ones each time, others under another name', () => {
  const ruleSet = setOf(
    rule('Base', 'economics', { acceptanceMidpointPercent: 3, bidCostReais: 0.1 }),
    rule('E', 'experiment', up),
  );
  const armOf = (worker: string) => evaluateRequest(ruleSet, { 'desk.always': true, 'worker.key': worker }, at);
  const treated = workers.filter((worker) => armOf(worker).experiments[0]!.arm === 'treated');
  // Four standard deviations of a binomial draw.
  assert.ok(Math.abs(treated.length - 4_000) < 4 * Math.sqrt(20_000 * 0.2 * 0.8), String(treated.length));
  const one = armOf(treated[0]!);
  assert.deepEqual(one.experiments, [{ name: 'rate-up', layer: 'price', arm: 'treated' }]);
  assert.deepEqual(one.economics, { acceptanceMidpointPercent: 3.9, bidCostCents: 10 });
  assert.deepEqual(one.untreated, { acceptanceMidpointPercent: 3, bidCostCents: 10 });
  assert.ok(one.fired.includes('E'));
  const control = armOf(workers.find((worker) => !treated.includes(worker))!);
  assert.equal(control.experiments[0]!.arm, 'control');
  assert.equal(control.economics, control.untreated);
  assert.ok(!control.fired.includes('E'));
  const other = setOf(rule('E', 'experiment', { ...up, name: 'rate-down' }));
  const both = treated.filter((worker) => {
    const { experiments } = evaluateRequest(other, { 'desk.always': true, 'worker.key': worker }, at);
    return experiments[0]!.arm === 'treated';
  });
  assert.ok(Math.abs(both.length - 800) < 4 * Math.sqrt(4_000 * 0.2 * 0.8), 'independent of the other experiment');
});

test('one experiment of a layer, the first by priority; layers beside each other; nobody without a worker', () => {
  const first = rule('First', 'experiment', { ...up, share: 0.999 }, { priority: 5 });
  const second = rule('Second', 'experiment', { ...up, name: 'later', share: 0.999 });
  const strategy = { name: 'fixed', layer: 'strategy', share: 0.999, strategy: { fixedRatePercent: 2.5 } };
  const ruleSet = setOf(first, second, rule('Third', 'experiment', strategy));
  const { experiments, strategy: chosen } = evaluateRequest(ruleSet, { 'desk.always': true, 'worker.key': 'w' }, at);
  assert.deepEqual(experiments.map(({ name }) => name).sort(), ['fixed', 'rate-up']);
  assert.deepEqual(chosen, { kind: 'fixed-rate', rateHundredths: 250 });
  assert.deepEqual(evaluateRequest(ruleSet, { 'desk.always': true }, at).experiments, []);
});

test('what is no experiment is refused, with what to write instead', () => {
  assert.match(refusal({ ...up, share: 20 }), /\/params\/share .*0\.1 is 10 %/);
  assert.match(refusal({ ...up, economics: undefined }), /exactly one of economics, strategy/);
  assert.match(refusal({ ...up, strategy: { optimise: true } }), /2 changes/);
  assert.match(refusal({ ...up, name: 'Rate up' }), /\/params\/name .*without accents/);
  assert.match(refusal({ ...up, economics: { maxRatePercent: 3 } }), /maxRatePercent/);
  assert.match(refusal({ ...up, limits: {} }), /limits/);
  assert.match(refusal(up, { stage: 'offer' }), /too late after pricing/);
  const twice = compile([rule('A', 'experiment', up), rule('B', 'experiment', { ...up, name: 'other' })]);
  assert.ok(twice.kind === 'refused' && /layer price with priority 1/.test(twice.faults[0]!.text));
});
