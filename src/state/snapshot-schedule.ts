/** Takes snapshots of the partitions that this process folds: each after some time, or after as many records as are long to fold again. */
import type { Snapshots } from '../bidding/ports.ts';
import type { Clock, Timer } from '../domain/clock.ts';
import { Fault } from '../errors.ts';
import type { PartitionState } from './state-store.ts';

export type SnapshotTerms = {
  /** From one snapshot of a partition to the next, at the latest, where anything was folded since. */
  everyMs: number;
  /** With so many records since the last one it is taken at once. */
  everyRecords: number;
  /** How often it is looked at how far the partitions are. */
  lookMs: number;
  /** Longest piece; has to fit into one message of the transport. */
  pieceBytes: number;
};

export type SnapshotSchedule = {
  start: () => void;
  /** Waits for the snapshot under way. */
  stop: () => Promise<void>;
};

export function createSnapshotSchedule(options: {
  /** Those that this process folds just now. */
  partitions: () => ReadonlyMap<number, PartitionState>;
  snapshots: Pick<Snapshots, 'write'>;
  clock: Clock;
  terms: SnapshotTerms;
  onTaken: (partition: number, applied: number) => void;
  /** A snapshot was not taken: the one before stays the latest, and the next look tries again. */
  onFault: (fault: Fault) => void;
}): SnapshotSchedule {
  const { snapshots, clock, terms } = options;
  /** Of each state since it was opened: how far it was when its last snapshot was taken, and when that was. */
  const last = new WeakMap<PartitionState, { applied: number; atMs: number }>();
  let stopping = false;
  let timer: Timer | null = null;
  let look: Promise<void> = Promise.resolve();

  async function takeDue(partition: number, state: PartitionState): Promise<void> {
    const applied = await state.views.applied(partition);
    const nowMs = clock.monotonicMs();
    const before = last.get(state) ?? { applied: state.origin.applied, atMs: nowMs };
    last.set(state, before);
    if (applied === before.applied) return;
    if (applied - before.applied < terms.everyRecords && nowMs - before.atMs < terms.everyMs) return;
    const takenAt = clock.now();
    const taken = await state.takeSnapshot(terms.pieceBytes, (copy) =>
      snapshots.write(partition, { ...copy, takenAt }),
    );
    if (taken === null) return;
    last.set(state, { applied: taken, atMs: nowMs });
    options.onTaken(partition, taken);
  }

  /** One after the other: a snapshot costs the disk and the transport something. */
  async function takeAllDue(): Promise<void> {
    for (const [partition, state] of options.partitions()) {
      if (stopping) return;
      try {
        await takeDue(partition, state);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        options.onFault(fault);
      }
    }
  }

  function lookLater(): void {
    timer = clock.after(terms.lookMs, () => {
      look = takeAllDue().then(() => {
        if (!stopping) lookLater();
      });
    });
  }

  return {
    start: lookLater,
    stop: async () => {
      stopping = true;
      timer?.cancel();
      await look;
    },
  };
}
