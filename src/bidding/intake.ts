/** Reads the log back: catches up silently, then lives; begins again when the views fell behind or the log faltered. */

import type { BiddingSettings } from '../config/sections.ts';
import type { Clock, Timer } from '../domain/clock.ts';
import type { AuctionRecord, Topic } from '../domain/records.ts';
import { Fault } from '../errors.ts';
import type { Callbacks } from './callbacks.ts';
import type { Fold, Ledger } from './ledger.ts';
import type { DeskObserver } from './observer.ts';
import { type Consumer, callbackPartition, type EventLog, type LogBatch, type Views } from './ports.ts';
import { createRestarts } from './restarts.ts';
import type { RebuildProgress } from './snapshots.ts';

export type Intake = {
  start: () => Promise<void>;
  stop: () => Promise<void>;
  /** Everything that this process owns is caught up. */
  isLive: () => boolean;
  /** This process may act now for the requests of a partition. */
  owns: (partition: number) => boolean;
  /** What `owns` says yes to, now. */
  owned: () => readonly number[];
  /** Whether, when last asked, the views held all that is promised, whoever promised it. */
  viewsWhole: () => boolean;
  /** Partitions of `auctions` that are still being caught up; null before any were taken. */
  catchingUp: () => readonly number[] | null;
  /** Why reading was ended last, for people; null once a partition is live again. */
  interruption: () => string | null;
  /** Partitions that cannot be read any further, each with its cause. */
  closed: () => readonly string[];
  /** When the log was last seen to move here, or to have nothing new; on the monotonic clock. */
  progressAtMs: () => number;
};

const progressPollMs = 1_000;
const wholePollMs = 100;
/** Records folded at once while a partition is caught up: nothing is decided then, so nothing waits for the batch. */
const catchUpEntries = 1_000;

