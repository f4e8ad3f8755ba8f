/** An address that cannot be listened on ends a start with one line: the setting, the address and the remedy. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Fault } from '../../src/errors.ts';
import { addressFault, addressSettings } from '../../src/http/address.ts';
import { lance, openStage } from '../cli/desk.ts';

/** A port of this machine that somebody else listens on. */
async function takenPort(context: TestContext): Promise<string> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  context.after(() => other.close());
  return String((other.address() as AddressInfo).port);
}

test('a port in use ends the start before a rule set is announced, whatever is served there', async (context) => {
  const port = await takenPort(context);
  const stage = await openStage(3);
  context.after(stage.close);
  for (const name of ['LANCE_HTTP_PORT', 'LANCE_METRICS_PORT']) {
    const { code, stdout, stderr } = await lance({ ...stage.environment, [name]: port }, 'run');
    const remedy = 'stop the process that listens there, or set another port.';
    assert.equal(stderr, `lance: ${name}: 127.0.0.1:${port} is in use: ${remedy}\n`);
    assert.equal(code, 73);
    assert.doesNotMatch(stdout, /rules-announced|rules-live/);
  }
});

test('a desk that waits for its servers refuses a port in use at once', async (context) => {
  const port = await takenPort(context);
  const directory = mkdtempSync(join(tmpdir(), 'lance-address-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const { code, stderr } = await lance(
    {
      LANCE_DATA_DIR: directory,
      LANCE_BACKEND: 'kafka',
      LANCE_KAFKA_BROKERS: '127.0.0.1:9',
      LANCE_SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
      LANCE_REDIS_URL: 'redis://127.0.0.1:9',
      LANCE_BASE_URL: 'http://127.0.0.1:9',
      LANCE_WEBHOOK_TOKENS: 'token-of-the-tests',
      LANCE_ACCESS_TOKEN: 'token-of-the-tests',
      LANCE_CONTACT_URL: 'https://parceiro.example/credito',
      LANCE_PSEUDONYM_KEY: 'a key that only the tests of the addresses use',
      LANCE_HTTP_PORT: port,
    },
    'run',
  );
  assert.equal(code, 73);
  assert.match(stderr, new RegExp(`^lance: LANCE_HTTP_PORT: 127\\.0\\.0\\.1:${port} is in use: [^\\n]*\\n$`));
});

test('an address of another machine names its setting', async (context) => {
  const stage = await openStage(3);
  context.after(stage.close);
  const { code, stderr } = await lance({ ...stage.environment, LANCE_HTTP_HOST: '203.0.113.1' }, 'run');
  assert.equal(code, 78);
  assert.match(stderr, /^lance: LANCE_HTTP_HOST: 203\.0\.113\.1 is not an address of this machine [^\n]*\n$/);
});

test('two settings for one address are a fault of the configuration', async (context) => {
  const stage = await openStage(3);
  context.after(stage.close);
  const { code, stderr } = await lance(
    { ...stage.environment, LANCE_HTTP_PORT: '18080', LANCE_API_PORT: '18080' },
    'run',
  );
  assert.equal(code, 78);
  assert.match(stderr, /LANCE_API_PORT \(http\.apiPort\) .*LANCE_HTTP_PORT/);
});

test('the sandbox names its own options', async (context) => {
  const port = await takenPort(context);
  const { code, stderr } = await lance({ LANCE_LANG: 'en' }, 'sandbox', '--port', port);
  assert.equal(code, 73);
  assert.match(stderr, new RegExp(`^lance: --port: 127\\.0\\.0\\.1:${port} is in use: `));
});

test('a port that only root may take is told apart', () => {
  const error = Object.assign(new Error('listen EACCES: permission denied 0.0.0.0:80'), { code: 'EACCES' });
  const fault = addressFault({ host: '0.0.0.0', port: 80 }, addressSettings.webhooks, error);
  assert.ok(fault instanceof Fault);
  assert.equal(fault.exitCode, 78);
  assert.equal(
    fault.message,
    'LANCE_WEBHOOK_PORT: this user may not listen on 0.0.0.0:80: set a port of 1024 or higher.',
  );
});
