/**
 * The views of the partitions that this process owns, as one. Each partition is taken up and left by itself, with a file of its own;
 * rows are put together when they are read, and what is common to all partitions is added up. What other processes own is not in the
 * answers: `missing` names it.
 */
import {
  callbackPartition,
  cursorOf,
  isCallbackPartition,
  type LedgerRow,
  type ViewBatch,
  type Views,
} from '../bidding/ports.ts';
import { mergedHolders } from '../domain/code-holders.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { type PartHistogram, sumHistograms } from '../domain/histogram.ts';
import { Fault } from '../errors.ts';
import type { CapKeeper } from './cap-keeper.ts';
import type { SharedLearning } from './shared-learning.ts';
import type { PartitionLog, PartitionState, StateStore } from './state-store.ts';
import type { Caps } from './views.ts';

export type OwnedViews = {
  /**
   * `findByBid` and `query` answer from the partitions that are held, and so does `read` where nobody knows which partition a request is
   * of. What is asked of another one rejects with `views-unavailable`. A batch of `callbacks` is dealt with when it is for every partition held: how far that is stands in each file,
   * and the least of them is told.
   */
  views: Views;
  /** Takes a partition up, once it is left where that is under way. Resolves to how far it is folded, with the faults of `StateStore.open`. */
  take: (partition: number) => Promise<number>;
  /** From now on nothing is answered of the partition. Resolves when what can be stored of it is, and others may go on with it. */
  leave: (partition: number) => Promise<void>;
  /** Those that are taken up. */
  held: () => ReadonlyMap<number, PartitionState>;
  missing: NonNullable<Views['missing']>;
  /** Leaves every partition. The store stays open. */
  close: () => Promise<void>;
};

