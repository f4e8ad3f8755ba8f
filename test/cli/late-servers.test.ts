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
import { inheritedEnvironment, mainFile, pseudonymKey } from './desk.ts';

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function hostOf(address: string): [host: string, port: number] {
  const [host, port] = address.split(':');
  return [host!, Number(port)];
}

await describeOnStack('servers that come late', (stack) => {
  for (const away of ['Redis', 'Kafka'] as const) {
    const title = `${away} that does not answer yet is waited for, with an alarm (defect line 2)`;
    test(title, { timeout: 90_000 }, () => waitFor(away));
  }

  async function waitFor(away: 'Redis' | 'Kafka'): Promise<void> {
    const code = away === 'Redis' ? 'views-unavailable' : 'log-unavailable';
    const directory = mkdtempSync(join(tmpdir(), 'lance-late-'));
    const path = join(directory, 'settings.json');
    const kafka = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions: 2, replication: 1 };
    writeFileSync(path, JSON.stringify({ kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
    const closed = createServer();
    const port = await listen(closed, 0);
    closed.close();
    const [hostname, serverPort] = away === 'Redis' ? hostOf(new URL(stack.redisUrl).host) : hostOf(stack.brokers);
    const way = createServer((near) => pipeline(near, connect(serverPort, hostname), near, () => undefined));
    const closedHttp = createServer();
    const httpPort = await listen(closedHttp, 0);
    closedHttp.close();
    const closedMetrics = createServer();
    const metricsPort = await listen(closedMetrics, 0);
    closedMetrics.close();
    const ask = async (path: string, at = httpPort) => {
      const answer = await fetch(`http://127.0.0.1:${at}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    const desk = spawn(process.execPath, [mainFile, 'run'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...inheritedEnvironment,
        LANCE_CONFIG: path,
        LANCE_BACKEND: 'kafka',
        LANCE_DATA_DIR: join(directory, 'desk'),
        LANCE_KAFKA_BROKERS: away === 'Kafka' ? `127.0.0.1:${port}` : stack.brokers,
        LANCE_SCHEMA_REGISTRY_URL: stack.registryUrl,
        LANCE_REDIS_URL: away === 'Redis' ? `redis://127.0.0.1:${port}` : stack.redisUrl,
        LANCE_BASE_URL: 'http://127.0.0.1:9',
        LANCE_WEBHOOK_TOKENS: 'token-of-the-tests',
        LANCE_ACCESS_TOKEN: 'token-of-the-tests',
        LANCE_CONTACT_URL: 'https://parceiro.example/credito',
        LANCE_PSEUDONYM_KEY: pseudonymKey,
        LANCE_HTTP_PORT: String(httpPort),
        LANCE_METRICS_PORT: String(metricsPort),
      },
    });
    try {
      const said: { msg: string; code?: string }[] = [];
      for await (const line of createInterface({ input: desk.stdout })) {
        const entry = JSON.parse(line) as { msg: string; code?: string };
        said.push(entry);
        if (entry.msg === 'alarm') {
          assert.equal((await ask('/livez')).status, 200);
          const { status, text } = await ask('/readyz');
          assert.deepEqual([status, JSON.parse(text).code], [503, code]);
          assert.ok(JSON.parse(text).text.includes(`127.0.0.1:${port}`) || away === 'Redis', text);
          assert.match(
            (await ask('/metrics', metricsPort)).text,
            /^lance_alarms_total\{code="store-unreachable"\} 1$/m,
          );
          assert.equal((await ask('/webhooks/token-of-the-tests')).status, 503);
          await listen(way, port);
        }
        if (entry.msg === 'started') break;
      }
      const waits = said.filter(({ msg }) => msg === 'waiting-for-store');
      assert.deepEqual([...new Set(waits.map((wait) => wait.code))], [code]);
      assert.deepEqual(
        said.filter(({ msg }) => msg === 'alarm').map((alarm) => alarm.code),
        ['store-unreachable'],
      );
      assert.equal(said.at(-1)?.msg, 'started');
      desk.kill('SIGTERM');
      const [exitCode] = await once(desk, 'exit');
      assert.equal(exitCode, 0);
    } finally {
      if (desk.exitCode === null) desk.kill('SIGKILL');
      way.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }
});
