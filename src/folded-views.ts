/**
 * Views that a command folds for itself, where each process of the desk has only those of its own partitions: from the log, into a
 * directory that is gone afterwards, as far as the log is when something is asked first.
 */
import { createLedger } from './bidding/ledger.ts';
import { isCallbackPartition, type Views } from './bidding/ports.ts';
import { type FoldedLog, foldTo, openCommandState } from './command-state.ts';
import type { FoldTerms } from './domain/records.ts';
import { Fault } from './errors.ts';
import { createOwnedViews } from './state/owned-views.ts';

export type FoldedViews = {
  /** Nothing can be applied to them. How far callbacks are dealt with is not in the log: for these partitions it is 0. */
  views: Views;
  close: () => Promise<void>;
};

/** `terms`: see `createLedger`. */
export function createFoldedViews(log: FoldedLog, terms: FoldTerms): FoldedViews {
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

async function foldAll(log: FoldedLog, terms: FoldTerms): Promise<FoldedViews> {
  const ends = await log.ends('auctions');
  const { store, caps, logOf, close: closeState } = await openCommandState('lance-views-');
  const owned = createOwnedViews({ store, partitions: ends.size, logOf, caps });
  const close = async () => {
    await owned.close();
    await closeState();
  };
  try {
    const ledger = createLedger(owned.views, terms, log);
    for (const [partition, end] of ends) {
      await owned.take(partition);
      await foldTo({ log, topic: 'auctions', partition }, ledger, { from: 0, end });
    }
  } catch (fault) {
    await close();
    throw fault;
  }
  return { views: owned.views, close };
}
