/**
 * Flows that a command folds for itself, where each process of the desk folds its own: from the log, into a directory that is gone
 * afterwards. What is asked is answered as of the log's end, so a command sees what became of its own order.
 */
import { type FoldedLog, foldTo, openCommandState } from './command-state.ts';
import type { Clock } from './domain/clock.ts';
import { Fault } from './errors.ts';
import { createFlowLedger } from './origination/ledger.ts';
import type { FlowStore } from './origination/ports.ts';
import { termsOfEarlier } from './origination/unfolded.ts';
import { createOwnFlows } from './state/own-flows.ts';

export type FoldedFlows = {
  /** Nothing can be applied to them. */
  flows: FlowStore;
  close: () => Promise<void>;
};

type Folding = { store: FlowStore; catchUp: () => Promise<void>; close: () => Promise<void> };

export function createFoldedFlows(log: FoldedLog, clock: Clock): FoldedFlows {
  let opening: Promise<Folding> | null = null;
  /** One question folds after the other. */
  let turn: Promise<unknown> = Promise.resolve();

  async function caughtUp(): Promise<FlowStore> {
    opening ??= open(log, clock);
    const { store, catchUp } = await opening;
    const done = turn.then(catchUp);
    turn = done.catch(() => undefined);
    await done;
    return store;
  }

  return {
    flows: {
      applied: async (partition) => (await caughtUp()).applied(partition),
      apply: async () => {
        throw new Fault('not-allowed', 'Flows that a command has folded for itself are not the flows of the desk.');
      },
      read: async (flowIds) => (await caughtUp()).read(flowIds),
      readAt: async (partition, flowIds) => (await caughtUp()).readAt(partition, flowIds),
      open: async (partition) => (await caughtUp()).open(partition),
      findByCode: async (codes) => (await caughtUp()).findByCode(codes),
      query: async (query) => (await caughtUp()).query(query),
    },
    close: async () => {
      await (await opening?.catch(() => null))?.close();
    },
  };
}

async function open(log: FoldedLog, clock: Clock): Promise<Folding> {
  const state = await openCommandState('lance-folded-flows-');
  const none = () => Promise.reject(new Fault('not-allowed', 'A command deals with no callbacks.'));
  const store = createOwnFlows({
    ...{ store: state.store, logOf: state.logOf, clock, callbacks: { dealtWith: none, dealWith: none } },
    // What is asked was folded to the end before.
    ends: async () => new Map(),
  });
  const ledger = createFlowLedger(store, termsOfEarlier, log);
  const positions = new Map<number, number>();
  return {
    store,
    catchUp: async () => {
      for (const [partition, end] of await log.ends('flows')) {
        const from = positions.get(partition) ?? (await store.own.take(partition));
        await foldTo({ log, topic: 'flows', partition }, ledger, { from, end });
        positions.set(partition, Math.max(from, end));
      }
    },
    close: state.close,
  };
}
