/**
 * The log: partitions in one store, seen by every instance. What is appended becomes durable after a while, other
 * instances may read it before its writer does, and an append may fail although it was written, in part, twice or later.
 */

import type { ConsumeOptions, Consumer, EventLog, LogEntry, NewEntry } from '../../src/bidding/ports.ts';
import type { EpochMs } from '../../src/domain/glossary.ts';
import type { Topic, Topics } from '../../src/domain/records.ts';
import { Fault } from '../../src/errors.ts';
import type { Faults } from './faults.ts';
import { createGroup, type Group, type Membership } from './group.ts';
import { call, never, type Remote } from './remote.ts';
import { mixText, type SeededChance } from './seeded-chance.ts';
import type { Process } from './virtual-time.ts';

/** `by`: the process that appended it. `triedAt`: when that process first tried to. */
export type Stored = { key: string; text: string; landedAt: EpochMs; by: string; triedAt: EpochMs };

export type LogStore = {
  partitions: number;
  topics: Record<Topic, Stored[][]>;
  /** Consumers that have read everything; called when a partition of a topic grows. */
  waiting: { topic: Topic; wake: (partition: number) => void }[];
  /** By topic, who owns which partition; null: every process believes that it owns all of them. */
  groups: Map<Topic, Group> | null;
  /** By process, whether it may act for a partition of `auctions` as far as it knows; of consumers that share partitions. */
  owners: Map<string, (partition: number) => boolean>;
  /** Times during which a process had been told that a partition of `auctions` is somebody else's; `until` null: ever since. */
  lost: { instance: string; partition: number; from: EpochMs; until: EpochMs | null }[];
  /** When a process first tried to append the end of a claim: by process and text. */
  tried: Map<string, EpochMs>;
};

const topicNames: readonly Topic[] = ['auctions', 'callbacks', 'dead-letters', 'inputs', 'flows'];

export function createLogStore(partitions: number, shared: boolean): LogStore {
  const lists = () => Array.from({ length: partitions }, (): Stored[] => []);
  const topics = Object.fromEntries(topicNames.map((topic) => [topic, lists()])) as Record<Topic, Stored[][]>;
  return {
    partitions,
    topics,
    waiting: [],
    groups: shared ? new Map() : null,
    owners: new Map(),
    lost: [],
    tried: new Map(),
  };
}

export function partitionOf(store: LogStore, key: string): number {
  return mixText(key) % store.partitions;
}

export function decode<T extends Topic>(stored: Stored, partition: number, offset: number): LogEntry<Topics[T]> {
  return { partition, offset, key: stored.key, record: JSON.parse(stored.text) as Topics[T] };
}

type Chunk = { topic: Topic; partition: number; entries: Omit<Stored, 'landedAt'>[] };

function chunksOf(store: LogStore, entries: readonly NewEntry[], by: string, now: EpochMs): Chunk[] {
  const chunks = new Map<string, Chunk>();
  for (const { topic, key, record } of entries) {
    const partition = partitionOf(store, key);
    const name = `${topic}/${partition}`;
    const chunk = chunks.get(name) ?? { topic, partition, entries: [] };
    const text = JSON.stringify(record);
    const triedAt = store.tried.get(`${by}|${text}`) ?? now;
    if (topic === 'auctions' && 'claimId' in record && record.kind !== 'claimed')
      store.tried.set(`${by}|${text}`, triedAt);
    chunk.entries.push({ key, text, by, triedAt });
    chunks.set(name, chunk);
  }
  return [...chunks.values()];
}

function unavailable(): Fault {
  return new Fault('log-unavailable', 'the simulated log did not take the entries, or did not say so');
}

export type LogWorld = Remote & {
  store: LogStore;
  onDelivered: (process: Process, topic: Topic, entry: LogEntry<Topics[Topic]>) => void;
  /** The process has done all that it does with an entry that was delivered: it knows what the entry says. */
  onHandled: (process: Process, topic: Topic, entry: LogEntry<Topics[Topic]>) => void;
};

/** How long each chunk takes, and what the writer hears in the end. */
type AppendFate = { landsMs: (number | null)[]; twice: boolean; answerMs: number; refused: boolean };

