/**
 * How long this process lets finished work wait, because it is busy. An answer that took long because nobody here looked at it says
 * nothing of the service: after a start or in a burst the limit of bids under way would shrink for it, when it is needed most.
 */
import type { Clock } from '../domain/clock.ts';
import { createMean } from './mean.ts';

export type OwnDelay = {
  /** Measures once more, unless a measurement is under way. */
  measure: () => void;
  /** A decaying mean of the last measurements. */
  ms: () => number;
};

/** A timer of no time runs after a millisecond. */
const shortestTimerMs = 1;

export function createOwnDelay(clock: Clock): OwnDelay {
  const delayMs = createMean();
  let begunAtMs: number | null = null;

  function end(): void {
    delayMs.add(Math.max(0, clock.monotonicMs() - begunAtMs! - shortestTimerMs));
    begunAtMs = null;
  }

  return {
    measure: () => {
      if (begunAtMs !== null) return;
      begunAtMs = clock.monotonicMs();
      clock.after(0, end);
    },
    ms: () => delayMs.value() ?? 0,
  };
}
