/**
 * A heap of entries that may leave before their turn. Those that left are dropped when they reach the top, or all at once when they
 * outnumber the ones that wait. So it never holds more than twice what waits and a few, and a push costs the logarithm of that.
 */
import TinyQueue from 'tinyqueue';

export type Heap<Entry> = {
  push: (entry: Entry) => void;
  /** The first of those that still wait; null when none does. */
  peek: () => Entry | null;
  pop: () => Entry | null;
};

/** Of those that have left, so many are kept in a heap however few wait. */
const fewEntries = 64;

/** `waiting`: what waits, by id. An entry that is not in it, or was replaced there, has left. */
export function createHeap<Id, Entry>(
  order: (one: Entry, other: Entry) => number,
  waiting: ReadonlyMap<Id, Entry>,
  idOf: (entry: Entry) => Id,
): Heap<Entry> {
  let heap = new TinyQueue([...waiting.values()], order);

  function peek(): Entry | null {
    for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
      if (waiting.get(idOf(top)) === top) return top;
      heap.pop();
    }
    return null;
  }

  return {
    push: (entry) => {
      heap.push(entry);
      if (heap.length > 2 * waiting.size + fewEntries) heap = new TinyQueue([...waiting.values()], order);
    },
    peek,
    pop: () => {
      const top = peek();
      if (top !== null) heap.pop();
      return top;
    },
  };
}