function fateOf(chance: SeededChance, faults: Faults, chunks: number): AppendFate {
  const usual = () => chance.between(1, 12);
  const landsMs: (number | null)[] = Array.from({ length: chunks }, usual);
  const last = () => Math.max(0, ...landsMs.map((at) => at ?? 0));
  const fate = (refused: boolean, answerMs: number): AppendFate => ({ landsMs, twice: false, answerMs, refused });
  if (faults.strikes('append-failed', 0.01))
    return { ...fate(true, chance.between(1, 400)), landsMs: landsMs.fill(null) };
  if (faults.strikes('append-failed-though-written', 0.01)) return fate(true, last() + chance.between(1, 400));
  if (faults.strikes('append-written-after-failure', 0.005)) {
    const refusedAt = chance.between(1, 50);
    return { ...fate(true, refusedAt), landsMs: landsMs.map((at) => at! + refusedAt + chance.between(0, 2_000)) };
  }
  if (chunks > 1 && faults.strikes('append-written-in-part', 0.02)) {
    const kept = chance.between(0, chunks - 1);
    return {
      ...fate(true, chance.between(15, 400)),
      landsMs: landsMs.map((at, index) => (index === kept ? at : null)),
    };
  }
  if (faults.strikes('append-slow', 0.02)) {
    const slow = chance.between(200, 5_000);
    return { landsMs: landsMs.map((at) => at! + slow), twice: false, answerMs: slow + 12 + usual(), refused: false };
  }
  const twice = faults.strikes('append-doubled', 0.01);
  return { ...fate(false, last() + chance.between(1, 15)), twice };
}

function land(world: LogWorld, chunk: Chunk): void {
  const { store, time } = world;
  const list = store.topics[chunk.topic][chunk.partition]!;
  for (const entry of chunk.entries) list.push({ ...entry, landedAt: time.now() });
  for (const waiter of store.waiting) if (waiter.topic === chunk.topic) waiter.wake(chunk.partition);
}

function append(world: LogWorld, process: Process, entries: readonly NewEntry[]): Promise<void> {
  if (!process.alive) return never();
  const { chance, faults, time, store } = world;
  const chunks = chunksOf(store, entries, process.id, time.now());
  const fate = fateOf(chance, faults, chunks.length);
  chunks.forEach((chunk, index) => {
    const at = fate.landsMs[index] ?? null;
    if (at === null) return;
    time.after(at, null, () => land(world, chunk));
    if (fate.twice) time.after(at + chance.between(0, 30), null, () => land(world, chunk));
  });
  if (faults.strikes('crash-in-port-call', 0.004)) {
    world.crash(process);
    return never();
  }
  return new Promise((resolve, reject) => {
    time.after(fate.answerMs, process, () => (fate.refused ? reject(unavailable()) : resolve()));
  });
}

type Following = { stopped: boolean; suspended: boolean; busy: number; onIdle: (() => void)[] };

type Part = {
  begin: () => Promise<void>;
  wake: () => void;
  /** No batch after the one in hand. */
  end: () => Promise<void>;
};

function createFollowing(): Following {
  return { stopped: false, suspended: false, busy: 0, onIdle: [] };
}

/** Resolves when the batch in hand is done. */
function halt(following: Following): Promise<void> {
  following.stopped = true;
  if (following.busy === 0) return Promise.resolve();
  return new Promise<void>((resolve) => {
    following.onIdle.push(resolve);
  });
}

/** One partition of one consumer: reads, hands on, waits for the handler, reads on. */
function follow<T extends Topic>(
  world: LogWorld,
  process: Process,
  options: ConsumeOptions<T>,
  partition: number,
  whole: Following,
): Part {
  const { chance, faults, time, store } = world;
  const list = store.topics[options.topic][partition]!;
  const own = createFollowing();
  let position: number | null = null;
  let scheduled = false;

  function fail(fault: unknown): void {
    if (whole.stopped) return;
    whole.stopped = true;
    options.onFault(fault);
  }

  function isOver(): boolean {
    return whole.stopped || own.stopped || !process.alive;
  }

  function wake(): void {
    if (scheduled || isOver() || whole.suspended || position === null || position >= list.length) return;
    scheduled = true;
    const paused = faults.strikes('consumer-paused', 0.008);
    time.after(paused ? chance.between(300, 6_000) : chance.between(0, 12), process, () => void deliver());
  }

  async function deliver(): Promise<void> {
    scheduled = false;
    if (isOver() || whole.suspended || position === null) return;
    scheduled = true;
    const first = position;
    const count = Math.min(options.maxEntries, chance.between(1, 40), list.length - first);
    const entries = list
      .slice(first, first + count)
      .map((stored, index) => decode<T>(stored, partition, first + index));
    for (const entry of entries) world.onDelivered(process, options.topic, entry);
    enter();
    try {
      await options.handler({ partition, first, next: first + count, entries });
      for (const entry of entries) world.onHandled(process, options.topic, entry);
      position = first + count;
    } catch (fault) {
      fail(fault);
    }
    scheduled = false;
    leave();
    wake();
  }

  async function begin(): Promise<void> {
    enter();
    try {
      position = await options.from(partition);
    } finally {
      leave();
    }
    wake();
  }

  function enter(): void {
    whole.busy += 1;
    own.busy += 1;
  }

  function leave(): void {
    for (const following of [own, whole]) {
      following.busy -= 1;
      if (following.busy === 0) for (const tell of following.onIdle.splice(0)) tell();
    }
  }

  return { begin, wake, end: () => halt(own) };
}

