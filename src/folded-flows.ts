/**
 * Flows that a command folds for itself, where each process of the desk folds its own: from the log, into a directory that is gone
 * afterwards. What is asked is answered as of the log's end, so a command sees what became of its own order.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EventLog, isCallbackPartition } from './bidding/ports.ts';
import type { Clock } from './domain/clock.ts';
import { Fault } from './errors.ts';
import { createFlowLedger } from './origination/ledger.ts';
import type { FlowStore } from './origination/ports.ts';
import { termsOfEarlier } from './origination/unfolded.ts';
import { createOwnFlows } from './state/own-flows.ts';
import { withoutCaps } from './state/own-partitions.ts';
import { openStateStore } from './state/state-store.ts';

type Log = Pick<EventLog, 'read' | 'readKey' | 'ends'>;

export type FoldedFlows = {
  /** Nothing can be applied to them. */
  flows: FlowStore;
  close: () => Promise<void>;
};

type Folding = { store: FlowStore; catchUp: () => Promise<void>; close: () => Promise<void> };

const pageEntries = 1_000;

/** `shared`: where the processes of the desk keep how far `callbacks` are dealt with. */
export function createFoldedFlows(log: Log, shared: Pick<FlowStore, 'applied'>, clock: Clock): FoldedFlows {
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
      applied: async (partition) =>
        isCallbackPartition(partition) ? shared.applied(partition) : (await caughtUp()).applied(partition),
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

async function open(log: Log, clock: Clock): Promise<Folding> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-folded-flows-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const state = await openStateStore({
      ...{ directory, caps: withoutCaps(), snapshots: null, snapshotAheadRecords: 0 },
      ...{ onDiscarded: () => undefined, onRestoring: () => undefined },
      onFault: (fault) => {
        throw fault;
      },
    });
    // Nobody goes on with these files.
    const extent = async () => ({ first: 0, end: Number.MAX_SAFE_INTEGER });
    const logOf = () => ({ genesis: '', extent, hashAt: async () => null });
    const none = () => Promise.reject(new Fault('not-allowed', 'A command deals with no callbacks.'));
    const store = createOwnFlows({
      ...{ store: state, logOf, clock, shared: { applied: none, apply: none } },
      // What is asked was folded to the end before.
      ends: async () => new Map(),
    });
    const ledger = createFlowLedger(store, termsOfEarlier, log);
    const positions = new Map<number, number>();
    return {
      store,
      catchUp: async () => {
        for (const [partition, end] of await log.ends('flows')) {
          const position = positions.get(partition) ?? (await store.own.take(partition));
          await foldTo(log, ledger, partition, position, end);
          positions.set(partition, Math.max(position, end));
        }
      },
      close: async () => {
        await state.close();
        remove();
      },
    };
  } catch (fault) {
    remove();
    throw fault;
  }
}

async function foldTo(
  log: Log,
  ledger: ReturnType<typeof createFlowLedger>,
  partition: number,
  from: number,
  end: number,
): Promise<void> {
  for (let position = from; position < end; ) {
    const entries = await log.read('flows', partition, position, Math.min(pageEntries, end - position));
    const next = (entries.at(-1)?.offset ?? end - 1) + 1;
    await ledger.fold({ partition, first: position, next, entries });
    // Nobody acts on open flows here.
    ledger.clear();
    position = next;
  }
}
