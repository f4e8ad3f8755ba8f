/**
 * Win curves: for each rate, the probability that no rival is better. Built from the published bids of ended auctions:
 * the mean of what several readings of the histograms say, for several segments, each shrunk to its parent.
 */
import { hash } from 'node:crypto';
import { cellCount, type EpochMs, maxRateHundredths, minRateHundredths, noRivalCell } from '../domain/glossary.ts';
import { decayFactor, type HalfLives, type Histogram, timeAlone } from '../domain/histogram.ts';
import type { Tailoring, Trial, TrialAcceptance } from '../domain/offer.ts';
import {
  type AdditiveStatistics,
  additiveReadings,
  driftHalfLives,
  type Effects,
  effectsOf,
  locationsOf,
  massesOf,
  middleCell,
  publishedHalfLives,
} from './additive.ts';
import { type Extent, extentOf, levelOf, moveWin, narrowWin, scaleTo, stepTo } from './alignment.ts';
import { digits, type Habits, habitsFrom, habitsOf, noHabits } from './habits.ts';
import type { PriorSettings } from './settings.ts';
import { type Counts, gapsOf, gather, type Mixture, noGaps, type Spread, smoothedWin, spreadOf } from './smoothing.ts';
import { readings, scoreHalfLives, smoothings, tryOut, weighReadings, weighSegments, windows } from './trial.ts';

export type WinCurve = {
  /** SHA-256 of the curve's bytes, in hex: the curve is stored once under it. */
  hash: string;
  /** By cell: P(best rival > cell) + ½ · P(best rival = cell). */
  win: Float64Array;
  /** Lowest rate at which the curve is at most one half. */
  medianHundredths: number;
  /** Share of auctions in which nobody else bids. */
  noRivalShare: number;
};

function describe(win: Float64Array, curveHash: string): WinCurve {
  let medianHundredths = noRivalCell;
  for (let cell = 0; cell < cellCount; cell += 1) {
    if (win[cell]! <= 0.5) {
      medianHundredths = cell;
      break;
    }
  }
  return { hash: curveHash, win, medianHundredths, noRivalShare: 2 * win[noRivalCell]! };
}

function hashOf(win: Float64Array): string {
  return hash('sha256', win, 'hex');
}

/** The curve of a distribution over cells, as `priorDistribution` makes them. */
export function curveOf(distribution: Float64Array): WinCurve {
  const win = winOf(distribution);
  return describe(win, hashOf(win));
}

/** Quantile of one lender's rates at which `share` of them lie below; linear between those given and beyond them. */
function shareBelow(rateHundredths: number, quantiles: PriorSettings['quantiles']): number {
  let index = 1;
  while (index < quantiles.length - 1 && rateHundredths > quantiles[index]!.rateHundredths) index += 1;
  const low = quantiles[index - 1]!;
  const high = quantiles[index]!;
  const slope = (high.share - low.share) / (high.rateHundredths - low.rateHundredths);
  return Math.min(1, Math.max(0, low.share + slope * (rateHundredths - low.rateHundredths)));
}

/**
 * Distribution over cells, adding up to 1, of the best of `rivals` independent lenders. Rates above the grid cannot be
 * bid and count as no rival.
 */
export function priorDistribution(settings: PriorSettings): Float64Array {
  const prior = new Float64Array(cellCount);
  let survival = 1;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const next = (1 - shareBelow(cell + 0.5, settings.quantiles)) ** settings.rivals;
    prior[cell] = survival - next;
    survival = next;
  }
  prior[noRivalCell] = survival;
  return prior;
}

/** What is known of one segment. Null: nothing has been learnt. */
type SegmentEvidence = {
  key: string;
  /** One for each window, as `trial.ts` lists them. */
  histograms: readonly (Histogram | null)[];
};

