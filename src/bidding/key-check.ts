/**
 * One pseudonym key for all that a desk has stored. Under another one the same worker would be somebody else, and a cap on bids
 * for one worker would count anew. A check value stands in the log itself, so that it moves with the desk and lasts as long.
 *
 * On Kafka several processes may begin at once, and of the records of one key compaction leaves the last. So each proposes its
 * value under a key of its own, all in one partition: none of them is compacted away, and the first one is the same in every
 * reading. What it says is then written under the key that is looked up. Nothing else is ever written there, so it does not
 * matter which of these records is left.
 */
import type { StoredInput, Topic } from '../domain/records.ts';
import { type SealedPlace, sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import type { EventLog, LogEntry } from './ports.ts';
import { readTopic } from './read-topic.ts';

type KeyLog = Pick<EventLog, 'read' | 'readKey' | 'ends' | 'append'>;

/** `new`: nothing is stored that the key could contradict. `unchecked`: an earlier version wrote it, and it opens. */
export type KeyVerdict = 'fits' | 'other' | 'new' | 'unchecked';

/** Under which the check stands on the topic `inputs`; hashes are hexadecimal. */
const checkKey = 'key-check';
const proposalKey = 'key-check:';
const pageEntries = 200;
/** Of each partition, from its end: some of its records are of no request or were never sealed. */
const mostEntries = 2_000;
/** A letter that a command wrote beside the desk is sealed with nobody's key. */
const mostTried = 50;

function checkValue(vault: Pick<Vault, 'pseudonym'>): string {
  return vault.pseudonym('key-check');
}

function contentOf({ record }: LogEntry<object>): string {
  return (record as StoredInput).content;
}

/** Earlier versions wrote every proposal here, so that the first one counts while it is there. */
async function storedChecks(log: Pick<KeyLog, 'readKey'>): Promise<readonly string[]> {
  return (await log.readKey('inputs', checkKey)).map(contentOf);
}

/** What the key is to the data. Reads only. */
export async function judgeKey(
  log: Omit<KeyLog, 'append'>,
  vault: Pick<Vault, 'pseudonym' | 'open'>,
): Promise<KeyVerdict> {
  const [stored] = await storedChecks(log);
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
    if ((await storedChecks(log)).at(-1) !== own) await log.append([checkRecord(own, checkKey)]);
    return;
  }
  await log.append([checkRecord(own, `${proposalKey}${instance}`)]);
  const first = await firstProposal(log);
  await log.append([checkRecord(first, checkKey)]);
  if (first !== own) throw otherKey();
}

function checkRecord(content: string, key: string) {
  const record: StoredInput = { kind: 'key-check', hash: key, content };
  return { topic: 'inputs', key, beside: checkKey, record } as const;
}

/** Of a topic that has one. */
async function firstProposal(log: Pick<KeyLog, 'read' | 'ends'>): Promise<string> {
  for await (const entry of readTopic(log, 'inputs')) if (entry.key.startsWith(proposalKey)) return contentOf(entry);
  throw new Fault('log-unavailable', 'What was just written to the topic of the inputs is not there yet.');
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
