/**
 * Smoothing of a histogram of best rival rates that leaves round numbers alone. People bid at atoms (1.99, 2.50) and at
 * floors; a kernel over everything smears them and the best bid sits just below one. But a result that stands alone
 * says "about here". So of each cell only what chance would put there is spread over its neighbours, the rest stays. Where
 * many results would be expected and none came there is a hard edge: what was spread beyond it goes back to its results.
 */
import { cellCount, maxRateHundredths, minRateHundredths, noRivalCell } from '../domain/glossary.ts';
import { digits, type Habits, underEnd, underTriangles } from './habits.ts';

/** Standard deviations that chance may add to a cell; what is more is an atom. */
const chanceFactor = 2.5;
/** Shortest interval that holds half of a normal distribution, in its standard deviations. */
const normalHalf = 1.349;
/** Half-width at most, in cells: more than the settings can ask for. */
const widest = 20 * cellCount;

// The arrays of this file are its own, and not passed along: compiled code reaches a fixed array at half the cost.

/** Decayed weight on each cell with that between it and the one below, and how much of it lies between. */
const both = new Float64Array(cellCount);
const gapShares = new Float64Array(cellCount);

/**
 * What was gathered last. Within the grid there is nothing below `lowest` and above `highest`, which are the wrong way round
 * where there is nothing at all.
 */
export type Counts = { byCell: Float64Array; lowest: number; highest: number; results: number };

/** Copies what a histogram has from one cell to another, each weight times `factor`; returns its sum. */
function copy(sums: Float64Array, factor: number, from: number, to: number): number {
  const gaps = sums.length > cellCount;
  let results = 0;
  for (let cell = from; cell <= to; cell += 1) {
    let count = sums[cell]! * factor;
    if (gaps) {
      const below = sums[cellCount + cell]! * factor;
      count += below;
      gapShares[cell] = below === 0 ? 0 : below / count;
    }
    both[cell] = count;
    results += count;
  }
  return results;
}

/** What a histogram's cells hold, each weight times `factor`. */
export function gather(sums: Float64Array, factor: number): Counts {
  const gaps = sums.length > cellCount;
  let lowest = minRateHundredths;
  let highest = maxRateHundredths;
  while (lowest <= highest && sums[lowest] === 0 && !(gaps && sums[cellCount + lowest] !== 0)) lowest += 1;
  while (highest >= lowest && sums[highest] === 0 && !(gaps && sums[cellCount + highest] !== 0)) highest -= 1;
  both.fill(0);
  if (!gaps) gapShares.fill(0);
  const results =
    copy(sums, factor, 0, minRateHundredths - 1) +
    copy(sums, factor, lowest, highest) +
    copy(sums, factor, noRivalCell, noRivalCell);
  return { byCell: both, lowest, highest, results };
}

/** Cells without a result, from `first` to `last`, where no rival ever bids with probability `share`. */
export type Gap = { first: number; last: number; share: number };

/**
 * How many results lie within the grid, where and how wide: `variance` is that of all, `deviation` that of the narrowest half
 * where this is less. Widths narrow with `narrowing`. `loneSum` of them are given away.
 */
export type Spread = {
  rivals: number;
  mean: number;
  variance: number;
  deviation: number;
  narrowing: number;
  loneSum: number;
};

/** What each cell within the grid gives away; overwritten with the next spread. */
const lone = new Float64Array(cellCount);

/** What a cell may hold before it is an atom: about one result, and what chance adds where `alone` of them spread over σ cells. */
function mostByChance(alone: number, deviation: number): number {
  return 1 + chanceFactor * Math.sqrt(alone / Math.max(deviation, 1));
}

/** Cells on each side that say how many results to expect on the one between them. */
const neighbours = 4;

/**
 * The same among many results, of which chance puts several on every cell: what the side with fewer says, so that where rates
 * begin or end nothing is taken from the edge.
 */
function mostByNeighbours(cell: number, { lowest, highest }: Counts): number {
  if (cell - neighbours < lowest || cell + neighbours > highest) return 0;
  let below = 0;
  let above = 0;
  for (let distance = 1; distance <= neighbours; distance += 1) {
    below += both[cell - distance]!;
    above += both[cell + distance]!;
  }
  const expected = Math.min(below, above) / neighbours;
  return 1 + expected + chanceFactor * Math.sqrt(expected);
}

