/** A key goes to the partition that every other client finds for it, however long it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { partitionOfKey } from '../../../src/adapters/kafka/key-partition.ts';

test('a key goes where kafkajs would send it', () => {
  const partitionOf = Partitioners.DefaultPartitioner();
  const key = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.uuid(), fc.nat().map(String));
  fc.assert(
    fc.property(key, fc.integer({ min: 1, max: 500 }), (text, count) => {
      const partitionMetadata = Array.from({ length: count }, () => ({ leader: 0 })) as never;
      const expected = partitionOf({ topic: 't', partitionMetadata, message: { key: text, value: null } });
      assert.equal(partitionOfKey(text, count), expected);
    }),
    { numRuns: 2_000 },
  );
});

test('a very long key holds nothing up', () => {
  const startedAt = performance.now();
  partitionOfKey('k'.repeat(4_000_000), 12);
  assert.ok(performance.now() - startedAt < 1_000);
});
