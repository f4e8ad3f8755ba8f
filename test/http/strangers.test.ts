/** Who has no valid token costs little: answered before the body is read, seldom, and never at the cost of those who have one. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBodies } from '../../src/http/bodies.ts';
import { createServer, type RefusalReport, type ServerParts } from '../../src/http/server.ts';
import { addressKey, createVisitors } from '../../src/http/visitors.ts';
import { startApi } from './api-house.ts';
import { createTestDoor, limits, requestBody } from './parts.ts';

const token = 'a-valid-token-0123456789';
const here = { host: '127.0.0.1', port: 0 };

async function start(context: { after: (done: () => Promise<void>) => void }, parts: Partial<ServerParts> = {}) {
  const refusals: RefusalReport[] = [];
  const { door, log } = createTestDoor();
  const { limits: given, ...others } = parts;
  const server = createServer({
    door,
    webhookTokens: [token],
    limits: {
      bodyLimitBytes: limits.bodyLimitBytes,
      bodiesLimitBytes: 150_000,
      connectionLimit: 10,
      tokenlessRequestsPerMinute: 5,
      failedLoginsPerMinute: 3,
      ...given,
    },
    trustedProxies: [],
    monotonicMs: () => performance.now(),
    progress: () => ({ alive: true, detail: 'folding' }),
    checks: [],
    metricsText: async () => 'lance_up 1\n',
    api: null,
    onFault: (text) => assert.fail(text),
    onRefusal: (report) => refusals.push(report),
    ...others,
  });
  const ports = await server.listen({ common: here, webhooks: null, api: null, metrics: null });
  server.open();
  context.after(() => server.close());
  return { root: `http://127.0.0.1:${ports.common}`, port: ports.common, refusals, log, server };
}

function webhook(root: string, id: number, headers: Record<string, string> = {}, given = token): Promise<Response> {
  return fetch(`${root}/webhooks/${given}`, { method: 'POST', body: new Uint8Array(requestBody(id)), headers });
}

/** Until it is so, or for 20 s: the machine may be busy. */
async function soon(isSo: () => boolean): Promise<void> {
  for (let look = 0; look < 2_000 && !isSo(); look += 1) await sleep(10);
}

