/**
 * Appends of the desk, grouped by turn of the event loop; none waits here for an earlier one, which the log may still be writing.
 * Once the log has refused one, the next ones go together after `retryMs`: each request of thousands would ask a full disk by itself.
 */
import type { Clock } from '../domain/clock.ts';
import type { EventLog, NewEntry } from './ports.ts';
import { sleep } from './sleep.ts';

export type Outbox = {
  /** True when durable; false when the log refused, in which case it may or may not have been written. */
  append: (entries: readonly NewEntry[]) => Promise<boolean>;
  /** Tries until it is durable; false when it gave up. A record written twice is absorbed by the fold. */
  keep: (entries: readonly NewEntry[]) => Promise<boolean>;
  /** Resolves when nothing is under way any more; `keep` gives up from now on. */
  close: () => Promise<void>;
};

type Waiting = { entries: readonly NewEntry[]; resolve: (durable: boolean) => void };

export function createOutbox(options: {
  log: EventLog;
  clock: Clock;
  retryMs: number;
  onRefused: (fault: unknown) => void;
}): Outbox {
  const { log, clock, retryMs, onRefused } = options;
  let waiting: Waiting[] = [];
  const underWay = new Set<Promise<void>>();
  let closed = false;
  let refusedAtMs = Number.NEGATIVE_INFINITY;

  async function write(): Promise<void> {
    // Everything appended in this turn goes together.
    await Promise.resolve();
    const restMs = refusedAtMs + retryMs - clock.monotonicMs();
    if (restMs > 0 && !closed) await sleep(clock, restMs);
    const group = waiting;
    waiting = [];
    let durable = true;
    try {
      await log.append(group.flatMap(({ entries }) => entries));
      refusedAtMs = Number.NEGATIVE_INFINITY;
    } catch (fault) {
      onRefused(fault);
      refusedAtMs = clock.monotonicMs();
      durable = false;
    }
    for (const { resolve } of group) resolve(durable);
  }

  function append(entries: readonly NewEntry[]): Promise<boolean> {
    return new Promise((resolve) => {
      waiting.push({ entries, resolve });
      if (waiting.length > 1) return;
      const writing = write().finally(() => underWay.delete(writing));
      underWay.add(writing);
    });
  }

  async function keep(entries: readonly NewEntry[]): Promise<boolean> {
    while (!(await append(entries))) {
      if (closed) return false;
      await sleep(clock, retryMs);
    }
    return true;
  }

  return {
    append,
    keep,
    close: async () => {
      closed = true;
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
