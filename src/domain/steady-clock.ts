/**
 * A time of day that does not step. While the machine's clock moves against the monotonic one by no more than a correction
 * would, it is followed, at most a tenth faster or slower than time. When it moves further, the time kept goes on as if
 * nothing had happened until the machine's clock is back or somebody who knows says `follow`. So no age, no expiry and no
 * deadline is ever read off a time that nobody has confirmed.
 */
import type { Clock, Timer } from './clock.ts';
import type { EpochMs } from './glossary.ts';

/** The machine's clocks. `after` runs on the monotonic one and may be a little early. */
export type ClockSource = {
  wall: () => EpochMs;
  monotonicMs: () => number;
  after: (delayMs: number, run: () => void) => Timer;
};

type ClockStep = {
  /** By how much the machine's clock is ahead of the time kept; negative: behind. */
  movedMs: number;
  /** When it was first seen, on the monotonic clock. */
  sinceMonotonicMs: number;
};

export type SteadyClock = Clock & {
  /** The step that is not followed; null: the machine's clock is. */
  step: () => ClockStep | null;
  /** The machine's clock is right: its time is taken over, and timers are set anew. */
  follow: () => void;
  /**
   * Keeps `at` as the time instead of the machine's, as if that had just stepped: for a start that has reason to doubt it. `at` is
   * a lower bound of the time: a machine's clock that is a little ahead of it is taken over at once.
   */
  keep: (at: EpochMs) => void;
};

/** A larger move is a step. */
export const stepToleranceMs = 2_000;
/** Two readings one after the other differ by less, unless the process was held up in between. */
const readingMs = 5;
/** How fast a correction is followed, as a share of the time that passes. */
const slewShare = 0.1;
/** Time without a reading is no time to follow in. */
const longestSlewMs = 1_000;
const readings = 3;
/** No timer of a machine waits longer. */
const longestDelayMs = 2_147_483_647;

export function createSteadyClock(source: ClockSource): SteadyClock {
  let keptOffsetMs = source.wall() - source.monotonicMs();
  let readAtMs = source.monotonicMs();
  let stepSinceMs: number | null = null;
  /** The time kept is a lower bound, and nothing has confirmed it yet. */
  let isLowerBound = false;
  let movedMs = 0;
  const waiting = new Set<{ arm: () => void }>();
  const listeners: (() => void)[] = [];

  function now(): EpochMs {
    const wall = source.wall();
    const monotonicMs = source.monotonicMs();
    const driftMs = wall - (monotonicMs + keptOffsetMs);
    if (stepSinceMs === null && driftMs < readingMs && driftMs > -readingMs) {
      readAtMs = monotonicMs;
      return wall;
    }
    return examine();
  }

  function examine(): EpochMs {
    const { wall, monotonicMs } = readTogether();
    const driftMs = wall - (monotonicMs + keptOffsetMs);
    if (Math.abs(driftMs) <= stepToleranceMs) {
      stepSinceMs = null;
      const mostMs = Math.min(monotonicMs - readAtMs, longestSlewMs) * slewShare;
      if (isLowerBound && driftMs > 0) keptOffsetMs += driftMs;
      else keptOffsetMs += Math.min(mostMs, Math.max(-mostMs, driftMs));
      isLowerBound = false;
    } else {
      stepSinceMs ??= monotonicMs;
      movedMs = driftMs;
    }
    readAtMs = monotonicMs;
    return Math.floor(monotonicMs + keptOffsetMs);
  }

  /** Both clocks at one moment: the pair between whose readings the least time has passed. */
  function readTogether(): { wall: EpochMs; monotonicMs: number } {
    let best = { wall: 0, monotonicMs: 0, tookMs: Number.POSITIVE_INFINITY };
    for (let reading = 0; reading < readings && best.tookMs > 1; reading += 1) {
      const before = source.monotonicMs();
      const wall = source.wall();
      const monotonicMs = source.monotonicMs();
      if (monotonicMs - before < best.tookMs) best = { wall, monotonicMs, tookMs: monotonicMs - before };
    }
    return best;
  }

  function schedule(at: EpochMs, run: () => void): Timer {
    let timer: Timer | null = null;
    const entry = {
      arm: () => {
        timer?.cancel();
        const remainingMs = at - now();
        timer = source.after(Math.min(Math.max(0, remainingMs), longestDelayMs), () => {
          // Timers may be early, and the clock may have been corrected.
          if (now() < at) entry.arm();
          else {
            waiting.delete(entry);
            run();
          }
        });
      },
    };
    waiting.add(entry);
    entry.arm();
    return {
      cancel: () => {
        waiting.delete(entry);
        timer?.cancel();
      },
    };
  }

  function moveTo(offsetMs: number): void {
    keptOffsetMs = offsetMs;
    for (const entry of [...waiting]) if (waiting.has(entry)) entry.arm();
    for (const listen of listeners) listen();
  }

  return {
    now,
    monotonicMs: source.monotonicMs,
    offsetMs: () => keptOffsetMs,
    schedule,
    after: (delayMs, run) => source.after(Math.min(Math.max(0, delayMs), longestDelayMs), run),
    onJump: (run) => void listeners.push(run),
    step: () => {
      now();
      return stepSinceMs === null ? null : { movedMs, sinceMonotonicMs: stepSinceMs };
    },
    follow: () => {
      const { wall, monotonicMs } = readTogether();
      stepSinceMs = null;
      isLowerBound = false;
      moveTo(wall - monotonicMs);
    },
    keep: (at) => {
      isLowerBound = true;
      moveTo(at - source.monotonicMs());
      now();
    },
  };
}
