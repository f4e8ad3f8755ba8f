/**
 * Requests that wait to be decided. Whoever waits longest is next, as long as its bid can still go out in time. After a start or a
 * burst some cannot: they are decided when nobody else waits, so that their turn costs no other request its bid.
 */
import TinyQueue from 'tinyqueue';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
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

export function createDecisionQueue(): DecisionQueue {
  const waiting = new Map<RequestId, Waiting>();
  /** Some of those in the heap have left meanwhile. */
  let heap = new TinyQueue<Waiting>([], nearestFirst);
  /** Found too late, in order of their deadlines. */
  let late: Waiting[] = [];

  function leave(entry: Waiting): boolean {
    if (waiting.get(idOf(entry)) !== entry) return false;
    waiting.delete(idOf(entry));
    return true;
  }

  function clear(): void {
    waiting.clear();
    heap = new TinyQueue<Waiting>([], nearestFirst);
    late = [];
  }

  return {
    add: (row, deadlineAt) => {
      const entry = { row, deadlineAt };
      waiting.set(row.state.requestId, entry);
      heap.push(entry);
    },
    take: (most, reachableFrom) => {
      const taken: LedgerRow[] = [];
      for (let next = heap.peek(); next !== undefined && taken.length < most; next = heap.peek()) {
        heap.pop();
        if (next.deadlineAt < reachableFrom) late.push(next);
        else if (leave(next)) taken.push(next.row);
      }
      // The latest deadline first: of these it is the one that may still be met.
      while (heap.length === 0 && taken.length < most && late.length > 0) {
        const last = late.pop()!;
        if (leave(last)) taken.push(last.row);
      }
      if (waiting.size === 0) clear();
      return taken;
    },
    remove: (requestId) => {
      waiting.delete(requestId);
    },
    clear,
    size: () => waiting.size,
  };
}
