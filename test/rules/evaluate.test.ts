/** Three-valued conditions and the combination of events, each line of the table in DESIGN. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noLimits } from '../../src/domain/policy.ts';
import { evaluateOffer, evaluateRequest, type RequestVerdict } from '../../src/rules/evaluate.ts';
import { type Facts, lackedByCaps } from '../../src/rules/facts.ts';
import { always, at, compiled, ruleOf } from './sample-request.ts';

const young = { fact: 'worker.ageYears', operator: 'lessThan', value: 18 };
const small = { fact: 'request.amountReais', operator: 'lessThan', value: 300 };
const passes = (conditions: unknown, change: object = {}) => ruleOf({ conditions, ...change });
const fires = (name: string, type: string, params: unknown, conditions: unknown = always, change: object = {}) =>
  ruleOf({ name, conditions, event: { type, params }, ...change });

function verdictOf(rules: readonly unknown[], facts: Facts = {}): RequestVerdict {
  return evaluateRequest(compiled(rules), { 'desk.always': true, ...facts }, at);
}

function codesOf(conditions: unknown, facts: Facts, change: object = {}): string[] {
  return verdictOf([passes(conditions, change)], facts).passes.map((reason) => reason.code);
}

test('a missing fact is unknown, and unknown passes through all, any and not', () => {
  const missingAge = ['fact-missing:worker.ageYears'];
  assert.deepEqual(codesOf({ all: [young] }, {}), missingAge);
  assert.deepEqual(codesOf({ not: young }, {}), missingAge);
  assert.deepEqual(codesOf({ not: { not: { not: young } } }, {}), missingAge);
  // all: false decides, true does not.
  assert.deepEqual(codesOf({ all: [young, small] }, { 'request.amountReais': 500 }), []);
  assert.deepEqual(codesOf({ all: [young, small] }, { 'request.amountReais': 100 }), missingAge);
  // any: true decides, false does not.
  assert.deepEqual(codesOf({ any: [young, small] }, { 'request.amountReais': 100 }), ['too-young']);
  assert.deepEqual(codesOf({ any: [young, small] }, { 'request.amountReais': 500 }), missingAge);
  assert.deepEqual(codesOf({ not: { any: [young, small] } }, { 'request.amountReais': 100 }), []);
});

test('only facts that keep the condition open are named', () => {
  const conditions = { any: [{ all: [small, { fact: 'request.installments', operator: 'equal', value: 1 }] }, young] };
  const [reason] = verdictOf([passes(conditions)], { 'request.amountReais': 500 }).passes;
  assert.deepEqual(reason, {
    code: 'fact-missing:worker.ageYears',
    rule: 'Adults',
    text: '"Adults" cannot be decided: worker.ageYears missing.',
  });
  const [both] = verdictOf([passes({ all: [small, young] })], {}).passes;
  assert.match(both!.text, /request\.amountReais, worker\.ageYears missing/);
});

test('onMissing: ignore lets a pass rule keep silent', () => {
  assert.deepEqual(codesOf({ all: [young] }, {}, { onMissing: 'ignore' }), []);
  assert.deepEqual(codesOf({ all: [young] }, { 'worker.ageYears': 17 }, { onMissing: 'ignore' }), ['too-young']);
});

test('values of another type are unknown, not compared', () => {
  const extra = (value: unknown) => ({ all: [{ fact: 'extra.score', operator: 'notEqual', value }] });
  assert.deepEqual(codesOf(extra(700), { 'extra.score': '700' }), ['fact-missing:extra.score']);
  assert.deepEqual(codesOf(extra('700'), { 'extra.score': 700 }), ['fact-missing:extra.score']);
  assert.deepEqual(codesOf(extra(700), { 'extra.score': Number.NaN }), ['fact-missing:extra.score']);
  assert.deepEqual(codesOf(extra(700), { 'extra.score': 701 }), ['too-young']);
  const path = { all: [{ fact: 'extra', path: '$.score.value', operator: 'lessThan', value: 500 }] };
  assert.deepEqual(codesOf(path, { 'extra.score.value': 400 }), ['too-young']);
});

test('every pass is recorded: certain ones first, then the undecided, each by priority', () => {
  const verdict = verdictOf(
    [
      passes(
        { all: [{ fact: 'request.installments', operator: 'equal', value: 1 }] },
        { name: 'Unknown', priority: 9 },
      ),
      passes({ all: [young] }, { name: 'Low', priority: 2 }),
      passes(
        { all: [small] },
        { name: 'High', priority: 3, event: { type: 'pass', params: { code: 'too-small', reason: 'Small.' } } },
      ),
    ],
    { 'worker.ageYears': 17, 'request.amountReais': 100 },
  );
  assert.deepEqual(
    verdict.passes.map((reason) => [reason.code, reason.rule]),
    [
      ['too-small', 'High'],
      ['too-young', 'Low'],
      ['fact-missing:request.installments', 'Unknown'],
    ],
  );
});

test('the tightest limit wins, whatever the priority, and its rule is named', () => {
  const verdict = verdictOf([
    fires('A', 'limit', { maxRatePercent: 3, minRatePercent: 1, maxMarginShare: 0.9 }, always, { priority: 9 }),
    fires('B', 'limit', { maxRatePercent: 1.99, minRatePercent: 0.5, minProfitReais: 12.5 }),
    fires('C', 'limit', { maxRatePercent: 2.5, maxAmountReais: 5000.1 }, { all: [young] }),
  ]);
  // C is unknown, and an unknown limit applies.
  const expected = {
    ...noLimits,
    maxRateHundredths: 199,
    minRateHundredths: 100,
    maxMarginShare: 0.9,
    minProfitCents: 1_250,
    maxAmountCents: 500_010,
  };
  assert.deepEqual(verdict.limits, expected);
  assert.equal(verdict.limitRules.maxRateHundredths, 'B');
  assert.equal(verdict.limitRules.maxAmountCents, 'C');
  assert.deepEqual(verdict.fired, ['A', 'B', 'C']);
  assert.equal(
    verdictOf([fires('C', 'limit', { maxRatePercent: 2 }, { all: [young] })], { 'worker.ageYears': 40 }).limits
      .maxRateHundredths,
    null,
  );
});

test('a minimum above a maximum is a pass that names both rules', () => {
  const [reason] = verdictOf([
    fires('Floor', 'limit', { minRatePercent: 2.5 }),
    fires('Ceiling', 'limit', { maxRatePercent: 1.99 }),
  ]).passes;
  assert.equal(reason?.code, 'limits-conflict');
  assert.match(reason.text, /"Floor" wants minRateHundredths 250, "Ceiling" wants maxRateHundredths 199/);
  assert.deepEqual(
    verdictOf([fires('A', 'limit', { minInstallments: 12 }), fires('B', 'limit', { maxInstallments: 12 })]).passes,
    [],
  );
});

test('economics: the highest priority per field; unknown ones do not fire', () => {
  const verdict = verdictOf([
    fires('A', 'economics', { separationMonthlyShare: 0, fundingAnnualPercent: 14 }, always, { priority: 5 }),
    fires('B', 'economics', { separationMonthlyShare: 0.05, contractCostReais: 12.34 }, always, { priority: 4 }),
    fires('C', 'economics', { separationMonthlyShare: 0.5 }, { all: [young] }, { priority: 6 }),
  ]);
  assert.deepEqual(verdict.economics, { separationMonthly: 0, fundingAnnualPercent: 14, contractCostCents: 1_234 });
  assert.deepEqual(verdict.fired, ['A', 'B']);
});

test('segment: the highest priority as a whole; each dimension alone, then together', () => {
  const dimensions = ['employer.sector', { fact: 'worker.tenureMonths', cuts: [12, 36] }, 'guarantee.present'];
  const rules = [
    fires('A', 'segment', { dimensions }, always, { priority: 2 }),
    fires('B', 'segment', { dimensions: ['employer.idType'] }),
  ];
  const keysOf = (facts: Facts) => verdictOf(rules, facts).segmentKeys;
  assert.deepEqual(keysOf({ 'employer.sector': 'commerce', 'worker.tenureMonths': 12, 'guarantee.present': false }), [
    'all',
    'all|employer.sector=commerce',
    'all|worker.tenureMonths=12-36',
    'all|guarantee.present=false',
    'all|employer.sector=commerce|worker.tenureMonths=12-36',
    'all|employer.sector=commerce|worker.tenureMonths=12-36|guarantee.present=false',
  ]);
  assert.equal(
    keysOf({ 'worker.tenureMonths': 11 }).at(-1),
    'all|employer.sector=?|worker.tenureMonths=<12|guarantee.present=?',
  );
  assert.match(keysOf({ 'worker.tenureMonths': 36 })[2]!, /^all\|worker\.tenureMonths=36\+$/);
  assert.deepEqual(verdictOf([fires('L', 'limit', { maxRatePercent: 2 })]).segmentKeys, ['all']);
});

test('strategy: the highest priority; optimise when none fires', () => {
  const fixed = fires('A', 'strategy', { fixedRatePercent: 2.5 }, { all: [small] }, { priority: 2 });
  const undercut = fires('B', 'strategy', { undercutPercent: 0.05 });
  assert.deepEqual(verdictOf([fixed, undercut], { 'request.amountReais': 100 }).strategy, {
    kind: 'fixed-rate',
    rateHundredths: 250,
  });
  assert.deepEqual(verdictOf([fixed, undercut]).strategy, { kind: 'undercut', byHundredths: 5 });
  assert.deepEqual(verdictOf([fixed]).strategy, { kind: 'optimise' });
});

/** With the eve of the day and the day after, for clocks that were wrong. */
const onDay = (start: string) => [`${start}|2026-11-20`, `${start}|eve-2026-11-20`, `${start}|2026-11-21`];

