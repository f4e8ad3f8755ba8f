import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { decodeLinkListQuery, tokenQuery } from '../../../src/wire/link-queries.ts';
import { readCpf } from '../../../src/wire/values.ts';
import { accepted, attemptOf, pause, type Received, startClient, startHttp } from './surroundings.ts';

/** A program that prints the next token (`second`, `third`, …) after a moment, and counts its runs in a file. */
function tokenProgram(
  t: TestContext,
  tokens: readonly string[],
  delayMs = 0,
): { command: string[]; runs: () => number } {
  const directory = mkdtempSync(join(tmpdir(), 'lance-token-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const counter = join(directory, 'runs');
  writeFileSync(counter, '');
  const script = `const fs = require('node:fs');
    const [counter, delay, ...tokens] = process.argv.slice(1);
    const run = fs.readFileSync(counter, 'utf8').length;
    fs.appendFileSync(counter, 'x');
    setTimeout(() => {
      if (tokens[run] === undefined) { console.error('hidden-in-stderr'); process.exit(3); }
      console.log(tokens[run]);
    }, Number(delay));`;
  return {
    command: [process.execPath, '-e', script, '--', counter, String(delayMs), ...tokens],
    runs: () => readFileSync(counter, 'utf8').length,
  };
}

/** Without the queries by which the token is shown while sending is blocked. */
function bidsOf(received: readonly Received[]): readonly Received[] {
  return received.filter(({ url }) => url.endsWith('/incluir-lance'));
}

function serverThatAccepts(t: TestContext, good: () => string) {
  return startHttp(t, (response, { authorization }) => {
    if (authorization === `Bearer ${good()}`) response.end(accepted);
    else response.writeHead(401).end();
  });
}

test('50 bids at once with an old token: one renewal, every bid lands once', async (t) => {
  const { command, runs } = tokenProgram(t, ['second'], 100);
  const { baseUrl, received } = await serverThatAccepts(t, () => 'second');
  const { service, events } = startClient(t, baseUrl, { tokenCommand: command });
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => service.placeBid(attemptOf({ body: `{"numeroSolicitacao":${index}}` }))),
  );
  assert.deepEqual(new Set(answers.map(({ kind }) => kind)), new Set(['answered']));
  assert.equal(runs(), 1);
  const landed = received.filter(({ authorization }) => authorization === 'Bearer second').map(({ body }) => body);
  assert.equal(landed.length, 50);
  assert.equal(new Set(landed).size, 50);
  assert.equal(events.filter(({ kind }) => kind === 'token-renewed').length, 1);
  assert.equal(service.ready(), true);
});

test('without a token at the start the program is run first, once', async (t) => {
  const { command, runs } = tokenProgram(t, ['only']);
  const { baseUrl, received } = await serverThatAccepts(t, () => 'only');
  const { service } = startClient(t, baseUrl, { accessToken: null, tokenCommand: command });
  const answers = await Promise.all([service.placeBid(attemptOf()), service.placeBid(attemptOf())]);
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ['answered', 'answered'],
  );
  assert.equal(runs(), 1);
  assert.equal(received.length, 2);
});

test('a second 401 in a row stops sending until a later renewal works', async (t) => {
  let good = 'third';
  const { command, runs } = tokenProgram(t, ['second', 'third']);
  const { baseUrl, received } = await serverThatAccepts(t, () => good);
  const { service, events } = startClient(t, baseUrl, { tokenCommand: command, tokenRetryMs: 400 });
  const refused = await service.placeBid(attemptOf());
  assert(refused.kind === 'not-landed' && refused.reason === 'unauthorised', JSON.stringify(refused));
  assert.ok(refused.retryAt !== null && refused.retryAt > Date.now());
  assert.equal(service.ready(), false);
  assert.equal(bidsOf(received).length, 2);
  const meanwhile = await service.placeBid(attemptOf());
  assert(meanwhile.kind === 'not-landed' && meanwhile.reason === 'unauthorised');
  assert.equal(bidsOf(received).length, 2);
  assert.equal(events.filter(({ kind }) => kind === 'token-refused').length, 1);
  await pause(800);
  assert.equal(runs(), 2);
  assert.equal(service.ready(), true);
  assert.equal((await service.placeBid(attemptOf())).kind, 'answered');
  // Let in again, so the next 401 is a first one: it renews before anything stops (and finds no fourth token here).
  good = 'fourth';
  const last = await service.placeBid(attemptOf());
  assert.equal(last.kind, 'not-landed');
  assert.equal(runs(), 3);
});

