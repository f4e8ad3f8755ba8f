/** Snapshots as any transport has to keep them: the latest whole one of each partition, nothing of one that broke off. */
import type { Snapshots } from '../../src/bidding/ports.ts';

type Kept = { foldVersion: number; applied: number; takenAt: number; pieces: readonly Buffer[] };

async function* given(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

export function createSnapshotsInMemory(): Snapshots {
  const latest = new Map<number, Kept>();
  return {
    write: async (partition, { foldVersion, applied, takenAt, pieces }) => {
      const kept = await Array.fromAsync(pieces);
      latest.set(partition, { foldVersion, applied, takenAt, pieces: kept });
    },
    readLatest: async (partition) => {
      const kept = latest.get(partition);
      return kept === undefined ? null : { ...kept, pieces: given(kept.pieces) };
    },
    discard: async (partition) => void latest.delete(partition),
    discardAll: async () => latest.clear(),
  };
}
