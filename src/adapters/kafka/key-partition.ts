/**
 * How long a key may be, and its partition, as every client of Kafka finds it (murmur2). kafkajs computes the same with numbers that grow with the key: one
 * of 400,000 characters holds the process up for ten seconds, each time.
 */
import { isUtf8 } from 'node:buffer';

/** A key that is no text names nothing: it is read as none. */
export function keyText(key: Buffer | null): string {
  return key !== null && isUtf8(key) ? key.toString() : '';
}

/** Ids of requests and flows, codes and pseudonyms have a few dozen characters. */
const longestKey = 4_096;

/** A record without a key, whose key is read as none, or under a longer one is of no request, flow or code. */
export function isNameOfSomething(key: string): boolean {
  return key !== '' && key.length <= longestKey;
}

const seed = 0x9747b28c;
const factor = 0x5bd1e995;
/** The sign is left out. */
const positive = 0x7fffffff;

export function partitionOfKey(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key)) & positive) % partitions;
}

function murmur2(bytes: Buffer): number {
  let hash = seed ^ bytes.length;
  const rest = bytes.length & 3;
  const end = bytes.length - rest;
  for (let at = 0; at < end; at += 4) {
    let part = Math.imul(bytes.readInt32LE(at), factor);
    part ^= part >>> 24;
    hash = Math.imul(hash, factor) ^ Math.imul(part, factor);
  }
  if (rest > 0) hash = Math.imul(hash ^ bytes.readUIntLE(end, rest), factor);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, factor);
  return hash ^ (hash >>> 15);
}
