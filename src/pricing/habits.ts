/**
 * Last digits that lenders prefer. A lender that bids 2.49 for one loan bids 2.19 or 2.79 for the next, so the habit is the whole
 * market's, while where the rates lie belongs to a segment and a time: a segment with few results borrows the digits.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { Counts } from './smoothing.ts';

export const digits = 10;

/** How much likelier a rate is than its neighbours, which depends on its last digit alone: 1 on average. */
export type Habits = {
  /** By cell. */
  factors: Float64Array;
  /** By digit: what has the factors less 1 as its second difference. Their sums under straight lines are sums of a few of these. */
  bends: readonly number[];
};

/** Of a digit that at most one ten was added to or taken from. */
function lastDigit(digit: number): number {
  if (digit < 0) return digit + digits;
  return digit < digits ? digit : digit - digits;
}

/** Zeros by digit. Memory for a typed array costs more than all that is done with ten numbers. */
function zeros(): number[] {
  return [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
}

/** `byDigit` is 1 on average. `factors` is filled. */
export function habitsFrom(byDigit: readonly number[], factors: Float64Array = new Float64Array(cellCount)): Habits {
  const slopes = zeros();
  for (let digit = 1; digit < digits; digit += 1) slopes[digit] = slopes[digit - 1]! + byDigit[digit]! - 1;
  const slope = sumOf(slopes) / digits;
  const bends = zeros();
  for (let digit = 1; digit < digits; digit += 1) bends[digit] = bends[digit - 1]! + slopes[digit - 1]! - slope;
  factors.set(byDigit);
  for (let cell = digits; cell < cellCount; cell += 1) factors[cell] = factors[cell - digits]!;
  return { factors, bends };
}

export const noHabits = habitsFrom(zeros().fill(1));

/**
 * Fills `sums`, by last digit of the middle, with the sum of the factors under a triangle that is `halfWidth` high there and 1
 * at its outermost cells.
 */
export function underTriangles({ bends }: Habits, halfWidth: number, sums: Float64Array): void {
  const reach = halfWidth % digits;
  for (let digit = 0; digit < digits; digit += 1) {
    const ends = bends[lastDigit(digit + reach)]! + bends[lastDigit(digit - reach)]!;
    sums[digit] = halfWidth * halfWidth + ends - 2 * bends[digit]!;
  }
}

/** The same under the end of a triangle from `cell` outwards, `height` high there; `step` is 1 upwards, −1 downwards. */
export function underEnd({ bends }: Habits, cell: number, height: number, step: 1 | -1): number {
  const digit = cell % digits;
  const first = bends[digit]!;
  const rise = first - bends[lastDigit(digit - step)]!;
  const end = bends[lastDigit(digit + step * (height % digits))]!;
  return (height * (height + 1)) / 2 + end - first - height * rise;
}

/** Results by cell, two tens further on: what a triangle reaches below the grid is none. */
const seen = new Float64Array(cellCount + 4 * digits);
const pairs = digits ** 2;

/**
 * By digit, how many results there are, and how many there would be if all digits were liked the same: what a triangle over
 * two tens makes of the results, which gives each digit the same. What stands in one place alone is an atom and no habit: of
 * each digit the largest excess of a cell over its neighbours is left out.
 */
function countDigits({ byCell, lowest, highest }: Counts): { observed: number[]; expected: number[] } {
  seen.fill(0);
  for (let cell = lowest; cell <= highest; cell += 1) seen[cell + 2 * digits] = byCell[cell]!;
  const observed = zeros();
  const expected = zeros();
  const largest = zeros();
  let slope = 0;
  let height = 0;
  // The next digit is counted on: remainders cost more than all the rest.
  let next = (lowest + 1) % digits;
  const end = Math.min(maxRateHundredths + digits, highest + 2 * digits);
  for (let place = lowest; place < end; place += 1) {
    const digit = next;
    next = digit + 1 === digits ? 0 : digit + 1;
    slope += seen[place + 2 * digits]! - 2 * seen[place + digits]! + seen[place]!;
    height += slope;
    const cell = place - digits + 1;
    if (cell < minRateHundredths) continue;
    const usual = height / pairs;
    const here = seen[cell + 2 * digits]!;
    observed[digit]! += here;
    expected[digit]! += usual;
    // A tenth of the usual is the cell's own.
    const byOthers = (usual - here / digits) / (1 - 1 / digits);
    largest[digit] = Math.max(largest[digit]!, here - byOthers);
  }
  const leftOut = sumOf(largest) / digits;
  return {
    observed: observed.map((count, digit) => count - largest[digit]!),
    expected: expected.map((count) => count - leftOut),
  };
}

/**
 * Habits of a market from its results, in `room`. They are drawn towards none as far as chance explains them (James and
 * Stein).
 */
export function habitsOf(counts: Counts, room: Float64Array): Habits {
  const { observed, expected } = countDigits(counts);
  let surprise = 0;
  const liked = zeros();
  for (let digit = 0; digit < digits; digit += 1) {
    const usual = expected[digit]!;
    if (!(usual > 1e-9)) return noHabits;
    liked[digit] = Math.max(0, observed[digit]!) / usual;
    surprise += (observed[digit]! - usual) ** 2 / usual;
  }
  const trust = 1 - (digits - 1) / surprise;
  const mean = sumOf(liked) / digits;
  if (!(trust > 0 && mean > 0)) return noHabits;
  const byDigit = liked.map((ratio) => 1 + trust * (ratio / mean - 1));
  return habitsFrom(byDigit, room);
}

function sumOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
