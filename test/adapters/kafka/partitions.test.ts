/** Readings of a whole partition: a broker that gives nothing for once must not make what it holds look shorter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kafka } from 'kafkajs';
import { createHouse, createRuleBook } from '../../../src/adapters/kafka/house.ts';
import type { PartitionReader, RawRecord } from '../../../src/adapters/kafka/partitions.ts';
import { createLogReading } from '../../../src/adapters/kafka/read-log.ts';
import { type KafkaSettings, kafkaDefaults } from '../../../src/adapters/kafka/settings.ts';
import { Fault } from '../../../src/errors.ts';

const settings: KafkaSettings = { ...kafkaDefaults, brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };
/** Never asked: what is read is read by the reader. */
const kafka = new Kafka({ brokers: [...settings.brokers] });

type Answer = Awaited<ReturnType<PartitionReader['fetch']>> extends ReadonlyMap<number, infer Part> ? Part : never;

const record = (offset: number, key: string, value: object | null): RawRecord => {
  return { offset, key, value: value === null ? null : Buffer.from(JSON.stringify(value)), timestamp: 0 };
};

/**
 * A partition of `end` offsets that holds `records`, two of them to an answer. `answer` may put another answer in place of the one to
 * the fetch with this number, from 0; null: the partition is not in it.
 */
function readerOf(
  records: readonly RawRecord[],
  end: number,
  answer: (number: number, right: Answer) => Answer | null = (_number, right) => right,
): PartitionReader {
  let asked = 0;
  return {
    fetch: async (_topic, froms) => {
      const [partition, from] = [...froms][0]!;
      const found = records.filter(({ offset }) => offset >= from).slice(0, 2);
      const right = { records: found, end, next: found.length === 0 ? from : found.at(-1)!.offset + 1 };
      const given = answer(asked, right);
      asked += 1;
      return new Map(given === null ? [] : [[partition, given]]);
    },
    offsets: async (_topic, which) => new Map([[0, which === 'first' ? 0 : end]]),
    partitionOf: async () => 0,
    exists: async () => true,
    disturbances: () => 0,
    close: async () => undefined,
  };
}

const emptied = ({ end }: Answer): Answer => ({ records: [], end, next: 0 });
const isUnavailable = (fault: unknown) => fault instanceof Fault && fault.code === 'log-unavailable';

const rules = [0, 1, 2, 3].map((offset) => record(offset, 'h', { kind: 'proposed', offset }));
const history = [0, 1, 2, 3].map((offset) => record(offset, 'r', { kind: 'passed', offset }));
const logOf = (reader: PartitionReader) => createLogReading(reader, (bytes) => JSON.parse(String(bytes)), settings);

test('a rule book and a history are whole where the broker gave nothing for once (defect line 16)', async () => {
  for (const silent of [0, 1]) {
    for (const nothing of [emptied, () => null]) {
      const slow = (records: readonly RawRecord[]) =>
        readerOf(records, 4, (number, right) => (number === silent ? nothing(right) : right));
      assert.equal((await createRuleBook(kafka, settings, slow(rules)).read()).length, 4);
      assert.equal((await logOf(slow(history)).readKey('auctions', 'r')).length, 4);
      assert.equal((await logOf(slow(history)).read('auctions', 0, 0, 100)).length, 4);
    }
  }
});

test('where the broker goes on giving nothing they are not read at all (defect line 16)', async () => {
  const stuck = (records: readonly RawRecord[]) =>
    readerOf(records, 4, (number, right) => (number > 0 ? emptied(right) : right));
  await Promise.all([
    assert.rejects(createRuleBook(kafka, settings, stuck(rules)).read(), isUnavailable),
    assert.rejects(logOf(stuck(history)).readKey('auctions', 'r'), isUnavailable),
  ]);
});

test('a compacted topic ends before its end offset where its last records are gone, and nowhere else', async () => {
  const mark = { kind: 'moved', file: 'desk.export', at: 1 };
  const kept = [record(2, 'mark', mark), record(7, 'origin/1', { kind: 'imported' })];
  const house = (answer?: Parameters<typeof readerOf>[2]) => createHouse(kafka, settings, readerOf(kept, 12, answer));
  assert.deepEqual(await house().read(), mark);
  assert.equal((await house().origins()).length, 1);
  // What is left of a batch may stand before where it is read on from: the answer moves on and brings nothing.
  const past = house((number, right) => (number === 0 ? { records: [], end: 12, next: 1 } : right));
  assert.deepEqual(await past.read(), mark);
  await Promise.all([
    assert.rejects(house((_number, right) => ({ ...emptied(right), end: 11 })).read(), isUnavailable),
    assert.rejects(house(() => null).read(), isUnavailable),
  ]);
});
