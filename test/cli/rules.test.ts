/** The `rules` commands as a risk team types them: check, test, explain, schema and import on folders of their own. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { schemaFiles } from '../../src/rules/schema.ts';
import { workerKeyOf } from '../../src/wire/identity.ts';
import { lance, pseudonymKey, twoAtATime } from './desk.ts';

const shipped = new URL('../../rules/', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'lance-rules-'));
after(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
/** A copy of the shipped rules, to be spoilt. */
function copyOf(): string {
  folders += 1;
  const directory = join(root, `rules-${folders}`);
  cpSync(shipped, directory, { recursive: true });
  return directory;
}

function edit(directory: string, file: string, change: (text: string) => string): void {
  const path = join(directory, file);
  const before = readFileSync(path, 'utf8');
  const now = change(before);
  assert.notEqual(now, before, 'the edit changed something');
  writeFileSync(path, now);
}

const english = { LANCE_LANG: 'en' };

test('the shipped rules check whole, with every condition shown by a test', async () => {
  const { code, stdout } = await lance(english, 'rules', 'check', shipped, '--json');
  assert.equal(code, 0, stdout);
  const report = JSON.parse(stdout);
  assert.deepEqual([report.kind, report.failed, report.coverage, report.warnings], ['good', 0, 1, []]);
  assert.ok(report.rules >= 49 && report.tests >= 100);
});

test('check refuses with file, line, pointer and remedy, and ends with 65', async () => {
  const directory = copyOf();
  edit(directory, 'limits.json', (text) => text.replace('"maxRatePercent": 1.99', '"maxRatePercent": 199'));
  const { code, stderr } = await lance(english, 'rules', 'check', directory);
  assert.equal(code, 65);
  const line =
    readFileSync(join(directory, 'limits.json'), 'utf8')
      .split('\n')
      .findIndex((text) => text.includes('199')) + 1;
  assert.match(
    stderr,
    new RegExp(`limits\\.json:${line} /rules/1/event/params/maxRatePercent: .*Did you mean 1\\.99\\?`),
  );
  const portuguese = await lance({}, 'rules', 'check', directory, '--lang', 'pt');
  assert.match(
    portuguese.stderr,
    new RegExp(
      `limits\\.json:${line} /rules/1/event/params/maxRatePercent: maxRatePercent é 199, fora de .* Seria 1\\.99\\?`,
    ),
  );
});

test('check refuses a rule on a fact that no request brings (issue 20 line 3)', async () => {
  const directory = copyOf();
  edit(directory, 'limits.json', (text) => text.replace('"fact": "worker.tenureMonths"', '"fact": "score.bureua"'));
  const { code, stderr } = await lance(english, 'rules', 'check', directory);
  assert.equal(code, 65, stderr);
  assert.match(stderr, /limits\.json:\d+ \/rules\/\d+: .*"score\.bureua", which can never come: .*maps no score/);
});

