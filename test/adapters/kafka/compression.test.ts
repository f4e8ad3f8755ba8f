/** LZ4 and Snappy as others write them; what is damaged or made to fill the memory is refused. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';
import { UnreadableBatch, unpackedLimitBytes } from '../../../src/adapters/kafka/compression.ts';
import { unpackLz4 } from '../../../src/adapters/kafka/lz4.ts';
import { unpackSnappy } from '../../../src/adapters/kafka/snappy.ts';
import { Unpackable } from '../../../src/adapters/kafka/unpacked.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const limit = 1_000_000;

/** Without any checksum but the header's, which is not compared. */
const frameStart = '04224d18 60 40 82';
const lz4 = (...blocks: string[]) =>
  hex(`${frameStart}${blocks.map((block) => littleEndian(hex(block).length) + block).join('')}00000000`);
function littleEndian(size: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(size);
  return bytes.toString('hex');
}

test('lz4: literals, repetitions that overlap themselves and reach into the block before, raw blocks, frames in a row', () => {
  // 3 literals, then 12 from 3 before; 2 literals.
  const words = '38 616263 0300 20 7879';
  assert.equal(unpackLz4(lz4(words), limit).toString(), 'abcabcabcabcabcxy');
  // Of the second block: 0 literals, 4 from 17 before; 1 literal.
  assert.equal(unpackLz4(lz4(words, '00 1100 10 21'), limit).toString(), 'abcabcabcabcabcxyabca!');
  const raw = hex(`${frameStart} 03000080 ${Buffer.from('raw').toString('hex')} 00000000`);
  const skipped = hex('532a4d18 02000000 ffff');
  assert.equal(unpackLz4(Buffer.concat([raw, skipped, raw]), limit).toString(), 'rawraw');
  // Content size, checksums of block and content.
  const full = hex(
    `04224d18 7c 40 0300000000000000 82 03000080 ${Buffer.from('raw').toString('hex')} 11111111 00000000 22222222`,
  );
  assert.equal(unpackLz4(full, limit).toString(), 'raw');
  // 15 + 255 + 0 literals; then 4 + 15 + 255 + 1 from 1 before; nothing after it but no literals.
  const long = `ff ff 00 ${'61'.repeat(270)} 0100 ff 01 00`;
  assert.equal(unpackLz4(lz4(long), limit).toString(), 'a'.repeat(270 + 275));
});

test('snappy: plain, and in the blocks of the Java client', () => {
  // 17 bytes; 3 literals; 12 from 3 before with two bytes; 2 literals.
  const plain = hex('11 08 616263 2e 0300 04 7879');
  assert.equal(unpackSnappy(plain, limit).toString(), 'abcabcabcabcabcxy');
  // 7 bytes; 3 literals; 4 from 3 before with one byte.
  assert.equal(unpackSnappy(hex('07 08 616263 01 03'), limit).toString(), 'abcabca');
  // The same with four bytes.
  assert.equal(unpackSnappy(hex('07 08 616263 0f 03000000'), limit).toString(), 'abcabca');
  const long = Buffer.concat([hex('ac02 f4 2b01'), Buffer.alloc(300, 'b')]);
  assert.equal(unpackSnappy(long, limit).toString(), 'b'.repeat(300));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(plain.length);
  const java = Buffer.concat([hex('82534e4150505900 00000001 00000001'), size, plain, size, plain]);
  assert.equal(unpackSnappy(java, limit).toString(), 'abcabcabcabcabcxy'.repeat(2));
});

test('what is damaged is refused, whatever the bytes are', () => {
  for (const bytes of [
    hex('04224d18'),
    hex('00000000 00000000'),
    lz4('38 616263 0400 00'),
    lz4('38 616263 0000 00'),
    lz4('f0 ff'),
    lz4('38 6162'),
    hex(`${frameStart} ff000000 00`),
    hex('04224d18 61 40 82 00000000'),
  ])
    assert.throws(() => unpackLz4(bytes, limit), Unpackable, bytes.toString('hex'));
  for (const text of [
    '',
    '80',
    '05 08 616263',
    '07 08 616263 01 04',
    '07 08 616263 01 00',
    '03 08 6162',
    '82534e4150505900 00000001 00000001 00000009 00',
  ]) {
    assert.throws(() => unpackSnappy(hex(text), limit), Unpackable, text);
  }
  const starts = [hex(frameStart), hex('82534e4150505900 00000001 00000001 0000003c'), Buffer.alloc(0)];
  for (let round = 0; round < 3_000; round += 1) {
    const bytes = Buffer.concat([starts[round % 3]!, randomBytes(64)]);
    for (const unpack of [unpackLz4, unpackSnappy]) {
      try {
        assert.ok(unpack(bytes, limit).length <= limit);
      } catch (cause) {
        assert.ok(cause instanceof Unpackable, String(cause));
      }
    }
  }
});

test('what would become more than the limit is refused before it takes the memory', async () => {
  const bomb = Buffer.from(`1f 61 0100 ${'ff'.repeat(300_000)} 00`.replaceAll(' ', ''), 'hex');
  const packed = {
    LZ4: Buffer.concat([hex(`${frameStart}${littleEndian(bomb.length)}`), bomb, Buffer.alloc(4)]),
    Snappy: Buffer.concat([hex('ffffffff0f 00 61'), hex('fe 0100'.repeat(1_100_000))]),
    GZIP: gzipSync(Buffer.alloc(unpackedLimitBytes + 1)),
    ZSTD: zstdCompressSync(Buffer.alloc(unpackedLimitBytes + 1)),
  };
  for (const [name, bytes] of Object.entries(packed)) {
    const type = kafkajs.CompressionTypes[name as keyof typeof packed];
    await assert.rejects(kafkajs.CompressionCodecs[type]!().decompress(bytes), (cause: unknown) => {
      assert.ok(cause instanceof UnreadableBatch, String(cause));
      assert.ok(cause.message.startsWith(`${name.toLowerCase()}: `), cause.message);
      return true;
    });
  }
  const most = zstdCompressSync(Buffer.alloc(unpackedLimitBytes));
  const { length } = await kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]!().decompress(most);
  assert.equal(length, unpackedLimitBytes);
});
