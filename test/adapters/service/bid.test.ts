import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { Clock } from '../../../src/domain/clock.ts';
import { accepted, attemptOf, pause, startClient, startHttp, startTcp } from './surroundings.ts';

const whole = `HTTP/1.1 200 OK\r\ncontent-length: ${accepted.length}\r\n\r\n${accepted}`;

test('an accepted bid: exact bytes, path under the prefix, token, whole answer', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response) => response.end(accepted));
  const { service } = startClient(t, `${baseUrl}/api/v1/`);
  const before = Date.now();
  const answer = await service.placeBid(attemptOf({ body: '{"numeroSolicitacao":12345678901234567890}' }));
  assert(answer.kind === 'answered', JSON.stringify(answer));
  assert.deepEqual(answer.outcome, { kind: 'accepted', bidId: '3f2504e0-4f89-11d3-9a0c-0305e82c3301' });
  assert.deepEqual(answer.response, { status: 200, body: accepted });
  assert.ok(answer.firstByteAt >= before && answer.firstByteAt <= Date.now());
  assert.deepEqual(received, [
    {
      url: '/api/v1/contrato/oferta-leilao/incluir-lance',
      authorization: 'Bearer first',
      contentType: 'application/json',
      idempotencyKey: null,
      body: '{"numeroSolicitacao":12345678901234567890}',
    },
  ]);
});

test('refusals go through the outcome table, the response kept whole', async (t) => {
  const body = JSON.stringify({ Erros: [{ Mensagem: 'Solicitação expirada' }] });
  const { baseUrl } = await startHttp(t, (response) => response.writeHead(400).end(body));
  const { service } = startClient(t, baseUrl);
  const answer = await service.placeBid(attemptOf());
  assert(answer.kind === 'answered', JSON.stringify(answer));
  assert.deepEqual(answer.outcome, { kind: 'rejected', code: 'request-expired' });
  assert.deepEqual(answer.response, { status: 400, body });
});

test('a refusal in words that nobody knows, beside a code, is an answer and leaves open whether a bid stands', async (t) => {
  const body = JSON.stringify({ CodigoRequisicao: 'q-1', Conteudo: { CodigoLanceLeilao: 'b-1' }, Erros: ['Aviso'] });
  const { baseUrl } = await startHttp(t, (response) => response.writeHead(200).end(body));
  const { service } = startClient(t, baseUrl);
  const answer = await service.placeBid(attemptOf());
  assert(answer.kind === 'answered', JSON.stringify(answer));
  assert.deepEqual(answer.outcome, { kind: 'unknown', reason: 'refused-in-doubt' });
  assert.deepEqual([answer.codes, answer.response], [['q-1', 'b-1'], { status: 200, body }]);
});

for (const [name, status, body, reason] of [
  ['a server error', 503, 'later', 'status-503'],
  ['a success that cannot be read', 200, '<html>', 'unreadable-success'],
] as const) {
  test(`${name} after the write is unknown and sent once`, async (t) => {
    const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(status).end(body));
    const { service } = startClient(t, baseUrl);
    const answer = await service.placeBid(attemptOf());
    assert(answer.kind === 'unknown', JSON.stringify(answer));
    assert.equal(answer.reason, reason);
    assert.deepEqual(answer.response, { status, body });
    assert.equal(received.length, 1);
  });
}

test('429 has not landed, with Retry-After in seconds, as a date, or nonsense', async (t) => {
  const headers: (string | undefined)[] = ['7', new Date(Date.now() + 9_000).toUTCString(), 'soon', undefined];
  const { baseUrl } = await startHttp(t, (response) => {
    const header = headers.shift();
    response.writeHead(429, header === undefined ? {} : { 'retry-after': header }).end();
  });
  const { service } = startClient(t, baseUrl);
  const waits: (number | null)[] = [];
  for (let count = 0; count < 4; count += 1) {
    const answer = await service.placeBid(attemptOf());
    assert(answer.kind === 'not-landed' && answer.reason === 'throttled', JSON.stringify(answer));
    waits.push(answer.retryAt === null ? null : Math.round((answer.retryAt - Date.now()) / 1_000));
  }
  assert.equal(waits[0], 7);
  assert.ok(waits[1] !== null && waits[1] !== undefined && waits[1] >= 7 && waits[1] <= 10, String(waits[1]));
  assert.deepEqual(waits.slice(2), [null, null]);
});

