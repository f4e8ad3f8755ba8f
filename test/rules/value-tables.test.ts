/** Value tables: looked up like a plain map of the file, unknown where there is no row, and in the trace of what was decided by them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { assess, draftOffer } from '../../src/bidding/decide.ts';
import { surroundingsOf } from '../../src/bidding/explain.ts';
import type { DecisionTrace } from '../../src/domain/offer.ts';
import { withExtraKeys } from '../../src/domain/sealed-facts.ts';
import { accountRules } from '../../src/rules/account.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Facts, FactValue } from '../../src/rules/facts.ts';
import { compileRuleSet, openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { changesBetween } from '../../src/rules/set-changes.ts';
import { differencesBetween } from '../../src/rules/set-differences.ts';
import { openTable } from '../../src/rules/value-tables.ts';
import { confirmRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { configOf, shippedPolicy } from '../bidding/house.ts';
import { chanceFrom, mutationsOf } from './mutations.ts';
import { plainVerdict } from './plain-evaluator.ts';
import { at, codesFile, compiledFiles, ruleOf, sampleRequest } from './sample-request.ts';

const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 2) });
const columns = {
  score: { type: 'number', unit: 'points' },
  payroll: { type: 'number', unit: 'R$ a month' },
  rating: { type: 'text', values: ['A', 'B', 'C'] },
  note: { type: 'text' },
  lookedAt: { type: 'day' },
};
const declared = { description: 'Of the bureau.', key: 'employer.key', columns };
const head = 'key,score,payroll,rating,note,lookedAt';
const csvOf = (...lines: string[]): RuleFile => ({ path: 'bureau.values.csv', text: `${lines.join('\n')}\n` });
const lines = [
  '11222333,810,1250000,A,"Good, ""very"" good",2026-11-02',
  '22333444,540,84000.5,B,,2026-11-02',
  '33444555000160,310,,C,x,',
];
const leaf = (fact: string, operator: string, value: unknown) => ({ fact: `values.bureau.${fact}`, operator, value });
const rulesWith = (...conditions: object[]) =>
  json('rules.json', {
    rules: conditions.map((one, index) => ruleOf({ name: `${index}`, conditions: { all: [one] } })),
  });
const rules = rulesWith(leaf('score', 'lessThan', 400));
const table = json('bureau.values.json', declared);
const filesWith = (...rows: string[]): RuleFile[] => [codesFile, table, csvOf(head, ...rows), rules];
const set = compiledFiles(filesWith(...lines));
const valueIn = (own: typeof set, column: string, facts: Facts) =>
  own.derived.get(`values.bureau.${column}`)!.value(facts, {});

test('a row is found by the whole number, else by the root, however it is written', () => {
  const score = (key: FactValue | undefined) => valueIn(set, 'score', { 'employer.key': key });
  assert.deepEqual(
    ['11222333000181', '11.222.333/0001-81', '11222333', '33444555000160', '33444555000241', '1', 7, undefined].map(
      score,
    ),
    [810, 810, 810, 310, undefined, undefined, undefined, undefined],
  );
  const row = (key: string) => Object.keys(columns).map((column) => valueIn(set, column, { 'employer.key': key }));
  assert.deepEqual(row('11222333000181'), [810, 1_250_000, 'A', 'Good, "very" good', '2026-11-02']);
  assert.deepEqual(row('22333444'), [540, 84_000.5, 'B', undefined, '2026-11-02']);
  assert.deepEqual(row('33444555000160'), [310, undefined, 'C', 'x', undefined]);
});

test('a CNAE is found by its longest code, a number and a text as they are', () => {
  const by = (key: string, keys: string[], fact: FactValue) => {
    const own = json('bureau.values.json', {
      ...declared,
      key,
      columns: { score: columns.score },
      rows: keys.map((one, index) => ({ key: one, score: index + 1 })),
    });
    return valueIn(compiledFiles([codesFile, own, rules]), 'score', { [key]: fact });
  };
  assert.equal(by('employer.activityCode', ['47', '471', '4711302'], 4_711_302), 3);
  assert.equal(by('employer.activityCode', ['47', '471', '4711302'], 4_711_399), 2);
  assert.equal(by('employer.activityCode', ['01', '47'], 111_301), 1);
  assert.equal(by('employer.activityCode', ['01'], 9_999_999), undefined);
  assert.equal(by('worker.categoryCode', ['101', '102'], 102), 2);
  assert.equal(by('worker.occupation', ['521110', '012345'], '012345'), 2);
  assert.equal(by('employer.sector', ['public', 'commerce'], 'commerce'), 2);
  assert.equal(by('extra.channel', ['app', 'São Paulo'], 'São Paulo'), 2);
  assert.equal(by('extra.channel', ['7'], 7), 1);
  assert.equal(by('extra.channel', ['7'], true), undefined);
});

test('4 000 generated rows are what a plain map says, and rules on them what the plain evaluator says', () => {
  const draw = chanceFrom(11);
  const below = (count: number) => Math.floor(draw() * count);
  const rows = new Map<string, Record<string, number | string | null>>();
  while (rows.size < 4_000) {
    rows.set(`${10_000_000 + below(90_000_000)}`, {
      score: draw() < 0.1 ? null : below(1_000),
      payroll: draw() < 0.1 ? null : below(1_000_000) / 100,
      rating: draw() < 0.1 ? null : ['A', 'B', 'C'][below(3)]!,
      note: draw() < 0.3 ? null : ['a"b', 'a,b', '"', 'x'][below(4)]!,
      lookedAt: draw() < 0.1 ? null : `2026-0${1 + below(9)}-1${below(10)}`,
    });
  }
  const cell = (value: number | string | null) => (value === null ? '' : `"${String(value).replaceAll('"', '""')}"`);
  const names = Object.keys(columns);
  const text = [...rows].map(([key, row]) => [key, ...names.map((name) => cell(row[name]!))].join(','));
  const conditions = [
    leaf('score', 'lessThan', 400),
    { any: [leaf('rating', 'equal', 'C'), { not: leaf('payroll', 'greaterThan', 5_000) }] },
    {
      atLeast: 2,
      of: [
        leaf('rating', 'in', ['A', 'B']),
        leaf('score', 'greaterThanInclusive', 500),
        leaf('note', 'startsWith', 'a'),
      ],
    },
    leaf('lookedAt', 'notEqual', '2026-03-11'),
  ];
  const own = compiledFiles([codesFile, table, csvOf(head, ...text), rulesWith(...conditions)]);
  const types = Object.fromEntries(
    Object.entries(columns).map(([name, { type }]) => [
      `values.bureau.${name}`,
      type === 'number' ? 'number' : 'string',
    ]),
  );
  const seen = { true: 0, false: 0, unknown: 0 };
  for (const key of [...rows.keys(), '00000001', '99999999999999']) {
    const row = rows.get(key) ?? {};
    const facts: Record<string, FactValue> = {};
    for (const name of names) {
      const value = row[name] ?? undefined;
      assert.equal(valueIn(own, name, { 'employer.key': key }), value, name);
      if (value !== undefined) facts[`values.bureau.${name}`] = value;
    }
    const passes = new Map(
      evaluateRequest(own, { 'employer.key': key }, at).passes.map(({ rule, code }) => [rule, code]),
    );
    for (const [index, condition] of conditions.entries()) {
      const plain = plainVerdict({ all: [condition] }, { conditions: {}, facts, types });
      const code = passes.get(`${index}`);
      assert.equal(code === undefined ? 'false' : code === 'too-young' ? 'true' : 'unknown', plain);
      seen[plain] += 1;
    }
  }
  assert.ok(seen.true > 1_000 && seen.false > 1_000 && seen.unknown > 1_000, JSON.stringify(seen));
});

test('what is not known is no bid: without the key, without a row, with an empty cell', () => {
  const passesOn = (facts: Facts) => evaluateRequest(set, facts, at).passes[0]?.code ?? null;
  assert.equal(passesOn({ 'employer.key': '11222333' }), null);
  assert.equal(passesOn({ 'employer.key': '33444555000160' }), 'too-young');
  assert.equal(passesOn({}), 'fact-missing:employer.key');
  assert.equal(passesOn({ 'employer.key': '99999999' }), 'fact-missing:values.bureau.score');
  for (const column of Object.keys(columns)) {
    const value = column === 'score' ? 1 : column === 'payroll' ? 2 : column === 'lookedAt' ? '2026-01-01' : 'A';
    for (const condition of [leaf(column, 'equal', value), { not: leaf(column, 'notEqual', value) }]) {
      const own = compiledFiles([
        codesFile,
        table,
        csvOf(head, '11222333,1,2,A,A,2026-01-01', '22333444,,,,,'),
        rulesWith(condition),
      ]);
      for (const key of ['11222333', '22333444', '33444555', undefined])
        assert.equal(evaluateRequest(own, { 'employer.key': key }, at).passes.length, 1, `${column} ${key}`);
    }
  }
});

test('computed facts, scorecards and limits are made of them, units checked, and explained with them', () => {
  const fact = { fact: 'values.bureau.payroll' };
  const factsFile = (value: object) => json('facts.json', { facts: { room: { description: 'd', value } } });
  const limit = json(
    'limit.json',
    ruleOf({
      name: 'Room',
      conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
      event: { type: 'limit', params: { maxInstallmentReais: { fact: 'computed.room' } } },
    }),
  );
  const card = json('risk.score.json', {
    description: 'd',
    characteristics: [
      {
        fact: 'values.bureau.score',
        unknown: 'unknown',
        bins: [
          { below: 500, points: 1 },
          { from: 500, points: 9 },
        ],
      },
    ],
  });
  const scored = json(
    'scored.json',
    ruleOf({ name: 'Scored', conditions: { all: [{ fact: 'score.risk', operator: 'lessThan', value: 5 }] } }),
  );
  const own = compiledFiles([...filesWith(...lines), factsFile({ mul: [fact, 0.01] }), limit, card, scored]);
  const on = (key: string) => evaluateRequest(own, { 'desk.always': true, 'employer.key': key }, at);
  assert.equal(on('22333444').limits.maxInstallmentCents, 84_000);
  assert.equal(
    on('33444555000160')
      .passes.map(({ rule }) => rule)
      .includes('Scored'),
    true,
  );
  assert.equal(on('22333444').passes.length, 0);
  assert.deepEqual(
    on('33444555000160').open.map(({ missing }) => missing),
    [['values.bureau.payroll']],
  );
  const accounts = accountRules(own, { 'desk.always': true, 'employer.key': '22333444' }, null, at);
  assert.deepEqual(accounts.find(({ name }) => name === 'Room')!.values![0]!.from, [
    { fact: 'employer.key', seen: '22333444' },
    { fact: 'values.bureau.payroll', seen: 84_000.5 },
  ]);
  const wrong = compileRuleSet([
    ...filesWith(...lines),
    factsFile({ add: [fact, { fact: 'request.amountReais' }] }),
    limit,
  ]);
  assert.ok(wrong.kind === 'refused' && /R\$ a month, another in R\$/.test(wrong.faults[0]!.text));
});

test('the set is the same however its rows are written, and reads back as it was', () => {
  const semicolons = csvOf(
    'lookedAt;note;rating;payroll;score;key',
    '',
    ';x;C;;310;33444555000160',
    '2026-11-02;;B;84000,5;540;"22333444"',
    '2026-11-02;"Good, ""very"" good";A;1250000;810;11222333\r',
  );
  const other = compiledFiles([codesFile, table, { ...semicolons, text: `\ufeff${semicolons.text}` }, rules]);
  assert.equal(other.hash, set.hash);
  for (const checked of [true, false]) {
    const again = openRuleSet(set.source, checked);
    assert.ok(again.kind === 'compiled' && again.ruleSet.hash === set.hash);
    assert.equal(valueIn(again.ruleSet, 'note', { 'employer.key': '11222333' }), 'Good, "very" good');
  }
  const rows = lines.map((line) => {
    const [key, score] = line.split(',');
    return { key, score: Number(score), payroll: null, rating: null, note: null, lookedAt: null };
  });
  const inside = compiledFiles([codesFile, json('bureau.values.json', { ...declared, rows }), rules]);
  const beside = compiledFiles(filesWith(...rows.map(({ key, score }) => `${key},${score},,,,`)));
  const look = (own: typeof set) => own.tables[0]!({ 'employer.key': '22333444' });
  assert.deepEqual(look(inside), look(beside));
  assert.notEqual(look(inside).hash, look(set).hash);
});

test('other rows are another set, which says that the table changed and not what stands in it', () => {
  const { source, hash } = compiledFiles(filesWith(...lines.slice(1)));
  assert.notEqual(hash, set.hash);
  const change = { what: 'values', name: 'bureau.values.csv', change: 'changed' };
  assert.deepEqual(changesBetween(set.source, source), [change]);
  assert.deepEqual(differencesBetween(set.source, source), [{ ...change, values: [] }]);
});

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });
const shipped = shippedPolicy(config);

/** Without a margin nothing is priced, so that no curve is needed. */
function traceOf(own: typeof set, asked: typeof sampleRequest, recorded?: DecisionTrace): DecisionTrace {
  const surroundings = recorded === undefined ? { link: null, ledger: undefined } : surroundingsOf(recorded);
  const policy = { ...shipped, ruleSet: own };
  const request = { ...asked, availableMarginCents: null };
  const assessment = assess(request, surroundings, policy, at);
  return draftOffer({
    ...{ assessment, policy, settings: config.bidding, curve: null, trial: null, tailoring: null, operatorCaps: {} },
    ...{ shadowPricePerCent: 0, shadowPriceVersion: null, acceptance: null },
  }).trace;
}

