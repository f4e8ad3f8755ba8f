/** Fills log, views and snapshots for a rebuild, through the adapters and the desk's own fold. */
import { Partitioners } from 'kafkajs';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { createLedger, type Ledger } from '../src/bidding/ledger.ts';
import type { EventLog, LogEntry, NewEntry, Snapshots, ViewCopies, Views } from '../src/bidding/ports.ts';
import { createSnapshotKeeper } from '../src/bidding/snapshots.ts';
import type { Config } from '../src/config.ts';
import type { AuctionRecord } from '../src/domain/records.ts';
import { snapshotSettings } from '../src/engine.ts';
import { rounded, type Say } from './figures.ts';
import { partitions } from './kafka-loops.ts';
import { type Lives, requestIdOf } from './lives.ts';

export type OpenStore = {
  log: EventLog;
  views: Views;
  copies: ViewCopies;
  snapshots: Snapshots;
  close: () => Promise<void>;
};

export type Filled = {
  /** Auctions that the root statistic has learnt from. */
  settled: number;
  /** Some of the requests, from the first to the last. */
  sample: string[];
  tailRecords: number;
  snapshotSeconds: number;
};

type FillPlan = { store: OpenStore; config: Config; lives: Lives; requests: number; tail: number; say: Say };

const hourMs = 3_600_000;
/** The last auction ended so long ago. */
const quietMs = 120_000;
/** Requests folded, or appended, at once. */
const foldRequests = 500;
const foldsAtOnce = 3;
const snapshotsAtOnce = 4;
const appendRequests = 400;
const appendsAtOnce = 4;
const sampleSize = 2_000;

/** As the log itself places them. */
function createPlacing(): (requestId: string) => number {
  const partitioner = Partitioners.DefaultPartitioner();
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({ partitionId })) as never;
  return (requestId) => partitioner({ topic: '', partitionMetadata, message: { key: requestId, value: null } });
}

/** Auctions under the root segment, of all partitions. */
export async function settledIn(views: Views): Promise<number> {
  return Math.round((await views.statistics(['all'])).get('all')?.count ?? 0);
}

export async function fill(plan: FillPlan): Promise<Filled> {
  const { store, requests, tail, say, config } = plan;
  const now = Date.now();
  const snapshotAt = now - quietMs - hourMs;
  const before = requests - tail;
  const receivedAt = (index: number): number =>
    index < before
      ? snapshotAt - Math.round(((before - index) / before) * 9 * hourMs)
      : snapshotAt + Math.round(((index - before) / tail) * (hourMs - 60_000));
  const recordsOf = (index: number) => plan.lives.recordsOf(index, receivedAt(index));
  const ledger = createLedger(store.views, config.bidding, store.log);
  const startedAt = performance.now();
  await foldAll(ledger, store.log, recordsOf, before, say);
  say(`views of ${before} requests folded in ${rounded((performance.now() - startedAt) / 1_000)} s`);
  const snapshotSeconds = await takeSnapshots(store);
  say(`snapshots of ${partitions} partitions taken in ${snapshotSeconds} s`);
  const tailRecords = await appendTail(store.log, recordsOf, before, requests);
  say(`${tailRecords} records appended since`);
  const step = Math.max(1, Math.floor(requests / sampleSize));
  const sample = Array.from({ length: Math.floor(requests / step) }, (_, place) => requestIdOf(place * step));
  return { settled: requests, sample, tailRecords, snapshotSeconds };
}

type RecordsOf = (index: number) => AuctionRecord[];

/** The first request of each partition is in the log, so that the snapshot stands at an offset; the others are folded onto that. */
async function foldAll(ledger: Ledger, log: EventLog, recordsOf: RecordsOf, count: number, say: Say): Promise<void> {
  const place = createPlacing();
  const offsets = new Map<number, number>();
  const waiting = new Map<number, AuctionRecord[][]>();
  const folding = new Map<number, Promise<unknown>>();
  const flush = async (partition: number): Promise<void> => {
    const lives = waiting.get(partition) ?? [];
    waiting.set(partition, []);
    const offset = offsets.get(partition)!;
    const entries = lives.flat().map((record) => ({ partition, offset, key: record.requestId, record }));
    await folding.get(partition);
    folding.delete(partition);
    folding.set(partition, ledger.fold({ partition, first: offset, next: offset, entries }));
    if (folding.size < foldsAtOnce) return;
    const [oldest, fold] = [...folding][0]!;
    await fold;
    folding.delete(oldest);
  };
  for (let index = 0; index < count; index += 1) {
    const records = recordsOf(index);
    const partition = place(requestIdOf(index));
    if (!offsets.has(partition)) {
      await log.append(records.map(entryOf));
      const entries = records.map(
        (record, offset): LogEntry<AuctionRecord> => ({ partition, offset, key: record.requestId, record }),
      );
      await ledger.fold({ partition, first: 0, next: entries.length, entries });
      offsets.set(partition, entries.length);
      continue;
    }
    const own = waiting.get(partition) ?? [];
    own.push(records);
    waiting.set(partition, own);
    if (own.length >= foldRequests) await flush(partition);
    if (index > 0 && index % 100_000 === 0) say(`${index} requests folded`);
  }
  for (const partition of offsets.keys()) await flush(partition);
  await Promise.all(folding.values());
}

function entryOf(record: AuctionRecord): NewEntry {
  return { topic: 'auctions', key: record.requestId, record };
}

async function takeSnapshots(store: OpenStore): Promise<number> {
  const startedAt = performance.now();
  const keeper = createSnapshotKeeper({
    ...store,
    clock: createSystemClock(),
    settings: snapshotSettings,
    partitions: () => [],
    onProgress: () => undefined,
    onFault: (fault) => {
      throw fault;
    },
  });
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let partition = next++; partition < partitions; partition = next++) await keeper.take(partition);
  };
  await Promise.all(Array.from({ length: snapshotsAtOnce }, lane));
  return rounded((performance.now() - startedAt) / 1_000);
}

/** Requests side by side live through the same step together. Returns how many records. */
async function appendTail(log: EventLog, recordsOf: RecordsOf, from: number, to: number): Promise<number> {
  let appended = 0;
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < to) {
      const first = next;
      next = Math.min(to, first + appendRequests);
      const lives = Array.from({ length: next - first }, (_, place) => recordsOf(first + place));
      const steps = Math.max(...lives.map(({ length }) => length));
      const inOrder = Array.from({ length: steps }, (_, step) => lives.flatMap((life) => life[step] ?? [])).flat();
      await log.append(inOrder.map(entryOf));
      appended += inOrder.length;
    }
  };
  await Promise.all(Array.from({ length: appendsAtOnce }, lane));
  return appended;
}
