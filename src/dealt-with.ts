/**
 * How far `callbacks` are dealt with, as the log itself shows: where each process keeps it for its own partitions in files, no place says it for
 * all of them. A winner event is dealt with when every request that has its code has a record of it, or when no request has its code and
 * the time is over in which one may become known. What is read once more does no harm; what is left out is lost.
 */
import { codesOf, type WinnerEvent } from './bidding/orphans.ts';
import type { EventLog, Views } from './bidding/ports.ts';
import { readTopic } from './bidding/read-topic.ts';
import type { EpochMs, RequestId } from './domain/glossary.ts';

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

const notSaid: ReadonlySet<string> = new Set(['at', 'requestId', 'sharedWith']);

/** What an event says, of whichever request and whenever it came. */
function contentOf(event: object): string {
  const said = Object.entries(event).filter(([name, value]) => value != null && !notSaid.has(name));
  return JSON.stringify(said.sort(([one], [other]) => (one < other ? -1 : 1)));
}