/** Fills `lone` with at most `most` of each cell, or what its neighbours allow; returns their sum. */
function giveAway(counts: Counts, most: number): number {
  const { lowest, highest } = counts;
  lone.fill(0);
  let sum = 0;
  for (let cell = lowest; cell <= highest; cell += 1) {
    const count = both[cell]!;
    const share = count <= most ? count : Math.min(count, Math.max(most, mostByNeighbours(cell, counts)));
    lone[cell] = share;
    sum += share;
  }
  return sum;
}

/** Cells across which the shortest half of what is given away lies. */
function shortestHalf({ lowest, highest }: Counts, loneSum: number): number {
  const half = loneSum * (0.5 - 1e-9);
  let inside = 0;
  let cell = lowest;
  while (cell < highest && inside + lone[cell]! < half) {
    inside += lone[cell]!;
    cell += 1;
  }
  // From here on a window of that many cells, and of fewer where fewer do, goes up.
  let across = cell - lowest;
  for (; cell <= highest; cell += 1) {
    inside += lone[cell]!;
    while (across > 0 && inside - lone[cell - across]! >= half) {
      inside -= lone[cell - across]!;
      across -= 1;
    }
    inside -= lone[cell - across]!;
  }
  return across;
}

/**
 * The width is the standard deviation or, where that is less, what the shortest half of the results would make it: with
 * two humps each is smoothed by its own width, not by their distance. What lies between two cells counts with the one above.
 */
export function spreadOf(counts: Counts): Spread {
  const { lowest, highest } = counts;
  let rivals = 0;
  let mean = 0;
  let square = 0;
  let alone = 0;
  for (let cell = lowest; cell <= highest; cell += 1) {
    const count = both[cell]!;
    const moment = count * cell;
    rivals += count;
    mean += moment;
    square += moment * cell;
    alone += Math.min(count, 1);
  }
  if (!(rivals > 0)) return { rivals: 0, mean: 0, variance: 0, deviation: 0, narrowing: 1, loneSum: 0 };
  mean /= rivals;
  const variance = Math.max(0, square / rivals - mean * mean);
  const all = Math.sqrt(variance);
  // An atom says nothing of the width around it.
  const cut = giveAway(counts, mostByChance(alone, all));
  const deviation = Math.min(all, shortestHalf(counts, cut) / normalHalf);
  const loneSum = deviation < all ? giveAway(counts, mostByChance(alone, deviation)) : cut;
  const narrowing = narrowingOf(Math.max(rivals, 1));
  return { rivals, mean, variance, deviation, narrowing, loneSum };
}

/**
 * The fifth root of the number of results (Silverman's rule), as is best for a density; from `manyResults` on the third root,
 * as is best for a distribution (Azzalini, "A note on the estimation of a distribution function and quantiles by a kernel
 * method", Biometrika 1981): with so many its shape is known, and what is left is the harm at its edges.
 */
function narrowingOf(results: number): number {
  return Math.min(results ** -0.2, manyResults ** (1 / 3 - 0.2) * results ** (-1 / 3));
}

const manyResults = 50;

/** Gaps are looked for with results spread this wide, see `halfWidthOf`: a narrow triangle leaves most of a gap empty itself. */
const gapSmoothing = 3;
/** Log odds against a hard edge at any one place. */
const gapOdds = 3;
/** Fewer results never show one. */
const fewest = 8;
/** Of the log odds of an edge, below which there is none. */
const unlikely = -2;

export const noGaps: readonly Gap[] = [];

/** Sums over the sums of the sums of what is given away: its second differences are what triangles make of it. */
const sums = new Float64Array(cellCount);

/** What is given away, and the last of its sums, of its sums' sums and of theirs. */
type Ends = { lowest: number; highest: number; once: number; twice: number; thrice: number };

function sumUp({ lowest, highest }: Counts): Ends {
  let once = 0;
  let twice = 0;
  let thrice = 0;
  for (let cell = lowest; cell <= highest; cell += 1) {
    once += lone[cell]!;
    twice += once;
    thrice += twice;
    sums[cell] = thrice;
  }
  return { lowest, highest, once, twice, thrice };
}

