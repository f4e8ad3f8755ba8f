/** `rules impact`, `rules shadow` and `audit export` beside a real daemon that has just traded with the sandbox. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { closedCauses } from '../../src/bidding/bidding-status.ts';
import { defaultRulesDir } from '../../src/config.ts';
import type { ImpactReport } from '../../src/impact/impact.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

const requests = 60;
let played: Played;
let daemon: Daemon = { url: '', lines: [], stop: async () => {} };
let states: { requestId: string; state: string; code: string | null }[] = [];
let file = '';
let rules = '';

const experiment = {
  name: 'Rates up',
  description: 'Do workers take dearer offers?',
  conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
  event: {
    type: 'experiment',
    params: { name: 'rates-up', layer: 'price', share: 0.5, economics: { acceptanceMidpointPercent: 4.2 } },
  },
};

/** A copy of the shipped rules, with one more rule in it. */
function candidateIn(directory: string): string {
  cpSync(defaultRulesDir, directory, { recursive: true });
  const rule = {
    name: 'No commerce',
    description: 'Not now.',
    conditions: { all: [{ fact: 'employer.sector', operator: 'equal', value: 'commerce' }] },
    event: { type: 'pass', params: { code: 'alerts', reason: 'commerce' } },
  };
  writeFileSync(join(directory, 'commerce.json'), JSON.stringify(rule));
  return directory;
}

before(async () => {
  played = await openStage(8);
  file = join(played.directory, 'auctions.ndjson');
  rules = join(played.directory, 'rules');
  cpSync(defaultRulesDir, rules, { recursive: true });
  writeFileSync(join(rules, 'experiment.json'), JSON.stringify(experiment));
  mkdirSync(join(rules, 'shadow'));
  candidateIn(join(rules, 'shadow'));
  played = { ...played, environment: { ...played.environment, LANCE_RULES_DIR: rules } as typeof played.environment };
  daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(requests);
  const awaited = ['requested', 'claimed', 'accepted', 'unknown'];
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 600));
    states = jsonLines((await lance(played.environment, 'bids', 'list', '--json', '--limit', '1000')).stdout);
    if (states.length === requests && states.every(({ state }) => !awaited.includes(state))) break;
  }
});

after(async () => {
  await daemon.stop();
  await played.close();
});

type Against = { against: string };

async function impactOf(...words: string[]): Promise<ImpactReport & Against> {
  const { code, stdout, stderr } = await lance(played.environment, 'rules', ...words, '--json', '--draws', '50');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as ImpactReport & Against;
}

test('what is exported gives the same impact as the log, byte for byte', async () => {
  const exported = await lance(played.environment, 'audit', 'export', file, '--last', String(requests), '--json');
  assert.equal(exported.code, 0, exported.stderr);
  const lines = jsonLines<Record<string, unknown>>(readFileSync(file, 'utf8'));
  assert.equal(lines.length, requests);
  for (const line of lines)
    for (const key of ['request', 'margin', 'lances', 'receivedAt']) assert.ok(key in line, key);
  assert.equal(statSync(file).mode & 0o077, 0, 'only its owner may read it');
  const [logged, filed] = await Promise.all([
    impactOf('impact', rules, '--last', String(requests)),
    impactOf('impact', rules, '--file', file),
  ]);
  // Requests from a file may be of another desk: they are compared with the folder, which says the same here.
  assert.deepEqual([filed.against, logged.against], ['folder', 'live']);
  assert.deepEqual({ ...filed, against: 'live' }, logged);
  assert.equal(logged.requests, requests);
  assert.equal(logged.flips.length, 0);
  const again = await lance(played.environment, 'audit', 'export', file);
  assert.equal(again.code, 65);
});