test('a program that fails blocks, says so without its output, and is tried again', async (t) => {
  const { command, runs } = tokenProgram(t, []);
  const { baseUrl, received } = await serverThatAccepts(t, () => 'second');
  const { service, events } = startClient(t, baseUrl, { tokenCommand: command, tokenRetryMs: 250 });
  assert.equal((await service.placeBid(attemptOf())).kind, 'not-landed');
  assert.equal(service.ready(), false);
  await pause(600);
  assert.ok(runs() >= 2, String(runs()));
  assert.equal(service.ready(), false);
  assert.equal(received.length, 1);
  const failed = events.find((event) => event.kind === 'token-renewal-failed');
  assert.match(failed?.reason ?? '', /the token command failed \(3\)/);
  assert.doesNotMatch(JSON.stringify(events), /hidden-in-stderr|process\.argv/);
});

test('a program that prints no single token is refused', async (t) => {
  const { command } = tokenProgram(t, ['two words']);
  const { baseUrl } = await serverThatAccepts(t, () => 'two words');
  const { service, events } = startClient(t, baseUrl, { tokenCommand: command });
  assert.equal((await service.placeBid(attemptOf())).kind, 'not-landed');
  const failed = events.find((event) => event.kind === 'token-renewal-failed');
  assert.match(failed?.reason ?? '', /printed no single token/);
});

test('a token without a program: the first 401 stops sending, the same token is tried after the pause', async (t) => {
  let good = 'other';
  const { baseUrl, received } = await serverThatAccepts(t, () => good);
  const { service } = startClient(t, baseUrl, { tokenRetryMs: 200 });
  assert.equal((await service.placeBid(attemptOf())).kind, 'not-landed');
  assert.equal(service.ready(), false);
  assert.equal(bidsOf(received).length, 1);
  good = 'first';
  await pause(300);
  assert.equal(service.ready(), true);
  assert.equal((await service.placeBid(attemptOf())).kind, 'answered');
});

test('a renewal that outlasts the deadline: nothing more is written', async (t) => {
  const { command } = tokenProgram(t, ['second'], 500);
  const { baseUrl, received } = await serverThatAccepts(t, () => 'second');
  const { service } = startClient(t, baseUrl, { tokenCommand: command });
  const answer = await service.placeBid(attemptOf({ deadlineAt: Date.now() + 200 }));
  assert.deepEqual(answer, { kind: 'not-landed', reason: 'deadline', retryAt: null });
  assert.equal(received.length, 1);
});

test('a token that has expired by the words of a 400 is renewed once, and other words stop nothing', async (t) => {
  const { command, runs } = tokenProgram(t, ['second', 'third']);
  const expired = '{"Erros":[{"Mensagem":"Token de acesso expirado"}]}';
  let good = 'Bearer second';
  const { baseUrl, received } = await startHttp(t, (response, request) => {
    if (request.authorization === good) response.end(accepted);
    else response.writeHead(400).end(expired);
  });
  const { service } = startClient(t, baseUrl, { tokenCommand: command });
  const answer = await service.placeBid(attemptOf());
  assert(answer.kind === 'answered' && answer.outcome.kind === 'accepted', JSON.stringify(answer));
  assert.deepEqual([received.length, runs()], [2, 1]);
  good = 'nothing is good';
  const refused = await service.placeBid(attemptOf());
  assert(refused.kind === 'answered', JSON.stringify(refused));
  assert.deepEqual(refused.outcome, { kind: 'rejected', code: 'unclassified' });
  assert.equal(service.ready(), true);
});

test('a program that prints the refused token again: it is run often, and the token is shown ever more seldom', async (t) => {
  const { command, runs } = tokenProgram(t, [...Array.from({ length: 40 }, () => 'stale')]);
  let good = 'nothing';
  const { baseUrl, received } = await serverThatAccepts(t, () => good);
  const { service } = startClient(t, baseUrl, { accessToken: 'stale', tokenCommand: command, tokenRetryMs: 150 });
  const untilMs = Date.now() + 3_000;
  while (Date.now() < untilMs) {
    if (service.ready()) await service.askToken();
    await pause(10);
  }
  // Pauses of 150, 300, 600, 1200 ms, each a run of the program or more; at its beginning the token is shown once more.
  assert.ok(received.length >= 5 && received.length <= 13, `${received.length} calls`);
  assert.ok(runs() > received.length / 2, `${runs()} runs`);
  good = 'stale';
  const freeMs = Date.now() + 5_000;
  while (!service.ready() && Date.now() < freeMs) await pause(10);
  assert.equal((await service.askToken()).kind, 'acknowledged');
});

