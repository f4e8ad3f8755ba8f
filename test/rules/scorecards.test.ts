/** Scorecards: points of bins, summed up; what is unknown has points that somebody wrote down, or leaves the score unknown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accountRules } from '../../src/rules/account.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Facts, FactValue } from '../../src/rules/facts.ts';
import { compileRuleSet, openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { confirmRules, judgeRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { at, codesFile, compiledFiles, ruleOf } from './sample-request.ts';

const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 1) });

const tenure = {
  fact: 'worker.tenureMonths',
  unknown: 'unknown',
  bins: [
    { below: 12, points: -20 },
    { from: 12, below: 36, points: 10 },
    { from: 36, points: 30 },
  ],
};
const sector = {
  fact: 'employer.sector',
  unknown: -5,
  bins: [
    { in: ['public'], points: 40 },
    { in: ['commerce', 'industry'], points: 5 },
    { else: true, points: 0 },
  ],
};
const eligible = {
  fact: 'request.eligible',
  unknown: 0,
  bins: [
    { in: [true], points: 7 },
    { in: [false], points: -7 },
  ],
};
const ratio = {
  fact: 'computed.ratio',
  unknown: -1,
  bins: [
    { below: 0.3, points: 3 },
    { from: 0.3, points: -3 },
  ],
};
const bands = [
  { name: 'C', below: 100 },
  { name: 'B', from: 100, below: 150 },
  { name: 'A', from: 150 },
];
const card = { description: 'Risk.', start: 100, characteristics: [tenure, sector, eligible, ratio], bands };
const facts = json('facts.json', {
  facts: {
    ratio: { description: 'd', value: { div: [{ fact: 'request.amountReais' }, { fact: 'worker.exposureReais' }] } },
  },
});
const rules = json('rules.json', {
  rules: [
    ruleOf({ name: 'Low', conditions: { all: [{ fact: 'score.risk', operator: 'lessThan', value: 100 }] } }),
    ruleOf({
      name: 'B',
      conditions: { all: [{ fact: 'score.risk.band', operator: 'equal', value: 'B' }] },
      event: { type: 'limit', params: { maxInstallments: 24 } },
    }),
  ],
});
const filesWith = (change: object = {}): RuleFile[] => [
  codesFile,
  facts,
  json('risk.score.json', { ...card, ...change }),
  rules,
];
const set = compiledFiles(filesWith());
const scoreOf = (known: Facts) => set.derived.get('score.risk')!.value(known, {});

const values: Record<string, readonly FactValue[]> = {
  'worker.tenureMonths': [0, 11, 12, 35, 36, 900],
  'employer.sector': ['public', 'commerce', 'industry', 'services'],
  'request.eligible': [true, false],
  'request.amountReais': [0, 29.99, 30, 300],
};

/** From the file alone, as plainly as it can be written. */
function plainScore(known: Facts): number | null {
  let sum = 100;
  const [months, area, says, amount] = Object.keys(values).map((name) => known[name]);
  if (typeof months !== 'number') return null;
  sum += months < 12 ? -20 : months < 36 ? 10 : 30;
  sum += area === undefined ? -5 : area === 'public' ? 40 : area === 'commerce' || area === 'industry' ? 5 : 0;
  sum += says === undefined ? 0 : says ? 7 : -7;
  return sum + (amount === undefined ? -1 : (amount as number) / 100 < 0.3 ? 3 : -3);
}

test('a sum of points is that of a plain reading of the file, and so are band and rules', () => {
  const draw = fc.record(
    Object.fromEntries(Object.entries(values).map(([name, some]) => [name, fc.constantFrom(...some)])),
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(draw, (drawn) => {
      const known = { ...(drawn as Facts), 'worker.exposureReais': 100 };
      const wanted = plainScore(known);
      assert.equal(scoreOf(known) ?? null, wanted);
      const band = wanted === null ? undefined : wanted < 100 ? 'C' : wanted < 150 ? 'B' : 'A';
      assert.equal(set.derived.get('score.risk.band')!.value(known, {}), band);
      const { passes, limits } = evaluateRequest(set, known, at);
      const code = wanted === null ? 'fact-missing:worker.tenureMonths' : wanted < 100 ? 'too-young' : undefined;
      assert.equal(passes[0]?.code, code);
      assert.equal(limits.maxInstallments, wanted === null || band === 'B' ? 24 : null);
    }),
    { numRuns: 1_000 },
  );
});

