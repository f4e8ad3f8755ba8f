/**
 * Which flows a process carries on where each process folds all of them: those whose key falls into its partitions of `auctions`. The key
 * of a contract is that of its request, so that its bid is at hand. A partition that comes counts when everything is folded that the log
 * held when it had come: what its owner before wrote is known then.
 */
import type { Clock, Timer } from '../domain/clock.ts';
import type { FlowState } from '../domain/flow-states.ts';
import { Fault } from '../errors.ts';
import type { FlowStore } from './ports.ts';

/** What is to be known of the partitions of `auctions`. */
export type CarriedPartitions = {
  /** Of a key. */
  partitionOf: (key: string) => Promise<number>;
  /** Those that this process may act for now. */
  owned: () => readonly number[];
  /** Hears of each one that goes, in the turn in which it goes. */
  onLost: (hear: () => void) => void;
};

export type CarriedFlows = {
  /** To be asked before `owns`. */
  learn: (states: readonly FlowState[]) => Promise<void>;
  owns: (flowId: string) => boolean;
  forget: (flowId: string) => void;
  start: () => void;
  stop: () => void;
};

const lookMs = 100;

export function createCarriedFlows(options: {
  partitions: CarriedPartitions;
  caughtUp: NonNullable<FlowStore['own']>['caughtUp'];
  clock: Clock;
  /** Flows of partitions that have come, among which this process now carries on those that it owns. */
  onGained: () => Promise<void>;
  onLost: () => void;
  onFault: (fault: Fault) => void;
}): CarriedFlows {
  const { partitions, clock } = options;
  const places = new Map<string, number>();
  let ready = new Set<number>();
  let losses = 0;
  let timer: Timer | null = null;
  let stopped = false;

  partitions.onLost(() => {
    losses += 1;
    ready = new Set();
    options.onLost();
  });

  async function look(): Promise<void> {
    const gained = partitions.owned().filter((partition) => !ready.has(partition));
    if (gained.length === 0) return;
    const before = losses;
    await options.caughtUp();
    if (losses !== before || stopped) return;
    for (const partition of gained) ready.add(partition);
    try {
      await options.onGained();
    } catch (fault) {
      // What was to be carried on is looked at once more.
      for (const partition of gained) ready.delete(partition);
      throw fault;
    }
  }

  function lookLater(): void {
    timer = clock.after(lookMs, () => {
      void look()
        .catch((fault: unknown) => {
          if (!(fault instanceof Fault) || !fault.retryable) throw fault;
          options.onFault(fault);
        })
        .then(() => {
          if (!stopped) lookLater();
        });
    });
  }

  return {
    learn: async (states) => {
      for (const { flowId, subject } of states) {
        if (!places.has(flowId)) places.set(flowId, await partitions.partitionOf(subject.requestId ?? flowId));
      }
    },
    owns: (flowId) => {
      const place = places.get(flowId);
      if (place === undefined || !ready.has(place)) return false;
      if (partitions.owned().includes(place)) return true;
      // A rebalance may give it back without having taken it away: what came meanwhile is looked at when it has come again.
      ready.delete(place);
      return false;
    },
    forget: (flowId) => {
      places.delete(flowId);
    },
    start: lookLater,
    stop: () => {
      stopped = true;
      timer?.cancel();
    },
  };
}