test('a new token is shown as soon as the program prints it, however long the old one is refused', async (t) => {
  const { command } = tokenProgram(t, [...Array.from({ length: 8 }, () => 'stale'), 'new', 'new', 'new']);
  const { baseUrl, received } = await serverThatAccepts(t, () => 'new');
  const { service } = startClient(t, baseUrl, { accessToken: 'stale', tokenCommand: command, tokenRetryMs: 100 });
  const untilMs = Date.now() + 6_000;
  let kind = '';
  while (kind !== 'acknowledged' && Date.now() < untilMs) {
    if (service.ready()) ({ kind } = await service.askToken());
    await pause(10);
  }
  assert.equal(kind, 'acknowledged');
  assert.ok(received.every(({ body }) => body === tokenQuery));
});

test('the query about nobody has what the contract requires, and a CPF that nobody can have', () => {
  assert.deepEqual(JSON.parse(tokenQuery), { cpfTrabalhador: '00000000000', consultaCacheada: true });
  const read = decodeLinkListQuery(tokenQuery);
  assert.ok(read.kind === 'refused' && read.faults.length === 1 && read.faults[0]!.pointer === '/cpfTrabalhador');
  assert.equal(readCpf('00000000000').kind, 'wrong', 'no request can be of that worker');
});

test('only what was read proves a token: a refusal that may be meant for the token proves none', async (t) => {
  const cases: readonly [status: number, text: string, told: string][] = [
    [400, 'cpfTrabalhador inválido', 'refused'],
    [404, 'Trabalhador não encontrado', 'refused'],
    [422, 'Autorização do trabalhador ausente: informe o NSU registrado', 'refused'],
    [403, 'Autorização do trabalhador ausente: informe o NSU registrado', 'refused'],
    [403, 'Acesso negado', 'refused in doubt'],
    [403, 'Token de acesso expirado', 'failed unauthorised'],
    [400, 'Token de acesso expirado', 'failed unauthorised'],
    [400, 'Token expirado', 'refused in doubt'],
    [401, 'cpfTrabalhador inválido', 'failed unauthorised'],
  ];
  for (const [status, text, told] of cases) {
    const body = JSON.stringify({ Erros: [{ Codigo: 'X', Mensagem: text }] });
    const { baseUrl } = await startHttp(t, (response) => response.writeHead(status).end(body));
    const { service } = startClient(t, baseUrl);
    const answer = await service.askToken();
    const doubt = 'isDoubtful' in answer ? ' in doubt' : '';
    assert.equal(answer.kind === 'failed' ? `failed ${answer.reason}` : `${answer.kind}${doubt}`, told, text);
  }
});

test('a service that reads the body before the token refuses a bad token all the same', async (t) => {
  const validatesFirst = await startHttp(t, (response, call) => {
    const { cpfTrabalhador } = JSON.parse(call.body);
    const status = typeof cpfTrabalhador !== 'string' || !/^\d{11}$/.test(cpfTrabalhador) ? 400 : 401;
    response.writeHead(status).end('{"Erros":[{"Codigo":"X","Mensagem":"recusado"}]}');
  });
  const { service } = startClient(t, validatesFirst.baseUrl);
  assert.deepEqual(await service.askToken(), { kind: 'failed', reason: 'unauthorised' });
});

test('the token is asked for by a query about nobody: what the service says to it', async (t) => {
  const answers = new Map<number, string>([
    [400, 'refused'],
    [401, 'failed unauthorised'],
    [429, 'failed throttled'],
    [503, 'failed status-503'],
  ]);
  for (const [status, told] of answers) {
    const { baseUrl } = await startHttp(t, (response) => response.writeHead(status).end('{}'));
    const { service } = startClient(t, baseUrl);
    const answer = await service.askToken();
    assert.equal(answer.kind === 'failed' ? `failed ${answer.reason}` : answer.kind, told);
  }
});

