/** Begins to read the log; after each of the world's faults ends that and begins again, until it holds. */
import type { Clock } from '../domain/clock.ts';
import { Fault } from '../errors.ts';
import { sleep } from './sleep.ts';

export type Restarts = {
  start: () => Promise<void>;
  /** Everything is read again. A fault while it still begins is dealt with when that is over; programmer errors crash. */
  onFault: (fault: unknown) => void;
  /** It has begun, and no fault has ended it since. */
  hasBegun: () => boolean;
};

export function createRestarts(options: {
  begin: () => Promise<void>;
  /** Ends what was begun, as far as that came. */
  end: () => Promise<void>;
  clock: Clock;
  retryMs: number;
  stopping: () => boolean;
  /** A fault that ends it, and none of those met before it has begun again. */
  observer: (fault: Fault) => void;
}): Restarts {
  const { begin, end, clock, retryMs, stopping } = options;
  let beginning = true;
  let early: unknown = null;

  function onFault(fault: unknown): void {
    if (beginning) early = fault;
    else void restart(fault);
  }

  async function restart(fault: unknown): Promise<void> {
    const waitedOut = passing(fault);
    if (stopping()) return;
    beginning = true;
    options.observer(waitedOut);
    for (;;) {
      try {
        await end();
        await sleep(clock, retryMs);
        early = null;
        if (stopping()) return;
        await begin();
        if (early !== null) throw early;
        beginning = false;
        return;
      } catch (again) {
        passing(again);
      }
    }
  }

  return {
    start: async () => {
      await begin();
      beginning = false;
      if (early !== null) onFault(early);
    },
    onFault,
    hasBegun: () => !beginning,
  };
}

/** The world's faults pass. */
function passing(fault: unknown): Fault {
  if (!(fault instanceof Fault) || !fault.retryable) throw fault;
  return fault;
}
