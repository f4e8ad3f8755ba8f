/** Rules for a share of the workers: always the same ones, unknown without a worker, and never a limit less than for nobody. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accountRules } from '../../src/rules/account.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import { type economicsParameters, limitParameters } from '../../src/rules/events.ts';
import type { Facts } from '../../src/rules/facts.ts';
import { compileRuleSet, openRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';
import { confirmRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { mutationsOf } from './mutations.ts';
import { plainDecision, plainDraw } from './plain-decision.ts';
import { event, refused, test1 } from './refused.ts';
import { always, at, codesFile, compiled, compiledFiles, filesOf, ruleOf } from './sample-request.ts';

const limit = (params: object, more: object = {}) =>
  ruleOf({ name: 'New', conditions: always, event: { type: 'limit', params }, ...more });
const worker = (number: number): Facts => ({ 'desk.always': true, 'worker.key': `worker-${number}` });
const anonymous: Facts = { 'desk.always': true };
const isIn = (set: RuleSet, facts: Facts) => evaluateRequest(set, facts, at).limits.maxInstallments === 12;

test('a share holds for the workers whose draw is below it: a larger share keeps them, another name draws anew', () => {
  const sets = [0.1, 0.3, 0.9].map((share) => compiled([limit({ maxInstallments: 12 }, { share })]));
  const other = compiled([limit({ maxInstallments: 12 }, { share: 0.3, name: 'Other' })]);
  const counts = [0, 0, 0];
  let both = 0;
  for (let number = 0; number < 4_000; number += 1) {
    const ins = sets.map((set) => isIn(set, worker(number)));
    for (const [index, one] of ins.entries()) counts[index]! += one ? 1 : 0;
    assert.ok((!ins[0] || ins[1]) && (!ins[1] || ins[2]));
    assert.equal(ins[1], plainDraw('rule:New', `worker-${number}`) < 0.3);
    if (ins[1] && isIn(other, worker(number))) both += 1;
  }
  for (const [index, share] of [0.1, 0.3, 0.9].entries())
    assert.ok(Math.abs(counts[index]! / 4_000 - share) < 0.02, `${counts[index]} of 4000 for ${share}`);
  assert.ok(Math.abs(both / 4_000 - 0.09) < 0.02, `${both} in both`);
});

test('without a worker the share is unknown: limits hold, pass rules pass, economics are left out', () => {
  const share = 0.001;
  const set = compiled([
    limit({ maxInstallments: 12 }, { share }),
    ruleOf({ name: 'No', share, conditions: always }),
    ruleOf({ name: 'Perhaps', share, conditions: always, onMissing: 'ignore' }),
    event('economics', { contractCostReais: 7 }, { name: 'Cost', share }),
  ]);
  const { passes, limits, economics, refused: isRefused } = evaluateRequest(set, anonymous, at);
  assert.deepEqual(
    passes.map(({ code, rule }) => `${rule}: ${code}`),
    ['No: fact-missing:worker.key'],
  );
  assert.deepEqual([limits.maxInstallments, economics, isRefused], [12, {}, false]);
});

test('a limit with a share is at most as wide as without the rule, and at least as wide as without the share', () => {
  const others = [limit({ maxInstallments: 36, maxAmountReais: 9_000 }, { name: 'Old' })];
  const params = { maxInstallments: 24, minRatePercent: 2, maxAmountReais: 12_000 };
  const [none, whole] = [compiled(others), compiled([...others, limit(params)])];
  const shared = compiled([...others, limit(params, { share: 0.5 })]);
  const seen = new Set<string>();
  for (const facts of [anonymous, ...Array.from({ length: 50 }, (_, number) => worker(number))]) {
    const [bare, own, all] = [none, shared, whole].map((set) => JSON.stringify(evaluateRequest(set, facts, at).limits));
    assert.ok(own === bare || own === all);
    if (facts === anonymous) assert.equal(own, all);
    else seen.add(own!);
  }
  assert.equal(seen.size, 2);
});

test('the rows of a table draw the same workers, by its name', () => {
  const table = {
    ...{
      name: 'Rates',
      description: 'd',
      event: 'limit',
      share: 0.5,
      inputs: ['worker.ageYears'],
      outputs: ['maxInstallments'],
    },
    rows: [
      { when: [{ below: 40 }], set: [12] },
      { when: [{ from: 40 }], set: [12] },
    ],
  };
  const set = compiledFiles([codesFile, { path: 'rates.table.json', text: JSON.stringify(table) }]);
  for (let number = 0; number < 100; number += 1) {
    const drawn = plainDraw('rule:Rates', `worker-${number}`) < 0.5;
    for (const age of [30, 50]) assert.equal(isIn(set, { ...worker(number), 'worker.ageYears': age }), drawn);
  }
  const result = compileRuleSet([
    codesFile,
    { path: 'a.json', text: JSON.stringify(limit({ maxInstallments: 3 }, { name: 'Rates', share: 0.2 })) },
    { path: 'rates.table.json', text: JSON.stringify(table) },
  ]);
  assert.ok(result.kind === 'refused');
  assert.match(result.faults[0]!.text, /"Rates" draws workers at a\.json as well; choose another name/);
});

test('a set with shares reads back from the store as it was, and says so in its account', () => {
  const set = compiled([limit({ maxInstallments: 12 }, { share: 0.3 })]);
  for (const checked of [false, true]) {
    const again = openRuleSet(set.source, checked);
    assert.ok(again.kind === 'compiled' && again.ruleSet.hash === set.hash);
    for (let number = 0; number < 30; number += 1)
      assert.deepEqual(evaluateRequest(again.ruleSet, worker(number), at), evaluateRequest(set, worker(number), at));
  }
  assert.equal(set.rules[0]!.share, 0.3);
  const condition = accountRules(set, worker(1), null, at)[0]!.condition;
  const part = condition.kind === 'comparison' ? condition : condition.parts[0]!;
  assert.ok(part.kind === 'comparison');
  const { fact, seen } = part;
  const drawn = plainDraw('rule:New', 'worker-1') < 0.3;
  assert.deepEqual([fact, seen], ['share.New', drawn]);
});

test('tests say who is in the share, and have to show all three', async () => {
  const rules = filesOf([limit({ maxInstallments: 12 }, { share: 0.3 })]);
  const tests = (facts: readonly (object | null)[]): RuleFile => ({
    path: 'rules.test.json',
    text: JSON.stringify({
      tests: facts.map((own, index) => ({
        name: `test ${index}`,
        facts: own ?? {},
        expect: { limits: { maxInstallments: own !== null && 'share.New' in own && !own['share.New'] ? null : 12 } },
      })),
    }),
  });
  const whole = await confirmRules([...rules, tests([{ 'share.New': true }, { 'share.New': false }, null])], 100);
  assert.equal(whole.kind, 'good', reasonsAgainst(whole).join('\n'));
  const short = await confirmRules([...rules, tests([{ 'share.New': true }, null])], 100);
  assert.match(reasonsAgainst(short).join('\n'), /share\.New equal true: never false in the tests/);
  const wrong = await confirmRules([...rules, tests([{ 'share.Old': true }])], 100);
  assert.match(reasonsAgainst(wrong).join('\n'), /There is no fact "share\.Old"/);
});

const path = (key: string) => `/rules/0/${key}`;
refused('a share of all', [limit({ maxInstallments: 3 }, { share: 1 })], path('share'), /0\.001/);
refused(
  'a share that is no number',
  [limit({ maxInstallments: 3 }, { share: '10 %' })],
  path('share'),
  /write a number|number/,
);
const { name: _, ...nameless } = limit({ maxInstallments: 3 }, { share: 0.1 });
refused('a share without a name', [nameless], path('share'), /draws them by its name; give the rule a "name"/);
refused(
  'a share that lets more be offered',
  [limit({ maxTermChange: 6 }, { share: 0.1 })],
  path('share'),
  /a share may only limit/,
);
const experiment = { name: 'e', layer: 'l', share: 0.1, economics: { contractCostReais: 3 } };
refused(
  'a share of an experiment',
  [event('experiment', experiment, { share: 0.5 })],
  path('share'),
  /has a share of its own/,
);
refused(
  'a condition on a share',
  [test1('share.Adults', 'equal', true, {}), limit({ maxInstallments: 3 }, { share: 0.1 })],
  '/rules/0/conditions/all/0/fact',
  /There is no fact "share\.Adults"/,
);

test('facts that are called like what every object inherits reach the library and nothing else', async () => {
  const rules = filesOf([
    limit({ maxInstallments: 12 }, { name: '__proto__.spoilt', share: 0.3 }),
    limit(
      { maxInstallments: 12 },
      { name: 'New', conditions: test1('extra.__proto__.worse', 'equal', true).conditions },
    ),
  ]);
  const facts = { 'share.__proto__.spoilt': true, 'extra.__proto__.worse': true };
  const tests = JSON.stringify({ tests: [{ name: 't', facts, expect: { limits: { maxInstallments: 12 } } }] });
  await confirmRules([...rules, { path: 'rules.test.json', text: tests }], 0);
  const clean: Record<string, unknown> = {};
  assert.deepEqual([clean.spoilt, clean.worse], [undefined, undefined]);
});

const factsOf = fc.record(
  {
    'worker.key': fc.integer({ min: 0, max: 400 }).map((number) => `worker-${number}`),
    'worker.ageYears': fc.integer({ min: 16, max: 20 }),
  },
  { requiredKeys: [] },
);
const share = fc.option(fc.double({ min: 0.001, max: 0.999, noNaN: true }), { nil: undefined });
const events = fc.constantFrom(
  { type: 'pass', params: { code: 'too-young', reason: 'r' } },
  { type: 'limit', params: { maxInstallments: 12 } },
  { type: 'limit', params: { minRatePercent: 2, maxInstallments: 24 } },
);
const conditions = fc.constantFrom(always, { all: [{ fact: 'worker.ageYears', operator: 'lessThan', value: 18 }] });
const scaled = (values: Record<string, number | null>, known: typeof limitParameters | typeof economicsParameters) =>
  Object.fromEntries(
    Object.entries(known).flatMap(([key, { field, scale }]) => {
      const value = values[field] ?? null;
      return value === null ? [] : [[key, value / scale]];
    }),
  );

function agree(files: readonly RuleFile[], set: RuleSet, facts: Facts): void {
  const plain = plainDecision(files, facts, { 'worker.ageYears': 'number' }, '2026-11-20');
  const verdict = evaluateRequest(set, facts, at);
  const passes = verdict.passes.flatMap(({ code, rule }) =>
    code === 'limits-conflict' ? [] : [`${rule}: ${code.startsWith('fact-missing:') ? '?' : code}`],
  );
  const ours = { passes: passes.sort(), fired: [...verdict.fired].sort() };
  assert.deepEqual(ours, { passes: plain.passes, fired: plain.fired }, JSON.stringify({ files, facts }));
  assert.deepEqual(scaled(verdict.limits, limitParameters), plain.limits);
}

test('3 000 generated sets with shares decide as the plain evaluator, with its own draw', (context) => {
  const rule = fc.record({ share, event: events, conditions, onMissing: fc.constantFrom(undefined, 'ignore') });
  let [shared, outside] = [0, 0];
  const property = fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), factsOf, (rules, facts) => {
    const written = rules.map(({ onMissing, ...own }, index) =>
      ruleOf({ ...own, name: `rule-${index}`, ...(own.event.type === 'pass' ? { onMissing } : {}) }),
    );
    const files = filesOf(written);
    const set = compiledFiles(files);
    const known = { 'desk.always': true, ...facts };
    agree(files, set, known);
    shared += rules.filter((own) => own.share !== undefined).length;
    outside += rules.length - evaluateRequest(set, known, at).fired.length;
  });
  fc.assert(property, { numRuns: 3_000, seed: 11 });
  context.diagnostic(`figure: ${shared} rules with a share, ${outside} rules that did not fire`);
  assert.ok(shared > 2_000 && outside > 1_000);
});

test('300 mutations of a file with shares are refused with a place, or mean what the plain evaluator reads', () => {
  const rules = filesOf([
    limit({ maxInstallments: 12 }, { share: 0.3 }),
    ruleOf({ name: 'Young', share: 0.5 }),
    limit({ minRatePercent: 2 }, { name: 'Rate', share: 0.25, conditions: ruleOf().conditions }),
  ]);
  const [codes, own] = rules as [RuleFile, RuleFile];
  const count = { refused: 0, same: 0 };
  for (const { files } of mutationsOf([own], 300)) {
    const all = [codes, ...files];
    const result = compileRuleSet(all);
    if (result.kind === 'refused') {
      count.refused += 1;
      for (const { line, text } of result.faults) assert.ok(line !== null && text.length > 10, text);
      continue;
    }
    count.same += 1;
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8])
      agree(all, result.ruleSet, {
        ...worker(number),
        ...(number % 2 === 0 ? { 'worker.ageYears': 15 + number } : {}),
      });
  }
  assert.ok(count.refused > 150 && count.same > 20, JSON.stringify(count));
});
