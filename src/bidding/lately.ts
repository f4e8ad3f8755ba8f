/**
 * What became of the last bids that were to be, and of the last link queries: refusals that nobody understands, slow answers, and caps
 * without room. It closes nothing.
 */
import { operatorPrefix, usageUnder } from '../domain/cap-book.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { type BidOutcome, refusedInDoubt } from '../domain/offer.ts';
import type { Answered, Claimed, Passed } from '../domain/records.ts';
import { fullCapOf } from './decide.ts';

/** A cap that had no room. `name`: without the values of its key, which may stand for a worker. `byHand`: an operator's. */
type CapEnd = {
  name: string;
  byHand: boolean;
  usedCents: number;
  limitCents: number | null;
  usedCount: number;
  limitCount: number | null;
};

/** The cap that ended a would-be bid last, and how many of how many ended by one. */
type CapEnds = { cap: CapEnd; ended: number; of: number };

type Lately = {
  /** Requests in a row whose bids were all refused in words that nobody knows; null: too few, or for too short a time. */
  unknownRefusals: number | null;
  /** Links in a row whose queries were all refused in words that nobody knows; null: too few, or for too short a time. */
  linkQueryRefusals: number | null;
  /** Where the answers to the last bids took a large part of an auction: their median, of how many, and how long an auction is. */
  slowAnswers: { medianMs: number; of: number; windowMs: number } | null;
};

/** Whether the service refuses every bid, or every link query, has changed: `count` in a row were refused, over `durationMs`. */
export type RefusalChange = { kind: 'begun' | 'over'; count: number; durationMs: number };

/** A query that has come to an end. `isRefused`: in words that nobody knows; else it was answered, or refused in known ones. */
export type LinkQueryEnd = { linkKey: string; isRefused: boolean; at: EpochMs };

type LatelyWatch = {
  /** Null: what `unknownRefusals` tells begins and ends with another record. */
  note: (record: Claimed | Answered | Passed) => RefusalChange | null;
  /** The same of `linkQueryRefusals`. */
  noteLinkQuery: (query: LinkQueryEnd) => RefusalChange | null;
  /** From the sending of a bid to its answer, or to its end without one. */
  noteAnswerTime: (durationMs: number) => void;
  told: () => Lately;
  /**
   * Where half or more of the last would-be bids ended by a cap, or the latest few of them by one set by hand, which counts every bid;
   * or some of them within the last minutes by one set by hand that still stands. `byHand`: the limits by hand that stand; null: not known.
   */
  caps: (now: EpochMs, byHand: Readonly<Record<string, number>> | null) => CapEnds | null;
};

/**
 * So many requests or links, over so long: a service refuses one and another, and for a moment all. One that is asked again and again
 * counts once.
 */
const leastRefusals = 5;
const leastRefusedMs = 30_000;
/** Their ids are kept to count each request or link once: the last ones, for one is answered once as a rule. */
const mostRefusedKept = 1_000;
const mostWouldBe = 20;
const leastWouldBe = 5;
const mostAnswerTimes = 20;
const leastAnswerTimes = 10;
/** Before its bid a request waits for its margin as well, which the same service tells: of an auction, an answer may take this part. */
const slowShare = 0.1;
const leastByHand = 3;
const recentlyMs = 600_000;

