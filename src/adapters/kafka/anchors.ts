/**
 * Signed heads of the log on a topic of its own. Several processes write a partition, so none of them can chain its records while
 * it writes; every few minutes one process reads what is new and appends, for each partition, a keyed running hash over the bytes
 * of its records. `inputs`, `snapshots` and `house` are compacted and not covered: records of theirs go by design. That `house` is there
 * at all is.
 */
import { createHash } from 'node:crypto';
import { type Kafka, Partitioners } from 'kafkajs';
import type { AuditKey, ChainHeads, ChainVerdict, Unverified } from '../../domain/audit.ts';
import { hmacWith, readSignedLine, signLine } from '../../domain/signed-line.ts';
import { Fault } from '../../errors.ts';
import { calmed, createClient, type LogLine, unavailable } from './client.ts';
import { begunKey } from './house.ts';
import { createPartitionReader, extentOf, type RawRecord, recordsOf } from './partitions.ts';
import { createPassingOver } from './pass-overs.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';
import { clockSlackMs } from './topic-watch.ts';
import { keptMsOf, retentionOf } from './topics.ts';

const anchoredTopics = ['auctions', 'callbacks', 'flows', 'dead-letters', 'rules'] as const;
type AnchoredTopic = (typeof anchoredTopics)[number];

/**
 * Of one partition: its records from `from` on and before `to`, and its last one. `first`: where the partition began then, which was
 * compared with what it had to keep. `oldestAt`, `newestAt`: times of the record at `from` and of the newest one, as their writers say. Earlier
 * versions said neither.
 */
type Part = {
  from: number;
  to: number;
  digest: string;
  last: string;
  first?: number;
  oldestAt?: number;
  newestAt?: number;
};
/**
 * `parts` names the partitions that have grown since the anchor before; where the anchor is `whole`, and where it begins anew after
 * a restore, it names all that ever held a record, the others as they stood in the anchors before. `fronts`: also those that had
 * none left, as earlier versions did not.
 */
type Anchor = { at: number; parts: Readonly<Record<string, Part>>; whole?: true; restored?: true; fronts?: true };
/** `foreign`: so many are signed with another key. `forged`: offset of the first one that is not signed, or cannot be read. */
type Said = { anchored: boolean; begun: boolean };
type Extents = { firsts: ReadonlyMap<number, number>; ends: ReadonlyMap<number, number> };
type AnchorReading = { anchors: Anchor[]; foreign: number; forged: number | null };

const anchorPartition = 0;
/** On the topic `house`: that there are anchors. A topic of them that was lost would look like one that nobody has written to yet. */
const anchoredKey = 'anchored';
const housePartition = 0;
const allReplicas = -1;
const writeAttempts = 3;
const retryMs = 500;
/** What is known of the log stands in so many of the latest anchors, for one of so many is whole. */
const latestAnchors = 50;
/** Several processes may write at once, so one is made whole earlier than would do. */
const wholeEvery = latestAnchors / 2;
/** A topic that no anchor names is looked for this often: lost before it is named for the first time, it would not be missed. */
const firstAnchorMs = 5_000;
/** An anchor of another process that is younger than this share of the period is as good as one's own. */
const freshShare = 0.8;

export type KafkaAnchors = {
  /** Rejects with `store-set-back` where the log is shorter than an anchor says, or is another one. */
  refuseSetBack: () => Promise<void>;
  /** From now on anchors are written every `everyMs`. `onFault` hears once, until one is written again, why none was. */
  start: (everyMs: number, onFault: (text: string) => void) => void;
  /** What the log holds is what counts from now on. */
  restart: () => Promise<void>;
  heads: () => Promise<{ now: ChainHeads; known: ChainHeads | null }>;
  verify: (onProgress: (verified: number) => void) => Promise<ChainVerdict>;
  /** Writes the last anchor where anchors were started. */
  close: () => Promise<void>;
};

