/** A cap of the rules that stops every bid, and then one by hand: the same finding in all places, forgotten once the cap is gone. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import { openPerson } from '../console/person.ts';
import { type Daemon, freePort, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

type Finding = { check: string; level: string; finding: string } & Record<string, unknown>;

const apiToken = 'a-token-of-the-viewer';
let played: Played;
let environment: Record<string, string>;
let daemon: Daemon;
let root: string;
let rules: string;

before(async () => {
  played = await openStage(47);
  rules = join(played.directory, 'rules');
  cpSync(fileURLToPath(new URL('../../rules', import.meta.url)), rules, { recursive: true });
  setDeskDay(1_000);
  const port = await freePort();
  environment = {
    ...played.environment,
    LANCE_RULES_DIR: rules,
    LANCE_HTTP_PORT: `${port}`,
    LANCE_API_TOKENS: `ana:viewer:${createHash('sha256').update(apiToken).digest('hex')}`,
  };
  daemon = await startDaemon(environment);
  root = `http://127.0.0.1:${port}`;
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(20);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

function setDeskDay(maxAmountReais: number): void {
  const path = join(rules, 'caps.json');
  const caps = JSON.parse(readFileSync(path, 'utf8')) as {
    rules: { event: { params: { name: string; maxAmountReais: number } } }[];
  };
  for (const { event } of caps.rules)
    if (event.params.name === 'desk-day') event.params.maxAmountReais = maxAmountReais;
  writeFileSync(path, JSON.stringify(caps, null, 2));
}

const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

async function capsNow(): Promise<DaemonStatus['caps']> {
  const answer = await fetch(`${root}/v1/status`, { headers: { authorization: `Bearer ${apiToken}` } });
  return ((await answer.json()) as DaemonStatus).caps;
}

async function untilCaps(isSo: (caps: DaemonStatus['caps']) => boolean): Promise<void> {
  let caps = await capsNow();
  for (let looks = 0; looks < 100 && !isSo(caps); looks += 1) {
    await sleep(100);
    caps = await capsNow();
  }
  assert.ok(isSo(caps), JSON.stringify(caps));
}

async function findings(): Promise<Finding[]> {
  return jsonLines<Finding>((await lance(environment, 'doctor', '--json')).stdout);
}

test('a cap of the rules that stops every bid is told in every place, with its use, its limit and what to do', async () => {
  await untilCaps((caps) => caps?.cap.name === 'desk-day' && !caps.cap.byHand);
  for (const [language, said] of [
    [
      'pt',
      /última, em desk-day \(das regras\): R\$ [\d.,]+ de R\$ 1\.000,00 então; recomeça à meia-noite; .*LANCE_RULES_DIR/,
    ],
    [
      'en',
      /last by desk-day \(of the rules\): R\$ [\d.,]+ of R\$ 1,000\.00 then; it begins anew at midnight; .*LANCE_RULES_DIR/,
    ],
  ] as const) {
    const [screen, doctor] = await Promise.all([
      lance({ ...environment, LANCE_LANG: language }, 'status'),
      lance({ ...environment, LANCE_LANG: language }, 'doctor'),
    ]);
    assert.match(flat(screen.stdout), said);
    assert.match(doctor.stdout, language === 'pt' ? /atenção +lances .*desk-day/ : /warn +bidding .*desk-day/);
    assert.match(flat(doctor.stdout), /desk-day \((das regras|of the rules)\): R\$ .* 1[.,]000[.,]00/);
    assert.doesNotMatch(doctor.stdout, /Tudo em ordem|All is well/);
  }
  const told = (await findings()).filter(({ check }) => check === 'bidding' || check === 'caps');
  assert.deepEqual(told.map(({ level, finding, name }) => [level, finding, name]).sort(), [
    ['ok', 'cap-of-rules', 'desk-day'],
    ['warn', 'bidding-capped', 'desk-day'],
  ]);
  const ready = await fetch(`${root}/readyz?verbose`);
  assert.equal(ready.status, 200);
  assert.match(await ready.text(), /^\[!\] caps: .*desk-day \(of the rules\): R\$ [\d.,]+ of R\$ 1,000\.00 then;/m);
  assert.match(await (await fetch(`${root}/metrics`)).text(), /^lance_capped_requests [1-9]/m);
  const person = openPerson(root);
  await person.logIn(apiToken);
  const { text: now } = await person.get('/');
  assert.match(now, /class="panel shut"/);
  assert.match(flat(now), /última, em desk-day \(das regras\): R\$ /);
  const { text: operations } = await person.get('/console/operations');
  assert.match(flat(operations), /tetos<\/th> <td[^>]*><span class="wrong">atenção<\/span>/);
});

test('a full cap is told after a restart, before any request meets it', async () => {
  const before = await capsNow();
  await daemon.stop();
  daemon = await startDaemon(environment);
  await untilCaps((caps) => caps !== null);
  const now = (await capsNow())!;
  assert.deepEqual([now.cap, now.ended], [before?.cap, before?.ended]);
  assert.match(await (await fetch(`${root}/metrics`)).text(), /^lance_capped_requests [1-9]/m);
  assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /^\[!\] caps: .*desk-day/m);
  const told = (await findings()).filter(({ check }) => check === 'bidding');
  assert.deepEqual(
    told.map(({ finding }) => finding),
    ['bidding-capped'],
  );
  const { stdout } = await lance({ ...environment, LANCE_LANG: 'en' }, 'status');
  assert.match(flat(stdout), /last by desk-day \(of the rules\)/);
});

test('a cap by hand that was removed is nobody’s reason any more, nor one of rules that were replaced', async () => {
  setDeskDay(1_000_000_000);
  await untilCaps((caps) => caps === null);
  const order = ['cap', 'desk-day', '--by', 'ana', '--reason', 'teste'];
  assert.equal((await lance(environment, ...order, '--reais-a-day', '0')).code, 0);
  await played.sandbox.run(10);
  await untilCaps((caps) => caps?.cap.byHand === true);
  const binds = (await findings()).find(({ finding }) => finding === 'cap-binds');
  assert.ok(Number(binds?.count) > 0, JSON.stringify(binds));
  assert.equal((await lance(environment, ...order, '--remove')).code, 0);
  await untilCaps((caps) => caps === null);
  const { stdout } = await lance({ ...environment, LANCE_LANG: 'en' }, 'status');
  assert.doesNotMatch(stdout, /^caps/m);
  const caps = (await findings()).filter(({ check }) => check === 'caps' || check === 'bidding');
  assert.deepEqual(
    caps.map(({ finding, name, count }) => [finding, name, Number(count) <= 20]).sort(),
    [
      ['bidding-open', undefined, false],
      ['cap-of-rules', 'desk-day', true],
    ],
    'what the cap by hand ended is not counted with those of the rules',
  );
});

test('a cap by hand that is set anew says what counts under it from an earlier one of its name', async () => {
  const order = ['cap', 'tarde', '--by', 'ana', '--reason', 'teste'];
  const english = { ...environment, LANCE_LANG: 'en' };
  const first = await lance(english, ...order, '--reais-a-day', '1000000000');
  assert.equal(first.code, 0, first.stderr);
  assert.doesNotMatch(flat(first.stdout), /already/);
  await played.sandbox.run(10);
  const { stdout: shown } = await lance(english, 'cap', 'tarde');
  const [, used] = /Cap tarde: (R\$ [\d.,]+) of/.exec(flat(shown))!;
  assert.notEqual(used, 'R$ 0.00');
  assert.equal((await lance(environment, ...order, '--remove')).code, 0);
  const again = await lance(english, ...order, '--reais-a-day', '1000000000');
  assert.equal(again.code, 0, again.stderr);
  assert.ok(flat(again.stdout).includes(`${used} promised today counts under it already`), again.stdout);
});
