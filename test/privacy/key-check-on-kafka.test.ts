/** Several processes begin at once on Kafka with different pseudonym keys; compaction then leaves the last record of each key. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { Kafka } from 'kafkajs';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { type KafkaSettings, topicNameOf } from '../../src/adapters/kafka/settings.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { claimKey as claimAs, judgeKey } from '../../src/bidding/key-check.ts';
import { claimLogId } from '../../src/bidding/log-id.ts';
import type { EventLog } from '../../src/bidding/ports.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import type { Vault } from '../../src/domain/vault.ts';
import { eventually } from '../conformance/backend.ts';
import { countingReader, settingsOn } from '../conformance/kafka-log.ts';
import { describeOnStack } from '../stack/suite.ts';

const ours = createVault('the key that the desk began with, of a test');
const other = createVault('another key of the very same test, and wrong');
/** As a process that has just begun. */
const claimKey = (log: EventLog, vault: Vault) => claimAs(log, vault, randomUUID());
const changed = { code: 'pseudonym-key-changed' };

/** The process is killed at this append, or right after it. */
function dyingAt(log: EventLog, count: number, when: 'before' | 'after', meanwhile = async () => {}): EventLog {
  let appends = 0;
  return {
    ...log,
    append: async (entries) => {
      appends += 1;
      if (appends < count) return log.append(entries);
      // It had read that nothing stands there; what others do comes first now.
      await meanwhile();
      if (when === 'after') await log.append(entries);
      throw new Error('killed');
    },
  };
}

/** Lets the broker compact, and waits until it has: of one key's records the last is left. */
async function compacted(settings: KafkaSettings, log: EventLog): Promise<void> {
  const kafka = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const configEntries = Object.entries({
    ...{ 'cleanup.policy': 'compact', 'segment.ms': '100', 'min.cleanable.dirty.ratio': '0.0001' },
    ...{ 'max.compaction.lag.ms': '200', 'min.compaction.lag.ms': '0' },
    'max.message.bytes': '8388608',
  }).map(([name, value]) => ({ name, value }));
  const name = topicNameOf(settings, 'inputs');
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries }];
  await admin.alterConfigs({ validateOnly: false, resources });
  await admin.disconnect();
  const ends = await log.ends('inputs');
  const fill = async (hash: string) => {
    await sleep(150);
    await log.append([{ topic: 'inputs', key: hash, record: { kind: 'settings', hash, content: hash } }]);
  };
  const fillers = Array.from({ length: 12 }, (_, index) => `filler-${index}`);
  for (let round = 0; round < 3; round += 1) for (const key of fillers) await fill(key);
  await eventually(async () => {
    for (const key of fillers) await fill(key);
    const found = await Promise.all(fillers.map((key) => log.readKey('inputs', key)));
    return found.every(([first]) => first!.offset > ends.get(first!.partition)! + 2 * fillers.length);
  }, 60_000);
}

