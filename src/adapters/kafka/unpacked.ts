/** Bytes that become more: the output of a decompression, up to a limit, with copies of what is in it already. */

/** The compressed bytes are damaged, or would become more than the limit. */
export class Unpackable extends Error {}

export class TooLong extends Unpackable {}

export type Unpacked = {
  length: () => number;
  append: (bytes: Buffer) => void;
  /** Repeats what stands `distance` before the end; where `count` is more, what was just written is repeated too. */
  repeat: (distance: number, count: number) => void;
  bytes: () => Buffer;
};

const firstBytes = 64 * 1024;

export function createUnpacked(limitBytes: number): Unpacked {
  let buffer = Buffer.allocUnsafe(Math.min(firstBytes, limitBytes));
  let length = 0;

  function makeRoom(count: number): void {
    const needed = length + count;
    if (needed > limitBytes) throw new TooLong(`it becomes more than ${limitBytes} bytes`);
    if (needed <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.min(limitBytes, Math.max(needed, 2 * buffer.length)));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  }

  return {
    length: () => length,
    append: (bytes) => {
      makeRoom(bytes.length);
      length += bytes.copy(buffer, length);
    },
    repeat: (distance, count) => {
      if (distance < 1 || distance > length) throw new Unpackable('it repeats what is not there');
      makeRoom(count);
      const end = length + count;
      // Each round doubles what can be copied at once.
      for (let step = distance; length < end; step *= 2) {
        const size = Math.min(step, end - length);
        buffer.copyWithin(length, length - step, length - step + size);
        length += size;
      }
    },
    bytes: () => buffer.subarray(0, length),
  };
}

/** Exactly `count` bytes at `at`. */
export function cut(bytes: Buffer, at: number, count: number): Buffer {
  if (at + count > bytes.length) throw new Unpackable('it is cut off');
  return bytes.subarray(at, at + count);
}
