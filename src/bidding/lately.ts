/** What became of the last bids that were to be: refusals that nobody understands, slow answers, and caps without room. It closes nothing. */
import { operatorPrefix, usageUnder } from '../domain/cap-book.ts';
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

type Lately = {
  /** Answers to bids in a row that were all refusals in unknown words; null: fewer than are told. */
  unknownRefusals: number | null;
  /**
   * Where most of the last would-be bids ended by a cap, or the latest few of them by one set by hand, which counts every bid: the one
   * that did last, and how many of how many did.
   */
  caps: { cap: CapEnd; ended: number; of: number } | null;
  /** Where the answers to the last bids took a large part of an auction: their median, of how many, and how long an auction is. */
  slowAnswers: { medianMs: number; of: number; windowMs: number } | null;
};

type LatelyWatch = {
  note: (record: Claimed | Answered | Passed) => void;
  /** From the sending of a bid to its answer, or to its end without one. */
  noteAnswerTime: (durationMs: number) => void;
  told: () => Lately;
};

const leastRefusals = 20;
const mostWouldBe = 20;
const leastWouldBe = 5;
const mostAnswerTimes = 20;
const leastAnswerTimes = 10;
/** Before its bid a request waits for its margin as well, which the same service tells: of an auction, an answer may take this part. */
const slowShare = 0.1;
const leastByHand = 3;

/** `windowMs`: the length of an auction. */
export function createLatelyWatch(windowMs: number): LatelyWatch {
  let refusals = 0;
  /** The latest last. */
  const answerTimes: number[] = [];
  /** Of the last would-be bids, the latest last: the cap that it ended by, or null for a claim. */
  const wouldBe: (CapEnd | null)[] = [];

  return {
    note: (record) => {
      if (record.kind === 'answered') {
        const { outcome } = record;
        refusals = outcome.kind === 'rejected' && outcome.code === 'unclassified' ? refusals + 1 : 0;
        return;
      }
      const end = record.kind === 'passed' ? capEndOf(record) : null;
      if (record.kind === 'passed' && end === null) return;
      wouldBe.push(end);
      if (wouldBe.length > mostWouldBe) wouldBe.shift();
    },
    noteAnswerTime: (durationMs) => {
      answerTimes.push(durationMs);
      if (answerTimes.length > mostAnswerTimes) answerTimes.shift();
    },
    told: () => {
      const ends = wouldBe.filter((end) => end !== null);
      const isMost = wouldBe.length >= leastWouldBe && ends.length * 2 > wouldBe.length;
      const latest = wouldBe.slice(-leastByHand);
      const isShut = latest.length === leastByHand && latest.every((end) => end?.byHand === true);
      return {
        unknownRefusals: refusals >= leastRefusals ? refusals : null,
        caps: isMost || isShut ? { cap: ends.at(-1)!, ended: ends.length, of: wouldBe.length } : null,
        slowAnswers: slowAnswersIn(answerTimes, windowMs),
      };
    },
  };
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
