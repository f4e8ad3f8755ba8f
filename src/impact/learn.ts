/**
 * The judge of what the desk learns: on recorded auctions, the surplus that its bids would have earned as a share of what
 * somebody earns who knows the true distribution. The policy is the desk's own: `curveOf` and `lessonsOf` of `bidding/`.
 * The plain histogram of the best rival rate runs beside it on the same draws. The file has no clock: decay counts auctions,
 * unless it is said how many there were a day.
 */
import { curveOf, curveWithReadings, lessonsOf } from '../bidding/learning.ts';
import {
  cellCount,
  type EpochMs,
  maxRateHundredths,
  minRateHundredths,
  type RateHundredths,
} from '../domain/glossary.ts';
import { cellIndex, emptyHistogram, foldSums, type Histogram } from '../domain/histogram.ts';
import type { Trial, TrialAcceptance } from '../domain/offer.ts';
import type { Layout } from '../pricing/additive.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { bestRates, surplusOf, takenAt } from '../pricing/trial.ts';
import {
  type CurveWithReadings,
  createShared,
  type LearntCurve,
  priorDistribution,
  type SharedCurves,
  tailor,
  winOf,
} from '../pricing/win-curve.ts';
import { wholeMarket } from '../rules/keys.ts';
import { type Interval, intervalsOfDraws, intervalsOfShares } from './bootstrap.ts';
import { chanceOf } from './chance.ts';
import { type BestRival, dimensionsOf, featuresOf, keysOf, type RecordedAuction } from './recorded-auctions.ts';

/** Break-evens between quantiles of the best rival rates, from where wins are cheap to where they are dear. */
const breakEvenRanges = { low: [-0.75, 0.5], mid: [-0.25, 1], high: [0.25, 1.25] } as const;
export type BreakEven = keyof typeof breakEvenRanges;
export const breakEvenNames: readonly BreakEven[] = ['low', 'mid', 'high'];

export const batch = 20;
const sampleSizes = [50, 100, 500, 1_000] as const;
const learningBreakEvens = 401;
export const liveBreakEvens = 41;
/** On so many of them the policies are tried meanwhile, as the desk does on its own. */
const triedBreakEvens = 5;
/** Before it the desk knows too little to be judged. */
export const firstScored = 60;
/** Fewer cannot be judged: nothing would be scored. */
export const leastAuctions = 100;

type Figures = 'mean' | 'p05' | 'histogramMean' | 'histogramP05';
/** Intervals over the draws. */
type Shares = Record<Figures, number> & { interval: Record<Figures, Interval> };

type LiveFigures = 'live' | 'histogramLive' | 'liveWithSegments' | 'fixedMarkup';

export type LearnReport = {
  auctions: number;
  breakEven: Record<
    BreakEven,
    Record<LiveFigures, number> & {
      learning: Record<string, Shares>;
      /** Over batches of the file, drawn anew. */
      interval: Record<LiveFigures, Interval>;
    }
  >;
};

/** When auctions ended and when their results came. */
export type FileClock = { auctionsADay: number; halfLifeMs: number; delayMs: number };

export type LearnOptions = {
  winCurve: PricingSettings['winCurve'];
  draws: number;
  seed: number;
  /** Null or left out: decay counts auctions, results come with their batch. */
  clock?: FileClock | null;
  /** What is won is worth its surplus times this; left out: every won loan is taken. */
  acceptance?: TrialAcceptance;
};

const dayMs = 86_400_000;

/** When the auction in this place of the file ended. */
function endedAt(place: number, clock: FileClock | null | undefined): EpochMs {
  return clock === null || clock === undefined ? 0 : Math.round((place * dayMs) / clock.auctionsADay);
}

/** The distribution of the best rival rate over cells and the gaps between, as a plain histogram has it. */
export function createPlain() {
  const counts = new Float64Array(2 * cellCount);
  let total = 0;
  return {
    add: ({ bestRivalCell, bestRivalOffGrid }: BestRival) => {
      counts[cellIndex(bestRivalCell, bestRivalOffGrid)]! += 1;
      total += 1;
    },
    win: () => winOf(counts.map((count) => count / total)),
  };
}