test('the current set decides as the desk did', async () => {
  const { current } = (await impactOf('impact', rules, '--last', String(requests))).segments[0]!;
  const waited = ['margin-missing', 'authorisation-missing', 'deadline', 'no-send-slot', 'overload', ...closedCauses];
  const bids = states.filter(({ state }) => state !== 'passed').length;
  const left = states.filter(({ code }) => code !== null && waited.includes(code)).length;
  assert.ok(bids > 20);
  // What the desk had no time to ask for stays unknown here too; what it had no time to send is bid here.
  assert.ok(current.bids >= bids && current.bids <= bids + left, `${bids} bids, ${current.bids} in the replay`);
});

test('the set in shadow/ is no part of the live one, and is judged beside it', async () => {
  const [plain, withShadow] = await Promise.all([
    lance(played.environment, 'rules', 'check', '--json'),
    lance(played.environment, 'rules', 'check', rules, '--json'),
  ]);
  const hashOf = ({ stdout }: { stdout: string }) => (JSON.parse(stdout) as { hash: string }).hash;
  assert.equal(hashOf(withShadow), hashOf(plain));
  const report = await impactOf('shadow', '--dir', rules, '--last', String(requests));
  assert.equal(report.kind, 'shadow');
  assert.equal(report.current, hashOf(plain));
  assert.ok(report.flips.some(({ rules: names }) => names.includes('No commerce')));
  const none = await lance(played.environment, 'rules', 'shadow', '--dir', defaultRulesDir, '--lang', 'en');
  assert.equal(none.code, 66);
  assert.match(none.stderr, /shadow/);
});

test('a shadow is judged beside the set that decides, where the folder holds another one', async () => {
  const edited = join(played.directory, 'edited');
  cpSync(rules, edited, { recursive: true });
  rmSync(join(edited, 'experiment.json'));
  const there = { ...played.environment, LANCE_RULES_DIR: edited };
  const { code, stdout, stderr } = await lance(there, 'rules', 'shadow', '--draws', '50', '--json');
  assert.equal(code, 0, stderr);
  const { against, current } = JSON.parse(stdout) as ImpactReport & Against;
  assert.equal(against, 'folder-differs');
  assert.equal(
    current,
    (await impactOf('impact', join(rules, 'shadow'))).current,
    'which is the one that impact takes',
  );
});

test('tables and page, and a bad line with what to write instead', async () => {
  const page = join(played.directory, 'impact.html');
  const words = ['rules', 'impact', join(rules, 'shadow'), '--last', String(requests), '--draws', '50'];
  const { stdout, code } = await lance(played.environment, ...words, '--html', page, '--lang', 'en');
  assert.equal(code, 0);
  assert.match(stdout, /profit given the bids/);
  assert.match(stdout, /bid → pass +bid +alerts +No commerce/);
  assert.match(stdout, /every rival bid was published/);
  assert.match(stdout, /whether a loan is repaid/);
  const html = readFileSync(page, 'utf8');
  assert.match(html, /What is exact/);
  assert.ok(!html.includes('src="http'));
  const bad = join(played.directory, 'bad.ndjson');
  const good = readFileSync(file, 'utf8').split('\n')[0]!;
  const without = JSON.parse(good) as Record<string, unknown>;
  delete without.receivedAt;
  writeFileSync(
    bad,
    `${good}\n${JSON.stringify(without)}\n{"request"\n${JSON.stringify({ ...without, receivedAt: 1e12, margin: 'x' })}\n`,
  );
  const refused = await lance(played.environment, 'rules', 'impact', rules, '--file', bad, '--lang', 'en');
  assert.equal(refused.code, 65);
  assert.match(refused.stderr, /bad\.ndjson:2: "receivedAt" is missing/);
  assert.match(refused.stderr, /bad\.ndjson:3: the body is not JSON/);
  assert.match(refused.stderr, /bad\.ndjson:4: "margin" is a text/);
  const absent = await lance(played.environment, 'rules', 'impact', rules, '--file', 'nowhere.ndjson', '--lang', 'en');
  assert.equal(absent.code, 66);
  assert.ok(existsSync(page));
});

