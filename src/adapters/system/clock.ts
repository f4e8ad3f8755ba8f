/** The machine's clock. */
import type { Clock } from '../../domain/clock.ts';

/** `setTimeout` fires at once beyond this. */
const longestTimeoutMs = 2_147_483_647;

export function createSystemClock(): Clock {
  return {
    now: Date.now,
    schedule: (at, run) => {
      let handle: NodeJS.Timeout;
      const arm = (): void => {
        const remainingMs = at - Date.now();
        // Timers may fire a millisecond early; nothing here may run before its time.
        handle = remainingMs > 0 ? setTimeout(arm, Math.min(remainingMs, longestTimeoutMs)) : setTimeout(run, 0);
      };
      const remainingMs = at - Date.now();
      if (remainingMs > 0) arm();
      else handle = setTimeout(run, 0);
      return { cancel: () => clearTimeout(handle) };
    },
  };
}
