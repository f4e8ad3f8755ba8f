/**
 * What the service tells outside an auction: link details go to the margin cache, winner events to their request.
 * Progress is kept in the views; every step may be done twice.
 */
import type { Clock, Timer } from '../domain/clock.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { AuctionRecord, CallbackRecord } from '../domain/records.ts';
import type { Link, LinkDetail } from '../domain/request.ts';
import { Fault } from '../errors.ts';
import type { DeskObserver } from './observer.ts';
import type { Outbox } from './outbox.ts';
import { callbackPartition, type LogBatch, type MarginCache, type Views } from './ports.ts';
import { sleep } from './sleep.ts';

type WinnerEvent = Extract<CallbackRecord, { requestCode: string; kind: 'contemplated' | 'proposed' }>;
/** `requestCode`: of the query; null where the callback does not say. */
export type DetailTold = { detail: LinkDetail; requestCode: string | null };
/** `errors`: their codes; `no-links` where the worker has none. */
export type FailureTold = { requestCode: string; errors: readonly string[]; sealed: string };

type Orphan = { offset: number; event: WinnerEvent; partition: number };

export type Callbacks = {
  /** Details and lists are for whoever waits for them: every process hears all. */
  hear: (batch: LogBatch<CallbackRecord>) => Promise<void>;
  /** Winner events are given to their request by the owner of their partition. */
  handle: (batch: LogBatch<CallbackRecord>) => Promise<void>;
  /** Bids that became known; winner events that waited for one are given to their request. */
  bidsKnown: (bidIds: readonly string[]) => Promise<void>;
  /** A partition of callbacks is somebody else's, who reads on from where the views say. */
  lose: (partition: number) => void;
  close: () => void;
};

/** Another process may be the one that reads the record which names the bid: orphans are looked for again. */
const orphanPollMs = 2_000;

