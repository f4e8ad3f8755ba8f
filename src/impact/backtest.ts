/**
 * What the desk would have earned on recorded auctions, in their order: it decides, results come back in batches, it learns.
 * The policy is the desk's own, through `curveOf` and `lessonsOf` of `bidding/`; beside it stand each reading of the whole
 * market alone, the plain histogram, the best fixed mark-up in hindsight, and a clairvoyant that knows the distribution.
 */
import { weightsOf } from '../bidding/learning.ts';
import { noRivalCell } from '../domain/glossary.ts';
import type { Trial } from '../domain/offer.ts';
import { bestRates, readings, surplusOf } from '../pricing/trial.ts';
import { wholeMarket } from '../rules/keys.ts';
import { type Calibration, createCalibration } from './calibration.ts';
import {
  type BreakEven,
  batch,
  breakEvensOf,
  createLearner,
  createPlain,
  firstScored,
  fixedMarkup,
  type LearnOptions,
  liveBreakEvens,
  markedUp,
  plainWin,
} from './learn.ts';
import { type BestRival, keysOf, type RecordedAuction } from './recorded-auctions.ts';

/** `segmentKeys`: the whole market first, the most special segment last. Auctions alike share one array. */
export type ReplayedAuction = BestRival & { segmentKeys: readonly string[] };

/** A desk need not bid in every auction to learn from all: of very long records, whole batches in equal distances are decided. */
const mostDecided = 60_000;
const mostPoints = 240;
/** A histogram takes 8 KB for each segment; a dimension that makes more of them than this is left out. */
const mostSegments = 20_000;
/** Predictions are checked on every so many-th of the break-evens. */
const calibratedEvery = 5;
/** Fewer say nothing about the distribution of a segment. */
const leastInSegment = 100;

/** Summed over auctions, mean over break-evens: hundredths of a percent. Weight: at the end; null for what the desk does not weigh. */
export type PolicyResult = { name: string; surplusHundredths: number; share: number; weight: number | null };

export type Backtest = {
  auctions: number;
  withoutRivals: number;
  /** Auctions that were bid in and scored. */
  scored: number;
  breakEven: { name: BreakEven; lowest: number; highest: number; count: number };
  dimensions: readonly string[];
  /** `desk`, `market` (the desk's mixture of readings for the whole market), the readings, `histogram`, `fixed-markup`, `clairvoyant`. */
  policies: readonly PolicyResult[];
  fixedMarkupHundredths: number;
  /** Each segment alone, on the break-evens that policies are tried on; the weight is the mean of late. */
  segments: readonly { name: string; share: number; weight: number }[];
  /** Cumulative, by policy in the order of `policies`. */
  overTime: { auctions: readonly number[]; surplusHundredths: readonly (readonly number[])[] };
  /** Shares of the mixture: by reading in the order of `readings`, and by segment in the order of `segments`. */
  weights: {
    auctions: readonly number[];
    readings: readonly (readonly number[])[];
    segments: readonly (readonly (number | null)[])[];
  };
  calibration: { desk: Calibration; histogram: Calibration };
  choice: Choice;
};

/** One decision at the end of the record. Curves by rate, from 0 to 498 hundredths. */
type Choice = {
  segment: string;
  /** Auctions of this segment in the record. */
  auctions: number;
  breakEvenHundredths: number;
  rateHundredths: number;
  winProbability: number;
  /** `(r − c) · w(r)`. */
  expectedHundredths: number;
  hindsightRateHundredths: number | null;
  win: {
    desk: readonly number[];
    market: readonly number[];
    histogram: readonly number[];
    hindsight: readonly number[] | null;
  };
};

export type BacktestResult =
  | { kind: 'backtest'; backtest: Backtest }
  /** `--segment` names none of the record; some that are there, the most frequent first. */
  | { kind: 'unknown-segment'; known: readonly string[] };

/** Those of the file's dimensions, in their order, that do not cut it into too many segments. */
export function replayedOf(
  auctions: readonly RecordedAuction[],
  candidates: readonly string[],
): { auctions: readonly ReplayedAuction[]; dimensions: readonly string[] } {
  const dimensions: string[] = [];
  for (const candidate of candidates) {
    const cut = [...dimensions, candidate];
    const seen = new Set<string>();
    for (const { segment } of auctions) {
      seen.add(cut.map((name) => segment[name] ?? '?').join('|'));
      if (seen.size > mostSegments) break;
    }
    if (seen.size <= mostSegments) dimensions.push(candidate);
  }
  const lists = new Map<string, readonly string[]>();
  const replayed = auctions.map((auction) => {
    const { bestRivalCell, bestRivalOffGrid, segment } = auction;
    const name = dimensions.map((dimension) => segment[dimension] ?? '?').join('\n');
    const segmentKeys = lists.get(name) ?? keysOf(auction, dimensions);
    lists.set(name, segmentKeys);
    return { bestRivalCell, bestRivalOffGrid, segmentKeys };
  });
  return { auctions: replayed, dimensions };
}

