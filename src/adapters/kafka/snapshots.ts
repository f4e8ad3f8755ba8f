/**
 * Copies of the views on the compacted topic `snapshots`. A partition's copy has two places that are written in turn, and a
 * manifest that is written last and says which one counts: a copy that broke off leaves the one before as it was, and
 * compaction throws away what was overwritten. Each fold version has places of its own, for two versions that run side by side, as in a
 * rolling restart, cannot use each other's copies. The copies of the two newest versions are kept.
 */
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { type Kafka, Partitioners } from 'kafkajs';
import type { Snapshots } from '../../bidding/ports.ts';
import { unavailable } from './client.ts';
import { extentOf, type PartitionReader, type RawRecord, recordsOf } from './partitions.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';
import { retentionOf } from './topics.ts';

const squeeze = promisify(zstdCompress);
const unsqueeze = promisify(zstdDecompress);

/** How pieces are written. A copy written otherwise is no copy: the log is folded from its beginning. */
const format = 3;
/** Of an earlier version's manifest that says that there is no copy: compaction may leave an older one beside a record without a value. */
const noFormat = 0;

type Place = 'a' | 'b';
type Manifest = {
  format: number;
  /** Absent: an earlier version wrote it, in places that are named without one. */
  foldVersion?: number;
  id: string;
  place: Place;
  count: number;
  /** Pieces of the copy in the other place. */
  before?: number;
  /** Offset of the first piece: what stands before it is of other copies. */
  first: number;
  applied: number;
  takenAt: number;
};

/** Holds the manifests of the partition, newest fold version first, one each. */
const manifestsKey = 'manifests';
/** Of an earlier version, which has one manifest whatever fold it is of. It is read until there are copies of two versions. */
const earlierKey = 'manifest';
const keptVersions = 2;
/** A piece is the id of its copy, how long it is once it is unsqueezed or 0 where it stands as it is, and its bytes. */
const idBytes = 36;
const lengthBytes = 4;
/** Squeezing has to save this much: what holds squeezed parts already is put back the faster. */
const worthwhileShare = 0.6;
/** zlib's own least. */
const leastOutputBytes = 64;
const allReplicas = -1;

function pieceKey({ foldVersion, place }: Pick<Manifest, 'foldVersion' | 'place'>, index: number): string {
  const version = foldVersion === undefined ? '' : `${foldVersion}/`;
  return `${version}${place}/${String(index).padStart(6, '0')}`;
}

async function packed(id: string, piece: Buffer): Promise<Buffer> {
  const squeezed = await squeeze(piece);
  const isWorthwhile = squeezed.length < piece.length * worthwhileShare;
  const length = Buffer.alloc(lengthBytes);
  if (isWorthwhile) length.writeUInt32LE(piece.length);
  return Buffer.concat([Buffer.from(id, 'latin1'), length, isWorthwhile ? squeezed : piece]);
}

async function unpacked(value: Buffer): Promise<Buffer> {
  const length = value.readUInt32LE(idBytes);
  const bytes = value.subarray(idBytes + lengthBytes);
  // It comes out in one go.
  return length === 0 ? bytes : await unsqueeze(bytes, { chunkSize: Math.max(length, leastOutputBytes) });
}