test('the trace keeps what was looked up, and a replay reads it there though the table is another one by then', () => {
  const request = { ...sampleRequest, employerId: '33444555000160' };
  const trace = traceOf(set, request);
  const [look] = trace.tables!;
  assert.deepEqual(trace.tables, [{ table: 'bureau', hash: look!.hash, key: '33444555000160', found: { score: 310 } }]);
  assert.match(look!.hash, /^[0-9a-f]{64}$/);
  const recorded = JSON.parse(JSON.stringify(trace)) as DecisionTrace;
  const changed = compiledFiles(filesWith('33444555000160,900,,,,'));
  assert.deepEqual(
    traceOf(changed, request)
      .reasons.map(({ code }) => code)
      .includes('too-young'),
    false,
  );
  const again = traceOf(changed, request, recorded);
  assert.deepEqual({ ...again, ruleSetHash: trace.ruleSetHash }, trace);
  // Nor does a row that came later answer what had none.
  const unknown = traceOf(compiledFiles(filesWith('11222333,1,,,,')), request);
  assert.deepEqual([unknown.tables![0]!.found, unknown.reasons[0]!.code], [{}, 'fact-missing:values.bureau.score']);
  assert.equal(traceOf(changed, request, unknown).reasons[0]!.code, 'fact-missing:values.bureau.score');
});

