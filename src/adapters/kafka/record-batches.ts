/**
 * Reads batches of records for kafkajs, which compares no checksum and does not say which batch it cannot read. A broker compares
 * the checksum when it takes a batch in, not when it gives it out, so the bytes of one may have changed on its disk.
 *
 * A batch that becomes more than `unpackedLimitBytes` is given as one record without a key, which says so: no process of a desk
 * writes a tenth of that at once, so it holds no record of ours and is passed over. Its checksum is compared first, as is that of a batch with
 * a record that would be passed over for its key: the record could be one of ours whose bytes have changed.
 */
import { hash } from 'node:crypto';
import { createRequire } from 'node:module';
import { UnreadableBatch, unpackedLimitBytes } from './compression.ts';
import { isNameOfSomething, keyText } from './key-partition.ts';
import { crc32c } from './produce-bytes.ts';

type Decoder = { buffer: Buffer; offset: number };
type Decoded = { key: Buffer | null; problem?: string };
type Batch = { records: readonly Decoded[] };

/** Where each part of a batch stands. */
const at = { firstOffset: 0, length: 8, checksum: 17, checked: 21, lastOffsetDelta: 23, newestAt: 35 } as const;
/** The length counts from here. */
const lengthFrom = 12;

const require = createRequire(import.meta.url);
const place = require.resolve('kafkajs/src/protocol/recordBatch/v0/decoder');
const decode = require(place) as (decoder: Decoder) => Promise<Batch>;

async function readBatch(decoder: Decoder): Promise<Batch> {
  const bytes = decoder.buffer.subarray(decoder.offset);
  let batch: Batch;
  try {
    batch = await decode(decoder);
  } catch (cause) {
    // A fetch may end in the middle of a batch, which then comes again.
    if (!(cause instanceof UnreadableBatch) && !isWhole(bytes)) throw cause;
    needIntact(bytes);
    const unreadable = cause instanceof UnreadableBatch ? cause : new UnreadableBatch('records', cause as Error);
    if (!unreadable.isTooLong) {
      const timestamp = Number(bytes.readBigInt64BE(at.newestAt));
      throw Object.assign(unreadable, { offsets: offsetsOf(bytes), sha256: sha256Of(bytes), timestamp });
    }
    return { records: [standInFor(bytes, unreadable)] };
  }
  if (batch.records.some(({ key }) => !isNameOfSomething(keyText(key)))) needIntact(bytes);
  return batch;
}

// Before anything of kafkajs that reads batches is loaded, which is when the first one is fetched.
require.cache[place]!.exports = readBatch;

function endOf(bytes: Buffer): number {
  return lengthFrom + bytes.readInt32BE(at.length);
}

function isWhole(bytes: Buffer): boolean {
  return bytes.length > lengthFrom && bytes.length >= endOf(bytes);
}

function sha256Of(bytes: Buffer): string {
  return hash('sha256', bytes.subarray(0, endOf(bytes)), 'hex');
}

function offsetsOf(bytes: Buffer): { first: number; last: number } {
  const first = Number(bytes.readBigInt64BE(at.firstOffset));
  return { first, last: first + bytes.readInt32BE(at.lastOffsetDelta) };
}

function needIntact(bytes: Buffer): void {
  if (crc32c(bytes, at.checked, endOf(bytes)) === bytes.readUInt32BE(at.checksum)) return;
  const damaged = new UnreadableBatch('CRC-32C', new Error('its checksum is not that of its bytes'));
  throw Object.assign(damaged, { offsets: offsetsOf(bytes), isDamaged: true });
}

function standInFor(bytes: Buffer, { message }: UnreadableBatch): Decoded {
  const { first, last } = offsetsOf(bytes);
  const limit = `${unpackedLimitBytes / 1024 / 1024} MB`;
  const record = {
    offset: String(last),
    key: null,
    value: null,
    headers: {},
    timestamp: String(bytes.readBigInt64BE(at.newestAt)),
    isControlRecord: false,
    batchContext: { firstOffset: String(first), lastOffsetDelta: last - first },
    problem: `The batch of the offsets ${first} to ${last} becomes more than ${limit} (${message}), as no desk writes`,
  };
  return record;
}