test('each fact left out once: no bid is let through that the score would have kept out', () => {
  const low = {
    'worker.tenureMonths': 3,
    'employer.sector': 'services',
    'request.eligible': false,
    'request.amountReais': 300,
    'worker.exposureReais': 100,
  };
  assert.equal(evaluateRequest(set, low, at).passes.length, 1);
  for (const name of Object.keys(low)) {
    for (const odd of [undefined, Number.NaN, [], '3' as FactValue]) {
      if (odd === '3' && name === 'employer.sector') continue;
      assert.equal(evaluateRequest(set, { ...low, [name]: odd }, at).passes.length, 1, `${name} ${String(odd)}`);
    }
  }
});

test('a score of the same name in the request counts for nothing', () => {
  const known = { 'worker.tenureMonths': 3, 'score.risk': 1_000 };
  assert.equal(evaluateRequest(set, known, at).passes[0]?.code, 'too-young');
  assert.equal(evaluateRequest(set, { 'score.risk': 1_000 }, at).passes[0]?.code, 'fact-missing:worker.tenureMonths');
});

test('the explanation tells the points of each bin', () => {
  const known = { 'worker.tenureMonths': 12, 'request.eligible': true };
  const account = accountRules(set, known, null, at).find(({ name }) => name === 'Low');
  assert.ok(account?.condition.kind === 'all');
  const [leaf] = account.condition.parts;
  assert.ok(leaf?.kind === 'comparison');
  assert.equal(leaf.seen, 111);
  assert.deepEqual(leaf.from, [
    { fact: 'worker.tenureMonths', seen: 12, bin: '12 … < 36', points: 10 },
    { fact: 'employer.sector', seen: null, bin: null, points: -5 },
    { fact: 'request.eligible', seen: true, bin: 'true', points: 7 },
    { fact: 'computed.ratio', seen: null, bin: null, points: -1 },
  ]);
});

const tests = json('rules.test.json', {
  base: { 'worker.tenureMonths': 40, 'employer.sector': 'public' },
  tests: [
    {
      name: 'A',
      expect: {
        pass: null,
        limits: { maxInstallments: null },
        facts: { 'score.risk': 169, 'score.risk.band': 'A', 'computed.ratio': null },
      },
    },
    { name: 'B', facts: { 'employer.sector': 'services' }, expect: { pass: null, fired: ['B'] } },
    { name: 'low', facts: { 'worker.tenureMonths': 1, 'employer.sector': null }, expect: { pass: 'too-young' } },
    {
      name: 'unknown',
      facts: { 'worker.tenureMonths': null },
      expect: { pass: 'fact-missing:worker.tenureMonths', facts: { 'score.risk': null } },
    },
  ],
});

test('each edge of each bin is tested without anybody writing it; the rules still have to be shown by people', async () => {
  const verdict = await confirmRules([...filesWith(), tests], 100, at);
  assert.deepEqual(reasonsAgainst(verdict), []);
  assert.ok(verdict.kind === 'good');
  const generated = verdict.ruleSet.tests.filter(({ isGenerated }) => isGenerated);
  // Tenure has 3 bins with 2 edges and an unknown, sector 4 values and an unknown, eligible 2 and an unknown.
  assert.equal(generated.length, 7 + 5 + 3);
  assert.ok(generated.some(({ name }) => name === 'score.risk: worker.tenureMonths 35 (generated)'));
  const bare = judgeRules(filesWith(), 100, at);
  assert.ok(bare.kind === 'tests-failed' && bare.report.coverage === 0 && bare.report.failed === 0);
  const again = openRuleSet(verdict.ruleSet.source, true);
  assert.ok(again.kind === 'compiled' && again.ruleSet.hash === verdict.ruleSet.hash);
  const known = { 'worker.tenureMonths': 12 };
  assert.deepEqual(evaluateRequest(again.ruleSet, known, at), evaluateRequest(verdict.ruleSet, known, at));
  const wrong = judgeRules([...filesWith({ start: 90 }), tests], 100, at);
  assert.match(reasonsAgainst(wrong).join('\n'), /"A": facts\.score\.risk: expected 169, got 159/);
});

