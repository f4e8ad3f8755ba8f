/**
 * Time that jumps from event to event. One event at a time, ordered by time and then by arrival; after each, every
 * promise that can go on does, so a history depends on the seed alone. Processes own events: a frozen process gets its
 * events late, a dead one never.
 */
import TinyQueue from 'tinyqueue';
import type { Timer } from '../../src/domain/clock.ts';
import type { EpochMs } from '../../src/domain/glossary.ts';
import { createSteadyClock, type SteadyClock } from '../../src/domain/steady-clock.ts';

/** One life of an instance of the desk, from its start to its crash. */
export type Process = {
  /** Also the name of the instance: drawn anew at each start. */
  id: string;
  alive: boolean;
  diedAt: EpochMs;
  /** When the freeze that ends at `frozenUntil` began. */
  frozenAt: EpochMs;
  frozenUntil: EpochMs;
  /** How far its machine's clock is ahead of true time; its monotonic clock knows nothing of it. */
  skewMs: number;
  /** How much of that is a step of the clock, which is taken back some time. */
  stepMs: number;
};

type Event = { at: EpochMs; order: number; owner: Process | null; run: () => void; cancelled: boolean };

export type VirtualTime = {
  now: () => EpochMs;
  /** Without an owner the event belongs to the world and always happens. */
  after: (delayMs: number, owner: Process | null, run: () => void) => Timer;
  clockOf: (process: Process) => SteadyClock;
  /** Lets everything happen up to `until`. */
  run: (until: EpochMs) => Promise<void>;
  events: () => number;
};

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export function createVirtualTime(startAt: EpochMs): VirtualTime {
  let now = startAt;
  let order = 0;
  let events = 0;
  /** One for each process: what it keeps of a step is common to all of its parts. */
  const clocks = new WeakMap<Process, SteadyClock>();
  const queue = new TinyQueue<Event>([], (a, b) => a.at - b.at || a.order - b.order);

  function add(at: EpochMs, owner: Process | null, run: () => void): Timer {
    const event: Event = { at: Math.max(now, at), order, owner, run, cancelled: false };
    order += 1;
    queue.push(event);
    return {
      cancel: () => {
        event.cancelled = true;
      },
    };
  }

  async function step(event: Event): Promise<void> {
    const { owner } = event;
    if (event.cancelled || (owner !== null && !owner.alive)) return;
    now = Math.max(now, event.at);
    if (owner !== null && owner.frozenUntil > now) {
      event.at = owner.frozenUntil;
      event.order = order;
      order += 1;
      queue.push(event);
      return;
    }
    events += 1;
    event.run();
    await turn();
  }

  function clockFor(process: Process): SteadyClock {
    return createSteadyClock({
      wall: () => Math.floor(now + process.skewMs + process.stepMs),
      monotonicMs: () => now - startAt,
      after: (delayMs, run) => (process.alive ? add(now + Math.ceil(delayMs), process, run) : { cancel: () => {} }),
    });
  }

  return {
    now: () => now,
    after: (delayMs, owner, run) => add(now + delayMs, owner, run),
    clockOf: (process) => {
      const known = clocks.get(process) ?? clockFor(process);
      clocks.set(process, known);
      return known;
    },
    run: async (until) => {
      await turn();
      for (let next = queue.peek(); next !== undefined && next.at <= until; next = queue.peek()) {
        queue.pop();
        await step(next);
      }
      now = Math.max(now, until);
    },
    events: () => events,
  };
}
