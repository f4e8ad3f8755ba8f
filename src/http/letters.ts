/** Dead letters: what came by webhook and nobody understood. Listed without what they say; read again in bounds. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventLog, LogEntry, NewEntry } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { ReplayOrder, Topics } from '../domain/records.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { parseJson } from '../wire/json.ts';
import { knownKeys, type RequestMapping } from '../wire/mapping-table.ts';
import { beginningOf, keysIn, maskedKey, tryMapping } from '../wire/mapping-trial.ts';
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
/** A letter with more sealed characters, which is about 500 kB of JSON, is listed without being opened: parsing cannot be interrupted. */
const longestOpened = 700_000;
/** Sealed characters that may be read and opened before others get their turn. */
const charactersAtOnce = 1_000_000;

/** Where they stand in the log, and how many of them. Without a partition `from` counts in each, and the first ones come first. */
export type LetterRange = { partition: number | null; from: number; count: number };

/** A fact, or a field of an event, that could not be read; `fact` is null where none of the mapping stands there. */
type Unreadable = { fact: string | null; pointer: string | null; problem: string };

export type Letter = {
  partition: number;
  offset: number;
  receivedAt: EpochMs;
  reason: string;
  pointer: string | null;
  /** When it was read again and understood; null: it was not. */
  replayedAt: EpochMs | null;
  /** Who had it read again; absent: it was not, or nobody was named. */
  replayedBy?: ReplayOrder;
  /** When somebody closed it without that; absent: nobody did. */
  dismissedAt?: EpochMs;
  dismissedBy?: ReplayOrder;
  /** Its keys without their values, dotted, `***` for those that may be somebody's name or number; null where it cannot be opened or is too long. */
  keys: readonly string[] | null;
  /** What the mapping of today cannot read in it. */
  unreadable: readonly Unreadable[];
};

/** What a letter is opened and looked at with. */
export type LetterLook = { vault: Pick<Vault, 'open'>; mapping: RequestMapping };

/** What nests deeper is not looked at. */
const deepest = 256;
/** Records looked at for marks of a replay or a dismissal, behind the letters of a page. */
const mostMarked = 20_000;

type LetterEntry = LogEntry<Topics['dead-letters']>;

/** Marks of a replay or a dismissal stand among the letters. */
const isLetter = ({ record }: LetterEntry) => record.replayOf === undefined;

/** Where a partition was read to, and how far there is anything in it. */
type Stand = { partition: number; next: number; end: number };

