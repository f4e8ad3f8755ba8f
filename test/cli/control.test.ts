/** Pause, resume, caps and the doctor beside a live `lance run`; what keeps a process from starting at all. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bidPath } from '../../src/wire/bid.ts';
import { eventually } from '../conformance/backend.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
let daemon: Daemon = { url: '', lines: [], stop: async () => {} };
const by = ['--by', 'ana', '--reason', 'teste'];

before(async () => {
  played = await openStage(11);
  daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

function bidsSent(): number {
  return played.sandbox.record.of('call').filter(({ path }) => path === bidPath).length;
}

type Ordered = { kind: string; by: string | null; reason: string | null; at: number; name?: string; hash?: string };

test('who ordered what, when and why is listed beside the live process, in both languages and 80 columns', async () => {
  const long = `${'limite do comitê de crédito '.repeat(6)}${'x'.repeat(20)}`;
  for (const words of [
    ['cap', 'historic', '--reais-a-day', '1000', '--by', 'bia', '--reason', long],
    ['cap', 'historic', '--remove', '--by', `${'n'.repeat(150)}`],
  ]) {
    const { code, stderr } = await lance(played.environment, ...words);
    assert.equal(code, 0, stderr);
  }
  const told = await lance(played.environment, 'controls', 'history', '--json', '--limit', '3');
  assert.equal(told.code, 0, told.stderr);
  const [removed, set, rules] = jsonLines<Ordered>(told.stdout);
  assert.deepEqual([removed?.kind, removed?.name, removed?.reason], ['cap-removed', 'historic', null]);
  assert.deepEqual([set?.kind, set?.by, set?.reason], ['cap-set', 'bia', long]);
  assert.deepEqual([rules?.kind, rules?.by, rules?.hash?.length], ['rules-ordered', null, 64]);
  assert.ok(Math.abs((set?.at ?? 0) - Date.now()) < 60_000);
  for (const [lang, expected] of [
    ['en', /cap historic: R\$ 1,000\.00 a day[\s\S]*rules [0-9a-f]{12}, from/],
    ['pt', /teto historic: R\$ 1\.000,00 por dia[\s\S]*regras [0-9a-f]{12}, a partir de/],
  ] as const) {
    const { stdout, stderr } = await lance(played.environment, 'controls', 'history', '--lang', lang);
    assert.match(stdout, expected, stderr);
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
    const last = await lance(played.environment, 'controls', 'history', '--lang', lang, '--limit', '1');
    assert.match(last.stderr, /--limit/);
    assert.doesNotMatch(last.stdout, /1.000/);
  }
  const help = await lance(played.environment, 'controls', '--help', '--lang', 'en');
  assert.match(help.stdout, /history/);
});

test('pause is obeyed by the live process within a second, nothing is sent meanwhile, resume opens again', async () => {
  // On a busy machine all bids of a round may come after its deadline.
  for (let round = 0; round < 5 && bidsSent() === 0; round += 1) await played.sandbox.run(20);
  assert.ok(bidsSent() > 0, 'the desk bids before it is paused');
  const startedAt = Date.now();
  const paused = await lance(played.environment, 'pause', ...by);
  const tookMs = Date.now() - startedAt;
  assert.equal(paused.code, 0, paused.stderr);
  assert.match(paused.stdout, /Em pausa \(revisão 4\), obedecida por 1 processo/);
  // Starting a process is most of it: on this machine about half a second beside other work.
  const idle = await timed(() => lance(played.environment, 'bids', 'list', '--limit', '1'));
  assert.ok(tookMs - idle < 1_000, `${tookMs} ms, of which ${idle} to start a process`);
  const before = bidsSent();
  await played.sandbox.run(20);
  assert.equal(bidsSent(), before, 'a bid was sent while paused');
  const [state] = jsonLines<{ finding: string; by?: string }>(
    (await lance(played.environment, 'doctor', '--json')).stdout,
  ).filter(({ finding }) => finding.startsWith('control'));
  assert.deepEqual([state?.finding, state?.by], ['control-paused', 'ana']);
  const resumed = await lance(played.environment, 'resume', ...by, '--lang', 'en');
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(resumed.stdout, /Bidding again \(revision 5\), by 1 process/);
  await played.sandbox.run(20);
  assert.ok(bidsSent() > before, 'the desk bids again');
});

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedAt = Date.now();
  await run();
  return Date.now() - startedAt;
}

test('a cap set by hand holds, is shown with its use, and goes', async () => {
  const set = await lance(played.environment, 'cap', 'mesa', '--reais-a-day', '0,01');
  assert.equal(set.code, 0, set.stderr);
  const before = bidsSent();
  await played.sandbox.run(20);
  assert.equal(bidsSent(), before, 'a bid was sent over the cap');
  const shown = await lance(played.environment, 'cap', 'mesa', '--lang', 'en');
  assert.match(shown.stdout, /Cap mesa: R\$ 0\.00 of R\$ 0\.01 promised today/);
  assert.match(set.stdout, /o que foi prometido sem nenhum não entra/);
  const ofRules = await lance(played.environment, 'cap', 'desk-day', '--lang', 'en');
  assert.equal(ofRules.code, 0, ofRules.stderr);
  assert.match(ofRules.stdout, /^desk-day is a cap of the rules, not one set by hand: R\$ [1-9][\d,.]+ in \d+ bids/);
  for (const [mistyped, why] of [
    [['messa', '--remove'], /no cap messa set by hand\. Did you mean mesa\?/],
    [['Mesa', '--reais-a-day', '500'], /Nothing was changed, and no cap Mesa was set: there is a cap mesa already/],
  ] as const) {
    const refused = await lance(played.environment, 'cap', ...mistyped, '--lang', 'en');
    assert.equal(refused.code, 66);
    assert.match(refused.stderr, why);
  }
  const removed = await lance(played.environment, 'cap', 'mesa', '--remove');
  assert.equal(removed.code, 0);
  const [gone, wrong] = await Promise.all([
    lance(played.environment, 'cap', 'mesa'),
    lance(played.environment, 'cap', 'mesa', '--reais-a-day', '1.000,00'),
  ]);
  assert.equal(gone.code, 66);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /250000/);
});

test('resume names the cause that is left also where a process has not confirmed', async (context) => {
  let status: Record<string, unknown> = {};
  await eventually(async () => {
    status = (await (await fetch(new URL('/status', daemon.url))).json()) as Record<string, unknown>;
    return status.bidding != null;
  });
  const bidding = { kind: 'closed', cause: 'log-changed', since: Date.now(), by: null, detail: null, remedy: null };
  const obeyed = { revision: 7, obeyedBy: ['here'], late: ['other'], wasPaused: true };
  const server = createHttpServer(({ method }, response) => {
    response.setHeader('content-type', 'application/json');
    response.statusCode = method === 'POST' ? 202 : 200;
    response.end(JSON.stringify(method === 'POST' ? obeyed : { ...status, bidding }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const environment = { ...played.environment, LANCE_URL: `http://127.0.0.1:${port}`, LANCE_TOKEN: 'a-long-secret' };
  for (const [lang, cause, late] of [
    ['en', /^No bid goes out all the same: the log is not what was written \(log-changed\)/m, /other/],
    ['pt', /^Mesmo assim nenhum lance sai: .*\(log-changed\)/m, /other/],
  ] as const) {
    const { code, stdout, stderr } = await lance(environment, 'resume', '--reason', 'visto', '--lang', lang);
    assert.equal(code, 75, stderr);
    assert.match(stderr, late);
    assert.match(stdout, cause);
  }
});

test('who paused, resumed and capped, and why, is logged, shown by the doctor and by readyz (defect line 17)', async () => {
  const orders = [
    ['pause', '--by', 'ana', '--reason', 'taxas estranhas'],
    ['resume', '--by', 'bia', '--reason', 'visto com o risco'],
    ['cap', 'noite', '--reais-a-day', '1000', '--by', 'caio', '--reason', 'fim do mês'],
    ['cap', 'dia', '--reais-a-day', '2000'],
  ];
  for (const words of orders) assert.equal((await lance(played.environment, ...words)).code, 0, words.join(' '));
  const logged = daemon.lines.filter(({ msg }) => msg === 'control-changed').slice(-4);
  assert.deepEqual(
    logged.map(({ kind, by, text, cap, limitCents }) => ({ kind, by, text, cap, limitCents })),
    [
      { kind: 'paused', by: 'ana', text: 'taxas estranhas', cap: undefined, limitCents: undefined },
      { kind: 'resumed', by: 'bia', text: 'visto com o risco', cap: undefined, limitCents: undefined },
      { kind: 'cap-set', by: 'caio', text: 'fim do mês', cap: 'noite', limitCents: 100_000 },
      { kind: 'cap-set', by: userInfo().username, text: undefined, cap: 'dia', limitCents: 200_000 },
    ],
  );
  const ready = await (await fetch(new URL('/readyz?verbose', daemon.url))).text();
  assert.match(ready, /resumed by bia \(visto com o risco\) at \d{4}-/);
  assert.match(ready, /cap-set noite by caio \(fim do mês\)/);
  const doctor = await lance(played.environment, 'doctor', '--lang', 'en');
  assert.match(doctor.stdout, /resumed by bia: visto com o risco/);
  assert.match(doctor.stdout, /LANCE_FGTS_URL is not set: withdrawals are refused/);
  assert.match(doctor.stdout, /cap noite set by caio: fim do mês/);
  assert.match(doctor.stdout, new RegExp(`cap dia set by ${userInfo().username}\n`));
  for (const name of ['noite', 'dia']) await lance(played.environment, 'cap', name, '--remove');
});

test('a CPF in what an operator says is blotted out before it is stored', async () => {
  const cpf = '529.982.247-25';
  const orders = [
    ['pause', '--by', 'ana', '--reason', `o trabalhador ${cpf} reclamou`],
    ['cap', 'noite', '--reais-a-day', '1000', '--by', 'caio', '--reason', 'CPF 529 982 247 25'],
    ['resume', '--by', `ana 52998224725`, '--reason', `falei com ${cpf}`],
    ['cap', 'noite', '--remove'],
  ];
  for (const words of orders) assert.equal((await lance(played.environment, ...words)).code, 0, words.join(' '));
  const ready = await (await fetch(new URL('/readyz?verbose', daemon.url))).text();
  assert.match(ready, /resumed by ana \*\*\* \(falei com \*\*\*\)/);
  const stored = ['lance.sqlite', 'lance.sqlite-wal'].map((name) =>
    readFileSync(join(played.environment.LANCE_DATA_DIR, name), 'latin1'),
  );
  for (const found of [ready, ...stored, JSON.stringify(daemon.lines)])
    assert.doesNotMatch(found, /529[. ]?982[. ]?247[- ]?25/);
  const named = await lance(played.environment, 'cap', '529.982.247-25', '--reais-a-day', '1');
  assert.equal(named.code, 1, named.stdout);
});

test('a second daemon on the directory ends with 73', async () => {
  const second = await lance(played.environment, 'run');
  assert.equal(second.code, 73);
  assert.match(second.stderr, /Another daemon runs on .*: process \d+, at http:\/\/127\.0\.0\.1:\d+\/\. Stop it/);
});

test('a bad configuration ends with 78 and names all faults at once; pause still works', async () => {
  const bad = {
    ...played.environment,
    LANCE_BASE_URL: 'nowhere',
    LANCE_HTTP_PORT: '99999',
    LANCE_WEBHOOK_TOKENS: '',
    LANCE_PSEUDONYM_KEY: 'short',
    LANCE_MISSPELT: '1',
  };
  const [run, doctor, paused] = await Promise.all([
    lance(bad, 'run'),
    lance(bad, 'doctor', '--json'),
    lance({ LANCE_DATA_DIR: played.environment.LANCE_DATA_DIR }, 'pause', ...by),
  ]);
  assert.equal(run.code, 78);
  const names = ['LANCE_BASE_URL', 'LANCE_HTTP_PORT', 'LANCE_WEBHOOK_TOKENS', 'LANCE_PSEUDONYM_KEY', 'LANCE_MISSPELT'];
  for (const name of names) assert.ok(run.stderr.includes(name), `${name} is not named in\n${run.stderr}`);
  assert.equal(doctor.code, 1);
  const faults = jsonLines<{ check: string; level: string; text?: string }>(doctor.stdout).filter(
    ({ check }) => check === 'configuration',
  );
  assert.deepEqual([...new Set(faults.map(({ level }) => level))], ['fail']);
  for (const name of names)
    assert.ok(
      faults.some(({ text }) => text?.includes(name)),
      name,
    );
  assert.equal(paused.code, 0, paused.stderr);
  assert.equal((await lance(played.environment, 'resume', ...by)).code, 0);
});

test('the doctor finds a sound desk sound, and names what is not', async () => {
  const sound = await lance(played.environment, 'doctor', '--json');
  const findings = jsonLines<{ check: string; level: string; finding: string }>(sound.stdout);
  assert.deepEqual(
    findings.filter(({ level }) => level !== 'ok'),
    [],
  );
  assert.equal(sound.code, 0);
  const checks = ['node', 'configuration', 'token', 'mapping', 'outcomes', 'rules', 'data-directory', 'daemon'];
  assert.deepEqual(
    new Set(findings.map(({ check }) => check)),
    new Set([
      ...[...checks, 'control', 'caps', 'key', 'audit-key', 'views', 'chain', 'dead-letters', 'clock', 'service'],
      ...['disk', 'bidding'],
    ]),
  );
  const [away, norules, empty] = await Promise.all([
    lance({ ...played.environment, LANCE_BASE_URL: 'http://127.0.0.1:9' }, 'doctor', '--lang', 'en'),
    lance({ ...played.environment, LANCE_RULES_DIR: played.directory }, 'doctor', '--json'),
    lance({ ...played.environment, LANCE_DATA_DIR: `${played.directory}/nothing` }, 'doctor', '--json'),
  ]);
  assert.equal(away.code, 1);
  assert.match(away.stdout, /fail +service +127\.0\.0\.1:9 does not answer[\s\S]*remedy: see LANCE_BASE_URL/);
  assert.equal(norules.code, 1);
  assert.ok(jsonLines<{ finding: string }>(norules.stdout).some(({ finding }) => finding === 'rules-refused'));
  assert.equal(empty.code, 0);
  assert.ok(jsonLines<{ finding: string }>(empty.stdout).some(({ finding }) => finding === 'directory-new'));
});

test('the doctor says which secrets come from files and which stand in the environment', async () => {
  const { LANCE_PSEUDONYM_KEY, ...others } = played.environment;
  const file = `${played.directory}/key`;
  writeFileSync(file, `${LANCE_PSEUDONYM_KEY}\n`);
  const { code, stdout } = await lance({ ...others, LANCE_PSEUDONYM_KEY_FILE: file }, 'doctor', '--lang', 'en');
  assert.equal(code, 0, stdout);
  assert.match(stdout, /secrets from files: LANCE_PSEUDONYM_KEY_FILE$/m);
  assert.match(stdout, /secrets in the environment: LANCE_WEBHOOK_TOKENS, LANCE_ACCESS_TOKEN; NAME_FILE takes/);
  assert.match(stdout, /pseudonym key +is the one that the data was written under/);
});

test('without a live process a pause is stored, and said so', async () => {
  await daemon.stop();
  const paused = await lance(played.environment, 'pause', ...by);
  assert.equal(paused.code, 0, paused.stderr);
  assert.match(paused.stdout, /Nenhum processo está rodando/);
  const doctor = await lance(played.environment, 'doctor', '--json');
  const findings = jsonLines<{ finding: string; level: string; lastAt?: string }>(doctor.stdout);
  const none = findings.find(({ finding }) => finding === 'daemon-none');
  // A note: nothing is wrong with a desk that somebody has stopped.
  assert.deepEqual([none?.level, doctor.code], ['warn', 0]);
  const history = jsonLines<{ at: number }>((await lance(played.environment, 'controls', 'history', '--json')).stdout);
  const pausedAt = Math.max(...history.map(({ at }) => at));
  assert.equal(none?.lastAt, new Date(pausedAt).toISOString(), 'the pause is what was recorded last');
  const said = await lance(played.environment, 'doctor', '--lang', 'en');
  assert.match(
    said.stdout,
    /warn +daemon +no desk is running here \(lock free\); something was last recorded at \d{4}-/m,
  );
  assert.match(
    (await lance(played.environment, 'doctor')).stdout,
    /nenhuma mesa está rodando aqui \(trava livre\); o último registro é de \d\d\/\d\d\/\d{4} /,
  );
  daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
  const before = bidsSent();
  await played.sandbox.run(20);
  assert.equal(bidsSent(), before, 'a desk that starts paused sends nothing');
});

test('taking away a cap that is not there is refused, and a resumption of an open desk says that it was open', async () => {
  const none = await lance(played.environment, 'cap', 'nenhum', '--remove', '--lang', 'en');
  assert.deepEqual([none.code, none.stdout], [66, '']);
  assert.match(none.stderr, /There is no cap nenhum set by hand/);
  const findings = jsonLines<{ finding: string }>((await lance(played.environment, 'doctor', '--json')).stdout);
  if (findings.some(({ finding }) => finding === 'control-paused')) await lance(played.environment, 'resume', ...by);
  const again = await lance(played.environment, 'resume', ...by, '--lang', 'en');
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /It was not paused; bidding goes on \(revision \d+\), by 1 process/);
});

test('a hangup is logged and changes nothing', async () => {
  const own = await openStage(12);
  const desk = await startDaemon(own.environment);
  try {
    desk.signal('SIGHUP');
    const untilMs = Date.now() + 10_000;
    const heard = () => desk.lines.find(({ msg }) => msg === 'signal-ignored');
    while (heard() === undefined && Date.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(heard()?.signal, 'SIGHUP');
    assert.match(String(heard()?.text), /rule files are read again by themselves, .* a restart, .* standard output/);
    assert.equal((await fetch(new URL('/readyz', desk.url))).status, 200);
  } finally {
    await desk.stop();
    await own.close();
  }
  assert.deepEqual(
    desk.lines.filter(({ msg }) => msg === 'stopping' || msg === 'stopped').map(({ msg, signal }) => [msg, signal]),
    [
      ['stopping', 'SIGTERM'],
      ['stopped', undefined],
    ],
  );
});

test('a pause that Redis does not answer says that the desk is not paused, and what to do', async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const environment = {
    LANCE_BACKEND: 'kafka',
    LANCE_KAFKA_BROKERS: '127.0.0.1:9',
    LANCE_SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
    LANCE_REDIS_URL: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
  const [paused, resumed] = await Promise.all([
    lance(environment, 'pause', ...by, '--lang', 'en'),
    lance(environment, 'resume', ...by, '--lang', 'en'),
  ]);
  server.close();
  assert.equal(paused.code, 74);
  assert.match(paused.stderr, /The desk is not paused\. .*say pause again, or stop the processes \(SIGTERM\)\.\n$/);
  assert.equal(resumed.code, 74);
  assert.match(resumed.stderr, /Nothing was changed/);
  for (const { stderr } of [paused, resumed]) assert.doesNotMatch(stderr, /\.\./);
});
