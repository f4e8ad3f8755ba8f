/** docker-compose.yml, started from local programs: what it says is enough for a desk to bid. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { stackLacks } from '../stack/stack.ts';
import { withoutMeans } from '../stack/suite.ts';
import { compose, envExample, interpolate } from './compose-file.ts';
import { needsDocker, notStarted, type Rehearsal, rehearse, rehearsed, startedServices } from './rehearsal.ts';

const desks = startedServices.filter((name) => name.startsWith('lance-'));
const deskPort = 8080;

/** What a user fills in who follows the words of .env.example. */
const written: Readonly<Record<string, string>> = {
  LANCE_PSEUDONYM_KEY: randomBytes(32).toString('base64'),
  LANCE_WEBHOOK_TOKENS: randomBytes(12).toString('hex'),
  LANCE_ACCESS_TOKEN: randomBytes(12).toString('hex'),
  LANCE_CONTACT_URL: 'https://parceiro.example/credito',
  GRAFANA_PASSWORD: randomBytes(12).toString('hex'),
  SANDBOX_REQUESTS: '40',
};

/** Who is called when the alert that always fires no longer comes. */
const heartbeats: string[] = [];
const listener = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString();
  });
  request.on('end', () => {
    heartbeats.push(body);
    response.end();
  });
});
await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
listener.unref();
const { port: heartbeatPort } = listener.address() as AddressInfo;

const environment: Readonly<Record<string, string>> = {
  ...Object.fromEntries(envExample),
  ...written,
  ALERT_HEARTBEAT_URL: `http://127.0.0.1:${heartbeatPort}/heartbeat`,
};

test('each service is started, or listed with the reason why not; each key is carried out, or needs Docker', () => {
  for (const [name, service] of Object.entries(compose.services)) {
    assert.notEqual(startedServices.includes(name), name in notStarted, name);
    for (const key of Object.keys(service)) {
      assert.notEqual(rehearsed.includes(key), key in needsDocker, `${name}.${key}`);
    }
  }
});

async function eventually(what: string, limitMs: number, isSo: () => Promise<boolean>): Promise<void> {
  for (const until = performance.now() + limitMs; !(await isSo()); await sleep(250)) {
    assert.ok(performance.now() < until, `${what} within ${limitMs} ms`);
  }
}

function describeRehearsal(): void {
  let rehearsal: Rehearsal;

  type Sample = { metric: Record<string, string>; value: [number, string] };
  const prometheus = async (path: string) => {
    const answer = await fetch(`http://${rehearsal.address('prometheus', 9090)}/api/v1/${path}`);
    return ((await answer.json()) as { data: never }).data;
  };
  const ask = async (query: string): Promise<Sample[]> =>
    ((await prometheus(`query?query=${encodeURIComponent(query)}`)) as { result: Sample[] }).result;

  before(async () => {
    rehearsal = await rehearse(environment);
  });
  after(async () => {
    await rehearsal?.stop();
    listener.close();
  });

  test('both desks become ready (defect line 1)', async () => {
    for (const name of desks) {
      await eventually(`${name} is ready`, 30_000, async () => {
        const answer = await fetch(`http://${rehearsal.address(name, deskPort)}/readyz`);
        return answer.ok;
      });
    }
  });

  test('topics have the replicas and partitions that the file says (defect line 1)', async () => {
    const { LANCE_KAFKA_REPLICATION, LANCE_KAFKA_PARTITIONS } = compose.services[desks[0]!]!.environment!;
    const brokers = [rehearsal.address('kafka', 9092)];
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    // Made with the first anchor, some seconds after the other topics. Anchors have one order, so one partition.
    const anchors = 'lance.anchors';
    await eventually('the topic of the anchors is there', 60_000, async () =>
      (await admin.listTopics()).includes(anchors),
    );
    const { topics } = await admin.fetchTopicMetadata();
    await admin.disconnect();
    const ours = topics.filter(({ name }) => name.startsWith('lance.'));
    assert.ok(ours.length > 1);
    for (const { name, partitions } of ours) {
      assert.equal(partitions.length, name === anchors ? 1 : Number(LANCE_KAFKA_PARTITIONS), name);
      for (const { replicas } of partitions) assert.equal(replicas.length, Number(LANCE_KAFKA_REPLICATION), name);
    }
  });

  test('requests of the sandbox are bid for, and Prometheus scrapes both desks (defect line 1)', async () => {
    await eventually('both desks are up', 40_000, async () => {
      const up = await ask('up{job="lance"}');
      return up.length === desks.length && up.every(({ value }) => value[1] === '1');
    });
    await eventually('bids are accepted', 60_000, async () => {
      const [accepted] = await ask('sum(lance_phases_total{phase=~"accepted|accepted-presumed|accepted-outside"})');
      const [received] = await ask('sum(lance_requests_received_total)');
      return (
        Number(received?.value[1] ?? 0) === Number(written.SANDBOX_REQUESTS) && Number(accepted?.value[1] ?? 0) > 0
      );
    });
    const { groups } = (await prometheus('rules')) as { groups: { rules: { name: string; health: string }[] }[] };
    const rules = groups.flatMap(({ rules: each }) => each);
    assert.ok(rules.some(({ name }) => name === 'LanceDown'));
    assert.deepEqual(
      rules.filter(({ health }) => health === 'err'),
      [],
    );
  });

  test('the alert that always fires comes through Prometheus and Alertmanager', {
    skip: notStarted.alertmanager,
  }, async () => {
    await eventually('the heartbeat comes', 150_000, async () => heartbeats.length > 0);
    const { alerts } = JSON.parse(heartbeats[0]!) as { alerts: { labels: Record<string, string> }[] };
    assert.deepEqual(
      alerts.map(({ labels }) => labels.alertname),
      ['LanceWatchdog'],
    );
  });

  test('no service takes more memory than the file allows it (defect line 1)', async () => {
    const bytesOf = (text: string): number => {
      const [, count, unit] = /^(\d+)([mg])$/.exec(interpolate(text, environment))!;
      return Number(count) * (unit === 'g' ? 1_024 : 1) * 1_048_576;
    };
    for (const name of startedServices) {
      const peak = await rehearsal.peakBytes(name);
      const limit = bytesOf(compose.services[name]!.deploy.resources.limits.memory);
      if (peak !== null) assert.ok(peak < limit, `${name} took ${peak} of ${limit} bytes`);
    }
  });

  test('the sandbox ends with its summary, and every other service still runs (defect line 1)', async () => {
    await eventually('the sandbox ends', 60_000, async () => !rehearsal.isRunning('sandbox'));
    assert.match(await rehearsal.logOf('sandbox'), /Webhooks.*?\d+\/\d+/i);
    const others = startedServices.filter((name) => name !== 'sandbox');
    assert.deepEqual(
      others.filter((name) => !rehearsal.isRunning(name)),
      [],
    );
    for (const name of desks) {
      assert.equal((await fetch(`http://${rehearsal.address(name, deskPort)}/readyz`)).status, 200, name);
    }
  });
}

const monitor = 'prometheus';
const lacks =
  (await stackLacks()) ??
  (spawnSync(monitor, ['--version']).error === undefined ? null : `${monitor} is not installed (Debian: ${monitor})`);
if (lacks === null) describe('docker-compose.yml, rehearsed', describeRehearsal);
else withoutMeans('docker-compose.yml, rehearsed', lacks);
