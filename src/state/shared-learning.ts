/**
 * What partitions have learnt, told by their owners to all processes: every moment what has changed, and everything where the others
 * may lack something. A decision goes by what was told last, also while nothing can be read.
 */
import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../domain/clock.ts';
import type { PartHistogram } from '../domain/histogram.ts';
import { Fault } from '../errors.ts';
import type { PartitionState } from './state-store.ts';

type LearntCall = {
  partition: number;
  /** The partition is folded so far. */
  applied: number;
  /** The mark of what is there, which this adds to; null: what is there is thrown away. */
  before: string | null;
  /** Of what is there then; begins with `applied`. */
  mark: string;
  parts: readonly (readonly [key: string, PartHistogram])[];
};

/** Both reject with `views-unavailable` where nothing is known of the outcome. */
export type LearntBook = {
  /** False: nothing was written. What is there has another mark, or, for `before` null, it is of somebody who has folded further. */
  write: (call: LearntCall) => Promise<boolean>;
  /** Of each partition in turn; keys that it has not learnt are left out. */
  read: (partitions: readonly number[], keys: readonly string[]) => Promise<ReadonlyMap<string, PartHistogram>[]>;
};

export type SharedLearning = {
  start: () => void;
  /** Waits for what is being told. */
  stop: () => Promise<void>;
  /** What the partitions have learnt under the keys, by key: as far as it was told. */
  read: (
    partitions: readonly number[],
    keys: readonly string[],
  ) => Promise<ReadonlyMap<string, readonly PartHistogram[]>>;
};

export type SharedLearningTerms = {
  /** From one telling to the next. */
  everyMs: number;
  /** In one call. */
  mostKeys: number;
  /** Of what was read last, while the book does not answer. */
  mostKept: number;
};

/** What the book has of a partition, as far as this owner knows; `left`: keys that it has yet to be told. */
type Told = { mark: string | null; left: Set<string> };

export function createSharedLearning(options: {
  book: LearntBook;
  /** Those that this process folds just now. */
  held: () => ReadonlyMap<number, Pick<PartitionState, 'learnt' | 'learntKeys' | 'views'>>;
  clock: Pick<Clock, 'after'>;
  terms: SharedLearningTerms;
  onFault: (fault: Fault) => void;
}): SharedLearning {
  const { book, clock, terms } = options;
  type State = Pick<PartitionState, 'learnt' | 'learntKeys' | 'views'>;
  const told = new WeakMap<State, Told>();
  /** What was read last. */
  const last = new Map<string, PartHistogram>();
  let stopping = false;
  let timer: Timer | null = null;
  let telling: Promise<void> = Promise.resolve();

  async function tell(partition: number, state: State): Promise<void> {
    let known = told.get(state);
    if (known === undefined) {
      known = { mark: null, left: new Set() };
      told.set(state, known);
    }
    if (known.mark === null) known.left = new Set(state.learntKeys('all'));
    else for (const key of state.learntKeys('changed')) known.left.add(key);
    const isHeld = () => !stopping && options.held().get(partition) === state;
    while (isHeld() && (known.left.size > 0 || known.mark === null)) {
      const keys = [...known.left].slice(0, terms.mostKeys);
      // Before what was learnt is read: at least so far it goes.
      const applied = await state.views.applied(partition);
      const mark = `${applied}:${randomUUID()}`;
      const parts = [...state.learnt(keys)];
      if (!(await book.write({ partition, applied, before: known.mark, mark, parts }))) {
        // The next round begins anew.
        known.mark = null;
        return;
      }
      known.mark = mark;
      for (const key of keys) known.left.delete(key);
    }
  }

  async function tellAll(): Promise<void> {
    for (const [partition, state] of options.held()) {
      if (stopping) return;
      try {
        await tell(partition, state);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        options.onFault(fault);
      }
    }
  }

  function tellLater(): void {
    timer = clock.after(terms.everyMs, () => {
      telling = tellAll().then(() => {
        if (!stopping) tellLater();
      });
    });
  }

  async function readNow(
    partitions: readonly number[],
    keys: readonly string[],
  ): Promise<readonly ReadonlyMap<string, PartHistogram>[]> {
    try {
      return await book.read(partitions, keys);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      options.onFault(fault);
      return [];
    }
  }

  function keep(name: string, part: PartHistogram): void {
    last.delete(name);
    last.set(name, part);
    if (last.size > terms.mostKept) last.delete(last.keys().next().value!);
  }

  return {
    start: tellLater,
    stop: async () => {
      stopping = true;
      timer?.cancel();
      await telling;
    },
    read: async (partitions, keys) => {
      const found = await readNow(partitions, keys);
      const parts = new Map<string, PartHistogram[]>();
      for (const [place, partition] of partitions.entries()) {
        for (const key of keys) {
          const name = `${partition} ${key}`;
          const now = found[place]?.get(key);
          if (now !== undefined) keep(name, now);
          const part = now ?? last.get(name);
          if (part === undefined) continue;
          // The caller may change the cells.
          const ofKey = parts.get(key) ?? [];
          ofKey.push({ ...part, cells: part.cells.slice() });
          parts.set(key, ofKey);
        }
      }
      return parts;
    },
  };
}