test('a rule that changed its meaning fails its tests, which JUnit reads', async () => {
  const directory = copyOf();
  edit(directory, 'eligibility.json', (text) => text.replace('"value": 21', '"value": 20'));
  const junit = join(root, 'junit.xml');
  const { code, stderr } = await lance(english, 'rules', 'test', directory, '--junit', junit);
  assert.equal(code, 1);
  assert.match(stderr, /eligibility\.test\.json\/tests\/\d+ "At least 21 years old: refused"/);
  const xml = readFileSync(junit, 'utf8');
  assert.match(xml, /<testsuites name="rules" tests="100" failures="2">/);
  assert.match(xml, /<failure message="pass: expected &quot;age-outside&quot;, got null/);
});

test('a rule without tests is told by condition, and a lower threshold lets it through', async () => {
  const directory = copyOf();
  rmSync(join(directory, 'offers.test.json'));
  const strict = await lance(english, 'rules', 'test', directory);
  assert.equal(strict.code, 1);
  assert.match(
    strict.stderr,
    /"Large loans must pay", offer\.amountReais greaterThan 20000: never true, false, unknown/,
  );
  assert.equal((await lance(english, 'rules', 'test', directory, '--coverage', '80')).code, 0);
});

test('test --run runs the tests of a name alone, and asks nothing of the others', async () => {
  const directory = copyOf();
  edit(directory, 'eligibility.json', (text) => text.replace('"value": 21', '"value": 20'));
  rmSync(join(directory, 'offers.test.json'));
  const run = (name: string, ...more: string[]) => lance(english, 'rules', 'test', directory, '--run', name, ...more);
  const failing = await run('at least 21 YEARS old: refused', '--json');
  assert.equal(failing.code, 1, failing.stderr);
  const { tests, failed, uncovered, failures } = JSON.parse(failing.stdout);
  assert.deepEqual([tests, failed, uncovered], [1, 1, []]);
  assert.deepEqual([failures.length, failures[0].name], [1, 'At least 21 years old: refused']);
  // Others fail, and conditions are shown by no test: neither is asked for.
  const junit = join(root, 'run.xml');
  const good = await run('6 months', '--junit', junit);
  assert.deepEqual([good.code, /21 years/.test(good.stderr)], [0, false], good.stderr);
  const names = [...readFileSync(junit, 'utf8').matchAll(/<testcase [^>]*name="([^"]*)"/g)].map(([, name]) => name!);
  assert.ok(names.length > 0 && names.every((name) => name.includes('6 months')), names.join());
  const none = await run('At least 21 years old: refuse it');
  assert.equal(none.code, 66);
  assert.match(
    none.stderr,
    /No test has a name with "At least 21 years old: refuse it"\. .*"At least 21 years old: refused"/,
  );
});

test('explain names every condition with the value it saw, and the smallest change that helps', async () => {
  const facts = JSON.parse(readFileSync(join(shipped, 'eligibility.test.json'), 'utf8')).base;
  const path = join(root, 'facts.json');
  writeFileSync(path, JSON.stringify({ ...facts, 'worker.tenureMonths': 4 }));
  const { code, stdout } = await lance(english, 'rules', 'explain', path, '--dir', shipped);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /✓ At least 6 months with the employer \[pass\]\n {4}✓ all of\n {6}✓ worker\.tenureMonths lessThan 6 {2}\(saw 4\)/,
  );
  assert.match(stdout, /\? link\.eligible equal false {2}\(saw nothing\)/);
  assert.match(stdout, /enough would be worker\.tenureMonths: from 4 to 6/);
  const told = JSON.parse((await lance(english, 'rules', 'explain', path, '--dir', shipped, '--json')).stdout);
  assert.deepEqual(told.nearest, [{ fact: 'worker.tenureMonths', from: 4, to: 6 }]);
  assert.equal(told.rules.length, 46);
  writeFileSync(path, JSON.stringify({ 'worker.age': 4 }));
  const bad = await lance(english, 'rules', 'explain', path, '--dir', shipped);
  assert.deepEqual([bad.code, /:1 \/worker\.age: There is no fact/.test(bad.stderr)], [78, true]);
});

test('explain names the limits that refuse the request, which no rule passes on', async () => {
  const directory = join(root, 'refusing-limits');
  mkdirSync(directory);
  const conditions = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };
  const limit = (name: string, params: object) => ({ name, conditions, event: { type: 'limit', params } });
  writeFileSync(join(directory, 'codes.json'), JSON.stringify({ codes: { unused: 'none' } }));
  const written = (rules: object[]) => writeFileSync(join(directory, 'limits.json'), JSON.stringify({ rules }));
  const path = join(root, 'asked.json');
  writeFileSync(path, JSON.stringify({ 'request.amountReais': 8000, 'request.installments': 48 }));
  const told = async () => {
    const { stdout, stderr } = await lance(english, 'rules', 'explain', path, '--dir', directory);
    assert.equal(stderr, '');
    return stdout;
  };
  written([limit('Short', { maxInstallments: 24, maxAmountReais: 5000 }), limit('Large', { minAmountReais: 1 })]);
  assert.match(await told(), /The limit of "Short" refuses this request: most instalments 24\./);
  assert.doesNotMatch(await told(), /No rule passes|Large" refuses/);
  written([limit('Short', { maxInstallments: 24, maxTermChange: 24 })]);
  assert.match(await told(), /No rule passes on these facts\./);
  written([limit('Large', { minAmountReais: 9000 })]);
  assert.match(await told(), /The limit of "Large" refuses this request: least amount R\$.9,000\.00\./);
});

test('a test that fails by limits that exclude each other is told both rules', async () => {
  const directory = join(root, 'limits-conflict');
  mkdirSync(directory);
  const conditions = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };
  const limit = (name: string, params: object) => ({ name, conditions, event: { type: 'limit', params } });
  const rules = [limit('Short', { maxInstallments: 24 }), limit('Long', { minInstallments: 36 })];
  const tests = [{ name: 'goes through', facts: {}, expect: { pass: null } }];
  writeFileSync(join(directory, 'codes.json'), JSON.stringify({ codes: { unused: 'none' } }));
  writeFileSync(join(directory, 'limits.json'), JSON.stringify({ rules }));
  writeFileSync(join(directory, 'limits.test.json'), JSON.stringify({ base: {}, tests }));
  const { stdout, stderr } = await lance(english, 'rules', 'test', directory);
  assert.match(
    stdout + stderr,
    /"limits-conflict" \("Long" wants minInstallments 36, "Short" wants maxInstallments 24\.\)/,
  );
});