export function openAnchors(settings: KafkaSettings, key: AuditKey | null, onLine: LogLine): KafkaAnchors {
  const kafka = createClient(
    settings,
    calmed(onLine, () => performance.now()),
  );
  const topic = `${settings.topicPrefix}anchors`;
  const house = topicNameOf(settings, 'house');
  const reader = createPartitionReader(kafka, createPassingOver());
  const unnamed = new Set<AnchoredTopic>(anchoredTopics);
  let timers: NodeJS.Timeout[] = [];
  let period = 0;
  let closing = false;
  let writing: Promise<void> | null = null;
  let faulty = false;
  let isAnchoredSaid = false;
  let onFault: (text: string) => void = () => undefined;

  /**
   * `all`, or as many of the latest as name every partition that was ever anchored. Signatures are checked where there is a key.
   */
  async function readAnchors(which: 'all' | 'latest'): Promise<AnchorReading> {
    if (!(await reader.exists(topic))) return { anchors: [], foreign: 0, forged: null };
    const { first, end } = await extentOf(reader, topic, anchorPartition);
    if (which === 'all') return read(first, end);
    const latest = await read(Math.max(first, end - latestAnchors), end);
    // Earlier versions made none whole.
    return latest.anchors.some(isWhole) ? latest : read(first, end);
  }

  /** What the topic `house` says of the anchors. */
  async function readHouse(): Promise<Said> {
    const said: Said = { anchored: false, begun: false };
    if (!(await reader.exists(house))) return said;
    const { first, end } = await extentOf(reader, house, housePartition);
    const stretchOfHouse = { topic: house, partition: housePartition, from: first, to: end };
    for await (const { key: each, value } of recordsOf(reader, stretchOfHouse, retentionOf('house'))) {
      if (each === anchoredKey) said.anchored = value !== null;
      if (each === begunKey) said.begun = value !== null;
    }
    return said;
  }

  /** Which of the two is gone that tell of each other: the anchors, or what `house` says of them; null: neither. */
  async function lossOf({ anchors, foreign, forged }: AnchorReading): Promise<'anchors' | 'house' | null> {
    const isAnchored = anchors.length > 0 || foreign > 0 || forged !== null;
    const said = await readHouse();
    if (said.anchored) return isAnchored ? null : 'anchors';
    // Earlier versions said less: theirs name no fronts.
    return anchors.some(({ fronts }) => fronts === true) && !said.begun ? 'house' : null;
  }

  /** Of a topic that does not exist: of no partition. */
  async function extentsOf(each: AnchoredTopic): Promise<Extents> {
    const name = topicNameOf(settings, each);
    if (!(await reader.exists(name))) return { firsts: new Map(), ends: new Map() };
    const [firsts, ends] = await Promise.all([reader.offsets(name, 'first'), reader.offsets(name, 'next')]);
    return { firsts, ends };
  }

  /**
   * From where on records are gone from the front of a partition that the topic has to keep; null: from nowhere. `anchors`: what was read
   * of them, the latest ones or all. Brokers delete what is older than the topic keeps, up to a record that is not.
   */
  async function lostFrom(
    each: AnchoredTopic,
    partition: number,
    { first, end }: { first: number; end: number },
    anchors: readonly Anchor[],
  ): Promise<number | null> {
    if (first === 0) return null;
    const place = `${each}/${partition}`;
    const isDue = (at: number) => at + keptMsOf(each) <= Date.now() + clockSlackMs;
    const part = furthest(anchors)[place];
    const { to, newestAt } = part ?? { to: 0 };
    const known = part?.first ?? 0;
    if (part?.first !== undefined && first <= known) return null;
    // What comes after it was stored since it ended there.
    const endedAt = endedThereAt(anchors, place, to);
    if (first > to && endedAt !== null && !isDue(endedAt))
      return newestAt === undefined || isDue(newestAt) ? to : known;
    if (part === undefined) return null;
    if (first >= to && newestAt !== undefined) return isDue(newestAt) ? null : known;
    if (first < end) {
      const name = topicNameOf(settings, each);
      const oldest = { topic: name, partition, from: first, to: first + 1 };
      for await (const { timestamp } of recordsOf(reader, oldest, 'kept', 'one')) if (isDue(timestamp)) return null;
    }
    const all = await readAnchors('all');
    return agesOf(all.anchors, place).some(
      ({ from, to: until, oldest, newest }) =>
        until > known && ((from < first && !isDue(oldest)) || (until <= first && !isDue(newest))),
    )
      ? known
      : null;
  }

  /** Rejects with `store-set-back` where a partition has lost its front. */
  async function refuseLostFronts(anchors: readonly Anchor[]): Promise<void> {
    for (const each of anchoredTopics) {
      const { firsts, ends } = await extentsOf(each);
      for (const [partition, end] of ends) {
        const first = firsts.get(partition) ?? 0;
        const from = await lostFrom(each, partition, { first, end }, anchors);
        if (from === null) continue;
        const name = topicNameOf(settings, each);
        throw setBack(
          `${name}/${partition} begins at ${first}, and records from ${from} on are gone that are younger than the topic keeps`,
        );
      }
    }
  }

  /** Fewer records than there are would have another hash. */
  function stretch(name: string, partition: number, from: number, to: number): AsyncIterable<RawRecord> {
    return recordsOf(reader, { topic: name, partition, from, to }, 'kept');
  }

  async function read(from: number, to: number): Promise<AnchorReading> {
    const found: AnchorReading = { anchors: [], foreign: 0, forged: null };
    for await (const record of stretch(topic, anchorPartition, from, to)) {
      const line = readSignedLine<Anchor>(record.value?.toString() ?? '', key, isAnchor);
      if (line === null || line.signature === 'forged') found.forged ??= record.offset;
      else if (line.signature === 'other-key') found.foreign += 1;
      else {
        // What was there before has been accepted.
        if (line.content.restored === true) found.forged = null;
        found.anchors.push(line.content);
      }
    }
    return found;
  }

  async function write(restored?: true): Promise<void> {
    if (key === null) throw new Error('anchors are written with a key only');
    const reading = await readAnchors('latest');
    const { anchors } = reading;
    if (restored === undefined) {
      // An anchor that names what is left would make it the log.
      const loss = await lossOf(reading);
      if (loss !== null) throw setBack(lossText(loss));
      await refuseLostFronts(anchors);
    }
    const known = restored === true ? {} : furthest(anchors);
    const now = Date.now();
    // Written by another process, so a time of day; one that is ahead is of a clock that is wrong, or was.
    const isFresh = ({ at }: Anchor) => at <= now && now - at < period * freshShare;
    noteNames(known);
    if (restored === undefined && timers.length > 0 && anchors.some(isFresh) && !(await lacksName())) return;
    const parts: Record<string, Part> = {};
    const namesAll = (anchor: Anchor) => isWhole(anchor) && anchor.fronts === true;
    const whole = restored === undefined && !anchors.slice(-wholeEvery).some(namesAll);
    for (const each of anchoredTopics) Object.assign(parts, await newParts(each, known, whole || restored === true));
    const hasGrown = Object.entries(parts).some(([place, { to }]) => to > (known[place]?.to ?? 0));
    if (!hasGrown && restored === undefined) return;
    const { line } = signLine(key, {
      at: now,
      parts: whole ? { ...known, ...parts } : parts,
      ...(whole ? { whole, fronts: true } : {}),
      ...(restored === true ? { restored, fronts: true } : {}),
    } satisfies Anchor);
    const producer = kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    try {
      await makeTopic(kafka, topic, settings);
      await producer.connect();
      const said = isAnchoredSaid ? null : await readHouse();
      const say = (what: string) => {
        const message = { partition: housePartition, key: what, value: JSON.stringify({ since: now }) };
        return producer.send({ topic: house, acks: allReplicas, messages: [message] });
      };
      // A log of an earlier version says it now, before the anchor: one that names fronts without it means that `house` was lost.
      if (said?.begun === false) await say(begunKey);
      const message = { partition: anchorPartition, key: 'anchor', value: line };
      await producer.send({ topic, acks: allReplicas, messages: [message] });
      if (said?.anchored === false) await say(anchoredKey);
      isAnchoredSaid = true;
    } catch (cause) {
      throw unavailable(cause);
    } finally {
      await producer.disconnect();
    }
  }

  function noteNames(known: Readonly<Record<string, Part>>): void {
    for (const place of Object.keys(known)) unnamed.delete(place.slice(0, place.lastIndexOf('/')) as AnchoredTopic);
  }

  /** Whether a topic holds records, and no anchor names it. */
  async function lacksName(): Promise<boolean> {
    for (const each of unnamed) {
      const name = topicNameOf(settings, each);
      const [firsts, ends] = await Promise.all([reader.offsets(name, 'first'), reader.offsets(name, 'next')]);
      if ([...ends].some(([partition, end]) => end > (firsts.get(partition) ?? 0))) return true;
    }
    return false;
  }

  /** A fault here is told by the anchor that is due. */
  async function writeFirst(): Promise<void> {
    if (writing !== null || !(await lacksName().catch(() => false))) return;
    // The last anchor is written by who closes.
    if (!closing) await guardedWrite();
  }

  /** Of the partitions that have grown since they were anchored last; `all`: of all that ever held a record. */
  async function newParts(
    each: AnchoredTopic,
    known: Readonly<Record<string, Part>>,
    all: boolean,
  ): Promise<Record<string, Part>> {
    const name = topicNameOf(settings, each);
    const parts: Record<string, Part> = {};
    const [firsts, ends] = await Promise.all([reader.offsets(name, 'first'), reader.offsets(name, 'next')]);
    for (const [partition, end] of ends) {
      const place = `${each}/${partition}`;
      const before = known[place];
      const first = firsts.get(partition) ?? 0;
      const from = Math.max(before?.to ?? 0, first);
      // Where what came after it has expired, too: how far the partition had come is to be told.
      if (end > (before?.to ?? 0)) {
        const found = await digestOf(key!, before?.digest ?? '', stretch(name, partition, from, end));
        parts[place] = { from, to: end, ...found, first };
      } else if (all && before !== undefined) parts[place] = { ...before, first };
    }
    return parts;
  }

  async function compare(): Promise<void> {
    const reading = await readAnchors('latest');
    const { anchors, foreign, forged } = reading;
    noteNames(furthest(anchors));
    const loss = await lossOf(reading);
    if (loss === 'anchors') throw setBack(lossText(loss));
    if (forged !== null) throw setBack(`the anchor ${topic}/${forged} is not signed with the key of this desk`);
    if (anchors.length === 0 && foreign > 0) {
      throw new Fault(
        'configuration-invalid',
        `The anchors on ${topic} were signed with another key. Look first whether LANCE_AUDIT_KEY is mistyped, missing or new (without one LANCE_PSEUDONYM_KEY signs) and run with the one of before; only where that is lost, accept what is there with: lance audit accept-restore --by NAME --reason TEXT.`,
      );
    }
    if (loss !== null) throw setBack(lossText(loss));
    for (const each of anchoredTopics) {
      const name = topicNameOf(settings, each);
      const known = Object.entries(furthest(anchors)).filter(([place]) => place.startsWith(`${each}/`));
      if (known.length === 0) continue;
      const { firsts, ends } = await extentsOf(each);
      for (const [place, { to, last }] of known) {
        const partition = Number(place.slice(each.length + 1));
        const end = ends.get(partition) ?? 0;
        if (end < to) throw setBack(`${name}/${partition} ends at ${end}, and ended at ${to} when it was anchored`);
        if ((firsts.get(partition) ?? 0) >= to) continue;
        for await (const record of stretch(name, partition, to - 1, to)) {
          if (lastHash(record) !== last) throw setBack(`${name}/${partition} has another record at ${to - 1}`);
        }
      }
    }
    await refuseLostFronts(anchors);
  }

  function lossText(loss: 'anchors' | 'house'): string {
    return loss === 'anchors'
      ? `the topic ${topic} holds no anchors any more, and had some`
      : `the topic ${house} does not hold what the log was begun with: it was deleted, and with it pauses, caps set by hand, revoked tokens, and whether the desk has moved`;
  }

  function guardedWrite(): Promise<void> {
    writing ??= retried(write)
      .then(() => {
        faulty = false;
      })
      .catch((fault: unknown) => {
        if (!faulty)
          onFault(`the anchor of the log was not written: ${fault instanceof Error ? fault.message : fault}`);
        faulty = true;
      })
      .finally(() => {
        writing = null;
      });
    return writing;
  }

  return {
    refuseSetBack: compare,
    start: (everyMs, hear) => {
      onFault = hear;
      period = everyMs;
      timers = [
        setInterval(() => void guardedWrite(), everyMs),
        setInterval(() => void writeFirst(), Math.min(everyMs, firstAnchorMs)),
      ];
    },
    restart: () => retried(() => write(true)),
    heads: async () => {
      const now: Record<string, readonly [number, string]> = {};
      for (const each of anchoredTopics) {
        const ends = await reader.offsets(topicNameOf(settings, each), 'next');
        for (const [partition, end] of ends) now[`${each}/${partition}`] = [end, ''];
      }
      const { anchors } = await readAnchors('latest');
      const known = Object.entries(furthest(anchors)).map(([place, { to, digest }]) => [place, [to, digest]] as const);
      return { now, known: known.length === 0 ? null : Object.fromEntries(known) };
    },
    verify: (onProgress) => verify(onProgress),
    close: async () => {
      closing = true;
      if (timers.length > 0) {
        for (const timer of timers) clearInterval(timer);
        period = 0;
        await writing;
        await guardedWrite();
      }
      await reader.close();
    },
  };

  async function verify(onProgress: (verified: number) => void): Promise<ChainVerdict> {
    const reading = await readAnchors('all');
    const { anchors, foreign, forged } = reading;
    const unverified: Unverified[] = [];
    const loss = await lossOf(reading);
    if (loss === 'anchors') return { kind: 'anchor-missing', place: topic, unverified };
    if (foreign > 0) unverified.push({ kind: 'other-key', anchors: foreign });
    if (forged !== null) return { kind: 'anchor-broken', place: topic, line: forged, unverified };
    if (anchors.length === 0 && foreign === 0) unverified.push({ kind: 'no-anchor', place: topic });
    if (loss === 'house') return { kind: 'broken', table: 'house', offset: 0, what: 'truncated', unverified };
    // The hash is keyed: without the key it cannot be computed again.
    if (key === null) unverified.push({ kind: 'no-key' });
    const tables: Record<string, { entries: number; head: string }> = {};
    let verified = 0;
    for (const each of anchoredTopics) {
      const name = topicNameOf(settings, each);
      const [firsts, ends] = await Promise.all([reader.offsets(name, 'first'), reader.offsets(name, 'next')]);
      for (const [partition, end] of ends) {
        const place = `${each}/${partition}`;
        const first = firsts.get(partition) ?? 0;
        const lost = await lostFrom(each, partition, { first, end }, anchors);
        if (lost !== null) {
          return { kind: 'broken', table: place, offset: lost, until: first - 1, what: 'front-cut', unverified };
        }
        let digest = '';
        let anchoredTo = 0;
        /** By where a part ended. Of two processes that anchored at the same time, either may have been gone on from. */
        const digests = new Map<number, string>();
        for (const part of sinceRestore(anchors).flatMap(({ parts }) => parts[place] ?? [])) {
          if (part.to <= anchoredTo) {
            digests.set(part.to, digests.get(part.to) ?? part.digest);
            continue;
          }
          const broken = { kind: 'broken' as const, table: place, unverified };
          if (end < part.to) return { ...broken, offset: end, what: 'truncated' };
          if (part.from < first && part.from < part.to) {
            unverified.push({ kind: 'expired', table: place, until: first });
          } else if (key !== null) {
            // Where the front was deleted beyond the part before, the next one goes on from it all the same.
            const before = digests.get(part.from) ?? (part.from > anchoredTo ? digest : '');
            const found = await digestOf(key, before, stretch(name, partition, part.from, part.to));
            if (found.digest !== part.digest) {
              return { ...broken, offset: part.from, until: part.to - 1, what: 'rewritten' };
            }
          }
          verified += part.to - Math.max(part.from, anchoredTo);
          onProgress(verified);
          digest = part.digest;
          digests.set(part.to, digest);
          anchoredTo = part.to;
        }
        tables[place] = { entries: end - first, head: digest };
      }
    }
    const auctions = Object.entries(tables).filter(([place]) => place.startsWith('auctions/'));
    return {
      kind: 'intact',
      entries: auctions.reduce((sum, [, { entries }]) => sum + entries, 0),
      head: createHash('sha256')
        .update(auctions.map(([, { head }]) => head).join('\n'))
        .digest('base64url'),
      tables,
      anchors: anchors.length,
      anchoredAt: anchors.length === 0 ? null : Math.max(...anchors.map(({ at }) => at)),
      unverified,
    };
  }
}

