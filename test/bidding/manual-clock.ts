/** A clock moved by hand. Between two timers everything that can go on without time does so. */
import { setImmediate } from 'node:timers/promises';
import type { Timer } from '../../src/domain/clock.ts';
import type { SteadyClock } from '../../src/domain/steady-clock.ts';

export type ManualClock = SteadyClock & {
  /** Moves to each timer in turn, letting promises settle in between. */
  advance: (durationMs: number) => Promise<void>;
  /** Lets promises settle without moving. */
  settle: () => Promise<void>;
  pending: () => number;
};

export function createManualClock(start: number): ManualClock {
  let now = start;
  let timers: { at: number; run: () => void }[] = [];

  function schedule(at: number, run: () => void): Timer {
    const timer = { at, run };
    timers.push(timer);
    const cancel = (): void => {
      timers = timers.filter((other) => other !== timer);
    };
    return { cancel };
  }

  /** Two turns: one for what is ready, one for what that has made ready. */
  async function settle(): Promise<void> {
    await setImmediate();
    await setImmediate();
  }

  return {
    now: () => now,
    monotonicMs: () => now,
    offsetMs: () => 0,
    schedule,
    after: (delayMs, run) => schedule(now + delayMs, run),
    onJump: () => {},
    step: () => null,
    follow: () => {},
    keep: () => {},
    advance: async (durationMs) => {
      const until = now + durationMs;
      await settle();
      for (;;) {
        const next = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        now = Math.max(now, next.at);
        next.run();
        await settle();
      }
      now = until;
    },
    settle,
    pending: () => timers.length,
  };
}
