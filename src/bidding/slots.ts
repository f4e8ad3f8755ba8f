/**
 * Places for bids that are on their way to the service: as many as it bears just now. Those that come for the first time and those
 * that come again wait in two queues, which are served in turn: neither keeps the other out.
 */
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';

export type Slots = {
  /** Resolves to true when a place was free and is taken, or to false at `until`. `again`: it has had a place before. */
  wait: (until: EpochMs, again?: boolean) => Promise<boolean>;
  /** Takes a place, free or not. */
  enter: () => void;
  /** The place is free for another one after `restMs`. */
  leave: (restMs?: number) => void;
  /** Without those that rest. */
  taken: () => number;
};

export function createSlots(clock: Clock, limit: () => number): Slots {
  const first = new Set<() => void>();
  const returning = new Set<() => void>();
  let taken = 0;
  let resting = 0;
  let returningNext = false;

  function next(): (() => void) | null {
    const queue = first.size === 0 || (returningNext && returning.size > 0) ? returning : first;
    const [enter] = queue;
    if (enter === undefined) return null;
    queue.delete(enter);
    returningNext = queue === first;
    return enter;
  }

  /** The limit may have grown: more than one may come in for the one that leaves. */
  function letIn(): void {
    while (taken + resting < limit()) {
      const enter = next();
      if (enter === null) return;
      taken += 1;
      enter();
    }
  }

  return {
    wait: async (until, again = false) => {
      if (taken + resting >= limit() || first.size + returning.size > 0) {
        const waiting = again ? returning : first;
        const { promise, resolve } = Promise.withResolvers<boolean>();
        const enter = () => resolve(true);
        waiting.add(enter);
        const timer = clock.schedule(until, () => {
          waiting.delete(enter);
          resolve(false);
        });
        const entered = await promise;
        timer.cancel();
        return entered;
      }
      taken += 1;
      return true;
    },
    enter: () => {
      taken += 1;
    },
    leave: (restMs = 0) => {
      taken -= 1;
      if (restMs <= 0) return letIn();
      resting += 1;
      clock.after(restMs, () => {
        resting -= 1;
        letIn();
      });
    },
    taken: () => taken,
  };
}
