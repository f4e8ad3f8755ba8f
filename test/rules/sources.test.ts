/** External sources in a rule set: what they said is seen as a plain evaluator sees it, what they did not say lets nothing through. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpf as cpfRules } from 'cpf-cnpj-validator';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { FactValue } from '../../src/rules/facts.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';
import { readReply, type Source, withSources } from '../../src/rules/sources.ts';
import { chanceFrom, mutationsOf } from './mutations.ts';
import { plainVerdict, type Verdict } from './plain-evaluator.ts';
import { always, at, codesFile, compiledFiles, ruleOf, sampleRequest } from './sample-request.ts';

const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 2) });
const reply = {
  score: { type: 'number', unit: 'points' },
  debts: { type: 'number', unit: 'R$ a month' },
  grade: { type: 'text', values: ['A', 'B', 'C'] },
  since: { type: 'day' },
};
const declaration = {
  ...{ description: 'Of the bureau.', endpoint: 'bureau', send: ['request.amountReais'], reply },
  ...{ timeoutMs: 500, maxAskedPerDay: 100 },
};
const leaf = (field: string, operator: string, value: unknown) => ({ fact: `source.bureau.${field}`, operator, value });
const rulesWith = (conditions: readonly object[]) =>
  json('rules.json', {
    rules: conditions.map((one, index) => ruleOf({ name: `${index}`, conditions: { all: [one] } })),
  });
const filesWith = (...conditions: object[]): RuleFile[] => [
  codesFile,
  json('bureau.source.json', declaration),
  rulesWith(conditions),
];

test('a misspelt source or field is refused with the nearest one', () => {
  for (const [fact, meant] of [
    ['source.bureua.score', 'source.bureau.score'],
    ['source.bureau.scor', 'source.bureau.score'],
    ['source.bureau.garde', 'source.bureau.grade'],
    ['sources.bureau.score', 'source.bureau.score'],
  ] as const) {
    const result = compileRuleSet(filesWith({ fact, operator: 'equal', value: 1 }));
    assert.ok(result.kind === 'refused', fact);
    const [fault] = result.faults;
    assert.equal(fault!.pointer, '/rules/0/conditions/all/0/fact');
    assert.match(fault!.text, new RegExp(`"${fact}".*Did you mean "${meant}"\\?`));
  }
});

function faultsOf(change: object): string[] {
  const result = compileRuleSet([
    codesFile,
    json('bureau.source.json', { ...declaration, ...change }),
    rulesWith([leaf('score', 'lessThan', 500)]),
  ]);
  return result.kind === 'refused' ? result.faults.map(({ pointer, text }) => `${pointer} ${text}`) : [];
}

test('whom a question is about has to be told, and what may be left out has to be sent', () => {
  const send = ['worker.key', 'employer.ageMonths'];
  const personal = ['worker.key'];
  assert.deepEqual(faultsOf({ send, personal, optional: ['employer.ageMonths'] }), []);
  assert.deepEqual(faultsOf({ send, personal, optional: ['worker.key', 'request.amountReais'] }), [
    '/optional/0 "worker.key" says whom the question is about, so it cannot be optional; remove it.',
    '/optional/1 "request.amountReais" is not sent; name it under "send" as well, or remove it.',
  ]);
});

test('a number has the range that its field declares, and is no CPF', () => {
  const withScore = (field: object) => ({ reply: { ...reply, score: { ...reply.score, ...field } } });
  assert.deepEqual(faultsOf(withScore({ min: 0, max: 1_000 })), []);
  assert.deepEqual(faultsOf(withScore({ min: 5, max: 4 })), [
    '/reply/score/min min is 5, above max, 4; write a lower one.',
  ]);
  assert.match(faultsOf(withScore({ max: 0.5 }))[0]!, /write a whole number/);
  assert.match(faultsOf(withScore({ least: 0 }))[0]!, /^\/reply\/score\/least There is no "least" in a field/);
  assert.match(faultsOf({ reply: { ...reply, grade: { ...reply.grade, max: 4 } } })[0]!, /Only a number has a range/);

  const sourceOf = (field: object) => {
    const content = { ...declaration, ...withScore(field) };
    return compiledFiles([codesFile, json('bureau.source.json', content), rulesWith([leaf('score', 'lessThan', 500)])])
      .sources[0]!;
  };
  const narrow = sourceOf({ min: 0, max: 1_000 });
  for (const score of [0, 1_000]) assert.deepEqual(readReply(narrow, JSON.stringify({ score })), { score });
  for (const score of [-1, 1_001]) assert.equal(readReply(narrow, JSON.stringify({ score })), null);
  // The second one has lost its two zeros in front.
  for (const cpf of [52_998_224_725, 191_000_043]) {
    const digits = String(cpf).padStart(11, '0');
    const isOne = cpfRules.isValid(digits, true);
    assert.equal(readReply(sourceOf({}), JSON.stringify({ score: cpf })) === null, isOne, digits);
  }
  assert.deepEqual(readReply(sourceOf({}), '{"score":52998224726}'), { score: 52_998_224_726 });
});

test('a set asks 16 sources at most', () => {
  const setOf = (count: number) => {
    const names = Array.from({ length: count }, (_, index) => `own${index}`);
    const conditions = names.map((name) => ({ fact: `source.${name}.score`, operator: 'lessThan', value: 500 }));
    return compileRuleSet([
      codesFile,
      ...names.map((name) => json(`${name}.source.json`, declaration)),
      rulesWith(conditions),
    ]);
  };
  assert.equal(setOf(16).kind, 'compiled');
  const refused = setOf(17);
  assert.ok(refused.kind === 'refused');
  assert.match(refused.faults[0]!.text, /^A set asks 17 sources; 16 are the most\./);
});

const draw = chanceFrom(54);
const below = (count: number) => Math.floor(draw() * count);
const oneOf = <T>(values: readonly T[]) => values[below(values.length)]!;

function comparison(depth: number): object {
  if (depth > 0 && draw() < 0.4) {
    const parts = () => Array.from({ length: 2 + below(2) }, () => comparison(depth - 1));
    return oneOf<() => object>([
      () => ({ all: parts() }),
      () => ({ any: parts() }),
      () => ({ not: comparison(depth - 1) }),
      () => ({ atLeast: 2, of: parts() }),
    ])();
  }
  return oneOf<() => object>([
    () => leaf('score', oneOf(['lessThan', 'greaterThanInclusive', 'equal']), 10 * below(100)),
    () => leaf('debts', oneOf(['lessThanInclusive', 'not:greaterThan']), below(5_000)),
    () => leaf('grade', oneOf(['equal', 'notEqual']), oneOf(['A', 'B', 'C'])),
    () => leaf('grade', oneOf(['in', 'notIn']), ['A', oneOf(['B', 'C'])]),
    () => leaf('since', 'equal', `2026-0${1 + below(9)}-11`),
    () => ({ fact: 'request.amountReais', operator: 'greaterThan', value: 1_000 * below(20) }),
  ])();
}

/** As the wire has it; null and what is left out are unknown. */
function answer(): Record<string, number | string | null> {
  const fields: Record<string, () => number | string> = {
    score: () => 10 * below(100),
    debts: () => below(500_000) / 100,
    grade: () => oneOf(['A', 'B', 'C']),
    since: () => `2026-0${1 + below(9)}-11`,
  };
  const said: Record<string, number | string | null> = {};
  for (const [name, make] of Object.entries(fields)) if (draw() > 0.2) said[name] = draw() < 0.1 ? null : make();
  return said;
}

