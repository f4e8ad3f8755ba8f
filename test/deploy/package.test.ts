/** The package as somebody else gets it: packed, installed into an empty directory far from the sources, and used there. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { scripts } from '../../src/adapters/redis/scripts.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'lance-package-'));
const consumer = join(directory, 'consumer');
const installed = join(consumer, 'node_modules', 'lance');
/** Of the variables of this process only what npm needs: no setting of a desk, no folder of the checkout but Node's. */
const environment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(LANCE_|TEST_STACK$|NODE_TEST|npm_(package|lifecycle))/.test(name),
    ),
  ),
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
};

/** What an integrator would write: a quote, the choice of a rate, and a rule set that is compiled, tested and run. */
const consumerSource = `
import { type LoanTerms, payrollDueDays, quoteReleased, scheduleRows } from 'lance/pricing';
import { chooseOffer, createRateTables, type Economics, curveOf, noLimits, type PricingSettings, priorDistribution } from 'lance/pricing';
import { compileRuleSet, evaluateRequest, judgeRules, type RuleFile } from 'lance/rules';

const settings: PricingSettings = {
  dayCount: 'actual365',
  rounding: 'once',
  iof: { daily: 0.000082, dayCap: 365, additional: 0.0038 },
  payrollCalendar: { cutoffDay: 20, monthsToFirstDue: 2, dueDayOfMonth: 7, businessDays: 'ignored' },
  fundingCurve: [],
  guaranteePledge: { fgtsBalanceShare: 0.1, terminationFineShare: 1 },
  insuranceCents: 0,
  maxInstallments: 96,
  marginBufferCents: 1,
  minAmountShare: 0.3,
  acceptancePrior: { midpointDeviationPercent: 0.5, ceilingDeviation: 0.15 },
  winCurve: {
    priorWeight: 4,
    shrinkage: 12,
    smoothing: 1,
    prior: { quantiles: [{ share: 0.1, rateHundredths: 214 }, { share: 0.9, rateHundredths: 408 }], rivals: 3 },
  },
};
const economics: Economics = {
  fundingAnnualPercent: 13.75, separationMonthly: 0.01, neverStartedShare: 0.02, lossGivenSeparation: 0.17,
  guaranteeRecovery: 0.08, commissionPercent: 0.5, contractCostCents: 1500, bidCostCents: 2, acceptanceCeiling: 0.9,
  acceptanceMidpointPercent: 4.2, acceptanceSlope: 1.5, acceptanceAmountElasticity: 0.25,
  acceptanceTermElasticity: 0.5, selectionWin: 0.15, selectionRate: 0.1,
};
const terms: LoanTerms = {
  rateHundredths: 199,
  dueDays: payrollDueDays('2026-03-02', 24, settings.payrollCalendar),
  dayCount: settings.dayCount,
  rounding: settings.rounding,
  insuranceCents: settings.insuranceCents,
  iof: settings.iof,
  iofFinanced: true,
};
const quote = quoteReleased(1_000_000, terms);
const choice = chooseOffer({
  tables: createRateTables(settings, 64),
  releaseDay: '2026-03-02',
  requestedAmountCents: 1_000_000,
  requestedInstallments: 24,
  availableMarginCents: 90_000,
  pledgedCents: 0,
  limits: noLimits,
  economics,
  strategy: { kind: 'optimise' },
  curve: curveOf(priorDistribution(settings.winCurve.prior)),
  shadowPricePerCent: 0,
});
const files: RuleFile[] = [
  { path: 'codes.json', text: JSON.stringify({ codes: { 'too-old': 'Older than we lend to.' } }) },
  { path: 'ages.json', text: JSON.stringify({
    rules: [{
      name: 'Age', description: 'Loans end before 70.', owner: 'risk', priority: 10,
      conditions: { all: [{ fact: 'worker.ageYears', operator: 'greaterThan', value: 70 }] },
      event: { type: 'pass', params: { code: 'too-old', reason: 'Older than 70.' } },
    }],
  }) },
];
const compiled = compileRuleSet(files);
if (compiled.kind === 'refused') throw new Error(JSON.stringify(compiled.faults));
const verdict = evaluateRequest(compiled.ruleSet, { 'worker.ageYears': 71 }, 0);
const tested = judgeRules(files.slice(1), 0);
console.log(JSON.stringify({
  quote: { ...quote, rows: scheduleRows(quote, terms).length },
  choice: choice.kind,
  verdict: verdict.passes[0]?.code,
  refused: tested.kind,
}));
`;

type Packed = { filename: string; files: { path: string; mode: number }[] };

