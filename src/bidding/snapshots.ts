/**
 * Snapshots make a rebuild short: views that are gone are put back from the latest copy, and the same fold as ever goes on from
 * there. For views on a server that can lose them; the log stays the truth.
 */
import type { Clock, Timer } from '../domain/clock.ts';
import { Fault } from '../errors.ts';
import type { Snapshots, ViewCopies, Views } from './ports.ts';
import { sleep } from './sleep.ts';

/** How far a partition's views are while they are made again. */
export type RebuildProgress = {
  partition: number;
  /** The offset up to which the log is folded in; 0 while a snapshot is being put back. */
  applied: number;
  /** Where the views are complete: the end of the log as it was when the rebuild began, or the snapshot's offset. */
  end: number;
  /** Entries of the snapshot put back so far. */
  restored: number;
};

export type SnapshotSettings = {
  /** From one snapshot of a partition to the next. What was folded since has to be folded again after a loss. */
  everyMs: number;
  /** Closed requests older than this are left out of snapshots: longer than a request can reopen, and than a webhook can be repeated. */
  keepClosedMs: number;
  /** Longest piece; has to fit into one message of the transport. */
  pieceBytes: number;
  /** Pause before asking again for views that another process is restoring. */
  retryMs: number;
};

export type SnapshotKeeper = {
  /**
   * Puts the latest snapshot back where the views of a partition are gone, or waits for another process that does. Without a
   * snapshot they stay as they are. Rejects with the faults of the ports.
   */
  restore: (partition: number) => Promise<void>;
  /** Takes a snapshot now. Returns its offset, null when there is nothing new or another process takes one. */
  take: (partition: number) => Promise<number | null>;
  start: () => void;
  /** Waits for the snapshot under way. */
  stop: () => Promise<void>;
};

export function createSnapshotKeeper(options: {
  views: Pick<Views, 'applied'>;
  copies: ViewCopies;
  snapshots: Snapshots;
  clock: Clock;
  settings: SnapshotSettings;
  /** Those that this process is answerable for just now. */
  partitions: () => readonly number[];
  onProgress: (progress: RebuildProgress) => void;
  onFault: (fault: Fault) => void;
}): SnapshotKeeper {
  const { views, copies, snapshots, clock, settings } = options;
  const takenAt = new Map<number, number>();
  let stopping = false;
  let timer: Timer | null = null;
  let round: Promise<void> = Promise.resolve();

  async function restore(partition: number): Promise<void> {
    while ((await views.applied(partition)) === 0) {
      const snapshot = await snapshots.readLatest(partition);
      if (snapshot === null || snapshot.applied === 0) return;
      let restored = 0;
      const told = () => options.onProgress({ partition, applied: 0, end: snapshot.applied, restored });
      told();
      const result = await copies.restore(partition, snapshot, (entries) => {
        restored += entries;
        told();
      });
      if (result === 'restored') {
        options.onProgress({ partition, applied: snapshot.applied, end: snapshot.applied, restored });
        return;
      }
      await sleep(clock, settings.retryMs);
    }
  }

  async function take(partition: number): Promise<number | null> {
    const applied = await views.applied(partition);
    if (applied === 0 || takenAt.get(partition) === applied) return null;
    const keepFrom = clock.now() - settings.keepClosedMs;
    const copy = await copies.take(partition, { keepFrom, pieceBytes: settings.pieceBytes });
    if (copy === null) return null;
    await snapshots.write(partition, { ...copy, takenAt: clock.now() });
    takenAt.set(partition, copy.applied);
    return copy.applied;
  }

  /** One after the other: a copy costs the server and the transport something. */
  async function takeAll(): Promise<void> {
    for (const partition of options.partitions()) {
      // Where one fails, the one before stays the latest; the next round tries again.
      if (!stopping) await orTold(take(partition));
    }
    if (!stopping) await orTold(copies.sweep());
  }

  async function orTold(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      options.onFault(fault);
    }
  }

  function takeLater(): void {
    timer = clock.after(settings.everyMs, () => {
      round = takeAll().then(() => {
        if (!stopping) takeLater();
      });
    });
  }

  return {
    restore,
    take,
    start: takeLater,
    stop: async () => {
      stopping = true;
      timer?.cancel();
      await round;
    },
  };
}
