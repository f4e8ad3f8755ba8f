/**
 * The state of the partitions that this process folds: the views of each in memory and in one file of its own, whatever keeps the log;
 * and the flows of each in a file of their own.
 * A file is a copy of what the log says. One that fits is gone on with; one of another log, of another fold or with damage is thrown
 * away, and the partition is restored from the latest snapshot or folded from the beginning. A log that lacks what a file was folded
 * from is refused: what was sent since would be sent again with other bytes.
 */
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import type { KeptOperation, Snapshots, ViewCopy, Views } from '../bidding/ports.ts';
import { Fault } from '../errors.ts';
import { createFlowReader, type FlowFlush, type FlowReader } from './flow-rows.ts';
import { createKeptOperations, type StoredOperations } from './kept-operations.ts';
import { piecesOf, readSnapshot } from './snapshot.ts';
import { isRefusedByDisk, lockDirectory, unusable } from './sqlite.ts';
import {
  createHalfLifeReader,
  type FoldedTopic,
  foldVersions,
  pathOf,
  type StateOrigin,
  storedOperations,
} from './state-file.ts';
import { type StateWriter, startStateWriter } from './state-writer.ts';
import { createViewReader, emptyFlush, type ViewFlush } from './view-rows.ts';
import { type Caps, createViews, type PartitionViews, type ViewLimits } from './views.ts';

/** The log that a partition's records stand in, as far as a file of its views has to fit it. */
export type PartitionLog = {
  /** Names the log: another one, or one whose loss was accepted, has another. */
  genesis: string;
  /** The first offset that is still kept, and the one that the next record will get. */
  extent: () => Promise<{ first: number; end: number }>;
  /** Tells the record at an offset from any other; null: there is none. */
  hashAt: (offset: number) => Promise<string | null>;
};

export type PartitionState = {
  /** How far the partition was when it was taken up. */
  origin: StateOrigin;
  /** Rejects with `disk-full` when the disk has taken nothing for as long as the memory lasts: then the partition is to be given up. */
  views: Views;
  flush: () => Promise<void>;
  learnt: PartitionViews['learnt'];
  learntKeys: PartitionViews['learntKeys'];
  /** What the owner of the partition tells the cap book. */
  caps: {
    /** What the book may not have, and reservations that await their verdict. */
    operations: () => StoredOperations;
    /** The book has all operations of records before `offset`. */
    acknowledge: (offset: number) => void;
    sums: PartitionViews['sums'];
  };
  /**
   * Hands a snapshot as of now to `write`, which folding does not wait for. Resolves to how far it goes when `write` has resolved; null
   * while another one is taken, and where the partition is closed meanwhile.
   */
  takeSnapshot: (pieceBytes: number, write: (copy: ViewCopy) => Promise<void>) => Promise<number | null>;
  /** Stores what can be stored. The partition may be opened again, here or by another process. */
  close: () => Promise<void>;
};

/** The flows of one partition. What is applied is in the file when `apply` has resolved. */
export type PartitionFlows = {
  reader: FlowReader;
  /** The caller has asked `reader.applied` where it begins, and applies one flush after the other. */
  apply: (flush: FlowFlush) => Promise<void>;
  close: () => Promise<void>;
};

export type StateStore = {
  /**
   * Takes the partition up from its file, or from its latest snapshot where that is far ahead. Waits where it is still being closed.
   * Rejects with `store-set-back` where the log lacks what they were folded from, with `data-directory-unusable` where there cannot be a
   * file, and with the faults of the log and of the snapshots.
   */
  open: (partition: number, log: PartitionLog) => Promise<PartitionState>;
  /** The same for a partition of `flows`, once. There are no snapshots of it: a file that does not fit is folded again from the log. */
  openFlows: (partition: number, log: PartitionLog) => Promise<PartitionFlows>;
  close: () => Promise<void>;
};

export type StateStoreOptions = {
  directory: string;
  caps: Caps;
  /** Null: there are none, and what is not in a file is folded. */
  snapshots: Pick<Snapshots, 'readLatest'> | null;
  /** A snapshot is put in the place of a file where it is at least this much ahead: folding a few records is cheaper. */
  snapshotAheadRecords: number;
  /** A file or a snapshot was not used, and why; its partition is folded again from what there is. */
  onDiscarded: (partition: number, reason: string, topic: FoldedTopic) => void;
  /** While a snapshot is put back: bytes of it so far. */
  onRestoring: (partition: number, bytes: number) => void;
  /** Records of the partition before `applied` were folded, and yielded these operations: told in the turn in which its sums have them. */
  onFolded?: (partition: number, applied: number, operations: readonly KeptOperation[]) => void;
  /** Nothing can be stored any more: the process is to end. */
  onFault: (fault: Fault) => void;
  limits?: Partial<ViewLimits>;
};

/** For each partition. */
const defaultLimits: ViewLimits = {
  rows: 8_192,
  statistics: 2_048,
  filterBits: 23,
  dirtyRows: 8_192,
  unstoredRows: 65_536,
  flushIntervalMs: 250,
};
const readerKibibytes = 8_000;

