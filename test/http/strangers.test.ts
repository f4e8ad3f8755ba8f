/** Who has no valid token costs little: answered before the body is read, seldom, and never at the cost of those who have one. */
import assert from 'node:assert/strict';
import dns from 'node:dns/promises';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BodySender, createBodies } from '../../src/http/bodies.ts';
import { limitConnections, type Proof } from '../../src/http/connections.ts';
import { createServer, type RefusalReport, type ServerParts } from '../../src/http/server.ts';
import { addressKey, createVisitors } from '../../src/http/visitors.ts';
import { startApi } from './api-house.ts';
import { createTestDoor, limits, requestBody } from './parts.ts';
import { someStatus } from './statuses.ts';

const token = 'a-valid-token-0123456789';
const here = { host: '127.0.0.1', port: 0 };

async function start(
  context: { after: (done: () => Promise<void>) => void },
  parts: Partial<ServerParts> = {},
  common = here,
) {
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
    status: someStatus,
    api: null,
    onFault: (text) => assert.fail(text),
    onRefusal: (report) => refusals.push(report),
    ...others,
  });
  const ports = await server.listen({ common, webhooks: null, api: null, metrics: null });
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

  test('an expectation that nobody knows is left aside, with every check and limit (defect line 7)', async (context) => {
    const { port, log, refusals } = await start(context);
    const ask = async (path: string, body: Buffer): Promise<string> => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nexpect: foo\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body);
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return bytes.toString().split(' ')[1]!;
    };
    assert.equal(await ask(`/webhooks/${token}`, requestBody(1)), '200');
    assert.equal(log.entries.length, 1);
    const seen: string[] = [];
    for (let turn = 0; turn < 7; turn += 1) seen.push(await ask(`/webhooks/wrong-${turn}`, requestBody(2)));
    assert.deepEqual(seen, ['404', '404', '404', '429', '429', '429', '429']);
    assert.equal(refusals.length, 7);
    assert.equal(log.entries.length, 1);
  });

  test('localhost has the same limits at each of its addresses (defect line 7)', async (context) => {
    const found = [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ];
    context.mock.method(dns, 'lookup', async () => found);
    const { port, server } = await start(context, {}, { host: 'localhost', port: 0 });
    for (const host of ['127.0.0.1', '127.0.0.2']) {
      const sockets = Array.from({ length: 12 }, () => connect(port, host).on('error', () => undefined));
      let closed = 0;
      for (const socket of sockets) socket.on('close', () => (closed += 1));
      await soon(() => closed >= 2);
      assert.equal(closed, 2, host);
      for (const socket of sockets) socket.destroy();
    }
    await server.close();
    await assert.rejects(once(connect(port, '127.0.0.2'), 'connect'));
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
      [['0.0.0.0/0'], '203.0.113.9'],
      [['::/0'], '127.0.0.1'],
      [['::/0', '0.0.0.0/0'], '203.0.113.9'],
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
      socket.write(`POST /webhooks/${token} HTTP/1.1\r\nhost: x\r\ncontent-length: 99000\r\n\r\n${'x'.repeat(98_000)}`);
      return socket;
    });
    await soon(() => refusals.length >= 2);
    assert.deepEqual(
      refusals.map(({ problem, at }) => [problem, at]),
      [
        ['bodies-full', 'webhooks'],
        ['bodies-full', 'webhooks'],
      ],
    );
    assert.equal((await webhook(root, 1)).status, 200);
    for (const socket of sockets) socket.destroy();
    await sleep(500);
    const large = requestBody(2, { observacao: 'x'.repeat(90_000) });
    const answer = await fetch(`${root}/webhooks/${token}`, { method: 'POST', body: new Uint8Array(large) });
    assert.equal(answer.status, 200);
  });

  test('an unfinished body is waited for as long as the head, not for a minute (defect line 7)', async (context) => {
    const { port } = await start(context);
    const startedAt = performance.now();
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(`POST /webhooks/${token} HTTP/1.1\r\nhost: x\r\ncontent-length: 90\r\n\r\nx`);
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes.toString();
    });
    await new Promise((resolve) => socket.once('close', resolve));
    assert.equal(heard.split('\r\n')[0], 'HTTP/1.1 408 Request Timeout');
    assert.ok(performance.now() - startedAt < 30_000);
  });

  test('a body in pieces of a byte is read whole and forgotten when it is released (defect line 7)', async () => {
    const bodies = createBodies({ webhookBytes: 1_000_000, apiBodyBytes: 0 }, () => 0, assert.fail);
    const pieces = Array.from({ length: 100_000 }, () => Buffer.from('y'));
    const request = Object.assign(Readable.from(pieces), { headers: {} });
    const body = await bodies.read(request as never, 200_000, { room: 'webhooks', name: 'a' });
    assert.equal(body.length, 100_000);
    assert.ok(body.every((byte) => byte === 0x79));
    assert.equal(bodies.heldBytes(), 100_000);
    bodies.release(request as never);
    bodies.release(request as never);
    assert.equal(bodies.heldBytes(), 0);
  });

  test('one sender gets half of the room; the slow make room; the small and the API always find some', async () => {
    let now = 0;
    const full: string[] = [];
    const bodies = createBodies(
      { webhookBytes: 1_000_000, apiBodyBytes: 400_000 },
      () => now,
      (room) => full.push(room),
    );
    const begin = (name: string, bytes: number, room: BodySender['room'] = 'webhooks') => {
      const request = Object.assign(new Readable({ read: () => undefined }), { headers: {} });
      const outcome = bodies.read(request as never, 400_000, { room, name }).then(
        (body) => body.length,
        (fault) => (fault as { statusCode: number }).statusCode,
      );
      request.push(Buffer.alloc(bytes));
      return { request, outcome, isOpen: async () => (await Promise.race([outcome, sleep(20, 'open')])) === 'open' };
    };
    const first = begin('a', 300_000);
    const second = begin('a', 200_000);
    assert.equal(await begin('a', 100_000).outcome, 503, 'more than half of the room went to one sender');
    const third = begin('b', 300_000);
    const fourth = begin('c', 200_000);
    assert.equal(await begin('d', 100_000).outcome, 503, 'more than the room was taken');
    assert.deepEqual(full, ['webhooks', 'webhooks']);
    assert.ok(await begin('a', 60_000).isOpen(), 'a small body found no room');
    assert.ok(await begin('a', 100_000, 'api').isOpen(), 'the API has no room of its own');

    now = 1_000;
    const fifth = begin('a', 100_000);
    assert.equal(await first.outcome, 503, 'a slow body keeps its room');
    for (const { isOpen } of [second, third, fourth, fifth]) assert.ok(await isOpen());
    fifth.request.push(null);
    assert.equal(await fifth.outcome, 100_000);
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

  /** A server that takes the proof of a request from its path, and counts who is cut off. */
  async function startLimited(context: TestContext, limit: number) {
    let now = 0;
    const server = createHttpServer();
    const connections = limitConnections(
      server,
      limit,
      () => now,
      () => undefined,
    );
    server.on('request', (request, response) => {
      const [, kind, name = '', fate] = (request.url ?? '').split('/');
      const isAllowed = connections.begin(request, { kind, name } as Proof);
      response.once('close', () => connections.end(request));
      response.statusCode = isAllowed ? 200 : 429;
      if (!isAllowed || fate !== 'never') response.end();
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
    context.after(() => {
      server.closeAllConnections();
      server.close();
    });
    /** Resolves when it was answered, or right away when it never is. */
    const open = async (path: string, body = ''): Promise<{ socket: Socket; answer: string }> => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      const came = new Promise<void>((resolve) => server.once('request', () => resolve()));
      const answered = new Promise<string>((resolve) => {
        socket.once('data', (bytes) => resolve(bytes.toString().slice(9, 12)));
        socket.once('close', () => resolve('closed'));
      });
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
      if (!path.endsWith('never')) return { socket, answer: await answered };
      await came;
      return { socket, answer: 'none' };
    };
    const pass = (ms: number): void => {
      now += ms;
    };
    return { open, pass };
  }

  const cutOff = async (connections: readonly { socket: Socket }[]): Promise<number[]> => {
    await sleep(100);
    return connections.flatMap(({ socket }, index) => (socket.destroyed ? [index] : []));
  };

  test('strangers make room first, then the API, then webhooks; the longest idle of each', async (context) => {
    const { open } = await startLimited(context, 4);
    const connections = [];
    for (const path of ['/webhooks', '/webhooks', '/api/a', '/none']) connections.push(await open(path));
    assert.deepEqual(await cutOff(connections), []);
    connections.push(await open('/webhooks'));
    assert.deepEqual(await cutOff(connections), [3]);
    connections.push(await open('/webhooks'));
    assert.deepEqual(await cutOff(connections), [2, 3]);
    connections.push(await open('/webhooks'));
    assert.deepEqual(await cutOff(connections), [0, 2, 3]);
  });

  test('a webhook under way is not cut off, one whose body is not whole is', async (context) => {
    const { open, pass } = await startLimited(context, 2);
    const connections = [await open('/webhooks/x/never'), await open('/webhooks/x/never')];
    pass(5_000);
    connections.push(await open('/webhooks'));
    assert.equal(connections[2]?.answer, 'closed');
    assert.deepEqual(await cutOff(connections.slice(0, 2)), []);
    connections[0]?.socket.destroy();
    await sleep(100);
    connections.push(await open('/webhooks/x/never', 'body'));
    pass(5_000);
    const last = await open('/webhooks');
    assert.equal(last.answer, '200');
    assert.deepEqual(await cutOff(connections), [0, 2, 3]);
  });

  test('one token of the API has few connections, whatever the limit of all', async (context) => {
    const { open } = await startLimited(context, 40);
    const connections = [];
    for (let count = 0; count < 8; count += 1) connections.push(await open('/api/a'));
    connections.push(await open('/api/b'));
    assert.deepEqual(await cutOff(connections), [0, 1]);
    for (let count = 0; count < 6; count += 1) await open('/api/c/never');
    assert.equal((await open('/api/c')).answer, '429');
    assert.equal((await open('/api/b')).answer, '200');
  });

  test('each purpose is served at its own address and nowhere else (defect line 7)', async (context) => {
    const { server } = await start(context);
    const ports = await server.listen({ common: here, webhooks: here, api: null, metrics: here });
    server.open();
    const at = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    for (const path of ['/metrics', '/status']) {
      const answers = [ports.common, ports.metrics, ports.webhooks].map((port) => at(port, path));
      assert.deepEqual(await Promise.all(answers), [404, 200, 404], path);
    }
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
