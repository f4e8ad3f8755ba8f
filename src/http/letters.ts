/** Dead letters: what came by webhook and nobody understood. Listed without what they say; read again in bounds. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventLog, LogEntry, NewEntry } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { Topics } from '../domain/records.ts';
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

/** Letters read from the log at once, as long as they are short; each may be as long as a webhook. */
const lettersAtOnce = 8;
/** Sealed characters that may be read and opened before others get their turn. */
const charactersAtOnce = 1_000_000;

/** Where they stand in the log, and how many of them. Without a partition `from` counts in each, and the first ones come first. */
export type LetterRange = { partition: number | null; from: number; count: number };

export type Letter = { partition: number; offset: number; receivedAt: EpochMs; reason: string; pointer: string | null };

/** Where a partition was read to, and how far there is anything in it. */
type Stand = { partition: number; next: number; end: number };

async function* pagesOf(
  log: LetterLog,
  { partition, from, count }: LetterRange,
): AsyncGenerator<{ entries: LogEntry<Topics['dead-letters']>[]; stand: Stand }> {
  const ends = await log.ends('dead-letters');
  const partitions = partition === null ? [...ends.keys()].sort((left, right) => left - right) : [partition];
  let left = count;
  let atOnce = 1;
  for (const each of partitions) {
    const end = ends.get(each) ?? 0;
    let next = Math.min(from, end);
    if (next === end) yield { entries: [], stand: { partition: each, next, end } };
    while (next < end) {
      if (left === 0) return;
      const entries = await log.read('dead-letters', each, next, Math.min(left, atOnce));
      // What expired at the beginning of a partition leaves a gap.
      next = entries.length === 0 ? end : entries.at(-1)!.offset + 1;
      left -= entries.length;
      // As long as the longest of those before: what is read in one piece keeps decisions waiting.
      const longest = Math.max(1, ...entries.map(({ record }) => record.sealedPayload.length));
      atOnce = Math.max(1, Math.min(lettersAtOnce, Math.floor(charactersAtOnce / longest)));
      yield { entries, stand: { partition: each, next, end } };
      await nextTurn();
    }
  }
}

/** Where a range without a partition goes on: there, and in all partitions after it. */
type GoesOn = { more?: { partition: number; from: number } };

async function goesOn(log: LetterLog, range: LetterRange, { partition, next, end }: Stand): Promise<GoesOn> {
  if (range.partition !== null) return {};
  if (next < end) return { more: { partition, from: next } };
  const later = [...(await log.ends('dead-letters'))].filter(([other, last]) => other > partition && last > range.from);
  const [first] = later.sort(([left], [right]) => left - right);
  return first === undefined ? {} : { more: { partition: first[0], from: range.from } };
}

/** `next`: where to read on; `end`: how far there is anything; both in the partition that was read last. */
export async function listLetters(
  log: LetterLog,
  range: LetterRange,
): Promise<{ letters: Letter[]; next: number; end: number } & GoesOn> {
  const letters: Letter[] = [];
  let stand: Stand = { partition: range.partition ?? 0, next: 0, end: 0 };
  for await (const page of pagesOf(log, range)) {
    stand = page.stand;
    for (const { partition, offset, record } of page.entries) {
      const { receivedAt, reason, pointer } = record;
      letters.push({ partition, offset, receivedAt, reason, pointer });
    }
  }
  return { letters, next: stand.next, end: stand.end, ...(await goesOn(log, range, stand)) };
}

export type Replay = { read: number; understood: number; stillNot: number; next: number } & GoesOn;

/** What is understood now is appended like any webhook, as received when it was; read twice it is absorbed like one that came twice. */
export async function replayLetters(parts: ReplayParts, range: LetterRange): Promise<Replay> {
  const { log, vault, clock, readBody } = parts;
  let understood = 0;
  let read = 0;
  let stand: Stand = { partition: range.partition ?? 0, next: 0, end: 0 };
  for await (const page of pagesOf(log, range)) {
    stand = page.stand;
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
  }
  return { read, understood, stillNot: read - understood, next: stand.next, ...(await goesOn(log, range, stand)) };
}

/** Of a letter that is understood in part: what is not has its letter and its pass already. */
function isUnderstood({ topic, record }: NewEntry): boolean {
  return topic !== 'dead-letters' && !(topic === 'auctions' && record.kind === 'passed');
}
