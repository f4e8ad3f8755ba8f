/**
 * Views that a command folds for itself, where each process of the desk has only those of its own partitions: from the log, into a
 * directory that is gone afterwards, as far as the log is when something is asked first.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLedger } from './bidding/ledger.ts';
import { type EventLog, isCallbackPartition, type Views } from './bidding/ports.ts';
import type { FoldTerms } from './domain/records.ts';
import { Fault } from './errors.ts';
import { withoutCaps } from './state/own-partitions.ts';
import { createOwnedViews } from './state/owned-views.ts';
import { openStateStore } from './state/state-store.ts';

type Log = Pick<EventLog, 'read' | 'readKey' | 'ends'>;

export type FoldedViews = {
  /** Nothing can be applied to them. How far callbacks are dealt with is not in the log: for these partitions it is 0. */
  views: Views;
  close: () => Promise<void>;
};

const pageEntries = 1_000;

/** `terms`: see `createLedger`. */
export function createFoldedViews(log: Log, terms: FoldTerms): FoldedViews {
  let folding: Promise<FoldedViews> | null = null;
  const views = async (): Promise<Views> => {
    folding ??= foldAll(log, terms);
    return (await folding).views;
  };
  return {
    views: {
      applied: async (partition) => (isCallbackPartition(partition) ? 0 : (await views()).applied(partition)),
      apply: async () => {
        throw new Fault('not-allowed', 'Views that a command has folded for itself are not the views of the desk.');
      },
      read: async (requestIds) => (await views()).read(requestIds),
      readAt: async (partition, requestIds) => (await views()).readAt(partition, requestIds),
      open: async (partition) => (await views()).open(partition),
      findByBid: async (bidIds) => (await views()).findByBid(bidIds),
      usage: async (keys, at) => (await views()).usage(keys, at),
      areWhole: async () => true,
      wholeUsage: async (keys, at) => (await views()).usage(keys, at),
      statistics: async (keys) => (await views()).statistics(keys),
      query: async (query) => (await views()).query(query),
    },
    close: async () => {
      await (await folding?.catch(() => null))?.close();
    },
  };
}

async function foldAll(log: Log, terms: FoldTerms): Promise<FoldedViews> {
  const ends = await log.ends('auctions');
  const directory = mkdtempSync(join(tmpdir(), 'lance-views-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const caps = withoutCaps();
    const store = await openStateStore({
      ...{ directory, caps, snapshots: null, snapshotAheadRecords: 0 },
      ...{ onDiscarded: () => undefined, onRestoring: () => undefined },
      onFault: (fault) => {
        throw fault;
      },
    });
    // Nobody goes on with these files.
    const extent = async () => ({ first: 0, end: Number.MAX_SAFE_INTEGER });
    const logOf = () => ({ genesis: '', extent, hashAt: async () => null });
    const owned = createOwnedViews({ store, partitions: ends.size, logOf, caps });
    const close = async () => {
      await owned.close();
      await store.close();
      remove();
    };
    try {
      const ledger = createLedger(owned.views, terms, log);
      for (const [partition, end] of ends) {
        await owned.take(partition);
        await foldTo(log, ledger, partition, end);
      }
    } catch (fault) {
      await close();
      throw fault;
    }
    return { views: owned.views, close };
  } catch (fault) {
    remove();
    throw fault;
  }
}

async function foldTo(
  log: Log,
  ledger: ReturnType<typeof createLedger>,
  partition: number,
  end: number,
): Promise<void> {
  for (let position = 0; position < end; ) {
    const entries = await log.read('auctions', partition, position, Math.min(pageEntries, end - position));
    const next = (entries.at(-1)?.offset ?? end - 1) + 1;
    await ledger.fold({ partition, first: position, next, entries });
    // Nobody acts on open requests here.
    ledger.clear();
    position = next;
  }
}