test('the arms of an experiment are read off the log', async () => {
  const [json, text] = await Promise.all([
    lance(played.environment, 'rules', 'experiments', '--json', '--draws', '50'),
    lance(played.environment, 'rules', 'experiments', '--draws', '50', '--lang', 'en'),
  ]);
  assert.equal(json.code, 0, json.stderr);
  type Arm = { requests: number; bids: number; profitCents: number };
  const [report] = JSON.parse(json.stdout) as { name: string; layer: string; treated: Arm; control: Arm }[];
  assert.deepEqual([report!.name, report!.layer], ['rates-up', 'price']);
  // Requests that ended before the rules were asked are in no arm.
  const asked = report!.treated.requests + report!.control.requests;
  assert.ok(asked > requests / 2 && asked <= requests);
  assert.ok(report!.treated.bids > 0 && report!.control.bids > 0);
  assert.match(text.stdout, /Experiment "rates-up" \(layer "price"\)/);
});

test('what became of loans is set against what was expected; every bad line is told', async () => {
  const won = states.filter(({ state }) => ['won', 'contemplated', 'proposed'].includes(state));
  const passed = states.find(({ state }) => state === 'passed')!;
  assert.ok(won.length > 1);
  const csv = join(played.directory, 'loans.csv');
  const month = `${new Date().getUTCFullYear() + 1}-12`;
  const lines = won.map(({ requestId }, index) => `${requestId},${month},${index === 0 ? 'default' : 'current'}`);
  writeFileSync(
    csv,
    ['request,month,status', ...lines, `${passed.requestId},${month},late`, '77,2026-99,late'].join('\n'),
  );
  const [json, text] = await Promise.all([
    lance(played.environment, 'performance', 'import', csv, '--json'),
    lance(played.environment, 'performance', 'import', csv, '--lang', 'en'),
  ]);
  assert.deepEqual([json.code, text.code], [65, 65]);
  type Row = { loans: number; actualEnded: number; actualLossCents: number; expectedLossCents: number };
  const { total, gaps, bad } = JSON.parse(json.stdout) as { total: Row; gaps: Row[]; bad: { line: number }[] };
  assert.deepEqual([total.loans, total.actualEnded], [won.length, 1]);
  assert.ok(total.expectedLossCents > 0 && total.actualLossCents > 0);
  assert.equal(
    gaps.reduce((sum, { loans }) => sum + loans, 0),
    won.length,
  );
  assert.deepEqual(
    bad.map(({ line }) => line),
    [won.length + 2, won.length + 3],
  );
  assert.match(text.stderr, /made no bid on this request/);
  assert.match(text.stdout, /gap to the next bid/);
});