/** Of `sums`, also beyond its ends. */
function sumAt(cell: number, { lowest, highest, once, twice, thrice }: Ends): number {
  if (cell < lowest) return 0;
  const beyond = cell - highest;
  return beyond <= 0 ? sums[cell]! : thrice + beyond * twice + (once * beyond * (beyond + 1)) / 2;
}

/** What triangles of this half-width would put on `cell` and below it. */
function spreadTo(cell: number, halfWidth: number, ends: Ends): number {
  const up = sumAt(cell + halfWidth - 1, ends);
  const down = sumAt(cell - halfWidth - 1, ends);
  return (up - 2 * sumAt(cell - 1, ends) + down) / (halfWidth * halfWidth);
}

function noteGap(gaps: Gap[], first: number, last: number, odds: number): void {
  if (odds > unlikely) gaps.push({ first, last, share: 1 / (1 + Math.exp(-odds)) });
}

/**
 * Where results that are spread widely would put so many, and none came, that chance does not explain it: with `e`
 * expected none come in one of `exp(e)` cases, and as many places as there are results were looked at. In ascending order;
 * `spread` is the last one made.
 */
export function gapsOf(counts: Counts, spread: Spread): readonly Gap[] {
  const halfWidth = halfWidthOf(spread, gapSmoothing);
  if (spread.loneSum < fewest || halfWidth <= 1) return noGaps;
  const { lowest, highest } = counts;
  const ends = sumUp(counts);
  const bar = gapOdds + Math.log(ends.once);
  const gaps: Gap[] = [];
  noteGap(gaps, 0, lowest - 1, spreadTo(lowest - 1, halfWidth, ends) - bar);
  // A triangle is nowhere higher than this: in a shorter gap too few are expected.
  const shortest = Math.max(1, (bar + unlikely) * (halfWidth / ends.once));
  let last = lowest;
  for (let cell = lowest + 1; cell <= highest; cell += 1) {
    if (lone[cell] === 0) continue;
    if (cell - last > shortest) {
      const expected = spreadTo(cell - 1, halfWidth, ends) - spreadTo(last, halfWidth, ends);
      noteGap(gaps, last + 1, cell - 1, expected - bar);
    }
    last = cell;
  }
  noteGap(gaps, highest + 1, noRivalCell, ends.once - spreadTo(highest, halfWidth, ends) - bar);
  return gaps;
}

/**
 * Half-width in cells of the triangle, 1 for none. `smoothing` is half of it for one result in standard deviations of the
 * rates; it narrows with their number.
 */
function halfWidthOf({ rivals, deviation, narrowing }: Spread, smoothing: number): number {
  if (!(rivals > 0) || smoothing <= 0) return 1;
  return Math.min(widest, 2 * Math.round(smoothing * deviation * narrowing) + 1);
}

/** By digit: 1 over all that lies under a triangle around it. */
const inverses = new Float64Array(digits);
const digitOf = Uint8Array.from({ length: cellCount }, (_, cell) => cell % digits);

/** What is left within the grid of triangles over all that is given away, of each of which 1 was spread; see `inverses`. */
function insideOf({ lowest, highest }: Counts, loneSum: number, halfWidth: number, habits: Habits): number {
  let inside = loneSum;
  for (let cell = lowest; cell <= highest; cell += 1) {
    const cut = halfWidth - (cell - minRateHundredths + 1);
    if (cut <= 0) break;
    inside -= lone[cell]! * inverses[digitOf[cell]!]! * underEnd(habits, minRateHundredths - 1, cut, -1);
  }
  for (let cell = highest; cell >= lowest; cell -= 1) {
    const cut = halfWidth - (maxRateHundredths + 1 - cell);
    if (cut <= 0) break;
    inside -= lone[cell]! * inverses[digitOf[cell]!]! * underEnd(habits, maxRateHundredths + 1, cut, 1);
  }
  return inside;
}

/** Widths at once, each with its share of the mixture. */
export type Mixture = readonly { smoothing: number; share: number }[];

/** Second difference of half of what is spread, `margin` places beyond the cell's. */
const bends = new Float64Array(cellCount + 2 * widest + 1);