const types = {
  ...{ 'source.bureau.score': 'number', 'source.bureau.debts': 'number' },
  ...{ 'source.bureau.grade': 'string', 'source.bureau.since': 'string', 'request.amountReais': 'number' },
};

test('7 800 verdicts on generated answers are those of the plain evaluator', (context) => {
  const seen = { true: 0, false: 0, unknown: 0 };
  let refused = 0;
  for (let round = 0; round < 50; round += 1) {
    const conditions = Array.from({ length: 4 }, () => comparison(2));
    // What can never hold, or hold otherwise, is refused: nothing to compare.
    const compiled = compileRuleSet(filesWith(...conditions));
    if (compiled.kind === 'refused') {
      refused += 1;
      continue;
    }
    const [source] = compiled.ruleSet.sources;
    for (let time = 0; time < 50; time += 1) {
      const said = answer();
      const known: Record<string, FactValue> = { 'request.amountReais': 100 * below(200) };
      const found = source === undefined ? {} : readReply(source, JSON.stringify(said));
      assert.ok(found !== null, JSON.stringify(said));
      const facts = withSources(known, [{ source: 'bureau', found }]);
      const plain = {
        ...known,
        ...Object.fromEntries(Object.entries(said).map(([name, value]) => [`source.bureau.${name}`, value])),
      };
      const passes: ReadonlyMap<string | null, string> = new Map(
        evaluateRequest(compiled.ruleSet, facts, at).passes.map(({ rule, code }) => [rule, code]),
      );
      for (const [index, one] of conditions.entries()) {
        const code = passes.get(`${index}`);
        const ours: Verdict = code === undefined ? 'false' : code.startsWith('fact-missing:') ? 'unknown' : 'true';
        const verdict = plainVerdict({ all: [one] }, { conditions: {}, facts: plain, types });
        assert.equal(ours, verdict, JSON.stringify({ one, plain }));
        seen[verdict] += 1;
      }
    }
  }
  context.diagnostic(`figure: ${JSON.stringify(seen)}, ${refused} sets refused`);
  assert.ok(Math.min(...Object.values(seen)) > 500 && refused < 25, JSON.stringify({ seen, refused }));
});

const example = readRuleFiles(new URL('../../rules/examples/external-score/', import.meta.url).pathname);
const whole = { score: 720, restriction: 'none' };

function verdictOn(ruleSet: RuleSet, found: Record<string, number | string>) {
  const { requestedAmountCents } = sampleRequest;
  const known = { 'desk.always': true, 'request.amountReais': requestedAmountCents! / 100 };
  return evaluateRequest(ruleSet, withSources(known, [{ source: 'bureau', found }]), at);
}