test('explain shows what a value table said, of a key or of a fact that the file names', async () => {
  const directory = join(shipped, 'examples', 'bureau-table');
  const path = join(root, 'facts-table.json');
  const told = async (facts: object) => {
    writeFileSync(path, JSON.stringify(facts));
    return lance(english, 'rules', 'explain', path, '--dir', directory);
  };
  const weak = await told({ 'employer.key': '33444555000160', 'desk.date': '2026-11-20' });
  assert.equal(weak.code, 0, weak.stderr);
  assert.match(weak.stdout, /✓ values\.bureau\.score lessThan 400 {2}\(saw 310\)\n +employer\.key = "33444555000160"/);
  assert.match(weak.stdout, /employer-weak – "Weak employer"/);
  const said = await told({ 'employer.key': '11222333', 'values.bureau.score': 5 });
  assert.match(said.stdout, /✓ values\.bureau\.score lessThan 400 {2}\(saw 5\)/);
  const wrong = await told({ 'computed.payrollShare': 5 });
  assert.deepEqual([wrong.code, /"computed\.payrollShare" is made by the desk/.test(wrong.stderr)], [78, true]);
});

test('explain takes the time that the facts were seen at, as a test does', async () => {
  const directory = copyOf();
  edit(directory, 'eligibility.json', (text) => text.replace('"owner"', '"validUntil": "2026-06-30", "owner"'));
  const path = join(root, 'facts-at.json');
  const validAt = async (at: string) => {
    writeFileSync(path, JSON.stringify({ at, facts: { 'worker.ageYears': 30 } }));
    const { code, stdout, stderr } = await lance(english, 'rules', 'explain', path, '--dir', directory, '--json');
    assert.equal(code, 0, stderr);
    const { rules } = JSON.parse(stdout) as { rules: { valid: boolean }[] };
    return rules.filter(({ valid }) => !valid).length;
  };
  assert.equal(await validAt('2026-06-01T09:00:00-03:00'), 0);
  assert.equal(await validAt('2026-07-01T09:00:00-03:00'), 1);
  writeFileSync(path, JSON.stringify({ at: 'yesterday', facts: { 'worker.age': 30 } }, null, 2));
  const bad = await lance(english, 'rules', 'explain', path, '--dir', directory);
  assert.equal(bad.code, 78);
  assert.match(bad.stderr, /:2 \/at: "at" is "yesterday"; write a time like/);
  assert.match(bad.stderr, /:4 \/facts\/worker\.age: There is no fact/);
});

test('the schemas and the catalogue that are shipped are those of the code', () => {
  for (const { path, text } of schemaFiles()) {
    assert.equal(
      readFileSync(join(shipped, path), 'utf8'),
      text,
      `${path}: write it anew with lance rules schema rules`,
    );
  }
});

test('schema writes into the folder that is named', async () => {
  const { code } = await lance(english, 'rules', 'schema', root);
  assert.equal(code, 0);
  for (const { path, text } of schemaFiles()) assert.equal(readFileSync(join(root, path), 'utf8'), text);
});

test('a file or folder that is not there, or takes nothing, is told by name, before any work', async () => {
  const nowhere = join(root, 'nowhere');
  const page = ['--file', join(root, 'facts.json'), '--html', join(nowhere, 'page.html')];
  const list = ['--list', 'blocked', '--fact', 'worker.key', '--description', 'd'];
  const cases: [words: string[], code: number, text: RegExp][] = [
    [['rules', 'check', nowhere], 78, /nowhere cannot be read \(ENOENT\); name their folder/],
    [
      ['rules', 'explain', nowhere],
      66,
      /nowhere cannot be read \(ENOENT\); give the path of: JSON file with the facts/,
    ],
    [['rules', 'explain', root], 66, /\(EISDIR\); give the path of: JSON file/],
    [['rules', 'import', nowhere, ...list], 66, /\(ENOENT\); give the path of: CSV file/],
    [['performance', 'import', nowhere], 66, /\(ENOENT\); give the path of: CSV: request id, month/],
    [['rules', 'impact', shipped, ...page], 65, /page\.html cannot be written \(ENOENT\)/],
    [['rules', 'schema', nowhere], 65, /rules\.schema\.json cannot be written \(ENOENT\)/],
    [['rules', 'test', shipped, '--junit', join(nowhere, 'junit.xml')], 65, /junit\.xml cannot be written \(ENOENT\)/],
  ];
  await twoAtATime(cases, async ([words, code, text]) => {
    const ended = await lance(english, ...words);
    assert.equal(ended.code, code, `${words.join(' ')}: ${ended.stderr}`);
    assert.match(ended.stderr, text);
    assert.doesNotMatch(ended.stderr, /\n {4}at /, 'no stack');
  });
  assert.ok(!existsSync(nowhere));
});

