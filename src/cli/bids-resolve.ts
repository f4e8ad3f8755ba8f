/** `lance bids resolve`: an operator's word on how a request ended, where the transition table allows it. */
import { Fault } from '../errors.ts';
import type { ResolveOrder } from '../operating/endings.ts';
import { type Orderer, withOrderer } from './desk-control.ts';
import type { CommandWorld } from './world.ts';

/** Throws `not-found`, `not-allowed` where the state forbids it, `not-acknowledged` when a live desk does not fold it. */
export async function resolveBid(world: CommandWorld, { by, ...order }: ResolveOrder & Orderer): Promise<void> {
  const { terminal, format } = world;
  const { show, resolve, states, flows } = format.texts;
  const { requestId } = order;
  const outcome = await withOrderer(world, { by }, (desk) => desk.resolve(order));
  switch (outcome.kind) {
    case 'done':
      terminal.write(resolve.done(requestId, states[outcome.phase]));
      return;
    case 'stored':
      terminal.write(resolve.stored(requestId));
      return;
    case 'late':
      throw new Fault('not-acknowledged', resolve.late(requestId));
    case 'unknown':
      throw new Fault('not-found', show.notFound(requestId));
    case 'refused':
      throw new Fault('not-allowed', resolve.refused(requestId, states[outcome.phase], outcome.allowed.join(', ')));
    case 'under-contract': {
      const { flowId, flowPhase } = outcome;
      throw new Fault('not-allowed', resolve.underContract(requestId, flowId, flows.phases[flowPhase]));
    }
    case 'overtaken':
      throw new Fault('not-allowed', resolve.overtaken(requestId, states[outcome.phase]));
    default:
      outcome satisfies never;
  }
}