export function createOwnedViews(options: {
  store: Pick<StateStore, 'open'>;
  /** How many partitions there are. */
  partitions: number;
  logOf: (partition: number) => PartitionLog;
  /** Those of the store. */
  caps: Caps;
  /** The caps of all partitions, where a book keeps them: verdicts and sums are its. Null: `caps` are all there is. */
  book?: CapKeeper | null;
  /** What partitions have learnt that are not held here. Null: nothing is known of it. */
  learnt?: Pick<SharedLearning, 'read'> | null;
  /** How far each partition of `callbacks` was dealt with before the log was folded into files; left out: nothing of it was. */
  dealtWith?: ReadonlyMap<number, number>;
  /** Of a request; left out: it is not known. */
  partitionOf?: (requestId: RequestId) => Promise<number>;
}): OwnedViews {
  const { store, caps, book = null, learnt = null } = options;
  const held = new Map<number, PartitionState>();
  /** The last thing that was begun with each partition: they are done one after the other. */
  const turns = new Map<number, Promise<unknown>>();

  function inTurn<R>(partition: number, work: () => Promise<R>): Promise<R> {
    const done = (turns.get(partition) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => undefined);
    turns.set(partition, settled);
    return done;
  }

  function take(partition: number): Promise<number> {
    return inTurn(partition, async () => {
      const known = held.get(partition);
      if (known !== undefined) return known.views.applied(partition);
      const state = await store.open(partition, options.logOf(partition));
      held.set(partition, state);
      // In the turn in which it is opened: its sums are those of its origin.
      book?.take(partition, state);
      return state.origin.applied;
    });
  }

  function leave(partition: number): Promise<void> {
    // At once, but for one that is only being taken up.
    const state = letGo(partition);
    return inTurn(partition, async () => {
      await (state ?? letGo(partition))?.close();
    });
  }

  function letGo(partition: number): PartitionState | undefined {
    const state = held.get(partition);
    if (held.delete(partition)) book?.drop(partition);
    return state;
  }

  function heldAt(partition: number): Views {
    const state = held.get(partition);
    if (state !== undefined) return state.views;
    throw new Fault('views-unavailable', `Partition ${partition} of auctions is not folded by this process.`);
  }

  function fromAll<R>(ask: (views: Views) => Promise<R>): Promise<R[]> {
    return Promise.all([...held.values()].map(({ views }) => ask(views)));
  }

  /** Where nothing is held, nothing is known to be dealt with. */
  async function appliedOfCallbacks(stream: number): Promise<number> {
    if (held.size === 0) return 0;
    const before = options.dealtWith?.get(callbackPartition(stream)) ?? 0;
    return Math.max(before, Math.min(...(await fromAll((views) => views.applied(stream)))));
  }

  async function applyCallbacks({ partition, first, next }: ViewBatch): ReturnType<Views['apply']> {
    const applied = await appliedOfCallbacks(partition);
    if (first !== applied) return { kind: 'out-of-step', applied };
    await fromAll(async (views) => {
      const own = await views.applied(partition);
      if (own < next) await views.apply({ partition, first: own, next, changes: [] });
    });
    return { kind: 'applied', refused: [], whole: caps.complete };
  }

  const ownUsage = (keys: readonly string[], at: EpochMs) => new Map(keys.map((key) => [key, caps.usage(key, at)]));
  const wholeUsage = async (keys: readonly string[], at: EpochMs) => {
    if (book !== null) return book.usage(keys);
    return caps.complete ? ownUsage(keys, at) : null;
  };

  const missing = () => Array.from({ length: options.partitions }, (_, each) => each).filter((each) => !held.has(each));

  const views: Views = {
    missing,
    applied: async (partition) =>
      isCallbackPartition(partition) ? appliedOfCallbacks(partition) : heldAt(partition).applied(partition),
    apply: async (batch) =>
      isCallbackPartition(batch.partition) ? applyCallbacks(batch) : heldAt(batch.partition).apply(batch),
    read: async (requestIds) => {
      const found = new Map<RequestId, LedgerRow>();
      for (const rows of await fromAll((each) => each.read(requestIds))) {
        for (const [requestId, row] of rows) found.set(requestId, row);
      }
      // A caller that is told that there is no such request goes on without it.
      for (const requestId of requestIds) {
        if (options.partitionOf !== undefined && !found.has(requestId)) heldAt(await options.partitionOf(requestId));
      }
      return found;
    },
    readAt: async (partition, requestIds) => heldAt(partition).readAt(partition, requestIds),
    open: async (partition) => heldAt(partition).open(partition),
    findByBid: async (bidIds) => {
      return mergedHolders((await fromAll((each) => each.findByBid(bidIds))).flatMap((found) => [...found]));
    },
    usage: async (keys, at) => (await wholeUsage(keys, at)) ?? ownUsage(keys, at),
    areWhole: async () => (book === null ? caps.complete : book.trouble() === null),
    wholeUsage,
    ...(book === null
      ? {}
      : { verdicts: { of: book.verdictOf, areToBeHad: () => book.trouble() === null, changed: book.changed } }),
    windowsOver: async (partition, at, limit) => (await heldAt(partition).windowsOver?.(partition, at, limit)) ?? [],
    statistics: async (keys) => {
      const elsewhere = missing();
      const others = elsewhere.length === 0 ? null : await learnt?.read(elsewhere, keys);
      const parts = new Map<string, PartHistogram[]>();
      for (const [key, ofKey] of others ?? []) parts.set(key, [...ofKey]);
      for (const [partition, state] of held) {
        // What was taken up while the others were asked was told by its owner of before.
        if (elsewhere.includes(partition)) continue;
        for (const [key, part] of state.learnt(keys)) {
          const known = parts.get(key);
          if (known === undefined) parts.set(key, [part]);
          else known.push(part);
        }
      }
      return new Map([...parts].map(([key, ofKey]) => [key, sumHistograms(ofKey)]));
    },
    query: async (query) => {
      const pages = await fromAll((each) => each.query(query));
      return pages.flat().sort(latestFirst).slice(0, query.limit);
    },
  };

  return {
    views,
    take,
    leave,
    held: () => held,
    missing,
    close: async () => {
      await Promise.all([...turns.keys()].map(leave));
    },
  };
}

function latestFirst(left: LedgerRow, right: LedgerRow): number {
  const [before, after] = [cursorOf(left.state), cursorOf(right.state)];
  if (before === after) return 0;
  return before < after ? 1 : -1;
}
