/** Reads the log back: catches up silently, then lives; begins again when the views fell behind or the log faltered. */
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { AuctionRecord } from '../domain/records.ts';
import { Fault } from '../errors.ts';
import type { Callbacks } from './callbacks.ts';
import type { Fold, Ledger } from './ledger.ts';
import type { DeskObserver } from './observer.ts';
import { type Consumer, callbackPartition, type EventLog, type LogBatch, type Views } from './ports.ts';
import type { BiddingSettings } from './settings.ts';
import { sleep } from './sleep.ts';
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
  /** When the log was last seen to move here, or to have nothing new. */
  progressAt: () => EpochMs;
};

const progressPollMs = 1_000;
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
  const { log, views, ledger, clock, settings, observer } = options;
  let consumers: Consumer[] = [];
  let auctions: Consumer | null = null;
  /** Ends of the partitions when they came. */
  const targets = new Map<number, number>();
  const positions = new Map<number, number>();
  const live = new Set<number>();
  let beginning = true;
  let early: unknown = null;
  let begun = false;
  let progressAt = clock.now();
  let timer: Timer | null = null;

  async function onBatch(batch: LogBatch<AuctionRecord>): Promise<void> {
    const entries = live.has(batch.partition) ? settings.batchEntries : catchUpEntries;
    for (const part of partsOf(batch, entries)) await onPart(part);
  }

  async function onPart(batch: LogBatch<AuctionRecord>): Promise<void> {
    const { partition, next } = batch;
    const folds = await ledger.fold(batch);
    positions.set(partition, next);
    progressAt = clock.now();
    await options.onFolds(folds, live.has(partition));
    if (live.has(partition)) return;
    const end = targets.get(partition) ?? 0;
    options.onRebuild?.({ partition, applied: next, end, restored: 0 });
    if (next >= end) await goLive(partition);
  }

  async function goLive(partition: number): Promise<void> {
    live.add(partition);
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

  async function begin(): Promise<void> {
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
      handler: onBatch,
    });
    consumers = [auctions];
    consumers.push(
      await log.consume({ ...callbacks, scope: 'all', onLost: () => {}, handler: options.callbacks.hear }),
    );
    const { lose: onLost, handle: handler } = options.callbacks;
    consumers.push(await log.consume({ ...callbacks, scope: 'owned', onLost, handler }));
    begun = true;
  }

  /** A fault while it still begins is dealt with when that is over. */
  function onFault(fault: unknown): void {
    if (beginning) early = fault;
    else void restart(fault);
  }

  /** Programmer errors crash; the world's faults are waited out and everything is read again. */
  async function restart(fault: unknown): Promise<void> {
    if (!(fault instanceof Fault) || !fault.retryable) throw fault;
    if (beginning || options.stopping()) return;
    beginning = true;
    observer({ kind: 'fault', code: fault.code, message: fault.message });
    live.clear();
    begun = false;
    for (;;) {
      try {
        await Promise.all(consumers.map((consumer) => consumer.stop()));
        for (const partition of [...targets.keys()]) forget(partition);
        options.onRestart();
        await sleep(clock, settings.retryFirstMs);
        early = null;
        if (!options.stopping()) await begin();
        if (early !== null) throw early;
        break;
      } catch (again) {
        if (!(again instanceof Fault) || !again.retryable) throw again;
        live.clear();
        begun = false;
      }
    }
    beginning = false;
  }

  /** Views that fell behind while nothing new was written would never be noticed by a batch. */
  async function missViews(): Promise<void> {
    const standing = [...positions];
    const applied = await Promise.all(standing.map(([partition]) => views.applied(partition)));
    if (beginning || standing.every(([, position], place) => applied[place]! >= position)) return;
    void restart(new Fault('views-behind', 'the views lost what was folded; folding again'));
  }

  /** A consumer that holds its partition and reads nothing must not look alive. */
  async function watch(): Promise<void> {
    try {
      const ends = await log.ends('auctions');
      if ([...positions].every(([partition, position]) => position >= (ends.get(partition) ?? 0))) {
        progressAt = clock.now();
      }
      await missViews();
    } catch {
      // No answer is no progress.
    }
    if (!options.stopping()) timer = clock.schedule(clock.now() + progressPollMs, () => void watch());
  }

  function owns(partition: number): boolean {
    return live.has(partition) && auctions?.owns(partition) === true;
  }

  return {
    start: async () => {
      await begin();
      beginning = false;
      if (early !== null) void restart(early);
      await watch();
    },
    stop: async () => {
      timer?.cancel();
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },
    isLive: () => begun && [...targets.keys()].every((partition) => live.has(partition)),
    owns,
    owned: () => [...live].filter(owns),
    progressAt: () => progressAt,
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
