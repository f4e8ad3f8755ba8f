/**
 * A reading with all features of a request: the best rival rate lies around a sum of effects, one for each feature's level,
 * and the errors of that sum have one shape for all requests. Effects are a ridge regression on main effects, whose moments
 * are plain decayed sums; the errors are a histogram like those of rates. Both are folded from records as all statistics are.
 */
import { cellCount, noRivalCell, type RateHundredths } from '../domain/glossary.ts';
import { type Addition, evenResults, type Histogram } from '../domain/histogram.ts';
import type { AdditiveTrial } from '../domain/offer.ts';

/** Which features there are. Sums of one layout mean nothing under another. */
export type Layout = {
  /** Names the statistics. */
  name: string;
  /** All columns: one for each level of each feature. */
  columns: number;
};

/**
 * Readings, where each expects the best rival, and what it weighs beside the segments while nothing is known; see `massesOf`.
 * `drift` is moved by what it was wrong by of late; `published` stands on the rate that we won with last, as rivals that answer
 * it do.
 */
export const additiveReadings = [
  { name: 'additive', mass: 0.15, centre: 'features', errorHalfLifeResults: Number.POSITIVE_INFINITY },
  { name: 'additive/drift', mass: 0.1, centre: 'drift', errorHalfLifeResults: 250 },
  { name: 'following', mass: 0.05, centre: 'published', errorHalfLifeResults: Number.POSITIVE_INFINITY },
] as const;

/** What is wrong by nothing stands on this cell; the rest of the grid has room on both sides. */
export const middleCell = 250;
/** What is wrong of late: by results, and by time, for a drift that was seen long ago says nothing of now. */
export const driftHalfLives = { halfLifeMs: 12 * 3_600_000, halfLifeResults: 12 };
/** Results of no drift that the drift starts from. */
const driftWeight = 3;
/** Ridge: results that say that a level has no effect. */
const ridge = 0.2;

/** Sums of one statistic; larger ones would take more room than histograms are given. */
const sumsEach = 2 * cellCount;

/** Sum of the products of two columns, `first` at most `second`. Column 0 is the rate, column 1 is always 1. */
function momentIndex(first: number, second: number): number {
  return (second * (second + 1)) / 2 + first;
}

const reserved = 2;

/** Statistics that hold the moments of so many columns. */
export function momentStatistics({ columns }: Layout): number {
  return Math.ceil(momentIndex(0, columns + reserved) / sumsEach);
}

/** Rates are counted from here, so that sums of squares lose no digits. */
const origin = 250;

/** What a best rival rate adds to the moments, by statistic, with a gap where it adds nothing; empty where there is no rival. */
export function momentAdditions(levels: readonly number[], bestRivalCell: number): Addition[][] {
  const byStatistic: Addition[][] = [];
  if (bestRivalCell === noRivalCell) return byStatistic;
  const columns = [0, 1, ...levels.map((level) => level + reserved)];
  const rate = bestRivalCell - origin;
  for (let second = 0; second < columns.length; second += 1) {
    for (let first = 0; first <= second; first += 1) {
      const index = momentIndex(columns[first]!, columns[second]!);
      const amount = first > 0 ? 1 : second > 0 ? rate : rate * rate;
      const statistic = Math.floor(index / sumsEach);
      while (byStatistic.length <= statistic) byStatistic.push([]);
      byStatistic[statistic]!.push([index - statistic * sumsEach, amount]);
    }
  }
  return byStatistic;
}

/** Cell of a reading's errors. */
export function errorCell(bestRivalCell: number, location: number): number {
  if (bestRivalCell === noRivalCell) return noRivalCell;
  return Math.min(noRivalCell - 1, Math.max(0, bestRivalCell - location + middleCell));
}

/** Sum of errors and number of results. */
export function driftAdditions(bestRivalCell: number, { locations }: AdditiveTrial): Addition[] {
  const location = locations[0];
  return bestRivalCell === noRivalCell || location === undefined
    ? []
    : [
        [0, bestRivalCell - location],
        [1, 1],
      ];
}

/** Of our winning rates: after one more next to nothing is left of those before, so their mean is the latest. */
export const publishedHalfLives = { halfLifeMs: Number.POSITIVE_INFINITY, halfLifeResults: 0.02 };

