/** A topic read entry by entry, each partition in its order; for who wants all of it at one time and not what comes next. */
import type { Topic, Topics } from '../domain/records.ts';
import type { EventLog, LogEntry } from './ports.ts';

const pageEntries = 1_000;

/** Offsets `from` (inclusive) to `end` (exclusive) of a partition. */
export type Span = { partition: number; from: number; end: number };

export async function* readSpan<T extends Topic>(
  log: Pick<EventLog, 'read'>,
  topic: T,
  { partition, from, end }: Span,
): AsyncGenerator<LogEntry<Topics[T]>> {
  for (let next = from; next < end; ) {
    const page = await log.read(topic, partition, next, Math.min(pageEntries, end - next));
    if (page.length === 0) return;
    for (const entry of page) if (entry.offset < end) yield entry;
    next = page.at(-1)!.offset + 1;
  }
}

/** All partitions, one after the other, as far as they were when this began. */
export async function* readTopic<T extends Topic>(
  log: Pick<EventLog, 'read' | 'ends'>,
  topic: T,
): AsyncGenerator<LogEntry<Topics[T]>> {
  for (const [partition, end] of await log.ends(topic)) yield* readSpan(log, topic, { partition, from: 0, end });
}
