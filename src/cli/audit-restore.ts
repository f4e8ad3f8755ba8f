/**
 * `lance audit accept-restore`: a store that was set back is taken as it is. Requests of the part that was lost are never bid for
 * again: those that are known end as passed, and of the others nothing is bid for that was received before, or comes too soon after.
 */
import { restoredPass } from '../bidding/react.ts';
import type { OriginEntry } from '../domain/audit.ts';
import { refuseLiving } from './export.ts';
import type { CommandWorld } from './world.ts';

const pageEntries = 500;

export async function acceptRestore(
  world: CommandWorld,
  { by, reason, emptied, json }: { by: string; reason: string; emptied: boolean; json: boolean },
): Promise<void> {
  const { clock, format, terminal } = world;
  const { store: place, audit } = world.place();
  const store = await world.openSetBack(place, emptied);
  if (store === null) {
    terminal.write(json ? JSON.stringify({ kind: 'nothing-to-accept' }) : format.texts.audit.nothingToAccept);
    return;
  }
  let accepted: Extract<OriginEntry, { kind: 'restored' }>;
  try {
    if (place.backend === 'kafka') await refuseLiving(world, store);
    const at = clock.now();
    const { requestIds, complete } = store.claimed;
    for (let from = 0; from < requestIds.length; from += pageEntries) {
      const passes = requestIds.slice(from, from + pageEntries).map((requestId) => restoredPass(requestId, at));
      await store.log.append(passes.map((record) => ({ topic: 'auctions', key: record.requestId, record })));
    }
    accepted = {
      kind: 'restored',
      at,
      by,
      reason,
      heads: store.heads,
      lost: store.lost,
      noBidReceivedBefore: complete ? at : at + audit.restoreQuietMs,
    };
    await store.house.addOrigin(accepted);
    // What was promised in the part that was lost is under no cap: a person has to look before bids go out again.
    const text = format.texts.audit.pauseReason(reason);
    await store.control.setPause({ by, reason: text, at });
  } catch (fault) {
    await store.close();
    throw fault;
  }
  await store.accept();
  const { requestIds, complete } = store.claimed;
  if (json) {
    terminal.write(JSON.stringify({ ...accepted, claimed: requestIds.length, complete }));
    return;
  }
  const until = complete ? null : format.time(accepted.noBidReceivedBefore);
  terminal.write(format.texts.audit.accepted(requestIds.length, until));
}