export function createCallbacks(options: {
  views: Views;
  margins: MarginCache;
  outbox: Outbox;
  clock: Clock;
  observer: DeskObserver;
  /** A winner event whose bid stays unknown for this long is given up with an alarm. */
  orphanTimeoutMs: number;
  retryMs: number;
  /** Nothing is given up on a time that is not believed. */
  timeDoubted: () => boolean;
  stopping: () => boolean;
  onDetails: (details: readonly DetailTold[]) => void;
  onLinks: (workerKey: string, links: readonly Link[]) => void;
  /** Something told under a code that may be that of a link query. */
  onFailure: (failure: FailureTold) => void;
}): Callbacks {
  const { views, margins, outbox, clock, observer } = options;
  /** Winner events that came before their bid was known, under each of their codes. */
  const orphans = new Map<string, Orphan[]>();
  /** Those that are being given to their request outside the order of the log. */
  const givenNow = new Set<Orphan>();
  const dealtWith = new Map<number, number>();
  const lost = new Set<number>();
  let timer: Timer | null = null;

  async function hear(batch: LogBatch<CallbackRecord>): Promise<void> {
    const details: DetailTold[] = [];
    for (const { record } of batch.entries) {
      if (record.kind === 'link-detail') details.push(record);
      else if (record.kind === 'link-list') options.onLinks(record.workerKey, record.links);
      else if (record.kind === 'operation-event' && record.errors.length > 0) options.onFailure(record);
    }
    if (details.length === 0) return;
    await margins.write(details.map(({ detail }) => detail));
    options.onDetails(details);
  }

  async function handle(batch: LogBatch<CallbackRecord>): Promise<void> {
    const { partition } = batch;
    lost.delete(partition);
    await freezeThoseOf(batch);
    const winners = batch.entries.flatMap(({ record, offset }): Orphan[] =>
      record.kind === 'contemplated' || record.kind === 'proposed' ? [{ offset, event: record, partition }] : [],
    );
    if (winners.length > 0 && !(await rekey(winners))) return;
    dealtWith.set(batch.partition, batch.next);
    await advance(batch.partition);
  }

  /**
   * A winner event that cannot be read stands under its bid, so its request is frozen: nobody knows how it ended. Of the others
   * the alarm is all; who waits for a link that is not told decides without it.
   */
  async function freezeThoseOf({ entries }: LogBatch<CallbackRecord>): Promise<void> {
    for (const { key, record } of entries) {
      if (record.kind !== 'unreadable') continue;
      const { problem } = record;
      const requestId = (await views.findByBid([key])).get(key) ?? null;
      observer({ kind: 'alarm', code: 'record-undecodable', requestId, text: problem });
      if (requestId === null) continue;
      await outbox.keep([
        { topic: 'auctions', key: requestId, record: { kind: 'frozen', requestId, at: clock.now(), problem } },
      ]);
    }
  }

  /** False: the desk stops, and they are not durable with their requests. */
  async function rekey(winners: readonly Orphan[]): Promise<boolean> {
    const found = await views.findByBid([...new Set(winners.flatMap(({ event }) => codesOf(event)))]);
    const records: AuctionRecord[] = [];
    for (const winner of winners) {
      const requestId = codesOf(winner.event)
        .map((code) => found.get(code))
        .find((each) => each !== undefined);
      if (requestId === undefined) adopt(winner);
      else records.push(keyed(winner.event, requestId));
    }
    if (records.length === 0) return true;
    const entries = records.map((record) => ({ topic: 'auctions', key: record.requestId, record }) as const);
    if (!(await outbox.keep(entries))) return false;
    observer({ kind: 'step', step: 'callback-rekeyed' });
    return true;
  }

  function adopt(winner: Orphan): void {
    const { event, partition, offset } = winner;
    if (lost.has(partition)) return;
    for (const code of codesOf(event)) {
      const others = orphans.get(code) ?? [];
      if (!others.some((other) => other.offset === offset && other.partition === partition)) others.push(winner);
      orphans.set(code, others);
    }
    timer ??= clock.after(orphanPollMs, lookAgain);
  }

  function lookAgain(): void {
    timer = null;
    void bidsKnown([...orphans.keys()]);
  }

  function lose(partition: number): void {
    lost.add(partition);
    dealtWith.delete(partition);
    drop((orphan) => orphan.partition === partition);
  }

  /** Forgets orphans under all of their codes, and says which they were. */
  function drop(isDropped: (orphan: Orphan) => boolean): ReadonlySet<Orphan> {
    const dropped = new Set<Orphan>();
    for (const [code, waiting] of orphans) {
      const kept = waiting.filter((orphan) => {
        if (isDropped(orphan)) dropped.add(orphan);
        return !dropped.has(orphan);
      });
      if (kept.length === waiting.length) continue;
      if (kept.length === 0) orphans.delete(code);
      else orphans.set(code, kept);
    }
    return dropped;
  }

  /** Never past an orphan, nor past one that is not durable with its request yet: after a restart it is read again. */
  async function advance(partition: number): Promise<void> {
    let next = dealtWith.get(partition) ?? 0;
    const isTooOld = ({ event }: Orphan) => !options.timeDoubted() && clock.now() - event.at >= options.orphanTimeoutMs;
    for (const _ of drop(isTooOld)) observer({ kind: 'alarm', code: 'winner-unknown', requestId: null });
    for (const waiting of orphans.values()) {
      for (const orphan of waiting) if (orphan.partition === partition) next = Math.min(next, orphan.offset);
    }
    for (const orphan of givenNow) if (orphan.partition === partition) next = Math.min(next, orphan.offset);
    const stream = callbackPartition(partition);
    const first = await views.applied(stream);
    if (next > first) await views.apply({ partition: stream, first, next, changes: [] });
  }

  async function bidsKnown(bidIds: readonly string[]): Promise<void> {
    const known = new Set(bidIds.flatMap((bidId) => orphans.get(bidId) ?? []));
    if (known.size === 0) return;
    const adopted = [...drop((orphan) => known.has(orphan))];
    for (const orphan of adopted) givenNow.add(orphan);
    // Outside the consumer nobody begins again by itself; after a restart they are read from the log once more.
    while (!options.stopping()) {
      try {
        if (!(await rekey(adopted))) return;
        for (const orphan of adopted) givenNow.delete(orphan);
        for (const partition of new Set(adopted.map((orphan) => orphan.partition))) await advance(partition);
        return;
      } catch (fault) {
        if (!(fault instanceof Fault) || !fault.retryable) throw fault;
        observer({ kind: 'fault', code: fault.code, message: fault.message });
        await sleep(clock, options.retryMs);
      }
    }
  }

  return { hear, handle, bidsKnown, lose, close: () => timer?.cancel() };
}

/** Codes of the bid that the event is about: that of the call, and the one in the content of the second event (contract, Winner confirmation events). */
function codesOf(event: WinnerEvent): readonly string[] {
  const { requestCode } = event;
  const told = event.kind === 'proposed' ? event.proposalCode : null;
  return told === null || told === requestCode ? [requestCode] : [requestCode, told];
}

function keyed(event: WinnerEvent, requestId: RequestId): AuctionRecord {
  return { ...event, requestId };
}

/** Codes under which the service may tell of a bid, that a record makes known; ours or not. */
export function bidsNamedIn(record: AuctionRecord): readonly string[] {
  if (record.kind === 'ended') return record.bids.map((bid) => bid.bidId);
  if (record.kind !== 'answered') return [];
  const { outcome, codes = [] } = record;
  return 'bidId' in outcome && outcome.bidId !== null ? [outcome.bidId, ...codes] : codes;
}