test('nobody listens: unreachable', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  server.close();
  await once(server, 'close');
  const { service } = startClient(t, `http://127.0.0.1:${address.port}`);
  assert.deepEqual(await service.placeBid(attemptOf()), { kind: 'not-landed', reason: 'unreachable', retryAt: null });
});

test('a name that does not resolve: unreachable', async (t) => {
  const { service } = startClient(t, 'http://lance.invalid');
  assert.deepEqual(await service.placeBid(attemptOf()), { kind: 'not-landed', reason: 'unreachable', retryAt: null });
});

test('no byte at or after the deadline, nor when writing is not allowed', async (t) => {
  const { baseUrl, bytes, connections } = await startTcp(t, (socket) => socket.write(whole));
  const { service } = startClient(t, baseUrl);
  assert.deepEqual(await service.placeBid(attemptOf({ deadlineAt: Date.now() })), {
    kind: 'not-landed',
    reason: 'deadline',
    retryAt: null,
  });
  assert.equal(connections(), 0);
  // Over a new connection, and over a kept one.
  for (let round = 0; round < 2; round += 1) {
    const written = bytes();
    const stopped = await service.placeBid(attemptOf({ mayWrite: () => false }));
    assert.deepEqual(stopped, { kind: 'not-landed', reason: 'stopped', retryAt: null });
    await pause(30);
    assert.equal(bytes(), written);
    assert.equal((await service.placeBid(attemptOf())).kind, 'answered');
    assert.ok(bytes() > written);
  }
  assert.ok(connections() >= 2);
});

test('the deadline is judged in the turn of the write, not before the connection stood', async (t) => {
  const { baseUrl, bytes, connections } = await startTcp(t, (socket) => socket.write(whole));
  let now = Date.now();
  const deadlineAt = now + 1_000;
  // Time jumps over the deadline while the connection is being made.
  const timer = { cancel: () => {} };
  const clock: Clock = {
    now: () => now,
    monotonicMs: () => now,
    offsetMs: () => 0,
    schedule: () => timer,
    after: () => timer,
    onJump: () => {},
  };
  const { service } = startClient(t, baseUrl, {}, clock);
  const answering = service.placeBid(attemptOf({ deadlineAt }));
  now = deadlineAt;
  assert.deepEqual(await answering, { kind: 'not-landed', reason: 'deadline', retryAt: null });
  await pause(30);
  assert.equal(connections(), 1);
  assert.equal(bytes(), 0);
});

test('a bid that waits for a connection gives up at its deadline and is never written', async (t) => {
  const { baseUrl, bytes } = await startTcp(t, (socket, piece) => {
    if (piece.includes('slow')) setTimeout(() => socket.write(whole), 250);
    else socket.write(whole);
  });
  const { service } = startClient(t, baseUrl, { connections: 1 });
  const slow = service.placeBid(attemptOf({ body: '{"slow":1}' }));
  await pause(50);
  const written = bytes();
  const startedAt = Date.now();
  const late = await service.placeBid(attemptOf({ deadlineAt: Date.now() + 60 }));
  assert.deepEqual(late, { kind: 'not-landed', reason: 'deadline', retryAt: null });
  assert.ok(Date.now() - startedAt < 180);
  assert.equal((await slow).kind, 'answered');
  await pause(50);
  assert.equal(bytes(), written);
});

test('a half-open server: unknown after the header timeout, sent once', async (t) => {
  const { baseUrl, connections } = await startTcp(t, () => {});
  const { service } = startClient(t, baseUrl);
  const answer = await service.placeBid(attemptOf());
  assert(answer.kind === 'unknown', JSON.stringify(answer));
  assert.equal(answer.reason, 'headers-timeout');
  assert.equal(answer.response, null);
  assert.equal(connections(), 1);
});