test('a key that may name somebody stands in the trace by a pseudonym; a set without tables writes nothing', () => {
  const own = json('bureau.values.json', {
    ...declared,
    key: 'extra.company',
    columns: { score: columns.score },
    rows: [{ key: 'Maria da Silva ME', score: 3 }],
  });
  const request = withExtraKeys(
    { ...sampleRequest, extra: { company: 'Maria da Silva ME' } },
    { pseudonym: () => 'stands-for-it' },
  );
  const [look] = traceOf(compiledFiles([codesFile, own, rules]), request).tables!;
  assert.deepEqual([look!.key, look!.found], ['stands-for-it', { score: 3 }]);
  const without = { ...sampleRequest, employerId: null };
  assert.equal(traceOf(set, without).tables![0]!.key, null);
  assert.equal('tables' in traceOf(compiledFiles([codesFile, json('rules.json', [ruleOf()])]), request), false);
});

test('tests look rows up or say the fact themselves, and have to show all three', async () => {
  const tests = (facts: readonly object[]) =>
    json('rules.test.json', {
      tests: facts.map((own, index) => ({
        name: `${index}`,
        facts: own,
        expect: index === 1 ? { pass: null } : { fired: ['0'] },
      })),
    });
  const [low, good, none] = ['33444555000160', '11222333', '99999999'].map((key) => ({ 'employer.key': key }));
  const whole = await confirmRules([...filesWith(...lines), tests([low!, good!, none!])], 100);
  assert.equal(whole.kind, 'good', reasonsAgainst(whole).join('\n'));
  const said = await confirmRules(
    [...filesWith(...lines), tests([{ 'values.bureau.score': 399 }, { 'values.bureau.score': 400 }])],
    100,
  );
  assert.match(reasonsAgainst(said).join('\n'), /never unknown/);
  const wrong = await confirmRules([...filesWith(...lines), tests([{ 'values.bureau.rating': 'D' }])], 100);
  assert.match(reasonsAgainst(wrong).join('\n'), /"values\.bureau\.rating" is never "D"/);
});

