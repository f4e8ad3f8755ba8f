/** Reads the log of flows back, and what the service tells: catches up silently, then lives; begins again after a fault. */
import { type Consumer, callbackPartition, type EventLog, type LogBatch } from '../bidding/ports.ts';
import { createRestarts } from '../bidding/restarts.ts';
import type { Clock } from '../domain/clock.ts';
import type { FlowRecord } from '../domain/flow-records.ts';
import type { CallbackRecord } from '../domain/records.ts';
import type { Fault } from '../errors.ts';
import type { FlowStore } from './ports.ts';

type FlowIntake = {
  start: () => Promise<void>;
  stop: () => Promise<void>;
  /** This process may act now for the flows of a partition; where it folds all of them by itself, for those of it that it carries on. */
  owns: (partition: number) => boolean;
  isLive: () => boolean;
  /** Partitions that cannot be read any further, each with its cause. */
  closed: () => readonly string[];
};

/** Consumers of `callbacks` for flows share its partitions apart from those of the bidding desk. */
export const readerName = 'flows';

export function createFlowIntake(options: {
  log: EventLog;
  flows: FlowStore;
  clock: Clock;
  maxEntries: number;
  retryMs: number;
  stopping: () => boolean;
  onBatch: (batch: LogBatch<FlowRecord>, live: boolean) => Promise<void>;
  /** A partition is caught up to `position`: its open flows go on. */
  onLive: (partition: number, position: number) => Promise<void>;
  onLost: (partition: number) => void;
  onCallbacks: (batch: LogBatch<CallbackRecord>) => Promise<void>;
  onRestart: () => void;
  onClosed: (text: string) => void;
  onFault: (fault: Fault) => void;
}): FlowIntake {
  const { log, flows, clock, maxEntries, retryMs, stopping } = options;
  const restarts = createRestarts({ begin, end, clock, retryMs, stopping, observer: options.onFault });
  const targets = new Map<number, number>();
  const live = new Set<number>();
  const closed = new Map<string, string>();
  let consumers: Consumer[] = [];
  let owner: Consumer | null = null;

  async function take(partition: number): Promise<number> {
    const end = (await log.ends('flows')).get(partition) ?? 0;
    await flows.own?.take(partition);
    const applied = await flows.applied(partition);
    targets.set(partition, end);
    if (applied >= end) await goLive(partition, applied);
    return applied;
  }

  async function goLive(partition: number, position: number): Promise<void> {
    live.add(partition);
    await options.onLive(partition, position);
  }

  async function onBatch(batch: LogBatch<FlowRecord>): Promise<void> {
    const { partition, next } = batch;
    await options.onBatch(batch, live.has(partition));
    if (!live.has(partition) && next >= (targets.get(partition) ?? 0)) await goLive(partition, next);
  }

  function lose(partition: number): void {
    targets.delete(partition);
    live.delete(partition);
    options.onLost(partition);
  }

  function closing(topic: string): (partition: number, cause: string) => void {
    return (partition, cause) => {
      const place = `${topic}/${partition}`;
      if (topic === 'flows') flows.own?.giveUp(partition);
      if (closed.has(place)) return;
      closed.set(place, cause);
      options.onClosed(`${place}: ${cause}`);
    };
  }

  async function begin(): Promise<void> {
    closed.clear();
    const common = { maxEntries, onFault: restarts.onFault } as const;
    owner = await log.consume({
      ...common,
      scope: flows.own === undefined ? 'owned' : 'all',
      topic: 'flows',
      from: take,
      onLost: lose,
      onClosed: closing('flows'),
      handler: onBatch,
    });
    consumers = [owner];
    const told = await log.consume({
      ...common,
      scope: 'owned',
      topic: 'callbacks',
      reader: readerName,
      from: (partition) => flows.applied(callbackPartition(partition)),
      onLost: () => {},
      onClosed: closing('callbacks'),
      handler: options.onCallbacks,
    });
    consumers.push(told);
  }

  async function end(): Promise<void> {
    await Promise.all(consumers.map((consumer) => consumer.stop()));
    for (const partition of [...targets.keys()]) lose(partition);
    options.onRestart();
  }

  return {
    start: restarts.start,
    stop: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },
    owns: (partition) => live.has(partition) && owner?.owns(partition) === true,
    closed: () => [...closed].map(([place, cause]) => `${place} is closed: ${cause}`),
    isLive: () => restarts.hasBegun() && [...targets.keys()].every((partition) => live.has(partition)),
  };
}
