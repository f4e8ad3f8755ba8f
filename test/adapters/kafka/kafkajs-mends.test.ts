/** What kafkajs is mended in still does what it did. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import '../../../src/adapters/kafka/kafkajs-mends.ts';
import { Kafka, logLevel } from 'kafkajs';

test('a request that nobody answers is given up on every connection, and nothing keeps the process afterwards', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const timersBefore = timersRunning();
  const broker = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const startedAt = performance.now();
  const asked = Array.from({ length: 3 }, async () => {
    const kafka = new Kafka({
      brokers: [broker],
      requestTimeout: 300,
      retry: { retries: 0 },
      logLevel: logLevel.NOTHING,
    });
    const admin = kafka.admin();
    await assert.rejects(admin.connect(), /timed out/);
    await admin.disconnect();
  });
  await Promise.all(asked);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs >= 300 && tookMs < 1_500, `given up after ${tookMs} ms`);
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, 'close');
  assert.equal(timersRunning(), timersBefore);
});

test('a connection whose broker is away does not gather listeners, however often it is ended', async () => {
  const Connection = createRequire(import.meta.url)('kafkajs/src/network/connection');
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, 'close');
  const sockets: Socket[] = [];
  const silent = { namespace: () => silent, debug: () => undefined, error: () => undefined };
  const connection = new Connection({
    ...{ host: '127.0.0.1', port, logger: silent, requestTimeout: 300, connectionTimeout: 300 },
    socketFactory: ({ onConnect }: { onConnect: () => void }) => {
      const socket = connect({ host: '127.0.0.1', port }, onConnect);
      sockets.push(socket);
      return socket;
    },
  });
  await assert.rejects(connection.connect(), /ECONNREFUSED/);
  for (let times = 0; times < 20; times += 1) await connection.disconnect();
  assert.equal(sockets.length, 1);
  assert.ok(sockets[0]!.listenerCount('connect') <= 1, String(sockets[0]!.listenerCount('connect')));
});

function timersRunning(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}
