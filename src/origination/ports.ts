/** The ports of what follows a win: the service's operations, and where the states of flows are kept. */
import type { OutOfStep, RowsAt } from '../bidding/ports.ts';
import type { FlowKind } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { AnswerOf, OperationName, OperationResult, Prepared } from '../wire/operations.ts';

/** Which roots of the service have an address, beside that of the bids. */
export type Addresses = { fgts: boolean; proposal: boolean };

export type LoanService = {
  /**
   * Sends a prepared operation. With an idempotency key an unknown answer is asked for again, with the same bytes and key,
   * as often as the settings say and at most `maxAttempts` times; without one it is sent at most once, by this call and ever.
   * Never rejects.
   */
  perform: <N extends OperationName>(
    prepared: Prepared<N>,
    /** Asked once more right where the first byte is written; false: nothing is written. */
    mayWrite?: () => boolean,
    maxAttempts?: number,
  ) => Promise<OperationResult<AnswerOf<N>>>;
};

/** `codes`: all that the flow is found under, besides its id; they only grow, but for those `givenUp`. */
export type FlowRow = { state: FlowState; open: boolean; codes: readonly string[]; givenUp: readonly string[] };

/** `partition` is one of `flows`, or `callbackPartition(p)` for what this room has dealt with of `callbacks`, without rows. */
export type FlowBatch = { partition: number; first: number; next: number; rows: readonly FlowRow[] };

export type FlowQuery = {
  flow: FlowKind | null;
  phase: string | null;
  /** Only flows found under this code. */
  code: string | null;
  limit: number;
  /** The cursor of an earlier page's last row: `flowCursor(state)`. */
  before: string | null;
};

/** The states of all flows, folded from the topic `flows`: a view, which can be made again. Rejects with `views-unavailable`. */
export type FlowStore = {
  /** The offset up to which the partition is folded in; 0 for one never seen. */
  applied: (partition: number) => Promise<number>;
  /** All rows or none, and only where the view is at `first`. At 0 the partition is begun anew: what stood there is gone. */
  apply: (batch: FlowBatch) => Promise<{ kind: 'applied' } | OutOfStep>;
  read: (flowIds: readonly string[]) => Promise<ReadonlyMap<string, FlowState>>;
  /** The same for flows of one partition, in pages of one moment each: `Views.readAt`. */
  readAt: (partition: number, flowIds: readonly string[]) => Promise<readonly RowsAt<FlowState>[]>;
  /** Every flow of a partition with something to do or to wait for: what an owner goes on with. */
  open: (partition: number) => Promise<readonly RowsAt<FlowState>[]>;
  /** Of several flows under one code the one begun last. */
  findByCode: (codes: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** By time of beginning, latest first. */
  query: (query: FlowQuery) => Promise<FlowState[]>;
  /**
   * Where each process folds the flows of all partitions by itself; left out where all processes share them. `read`, `findByCode` and
   * `query` then wait until everything is folded that the log held when they were asked: of two orders that were written in the same
   * moment, wherever they are worked on, at least one is decided beside the other.
   */
  own?: {
    /** Before anything is folded of the partition. Resolves to how far it is folded. */
    take: (partition: number) => Promise<number>;
    /** It cannot be read any further: what is folded of it counts from now on. */
    giveUp: (partition: number) => void;
    /** Resolves when everything is folded that the log holds now; rejects with `views-unavailable` where that takes too long. */
    caughtUp: () => Promise<void>;
  };
};

/** Sort key and page cursor of a flow, comparable as text. */
export function flowCursor(state: FlowState): string {
  return `${String(state.startedAt).padStart(15, '0')}:${state.flowId}`;
}
