/** Readings of a whole partition: a broker that gives nothing for once must not make what it holds look shorter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kafka } from 'kafkajs';
import {
  createControlCopies,
  createGenesisBook,
  createHouse,
  createRuleBook,
  createTokenBook,
} from '../../../src/adapters/kafka/house.ts';
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
      assert.equal((await createRuleBook(kafka, settings, slow(rules), assert.fail).read()).length, 4);
      assert.equal((await logOf(slow(history)).readKey('auctions', 'r')).length, 4);
      assert.equal((await logOf(slow(history)).read('auctions', 0, 0, 100)).length, 4);
    }
  }
});

test('where the broker goes on giving nothing they are not read at all (defect line 16)', async () => {
  const stuck = (records: readonly RawRecord[]) =>
    readerOf(records, 4, (number, right) => (number > 0 ? emptied(right) : right));
  await Promise.all([
    assert.rejects(createRuleBook(kafka, settings, stuck(rules), assert.fail).read(), isUnavailable),
    assert.rejects(logOf(stuck(history)).readKey('auctions', 'r'), isUnavailable),
  ]);
});

test('a compacted topic ends before its end offset where its last records are gone, and nowhere else', async () => {
  const mark = { kind: 'moved', file: 'desk.export', at: 1 };
  const kept = [record(2, 'mark', mark), record(7, 'origin/1', { kind: 'imported' })];
  const house = (answer?: Parameters<typeof readerOf>[2]) =>
    createHouse(kafka, settings, readerOf(kept, 12, answer), assert.fail);
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

test('a record of house or rules that no desk wrote is passed over and told, and hides nothing of what it stands beside', async () => {
  const unread = (offset: number, key: string, text: string): RawRecord => ({
    ...record(offset, key, null),
    value: Buffer.from(text),
  });
  const kept = [
    unread(0, 'origin/x', '{not json'),
    record(1, 'origin/1', { kind: 'imported' }),
    unread(2, 'token/x', 'null'),
    record(3, 'token/1', { kind: 'revoked' }),
    unread(4, 'genesis/x', '{not json'),
    record(5, 'genesis/y', { id: 7, at: 1, after: null }),
    record(6, 'genesis/1', { id: 'one', at: 1, after: null }),
    unread(7, 'control/x', '{not json'),
  ];
  const told: string[] = [];
  const tell = (text: string) => told.push(text);
  const reader = () => readerOf(kept, 8);
  const house = createHouse(kafka, settings, reader(), tell);
  assert.deepEqual(await house.origins(), [{ kind: 'imported' }]);
  assert.deepEqual(await house.origins(), [{ kind: 'imported' }]);
  assert.deepEqual(await createTokenBook(kafka, settings, reader(), tell).read(), [{ kind: 'revoked' }]);
  assert.deepEqual(await createGenesisBook(kafka, settings, reader(), tell).read(), {
    id: 'one',
    at: 1,
    dealtWith: {},
  });
  const copies = createControlCopies(kafka, settings, reader(), tell);
  for (const { place } of [...(await copies.read()), ...(await copies.read())]) copies.passOver(place);
  const book = createRuleBook(kafka, settings, readerOf([unread(0, 'h', '{'), ...rules.slice(1)], 4), tell);
  assert.equal((await book.read()).length, 3);
  assert.deepEqual(
    told.map((text) => text.split(' cannot be read')[0]),
    [...[0, 2, 4, 5, 7].map((offset) => `lance.house/0 at ${offset}`), 'lance.rules/0 at 0'],
  );
});