const rowsFile = 'bureau.values.csv';
for (const [what, rows, line, says] of [
  ['a key twice', [lines[1]!, lines[0]!, lines[1]!], 4, /The same key as on line 2; keep one/],
  ['a number that is a text', ['11222333,many,,,,'], 2, /Column 2: score is "many"; write a number \(points\)/],
  ['half a point', ['11222333,1.5,,,,'], 2, /Column 2: score is 1\.5; write a whole number \(points\)\.$/],
  ['part of a cent', ['11222333,1,2.005,,,'], 2, /Column 3: payroll is 2\.005; write at most 2 decimals/],
  ['two ways to read', ['11222333,1,20.000,,,'], 2, /Column 3: "20\.000" can be read in two ways/],
  ['two signs', ['11222333,1,"1.234,5",,,'], 2, /Column 3: "1\.234,5" cannot be read; write 1234\.5 without signs/],
  ['a rating that is none', ['11222333,1,,D,,'], 2, /Column 4: "rating" is never "D"/],
  ['a day that is none', ['', '11222333,1,,,,2026-02-30'], 3, /Column 6: "lookedAt" is "2026-02-30"; write a day/],
  ['a cell too few', ['11222333,1,,,'], 2, /5 cells where the first line names 6 columns/],
  ['a key that is none', ['123,1,,,,'], 2, /Column 1 \("key"\): This is no employer\.key; write a CNPJ/],
  ['an open quote', ['11222333,1,,,"x,'], 2, /a quote is opened here and never closed; close it/],
  ['a very long text', [`11222333,1,,,${'x'.repeat(201)},`], 2, /Column 5: "note": This text is longer than 200/],
] as const) {
  test(`refused with its line: ${what}`, () => {
    const result = compileRuleSet(filesWith(...rows));
    assert.ok(result.kind === 'refused');
    const [fault, ...more] = result.faults;
    // What the rules name is not missing: its rows are wrong.
    assert.deepEqual(more, []);
    assert.deepEqual([fault!.file, fault!.line], [rowsFile, line], fault!.text);
    assert.match(fault!.text, says);
  });
}