function setBack(what: string): Fault {
  return new Fault(
    'store-set-back',
    `The log on Kafka is not the one that was anchored: ${what}. A bid that was sent since would be sent again with other bytes. Put the topics back, or accept what is there with: lance audit accept-restore --by NAME --reason TEXT.`,
  );
}

type Age = { from: number; to: number; oldest: number; newest: number };

/**
 * Of each part of a partition since the last restore, times that its first and its newest record are no older than. A part of an earlier version
 * has none: its records were stored since the anchor before.
 */
function agesOf(anchors: readonly Anchor[], place: string): Age[] {
  const ages = new Map<number, Age>();
  let before = 0;
  for (const { at, parts } of sinceRestore(anchors)) {
    const part = parts[place];
    if (part !== undefined && !ages.has(part.to)) {
      const { from, to, oldestAt: oldest = before, newestAt: newest = before } = part;
      ages.set(to, { from, to, oldest, newest });
    }
    before = at;
  }
  return [...ages.values()];
}

/** The latest part of each partition, since the last restore. */
function furthest(anchors: readonly Anchor[]): Record<string, Part> {
  const parts: Record<string, Part> = {};
  for (const anchor of sinceRestore(anchors)) {
    for (const [place, part] of Object.entries(anchor.parts)) {
      if (part.to >= (parts[place]?.to ?? 0)) parts[place] = part;
    }
  }
  return parts;
}

