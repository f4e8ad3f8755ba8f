/**
 * Open requests in settled phases, taken up after a start. Of a won bid only a timer is left, for days; a start does first what cannot
 * wait, and takes these up in slices beside everything else.
 */
import type { Clock, Timer } from '../domain/clock.ts';
import type { RequestId } from '../domain/glossary.ts';
import { Fault } from '../errors.ts';
import type { LedgerRow } from './ports.ts';

const firstAfterMs = 3_000;
const everyMs = 150;
const mostAtOnce = 200;
const mostPauseMs = 60_000;

export type SettledRows = {
  /** Instead of what was begun for this partition before. */
  begin: (partition: number, requestIds: readonly RequestId[]) => void;
  /** Somebody else goes on with the partition; without one, with all of them. */
  end: (partition?: number) => void;
  /** How many are still to be taken up. */
  left: () => number;
};

type Turn = { left: readonly RequestId[]; atOnce: number; pauseMs: number; timer: Timer | null };

/** `takeUp`: null where it is to be tried again, as others are at work on the partition. */
export function createSettledRows(world: {
  takeUp: (partition: number, requestIds: readonly RequestId[]) => Promise<readonly LedgerRow[] | null>;
  act: (rows: readonly LedgerRow[]) => void;
  clock: Pick<Clock, 'after'>;
  spawn: (work: Promise<unknown>) => void;
  onFault: (fault: Fault) => void;
}): SettledRows {
  const turns = new Map<number, Turn>();

  function later(partition: number, turn: Turn, afterMs: number): void {
    if (turn.left.length === 0) turns.delete(partition);
    else turn.timer = world.clock.after(afterMs, () => world.spawn(takeSlice(partition, turn)));
  }

  async function takeSlice(partition: number, turn: Turn): Promise<void> {
    const slice = turn.left.slice(0, turn.atOnce);
    try {
      const rows = await world.takeUp(partition, slice);
      if (turns.get(partition) !== turn) return;
      if (rows !== null) {
        world.act(rows);
        Object.assign(turn, { left: turn.left.slice(slice.length), atOnce: Math.min(mostAtOnce, turn.atOnce * 2) });
        turn.pauseMs = everyMs;
      }
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      if (turns.get(partition) !== turn) return;
      world.onFault(fault);
      // One of them cannot be read, or the store is away: the others come first, and each try is of fewer and later.
      turn.left = [...turn.left.slice(slice.length), ...slice];
      turn.atOnce = Math.ceil(turn.atOnce / 2);
      turn.pauseMs = Math.min(mostPauseMs, turn.pauseMs * 2);
    }
    later(partition, turn, turn.pauseMs);
  }

  function end(partition: number): void {
    turns.get(partition)?.timer?.cancel();
    turns.delete(partition);
  }

  return {
    begin: (partition, requestIds) => {
      end(partition);
      const turn = { left: requestIds, atOnce: mostAtOnce, pauseMs: everyMs, timer: null };
      turns.set(partition, turn);
      later(partition, turn, firstAfterMs);
    },
    end: (partition) => {
      for (const each of partition === undefined ? [...turns.keys()] : [partition]) end(each);
    },
    left: () => [...turns.values()].reduce((sum, { left }) => sum + left.length, 0),
  };
}
