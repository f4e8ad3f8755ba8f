/** The console of how the process runs: who sees what, dead letters read again with a reason, tokens revoked, refused rules, alarms with their runbooks. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { alarmCodes } from '../../src/bidding/react.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { createFormat } from '../../src/cli/format.ts';
import { operationsPage, runbookPage, tokensPage } from '../../src/console/operations-pages.ts';
import { wordsIn } from '../../src/console/pages.ts';
import { exampleOf } from '../../src/http/api/described.ts';
import { type DaemonStatus, statusSchema } from '../../src/http/api/status.ts';
import { furtherAlarms } from '../../src/http/metrics.ts';
import { flowAlarms } from '../../src/origination/react.ts';
import { type Role, roles, startApi } from '../http/api-house.ts';
import { openPerson, type Person } from './person.ts';

const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)> \u202Egnp.exe' & ${'a'.repeat(10_240)}`;
const foreign = /<script>|<img|\u202e|a{1600}/i;

async function loggedIn(origin: string, role: Role): Promise<Person> {
  const person = openPerson(origin);
  assert.equal((await person.logIn(`a-token-of-the-${role}`)).status, 303);
  return person;
}

test('checks, partitions, letters and tokens are shown to those who may see them', async (context) => {
  const { engine } = await startApi(context);
  for (const role of roles) {
    const person = await loggedIn(engine.url, role);
    const { status, text } = await person.get('/console/operations');
    assert.equal(status, 200, text);
    for (const part of ['em dia com o registro', 'auctions/0', 'flows/0', 'Nenhum arquivo de regras', 'Nenhum alarme'])
      assert.ok(text.includes(part), `${role}: ${part}`);
    assert.equal((await person.get('/console/operations/letters')).status, role === 'viewer' ? 403 : 200, role);
    assert.equal((await person.get('/console/operations/tokens')).status, role === 'admin' ? 200 : 403, role);
    const form = person.hiddenIn(text, '/console/logout');
    if (role === 'admin') continue;
    const replay = { ...form, from: '0', count: '1', reason: 'x' };
    assert.equal((await person.post('/console/operations/letters/replay', replay)).status, 403, role);
    assert.equal((await person.post('/console/operations/tokens/3f9c2a71b0/revoke', form)).status, 403, role);
  }
});

test('dead letters are listed by their keys alone, and read again in the name of who asks', async (context) => {
  const { engine, store } = await startApi(context);
  const body = JSON.stringify({
    solicitacoesDesconhecidas: [{ cpf: 52998224725, [`estranho${'<b>'}`]: 'segredo', nome: hostile }],
  });
  const sent = await fetch(`${engine.url}/webhooks/token-of-the-webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.ok(sent.status < 300, await sent.text());
  const admin = await loggedIn(engine.url, 'admin');
  let page = await admin.get('/console/operations/letters');
  for (let round = 0; round < 100 && !page.text.includes('<tbody'); round += 1) {
    await sleep(50);
    page = await admin.get('/console/operations/letters');
  }
  assert.match(page.text, /<tbody/);
  assert.doesNotMatch(page.text, /segredo|529\.982|onerror|<b>/);
  const path = '/console/operations/letters/replay';
  const form = admin.hiddenIn(page.text, path);
  const ask = (fields: Record<string, string>) =>
    admin.post(path, { ...form, partition: '', from: '0', count: '5', reason: 'mapeamento corrigido', ...fields });
  for (const [fields, field] of [
    [{ reason: ' ' }, 'reason'],
    [{ count: '0' }, 'count'],
    [{ count: '10000' }, 'count'],
    [{ count: hostile.slice(0, 1_000) }, 'count'],
    [{ from: '-1' }, 'from'],
    [{ partition: 'x' }, 'partition'],
  ] as const) {
    const answer = await ask(fields);
    assert.equal(answer.status, 422, `${field}: ${answer.text.slice(0, 200)}`);
    assert.match(
      answer.text,
      new RegExp(`id="replay-${field}"[^>]*aria-invalid="true" aria-describedby="replay-${field}-fault"`),
    );
    assert.doesNotMatch(answer.text, foreign);
  }
  for (const [fields, headers] of [
    [{ csrf: 'another' }, {}],
    [{}, { origin: 'https://evil.example' }],
  ] as const)
    assert.equal(
      (await admin.post(path, { ...form, from: '0', count: '5', reason: 'x', ...fields }, headers)).status,
      403,
    );
  const read = await ask({});
  assert.equal(read.status, 200, read.text);
  assert.match(read.text, /role="status">Relidas: 1\. Entendidas agora: 0\. Ainda não: 1\./);
  let letters = 0;
  for await (const _ of readTopic(store.log, 'dead-letters')) letters += 1;
  assert.equal(letters, 1, 'what is not understood is not written again');
});

test('a token is revoked by an admin, once, and its sessions end', async (context) => {
  const { engine, call } = await startApi(context);
  const created = await call('POST', '/v1/tokens', { body: { owner: 'bruno', role: 'risk', days: 1 } });
  const { id, token } = created.body as { id: string; token: string };
  const bruno = openPerson(engine.url);
  assert.equal((await bruno.logIn(token)).status, 303);
  const admin = await loggedIn(engine.url, 'admin');
  const list = await admin.get('/console/operations/tokens');
  assert.match(list.text, /<bdi>bruno<\/bdi>/);
  assert.doesNotMatch(list.text, new RegExp(token));
  const path = `/console/operations/tokens/${id}/revoke`;
  const form = admin.hiddenIn(list.text, path);
  assert.equal((await admin.post(path, { ...form, csrf: 'x' })).status, 403);
  const revoked = await admin.post(path, form);
  assert.deepEqual([revoked.status, revoked.location], [303, '/console/operations/tokens?notice=revoked']);
  assert.equal((await bruno.get('/console/requests')).status, 401);
  const after = await admin.get(revoked.location!);
  assert.match(after.text, /role="status">Foi revogado/);
  assert.doesNotMatch(after.text, new RegExp(`action="${path}"`));
  assert.equal((await admin.post(path, form)).location, '/console/operations/tokens?notice=revoked-before');
  assert.equal((await admin.post('/console/operations/tokens/0000/revoke', form)).status, 404);
});

test('what the checks say is said in the language of the page, also while bidding is paused', async (context) => {
  const { engine, call } = await startApi(context);
  const person = await loggedIn(engine.url, 'admin');
  const details = async (language: string) => {
    const { text } = await person.get(`/console/operations?lang=${language}`);
    const cells = text.matchAll(/data-name="(?:Detalhe|Detail)">(.*?)<\/td>/gs);
    return [...cells].map(([, cell]) => cell!.replaceAll(/<[^>]+>/g, '').trim());
  };
  const english = /\b(?:is|are|the|and|not|none|since|open|by|order|last|follow\w*|frozen|so)\b/i;
  const open = await details('pt');
  assert.ok(open.filter((text) => text !== '').length >= 5, open.join('\n'));
  for (const text of open) assert.doesNotMatch(text, english);
  for (const part of [/^abertos desde \d\d\//, /^nenhuma está fechada; 0 solicitações/, /^decide [\da-f]{12}/])
    assert.ok(
      open.some((text) => part.test(text)),
      `${part}: ${open.join('\n')}`,
    );
  assert.equal((await call('POST', '/v1/controls/pause', { body: { reason: 'taxa errada' } })).status, 200);
  const paused = await details('pt');
  for (const text of paused) assert.doesNotMatch(text, english);
  assert.ok(
    paused.some((text) => /^Lances fechados: .*\(paused\).*; por admin; taxa errada; /.test(text)),
    paused.join('\n'),
  );
  assert.ok(
    paused.some((text) => /\(admin, \d\d\/.*: taxa errada$/.test(text)),
    paused.join('\n'),
  );
  const said = await details('en');
  assert.ok(
    said.some((text) => /^Bidding is closed: /.test(text)),
    said.join('\n'),
  );
});

const person = { name: hostile, role: 'admin' as const, csrfToken: 'c' };

test('every alarm has its place in the runbooks, and what others wrote stays a text', () => {
  const text = readFileSync(new URL('../../docs/runbooks.md', import.meta.url), 'utf8');
  const status = exampleOf(statusSchema) as DaemonStatus;
  const refusal = `caps.json:12: /rules/0/when: unknown fact\n${hostile}`;
  for (const language of ['pt', 'en'] as const) {
    const shown = { ...wordsIn(language), otherHref: '/', assetVersion: 'v', person };
    const codes = [...alarmCodes, ...flowAlarms, ...furtherAlarms];
    const failing = { source: 'bureau', failure: 'time-out' as const, failed: 12, of: 20 };
    const made = operationsPage(shown, {
      status: {
        ...status,
        failingSources: [failing],
        rulesFolder: { ...status.rulesFolder, refusal },
        partitions: { owned: [0], closed: [hostile, 'behind since 2026-11-27T06:06:12.345Z'] },
      },
      checks: [
        { name: hostile, missing: hostile, note: null, isIll: false },
        { name: 'sources', missing: null, note: 'FAILS', isIll: true },
        { name: 'log', missing: null, note: 'written 2026-11-27T06:06:12.345Z', isIll: true },
      ],
      standing: { orders: null, ordersCurrent: true, flows: { closed: [], frozen: 0 } },
      alarms: codes.map((code) => ({ code, count: 2 })),
      partitions: null,
      seesLetters: true,
      seesTokens: true,
    });
    assert.match(made, language === 'pt' ? /written 27\/11\/2026 03:06 -03/ : /written 2026-11-27 03:06 -03/);
    assert.doesNotMatch(made, /06:06:12/);
    assert.ok(made.includes(createFormat(language).texts.status.failingSource(failing)), made);
    assert.doesNotMatch(made, /class="right"/, 'what is to be put right though nothing is missing is no good row');
    assert.match(made, /<li><bdi>caps\.json:12: \/rules\/0\/when: unknown fact<\/bdi><\/li>/);
    const books = runbookPage(shown, text);
    const ids = new Set([...books.matchAll(/id="([^"]+)"/g)].map(([, id]) => id));
    const links = [...made.matchAll(/href="\/console\/runbooks#([^"]+)"/g)].map(([, anchor]) => anchor!);
    assert.ok(links.length >= codes.length);
    assert.deepEqual(
      links.filter((anchor) => !ids.has(anchor)),
      [],
    );
    assert.match(runbookPage(shown, null), /docs\/runbooks\.md/);
    const tokens = tokensPage(
      shown,
      [
        {
          kind: 'token',
          id: 'ab',
          owner: hostile,
          role: 'risk',
          createdAt: 1,
          createdBy: hostile,
          createdVia: 'api',
          reason: null,
          expiresAt: 9,
          revoked: null,
        },
      ],
      { now: 5, notice: null },
    );
    for (const page of [made, books, tokens]) {
      const looked = page.replaceAll(/data-page="[^"]*"/g, '');
      assert.doesNotMatch(looked, foreign);
      assert.equal(page.split('</main>').length, 2);
    }
  }
});