for (const [name, reply, reason, status] of [
  ['reset after the write', null, 'connection-lost', null],
  ['reset inside the answer', 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"Codigo', 'connection-lost', 200],
  ['bytes that are no HTTP', 'hello, who is there?\r\n\r\n', 'answer-unreadable', null],
] as const) {
  test(`${name}: unknown, sent once`, async (t) => {
    const { baseUrl, connections } = await startTcp(t, (socket) => {
      if (reply === null) socket.resetAndDestroy();
      else socket.write(reply, () => socket.destroy());
    });
    const { service } = startClient(t, baseUrl);
    const answer = await service.placeBid(attemptOf());
    assert(answer.kind === 'unknown', JSON.stringify(answer));
    assert.equal(answer.reason, reason);
    assert.equal(answer.response?.status ?? null, status);
    await pause(50);
    assert.equal(connections(), 1);
  });
}

test('a kept connection that is reset by the next request: unknown, and the bytes went out once', async (t) => {
  let bodies = 0;
  const { baseUrl, connections } = await startTcp(t, (socket, piece, count) => {
    bodies += piece.split('numeroSolicitacao').length - 1;
    if (count === 1) socket.write(whole);
    else socket.resetAndDestroy();
  });
  const { service } = startClient(t, baseUrl);
  assert.equal((await service.placeBid(attemptOf())).kind, 'answered');
  await pause(20);
  const answer = await service.placeBid(attemptOf());
  assert(answer.kind === 'unknown', JSON.stringify(answer));
  await pause(50);
  assert.equal(connections(), 1);
  assert.equal(bodies, 2);
});

test('an answer without end is cut: by size, by a stalled body, by trickling', async (t) => {
  let mode = 'large';
  const { baseUrl } = await startHttp(t, (response) => {
    if (mode === 'large') response.end('x'.repeat(200_000));
    else response.write('{');
    if (mode !== 'trickle') return;
    const drip = setInterval(() => response.write(' '), 40);
    response.on('close', () => clearInterval(drip));
  });
  const { service } = startClient(t, baseUrl);
  const reasons: string[] = [];
  for (mode of ['large', 'stalled', 'trickle']) {
    const answer = await service.placeBid(attemptOf());
    assert(answer.kind === 'unknown', JSON.stringify(answer));
    reasons.push(answer.reason);
    assert.ok((answer.response?.body.length ?? 0) <= 65_536);
  }
  assert.deepEqual(reasons, ['answer-too-large', 'body-timeout', 'answer-too-slow']);
});

test('connections are kept and bounded', async (t) => {
  const { baseUrl, connections } = await startTcp(t, (socket) => setTimeout(() => socket.write(whole), 5));
  const { service } = startClient(t, baseUrl, { connections: 4 });
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.placeBid(attemptOf())));
    assert.deepEqual(new Set(answers.map(({ kind }) => kind)), new Set(['answered']));
  }
  assert.equal(connections(), 4);
});

test('what was measured: the clock skew from Date, the network once there is enough', async (t) => {
  const ahead = 90_000;
  const { baseUrl } = await startHttp(t, (response) => {
    response.setHeader('date', new Date(Date.now() + ahead).toUTCString());
    setTimeout(() => response.end(accepted), 20);
  });
  const { service, events } = startClient(t, baseUrl);
  assert.equal(service.clockSkewMs(), 0);
  assert.equal(service.networkP99Ms(), 50);
  await Promise.all(Array.from({ length: 110 }, () => service.placeBid(attemptOf())));
  assert.ok(Math.abs(service.clockSkewMs() - ahead) <= 1_100, String(service.clockSkewMs()));
  assert.ok(service.networkP99Ms() >= 9 && service.networkP99Ms() !== 50, String(service.networkP99Ms()));
  const exchanged = events.filter((event) => event.kind === 'exchanged');
  assert.equal(exchanged.length, 110);
  assert.ok(
    exchanged.every(
      ({ operation, status, durationMs }) => operation === 'bid' && status === 200 && durationMs !== null,
    ),
  );
});
