/**
 * Candidate policies on trial. Every decision notes what each policy would have bid; when the auction's bids are
 * published, each is scored by the surplus it would have earned, and the scores decide how much it counts from then on.
 * The policies are the ways to read a histogram (window × smoothing) and the segments to read it for.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { Addition, HalfLives } from '../domain/histogram.ts';
import type { Trial, TrialAcceptance } from '../domain/offer.ts';
import { acceptanceAt } from './acceptance.ts';

/** How far back a policy looks, in results of the segment, and what it weighs before any score. */
export const windows = [
  { name: 'all', halfLifeResults: Number.POSITIVE_INFINITY, mass: 0.6 },
  { name: 'middle', halfLifeResults: 250, mass: 0.2 },
  { name: 'recent', halfLifeResults: 60, mass: 0.2 },
] as const;

/** Multiples of the smoothing that is set; 0 is the plain histogram. */
export const smoothings = [
  { name: 'plain', factor: 0, mass: 0.16 },
  { name: 'narrow', factor: 1, mass: 0.42 },
  { name: 'wide', factor: 2, mass: 0.42 },
] as const;

/** Ways to read a histogram, by window, then by smoothing. The masses are per group, so near-copies do not outvote others. */
export const readings = windows.flatMap((window) =>
  smoothings.map((smoothing) => ({ name: `${window.name}/${smoothing.name}`, mass: window.mass * smoothing.mass })),
);
const readingMasses = readings.map(({ mass }) => mass);

/** Scores fade after this many auctions, so that what was good under other rivals is forgotten. */
export const scoreHalfLives: HalfLives = {
  halfLifeMs: Number.POSITIVE_INFINITY,
  halfLifeResults: 3_000,
};

/** No policy falls below this share of its prior mass, so that it can come back. */
const fixedShare = 0.02;

/** By policy and rate of learning; overwritten with the next weights. */
const evidence: number[] = [];

/** Rates of learning, mixed: no horizon and no scale of the scores has to be known. */
const learningRates = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2] as const;

/**
 * Weights from prior masses and decayed sums of scores: Σ of the excess over the mean policy (R) and of its square (V), in
 * pairs from `offset` on. `π · Σ_η η·exp(ηR − η²V)`: Squint (Koolen & van Erven, "Second-order quantile methods for experts
 * and combinatorial games", COLT 2015) on a grid of rates.
 */
export function weigh(
  masses: readonly number[],
  sums: Float64Array | null,
  offset: number,
  factor: number,
): readonly number[] {
  if (sums === null) return masses;
  let highest = Number.NEGATIVE_INFINITY;
  let place = 0;
  for (let policy = 0; policy < masses.length; policy += 1) {
    const excess = (sums[offset + 2 * policy] ?? 0) * factor;
    const square = (sums[offset + 2 * policy + 1] ?? 0) * factor;
    for (const rate of learningRates) {
      const found = rate * excess - rate * rate * square;
      evidence[place] = found;
      if (found > highest) highest = found;
      place += 1;
    }
  }
  place = 0;
  const weights = masses.map((mass) => {
    let likely = 0;
    for (const rate of learningRates) {
      likely += rate * Math.exp(evidence[place]! - highest);
      place += 1;
    }
    return mass * likely;
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight, policy) => ((1 - fixedShare) * weight) / total + fixedShare * masses[policy]!);
}

/** Weights of the readings, from the scores of the whole market. */
export function weighReadings(sums: Float64Array | null, factor: number): readonly number[] {
  return weigh(readingMasses, sums, 0, factor);
}

/**
 * Weights of the segments and of `others` beside them, whose masses are told: first by all scores, then by those of the most
 * special segment, which starts from there.
 */
export function weighSegments(
  segmentCount: number,
  levels: readonly { sums: Float64Array | null; factor: number }[],
  others: readonly number[] = [],
): readonly number[] {
  const left = others.reduce((rest, mass) => rest - mass, 1);
  let weights: readonly number[] = [...new Array<number>(segmentCount).fill(left / segmentCount), ...others];
  if (weights.length === 1) return weights;
  for (const { sums, factor } of levels) weights = weigh(weights, sums, 2 * readings.length, factor);
  return weights;
}

const alwaysTaken = new Float64Array(cellCount).fill(1);
let lately = { midpointPercent: 0, slope: 0, taken: alwaysTaken };

/** By cell: share of won loans that are taken. Without an acceptance all are. */
export function takenAt(acceptance: TrialAcceptance | undefined): Float64Array {
  if (acceptance === undefined) return alwaysTaken;
  const { midpointPercent, slope } = acceptance;
  // All trials of a desk have the same: its table is made once.
  if (lately.midpointPercent !== midpointPercent || lately.slope !== slope) {
    const curve = { acceptanceCeiling: 1, acceptanceMidpointPercent: midpointPercent, acceptanceSlope: slope };
    lately = { midpointPercent, slope, taken: alwaysTaken.map((_share, cell) => acceptanceAt(cell, curve)) };
  }
  return lately.taken;
}

/** Rates looked at together, or none of them. */
const stride = 16;

