/** Servers that come up after the desk are waited for: `lance run` says for which, and starts when they are there. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream';
import { test } from 'node:test';
import { describeOnStack } from '../stack/suite.ts';
import { mainFile, pseudonymKey } from './desk.ts';

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

await describeOnStack('servers that come late', (stack) => {
  test('Redis that does not answer yet is waited for', { timeout: 60_000 }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'lance-late-'));
    const path = join(directory, 'settings.json');
    const kafka = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions: 2, replication: 1 };
    writeFileSync(path, JSON.stringify({ kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
    const closed = createServer();
    const port = await listen(closed, 0);
    closed.close();
    const { hostname, port: redisPort } = new URL(stack.redisUrl);
    const way = createServer((near) => pipeline(near, connect(Number(redisPort), hostname), near, () => undefined));
    const desk = spawn(process.execPath, [mainFile, 'run'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env.PATH,
        LANCE_CONFIG: path,
        LANCE_BACKEND: 'kafka',
        LANCE_KAFKA_BROKERS: stack.brokers,
        LANCE_SCHEMA_REGISTRY_URL: stack.registryUrl,
        LANCE_REDIS_URL: `redis://127.0.0.1:${port}`,
        LANCE_BASE_URL: 'http://127.0.0.1:9',
        LANCE_WEBHOOK_TOKENS: 'token-of-the-tests',
        LANCE_ACCESS_TOKEN: 'token-of-the-tests',
        LANCE_CONTACT_URL: 'https://parceiro.example/credito',
        LANCE_PSEUDONYM_KEY: pseudonymKey,
        LANCE_HTTP_PORT: '0',
      },
    });
    try {
      const said: { msg: string; code?: string }[] = [];
      for await (const line of createInterface({ input: desk.stdout })) {
        const entry = JSON.parse(line) as { msg: string; code?: string };
        said.push(entry);
        if (entry.msg === 'waiting-for-store' && !way.listening) await listen(way, port);
        if (entry.msg === 'started') break;
      }
      assert.deepEqual(
        said.filter(({ msg }) => msg === 'waiting-for-store').map(({ code }) => code),
        ['views-unavailable'],
      );
      assert.equal(said.at(-1)?.msg, 'started');
      desk.kill('SIGTERM');
      const [code] = await once(desk, 'exit');
      assert.equal(code, 0);
    } finally {
      if (desk.exitCode === null) desk.kill('SIGKILL');
      way.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