/** Adds to `bends` what half of what is given away, times `factor`, is under triangles of this width. */
function bend(
  counts: Counts,
  loneSum: number,
  { halfWidth, margin }: { halfWidth: number; margin: number },
  factor: number,
  habits: Habits,
): void {
  const { lowest, highest } = counts;
  underTriangles(habits, halfWidth, inverses);
  for (let digit = 0; digit < digits; digit += 1) inverses[digit] = 1 / inverses[digit]!;
  const scale = (0.5 * factor * loneSum) / insideOf(counts, loneSum, halfWidth, habits);
  for (let digit = 0; digit < digits; digit += 1) inverses[digit]! *= scale;
  for (let cell = lowest; cell <= highest; cell += 1) {
    const steep = lone[cell]! * inverses[digitOf[cell]!]!;
    const middle = cell + margin;
    bends[middle - halfWidth]! += steep;
    bends[middle]! -= 2 * steep;
    bends[middle + halfWidth]! += steep;
  }
}

/** A win curve to start from, and what it weighs beside the results, which weigh `own` each. */
type Start = { win: Float64Array; weight: number; own: number };
type Base = { start: Start; habits: Habits; gaps: readonly Gap[] };

/** What a win curve is added up from, and where to. Of the counts `all` times are taken, less `spreading` times what is given away. */
type Sum = { counts: Counts; all: number; spreading: number; base: Base; win: Float64Array };

/** Cells from `top` down to `bottom`. */
type Range = { top: number; bottom: number };

/** Fills a range of the win curve in which there is nothing but the start. `above` is what lies above it. */
function addNone({ base: { start }, win }: Sum, { top, bottom }: Range, above: number): void {
  const { win: before, weight } = start;
  for (let cell = top; cell >= bottom; cell -= 1) win[cell] = above + weight * before[cell]!;
}

/** Fills a range in which nothing is spread; returns what lies above the rest. */
function addPlain({ all, base: { start }, win }: Sum, { top, bottom }: Range, above: number): number {
  const { win: before, weight } = start;
  let reached = above;
  for (let cell = top; cell >= bottom; cell -= 1) {
    const count = both[cell]! * all;
    win[cell] = reached + (count - count * gapShares[cell]!) / 2 + weight * before[cell]!;
    reached += count;
  }
  return reached;
}

/** By cell, half of what was spread onto it; see `halveSpread`. */
const halves = new Float64Array(cellCount);

/**
 * The same where something is. A triangle's second difference has three points, so two running sums make all triangles of all
 * widths in linear time. What is spread of a cell is taken from it and from the gap below in proportion.
 */
function addSpread(
  { counts, all, spreading, base, win }: Sum,
  { top, bottom, margin }: Range & { margin: number },
  above: number,
): number {
  const { win: before, weight } = base.start;
  const { factors } = base.habits;
  let slope = 0;
  let height = 0;
  for (let cell = counts.highest + margin - 1; cell > top; cell -= 1) {
    slope += bends[cell + 1 + margin]!;
    height += slope;
  }
  let reached = above;
  let below = 0;
  for (let cell = top; cell >= bottom; cell -= 1) {
    slope += bends[cell + 1 + margin]!;
    height += slope;
    const kept = both[cell]! * all - lone[cell]! * spreading;
    const between = kept * gapShares[cell]!;
    // Running sums of positive and negative shares may end a rounding below zero.
    const tied = (kept - between) / 2 + Math.max(0, height) * factors[cell]!;
    reached += below + tied;
    win[cell] = reached + weight * before[cell]!;
    below = between + tied;
  }
  return reached + below;
}

/** Fills `halves` with what `addSpread` has added. */
function halveSpread({ counts, base }: Sum, { top, bottom, margin }: Range & { margin: number }): void {
  const { factors } = base.habits;
  let slope = 0;
  let height = 0;
  for (let cell = counts.highest + margin - 1; cell >= bottom; cell -= 1) {
    slope += bends[cell + 1 + margin]!;
    height += slope;
    if (cell <= top) halves[cell] = Math.max(0, height) * factors[cell]!;
  }
}

/** What is moved into a cell, or out of it; all 0 between two calls. */
const moves = new Float64Array(cellCount);

