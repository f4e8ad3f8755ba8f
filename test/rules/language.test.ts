/** Decorators, named conditions, facts as values, validity, lists and tables: what they mean, and what of them is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Facts } from '../../src/rules/facts.ts';
import type { RuleFault } from '../../src/rules/place.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';
import { at, codesFile, compiled, compiledFiles, filesOf, ruleOf } from './sample-request.ts';

type Truth = 'true' | 'false' | 'unknown';

function truthOf(ruleSet: RuleSet, facts: Facts): Truth {
  const [reason] = evaluateRequest(ruleSet, { 'desk.always': true, ...facts }, at).passes;
  if (reason === undefined) return 'false';
  return reason.code.startsWith('fact-missing:') ? 'unknown' : 'true';
}

const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 1) });
const on = (fact: string, operator: string, value: unknown) =>
  ruleOf({ conditions: { all: [{ fact, operator, value }] } });

function faultsOf(files: readonly RuleFile[]): readonly RuleFault[] {
  const result = compileRuleSet(files);
  return result.kind === 'refused' ? result.faults : [];
}

test('decorated operators look at each member of a list', () => {
  const some = compiled([on('alerts.codes', 'someFact:in', ['7', '9'])]);
  const every = compiled([on('alerts.codes', 'everyFact:in', ['7', '9'])]);
  const none = compiled([on('alerts.codes', 'everyFact:not:in', ['7', '9'])]);
  const truths = (codes: string[] | undefined) =>
    [some, every, none].map((set) => truthOf(set, codes === undefined ? {} : { 'alerts.codes': codes }));
  assert.deepEqual(truths(['7', '1']), ['true', 'false', 'false']);
  assert.deepEqual(truths(['9']), ['true', 'true', 'false']);
  assert.deepEqual(truths(['1']), ['false', 'false', 'true']);
  assert.deepEqual(truths([]), ['false', 'true', 'true']);
  assert.deepEqual(truths(undefined), ['unknown', 'unknown', 'unknown']);
});

test('a fact as value is looked up, and named when it is the one that is missing', () => {
  const set = compiled([on('worker.totalEarningsReais', 'greaterThan', { fact: 'margin.availableReais' })]);
  assert.equal(truthOf(set, { 'worker.totalEarningsReais': 10, 'margin.availableReais': 9 }), 'true');
  assert.equal(truthOf(set, { 'worker.totalEarningsReais': 9, 'margin.availableReais': 9 }), 'false');
  const [reason] = evaluateRequest(set, { 'worker.totalEarningsReais': 9 }, at).passes;
  assert.equal(reason?.code, 'fact-missing:margin.availableReais');
  const byPath = compiled([on('score.bureau', 'lessThan', { fact: 'extra', path: '$.floor' })]);
  assert.equal(truthOf(byPath, { 'score.bureau': 5, 'extra.floor': 6 }), 'true');
});

const conditions = (named: object) => json('conditions.json', { conditions: named });
const young = { any: [{ fact: 'worker.ageYears', operator: 'lessThan', value: 21 }] };

test('a named condition means what stands in conditions.json, and may hold others', () => {
  const rule = ruleOf({ conditions: { not: { condition: 'grown-up' } } });
  const set = compiledFiles([...filesOf([rule]), conditions({ young, 'grown-up': { not: { condition: 'young' } } })]);
  assert.deepEqual(
    [20, 21].map((age) => truthOf(set, { 'worker.ageYears': age })),
    ['true', 'false'],
  );
  assert.equal(truthOf(set, {}), 'unknown');
  const other = compiledFiles([
    ...filesOf([rule]),
    conditions({ young, 'grown-up': { all: [{ condition: 'young' }] } }),
  ]);
  assert.notEqual(set.hash, other.hash);
});

test('named conditions are refused where they stand', () => {
  const rule = (name: string) => ruleOf({ conditions: { all: [{ condition: name }] } });
  const first = (named: object, name = 'young') => {
    const [fault] = faultsOf([...filesOf([rule(name)]), conditions(named)]);
    return `${fault?.file} ${fault?.pointer} ${fault?.text}`;
  };
  assert.match(
    first({ young }, 'yong'),
    /^rules\.json \/rules\/0\/conditions\/all\/0\/condition .*Did you mean "young"/,
  );
  assert.match(
    first({ young: { all: [{ condition: 'young' }] } }),
    /^conditions\.json \/conditions\/young .*refers to itself/,
  );
  assert.match(first({ young: { any: [] } }), /^conditions\.json \/conditions\/young\/any .*is empty/);
  const late = { all: [{ fact: 'offer.ratePercent', operator: 'greaterThan', value: 2 }] };
  assert.match(first({ young: late }), /looks at "offer.ratePercent", which exists only after pricing/);
  assert.match(first({ 'Too Young': young }), /not lower-case words/);
});

test('a fault tells the line of what it means', () => {
  const text =
    '{"rules": [\n {"name": "A",\n  "description": "d",\n  "conditions": {"all": [\n   {"fact": "worker.age", "operator": "lessThan",\n    "value": 18}]},\n  "event": {"type": "pass", "params": {"code": "too-young", "reason": "r"}}}]}';
  assert.deepEqual(
    faultsOf([codesFile, { path: 'rules.json', text }]).map(({ line, pointer }) => ({ line, pointer })),
    [{ line: 5, pointer: '/rules/0/conditions/all/0/fact' }],
  );
  assert.equal(faultsOf([codesFile, { path: 'rules.json', text: '{\n\n"rules": [,]}' }])[0]!.line, 3);
});

test('a rule exists only in its days, both included, in São Paulo', () => {
  const set = compiled([
    ruleOf({
      conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
      validFrom: '2026-11-20',
      validUntil: '2026-11-21',
    }),
  ]);
  const passes = (time: string) => evaluateRequest(set, { 'desk.always': true }, Date.parse(time)).passes.length;
  assert.deepEqual(
    [
      '2026-11-19T23:59:59-03:00',
      '2026-11-20T00:00:00-03:00',
      '2026-11-21T23:59:59-03:00',
      '2026-11-22T00:00:00-03:00',
    ].map(passes),
    [0, 1, 1, 0],
  );
  const strategy = (name: string, days: object) =>
    ruleOf({
      name,
      conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
      event: { type: 'strategy', params: { optimise: true } },
      ...days,
    });
  compiled([strategy('A', { validUntil: '2026-12-31' }), strategy('B', { validFrom: '2027-01-01' })]);
});

test('a rule that another one makes useless is a warning', () => {
  const warningsOf = (rules: readonly unknown[]) => {
    const result = compileRuleSet(filesOf(rules));
    return result.kind === 'compiled' ? result.warnings.map(({ text }) => text) : ['refused'];
  };
  const named = (name: string, value: number) => ({ ...on('worker.ageYears', 'lessThan', value), name });
  assert.match(warningsOf([named('A', 18), named('B', 21)])[0]!, /"A" changes nothing: whenever it holds, "B" does/);
  assert.equal(warningsOf([named('A', 18), { ...named('B', 18) }]).length, 1);
  const limit = (name: string, value: number, maxRatePercent: number) => ({
    ...named(name, value),
    event: { type: 'limit', params: { maxRatePercent } },
  });
  assert.equal(warningsOf([limit('A', 18, 2), limit('B', 21, 1.99)]).length, 1);
  assert.deepEqual(warningsOf([limit('A', 18, 1.9), limit('B', 21, 1.99)]), []);
});

test('a list or a named condition that no rule uses is a warning', () => {
  const list = (name: string) => ({
    path: `lists/${name}.json`,
    text: JSON.stringify({ description: 'd', fact: 'employer.activityCode', values: ['47'] }),
  });
  const young = { fact: 'worker.ageYears', operator: 'lessThan', value: 21 };
  const conditions = { used: { all: [young] }, forgotten: { all: [{ condition: 'used' }, young] } };
  const names = { path: 'conditions.json', text: JSON.stringify({ conditions }) };
  const rule = (name: string, condition: object) => ({
    ...on('worker.ageYears', 'lessThan', 18),
    name,
    conditions: { all: [condition] },
  });
  const blocked = (operand: string) => rule('Blocked', { fact: operand, operator: 'equal', value: true });
  const warningsOf = (...rules: object[]) => {
    const result = compileRuleSet([...filesOf(rules), list('blocked'), list('spare'), names]);
    assert.equal(result.kind, 'compiled', JSON.stringify(result));
    return result.kind === 'compiled'
      ? result.warnings.map(({ file, pointer, text }) => `${file}${pointer}: ${text}`)
      : [];
  };
  const ofCondition =
    'conditions.json/conditions/forgotten: No rule refers to the condition "forgotten"; remove it or use it.';
  const ofList = (name: string) =>
    `lists/${name}.json: No rule looks at the list "${name}" (fact list.${name}); remove it or use it.`;
  assert.deepEqual(warningsOf(blocked('list.blocked'), rule('Young', { condition: 'used' })), [
    ofCondition,
    ofList('spare'),
  ]);
  assert.deepEqual(warningsOf(blocked('list.spare'), rule('Young', { condition: 'forgotten' })), [ofList('blocked')]);
});

const key = 'a'.repeat(43);
const listFile = (name: string, fact: string, values: readonly unknown[]) =>
  json(`lists/${name}.json`, { description: 'For tests.', fact, values });
const listed = (name: string) => on(`list.${name}`, 'equal', true);

test('lists: on it, not on it, and what cannot be looked up', () => {
  const workers = compiledFiles([...filesOf([listed('blocked')]), listFile('blocked', 'worker.key', [key])]);
  assert.equal(truthOf(workers, { 'worker.key': key }), 'true');
  assert.equal(truthOf(workers, { 'worker.key': 'b'.repeat(43) }), 'false');
  assert.equal(evaluateRequest(workers, {}, at).passes[0]?.code, 'fact-missing:worker.key');

  const employers = compiledFiles([
    ...filesOf([listed('firms')]),
    listFile('firms', 'employer.key', ['12ABC34501DE35', '00394460']),
  ]);
  const employer = (value: string, idType?: string) =>
    truthOf(employers, { 'employer.key': value, ...(idType && { 'employer.idType': idType }) });
  assert.equal(employer('12.ABC.345/01DE-35'), 'true');
  assert.equal(employer('394460000141'), 'true', 'a number that lost its zeros');
  assert.equal(employer('12ABC345'), 'unknown', 'only the root was told');
  assert.equal(employer('98765432000198'), 'false');
  assert.deepEqual([employer(key, 'cpf'), employer(key)], ['false', 'unknown']);

  const activities = compiledFiles([
    ...filesOf([listed('cnae')]),
    listFile('cnae', 'employer.activityCode', ['41', '4711302', '01113']),
  ]);
  const activity = (code: number) => truthOf(activities, { 'employer.activityCode': code });
  assert.deepEqual([4_120_400, 4_711_302, 111_301, 1_113, 4_711_301].map(activity), [
    'true',
    'true',
    'true',
    'true',
    'false',
  ]);
  assert.equal(activity(47_113), 'unknown', 'only the class was told');
});

test('lists are refused value by value, and without repeating it', () => {
  const faults = faultsOf([...filesOf([ruleOf()]), listFile('blocked', 'worker.key', ['11144477735', key, key, 7])]);
  assert.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/values/0', '/values/2', '/values/3'],
  );
  assert.doesNotMatch(JSON.stringify(faults), /11144477735/);
  assert.match(faultsOf([...filesOf([ruleOf()]), listFile('Blocked', 'worker.key', [])])[0]!.text, /lower-case words/);
  assert.match(
    faultsOf([...filesOf([ruleOf()]), listFile('a', 'worker.cpf', [])])[0]!.text,
    /not possible.*worker\.key/,
  );
});

const table = (rows: unknown, change: object = {}) =>
  json('rates.table.json', {
    name: 'Rates',
    description: 'By sector and tenure.',
    event: 'limit',
    inputs: ['employer.sector', 'worker.tenureMonths'],
    outputs: ['maxRatePercent', 'maxInstallments'],
    rows,
    ...change,
  });

test('a decision table limits by the row that holds', () => {
  const set = compiledFiles([
    codesFile,
    table([
      { when: ['public', null], set: [1.5, null] },
      { when: [['commerce', 'industry'], { below: 12 }], set: [2.5, 36] },
      { when: [['commerce', 'industry'], { from: 12, below: 36 }], set: [2.2, 48] },
    ]),
  ]);
  const limits = (sector: string, months: number) => {
    const { maxRateHundredths, maxInstallments } = evaluateRequest(
      set,
      { 'employer.sector': sector, 'worker.tenureMonths': months },
      at,
    ).limits;
    return [maxRateHundredths, maxInstallments];
  };
  assert.deepEqual(limits('public', 50), [150, null]);
  assert.deepEqual(limits('commerce', 11), [250, 36]);
  assert.deepEqual(limits('industry', 12), [220, 48]);
  assert.deepEqual(limits('commerce', 36), [null, null]);
});

test('a table is refused by its rows', () => {
  const faults = (rows: unknown, change: object = {}) =>
    faultsOf([codesFile, table(rows, change)]).map(({ pointer, text }) => `${pointer} ${text}`);
  const good = { when: ['public', null], set: [1.5, 12] };
  assert.match(
    faults([good, { when: [['public', 'commerce'], null], set: [2, 12] }])[0]!,
    /^\/rows\/1 .*may hold at once/,
  );
  assert.match(faults([{ when: ['publik', null], set: [1.5, 12] }])[0]!, /^\/rows\/0 .*Did you mean "public"/);
  assert.match(faults([{ when: ['public', null], set: [199, 12] }])[0]!, /^\/rows\/0 .*Did you mean 1\.99/);
  assert.match(faults([{ when: ['public'], set: [2, 12] }])[0]!, /^\/rows\/0\/when .*list of 2 cells/);
  assert.match(faults([{ when: ['public', {}], set: [2, 12] }])[0]!, /no bounds/);
  assert.match(faults([good], { event: 'cap' })[0]!, /^\/event /);
  assert.match(
    faults([good], { inputs: ['employer.sector', 'worker.tenure'] })[0]!,
    /^\/inputs\/1 .*Did you mean "worker\.tenureMonths"/,
  );
});