test('each rule is set against what became of loans: what it would have saved, and what it would have cost', async () => {
  const won = states.filter(({ state }) => ['won', 'contemplated', 'proposed'].includes(state));
  const csv = join(played.directory, 'loans-by-rule.csv');
  const month = `${new Date().getUTCFullYear() + 1}-12`;
  writeFileSync(
    csv,
    won.map(({ requestId }, index) => `${requestId},${month},${index === 0 ? 'default' : 'current'}\n`).join(''),
  );
  const rules = join(played.directory, 'harsher');
  mkdirSync(rules);
  const rule = (name: string, maxAmountReais: number) => ({
    ...{ name, description: name, owner: 'credit-risk' },
    conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    event: { type: 'limit', params: { maxAmountReais } },
  });
  writeFileSync(join(rules, 'codes.json'), JSON.stringify({ codes: {} }));
  writeFileSync(join(rules, 'own.json'), JSON.stringify({ rules: [rule('Nothing', 1), rule('Anything', 1_000_000)] }));
  const run = (...words: string[]) => lance(played.environment, 'rules', 'backtest', csv, '--dir', rules, ...words);
  const [json, text, shipped] = await Promise.all([
    run('--json'),
    run('--lang', 'en'),
    lance(played.environment, 'rules', 'backtest', csv, '--json'),
  ]);
  assert.deepEqual([json.code, text.code, shipped.code], [0, 0, 0], json.stderr + text.stderr + shipped.stderr);
  type Row = { rule: string; event: string; loans: number; ended: number; lossCents: number; earnedCents: number };
  const { total, rules: rows } = JSON.parse(json.stdout) as { total: Row; rules: Row[] };
  assert.deepEqual([total.loans, total.ended], [won.length, 1]);
  assert.ok(total.lossCents > 0 && total.earnedCents > 0);
  const [harsh, idle] = [rows.find(({ rule }) => rule === 'Nothing')!, rows.find(({ rule }) => rule === 'Anything')!];
  assert.deepEqual({ ...total, rule: 'Nothing', event: 'limit', undecided: 0, linkNotOnRecord: 0 }, harsh);
  assert.deepEqual([idle.loans, idle.lossCents, idle.earnedCents], [0, 0, 0]);
  assert.match(text.stdout, /all loans/);
  assert.match(text.stdout, /Each rule alone, on the loans of the file/);
  // What the live rules let through at the time, they let through again.
  const live = JSON.parse(shipped.stdout) as { rules: { rule: string; loans: number }[] };
  assert.ok(live.rules.length > 10);
  assert.deepEqual(
    live.rules.filter(({ loans }) => loans > 0),
    [],
  );
});

test('rules are proposed from the book, outside of the rules, and nothing is written while a line is bad', async () => {
  const won = states.filter(({ state }) => ['won', 'contemplated', 'proposed'].includes(state));
  const csv = join(played.directory, 'book.csv');
  const to = join(played.directory, 'proposal');
  const month = `${new Date().getUTCFullYear() + 1}-12`;
  const lines = won.map(({ requestId }, index) => `${requestId},${month},${index === 0 ? 'default,100' : 'current,'}`);
  const propose = (target: string) =>
    lance(played.environment, 'economics', 'propose', csv, '--to', target, '--json', '--lang', 'en');
  writeFileSync(csv, [...lines, '77,2026-99,late'].join('\n'));
  const bad = await propose(to);
  assert.equal(bad.code, 65);
  assert.match(bad.stderr, new RegExp(`line ${lines.length + 1}, column 2: the second cell is no month`));
  assert.match(bad.stderr, /Nothing was written/);
  assert.ok(!existsSync(to));
  writeFileSync(csv, lines.join('\n'));
  const inside = await propose(join(rules, 'own'));
  assert.equal(inside.code, 65);
  assert.match(inside.stderr, /which the desk follows/);
  assert.equal(existsSync(join(rules, 'own')), false, 'a refusal leaves no folder behind');
  const dotted = await propose(join(rules, '..own', 'book'));
  assert.equal(dotted.code, 65, 'a name that begins with dots does not lead out of the rules');
  assert.equal(existsSync(join(rules, '..own')), false);
  const good = await propose(to);
  assert.equal(good.code, 0, good.stderr);
  const { files, rules: count } = JSON.parse(good.stdout) as { files: string[]; rules: number };
  assert.ok(count > 0 && files.length === 2 && files.every((path) => existsSync(path)));
  const candidate = join(played.directory, 'with-book');
  cpSync(defaultRulesDir, candidate, { recursive: true });
  cpSync(to, candidate, { recursive: true });
  const check = await lance(played.environment, 'rules', 'check', candidate, '--json');
  const { kind, failures } = JSON.parse(check.stdout) as { kind: string; failures: { file: string }[] };
  assert.notEqual(kind, 'refused');
  assert.ok(
    failures.every(({ file: path }) => path !== 'economics-book.test.json'),
    check.stdout,
  );
  const text = await lance(played.environment, 'economics', 'propose', csv, '--to', to);
  assert.match(text.stdout, /A mesa não as segue/);
});
