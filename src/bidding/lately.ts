/**
 * What became of the last bids that were to be, and of the last link queries: refusals that nobody understands, slow answers, and caps
 * without room. It closes nothing.
 */
import { isWindowKey, operatorPrefix, usageUnder, windowHoursOf } from '../domain/cap-book.ts';
import { dayOf } from '../domain/clock.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { type BidOutcome, refusedInDoubt, type SourceFailure } from '../domain/offer.ts';
import type { Answered, Claimed, Passed } from '../domain/records.ts';
import { fullCapOf } from './decide.ts';
import type { EarlierBid } from './earlier-bids.ts';

/**
 * A cap that had no room. `name`: without the values of its key, which may stand for a worker. `byHand`: an operator's. `windowHours`: of
 * a rolling window; null: it counts the calendar day.
 */
export type CapEnd = {
  name: string;
  byHand: boolean;
  windowHours: number | null;
  usedCents: number;
  limitCents: number | null;
  usedCount: number;
  limitCount: number | null;
};

/** The cap that ended a would-be bid last, and how many of how many ended by one. */
type CapEnds = { cap: CapEnd; ended: number; of: number };

/** What holds now. `byHand`: the limits by hand; null: not known. `ruleSetHash`: of the set that is followed; null: none is. */
type CapsNow = {
  now: EpochMs;
  byHand: Readonly<Record<string, number>> | null;
  ruleSetHash: string | null;
};

type Lately = {
  /** Requests in a row whose bids were all refused in words that nobody knows; null: too few, or for too short a time. */
  unknownRefusals: number | null;
  /** Links in a row whose queries were all refused in words that nobody knows; null: too few, or for too short a time. */
  linkQueryRefusals: number | null;
  /**
   * Where the answers to the last bids of the last minutes took a large part of an auction: their median, of how many, and how long an
   * auction is.
   */
  slowAnswers: { medianMs: number; of: number; windowMs: number } | null;
};

/** An external source of whose last answers half or more failed. `failure`: why the last of them did. */
type FailingSource = { source: string; failure: SourceFailure; failed: number; of: number };

/** Whether the service refuses every bid, or every link query, has changed: `count` in a row were refused, over `durationMs`. */
export type RefusalChange = { kind: 'begun' | 'over'; count: number; durationMs: number };

/** A query that has come to an end. `isRefused`: in words that nobody knows; else it was answered, or refused in known ones. */
export type LinkQueryEnd = { linkKey: string; isRefused: boolean; at: EpochMs };

type SourceAnswer = { source: string; failure: SourceFailure | null; at: EpochMs };

type LatelyWatch = {
  /** Null: what `unknownRefusals` tells begins and ends with another record. */
  note: (record: Claimed | Answered | Passed) => RefusalChange | null;
  /** Would-be bids from before `note` heard of any, in any order. One that is known already is left out. */
  noteEarlier: (bids: readonly EarlierBid[]) => void;
  /** The same of `linkQueryRefusals`. */
  noteLinkQuery: (query: LinkQueryEnd) => RefusalChange | null;
  /** From the sending of a bid to its answer, also to one that turns it away, or to its end without one. */
  noteAnswerTime: (durationMs: number, at: EpochMs) => void;
  told: (now: EpochMs) => Lately;
  /** Of an external source: that it has answered, or why it has not. */
  noteSource: (answer: SourceAnswer) => void;
  /** Null: none of them fails. */
  failingSources: (now: EpochMs) => readonly FailingSource[] | null;
  /**
   * Where half or more of the last would-be bids ended by a cap, or the latest few of them by one set by hand, which counts every bid;
   * or some of them within the last minutes by one set by hand. Those that ended by a cap which is gone, was raised, or has begun a new
   * day since are left out.
   */
  caps: (holding: CapsNow) => CapEnds | null;
};

/**
 * So many requests or links, over so long: a service refuses one and another, and for a moment all. One that is asked again and again
 * counts once.
 */
const leastRefusals = 5;
const leastRefusedMs = 30_000;
/** Their ids are kept to count each request or link once: the last ones, for one is answered once as a rule. */
const mostRefusedKept = 1_000;
export const mostWouldBe = 20;
const leastWouldBe = 5;
const mostAnswerTimes = 20;
const leastAnswerTimes = 10;
/** Before its bid a request waits for its margin as well, which the same service tells: of an auction, an answer may take this part. */
const slowShare = 0.1;
/** What was slow before says nothing of now. */
const answerTimeMs = 300_000;
const mostSourceAnswers = 20;
const leastSourceAnswers = 5;
const leastByHand = 3;
const recentlyMs = 600_000;
const hourMs = 3_600_000;