test('what follows from a list or a table that is refused is not told beside it', () => {
  const list = json('lists/blocked.json', { description: 'x', fact: 'employer.key', values: ['x'] });
  const blocked = rulesWith({ fact: 'list.blocked', operator: 'equal', value: true });
  const rest = [codesFile, csvOf(head, ...lines), rules, { ...blocked, path: 'blocked.json' }];
  const broken = compileRuleSet([{ ...table, text: '{' }, list, ...rest]);
  assert.ok(broken.kind === 'refused');
  assert.deepEqual(
    broken.faults.map(({ file }) => file),
    ['bureau.values.json', 'lists/blocked.json'],
  );
  const unlike = compileRuleSet([table, list, ...rest, json('other.json', [ruleOf({ name: 7 })])]);
  assert.ok(unlike.kind === 'refused');
  assert.deepEqual(
    unlike.faults.map(({ file }) => file),
    ['lists/blocked.json', 'other.json'],
  );
});

const cellsOf = (heading: string) => csvOf(heading, '11222333,1,,,,');
for (const [what, files, file, says] of [
  [
    'a column that is missing',
    [table, cellsOf('key,score,payroll,rating,note')],
    rowsFile,
    /The column "lookedAt" is missing/,
  ],
  ['a column that nobody declared', [table, cellsOf(`${head},more`)], rowsFile, /Column 7 is called "more"/],
  ['a column twice', [table, cellsOf(`${head},score`)], rowsFile, /Column 7 is called "score" as well/],
  ['an empty file', [table, { path: rowsFile, text: '' }], rowsFile, /begin with a line that names the columns/],
  ['rows that nothing declares', [cellsOf(head)], rowsFile, /write key and columns in bureau\.values\.json/],
  ['no rows', [table], 'bureau.values.json', /write them here under "rows", or beside it in bureau\.values\.csv/],
  [
    'rows in both places',
    [json('bureau.values.json', { ...declared, rows: [] }), cellsOf(head)],
    'bureau.values.json',
    /keep one of the two/,
  ],
  [
    'rows too long',
    [table, { path: rowsFile, text: 'x'.repeat(6_000_001) }],
    rowsFile,
    /longer than 6000000 characters/,
  ],
  [
    'refresh that is no true',
    [json('bureau.values.json', { ...declared, refresh: 'daily' }), cellsOf(head)],
    'bureau.values.json',
    /"refresh" is "daily"; write true or remove it/,
  ],
  [
    'refresh of rows that stand in the declaration',
    [json('bureau.values.json', { ...declared, refresh: true, rows: [] })],
    'bureau.values.json',
    /Only rows in a file of their own can be refreshed; move them to bureau\.values\.csv/,
  ],
  [
    'a key of no request',
    [json('bureau.values.json', { ...declared, key: 'employer.kee' }), cellsOf(head)],
    'bureau.values.json',
    /no fact "employer\.kee" of a request\. Did you mean "employer\.key"/,
  ],
  [
    'a key that is measured',
    [json('bureau.values.json', { ...declared, key: 'request.amountReais' }), cellsOf(head)],
    'bureau.values.json',
    /cannot be looked up/,
  ],
  [
    'a number without a unit',
    [json('bureau.values.json', { ...declared, columns: { score: { type: 'number' } } }), cellsOf(head)],
    'bureau.values.json',
    /The unit of a number is null\. Write one of/,
  ],
  [
    'a type that is none',
    [json('bureau.values.json', { ...declared, columns: { score: { type: 'money' } } }), cellsOf(head)],
    'bureau.values.json',
    /write "number" \(whole cents are "R\$"\), "text" or "day"/,
  ],
  [
    'a name that is none',
    [json('Bureau.values.json', { ...declared, rows: [] })],
    'Bureau.values.json',
    /call the file like "bureau\.values\.json"/,
  ],
  [
    'a key twice in the rows',
    [
      json('bureau.values.json', {
        ...declared,
        columns: { score: columns.score },
        rows: [
          { key: '11222333', score: 1 },
          { key: '11222333', score: 2 },
        ],
      }),
    ],
    'bureau.values.json',
    /This key has a row already/,
  ],
  [
    'a row without a column',
    [json('bureau.values.json', { ...declared, rows: [{ key: '11222333' }] })],
    'bureau.values.json',
    /A row lacks "lookedAt", "note", "payroll", "rating", "score"/,
  ],
] as const) {
  test(`refused: ${what}`, () => {
    const result = compileRuleSet([codesFile, ...(files as readonly RuleFile[]), rules]);
    assert.ok(result.kind === 'refused');
    const [fault] = result.faults;
    assert.equal(fault!.file, file, fault!.text);
    assert.match(fault!.text, says);
  });
}

