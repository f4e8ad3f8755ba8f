/**
 * What a queue takes that knows all that will come: the most value that can be had with one slot after another, each for one job within its
 * time. Jobs of one length are a matroid, so the most valuable first, each taken where those before can make room, is best.
 */

/** Times in milliseconds on one clock, both ends counted. */
export type Job = { fromMs: number; untilMs: number; value: number };

export type Taken = { value: number; jobs: number };

const free = -1;
const byNewJob = -1;

/** A slot begins every `slotMs`, from the first job on. */
export function bestOf(jobs: readonly Job[], slotMs: number): Taken {
  const startMs = jobs.reduce((least, { fromMs }) => Math.min(least, fromMs), Number.POSITIVE_INFINITY);
  const endMs = jobs.reduce((most, { untilMs }) => Math.max(most, untilMs), startMs);
  const windows = jobs
    .filter(({ value }) => value > 0)
    .toSorted((one, other) => other.value - one.value)
    .map(({ fromMs, untilMs, value }) => ({
      first: Math.ceil((fromMs - startMs) / slotMs),
      last: Math.floor((untilMs - startMs) / slotMs),
      value,
    }));
  const slots = Number.isFinite(startMs) ? Math.floor((endMs - startMs) / slotMs) + 1 : 0;
  const holder = new Int32Array(slots).fill(free);
  /** The slot from whose holder this one was reached. */
  const via = new Int32Array(slots);
  /** Slots that no other job can be given, whoever moves. */
  const tight = new Uint8Array(slots);
  const taken = { value: 0, jobs: 0 };

  /** Slots that can be reached are an interval: whoever holds one of them may move within a window around it. */
  function take(job: number): boolean {
    const { first, last } = windows[job]!;
    let [from, to] = [first, last];
    const reached: number[] = [];
    for (let slot = first; slot <= last; slot += 1) {
      via[slot] = byNewJob;
      reached.push(slot);
    }
    for (let next = 0; next < reached.length; next += 1) {
      const slot = reached[next]!;
      if (holder[slot] === free) {
        moveTo(slot, job);
        return true;
      }
      const window = windows[holder[slot]!]!;
      for (; from > window.first; reached.push(from)) via[--from] = slot;
      for (; to < window.last; reached.push(to)) via[++to] = slot;
    }
    tight.fill(1, from, to + 1);
    return false;
  }

  function moveTo(freeSlot: number, job: number): void {
    for (let slot = freeSlot; ; ) {
      const before = via[slot]!;
      holder[slot] = before === byNewJob ? job : holder[before]!;
      if (before === byNewJob) return;
      slot = before;
    }
  }

  for (const [job, { first, last, value }] of windows.entries()) {
    if (first > last || tight.subarray(first, last + 1).every((isTight) => isTight === 1) || !take(job)) continue;
    taken.value += value;
    taken.jobs += 1;
  }
  return taken;
}
