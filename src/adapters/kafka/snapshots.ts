/**
 * Copies of the views on the compacted topic `snapshots`. A partition's copy has two places that are written in turn, and a
 * manifest that is written last and says which one counts: a copy that broke off leaves the one before as it was, and
 * compaction throws away what was overwritten.
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
/** Of a manifest that says that there is no copy: compaction may leave an older one beside a record without a value. */
const noFormat = 0;

type Place = 'a' | 'b';
type Manifest = {
  format: number;
  id: string;
  place: Place;
  count: number;
  /** Offset of the first piece: what stands before it is of other copies. */
  first: number;
  applied: number;
  takenAt: number;
};

const manifestKey = 'manifest';
/** A piece is the id of its copy, how long it is once it is unsqueezed or 0 where it stands as it is, and its bytes. */
const idBytes = 36;
const lengthBytes = 4;
/** Squeezing has to save this much: what holds squeezed parts already is put back the faster. */
const worthwhileShare = 0.6;
/** zlib's own least. */
const leastOutputBytes = 64;
const allReplicas = -1;

function pieceKey(place: Place, index: number): string {
  return `${place}/${String(index).padStart(6, '0')}`;
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

  /** Returns the offset. */
  async function put(partition: number, key: string, value: Buffer): Promise<number> {
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

  async function manifestOf(partition: number): Promise<Manifest | null> {
    // Nothing comes after it, unless the copy that was begun next broke off.
    return (await latestIn(scan(partition, 'last'))) ?? (await latestIn(scan(partition, 0)));
  }

  async function latestIn(records: AsyncIterable<RawRecord>): Promise<Manifest | null> {
    let latest: Manifest | null = null;
    for await (const { key, value } of records) {
      if (key !== manifestKey || value === null) continue;
      const manifest: Manifest = JSON.parse(value.toString());
      latest = manifest.format === format ? manifest : null;
    }
    return latest;
  }

  /** Pieces of one copy, in order. Ends early where another writer has overwritten some: the reader then finds too few. */
  async function* piecesOf(partition: number, { id, place, count, first }: Manifest): AsyncGenerator<Buffer> {
    let wanted = 0;
    for await (const { key, value } of scan(partition, first)) {
      if (wanted === count) return;
      if (key !== pieceKey(place, wanted) || value === null) continue;
      if (value.toString('latin1', 0, idBytes) !== id) continue;
      wanted += 1;
      yield await unpacked(value);
    }
    if (wanted < count) throw unavailable(new Error(`the snapshot of partition ${partition} has lost pieces`));
  }

  const snapshots: Snapshots = {
    write: async (partition, { applied, takenAt, pieces }) => {
      const before = await manifestOf(partition);
      const id = randomUUID();
      const place: Place = before?.place === 'a' ? 'b' : 'a';
      let count = 0;
      let first = 0;
      for await (const piece of pieces) {
        const offset = await put(partition, pieceKey(place, count), await packed(id, piece));
        if (count === 0) first = offset;
        count += 1;
      }
      const manifest: Manifest = { format, id, place, count, first, applied, takenAt };
      await put(partition, manifestKey, Buffer.from(JSON.stringify(manifest)));
    },
    readLatest: async (partition) => {
      const manifest = await manifestOf(partition);
      if (manifest === null) return null;
      const { applied, takenAt } = manifest;
      return { applied, takenAt, pieces: piecesOf(partition, manifest) };
    },
    discardAll: async () => {
      for (const partition of (await reader.offsets(topic, 'next')).keys()) {
        if ((await manifestOf(partition)) === null) continue;
        await put(partition, manifestKey, Buffer.from(JSON.stringify({ format: noFormat })));
      }
    },
  };
  return {
    snapshots,
    close: async () => {
      await producer.disconnect();
    },
  };
}
