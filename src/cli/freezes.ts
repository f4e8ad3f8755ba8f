/** `lance bids|contracts|… retry|cancel`: brings back or ends what was frozen, as a record beside the running daemon. */
import type { NewEntry } from '../bidding/ports.ts';
import type { FlowKind } from '../domain/flow-records.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { ThawAction } from '../domain/records.ts';
import type { FrozenMark } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { type CommandWorld, type DeskReader, lifeMs, livesSince, lookFor, wait, withReader } from './world.ts';

export type Thaw = { id: string; action: ThawAction; by: string; reason: string };

/** A retry reads the records again, on Kafka by a search of the partition. */
const foldTimeoutMs = 10_000;
const againMs = 500;

/** Throws `not-found`, `not-allowed` where the request is not frozen, `not-acknowledged` when a live desk does not fold it. */
export async function thawBid(world: CommandWorld, thaw: Thaw): Promise<void> {
  const { texts } = world.format;
  await thawed(world, thaw, {
    command: 'bids',
    hasSteps: false,
    notFound: texts.show.notFound(thaw.id),
    frozen: async ({ views }) => markIn((await views.read([thaw.id])).get(thaw.id)?.state),
    entry: ({ id, ...rest }, at) => ({
      ...{ topic: 'auctions', key: id },
      record: { kind: 'unfrozen', requestId: id, at, ...rest },
    }),
  });
}

/** As `thawBid`. */
export async function thawFlow(world: CommandWorld, command: string, flow: FlowKind, thaw: Thaw): Promise<void> {
  await thawed(world, thaw, {
    command,
    hasSteps: flow !== 'event',
    notFound: world.format.texts.flows.notFound(thaw.id),
    frozen: async ({ flows }) => {
      const state = (await flows.read([thaw.id])).get(thaw.id);
      return markIn(state?.flow === flow ? state : undefined);
    },
    entry: ({ id, ...rest }, at) => ({
      ...{ topic: 'flows', key: id },
      record: { kind: 'unfrozen', flowId: id, at, ...rest },
    }),
  });
}

/** Undefined: there is no such thing; null: it is not frozen. */
function markIn(state: { frozen?: FrozenMark } | undefined): FrozenMark | null | undefined {
  return state === undefined ? undefined : (state.frozen ?? null);
}

async function thawed(
  world: CommandWorld,
  thaw: Thaw,
  of: {
    command: string;
    /** A flow that is not frozen is cancelled by a step. */
    hasSteps: boolean;
    notFound: string;
    frozen: (reader: DeskReader) => Promise<FrozenMark | null | undefined>;
    entry: (thaw: Thaw, at: EpochMs) => NewEntry;
  },
): Promise<void> {
  const { clock, terminal } = world;
  const { freeze } = world.format.texts;
  const { id, action, by } = thaw;
  await withReader(world, async (reader) => {
    const before = await of.frozen(reader);
    if (before === undefined) throw new Fault('not-found', of.notFound);
    if (before === null) {
      const isStep = action === 'cancel' && of.hasSteps;
      const hint = isStep ? ` ${freeze.cancelStep(id, of.command)} --by ${by} --reason TEXT` : '';
      throw new Fault('not-allowed', `${freeze.notFrozen(id)}${hint}`);
    }
    const at = clock.now();
    await reader.appendBeside([of.entry(thaw, at)]);
    const live = (await reader.control.acknowledged()).some((known) => at - known.at < lifeMs);
    if (!live) {
      terminal.write(freeze.stored(id));
      return;
    }
    const look = async () => {
      const mark = (await of.frozen(reader)) ?? null;
      const isAnother = mark !== null && (mark.at !== before.at || mark.problem !== before.problem);
      return mark === null || isAnother || mark.retriedAt === at ? { mark } : null;
    };
    let answer = await lookFor(clock, foldTimeoutMs, look);
    if (answer?.mark === null && action === 'retry') {
      // What is done next may freeze it again.
      await wait(clock, againMs);
      answer = await look();
    }
    if (answer === null) {
      if (await livesSince(reader.control, at)) throw new Fault('not-acknowledged', freeze.late(id, of.command));
      terminal.write(freeze.stored(id));
      return;
    }
    if (answer.mark !== null) throw new Fault('not-allowed', freeze.still(id, answer.mark.problem, of.command));
    terminal.write(freeze.done[action](id));
  });
}
