/** Places for bids that are on their way to the service: as many as it bears just now, given to those that wait in their order. */
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';

export type Slots = {
  /** Resolves to true when a place was free and is taken, or to false at `until`. */
  wait: (until: EpochMs) => Promise<boolean>;
  /** Takes a place, free or not. */
  enter: () => void;
  leave: () => void;
  taken: () => number;
};

export function createSlots(clock: Clock, limit: () => number): Slots {
  const waiting = new Set<() => void>();
  let taken = 0;
  return {
    wait: async (until) => {
      if (taken >= limit() || waiting.size > 0) {
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
    leave: () => {
      taken -= 1;
      // The limit may have grown: more than one may come in for the one that leaves.
      for (const enter of waiting) {
        if (taken >= limit()) return;
        waiting.delete(enter);
        taken += 1;
        enter();
      }
    },
    taken: () => taken,
  };
}