export type WinCurveInput = {
  /** The whole market first, the most special segment last. */
  segments: readonly SegmentEvidence[];
  /** Scores of the policies, of all requests with such segments, then of those in the most special one. */
  scores: readonly (Histogram | null)[];
  /** As `priorDistribution` makes it; callers keep it. */
  prior: Float64Array;
  /** Results that the prior counts for at first in the whole market, and a parent in its child. */
  priorWeight: number;
  shrinkage: number;
  /** See `smoothCounts`; 0 for none. */
  smoothing: number;
  at: EpochMs;
  halfLifeMs: number;
  /** On which the policies are tried, ascending; null: some that the curve itself suggests. */
  breakEvens: readonly number[] | null;
  /** By which the bids on trial are chosen and scored; left out: what is won is taken. */
  acceptance?: TrialAcceptance;
  /** With other curves made of the same statistics. */
  shared?: SharedCurves;
  /** What the features of requests have taught; absent: they are not looked at. */
  additive?: AdditiveStatistics;
};

/** A curve with what it was made of. */
export type LearntCurve = WinCurve & {
  trial: Trial;
  /** By reading, by segment, and by additive reading; segments and additive readings add up to 1. */
  weights: { readings: readonly number[]; segments: readonly number[]; additive: readonly number[] };
  /** Null: features are not looked at. */
  additive: Additive | null;
};

/** Where the rivals of a request stand by its features, and how they spread around that. */
type Additive = { layout: string; effects: Effects; shapes: Shapes };

/** Win curves of the additive readings' errors, no error being on `middleCell`, and the digits that rates are at. */
export type Shapes = { hash: string; wins: readonly Float64Array[]; byDigit: readonly number[]; habits: Habits };

/** What is made in one segment in the mean of the readings. What its children start from is by window, times its readings' weights. */
type Mixed = {
  byWindow: readonly Float64Array[];
  win: Float64Array;
  /** Where the rates of each window lie; null until a child asks. */
  extents: readonly (Extent | null)[] | null;
};

/** The whole market as each reading alone sees it, by window and by smoothing, and the digits that it likes. */
type Market = { readingWins: readonly Float64Array[]; habits: Habits };

/** What curves made of the same statistics have in common, by segment, and the memory for it, which costs more to get than to fill. */
export type SharedCurves = {
  market: Map<string, Market>;
  /** Kept when the rest is cleared: see `knownAdditive`. */
  additive: Map<string, { made: Additive; version: string; at: EpochMs }>;
  /** For each list of weights of the readings. */
  mixed: { byReading: readonly number[]; bySegment: Map<string, Mixed> }[];
  room: Float64Array[];
  used: number;
};

export function createShared(): SharedCurves {
  return { market: new Map(), additive: new Map(), mixed: [], room: [], used: 0 };
}

/** Before curves of other statistics are made: `readingWins` of those made so far are overwritten. */
export function clearShared(shared: SharedCurves): void {
  shared.market.clear();
  shared.mixed.length = 0;
  shared.used = 0;
}

/** Room for a curve, to be filled. */
function takeRoom(shared: SharedCurves): Float64Array {
  const known = shared.room[shared.used];
  shared.used += 1;
  if (known !== undefined) return known;
  const made = new Float64Array(cellCount);
  shared.room.push(made);
  return made;
}

type Window = (typeof windows)[number];

/** What is known of a segment. Null where that is nothing: what is known of the parent stands for it too. */
function countIn(
  histogram: Histogram | null | undefined,
  { halfLifeResults }: Window,
  { at, halfLifeMs }: WinCurveInput,
): Counts | null {
  if (histogram === null || histogram === undefined) return null;
  return gather(histogram.cells, decayFactor(histogram, at, { halfLifeMs, halfLifeResults }));
}

type Parent = {
  win: Float64Array;
  /** In results. */
  weight: number;
  /** Null: it stays where it is. */
  extent: Extent | null;
};

/**
 * Fills `wins` with the win curves of `(counts + m · parent) / (n + m)`, one for each mixture, times what its shares add up
 * to; a parent whose extent is told is moved towards the counts and narrowed to them. `hardEdges`: they are looked for.
 */
