/**
 * Keeps the cap book for the partitions that this process folds: carries out the steps of `cap-owner.ts`, one at a time, reads
 * `controls`, and says what the book says of a claim. Folding never waits for it; without the book no verdict is had.
 */
import assert from 'node:assert/strict';
import type { CapOperation, CapVerdict } from '../domain/cap-book.ts';
import type { Clock, Timer } from '../domain/clock.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Usage } from '../domain/offer.ts';
import { Fault } from '../errors.ts';
import type { BookAnswer, CapBook, CapBookLost } from './cap-book.ts';
import { type CapBookTrouble, type CapOwnerSettings, type CapStep, createCapOwner } from './cap-owner.ts';
import type { PartitionState } from './state-store.ts';

/** What `controls` say of the book. Both reject with `log-unavailable`. */
export type CapControls = {
  /** Reads on, up to the end: what was written since it was asked last, in its order. May wait for a record for a moment. */
  read: () => Promise<readonly CapBookLost[]>;
  /** Durable when it resolves. */
  append: (record: CapBookLost) => Promise<void>;
};

export type CapKeeperSettings = CapOwnerSettings & {
  /** Pause between two readings of `controls`. */
  controlPollMs: number;
  /** Pause after a step that failed. */
  retryMs: number;
};

export type CapKeeper = {
  start: () => void;
  /** Waits for the step under way. */
  stop: () => Promise<void>;
  /** A partition was opened, and nothing was folded onto it since. */
  take: (partition: number, state: Pick<PartitionState, 'origin' | 'caps'>) => void;
  /** Somebody else tells the book of it. */
  drop: (partition: number) => void;
  /** See `StateStoreOptions.onFolded`. Nothing is done for a partition that is not taken. */
  folded: (partition: number, applied: number, operations: readonly CapOperation[]) => void;
  verdictOf: (partition: number, requestId: RequestId) => CapVerdict;
  /** Resolves when something new was heard, or after `withinMs`. */
  changed: (withinMs: number) => Promise<void>;
  /** Why no claim can get a verdict, for people; null: verdicts can be had. */
  trouble: () => string | null;
  /** What is used under each key by all partitions, none left out; null where the book is not open or does not answer. */
  usage: (keys: readonly string[]) => Promise<ReadonlyMap<string, Usage> | null>;
};

