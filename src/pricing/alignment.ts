/**
 * Segments of one market have much the same shape, but not the same level: rivals quote all of a dear segment higher. So a
 * segment starts from its parent's curve moved to where its own results lie, as far as there are enough of them to tell.
 */
import { noRivalCell } from '../domain/glossary.ts';
import type { Habits } from './habits.ts';

/** A level is known from fewer results than a shape: beside them a parent has this part of its weight. */
const levelShare = 0.5;

/** Of a win curve, or of one times any factor: mean of the best rival rate where there is a rival; null where there is none. */
function levelOf(win: Float64Array): number | null {
  const none = 2 * win[noRivalCell]!;
  const some = win[0]! - none;
  if (!(some > 1e-9)) return null;
  let sum = some / 2;
  for (let cell = 1; cell < noRivalCell; cell += 1) sum += win[cell]! - none;
  return sum / some;
}

/** Cells by which the parent's curve is moved for these results. `parentWeight` is what it counts for beside them, in results. */
export function stepTo(
  results: { rivals: number; mean: number },
  parentWin: Float64Array,
  parentWeight: number,
): number {
  const { rivals, mean } = results;
  const level = rivals > 0 ? levelOf(parentWin) : null;
  return level === null ? 0 : Math.round(((mean - level) * rivals) / (rivals + levelShare * parentWeight));
}

/**
 * Fills `into` with the curve moved up by `step` cells. Liked digits stay where they are: what comes to a cell is weighed by
 * how that cell is liked against the one it came from. What falls outside the grid is put back in proportion; the share
 * without rivals stays.
 */
export function moveWin(win: Float64Array, step: number, { factors }: Habits, into: Float64Array): Float64Array {
  const none = 2 * win[noRivalCell]!;
  const above = (cell: number) => (cell < noRivalCell ? win[cell]! - none : 0);
  into.fill(0);
  const last = Math.min(noRivalCell, noRivalCell + step);
  let sum = 0;
  for (let cell = Math.max(0, step); cell < last; cell += 1) {
    const from = cell - step;
    // Between the middles of two cells lie halves of both.
    const liked = (factors[cell]! + factors[cell + 1]!) / (factors[from]! + factors[from + 1]!);
    const share = (above(from) - above(from + 1)) * liked;
    into[cell] = share;
    sum += share;
  }
  const scale = sum > 0 ? above(0) / sum : 0;
  let reached = 0;
  for (let cell = noRivalCell - 1; cell >= 0; cell -= 1) {
    reached += into[cell]! * scale;
    into[cell] = none + reached;
  }
  into[noRivalCell] = none / 2;
  return into;
}
