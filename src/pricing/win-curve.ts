/**
 * Win curves: for each rate, the probability that no rival is better. Built from the published bids of ended auctions:
 * the mean of what several readings of the histograms say, for several segments, each shrunk to its parent.
 */
import { hash } from 'node:crypto';
import { cellCount, type EpochMs, maxRateHundredths, minRateHundredths, noRivalCell } from '../domain/glossary.ts';
import { decayFactor, type Histogram } from '../domain/histogram.ts';
import type { Trial, TrialAcceptance } from '../domain/offer.ts';
import type { PriorSettings } from './settings.ts';
import { smoothCounts, spreadOf } from './smoothing.ts';
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
  return hash('sha256', new Uint8Array(win.buffer, win.byteOffset, win.byteLength), 'hex');
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
  /** Distributions of segments that other curves made of the same statistics need too. */
  shared?: Map<string, Float64Array[]>;
};

/** A curve with what it was made of. */
export type LearntCurve = WinCurve & {
  trial: Trial;
  /** By reading, and by segment. */
  weights: { readings: readonly number[]; segments: readonly number[] };
};

const ownCounts = new Float64Array(2 * cellCount);

/** Adds to the parent's distributions, by reading, what the segment's own results say. */
function shrink(
  segment: SegmentEvidence,
  parents: readonly Float64Array[],
  weightBeside: (results: number) => number,
  size: number,
  input: WinCurveInput,
): Float64Array[] {
  const { at, halfLifeMs, smoothing } = input;
  const own: Float64Array[] = [];
  const counts = ownCounts.subarray(0, size);
  for (const [place, window] of windows.entries()) {
    const histogram = segment.histograms[place] ?? null;
    if (histogram === null) {
      own.push(...parents.slice(own.length, own.length + smoothings.length));
      continue;
    }
    counts.fill(0);
    const factor = decayFactor(histogram, at, { halfLifeMs, halfLifeResults: window.halfLifeResults });
    const { cells } = histogram;
    let results = 0;
    for (let index = 0; index < cells.length; index += 1) {
      if (cells[index] === 0) continue;
      const count = cells[index]! * factor;
      counts[index] = count;
      results += count;
    }
    const parentWeight = weightBeside(results);
    const total = results + parentWeight;
    const spread = spreadOf(mergedCells(counts));
    // One piece of memory for all: each would cost more to get than to fill.
    const made = new Float64Array(smoothings.length * size);
    for (const [step, { factor: width }] of smoothings.entries()) {
      const parent = parents[own.length]!;
      const distribution = made.subarray(step * size, (step + 1) * size);
      distribution.set(counts);
      smoothCounts(distribution, spread, width * smoothing);
      if (total > 0) {
        for (let index = 0; index < size; index += 1) {
          distribution[index] = (distribution[index]! + parentWeight * parent[index]!) / total;
        }
      }
      own.push(distribution);
    }
  }
  return own;
}

/** What lies between two cells, put to the one above. */
function mergedCells(counts: Float64Array): Float64Array {
  if (counts.length === cellCount) return counts;
  const merged = counts.slice(0, cellCount);
  for (let cell = 0; cell < cellCount; cell += 1) merged[cell]! += counts[cellCount + cell]!;
  return merged;
}

function meanOf(distributions: readonly Float64Array[], weights: readonly number[]): Float64Array {
  const mean = new Float64Array(distributions[0]!.length);
  for (const [place, distribution] of distributions.entries()) {
    const weight = weights[place]!;
    for (let index = 0; index < mean.length; index += 1) mean[index]! += weight * distribution[index]!;
  }
  return mean;
}

/** Win curve of a distribution over cells. A rate between two cells beats the upper one, loses to the lower and ties with neither. */
export function winOf(distribution: Float64Array): Float64Array {
  const win = new Float64Array(cellCount);
  const gaps = distribution.length > cellCount;
  let above = 0;
  for (let cell = noRivalCell; cell >= 0; cell -= 1) {
    const here = distribution[cell]!;
    // Weights add up to 1 but for rounding.
    win[cell] = Math.min(1, above + here / 2);
    above += gaps ? here + distribution[cellCount + cell]! : here;
  }
  return win;
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

/**
 * Posterior of each segment, by reading, from its decayed counts and its parent's distribution: `(counts + m · parent) / (n + m)`;
 * then the mean over readings and over segments, weighed by what their bids would have earned. Some 10 µs a segment.
 */
export function buildWithReadings(input: WinCurveInput): CurveWithReadings {
  const { segments, prior, priorWeight, shrinkage, at, shared } = input;
  const between = segments.some(({ histograms }) => histograms.some((known) => (known?.cells.length ?? 0) > cellCount));
  const size = between ? 2 * cellCount : cellCount;
  const start = new Float64Array(size);
  start.set(prior);
  const priors = readings.map(() => start);
  // A guess about the whole market gives way to what the market itself says.
  const priorBeside = (results: number) => (priorWeight === 0 ? 0 : priorWeight ** 2 / (priorWeight + results));
  const levels = input.scores.map((known) => ({
    sums: known === null ? null : known.cells,
    factor: known === null ? 1 : decayFactor(known, at, scoreHalfLives),
  }));
  const byReading = weighReadings(levels[0]?.sums ?? null, levels[0]?.factor ?? 1);
  const made: Float64Array[][] = [];
  for (const [place, segment] of segments.entries()) {
    const name = `${size}:${segment.key}`;
    let distributions = shared?.get(name);
    if (distributions === undefined) {
      distributions =
        place === 0
          ? shrink(segment, priors, priorBeside, size, input)
          : shrink(segment, made[parentOf(place, segments)]!, () => shrinkage, size, input);
      shared?.set(name, distributions);
    }
    made.push(distributions);
  }
  if (made.length === 0) made.push(priors);
  // Where another curve weighs its readings alike, its means and their wins are these.
  const weighed = `${size}~${byReading.join()}`;
  const known = (name: string, make: () => Float64Array) => {
    const found = shared?.get(name)?.[0] ?? make();
    shared?.set(name, [found]);
    return found;
  };
  const means = made.map((distributions, place) =>
    known(`${weighed}:${segments[place]?.key}`, () => meanOf(distributions, byReading)),
  );
  const wins = means.map((mean, place) => known(`${weighed}~win:${segments[place]?.key}`, () => winOf(mean)));
  const bySegment = weighSegments(means.length, levels);
  const win = winOf(meanOf(means, bySegment));
  let readingWins = shared?.get(`${size}~win`);
  if (readingWins === undefined) {
    readingWins = made[0]!.map(winOf);
    shared?.set(`${size}~win`, readingWins);
  }
  const trial = tryOut([...readingWins, ...wins, win], input.breakEvens ?? suggestedBreakEvens(win), input.acceptance);
  const weights = { readings: byReading, segments: bySegment };
  return { curve: { ...describe(win, hashOf(win)), trial, weights }, readingWins };
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