/** Sum of our winning rates and number of them. */
export function publishedAdditions(wonHundredths: RateHundredths): Addition[] {
  return [
    [0, wonHundredths],
    [1, 1],
  ];
}

/** A statistic with the factor that brings its sums to the time looked at. */
export type Sums = { cells: Float64Array; factor: number } | null;

export type Effects = {
  /** Rate where no level has an effect. */
  base: number;
  byColumn: Float64Array;
  drift: number;
  /** The rate that we won with last; null before the first. */
  published: number | null;
  /** How fresh the drift is, 0 … 1: the share of it that results say. */
  freshness: number;
  /** How much likelier the results of late are with a drift than with none; 1 where nothing tells. */
  driftOdds: number;
  /** Part of the variance of rates that the features foretold, 0 … 1. */
  explained: number;
};

/**
 * Effects of all levels: the ridge regression of the rates on them, the base taken out first, for it is drawn to nothing.
 * Null: nothing has been learnt. Levels that were never seen have no effect.
 */
export function effectsOf(
  { columns }: Layout,
  { moments, drift, won, errors }: { moments: readonly Sums[]; drift: Sums; won: Sums; errors: Sums },
): Effects | null {
  const products = packed(columns + reserved, moments);
  const results = products[momentIndex(1, 1)]!;
  if (!(results > 1e-6)) return null;
  const mean = products[momentIndex(0, 1)]! / results;
  const counts = new Float64Array(columns);
  const right = new Float64Array(columns);
  for (let column = 0; column < columns; column += 1) {
    const row = momentIndex(0, column + reserved);
    counts[column] = products[row + 1]!;
    right[column] = products[row]! - mean * counts[column]!;
  }
  const byColumn = solveRidge({ products, counts, results }, right);
  let base = origin + mean;
  for (let column = 0; column < columns; column += 1) base -= (byColumn[column]! * counts[column]!) / results;
  const published = publishedOf(won);
  const variance = products[0]! / results - mean * mean;
  const missed = missedBy(errors);
  const explained = missed === null || !(variance > 0) ? 0 : Math.max(0, 1 - missed / variance);
  if (drift === null) return { base, byColumn, drift: 0, published, freshness: 0, driftOdds: 1, explained };
  const [sum, fresh] = [drift.cells[0]! * drift.factor, drift.cells[1]! * drift.factor];
  const driftOdds = missed === null ? 1 : oddsOfDrift(sum, fresh, missed);
  return {
    base,
    byColumn,
    drift: sum / (fresh + driftWeight * (1 - chanceOfDrift(driftOdds))),
    published,
    freshness: fresh / (fresh + driftWeight),
    driftOdds,
    explained,
  };
}

/** Mean square of what a reading was wrong by. Null: it never was tried. */
function missedBy(errors: Sums): number | null {
  if (errors === null) return null;
  let results = 0;
  let squares = 0;
  for (let cell = 0; cell < noRivalCell; cell += 1) {
    results += errors.cells[cell]!;
    squares += errors.cells[cell]! * (cell - middleCell) ** 2;
  }
  return results * errors.factor > 1e-6 ? squares / results : null;
}

/** Odds of a drift against none, when errors of this variance add up to `sum`: a drift is thought to be as wide as they are. */
function oddsOfDrift(sum: number, fresh: number, variance: number): number {
  if (!(fresh > 1e-6) || !(variance > 0)) return 1;
  const results = evenResults(fresh, driftHalfLives.halfLifeResults);
  const surprise = (results * (sum / fresh) ** 2) / variance;
  return Math.exp(Math.min(50, (surprise * results) / (results + 1) / 2)) / Math.sqrt(results + 1);
}

function publishedOf(won: Sums): number | null {
  // Both sums fade alike.
  return won === null || !(won.cells[1]! > 0) ? null : won.cells[0]! / won.cells[1]!;
}

/** All moments in one row, as of the time looked at. */
function packed(columns: number, moments: readonly Sums[]): Float64Array {
  const products = new Float64Array(momentIndex(0, columns));
  for (const [statistic, sums] of moments.entries()) {
    if (sums === null) continue;
    const { cells, factor } = sums;
    const from = statistic * sumsEach;
    const count = Math.min(cells.length, products.length - from);
    for (let index = 0; index < count; index += 1) products[from + index] = cells[index]! * factor;
  }
  return products;
}