test('the folder gives the rows with the rules; bytes that are no UTF-8 are refused with line and column', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'lance-values-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const { path, text } of filesWith(...lines)) writeFileSync(join(folder, path), text);
  writeFileSync(join(folder, 'other.csv'), 'left alone');
  assert.equal(compiledFiles(readRuleFiles(folder)).hash, set.hash);
  const bytes = Buffer.concat([Buffer.from(`${head}\n11222333,1,,,Car`), Buffer.from([0xea]), Buffer.from('ncia,\n')]);
  writeFileSync(join(folder, rowsFile), bytes);
  assert.throws(() => readRuleFiles(folder), /bureau\.values\.csv:2, column 17: not text in UTF-8; save it as UTF-8/);
});

test('a table that no rule looks at is a warning', () => {
  const result = compileRuleSet([codesFile, table, csvOf(head, ...lines), json('rules.json', [ruleOf()])]);
  assert.ok(result.kind === 'compiled');
  assert.match(result.warnings.map(({ text }) => text).join(), /No rule looks at the value table "bureau"/);
});

test('300 ways to spoil the files: refused with a place, or the values are what the text says', () => {
  const rows = lines.map((line) => ({ key: line.split(',')[0], score: Number(line.split(',')[1]) }));
  const own = json('bureau.values.json', { ...declared, columns: { score: columns.score }, rows });
  const csv = csvOf(head, ...lines);
  let refused = 0;
  const draw = chanceFrom(5);
  const spoilText = (text: string): string => {
    const place = Math.floor(draw() * text.length);
    const more = [',', '"', '\n', '\0', ';', 'x', '9', '\ud800', '\u2028', lines[0]!, ''][Math.floor(draw() * 11)]!;
    return text.slice(0, place) + more + text.slice(place + Math.floor(draw() * 3));
  };
  const spoilt: RuleFile[][] = [
    ...mutationsOf([own], 1_000)
      .filter(({ files }) => files[0]!.text !== own.text)
      .slice(0, 150)
      .map(({ files }) => files),
    ...Array.from({ length: 150 }, () => [table, { ...csv, text: spoilText(csv.text) }]),
  ];
  assert.equal(spoilt.length, 300);
  for (const files of spoilt) {
    const result = compileRuleSet([codesFile, ...files, rules]);
    if (result.kind === 'refused') {
      refused += 1;
      for (const { line, text } of result.faults) assert.ok(line !== null && line >= 1 && text.length > 10, text);
      continue;
    }
    // Each value that is found stands in the text, on the line or in the row of its key.
    const written = files.at(-1)!;
    for (const key of ['11222333', '22333444', '33444555000160']) {
      const score = valueIn(result.ruleSet, 'score', { 'employer.key': key });
      if (score === undefined) continue;
      const found =
        written.path === rowsFile
          ? written.text.split('\n').some((line) => line.includes(key) && line.includes(String(score)))
          : (JSON.parse(written.text).rows as { key: string; score: number }[]).some(
              (row) => row.key === key && row.score === score,
            );
      assert.ok(found, written.text);
    }
  }
  assert.ok(refused > 150, String(refused));
});