export function plainWin(auctions: Iterable<BestRival>): Float64Array {
  const plain = createPlain();
  for (const auction of auctions) plain.add(auction);
  return plain.win();
}

/** Equally spaced midpoints of the range, ascending; it is the range that is kept within 1 … 490. */
export function breakEvensOf(auctions: readonly BestRival[], name: BreakEven, count: number): Float64Array {
  const sorted = auctions.map(({ bestRivalCell }) => bestRivalCell).sort((left, right) => left - right);
  const quantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  const [low, high] = [quantile(0.02), quantile(0.6)];
  const [from, to] = breakEvenRanges[name].map((place) => Math.min(490, Math.max(1, low + place * (high - low)))) as [
    number,
    number,
  ];
  return Float64Array.from({ length: count }, (_, index) => from + ((index + 0.5) / count) * (to - from));
}

function triedOf(breakEvens: Float64Array): number[] {
  return Array.from({ length: triedBreakEvens }, (_, index) =>
    Math.round(breakEvens[Math.floor(((index + 0.5) / triedBreakEvens) * breakEvens.length)]!),
  );
}

/** Expected surplus over all break-evens of bids made by `win`, where `truth` is the true curve and `taken` what is taken. */
function expectedSurplus(
  win: Float64Array,
  truth: Float64Array,
  breakEvens: Float64Array,
  taken: Float64Array = takenAt(undefined),
): number {
  let sum = 0;
  for (const [index, rate] of bestRates(win, breakEvens, taken).entries()) {
    sum += (rate - breakEvens[index]!) * truth[rate]! * taken[rate]!;
  }
  return sum;
}

/** Realised surplus over all break-evens. */
function realised(
  rates: Int32Array,
  breakEvens: Float64Array,
  { bestRivalCell, bestRivalOffGrid }: BestRival,
  taken: Float64Array,
): number {
  let sum = 0;
  for (let index = 0; index < rates.length; index += 1) {
    const rate = rates[index]!;
    sum += surplusOf(rate, breakEvens[index]!, bestRivalCell, bestRivalOffGrid) * taken[rate]!;
  }
  return sum;
}

export function markedUp(breakEven: number, markup: number): number {
  return Math.min(maxRateHundredths, Math.max(minRateHundredths, Math.round(breakEven + markup)));
}

/** The best `r = c + k` for one `k`, and what it earns as a share of the clairvoyant's. */
export function fixedMarkup(
  truth: Float64Array,
  breakEvens: Float64Array,
  taken: Float64Array = takenAt(undefined),
): { markup: number; share: number } {
  let most = 0;
  let best = 0;
  for (let markup = 0; markup <= maxRateHundredths; markup += 1) {
    let sum = 0;
    for (const breakEven of breakEvens) {
      const rate = markedUp(breakEven, markup);
      sum += (rate - breakEven) * truth[rate]! * taken[rate]!;
    }
    if (sum > most) {
      most = sum;
      best = markup;
    }
  }
  return { markup: best, share: most / expectedSurplus(truth, truth, breakEvens, taken) };
}

