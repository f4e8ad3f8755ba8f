/** Fills the log and takes snapshots for a rebuild, through the adapters and the desk's own fold. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KafkaLog } from '../src/adapters/kafka/log.ts';
import { createLedger } from '../src/bidding/ledger.ts';
import type { EventLog, NewEntry, Views } from '../src/bidding/ports.ts';
import { foldTo } from '../src/command-state.ts';
import type { Config } from '../src/config.ts';
import type { AuctionRecord } from '../src/domain/records.ts';
import { withoutCaps } from '../src/state/own-partitions.ts';
import { createOwnedViews } from '../src/state/owned-views.ts';
import { openStateStore } from '../src/state/state-store.ts';
import { rounded, type Say } from './figures.ts';
import { partitions } from './kafka-loops.ts';
import { type Lives, requestIdOf } from './lives.ts';

export type Filled = {
  /** Auctions that the root statistic has learnt from. */
  settled: number;
  /** Some of the requests, from the first to the last. */
  sample: string[];
  tailRecords: number;
  snapshotSeconds: number;
};

type FillPlan = {
  records: Pick<KafkaLog, 'log' | 'snapshots' | 'genesis' | 'partitionLog'>;
  config: Config;
  lives: Lives;
  requests: number;
  tail: number;
  say: Say;
};

const hourMs = 3_600_000;
/** The last auction ended so long ago. */
const quietMs = 120_000;
const pieceBytes = 262_144;
const appendRequests = 400;
const appendsAtOnce = 4;
const sampleSize = 2_000;

/** Auctions under the root segment, of all partitions. */
export async function settledIn(views: Views): Promise<number> {
  return Math.round((await views.statistics(['all'])).get('all')?.count ?? 0);
}

export async function fill({ records, requests, tail, say, config, lives }: FillPlan): Promise<Filled> {
  const { log } = records;
  const now = Date.now();
  const snapshotAt = now - quietMs - hourMs;
  const before = requests - tail;
  const receivedAt = (index: number): number =>
    index < before
      ? snapshotAt - Math.round(((before - index) / before) * 9 * hourMs)
      : snapshotAt + Math.round(((index - before) / tail) * (hourMs - 60_000));
  const recordsOf = (index: number) => lives.recordsOf(index, receivedAt(index));
  let startedAt = performance.now();
  const secondsSince = () => rounded((performance.now() - startedAt) / 1_000);
  const appended = await append(log, recordsOf, 0, before);
  say(`${appended} records of ${before} requests appended in ${secondsSince()} s`);
  startedAt = performance.now();
  await takeSnapshots(records, config, () => {
    say(`folded in ${secondsSince()} s`);
    startedAt = performance.now();
  });
  const snapshotSeconds = secondsSince();
  say(`snapshots of ${partitions} partitions taken in ${snapshotSeconds} s`);
  const tailRecords = await append(log, recordsOf, before, requests);
  say(`${tailRecords} records appended since`);
  const step = Math.max(1, Math.floor(requests / sampleSize));
  const sample = Array.from({ length: Math.floor(requests / step) }, (_, place) => requestIdOf(place * step));
  return { settled: requests, sample, tailRecords, snapshotSeconds };
}

export type RecordsOf = (index: number) => AuctionRecord[];

async function takeSnapshots(
  { log, snapshots, genesis, partitionLog }: FillPlan['records'],
  config: Config,
  onFolded: () => void,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-rebuild-'));
  const { id } = await genesis.begin();
  const caps = withoutCaps();
  const fail = (fault: Error): never => {
    throw fault;
  };
  const store = await openStateStore({
    ...{ directory, caps, snapshots: null, snapshotAheadRecords: 0, onFault: fail },
    ...{ onDiscarded: () => undefined, onRestoring: () => undefined },
  });
  const logOf = (partition: number) => partitionLog(partition, id);
  const owned = createOwnedViews({ store, partitions, logOf, caps });
  const ledger = createLedger(owned.views, config.bidding, log);
  for (const [partition, end] of await log.ends('auctions')) {
    await owned.take(partition);
    await foldTo({ log, topic: 'auctions', partition }, ledger, { from: 0, end });
  }
  onFolded();
  for (const [partition, state] of owned.held()) {
    await state.takeSnapshot(pieceBytes, (copy) => snapshots.write(partition, { ...copy, takenAt: Date.now() }));
  }
  await owned.close();
  await store.close();
  rmSync(directory, { recursive: true });
}

function entryOf(record: AuctionRecord): NewEntry {
  return { topic: 'auctions', key: record.requestId, record };
}

/** Requests side by side live through the same step together. Returns how many records. */
export async function append(log: EventLog, recordsOf: RecordsOf, from: number, to: number): Promise<number> {
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