export function createIntake(options: {
  log: EventLog;
  views: Views;
  ledger: Ledger;
  clock: Clock;
  settings: BiddingSettings;
  observer: DeskObserver;
  stopping: () => boolean;
  onFolds: (folds: readonly Fold[], live: boolean) => Promise<void>;
  /** A partition is caught up: its open requests go on. */
  onLive: (partition: number, position: number) => Promise<void>;
  /** A partition of `auctions` is somebody else's from now on. */
  onLost: (partition: number) => void;
  /** Everything is read again. */
  onRestart: () => void;
  callbacks: Pick<Callbacks, 'hear' | 'handle' | 'lose'>;
  restoreViews?: (partition: number) => Promise<void>;
  onRebuild?: (progress: RebuildProgress) => void;
}): Intake {
  const { log, views, ledger, clock, settings, observer, stopping } = options;
  const { start, onFault, hasBegun } = createRestarts({
    ...{ begin, end, clock, retryMs: settings.retryFirstMs, stopping },
    observer: ({ code, message }) => {
      if (code === 'views-behind') viewsWhole = false;
      interruption = message;
      observer({ kind: 'fault', code, message });
    },
  });
  let consumers: Consumer[] = [];
  let auctions: Consumer | null = null;
  /** Ends of the partitions when they came. */
  const targets = new Map<number, number>();
  const closed = new Map<string, string>();
  const positions = new Map<number, number>();
  const live = new Set<number>();
  let progressAtMs = clock.monotonicMs();
  let timer: Timer | null = null;
  let wholeTimer: Timer | null = null;
  let viewsWhole = false;
  let interruption: string | null = null;

  async function onBatch(batch: LogBatch<AuctionRecord>): Promise<void> {
    const entries = live.has(batch.partition) ? settings.batchEntries : catchUpEntries;
    for (const part of partsOf(batch, entries)) await onPart(part);
  }

  async function onPart(batch: LogBatch<AuctionRecord>): Promise<void> {
    const { partition, next } = batch;
    const folds = await ledger.fold(batch);
    positions.set(partition, next);
    progressAtMs = clock.monotonicMs();
    await options.onFolds(folds, live.has(partition));
    if (live.has(partition)) return;
    const end = targets.get(partition) ?? 0;
    options.onRebuild?.({ partition, applied: next, end, restored: 0 });
    if (next >= end) await goLive(partition);
  }

  async function goLive(partition: number): Promise<void> {
    live.add(partition);
    interruption = null;
    await options.onLive(partition, positions.get(partition) ?? 0);
  }

  /** A partition comes; what it held when it came is folded before anything is done about it. */
  async function take(partition: number): Promise<number> {
    const end = (await log.ends('auctions')).get(partition) ?? 0;
    await options.restoreViews?.(partition);
    const applied = await views.applied(partition);
    targets.set(partition, end);
    positions.set(partition, applied);
    if (applied >= end) await goLive(partition);
    // From where its rows were taken up: a batch that another process folded meanwhile must come by here too, or its
    // rows stay as they were and the next record is folded onto them.
    return applied;
  }

  function lose(partition: number): void {
    forget(partition);
    options.onLost(partition);
  }

  function forget(partition: number): void {
    targets.delete(partition);
    positions.delete(partition);
    live.delete(partition);
  }

  function closing(topic: Topic): (partition: number, cause: string) => void {
    return (partition, cause) => {
      const place = `${topic}/${partition}`;
      if (closed.has(place)) return;
      closed.set(place, cause);
      observer({ kind: 'alarm', code: 'partition-closed', requestId: null, text: `${place}: ${cause}` });
    };
  }

  async function begin(): Promise<void> {
    closed.clear();
    const common = { maxEntries: settings.batchEntries, onFault };
    const maxEntries = Math.max(catchUpEntries, settings.batchEntries);
    const from = (partition: number) => views.applied(callbackPartition(partition));
    const callbacks = { ...common, topic: 'callbacks', from } as const;
    auctions = await log.consume({
      ...common,
      maxEntries,
      topic: 'auctions',
      scope: 'owned',
      from: take,
      onLost: lose,
      onClosed: closing('auctions'),
      handler: onBatch,
    });
    consumers = [auctions];
    consumers.push(
      await log.consume({ ...callbacks, scope: 'all', onLost: () => {}, handler: options.callbacks.hear }),
    );
    const { lose: onLost, handle: handler } = options.callbacks;
    const onClosed = closing('callbacks');
    consumers.push(await log.consume({ ...callbacks, scope: 'owned', onLost, onClosed, handler }));
  }

  /** Nobody acts from its first step on. */
  async function end(): Promise<void> {
    live.clear();
    await Promise.all(consumers.map((consumer) => consumer.stop()));
    for (const partition of [...targets.keys()]) forget(partition);
    options.onRestart();
  }

  /** Views that fell behind while nothing new was written would never be noticed by a batch. */
  async function missViews(): Promise<void> {
    const standing = [...positions];
    const applied = await Promise.all(standing.map(([partition]) => views.applied(partition)));
    if (!hasBegun() || standing.every(([, position], place) => applied[place]! >= position)) return;
    onFault(new Fault('views-behind', 'the views lost what was folded; folding again'));
  }

  /** A consumer that holds its partition and reads nothing must not look alive. */
  async function watch(): Promise<void> {
    try {
      const ends = await log.ends('auctions');
      if ([...positions].every(([partition, position]) => position >= (ends.get(partition) ?? 0))) {
        progressAtMs = clock.monotonicMs();
      }
      await missViews();
    } catch {
      // No answer is no progress.
    }
    if (!stopping()) timer = clock.after(progressPollMs, () => void watch());
  }

  /** What is missing in a partition of somebody else's closes bidding here too: caps are common. */
  async function watchWhole(): Promise<void> {
    try {
      viewsWhole = await views.areWhole(() => log.ends('auctions'));
    } catch {
      // No answer is no news.
    }
    const pollMs = viewsWhole ? progressPollMs : wholePollMs;
    if (!stopping()) wholeTimer = clock.after(pollMs, () => void watchWhole());
  }

  function owns(partition: number): boolean {
    return live.has(partition) && auctions?.owns(partition) === true;
  }

  return {
    start: async () => {
      await watchWhole();
      await start();
      await watch();
    },
    stop: async () => {
      timer?.cancel();
      wholeTimer?.cancel();
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },
    isLive: () => hasBegun() && [...targets.keys()].every((partition) => live.has(partition)),
    owns,
    owned: () => [...live].filter(owns),
    viewsWhole: () => viewsWhole,
    catchingUp: () => (hasBegun() ? [...targets.keys()].filter((partition) => !live.has(partition)) : null),
    interruption: () => interruption,
    closed: () => [...closed].map(([place, cause]) => `${place} is closed: ${cause}`),
    progressAtMs: () => progressAtMs,
  };
}

function* partsOf(batch: LogBatch<AuctionRecord>, most: number): Generator<LogBatch<AuctionRecord>> {
  if (batch.entries.length <= most) {
    yield batch;
    return;
  }
  let { first } = batch;
  for (let from = 0; from < batch.entries.length; from += most) {
    const next = batch.entries[from + most]?.offset ?? batch.next;
    yield { partition: batch.partition, first, next, entries: batch.entries.slice(from, from + most) };
    first = next;
  }
}