/** `windowMs`: the length of an auction. */
export function createLatelyWatch(windowMs: number): LatelyWatch {
  const bids = createRefusalRun();
  const linkQueries = createRefusalRun();
  /** The latest last. */
  const answerTimes: { durationMs: number; at: EpochMs }[] = [];
  /** Of the last would-be bids, the latest last. */
  const wouldBe: WouldBe[] = [];
  /** By source, the latest last. */
  const sources = new Map<string, SourceAnswer[]>();

  function noteAnswer({ requestId, at, outcome }: Answered): RefusalChange | null {
    if (isUnknownRefusal(outcome)) return bids.refused(requestId, at);
    return outcome.kind === 'unknown' ? null : bids.ended(at);
  }

  function noteWouldBe(record: Claimed | Passed): void {
    for (const each of wouldBeIn(record)) {
      // A claim may be refused by a cap afterwards, or be read from two processes: it is one would-be bid.
      const known = wouldBe.findIndex(({ requestId }) => requestId === each.requestId);
      if (known >= 0) wouldBe.splice(known, 1);
      wouldBe.push(each);
    }
    if (wouldBe.length > mostWouldBe) wouldBe.shift();
  }

  return {
    note: (record) => {
      if (record.kind === 'answered') return noteAnswer(record);
      noteWouldBe(record);
      return null;
    },
    noteEarlier: (bids) => {
      const known = new Set(wouldBe.map(({ requestId }) => requestId));
      const earlier = bids.flatMap((bid) => (known.has(bid.requestId) ? [] : wouldBeIn(bid)));
      const latest = [...earlier, ...wouldBe].sort((one, other) => one.at - other.at).slice(-mostWouldBe);
      wouldBe.splice(0, wouldBe.length, ...latest);
    },
    noteLinkQuery: ({ linkKey, isRefused, at }) =>
      isRefused ? linkQueries.refused(linkKey, at) : linkQueries.ended(at),
    noteAnswerTime: (durationMs, at) => {
      answerTimes.push({ durationMs, at });
      if (answerTimes.length > mostAnswerTimes) answerTimes.shift();
    },
    told: (now) => ({
      unknownRefusals: bids.count(),
      linkQueryRefusals: linkQueries.count(),
      slowAnswers: slowAnswersIn(
        answerTimes.flatMap(({ durationMs, at }) => (now - at <= answerTimeMs ? durationMs : [])),
        windowMs,
      ),
    }),
    noteSource: (answer) => {
      const known = sources.get(answer.source) ?? [];
      sources.set(answer.source, [...known, answer].slice(-mostSourceAnswers));
    },
    failingSources: (now) => {
      const failing = [...sources.values()].flatMap((answers) => failingIn(answers, now) ?? []);
      return failing.length === 0 ? null : failing;
    },
    caps: (holding) => {
      const { now, byHand } = holding;
      const counted = wouldBe.filter((each) => each.end === null || mayStand(each, each.end, holding));
      const ends = counted.flatMap(({ end }) => end ?? []);
      const isHalf = counted.length >= leastWouldBe && ends.length * 2 >= counted.length;
      const latest = counted.slice(-leastByHand);
      const isShut = latest.length === leastByHand && latest.every(({ end }) => end?.byHand === true);
      // One that stands is what can be lifted.
      const standing = counted.flatMap(({ end, at }) =>
        end?.byHand === true && byHand !== null && now - at <= recentlyMs ? end : [],
      );
      const isNamed = isHalf || isShut || standing.length >= leastByHand;
      const cap = standing.length >= leastByHand ? standing.at(-1) : ends.at(-1);
      return isNamed && cap !== undefined ? { cap, ended: ends.length, of: counted.length } : null;
    },
  };
}

/** `end`: the cap that it ended by; null: it was claimed. `ruleSetHash`: of the rules that decided. */
type WouldBe = { requestId: RequestId; end: CapEnd | null; at: EpochMs; ruleSetHash: string | null };

/** None: it was passed for another reason than a cap. */
function wouldBeIn(record: Claimed | EarlierBid): WouldBe[] {
  const { requestId, at } = record;
  if (record.kind === 'claimed') return [{ requestId, end: null, at, ruleSetHash: null }];
  const end = capEndOf(record);
  return end === null ? [] : [{ requestId, end, at, ruleSetHash: record.trace?.ruleSetHash ?? null }];
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

/** Whether a cap that had no room may have none still. One that is gone, was raised or counts anew is no reason any more. */
function mayStand({ at, ruleSetHash }: WouldBe, end: CapEnd, holding: CapsNow): boolean {
  const { now, byHand } = holding;
  if (end.windowHours === null ? dayOf(at) < dayOf(now) : now - at > end.windowHours * hourMs) return false;
  if (!end.byHand) return ruleSetHash === null || holding.ruleSetHash === null || ruleSetHash === holding.ruleSetHash;
  if (byHand === null) return true;
  return Object.hasOwn(byHand, end.name) && (end.limitCents === null || byHand[end.name]! <= end.limitCents);
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

function failingIn(answers: readonly SourceAnswer[], now: EpochMs): FailingSource | null {
  const recent = answers.filter(({ at }) => now - at <= recentlyMs);
  const failures = recent.flatMap(({ failure }) => failure ?? []);
  if (recent.length < leastSourceAnswers || failures.length * 2 < recent.length) return null;
  return { source: recent[0]!.source, failure: failures.at(-1)!, failed: failures.length, of: recent.length };
}

/** Of an even number the lower one. */
function medianOf(durations: readonly number[]): number {
  return durations.toSorted((left, right) => left - right)[Math.floor((durations.length - 1) / 2)]!;
}

/** Null: it did not end by a cap, or its trace does not say which. */
export function capEndOf({ code, reasons, trace }: Passed): CapEnd | null {
  const key = code === 'cap' ? fullCapOf(reasons) : null;
  if (key === null || trace === null) return null;
  const cap = trace.caps.find(({ keys }) => keys[0] === key);
  if (cap === undefined) return null;
  const used = usageUnder(cap, (each) => trace.usage[each]);
  return {
    ...capOfKey(key),
    // The cap's own keys come before any for what cannot be read.
    windowHours: isWindowKey(key) ? windowHoursOf(cap.keys) : null,
    usedCents: used.amountCents,
    limitCents: cap.limitAmountCents,
    usedCount: used.count,
    limitCount: cap.limitCount,
  };
}

/** The cap that a key counts under, without the values that it counts by. */
export function capOfKey(key: string): Pick<CapEnd, 'name' | 'byHand'> {
  const [start = ''] = key.split('|');
  const byHand = start.startsWith(operatorPrefix);
  return { name: byHand ? start.slice(operatorPrefix.length) : start, byHand };
}