/** The desk's statistics and curves, without its log. */
export function createLearner(
  winCurve: LearnOptions['winCurve'],
  breakEvens: Float64Array,
  options: {
    halfLifeMs?: number | undefined;
    statistics?: Map<string, Histogram>;
    acceptance?: TrialAcceptance | undefined;
  } = {},
) {
  const { halfLifeMs = Number.POSITIVE_INFINITY, statistics = new Map<string, Histogram>(), acceptance } = options;
  const inputs = {
    prior: priorDistribution(winCurve.prior),
    priorWeight: winCurve.priorWeight,
    shrinkage: winCurve.shrinkage,
    smoothing: winCurve.smoothing,
    halfLifeMs,
    breakEvens: triedOf(breakEvens),
    ...(acceptance !== undefined && { acceptance }),
  };
  const histogramAt = (key: string, at: EpochMs): Histogram => {
    const histogram = statistics.get(key) ?? emptyHistogram(at);
    statistics.set(key, histogram);
    return histogram;
  };
  // To look a million names up takes longer than to fold: those of one list of keys are the same every time.
  const taught = new WeakMap<readonly string[], Histogram[]>();
  const made = new WeakMap<SharedCurves, Map<string, LearntCurve>>();
  return {
    curve: (
      segmentKeys: readonly string[],
      shared: SharedCurves,
      at: EpochMs = 0,
      layout: Layout | null = null,
    ): LearntCurve => curveOf(segmentKeys, statistics, { ...inputs, at, shared, layout }),
    decide: (
      segmentKeys: readonly string[],
      features: { layout: Layout | null; levels: readonly number[] },
      shared: SharedCurves,
      at: EpochMs = 0,
    ): { win: Float64Array; trial: Trial } => {
      const name = segmentKeys.at(-1)!;
      const known = made.get(shared) ?? new Map<string, LearntCurve>();
      made.set(shared, known);
      const { layout, levels } = features;
      const curve = known.get(name) ?? curveOf(segmentKeys, statistics, { ...inputs, at, shared, layout });
      known.set(name, curve);
      const { curve: own, trial } = tailor(curve, levels);
      return { win: own.win, trial };
    },
    /** The curve before it is tailored. */
    withReadings: (segmentKeys: readonly string[], layout: Layout | null, shared: SharedCurves): CurveWithReadings =>
      curveWithReadings(segmentKeys, statistics, { ...inputs, at: 0, shared, layout }),
    /** `wonHundredths`: what we won with, as published with the result. */
    learn: (
      { bestRivalCell, bestRivalOffGrid, wonHundredths = null }: BestRival & { wonHundredths?: RateHundredths | null },
      segmentKeys: readonly string[],
      trial: Trial | null,
      at: EpochMs = 0,
    ) => {
      const seen = { bestRivalCell, bestRivalOffGrid, wonHundredths };
      const lessons = lessonsOf({ segmentKeys, trial, ...seen, at, halfLifeMs });
      for (const lesson of lessons) {
        if (lesson.kind !== 'learn') continue;
        const known = taught.get(lesson.keys) ?? lesson.keys.map((key) => histogramAt(key, at));
        taught.set(lesson.keys, known);
        for (const histogram of known) foldSums(histogram, lesson.additions, at, lesson.halfLives);
      }
    },
    copy: () => createLearner(winCurve, breakEvens, { ...options, statistics: structuredClone(statistics) }),
  };
}

type Learner = ReturnType<typeof createLearner>;

function sharesOf(policy: readonly number[], histogram: readonly number[]): Shares {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const p05 = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.05)]!;
  const [ofPolicy, ofHistogram] = [intervalsOfDraws(policy), intervalsOfDraws(histogram)];
  return {
    mean: mean(policy),
    p05: p05(policy),
    histogramMean: mean(histogram),
    histogramP05: p05(histogram),
    interval: {
      mean: ofPolicy.mean,
      p05: ofPolicy.p05,
      histogramMean: ofHistogram.mean,
      histogramP05: ofHistogram.p05,
    },
  };
}

const market = [wholeMarket];

