/**
 * How far `callbacks` are dealt with, as the log itself shows: where each process keeps it for its own partitions in files, no place says it for
 * all of them. A winner event is dealt with when every request that has its code has a record of it, or when no request has its code and
 * the time is over in which one may become known. What is read once more does no harm; what is left out is lost.
 */
import { hash } from 'node:crypto';
import { codesOf, type WinnerEvent } from './bidding/orphans.ts';
import type { EventLog, Views } from './bidding/ports.ts';
import { readSpan, readTopic, type Span } from './bidding/read-topic.ts';
import type { EpochMs, RequestId } from './domain/glossary.ts';
import type { CallbackRecord } from './domain/records.ts';
import { isLinkAnswer } from './origination/callbacks.ts';

export async function callbacksDealtWith(
  log: Pick<EventLog, 'read' | 'ends'>,
  views: Pick<Views, 'findByBid'>,
  { graceMs, now }: { graceMs: number; now: EpochMs },
): Promise<ReadonlyMap<number, number>> {
  const told: { partition: number; offset: number; event: WinnerEvent; content: string }[] = [];
  for await (const { partition, offset, record } of readTopic(log, 'callbacks')) {
    if (record.kind === 'contemplated' || record.kind === 'proposed')
      told.push({ partition, offset, event: record, content: contentOf(record) });
  }
  const ends = new Map(await log.ends('callbacks'));
  if (told.length === 0) return ends;
  const kept = new Map(told.map(({ content }) => [content, new Set<RequestId>()]));
  for await (const { record } of readTopic(log, 'auctions')) {
    if (record.kind !== 'contemplated' && record.kind !== 'proposed') continue;
    kept.get(contentOf(record))?.add(record.requestId);
  }
  const known = await views.findByBid([...new Set(told.flatMap(({ event }) => codesOf(event)))]);
  for (const { partition, offset, event, content } of told) {
    const holders = codesOf(event).flatMap((code) => known.get(code) ?? []);
    const isOver = holders.length > 0 || now - event.at >= graceMs;
    if (isOver && holders.every((requestId) => kept.get(content)!.has(requestId))) continue;
    ends.set(partition, Math.min(offset, ends.get(partition)!));
  }
  return ends;
}

/** The margin cache keeps a link answer for this long. A flow that still waits for one asks again. */
const linkAnswerLifeMs = 86_400_000;

/**
 * The same for flows, whose reader commits its offsets to a consumer group: a broker deletes these when the group had no member for a week.
 * Every event of an operation is given to a flow in a record with the same sealed body. So the first event without such a record is where
 * reading goes on. Unreadable records and link answers may leave no record: those after the last event that has one are read again.
 */
export async function flowCallbacksDealtWith(
  log: Pick<EventLog, 'read' | 'ends'>,
  now: EpochMs,
): Promise<ReadonlyMap<number, number>> {
  const ends = await log.ends('callbacks');
  const given = new Set<string>();
  for await (const { record } of readTopic(log, 'flows')) {
    if (record.kind === 'told') given.add(bodyHash(record.sealed));
  }
  const dealtWith = new Map<number, number>();
  for (const [partition, end] of ends) {
    dealtWith.set(partition, await firstNotGiven(log, { partition, from: 0, end }, given, now));
  }
  return dealtWith;
}

async function firstNotGiven(
  log: Pick<EventLog, 'read'>,
  span: Span,
  given: ReadonlySet<string>,
  now: EpochMs,
): Promise<number> {
  let unsure: number | null = null;
  for await (const { offset, record } of readSpan(log, 'callbacks', span)) {
    if (isEvent(record)) {
      if (!given.has(bodyHash(record.sealed))) return unsure ?? offset;
      unsure = null;
    } else if (record.kind === 'unreadable' || (isLinkAnswer(record) && now - record.at < linkAnswerLifeMs)) {
      unsure ??= offset;
    }
  }
  return unsure ?? span.end;
}

/** Given to the flow that has its code, or kept until one has. */
function isEvent(record: CallbackRecord): record is CallbackRecord & { kind: 'credit-note' | 'operation-event' } {
  return (record.kind === 'credit-note' || record.kind === 'operation-event') && !isLinkAnswer(record);
}

function bodyHash(sealed: string): string {
  return hash('sha256', sealed, 'base64');
}

const notSaid: ReadonlySet<string> = new Set(['at', 'requestId', 'sharedWith']);

/** What an event says, of whichever request and whenever it came. */
function contentOf(event: object): string {
  const said = Object.entries(event).filter(([name, value]) => value != null && !notSaid.has(name));
  return JSON.stringify(said.sort(([one], [other]) => (one < other ? -1 : 1)));
}
