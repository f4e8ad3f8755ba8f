/**
 * Proposals whose time is over and that windows of hours have counted until now. Nothing of such a request is in memory but what it
 * counts, so no timer rings for it: a few are looked for every minute, and their end is written down.
 */
import type { Clock, Timer } from '../domain/clock.ts';
import type { RequestId } from '../domain/glossary.ts';
import { Fault } from '../errors.ts';
import type { LedgerRow, Views } from './ports.ts';

const everyMs = 60_000;
const mostAtOnce = 200;

export type WindowEnds = { start: () => void; stop: () => void };

/** `act`: writes the end of a request. */
export function createWindowEnds(world: {
  views: Pick<Views, 'read' | 'windowsOver'>;
  /** Those that this process is answerable for just now. */
  partitions: () => readonly number[];
  isEnding: (requestId: RequestId) => boolean;
  act: (rows: readonly LedgerRow[]) => void;
  clock: Pick<Clock, 'now' | 'after'>;
  spawn: (work: Promise<unknown>) => void;
  onFault: (fault: Fault) => void;
}): WindowEnds {
  const { views, clock } = world;
  let timer: Timer | null = null;
  let isStopped = false;

  async function look(): Promise<void> {
    try {
      for (const partition of world.partitions()) {
        const over = (await views.windowsOver?.(partition, clock.now(), mostAtOnce)) ?? [];
        const left = over.filter((requestId) => !world.isEnding(requestId));
        const rows = left.length === 0 ? [] : [...(await views.read(left)).values()];
        if (rows.length > 0 && !isStopped) world.act(rows);
      }
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      world.onFault(fault);
    }
    later();
  }

  function later(): void {
    if (!isStopped) timer = clock.after(everyMs, () => world.spawn(look()));
  }

  return {
    start: later,
    stop: () => {
      isStopped = true;
      timer?.cancel();
    },
  };
}
