/**
 * Smoothing of a histogram of best rival rates that leaves round numbers alone. People bid at atoms (1.99, 2.50) and at
 * floors; a kernel over everything smears them and the best bid sits just below one. But a result that stands alone
 * says "about here". So of each cell only what chance would put there is spread over its neighbours, the rest stays.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';

/** Standard deviations that chance may add to a cell; what is more is an atom. */
const chanceFactor = 3;
/** Shortest interval that holds half of a normal distribution, in its standard deviations. */
const normalHalf = 1.349;

/** The cells alone that hold any results, ascending: decayed weight on the cell, and between it and the one below. */
export type Counts = {
  length: number;
  cells: Int32Array;
  on: Float64Array;
  between: Float64Array;
  results: number;
};

export function createCounts(): Counts {
  const column = () => new Float64Array(cellCount);
  return { length: 0, cells: new Int32Array(cellCount), on: column(), between: column(), results: 0 };
}

/** Fills `counts` from a histogram's cells, each weight times `factor`. */
export function gather(counts: Counts, sums: Float64Array, factor: number): void {
  const { cells, on, between } = counts;
  const gaps = sums.length > cellCount;
  let length = 0;
  let results = 0;
  for (let cell = 0; cell < cellCount; cell += 1) {
    const onCell = sums[cell]! * factor;
    const below = gaps ? sums[cellCount + cell]! * factor : 0;
    if (onCell + below === 0) continue;
    cells[length] = cell;
    on[length] = onCell;
    between[length] = below;
    results += onCell + below;
    length += 1;
  }
  counts.length = length;
  counts.results = results;
}

/**
 * Where within the grid results lie, `from` … `to` in the list, how many, and how wide. `lone` is by place in the list what
 * the cell gives away, `loneSum` all of it; it is overwritten with the next spread.
 */
export type Spread = {
  from: number;
  to: number;
  rivals: number;
  deviation: number;
  lone: Float64Array;
  loneSum: number;
};

const lone = new Float64Array(cellCount);

/** What a cell may hold before it is an atom: about one result, and what chance adds where `alone` of them spread over σ cells. */
function mostByChance(alone: number, deviation: number): number {
  return 1 + chanceFactor * Math.sqrt(alone / Math.max(deviation, 1));
}

/** Fills `lone` with at most `most` of each cell; returns their sum. */
function giveAway({ on, between }: Counts, from: number, to: number, most: number): number {
  let sum = 0;
  for (let place = from; place < to; place += 1) {
    const share = Math.min(on[place]! + between[place]!, most);
    lone[place] = share;
    sum += share;
  }
  return sum;
}

/** Cells across which the shortest half of what is given away lies. */
function shortestHalf(cells: Int32Array, from: number, to: number, loneSum: number): number {
  const half = loneSum * (0.5 - 1e-9);
  let shortest = maxRateHundredths;
  let inside = 0;
  let first = from;
  for (let place = from; place < to; place += 1) {
    inside += lone[place]!;
    if (inside < half) continue;
    while (first < place && inside - lone[first]! >= half) {
      inside -= lone[first]!;
      first += 1;
    }
    shortest = Math.min(shortest, cells[place]! - cells[first]!);
  }
  return shortest;
}

/**
 * The width is the standard deviation or, where that is less, what the shortest half of the results would make it: with
 * two humps each is smoothed by its own width, not by their distance. What lies between two cells counts with the one above.
 */
export function spreadOf(counts: Counts): Spread {
  const { cells, on, between } = counts;
  let from = 0;
  let to = counts.length;
  while (from < to && cells[from]! < minRateHundredths) from += 1;
  while (to > from && cells[to - 1]! > maxRateHundredths) to -= 1;
  let rivals = 0;
  let mean = 0;
  let square = 0;
  let alone = 0;
  for (let place = from; place < to; place += 1) {
    const count = on[place]! + between[place]!;
    const moment = count * cells[place]!;
    rivals += count;
    mean += moment;
    square += moment * cells[place]!;
    alone += Math.min(count, 1);
  }
  if (!(rivals > 0)) return { from, to: from, rivals: 0, deviation: 0, lone, loneSum: 0 };
  mean /= rivals;
  const all = Math.sqrt(Math.max(0, square / rivals - mean * mean));
  // An atom says nothing of the width around it.
  const cut = giveAway(counts, from, to, mostByChance(alone, all));
  const deviation = Math.min(all, shortestHalf(cells, from, to, cut) / normalHalf);
  const loneSum = deviation < all ? giveAway(counts, from, to, mostByChance(alone, deviation)) : cut;
  return { from, to, rivals, deviation, lone, loneSum };
}

/**
 * Half-width in cells of the triangle, 1 for none. `smoothing` is half of it for one result in standard deviations of the
 * rates; it narrows with the fifth root of their number (Silverman's rule).
 */
