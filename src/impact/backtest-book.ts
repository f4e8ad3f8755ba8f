/** The books of a backtest: who would have bid what in each auction, what that earned, how far predictions held, what the segments were worth. */
import { weightsOf } from '../bidding/learning.ts';
import type { Trial } from '../domain/offer.ts';
import { bestRates, readings, surplusOf } from '../pricing/trial.ts';
import { createShared, tailor } from '../pricing/win-curve.ts';
import { type Interval, intervalsOfShares } from './bootstrap.ts';
import { createCalibration } from './calibration.ts';
import { type createLearner, type createPlain, markedUp } from './learn.ts';
import type { BestRival, FileFeatures, ReplayedAuction } from './recorded-auctions.ts';

/** Predictions are checked on every so many-th of the break-evens. */
const calibratedEvery = 5;
export const readingNames = readings.map(({ name }) => name);
export const policyNames = ['desk', 'market', ...readingNames, 'histogram', 'fixed-markup', 'clairvoyant'] as const;

/** The mixture of readings for the whole market. */
export function marketWin(readingWins: readonly Float64Array[], weights: readonly number[]): Float64Array {
  const win = new Float64Array(readingWins[0]!.length);
  for (const [place, reading] of readingWins.entries()) {
    for (let cell = 0; cell < win.length; cell += 1) win[cell]! += weights[place]! * reading[cell]!;
  }
  return win;
}

/** Scores of the segments alone, from what a trial noted, and their weights. */
function createSegmentTally() {
  const found = new Map<
    string,
    { earned: number; possible: number; sum: number; count: number; late: number | null }
  >();
  const tallyOf = (name: string) => {
    const tally = found.get(name) ?? { earned: 0, possible: 0, sum: 0, count: 0, late: null };
    found.set(name, tally);
    return tally;
  };
  const points: Map<string, number>[] = [];
  return {
    add: (named: readonly { name: string; weight: number }[], trial: Trial, best: Int32Array, rival: BestRival) => {
      const { breakEvens, rates } = trial;
      const { bestRivalCell, bestRivalOffGrid } = rival;
      const earnedAt = (index: number, rate: number) =>
        surplusOf(rate, breakEvens[index]!, bestRivalCell, bestRivalOffGrid);
      let possible = 0;
      for (let index = 0; index < breakEvens.length; index += 1) possible += earnedAt(index, best[index]!);
      for (const [place, { name, weight }] of named.entries()) {
        const tally = tallyOf(name);
        const row = (readings.length + place) * breakEvens.length;
        for (let index = 0; index < breakEvens.length; index += 1) tally.earned += earnedAt(index, rates[row + index]!);
        tally.possible += possible;
        tally.sum += weight;
        tally.count += 1;
      }
    },
    /** Ends a stretch over which weights are averaged. */
    mark: () => {
      const means = new Map<string, number>();
      for (const [name, tally] of found) {
        if (tally.count === 0) continue;
        tally.late = tally.sum / tally.count;
        means.set(name, tally.late);
        tally.sum = 0;
        tally.count = 0;
      }
      points.push(means);
    },
    read: () => {
      const names = [...found.keys()];
      return {
        segments: names.map((name) => {
          const { earned, possible, late } = found.get(name)!;
          return { name, share: earned / possible, weight: late ?? 0 };
        }),
        weights: names.map((name) => points.map((means) => means.get(name) ?? null)),
      };
    },
  };
}

export type Learner = ReturnType<typeof createLearner>;
export type Plain = ReturnType<typeof createPlain>;

/** What the desk knows when a batch comes: its curves and rates by segment, and the rates of the policies for all of it. */
type Known = {
  desk: Map<
    string,
    { win: Float64Array; trial: Trial; rates: Int32Array; segments: readonly { name: string; weight: number }[] }
  >;
  /** Rates of the other policies, in the order of `policyNames`. */
  others: Int32Array[];
  readingWeights: readonly number[];
  plainWin: Float64Array;
};

