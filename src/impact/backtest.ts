/**
 * What the desk would have earned on recorded auctions, in their order: it decides, results come back in batches, it learns.
 * The policy is the desk's own, through `curveOf` and `lessonsOf` of `bidding/`; beside it stand each reading of the whole
 * market alone, the plain histogram, the best fixed mark-up in hindsight, and a clairvoyant that knows the distribution.
 */
import { noRivalCell } from '../domain/glossary.ts';
import { bestRates } from '../pricing/trial.ts';
import { createShared, tailor } from '../pricing/win-curve.ts';
import { wholeMarket } from '../rules/keys.ts';
import {
  type Book,
  createBook,
  type Learner,
  marketWin,
  type Plain,
  policyNames,
  readingNames,
} from './backtest-book.ts';
import type { Interval } from './bootstrap.ts';
import type { Calibration } from './calibration.ts';
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
  plainWin,
} from './learn.ts';
import { type FileFeatures, featuresOf, type Replayable, type ReplayedAuction } from './recorded-auctions.ts';

const mostPoints = 240;
/** Fewer say nothing about the distribution of a segment. */
const leastInSegment = 100;

/** Summed over auctions, mean over break-evens: hundredths of a percent. Weight: at the end; null for what the desk does not weigh. */
type PolicyResult = {
  name: string;
  surplusHundredths: number;
  share: number;
  /** Of the share, over batches drawn anew. */
  interval: Interval;
  weight: number | null;
};

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

export type BacktestOptions = {
  winCurve: LearnOptions['winCurve'];
  breakEven: BreakEven;
  /** Whose curve is shown at the end, with or without `all|`; null: the most frequent. */
  segment: string | null;
  /** A desk need not bid in every auction to learn from all: of longer records, whole batches in equal distances are decided. */
  mostDecided: number;
};

export type BacktestResult =
  | { kind: 'backtest'; backtest: Backtest }
  /** `--segment` names none of the record; some that are there, the most frequent first. */
  | { kind: 'unknown-segment'; known: readonly string[] };

/** Lets the record pass; returns what was noted on the way. */
function replay(
  auctions: readonly ReplayedAuction[],
  { learner, plain, book, mostDecided }: { learner: Learner; plain: Plain; book: Book; mostDecided: number },
  onProgress: (done: number, of: number) => void,
) {
  const every = Math.ceil(auctions.length / mostDecided);
  const stretch = Math.ceil((auctions.length - firstScored) / every / mostPoints);
  const at: number[] = [];
  const surpluses: number[][] = [];
  const readingWeights: (readonly number[])[] = [];
  let marked = 0;
  const mark = (place: number, weights: readonly number[]) => {
    marked = book.scored();
    at.push(place);
    surpluses.push(book.surpluses());
    readingWeights.push(weights);
    book.mark();
  };
  let lastWeights: readonly number[] = [];
  for (let start = 0; start < auctions.length; start += batch) {
    const now = auctions.slice(start, start + batch);
    const known = (start / batch) % every === 0 ? book.know(now, learner, plain) : null;
    if (known !== null) {
      for (const [index, auction] of now.entries()) if (start + index >= firstScored) book.score(known, auction);
      lastWeights = known.readingWeights;
      if (book.scored() - marked >= stretch) mark(start + now.length, lastWeights);
    }
    for (const auction of now) {
      const trial = known?.desk.get(auction.segmentKeys.at(-1)!)?.trial ?? null;
      learner.learn(auction, auction.segmentKeys, trial);
      plain.add(auction);
    }
    onProgress(start + now.length, auctions.length);
  }
  if (book.scored() > marked) mark(auctions.length, lastWeights);
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
  state: { learner: Learner; plain: Plain; features: FileFeatures; breakEvenHundredths: number },
): Choice {
  const { layout, levelsOf } = state.features;
  const { curve, readingWins } = state.learner.withReadings(keys, layout, createShared());
  const market = marketWin(readingWins, curve.weights.readings);
  const win = segment === wholeMarket ? market : tailor(curve, levelsOf(keys)).curve.win;
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

/** At least `leastAuctions` are needed. Some 0.2 ms a decision with a new curve, 10 µs for a result that is only learnt. */
export function runBacktest(
  { auctions, dimensions }: Replayable,
  options: BacktestOptions,
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
  const features = featuresOf(auctions.map(({ segmentKeys }) => segmentKeys));
  const book = createBook(breakEvens, truth, markup, features);
  const { at, surpluses, readingWeights } = replay(
    auctions,
    { learner, plain, book, mostDecided: options.mostDecided },
    onProgress,
  );
  const ends = book.surpluses();
  const intervals = book.intervals();
  const possible = ends.at(-1)!;
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
      share: ends[policy]! / possible,
      interval: intervals[policy]!,
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
    choice: choose(auctions, shown.keys, segment, { learner, plain, features, breakEvenHundredths }),
  };
  return { kind: 'backtest', backtest };
}
