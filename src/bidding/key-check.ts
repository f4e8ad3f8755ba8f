/**
 * One pseudonym key for all that a desk has stored. Under another one the same worker would be somebody else, and a cap on bids
 * for one worker would count anew. A check value stands in the log itself: that of the first process counts (`first-said.ts`).
 */
import type { Topic } from '../domain/records.ts';
import { type SealedPlace, sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { agree, readAgreed, writeAgreed } from './first-said.ts';
import type { EventLog } from './ports.ts';

type KeyLog = Pick<EventLog, 'read' | 'readKey' | 'ends' | 'append'>;

/** `new`: nothing is stored that the key could contradict. `unchecked`: an earlier version wrote it, and it opens. */
export type KeyVerdict = 'fits' | 'other' | 'new' | 'unchecked';

const name = 'key-check';
const pageEntries = 200;
/** Of each partition, from its end: some of its records are of no request or were never sealed. */
const mostEntries = 2_000;
/** A letter that a command wrote beside the desk is sealed with nobody's key. */
const mostTried = 50;

function checkValue(vault: Pick<Vault, 'pseudonym'>): string {
  return vault.pseudonym('key-check');
}

/** What the key is to the data. Reads only. */
export async function judgeKey(
  log: Omit<KeyLog, 'append'>,
  vault: Pick<Vault, 'pseudonym' | 'open'>,
): Promise<KeyVerdict> {
  // Earlier versions wrote every proposal here, so that the first one counts while it is there.
  const [stored] = await readAgreed(log, name);
  if (stored !== undefined) return stored === checkValue(vault) ? 'fits' : 'other';
  let tried = 0;
  for await (const { place, text } of someSealed(log)) {
    if (opens(vault, place, text)) return 'unchecked';
    tried += 1;
    if (tried === mostTried) break;
  }
  return tried === 0 ? 'new' : 'other';
}

function opens(vault: Pick<Vault, 'open'>, place: SealedPlace, text: string): boolean {
  try {
    vault.open(place, text);
    return true;
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'sealed-unreadable') return false;
    throw fault;
  }
}

/** Rejects with `pseudonym-key-changed` where the data was written under another key. Reads only. */
export async function refuseOtherKey(
  log: Omit<KeyLog, 'append'>,
  vault: Pick<Vault, 'pseudonym' | 'open'>,
): Promise<void> {
  if ((await judgeKey(log, vault)) === 'other') throw otherKey();
}

/**
 * Rejects as `refuseOtherKey`; where nothing says yet which key the data is written under, says so. `instance`: of this
 * process and no other, not even of the same one when it begins again.
 */
export async function claimKey(log: KeyLog, vault: Pick<Vault, 'pseudonym' | 'open'>, instance: string): Promise<void> {
  const verdict = await judgeKey(log, vault);
  if (verdict === 'other') throw otherKey();
  const own = checkValue(vault);
  if (verdict === 'fits') {
    // Two values here are of an earlier version, and compaction would leave the later one.
    if ((await readAgreed(log, name)).at(-1) !== own) await writeAgreed(log, name, own);
    return;
  }
  if ((await agree(log, name, own, instance)) !== own) throw otherKey();
}

function otherKey(): Fault {
  return new Fault(
    'pseudonym-key-changed',
    'The data was written under another LANCE_PSEUDONYM_KEY: workers would get new pseudonyms, and caps would count anew. ' +
      'Set LANCE_PSEUDONYM_KEY to the key that this desk began with (look first whether it is mistyped or cut off); ' +
      'a desk with a new key needs a store of its own.',
  );
}

type Sealed = { place: SealedPlace; text: string };

/** The latest first. */
async function* someSealed(log: Omit<KeyLog, 'append'>): AsyncGenerator<Sealed> {
  for (const topic of ['auctions', 'flows', 'dead-letters'] as const) {
    for (const [partition, end] of await log.ends(topic)) {
      for (let before = end; before > Math.max(0, end - mostEntries); before -= pageEntries) {
        const from = Math.max(0, before - pageEntries);
        for (const { key, record } of await readable(log, topic, partition, { from, before })) {
          const sealed = sealedOf(key, record);
          if (sealed !== null) yield sealed;
        }
      }
    }
  }
}

/** A page that holds a record which cannot be decoded says nothing of the key. */
async function readable(
  log: Pick<KeyLog, 'read'>,
  topic: Topic,
  partition: number,
  { from, before }: { from: number; before: number },
): Promise<readonly { key: string; record: object }[]> {
  try {
    return await log.read(topic, partition, from, before - from);
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'record-undecodable') return [];
    throw fault;
  }
}

function sealedOf(key: string, record: object): Sealed | null {
  const text = (field: string) => (record as Record<string, unknown>)[field];
  const found = (value: unknown, place: SealedPlace) => (typeof value === 'string' ? { place, text: value } : null);
  if (text('kind') === 'requested') return found(text('sealed'), sealedPlaces.request(key));
  if (text('kind') === 'started') return found(text('sealed'), sealedPlaces.flowOrder(key));
  return found(text('sealedPayload'), sealedPlaces.letter(key));
}
