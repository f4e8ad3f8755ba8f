/** Computed facts: exact, with units, unknown where a part is; and what limits and caps make of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accountRules } from '../../src/rules/account.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Facts, FactValue } from '../../src/rules/facts.ts';
import { openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { confirmRules, judgeRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { mutationsOf } from './mutations.ts';
import { always, at, codesFile, compiledFiles, ruleOf } from './sample-request.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 1) });
const fact = (name: string) => ({ fact: name });
const factsFile = (facts: Record<string, Json>) =>
  json('facts.json', {
    facts: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, { description: 'd', value }])),
  });
const greater = (name: string, value: unknown) =>
  ruleOf({ conditions: { all: [{ fact: name, operator: 'greaterThan', value }] } });
const setOf = (facts: Record<string, Json>, ...rules: unknown[]) =>
  compiledFiles([codesFile, factsFile(facts), json('rules.json', { rules })]);

const valueIn = (expression: Json, facts: Facts) => {
  const set = setOf({ x: expression }, greater('computed.x', 0));
  return set.derived.get('computed.x')!.value(facts, facts);
};

// --- A second opinion, which shares nothing with src/rules: fractions of big numbers, written out ---------------------

type Fraction = readonly [n: bigint, d: bigint];
const power = (exponent: number) => 10n ** BigInt(exponent);
function fractionOf(value: number): Fraction {
  const [digits = '0', exponent = '0'] = value.toExponential().split('e');
  const [whole = '', decimals = ''] = digits.split('.');
  const shift = Number(exponent) - decimals.length;
  const n = BigInt(whole + decimals);
  return shift >= 0 ? [n * power(shift), 1n] : [n, power(-shift)];
}
function plainly(node: Json, facts: Facts): Fraction | null {
  if (typeof node === 'number') return fractionOf(node);
  const [[key, given]] = Object.entries(node as Record<string, Json>) as [[string, Json]];
  if (key === 'fact')
    return typeof facts[String(given)] === 'number' ? fractionOf(facts[String(given)] as number) : null;
  if (key === 'round') {
    const inner = plainly(given, facts);
    if (inner === null) return null;
    const decimals = (node as { decimals?: number }).decimals ?? 0;
    const [n, d] = [inner[0] * power(decimals), inner[1]];
    const sign = n < 0n !== d < 0n ? -1n : 1n;
    const [size, by] = [n < 0n ? -n : n, d < 0n ? -d : d];
    return [sign * ((size * 2n + by) / (by * 2n)), power(decimals)];
  }
  if (key === 'sum') {
    const list = Array.from({ length: 3 }, (_, index) => facts[`extra.loans.${index}.debt`]);
    const length = facts['extra.loans.length'];
    if (typeof length !== 'number' || ![0, 1, 2, 3].includes(length)) return null;
    return plainly(
      {
        add: [
          0,
          ...list
            .slice(0, length)
            .map((debt) => (typeof debt === 'number' && Number.isFinite(debt) ? debt : fact('-'))),
        ],
      },
      {},
    );
  }
  const parts = (given as Json[]).map((part) => plainly(part, facts));
  if (parts.includes(null)) return null;
  const below = ([a, b]: Fraction, [c, d]: Fraction) => (b < 0n !== d < 0n ? a * d > c * b : a * d < c * b);
  let whole: Fraction | null = parts[0]!;
  for (const part of parts.slice(1)) whole = whole === null ? null : joined(key, whole, part!);
  return whole;

  function joined(operation: string, left: Fraction, right: Fraction): Fraction | null {
    const [[a, b], [c, d]] = [left, right];
    if (operation === 'add') return [a * d + c * b, b * d];
    if (operation === 'sub') return [a * d - c * b, b * d];
    if (operation === 'mul') return [a * c, b * d];
    if (operation === 'div') return c === 0n ? null : [a * d, b * c];
    return below(left, right) === (operation === 'min') ? left : right;
  }
}

const names = ['request.amountReais', 'desk.volumeTodayReais', 'worker.exposureReais'];
const shares = ['desk.winRate', 'extra.share'];
const money = fc.oneof(
  fc.integer({ min: 0, max: 1_000_000_000 }).map((cents) => cents / 100),
  fc.constantFrom(0, 0.1, 0.3, 99_999_999_999.99, 33.33),
);
const { reais } = fc.letrec<{ reais: Json; share: Json }>((tie) => ({
  share: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(...shares.map(fact), 0.3, 3, 7),
    fc.tuple(tie('reais'), tie('reais')).map((div) => ({ div })),
    fc.tuple(tie('share'), tie('share')).map((mul) => ({ mul })),
  ),
  reais: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(...names.map(fact), { sum: { fact: 'extra.loans.*.debt', unit: 'R$' } }),
    fc
      .tuple(fc.constantFrom('add', 'min', 'max', 'sub'), tie('reais'), tie('reais'))
      .map(([key, left, right]) => ({ [key]: [left, right] })),
    fc.tuple(tie('reais'), tie('share')).map((mul) => ({ mul })),
    fc.tuple(tie('reais'), tie('share')).map((div) => ({ div })),
    fc.tuple(tie('reais'), fc.integer({ min: 0, max: 3 })).map(([round, decimals]) => ({ round, decimals })),
  ),
}));
const values = fc.record(
  Object.fromEntries([
    ...names.map((name) => [name, money]),
    ...shares.map((name) => [name, fc.constantFrom(0, 0.25, 0.31, 1 / 3, 2)]),
    ...[0, 1, 2].map((index) => [
      `extra.loans.${index}.debt`,
      fc.oneof({ weight: 12, arbitrary: money }, fc.constantFrom('12', true, null, Number.NaN)),
    ]),
    [
      'extra.loans.length',
      fc.oneof({ weight: 12, arbitrary: fc.integer({ min: 0, max: 3 }) }, fc.constantFrom(-1, 1.5, 101, '2')),
    ],
  ]),
  { requiredKeys: [] },
);

test('2 000 expressions come to the nearest number of the exact value, or to nothing', (context) => {
  const seen = { known: 0, unknown: 0, refused: 0 };
  const property = fc.property(reais, values, (expression, facts) => {
    const files = [codesFile, factsFile({ x: expression }), json('rules.json', { rules: [greater('computed.x', 0)] })];
    const verdict = judgeRules(files, 0, at);
    if (verdict.kind === 'refused') {
      assert.match(reasonsAgainst(verdict)[0]!, /operations|levels|divides by zero/);
      seen.refused += 1;
      return;
    }
    const ours = verdict.ruleSet.derived.get('computed.x')!.value(facts as Facts, {});
    const exact = plainly(expression, facts as Facts);
    if (ours === undefined || exact === null) {
      const isLarge = exact !== null && Math.abs(Number(exact[0] / exact[1])) >= 1e15;
      assert.ok(ours === undefined && (exact === null || isLarge), JSON.stringify({ expression, facts, ours }));
      seen.unknown += 1;
      return;
    }
    // Half of the distance to the next number, at most.
    const [n, d] = fractionOf(ours as number);
    const [difference, by] = [n * exact[1] - exact[0] * d, d * exact[1]];
    const [step, stepBy] = fractionOf(Math.abs(ours as number) * 2 ** -52 + Number.MIN_VALUE);
    const size = (value: bigint) => (value < 0n ? -value : value);
    assert.ok(size(difference) * stepBy <= size(by) * step, JSON.stringify({ expression, facts, ours }));
    seen.known += 1;
  });
  fc.assert(property, { numRuns: 2_000, seed: 20 });
  context.diagnostic(
    `figure: ${seen.known} known, ${seen.unknown} unknown, ${seen.refused} refused, all the same by both`,
  );
  assert.ok(Math.min(seen.known, seen.unknown) > 200);
});

test('cents are exact where binary fractions are not', () => {
  const sum = { add: [fact('request.amountReais'), fact('worker.exposureReais')] };
  assert.equal(0.1 + 0.2 === 0.3, false);
  assert.equal(valueIn(sum, { 'request.amountReais': 0.1, 'worker.exposureReais': 0.2 }), 0.3);
  const third = { mul: [{ div: [fact('request.amountReais'), 3] }, 3] };
  assert.equal(valueIn(third, { 'request.amountReais': 100.01 }), 100.01);
  const half = { round: { div: [fact('request.amountReais'), 2] }, decimals: 2 };
  assert.deepEqual(
    [0.01, 0.03, 1.01].map((amount) => valueIn(half, { 'request.amountReais': amount })),
    [0.01, 0.02, 0.51],
  );
});

test('days and months between two days, and how long a list is', () => {
  const months = { monthsBetween: [fact('worker.admissionDate'), fact('desk.date')] };
  const days = { daysBetween: ['2024-02-28', fact('desk.date')] };
  const since = (from: string, to: string) => valueIn(months, { 'worker.admissionDate': from, 'desk.date': to });
  assert.deepEqual(
    [
      since('2024-05-10', '2026-05-09'),
      since('2024-05-10', '2026-05-10'),
      since('2026-05-10', '2026-03-11'),
      since('2024-05', '2026-05-10'),
    ],
    [23, 24, -1, undefined],
  );
  assert.equal(valueIn(days, { 'desk.date': '2024-03-01' }), 2);
  assert.equal(valueIn({ count: fact('alerts.codes') }, { 'alerts.codes': ['1', '2'] }), 2);
  assert.equal(valueIn({ count: fact('alerts.codes') }, {}), undefined);
});

const loans = (...debts: readonly (FactValue | undefined)[]): Facts => ({
  'extra.loans.length': debts.length,
  ...Object.fromEntries(debts.map((debt, index) => [`extra.loans.${index}.debt`, debt])),
});

test('a list of the request is summed up whole, to the cent, or not at all; and counted', () => {
  const sum = { sum: { fact: 'extra.loans.*.debt', unit: 'R$' } };
  assert.equal(valueIn(sum, loans(0.1, 0.2)), 0.3);
  assert.equal(valueIn(sum, loans()), 0, 'an empty list is one');
  assert.equal(valueIn(sum, loans(...Array.from({ length: 100 }, () => 0.07))), 7);
  for (const [what, facts] of Object.entries<Facts>({
    'no list': {},
    'one of them is missing': loans(1, undefined, 3),
    'the last is missing': loans(1, undefined),
    'a text': loans(1, '2'),
    'no finite number': loans(1, Number.POSITIVE_INFINITY),
    'longer than any list that is taken': { ...loans(1), 'extra.loans.length': 101 },
    'a length that is none': { ...loans(1), 'extra.loans.length': 0.5 },
    'a length below zero': { ...loans(1), 'extra.loans.length': -1 },
    'a length as text': { ...loans(1), 'extra.loans.length': '1' },
  })) {
    assert.equal(valueIn(sum, facts), undefined, what);
  }
  assert.equal(
    valueIn(
      { sum: { fact: 'extra.debts.*', unit: 'R$' } },
      { 'extra.debts.length': 2, 'extra.debts.0': 1, 'extra.debts.1': 2 },
    ),
    3,
  );
  assert.equal(valueIn({ count: fact('extra.loans') }, loans(1, 2)), 2);
  assert.equal(valueIn({ count: fact('extra.loans') }, {}), undefined);
  // What is missing has a name that a person knows from the file.
  const owed = { add: [{ sum: { fact: 'extra.loans.*.debt', unit: 'R$' } }, fact('request.amountReais')] };
  const set = setOf({ owed }, greater('computed.owed', 100));
  const first = (facts: Facts) =>
    evaluateRequest(set, { 'request.amountReais': 50, ...facts }, at).passes[0]?.code ?? null;
  assert.deepEqual([loans(50), loans(50, 0.01), loans(1, undefined), {}].map(first), [
    null,
    'too-young',
    'fact-missing:extra.loans.*.debt',
    'fact-missing:extra.loans.length',
  ]);
  const [account] = accountRules(set, { 'request.amountReais': 50, ...loans(60) }, null, at);
  assert.ok(account?.condition.kind === 'all' && account.condition.parts[0]?.kind === 'comparison');
  const { seen, from } = account.condition.parts[0];
  assert.deepEqual(
    [seen, from],
    [
      110,
      [
        { fact: 'extra.loans.length', seen: 1 },
        { fact: 'request.amountReais', seen: 50 },
      ],
    ],
  );
});

const debtRatio = {
  div: [
    { add: [fact('worker.exposureReais'), fact('request.amountReais')] },
    { mul: [fact('worker.totalEarningsReais'), fact('request.installments')] },
  ],
};
const known = {
  'desk.always': true,
  'worker.exposureReais': 1000,
  'request.amountReais': 2000,
  'worker.totalEarningsReais': 1000,
  'request.installments': 10,
};

test('what cannot be told of a part cannot be told of the whole, and the part is named', () => {
  const set = setOf({ debtRatio }, greater('computed.debtRatio', 0.2));
  const first = (facts: Facts) => evaluateRequest(set, facts, at).passes[0]?.code ?? null;
  assert.equal(first(known), 'too-young');
  assert.equal(first({ ...known, 'worker.exposureReais': 0 }), null);
  for (const name of Object.keys(known).slice(1)) {
    assert.equal(first({ ...known, [name]: undefined }), `fact-missing:${name}`);
    assert.equal(first({ ...known, [name]: Number.NaN }), `fact-missing:${name}`);
  }
  assert.equal(
    first({ ...known, 'worker.totalEarningsReais': 0 }),
    'fact-missing:computed.debtRatio',
    'divided by zero',
  );
  const [account] = accountRules(set, known, null, at);
  assert.ok(account?.condition.kind === 'all');
  const [leaf] = account.condition.parts;
  assert.ok(leaf?.kind === 'comparison');
  assert.equal(leaf.seen, 0.3);
  assert.deepEqual(
    leaf.from?.map(({ fact: name, seen }) => [name, seen]).sort(),
    Object.entries(known).slice(1).sort(),
  );
});

const room = { sub: [{ mul: [fact('worker.totalEarningsReais'), 0.3] }, fact('extra.debts')] };
const roomFact = {
  sub: [{ mul: [fact('worker.totalEarningsReais'), 0.3] }, { fact: 'extra.debts', unit: 'R$ a month' }],
};
const limit = (params: object) => ruleOf({ name: 'Room', conditions: always, event: { type: 'limit', params } });

test('a limit takes its value from a fact, to the tighter cent; unknown, or nothing left, it is no bid', () => {
  const set = setOf({ room: roomFact }, limit({ maxInstallmentReais: fact('computed.room'), maxInstallments: 48 }));
  const verdict = (facts: Facts) => evaluateRequest(set, { 'desk.always': true, ...facts }, at);
  const earning = (total: number, debts: number) =>
    verdict({ 'worker.totalEarningsReais': total, 'extra.debts': debts });
  const good = earning(1111.11, 100);
  assert.deepEqual([good.passes, good.limits.maxInstallmentCents, good.limits.maxInstallments], [[], 23_333, 48]);
  assert.equal(good.limitRules.maxInstallmentCents, 'Room');
  assert.equal(earning(0.97 / 0.3, 0).limits.maxInstallmentCents, 97, 'nothing is lost by a binary fraction');
  assert.equal(earning(1000, 0).limits.maxInstallmentCents, 30_000);
  assert.deepEqual(
    earning(1000, 300).passes.map(({ code }) => code),
    ['limits-conflict'],
  );
  assert.match(earning(1000, 400).passes[0]!.text, /wants maxInstallmentReais -100, which leaves nothing to bid/);
  assert.equal(earning(1000, -100_000_000).limits.maxInstallmentCents, 100_000_000, 'no more than a limit may say');
  const missing = verdict({ 'extra.debts': 1 });
  assert.deepEqual(
    missing.passes.map(({ code }) => code),
    ['fact-missing:worker.totalEarningsReais'],
  );
  assert.deepEqual(missing.open, [{ rule: 'Room', passes: true, missing: ['worker.totalEarningsReais'] }]);
  assert.equal(missing.refused, false);
  const [account] = accountRules(
    set,
    { 'desk.always': true, 'worker.totalEarningsReais': 1000, 'extra.debts': 1 },
    null,
    at,
  );
  assert.deepEqual(account?.values, [
    {
      fact: 'computed.room',
      seen: 299,
      from: [
        { fact: 'worker.totalEarningsReais', seen: 1000 },
        { fact: 'extra.debts', seen: 1 },
      ],
    },
  ]);
});

test('a cap is a share of another sum; unknown, it is no bid', () => {
  const cap = (params: object) =>
    ruleOf({
      name: 'Fifth',
      conditions: always,
      event: { type: 'cap', params: { name: 'sector', keyFacts: ['employer.sector'], window: 'day', ...params } },
    });
  const set = setOf(
    { fifth: { mul: [fact('desk.volumeTodayReais'), 0.2] } },
    cap({ maxAmountReais: fact('computed.fifth') }),
  );
  assert.deepEqual(set.ledgerFacts, ['desk.volumeTodayReais']);
  const verdict = (facts: Facts) =>
    evaluateRequest(set, { 'desk.always': true, 'employer.sector': 'public', ...facts }, at);
  const { caps, passes } = verdict({ 'desk.volumeTodayReais': 1000.01 });
  assert.deepEqual([caps.map(({ limitAmountCents }) => limitAmountCents), passes], [[20_000], []]);
  assert.deepEqual(
    verdict({}).passes.map(({ code }) => code),
    ['fact-missing:desk.volumeTodayReais'],
  );
  assert.deepEqual(verdict({}).caps, []);
});

test('a set with computed facts is tested, confirmed by the library, and opened again from its text', async () => {
  const files = [
    codesFile,
    factsFile({ debtRatio, room: roomFact }),
    json('rules.json', {
      rules: [greater('computed.debtRatio', 0.2), limit({ maxInstallmentReais: fact('computed.room') })],
    }),
    json('rules.test.json', {
      base: { ...known, 'extra.debts': 10 },
      tests: [
        { name: 'much', expect: { pass: 'too-young', limits: { maxInstallmentReais: 290 } } },
        { name: 'little', facts: { 'worker.exposureReais': 0 }, expect: { pass: null } },
        {
          name: 'unknown',
          facts: { 'worker.totalEarningsReais': null },
          expect: { pass: 'fact-missing:worker.totalEarningsReais' },
        },
      ],
    }),
  ];
  const verdict = await confirmRules(files, 100, at);
  assert.deepEqual(reasonsAgainst(verdict), []);
  assert.ok(verdict.kind === 'good');
  const again = openRuleSet(verdict.ruleSet.source, true);
  assert.ok(again.kind === 'compiled');
  const facts = { ...known, 'extra.debts': 10 };
  assert.deepEqual(evaluateRequest(again.ruleSet, facts, at), evaluateRequest(verdict.ruleSet, facts, at));
  const lesser = judgeRules(
    [
      ...files.slice(0, 3),
      json('rules.test.json', {
        base: { ...known, 'extra.debts': 10 },
        tests: [{ name: 'much', expect: { pass: 'too-young' } }],
      }),
    ],
    100,
    at,
  );
  assert.ok(lesser.kind === 'tests-failed');
  assert.deepEqual(
    lesser.report.uncovered.map(({ condition, missing }) => [condition, missing]),
    [
      [null, ['false', 'unknown']],
      ['computed.debtRatio greaterThan 0.2', ['false', 'unknown']],
      ['computed.room is known', ['unknown']],
    ],
  );
});

const refusals: readonly (readonly [what: string, facts: Record<string, Json>, pointer: string, says: RegExp])[] = [
  [
    'reais and months',
    { x: { add: [fact('request.amountReais'), fact('request.installments')] } },
    '/facts/x/value/add',
    /One part is in R\$, another in months/,
  ],
  [
    'reais and reais a month',
    { x: { min: [fact('request.amountReais'), fact('margin.availableReais')] } },
    '/facts/x/value/min',
    /R\$, another in R\$ a month/,
  ],
  ['itself', { x: { add: [fact('computed.x'), 1] } }, '/facts/x/value/add/0/fact', /"x" is made of itself/],
  [
    'each other',
    { x: { add: [fact('computed.y'), 1] }, y: { add: [fact('computed.x'), 1] } },
    '/facts/y/value/add/0/fact',
    /"x" is made of itself/,
  ],
  [
    'an unknown fact',
    { x: { add: [fact('worker.age'), 1] } },
    '/facts/x/value/add/0/fact',
    /There is no fact "worker\.age"/,
  ],
  [
    'an unknown computed fact',
    { x: fact('computed.yy'), yz: fact('request.amountReais') },
    '/facts/x/value/fact',
    /Did you mean "yz"\?/,
  ],
  ['a text', { x: fact('employer.sector') }, '/facts/x/value/fact', /is no number \(string\)/],
  ['a label', { x: { add: [fact('worker.occupationCode'), 1] } }, '/facts/x/value/add/0/fact', /is a label \(CBO\)/],
  ['a day as a number', { x: fact('desk.date') }, '/facts/x/value/fact', /write "daysBetween" or "monthsBetween"/],
  ['an operation nobody knows', { x: { sun: [1, 2] } }, '/facts/x/value', /There is no operation "sun"/],
  ['sum of parts', { x: { sum: [1, 2] } }, '/facts/x/value/sum', /Write "add" for parts; a sum is over a list/],
  [
    'a sum of one fact',
    { x: { sum: fact('request.amountReais') } },
    '/facts/x/value/sum/fact',
    /names no values of a list/,
  ],
  ['a sum of two lists', { x: { sum: fact('extra.a.*.b.*') } }, '/facts/x/value/sum/fact', /names no values of a list/],
  ['a sum without a list', { x: { sum: fact('extra.*') } }, '/facts/x/value/sum/fact', /names no values of a list/],
  ['a sum of nothing', { x: { sum: {} } }, '/facts/x/value/sum', /fact/],
  [
    'a sum in another unit',
    { x: { add: [{ sum: { fact: 'extra.a.*.b', unit: 'R$ a month' } }, fact('request.amountReais')] } },
    '/facts/x/value/add',
    /R\$ a month, another in R\$/,
  ],
  [
    'a sum in a unit that is none',
    { x: { sum: { fact: 'extra.a.*.b', unit: 'reais' } } },
    '/facts/x/value/sum/unit',
    /There is no unit "reais"/,
  ],
  [
    'eleven sums',
    { x: { add: Array.from({ length: 11 }, () => ({ sum: fact('extra.a.*') })) } },
    '/facts/x',
    /More than 100 operations/,
  ],
  ['a count of values', { x: { count: fact('extra.a.*.b') } }, '/facts/x/value/count', /wants the list itself/],
  ['zero below', { x: { div: [fact('request.amountReais'), 0] } }, '/facts/x/value/div/1', /divides by zero/],
  ['three to subtract', { x: { sub: [1, 2, 3] } }, '/facts/x/value/sub', /list of 2 parts/],
  ['only numbers', { x: { add: [1, 2] } }, '/facts/x', /it is a number; write the number/],
  ['no day', { x: { daysBetween: ['2026-02-30', fact('desk.date')] } }, '/facts/x/value/daysBetween/0', /is no day/],
  ['a text as value', { x: 'amount' }, '/facts/x/value', /write a number, \{"fact": …\} or an operation/],
  ['a name in capitals', { X: fact('request.amountReais') }, '/facts/X', /write it like "debtShare"/],
  [
    'another unit of extra',
    { x: { fact: 'extra.a', unit: 'reais' } },
    '/facts/x/value/unit',
    /There is no unit "reais"/,
  ],
  [
    'too deep',
    { x: Array.from({ length: 9 }).reduce<Json>((inner) => ({ round: inner }), fact('request.amountReais')) },
    '/facts/x',
    /deeper than 8 levels/,
  ],
];

for (const [what, facts, pointer, says] of refusals) {
  test(`refused: ${what}`, () => {
    const verdict = judgeRules([codesFile, factsFile(facts), json('rules.json', { rules: [ruleOf()] })], 0, at);
    assert.ok(verdict.kind === 'refused');
    const [fault] = verdict.faults;
    assert.deepEqual([fault!.file, fault!.pointer], ['facts.json', pointer]);
    assert.match(fault!.text, says);
    assert.ok(fault!.line !== null);
  });
}

test('300 mutations of sums and counts: refused with a place and a remedy, or unknown where nothing is known', (context) => {
  const files = [
    codesFile,
    factsFile({
      owed: { add: [{ sum: { fact: 'extra.loans.*.debt', unit: 'R$' } }, fact('request.amountReais')] },
      share: { div: [fact('computed.owed'), { sum: { fact: 'extra.incomes.*', unit: 'R$' } }] },
      many: { add: [{ count: fact('extra.loans') }, { count: fact('alerts.codes') }] },
    }),
    json('rules.json', { rules: [greater('computed.share', 0.5), { ...greater('computed.many', 3), name: 'Many' }] }),
  ];
  const incomes: Facts = { 'extra.incomes.length': 1, 'extra.incomes.0': 900 };
  const whole: Facts = { 'request.amountReais': 50, 'alerts.codes': ['1'], ...loans(60, 0.5), ...incomes };
  const mutants = mutationsOf(files, 2_000)
    .filter(({ victim }) => victim === 'facts.json')
    .slice(0, 300);
  assert.equal(mutants.length, 300);
  const seen = { refused: 0, taken: 0 };
  for (const { kind, files: mutant } of mutants) {
    const verdict = judgeRules(mutant, 0, at);
    if (verdict.kind === 'refused') {
      seen.refused += 1;
      for (const { file, text } of verdict.faults)
        assert.ok(/\.json$/.test(file) && text.length > 20, `${kind}: ${file} ${text}`);
      continue;
    }
    seen.taken += 1;
    for (const [name, { value }] of verdict.ruleSet.derived) {
      assert.equal(value({}, {}), undefined, `${kind}: ${name} without any fact`);
      const known = value(whole, {});
      assert.ok(known === undefined || (typeof known === 'number' && Number.isFinite(known)), `${kind}: ${name}`);
    }
  }
  context.diagnostic(`figure: 300 mutations of sums: ${seen.refused} refused, ${seen.taken} taken`);
  assert.ok(seen.refused > 150 && seen.taken > 15, JSON.stringify(seen));
});

test('a limit by a fact of another unit, of the offer or of no unit is refused', () => {
  const first = (params: object, facts: Record<string, Json> = { room }) => {
    const verdict = judgeRules([codesFile, factsFile(facts), json('rules.json', { rules: [limit(params)] })], 0, at);
    return verdict.kind === 'refused' ? reasonsAgainst(verdict)[0]! : 'taken';
  };
  assert.match(
    first({ maxAmountReais: fact('computed.room') }),
    /"computed\.room" is in R\$ a month, maxAmountReais in R\$; name a fact of that unit/,
  );
  assert.match(first({ maxTermChange: fact('request.installments') }), /maxTermChange/);
  assert.match(first({ maxRatePercent: fact('offer.ratePercent') }), /exists only after pricing/);
  assert.match(
    first({ maxAmountReais: fact('extra.a') }),
    /"extra\.a" has no known unit; give it one in facts\.json\.$/,
  );
  assert.match(first({ maxAmountReais: fact('worker.netEarningsReais') }), /known unit\. Did you mean "worker\.total/);
  assert.match(first({ maxAmountReais: fact('computed.rom') }), /known unit\. Did you mean "computed\.room"\?$/);
  assert.match(first({ maxAmountReais: fact('employer.sector') }), /is in string/);
  assert.equal(first({ maxInstallments: fact('worker.tenureMonths'), maxAmountReais: 5000 }), 'taken');
});

test('no way to spoil facts.json takes anything down, or leaves it without a place', () => {
  const whole = factsFile({ debtRatio, room: roomFact, ten: { daysBetween: ['2024-01-01', fact('desk.date')] } });
  const rules = json('rules.json', { rules: [greater('computed.debtRatio', 0.2)] });
  let refused = 0;
  const property = fc.property(
    fc.nat(),
    fc.nat({ max: 40 }),
    fc.constantFrom('', '{', '[]', 'null', '-1', '"x"', '1e400', '{"div": [1]}'),
    (place, length, put) => {
      const start = place % whole.text.length;
      const text = whole.text.slice(0, start) + put + whole.text.slice(start + length);
      const verdict = judgeRules([codesFile, { path: 'facts.json', text }, rules], 0, at);
      if (verdict.kind !== 'refused') return;
      refused += 1;
      for (const { file, line, text: said } of verdict.faults)
        assert.ok(line !== null && said.length > 10, `${file} ${said}`);
    },
  );
  fc.assert(property, { numRuns: 300, seed: 3 });
  assert.ok(refused > 200, String(refused));
});
