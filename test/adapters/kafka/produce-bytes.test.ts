/** Our way of writing a produce request against that of kafkajs, byte by byte. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { crc32c, type ProduceBody, produceBytes } from '../../../src/adapters/kafka/produce-bytes.ts';

type Request = (body: ProduceBody) => { encode: () => Promise<{ buffer: Buffer }> };

const require = createRequire(import.meta.url);
const requestOfKafkajs = require('kafkajs/src/protocol/requests/produce/v7/request') as Request;
const checksumOfKafkajs = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 60, maxLength: 300 }));
const bytes = fc.uint8Array({ maxLength: 20_000 }).map((array) => Buffer.from(array));
const message = fc.record(
  {
    key: fc.option(fc.oneof(text, bytes)),
    value: fc.option(fc.oneof(text, bytes)),
    headers: fc.dictionary(text, fc.oneof(text, bytes), { maxKeys: 3 }),
  },
  { requiredKeys: ['value'] },
);
const partition = fc.record({
  partition: fc.nat({ max: 100 }),
  messages: fc.array(message, { minLength: 1, maxLength: 70, size: 'max' }),
});
const body: fc.Arbitrary<ProduceBody> = fc.record({
  acks: fc.constantFrom(-1, 1),
  timeout: fc.nat(),
  topicData: fc.array(fc.record({ topic: text, partitions: fc.array(partition, { minLength: 1, maxLength: 3 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
});

test('a produce request is written as kafkajs writes it', async (t) => {
  const at = Date.parse('2026-11-22T02:00:00Z');
  t.mock.timers.enable({ apis: ['Date'], now: at });
  await fc.assert(
    fc.asyncProperty(body, async (given) => {
      const { buffer } = await requestOfKafkajs(given).encode();
      assert.ok(produceBytes(given, at).equals(buffer));
    }),
    { numRuns: 60 },
  );
});

test('a checksum is the one that kafkajs takes, wherever the bytes begin and end', () => {
  fc.assert(
    fc.property(bytes, fc.nat({ max: 20 }), fc.nat({ max: 20 }), (given, before, after) => {
      const padded = Buffer.concat([Buffer.alloc(before, 1), given, Buffer.alloc(after, 2)]);
      assert.equal(crc32c(padded, before, before + given.length), checksumOfKafkajs(given));
    }),
  );
});

test('a checksum is that of the known example', () => {
  assert.equal(crc32c(Buffer.from('123456789'), 0, 9), 0xe3069283);
});