export async function createSnapshots(
  kafka: Kafka,
  settings: KafkaSettings,
  reader: PartitionReader,
): Promise<{ snapshots: Snapshots; close: () => Promise<void> }> {
  const topic = topicNameOf(settings, 'snapshots');
  const producer = kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    maxInFlightRequests: 1,
    retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 4 },
  });
  await producer.connect().catch((cause: unknown) => {
    throw unavailable(cause);
  });

  /** Returns the offset. `value` null: compaction is to throw away what has the key. */
  async function put(partition: number, key: string, value: Buffer | null): Promise<number> {
    try {
      const [written] = await producer.send({ topic, acks: allReplicas, messages: [{ partition, key, value }] });
      return Number(written!.baseOffset);
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  /** The partition from an offset on, or only its last record. */
  async function* scan(partition: number, from: number | 'last'): AsyncGenerator<RawRecord> {
    const { first, end } = await extentOf(reader, topic, partition);
    const wanted = Math.max(first, from === 'last' ? end - 1 : from);
    yield* recordsOf(reader, { topic, partition, from: wanted, to: end }, retentionOf('snapshots'));
  }

  /** Newest fold version first; one that does not say its own comes last. */
  async function manifestsOf(partition: number): Promise<Manifest[]> {
    // Nothing comes after them, unless the copy that was begun next broke off or an earlier version writes too.
    const last = await latestIn(scan(partition, 'last'));
    return last.isNewest ? last.manifests : (await latestIn(scan(partition, 0))).manifests;
  }

  async function latestIn(records: AsyncIterable<RawRecord>): Promise<{ manifests: Manifest[]; isNewest: boolean }> {
    let kept: Manifest[] = [];
    let earlier: Manifest[] = [];
    let isNewest = false;
    for await (const { key, value } of records) {
      if (value === null) continue;
      if (key === manifestsKey) {
        const stored: Manifest[] = JSON.parse(value.toString());
        [kept, earlier] = [
          stored.filter(({ foldVersion }) => foldVersion !== undefined),
          stored.filter(({ foldVersion }) => foldVersion === undefined),
        ];
        isNewest = true;
      } else if (key === earlierKey) {
        earlier = [JSON.parse(value.toString())];
        isNewest = false;
      }
    }
    return { manifests: [...kept, ...earlier].filter((manifest) => manifest.format === format), isNewest };
  }

  async function putManifests(partition: number, manifests: readonly Manifest[]): Promise<void> {
    await put(partition, manifestsKey, Buffer.from(JSON.stringify(manifests)));
  }

  /** What was written of the copies of a fold that are not kept any longer. */
  async function remove(partition: number, manifest: Manifest): Promise<void> {
    const most = Math.max(manifest.count, manifest.before ?? manifest.count);
    if (manifest.foldVersion === undefined) await putEarlier(partition);
    for (const place of ['a', 'b'] as const) {
      for (let index = 0; index < most; index += 1) await put(partition, pieceKey({ ...manifest, place }, index), null);
    }
  }

  async function putEarlier(partition: number): Promise<void> {
    await put(partition, earlierKey, Buffer.from(JSON.stringify({ format: noFormat })));
  }

  async function discard(partition: number): Promise<void> {
    const manifests = await manifestsOf(partition);
    if (manifests.length === 0) return;
    if (manifests.some(({ foldVersion }) => foldVersion === undefined)) await putEarlier(partition);
    await putManifests(partition, []);
  }

  /** Pieces of one copy, in order. Ends early where another writer has overwritten some: the reader then finds too few. */
  async function* piecesOf(partition: number, manifest: Manifest): AsyncGenerator<Buffer> {
    const { id, count, first } = manifest;
    let wanted = 0;
    for await (const { key, value } of scan(partition, first)) {
      if (wanted === count) return;
      if (key !== pieceKey(manifest, wanted) || value === null) continue;
      if (value.toString('latin1', 0, idBytes) !== id) continue;
      wanted += 1;
      yield await unpacked(value);
    }
    if (wanted < count) throw unavailable(new Error(`the snapshot of partition ${partition} has lost pieces`));
  }

  const snapshots: Snapshots = {
    write: async (partition, { foldVersion, applied, takenAt, pieces }) => {
      const known = await manifestsOf(partition);
      const before = known.find((manifest) => manifest.foldVersion === foldVersion);
      const id = randomUUID();
      const place: Place = before?.place === 'a' ? 'b' : 'a';
      let count = 0;
      let first = 0;
      for await (const piece of pieces) {
        const offset = await put(partition, pieceKey({ foldVersion, place }, count), await packed(id, piece));
        if (count === 0) first = offset;
        count += 1;
      }
      const manifest = {
        ...{ format, foldVersion, id, place, count, first, applied, takenAt },
        ...(before === undefined ? {} : { before: before.count }),
      };
      const all = [manifest, ...known.filter((each) => each !== before)];
      all.sort((one, other) => (other.foldVersion ?? -1) - (one.foldVersion ?? -1));
      // An older program among newer copies keeps its own, for it is the one that runs.
      const kept = all.slice(0, keptVersions);
      if (!kept.includes(manifest)) kept[keptVersions - 1] = manifest;
      await putManifests(partition, kept);
      for (const each of all) if (!kept.includes(each)) await remove(partition, each);
      // Removing wrote after them, and a reader looks at the last record first.
      if (kept.length < all.length) await putManifests(partition, kept);
    },
    readLatest: async (partition, foldVersion) => {
      const manifests = await manifestsOf(partition);
      const of = (wanted: number | undefined) => manifests.find((each) => each.foldVersion === wanted);
      const manifest = of(foldVersion) ?? of(undefined) ?? manifests[0];
      if (manifest === undefined) return null;
      const { applied, takenAt } = manifest;
      return { foldVersion: manifest.foldVersion ?? null, applied, takenAt, pieces: piecesOf(partition, manifest) };
    },
    discard,
    discardAll: async () => {
      for (const partition of (await reader.offsets(topic, 'next')).keys()) await discard(partition);
    },
  };
  return {
    snapshots,
    close: async () => {
      await producer.disconnect();
    },
  };
}
