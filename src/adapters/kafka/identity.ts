/**
 * Whether a topic is still the one that this process has read and written. One that is deleted and created again answers like the old
 * one: once it has grown past the old position it would be read on from the middle, and webhooks would be stored where nobody
 * looks for them. The client does not tell a topic's id, so what is known of each partition is compared: a record that was read, and
 * how far it reached. What was replaced, or has lost its front, stays so until the process ends: its next start compares the log with
 * its anchors.
 */
import { createHash } from 'node:crypto';
import { Fault } from '../../errors.ts';
import { extentOf, type PartitionReader, type RawRecord, recordsOf } from './partitions.ts';

/** A broker that has just become the leader of a partition may not know at once how far it reaches. */
const looks = 10;
const lookAgainMs = 500;

/** `topic`: its name on the broker. */
export type LogIdentity = {
  /** The record was read there. */
  read: (topic: string, partition: number, record: RawRecord) => void;
  /** Tells the record at an offset from any other: of the one that was read last, as it is known, of others as they are read now. Null: there is none. */
  hashAt: (
    reader: Pick<PartitionReader, 'fetch' | 'offsets'>,
    topic: string,
    partition: number,
    offset: number,
  ) => Promise<string | null>;
  /** How far each partition is known to reach now: what is appended later gets no lower offset. */
  reached: (topic: string) => ReadonlyMap<number, number>;
  /** Was appended at `offset`, when `reached` had given `before` as the send began. */
  appended: (topic: string, partition: number, offset: number, before: number) => void;
  /**
   * Reads what is known of the partition once more. Where nothing is, takes the record before `position` for it, which has to be there,
   * and resolves to false.
   */
  check: (
    reader: Pick<PartitionReader, 'fetch' | 'offsets'>,
    topic: string,
    partition: number,
    position: number,
  ) => Promise<boolean>;
  /** What `check` cannot see: the topic is gone, or shorter than it was. */
  replace: (topic: string, what: string) => void;
  /** Records that the topic has to keep are gone from the front of the partition; the others of the topic go on. */
  loseFront: (topic: string, partition: number, first: number) => void;
  /** The fault of a topic that was replaced, or of a partition that lost its front; null: it is what it was, as far as is known. */
  fault: (topic: string, partition: number) => Fault | null;
  /** Of all topics, for people: nothing is stored any more. */
  replaced: () => string | null;
};

/** `onReplaced` hears once of each topic. */
export function createIdentity(onReplaced: (fault: Fault) => void): LogIdentity {
  const marks = new Map<string, { offset: number; hash: string }>();
  const ends = new Map<string, Map<number, number>>();
  const faults = new Map<string, Fault>();
  const frontFaults = new Map<string, Fault>();
  const placeOf = (topic: string, partition: number) => `${topic}/${partition}`;

  function replace(topic: string, what: string): void {
    if (faults.has(topic)) return;
    const text = `The topic ${topic} is not the one that this process has read and written: ${what}. It was deleted, deleted and created again, or set back. No webhook is stored and no bid is sent. Put the topic back and start again, or stop every process, accept what is there with lance audit accept-restore --by NAME --reason TEXT, and start.`;
    const fault = new Fault('store-set-back', text);
    faults.set(topic, fault);
    onReplaced(fault);
  }

  function loseFront(topic: string, partition: number, first: number): void {
    const place = placeOf(topic, partition);
    if (frontFaults.has(place)) return;
    const text = `Records before ${first} are gone from the front of ${place} that are younger than the topic keeps: somebody deleted them. Who folds what is left would not know what was bid for. Put the topic back and start again, or stop every process, accept what is there with lance audit accept-restore --by NAME --reason TEXT, and start.`;
    const fault = new Fault('store-set-back', text);
    frontFaults.set(place, fault);
    onReplaced(fault);
  }

  function reach(topic: string, partition: number, end: number): void {
    const known = ends.get(topic) ?? new Map<number, number>();
    known.set(partition, Math.max(known.get(partition) ?? 0, end));
    ends.set(topic, known);
  }

  function read(topic: string, partition: number, record: RawRecord): void {
    const place = placeOf(topic, partition);
    marks.set(place, { offset: record.offset, hash: hashOf(record) });
    reach(topic, partition, record.offset + 1);
  }

  return {
    read,
    replace,
    loseFront,
    hashAt: async (reader, topic, partition, offset) => {
      const mark = marks.get(placeOf(topic, partition));
      if (mark?.offset === offset) return mark.hash;
      const { first, end } = await extentOf(reader, topic, partition);
      if (offset < first || offset >= end) return null;
      for await (const record of recordsOf(reader, { topic, partition, from: offset, to: offset + 1 }, 'kept', 'one')) {
        if (record.offset === offset) return hashOf(record);
      }
      return null;
    },
    reached: (topic) => new Map(ends.get(topic)),
    appended: (topic, partition, offset, before) => {
      if (offset < before)
        replace(topic, `partition ${partition} had reached ${before}, and a new record got ${offset}`);
      else reach(topic, partition, offset + 1);
    },
    check: async (reader, topic, partition, position) => {
      const mark = marks.get(placeOf(topic, partition));
      const isKnown = mark !== undefined;
      const offset = mark?.offset ?? position - 1;
      if (offset < 0) return isKnown;
      let { first, end } = await extentOf(reader, topic, partition);
      for (let look = 1; mark === undefined && end < position && look < looks; look += 1) {
        await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
        ({ first, end } = await extentOf(reader, topic, partition));
      }
      // Deleted as the topic's retention says; what was deleted before its time is told by `topic-watch.ts`.
      if (offset < first) return isKnown;
      if (offset >= end) {
        const known = mark === undefined ? `was read up to ${position}` : `had a record at ${offset}`;
        replace(topic, `partition ${partition} ends at ${end}, and ${known}`);
        return isKnown;
      }
      const stretch = { topic, partition, from: offset, to: offset + 1 };
      for await (const record of recordsOf(reader, stretch, 'kept', 'one')) {
        if (mark === undefined) read(topic, partition, record);
        else if (hashOf(record) !== mark.hash) {
          replace(topic, `partition ${partition} has another record at ${offset}`);
        }
      }
      return isKnown;
    },
    fault: (topic, partition) => faults.get(topic) ?? frontFaults.get(placeOf(topic, partition)) ?? null,
    replaced: () => [...faults.values()][0]?.message ?? null,
  };
}

/** With the time that its writer gave: equal records of two topics are told apart. */
function hashOf({ offset, key, value, timestamp }: RawRecord): string {
  const hash = createHash('sha256').update(`${offset}\n${timestamp}\n${key.length}\n${value?.length ?? -1}\n${key}`);
  if (value !== null) hash.update(value);
  return hash.digest('base64url');
}
