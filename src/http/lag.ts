/** How far this process is behind the log, as a figure for `/metrics` that costs no reading of the log. */
import type { Clock } from '../domain/clock.ts';
import { Fault } from '../errors.ts';

/** How long records have waited to be folded, as far as those who ask now and then can know: nothing is read for it. */
export type LagWatch = {
  /**
   * Milliseconds since the end of the partition was first seen beyond `applied`; 0 when nothing waits. Short by up to
   * the time between two questions. `nowMs` is on the monotonic clock.
   */
  seen: (partition: number, end: number, applied: number, nowMs: number) => number;
};

export function createLagWatch(): LagWatch {
  /** Ends not yet folded, each with the time at which it was first seen, oldest first. */
  const pending = new Map<number, { end: number; atMs: number }[]>();
  return {
    seen: (partition, end, applied, nowMs) => {
      const ends = (pending.get(partition) ?? []).filter((seen) => seen.end > applied);
      const last = ends.at(-1)?.end ?? applied;
      if (end > last) ends.push({ end, atMs: nowMs });
      pending.set(partition, ends);
      return ends.length === 0 ? 0 : nowMs - ends[0]!.atMs;
    },
  };
}

/** Of all partitions: records behind the end of the log, and how long the oldest of them has waited. */
export type Lag = { records: number; ageMs: number };

export type LagGauge = {
  /** Null where the store refuses or does not tell in time: who asks gets everything else all the same. */
  read: () => Promise<Lag | null>;
};

/** Prometheus gives up after ten seconds, and a store that answers takes milliseconds. */
const waitMs = 1_000;

/** `ends` and `applied` ask the store; what they reject with is told to `onFault`. */
export function createLagGauge(options: {
  clock: Clock;
  ends: () => Promise<ReadonlyMap<number, number>>;
  applied: (partition: number) => Promise<number>;
  onFault: (fault: Fault) => void;
}): LagGauge {
  const { clock } = options;
  const watch = createLagWatch();
  /** One at a time: calls that hang must not become more with each question. */
  let asked: { lag: Promise<Lag | null>; isLate: boolean } | null = null;

  async function ask(): Promise<Lag | null> {
    try {
      const lag: Lag = { records: 0, ageMs: 0 };
      for (const [partition, end] of await options.ends()) {
        const applied = await options.applied(partition);
        lag.records += Math.max(0, end - applied);
        lag.ageMs = Math.max(lag.ageMs, watch.seen(partition, end, applied, clock.monotonicMs()));
      }
      return lag;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      options.onFault(fault);
      return null;
    } finally {
      asked = null;
    }
  }

  return {
    read: async () => {
      asked ??= { lag: ask(), isLate: false };
      const current = asked;
      if (current.isLate) return null;
      return new Promise((resolve, reject) => {
        const timer = clock.after(waitMs, () => {
          current.isLate = true;
          resolve(null);
        });
        current.lag.then(resolve, reject).finally(() => timer.cancel());
      });
    },
  };
}
