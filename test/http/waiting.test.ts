/** What is answered while the store is not there yet, at each address that the desk will have. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Fault } from '../../src/errors.ts';
import type { Address, Addresses } from '../../src/http/address.ts';
import { createWaitingServer } from '../../src/http/waiting.ts';

const fault = new Fault('log-unavailable', 'the broker does not answer');

async function held(): Promise<{ server: Server; address: Address }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } };
}

async function free(): Promise<Address> {
  const { server, address } = await held();
  server.close();
  await once(server, 'close');
  return address;
}

async function waitingAt(context: TestContext, addresses: Addresses) {
  const waiting = createWaitingServer(addresses);
  context.after(() => waiting.close());
  await waiting.check();
  waiting.say(fault);
  return waiting;
}

/** Asked until somebody listens there. */
async function ask({ host, port }: Address, path: string): Promise<{ status: number; text: string }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await fetch(`http://${host}:${port}${path}`);
      return { status: answer.status, text: await answer.text() };
    } catch (error) {
      if (attempt === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

const alarm = /^lance_alarms_total\{code="store-unreachable"\} 1$/m;

test('with an address of their own the metrics are there, and only there', async (context) => {
  const addresses = { common: await free(), webhooks: await free(), api: await free(), metrics: await free() };
  await waitingAt(context, addresses);
  const metrics = await ask(addresses.metrics, '/metrics');
  assert.equal(metrics.status, 200);
  assert.match(metrics.text, alarm);
  for (const address of [addresses.common, addresses.webhooks, addresses.api]) {
    const { status, text } = await ask(address, '/metrics');
    assert.equal(status, 503);
    assert.doesNotMatch(text, /lance_/);
  }
  for (const address of Object.values(addresses)) {
    assert.equal((await ask(address, '/livez')).status, 200);
    const { status, text } = await ask(address, '/readyz');
    assert.deepEqual([status, JSON.parse(text).code], [503, 'log-unavailable']);
    assert.deepEqual(await ask(address, '/webhooks/token-of-the-tests'), {
      status: 503,
      text: '{"status":"unavailable"}',
    });
  }
});

test('without one they are at the common address', async (context) => {
  const addresses = { common: await free(), webhooks: null, api: null, metrics: null };
  await waitingAt(context, addresses);
  assert.match((await ask(addresses.common, '/metrics')).text, alarm);
});

test('an address that is taken is named by its own setting, and all are free again afterwards', async (context) => {
  const taken = await held();
  context.after(() => taken.server.close());
  const others = { webhooks: null, api: null };
  const refused = createWaitingServer({ common: await free(), ...others, metrics: taken.address });
  await assert.rejects(refused.check(), /LANCE_METRICS_PORT: 127\.0\.0\.1:\d+ is in use/);
  const addresses = { common: await free(), ...others, metrics: await free() };
  const waiting = await waitingAt(context, addresses);
  await ask(addresses.metrics, '/livez');
  await waiting.close();
  await createWaitingServer(addresses).check();
});
