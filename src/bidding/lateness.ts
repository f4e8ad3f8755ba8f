/**
 * How late this process comes to things just now: a timer that rings late has waited for what else had to be done, and so
 * has every answer that came in meanwhile. Measured only while somebody wants to know.
 */
import type { Clock } from '../domain/clock.ts';

export type Lateness = {
  /** Milliseconds, a decaying mean. */
  ms: () => number;
  /** Measures from now on until `wanted` says no. */
  measure: () => void;
};

const everyMs = 20;
const weight = 0.1;

export function createLateness(clock: Clock, wanted: () => boolean): Lateness {
  let meanMs = 0;
  let running = false;

  function ring(dueAt: number): void {
    const now = clock.now();
    meanMs += weight * (now - dueAt - meanMs);
    running = wanted();
    if (running) clock.schedule(now + everyMs, () => ring(now + everyMs));
  }

  return {
    ms: () => meanMs,
    measure: () => {
      if (running) return;
      running = true;
      const dueAt = clock.now() + everyMs;
      clock.schedule(dueAt, () => ring(dueAt));
    },
  };
}