async function consume<T extends Topic>(
  world: LogWorld,
  process: Process,
  options: ConsumeOptions<T>,
): Promise<Consumer> {
  const { store } = world;
  if (store.groups !== null && options.scope === 'owned')
    return consumeShare(world, process, options, groupOf(world, store.groups, options.topic));
  const following = createFollowing();
  const parts = store.topics[options.topic].map((_, partition) =>
    follow(world, process, options, partition, following),
  );
  store.waiting.push({ topic: options.topic, wake: (partition) => parts[partition]!.wake() });
  const begun = await Promise.allSettled(parts.map(({ begin }) => begin()));
  const refused = begun.find((result) => result.status === 'rejected');
  if (refused !== undefined) {
    following.stopped = true;
    throw refused.reason;
  }
  return { owns: () => !following.stopped, stop: () => halt(following) };
}

function groupOf(world: LogWorld, groups: Map<Topic, Group>, topic: Topic): Group {
  const group = groups.get(topic) ?? createGroup(world, world.store.partitions);
  groups.set(topic, group);
  return group;
}

/** The partitions that the group gives this process; they come and go. */
async function consumeShare<T extends Topic>(
  world: LogWorld,
  process: Process,
  options: ConsumeOptions<T>,
  group: Group,
): Promise<Consumer> {
  const following = createFollowing();
  const held = new Map<number, Part>();
  const first = Promise.withResolvers<void>();
  let latest = 0;
  let taking: Promise<void> = Promise.resolve();
  let begun = false;

  async function takeUp(partitions: readonly number[], afresh: boolean, assignment: number): Promise<void> {
    const isOutdated = () => following.stopped || assignment !== latest;
    for (const [partition, part] of [...held]) {
      if (partitions.includes(partition) && !afresh) continue;
      await part.end();
      if (!held.delete(partition)) continue;
      noteLost(partition);
      options.onLost(partition);
    }
    for (const partition of partitions) {
      if (isOutdated()) return;
      if (held.has(partition)) continue;
      const part = follow(world, process, options, partition, following);
      held.set(partition, part);
      noteBack(partition);
      await part.begin();
    }
    if (isOutdated()) return;
    following.suspended = false;
    for (const part of held.values()) part.wake();
  }

  function noteLost(partition: number): void {
    if (options.topic !== 'auctions') return;
    world.store.lost.push({ instance: process.id, partition, from: world.time.now(), until: null });
  }

  function noteBack(partition: number): void {
    if (options.topic !== 'auctions') return;
    const spans = world.store.lost.filter((span) => span.instance === process.id && span.partition === partition);
    for (const span of spans) span.until ??= world.time.now();
  }

  function fail(fault: unknown): void {
    if (!begun) first.reject(fault);
    else if (!following.stopped) {
      following.stopped = true;
      options.onFault(fault);
    }
  }

  const membership: Membership = group.join({
    process,
    onUnsettled: () => {
      latest += 1;
      following.suspended = true;
    },
    onAssigned: (partitions, afresh) => {
      latest += 1;
      const assignment = latest;
      taking = taking.then(() => takeUp(partitions, afresh, assignment)).then(() => first.resolve(), fail);
    },
  });
  world.store.waiting.push({ topic: options.topic, wake: (partition) => held.get(partition)?.wake() });
  const stop = async (): Promise<void> => {
    membership.leave();
    await halt(following);
    await taking;
  };
  try {
    await first.promise;
  } catch (fault) {
    following.stopped = true;
    membership.leave();
    throw fault;
  }
  begun = true;
  const owns = (partition: number) => !following.stopped && held.has(partition) && membership.holds(partition);
  if (options.topic === 'auctions') world.store.owners.set(process.id, owns);
  return { owns, stop };
}

/** The port of one process. */
export function createEventLog(world: LogWorld, process: Process): EventLog {
  const { store, chance, faults } = world;
  const journey = () => {
    const slow = faults.strikes('log-read-slow', 0.02) ? chance.between(100, 3_000) : 0;
    return { thereMs: chance.between(0, 4) + slow, backMs: chance.between(0, 4) };
  };
  return {
    append: (entries) => append(world, process, entries),
    consume: (options) => consume(world, process, options),
    read: (topic, partition, from, limit) =>
      call(world, process, journey(), () =>
        store.topics[topic]
          [partition]!.slice(from, from + limit)
          .map((stored, index) => decode(stored, partition, from + index)),
      ),
    readKey: (topic, key, places) =>
      call(world, process, journey(), () => {
        const partition = partitionOf(store, key);
        const isMeant = (offset: number) => {
          if (places === undefined) return true;
          const { offsets, until = -1 } = places;
          return offsets.includes(offset) || (offset > offsets.at(-1)! && offset <= until);
        };
        return store.topics[topic][partition]!.flatMap((stored, offset) =>
          stored.key === key && isMeant(offset) ? [decode<typeof topic>(stored, partition, offset)] : [],
        );
      }),
    ends: (topic) =>
      call(world, process, journey(), () => new Map(store.topics[topic].map((list, index) => [index, list.length]))),
  };
}
