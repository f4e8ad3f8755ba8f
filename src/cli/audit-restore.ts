/**
 * `lance audit accept-restore`: a store that was set back is taken as it is. Requests of the part that was lost are never bid for
 * again: those that are known count as promised until it is known how their bids ended, and of the others nothing is bid for that was received before, or comes too soon after.
 */
import type { NewEntry } from '../bidding/ports.ts';
import { lostAnswer, restoredPass } from '../bidding/react.ts';
import type { StorePlace } from '../config/store-place.ts';
import type { OriginEntry } from '../domain/audit.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { LostClaim } from '../domain/records.ts';
import { refuseLiving } from './export.ts';
import type { CommandWorld, SetBackStore } from './world.ts';

const pageEntries = 500;

export async function acceptRestore(
  world: CommandWorld,
  { by, reason, emptied, json }: { by: string; reason: string; emptied: boolean; json: boolean },
): Promise<void> {
  const { clock, format, terminal } = world;
  const { store: place, audit } = world.place();
  // Auctions that were open in the lost part have ended by then, where they last as long as the settings say.
  const quietMs = Math.max(audit.restoreQuietMs, world.writing().bidding.windowMs);
  const store = await world.openSetBack(place, emptied);
  if (store === null) {
    terminal.write(json ? JSON.stringify({ kind: 'nothing-to-accept' }) : format.texts.audit.nothingToAccept);
    return;
  }
  let accepted: Extract<OriginEntry, { kind: 'restored' }>;
  try {
    if (place.backend === 'kafka') await refuseLiving(world, store);
    const at = clock.now();
    const { claims, complete } = store.claimed;
    const lost = [...claims];
    for (let from = 0; from < lost.length; from += pageEntries) {
      await appendEnds(store, lost.slice(from, from + pageEntries), at);
    }
    accepted = {
      kind: 'restored',
      at,
      by,
      reason,
      heads: store.heads,
      lost: store.lost,
      noBidReceivedBefore: complete ? at : at + quietMs,
    };
    if (store.forged.length > 0) {
      await store.log.append(
        store.forged.map(({ requestId, claimId }) => ({
          ...{ topic: 'auctions', key: requestId },
          record: { ...restoredPass(requestId, at), claimId },
        })),
      );
    }
    await store.house.addOrigin(accepted);
    // What was promised in the part that was lost is under no cap: a person has to look before bids go out again.
    const text = format.texts.audit.pauseReason(reason);
    await store.control.setPause({ by, reason: text, at });
  } catch (fault) {
    await store.close();
    throw fault;
  }
  await store.accept();
  const { claims, complete } = store.claimed;
  const known = [...claims.values()].filter((claim) => claim !== null);
  const promisedCents = known.reduce((sum, { offer }) => sum + offer.amountCents, 0);
  const counts = { claimed: claims.size, withOffer: known.length };
  const lostOrders = lostOrdersOf(place.backend, accepted);
  const lostRecords = lostRecordsOf(accepted);
  if (json) {
    terminal.write(JSON.stringify({ ...accepted, ...counts, promisedCents, complete, lostRecords, lostOrders }));
    return;
  }
  const until = complete ? null : format.time(accepted.noBidReceivedBefore);
  const { audit: texts } = format.texts;
  terminal.write(texts.accepted(counts, format.money(promisedCents), until));
  terminal.write(lostRecords === null ? texts.recordsUnknown : texts.lostRecords(lostRecords));
  if (lostOrders === null) {
    terminal.write(texts.ordersUnknown);
    return;
  }
  const orders = orderBooks.flatMap((book) => (lostOrders[book] > 0 ? [texts.lostOrders[book](lostOrders[book])] : []));
  if (orders.length > 0) terminal.write(texts.ordersAgain(orders));
}

/** Where people's orders are kept. A token that was revoked in the part that was lost works again. */
const orderBooks = ['token_book', 'rule_book', 'control_changes'] as const;

/** Topics whose records say what was lost of requests, bids, events and flows. */
const recordBooks = {
  auctions: 'auctions',
  callbacks: 'callbacks',
  flows: 'flows',
  dead_letters: 'deadLetters',
} as const;
export type LostRecords = Record<(typeof recordBooks)[keyof typeof recordBooks], number>;

/**
 * How many records are known to have stood behind the end of each topic, over its partitions. Null: nothing is left to compare with.
 * What was stored after the last anchor is not known of.
 */
function lostRecordsOf({ heads, lost }: Pick<SetBackStore, 'heads' | 'lost'>): LostRecords | null {
  if (lost === null) return null;
  const counts: LostRecords = { auctions: 0, callbacks: 0, flows: 0, deadLetters: 0 };
  for (const [place, [count]] of Object.entries(lost)) {
    // A table, or topic and partition.
    const book = place.split('/')[0]!.replace('-', '_');
    const name = recordBooks[book as keyof typeof recordBooks];
    if (name !== undefined) counts[name] += Math.max(0, count - (heads[place]?.[0] ?? 0));
  }
  return counts;
}

/** Null: nobody knows. On Kafka tokens and controls stand in no chain, and of a lost anchor nothing is left to compare with. */
function lostOrdersOf(
  backend: StorePlace['backend'],
  { heads, lost }: Pick<SetBackStore, 'heads' | 'lost'>,
): Record<(typeof orderBooks)[number], number> | null {
  if (backend === 'kafka' || lost === null) return null;
  const lostOf = (book: string) => Math.max(0, (lost[book]?.[0] ?? 0) - (heads[book]?.[0] ?? 0));
  return {
    token_book: lostOf('token_book'),
    rule_book: lostOf('rule_book'),
    control_changes: lostOf('control_changes'),
  };
}

/**
 * Never bid for again, and promised until somebody knows how the bid ended. A claim that the log still has stands for itself, and an
 * answer without one was written by an acceptance that was killed.
 */
async function appendEnds(
  { log }: SetBackStore,
  lost: readonly (readonly [RequestId, LostClaim | null])[],
  at: EpochMs,
): Promise<void> {
  const entries: NewEntry[] = [];
  for (const [requestId, claim] of lost) {
    // Only an embedded store knows of lost claims, and its log has an index of keys.
    const known = await log.readKey('auctions', requestId);
    if (known.some(({ record }) => record.kind === 'claimed' || record.kind === 'answered')) continue;
    entries.push({ topic: 'auctions', key: requestId, record: restoredPass(requestId, at) });
    entries.push({ topic: 'auctions', key: requestId, record: lostAnswer(requestId, claim, at) });
  }
  if (entries.length > 0) await log.append(entries);
}
