/** Waiting on the injected clock. */
import type { Clock } from '../domain/clock.ts';

export function sleep(clock: Clock, durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(durationMs, resolve);
  });
}
