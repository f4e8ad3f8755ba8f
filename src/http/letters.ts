/** Dead letters: what came by webhook and nobody understood. Listed without what they say; read again in bounds. */
import type { EventLog, NewEntry } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import type { JsonLimits } from '../wire/json.ts';
import type { RequestMapping } from '../wire/mapping-table.ts';
import { readWebhook } from '../wire/webhook.ts';

type LetterLog = Pick<EventLog, 'read' | 'ends'>;

export type ReplayParts = {
  log: LetterLog;
  append: (entries: readonly NewEntry[]) => Promise<void>;
  vault: Vault;
  clock: Clock;
  mapping: RequestMapping;
  limits: JsonLimits;
};

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
  const { log, vault, mapping, clock, limits } = parts;
  const { entries: letters, next } = await readRange(log, range);
  const entries: NewEntry[] = [];
  let understood = 0;
  for (const { key, record } of letters) {
    const body = Buffer.from(vault.open(sealedPlaces.letter(key), record.sealedPayload));
    const reading = readWebhook(body, { mapping, vault, receivedAt: record.receivedAt, now: clock.now(), limits });
    if (reading.kind !== 'entries' || reading.deadLetters > 0) continue;
    understood += 1;
    entries.push(...reading.entries);
  }
  if (entries.length > 0) await parts.append(entries);
  return { read: letters.length, understood, stillNot: letters.length - understood, next };
}
