/** A desk on Kafka whose log is spoiled from outside: records that nobody can process, and a topic that was made anew. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { registerSchemas } from '../../src/adapters/kafka/registry.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { type Daemon, lance, openStage, type Played, startDaemon } from './desk.ts';

const partitions = 3;
const topics = ['auctions', 'callbacks', 'flows'] as const;
const patienceMs = 15_000;
/** Later than any date. */
const noTime = 8_650_000_000_000_000;
const who = ['--by', 'ana', '--reason', 'seen with the vendor'];

await describeOnStack('a log on Kafka spoiled from outside', (stack) => {
  const kafka = new Kafka({ brokers: stack.brokers.split(','), logLevel: logLevel.NOTHING });
  const settings = { ...settingsOn(stack, stack.prefix), partitions };
  let stage: Played;
  let environment: Record<string, string>;
  let daemon: Daemon | null = null;

  before(async () => {
    stage = await openStage(9, 8_000);
    const path = join(stage.directory, 'kafka.json');
    const bidding = { windowMs: 8_000, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };
    const own = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions, replication: 1 };
    writeFileSync(path, JSON.stringify({ bidding, kafka: own, redis: { keyPrefix: `{${stack.prefix}}:` } }));
    environment = {
      ...stage.environment,
      LANCE_LANG: 'en',
      LANCE_CONFIG: path,
      ...stackEnvironment(stack),
    };
  });
  after(async () => {
    await daemon?.stop();
    await stage.close();
  });

  const sent = () => stage.sandbox.record.of('request').map(({ requestId }) => requestId);

  async function plant(): Promise<{ requests: string[]; flows: string[] }> {
    const { encode } = await registerSchemas(settings);
    const unknownSchema = Buffer.alloc(20);
    unknownSchema.writeInt32BE(2_000_000_000, 1);
    const values: Record<(typeof topics)[number], Buffer>[] = [
      { auctions: Buffer.from('{"kind":'), callbacks: Buffer.from('{"kind":'), flows: Buffer.from('{"kind":') },
      { auctions: unknownSchema, callbacks: unknownSchema, flows: unknownSchema },
      {
        auctions: encode('auctions', {
          kind: 'resolved',
          requestId: '93',
          at: 1,
          as: 'nonsense',
          by: 'b',
          reason: 'r',
        }),
        callbacks: encode('callbacks', {
          kind: 'contemplated',
          at: noTime,
          requestCode: '9',
          message: null,
          errors: [],
        }),
        flows: encode('flows', { kind: 'started', flowId: 'c-93', at: 1, flow: 7, terms: 7 }),
      },
    ];
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    for (const topic of topics) {
      const messages = values.map((each, index) => {
        const key = { auctions: `9${index + 1}`, callbacks: `9${index + 1}`, flows: `c-9${index + 1}` }[topic];
        return { key, value: each[topic] };
      });
      await producer.send({ topic: `${stack.prefix}${topic}`, messages });
    }
    await producer.disconnect();
    return { requests: values.map((_, index) => `9${index + 1}`), flows: values.map((_, index) => `c-9${index + 1}`) };
  }

  test('records of every topic that nobody can read or process freeze what they are about, and nothing else (defect line 9)', async () => {
    daemon = await startDaemon(environment);
    const { lines, url, stop } = daemon;
    const { requests, flows } = await plant();
    const alarms = () => lines.filter(({ msg }) => msg === 'alarm');
    const unnamed = () => [
      ...requests.filter((id) => !alarms().some(({ requestId }) => requestId === id)),
      // Those that are found together have one alarm, which names them.
      ...flows.filter((id) => !alarms().some(({ flowId, text }) => flowId === id || String(text).includes(id))),
      ...(alarms().filter(({ code }) => code === 'record-undecodable').length >= 3 ? [] : ['callbacks']),
    ];
    for (const end = performance.now() + patienceMs; unnamed().length > 0 && performance.now() < end; ) await sleep(50);
    assert.deepEqual(unnamed(), [], JSON.stringify(alarms()));
    stage.sandbox.connect(url);
    await stage.sandbox.run(10);
    const landed = stage.sandbox.record.of('call').filter((call) => call.landed && call.requestId !== null);
    assert.ok(landed.length > 0, 'other requests are bid for');
    assert.equal((await fetch(new URL('/readyz', url))).status, 200);
    const ended = await Promise.all([
      lance(environment, 'bids', 'retry', '91', ...who),
      lance(environment, 'bids', 'cancel', '92', ...who),
      lance(environment, 'contracts', 'retry', 'c-92', ...who),
      lance(environment, 'contracts', 'cancel', 'c-93', ...who),
    ]);
    const said = ended.map(({ stdout, stderr }) => stdout + stderr);
    assert.deepEqual(
      ended.map(({ code }) => code),
      [65, 0, 65, 0],
      said.join('\n'),
    );
    assert.match(said[0]!, /still frozen: auctions\/\d at \d+/);
    assert.match(said[2]!, /still frozen: flows\/\d at \d+/);
    await stop();
  });

  test('a topic made anew is refused, accepted by a command, and then the desk runs on (defect lines 18 and 21)', async () => {
    const admin = kafka.admin();
    await admin.connect();
    const topic = `${stack.prefix}auctions`;
    await admin.deleteTopics({ topics: [topic] });
    while ((await admin.listTopics()).includes(topic)) await sleep(50);
    await admin.disconnect();
    await assert.rejects(async () => {
      daemon = await startDaemon(environment);
    }, /lance run ended with 65/);
    const accepted = await lance(environment, 'audit', 'accept-restore', ...who, '--json');
    assert.equal(accepted.code, 0, accepted.stderr);
    const { complete, noBidReceivedBefore, at, lostOrders } = JSON.parse(accepted.stdout);
    assert.equal(complete, false);
    // Tokens and controls stand in no chain here, and no count must read as if none were lost.
    assert.equal(lostOrders, null);
    assert.ok(noBidReceivedBefore > at, 'what was received before the restore, or soon after, is not bid for');
    const verdict = JSON.parse((await lance(environment, 'audit', 'verify', '--json')).stdout);
    assert.equal(verdict.kind, 'intact');
    assert.deepEqual(
      verdict.origins.map(({ kind, by }: { kind: string; by: string }) => [kind, by]),
      [['restored', 'ana']],
    );
    daemon = await startDaemon(environment);
    const ready = await fetch(new URL('/readyz?verbose', daemon.url));
    const checks = await ready.text();
    assert.equal(ready.status, 200, checks);
    assert.match(checks, /gate: .*paused/, 'it is paused until somebody has looked');

    stage.sandbox.connect(daemon.url);
    const sentBefore = new Set(sent());
    await stage.sandbox.run(10);
    const since = sent().filter((requestId) => !sentBefore.has(requestId));
    assert.ok(since.length > 0);
    const unread = new Set(since);
    for (const end = performance.now() + patienceMs; unread.size > 0 && performance.now() < end; await sleep(100)) {
      for (const requestId of unread) {
        const { code } = await lance(environment, 'bids', 'show', requestId, '--json');
        if (code === 0) unread.delete(requestId);
      }
    }
    assert.deepEqual([...unread], [], 'what is stored after the acceptance is folded, wherever the views had been');
    await daemon.stop();
  });
});
