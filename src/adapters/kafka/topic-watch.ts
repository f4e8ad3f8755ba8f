/**
 * Watches the topics below a running process. Records that a topic has to keep may be deleted from its front: the desk would go on,
 * and one that has lost its views would fold what is left and bid again. A topic may be deleted that nobody reads all the time. Both
 * are told to the identity of the log, and stay so until the process ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../errors.ts';
import type { LogIdentity } from './identity.ts';
import { extentOf, type PartitionReader } from './partitions.ts';
import { type KafkaSettings, type KafkaTopic, kafkaTopics, topicNameOf } from './settings.ts';
import { keptMsOf, replaceable, retentionOf } from './topics.ts';

export type TopicWatch = {
  /** Asks once more how the partitions of a topic begin. Rejects with `log-unavailable`. */
  lookAtFront: (topic: KafkaTopic) => Promise<void>;
  /** Rejects with `log-unavailable` where `house` is gone or shorter than it was: what it says does not count. */
  needHouse: () => Promise<void>;
  stop: () => void;
};

const everyMs = 5_000;
/** A broker that has just started may not know all topics yet, and one that has just begun to lead not how far they reach. */
const looksUntilLost = 3;
/** The clocks of broker and processes differ; a record that becomes old enough within this time may be deleted. */
export const clockSlackMs = 3_600_000;

type Fronts = {
  /** On the monotonic clock, which stands still while the machine sleeps. */
  askedAt: number;
  /** On the clock of the machine. */
  askedAtTime: number;
  /** The first record of each partition that has to be kept for longer than the slack. */
  keptFrom: ReadonlyMap<number, number>;
};

/** Resolves when the first look is done. */
export async function watchTopics(
  reader: Pick<PartitionReader, 'offsets' | 'exists'>,
  settings: KafkaSettings,
  identity: Pick<LogIdentity, 'replace' | 'loseFront'>,
): Promise<TopicWatch> {
  const stopping = new AbortController();
  const fronts = new Map<KafkaTopic, Fronts>();
  /** So many looks in a row have missed it. */
  const missed = new Map<KafkaTopic, number>();
  const house = topicNameOf(settings, 'house');
  let houseEnd = 0;
  let latestTime = 0;
  let turns: Promise<void> = Promise.resolve();

  async function look(topic: KafkaTopic): Promise<void> {
    const name = topicNameOf(settings, topic);
    const [askedAt, askedAtTime] = [performance.now(), Date.now()];
    // A clock that goes back would have kept what is old enough.
    latestTime = Math.max(latestTime, askedAtTime);
    // The ends come first: what is appended after them is younger.
    const ends = await reader.offsets(name, 'next');
    const sinceMs = Math.max(0, latestTime - keptMsOf(topic) + clockSlackMs);
    const [firsts, young] = await Promise.all([reader.offsets(name, 'first'), reader.offsets(name, { sinceMs })]);
    const before = fronts.get(topic);
    // After a longer sleep what was too young then may be old enough.
    const isKnown =
      before !== undefined &&
      askedAt - before.askedAt < clockSlackMs &&
      Math.abs(askedAtTime - before.askedAtTime) < clockSlackMs;
    const keptFrom = new Map<number, number>();
    for (const [partition, end] of ends) {
      const first = firsts.get(partition) ?? 0;
      const known = isKnown ? before.keptFrom.get(partition) : undefined;
      if (known !== undefined && first > known) identity.loseFront(name, partition, first);
      const found = young.get(partition) ?? -1;
      keptFrom.set(partition, found < 0 ? end : found);
    }
    fronts.set(topic, { askedAt, askedAtTime, keptFrom });
  }

  /** One after the other: an answer that was given before the last one must not be compared with it. */
  function lookAtFront(topic: KafkaTopic): Promise<void> {
    if (retentionOf(topic) === 'compacted') return Promise.resolve();
    const done = turns.then(() => look(topic));
    turns = done.catch(() => undefined);
    return done;
  }

  /** What is wrong with it now. */
  async function lossOf(topic: KafkaTopic): Promise<string | null> {
    if (!(await reader.exists(topicNameOf(settings, topic)))) return 'it does not exist any more';
    if (topic !== 'house') return null;
    // Nobody follows it, and records go from its middle: how far it reaches does not shrink.
    const { end } = await extentOf(reader, house, 0);
    if (end < houseEnd) return `it ends at ${end}, and ended at ${houseEnd}`;
    houseEnd = end;
    return null;
  }

  async function lookAt(topic: KafkaTopic): Promise<void> {
    const loss = await lossOf(topic);
    const looks = loss === null ? 0 : (missed.get(topic) ?? 0) + 1;
    missed.set(topic, looks);
    if (loss === null) await lookAtFront(topic);
    else if (looks >= looksUntilLost) identity.replace(topicNameOf(settings, topic), loss);
  }

  async function lookAtAll(): Promise<void> {
    for (const topic of kafkaTopics) if (!replaceable.has(topic)) await lookAt(topic);
  }

  async function watch(): Promise<void> {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stopping.signal });
      // Kafka that is away is told elsewhere.
      await lookAtAll().catch(() => undefined);
    }
  }

  await lookAtAll();
  watch().catch(() => undefined);
  return {
    lookAtFront,
    needHouse: async () => {
      const loss = await lossOf('house');
      if (loss !== null) throw new Fault('log-unavailable', `Kafka: the topic ${house} was lost: ${loss}.`);
    },
    stop: () => stopping.abort(),
  };
}
