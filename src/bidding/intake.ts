/** Reads the log back: catches up silently, then lives; begins again when the views fell behind or the log faltered. */
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { AuctionRecord, CallbackRecord } from '../domain/records.ts';
import { Fault } from '../errors.ts';
import type { Fold, Ledger } from './ledger.ts';
import type { DeskObserver } from './observer.ts';
import { type Consumer, callbackPartition, type EventLog, type LogBatch, type Views } from './ports.ts';
import type { BiddingSettings } from './settings.ts';
import { sleep } from './sleep.ts';
import type { RebuildProgress } from './snapshots.ts';

export type Intake = {
  start: () => Promise<void>;
  stop: () => Promise<void>;
  isLive: () => boolean;
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
  onLost: () => void;
  onCallbacks: (batch: LogBatch<CallbackRecord>) => Promise<void>;
  restoreViews?: (partition: number) => Promise<void>;
  onRebuild?: (progress: RebuildProgress) => void;
}): Intake {
  const { log, views, ledger, clock, settings, observer } = options;
  let consumers: Consumer[] = [];
  let targets: ReadonlyMap<number, number> = new Map();
  const positions = new Map<number, number>();
  const live = new Set<number>();
  let restarting = false;
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

  async function begin(): Promise<void> {
    targets = await log.ends('auctions');
    for (const [partition, end] of targets) {
      await options.restoreViews?.(partition);
      const applied = await views.applied(partition);
      positions.set(partition, applied);
      if (applied >= end) await goLive(partition);
    }
    const common = { onFault: (fault: unknown) => void restart(fault) };
    // From where its rows were taken up: a batch that another process folded meanwhile must come by here too, or its
    // rows stay as they were and the next record is folded onto them.
    const from = async (partition: number) => positions.get(partition) ?? 0;
    consumers = [
      await log.consume({
        ...common,
        topic: 'auctions',
        from,
        maxEntries: Math.max(catchUpEntries, settings.batchEntries),
        handler: onBatch,
      }),
      await log.consume({
        ...common,
        topic: 'callbacks',
        maxEntries: settings.batchEntries,
        from: (partition) => views.applied(callbackPartition(partition)),
        handler: options.onCallbacks,
      }),
    ];
  }

  /** Programmer errors crash; the world's faults are waited out and everything is read again. */
  async function restart(fault: unknown): Promise<void> {
    if (!(fault instanceof Fault) || !fault.retryable) throw fault;
    if (restarting || options.stopping()) return;
    restarting = true;
    observer({ kind: 'fault', code: fault.code, message: fault.message });
    live.clear();
    for (;;) {
      try {
        await Promise.all(consumers.map((consumer) => consumer.stop()));
        options.onLost();
        await sleep(clock, settings.retryFirstMs);
        if (!options.stopping()) await begin();
        break;
      } catch (again) {
        if (!(again instanceof Fault) || !again.retryable) throw again;
        live.clear();
      }
    }
    restarting = false;
  }

  /** Views that fell behind while nothing new was written would never be noticed by a batch. */
  async function missViews(): Promise<void> {
    for (const [partition, position] of [...positions]) {
      if (restarting || (await views.applied(partition)) >= position) continue;
      void restart(new Fault('views-behind', 'the views lost what was folded; folding again'));
      return;
    }
  }

  /** A consumer that holds its partition and reads nothing must not look alive. */
  async function watch(): Promise<void> {
    try {
      const ends = await log.ends('auctions');
      if ([...ends].every(([partition, end]) => (positions.get(partition) ?? 0) >= end)) progressAt = clock.now();
      await missViews();
    } catch {
      // No answer is no progress.
    }
    if (!options.stopping()) timer = clock.schedule(clock.now() + progressPollMs, () => void watch());
  }

  return {
    start: async () => {
      await begin();
      await watch();
    },
    stop: async () => {
      timer?.cancel();
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },
    isLive: () => !restarting && [...targets.keys()].every((partition) => live.has(partition)),
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