function shrink(
  counts: Counts,
  parent: Parent,
  habits: Habits,
  into: { mixtures: readonly Mixture[]; wins: readonly Float64Array[]; hardEdges: boolean },
): void {
  const { weight, extent } = parent;
  const total = counts.results + weight;
  const spread = spreadOf(counts);
  const known = total > 0 ? total : 1;
  const win = extent === null ? parent.win : aligned(parent.win, extent, { spread, weight, habits });
  const start = { win, weight: weight / known, own: 1 / known };
  const gaps = into.hardEdges ? gapsOf(counts, spread) : noGaps;
  for (const [place, mixture] of into.mixtures.entries()) {
    smoothedWin(counts, spread, mixture, { start, habits, gaps }, into.wins[place]!);
  }
}

/** A parent's curve brought to where the results of its child lie. */
function aligned(
  win: Float64Array,
  extent: Extent,
  { spread, weight, habits }: { spread: Spread; weight: number; habits: Habits },
): Float64Array {
  const step = stepTo(spread, extent.level, weight);
  const moved = step === 0 ? win : moveWin(win, step, habits);
  return narrowWin(moved, extent.level + step, scaleTo(spread, extent, weight));
}

/** Fills `sum` with the weighted sum of the curves, two at a time; where weights add up to 1 but for rounding, so does it. */
function addUp(sum: Float64Array, curves: readonly Float64Array[], weights: readonly number[]): Float64Array {
  for (let place = 0; place < curves.length; place += 2) {
    const isPair = place + 1 < curves.length;
    const first = curves[place]!;
    const firstWeight = weights[place]!;
    const second = isPair ? curves[place + 1]! : first;
    const secondWeight = isPair ? weights[place + 1]! : 0;
    if (place === 0) {
      for (let cell = 0; cell < cellCount; cell += 1) {
        sum[cell] = firstWeight * first[cell]! + secondWeight * second[cell]!;
      }
    } else {
      for (let cell = 0; cell < cellCount; cell += 1) {
        sum[cell]! += firstWeight * first[cell]! + secondWeight * second[cell]!;
      }
    }
  }
  return sum;
}

/** Shares add up to 1 but for rounding. The curve never rises. */
function atMostOne(win: Float64Array): Float64Array {
  for (let cell = 0; cell < cellCount && win[cell]! > 1; cell += 1) win[cell] = 1;
  return win;
}

/** Win curve of a distribution over cells. A rate between two cells beats the upper one, loses to the lower and ties with neither. */
export function winOf(distribution: Float64Array): Float64Array {
  const win = new Float64Array(cellCount);
  const gaps = distribution.length > cellCount;
  let above = 0;
  for (let cell = noRivalCell; cell >= 0; cell -= 1) {
    const here = distribution[cell]!;
    win[cell] = above + here / 2;
    above += gaps ? here + distribution[cellCount + cell]! : here;
  }
  return atMostOne(win);
}

/** Place of the segment that one starts from: its key less the last dimension. */
function parentOf(place: number, segments: readonly SegmentEvidence[]): number {
  const { key } = segments[place]!;
  const parent = key.slice(0, Math.max(0, key.lastIndexOf('|')));
  const found = segments.findIndex((segment) => segment.key === parent);
  return found < 0 || found >= place ? 0 : found;
}

/** Positions of break-evens to try policies on before any request was priced: from below the usual best rates to their middle. */
const tried = [-0.125, 0.125, 0.375, 0.625, 0.875];

function suggestedBreakEvens(win: Float64Array): number[] {
  const quantile = (share: number) => {
    let cell = minRateHundredths;
    while (cell < maxRateHundredths && win[cell]! > 1 - share) cell += 1;
    return cell;
  };
  const [low, high] = [quantile(0.02), quantile(0.6)];
  return tried.map((place) => Math.min(490, Math.max(1, Math.round(low + place * (high - low)))));
}

