/** Several instances on one broker and one Redis: a set begins on all at the time announced, and who lacks it stops bidding. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KafkaLog, openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { kafkaDefaults } from '../../src/adapters/kafka/settings.ts';
import { openRedisStore, type RedisStore } from '../../src/adapters/redis/store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createGate, type Gate } from '../../src/bidding/gate.ts';
import type { Service } from '../../src/bidding/ports.ts';
import { announce, announceAheadMs } from '../../src/bidding/rule-book.ts';
import { createRuleDesk, type RuleDesk } from '../../src/bidding/rule-desk.ts';
import { eventually } from '../conformance/backend.ts';
import { describeOnStack } from '../stack/suite.ts';
import { settings } from './parts.ts';
import { createFolder, type Folder, filesNamed, policyNaming, setNamed, watchFolder } from './rule-sets.ts';

const clock = createSystemClock();
const service = { ready: () => true } as Service;
const [a, b, c] = ['a', 'b', 'c'].map((name) => setNamed(name).hash);

await describeOnStack('rule sets of several instances', (stack) => {
  const logs: KafkaLog[] = [];
  const redises: RedisStore[] = [];
  const closing: (() => Promise<void>)[] = [];

  const openLog = async (topicPrefix: string) => {
    const { brokers, registryUrl } = stack;
    const log = await openKafkaLog({
      settings: {
        ...kafkaDefaults,
        brokers: brokers.split(','),
        registryUrl,
        topicPrefix,
        partitions: 1,
        replication: 1,
      },
      seal: (_place, text) => text,
      onClosed: () => undefined,
      onStalled: () => undefined,
    });
    logs.push(log);
    return log;
  };

  type Instance = { gate: Gate; desk: RuleDesk; folder: Folder; followed: () => string | null };

  const openInstance = async (log: KafkaLog, name: string, set = 'a'): Promise<Instance> => {
    const redis = await openRedisStore({ url: stack.redisUrl, keyPrefix: `{${stack.prefix}}:` });
    redises.push(redis);
    const folder = createFolder(filesNamed(set));
    const { control } = redis;
    const desk = createRuleDesk({
      control,
      ruleBook: log.ruleBook,
      watch: watchFolder(folder),
      clock,
      approval: false,
      policyOf: policyNaming,
      onEvent: () => undefined,
    });
    await desk.start();
    let stopping = false;
    const gate = createGate({
      instance: name,
      control,
      service,
      clock,
      settings,
      stopping: () => stopping,
      onControl: desk.onControl,
      policy: desk.policy,
      timeDoubt: () => null,
      viewsWhole: () => true,
      onOpen: () => undefined,
    });
    await gate.start();
    closing.push(async () => {
      stopping = true;
      await gate.stop();
      await desk.stop();
      folder.remove();
    });
    return { gate, desk, folder, followed: () => desk.policy(clock.now())?.ruleSet.hash ?? null };
  };

  let one: Instance;
  let two: Instance;

  before(async () => {
    one = await openInstance(await openLog(stack.prefix), 'one');
    two = await openInstance(await openLog(stack.prefix), 'two');
  });

  after(async () => {
    for (const close of closing) await close();
    for (const log of logs) await log.close();
    for (const redis of redises) await redis.close();
  });

  test('a change in the folder of one begins on both at T + 2 s, and neither stops bidding', async () => {
    await eventually(() => one.followed() === a && two.followed() === a);
    const changedAt = clock.now();
    one.folder.put(filesNamed('b'));
    const switched = new Map<string, { before: number; after: number }>();
    const last = new Map([
      ['one', changedAt],
      ['two', changedAt],
    ]);
    await eventually(() => {
      for (const [name, { followed, gate }] of Object.entries({ one, two })) {
        if (switched.has(name)) continue;
        const now = clock.now();
        assert.equal(gate.closedBecause(), null, name);
        if (followed() === b) switched.set(name, { before: last.get(name)!, after: now });
        else last.set(name, now);
      }
      return switched.size === 2;
    }, 10_000);
    const order = (await redises[0]!.control.read()).ruleOrders.at(-1)!;
    assert.equal(order.hash, b);
    assert.ok(order.liveAt >= changedAt + announceAheadMs);
    for (const { before: lastOld, after: firstNew } of switched.values()) {
      assert.ok(lastOld < order.liveAt && firstNew >= order.liveAt, JSON.stringify({ lastOld, firstNew, order }));
    }
    const [forOne, forTwo] = [one, two].map(({ desk }) => [desk.policy(order.liveAt - 1), desk.policy(order.liveAt)]);
    assert.deepEqual(
      [forOne, forTwo].map((pair) => pair?.map((policy) => policy?.ruleSet.hash)),
      [
        [a, b],
        [a, b],
      ],
    );
  });

  test('an instance that lacks the set stops bidding when it begins, and goes on when it has it', async () => {
    // Its book is another desk's: what the others propose does not reach it.
    const apart = await openLog(`${stack.prefix}apart-`);
    await apart.ruleBook.append({
      kind: 'proposed',
      hash: b!,
      at: 1,
      by: null,
      against: null,
      changes: [],
      source: setNamed('b').source,
    });
    const three = await openInstance(apart, 'three', 'b');
    assert.deepEqual([three.followed(), three.gate.closedBecause()], [b, null]);
    one.folder.put(filesNamed('c'));
    await eventually(async () => (await redises[0]!.control.read()).ruleOrders.at(-1)!.hash === c, 5_000);
    const { liveAt } = (await redises[0]!.control.read()).ruleOrders.at(-1)!;
    await sleep(Math.max(0, liveAt - 300 - clock.now()));
    assert.deepEqual([three.followed(), three.gate.closedBecause()], [b, null], 'not before it begins');
    await eventually(() => clock.now() >= liveAt);
    assert.deepEqual([three.followed(), three.gate.closedBecause()], [null, 'rule-set-missing']);
    assert.deepEqual([one.followed(), two.followed()], [c, c]);
    assert.deepEqual([one.gate.closedBecause(), two.gate.closedBecause()], [null, null]);
    assert.match(three.desk.status().missing!, /nobody has proposed it here/);
    const { source } = setNamed('c');
    await apart.ruleBook.append({ kind: 'proposed', hash: c!, at: 2, by: null, against: null, changes: [], source });
    await eventually(() => three.gate.isOpen() && three.followed() === c);
  });

  test('what Redis has forgotten with all who knew it, the book tells the next one that starts', async () => {
    const fresh = await openRedisStore({ url: stack.redisUrl, keyPrefix: `{${stack.prefix}lost}:` });
    redises.push(fresh);
    const folder = createFolder([...filesNamed('a'), { path: 'rules.json', text: '[' }]);
    const desk = createRuleDesk({
      control: fresh.control,
      ruleBook: logs[0]!.ruleBook,
      watch: watchFolder(folder),
      clock,
      approval: false,
      policyOf: policyNaming,
      onEvent: () => undefined,
    });
    try {
      await desk.start();
      assert.equal(desk.policy(clock.now())?.ruleSet.hash, c);
      const { liveAt } = await announce(
        { ruleBook: logs[0]!.ruleBook, control: fresh.control, clock },
        { hash: a!, who: { by: 'ana', via: 'api' }, aheadMs: announceAheadMs },
      );
      desk.onControl(await fresh.control.read(), clock.monotonicMs());
      await eventually(() => desk.policy(liveAt)?.ruleSet.hash === a);
    } finally {
      await desk.stop();
      folder.remove();
    }
  });
});