export function createCapKeeper(options: {
  book: CapBook;
  controls: CapControls;
  /** For each partition of `auctions`, the offset that the next record will get. Rejects with `log-unavailable`. */
  ends: () => Promise<ReadonlyMap<number, number>>;
  /** How many partitions `auctions` has. */
  partitions: number;
  clock: Pick<Clock, 'monotonicMs' | 'after'>;
  settings: CapKeeperSettings;
  /** A loss of the book is told on `controls`. */
  onLoss: (record: CapBookLost, cause: string) => void;
  /** A step or a reading failed; it is tried again. */
  onFault: (fault: Fault) => void;
}): CapKeeper {
  const { book, controls, clock, settings } = options;
  const states = new Map<number, Pick<PartitionState, 'caps'>>();
  const owner = createCapOwner({
    settings,
    partitions: options.partitions,
    sumsOf: (partition) => states.get(partition)!.caps.sums(),
  });
  let stopping = false;
  /** The steps that are carried out just now; null: the next one is waited for. */
  let stepping: Promise<void> | null = null;
  let wakeTimer: Timer | null = null;
  let pollTimer: Timer | null = null;
  let reading: Promise<void> | null = null;
  let change = Promise.withResolvers<void>();

  function tell(): void {
    change.resolve();
    change = Promise.withResolvers();
  }

  /** Whatever is not a fault of the world is a programmer's and ends the process. */
  async function tried(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      options.onFault(fault);
      return false;
    }
  }

  // --- Controls ---

  /** The age counts from before the question: what is heard may be that old. */
  async function readControls(): Promise<void> {
    const askedAtMs = clock.monotonicMs();
    for (const record of await controls.read()) owner.lossRead(record, clock.monotonicMs());
    owner.controlsRead(askedAtMs);
    tell();
  }

  /** One reading at a time; who asks during one waits for that. */
  function readOnce(): Promise<void> {
    reading ??= tried(readControls)
      .then(() => wake())
      .finally(() => {
        reading = null;
      });
    return reading;
  }

  async function pollControls(): Promise<void> {
    await readOnce();
    if (!stopping) pollTimer = clock.after(settings.controlPollMs, () => void pollControls());
  }

  // --- Steps ---

  function wake(): void {
    if (stopping || stepping !== null) return;
    wakeTimer?.cancel();
    wakeTimer = null;
    const next = owner.next(clock.monotonicMs());
    if (next.kind === 'wait') {
      wakeTimer = clock.after(Math.max(1, next.untilMs - clock.monotonicMs()), wake);
      return;
    }
    stepping = carryOutAll(next).finally(() => {
      stepping = null;
      wake();
    });
  }

  async function carryOutAll(first: CapStep): Promise<void> {
    for (let step = first; step.kind !== 'wait' && !stopping; step = owner.next(clock.monotonicMs())) {
      const isDone = await carryOut(step);
      tell();
      if (!isDone) await pause(settings.retryMs);
    }
  }

  /** False: nothing came of it, and the same would come of it at once. */
  async function carryOut(step: Exclude<CapStep, { kind: 'wait' }>): Promise<boolean> {
    switch (step.kind) {
      case 'tell-loss': {
        options.onLoss(step.record, step.cause);
        const isTold = await tried(() => controls.append(step.record));
        // A reading that was under way may have begun before the record was there.
        await reading;
        if (isTold) await readOnce();
        return isTold && owner.next(clock.monotonicMs()).kind !== 'tell-loss';
      }
      case 'read-ends':
        return tried(async () => owner.endsRead(step.id, await options.ends()));
      case 'begin':
        return asked(step, () => book.begin(step.call));
      case 'commit':
        return asked(step, () => book.commit(step.call));
      case 'apply':
        return asked(step, () => book.apply(step.call));
      default:
        return step satisfies never;
    }
  }

  async function asked(step: Extract<CapStep, { call: unknown }>, ask: () => Promise<BookAnswer>): Promise<boolean> {
    let answer: BookAnswer | null = null;
    const isAnswered = await tried(async () => {
      answer = await ask();
    });
    if (answer === null) owner.unanswered();
    else owner.answered(step, answer, clock.monotonicMs());
    for (const [partition, { caps }] of states) caps.acknowledge(owner.acknowledged(partition));
    return isAnswered;
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => clock.after(ms, resolve));
  }

  return {
    start: () => void pollControls(),
    stop: async () => {
      stopping = true;
      wakeTimer?.cancel();
      pollTimer?.cancel();
      tell();
      await Promise.all([stepping, reading]);
    },
    take: (partition, { origin, caps }) => {
      const { acknowledged, operations } = caps.operations();
      states.set(partition, { caps });
      // They are kept as the fold gave them, which is what the book takes.
      owner.take({
        ...{ partition, applied: origin.applied, acknowledged },
        operations: operations as readonly CapOperation[],
      });
      wake();
    },
    drop: (partition) => {
      states.delete(partition);
      owner.drop(partition);
      tell();
    },
    folded: (partition, applied, operations) => {
      if (!states.has(partition)) return;
      owner.folded(partition, applied, operations);
      wake();
    },
    verdictOf: (partition, requestId) => owner.verdictOf(partition, requestId, clock.monotonicMs()),
    changed: (withinMs) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = clock.after(withinMs, resolve);
      return Promise.race([change.promise, promise]).finally(() => timer.cancel());
    },
    trouble: () => textOf(owner.trouble(clock.monotonicMs())),
    usage: async (keys) => {
      const id = owner.openBookId();
      if (id === null) return null;
      let found: ReadonlyMap<string, Usage> | null = null;
      await tried(async () => {
        found = await book.usage(id, keys);
      });
      return found;
    },
  };
}

function textOf(trouble: CapBookTrouble | null): string | null {
  switch (trouble?.kind) {
    case undefined:
      return null;
    case 'controls-unread':
      return 'the controls of the cap book were not read for too long';
    case 'unanswered':
      return 'the cap book does not answer';
    case 'lost':
      return `the cap book was lost (${trouble.cause}) and is made again`;
    case 'filling': {
      const names = trouble.missing.map((partition) => `auctions/${partition}`).join(', ');
      return `the cap book is being filled, and lacks ${names}`;
    }
    default:
      assert.fail(`unknown trouble ${JSON.stringify(trouble satisfies never)}`);
  }
}
