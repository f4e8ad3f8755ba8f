/**
 * What the service tells outside an auction: link details go to the margin cache, winner events to their request.
 * Progress is kept in the views; every step may be done twice.
 */

import { isPromised } from '../domain/cap-book.ts';
import type { Clock, Timer } from '../domain/clock.ts';
import { mergedHolders, mostHolders } from '../domain/code-holders.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Answered, AuctionRecord, CallbackRecord, Contemplated, Proposed } from '../domain/records.ts';
import { type DetailOfLink, detailsByKey, type Link } from '../domain/request.ts';
import { Fault } from '../errors.ts';
import type { DeskObserver } from './observer.ts';
import {
  codesNamedBy,
  codesOf,
  createOrphans,
  type Orphan,
  orphanLimits,
  shownCode,
  type WinnerEvent,
} from './orphans.ts';
import type { Outbox } from './outbox.ts';
import { callbackPartition, type LedgerRow, type LogBatch, type MarginCache, type Views } from './ports.ts';
import { sleep } from './sleep.ts';

/** `requestCode`: of the query; null where the callback does not say. `sealed`: the body of the callback. */
export type DetailTold = DetailOfLink & { requestCode: string | null; sealed: string };
/** `errors`: their codes; `no-links` where the worker has none. `unread`: the answer came, and nothing of it can be read. */
export type FailureTold = { requestCode: string; errors: readonly string[]; unread?: true; sealed: string };

export type Callbacks = {
  /** Details and lists are for whoever waits for them: every process hears all. */
  hear: (batch: LogBatch<CallbackRecord>) => Promise<void>;
  /** Winner events are given to their request by the owner of their partition, or, where every process hears all, by that of the request. */
  handle: (batch: LogBatch<CallbackRecord>) => Promise<void>;
  /** Bids that became known; winner events that waited for one are given to their request. */
  bidsKnown: (bidIds: readonly string[]) => Promise<void>;
  /** Answers that were folded: says so where a bid has been given the code of another one. */
  acknowledged: (answers: readonly Answered[]) => Promise<void>;
  /** A partition of callbacks is somebody else's, who reads on from where the views say. */
  lose: (partition: number) => void;
  close: () => void;
};

/** Another process may be the one that reads the record which names the bid: orphans are looked for again. */
const orphanPollMs = 2_000;
/** The answer that names a bid may come after its winner event, by less than this: then somebody is told. */
const unknownAlarmMs = 60_000;
/** Codes that are looked for in one poll: a few milliseconds of work. */
const polledCodes = 1_000;
/** Winner events that come within this time are asked about together. */
const askSoonMs = 100;
/** Longer than partitions take to change hands. Who cannot be asked by then may share a code with a bid of this process: that is left. */
const askPatienceMs = 60_000;
/** How often bids of other processes are asked for the codes of answers, and how many answers wait for that at most. */
const compareEveryMs = 1_000;
const mostCompared = 10_000;

/** `holders`: the requests that it may be of. `own`: those of them that are written to here; the others are for the processes that own them. */
type Found = { holders: readonly RequestId[]; own: readonly RequestId[] };