test('each fact of the source left out once, of each value that it may have: nothing fails open', () => {
  const set = compiledFiles(example);
  assert.deepEqual(verdictOn(set, whole).passes, []);
  for (const score of [0, 379, 380, 519, 520, 699, 700, 1_000]) {
    for (const restriction of ['none', 'closed', 'open']) {
      const told = verdictOn(set, { score, restriction });
      for (const left of [{ score }, { restriction }, {}]) {
        const { passes, limits } = verdictOn(set, left as Record<string, number | string>);
        assert.ok(passes.length > 0, JSON.stringify(left));
        // A limit by what is not known holds as well.
        assert.ok((limits.maxAmountCents ?? 0) <= told.limits.maxAmountCents!);
        assert.ok((limits.minRateHundredths ?? 0) >= told.limits.minRateHundredths!);
      }
    }
  }
});

test('nor does a limit, a computed fact or a scorecard by it', () => {
  const limit = (fact: string) => {
    const event = { type: 'limit', params: { maxInstallmentReais: { fact } } };
    return ruleOf({ name: 'R', event, conditions: always });
  };
  const computed = json('facts.json', {
    facts: { room: { description: 'r', value: { mul: [{ fact: 'source.bureau.debts' }, 0.5] } } },
  });
  const card = json('risk.score.json', {
    ...{ description: 'Risk.', start: 500 },
    characteristics: [
      {
        fact: 'source.bureau.grade',
        unknown: 'unknown',
        bins: [
          { in: ['A'], points: 10 },
          { else: true, points: 0 },
        ],
      },
    ],
    bands: [
      { name: 'B', below: 505 },
      { name: 'A', from: 505 },
    ],
  });
  const cases: [object, RuleFile[], Record<string, number | string>][] = [
    [limit('source.bureau.debts'), [], { debts: 400 }],
    [limit('computed.room'), [computed], { debts: 400 }],
    [
      ruleOf({ name: 'R', conditions: { all: [{ fact: 'score.risk', operator: 'lessThan', value: 505 }] } }),
      [card],
      { grade: 'A' },
    ],
  ];
  for (const [rule, more, said] of cases) {
    const set = compiledFiles([codesFile, json('bureau.source.json', declaration), json('r.json', rule), ...more]);
    assert.equal(set.sources.length, 1, 'it is asked');
    assert.deepEqual(verdictOn(set, said).passes, [], JSON.stringify(rule));
    const { passes } = verdictOn(set, {});
    assert.match(passes[0]?.code ?? 'it bids', /^fact-missing:/, JSON.stringify(rule));
  }
});

/** What the declaration says, read as plainly as it can be: whether the answer is one, and what of it is known. */
function plainReply(text: string, said: Record<string, unknown>): Record<string, unknown> | null {
  const fields = (JSON.parse(text) as typeof declaration).reply as Record<string, { type: string; values?: string[] }>;
  const known: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(said)) {
    const field = fields[name];
    if (field === undefined) return null;
    if (value === null) continue;
    const fits = field.type === 'number' ? typeof value === 'number' : (field.values ?? []).includes(value as string);
    if (!fits) return null;
    known[name] = value;
  }
  return known;
}

test('300 mutations of a source file: refused with a place and a remedy, or they mean what they say', (context) => {
  const file = example.find(({ path }) => path === 'bureau.source.json')!;
  const rest = example.filter(({ path }) => path !== file.path && !path.endsWith('.test.json'));
  const count = { refused: 0, same: 0 };
  for (const { kind, files } of mutationsOf([file], 300)) {
    const all = [...files, ...rest];
    const startedAt = performance.now();
    const result = compileRuleSet(all);
    assert.ok(performance.now() - startedAt < 2_000, kind);
    const [{ text }] = files as [RuleFile];
    if (result.kind === 'refused') {
      count.refused += 1;
      for (const { file: path, line, text: told } of result.faults) {
        const spoilt = all.find((one) => one.path === path)!;
        assert.ok(line !== null && line >= 1 && line <= spoilt.text.split('\n').length, `${kind}: ${path} ${line}`);
        assert.ok(told.length > 10 && told.length < 1_000, told);
      }
      continue;
    }
    count.same += 1;
    const source: Source = result.ruleSet.sources[0]!;
    const declared = JSON.parse(text) as typeof declaration;
    assert.deepEqual(
      [source.endpoint, source.send, source.timeoutMs, source.maxAskedPerDay],
      [declared.endpoint, declared.send, declared.timeoutMs, declared.maxAskedPerDay],
      kind,
    );
    for (const said of [whole, { score: 400 }, { score: '400' }, { restriction: 'no' }, { score: null }, { more: 1 }])
      assert.deepEqual(readReply(source, JSON.stringify(said)), plainReply(text, said), `${kind}: ${text}`);
    assert.ok(verdictOn(result.ruleSet, {}).passes.length > 0, kind);
  }
  context.diagnostic(`figure: ${JSON.stringify(count)}`);
  assert.ok(count.refused >= 100 && count.same >= 40, JSON.stringify(count));
});
