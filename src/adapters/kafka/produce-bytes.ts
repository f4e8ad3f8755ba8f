/**
 * The body of a produce request, versions 3 to 7, written in one go. kafkajs puts each record, batch and partition into a
 * buffer of its own and copies it into the next larger one six times, and takes its checksum byte by byte.
 */

type ProducedMessage = {
  key?: string | Buffer | null;
  value: string | Buffer | null;
  headers?: Readonly<Record<string, string | Buffer | null>>;
};

export type ProduceBody = {
  acks: number;
  timeout: number;
  topicData: readonly {
    topic: string;
    partitions: readonly { partition: number; messages: readonly ProducedMessage[] }[];
  }[];
};

/** Bytes of a batch before its first record: offset, length and what the length counts. */
const batchHeadBytes = 61;
const lengthFieldEnd = 12;
const checkedFrom = 21;
const magic = 2;
/** No transaction, and a producer that numbers nothing. */
const nobody = -1n;

/** `tables[k][b]`: what byte `b` does to the checksum when `k` bytes come after it (CRC-32C, RFC 3720). */
const tables = Array.from({ length: 8 }, () => new Int32Array(256));
for (let byte = 0; byte < 256; byte += 1) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  tables[0]![byte] = crc;
}
for (let k = 1; k < 8; k += 1) {
  for (let byte = 0; byte < 256; byte += 1) {
    const before = tables[k - 1]![byte]!;
    tables[k]![byte] = tables[0]![before & 0xff]! ^ (before >>> 8);
  }
}
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

/** CRC-32C of a range, eight bytes at a time. */
export function crc32c(bytes: Uint8Array, from: number, to: number): number {
  let crc = -1;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      t7[low & 0xff]! ^
      t6[(low >>> 8) & 0xff]! ^
      t5[(low >>> 16) & 0xff]! ^
      t4[low >>> 24]! ^
      t3[bytes[at + 4]!]! ^
      t2[bytes[at + 5]!]! ^
      t1[bytes[at + 6]!]! ^
      t0[bytes[at + 7]!]!;
  }
  for (; at < to; at += 1) crc = t0[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Of a number that is not negative, in the zigzag form in which -1 is 1 and n is 2n. */
function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value * 2; rest > 0x7f; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

function lengthOf(value: string | Buffer): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length;
}

function fieldBytes(value: string | Buffer | null): number {
  if (value === null) return 1;
  const length = lengthOf(value);
  return varintBytes(length) + length;
}

/** What a record's length counts: attributes, difference of time (always 0), place, key, value, headers. */
function recordBytes({ key = null, value, headers = {} }: ProducedMessage, place: number): number {
  const names = Object.keys(headers);
  let bytes = 2 + varintBytes(place) + fieldBytes(key) + fieldBytes(value) + varintBytes(names.length);
  for (const name of names) bytes += fieldBytes(name) + fieldBytes(headers[name]!);
  return bytes;
}

/** `at`: when the records were written, in epoch ms. */
export function produceBytes({ acks, timeout, topicData }: ProduceBody, at: number): Buffer {
  const lengths: number[] = [];
  let size = 2 + 2 + 4 + 4;
  for (const { topic, partitions } of topicData) {
    size += 2 + Buffer.byteLength(topic) + 4;
    for (const { messages } of partitions) {
      size += 4 + 4 + batchHeadBytes;
      for (const [place, message] of messages.entries()) {
        const length = recordBytes(message, place);
        lengths.push(length);
        size += varintBytes(length) + length;
      }
    }
  }
  const bytes = Buffer.allocUnsafe(size);
  let end = 0;
  let next = 0;

  function putText(text: string): void {
    end += bytes.write(text, end);
  }

  function putVarint(value: number): void {
    let rest = value * 2;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) {
      bytes[end] = (rest % 128) | 0x80;
      end += 1;
    }
    bytes[end] = rest;
    end += 1;
  }

  function putField(value: string | Buffer | null): void {
    if (value === null) {
      bytes[end] = 1;
      end += 1;
      return;
    }
    putVarint(lengthOf(value));
    if (typeof value === 'string') putText(value);
    else end += value.copy(bytes, end);
  }

  function putRecord({ key = null, value, headers = {} }: ProducedMessage, place: number): void {
    putVarint(lengths[next]!);
    next += 1;
    bytes[end] = 0;
    bytes[end + 1] = 0;
    end += 2;
    putVarint(place);
    putField(key);
    putField(value);
    const names = Object.keys(headers);
    putVarint(names.length);
    for (const name of names) {
      putField(name);
      putField(headers[name]!);
    }
  }

  function putBatch(messages: readonly ProducedMessage[]): void {
    const from = end;
    end += batchHeadBytes;
    for (const [place, message] of messages.entries()) putRecord(message, place);
    bytes.writeBigInt64BE(0n, from);
    bytes.writeInt32BE(end - from - lengthFieldEnd, from + 8);
    bytes.writeInt32BE(0, from + lengthFieldEnd);
    bytes[from + 16] = magic;
    bytes.writeInt16BE(0, from + checkedFrom);
    bytes.writeInt32BE(messages.length - 1, from + 23);
    bytes.writeBigInt64BE(BigInt(at), from + 27);
    bytes.writeBigInt64BE(BigInt(at), from + 35);
    bytes.writeBigInt64BE(nobody, from + 43);
    bytes.writeInt16BE(0, from + 51);
    bytes.writeInt32BE(0, from + 53);
    bytes.writeInt32BE(messages.length, from + 57);
    bytes.writeUInt32BE(crc32c(bytes, from + checkedFrom, end), from + 17);
  }

  end = bytes.writeInt16BE(-1, end);
  end = bytes.writeInt16BE(acks, end);
  end = bytes.writeInt32BE(timeout, end);
  end = bytes.writeInt32BE(topicData.length, end);
  for (const { topic, partitions } of topicData) {
    end = bytes.writeInt16BE(Buffer.byteLength(topic), end);
    putText(topic);
    end = bytes.writeInt32BE(partitions.length, end);
    for (const { partition, messages } of partitions) {
      end = bytes.writeInt32BE(Number(partition), end);
      const sizeAt = end;
      end += 4;
      putBatch(messages);
      bytes.writeInt32BE(end - sizeAt - 4, sizeAt);
    }
  }
  return bytes;
}
