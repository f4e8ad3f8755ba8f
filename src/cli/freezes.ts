/** `lance bids|contracts|… retry|cancel`: brings back or ends what was frozen. */
import type { FlowKind } from '../domain/flow-records.ts';
import type { ThawAction } from '../domain/records.ts';
import { Fault } from '../errors.ts';
import type { ThawOutcome } from '../operating/endings.ts';
import { type Orderer, withOrderer } from './desk-control.ts';
import type { CommandWorld } from './world.ts';

export type Thaw = { id: string; action: ThawAction; reason: string } & Orderer;

/** Throws `not-found`, `not-allowed` where the request is not frozen, `not-acknowledged` when a live desk does not fold it. */
export async function thawBid(world: CommandWorld, thaw: Thaw): Promise<void> {
  const { by, ...order } = thaw;
  const outcome = await withOrderer(world, { by }, (desk) => desk.thaw({ of: 'bid', ...order }));
  tell(world, thaw, outcome, { command: 'bids', hasSteps: false, notFound: world.format.texts.show.notFound(thaw.id) });
}

/** As `thawBid`. */
export async function thawFlow(world: CommandWorld, command: string, flow: FlowKind, thaw: Thaw): Promise<void> {
  const { by, ...order } = thaw;
  const outcome = await withOrderer(world, { by }, (desk) => desk.thaw({ of: flow, ...order }));
  const notFound = world.format.texts.flows.notFound(thaw.id);
  tell(world, thaw, outcome, { command, hasSteps: flow !== 'event', notFound });
}

/** `hasSteps`: what is not frozen is cancelled by a step. */
function tell(
  { terminal, format }: CommandWorld,
  { id, action, by }: Thaw,
  outcome: ThawOutcome,
  { command, hasSteps, notFound }: { command: string; hasSteps: boolean; notFound: string },
): void {
  const { freeze } = format.texts;
  switch (outcome.kind) {
    case 'done':
      terminal.write(freeze.done[action](id));
      return;
    case 'stored':
      terminal.write(freeze.stored(id));
      return;
    case 'late':
      throw new Fault('not-acknowledged', freeze.late(id, command));
    case 'unknown':
      throw new Fault('not-found', notFound);
    case 'not-frozen': {
      const isStep = action === 'cancel' && hasSteps;
      const hint = isStep ? ` ${freeze.cancelStep(id, command)} --by ${by ?? 'NAME'} --reason TEXT` : '';
      throw new Fault('not-allowed', `${freeze.notFrozen(id)}${hint}`);
    }
    case 'still':
      throw new Fault('not-allowed', freeze.still(id, outcome.problem, command));
    default:
      outcome satisfies never;
  }
}
