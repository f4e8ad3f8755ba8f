/** The machine's clocks. */
import type { Clock, Timer } from '../../domain/clock.ts';
import { createSteadyClock, type SteadyClock } from '../../domain/steady-clock.ts';

/** `setTimeout` fires at once beyond this. */
const longestTimeoutMs = 2_147_483_647;

const monotonicMs = () => performance.now();

/** Never early on the monotonic clock, as `setTimeout` may be by a millisecond. */
function after(delayMs: number, run: () => void): Timer {
  const dueMs = monotonicMs() + delayMs;
  let handle: NodeJS.Timeout;
  const arm = (): void => {
    const remainingMs = dueMs - monotonicMs();
    handle = remainingMs > 0 ? setTimeout(arm, Math.min(Math.ceil(remainingMs), longestTimeoutMs)) : setTimeout(run, 0);
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}

/** For commands and the sandbox: the machine's time of day, whatever it does. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonicMs,
    offsetMs: () => Date.now() - monotonicMs(),
    schedule: (at, run) => {
      let timer: Timer;
      const arm = (): void => {
        timer = after(at - Date.now(), () => (Date.now() < at ? arm() : run()));
      };
      arm();
      return { cancel: () => timer.cancel() };
    },
    after,
    onJump: () => {},
  };
}

/** For the desk: see `SteadyClock`. */
export function createSteadySystemClock(): SteadyClock {
  return createSteadyClock({ wall: () => Date.now(), monotonicMs, after });
}
