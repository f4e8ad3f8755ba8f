/**
 * Everything by which a process folds its partitions by itself: their files, what all of them promise together in the cap book, what
 * they have learnt, and snapshots.
 */
import assert from 'node:assert/strict';
import type { Snapshots, Views } from '../bidding/ports.ts';
import { type CapOperation, createCapBook } from '../domain/cap-book.ts';
import type { Clock } from '../domain/clock.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Fault } from '../errors.ts';
import type { FlowStore } from '../origination/ports.ts';
import type { CapBook, CapBookLost } from './cap-book.ts';
import { type CapControls, type CapKeeperSettings, createCapKeeper } from './cap-keeper.ts';
import { createOwnFlows } from './own-flows.ts';
import { createOwnedViews, type OwnedViews } from './owned-views.ts';
import { createSharedLearning, type LearntBook, type SharedLearningTerms } from './shared-learning.ts';
import { createSnapshotSchedule, type SnapshotTerms } from './snapshot-schedule.ts';
import { openStateStore, type PartitionLog, type StateStoreOptions } from './state-store.ts';
import type { Caps } from './views.ts';

export type OwnPartitions = {
  views: Views;
  /** See `OwnedViews`. */
  take: OwnedViews['take'];
  leave: OwnedViews['leave'];
  held: OwnedViews['held'];
  /** The flows of all partitions, in files beside; `logOf` and `ends` of `flows`. */
  flowsOf: (flows: Pick<Parameters<typeof createOwnFlows>[0], 'logOf' | 'ends' | 'callbacks'>) => FlowStore;
  /** Why no claim can get a verdict of the cap book, for people; null: verdicts can be had. */
  trouble: () => string | null;
  /** The book is kept and snapshots are taken from now on. */
  start: () => void;
  /** Leaves every partition, and gives the directory up. */
  close: () => Promise<void>;
};

export type OwnPartitionsOptions = Pick<StateStoreOptions, 'directory' | 'onDiscarded' | 'onRestoring' | 'limits'> & {
  /** How many `auctions` has. */
  partitions: number;
  logOf: (partition: number) => PartitionLog;
  /** See `createOwnedViews`. */
  dealtWith?: ReadonlyMap<number, number>;
  /** Of a request. */
  partitionOf: (requestId: RequestId) => Promise<number>;
  ends: () => Promise<ReadonlyMap<number, number>>;
  book: CapBook;
  controls: CapControls;
  /** Of the log that is folded. */
  learnt: LearntBook;
  snapshots: Snapshots;
  clock: Clock;
  /** Bidding that has not read the controls for so long has stopped. */
  controlMaxAgeMs: number;
  terms?: Partial<OwnPartitionsTerms>;
  onLoss: (record: CapBookLost, cause: string) => void;
  onSnapshot: (partition: number, applied: number) => void;
  /** Something did not work, and is tried again. */
  onFault: (fault: Fault) => void;
  /** Nothing can be stored any more: the process is to end. */
  onDeath: (fault: Fault) => void;
};

type OwnPartitionsTerms = {
  keeper: Omit<CapKeeperSettings, 'ageLimitMs'>;
  snapshots: SnapshotTerms;
  learning: SharedLearningTerms;
  snapshotAheadRecords: number;
};

const shippedTerms: OwnPartitionsTerms = {
  // The controls are asked by long poll.
  keeper: { pollMs: 250, maxOperations: 500, controlPollMs: 0, retryMs: 200 },
  snapshots: { everyMs: 300_000, everyRecords: 200_000, lookMs: 10_000, pieceBytes: 262_144 },
  learning: { everyMs: 1_000, mostKeys: 200, mostKept: 4_096 },
  snapshotAheadRecords: 20_000,
};

/** Of partitions that are not all here, or of none: nothing is refused by them. */
export function withoutCaps(): Caps {
  return { ...createCapBook(), complete: false };
}

/** The views of a process that takes up no partition. */
export function noPartitions(partitions: number): Views {
  const open = () => Promise.reject(new Error('no partition is taken up here'));
  const logOf = () => assert.fail('no partition is taken up here');
  const caps = withoutCaps();
  // Whichever it is, it is not here.
  return createOwnedViews({ store: { open }, partitions, logOf, caps, partitionOf: async () => 0 }).views;
}

/** Rejects as `openStateStore`. */
export async function openOwnPartitions(options: OwnPartitionsOptions): Promise<OwnPartitions> {
  const { clock, partitions, partitionOf, snapshots, onFault } = options;
  const terms = { ...shippedTerms, ...options.terms };
  const book = createCapKeeper({
    ...{ book: options.book, controls: options.controls, ends: options.ends, partitions, clock },
    settings: { ...terms.keeper, ageLimitMs: options.controlMaxAgeMs },
    onLoss: options.onLoss,
    onFault,
  });
  const caps = withoutCaps();
  const store = await openStateStore({
    ...options,
    ...{ caps, snapshotAheadRecords: terms.snapshotAheadRecords },
    // What is kept for the book is what the fold yields for it.
    onFolded: (partition, applied, operations) =>
      book.folded(partition, applied, operations as readonly CapOperation[]),
    onFault: options.onDeath,
  });
  const learning = createSharedLearning({
    ...{ book: options.learnt, held: () => owned.held(), clock, terms: terms.learning, onFault },
  });
  const owned = createOwnedViews({
    store,
    partitions,
    logOf: options.logOf,
    caps,
    book,
    learnt: learning,
    partitionOf,
    ...(options.dealtWith === undefined ? {} : { dealtWith: options.dealtWith }),
  });
  const schedule = createSnapshotSchedule({
    ...{ partitions: owned.held, snapshots, clock, terms: terms.snapshots, onTaken: options.onSnapshot, onFault },
  });
  return {
    views: owned.views,
    take: owned.take,
    leave: owned.leave,
    held: owned.held,
    flowsOf: (flows) => createOwnFlows({ store, clock, ...flows }),
    trouble: book.trouble,
    start: () => {
      book.start();
      schedule.start();
      learning.start();
    },
    close: async () => {
      await Promise.all([schedule.stop(), learning.stop()]);
      await book.stop();
      await owned.close();
      await store.close();
    },
  };
}