/** A curve, and for the whole market what each reading alone makes of it. */
export type CurveWithReadings = { curve: LearntCurve; readingWins: readonly Float64Array[] };

export function buildWinCurve(input: WinCurveInput): LearntCurve {
  return buildWithReadings(input).curve;
}

/** The win curve of the prior, which is the same for all curves of a desk. */
let lately: { prior: Float64Array; win: Float64Array } = { prior: new Float64Array(0), win: new Float64Array(0) };

function winOfPrior(prior: Float64Array): Float64Array {
  if (lately.prior !== prior) lately = { prior, win: winOf(prior) };
  return lately.win;
}

function readMarket(segment: SegmentEvidence | undefined, input: WinCurveInput, shared: SharedCurves): Market {
  const { priorWeight, smoothing } = input;
  const win = winOfPrior(input.prior);
  const mixtures = smoothings.map(({ factor }) => [{ smoothing: factor * smoothing, share: 1 }]);
  const readingWins = readings.map(() => takeRoom(shared));
  let habits = noHabits;
  for (const [place, window] of windows.entries()) {
    const wins = readingWins.slice(place * mixtures.length, (place + 1) * mixtures.length);
    const counts = countIn(segment?.histograms[place], window, input);
    if (counts !== null) {
      // Digits are learnt from all that is remembered.
      if (place === 0) habits = habitsOf(counts, takeRoom(shared));
      // A guess about the whole market gives way to what the market itself says.
      const weight = priorWeight === 0 ? 0 : priorWeight ** 2 / (priorWeight + counts.results);
      shrink(counts, { win, weight, extent: null }, habits, { mixtures, wins, hardEdges: true });
    }
    for (const made of wins) {
      if (counts === null) made.set(win);
      atMostOne(made);
    }
  }
  return { readingWins, habits };
}

const wholeParts = windows.map(() => 1);

function mixedOf(byWindow: readonly Float64Array[], shared: SharedCurves): Mixed {
  return { byWindow, win: atMostOne(addUp(takeRoom(shared), byWindow, wholeParts)), extents: null };
}

/** Readings of one window differ in nothing but the smoothing, which is linear: they are mixed before they are shrunk. */
function mixMarket(readingWins: readonly Float64Array[], byReading: readonly number[], shared: SharedCurves): Mixed {
  const byWindow = windows.map((_window, place) => {
    const [from, to] = [place * smoothings.length, (place + 1) * smoothings.length];
    return addUp(takeRoom(shared), readingWins.slice(from, to), byReading.slice(from, to));
  });
  return mixedOf(byWindow, shared);
}

/** Curves mixed by the same weights, by segment. */
function mixedBy(byReading: readonly number[], { mixed }: SharedCurves): Map<string, Mixed> {
  const known = mixed.find((each) => each.byReading.every((weight, place) => weight === byReading[place]));
  if (known !== undefined) return known.bySegment;
  const bySegment = new Map<string, Mixed>();
  mixed.push({ byReading, bySegment });
  return bySegment;
}

/** What all curves of one market are mixed with. */
type Making = { input: WinCurveInput; shared: SharedCurves; habits: Habits; byReading: readonly number[] };

function mixSegment(segment: SegmentEvidence, parent: Mixed, { input, shared, habits, byReading }: Making): Mixed {
  parent.extents ??= parent.byWindow.map(extentOf);
  const { extents } = parent;
  const byWindow = windows.map((window, place) => {
    const win = parent.byWindow[place]!;
    const counts = countIn(segment.histograms[place], window, input);
    if (counts === null) return win;
    const mixture = smoothings.map(({ factor }, step) => ({
      smoothing: factor * input.smoothing,
      share: byReading[place * smoothings.length + step]!,
    }));
    const own = takeRoom(shared);
    // Rivals' edges are the market's; to look for them in each segment costs more than it earns.
    const into = { mixtures: [mixture], wins: [own], hardEdges: false };
    shrink(counts, { win, weight: input.shrinkage, extent: extents[place]! }, habits, into);
    return own;
  });
  return mixedOf(byWindow, shared);
}