/** Decides batches and scores what was decided. `truth`: what the clairvoyant knows. */
export function createBook(
  breakEvens: Float64Array,
  truth: Float64Array,
  markup: number,
  { layout, levelsOf }: FileFeatures,
) {
  const fixed = Int32Array.from(breakEvens, (breakEven) => markedUp(breakEven, markup));
  const clairvoyant = bestRates(truth, breakEvens);
  const sums = new Float64Array(policyNames.length);
  /** What each policy earned, by batch that was scored. */
  const rows: Float64Array[] = [];
  let row: Float64Array | null = null;
  const calibration = { desk: createCalibration(), histogram: createCalibration() };
  const segments = createSegmentTally();
  const bestTried = new Map<readonly number[], Int32Array>();
  let scored = 0;

  function know(now: readonly ReplayedAuction[], learner: Learner, plain: Plain): Known {
    row = null;
    calibration.desk.endBatch();
    calibration.histogram.endBatch();
    const shared = createShared();
    const desk: Known['desk'] = new Map();
    let readingWeights: readonly number[] = [];
    let readingWins: readonly Float64Array[] = [];
    for (const { segmentKeys } of now) {
      const special = segmentKeys.at(-1)!;
      if (desk.has(special)) continue;
      const { curve, readingWins: wins } = learner.withReadings(segmentKeys, layout, shared);
      const { weights } = curve;
      const { curve: tailored, trial } = tailor(curve, levelsOf(segmentKeys));
      const { win } = tailored;
      desk.set(special, {
        win,
        trial,
        rates: bestRates(win, breakEvens),
        segments: weightsOf(segmentKeys, curve).segments,
      });
      readingWeights = weights.readings;
      readingWins = wins;
    }
    const plainWin = plain.win();
    const learnt = [marketWin(readingWins, readingWeights), ...readingWins, plainWin];
    const others = [...learnt.map((win) => bestRates(win, breakEvens)), fixed, clairvoyant];
    return { desk, others, readingWeights, plainWin };
  }

  function score(known: Known, auction: ReplayedAuction): void {
    const { bestRivalCell, bestRivalOffGrid, segmentKeys } = auction;
    if (row === null) {
      row = new Float64Array(sums.length);
      rows.push(row);
    }
    const { win, trial, rates, segments: named } = known.desk.get(segmentKeys.at(-1)!)!;
    for (let policy = 0; policy < sums.length; policy += 1) {
      const bids = policy === 0 ? rates : known.others[policy - 1]!;
      let sum = 0;
      for (let index = 0; index < bids.length; index += 1) {
        sum += surplusOf(bids[index]!, breakEvens[index]!, bestRivalCell, bestRivalOffGrid);
      }
      sums[policy]! += sum;
      row[policy]! += sum;
    }
    for (let index = 0; index < rates.length; index += calibratedEvery) {
      const rate = rates[index]!;
      const outcome = surplusOf(rate, rate - 1, bestRivalCell, bestRivalOffGrid);
      calibration.desk.add(win[rate]!, outcome);
      calibration.histogram.add(known.plainWin[rate]!, outcome);
    }
    const best = bestTried.get(trial.breakEvens) ?? bestRates(truth, Float64Array.from(trial.breakEvens));
    bestTried.set(trial.breakEvens, best);
    segments.add(named, trial, best, auction);
    scored += 1;
  }

  return {
    know,
    score,
    mark: segments.mark,
    scored: () => scored,
    surpluses: () => Array.from(sums, (sum) => sum / breakEvens.length),
    /** Of each policy's share of what the clairvoyant earns, over batches drawn anew; the clairvoyant's own is 1. */
    intervals: (): Interval[] => [...intervalsOfShares(rows), { low: 1, high: 1 }],
    segments: segments.read,
    calibration: () => ({ desk: calibration.desk.read(), histogram: calibration.histogram.read() }),
  };
}

export type Book = ReturnType<typeof createBook>;