/** Writes the head and a part of the body, and gives what is answered before the rest. */
async function answerToHead(port: number, path: string, head = '', part = 'x'): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 90000\r\n${head}\r\n${part}`);
  const answer = await Promise.race([
    new Promise<string>((resolve) => {
      socket.once('data', (bytes) => resolve(bytes.toString().split('\r\n')[0]!));
    }),
    sleep(1_000).then(() => 'nothing'),
  ]);
  socket.destroy();
  return answer;
}

suite('strangers', () => {
  test('an unknown path and a wrong token are answered before the body (defect line 7)', async (context) => {
    const { port } = await start(context);
    assert.equal(await answerToHead(port, '/nothing'), 'HTTP/1.1 404 Not Found');
    assert.equal(await answerToHead(port, '/webhooks/wrong-token'), 'HTTP/1.1 404 Not Found');
    assert.equal(await answerToHead(port, '/v1/nothing'), 'HTTP/1.1 404 Not Found');
    assert.equal(await answerToHead(port, `/webhooks/${token}`), 'nothing');
  });

  test('a sender that goes on with its body after the answer is cut off (defect line 7)', async (context) => {
    const { port } = await start(context);
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    const closed = new Promise<number>((resolve) => {
      const startedAt = performance.now();
      socket.once('close', () => resolve(performance.now() - startedAt));
    });
    socket.write('POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 90000000\r\n\r\n');
    const drip = setInterval(() => socket.write('x'.repeat(1_000)), 50);
    const tookMs = await closed;
    clearInterval(drip);
    assert.ok(tookMs < 20_000, `cut off after ${tookMs} ms`);
  });

  test('an address without a token is answered so often; one with a token always (defect line 7)', async (context) => {
    const { root, refusals } = await start(context);
    const seen: number[] = [];
    for (let turn = 0; turn < 8; turn += 1) seen.push((await fetch(`${root}/nothing`)).status);
    assert.deepEqual(seen, [404, 404, 404, 404, 404, 429, 429, 429]);
    assert.equal((await webhook(root, 1)).status, 200);
    assert.equal((await fetch(`${root}/livez`)).status, 200);
    assert.equal((await fetch(`${root}/readyz`)).status, 200);
    assert.equal((await fetch(`${root}/metrics`)).status, 200);
    assert.deepEqual(
      refusals.map(({ problem, isNews }) => [problem, isNews]),
      [
        ['too-many-requests', true],
        ['too-many-requests', false],
        ['too-many-requests', false],
      ],
    );
  });

  test('failed log-ins are told with their address, and limited (defect line 7)', async (context) => {
    const { root, refusals } = await start(context);
    const seen: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) seen.push((await webhook(root, 1, {}, `wrong-${turn}`)).status);
    assert.deepEqual(seen, [404, 404, 404, 429, 429]);
    assert.deepEqual(
      refusals.map(({ problem, at, address }) => [problem, at, address]),
      [
        ...Array(3).fill(['failed-login', 'webhooks', '127.0.0.1']),
        ...Array(2).fill(['too-many-failed-logins', 'webhooks', '127.0.0.1']),
      ],
    );
    assert.ok(!JSON.stringify(refusals).includes('wrong'));
    assert.equal((await webhook(root, 2)).status, 200);
  });

  test('wrong bearers of one behind the same proxy do not lock operators out (defect line 7)', async (context) => {
    const { call } = await startApi(context);
    const wrong: number[] = [];
    for (let turn = 0; turn < 25; turn += 1)
      wrong.push((await call('GET', '/v1/bids', { token: `wrong-${turn}` })).status);
    assert.deepEqual(wrong, [...Array(20).fill(401), ...Array(5).fill(429)]);
    assert.equal((await call('GET', '/v1/bids', { role: 'viewer' })).status, 200);
    assert.equal((await call('GET', '/v1/bids', { token: 'wrong-again' })).status, 429);
  });

  test('X-Forwarded-For is believed from a trusted proxy only (defect line 7)', async (context) => {
    const stranger = { 'x-forwarded-for': '203.0.113.9' };
    for (const [trustedProxies, address] of [
      [[], '127.0.0.1'],
      [['127.0.0.0/8'], '203.0.113.9'],
      [['10.0.0.1'], '127.0.0.1'],
    ] as const) {
      const { root, refusals } = await start(context, { trustedProxies });
      await webhook(root, 1, stranger, 'wrong-token');
      assert.equal(refusals[0]?.address, address);
    }
  });

  test('unfinished bodies share one room, and whole ones that fit are taken (defect line 7)', async (context) => {
    const { root, port, refusals } = await start(context);
    const sockets = [1, 2, 3].map(() => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(`POST /webhooks/${token} HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\n${'x'.repeat(69_000)}`);
      return socket;
    });
    await soon(() => refusals.length > 0);
    assert.deepEqual(
      refusals.map(({ problem }) => problem),
      ['bodies-full'],
    );
    assert.equal((await webhook(root, 1)).status, 200);
    for (const socket of sockets) socket.destroy();
    await sleep(500);
    const large = requestBody(2, { observacao: 'x'.repeat(90_000) });
    const answers = await Promise.all([
      fetch(`${root}/webhooks/${token}`, { method: 'POST', body: new Uint8Array(large) }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200],
    );
  });

  test('a body in pieces of a byte is read whole and forgotten when it is released (defect line 7)', async () => {
    const bodies = createBodies(1_000_000);
    const { Readable } = await import('node:stream');
    const request = Object.assign(Readable.from(Array.from({ length: 100_000 }, () => Buffer.from('y'))), {
      headers: {},
    });
    const body = await bodies.read(request as never, 200_000);
    assert.equal(body.length, 100_000);
    assert.ok(body.every((byte) => byte === 0x79));
    assert.equal(bodies.heldBytes(), 100_000);
    bodies.release(request as never);
    bodies.release(request as never);
    assert.equal(bodies.heldBytes(), 0);
  });

  test('of too many connections the oldest without a token makes room (defect line 7)', async (context) => {
    const { root, port, refusals } = await start(context);
    let closed = 0;
    const idle = Array.from({ length: 30 }, () =>
      connect(port, '127.0.0.1')
        .on('error', () => undefined)
        .on('close', () => {
          closed += 1;
        }),
    );
    await soon(() => closed >= 20);
    assert.equal(closed, 20);
    assert.equal((await webhook(root, 1)).status, 200);
    assert.ok(refusals.every(({ problem }) => problem === 'connection-limit'));
    for (const socket of idle) socket.destroy();
  });

  test('each purpose is served at its own address and nowhere else (defect line 7)', async (context) => {
    const { server } = await start(context);
    const ports = await server.listen({ common: here, webhooks: here, api: null, metrics: here });
    server.open();
    const at = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    assert.deepEqual(
      await Promise.all([ports.common, ports.metrics, ports.webhooks].map((port) => at(port, '/metrics'))),
      [404, 200, 404],
    );
    assert.deepEqual(
      await Promise.all([ports.common, ports.metrics, ports.webhooks].map((port) => at(port, '/livez'))),
      [200, 200, 200],
    );
    assert.equal((await webhook(`http://127.0.0.1:${ports.webhooks}`, 1)).status, 200);
    assert.equal((await webhook(`http://127.0.0.1:${ports.common}`, 2)).status, 404);
  });

  test('a sender that stops in the middle does not keep the server from closing (defect line 7)', async (context) => {
    const { port, server } = await start(context);
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(`POST /webhooks/${token} HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\nx`);
    await sleep(200);
    const startedAt = performance.now();
    await server.close();
    assert.ok(performance.now() - startedAt < 20_000);
    socket.destroy();
  });

  test('addresses are remembered in bounds, IPv6 by its network, until the minute is over (defect line 7)', () => {
    assert.equal(addressKey('2001:db8:0:7::1'), addressKey('2001:DB8:0000:0007:ffff::9'));
    assert.notEqual(addressKey('2001:db8:0:7::1'), addressKey('2001:db8:0:8::1'));
    assert.equal(addressKey('::1'), addressKey('::2'));
    assert.equal(addressKey('::ffff:10.0.0.7'), '10.0.0.7');
    assert.equal(addressKey('x'.repeat(10_000)), 'none');
    let now = 0;
    const visitors = createVisitors({ tokenlessRequestsPerMinute: 2, failedLoginsPerMinute: 1 }, () => now);
    assert.deepEqual(
      [visitors.came('a'), visitors.came('a'), visitors.came('a'), visitors.came('a')],
      ['answered', 'answered', 'first-refused', 'refused'],
    );
    assert.deepEqual([visitors.failed('b'), visitors.failed('b')], ['answered', 'first-refused']);
    now = 60_000;
    assert.deepEqual([visitors.came('a'), visitors.failed('b')], ['answered', 'answered']);
    for (let index = 0; index < 25_000; index += 1)
      visitors.came(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
    assert.equal(visitors.size(), 10_000);
  });
});