/** How much of a triangle lies at least `distance` cells from its middle, on one side. */
function beyond(distance: number, halfWidth: number): number {
  const left = Math.max(0, halfWidth - distance);
  return (left * (left + 1)) / 2;
}

/** Moves what lies in a gap back to the results that it was spread from, as far as nobody ever bids there. */
function clear(
  { counts, win }: Sum,
  { first, last, share }: Gap,
  { top, bottom, margin }: Range & { margin: number },
): void {
  const [start, end] = [Math.max(first, bottom), Math.min(last, top)];
  let moved = 0;
  for (let cell = start; cell <= end; cell += 1) {
    const here = halves[cell]! * share;
    moves[cell]! -= here;
    moved += here;
  }
  const from = Math.max(counts.lowest, start - margin);
  const to = Math.min(counts.highest, end + margin);
  let sources = 0;
  for (let cell = from; cell <= to; cell += 1) {
    if (cell >= start && cell <= end) continue;
    const [near, far] = cell < start ? [start - cell, end + 1 - cell] : [cell - end, cell - start + 1];
    const source = lone[cell]! * (beyond(near, margin) - beyond(far, margin));
    sources += source;
    moves[cell]! += source;
  }
  // Half of what is moved, by half of what it comes from.
  const back = sources > 0 ? moved / sources : 0;
  let above = 0;
  for (let cell = Math.max(to, end); cell >= Math.min(from, start); cell -= 1) {
    const change = cell >= start && cell <= end ? moves[cell]! : moves[cell]! * back;
    // Sums that cancel may end a rounding below zero.
    win[cell] = Math.max(0, win[cell]! + above + change);
    above += 2 * change;
    moves[cell] = 0;
  }
}

/** Fills `bends` for all widths of the mixture; the widest half is `margin`. */
function bendAll(counts: Counts, spread: Spread, mixture: Mixture, margin: number, { start, habits }: Base): void {
  bends.fill(0, counts.lowest, counts.highest + 2 * margin + 1);
  for (const { smoothing, share } of mixture) {
    const halfWidth = halfWidthOf(spread, smoothing);
    if (halfWidth > 1) bend(counts, spread.loneSum, { halfWidth, margin }, share * start.own, habits);
  }
}

/**
 * Fills `win` with the win curve of the smoothed counts on top of `start`. Of each cell at most `mostByChance` is spread,
 * what lies between two cells with the cell above; what would fall beyond the grid's ends is put back in proportion. A rate
 * between two cells beats the upper one, loses to the lower and ties with neither. Nothing is spread into gaps as far as they
 * are likely. `spread` is the last one made.
 */
export function smoothedWin(counts: Counts, spread: Spread, mixture: Mixture, base: Base, win: Float64Array): void {
  let all = 0;
  let spreading = 0;
  let margin = 1;
  for (const { smoothing, share } of mixture) {
    const halfWidth = halfWidthOf(spread, smoothing);
    all += share * base.start.own;
    if (halfWidth > 1) spreading += share * base.start.own;
    margin = Math.max(margin, halfWidth);
  }
  const { gaps } = base;
  const sum = { counts, all, spreading, base, win };
  // Beyond the outermost triangles nothing is spread, and no counts lie between them and the ends of the grid.
  const top = Math.min(maxRateHundredths, counts.highest + margin - 1);
  const bottom = Math.max(minRateHundredths, counts.lowest - margin + 1);
  let above = addPlain(sum, { top: noRivalCell, bottom: noRivalCell }, 0);
  addNone(sum, { top: maxRateHundredths, bottom: top + 1 }, above);
  if (spreading === 0) above = addPlain(sum, { top, bottom }, above);
  else {
    bendAll(counts, spread, mixture, margin, base);
    above = addSpread(sum, { top, bottom, margin }, above);
    if (gaps.length > 0) {
      halveSpread(sum, { top, bottom, margin });
      for (const gap of gaps) clear(sum, gap, { top, bottom, margin });
    }
  }
  addNone(sum, { top: bottom - 1, bottom: minRateHundredths }, above);
  addPlain(sum, { top: minRateHundredths - 1, bottom: 0 }, above);
}