test('an answer that is no JSON proves no token: neither a page, nor what is empty', async (t) => {
  const askedOf = async (body: string) => {
    const { baseUrl } = await startHttp(t, (response) => response.writeHead(200).end(body));
    return startClient(t, baseUrl).service.askToken();
  };
  assert.deepEqual(await askedOf('<html>Maintenance</html>'), { kind: 'failed', reason: 'unreadable-success' });
  // The contract does not show an acknowledgement: other words may be the service's.
  for (const body of ['', 'OK'])
    assert.deepEqual(await askedOf(body), { kind: 'acknowledged', requestCode: null, isDoubtful: true }, body);
  let isAway = false;
  const { baseUrl } = await startHttp(t, (response) => {
    if (isAway) response.end('<html>Maintenance</html>');
    else response.writeHead(401).end();
  });
  const { service } = startClient(t, baseUrl, { tokenRetryMs: 5_000 });
  assert.equal((await service.placeBid(attemptOf())).kind, 'not-landed');
  isAway = true;
  await service.askToken();
  await pause(100);
  assert.equal(service.ready(), false);
});

test('one request that is refused while others are let in with the token does not stop sending for long', async (t) => {
  const { baseUrl } = await startHttp(t, (response, { body }) => {
    if (body.includes('"numeroSolicitacao":13')) response.writeHead(401).end();
    else response.end(accepted);
  });
  const { service, events } = startClient(t, baseUrl, { tokenRetryMs: 300 });
  const bid = (id: number) => service.placeBid(attemptOf({ body: `{"numeroSolicitacao":${id}}` }));
  const blocks = () => events.filter(({ kind }) => kind === 'token-refused').length;
  assert.equal((await bid(13)).kind, 'not-landed');
  assert.deepEqual([service.ready(), blocks()], [false, 1], 'nobody has been let in yet');
  await pause(450);
  assert.equal((await bid(1)).kind, 'answered');
  for (let round = 0; round < 5; round += 1) {
    const refused = await bid(13);
    assert.equal(refused.kind, 'not-landed');
    assert.equal(service.ready(), true);
  }
  assert.equal(blocks(), 1);
  // Others that are refused without anybody being let in since are the token's affair all the same.
  assert.equal((await bid(130)).kind, 'not-landed');
  assert.deepEqual([service.ready(), blocks()], [false, 2]);
});

test('one bid that is always refused keeps no other from being sent, with a program and without', async (t) => {
  const { command } = tokenProgram(t, [...Array.from({ length: 20 }, () => 'first')]);
  for (const tokenCommand of [null, command]) {
    const { baseUrl, received } = await startHttp(t, (response, { url, body }) => {
      if (body.includes('"refused"')) response.writeHead(401).end();
      else if (url.endsWith('/incluir-lance')) response.end(accepted);
      else response.writeHead(400).end('{"Erros":[{"Codigo":"1","Mensagem":"CPF obrigatorio"}]}');
    });
    const { service } = startClient(t, baseUrl, { tokenCommand, tokenRetryMs: 30_000 });
    // Nobody was let in before it, and it comes again first whenever it may.
    const refused = async () => (await service.placeBid(attemptOf({ body: '{"numeroSolicitacao":"refused"}' }))).kind;
    for (let each = 0; each < 5; each += 1) {
      assert.equal(await refused(), 'not-landed');
      const body = `{"numeroSolicitacao":${each}}`;
      assert.equal((await service.placeBid(attemptOf({ body }))).kind, 'answered', String(each));
      assert.equal(service.ready(), true);
    }
    assert.ok(received.filter(({ url }) => !url.endsWith('/incluir-lance')).length <= 2, 'the token is shown seldom');
  }
});

test('what fails before it looks at the token does not end the block', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response, { url }) => {
    response.writeHead(url.endsWith('/incluir-lance') ? 401 : 503).end();
  });
  const { service } = startClient(t, baseUrl, { tokenRetryMs: 400 });
  assert.equal((await service.placeBid(attemptOf())).kind, 'not-landed');
  await pause(150);
  assert.equal(service.ready(), false);
  assert.equal(bidsOf(received).length, 1);
});

test('a token that is shown in vain at the end of a block stays blocked, and for longer', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(401).end());
  const { service, events } = startClient(t, baseUrl, { tokenRetryMs: 100 });
  assert.equal((await service.placeBid(attemptOf())).kind, 'not-landed');
  await pause(1_000);
  assert.equal(service.ready(), false);
  assert.equal(bidsOf(received).length, 1, 'by no bid');
  const refusals = events.filter(({ kind }) => kind === 'token-refused').length;
  assert.ok(refusals >= 3 && refusals <= 4, String(refusals));
});
