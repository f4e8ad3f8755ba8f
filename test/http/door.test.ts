/** 2xx means durable: nothing else may be answered so, and a log that refuses, hangs or drowns is told as 503. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../../src/errors.ts';
import { createLog, createTestDoor, limits, requestBody } from './parts.ts';

test('2xx comes after the append, never before', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const log = createLog(() => promise);
  const { door } = createTestDoor({ append: log.append });
  let answered = false;
  const answer = door.receive(requestBody(1)).then((result) => {
    answered = true;
    return result;
  });
  await new Promise(setImmediate);
  assert.equal(answered, false);
  assert.equal(door.inFlight(), 1);
  resolve();
  assert.equal((await answer).status, 200);
  assert.equal(log.entries.length, 1);
  assert.equal(door.inFlight(), 0);
});

test('a log that refuses is 503 with Retry-After', async () => {
  const { door, reports } = createTestDoor({ append: () => Promise.reject(new Fault('log-unavailable', 'gone')) });
  const answer = await door.receive(requestBody(1));
  assert.equal(answer.status, 503);
  assert.ok(answer.retryAfterS !== undefined && answer.retryAfterS > 0);
  assert.equal(reports[0]?.problem, 'log-refused');
});

test('once the log was asked, its answer is waited for: what it stores is acknowledged (defect line 23)', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const log = createLog(() => promise);
  const { door, clock, reports } = createTestDoor({ append: log.append });
  const answer = door.receive(requestBody(1));
  clock.advance(10 * limits.appendTimeoutMs);
  await new Promise(setImmediate);
  assert.equal(reports.length, 0);
  resolve();
  assert.equal((await answer).status, 200);
  assert.equal(log.entries.length, 1);
});

test('a webhook that waited too long to be read is 503, and the log never hears of it (defect line 23)', async () => {
  const { door, log, reports } = createTestDoor({ readBody: async () => null });
  const answer = await door.receive(requestBody(1));
  assert.equal(answer.status, 503);
  assert.ok(answer.retryAfterS !== undefined && answer.retryAfterS > 0);
  assert.equal(log.entries.length, 0);
  assert.deepEqual(
    reports.map(({ problem }) => problem),
    ['log-slow'],
  );
});

test('more webhooks than the queue holds are turned away, and let in again when it has emptied', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { door, reports } = createTestDoor({ append: () => promise });
  const waiting = Array.from({ length: limits.doorQueueLimit }, (_, index) => door.receive(requestBody(index + 1)));
  assert.equal(door.isFull(), true);
  assert.equal((await door.receive(requestBody(9))).status, 503);
  assert.equal(reports[0]?.problem, 'queue-full');
  resolve();
  assert.deepEqual(
    (await Promise.all(waiting)).map((answer) => answer.status),
    [200, 200, 200],
  );
  assert.equal((await door.receive(requestBody(9))).status, 200);
});

test('a door that does not get to what waits is not ready, until it does (defect line 22)', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { door, clock } = createTestDoor({ append: () => promise });
  assert.equal(door.hindrance(), null);
  const first = door.receive(requestBody(1));
  clock.advance(limits.appendTimeoutMs);
  const second = door.receive(requestBody(2));
  assert.equal(door.hindrance(), null);
  clock.advance(1);
  assert.match(door.hindrance() ?? '', /waited for its answer for more than 3 s/);
  const third = door.receive(requestBody(3));
  assert.match(door.hindrance() ?? '', /too many webhooks are waiting/);
  resolve();
  await Promise.all([first, second, third]);
  assert.equal(door.hindrance(), null);
});

test('what is understood in part is kept in part', async () => {
  const { door, log, reports } = createTestDoor();
  const body = { CodigoLote: 'L', Solicitacoes: [{ numeroSolicitacao: 1 }, { numeroSolicitacao: 'um' }] };
  assert.equal((await door.receive(Buffer.from(JSON.stringify(body)))).status, 202);
  assert.deepEqual(
    log.entries.map((entry) => entry.topic),
    ['auctions', 'dead-letters'],
  );
  assert.equal(reports[0]?.requests, 1);
  assert.equal(reports[0]?.deadLetters, 1);
});

test('nothing understood is a durable dead letter with its time of receipt, and 202', async () => {
  const { door, log } = createTestDoor();
  assert.equal((await door.receive(Buffer.from('{"hello":"world"}'))).status, 202);
  const [entry] = log.entries;
  assert.ok(entry?.topic === 'dead-letters');
  assert.equal(entry.record.receivedAt, 1_000);
});

test('malformed, deep and large bodies write nothing', async () => {
  const { door, log } = createTestDoor();
  const bodies: [Buffer, number][] = [
    [Buffer.from(''), 400],
    [Buffer.from('{'), 400],
    [Buffer.from([0xff, 0xfe]), 400],
    [Buffer.from('['.repeat(10_000) + ']'.repeat(10_000)), 400],
    [Buffer.alloc(10_000_000, 0x20), 413],
  ];
  for (const [body, status] of bodies) {
    const answer = await door.receive(body);
    assert.equal(answer.status, status);
    assert.ok(JSON.parse(answer.body).detail.length > 10);
  }
  assert.equal(log.entries.length, 0);
});
