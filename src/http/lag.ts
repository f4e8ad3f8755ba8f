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
