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

/** How far the views of a partition are folded that is caught up. */
export type RebuildProgress = { partition: number; applied: number };

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
  /** How much of these is folded, of all their records that there were when they came: 0 to 1. */
  foldedShare: () => number;
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
  restoreViews?: (partition: number) => Promise<unknown>;
  leaveViews?: (partition: number) => Promise<void>;
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
  /** Those of callbacks. */
  let consumers: Consumer[] = [];
  let auctions: Consumer | null = null;
  /** The auctions are read, so the callbacks are to be. */
  let areCallbacksWanted = false;
  /** Partitions that are being taken up. */
  let taking = 0;
  /** The callbacks are begun and ended one after the other. */
  let callbackTurns: Promise<void> = Promise.resolve();
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
  let evicting: string | null = null;

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
    options.onRebuild?.({ partition, applied: next });
    if (next >= (targets.get(partition) ?? 0)) await goLive(partition);
  }

  async function goLive(partition: number): Promise<void> {
    live.add(partition);
    interruption = null;
    await options.onLive(partition, positions.get(partition) ?? 0);
  }

  /** A partition comes; what it held when it came is folded before anything is done about it. */
  async function take(partition: number): Promise<number> {
    if (views.missing === undefined) return takeUp(partition);
    // What was dealt with for the partitions that are here was not for this one.
    taking += 1;
    try {
      await inCallbackTurn(endCallbacks);
      return await takeUp(partition);
    } finally {
      taking -= 1;
      if (taking === 0 && areCallbacksWanted) inCallbackTurn(beginCallbacks).catch(onFault);
    }
  }

  async function takeUp(partition: number): Promise<number> {
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
    void options.leaveViews?.(partition);
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
    auctions = await log.consume({
      maxEntries: Math.max(catchUpEntries, settings.batchEntries),
      onFault,
      topic: 'auctions',
      scope: 'owned',
      from: take,
      onLost: lose,
      onClosed: closing('auctions'),
      handler: onBatch,
    });
    areCallbacksWanted = true;
    await inCallbackTurn(beginCallbacks);
  }

  function inCallbackTurn(work: () => Promise<void>): Promise<void> {
    const done = callbackTurns.then(work);
    callbackTurns = done.catch(() => undefined);
    return done;
  }

  async function beginCallbacks(): Promise<void> {
    if (taking > 0 || consumers.length > 0 || stopping()) return;
    const { hear, handle, lose: onLost } = options.callbacks;
    const onClosed = closing('callbacks');
    const common = { topic: 'callbacks', maxEntries: settings.batchEntries, onFault } as const;
    if (views.missing === undefined) {
      const from = (partition: number) => views.applied(callbackPartition(partition));
      consumers.push(await log.consume({ ...common, from, scope: 'all', onLost: () => {}, handler: hear }));
      consumers.push(await log.consume({ ...common, from, scope: 'owned', onLost, onClosed, handler: handle }));
      return;
    }
    // A winner event is for the owner of its request, whom nobody else knows: every process reads them all.
    const ends = await log.ends('callbacks');
    const from = async (partition: number) =>
      targets.size === 0 ? (ends.get(partition) ?? 0) : views.applied(callbackPartition(partition));
    const handler: typeof handle = async (batch) => {
      await hear(batch);
      if (targets.size > 0) await handle(batch);
    };
    consumers.push(await log.consume({ ...common, from, scope: 'all', onLost, onClosed, handler }));
  }

  async function endCallbacks(): Promise<void> {
    const ending = consumers;
    consumers = [];
    await Promise.all(ending.map((consumer) => consumer.stop()));
    for (const partition of (await log.ends('callbacks')).keys()) options.callbacks.lose(partition);
  }

  /** Nobody acts from its first step on. */
  async function end(): Promise<void> {
    live.clear();
    await stopAll();
    for (const partition of [...targets.keys()]) {
      forget(partition);
      void options.leaveViews?.(partition);
    }
    options.onRestart();
  }

  async function stopAll(): Promise<void> {
    areCallbacksWanted = false;
    const ending = [...consumers, ...(auctions === null ? [] : [auctions])];
    await Promise.all(ending.map((consumer) => consumer.stop()));
    // One that was begun meanwhile.
    await inCallbackTurn(async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      consumers = [];
    });
  }

  /** Views that fell behind while nothing new was written would never be noticed by a batch. */
  async function missViews(): Promise<void> {
    const standing = [...positions];
    const applied = await Promise.all(standing.map(([partition]) => views.applied(partition)));
    if (!hasBegun() || standing.every(([, position], place) => applied[place]! >= position)) return;
    onFault(new Fault('views-behind', 'the views lost what was folded; folding again'));
  }

  /** Detects a consumer that holds its partition and reads nothing: its progress stays old. */
  async function watch(): Promise<void> {
    try {
      const ends = await log.ends('auctions');
      if ([...positions].every(([partition, position]) => position >= (ends.get(partition) ?? 0))) {
        progressAtMs = clock.monotonicMs();
      }
      await missViews();
    } catch {
      // Without an answer the last progress stands.
    }
    if (!stopping()) timer = clock.after(progressPollMs, () => void watch());
  }

  async function tellEvicting(): Promise<void> {
    const policy = (await views.evicting?.()) ?? null;
    if (policy !== null && policy !== evicting) {
      const text = `maxmemory-policy is ${policy}: Redis may take away any key; nothing is bid until it is noeviction`;
      observer({ kind: 'alarm', code: 'views-evictable', requestId: null, text });
    }
    evicting = policy;
  }

  /** What is missing in a partition of somebody else's closes bidding here too: caps are common. */
  async function watchWhole(): Promise<void> {
    try {
      viewsWhole = await views.areWhole(() => log.ends('auctions'));
      await tellEvicting();
    } catch {
      // Keep the last known state when the poll fails.
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
      await stopAll();
    },
    isLive: () => hasBegun() && [...targets.keys()].every((partition) => live.has(partition)),
    owns,
    owned: () => [...live].filter(owns),
    viewsWhole: () => viewsWhole && (views.verdicts?.areToBeHad() ?? true),
    catchingUp: () => (hasBegun() ? [...targets.keys()].filter((partition) => !live.has(partition)) : null),
    foldedShare: () => {
      let [folded, all] = [0, 0];
      for (const [partition, end] of targets) {
        if (live.has(partition)) continue;
        folded += positions.get(partition) ?? 0;
        all += end;
      }
      return all === 0 ? 1 : Math.min(1, folded / all);
    },
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
