/**
 * Copies of the views on the compacted topic `snapshots`. A partition's copy has two places that are written in turn, and a
 * manifest that is written last and says which one counts: a copy that broke off leaves the one before as it was, and
 * compaction throws away what was overwritten.
 */
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Kafka, Partitioners } from 'kafkajs';
import type { Snapshots } from '../../bidding/ports.ts';
import { unavailable } from './client.ts';
import type { PartitionReader, RawRecord } from './partitions.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';

const squeeze = promisify(gzip);
const unsqueeze = promisify(gunzip);

type Place = 'a' | 'b';
type Manifest = { id: string; place: Place; count: number; applied: number; takenAt: number };

const manifestKey = 'manifest';
const readWaitMs = 500;
const allReplicas = -1;

function pieceKey(place: Place, index: number): string {
  return `${place}/${String(index).padStart(6, '0')}`;
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

  async function put(partition: number, key: string, value: Buffer | null, id: string): Promise<void> {
    const messages = [{ partition, key, value, headers: { id } }];
    await producer.send({ topic, acks: allReplicas, messages }).catch((cause: unknown) => {
      throw unavailable(cause);
    });
  }

  /** The whole partition, or only its last record. */
  async function* scan(partition: number, part: 'whole' | 'last' = 'whole'): AsyncGenerator<RawRecord> {
    const [firsts, ends] = await Promise.all([reader.offsets(topic, 'first'), reader.offsets(topic, 'next')]);
    const end = ends.get(partition) ?? 0;
    const first = firsts.get(partition) ?? 0;
    for (let next = part === 'last' ? Math.max(first, end - 1) : first; next < end; ) {
      const fetched = await reader.fetch(topic, new Map([[partition, next]]), readWaitMs);
      const records = fetched.get(partition)?.records ?? [];
      if (records.length === 0) return;
      yield* records;
      next = records.at(-1)!.offset + 1;
    }
  }

  async function manifestOf(partition: number): Promise<Manifest | null> {
    // Nothing comes after it, unless the copy that was begun next broke off.
    return (await latestIn(scan(partition, 'last'))) ?? (await latestIn(scan(partition)));
  }

  async function latestIn(records: AsyncIterable<RawRecord>): Promise<Manifest | null> {
    let latest: Manifest | null = null;
    for await (const { key, value } of records) {
      if (key === manifestKey && value !== null) latest = JSON.parse(value.toString());
    }
    return latest;
  }

  /** Pieces of one copy, in order. Ends early where another writer has overwritten some: the reader then finds too few. */
  async function* piecesOf(partition: number, { id, place, count }: Manifest): AsyncGenerator<string> {
    let wanted = 0;
    for await (const { key, value } of scan(partition)) {
      if (wanted === count) return;
      if (key !== pieceKey(place, wanted) || value === null) continue;
      const piece: { id: string; text: string } = JSON.parse((await unsqueeze(value)).toString());
      if (piece.id !== id) continue;
      wanted += 1;
      yield piece.text;
    }
    if (wanted < count) throw unavailable(new Error(`the snapshot of partition ${partition} has lost pieces`));
  }

  const snapshots: Snapshots = {
    write: async (partition, { applied, takenAt, pieces }) => {
      const before = await manifestOf(partition);
      const id = randomUUID();
      const place: Place = before?.place === 'a' ? 'b' : 'a';
      let count = 0;
      for await (const text of pieces) {
        await put(partition, pieceKey(place, count), await squeeze(JSON.stringify({ id, text })), id);
        count += 1;
      }
      const manifest: Manifest = { id, place, count, applied, takenAt };
      await put(partition, manifestKey, Buffer.from(JSON.stringify(manifest)), id);
    },
    readLatest: async (partition) => {
      const manifest = await manifestOf(partition);
      if (manifest === null) return null;
      const { applied, takenAt } = manifest;
      return { applied, takenAt, pieces: piecesOf(partition, manifest) };
    },
  };
  return {
    snapshots,
    close: async () => {
      await producer.disconnect();
    },
  };
}