/** 0.5 µs where the machine is idle; on a busy one a bound that a search through the rows would break hundredfold. */
const longestLookupNs = 10_000;

test('a lookup in 100 000 rows is no search through them', (context) => {
  const rows = Array.from({ length: 100_000 }, (_, index) => `${10_000_000 + index * 37},${index % 1_000},,,,`);
  const own = compiledFiles(filesWith(rows.join('\n')));
  const facts = Array.from({ length: 20_000 }, (_, index) => ({
    'employer.key': `${10_000_000 + ((index * 7_919) % 100_000) * 37}000195`,
  }));
  let best = Number.POSITIVE_INFINITY;
  let sum = 0;
  for (let round = 0; round < 8; round += 1) {
    const before = process.cpuUsage().user;
    for (const one of facts) sum += own.tables[0]!(one).found.score as number;
    best = Math.min(best, ((process.cpuUsage().user - before) * 1_000) / facts.length);
  }
  context.diagnostic(`figure: ${Math.round(best)} ns a lookup with its record`);
  assert.ok(sum > 0 && best < longestLookupNs, `${best} ns`);
});

test('a table that is wrong in every row is refused in 20 lines (stranger 15)', () => {
  const wrong = Array.from({ length: 1_000 }, (_, index) => `${10_000_000 + index},many,,,,`);
  const compiled = compileRuleSet([codesFile, table, csvOf(head, ...wrong), rules]);
  assert(compiled.kind === 'refused');
  const ofTable = compiled.faults.filter(({ file }) => file === 'bureau.values.csv');
  assert.equal(ofTable.length, 20);
  assert.match(ofTable[0]!.text, /many/);
});

