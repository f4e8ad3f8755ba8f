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

/** The cells alone that hold any results, ascending: decayed weight between the cell and the one below, and with that on it. */
export type Counts = {
  length: number;
  cells: Int32Array;
  between: Float64Array;
  both: Float64Array;
  results: number;
};

export function createCounts(): Counts {
  const column = () => new Float64Array(cellCount);
  return { length: 0, cells: new Int32Array(cellCount + 1), between: column(), both: column(), results: 0 };
}

/** Fills `counts` from a histogram's cells, each weight times `factor`. */
export function gather(counts: Counts, sums: Float64Array, factor: number): void {
  const { cells, between, both } = counts;
  const gaps = sums.length > cellCount;
  let length = 0;
  // No processor guesses which cells hold something: each is written down, and the next one over it if it does not.
  for (let cell = 0; cell < cellCount; cell += 1) {
    cells[length] = cell;
    length += Number(sums[cell] !== 0 || (gaps && sums[cellCount + cell] !== 0));
  }
  let results = 0;
  for (let place = 0; place < length; place += 1) {
    const cell = cells[place]!;
    const below = gaps ? sums[cellCount + cell]! * factor : 0;
    const count = sums[cell]! * factor + below;
    between[place] = below;
    both[place] = count;
    results += count;
  }
  counts.length = length;
  counts.results = results;
}

/**
 * Where within the grid results lie, `from` … `to` in the list, how many, where and how wide. `lone` is by place in the list what
 * the cell gives away, `loneSum` all of it; it is overwritten with the next spread. Widths narrow with `narrowing`.
 */
export type Spread = {
  from: number;
  to: number;
  rivals: number;
  mean: number;
  deviation: number;
  narrowing: number;
  lone: Float64Array;
  loneSum: number;
};

const lone = new Float64Array(cellCount);

/** What a cell may hold before it is an atom: about one result, and what chance adds where `alone` of them spread over σ cells. */
function mostByChance(alone: number, deviation: number): number {
  return 1 + chanceFactor * Math.sqrt(alone / Math.max(deviation, 1));
}