/**
 * When the partition certainly ended at `to`; null: nobody says so. Whole anchors of earlier versions repeated what was said before, and
 * of a partition that no anchor names only who names all fronts says that it was empty.
 */
function endedThereAt(anchors: readonly Anchor[], place: string, to: number): number | null {
  const since = sinceRestore(anchors);
  const said =
    to === 0
      ? since.findLast(({ fronts }) => fronts === true)
      : since.find((anchor) => anchor.parts[place]?.to === to && (anchor.fronts === true || !isWhole(anchor)));
  return said?.at ?? null;
}

function sinceRestore(anchors: readonly Anchor[]): readonly Anchor[] {
  const last = anchors.findLastIndex(({ restored }) => restored === true);
  return last === -1 ? anchors : anchors.slice(last);
}

function isWhole({ whole, restored }: Anchor): boolean {
  return whole === true || restored === true;
}

function isAnchor({ at, parts }: Readonly<Record<string, unknown>>): boolean {
  return Number.isFinite(at) && typeof parts === 'object' && parts !== null && Object.values(parts).every(isPart);
}

function isPart(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { from, to, digest, last, first = 0, oldestAt = 0, newestAt = 0 } = value as Readonly<Record<string, unknown>>;
  const isCounted = [from, to, first, oldestAt, newestAt].every(Number.isSafeInteger);
  return isCounted && typeof digest === 'string' && typeof last === 'string';
}

