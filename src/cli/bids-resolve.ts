/** `lance bids resolve`: an operator's word as a record beside the running daemon, where the transition table allows it. */
import { transitions } from '../bidding/transitions.ts';
import type { Resolved } from '../domain/records.ts';
import type { Phase, RequestState } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { type CommandWorld, type DeskReader, lifeMs, livesSince, lookFor, withReader } from './world.ts';

/** What an operator may say; the desk itself resolves otherwise when time has passed. */
export const operatorResolutions = ['won', 'contemplated', 'lost', 'not-landed', 'cancelled'] as const;
type OperatorResolution = (typeof operatorResolutions)[number];

const foldTimeoutMs = 2_000;

function allowedIn(phase: Phase): OperatorResolution[] {
  return operatorResolutions.filter((as) => transitions[phase][`resolved-${as}`] !== undefined);
}

async function stateOf(reader: DeskReader, requestId: string): Promise<RequestState | null> {
  return (await reader.views.read([requestId])).get(requestId)?.state ?? null;
}

/** Throws `not-found`, `not-allowed` where the state forbids it, `not-acknowledged` when a live desk does not fold it. */
export async function resolveBid(
  world: CommandWorld,
  options: { requestId: string; as: OperatorResolution; by: string; reason: string },
): Promise<void> {
  const { requestId, as, by, reason } = options;
  const { show, resolve, states } = world.format.texts;
  const refusal = (phase: Phase) =>
    new Fault('not-allowed', resolve.refused(requestId, states[phase], allowedIn(phase).join(', ')));
  await withReader(world, async (reader) => {
    const before = await stateOf(reader, requestId);
    if (before === null) throw new Fault('not-found', show.notFound(requestId));
    if (!allowedIn(before.phase).includes(as)) throw refusal(before.phase);
    const record: Resolved = { kind: 'resolved', requestId, at: world.clock.now(), as, by, reason };
    await reader.appendBeside([{ topic: 'auctions', key: requestId, record }]);
    const partition = await reader.partitionOf('auctions', requestId);
    // Our record stands before it.
    const end = (await reader.log.ends('auctions')).get(partition) ?? 0;
    const live = (await reader.control.acknowledged()).some(({ at }) => world.clock.now() - at < lifeMs);
    if (!live) {
      world.terminal.write(resolve.stored(requestId));
      return;
    }
    const folded = await lookFor(world.clock, foldTimeoutMs, async () =>
      (await reader.views.applied(partition)) >= end ? true : null,
    );
    if (folded === null) {
      if (await livesSince(reader.control, record.at)) throw new Fault('not-acknowledged', resolve.late(requestId));
      world.terminal.write(resolve.stored(requestId));
      return;
    }
    const after = (await stateOf(reader, requestId)) ?? before;
    const ours = after.resolution?.at === record.at && after.resolution.by === by;
    if (!ours) throw new Fault('not-allowed', resolve.overtaken(requestId, states[after.phase]));
    world.terminal.write(resolve.done(requestId, states[after.phase]));
  });
}