function halfWidthOf({ rivals, deviation }: Spread, smoothing: number): number {
  if (!(rivals > 0) || smoothing <= 0) return 1;
  return 2 * Math.round(smoothing * deviation * Math.max(rivals, 1) ** -0.2) + 1;
}

/** Part of a triangle of this half-width, the outermost cell 1, that lies beyond an end so many cells away. */
function beyond(halfWidth: number, distance: number): number {
  const cut = halfWidth - distance;
  return (cut * (cut + 1)) / 2;
}

/** What is left within the grid of triangles over all that is given away. */
function insideOf({ cells }: Counts, { from, to, loneSum }: Spread, halfWidth: number): number {
  let inside = halfWidth * halfWidth * loneSum;
  for (let place = from; place < to; place += 1) {
    const distance = cells[place]! - minRateHundredths + 1;
    if (distance >= halfWidth) break;
    inside -= lone[place]! * beyond(halfWidth, distance);
  }
  for (let place = to - 1; place >= from; place -= 1) {
    const distance = maxRateHundredths + 1 - cells[place]!;
    if (distance >= halfWidth) break;
    inside -= lone[place]! * beyond(halfWidth, distance);
  }
  return inside;
}

/** Widths at once, each with its share of the mixture. */
export type Mixture = readonly { smoothing: number; share: number }[];

/** Weights by cell and by the gap below it, and the second difference of what is spread, `margin` before its cell. */
const kept = new Float64Array(cellCount);
const under = new Float64Array(cellCount);
let bends = new Float64Array(4 * cellCount);

/** Fills the tables with the counts times `factor`, smoothed by each width of the mixture and times its share. Returns the margin. */
function smooth(counts: Counts, spread: Spread, mixture: Mixture, factor: number): number {
  const { cells, on, between, length } = counts;
  const { from, to, loneSum } = spread;
  let all = 0;
  let spreading = 0;
  let margin = 1;
  for (const { smoothing, share } of mixture) {
    const halfWidth = halfWidthOf(spread, smoothing);
    all += share * factor;
    if (halfWidth === 1) continue;
    spreading += share * factor;
    margin = Math.max(margin, halfWidth);
  }
  kept.fill(0);
  under.fill(0);
  if (bends.length < cellCount + 2 * margin) bends = new Float64Array(cellCount + 2 * margin);
  bends.fill(0, 0, cellCount + 2 * margin);
  for (let place = 0; place < length; place += 1) {
    const cell = cells[place]!;
    kept[cell] = on[place]! * all;
    under[cell] = between[place]! * all;
  }
  if (margin === 1) return margin;
  for (let place = from; place < to; place += 1) {
    const cell = cells[place]!;
    const share = lone[place]!;
    if (between[place] === 0) kept[cell] = all * on[place]! - spreading * share;
    else {
      const stays = all - spreading * (share / (on[place]! + between[place]!));
      kept[cell] = on[place]! * stays;
      under[cell] = between[place]! * stays;
    }
  }
  // A triangle's second difference has three points, so two running sums make all triangles of all widths in linear time.
  for (const { smoothing, share } of mixture) {
    const halfWidth = halfWidthOf(spread, smoothing);
    if (halfWidth === 1) continue;
    const scale = (factor * share * loneSum) / insideOf(counts, spread, halfWidth);
    for (let place = from; place < to; place += 1) {
      const bend = lone[place]! * scale;
      const middle = cells[place]! + margin;
      bends[middle - halfWidth]! += bend;
      bends[middle]! -= 2 * bend;
      bends[middle + halfWidth]! += bend;
    }
  }
  return margin;
}

/** A win curve to start from, and what it weighs beside the results, which weigh `own` each. */
export type Start = { win: Float64Array; weight: number; own: number };

/**
 * Fills `win` with the win curve of the smoothed counts on top of `start`. Of each cell at most `mostByChance` is spread,
 * what lies between two cells with the cell above; what would fall beyond the grid's ends is put back in proportion. A rate
 * between two cells beats the upper one, loses to the lower and ties with neither.
 */
export function smoothedWin(counts: Counts, spread: Spread, mixture: Mixture, start: Start, win: Float64Array): void {
  const margin = smooth(counts, spread, mixture, start.own);
  const { win: before, weight } = start;
  let slope = 0;
  let height = 0;
  for (let index = cellCount + 2 * margin - 1; index > maxRateHundredths + margin + 1; index -= 1) {
    slope += bends[index]!;
    height += slope;
  }
  let above = 0;
  for (let cell = cellCount - 1; cell >= 0; cell -= 1) {
    let here = kept[cell]!;
    if (cell <= maxRateHundredths && cell >= minRateHundredths) {
      slope += bends[cell + 1 + margin]!;
      height += slope;
      // Running sums of positive and negative shares may end a rounding below zero.
      here += Math.max(height, 0);
    }
    // Weights add up to 1 but for rounding.
    win[cell] = Math.min(1, above + here / 2 + weight * before[cell]!);
    above += here + under[cell]!;
  }
}
