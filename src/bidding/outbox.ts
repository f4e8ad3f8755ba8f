/** Appends of the desk, grouped: what comes while one append is under way goes into the next. */
import type { Clock } from '../domain/clock.ts';
import type { EventLog, NewEntry } from './ports.ts';
import { sleep } from './sleep.ts';

export type Outbox = {
  /** True when durable; false when the log refused, in which case it may or may not have been written. */
  append: (entries: readonly NewEntry[]) => Promise<boolean>;
  /** Tries until it is durable. A record written twice is absorbed by the fold. */
  keep: (entries: readonly NewEntry[]) => Promise<void>;
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
  let running: Promise<void> | null = null;
  let closed = false;

  async function run(): Promise<void> {
    // Everything appended in this turn goes together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const durable = await write(group);
      for (const { resolve } of group) resolve(durable);
    }
    running = null;
  }

  async function write(group: readonly Waiting[]): Promise<boolean> {
    try {
      await log.append(group.flatMap(({ entries }) => entries));
      return true;
    } catch (fault) {
      onRefused(fault);
      return false;
    }
  }

  function append(entries: readonly NewEntry[]): Promise<boolean> {
    return new Promise((resolve) => {
      waiting.push({ entries, resolve });
      running ??= run();
    });
  }

  async function keep(entries: readonly NewEntry[]): Promise<void> {
    while (!(await append(entries)) && !closed) await sleep(clock, retryMs);
  }

  return {
    append,
    keep,
    close: async () => {
      closed = true;
      while (running !== null) await running;
    },
  };
}
