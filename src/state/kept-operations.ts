/**
 * What the records of a partition did to the cap book, as far as the book may have to be told: everything that it has not acknowledged,
 * and each reservation that no later operation of its request has settled, for its verdict. Stored together with the rows, so that no
 * operation is lost and none comes twice with another offset.
 */
import assert from 'node:assert/strict';
import type { KeptOperation } from '../bidding/ports.ts';
import type { RequestId } from '../domain/glossary.ts';

export type StoredOperations = {
  /** The book has all operations of records before it. */
  acknowledged: number;
  /** In order of their offsets. */
  operations: readonly KeptOperation[];
};

export type OperationFlush = { acknowledged: number; added: readonly KeptOperation[]; removed: readonly number[] };

export type KeptOperations = {
  /** In order of their offsets, all of records after those that were added before. */
  add: (operations: readonly KeptOperation[]) => void;
  /** The book has all operations of records before `offset`. */
  acknowledge: (offset: number) => void;
  current: () => StoredOperations;
  isDirty: () => boolean;
  /** What changed since the last flush. The caller says `failed` where it was not stored. */
  takeDirty: () => { flush: OperationFlush; failed: () => void };
};

export function createKeptOperations(stored: StoredOperations): KeptOperations {
  let { acknowledged } = stored;
  /** By offset, in its order. */
  const kept = new Map(stored.operations.map((operation) => [operation.offset, operation]));
  /** The reservation of each request that nothing has settled. */
  const unsettled = new Map<RequestId, number>();
  for (const operation of kept.values()) settle(operation);
  let added = new Map<number, KeptOperation>();
  let removed = new Set<number>();
  let moved = false;
  let last = stored.operations.at(-1)?.offset ?? -1;

  /** Returns the reservation that the operation settles. */
  function settle({ kind, requestId, offset }: KeptOperation): number | undefined {
    const before = unsettled.get(requestId);
    if (kind === 'reserve') unsettled.set(requestId, offset);
    else unsettled.delete(requestId);
    return before;
  }

  function remove(offset: number): void {
    if (!kept.delete(offset)) return;
    // One that never reached the disk has nothing to be removed from it.
    if (!added.delete(offset)) removed.add(offset);
  }

  return {
    add: (operations) => {
      for (const operation of operations) {
        const { offset } = operation;
        assert(offset > last, `the operation at ${offset} comes after the one at ${last}`);
        last = offset;
        const settled = settle(operation);
        // Another owner may have told the book of it already.
        if (offset >= acknowledged || operation.kind === 'reserve') {
          kept.set(offset, operation);
          added.set(offset, operation);
        }
        if (settled !== undefined && settled < acknowledged) remove(settled);
      }
    },
    acknowledge: (offset) => {
      if (offset <= acknowledged) return;
      acknowledged = offset;
      moved = true;
      const awaited = new Set(unsettled.values());
      for (const each of kept.keys()) if (each < offset && !awaited.has(each)) remove(each);
    },
    current: () => ({ acknowledged, operations: [...kept.values()] }),
    isDirty: () => moved || added.size > 0 || removed.size > 0,
    takeDirty: () => {
      const taken = { added, removed };
      added = new Map();
      removed = new Set();
      moved = false;
      return {
        flush: { acknowledged, added: [...taken.added.values()], removed: [...taken.removed] },
        failed: () => {
          // One that was removed meanwhile is added and removed by the next flush.
          for (const [offset, operation] of taken.added) added.set(offset, operation);
          for (const offset of taken.removed) removed.add(offset);
          moved = true;
        },
      };
    },
  };
}
