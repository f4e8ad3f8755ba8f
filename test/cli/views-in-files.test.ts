/** A desk on Kafka, whose processes keep the views in files of their own: begun on a log that an earlier version folded in Redis. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import { openRedisStore } from '../../src/adapters/redis/store.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { readEarlierTerms } from '../../src/bidding/earlier-terms.ts';
import { callbackPartition, type NewEntry } from '../../src/bidding/ports.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { eventPrefix } from '../../src/origination/evolve.ts';
import { eventually } from '../conformance/backend.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';
import { loseKeys } from './kafka-desk.ts';

const requests = 30;
const windowMs = 5_000;
const partitions = 2;
const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };

type Listed = { requestId: string; state: string };

await describeOnStack('a desk with views in files', (stack) => {
  let stage: Played;
  let environment: Record<string, string>;
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
    environment = { ...stage.environment, LANCE_LANG: 'en', ...stackEnvironment(stack), ...placed(stack.prefix) };
  });
  after(async () => {
    for (const daemon of daemons) await daemon.stop();
    await stage.close();
  });

  /** The settings of a log of its own. */
  function placed(prefix: string): Record<'LANCE_CONFIG' | 'LANCE_DATA_DIR', string> {
    const path = join(stage.directory, `${prefix}json`);
    const kafka = { topicPrefix: prefix, groupId: prefix, partitions, replication: 1 };
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${prefix}}:` } }));
    return { LANCE_CONFIG: path, LANCE_DATA_DIR: join(stage.directory, prefix) };
  }

  /** Puts the records of a log into another one, and beside it what a version leaves that kept the views in Redis: all is dealt with. */
  async function leaveAsEarlier(from: string, prefix: string): Promise<void> {
    const source = readerOf(from);
    const to = await openKafkaLog({
      settings: { ...settingsOn(stack, prefix), partitions },
      seal: (_place, text) => text,
      onClosed: assert.fail,
      onStalled: assert.fail,
    });
    for (const topic of ['inputs', 'auctions', 'callbacks', 'flows'] as const) {
      const entries: NewEntry[] = [];
      for await (const { key, record } of readTopic(source.log, topic))
        if (record.kind !== 'fold-terms') entries.push({ topic, key, record } as NewEntry);
      if (entries.length > 0) await to.log.append(entries);
    }
    const admin = new Redis(stack.redisUrl);
    const [, key] = [await admin.hset(`{${prefix}}:v:0:g:rows`, 'r1', 'a row'), `{${prefix}}:applied`];
    await admin.hset(`{${prefix}}:generations`, '0', 'g');
    for (const [partition, end] of await to.log.ends('callbacks'))
      await admin.hset(key, String(callbackPartition(partition)), String(end));
    await admin.quit();
    await Promise.all([source.close(), to.close()]);
  }

  const readerOf = (prefix: string) => openKafkaReader({ settings: settingsOn(stack, prefix) });

  /** Records of a kind that stand under these keys. */
  async function count(
    prefix: string,
    topic: 'auctions' | 'flows',
    kinds: string[],
    keys: ReadonlySet<string>,
  ): Promise<number> {
    const reader = readerOf(prefix);
    let found = 0;
    for await (const { key, record } of readTopic(reader.log, topic))
      if (kinds.includes(record.kind) && keys.has(key)) found += 1;
    await reader.close();
    return found;
  }

  test('it waits for processes of a version that kept the views in Redis, and takes their log over', {
    timeout: 240_000,
  }, async () => {
    const source = `${stack.prefix}source.`;
    const first = { ...environment, ...placed(source) };
    // A process that only takes webhooks may be the first of all.
    const door = await start({ ...first, LANCE_ROLES: 'door' });
    const before = await startDaemon({ ...first, LANCE_ROLES: 'desk' });
    daemons.push(before);
    await stage.sandbox.run(requests);
    const known = await listed(first);
    assert.equal(known.length, requests);
    await before.stop();
    await door.stop();
    await leaveAsEarlier(source, stack.prefix);
    const ids = new Set(known.map(({ requestId }) => requestId));
    const wins = (prefix: string) => count(prefix, 'auctions', ['contemplated', 'proposed'], ids);
    const given = await wins(source);
    assert.ok(given > 0, 'there are winners');

    const earlier = await openRedisStore({ url: stack.redisUrl, keyPrefix: `{${stack.prefix}}:` });
    const show = () => earlier.control.acknowledge('earlier', 0, Date.now());
    await show();
    const living = setInterval(() => void show(), 500);
    const coming = Promise.all([start({ ...environment, LANCE_ROLES: 'door' }), start(environment)]);
    // Nothing else shows that they wait.
    await sleep(4_000);
    assert.equal(daemons.length, 2, 'one began beside a process that keeps the views in Redis');
    const log = readerOf(stack.prefix);
    assert.equal(await readEarlierTerms(log.log), null);
    clearInterval(living);
    await earlier.close();

    const [otherDoor, daemon] = await coming;
    for (const { lines } of [otherDoor, daemon])
      assert.ok(lines.some(({ msg, text }) => msg === 'waiting-for-store' && /still run/.test(String(text))));
    assert.equal((await readEarlierTerms(log.log))?.windowMs, windowMs);
    await log.close();
    await otherDoor.stop();
    stage.sandbox.connect(daemon.url);
    const files = () =>
      readdirSync(environment.LANCE_DATA_DIR!).filter((name) => /^auctions-.*\.sqlite$/.test(name)).length;
    // It has begun with the first partition that it was given; the others come in the same moment, or with the next round of the group.
    await eventually(() => files() === partitions, 20_000);
    assert.deepEqual(await listed(environment), known);
    const admin = new Redis(stack.redisUrl);
    assert.equal(await admin.exists(`{${stack.prefix}}:v:0:g:rows`, `{${stack.prefix}}:generations`), 0);
    await admin.quit();
    await stage.sandbox.run(requests);
    const now = await listed(environment);
    assert.equal(now.length, 2 * requests);
    assert.ok(
      now.some(({ state, requestId }) => !ids.has(requestId) && state !== 'passed'),
      'it has bid',
    );
    assert.equal(await wins(stack.prefix), given, 'no event was given to its request once more');
    await daemon.stop();
  });

  test('views in Redis are refused with what to do instead, by a start and by a command', async () => {
    for (const words of [['run'], ['bids', 'list']]) {
      const { code, stderr } = await lance({ ...environment, LANCE_KAFKA_VIEWS: 'redis' }, ...words);
      assert.equal(code, 78, stderr);
      assert.match(stderr, /LANCE_KAFKA_VIEWS .*is redis: .*nothing of them is lost; leave the setting out/);
    }
  });

  test('the next start goes on with the files', { timeout: 120_000 }, async () => {
    const daemon = await start(environment);
    const isOpen = () => daemon.lines.findLast(({ msg }) => msg.startsWith('bidding-'))?.msg === 'bidding-open';
    await eventually(async () => isOpen(), 60_000);
    const said = daemon.lines.map(({ msg }) => msg);
    assert.ok(!said.includes('rebuilding') && !said.includes('views-discarded'), said.join());
    await stage.sandbox.run(requests);
    assert.equal((await listed(environment)).length, 3 * requests);
    await daemon.stop();
  });

  /** An operation event under a code that no flow has, and how often a flow was told of one. */
  function eventsUnder(requestCode: string) {
    const flowIds = new Set([`${eventPrefix}${requestCode}`]);
    const told = () => count(stack.prefix, 'flows', ['told'], flowIds);
    const vault = createVault(environment.LANCE_PSEUDONYM_KEY!);
    const tell = async (error: string) => {
      const reader = readerOf(stack.prefix);
      const sealed = vault.seal(sealedPlaces.callback(requestCode), JSON.stringify({ error }));
      const record = {
        kind: 'operation-event',
        at: Date.now(),
        requestCode,
        endpoint: null,
        errors: [error],
        sealed,
      } as const;
      await reader.appendBeside([{ topic: 'callbacks', key: requestCode, record }]);
      await reader.close();
    };
    return { told, tell };
  }

  test('an event of no flow is kept once, also where Redis lost everything meanwhile', {
    timeout: 120_000,
  }, async () => {
    const { told, tell } = eventsUnder('code-of-nobody');
    const first = await start(environment);
    await tell('one');
    await eventually(async () => (await told()) === 1, 30_000);
    await first.stop();
    await tell('two');
    await loseKeys({ redisUrl: stack.redisUrl, prefix: stack.prefix });
    const second = await start(environment);
    await eventually(async () => (await told()) === 2, 60_000);
    await tell('three');
    await eventually(async () => (await told()) === 3, 30_000);
    await sleep(2_000);
    assert.equal(await told(), 3);
    await second.stop();
  });

  test('an event is given to its flow once, also where the broker has forgotten the offsets of the group', {
    timeout: 120_000,
  }, async () => {
    const { told, tell } = eventsUnder('code-of-a-long-stop');
    const first = await start(environment);
    for (const error of ['one', 'two', 'three']) await tell(error);
    await eventually(async () => (await told()) === 3, 30_000);
    await first.stop();
    await tell('four');
    const admin = new Kafka({ brokers: stack.brokers.split(','), logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId);
    const forgotten = groups.filter((group) => group.startsWith(stack.prefix) && group.endsWith('.callbacks.flows'));
    assert.ok(forgotten.length > 0, groups.join());
    await admin.deleteGroups(forgotten);
    await admin.disconnect();
    const second = await start(environment);
    await eventually(async () => (await told()) >= 4, 60_000);
    await tell('five');
    await eventually(async () => (await told()) >= 5, 30_000);
    await sleep(2_000);
    assert.equal(await told(), 5);
    await second.stop();
  });

  test('an accepted loss of the anchors gives no winner event to its request once more', {
    timeout: 120_000,
  }, async () => {
    const ids = new Set((await listed(environment)).map(({ requestId }) => requestId));
    const wins = () => count(stack.prefix, 'auctions', ['contemplated', 'proposed'], ids);
    const given = await wins();
    assert.ok(given > 0);
    const admin = new Kafka({ brokers: stack.brokers.split(','), logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${stack.prefix}anchors`] });
    await admin.disconnect();
    assert.equal((await lance(environment, 'run')).code, 65);
    const accepted = await lance(environment, 'audit', 'accept-restore', '--by', 'ana', '--reason', 'it was deleted');
    assert.equal(accepted.code, 0, accepted.stderr);
    const daemon = await start(environment);
    await eventually(() => daemon.lines.some(({ msg }) => msg === 'views-discarded'), 60_000);
    assert.deepEqual(new Set((await listed(environment)).map(({ requestId }) => requestId)), ids);
    // Events are looked at within a moment of the start.
    await sleep(5_000);
    assert.equal(await wins(), given);
    await daemon.stop();
  });

  test('it can be exported, and imported into another place', { timeout: 240_000 }, async () => {
    const moved = join(stage.directory, 'desk.ndjson.gz');
    const paused = await lance(environment, 'pause', '--by', 'ana', '--reason', 'it moves');
    assert.notEqual(paused.code, 78, paused.stderr);
    const exported = await lance(environment, 'export', moved);
    assert.equal(exported.code, 0, exported.stderr);
    const known = await listed(environment);

    const prefix = `${stack.prefix}new.`;
    const there = { ...environment, ...placed(prefix) };
    const imported = await lance(there, 'import', moved, '--json');
    assert.equal(imported.code, 0, imported.stderr);
    const { counts } = JSON.parse(imported.stdout) as { counts: { callbacks: number; callbacksDealtWith: number } };
    assert.ok(counts.callbacks > 0);
    assert.equal(counts.callbacksDealtWith, counts.callbacks, 'what was given to its request is not given again');
    const again = await lance(there, 'import', moved);
    assert.deepEqual([again.code, /not empty/.test(again.stderr)], [65, true], again.stderr);
    assert.deepEqual(await listed(there), known);

    const isKnown = new Set(known.map(({ requestId }) => requestId));
    const wins = () => count(prefix, 'auctions', ['contemplated', 'proposed'], isKnown);
    const arrived = await wins();
    assert.ok(arrived > 0);
    const daemon = await start(there);
    const resumed = await lance(there, 'resume', '--by', 'ana', '--reason', 'it has moved');
    assert.equal(resumed.code, 0, resumed.stderr);
    await stage.sandbox.run(requests);
    const now = await listed(there);
    assert.equal(now.length, known.length + requests);
    assert.equal(await wins(), arrived);
    await daemon.stop();
  });
});
