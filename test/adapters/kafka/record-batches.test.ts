/** Batches whose bytes changed on a broker's disk: what would be passed over in them could be ours. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import '../../../src/adapters/kafka/kafkajs-mends.ts';
import { UnreadableBatch } from '../../../src/adapters/kafka/compression.ts';

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder');
const Record = require('kafkajs/src/protocol/recordBatch/record/v0');
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0');
const decodeMessages = require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages');

async function batchOf(keys: readonly (Buffer | string | null)[], compression = 0): Promise<Buffer> {
  const records = keys.map((key, offsetDelta) => Record({ key, value: 'a claim', offsetDelta }));
  const { buffer } = await RecordBatch({ firstOffset: 5, lastOffsetDelta: keys.length - 1, records, compression });
  return buffer;
}

function read(batch: Buffer): Promise<{ key: Buffer | null; offset: string }[]> {
  const size = Buffer.alloc(4);
  size.writeInt32BE(batch.length);
  return decodeMessages(new Decoder(Buffer.concat([size, batch])));
}

test('a record whose key is no text is given where the checksum of its batch is right, and refused where it is not', async () => {
  const whole = await read(await batchOf(['r1', null, Buffer.from([0xff, 0x41])]));
  assert.deepEqual(
    whole.map(({ offset, key }) => [offset, key?.toString('hex') ?? null]),
    [
      ['5', '7231'],
      ['6', null],
      ['7', 'ff41'],
    ],
  );
  const changed = await batchOf(['r1', 'r2']);
  const keyAt = changed.indexOf('r2');
  changed[keyAt] = 0xff;
  await assert.rejects(read(changed), (cause) => {
    assert.ok(cause instanceof UnreadableBatch);
    assert.deepEqual([cause.isDamaged, cause.offsets], [true, { first: 5, last: 6 }]);
    return true;
  });
});

test('a compressed batch whose bytes changed is damaged, whatever its compression says', async () => {
  const changed = await batchOf(['r1', 'r2'], 1);
  changed[changed.length - 20]! ^= 0xff;
  await assert.rejects(read(changed), (cause) => cause instanceof UnreadableBatch && cause.isDamaged);
});
