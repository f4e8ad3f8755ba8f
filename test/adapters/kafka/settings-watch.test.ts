/** Topics that somebody alters below a running process: noticed, told once, and forgotten when they are safe again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import kafkajs, { type Admin, Kafka } from 'kafkajs';
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import { type KafkaTopic, topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import { watchSettings } from '../../../src/adapters/kafka/settings-watch.ts';
import { eventually } from '../../conformance/backend.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { describeOnStack, type SuiteStack } from '../../stack/suite.ts';

/** Twice the time between two looks, and some for a busy machine. */
const noticedMs = 45_000;
const longest = '8388608';

function testRunning(stack: SuiteStack): void {
  const changes: readonly { topic: KafkaTopic; name: string; unsafe: string; safe: string }[] = [
    { topic: 'auctions', name: 'min.insync.replicas', unsafe: '2', safe: '1' },
    { topic: 'flows', name: 'retention.ms', unsafe: '3600000', safe: '-1' },
    { topic: 'callbacks', name: 'unclean.leader.election.enable', unsafe: 'true', safe: 'false' },
    { topic: 'house', name: 'cleanup.policy', unsafe: 'delete', safe: 'compact' },
    { topic: 'inputs', name: 'max.message.bytes', unsafe: '1048588', safe: longest },
  ];

  test('topics that are altered under a running log are told with each remedy, until they are safe again', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}altered.`);
    const told: string[] = [];
    const opened = await openKafkaLog({
      ...{ settings, seal: (_place, text) => text, onClosed: assert.fail, onStalled: assert.fail },
      onUnsafe: (text) => told.push(text),
    });
    context.after(() => opened.close());
    const admin: Admin = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING }).admin();
    await admin.connect();
    context.after(() => admin.disconnect());
    const alter = (which: 'safe' | 'unsafe') =>
      admin.alterConfigs({
        validateOnly: false,
        resources: changes.map(({ topic, name, [which]: value }) => ({
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: topicNameOf(settings, topic),
          // What is left out is set back to the broker's own.
          configEntries: [
            { name: 'cleanup.policy', value: topic === 'house' || topic === 'inputs' ? 'compact' : 'delete' },
            { name: 'retention.ms', value: '-1' },
            { name: 'max.message.bytes', value: longest },
          ]
            .filter((each) => each.name !== name)
            .concat({ name, value }),
        })),
      });
    assert.equal(opened.unsafe(), null);
    await alter('unsafe');
    await eventually(() => opened.unsafe() !== null, noticedMs);
    for (const { topic, name, unsafe } of changes) {
      assert.ok(
        opened.unsafe()!.includes(`The topic ${topicNameOf(settings, topic)} has ${name}=${unsafe}`),
        opened.unsafe()!,
      );
    }
    assert.deepEqual(told, [opened.unsafe()]);
    assert.equal(opened.unwritable(), null, 'webhooks are still stored');
    await alter('safe');
    await eventually(() => opened.unsafe() === null, noticedMs);
    assert.equal(told.length, 1);
    await opened.log.append([auctionEntry('after', '1')]);
  });
}

await describeOnStack('settings of topics on Kafka', testRunning);

const pausesMs = { every: 5, again: 1 };

test('what is found counts when a second look finds it too, and what the brokers do not tell changes nothing', async () => {
  const unsafe = 'The topic t has retention.ms=1; set it to -1.';
  const text = `The settings of the topics are not safe (topics-unsafe): ${unsafe}`;
  const refused = Object.assign(new Error('Not authorized'), { type: 'TOPIC_AUTHORIZATION_FAILED' });
  const away = new Error('connect ECONNREFUSED');
  /** The last one goes on. */
  const answers: (Error | string[])[] = [[unsafe], [], [unsafe], [unsafe], away, refused, refused, [unsafe], refused];
  const told: string[] = [];
  const lines: string[] = [];
  let looks = 0;
  const troubles: (string | null)[] = [];
  const watch = watchSettings({
    look: async () => {
      troubles.push(watch.trouble());
      const answer = answers[Math.min(looks, answers.length - 1)]!;
      looks += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    ...{ onUnsafe: (said) => told.push(said), onLine: (level, line) => lines.push(`${level} ${line}`), pausesMs },
  });
  await eventually(() => looks > answers.length + 2);
  await watch.stop();
  assert.deepEqual(troubles.slice(0, 8), [null, null, null, null, text, text, text, text]);
  assert.equal(watch.trouble(), text, 'it is not forgotten where nobody may look');
  assert.deepEqual(told, [text]);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^warn The settings of the topics cannot be watched: .*TOPIC_AUTHORIZATION_FAILED/);
});