const cpfs = ['111.444.777-35', '52998224725'];
const environment = { ...english, LANCE_PSEUDONYM_KEY: pseudonymKey, LANCE_DATA_DIR: join(root, 'data') };

test('a list of CPFs becomes a list of pseudonyms; every bad line is told and nothing is written then', async () => {
  const directory = copyOf();
  const csv = join(root, 'blocked.csv');
  const words = [
    'rules',
    'import',
    csv,
    '--list',
    'blocked',
    '--fact',
    'worker.key',
    '--description',
    'Fraud.',
    '--dir',
    directory,
  ];
  writeFileSync(csv, `cpf;motivo\n${cpfs[0]};a\n123;b\n"${cpfs[1]}";c\n11144477735;d\n\nxyz1;e\n`);
  const bad = await lance(environment, ...words);
  assert.equal(bad.code, 65);
  const lines = bad.stderr.split('\n').flatMap((text) => /blocked\.csv:(\d+):/.exec(text)?.[1] ?? []);
  assert.deepEqual(lines, ['3', '5', '7']);
  assert.ok(!existsSync(join(directory, 'lists', 'blocked.json')));
  assert.doesNotMatch(bad.stderr, /444|529982/);
  writeFileSync(csv, `cpf;motivo\n${cpfs[0]};a\n${cpfs[1]};c\n`);
  const good = await lance(environment, ...words);
  assert.equal(good.code, 0, good.stderr);
  const text = readFileSync(join(directory, 'lists', 'blocked.json'), 'utf8');
  const vault = createVault(pseudonymKey);
  assert.deepEqual(
    JSON.parse(text).values,
    ['11144477735', '52998224725'].map((cpf) => workerKeyOf(vault, cpf)),
  );
  assert.equal((await lance(english, 'rules', 'check', directory)).code, 0);
});

test('a decision table comes from CSV, and its bad lines are told by what the loader says', async () => {
  const directory = copyOf();
  const csv = join(root, 'rates.csv');
  const words = [
    'rules',
    'import',
    csv,
    '--table',
    'rates',
    '--event',
    'limit',
    '--title',
    'Rates',
    '--description',
    'By sector.',
    '--dir',
    directory,
  ];
  const head = 'when employer.sector;when worker.tenureMonths;set maxRatePercent';
  writeFileSync(csv, `${head}\npublic;;1,50\ncommerce|industry;..12;250\ncommerce;6..;2,2\nservices;12\nnowhere;;2\n`);
  const bad = await lance(english, ...words);
  assert.equal(bad.code, 65);
  assert.match(bad.stderr, /rates\.csv:3: maxRatePercent is 250.*Did you mean 2\.5/);
  assert.match(bad.stderr, /rates\.csv:5: 2 cells where the first line names 3/);
  assert.match(bad.stderr, /rates\.csv:6: employer\.sector is never "nowhere"/);
  writeFileSync(csv, `${head}\npublic;;1,50\ncommerce|industry;..12;2,5\ncommerce;6..;2,2\n`);
  assert.match((await lance(english, ...words)).stderr, /rates\.csv:4: .*may hold at once/);
  writeFileSync(csv, `${head}\npublic;;1,50\ncommerce|industry;..12;2,5\ncommerce;12..;2,2\n`);
  const good = await lance(english, ...words);
  assert.equal(good.code, 0, good.stderr);
  const { rows } = JSON.parse(readFileSync(join(directory, 'rates.table.json'), 'utf8'));
  assert.deepEqual(rows, [
    { when: ['public', null], set: [1.5] },
    { when: [['commerce', 'industry'], { below: 12 }], set: [2.5] },
    { when: ['commerce', { from: 12 }], set: [2.2] },
  ]);
  // A dot for thousands (issue 20, line 2).
  const thousands = 'when worker.tenureMonths;set maxAmountReais\n..12;20.000\n12..24;20,000\n24..;1.234,56\n';
  writeFileSync(csv, thousands);
  const two = await lance(english, ...words);
  assert.equal(two.code, 65);
  assert.match(two.stderr, /rates\.csv:2: column 2: "20\.000" can be read in two ways; write 20000 or 20, without/);
  assert.match(two.stderr, /rates\.csv:3: column 2: "20,000" can be read in two ways; write 20000 or 20, without/);
  assert.match(two.stderr, /rates\.csv:4: column 2: "1\.234,56" cannot be read; write 1234,56 without/);
  // As a spreadsheet in Windows-1252 writes it.
  writeFileSync(csv, Buffer.from('when employer.sector;set maxRatePercent\npublic;1\nCar\xeancia;2\n', 'latin1'));
  const encoded = await lance(english, ...words);
  assert.equal(encoded.code, 66);
  assert.match(encoded.stderr, /rates\.csv cannot be read \(line 3, column 4: not text in UTF-8; save it as UTF-8\)/);
});
