/** With LANCE_URL and LANCE_TOKEN the doctor asks the desk that runs there, and says in a line what only its machine can be asked. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Daemon, freePort, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

type Finding = { check: string; level: string; finding: string } & Record<string, unknown>;

let played: Played;
let daemon: Daemon & { signal: (name: NodeJS.Signals) => void };
let afar: Record<string, string>;

before(async () => {
  played = await openStage(2_105);
  const people = [
    ['ana', 'risk'],
    ['bia', 'viewer'],
  ].map(([name, role]) => `${name}:${role}:${createHash('sha256').update(`token-of-${name}`).digest('hex')}`);
  daemon = await startDaemon({ ...played.environment, LANCE_API_TOKENS: people.join(',') });
  // Neither a store nor a configuration: what the machine that asks has is no part of it.
  afar = { LANCE_URL: new URL(daemon.url).origin, LANCE_TOKEN: 'token-of-ana', LANCE_LANG: 'en' };
});

after(async () => {
  daemon.signal('SIGCONT');
  await daemon.stop();
  await played.close();
});

async function doctor(
  more: Record<string, string> = {},
): Promise<{ code: number | null; found: Finding[]; said: string }> {
  const [json, words] = await Promise.all([
    lance({ ...afar, ...more }, 'doctor', '--json'),
    lance({ ...afar, ...more }, 'doctor'),
  ]);
  assert.equal(json.code, words.code, json.stderr);
  return { code: json.code, found: jsonLines<Finding>(json.stdout), said: words.stdout.replaceAll(/\s+/g, ' ') };
}

const named = (found: readonly Finding[]) => found.map(({ check, level, finding }) => `${check}: ${level} ${finding}`);
const untried = 'afar: warn afar-untried';

test('a sound desk: what it says of itself, and what was not tried (issue 21, line 5)', async () => {
  const { code, found, said } = await doctor();
  assert.deepEqual(named(found), [
    'daemon: ok daemon-answers',
    'bidding: ok bidding-open',
    'rules: ok rules-followed',
    'control: ok control-free',
    'caps: ok caps-none-by-hand',
    'dead-letters: ok dead-letters-none',
    untried,
  ]);
  assert.equal(code, 0, said);
  assert.match(said, new RegExp(`answers at ${afar.LANCE_URL}`));
  assert.match(
    said,
    /not tried from afar: configuration, directory or servers, disk, keys, chain, mapping, the service's token, clock remedy: on the machine of the desk, without LANCE_URL and LANCE_TOKEN: lance doctor/,
  );
  const pt = await lance({ ...afar, LANCE_LANG: 'pt' }, 'doctor');
  assert.match(pt.stdout.replaceAll(/\s+/g, ' '), /não testados à distância: configuração, diretório ou servidores/);
});

test('a pause, a full cap by hand and dead letters are found, with their remedies', async () => {
  const order = ['--by', 'ana', '--reason', 'uma olhada'];
  for (const words of [['cap', 'noite', '--reais-a-day', '0.01'], ['pause']])
    assert.equal((await lance(afar, ...words, ...order)).code, 0);
  const body = JSON.stringify({ unheardOf: 1 });
  const headers = { 'content-type': 'application/json' };
  assert.equal((await fetch(daemon.url, { method: 'POST', headers, body })).status, 202);
  const { code, found, said } = await doctor();
  assert.deepEqual(named(found), [
    'daemon: ok daemon-answers',
    'bidding: warn bidding-closed',
    'rules: ok rules-followed',
    'control: warn control-paused',
    'caps: ok cap-held',
    'dead-letters: warn dead-letters-some',
    untried,
  ]);
  assert.equal(code, 0);
  assert.match(said, /paused by ana: uma olhada remedy: lance resume/);
  assert.match(said, /noite \(by hand\) is in force: R\$ 0\.00 of R\$ 0\.01 used today; set by ana/);
  // Who may not see dead letters is told so; the rest is found.
  const viewer = await doctor({ LANCE_TOKEN: 'token-of-bia' });
  assert.ok(named(viewer.found).includes('dead-letters: warn afar-refused'), viewer.said);
  assert.ok(named(viewer.found).includes('control: warn control-paused'), viewer.said);
  assert.equal((await lance(afar, 'resume', ...order)).code, 0);
});

test('a token that the desk refuses, an address where nobody is, and a desk that hangs fail', async () => {
  const wrong = await doctor({ LANCE_TOKEN: 'nobody' });
  assert.deepEqual([named(wrong.found), wrong.code], [['daemon: fail daemon-refuses', untried], 1]);
  assert.match(wrong.said, /HTTP 401/);
  const port = await freePort();
  const nowhere = await doctor({ LANCE_URL: `http://127.0.0.1:${port}` });
  assert.deepEqual([named(nowhere.found), nowhere.code], [['daemon: fail daemon-unreachable', untried], 1]);
  assert.match(nowhere.said, new RegExp(`nobody answers at http://127.0.0.1:${port}/ .ECONNREFUSED.`));
  daemon.signal('SIGSTOP');
  const hung = await doctor();
  daemon.signal('SIGCONT');
  assert.deepEqual([named(hung.found), hung.code], [['daemon: fail daemon-unreachable', untried], 1]);
  assert.match(hung.said, /3000 ms/);
});