/** Draws without replacement, folded in batches in drawn order; a smaller sample is the beginning of a larger one. */
export function measureLearning(
  auctions: readonly RecordedAuction[],
  options: LearnOptions,
  onDraw: (draw: number) => void,
): Record<BreakEven, Record<string, Shares>> {
  const truth = plainWin(auctions);
  const { clock, acceptance } = options;
  const taken = takenAt(acceptance);
  const sizes: readonly number[] = sampleSizes.filter((size) => size <= auctions.length);
  const grids = breakEvenNames.map((name) => {
    const breakEvens = breakEvensOf(auctions, name, learningBreakEvens);
    const found = new Map(sizes.map((size) => [size, { policy: [] as number[], histogram: [] as number[] }]));
    return { name, breakEvens, clairvoyant: expectedSurplus(truth, truth, breakEvens, taken), found };
  });
  const order = Int32Array.from(auctions.keys());
  const chance = chanceOf(options.seed);
  const largest = sizes.at(-1) ?? 0;
  for (let draw = 0; draw < options.draws; draw += 1) {
    onDraw(draw);
    for (let place = 0; place < largest; place += 1) {
      const other = place + Math.floor(chance() * (order.length - place));
      [order[place], order[other]] = [order[other]!, order[place]!];
    }
    const plain = createPlain();
    const learners = grids.map(({ breakEvens }) =>
      createLearner(options.winCurve, breakEvens, { halfLifeMs: clock?.halfLifeMs, acceptance }),
    );
    const fold = (folding: readonly Learner[], from: number, to: number) => {
      const shared = createShared();
      for (const learner of folding) {
        const trial = from === 0 ? null : learner.curve(market, shared, endedAt(from, clock)).trial;
        for (let place = from; place < to; place += 1) {
          learner.learn(auctions[order[place]!]!, market, trial, endedAt(place, clock));
        }
      }
    };
    const score = (scored: readonly Learner[], size: number) => {
      const shared = createShared();
      const win = plain.win();
      for (const [index, { breakEvens, clairvoyant, found }] of grids.entries()) {
        const { policy, histogram } = found.get(size)!;
        const curve = scored[index]!.curve(market, shared, endedAt(size, clock)).win;
        policy.push(expectedSurplus(curve, truth, breakEvens, taken) / clairvoyant);
        histogram.push(expectedSurplus(win, truth, breakEvens, taken) / clairvoyant);
      }
    };
    let folded = 0;
    let plainFolded = 0;
    for (const size of sizes) {
      for (; folded + batch <= size; folded += batch) fold(learners, folded, folded + batch);
      for (; plainFolded < size; plainFolded += 1) plain.add(auctions[order[plainFolded]!]!);
      if (folded === size) score(learners, size);
      else {
        // The last batch of this sample is short; the larger samples go on without it.
        const copies = learners.map((learner) => learner.copy());
        fold(copies, folded, size);
        score(copies, size);
      }
    }
  }
  return Object.fromEntries(
    grids.map(({ name, found }) => [
      name,
      Object.fromEntries(sizes.map((size) => [size, sharesOf(found.get(size)!.policy, found.get(size)!.histogram)])),
    ]),
  ) as Record<BreakEven, Record<string, Shares>>;
}

type Live = { policy: number; histogram: number; interval: { policy: Interval; histogram: Interval } };

/**
 * The file in order, results fed back in batches; from `from` on every auction is scored at 41 break-evens. The clairvoyant
 * knows the distribution of each stretch that ends before one of `bounds`, and bids the best fixed rates there.
 */
export function measureLive(
  auctions: readonly RecordedAuction[],
  name: BreakEven,
  options: Pick<LearnOptions, 'winCurve' | 'clock' | 'acceptance'>,
  run: { from: number; dimensions: readonly string[]; bounds: readonly number[] },
): Live {
  const breakEvens = breakEvensOf(auctions, name, liveBreakEvens);
  const keyLists = auctions.map((auction) => keysOf(auction, run.dimensions));
  const { layout, levelsOf } = featuresOf(keyLists);
  const { clock, acceptance } = options;
  const taken = takenAt(acceptance);
  const learner = createLearner(options.winCurve, breakEvens, { halfLifeMs: clock?.halfLifeMs, acceptance });
  const plain = createPlain();
  let best = 0;
  const stretches = [...run.bounds, auctions.length].map((to, place) => {
    const stretch = auctions.slice(place === 0 ? run.from : run.bounds[place - 1]!, to);
    const truth = plainWin(stretch);
    best += expectedSurplus(truth, truth, breakEvens, taken) * stretch.length;
    return { to, rates: bestRates(truth, breakEvens, taken) };
  });
  const earned = { policy: 0, histogram: 0 };
  const rows: number[][] = [];
  const waiting: { place: number; trial: Trial }[] = [];
  let known = 0;
  for (let start = 0; start < auctions.length; start += batch) {
    const at = endedAt(start, clock);
    const end = at - (clock?.delayMs ?? 0);
    for (; known < waiting.length && endedAt(waiting[known]!.place, clock) <= end; known += 1) {
      const { place, trial } = waiting[known]!;
      learner.learn(auctions[place]!, keyLists[place]!, trial, endedAt(place, clock));
      plain.add(auctions[place]!);
    }
    const now = auctions.slice(start, start + batch);
    const scored = start + batch > run.from;
    const plainRates = scored && known > 0 ? bestRates(plain.win(), breakEvens, taken) : null;
    const shared = createShared();
    const decided = new Map<string, { trial: Trial; rates: Int32Array | null }>();
    const row = [0, 0, 0];
    for (const [index, auction] of now.entries()) {
      const place = start + index;
      const keys = keyLists[place]!;
      const special = keys.at(-1)!;
      let decision = decided.get(special);
      if (decision === undefined) {
        const { win, trial } = learner.decide(keys, { layout, levels: levelsOf(keys) }, shared, at);
        decision = { trial, rates: scored ? bestRates(win, breakEvens, taken) : null };
        decided.set(special, decision);
      }
      waiting.push({ place, trial: decision.trial });
      if (place < run.from || decision.rates === null) continue;
      const ideal = stretches.find(({ to }) => place < to)!.rates;
      row[0]! += realised(decision.rates, breakEvens, auction, taken);
      row[1]! += plainRates === null ? 0 : realised(plainRates, breakEvens, auction, taken);
      row[2]! += realised(ideal, breakEvens, auction, taken);
    }
    if (!scored) continue;
    earned.policy += row[0]!;
    earned.histogram += row[1]!;
    rows.push(row);
  }
  const [policy, histogram] = intervalsOfShares(rows) as [Interval, Interval];
  return { policy: earned.policy / best, histogram: earned.histogram / best, interval: { policy, histogram } };
}

