/**
 * Reads LZ4 frames, as Kafka's clients write them. Checksums are not compared, for a batch of Kafka has one of its own. Of our own,
 * because the libraries there are have rested for years or are native code.
 */
import { createUnpacked, cut, Unpackable, type Unpacked } from './unpacked.ts';

const magic = 0x184d2204;
/** The last four bits count for nothing. */
const skippedMagic = 0x184d2a50;

/** Bits of the frame's flags. */
const flag = { blockChecksum: 0x10, contentSize: 0x08, contentChecksum: 0x04, dictionary: 0x01 };
const rawBlock = 0x80000000;

/** Throws `Unpackable`. */
export function unpackLz4(bytes: Buffer, limitBytes: number): Buffer {
  const unpacked = createUnpacked(limitBytes);
  for (let at = 0; at < bytes.length; ) at = readFrame(bytes, at, unpacked);
  return unpacked.bytes();
}

/** Returns where the next one begins. */
function readFrame(bytes: Buffer, start: number, unpacked: Unpacked): number {
  const found = numberAt(bytes, start);
  // Bits of 32 are signed in JavaScript.
  if ((found & 0xfffffff0) >>> 0 === skippedMagic) return start + 8 + numberAt(bytes, start + 4);
  if (found !== magic) throw new Unpackable('it is no LZ4 frame');
  const flags = cut(bytes, start + 4, 3)[0]!;
  const has = (bit: number) => (flags & bit) !== 0;
  if (has(flag.dictionary)) throw new Unpackable('it needs a dictionary');
  // Magic, flags, block size, checksum of the header.
  let at = start + 7 + (has(flag.contentSize) ? 8 : 0);
  for (;;) {
    const size = numberAt(bytes, at);
    at += 4;
    if (size === 0) break;
    const block = cut(bytes, at, size & ~rawBlock);
    if (size >= rawBlock) unpacked.append(block);
    else readBlock(block, unpacked);
    at += block.length + (has(flag.blockChecksum) ? 4 : 0);
  }
  return at + (has(flag.contentChecksum) ? 4 : 0);
}

function numberAt(bytes: Buffer, at: number): number {
  return cut(bytes, at, 4).readUInt32LE();
}

/** Literals and repetitions in turn; the last sequence has literals alone. */
function readBlock(block: Buffer, unpacked: Unpacked): void {
  let at = 0;

  /** A length of 15 goes on in the bytes that follow, as long as they are 255. */
  function lengthFrom(nibble: number): number {
    let length = nibble;
    for (let more = nibble === 15 ? 255 : 0; more === 255; length += more) {
      more = cut(block, at, 1)[0]!;
      at += 1;
    }
    return length;
  }

  while (at < block.length) {
    const token = block[at]!;
    at += 1;
    const literals = lengthFrom(token >>> 4);
    unpacked.append(cut(block, at, literals));
    at += literals;
    if (at === block.length) return;
    const distance = cut(block, at, 2).readUInt16LE();
    at += 2;
    unpacked.repeat(distance, lengthFrom(token & 15) + 4);
  }
}