test('all caps apply, unknown ones too, with the day of São Paulo in their key', () => {
  const rules = [
    fires('Desk', 'cap', { name: 'desk', keyFacts: [], window: 'day', maxAmountReais: 1000 }),
    fires(
      'Employer',
      'cap',
      { name: 'employer', keyFacts: ['employer.key', 'guarantee.present'], window: 'day', maxCount: 2 },
      { all: [young] },
    ),
  ];
  const lateEvening = Date.parse('2026-11-21T02:30:00Z');
  const ruleSet = compiled(rules);
  const caps = (facts: Facts) => evaluateRequest(ruleSet, { 'desk.always': true, ...facts }, lateEvening).caps;
  assert.deepEqual(caps({ 'employer.key': 'A|B=ç', 'guarantee.present': true }), [
    { keys: onDay('desk'), limitAmountCents: 100_000, limitCount: null },
    {
      keys: onDay('employer|employer.key=A%7CB%3D%C3%A7|guarantee.present=true'),
      limitAmountCents: null,
      limitCount: 2,
    },
  ]);
  // Whose cap it is cannot be told, so nobody knows whether it has room.
  const unknown = evaluateRequest(ruleSet, { 'desk.always': true, 'guarantee.present': true }, lateEvening);
  assert.deepEqual(
    unknown.passes.map(({ code, rule, text }) => [code, rule, text]),
    [['fact-missing:employer.key', 'Employer', '"Employer" cannot be decided: employer.key missing.']],
  );
  assert.deepEqual(unknown.open.at(-1), { rule: 'Employer', passes: true, missing: ['employer.key'] });
  const asBefore: Facts = { 'desk.always': true, 'guarantee.present': true, [lackedByCaps]: [] };
  const shared = evaluateRequest(ruleSet, asBefore, lateEvening);
  assert.deepEqual(shared.passes, []);
  assert.deepEqual(shared.caps[1]?.keys, onDay('employer|employer.key=?|guarantee.present=true'));
  assert.equal(caps({ 'worker.ageYears': 40 }).length, 1);
});