function setBack(topic: FoldedTopic, partition: number, what: string): Fault {
  const sent = topic === 'auctions' ? 'A bid' : 'An operation';
  return new Fault(
    'store-set-back',
    `The log lacks records that were dealt with: partition ${partition} of ${topic} was folded here, and ${what}. ${sent} that was sent since would be sent again with other bytes. Put the topic back; where that cannot be, accept what is there with: lance audit accept-restore --by NAME --reason TEXT.`,
  );
}

/**
 * Why views of this origin do not fit the log, and are of no use; null where they fit. Throws `store-set-back` where it is the log that
 * lacks something.
 */
async function misfitOf(
  origin: StateOrigin,
  topic: FoldedTopic,
  partition: number,
  log: PartitionLog,
): Promise<string | null> {
  const { applied, lastHash } = origin;
  if (origin.foldVersion !== foldVersions[topic]) return 'another version of the program folded it';
  if (origin.partition !== partition) return `it is of partition ${origin.partition}`;
  if (origin.genesis !== log.genesis) return 'it is of another log';
  if (applied === 0) return null;
  const { first, end } = await log.extent();
  if (end < applied) throw setBack(topic, partition, `up to ${applied}, and the log ends at ${end}`);
  if (first > applied) return `it ends at ${applied}, and the log begins at ${first}`;
  const found = await log.hashAt(applied - 1);
  if (lastHash === null || found === null) return `the record at ${applied - 1} cannot be compared`;
  if (found !== lastHash) throw setBack(topic, partition, `the log has another record at ${applied - 1}`);
  return null;
}

type Places = NonNullable<StateOrigin['places']>;

/** Those that hold for this partition of the log. */
function placesIn(origin: StateOrigin, partition: number, { genesis }: PartitionLog): Places {
  return origin.genesis === genesis && origin.partition === partition ? (origin.places ?? []) : [];
}

/** Those that are further than the file is. */
function later({ places = [] }: StateOrigin, others: Places): Places {
  const known = new Map(places);
  return others.filter(([partition, next]) => next > (known.get(partition) ?? 0));
}

/**
 * Makes the directory and takes it for this process. Rejects with `data-directory-in-use` while another one holds it, and with
 * `data-directory-unusable` when it cannot be made or written.
 */
export async function openStateStore(options: StateStoreOptions): Promise<StateStore> {
  const { directory, onFault } = options;
  const lock = lockDirectory(directory, []);
  const writer = startStateWriter(onFault);
  /** Each settles when the partition is closed. */
  const held = new Map<number, { state: PartitionState; closed: Promise<void> }>();
  const flowsHeld: PartitionFlows[] = [];

  async function open(partition: number, log: PartitionLog): Promise<PartitionState> {
    await held.get(partition)?.closed;
    const own = await ownFile('auctions', partition, log);
    const origin = (await restored(partition, log, own)) ?? own;
    const closing = Promise.withResolvers<void>();
    const state = await openState({ ...options, partition, log, origin, writer, onClosed: closing.resolve });
    held.set(partition, { state, closed: closing.promise });
    return state;
  }

  async function openFlows(partition: number, log: PartitionLog): Promise<PartitionFlows> {
    await ownFile('flows', partition, log);
    const path = pathOf(directory, 'flows', partition);
    const database = new DatabaseSync(path, { readOnly: true });
    database.exec(`PRAGMA cache_size = -${readerKibibytes}`);
    let closing: Promise<unknown> | null = null;
    const close = async () => {
      database.close();
      await writer.run({ kind: 'close', path });
    };
    const state: PartitionFlows = {
      reader: createFlowReader(database),
      apply: async (flush) => {
        const isOwn = flush.partition === partition && flush.next > 0;
        const lastHash = isOwn ? await log.hashAt(flush.next - 1) : undefined;
        try {
          await writer.run({ kind: 'flush', path, flush, lastHash });
        } catch (cause) {
          throw isRefusedByDisk(cause) ? diskFull(directory, cause) : cause;
        }
      },
      close: async () => {
        closing ??= close();
        await closing;
      },
    };
    flowsHeld.push(state);
    return state;
  }

  async function ownFile(topic: FoldedTopic, partition: number, log: PartitionLog): Promise<StateOrigin> {
    const path = pathOf(directory, topic, partition);
    const place = { kind: 'open', path, topic, genesis: log.genesis, partition } as const;
    try {
      const { origin, unusable } = await writer.run({ ...place, from: 'own' });
      if (unusable !== null) options.onDiscarded(partition, unusable, topic);
      const misfit = await misfitOf(origin, topic, partition, log);
      if (misfit === null) return origin;
      options.onDiscarded(partition, misfit, topic);
      const empty = (await writer.run({ ...place, from: 'nothing' })).origin;
      return topic === 'auctions' ? await withPlaces(empty, placesIn(origin, partition, log), path) : empty;
    } catch (cause) {
      throw cause instanceof Fault ? cause : unusable(directory, cause);
    }
  }

  /** What of `callbacks` was dealt with stays dealt with, whichever fold comes next: its records are in the log. */
  async function withPlaces(empty: StateOrigin, places: Places, path: string): Promise<StateOrigin> {
    if (places.length === 0) return empty;
    await writer.run({ kind: 'flush', path, flush: emptyFlush(places), lastHash: undefined });
    return { ...empty, places };
  }

  /** Null where the file is as good as the latest snapshot, or there is none that fits. */
  async function restored(partition: number, log: PartitionLog, own: StateOrigin): Promise<StateOrigin | null> {
    const latest = (await options.snapshots?.readLatest(partition, foldVersions.auctions)) ?? null;
    if (latest === null) return null;
    const snapshot = await readSnapshot(latest.pieces);
    if (snapshot === null) return null;
    const path = pathOf(directory, 'auctions', partition);
    const least = own.applied === 0 ? 1 : own.applied + options.snapshotAheadRecords;
    if (latest.applied < least) {
      await snapshot.leave();
      return null;
    }
    const misfit = await misfitOf(snapshot.origin, 'auctions', partition, log);
    if (misfit !== null) {
      options.onDiscarded(partition, `the latest snapshot: ${misfit}`, 'auctions');
      await snapshot.leave();
      return own.applied === 0
        ? await withPlaces(own, later(own, placesIn(snapshot.origin, partition, log)), path)
        : null;
    }
    const arrived = `${path}.restoring`;
    let bytes = 0;
    await snapshot.writeTo(arrived, (more) => {
      bytes += more;
      options.onRestoring(partition, bytes);
    });
    const place = { kind: 'open', path, topic: 'auctions', genesis: log.genesis, partition } as const;
    const { origin, unusable } = await writer.run({ ...place, from: { path: arrived } });
    if (unusable !== null) options.onDiscarded(partition, `the latest snapshot: ${unusable}`, 'auctions');
    return origin;
  }

  return {
    open,
    openFlows,
    close: async () => {
      await Promise.all([...[...held.values()].map(({ state }) => state), ...flowsHeld].map((state) => state.close()));
      await writer.close();
      lock.release();
    },
  };
}