await describeOnStack('the pseudonym key on Kafka', (stack) => {
  const opened = (settings: KafkaSettings) =>
    openKafkaLog({
      settings,
      seal: ({ key }, text) => `sealed:${key}:${text}`,
      onClosed: () => undefined,
      onStalled: (fault) => {
        throw fault;
      },
    });

  test('a process that writes late and dies changes nothing, and compaction neither', {
    timeout: 120_000,
  }, async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}late.`), partitions: 1 };
    const { log, close } = await opened(settings);
    try {
      await assert.rejects(
        claimKey(
          dyingAt(log, 1, 'after', () => claimKey(log, ours)),
          other,
        ),
        /killed/,
      );
      assert.equal(await judgeKey(log, ours), 'fits');
      assert.equal(await judgeKey(log, other), 'other');
      await compacted(settings, log);
      assert.equal(await judgeKey(log, ours), 'fits');
      await assert.rejects(claimKey(log, other), changed);
      await claimKey(log, ours);
    } finally {
      await close();
    }
  });

  test('whoever dies on the way, the first one counts for all that follow', { timeout: 120_000 }, async () => {
    for (const [count, when] of [
      [1, 'before'],
      [1, 'after'],
      [2, 'before'],
      [2, 'after'],
    ] as const) {
      const settings = settingsOn(stack, `${stack.prefix}dies-${count}-${when}.`);
      const { log, close } = await opened(settings);
      try {
        await assert.rejects(claimKey(dyingAt(log, count, when), ours), /killed/);
        const isFirst = count > 1 || when === 'after';
        const [first, second] = isFirst ? [ours, other] : [other, ours];
        if (isFirst) await assert.rejects(claimKey(log, second), changed);
        await claimKey(log, first);
        await assert.rejects(claimKey(log, second), changed);
      } finally {
        await close();
      }
    }
  });

  test('the log gets one id, of many that begin at once and after compaction', { timeout: 120_000 }, async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}id.`), partitions: 3 };
    const { log, close } = await opened(settings);
    try {
      const dies = claimLogId(
        dyingAt(log, 1, 'after', () => claimLogId(log, randomUUID()).then(() => undefined)),
        randomUUID(),
      );
      await assert.rejects(dies, /killed/);
      const known = await claimLogId(log, randomUUID());
      await compacted(settings, log);
      const ids = await Promise.all(Array.from({ length: 8 }, () => claimLogId(log, randomUUID())));
      assert.deepEqual([...new Set(ids)], [known]);
    } finally {
      await close();
    }
  });

  test('a start reads what is agreed by its place, however many inputs there are', { timeout: 120_000 }, async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}place.`), partitions: 1 };
    const { log, close } = await opened(settings);
    const curves = (from: number) =>
      Array.from({ length: 500 }, (_, index) => {
        const hash = `curve-${from + index}`;
        return { topic: 'inputs', key: hash, record: { kind: 'win-curve', hash, content: hash } } as const;
      });
    try {
      for (let from = 0; from < 5_000; from += 500) await log.append(curves(from));
      await claimKey(log, ours);
      const id = await claimLogId(log, randomUUID());
      for (let from = 5_000; from < 10_000; from += 500) await log.append(curves(from));
      const reader = await countingReader(JSON.stringify(settings));
      const readOf = async (name: string) => (await reader.readKey('inputs', name)).map(({ record }) => record);
      try {
        assert.deepEqual(await readOf('log-id'), [{ kind: 'log-id', hash: 'log-id', content: id }]);
        assert.deepEqual((await readOf('key-check')).length, 1);
        const looked = reader.taken();
        assert.ok(looked < 50, `${looked} records were read`);
        // Compaction leaves one that was written again.
        const record = { kind: 'log-id', hash: 'log-id', content: id } as const;
        await log.append([{ topic: 'inputs', key: 'log-id', record }]);
        await compacted(settings, log);
        assert.deepEqual(await readOf('log-id'), [record]);
        assert.ok(reader.taken() > 5_000, 'it is looked for where its place does not fit');
        assert.deepEqual(await readOf('log-id'), [record]);
        assert.ok(reader.taken() < 50);
      } finally {
        await reader.close();
      }
    } finally {
      await close();
    }
  });

  test('of many that begin at once those with one key stay, the same ones in every reading', {
    timeout: 120_000,
  }, async () => {
    const settings = settingsOn(stack, `${stack.prefix}many.`);
    const { log, close } = await opened(settings);
    try {
      const vaults = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? ours : other));
      const ends = await Promise.allSettled(vaults.map((vault) => claimKey(log, vault)));
      const stayed = new Set(vaults.filter((_, index) => ends[index]!.status === 'fulfilled'));
      assert.equal(stayed.size, 1);
      const candidates = (await Array.fromAsync(readTopic(log, 'inputs'))).filter(
        ({ record }) => record.kind === 'key-check',
      );
      assert.equal(new Set(candidates.map(({ partition }) => partition)).size, 1, 'in one partition, so in one order');
      for (const vault of [ours, other]) assert.equal(await judgeKey(log, vault), stayed.has(vault) ? 'fits' : 'other');
    } finally {
      await close();
    }
  });
});