export function createCallbacks(options: {
  views: Views;
  /**
   * Requests of all partitions, asked at the processes that own them. Both reject with `owner-unasked`. Null or left out: `views` are of all
   * partitions, or nobody can be asked.
   */
  askedBids?: Pick<Views, 'findByBid' | 'read'> | null;
  margins: MarginCache;
  outbox: Outbox;
  clock: Clock;
  observer: DeskObserver;
  /** A winner event whose bid stays unknown for this long is given up with an alarm. */
  orphanTimeoutMs: number;
  retryMs: number;
  /** Nothing is given up on a time that is not believed. */
  timeDoubted: () => boolean;
  /** Part of the log is not folded yet: a bid that is not found may stand there. */
  isCatchingUp: () => boolean;
  stopping: () => boolean;
  onDetails: (details: readonly DetailTold[]) => void;
  onLinks: (workerKey: string, links: readonly Link[]) => void;
  /** Something told under a code that may be that of a link query. */
  onFailure: (failure: FailureTold) => void;
}): Callbacks {
  const { views, askedBids = null, margins, outbox, clock, observer } = options;
  /** Winner events that came before their bid was known. */
  const orphans = createOrphans(orphanLimits);
  /** Those that are being given to their request outside the order of the log. */
  const givenNow = new Set<Orphan>();
  /** Those of which somebody was told that nobody knows their bid. */
  const told = new WeakSet<Orphan>();
  /** Those whose bid was looked for in all that is folded: it is not here, or it was given to its request. */
  const lookedFor = new WeakSet<Orphan>();
  /** Since when, on the monotonic clock, those who may have the bid could not all be asked. */
  const unaskedSince = new WeakMap<Orphan, number>();
  const dealtWith = new Map<number, number>();
  const lost = new Set<number>();
  let timer: Timer | null = null;
  let dueMs = 0;
  let isLooking = false;
  /** Answers whose codes other processes are to be asked for. */
  let toCompare: Answered[] = [];
  let compareTimer: Timer | null = null;
  let isComparing = false;

  function isElsewhere(): boolean {
    return (views.missing?.() ?? []).length > 0;
  }

  function asksOthers(): boolean {
    return askedBids !== null && isElsewhere();
  }

  /** Every process hears of it: one of them tells people. */
  function tells(partition: number): boolean {
    const missing = views.missing?.() ?? [];
    return missing.length === 0 || (askedBids !== null && !missing.includes(partition));
  }

  async function hear(batch: LogBatch<CallbackRecord>): Promise<void> {
    const details: DetailTold[] = [];
    for (const { record } of batch.entries) {
      if (record.kind === 'link-detail') details.push(record);
      else if (record.kind === 'link-list') options.onLinks(record.workerKey, record.links);
      else if (record.kind === 'operation-event' && (record.errors.length > 0 || record.unread))
        options.onFailure(record);
    }
    if (details.length === 0) return;
    await margins.write(details.flatMap(detailsByKey));
    options.onDetails(details);
  }

  async function handle(batch: LogBatch<CallbackRecord>): Promise<void> {
    const { partition } = batch;
    lost.delete(partition);
    await freezeThoseOf(batch);
    const winners = batch.entries.flatMap(({ record, offset }): Orphan[] =>
      record.kind === 'contemplated' || record.kind === 'proposed' ? [{ offset, event: record, partition }] : [],
    );
    // Nothing here waits for another process.
    if (asksOthers()) for (const winner of winners) adopt(winner, askSoonMs);
    else if (winners.length > 0) {
      const isFolded = !options.isCatchingUp();
      const { found } = await holdersOf(winners);
      if (!(await keepWithRequests(winners, found))) return;
      for (const winner of winners) {
        if (isFolded) lookedFor.add(winner);
        if (!found.has(winner)) adopt(winner, orphanPollMs);
      }
    }
    dealtWith.set(batch.partition, batch.next);
    await advance(batch.partition);
  }

  /**
   * A winner event that cannot be read stands under its bid, so its request is frozen: nobody knows how it ended. Of the others
   * the alarm is all; who waits for a link that is not told decides without it.
   */
  async function freezeThoseOf({ partition, entries }: LogBatch<CallbackRecord>): Promise<void> {
    for (const { key, record } of entries) {
      if (record.kind !== 'unreadable') continue;
      const { problem } = record;
      const holders = (await views.findByBid([key])).get(key) ?? [];
      if (holders.length === 0 && !tells(partition)) continue;
      observer({ kind: 'alarm', code: 'record-undecodable', requestId: holders[0] ?? null, text: problem });
      if (holders.length === 0) continue;
      const at = clock.now();
      await outbox.keep(
        holders.map((requestId) => {
          return { topic: 'auctions', key: requestId, record: { kind: 'frozen', requestId, at, problem } };
        }),
      );
    }
  }

  /**
   * Of those whose bid is known: its request; several where the service gave their bids one code. Not `isSure`: others may have such a bid
   * too, and could not be asked.
   */
  async function holdersOf(
    winners: readonly Orphan[],
  ): Promise<{ found: ReadonlyMap<Orphan, Found>; isSure: boolean }> {
    const codes = [...new Set(winners.flatMap(({ event }) => codesOf(event)))];
    const here = await views.findByBid(codes);
    const isHere = new Set([...here.values()].flat());
    let all = here;
    let read = views.read;
    let isSure = true;
    if (asksOthers()) {
      const others = await fromOthers((asked) => asked.findByBid(codes));
      isSure = others !== null;
      all = mergedHolders([...here, ...(others ?? [])]);
      read = (ids) => (isSure ? askedBids! : views).read(ids);
    }
    const named = new Map<Orphan, readonly RequestId[]>();
    for (const winner of winners) {
      const holders = namedBy(winner.event, all);
      if (holders.length > 0) named.set(winner, holders);
    }
    const shared = [...named.values()].flatMap((holders) => (holders.length > 1 ? holders : []));
    if (shared.length > 0) {
      const rows = await read([...new Set(shared)]).catch(unlessUnasked);
      if (rows === null) isSure = false;
      else for (const [winner, holders] of named) if (holders.length > 1) named.set(winner, claimants(holders, rows));
    }
    const found = [...named].map(([winner, holders]) => {
      return [winner, { holders, own: holders.filter((each) => isHere.has(each)) }] as const;
    });
    return { found: new Map(found), isSure };
  }

  function fromOthers<R>(ask: (asked: NonNullable<typeof askedBids>) => Promise<R>): Promise<R | null> {
    return ask(askedBids!).catch(unlessUnasked);
  }

  function unlessUnasked(fault: unknown): null {
    if (!(fault instanceof Fault) || fault.code !== 'owner-unasked') throw fault;
    observer({ kind: 'fault', code: fault.code, message: fault.message });
    return null;
  }

  /** False: the desk stops, and they are not durable with their requests. */
  async function keepWithRequests(winners: readonly Orphan[], requests: ReadonlyMap<Orphan, Found>): Promise<boolean> {
    const records = winners.flatMap((winner) => {
      const found = requests.get(winner);
      return found === undefined ? [] : keyed(winner.event, found);
    });
    if (records.length === 0) return true;
    const entries = records.map((record) => ({ topic: 'auctions', key: record.requestId, record }) as const);
    if (!(await outbox.keep(entries))) return false;
    observer({ kind: 'step', step: 'callback-rekeyed' });
    return true;
  }

  function adopt(winner: Orphan, withinMs: number): void {
    if (lost.has(winner.partition)) return;
    giveUp(orphans.add(winner));
    lookWithin(withinMs);
  }

  function lookWithin(ms: number): void {
    const nextMs = clock.monotonicMs() + ms;
    if (timer !== null && dueMs <= nextMs) return;
    timer?.cancel();
    dueMs = nextMs;
    timer = clock.after(ms, lookAgain);
  }

  function giveUp(given: readonly Orphan[]): void {
    for (const { partition } of given) {
      if (tells(partition)) observer({ kind: 'alarm', code: 'winner-unknown', requestId: null });
    }
  }

  function lookAgain(): void {
    timer = null;
    const codes = isLooking ? [] : orphans.nextCodes(polledCodes);
    if (!isLooking && codes.length === 0) return;
    lookWithin(orphanPollMs);
    if (isLooking) return;
    isLooking = true;
    void bidsKnown(codes).then(() => {
      isLooking = false;
      tellUnknown(codes);
    });
  }

  /** Long before they are given up: a worker may wait for the contract. */
  function tellUnknown(codes: readonly string[]): void {
    if (options.stopping() || options.timeDoubted() || options.isCatchingUp()) return;
    for (const orphan of orphans.under(codes)) {
      const { kind, at, requestCode } = orphan.event;
      if (told.has(orphan) || unaskedSince.has(orphan) || !tells(orphan.partition)) continue;
      if (clock.now() - at < unknownAlarmMs) continue;
      told.add(orphan);
      const text = `${kind}: the service tells of a winner under the code ${shownCode(requestCode)}, which no bid of the desk has; ask it for the request, then lance bids resolve ID --as contemplated`;
      observer({ kind: 'alarm', code: 'winner-unknown', requestId: null, text });
    }
  }

  function lose(partition: number): void {
    lost.add(partition);
    dealtWith.delete(partition);
    orphans.lose(partition);
  }

  /** Never past an orphan, nor past one that is not durable with its request yet: after a restart it is read again. */
  async function advance(partition: number): Promise<void> {
    const isTooOld = (orphan: Orphan) =>
      lookedFor.has(orphan) && !options.timeDoubted() && clock.now() - orphan.event.at >= options.orphanTimeoutMs;
    giveUp(orphans.takeOld(partition, isTooOld));
    const next = Math.min(dealtWith.get(partition) ?? 0, orphans.first(partition) ?? Number.POSITIVE_INFINITY);
    const stream = callbackPartition(partition);
    const first = await views.applied(stream);
    if (next > first) await views.apply({ partition: stream, first, next, changes: [] });
  }

  async function bidsKnown(bidIds: readonly string[]): Promise<void> {
    const waiting = orphans.under(bidIds);
    if (waiting.length === 0) return;
    // Outside the consumer nobody begins again by itself; after a restart they are read from the log once more.
    await persist(async () => {
      if (!(await give(waiting))) return;
      for (const partition of new Set(waiting.map((orphan) => orphan.partition))) await advance(partition);
    });
  }

  async function acknowledged(answers: readonly Answered[]): Promise<void> {
    if (!asksOthers()) return persist(() => tellShared(answers, views));
    // One question for many bids: each process asks each other one.
    toCompare = [...toCompare, ...answers].slice(-mostCompared);
    compareLater();
  }

  function compareLater(): void {
    if (isComparing || toCompare.length === 0 || options.stopping()) return;
    compareTimer ??= clock.after(compareEveryMs, () => {
      compareTimer = null;
      isComparing = true;
      void persist(compare).then(() => {
        isComparing = false;
        compareLater();
      });
    });
  }

  async function compare(): Promise<void> {
    const answers = toCompare;
    toCompare = [];
    try {
      await tellShared(answers, asksOthers() ? askedBids! : views);
    } catch (fault) {
      toCompare = [...answers, ...toCompare].slice(-mostCompared);
      throw fault;
    }
  }

  async function tellShared(answers: readonly Answered[], all: Pick<Views, 'findByBid' | 'read'>): Promise<void> {
    for (const { requestId, others } of await sharing(answers, all)) {
      const text = `the service gave this bid a code that it gave to ${others.length === 1 ? 'another bid' : `${others.length} other bids`} as well (sharedWith): an event under it is of none of them until a person says whose it is`;
      observer({ kind: 'alarm', code: 'code-shared', requestId, sharedWith: others, text });
    }
  }

  /** Those whose bids stand and have a code that another bid that stands has as well. */
  async function sharing(
    answers: readonly Answered[],
    all: Pick<Views, 'findByBid' | 'read'>,
  ): Promise<{ requestId: RequestId; others: RequestId[] }[]> {
    const known = await all.findByBid([...new Set(answers.flatMap(codesInAnswer))]);
    const found = answers.map((answer) => {
      const holders = new Set(codesInAnswer(answer).flatMap((code) => known.get(code) ?? []));
      return { requestId: answer.requestId, holders: [...holders.add(answer.requestId)] };
    });
    const shared = found.filter(({ holders }) => holders.length > 1);
    if (shared.length === 0) return [];
    const rows = await all.read([...new Set(shared.flatMap(({ holders }) => holders))]);
    return shared.flatMap(({ requestId, holders }) => {
      const others = holders.filter((each) => each !== requestId && stands(rows.get(each)));
      return others.length > 0 && stands(rows.get(requestId)) ? [{ requestId, others }] : [];
    });
  }

  async function persist(work: () => Promise<void>): Promise<void> {
    while (!options.stopping()) {
      try {
        await work();
        return;
      } catch (fault) {
        if (!(fault instanceof Fault) || !fault.retryable) throw fault;
        observer({ kind: 'fault', code: fault.code, message: fault.message });
        await sleep(clock, options.retryMs);
      }
    }
  }

  /** False: the desk stops. */
  async function give(waiting: readonly Orphan[]): Promise<boolean> {
    const isFolded = !options.isCatchingUp();
    const { found, isSure } = await holdersOf(waiting);
    const nowMs = clock.monotonicMs();
    const isSettled = (orphan: Orphan): boolean => {
      if (isSure) unaskedSince.delete(orphan);
      else if (!unaskedSince.has(orphan)) unaskedSince.set(orphan, nowMs);
      const isOver = isSure || nowMs - unaskedSince.get(orphan)! >= askPatienceMs;
      if (isOver && isFolded) lookedFor.add(orphan);
      const of = found.get(orphan);
      return of !== undefined && isOver && (isSure || of.own.length > 0);
    };
    const given = waiting.filter((orphan) => isSettled(orphan) && orphans.has(orphan) && !givenNow.has(orphan));
    for (const orphan of given) givenNow.add(orphan);
    try {
      if (!(await keepWithRequests(given, found))) return false;
    } finally {
      for (const orphan of given) givenNow.delete(orphan);
    }
    for (const orphan of given) orphans.remove(orphan);
    return true;
  }

  const close = () => {
    timer?.cancel();
    compareTimer?.cancel();
  };

  return { hear, handle, bidsKnown, acknowledged, lose, close };
}