test('of bins after one that was refused it is not said where they would begin (stranger, session 52)', () => {
  const bins = [
    { below: 12, points: 1 },
    { from: 12, to: 24, points: 2 },
    { from: 24, points: 3 },
  ];
  const result = compileRuleSet(filesWith({ characteristics: [{ ...tenure, bins }] }));
  assert.ok(result.kind === 'refused');
  assert.match(result.faults[0]!.text, /"to"/);
  const said = result.faults.filter(({ text }) => /begins at/.test(text));
  assert.deepEqual(said, []);
});

const characteristic = (change: object) => ({ characteristics: [{ ...tenure, ...change }] });
const refusals: readonly (readonly [what: string, change: object, pointer: string, says: RegExp])[] = [
  [
    'a gap between bins',
    characteristic({
      bins: [
        { below: 12, points: 1 },
        { from: 13, points: 2 },
      ],
    }),
    '/characteristics/0/bins/1',
    /begins at 13, the one before ends below 12; write "from": 12/,
  ],
  [
    'bins that overlap',
    characteristic({
      bins: [
        { below: 12, points: 1 },
        { from: 11, points: 2 },
      ],
    }),
    '/characteristics/0/bins/1',
    /write "from": 12/,
  ],
  [
    'a first bin that is not open',
    characteristic({
      bins: [
        { from: 0, below: 12, points: 1 },
        { from: 12, points: 2 },
      ],
    }),
    '/characteristics/0/bins/0/from',
    /open below; remove "from"/,
  ],
  [
    'a last bin that is not open',
    characteristic({
      bins: [
        { below: 12, points: 1 },
        { from: 12, below: 99, points: 2 },
      ],
    }),
    '/characteristics/0/bins/1/below',
    /open above; remove "below"/,
  ],
  [
    'points that are no number',
    characteristic({ bins: [{ points: '3' }] }),
    '/characteristics/0/bins/0/points',
    /the number 3, without quotes/,
  ],
  [
    'fractions of points',
    characteristic({ bins: [{ points: 3.5 }] }),
    '/characteristics/0/bins/0/points',
    /write a whole number/,
  ],
  [
    'no word on the unknown',
    { characteristics: [{ fact: tenure.fact, bins: tenure.bins }] },
    '/characteristics/0',
    /lacks "unknown"; add it/,
  ],
  [
    'another word on the unknown',
    characteristic({ unknown: 'missing' }),
    '/characteristics/0/unknown',
    /"unknown" makes the score unknown/,
  ],
  [
    'a text in two bins',
    {
      characteristics: [
        {
          ...sector,
          bins: [
            { in: ['public'], points: 1 },
            { in: ['public'], points: 1 },
            { else: true, points: 0 },
          ],
        },
      ],
    },
    '/characteristics/0/bins/1/in/0',
    /stands in two bins/,
  ],
  [
    'a text that never comes',
    {
      characteristics: [
        {
          ...sector,
          bins: [
            { in: ['pubic'], points: 1 },
            { else: true, points: 0 },
          ],
        },
      ],
    },
    '/characteristics/0/bins/0/in/0',
    /Did you mean "public"/,
  ],
  [
    'texts left out',
    { characteristics: [{ ...sector, bins: [{ in: ['public'], points: 1 }] }] },
    '/characteristics/0/bins',
    /leave values of "employer\.sector" out/,
  ],
  [
    'a flag half',
    { characteristics: [{ ...eligible, bins: [{ in: [true], points: 1 }] }] },
    '/characteristics/0/bins',
    /leave values of "request\.eligible" out/,
  ],
  [
    'else before the end',
    {
      characteristics: [
        {
          ...sector,
          bins: [
            { else: true, points: 0 },
            { in: ['public'], points: 1 },
          ],
        },
      ],
    },
    '/characteristics/0/bins/0/else',
    /move it to the end/,
  ],
  [
    'an unknown fact',
    characteristic({ fact: 'worker.tenure' }),
    '/characteristics/0/fact',
    /There is no fact "worker\.tenure"/,
  ],
  ['a list', characteristic({ fact: 'alerts.codes' }), '/characteristics/0/fact', /count it in facts\.json/],
  [
    'a fact of the offer',
    characteristic({ fact: 'offer.ratePercent' }),
    '/characteristics/0/fact',
    /exists only after pricing/,
  ],
  ['one fact twice', { characteristics: [tenure, tenure] }, '/characteristics/1', /is scored twice/],
  ['one band', { bands: [{ name: 'A' }] }, '/bands', /list of 2 bands or more/],
  [
    'two bands of one name',
    {
      bands: [
        { name: 'A', below: 3 },
        { name: 'A', from: 3 },
      ],
    },
    '/bands/1/name',
    /is there already/,
  ],
];