const readingNames = readings.map(({ name }) => name);
export const policyNames = ['desk', 'market', ...readingNames, 'histogram', 'fixed-markup', 'clairvoyant'] as const;

/** The mixture of readings for the whole market. */
function marketWin(readingWins: readonly Float64Array[], weights: readonly number[]): Float64Array {
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

type Learner = ReturnType<typeof createLearner>;
type Plain = ReturnType<typeof createPlain>;

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
function createBook(breakEvens: Float64Array, truth: Float64Array, markup: number) {
  const fixed = Int32Array.from(breakEvens, (breakEven) => markedUp(breakEven, markup));
  const clairvoyant = bestRates(truth, breakEvens);
  const sums = new Float64Array(policyNames.length);
  const calibration = { desk: createCalibration(), histogram: createCalibration() };
  const segments = createSegmentTally();
  const bestTried = new Map<readonly number[], Int32Array>();
  let scored = 0;

  function know(now: readonly ReplayedAuction[], learner: Learner, plain: Plain): Known {
    const shared = new Map<string, Float64Array[]>();
    const desk: Known['desk'] = new Map();
    let readingWeights: readonly number[] = [];
    let readingWins: readonly Float64Array[] = [];
    for (const { segmentKeys } of now) {
      const special = segmentKeys.at(-1)!;
      if (desk.has(special)) continue;
      const { curve, readingWins: wins } = learner.withReadings(segmentKeys, shared);
      const { win, trial, weights } = curve;
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
    const { win, trial, rates, segments: named } = known.desk.get(segmentKeys.at(-1)!)!;
    for (let policy = 0; policy < sums.length; policy += 1) {
      const bids = policy === 0 ? rates : known.others[policy - 1]!;
      let sum = 0;
      for (let index = 0; index < bids.length; index += 1) {
        sum += surplusOf(bids[index]!, breakEvens[index]!, bestRivalCell, bestRivalOffGrid);
      }
      sums[policy]! += sum;
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
    segments: segments.read,
    calibration: () => ({ desk: calibration.desk.read(), histogram: calibration.histogram.read() }),
  };
}

type Book = ReturnType<typeof createBook>;

/** Lets the record pass; returns what was noted on the way. */
function replay(
  auctions: readonly ReplayedAuction[],
  { learner, plain, book }: { learner: Learner; plain: Plain; book: Book },
  onProgress: (done: number, of: number) => void,
) {
  const every = Math.ceil(auctions.length / mostDecided);
  const stretch = Math.ceil((auctions.length - firstScored) / every / mostPoints);
  const at: number[] = [];
  const surpluses: number[][] = [];
  const readingWeights: (readonly number[])[] = [];
  let marked = 0;
  for (let start = 0; start < auctions.length; start += batch) {
    const now = auctions.slice(start, start + batch);
    const known = (start / batch) % every === 0 ? book.know(now, learner, plain) : null;
    if (known !== null) {
      for (const [index, auction] of now.entries()) if (start + index >= firstScored) book.score(known, auction);
      if (book.scored() - marked >= stretch) {
        marked = book.scored();
        at.push(start + now.length);
        surpluses.push(book.surpluses());
        readingWeights.push(known.readingWeights);
        book.mark();
      }
    }
    for (const auction of now) {
      const trial = start === 0 ? null : (known?.desk.get(auction.segmentKeys.at(-1)!)?.trial ?? null);
      learner.learn(auction, auction.segmentKeys, trial);
      plain.add(auction);
    }
    onProgress(start + now.length, auctions.length);
  }
  return { at, surpluses, readingWeights };
}

/** The lists of keys in the record, the most frequent first. */
function frequentKeys(auctions: readonly ReplayedAuction[]): { keys: readonly string[]; count: number }[] {
  const found = new Map<string, { keys: readonly string[]; count: number }>();
  for (const { segmentKeys } of auctions) {
    const special = segmentKeys.at(-1)!;
    const entry = found.get(special);
    if (entry === undefined) found.set(special, { keys: segmentKeys, count: 1 });
    else entry.count += 1;
  }
  return [...found.values()].sort((left, right) => right.count - left.count);
}

function choose(
  auctions: readonly ReplayedAuction[],
  keys: readonly string[],
  segment: string,
  state: { learner: Learner; plain: Plain; breakEvenHundredths: number },
): Choice {
  const { curve, readingWins } = state.learner.withReadings(keys, new Map());
  const market = marketWin(readingWins, curve.weights.readings);
  const win = segment === wholeMarket ? market : curve.win;
  const inSegment =
    segment === wholeMarket ? auctions : auctions.filter(({ segmentKeys }) => segmentKeys.at(-1) === segment);
  const hindsight = inSegment.length < leastInSegment ? null : plainWin(inSegment);
  const { breakEvenHundredths } = state;
  const bestOf = (known: Float64Array) => bestRates(known, Float64Array.of(breakEvenHundredths))[0]!;
  const rateHundredths = bestOf(win);
  return {
    segment,
    auctions: inSegment.length,
    breakEvenHundredths,
    rateHundredths,
    winProbability: win[rateHundredths]!,
    expectedHundredths: (rateHundredths - breakEvenHundredths) * win[rateHundredths]!,
    hindsightRateHundredths: hindsight === null ? null : bestOf(hindsight),
    win: {
      desk: [...win],
      market: [...market],
      histogram: [...state.plain.win()],
      hindsight: hindsight === null ? null : [...hindsight],
    },
  };
}

/** At least `leastAuctions` are needed. `segment`: whose curve is shown at the end, with or without `all|`; null: the most frequent. */
export function runBacktest(
  { auctions, dimensions }: { auctions: readonly ReplayedAuction[]; dimensions: readonly string[] },
  options: { winCurve: LearnOptions['winCurve']; breakEven: BreakEven; segment: string | null },
  onProgress: (done: number, of: number) => void,
): BacktestResult {
  const frequent = frequentKeys(auctions);
  const asked = options.segment ?? frequent[0]!.keys.at(-1)!;
  const segment = asked === wholeMarket || asked.startsWith(`${wholeMarket}|`) ? asked : `${wholeMarket}|${asked}`;
  const shown = segment === wholeMarket ? frequent[0] : frequent.find(({ keys }) => keys.at(-1) === segment);
  if (shown === undefined) {
    return { kind: 'unknown-segment', known: [wholeMarket, ...frequent.slice(0, 5).map(({ keys }) => keys.at(-1)!)] };
  }
  const breakEvens = breakEvensOf(auctions, options.breakEven, liveBreakEvens);
  const truth = plainWin(auctions.slice(firstScored));
  const { markup } = fixedMarkup(truth, breakEvens);
  const learner = createLearner(options.winCurve, breakEvens);
  const plain = createPlain();
  const book = createBook(breakEvens, truth, markup);
  const { at, surpluses, readingWeights } = replay(auctions, { learner, plain, book }, onProgress);
  const ends = book.surpluses();
  const weights = readingWeights.at(-1)!;
  const { segments, weights: segmentWeights } = book.segments();
  const breakEvenHundredths = Math.round(breakEvens[breakEvens.length >> 1]!);
  const backtest: Backtest = {
    auctions: auctions.length,
    withoutRivals: auctions.filter(({ bestRivalCell }) => bestRivalCell === noRivalCell).length,
    scored: book.scored(),
    breakEven: {
      name: options.breakEven,
      lowest: breakEvens[0]!,
      highest: breakEvens.at(-1)!,
      count: breakEvens.length,
    },
    dimensions,
    policies: policyNames.map((name, policy) => ({
      name,
      surplusHundredths: ends[policy]!,
      share: ends[policy]! / ends.at(-1)!,
      weight: weights[policy - 2] ?? null,
    })),
    fixedMarkupHundredths: markup,
    segments,
    overTime: {
      auctions: at,
      surplusHundredths: policyNames.map((_name, policy) => surpluses.map((point) => point[policy]!)),
    },
    weights: {
      auctions: at,
      readings: readingNames.map((_name, place) => readingWeights.map((point) => point[place]!)),
      segments: segmentWeights,
    },
    calibration: book.calibration(),
    choice: choose(auctions, shown.keys, segment, { learner, plain, breakEvenHundredths }),
  };
  return { kind: 'backtest', backtest };
}
