/**
 * Segments of one market have much the same shape, but not the same level: rivals quote all of a dear segment higher. So a
 * segment starts from its parent's curve moved to where its own results lie, as far as there are enough of them to tell. The
 * parent holds the levels of all its segments, and is wider than each of them: it is narrowed as well.
 */
import { cellCount, noRivalCell } from '../domain/glossary.ts';
import { digits, type Habits } from './habits.ts';

/** A level and a width are known from fewer results than a shape: beside them a parent has this part of its weight. */
const levelShare = 0.5;
/** Parts of its width that a curve is narrowed to at most, and above which it is left as it is: so much may be chance. */
const narrowest = 0.25;
const narrowEnough = 0.9;

/** Of a win curve, or of one times any factor: mean of the best rival rate where there is a rival; null where there is none. */
export function levelOf(win: Float64Array): number | null {
  const none = 2 * win[noRivalCell]!;
  const some = win[0]! - none;
  if (!(some > 1e-9)) return null;
  let [even, odd] = [0, 0];
  for (let cell = 2; cell < noRivalCell; cell += 2) {
    odd += win[cell - 1]!;
    even += win[cell]!;
  }
  return (some / 2 + even + odd + win[noRivalCell - 1]! - (noRivalCell - 1) * none) / some;
}

/** Variance of the same rates around their mean, `level`. */
function varianceOf(win: Float64Array, level: number): number {
  let sum = 0;
  let all = 0;
  let above = 2 * win[noRivalCell]!;
  for (let cell = noRivalCell - 1; cell > 0; cell -= 1) {
    // Between the middles of two cells lie halves of both.
    const here = win[cell]! - above;
    above = win[cell]!;
    sum += here * (cell + 0.5 - level) ** 2;
    all += here;
  }
  return all > 0 ? sum / all : 0;
}

/** Where a curve's rates lie, and how wide. */
export type Extent = { level: number; variance: number };

/** Of a win curve, or of one times any factor; null where there is no rival. */
export function extentOf(win: Float64Array): Extent | null {
  const level = levelOf(win);
  return level === null ? null : { level, variance: varianceOf(win, level) };
}

/**
 * Cells by which a parent whose rates lie around `level` is moved for these results. `parentWeight` is what it counts for
 * beside them, in results.
 */
export function stepTo(results: { rivals: number; mean: number }, level: number, parentWeight: number): number {
  const { rivals, mean } = results;
  if (!(rivals > 0)) return 0;
  return Math.round(((mean - level) * rivals) / (rivals + levelShare * parentWeight));
}

/** By digit, how a pair of neighbours is liked against the pair that comes to it. */
const liked = new Float64Array(digits);
const moved = new Float64Array(cellCount);

/**
 * The curve moved up by `step` cells; overwritten with the next one. Liked digits stay where they are: what comes to a cell is
 * weighed by how that cell is liked against the one it came from, which is by `before` where that is told. What falls outside the grid is put back in proportion; the
 * share without rivals stays.
 */
export function moveWin(
  win: Float64Array,
  step: number,
  { factors }: Habits,
  { factors: before }: Habits = { factors, bends: [] },
): Float64Array {
  // Between the middles of two cells lie halves of both.
  let from = ((-step % digits) + digits) % digits;
  for (let digit = 0; digit < digits; digit += 1) {
    liked[digit] = (factors[digit]! + factors[digit + 1]!) / (before[from]! + before[from + 1]!);
    from = from + 1 === digits ? 0 : from + 1;
  }
  const none = 2 * win[noRivalCell]!;
  const first = Math.max(0, step);
  const last = Math.min(noRivalCell, noRivalCell + step) - 1;
  let reached = 0;
  let above = step > 0 ? win[Math.max(0, noRivalCell - step)]! : none;
  let digit = last % digits;
  moved.fill(0, Math.max(0, last + 1));
  for (let cell = last; cell >= first; cell -= 1) {
    const here = win[cell - step]!;
    reached += (here - above) * liked[digit]!;
    above = here;
    moved[cell] = reached;
    digit = digit === 0 ? digits - 1 : digit - 1;
  }
  moved.fill(reached, 0, Math.min(first, noRivalCell));
  const scale = reached > 0 ? (win[0]! - none) / reached : 0;
  for (let cell = 0; cell < noRivalCell; cell += 1) moved[cell] = none + moved[cell]! * scale;
  moved[noRivalCell] = none / 2;
  return moved;
}

/**
 * Part of its width that a parent is narrowed to for these results, 1 at most: what they show, beside the parent's own width with
 * the same weight as its level.
 */
export function scaleTo(
  results: { rivals: number; variance: number },
  parent: { variance: number },
  parentWeight: number,
): number {
  const { rivals, variance } = results;
  const weight = levelShare * parentWeight;
  if (!(rivals > 0 && parent.variance > 0)) return 1;
  return Math.min(1, Math.sqrt((rivals * (variance / parent.variance) + weight) / (rivals + weight)));
}

const narrowed = new Float64Array(cellCount);

/**
 * The curve with all rates `scale` times as far from `middle`, as `scaleTo` gives it; overwritten with the next one. The share
 * without rivals stays.
 */
export function narrowWin(win: Float64Array, middle: number, scale: number): Float64Array {
  if (scale > narrowEnough) return win;
  const stretch = 1 / Math.max(narrowest, scale);
  const none = 2 * win[noRivalCell]!;
  // What lies outside comes from beyond the grid's ends.
  const start = middle - middle * stretch;
  const first = Math.max(0, Math.ceil(-start / stretch));
  const last = Math.min(noRivalCell - 1, Math.floor((noRivalCell - 1.001 - start) / stretch));
  narrowed.fill(win[0]!, 0, first);
  for (let cell = first; cell <= last; cell += 1) {
    const from = start + cell * stretch;
    const low = from | 0;
    const here = win[low]!;
    narrowed[cell] = here + (from - low) * (win[low + 1]! - here);
  }
  narrowed.fill(none, Math.max(first, last + 1), noRivalCell);
  narrowed[noRivalCell] = none / 2;
  return narrowed;
}