/** Fills `lone` with at most `most` of each cell within the grid; returns their sum. */
function giveAway({ both, length }: Counts, from: number, to: number, most: number): number {
  for (let place = 0; place < from; place += 1) lone[place] = 0;
  for (let place = to; place < length; place += 1) lone[place] = 0;
  let sum = 0;
  for (let place = from; place < to; place += 1) {
    const share = Math.min(both[place]!, most);
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
  const { cells, both } = counts;
  let from = 0;
  let to = counts.length;
  while (from < to && cells[from]! < minRateHundredths) from += 1;
  while (to > from && cells[to - 1]! > maxRateHundredths) to -= 1;
  let rivals = 0;
  let mean = 0;
  let square = 0;
  let alone = 0;
  for (let place = from; place < to; place += 1) {
    const count = both[place]!;
    const moment = count * cells[place]!;
    rivals += count;
    mean += moment;
    square += moment * cells[place]!;
    alone += Math.min(count, 1);
  }
  if (!(rivals > 0)) return { from, to: from, rivals: 0, mean: 0, deviation: 0, narrowing: 1, lone, loneSum: 0 };
  mean /= rivals;
  const all = Math.sqrt(Math.max(0, square / rivals - mean * mean));
  // An atom says nothing of the width around it.
  const cut = giveAway(counts, from, to, mostByChance(alone, all));
  const deviation = Math.min(all, shortestHalf(cells, from, to, cut) / normalHalf);
  const loneSum = deviation < all ? giveAway(counts, from, to, mostByChance(alone, deviation)) : cut;
  // The fifth root of their number (Silverman's rule).
  const narrowing = Math.max(rivals, 1) ** -0.2;
  return { from, to, rivals, mean, deviation, narrowing, lone, loneSum };
}

/**
 * Half-width in cells of the triangle, 1 for none. `smoothing` is half of it for one result in standard deviations of the
 * rates; it narrows with their number.
 */
function halfWidthOf({ rivals, deviation, narrowing }: Spread, smoothing: number): number {
  if (!(rivals > 0) || smoothing <= 0) return 1;
  return 2 * Math.round(smoothing * deviation * narrowing) + 1;
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

/** What the curve rises by at a cell over the one above, at the place after the cell's, for all that stays where it is. */
const rises = new Float64Array(cellCount + 1);
/** Second difference of half of what is spread, `margin` places beyond the cell's. */
let bends = new Float64Array(4 * cellCount);

/** Fills `rises` with `factor` times the counts, less what is spread of them: `spreading` times what is given away. */
function keep({ cells, between, both, length }: Counts, factor: number, spreading: number): void {
  rises.fill(0);
  for (let place = 0; place < length; place += 1) {
    const cell = cells[place]!;
    const kept = both[place]! * factor - lone[place]! * spreading;
    // What is spread of a cell is taken from it and from the gap below in proportion.
    const below = between[place] === 0 ? 0 : (kept * between[place]!) / both[place]!;
    const tied = (kept - below) / 2;
    rises[cell + 1]! += tied;
    rises[cell]! += tied + below;
  }
}

/** Adds to `bends` what half of what is given away, times `factor`, is under triangles of this width. */
function bend(
  counts: Counts,
  spread: Spread,
  { halfWidth, margin }: { halfWidth: number; margin: number },
  factor: number,
  habits: Habits,
): void {
  const { cells } = counts;
  const { from, to, loneSum } = spread;
  underTriangles(habits, halfWidth, inverses);
  for (let digit = 0; digit < digits; digit += 1) inverses[digit] = 1 / inverses[digit]!;
  const scale = (0.5 * factor * loneSum) / insideOf(counts, spread, halfWidth, habits);
  for (let place = from; place < to; place += 1) {
    const cell = cells[place]!;
    const steep = lone[place]! * scale * inverses[digitOf[cell]!]!;
    const middle = cell + margin;
    bends[middle - halfWidth]! += steep;
    bends[middle]! -= 2 * steep;
    bends[middle + halfWidth]! += steep;
  }
}

/** A win curve to start from, and what it weighs beside the results, which weigh `own` each. */
export type Start = { win: Float64Array; weight: number; own: number };
type Base = { start: Start; habits: Habits };

/** Cells from `top` down to `bottom`. */
type Range = { top: number; bottom: number };

/** Fills a range of `win` with what stays where it is. `above` is what lies above it; returns what lies above the rest. */
function addKept({ win: before, weight }: Start, { top, bottom }: Range, above: number, win: Float64Array): number {
  let reached = above;
  for (let cell = top; cell >= bottom; cell -= 1) {
    reached += rises[cell + 1]!;
    win[cell] = reached + weight * before[cell]!;
  }
  return reached;
}

/**
 * The same with what is spread. A triangle's second difference has three points, so two running sums make all triangles of all
 * widths in linear time; the first of `bends` belongs to the cell `highest`.
 */
function addSpread(
  { start: { win: before, weight }, habits: { factors } }: Base,
  { top, bottom, highest, margin }: Range & { highest: number; margin: number },
  above: number,
  win: Float64Array,
): number {
  const changes = bends;
  let slope = 0;
  let height = 0;
  for (let cell = highest - 1; cell > top; cell -= 1) {
    slope += changes[cell + 1 + margin]!;
    height += slope;
  }
  let reached = above;
  let tied = 0;
  for (let cell = top; cell >= bottom; cell -= 1) {
    slope += changes[cell + 1 + margin]!;
    height += slope;
    // Running sums of positive and negative shares may end a rounding below zero.
    const half = height > 0 ? height * factors[cell]! : 0;
    reached += rises[cell + 1]! + (tied + half);
    win[cell] = reached + weight * before[cell]!;
    tied = half;
  }
  return reached + tied;
}

/**
 * Fills `win` with the win curve of the smoothed counts on top of `start`. Of each cell at most `mostByChance` is spread,
 * what lies between two cells with the cell above; what would fall beyond the grid's ends is put back in proportion. A rate
 * between two cells beats the upper one, loses to the lower and ties with neither.
 */
export function smoothedWin(counts: Counts, spread: Spread, mixture: Mixture, base: Base, win: Float64Array): void {
  const { start, habits } = base;
  let all = 0;
  let spreading = 0;
  let margin = 1;
  for (const { smoothing, share } of mixture) {
    const halfWidth = halfWidthOf(spread, smoothing);
    all += share;
    if (halfWidth > 1) spreading += share;
    margin = Math.max(margin, halfWidth);
  }
  keep(counts, all * start.own, spreading * start.own);
  const grid = { top: cellCount - 1, bottom: 0 };
  if (spreading === 0) {
    addKept(start, grid, 0, win);
    return;
  }
  const lowest = counts.cells[spread.from]! - margin;
  const highest = counts.cells[spread.to - 1]! + margin;
  if (bends.length <= highest + margin) bends = new Float64Array(highest + margin + cellCount);
  bends.fill(0, lowest + margin, highest + margin + 1);
  for (const { smoothing, share } of mixture) {
    const halfWidth = halfWidthOf(spread, smoothing);
    if (halfWidth > 1) bend(counts, spread, { halfWidth, margin }, share * start.own, habits);
  }
  // Beyond the outermost triangles nothing is spread.
  const top = Math.min(maxRateHundredths, highest - 1);
  const bottom = Math.max(minRateHundredths, lowest + 1);
  const above = addKept(start, { top: grid.top, bottom: top + 1 }, 0, win);
  const reached = addSpread(base, { top, bottom, highest, margin }, above, win);
  addKept(start, { top: bottom - 1, bottom: grid.bottom }, reached, win);
}