function knownOr<T>(known: Map<string, T>, name: string, make: () => T): T {
  const found = known.get(name) ?? make();
  known.set(name, found);
  return found;
}

/**
 * Posterior of each segment from its decayed counts and its parent's distribution: `(counts + m · parent) / (n + m)`, in
 * the mean of the readings; then the mean over segments, weighed by what their bids would have earned.
 */
export function buildWithReadings(input: WinCurveInput): CurveWithReadings {
  const { segments, at, shared = createShared() } = input;
  const levels = input.scores.map((known) => ({
    sums: known === null ? null : known.cells,
    factor: known === null ? 1 : decayFactor(known, at, scoreHalfLives),
  }));
  const byReading = weighReadings(levels[0]?.sums ?? null, levels[0]?.factor ?? 1);
  const market = segments[0]?.key ?? '';
  const { readingWins, habits } = knownOr(shared.market, market, () => readMarket(segments[0], input, shared));
  const making = { input, shared, habits, byReading };
  const known = mixedBy(byReading, shared);
  const mixed = [knownOr(known, market, () => mixMarket(readingWins, byReading, shared))];
  for (let place = 1; place < segments.length; place += 1) {
    const segment = segments[place]!;
    const make = () => mixSegment(segment, mixed[parentOf(place, segments)]!, making);
    mixed.push(knownOr(known, segment.key, make));
  }
  const wins = mixed.map((segment) => segment.win);
  const additive =
    input.additive === undefined
      ? null
      : knownAdditive(market, input.additive, mixed[0]!.win, { input, shared, habits });
  const others = additive === null ? [] : massesOf(additive.effects);
  const weighed = weighSegments(wins.length, levels, others);
  // Recorded with each decision: six digits are enough.
  const ofAdditive = weighed.slice(wins.length).map((weight) => Number(weight.toPrecision(6)));
  const ownWeights = weighed.slice(0, wins.length);
  const ofSegments = ownWeights.reduce((sum, weight) => sum + weight, 0);
  const shares = additive === null ? ownWeights : ownWeights.map((weight) => weight / ofSegments);
  const left = ofAdditive.reduce((rest, weight) => rest - weight, 1);
  const bySegment = additive === null ? shares : shares.map((share) => share * left);
  const win = atMostOne(addUp(new Float64Array(cellCount), wins, shares));
  const trial = tryOut([...readingWins, ...wins, win], input.breakEvens ?? suggestedBreakEvens(win), input.acceptance);
  const weights = { readings: byReading, segments: bySegment, additive: ofAdditive };
  return { curve: { ...describe(win, hashOf(win)), trial, weights, additive }, readingWins };
}

/** What features have taught is made again when they have taught more, or when it is so old that it fades. */
const additiveMaxAgeMs = 60_000;

function knownAdditive(
  market: string,
  statistics: AdditiveStatistics,
  win: Float64Array,
  making: Omit<Making, 'byReading'>,
): Additive {
  const { at, smoothing, shrinkage, halfLifeMs } = making.input;
  const { layout, moments, drift, won, errors } = statistics;
  const version = [
    layout.name,
    smoothing,
    shrinkage,
    halfLifeMs,
    ...[...moments, drift, won, ...errors].map((sums) => sums?.count ?? 0),
  ].join('/');
  const known = making.shared.additive.get(market);
  if (known !== undefined && known.version === version && Math.abs(at - known.at) < additiveMaxAgeMs) return known.made;
  const made = readAdditive(statistics, win, making);
  making.shared.additive.set(market, { made, version, at });
  return made;
}

/**
 * Errors start from the spread of the whole market, narrowed by what the features have explained of it. Until a result is
 * known all requests are expected at the market's level.
 */