/** One record for its request; where it may be of several, one for each of them, which says so. */
function keyed(event: WinnerEvent, { holders, own }: Found): (Contemplated | Proposed)[] {
  return own.map((requestId) => {
    const sharedWith = holders.filter((each) => each !== requestId);
    return sharedWith.length === 0 ? { ...event, requestId } : { ...event, requestId, sharedWith };
  });
}

/** The requests that the code of the call names; where these are several, those of them that the other code names as well. */
function namedBy(event: WinnerEvent, known: ReadonlyMap<string, readonly RequestId[]>): readonly RequestId[] {
  const named = codesNamedBy(event)
    .map((spellings) => [...new Set(spellings.flatMap((code) => known.get(code) ?? []))])
    .filter((holders) => holders.length > 0);
  const [first = [], second = first] = named;
  const both = first.filter((requestId) => second.includes(requestId));
  return first.length > 1 && both.length > 0 ? both : first;
}

/**
 * Whose an event may be that names several: the one of which a person has said so, else those whose bids stand, else any. A list
 * that is full may lack one whose bid stands, so there a person has the only word.
 */
function claimants(holders: readonly RequestId[], rows: ReadonlyMap<RequestId, LedgerRow>): readonly RequestId[] {
  const said = holders.filter((each) => {
    const row = rows.get(each);
    return stands(row) && row?.state.resolution?.as === 'contemplated';
  });
  if (said.length === 1) return said;
  const standing = holders.filter((each) => stands(rows.get(each)));
  return standing.length > 1 || (standing.length === 1 && holders.length < mostHolders) ? standing : holders;
}

/** Whether money is promised for its bid. */
function stands(row: LedgerRow | undefined): boolean {
  return row !== undefined && isPromised(row.state.exposure);
}

function codesInAnswer({ outcome, codes = [] }: Answered): readonly string[] {
  return 'bidId' in outcome && outcome.bidId !== null ? [outcome.bidId, ...codes] : codes;
}

/** Codes under which the service may tell of a bid, that a record makes known; ours or not. */
export function bidsNamedIn(record: AuctionRecord): readonly string[] {
  if (record.kind === 'ended') return record.bids.map((bid) => bid.bidId);
  return record.kind === 'answered' ? codesInAnswer(record) : [];
}
