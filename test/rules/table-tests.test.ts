/** Tests that decision tables make of their cells: what they ask, what they show, and that they find a table that is read wrongly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';
import { runTests } from '../../src/rules/rule-tests.ts';
import { judgeRules } from '../../src/rules/verdict.ts';

const codes = { path: 'codes.json', text: '{"codes": {"no": "No"}}' };
const head = { name: 'Rates', description: 'By sector and tenure.', owner: 'pricing' };
const rates = {
  ...{ ...head, event: 'limit', inputs: ['employer.sector', 'worker.tenureMonths'], outputs: ['maxRatePercent'] },
  rows: [
    { when: ['public', null], set: [1.5] },
    { when: [['commerce', 'industry'], { from: 12, below: 36 }], set: [2.2] },
    { when: [['commerce', 'industry'], { below: 12 }], set: [2.5] },
  ],
};

function setOf(table: object, others: readonly RuleFile[] = []): RuleSet {
  const compiled = compileRuleSet([codes, { path: 'rates.table.json', text: JSON.stringify(table) }, ...others]);
  assert.ok(compiled.kind === 'compiled', JSON.stringify(compiled));
  return compiled.ruleSet;
}

const madeOf = (ruleSet: RuleSet) => ruleSet.tests.filter(({ isGenerated }) => isGenerated === true);
const asked = (ruleSet: RuleSet) =>
  madeOf(ruleSet).map(({ name, facts, offerFacts, expect }) => {
    const { 'desk.always': _, ...own } = { ...facts, ...offerFacts };
    return [name, own, expect.fired, expect.silent];
  });

test('each row in its cells, at the edges of a range and beyond them, and without each fact', () => {
  const [one, two, three] = ['Rates #1', 'Rates #2', 'Rates #3'] as const;
  const at = (sector: string | undefined, tenure: number | undefined) => ({
    ...{ 'employer.sector': sector, 'worker.tenureMonths': tenure },
  });
  assert.deepEqual(asked(setOf(rates)), [
    [`${one}: employer.sector "public" (generated)`, at('public', 12), [one], [two, three]],
    [`${one}: not with employer.sector "agriculture" (generated)`, at('agriculture', 12), [], [one]],
    [`${one}: employer.sector unknown (generated)`, at(undefined, 12), [one], []],
    [`${two}: employer.sector "commerce" (generated)`, at('commerce', 12), [two], [one, three]],
    [`${two}: employer.sector "industry" (generated)`, at('industry', 12), [two], [one, three]],
    [`${two}: not with employer.sector "agriculture" (generated)`, at('agriculture', 12), [], [two]],
    [`${two}: employer.sector unknown (generated)`, at(undefined, 12), [two], []],
    [`${two}: worker.tenureMonths 12 (generated)`, at('commerce', 12), [two], [one, three]],
    [`${two}: worker.tenureMonths 35 (generated)`, at('commerce', 35), [two], [one, three]],
    [`${two}: not with worker.tenureMonths 11 (generated)`, at('commerce', 11), [], [two]],
    [`${two}: not with worker.tenureMonths 36 (generated)`, at('commerce', 36), [], [two]],
    [`${two}: worker.tenureMonths unknown (generated)`, at('commerce', undefined), [two], []],
    [`${three}: employer.sector "commerce" (generated)`, at('commerce', 0), [three], [one, two]],
    [`${three}: employer.sector "industry" (generated)`, at('industry', 0), [three], [one, two]],
    [`${three}: not with employer.sector "agriculture" (generated)`, at('agriculture', 0), [], [three]],
    [`${three}: employer.sector unknown (generated)`, at(undefined, 0), [three], []],
    [`${three}: worker.tenureMonths 0 (generated)`, at('commerce', 0), [three], [one, two]],
    [`${three}: worker.tenureMonths 11 (generated)`, at('commerce', 11), [three], [one, two]],
    [`${three}: not with worker.tenureMonths 12 (generated)`, at('commerce', 12), [], [three]],
    [`${three}: worker.tenureMonths unknown (generated)`, at('commerce', undefined), [three], []],
  ]);
});

test('a table needs one row shown by people, and its tests show nothing of other rules', () => {
  const bare = [codes, { path: 'rates.table.json', text: JSON.stringify(rates) }];
  const alone = judgeRules(bare, 100);
  assert.ok(alone.kind === 'tests-failed' && alone.report.failed === 0);
  assert.deepEqual(alone.report.uncovered, [
    { rule: 'Rates', condition: 'any row, in a test that is not generated', missing: ['true'] },
  ]);
  const facts = { 'employer.sector': 'public' };
  const tests = [{ name: 'public', facts, expect: { limits: { maxRatePercent: 1.5 } } }];
  const files = [...bare, { path: 'rates.test.json', text: JSON.stringify({ base: {}, tests }) }];
  assert.equal(judgeRules(files, 100).kind, 'good');
  const rule = {
    ...{ name: 'Sector', description: 'As in the table.', owner: 'pricing' },
    conditions: { all: [{ fact: 'employer.sector', operator: 'equal', value: 'commerce' }] },
    event: { type: 'limit', params: { maxRatePercent: 2 } },
  };
  const beside = judgeRules([...files, { path: 'own.json', text: JSON.stringify(rule) }], 100);
  assert.ok(beside.kind === 'tests-failed');
  assert.deepEqual(
    [...new Set(beside.report.uncovered.map((one) => [one.rule, one.missing.join()].join(': ')))],
    ['Sector: true,unknown'],
  );
});

const events: [what: string, table: object, unknown: 'fired' | 'silent', certain: 'fired' | 'neither'][] = [
  ['pass', { event: 'pass', outputs: ['code', 'reason'], set: ['no', 'No.'] }, 'fired', 'fired'],
  [
    'pass that ignores',
    { event: 'pass', onMissing: 'ignore', outputs: ['code', 'reason'], set: ['no', 'No.'] },
    'silent',
    'fired',
  ],
  ['economics', { event: 'economics', outputs: ['fundingAnnualPercent'], set: [14] }, 'silent', 'fired'],
  ['strategy', { event: 'strategy', outputs: ['fixedRatePercent'], set: [2] }, 'silent', 'neither'],
];

for (const [what, { set, ...words }, unknown, certain] of events as [string, { set: unknown[] }, string, string][]) {
  test(`${what}: what is expected where a fact is missing is what the event does then`, () => {
    const rows = [
      { when: ['public', { from: 12 }], set },
      { when: ['commerce', { from: 12 }], set },
    ];
    const ruleSet = setOf({ ...head, inputs: rates.inputs, ...words, rows });
    assert.equal(runTests(ruleSet, null).failed, 0);
    const all = madeOf(ruleSet);
    for (const { name, expect } of all.filter((one) => one.name.includes(' unknown ')))
      assert.deepEqual([expect.fired!.length, expect.silent!.length], unknown === 'fired' ? [1, 0] : [0, 1], name);
    for (const { name, expect } of all.filter(
      (one) => / "?(?:public|commerce)"? \(/.test(one.name) && !one.name.includes('not with'),
    ))
      assert.deepEqual([expect.fired!.length, expect.silent!.length], certain === 'fired' ? [1, 1] : [0, 1], name);
  });
}

test('after pricing, in its validity, for a share of the workers, with a value table and without what cannot be said', () => {
  const pass = { ...head, event: 'pass', outputs: ['code', 'reason'] };
  const row = (...when: unknown[]) => ({ when, set: ['no', 'No.'] });
  const offer = setOf({ ...pass, stage: 'offer', inputs: ['offer.ratePercent'], rows: [row({ from: 2, below: 3 })] });
  assert.deepEqual(
    madeOf(offer).map(({ stage, offerFacts }) => [stage, offerFacts['offer.ratePercent']]),
    [2, 2.99, 1.99, 3, undefined].map((rate) => ['offer', rate]),
  );
  const later = setOf({ ...rates, validFrom: '2027-03-01', validUntil: '2027-03-31', share: 0.5 });
  for (const ruleSet of [offer, later]) assert.equal(runTests(ruleSet, null).failed, 0);
  assert.ok(
    madeOf(later).every(({ at, facts }) => at === Date.parse('2027-03-01T15:00:00Z') && facts['share.Rates'] === true),
  );
  const facts = { doubled: { description: 'Twice.', value: { mul: [{ fact: 'worker.tenureMonths' }, 2] } } };
  const computed = { path: 'facts.json', text: JSON.stringify({ facts }) };
  const inputs = ['employer.sector', 'computed.doubled'];
  const rows = [row('public', { from: 24 }), row('commerce', { from: 24 })];
  assert.deepEqual(madeOf(setOf({ ...pass, inputs, rows }, [computed])), [], 'a computed fact cannot be said');
  assert.ok(madeOf(setOf({ ...pass, inputs, rows: [row('public', null)] }, [computed])).length > 0);
});

test('a row that is read otherwise than its cells say is found', () => {
  const ruleSet = setOf(rates);
  const swapped = {
    ...ruleSet,
    request: { ...ruleSet.request, places: Int32Array.from(ruleSet.request.places).reverse() },
  };
  assert.equal(runTests(ruleSet, null).failed, 0);
  assert.ok(runTests(swapped, null).failed > 5);
});

test('500 rows of three columns are compiled and tested within seconds', (context) => {
  const rows = Array.from({ length: 500 }, (_, index) => ({
    when: [{ from: index, below: index + 1 }, { from: 18, below: 70 }, 'public'],
    set: [1 + index / 1_000],
  })).map(({ when, set }) => ({ when, set: [Number(set[0]!.toFixed(2))] }));
  const begun = performance.now();
  const ruleSet = setOf({ ...rates, inputs: ['worker.tenureMonths', 'worker.ageYears', 'employer.sector'], rows });
  const compiledMs = performance.now() - begun;
  const { failed, results, uncovered } = runTests(ruleSet, null);
  const tookMs = performance.now() - begun;
  context.diagnostic(`${results.length} tests in ${tookMs.toFixed(0)} ms, ${compiledMs.toFixed(0)} of them to compile`);
  assert.deepEqual([failed, uncovered.length], [0, 1]);
  assert.ok(tookMs < 20_000, `${tookMs} ms`);
});