for (const [what, change, pointer, says] of refusals) {
  test(`refused: ${what}`, () => {
    const result = compileRuleSet(filesWith(change));
    assert.ok(result.kind === 'refused');
    const [fault] = result.faults;
    assert.deepEqual([fault!.file, fault!.pointer], ['risk.score.json', pointer], fault!.text);
    assert.match(fault!.text, says);
  });
}

test('a name that no fact can have, a band that is none, a score that is set are refused', () => {
  const first = (...files: RuleFile[]) => {
    const result = compileRuleSet([codesFile, facts, ...files]);
    return result.kind === 'refused'
      ? `${result.faults[0]!.file}${result.faults[0]!.pointer} ${result.faults[0]!.text}`
      : 'taken';
  };
  assert.match(
    first(json('Risk-2.score.json', card), rules),
    /^Risk-2\.score\.json call the file like|named like a fact/,
  );
  const other = json('rules.json', [
    ruleOf({ conditions: { all: [{ fact: 'score.risk.band', operator: 'equal', value: 'D' }] } }),
  ]);
  assert.match(first(json('risk.score.json', card), other), /"?score\.risk\.band"? is never "D"/);
  const given = json('rules.test.json', { tests: [{ name: 't', facts: { 'score.risk': 3 }, expect: { pass: null } }] });
  assert.match(
    first(json('risk.score.json', card), rules, given),
    /"score\.risk" is made by the desk, of worker\.tenureMonths/,
  );
});

test('no way to spoil a scorecard takes anything down, or leaves it without a place', () => {
  const [, , whole] = filesWith() as [RuleFile, RuleFile, RuleFile];
  let refused = 0;
  const property = fc.property(
    fc.nat(),
    fc.nat({ max: 60 }),
    fc.constantFrom('', '{', '[]', 'null', '-1', '"x"', '1e400', 'true'),
    (place, length, put) => {
      const start = place % whole.text.length;
      const text = whole.text.slice(0, start) + put + whole.text.slice(start + length);
      const result = compileRuleSet([codesFile, facts, { path: whole.path, text }, rules]);
      if (result.kind !== 'refused') return;
      refused += 1;
      for (const { file, line, text: said } of result.faults)
        assert.ok(line !== null && said.length > 10, `${file} ${said}`);
    },
  );
  fc.assert(property, { numRuns: 300, seed: 5 });
  assert.ok(refused > 200, String(refused));
});