/** Interval of what the best fixed mark-up earns as a share of the clairvoyant's; neither is chosen anew. */
function intervalOfMarkup(
  auctions: readonly BestRival[],
  rates: { markup: number; truth: Float64Array; breakEvens: Float64Array; taken: Float64Array },
): Interval {
  const { markup, truth, breakEvens, taken } = rates;
  const [fixed, ideal] = [
    Int32Array.from(breakEvens, (breakEven) => markedUp(breakEven, markup)),
    bestRates(truth, breakEvens, taken),
  ];
  const rows: number[][] = [];
  for (const [place, auction] of auctions.entries()) {
    if (place % batch === 0) rows.push([0, 0]);
    const row = rows.at(-1)!;
    row[0]! += realised(fixed, breakEvens, auction, taken);
    row[1]! += realised(ideal, breakEvens, auction, taken);
  }
  return intervalsOfShares(rows)[0]!;
}

/** Every measure of one file. Synchronous, some ten seconds for 10⁴ auctions and 400 draws. At least `leastAuctions` are needed. */
export function measureLearnt(
  auctions: readonly RecordedAuction[],
  options: LearnOptions,
  onProgress: (done: number, of: number) => void,
): LearnReport {
  const steps = options.draws + 2 * breakEvenNames.length;
  const learning = measureLearning(auctions, options, (draw) => onProgress(draw, steps));
  const truth = plainWin(auctions);
  const taken = takenAt(options.acceptance);
  const dimensions = dimensionsOf(auctions);
  const half = Math.floor(auctions.length / 2);
  const breakEven = {} as LearnReport['breakEven'];
  for (const [place, name] of breakEvenNames.entries()) {
    onProgress(options.draws + 2 * place, steps);
    const live = measureLive(auctions, name, options, { from: firstScored, dimensions: [], bounds: [] });
    onProgress(options.draws + 2 * place + 1, steps);
    const withSegments = measureLive(auctions, name, options, { from: half, dimensions, bounds: [] });
    const breakEvens = breakEvensOf(auctions, name, learningBreakEvens);
    const { markup, share } = fixedMarkup(truth, breakEvens, taken);
    breakEven[name] = {
      learning: learning[name],
      live: live.policy,
      histogramLive: live.histogram,
      liveWithSegments: withSegments.policy,
      fixedMarkup: share,
      interval: {
        live: live.interval.policy,
        histogramLive: live.interval.histogram,
        liveWithSegments: withSegments.interval.policy,
        fixedMarkup: intervalOfMarkup(auctions, { markup, truth, breakEvens, taken }),
      },
    };
  }
  onProgress(steps, steps);
  return { auctions: auctions.length, breakEven };
}