test('a rolling window is covered by its hours, the running one, and the next one for a clock that was ahead', () => {
  const ruleSet = compiled([fires('Desk', 'cap', { name: 'desk', keyFacts: [], window: { hours: 3 }, maxCount: 2 })]);
  const hour = Math.floor(at / 3_600_000);
  const keys = evaluateRequest(ruleSet, { 'desk.always': true }, at + 59 * 60_000).caps[0]?.keys;
  assert.deepEqual(
    keys,
    [0, 1, 2, 3, -1].map((back) => `desk|hour-${hour - back}`),
  );
});

test('two caps of one name are one reservation under the lesser limits', () => {
  const cap = (name: string, limit: object) =>
    fires(name, 'cap', { name: 'desk', keyFacts: [], window: 'day', ...limit });
  const { caps } = verdictOf([cap('A', { maxAmountReais: 1000 }), cap('B', { maxAmountReais: 500, maxCount: 3 })]);
  assert.deepEqual(caps, [{ keys: onDay('desk'), limitAmountCents: 50_000, limitCount: 3 }]);
});

test('a paced cap says so, and so does the one reservation that it becomes with another of its name', () => {
  const budget = { name: 'desk', keyFacts: [], window: 'day' };
  const paced = fires('A', 'cap', { ...budget, maxAmountReais: 1000, paced: true });
  const plain = fires('B', 'cap', { ...budget, maxAmountReais: 500, paced: false });
  const cap = { keys: onDay('desk'), limitCount: null };
  assert.deepEqual(verdictOf([paced]).caps, [{ ...cap, limitAmountCents: 100_000, paced: true }]);
  assert.deepEqual(verdictOf([paced, plain]).caps, [{ ...cap, limitAmountCents: 50_000, paced: true }]);
  assert.deepEqual(verdictOf([plain]).caps, [{ ...cap, limitAmountCents: 50_000 }]);
});

test('rules of the offer stage see request and offer, and run only then', () => {
  const dear = { fact: 'offer.ratePercent', operator: 'greaterThan', value: 3 };
  const rules = [
    ruleOf({
      stage: 'offer',
      conditions: { all: [dear, { fact: 'guarantee.present', operator: 'equal', value: true }] },
    }),
    fires(
      'High',
      'cap',
      { name: 'high', keyFacts: ['offer.installments'], window: 'day', maxCount: 9 },
      { all: [dear] },
      { stage: 'offer' },
    ),
  ];
  const ruleSet = compiled(rules);
  const facts: Facts = { 'guarantee.present': true };
  assert.deepEqual(evaluateRequest(ruleSet, facts, at).fired, []);
  const verdict = evaluateOffer(ruleSet, facts, { 'offer.ratePercent': 3.01, 'offer.installments': 24 }, at);
  assert.deepEqual(
    verdict.passes.map((reason) => reason.code),
    ['too-young'],
  );
  assert.deepEqual(verdict.caps[0]?.keys, onDay('high|offer.installments=24'));
  assert.deepEqual(evaluateOffer(ruleSet, facts, { 'offer.ratePercent': 3 }, at), {
    passes: [],
    caps: [],
    fired: [],
    open: [],
  });
  assert.deepEqual(
    evaluateOffer(ruleSet, facts, {}, at).passes.map((reason) => reason.code),
    ['fact-missing:offer.ratePercent', 'fact-missing:offer.installments'],
  );
});
