/** The Redis half of the distributed backend as the suites are handed it: a place is a server and a prefix of keys. */
import assert from 'node:assert/strict';
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import type { StoreKind } from '../../conformance/backend.ts';

export function redisKind(url: string): StoreKind {
  let places = 0;
  /** By place: what the log keeps of the controls. */
  const logs = new Map<string, string[]>();
  const open = (place: string) => {
    const kept = logs.get(place) ?? [];
    logs.set(place, kept);
    const copies = {
      read: async () => kept.map((text, index) => ({ place: String(index), text })),
      add: async (copy: string) => void kept.push(copy),
      passOver: (where: string) => assert.fail(where),
      needed: true,
    };
    return openRedisStore({ url, keyPrefix: place }, copies);
  };
  return {
    name: 'redis',
    createPlace: async () => {
      places += 1;
      return `{lance ${process.pid} ${places}}:`;
    },
    open,
    beside: open,
  };
}
