/**
 * The flows of all partitions, folded by every process into one file a partition. Work on one flow needs others, in whichever partition
 * they are: whether a worker has another withdrawal, which flow has a code. So a process keeps all flows, although it works on some only.
 * A question across flows is answered once everything is folded that the log held when it was asked.
 */
import { callbackPartition, isCallbackPartition } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { FlowState } from '../domain/flow-states.ts';
import { Fault } from '../errors.ts';
import { type FlowStore, flowCursor } from '../origination/ports.ts';
import { type FlowReader, flushOf } from './flow-rows.ts';
import type { PartitionFlows, PartitionLog, StateStore } from './state-store.ts';

/** Longer than a fold is behind while the log answers. */
const shippedWaitMs = 5_000;

type Ends = ReadonlyMap<number, number>;

/** How far flows have dealt with each partition of `callbacks`: one process alone has the partition, and who has it next goes on there. */
export type CallbackPlaces = {
  dealtWith: (partition: number) => Promise<number>;
  dealWith: (partition: number, next: number) => Promise<void>;
};

export function createOwnFlows(options: {
  store: Pick<StateStore, 'openFlows'>;
  logOf: (partition: number) => PartitionLog;
  /** Of `flows`. */
  ends: () => Promise<Ends>;
  callbacks: CallbackPlaces;
  clock: Clock;
  waitMs?: number;
}): FlowStore & Required<Pick<FlowStore, 'own'>> {
  const { store, callbacks, clock, waitMs = shippedWaitMs } = options;
  const held = new Map<number, PartitionFlows>();
  const opening = new Map<number, Promise<PartitionFlows>>();
  const positions = new Map<number, number>();
  /** They cannot be read any further. */
  const closed = new Set<number>();
  const waiting = new Set<() => void>();
  let asking: Promise<Ends> | null = null;
  let askingNext: Promise<Ends> | null = null;

  function heldAt(partition: number): PartitionFlows {
    const flows = held.get(partition);
    if (flows !== undefined) return flows;
    throw new Fault('views-unavailable', `Partition ${partition} of flows is not taken up yet.`);
  }

  async function take(partition: number): Promise<number> {
    closed.delete(partition);
    if (!held.has(partition)) {
      const work = opening.get(partition) ?? store.openFlows(partition, options.logOf(partition));
      opening.set(partition, work);
      try {
        held.set(partition, await work);
      } finally {
        opening.delete(partition);
      }
    }
    const applied = guarded(() => heldAt(partition).reader.applied(partition));
    positions.set(partition, applied);
    wake();
    return applied;
  }

  function giveUp(partition: number): void {
    closed.add(partition);
    wake();
  }

  function wake(): void {
    for (const look of [...waiting]) look();
  }

  /** Asked after the call: what somebody asked before it may be older than what the caller knows to be written. */
  function endsFromNow(): Promise<Ends> {
    if (asking === null) {
      asking = options.ends().finally(() => {
        asking = null;
      });
      return asking;
    }
    askingNext ??= asking
      .catch(() => undefined)
      .then(() => {
        askingNext = null;
        return endsFromNow();
      });
    return askingNext;
  }

  async function caughtUp(): Promise<void> {
    const ends = await endsFromNow();
    const behind = () =>
      [...ends].filter(([partition, end]) => !closed.has(partition) && (positions.get(partition) ?? -1) < end);
    if (behind().length === 0) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (behind().length === 0) resolve();
    };
    const timer = clock.after(waitMs, () => {
      const which = behind().map(([partition]) => partition);
      reject(
        new Fault(
          'views-unavailable',
          `The flows are not folded as far as the log is: partitions ${which.join(', ')}.`,
        ),
      );
    });
    waiting.add(look);
    try {
      await promise;
    } finally {
      waiting.delete(look);
      timer.cancel();
    }
  }

  async function asked<R>(ask: (readers: readonly FlowReader[]) => R): Promise<R> {
    await caughtUp();
    return guarded(() => ask([...held.values()].map(({ reader }) => reader)));
  }

  function pageOf({ reader }: PartitionFlows, partition: number, flowIds: readonly string[] | null) {
    // One batch after the other is folded, and nothing while rows are taken up: nothing moves between the two reads.
    const applied = reader.applied(partition);
    return { applied, rows: flowIds === null ? reader.open() : statesIn([reader], flowIds) };
  }

  return {
    applied: async (partition) => {
      if (isCallbackPartition(partition)) return callbacks.dealtWith(callbackPartition(partition));
      return guarded(() => heldAt(partition).reader.applied(partition));
    },
    apply: async (batch) => {
      const { partition, first, next } = batch;
      if (isCallbackPartition(partition)) {
        await callbacks.dealWith(callbackPartition(partition), next);
        return { kind: 'applied' };
      }
      const flows = heldAt(partition);
      const applied = guarded(() => flows.reader.applied(partition));
      if (applied !== first) return { kind: 'out-of-step', applied };
      await flows.apply(flushOf(batch)).catch((cause: unknown) => {
        throw unavailable(cause);
      });
      positions.set(partition, next);
      wake();
      return { kind: 'applied' };
    },
    read: (flowIds) => asked((readers) => new Map(statesIn(readers, flowIds).map((state) => [state.flowId, state]))),
    readAt: async (partition, flowIds) => guarded(() => [pageOf(heldAt(partition), partition, flowIds)]),
    open: async (partition) => guarded(() => [pageOf(heldAt(partition), partition, null)]),
    findByCode: (codes) =>
      asked((readers) => {
        const found = new Map<string, string>();
        for (const code of new Set(codes)) {
          const flowIds = readers.flatMap((reader) => reader.flowOf(code) ?? []);
          const latest = flowIds.length < 2 ? flowIds[0] : latestFirst(statesIn(readers, flowIds))[0]!.flowId;
          if (latest !== undefined) found.set(code, latest);
        }
        return found;
      }),
    query: (query) =>
      asked((readers) => latestFirst(readers.flatMap((reader) => reader.query(query))).slice(0, query.limit)),
    own: { take, caughtUp, giveUp },
  };
}

/** The flows of a process that works on none. */
export function noFlows(): FlowStore {
  const nowhere = async () => {
    throw new Fault(
      'views-unavailable',
      'This process takes webhooks alone and knows no contracts or withdrawals: ask one that has the role desk.',
    );
  };
  return {
    applied: nowhere,
    apply: nowhere,
    read: nowhere,
    readAt: nowhere,
    open: nowhere,
    findByCode: nowhere,
    query: nowhere,
  };
}

function statesIn(readers: readonly FlowReader[], flowIds: readonly string[]): FlowState[] {
  return flowIds.flatMap((flowId) => readers.flatMap((reader) => reader.state(flowId) ?? []));
}

function latestFirst(states: readonly FlowState[]): FlowState[] {
  const cursors = new Map(states.map((state) => [state, flowCursor(state)]));
  return [...states].sort((one, other) => (cursors.get(one)! < cursors.get(other)! ? 1 : -1));
}

function unavailable(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return new Fault('views-unavailable', 'The states of flows cannot be read or stored.', cause);
}

function guarded<R>(work: () => R): R {
  try {
    return work();
  } catch (cause) {
    throw unavailable(cause);
  }
}