function pack(): Packed {
  const words = ['pack', '--json', '--pack-destination', directory];
  const text = execFileSync('npm', words, {
    cwd: root,
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    // It lists every file of every dependency.
    maxBuffer: 64 * 1024 * 1024,
  });
  const [packed] = JSON.parse(text.slice(text.indexOf('[\n'))) as [Packed];
  return packed;
}

/** Its dependencies come in the package, so neither a registry nor a cache is needed, and nothing is chosen anew. */
function install(packed: Packed): void {
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const alone = ['--offline', '--cache', join(directory, 'empty-cache')];
  const words = ['install', ...alone, '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', [...words, join(directory, packed.filename)], { cwd: consumer, env: environment, stdio: 'pipe' });
}

/** The command as the reader of the package would type it. */
function lance(...words: string[]) {
  return spawnSync('npx', ['--no-install', 'lance', ...words], {
    cwd: consumer,
    env: environment,
    encoding: 'utf8',
    timeout: 120_000,
  });
}

// One of them waits for eleven seconds beside its daemon.
describe('the package, installed elsewhere (defect line 3)', { concurrency: 2 }, () => {
  const packed = pack();
  install(packed);
  after(() => rmSync(directory, { recursive: true, force: true }));
  const paths = packed.files.map(({ path }) => path).filter((path) => !path.startsWith('node_modules/'));

  test('holds what runs and nothing that only the checkout needs (defect line 3)', () => {
    assert.deepEqual(
      paths.filter((path) => /^(test|bench|src)\/|\.tsbuildinfo$/.test(path)),
      [],
    );
    assert.ok(packed.files.some(({ path, mode }) => path === 'dist/lance.js' && (mode & 0o111) === 0o111));
    // What browsers run is a file of its own.
    const inPages = ['dist/impact/page-plots.js', 'dist/console/in-page.js'];
    for (const path of paths.filter((name) => /^dist\/.*\.js$/.test(name) && !inPages.includes(name))) {
      assert.ok(paths.includes(`${path}.map`), `source map of ${path}`);
      assert.ok(paths.includes(path.replace(/\.js$/, '.d.ts')), `declarations of ${path}`);
    }
  });

  test('an editor finds the schema of the configuration file beside the examples', () => {
    for (const name of ['settings.schema.json', 'default.json', 'lance.example.json', 'lance.example.env']) {
      assert.ok(paths.includes(`config/${name}`), name);
    }
    const textOf = (name: string) => readFileSync(join(installed, 'config', name), 'utf8');
    const { $schema } = JSON.parse(textOf('lance.example.json')) as { $schema: string };
    assert.equal(JSON.parse(textOf($schema)).properties.bidding.properties.windowMs.default, 30_000);
  });

  test('every file that the sources read beside them has come along (defect line 3)', () => {
    const beside = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      /\.(lua|avsc|css|js|json)$/.test(path),
    );
    assert.ok(beside.length > 10, beside.join());
    for (const path of beside) assert.ok(paths.includes(`dist/${path}`), path);
    // What is started by its address has another ending here than there.
    const named = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .filter((path) => /new URL\('[^']*\.ts'/.test(readFileSync(join(root, 'src', path), 'utf8')));
    assert.deepEqual(named, []);
  });

  test('the versions that were tested are the ones that are installed (defect line 3)', () => {
    type Lock = {
      packages: Record<string, { version: string; dev?: boolean; devOptional?: boolean; optional?: boolean }>;
    };
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
    const found = JSON.parse(readFileSync(join(consumer, 'package-lock.json'), 'utf8')) as Lock;
    const versions = new Set(
      Object.entries(found.packages).map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`),
    );
    const missing = Object.entries(lock.packages)
      .filter(([path, { dev, devOptional, optional }]) => path !== '' && !(dev || devOptional || optional))
      .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
      .filter((name) => !versions.has(name));
    assert.deepEqual(missing, []);
  });

  test('npx lance demo plays a whole run without a violation (defect line 3)', () => {
    const { status, stdout, stderr } = lance('demo', '--requests', '30', '--exit', '--json');
    const report = JSON.parse(stdout) as { violations: unknown[] };
    assert.deepEqual(report.violations, []);
    assert.equal(status, 0, stderr);
  });

  test('lance --help and --version speak (defect line 3)', () => {
    const help = lance('--help', '--lang', 'en');
    assert.equal(help.status, 0, help.stderr);
    assert.match(help.stdout, /doctor/);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    assert.equal(lance('--version').stdout.trim(), version);
  });

  test('a page is written with its script and style, the rules and scripts are the same ones (defect line 3)', async () => {
    const check = lance('rules', 'check', join(installed, 'rules'), '--json');
    assert.equal(check.status, 0, check.stderr + check.stdout);
    const auctions = Array.from({ length: 120 }, (_, index) => JSON.stringify({ rates: [180 + (index % 17), 260] }));
    writeFileSync(join(consumer, 'auctions.ndjson'), `${auctions.join('\n')}\n`);
    const backtest = lance('backtest', 'auctions.ndjson', '--html', 'page.html', '--json');
    assert.equal(backtest.status, 0, backtest.stderr);
    assert.ok(
      readFileSync(join(consumer, 'page.html'), 'utf8').includes(
        readFileSync(join(root, 'src/impact/page.css'), 'utf8'),
      ),
    );
    const packedScripts = await import(pathToFileURL(join(installed, 'dist/adapters/redis/scripts.js')).href);
    assert.deepEqual(packedScripts.scripts, scripts);
  });

  test('the daemon runs, reads webhooks in its thread, and its doctor finds nothing wrong (defect line 3)', async () => {
    const service = createServer((_request, answer) => answer.writeHead(503).end());
    await once(service.listen(0, '127.0.0.1'), 'listening');
    const settings = {
      ...environment,
      LANCE_DATA_DIR: join(directory, 'data'),
      LANCE_HTTP_PORT: '0',
      LANCE_WEBHOOK_TOKENS: 'token-of-the-package',
      LANCE_BASE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
      LANCE_ACCESS_TOKEN: 'not-used',
      LANCE_CONTACT_URL: 'https://parceiro.example/credito',
      LANCE_PSEUDONYM_KEY: 'a key that only the test of the package uses',
    };
    // The command that the README gives for a service manager, as it stands there.
    const readme = readFileSync(join(installed, 'README.md'), 'utf8');
    const command = /where the package is installed, `(\S+ run)`/.exec(readme)?.[1] ?? assert.fail('no command');
    const [program = '', ...words] = command.split(' ');
    const daemon = spawn(join(consumer, program), words, {
      cwd: consumer,
      env: settings,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(daemon, 'exit');
    try {
      for await (const line of createInterface({ input: daemon.stdout })) {
        if ((JSON.parse(line) as { msg: string }).msg === 'started') break;
      }
      // The thread that reads webhooks begins some seconds after the start; were its file not found, the process would end.
      await new Promise((resolve) => setTimeout(resolve, 11_500));
      assert.equal(daemon.exitCode, null);
      const doctor = spawn('npx', ['--no-install', 'lance', 'doctor', '--json'], { cwd: consumer, env: settings });
      const findings: { level: string; check: string }[] = [];
      for await (const line of createInterface({ input: doctor.stdout })) findings.push(JSON.parse(line));
      assert.deepEqual(
        findings.filter(({ level }) => level === 'fail'),
        [],
      );
      assert.ok(
        findings.some(({ check, level }) => check === 'daemon' && level === 'ok'),
        JSON.stringify(findings),
      );
    } finally {
      daemon.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
      service.close();
    }
  });

  test('both libraries are used by a program that is checked against their types (defect line 3)', () => {
    writeFileSync(join(consumer, 'use.ts'), consumerSource);
    writeFileSync(
      join(consumer, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          target: 'esnext',
          module: 'nodenext',
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          noEmit: true,
          skipLibCheck: false,
          types: [],
        },
        files: ['use.ts'],
      }),
    );
    const checked = spawnSync(join(root, 'node_modules/.bin/tsc'), ['--project', consumer], { encoding: 'utf8' });
    assert.equal(checked.stdout, '');
    assert.equal(checked.status, 0, checked.stderr);
    const ran = spawnSync(process.execPath, ['use.ts'], { cwd: consumer, encoding: 'utf8' });
    assert.equal(ran.status, 0, ran.stderr);
    const { quote, choice, verdict, refused } = JSON.parse(ran.stdout);
    assert.equal(quote.releasedCents, 1_000_000);
    assert.equal(quote.rows, 24);
    assert.equal(choice, 'offer');
    assert.equal(verdict, 'too-old');
    assert.equal(refused, 'refused');
    const hidden = `import('lance/dist/main.js')`;
    const outside = spawnSync(process.execPath, ['--eval', hidden], { cwd: consumer, encoding: 'utf8' });
    assert.match(outside.stderr, /ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });

  test('an older Node is told which one is needed (defect line 3)', () => {
    const older = `Object.defineProperty(process.versions, 'node', { value: '22.11.0' });`;
    const preload = join(directory, 'older.mjs');
    writeFileSync(preload, older);
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      ['--import', preload, join(installed, 'dist/lance.js'), '--version'],
      { encoding: 'utf8' },
    );
    assert.equal(status, 78, stdout);
    assert.match(stderr, /^lance: .*>=24\.12.*22\.11\.0/);
    assert.equal(stderr.trim().split('\n').length, 1);
  });
});