/** Steps at most, and the part of the first error below which no more is made. */
const mostSteps = 24;
const enough = 3e-3;

type Moments = { products: Float64Array; counts: Float64Array; results: number };

/**
 * Solves `(XᵀX − nnᵀ/N + ridge) · effects = right` by conjugate gradients, each column scaled by its own sum of squares: levels
 * of features that have little to do with each other are nearly done after a few steps, so this costs a fraction of Cholesky.
 */
function solveRidge({ products, counts, results }: Moments, right: Float64Array): Float64Array {
  const columns = right.length;
  const effects = new Float64Array(columns);
  const scale = new Float64Array(columns);
  const direction = new Float64Array(columns);
  const image = new Float64Array(columns);
  let error = 0;
  for (let column = 0; column < columns; column += 1) {
    const count = counts[column]!;
    scale[column] = 1 / (count - (count * count) / results + ridge);
    direction[column] = right[column]! * scale[column]!;
    error += right[column]! * direction[column]!;
  }
  const target = error * enough * enough;
  for (let step = 0; step < mostSteps && error > target && error > 0; step += 1) {
    let common = 0;
    for (let column = 0; column < columns; column += 1) common += counts[column]! * direction[column]!;
    common /= results;
    let along = 0;
    for (let column = 0; column < columns; column += 1) {
      const from = momentIndex(reserved, column + reserved);
      const own = direction[column]!;
      let sum = (products[from + column]! + ridge) * own - common * counts[column]!;
      for (let other = 0; other < column; other += 1) {
        const product = products[from + other]!;
        sum += product * direction[other]!;
        image[other]! += product * own;
      }
      image[column] = sum;
    }
    for (let column = 0; column < columns; column += 1) along += image[column]! * direction[column]!;
    const stride = error / along;
    let next = 0;
    for (let column = 0; column < columns; column += 1) {
      effects[column]! += stride * direction[column]!;
      const left = right[column]! - stride * image[column]!;
      right[column] = left;
      next += left * left * scale[column]!;
    }
    const turn = next / error;
    for (let column = 0; column < columns; column += 1) {
      direction[column] = right[column]! * scale[column]! + turn * direction[column]!;
    }
    error = next;
  }
  return effects;
}

/** Cell around which each reading expects the best rival of a request with these levels. */
export function locationsOf({ base, byColumn, drift, published }: Effects, levels: readonly number[]): number[] {
  let sum = base;
  for (const level of levels) sum += byColumn[level] ?? 0;
  const centres = { features: sum, drift: sum + drift, published: published ?? sum };
  return additiveReadings.map(({ centre }) => Math.min(noRivalCell - 1, Math.max(0, Math.round(centres[centre]))));
}

export type AdditiveStatistics = {
  layout: Layout;
  moments: readonly (Histogram | null)[];
  drift: Histogram | null;
  /** What we won with. */
  won: Histogram | null;
  /** By reading. */
  errors: readonly (Histogram | null)[];
};

/** What the drift comes to weigh where the results of late say it beyond doubt, and the features where they explain everything. */
const mostDrift = 0.7;
const mostFeatures = 0.6;

/**
 * What each reading weighs before any score. One that is moved by what was wrong of late waits for fresh results and counts as
 * far as they say that something has moved; the one that looks at the features alone as far as they foretold the rates (the
 * square, for segments explain much of the same); one that stands on a rate of ours waits for such a rate.
 */
export function massesOf({ byColumn, freshness, driftOdds, explained, published }: Effects): number[] {
  return additiveReadings.map(({ mass, centre }) => {
    if (centre === 'drift') return driftMass(freshness, driftOdds);
    const left = 1 - driftMass(freshness, driftOdds);
    if (centre === 'published') return published === null ? 0 : left * mass;
    // Without features it is the whole market once more.
    return byColumn.length === 0 ? 0 : left * (mass + (mostFeatures - mass) * explained * explained);
  });
}

function driftMass(freshness: number, odds: number): number {
  return mostDrift * freshness * chanceOfDrift(odds);
}

/** That something has moved, when its mass is what is thought of that before any result. */
function chanceOfDrift(odds: number): number {
  const { mass } = additiveReadings[1];
  return (mass * odds) / (1 - mass + mass * odds);
}