/** Keys that the hash of an earlier version, FNV-1a, put into the first places of its index. */
function keysOfOnePlace(count: number): string[] {
  const mask = 2 ** Math.ceil(Math.log2(2 * count + 2)) - 1;
  const step = (hash: number, code: number) => Math.imul(hash ^ code, 0x01000193);
  const keys: string[] = [];
  for (let number = 0; keys.length < count; number += 1) {
    const begin = `k${String(number).padStart(5, '0')}`;
    let hash = 0x811c9dc5;
    for (let at = 0; at < begin.length; at += 1) hash = step(hash, begin.charCodeAt(at));
    for (let first = 97; first < 123; first += 1) {
      for (let second = 97; second < 123; second += 1) {
        const whole = step(step(hash, first), second);
        if ((((whole ^ (whole >>> 15)) >>> 0) & mask) < 1_024) keys.push(begin + String.fromCharCode(first, second));
      }
    }
  }
  return keys.slice(0, count);
}

test('keys chosen for a hash make a table no slower to open and to ask than others (stranger 15)', (context) => {
  const columns = [{ name: 'score', definition: set.derived.get('values.bureau.score')!.definition }];
  const figures = [keysOfOnePlace(30_000), Array.from({ length: 30_000 }, (_, index) => `k${10_000_000 + index}`)].map(
    (keys) => {
      const sorted = keys.toSorted();
      const text = `key,score\n${sorted.map((key, index) => `${key},${index}\n`).join('')}`;
      const before = process.cpuUsage().user;
      const own = openTable({ name: 'bureau', keyFact: 'extra.partner', columns, hash: '', text });
      for (let place = 0; place < sorted.length; place += 100) {
        const { found } = own.look({ 'extra.partner': sorted[place]! }, new Set(['score']));
        assert.equal(found.score, place);
      }
      return (process.cpuUsage().user - before) / 1_000;
    },
  );
  context.diagnostic(`figure: ${figures.join(' and ')} ms of CPU`);
  assert.ok(figures[0]! < 60, `${figures[0]} ms`);
});

test('a key is found among keys that begin like it, of the whole range of characters, and no other one is', () => {
  const keys = ['a', 'ab', 'abc', 'b', 'A', '0', '00', '1', '10', 'é', 'ée', '￼', '𝄞', '𝄞a', 'a b', '-', "'"];
  const columns = [{ name: 'score', definition: set.derived.get('values.bureau.score')!.definition }];
  for (let count = 0; count <= keys.length; count += 1) {
    const there = keys.slice(0, count).sort();
    const text = `key,score\n${there.map((key, index) => `${key},${index}\n`).join('')}`;
    const own = openTable({ name: 'bureau', keyFact: 'extra.partner', columns, hash: '', text });
    for (const key of [...keys, '', 'z', 'abcd', 'é1']) {
      const place = there.indexOf(key);
      const { found } = own.look({ 'extra.partner': key }, new Set(['score']));
      assert.equal(found.score, place === -1 ? undefined : place, key);
    }
  }
});

test('a column of another unit than the cap is told with the unit to write for it', () => {
  const own = { ...declared, columns: { payroll: { type: 'number', unit: 'R$ a month' } }, rows: [] };
  const params = { name: 'a', keyFacts: [], window: 'day', maxAmountReais: { fact: 'values.bureau.payroll' } };
  const rule = ruleOf({ event: { type: 'cap', params } });
  const result = compileRuleSet([codesFile, json('rules.json', { rules: [rule] }), json('bureau.values.json', own)]);
  assert(result.kind === 'refused', 'it was not refused');
  assert.equal(
    result.faults[0]!.text,
    '"values.bureau.payroll" is in R$ a month, maxAmountReais in R$; name a fact of that unit. If the column is in R$, write "unit": "R$" for it in bureau.values.json.',
  );
});