function readAdditive(
  { layout, moments, drift, won, errors }: AdditiveStatistics,
  win: Float64Array,
  { input, shared, habits }: Omit<Making, 'byReading'>,
): Additive {
  const { at, halfLifeMs, smoothing } = input;
  const sumsOf = (known: Histogram | null, halfLives: HalfLives) =>
    known === null ? null : { cells: known.cells, factor: decayFactor(known, at, halfLives) };
  const level = levelOf(win) ?? middleCell;
  const effects = effectsOf(layout, {
    moments: moments.map((known) => sumsOf(known, timeAlone(halfLifeMs))),
    drift: sumsOf(drift, driftHalfLives),
    won: sumsOf(won, publishedHalfLives),
    errors: sumsOf(errors[0] ?? null, { halfLifeMs, halfLifeResults: additiveReadings[0].errorHalfLifeResults }),
  }) ?? {
    base: level,
    byColumn: new Float64Array(layout.columns),
    drift: 0,
    published: null,
    freshness: 0,
    driftOdds: 1,
    explained: 0,
  };
  const start = takeRoom(shared);
  const centred = moveWin(win, middleCell - Math.round(level), noHabits);
  start.set(narrowWin(centred, middleCell, Math.sqrt(1 - effects.explained)));
  // Round rates are no round errors: there is nothing that a plain histogram would keep.
  const mixture = [{ smoothing, share: 1 }];
  const wins = additiveReadings.map(({ errorHalfLifeResults }, place) => {
    const made = new Float64Array(cellCount);
    const known = errors[place] ?? null;
    if (known === null) made.set(start);
    else {
      const counts = gather(known.cells, decayFactor(known, at, { halfLifeMs, halfLifeResults: errorHalfLifeResults }));
      const { shrinkage } = input;
      const parent = { win: start, weight: shrinkage ** 2 / (shrinkage + counts.results), extent: null };
      shrink(counts, parent, noHabits, { mixtures: [mixture], wins: [made], hardEdges: false });
    }
    return atMostOne(made);
  });
  const byDigit = Array.from(habits.factors.subarray(0, digits));
  return { layout: layout.name, effects, shapes: shapesOf(wins, byDigit) };
}

function shapesOf(wins: readonly Float64Array[], byDigit: readonly number[]): Shapes {
  const bytes = shapeBytes(wins, byDigit);
  return { hash: hash('sha256', bytes, 'hex'), wins, byDigit, habits: habitsFrom(byDigit) };
}

function shapeBytes(wins: readonly Float64Array[], byDigit: readonly number[]): Float64Array {
  const bytes = new Float64Array(digits + wins.length * cellCount);
  bytes.set(byDigit);
  for (const [place, win] of wins.entries()) bytes.set(win, digits + place * cellCount);
  return bytes;
}

/** A curve for one request. */
export type TailoredCurve = { curve: WinCurve; trial: Trial; tailoring: Tailoring | null };

/** What requests have in common whose features put the additive readings at the same cells. */
type Mixing = { curve: WinCurve; tailoring: Tailoring; trial: Trial };

/** By the curve that is tailored, then by the cells; all are dropped together when there are too many. */
const mixings = { byCurve: new WeakMap<LearntCurve, Map<string, Mixing>>(), count: 0 };
/** Each takes about 5 kB. */
const maxMixings = 2_000;

function keepMixing(curve: LearntCurve, cells: string, mixing: Mixing): void {
  if (mixings.count >= maxMixings) {
    mixings.byCurve = new WeakMap();
    mixings.count = 0;
  }
  mixings.count += 1;
  const known = mixings.byCurve.get(curve) ?? new Map<string, Mixing>();
  known.set(cells, mixing);
  mixings.byCurve.set(curve, known);
}

