/**
 * Where a command folds the log for itself: a state store in a directory that is gone afterwards. Nobody goes on with its files, so they
 * are not compared with the log.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventLog, LogBatch } from './bidding/ports.ts';
import type { Topics } from './domain/records.ts';
import { withoutCaps } from './state/own-partitions.ts';
import { openStateStore, type PartitionLog, type StateStore } from './state/state-store.ts';
import type { Caps } from './state/views.ts';

export type CommandState = {
  /** Where its files are. */
  directory: string;
  store: StateStore;
  caps: Caps;
  logOf: () => PartitionLog;
  close: () => Promise<void>;
};

export type FoldedLog = Pick<EventLog, 'read' | 'readKey' | 'ends'>;

const pageEntries = 1_000;

export async function openCommandState(directoryPrefix: string): Promise<CommandState> {
  const directory = mkdtempSync(join(tmpdir(), directoryPrefix));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const caps = withoutCaps();
  try {
    const store = await openStateStore({
      ...{ directory, caps, snapshots: null, snapshotAheadRecords: 0 },
      ...{ onDiscarded: () => undefined, onRestoring: () => undefined },
      onFault: (fault) => {
        throw fault;
      },
    });
    const extent = async () => ({ first: 0, end: Number.MAX_SAFE_INTEGER });
    return {
      directory,
      store,
      caps,
      logOf: () => ({ genesis: '', extent, hashAt: async () => null }),
      close: async () => {
        await store.close();
        remove();
      },
    };
  } catch (fault) {
    remove();
    throw fault;
  }
}

/** Folds one partition from `from` to `end`, page by page. */
export async function foldTo<T extends 'auctions' | 'flows'>(
  { log, topic, partition }: { log: FoldedLog; topic: T; partition: number },
  ledger: { fold: (batch: LogBatch<Topics[T]>) => Promise<unknown>; clear: () => unknown },
  { from, end, onFolded = () => undefined }: { from: number; end: number; onFolded?: (next: number) => void },
): Promise<void> {
  for (let position = from; position < end; ) {
    const entries = await log.read(topic, partition, position, Math.min(pageEntries, end - position));
    const next = (entries.at(-1)?.offset ?? end - 1) + 1;
    await ledger.fold({ partition, first: position, next, entries });
    // A command acts on nothing that is open.
    ledger.clear();
    position = next;
    onFolded(next);
  }
}