/** `isWanted`: what is not counts for nothing. */
async function* pagesOf(
  log: LetterLog,
  { partition, from, count }: LetterRange,
  isWanted: (entry: LetterEntry) => boolean = () => true,
): AsyncGenerator<{ entries: LetterEntry[]; marks: LetterEntry[]; stand: Stand }> {
  const ends = await log.ends('dead-letters');
  const partitions = partition === null ? [...ends.keys()].sort((left, right) => left - right) : [partition];
  let left = count;
  let atOnce = 1;
  for (const each of partitions) {
    const end = ends.get(each) ?? 0;
    let next = Math.min(from, end);
    if (next === end) yield { entries: [], marks: [], stand: { partition: each, next, end } };
    while (next < end) {
      if (left === 0) return;
      const entries = await log.read('dead-letters', each, next, Math.min(left, atOnce));
      // What expired at the beginning of a partition leaves a gap.
      next = entries.length === 0 ? end : entries.at(-1)!.offset + 1;
      const letters = entries.filter((entry) => isLetter(entry) && isWanted(entry));
      const marks = entries.filter((entry) => !isLetter(entry));
      left -= letters.length;
      // As long as the longest of those before: what is read in one piece keeps decisions waiting.
      const longest = Math.max(1, ...entries.map(({ record }) => record.sealedPayload.length));
      atOnce = Math.max(1, Math.min(lettersAtOnce, Math.floor(charactersAtOnce / longest)));
      yield { entries: letters, marks, stand: { partition: each, next, end } };
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
  look: LetterLook | null = null,
): Promise<{ letters: Letter[]; next: number; end: number } & GoesOn> {
  const letters: Letter[] = [];
  const known = look === null ? () => false : knownKeys(look.mapping);
  let stand: Stand = { partition: range.partition ?? 0, next: 0, end: 0 };
  for await (const page of pagesOf(log, range)) {
    stand = page.stand;
    for (const entry of page.entries) {
      const { partition, offset, record } = entry;
      const { receivedAt, reason, pointer } = record;
      const seen = look === null ? nothingSeen : await contentOf(entry, look, known);
      letters.push({ partition, offset, receivedAt, reason, pointer, replayedAt: null, ...seen });
      if (look !== null) await nextTurn();
    }
  }
  const marks = await marksFor(log, letters);
  const marked = letters.map((letter): Letter => {
    const { at, replayedBy, dismissedBy } = marks.get(placeOf(letter)) ?? {};
    if (at === undefined) return letter;
    if (dismissedBy !== undefined) return { ...letter, dismissedAt: at, dismissedBy };
    return { ...letter, replayedAt: at, ...(replayedBy === undefined ? {} : { replayedBy }) };
  });
  return { letters: marked, next: stand.next, end: stand.end, ...(await goesOn(log, range, stand)) };
}

const nothingSeen = { keys: null, unreadable: [] } as const;

/** A letter may be as long as a webhook: others get their turn between the steps. */
async function contentOf(
  { key, record }: LetterEntry,
  { vault, mapping }: LetterLook,
  known: (key: string) => boolean,
): Promise<Pick<Letter, 'keys' | 'unreadable'>> {
  if (record.sealedPayload.length > longestOpened) return nothingSeen;
  let text: string;
  try {
    text = vault.open(sealedPlaces.letter(key), record.sealedPayload);
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'sealed-unreadable') return nothingSeen;
    throw fault;
  }
  await nextTurn();
  const parsed = parseJson(text, { maxBytes: Number.MAX_SAFE_INTEGER, maxDepth: deepest });
  await nextTurn();
  if (parsed.kind === 'malformed') return nothingSeen;
  const body = beginningOf(parsed.value);
  const { elements } = tryMapping(body, mapping);
  const masked = (path: string) =>
    path
      .split('/')
      .map((part) => part && maskedKey(part, known))
      .join('/');
  const facts = elements.flatMap(({ pointer, facts: tried }) =>
    tried.flatMap(({ fact, key: name, problem }) =>
      problem === null ? [] : [{ fact, pointer: masked(`${pointer}/${name.replaceAll('.', '/')}`), problem }],
    ),
  );
  // Of an event the letter itself says which field it was.
  const ofEvent = elements.length === 0 ? [{ fact: null, pointer: record.pointer, problem: record.reason }] : [];
  return { keys: keysIn(body, known), unreadable: [...facts, ...ofEvent] };
}

const placeOf = ({ partition, offset }: { partition: number; offset: number }) => `${partition}/${offset}`;

type Mark = Pick<LetterEntry['record'], 'at' | 'replayedBy' | 'dismissedBy'>;

/** When each of these letters was understood or dismissed, told by the marks that stand behind it. The first mark counts. */
async function marksFor(
  log: LetterLog,
  letters: readonly Pick<Letter, 'partition' | 'offset'>[],
): Promise<ReadonlyMap<string, Mark>> {
  const marks = new Map<string, Mark>();
  const firsts = new Map<number, number>();
  for (const { partition, offset } of letters) firsts.set(partition, Math.min(offset, firsts.get(partition) ?? offset));
  for (const [partition, from] of firsts) {
    for await (const { marks: found } of pagesOf(log, { partition, from, count: mostMarked })) {
      for (const { record } of found) {
        const place = placeOf({ partition, offset: record.replayOf!.offset });
        if (!marks.has(place)) marks.set(place, record);
      }
    }
  }
  return marks;
}

/** How many letters there are, and how many of them are closed: understood when they were read again, or dismissed; at most so many are looked at. */
export async function countLetters(log: LetterLog): Promise<{ letters: number; closed: number }> {
  let letters = 0;
  const closed = new Set<string>();
  for await (const { entries, marks } of pagesOf(log, { partition: null, from: 0, count: mostMarked })) {
    letters += entries.length;
    for (const { partition, record } of marks) closed.add(placeOf({ partition, offset: record.replayOf!.offset }));
  }
  return { letters, closed: closed.size };
}

export type Replay = { read: number; understood: number; stillNot: number; next: number } & GoesOn;

/**
 * What is understood now is appended like any webhook, as received when it was; read twice it is absorbed like one that came twice.
 * What was understood before is not read again. Less than `count` read: nothing is left. `order`: kept with each that is understood.
 */
export async function replayLetters(
  parts: ReplayParts,
  range: LetterRange,
  order: ReplayOrder | null = null,
): Promise<Replay> {
  const { log, vault, clock, readBody } = parts;
  let understood = 0;
  let read = 0;
  let stand: Stand = { partition: range.partition ?? 0, next: 0, end: 0 };
  const before = new Set<string>();
  for await (const { marks } of pagesOf(log, { ...range, count: mostMarked })) {
    for (const { partition, record } of marks) before.add(placeOf({ partition, offset: record.replayOf!.offset }));
  }
  for await (const page of pagesOf(log, range, (entry) => !before.has(placeOf(entry)))) {
    stand = page.stand;
    read += page.entries.length;
    for (const { key, offset, record } of page.entries) {
      const body = Buffer.from(vault.open(sealedPlaces.letter(key), record.sealedPayload));
      const reading = await readBody(body, record.receivedAt, clock.now());
      if (reading === null) throw new Fault('log-unavailable', 'Too many webhooks are waiting to be read; try again.');
      if (reading.kind !== 'entries') continue;
      const isWhole = reading.deadLetters === 0;
      if (isWhole) understood += 1;
      const entries: NewEntry[] = isWhole ? [...reading.entries] : reading.entries.filter(isUnderstood);
      if (isWhole) {
        const by = order === null ? {} : { replayedBy: order };
        entries.push(
          markOf({ key, offset, record }, clock.now(), vault, { reason: 'read again and understood', ...by }),
        );
      }
      if (entries.length > 0) await parts.append(entries);
      await nextTurn();
    }
  }
  return { read, understood, stillNot: read - understood, next: stand.next, ...(await goesOn(log, range, stand)) };
}

/** `letter-closed`: it was read again and understood, or dismissed, before. */
export type DismissOutcome =
  | ({ kind: 'dismissed' } & LetterPlace)
  | { kind: 'letter-unknown' }
  | { kind: 'letter-closed'; how: 'replayed' | 'dismissed'; at: EpochMs };

export type LetterPlace = { partition: number; offset: number };

/** Nobody will read it again: it is kept, and counts as open no more. */
export async function dismissLetter(
  { log, append, vault, clock }: Omit<ReplayParts, 'readBody'>,
  place: LetterPlace,
  order: ReplayOrder,
): Promise<DismissOutcome> {
  const { partition, offset } = place;
  const [entry] = (await log.ends('dead-letters')).has(partition)
    ? await log.read('dead-letters', partition, offset, 1)
    : [];
  if (entry === undefined || entry.offset !== offset || !isLetter(entry)) return { kind: 'letter-unknown' };
  const mark = (await marksFor(log, [place])).get(placeOf(place));
  if (mark !== undefined) {
    const how = mark.dismissedBy === undefined ? 'replayed' : 'dismissed';
    return { kind: 'letter-closed', how, at: mark.at };
  }
  await append([markOf(entry, clock.now(), vault, { reason: 'dismissed', dismissedBy: order })]);
  return { kind: 'dismissed', partition, offset };
}

/** Beside the letter, for it has its key. Holds nothing, and is sealed as a letter is, so that earlier versions can open it. */
function markOf(
  { key, offset, record }: Pick<LetterEntry, 'key' | 'offset' | 'record'>,
  at: EpochMs,
  vault: Pick<Vault, 'seal'>,
  said: Pick<LetterEntry['record'], 'reason' | 'replayedBy' | 'dismissedBy'>,
): NewEntry {
  const sealedPayload = vault.seal(sealedPlaces.letter(key), 'null');
  const { receivedAt, pointer } = record;
  return {
    topic: 'dead-letters',
    key,
    record: { at, receivedAt, pointer, sealedPayload, replayOf: { offset }, ...said },
  };
}

/** Of a letter that is understood in part: what is not has its letter and its pass already. */
function isUnderstood({ topic, record }: NewEntry): boolean {
  return topic !== 'dead-letters' && !(topic === 'auctions' && record.kind === 'passed');
}
