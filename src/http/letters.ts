/** Dead letters: what came by webhook and nobody understood. Listed without what they say; read again in bounds. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventLog, NewEntry } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import type { BodyReader } from './door.ts';

type LetterLog = Pick<EventLog, 'read' | 'ends'>;

export type ReplayParts = {
  log: LetterLog;
  append: (entries: readonly NewEntry[]) => Promise<void>;
  vault: Vault;
  clock: Clock;
  /** A letter may be one that ended the thread of the door: in a daemon it is read there again. */
  readBody: BodyReader;
};

/** Letters read from the log at once: each may be as long as a webhook. */
const lettersAtOnce = 8;

/** Where they stand in the log, and how many of them. */
export type LetterRange = { partition: number; from: number; count: number };

export type Letter = { offset: number; receivedAt: EpochMs; reason: string; pointer: string | null };

async function readRange(log: LetterLog, { partition, from, count }: LetterRange) {
  const end = (await log.ends('dead-letters')).get(partition) ?? 0;
  const entries = from < end ? await log.read('dead-letters', partition, from, count) : [];
  return { entries, end, next: (entries.at(-1)?.offset ?? Math.min(from, end) - 1) + 1 };
}

/** `next`: where to read on; `end`: how far there is anything. */
export async function listLetters(
  log: LetterLog,
  range: LetterRange,
): Promise<{ letters: Letter[]; next: number; end: number }> {
  const { entries, end, next } = await readRange(log, range);
  const letters = entries.map(({ offset, record: { receivedAt, reason, pointer } }) => ({
    ...{ offset, receivedAt, reason, pointer },
  }));
  return { letters, next, end };
}

export type Replay = { read: number; understood: number; stillNot: number; next: number };

/** What is understood now is appended like any webhook, as received when it was; read twice it is absorbed like one that came twice. */
export async function replayLetters(parts: ReplayParts, range: LetterRange): Promise<Replay> {
  const { log, vault, clock, readBody } = parts;
  let understood = 0;
  let read = 0;
  let next = range.from;
  while (read < range.count) {
    const count = Math.min(lettersAtOnce, range.count - read);
    const page = await readRange(log, { ...range, from: next, count });
    next = page.next;
    read += page.entries.length;
    for (const { key, record } of page.entries) {
      const body = Buffer.from(vault.open(sealedPlaces.letter(key), record.sealedPayload));
      const reading = await readBody(body, record.receivedAt, clock.now());
      if (reading === null) throw new Fault('log-unavailable', 'Too many webhooks are waiting to be read; try again.');
      if (reading.kind !== 'entries') continue;
      if (reading.deadLetters === 0) understood += 1;
      const entries = reading.deadLetters === 0 ? reading.entries : reading.entries.filter(isUnderstood);
      if (entries.length > 0) await parts.append(entries);
      await nextTurn();
    }
    if (page.entries.length < count) break;
  }
  return { read, understood, stillNot: read - understood, next };
}

/** Of a letter that is understood in part: what is not has its letter and its pass already. */
function isUnderstood({ topic, record }: NewEntry): boolean {
  return topic !== 'dead-letters' && !(topic === 'auctions' && record.kind === 'passed');
}