/** Lengths are hashed too, so that no two series of records read the same. */
async function digestOf(
  key: AuditKey,
  previous: string,
  records: AsyncIterable<RawRecord>,
): Promise<Pick<Part, 'digest' | 'last' | 'oldestAt' | 'newestAt'>> {
  const hmac = hmacWith(key).update(`${previous}\n`);
  let last = '';
  const times: number[] = [];
  for await (const record of records) {
    hmac.update(headOf(record));
    if (record.value !== null) hmac.update(record.value);
    last = lastHash(record);
    const [oldestAt = record.timestamp, newestAt = record.timestamp] = times;
    times.splice(0, 2, oldestAt, Math.max(newestAt, record.timestamp));
  }
  const [oldestAt, newestAt] = times;
  return { digest: hmac.digest('base64url'), last, ...(times.length > 0 ? { oldestAt, newestAt } : {}) };
}

function headOf({ offset, key, value }: RawRecord): string {
  return `${offset}\n${key.length}\n${value?.length ?? -1}\n${key}`;
}

function lastHash(record: RawRecord): string {
  const hash = createHash('sha256').update(headOf(record));
  if (record.value !== null) hash.update(record.value);
  return hash.digest('base64url');
}

/** A topic made a moment ago may have no leader yet, and a server that was asked at its start may not answer. */
async function retried(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable || attempt === writeAttempts) throw fault;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

async function makeTopic(kafka: Kafka, topic: string, { replication }: KafkaSettings): Promise<void> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    if ((await admin.listTopics()).includes(topic)) return;
    await admin.createTopics({
      waitForLeaders: true,
      topics: [
        {
          topic,
          numPartitions: 1,
          replicationFactor: replication,
          configEntries: Object.entries({
            'cleanup.policy': 'delete',
            'retention.ms': '-1',
            'retention.bytes': '-1',
            'min.insync.replicas': String(Math.max(1, replication - 1)),
          }).map(([name, value]) => ({ name, value })),
        },
      ],
    });
  } finally {
    await admin.disconnect();
  }
}
