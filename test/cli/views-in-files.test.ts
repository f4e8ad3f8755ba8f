/** A desk on Kafka whose processes keep the views in files of their own: begun on a log that was folded in Redis until then. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { eventually } from '../conformance/backend.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

const requests = 30;
const windowMs = 5_000;
const partitions = 2;
const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };

type Listed = { requestId: string; state: string };

await describeOnStack('a desk with views in files', (stack) => {
  let stage: Played;
  let inRedis: Record<string, string>;
  let inFiles: Record<string, string>;
  const daemons: Daemon[] = [];

  async function start(environment: Record<string, string>): Promise<Daemon> {
    const daemon = await startDaemon(environment);
    daemons.push(daemon);
    stage.sandbox.connect(daemon.url);
    return daemon;
  }

  async function listed(environment: Record<string, string>): Promise<Listed[]> {
    const { code, stdout, stderr } = await lance(environment, 'bids', 'list', '--json', '--limit', '1000');
    assert.equal(code, 0, stderr);
    return jsonLines<Listed>(stdout).sort((left, right) => left.requestId.localeCompare(right.requestId));
  }

  before(async () => {
    stage = await openStage(17, windowMs);
    const path = join(stage.directory, 'kafka.json');
    const kafka = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions, replication: 1 };
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
    inRedis = { ...stage.environment, LANCE_LANG: 'en', LANCE_CONFIG: path, ...stackEnvironment(stack) };
    inFiles = { ...inRedis, LANCE_KAFKA_VIEWS: 'files' };
  });
  after(async () => {
    for (const daemon of daemons) await daemon.stop();
    await stage.close();
  });

  test('it waits for those that keep them in Redis, takes the log over, and is not beside them again', {
    timeout: 240_000,
  }, async () => {
    const before = await start(inRedis);
    await stage.sandbox.run(requests);
    const coming = start(inFiles);
    // Nothing else shows that it waits.
    await sleep(3_000);
    assert.equal(daemons.length, 1, 'it began beside a process that keeps the views in Redis');
    const known = await listed(inRedis);
    assert.equal(known.length, requests);
    await before.stop();

    const daemon = await coming;
    assert.ok(daemon.lines.some(({ msg, text }) => msg === 'waiting-for-store' && /still run/.test(String(text))));
    const { LANCE_DATA_DIR: directory } = stage.environment;
    const files = () => readdirSync(directory).filter((name) => /^auctions-.*\.sqlite$/.test(name)).length;
    // It has begun with the first partition that it was given; the others come in the same moment, or with the next round of the group.
    for (const untilMs = Date.now() + 20_000; files() < partitions && Date.now() < untilMs; ) await sleep(100);
    assert.equal(files(), partitions);
    assert.deepEqual(
      (await listed(inFiles)).map(({ requestId }) => requestId),
      known.map(({ requestId }) => requestId),
    );
    await stage.sandbox.run(requests);
    const now = await listed(inFiles);
    assert.equal(now.length, 2 * requests);
    assert.ok(
      now.some(({ state }) => state !== 'passed'),
      'it has bid',
    );

    const { code, stderr } = await lance(inRedis, 'run');
    assert.equal(code, 78, stderr);
    assert.match(stderr, /Set LANCE_KAFKA_VIEWS to files/);
    await daemon.stop();
  });

  test('the next start goes on with the files', { timeout: 120_000 }, async () => {
    const daemon = await start(inFiles);
    const isOpen = () => daemon.lines.findLast(({ msg }) => msg.startsWith('bidding-'))?.msg === 'bidding-open';
    await eventually(async () => isOpen(), 60_000);
    const said = daemon.lines.map(({ msg }) => msg);
    assert.ok(!said.includes('rebuilding') && !said.includes('views-discarded'), said.join());
    await stage.sandbox.run(requests);
    assert.equal((await listed(inFiles)).length, 3 * requests);
    await daemon.stop();
  });

  test('it can be exported, and imported into another place with views in files', { timeout: 240_000 }, async () => {
    const moved = join(stage.directory, 'desk.ndjson.gz');
    const paused = await lance(inFiles, 'pause', '--by', 'ana', '--reason', 'it moves');
    assert.notEqual(paused.code, 78, paused.stderr);
    const exported = await lance(inFiles, 'export', moved);
    assert.equal(exported.code, 0, exported.stderr);
    const known = await listed(inFiles);

    const prefix = `${stack.prefix}new.`;
    const kafka = { topicPrefix: prefix, groupId: prefix, partitions: 3, replication: 1, views: 'files' };
    const path = join(stage.directory, 'new.json');
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${prefix}}:` } }));
    const there = {
      ...inRedis,
      LANCE_CONFIG: path,
      LANCE_DATA_DIR: join(stage.directory, 'new'),
      LANCE_KAFKA_VIEWS: 'files',
    };
    const imported = await lance(there, 'import', moved, '--json');
    assert.equal(imported.code, 0, imported.stderr);
    const { counts } = JSON.parse(imported.stdout) as { counts: { callbacks: number; callbacksDealtWith: number } };
    assert.ok(counts.callbacks > 0);
    assert.equal(counts.callbacksDealtWith, counts.callbacks, 'what was given to its request is not given again');
    const again = await lance(there, 'import', moved);
    assert.deepEqual([again.code, /not empty/.test(again.stderr)], [65, true], again.stderr);
    assert.deepEqual(await listed(there), known);

    const reader = openKafkaReader({ settings: settingsOn(stack, prefix) });
    const isKnown = new Set(known.map(({ requestId }) => requestId));
    const wins = async () => {
      let count = 0;
      for await (const { record } of readTopic(reader.log, 'auctions')) {
        const isWin = record.kind === 'contemplated' || record.kind === 'proposed';
        if (isWin && isKnown.has(record.requestId)) count += 1;
      }
      return count;
    };
    const arrived = await wins();
    assert.ok(arrived > 0);
    const daemon = await start(there);
    const resumed = await lance(there, 'resume', '--by', 'ana', '--reason', 'it has moved');
    assert.equal(resumed.code, 0, resumed.stderr);
    await stage.sandbox.run(requests);
    const now = await listed(there);
    assert.equal(now.length, known.length + requests);
    assert.equal(await wins(), arrived);
    await reader.close();
    await daemon.stop();
  });
});
