/**
 * Follows partitions of one topic: fetches ahead a little, decodes, and hands on batches in order, one at a time for each
 * partition. A slow handler of one partition holds up no other. What stands for a record that cannot be decoded is one of kind
 * `unreadable`. One without a key, or whose key is no text or longer than any that a desk writes, is passed over: it is of no request. What
 * the processes of a desk write always has a key, and `record-batches.ts` has compared the checksum, so no record of ours is passed over.
 */
import type { LogBatch, LogEntry } from '../../bidding/ports.ts';
import type { Topic, Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import type { LogLine } from './client.ts';
import type { LogIdentity } from './identity.ts';
import { isNameOfSomething } from './key-partition.ts';
import type { PartitionReader, RawRecord } from './partitions.ts';
import { type Codec, decodeRecord } from './registry.ts';

export type PartitionLag = {
  partition: number;
  /** Records not yet handled. */
  records: number;
  /** Age of the oldest record not yet handled, by its writer's clock; 0 with nothing to read. */
  seconds: number;
  /** When the position last moved, or nothing was left to read, on the monotonic clock. */
  movedAt: number;
  /** It is not read any further. */
  closed: boolean;
};

export type Follower = {
  /** Partitions and where each is read on from. */
  add: (starts: ReadonlyMap<number, number>) => void;
  /** It is of a topic that was replaced, or has lost its front: it counts as closed, which is told. */
  refuse: (partition: number) => void;
  /** Resolves when the batch in hand is done. */
  remove: (partition: number) => Promise<void>;
  /** No further batch is handed on until `resume`: who owns what is being settled. */
  suspend: () => void;
  resume: () => void;
  isClosed: (partition: number) => boolean;
  lags: () => PartitionLag[];
  stop: () => Promise<void>;
};

type Followed = {
  partition: number;
  /** The next record to hand on, and the next to fetch. */
  position: number;
  fetchFrom: number;
  end: number;
  waiting: RawRecord[];
  running: Promise<void> | null;
  closed: boolean;
  movedAt: number;
};

const pollMs = 1_000;
/** Where a partition is left out because enough of it waits, the others must not keep it out for long. */
const shortPollMs = 5;
const aheadRecords = 4_000;
/** Fetching again waits so long at most for batches in hand: what comes meanwhile is fetched and handled together. */
const gatherMs = 20;
const retryMs = 1_000;

/** Faults of a fetch whose cause names the partition that cannot be read any further; the others go on. */
const ofOnePartition: ReadonlySet<string> = new Set(['records-missing', 'record-undecodable']);

export function createFollower<T extends Topic>(options: {
  reader: PartitionReader;
  codec: Codec;
  identity: LogIdentity;
  topic: T;
  topicName: string;
  maxEntries: number;
  handler: (batch: LogBatch<Topics[T]>) => Promise<void>;
  /** The handler rejected, or Kafka did not answer for long: nothing is followed any more. */
  onFault: (fault: unknown) => void;
  onClosed: (partition: number, fault: Fault) => void;
  /** A record was handed on as `unreadable`, or passed over. */
  onUnreadable: (partition: number, fault: Fault, record: RawRecord, isPassedOver: boolean) => void;
  onLine: LogLine;
}): Follower {
  const { reader, codec, identity, topicName } = options;
  const followed = new Map<number, Followed>();
  let stopped = false;
  let suspended = false;
  let rise: (() => void) | null = null;

  function wake(): void {
    rise?.();
    rise = null;
  }

  function fail(fault: unknown): void {
    if (stopped) return;
    stopped = true;
    wake();
    options.onFault(fault);
  }

  function close(part: Followed, fault: Fault): void {
    part.closed = true;
    part.waiting = [];
    options.onClosed(part.partition, fault);
  }

  /** Where a broker did not answer for once, the topic may have been made anew meanwhile. */
  async function checkAll(): Promise<void> {
    for (const { partition, position, closed } of followed.values()) {
      if (!closed) await identity.check(reader, topicName, partition, position);
    }
  }

  /** Before anything of it is handed on. */
  function closeReplaced(): void {
    for (const part of followed.values()) {
      const fault = identity.fault(topicName, part.partition);
      if (fault !== null && !part.closed) close(part, fault);
    }
  }

  async function poll(): Promise<void> {
    let checkedAt = reader.disturbances();
    while (!stopped) {
      closeReplaced();
      const open = [...followed.values()].filter(({ closed }) => !closed);
      const hungry = open.filter(({ waiting }) => waiting.length < aheadRecords);
      if (hungry.length === 0) {
        // Woken when a partition comes, or when one that had enough has been read on.
        await new Promise<void>((resolve) => {
          rise = resolve;
        });
        continue;
      }
      const froms = new Map(hungry.map(({ partition, fetchFrom }) => [partition, fetchFrom]));
      const waitMs = hungry.length < open.length ? shortPollMs : pollMs;
      try {
        const fetched = await reader.fetch(topicName, froms, waitMs);
        const disturbances = reader.disturbances();
        if (disturbances !== checkedAt) await checkAll();
        checkedAt = disturbances;
        closeReplaced();
        take(fetched, froms);
        await gather();
      } catch (fault) {
        if (!(fault instanceof Fault) || !ofOnePartition.has(fault.code)) throw fault;
        await checkAll();
        closeReplaced();
        const part = followed.get((fault.cause as { partition: number }).partition);
        // What was fetched before can be read.
        await part?.running;
        if (part !== undefined && !part.closed) close(part, fault);
      }
    }
  }

  /** While batches are in hand, so is this process: many small fetches would only make them slower. */
  async function gather(): Promise<void> {
    const running = [...followed.values()].flatMap((part) => part.running ?? []);
    if (running.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, gatherMs);
    });
    await Promise.race([Promise.all(running), late]);
    clearTimeout(timer);
  }

  function take(fetched: Awaited<ReturnType<PartitionReader['fetch']>>, froms: ReadonlyMap<number, number>): void {
    for (const [partition, { records, end, next }] of fetched) {
      const part = followed.get(partition);
      // Given up meanwhile, or given up and taken again.
      if (part === undefined || part.closed || part.fetchFrom !== froms.get(partition)) continue;
      part.end = end;
      part.fetchFrom = next;
      if (records.length === 0) {
        if (part.position >= end) part.movedAt = performance.now();
        continue;
      }
      part.waiting.push(...records);
      run(part);
    }
  }

  function run(part: Followed): void {
    if (part.running !== null || stopped || suspended) return;
    part.running = drain(part)
      .catch(fail)
      .finally(() => {
        part.running = null;
        wake();
      });
  }

  async function drain(part: Followed): Promise<void> {
    const going = () => !stopped && !suspended && !part.closed && followed.get(part.partition) === part;
    while (going() && part.waiting.length > 0) {
      const raw = part.waiting.slice(0, options.maxEntries);
      const { entries, count, fault } = await decode(part, raw);
      if (!going()) return;
      if (count > 0) {
        const next = raw[count - 1]!.offset + 1;
        await options.handler({ partition: part.partition, first: part.position, next, entries });
        part.position = next;
        part.movedAt = performance.now();
        identity.read(topicName, part.partition, raw[count - 1]!);
        part.waiting.splice(0, count);
      }
      if (fault !== null) await waitForRegistry(part, fault);
    }
  }

  /** The record waits, however long: a new start would have to wait for the same. */
  async function waitForRegistry(part: Followed, fault: Fault): Promise<void> {
    options.onLine('warn', `${topicName}/${part.partition} waits: ${fault.message}`);
    part.movedAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }

  /** Of the first `count` records those that are of anything, and what is wrong with the one after them. */
  async function decode(
    { partition }: Followed,
    raw: readonly RawRecord[],
  ): Promise<{ entries: LogEntry<Topics[T]>[]; count: number; fault: Fault | null }> {
    const entries: LogEntry<Topics[T]>[] = [];
    for (const [count, one] of raw.entries()) {
      const { offset, key, value } = one;
      try {
        if (!isNameOfSomething(key)) {
          options.onUnreadable(partition, ofNothing(one), one, true);
          continue;
        }
        const decoded = decodeRecord(codec, options.topic, { partition, offset, key }, value);
        const { record, undecodable } = decoded instanceof Promise ? await decoded : decoded;
        entries.push({ partition, offset, key, record });
        if (undecodable !== null) options.onUnreadable(partition, undecodable, one, false);
      } catch (fault) {
        if (fault instanceof Fault) return { entries, count, fault };
        throw fault;
      }
    }
    return { entries, count: raw.length, fault: null };
  }

  const polling = poll().catch(fail);

  return {
    add: (starts) => {
      for (const [partition, from] of starts) {
        const start = { position: from, fetchFrom: from, end: from, movedAt: performance.now() };
        followed.set(partition, { partition, ...start, waiting: [], running: null, closed: false });
      }
      wake();
    },
    refuse: (partition) => {
      const nothing = { position: 0, fetchFrom: 0, end: 0, movedAt: performance.now(), waiting: [] };
      const part: Followed = { partition, ...nothing, running: null, closed: false };
      followed.set(partition, part);
      close(part, identity.fault(topicName, partition)!);
    },
    remove: async (partition) => {
      const part = followed.get(partition);
      followed.delete(partition);
      await part?.running;
    },
    suspend: () => {
      suspended = true;
    },
    resume: () => {
      suspended = false;
      for (const part of followed.values()) if (part.waiting.length > 0) run(part);
    },
    isClosed: (partition) => followed.get(partition)?.closed === true,
    lags: () =>
      [...followed.values()].map(({ partition, position, end, waiting, movedAt, closed }) => {
        const oldest = waiting[0]?.timestamp;
        const seconds = oldest === undefined ? 0 : Math.max(0, Date.now() - oldest) / 1_000;
        return { partition, records: Math.max(0, end - position), seconds, movedAt, closed };
      }),
    stop: async () => {
      stopped = true;
      wake();
      await Promise.all([...followed.values()].map(({ running }) => running));
      followed.clear();
      // The fetch under way ends with the connections of its reader.
      await Promise.all([polling, reader.close()]);
    },
  };
}

function ofNothing({ key, problem }: RawRecord): Fault {
  const what =
    key === ''
      ? (problem ?? 'It has no key, or none that can be read, as no desk writes')
      : `Its key has ${key.length} characters, more than any that a desk writes`;
  return new Fault('record-undecodable', `${what}: it is passed over.`);
}