/** The curve of a segment mixed with what the features of the request say; `levels` are columns of the layout. */
export function tailor(curve: LearntCurve, levels: readonly number[]): TailoredCurve {
  const { additive, trial } = curve;
  if (additive === null) return { curve, trial, tailoring: null };
  const { layout, effects, shapes } = additive;
  const locations = locationsOf(effects, levels);
  const cells = locations.join();
  let mixing = mixings.byCurve.get(curve)?.get(cells);
  if (mixing === undefined) {
    mixing = mixAt(curve, shapes, locations);
    keepMixing(curve, cells, mixing);
  }
  const { curve: mixed, tailoring } = mixing;
  const ofRequest = { layout, levels, locations: tailoring.locations };
  return { curve: mixed, trial: { ...mixing.trial, additive: ofRequest }, tailoring };
}

function mixAt(curve: LearntCurve, shapes: Shapes, locations: readonly number[]): Mixing {
  const { trial, weights } = curve;
  const tailoring = { shapesHash: shapes.hash, weights: weights.additive, locations };
  const mixed = mixTailored(curve, shapes, tailoring);
  const { breakEvens, rates, acceptance } = trial;
  // The last row is that of the curve that was not tailored.
  const before = { rates: rates.slice(0, rates.length - breakEvens.length), scale: trial.scale };
  return {
    curve: mixed,
    tailoring,
    trial: tryOut([...movedShapes, mixed.win], breakEvens, acceptance, before),
  };
}

/** Shapes where they were moved to last. */
const movedShapes = additiveReadings.map(() => new Float64Array(cellCount));

/** The same curve again, from what was stored. */
export function mixTailored(
  { win, hash: curveHash }: WinCurve,
  { wins, habits }: Shapes,
  { weights, locations }: Tailoring,
): WinCurve {
  const rest = weights.reduce((left, weight) => left - weight, 1);
  const curves = [win];
  for (const [place, shape] of wins.entries()) {
    const moved = movedShapes[place]!;
    moved.set(moveWin(shape, locations[place]! - middleCell, habits, noHabits));
    curves.push(moved);
  }
  const mixed = addUp(new Float64Array(cellCount), curves, [rest, ...weights]);
  return describe(atMostOne(mixed), curveHash);
}

/** Little-endian doubles in base64. */
export function encodeShapes({ wins, byDigit }: Shapes): string {
  return Buffer.from(shapeBytes(wins, byDigit).buffer).toString('base64');
}

/** Throws when the text does not hold the shapes that `expectedHash` names. */
export function decodeShapes(text: string, expectedHash: string): Shapes {
  const bytes = Buffer.from(text, 'base64');
  const count = (bytes.byteLength / 8 - digits) / cellCount;
  // An older program had fewer readings.
  if (!Number.isInteger(count) || count < 1 || count > additiveReadings.length) {
    throw new Error('stored shapes: wrong length; the record is damaged');
  }
  const numbers = new Float64Array(digits + count * cellCount);
  new Uint8Array(numbers.buffer).set(bytes);
  const wins = Array.from({ length: count }, (_, place) =>
    numbers.slice(digits + place * cellCount, digits + (place + 1) * cellCount),
  );
  const shapes = shapesOf(wins, Array.from(numbers.subarray(0, digits)));
  if (shapes.hash !== expectedHash) throw new Error('stored shapes: do not match their hash; the record is damaged');
  return shapes;
}

/** Little-endian doubles in base64. */
export function encodeWinCurve(curve: WinCurve): string {
  return Buffer.from(curve.win.buffer, curve.win.byteOffset, curve.win.byteLength).toString('base64');
}

/** Throws when the text does not hold the curve that `expectedHash` names. */
export function decodeWinCurve(text: string, expectedHash: string): WinCurve {
  const bytes = Buffer.from(text, 'base64');
  const win = new Float64Array(cellCount);
  if (bytes.byteLength !== win.byteLength) throw new Error('stored win curve: wrong length; the record is damaged');
  new Uint8Array(win.buffer).set(bytes);
  const curveHash = hashOf(win);
  if (curveHash !== expectedHash) throw new Error('stored win curve: does not match its hash; the record is damaged');
  return describe(win, curveHash);
}
