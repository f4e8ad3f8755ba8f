/**
 * Smoothing of a histogram of best rival rates that leaves round numbers alone. People bid at atoms (1.99, 2.50) and at
 * floors; a kernel over everything smears them and the best bid sits just below one. But a result that stands alone
 * says "about here". So of each cell only what chance would put there is spread over its neighbours, the rest stays.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import { digits, type Habits, underEnd, underTriangles } from './habits.ts';

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
 * Where within the grid results lie, `from` … `to` in the list, how many, where and how wide. `lone` is by place in the list what
 * the cell gives away, `loneSum` all of it; it is overwritten with the next spread.
 */
export type Spread = {
  from: number;
  to: number;
  rivals: number;
  mean: number;
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
    const wide = cells[place]! - cells[first]!;
    if (wide < shortest) shortest = wide;
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
  if (!(rivals > 0)) return { from, to: from, rivals: 0, mean: 0, deviation: 0, lone, loneSum: 0 };
  mean /= rivals;
  const all = Math.sqrt(Math.max(0, square / rivals - mean * mean));
  // An atom says nothing of the width around it.
  const cut = giveAway(counts, from, to, mostByChance(alone, all));
  const deviation = Math.min(all, shortestHalf(cells, from, to, cut) / normalHalf);
  const loneSum = deviation < all ? giveAway(counts, from, to, mostByChance(alone, deviation)) : cut;
  return { from, to, rivals, mean, deviation, lone, loneSum };
}

/**
 * Half-width in cells of the triangle, 1 for none. `smoothing` is half of it for one result in standard deviations of the
 * rates; it narrows with the fifth root of their number (Silverman's rule).
 */
function halfWidthOf({ rivals, deviation }: Spread, smoothing: number): number {
  if (!(rivals > 0) || smoothing <= 0) return 1;
  return 2 * Math.round(smoothing * deviation * Math.max(rivals, 1) ** -0.2) + 1;
}

/** By digit: 1 over all that lies under a triangle around it. */
const inverses = new Float64Array(digits);
const digitOf = Uint8Array.from({ length: cellCount }, (_, cell) => cell % digits);

/** What is left within the grid of triangles over all that is given away, of each of which 1 was spread; see `inverses`. */
function insideOf({ cells }: Counts, { from, to, loneSum }: Spread, halfWidth: number, habits: Habits): number {
  let inside = loneSum;
  for (let place = from; place < to; place += 1) {
    const cut = halfWidth - (cells[place]! - minRateHundredths + 1);
    if (cut <= 0) break;
    inside -= lone[place]! * inverses[digitOf[cells[place]!]!]! * underEnd(habits, minRateHundredths - 1, cut, -1);
  }
  for (let place = to - 1; place >= from; place -= 1) {
    const cut = halfWidth - (maxRateHundredths + 1 - cells[place]!);
    if (cut <= 0) break;
    inside -= lone[place]! * inverses[digitOf[cells[place]!]!]! * underEnd(habits, maxRateHundredths + 1, cut, 1);
  }
  return inside;
}

/** Widths at once, each with its share of the mixture. */
export type Mixture = readonly { smoothing: number; share: number }[];

/** Weights by cell and by the gap below it, as smoothed, and the second difference of what is spread. */
const here = new Float64Array(cellCount);
const under = new Float64Array(cellCount);
let bends = new Float64Array(4 * cellCount);

/** Adds to `here` what is given away, spread by each width of the mixture and by what the market likes. */
function addSpread(counts: Counts, spread: Spread, mixture: Mixture, factor: number, habits: Habits): void {
  const { cells } = counts;
  const { factors } = habits;
  const { from, to, loneSum } = spread;
  const margin = halfWidthOf(spread, Math.max(...mixture.map(({ smoothing }) => smoothing)));
  const [lowest, highest] = [cells[from]!, cells[to - 1]!];
  const size = cellCount + 2 * margin;
  if (bends.length < size) bends = new Float64Array(size);
  bends.fill(0, lowest, highest + 2 * margin + 1);
  // A triangle's second difference has three points, so two running sums make all triangles of all widths in linear time.
  for (const { smoothing, share } of mixture) {
    const halfWidth = halfWidthOf(spread, smoothing);
    if (halfWidth === 1) continue;
    underTriangles(habits, halfWidth, inverses);
    for (let digit = 0; digit < digits; digit += 1) inverses[digit] = 1 / inverses[digit]!;
    const scale = (factor * share * loneSum) / insideOf(counts, spread, halfWidth, habits);
    for (let place = from; place < to; place += 1) {
      const cell = cells[place]!;
      const bend = lone[place]! * scale * inverses[digitOf[cell]!]!;
      const middle = cell + margin;
      bends[middle - halfWidth]! += bend;
      bends[middle]! -= 2 * bend;
      bends[middle + halfWidth]! += bend;
    }
  }
  let slope = 0;
  let height = 0;
  const last = Math.min(maxRateHundredths, highest + margin - 1);
  for (let cell = lowest - margin + 1; cell <= last; cell += 1) {
    slope += bends[cell - 1 + margin]!;
    height += slope;
    // Running sums of positive and negative shares may end a rounding below zero.
    if (cell >= minRateHundredths && height > 0) here[cell]! += height * factors[cell]!;
  }
}

/** Fills `here` and `under` with the counts times `factor`, smoothed by each width of the mixture and times its share. */
function smooth(counts: Counts, spread: Spread, mixture: Mixture, factor: number, habits: Habits): void {
  const { cells, on, between, length } = counts;
  let all = 0;
  let spreading = 0;
  for (const { smoothing, share } of mixture) {
    all += share * factor;
    if (halfWidthOf(spread, smoothing) > 1) spreading += share * factor;
  }
  here.fill(0);
  under.fill(0);
  for (let place = 0; place < length; place += 1) {
    here[cells[place]!] = on[place]! * all;
    under[cells[place]!] = between[place]! * all;
  }
  if (spreading === 0) return;
  for (let place = spread.from; place < spread.to; place += 1) {
    const cell = cells[place]!;
    const given = lone[place]! * spreading;
    if (between[place] === 0) here[cell]! -= given;
    else {
      const count = on[place]! + between[place]!;
      here[cell]! -= given * (on[place]! / count);
      under[cell]! -= given * (between[place]! / count);
    }
  }
  addSpread(counts, spread, mixture, factor, habits);
}

/** A win curve to start from, and what it weighs beside the results, which weigh `own` each. */
export type Start = { win: Float64Array; weight: number; own: number };

/**
 * Fills `win` with the win curve of the smoothed counts on top of `start`. Of each cell at most `mostByChance` is spread,
 * what lies between two cells with the cell above; what would fall beyond the grid's ends is put back in proportion. A rate
 * between two cells beats the upper one, loses to the lower and ties with neither.
 */
export function smoothedWin(
  counts: Counts,
  spread: Spread,
  mixture: Mixture,
  { start, habits }: { start: Start; habits: Habits },
  win: Float64Array,
): void {
  smooth(counts, spread, mixture, start.own, habits);
  const { win: before, weight } = start;
  let above = 0;
  for (let cell = cellCount - 1; cell >= 0; cell -= 1) {
    const share = here[cell]!;
    win[cell] = above + share / 2 + weight * before[cell]!;
    above += share + under[cell]!;
  }
}
