/**
 * Reads Snappy, plain and in the blocks that the Java client writes. Of our own, because the library there is takes its memory by what
 * the bytes claim.
 */
import { createUnpacked, cut, Unpackable, type Unpacked } from './unpacked.ts';

/** With two numbers of four bytes behind it: version, and the oldest that can read it. */
const javaMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);

/** Throws `Unpackable`. */
export function unpackSnappy(bytes: Buffer, limitBytes: number): Buffer {
  const unpacked = createUnpacked(limitBytes);
  if (!bytes.subarray(0, javaMagic.length).equals(javaMagic)) readBlock(bytes, unpacked);
  else {
    for (let at = javaMagic.length + 8; at < bytes.length; ) {
      const block = cut(bytes, at + 4, cut(bytes, at, 4).readUInt32BE());
      readBlock(block, unpacked);
      at += 4 + block.length;
    }
  }
  return unpacked.bytes();
}

/** The length that it becomes, then literals and repetitions in any order. */
function readBlock(block: Buffer, unpacked: Unpacked): void {
  const before = unpacked.length();
  let [length, shift, at] = [0, 1, 0];
  for (let byte = 128; byte >= 128; at += 1, shift *= 128) {
    byte = cut(block, at, 1)[0]!;
    length += (byte % 128) * shift;
  }
  while (at < block.length) {
    const tag = block[at]!;
    at += 1;
    const kind = tag & 3;
    if (kind === 0) {
      const size = (tag >>> 2) - 59;
      // 60 to 63: the length stands in as many bytes as it is more than 59.
      const count = size > 0 ? cut(block, at, size).readUIntLE(0, size) + 1 : (tag >>> 2) + 1;
      at += Math.max(0, size);
      unpacked.append(cut(block, at, count));
      at += count;
    } else if (kind === 1) {
      unpacked.repeat(((tag >>> 5) << 8) + cut(block, at, 1)[0]!, ((tag >>> 2) & 7) + 4);
      at += 1;
    } else {
      const size = kind === 2 ? 2 : 4;
      unpacked.repeat(cut(block, at, size).readUIntLE(0, size), (tag >>> 2) + 1);
      at += size;
    }
  }
  if (unpacked.length() - before !== length) throw new Unpackable('it is not as long as it says');
}
