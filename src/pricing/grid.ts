/** Discount factors over the whole rate grid: the inner loop of every table. */
import { maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { DayCount } from '../domain/policy.ts';
import { elapsedUnits, logGrowth } from './loan.ts';

/** Calls `visit` with the discount factors at the due days for every rate of the grid; the array is reused. */
export function forEachRate(
  dueDays: readonly number[],
  dayCount: DayCount,
  visit: (cell: number, factors: Float64Array) => void,
): void {
  const elapsed = elapsedUnits(dueDays, dayCount);
  const factors = new Float64Array(elapsed.length);
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const growth = logGrowth(cell, dayCount);
    for (let index = 0; index < elapsed.length; index += 1) factors[index] = Math.exp(-growth * elapsed[index]!);
    visit(cell, factors);
  }
}