/**
 * For each break-even, in ascending order, the lowest rate with the highest `(r − c) · w(r) · a(r)`. The best rate never falls
 * as the break-even rises, so the middle one bounds the search of the others. Neither `w` nor `a` rises with the rate: a stride
 * is left out whose highest rate would earn less even with what its lowest has of them, and so is all the rest. `near` are
 * rates that may be as good, like those of a curve much the same: the more they earn, the more is left out.
 */
export function bestRates(
  win: Float64Array,
  breakEvens: ArrayLike<number>,
  taken: Float64Array = alwaysTaken,
  near: ArrayLike<number> = [],
): Int32Array {
  const rates = new Int32Array(breakEvens.length);
  const search = (first: number, last: number, low: number, high: number) => {
    if (first > last) return;
    const middle = (first + last) >> 1;
    const breakEven = breakEvens[middle]!;
    const lowest = Math.min(high, Math.max(low, Math.ceil(breakEven)));
    let best = Math.min(high, Math.max(lowest, near[middle] ?? lowest));
    let most = (best - breakEven) * (win[best]! * taken[best]!);
    for (let from = lowest; from <= high; from += stride) {
      const atMost = win[from]! * taken[from]!;
      if ((high - breakEven) * atMost < most) break;
      const to = Math.min(high, from + stride - 1);
      if ((to - breakEven) * atMost < most) continue;
      for (let rate = from; rate <= to; rate += 1) {
        const earns = (rate - breakEven) * (win[rate]! * taken[rate]!);
        if (earns > most || (earns === most && rate < best)) {
          most = earns;
          best = rate;
        }
      }
    }
    rates[middle] = best;
    search(first, middle - 1, low, best);
    search(middle + 1, last, best, high);
  };
  search(0, breakEvens.length - 1, minRateHundredths, maxRateHundredths);
  return rates;
}

/** Surplus of a bid at `rate`; a tie counts half, and with a rate between two cells there is none. */
export function surplusOf(rate: number, breakEven: number, rivalCell: number, offGrid: boolean): number {
  if (rate < rivalCell) return rate - breakEven;
  return rate === rivalCell && !offGrid ? (rate - breakEven) / 2 : 0;
}

/**
 * What each curve would bid: readings of the whole market, segments, and last the mean of them all, whose surplus is the scale.
 * `before` are the rates of curves that come before these.
 */
export function tryOut(
  curves: readonly Float64Array[],
  breakEvens: readonly number[],
  acceptance: TrialAcceptance | undefined,
  before: { rates: readonly number[]; scale: number } = { rates: [], scale: 0 },
): Trial {
  const taken = takenAt(acceptance);
  const rates = [...before.rates];
  let { scale: highest } = before;
  let scale = 0;
  let bids: Int32Array | undefined;
  for (const [place, curve] of curves.entries()) {
    bids = bestRates(curve, breakEvens, taken, bids);
    scale = 0;
    for (let index = 0; index < bids.length; index += 1) {
      const rate = bids[index]!;
      rates.push(rate);
      scale += (rate - breakEvens[index]!) * curve[rate]! * taken[rate]!;
    }
    if (before.rates.length === 0 && place === readings.length) highest = scale;
  }
  scale = Math.max(scale, highest);
  const trial = { breakEvens, rates, scale: Number(scale.toPrecision(6)) };
  return acceptance === undefined ? trial : { ...trial, acceptance };
}

/**
 * What a published best rival says of every policy on trial: pairs of excess and its square. Readings are compared with
 * the mean for the whole market, segments with the mean of all. Scores are shares of the surplus that was expected, and
 * not clipped: that would hide what bids on rare auctions without rivals earn. Their squares keep them from ruling, and so
 * does acceptance: who bids for auctions without rivals alone wins loans that hardly anybody takes.
 */
export function scoreTrial(trial: Trial, segmentCount: number, rivalCell: number, offGrid: boolean): Addition[] {
  const { breakEvens, rates, scale } = trial;
  const besides = segmentCount + (trial.additive?.locations.length ?? 0);
  // An older program tried other readings: its scores would be taken for those of others.
  if (!(scale > 0) || rates.length !== (readings.length + besides + 1) * breakEvens.length) return [];
  const taken = takenAt(trial.acceptance);
  const rows = rates.length / breakEvens.length;
  const earned = Array.from({ length: rows }, (_, row) => {
    let sum = 0;
    for (let index = 0; index < breakEvens.length; index += 1) {
      const rate = rates[row * breakEvens.length + index]!;
      sum += surplusOf(rate, breakEvens[index]!, rivalCell, offGrid) * taken[rate]!;
    }
    return sum / scale;
  });
  const market = earned[rows - 1 - besides]!;
  const mean = earned[rows - 1]!;
  const additions: Addition[] = [];
  for (let row = 0; row < rows - 1; row += 1) {
    const excess = earned[row]! - (row < rows - 1 - besides ? market : mean);
    if (excess !== 0) additions.push([2 * row, excess], [2 * row + 1, excess * excess]);
  }
  return additions;
}
