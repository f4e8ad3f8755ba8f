/** Clocks for the sandbox's tests: one that is moved by hand, one that runs. */
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { Clock, Timer } from '../../src/domain/clock.ts';

export type ManualClock = Clock & { advance: (ms: number) => void };

export function manualClock(startAt: number): ManualClock {
  let now = startAt;
  let waiting: { at: number; run: () => void }[] = [];
  const schedule = (at: number, run: () => void): Timer => {
    const entry = { at, run };
    waiting.push(entry);
    const cancel = () => {
      waiting = waiting.filter((other) => other !== entry);
    };
    return { cancel };
  };
  return {
    now: () => now,
    monotonicMs: () => now,
    offsetMs: () => 0,
    schedule,
    after: (delayMs, run) => schedule(now + delayMs, run),
    onJump: () => {},
    advance: (ms) => {
      const until = now + ms;
      for (;;) {
        const due = waiting.filter((entry) => entry.at <= until).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        waiting = waiting.filter((entry) => entry !== due);
        now = Math.max(now, due.at);
        due.run();
      }
      now = until;
    },
  };
}

export const runningClock = createSystemClock();