type OpenOptions = StateStoreOptions & {
  partition: number;
  log: PartitionLog;
  origin: StateOrigin;
  writer: StateWriter;
  onClosed: () => void;
};

async function openState({ partition, log, writer, ...options }: OpenOptions): Promise<PartitionState> {
  const path = pathOf(options.directory, 'auctions', partition);
  const limits = { ...defaultLimits, ...options.limits };
  // Closing any descriptor of a file gives up the locks that SQLite holds on it in this process: this one stays to the end.
  const bytes: FileHandle = await openFile(path, 'r');
  const database = new DatabaseSync(path, { readOnly: true });
  database.exec(`PRAGMA cache_size = -${readerKibibytes}`);

  async function store(flush: ViewFlush): Promise<number> {
    const next = new Map(flush.applied).get(partition);
    const lastHash = next === undefined ? undefined : next === 0 ? null : await log.hashAt(next - 1);
    try {
      return await writer.run({ kind: 'flush', path, flush, lastHash });
    } catch (cause) {
      throw isRefusedByDisk(cause) ? diskFull(options.directory, cause) : cause;
    }
  }

  const operations = createKeptOperations(storedOperations(database));
  const { views, flush, sums, learnt, learntKeys, close } = createViews({
    ...{ partition, store, operations, limits },
    reader: { ...createViewReader(database), halfLives: createHalfLifeReader(database) },
    caps: options.caps,
    onFolded: (applied, yielded) => options.onFolded?.(partition, applied, yielded),
  });
  let closing: Promise<void> | null = null;
  let copying = false;

  async function takeSnapshot(pieceBytes: number, write: (copy: ViewCopy) => Promise<void>): Promise<number | null> {
    if (copying) return null;
    copying = true;
    try {
      await flush();
      const pinned = await writer.run({ kind: 'pin', path });
      const held = { origin: pinned, pieceBytes, isHeld: () => closing === null };
      await write({ foldVersion: pinned.foldVersion, applied: pinned.applied, pieces: piecesOf(bytes, held) });
      return pinned.applied;
    } catch (cause) {
      // Others go on with the partition, and take its snapshots.
      if (closing !== null) return null;
      if (cause instanceof Fault) throw cause;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Fault('views-unavailable', `No snapshot of partition ${partition} was taken: ${why}.`, cause);
    } finally {
      copying = false;
      if (closing === null) await writer.run({ kind: 'unpin', path });
    }
  }

  async function closeAll(): Promise<void> {
    try {
      await close();
      database.close();
      await writer.run({ kind: 'close', path }).catch(() => undefined);
      await bytes.close();
    } finally {
      options.onClosed();
    }
  }

  return {
    origin: options.origin,
    views,
    flush,
    learnt,
    learntKeys,
    caps: { operations: operations.current, acknowledge: operations.acknowledge, sums },
    takeSnapshot,
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}

function diskFull(directory: string, cause: unknown): Fault {
  return new Fault(
    'disk-full',
    `The disk of ${directory} is full or does not write, so the views cannot be stored. Free some space.`,
    cause,
  );
}
