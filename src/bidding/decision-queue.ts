/**
 * Requests that wait to be decided. Whoever waits longest is next, as long as its bid can still go out in time. After a start or a
 * burst some cannot: they are decided when nobody else waits, so that their turn costs no other request its bid.
 */
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { createHeap } from './heap.ts';
import type { LedgerRow } from './ports.ts';

export type DecisionQueue = {
  /** Replaces an earlier row of the same request. */
  add: (row: LedgerRow, deadlineAt: EpochMs) => void;
  /** Up to so many rows, which are not in the queue any more. A bid whose deadline is before `reachableFrom` goes out too late. */
  take: (most: number, reachableFrom: EpochMs) => readonly LedgerRow[];
  remove: (requestId: RequestId) => void;
  clear: () => void;
  size: () => number;
};

type Waiting = { row: LedgerRow; deadlineAt: EpochMs };

function idOf({ row }: Waiting): RequestId {
  return row.state.requestId;
}

function nearestFirst(one: Waiting, other: Waiting): number {
  return one.deadlineAt - other.deadlineAt || (idOf(one) < idOf(other) ? -1 : 1);
}

/** Of those that are late it is the one whose deadline may still be met. */
const latestFirst = (one: Waiting, other: Waiting): number => nearestFirst(other, one);

export function createDecisionQueue(): DecisionQueue {
  const waiting = new Map<RequestId, Waiting>();
  let heap = createHeap(nearestFirst, waiting, idOf);
  /** Found too late to be decided in time. */
  const late = new Map<RequestId, Waiting>();
  let lateHeap = createHeap(latestFirst, late, idOf);

  function remove(requestId: RequestId): void {
    waiting.delete(requestId);
    late.delete(requestId);
  }

  function clear(): void {
    waiting.clear();
    late.clear();
    heap = createHeap(nearestFirst, waiting, idOf);
    lateHeap = createHeap(latestFirst, late, idOf);
  }

  return {
    add: (row, deadlineAt) => {
      const entry = { row, deadlineAt };
      late.delete(idOf(entry));
      waiting.set(idOf(entry), entry);
      heap.push(entry);
    },
    take: (most, reachableFrom) => {
      const taken: LedgerRow[] = [];
      while (taken.length < most) {
        const next = heap.pop();
        if (next === null) break;
        waiting.delete(idOf(next));
        if (next.deadlineAt < reachableFrom) {
          late.set(idOf(next), next);
          lateHeap.push(next);
        } else taken.push(next.row);
      }
      while (waiting.size === 0 && taken.length < most && late.size > 0) {
        const next = lateHeap.pop()!;
        late.delete(idOf(next));
        taken.push(next.row);
      }
      return taken;
    },
    remove,
    clear,
    size: () => waiting.size + late.size,
  };
}