/** `windowMs`: the length of an auction. */
export function createLatelyWatch(windowMs: number): LatelyWatch {
  const bids = createRefusalRun();
  const linkQueries = createRefusalRun();
  /** The latest last. */
  const answerTimes: number[] = [];
  /** Of the last would-be bids, the latest last: the cap that it ended by, or null for a claim. */
  const wouldBe: { end: CapEnd | null; at: EpochMs }[] = [];

  function noteAnswer({ requestId, at, outcome }: Answered): RefusalChange | null {
    if (isUnknownRefusal(outcome)) return bids.refused(requestId, at);
    return outcome.kind === 'unknown' ? null : bids.ended(at);
  }

  function noteWouldBe(record: Claimed | Passed): void {
    const end = record.kind === 'passed' ? capEndOf(record) : null;
    if (record.kind === 'passed' && end === null) return;
    wouldBe.push({ end, at: record.at });
    if (wouldBe.length > mostWouldBe) wouldBe.shift();
  }

  return {
    note: (record) => {
      if (record.kind === 'answered') return noteAnswer(record);
      noteWouldBe(record);
      return null;
    },
    noteLinkQuery: ({ linkKey, isRefused, at }) =>
      isRefused ? linkQueries.refused(linkKey, at) : linkQueries.ended(at),
    noteAnswerTime: (durationMs) => {
      answerTimes.push(durationMs);
      if (answerTimes.length > mostAnswerTimes) answerTimes.shift();
    },
    told: () => ({
      unknownRefusals: bids.count(),
      linkQueryRefusals: linkQueries.count(),
      slowAnswers: slowAnswersIn(answerTimes, windowMs),
    }),
    caps: (now, byHand) => {
      const ends = wouldBe.flatMap(({ end }) => end ?? []);
      const isHalf = wouldBe.length >= leastWouldBe && ends.length * 2 >= wouldBe.length;
      const latest = wouldBe.slice(-leastByHand);
      const isShut = latest.length === leastByHand && latest.every(({ end }) => end?.byHand === true);
      const standing = wouldBe.flatMap(({ end, at }) =>
        end !== null && now - at <= recentlyMs && isStanding(end, byHand) ? end : [],
      );
      const isNamed = isHalf || isShut || standing.length >= leastByHand;
      // One that stands is what can be lifted.
      const cap = standing.length >= leastByHand ? standing.at(-1) : ends.at(-1);
      return isNamed && cap !== undefined ? { cap, ended: ends.length, of: wouldBe.length } : null;
    },
  };
}

type RefusalRun = {
  refused: (id: string, at: EpochMs) => RefusalChange | null;
  /** By an answer that is no such refusal. */
  ended: (at: EpochMs) => RefusalChange | null;
  /** Null: too few, or for too short a time. */
  count: () => number | null;
};

/** Refusals in a row in words that nobody knows. */
function createRefusalRun(): RefusalRun {
  let run: { count: number; from: EpochMs; until: EpochMs } | null = null;
  const ids = new Set<string>();

  function isSure(): boolean {
    return run !== null && run.count >= leastRefusals && run.until - run.from >= leastRefusedMs;
  }

  return {
    refused: (id, at) => {
      if (ids.has(id)) return null;
      const wasSure = isSure();
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > mostRefusedKept) ids.delete(oldest!);
      run = { count: (run?.count ?? 0) + 1, from: run?.from ?? at, until: at };
      return isSure() && !wasSure ? { kind: 'begun', count: run.count, durationMs: at - run.from } : null;
    },
    ended: (at) => {
      const before = isSure() ? run : null;
      run = null;
      ids.clear();
      return before === null ? null : { kind: 'over', count: before.count, durationMs: at - before.from };
    },
    count: () => (isSure() ? run!.count : null),
  };
}

/** One that was raised since may have room again. */
function isStanding({ name, byHand, limitCents }: CapEnd, limits: Readonly<Record<string, number>> | null): boolean {
  if (!byHand || limits === null || !Object.hasOwn(limits, name)) return false;
  return limitCents === null || limits[name]! <= limitCents;
}

/** Also one whose bid may stand. That nobody has answered a bid says nothing of what the service refuses. */
function isUnknownRefusal(outcome: BidOutcome): boolean {
  if (outcome.kind === 'unknown') return outcome.reason === refusedInDoubt;
  return outcome.kind === 'rejected' && outcome.code === 'unclassified';
}

function slowAnswersIn(durations: readonly number[], windowMs: number): Lately['slowAnswers'] {
  if (durations.length < leastAnswerTimes) return null;
  const medianMs = Math.round(medianOf(durations));
  return medianMs < slowShare * windowMs ? null : { medianMs, of: durations.length, windowMs };
}

/** Of an even number the lower one. */
function medianOf(durations: readonly number[]): number {
  return durations.toSorted((left, right) => left - right)[Math.floor((durations.length - 1) / 2)]!;
}

function capEndOf({ code, reasons, trace }: Passed): CapEnd | null {
  const key = code === 'cap' ? fullCapOf(reasons) : null;
  if (key === null || trace === null) return null;
  const cap = trace.caps.find(({ keys }) => keys[0] === key);
  if (cap === undefined) return null;
  const used = usageUnder(cap, (each) => trace.usage[each]);
  const [start = ''] = key.split('|');
  const byHand = start.startsWith(operatorPrefix);
  return {
    name: byHand ? start.slice(operatorPrefix.length) : start,
    byHand,
    usedCents: used.amountCents,
    limitCents: cap.limitAmountCents,
    usedCount: used.count,
    limitCount: cap.limitCount,
  };
}
