/**
 * Views that a command folds for itself, where each process of the desk has only those of its own partitions: from the log, into a
 * directory that is gone afterwards. What is asked is answered as of the log's end, so a command sees what became of its own order.
 */
import { readEarlierTerms } from './bidding/earlier-terms.ts';
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

type Folding = { views: Views; catchUp: () => Promise<void>; close: () => Promise<void> };

/** `own`: see `readEarlierTerms`; taken where the log does not state any. */
export function createFoldedViews(log: FoldedLog, own: FoldTerms): FoldedViews {
  let opening: Promise<Folding> | null = null;
  /** One question folds after the other. */
  let turn: Promise<unknown> = Promise.resolve();

  async function views(): Promise<Views> {
    opening ??= open(log, own);
    const { views: folded, catchUp } = await opening;
    const done = turn.then(catchUp);
    turn = done.catch(() => undefined);
    await done;
    return folded;
  }

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
      await (await opening?.catch(() => null))?.close();
    },
  };
}

async function open(log: FoldedLog, own: FoldTerms): Promise<Folding> {
  const { size: partitions } = await log.ends('auctions');
  const { store, caps, logOf, close: closeState } = await openCommandState('lance-views-');
  const owned = createOwnedViews({ store, partitions, logOf, caps });
  const ledger = createLedger(owned.views, (await readEarlierTerms(log)) ?? own, log);
  const positions = new Map<number, number>();
  return {
    views: owned.views,
    catchUp: async () => {
      for (const [partition, end] of await log.ends('auctions')) {
        const from = positions.get(partition) ?? (await owned.take(partition));
        await foldTo({ log, topic: 'auctions', partition }, ledger, { from, end });
        positions.set(partition, Math.max(from, end));
      }
    },
    close: async () => {
      await owned.close();
      await closeState();
    },
  };
}
