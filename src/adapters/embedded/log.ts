/**
 * The event log on one SQLite file, partition 0 only. Own entries go to consumers straight from memory once the writer has
 * committed them; what is not in memory (catch-up, other processes' entries, a consumer that lags) is read from disk.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Consumer, EventLog, LogEntry, NewEntry } from '../../bidding/ports.ts';
import type { Topic, Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { encode, type LogReader, noEntries, topicNames } from './log-rows.ts';
import type { Writer } from './writer.ts';

type AnyEntry = LogEntry<Topics[Topic]>;

/** The last entries of a topic, without gaps, for consumers that are nearly up to date. */
type Tail = {
  first: number;
  entries: AnyEntry[];
  /** Offset after the last entry known to be durable, in memory or not. */
  end: number;
  positions: Set<{ offset: number }>;
  sleepers: Set<() => void>;
};

type PendingAppend = { entries: readonly NewEntry[]; resolve: () => void; reject: (fault: Fault) => void };

const trimEntries = 256;

export function createLog(options: {
  reader: LogReader;
  writer: Writer;
  /** Entries of one topic kept for consumers that lag; further back they read from disk. */
  memoryEntries: number;
  /** How often other processes' entries are looked for. */
  pollMs: number;
}): { log: EventLog; close: () => Promise<void> } {
  const { reader, writer, memoryEntries } = options;
  const tails = Object.fromEntries(
    topicNames.map((topic) => [
      topic,
      { first: 0, entries: [], end: reader.end(topic), positions: new Set(), sleepers: new Set() },
    ]),
  ) as unknown as Record<Topic, Tail>;
  const consumers = new Set<Consumer>();

  const wake = (tail: Tail) => {
    for (const rise of tail.sleepers) rise();
    tail.sleepers.clear();
  };

  const remember = (tail: Tail, entry: AnyEntry) => {
    if (tail.positions.size > 0) {
      // Another process wrote in between: consumers fetch what is before `first` from disk.
      if (entry.offset !== tail.first + tail.entries.length) {
        tail.first = entry.offset;
        tail.entries = [];
      }
      tail.entries.push(entry);
    }
    tail.end = Math.max(tail.end, entry.offset + 1);
  };

  const trim = (tail: Tail) => {
    let needed = tail.first + tail.entries.length;
    for (const { offset } of tail.positions) needed = Math.min(needed, offset);
    const excess = Math.max(needed - tail.first, tail.entries.length - memoryEntries);
    if (excess < trimEntries && excess < tail.entries.length) return;
    tail.entries.splice(0, excess);
    tail.first += excess;
  };

  let pending: PendingAppend[] = [];
  let encoded = noEntries();
  /** Messages that the writer has not answered. */
  let submitted = 0;

  const flush = async () => {
    const appends = pending;
    const entries = encoded;
    pending = [];
    encoded = noEntries();
    let nexts: number[];
    submitted += 1;
    try {
      nexts = await writer.submit({ kind: 'append', entries });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      for (const { reject } of appends) reject(new Fault('log-unavailable', `The log did not take it: ${why}.`, cause));
      return;
    } finally {
      submitted -= 1;
    }
    let index = 0;
    for (const append of appends) {
      for (const { topic, key, record } of append.entries) {
        const place = entries.topics[index]!;
        remember(tails[topic], { partition: 0, offset: nexts[place]!, key, record });
        nexts[place]! += 1;
        index += 1;
      }
      append.resolve();
    }
    for (const tail of Object.values(tails)) {
      trim(tail);
      wake(tail);
    }
  };

  /** Entries from `position` on, at most `maxEntries`; none when the consumer is up to date. */
  const take = <T extends Topic>(topic: T, position: number, maxEntries: number) => {
    const tail = tails[topic];
    const index = position - tail.first;
    if (index >= 0 && index < tail.entries.length) {
      return { fromDisk: false, entries: tail.entries.slice(index, index + maxEntries) as LogEntry<Topics[T]>[] };
    }
    if (position >= tail.end) return { fromDisk: false, entries: [] };
    const limit = index < 0 && tail.entries.length > 0 ? Math.min(maxEntries, -index) : maxEntries;
    const entries = reader.read(topic, position, limit);
    if (entries[0]?.offset !== position) {
      throw new Fault('log-unavailable', `The log has no record ${topic}/${position} although later ones exist.`);
    }
    return { fromDisk: true, entries };
  };

  const consume: EventLog['consume'] = async ({ topic, from, maxEntries, handler, onFault, onLost, onClosed }) => {
    const tail = tails[topic];
    const position = { offset: await from(0) };
    let stopped = false;
    const run = async () => {
      while (!stopped) {
        const { entries, fromDisk } = take(topic, position.offset, maxEntries);
        if (entries.length === 0) {
          await new Promise<void>((resolve) => tail.sleepers.add(resolve));
          continue;
        }
        const first = position.offset;
        const keyless = entries.findIndex(({ key }) => key === '');
        const readable = keyless === -1 ? entries : entries.slice(0, keyless);
        const next = first + readable.length;
        if (readable.length > 0) await handler({ partition: 0, first, next, entries: readable });
        position.offset = next;
        if (keyless !== -1 && !stopped) {
          // Nobody can tell whose record it is, so none after it may be acted on.
          stopped = true;
          onClosed?.(0, `the record at ${next} has no key`);
          onLost(0);
        }
        // A long catch-up from disk must not keep everything else from running.
        if (fromDisk) await turn();
      }
    };
    tail.positions.add(position);
    const running = run()
      .catch(onFault)
      .finally(() => {
        tail.positions.delete(position);
        consumers.delete(consumer);
      });
    const consumer: Consumer = {
      owns: (partition) => partition === 0 && !stopped,
      stop: () => {
        stopped = true;
        wake(tail);
        return running;
      },
    };
    consumers.add(consumer);
    return consumer;
  };

  const poll = setInterval(() => {
    // What of ours is durable and not answered yet would be read from disk; a gap that others left is seen with the answer.
    if (submitted > 0) return;
    for (const topic of topicNames) {
      const tail = tails[topic];
      if (tail.sleepers.size === 0) continue;
      try {
        const end = reader.end(topic);
        if (end <= tail.end) continue;
        tail.end = end;
        wake(tail);
      } catch {
        // Cannot be read just now (a busy disk); the next poll asks again, and an append would reject aloud.
      }
    }
  }, options.pollMs);

  const log: EventLog = {
    append: async (entries) => {
      if (entries.length === 0) return;
      encode(entries, encoded);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      pending.push({ entries, resolve, reject });
      // One message for all that is appended in this turn of the event loop.
      if (pending.length === 1) setImmediate(() => void flush());
      await promise;
    },
    consume,
    read: async (topic, partition, from, limit) => (partition === 0 ? reader.read(topic, from, limit) : []),
    readKey: async (topic, key) => reader.readKey(topic, key),
    ends: async (topic) => new Map([[0, Math.max(tails[topic].end, reader.end(topic))]]),
  };
  return {
    log,
    close: async () => {
      clearInterval(poll);
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      // Appends made in this turn are on their way to the writer after it.
      await turn();
    },
  };
}
