/** Discount factors over the whole rate grid: the inner loop of every table. */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { DayCount } from '../domain/policy.ts';
import { elapsedUnits, logGrowth } from './loan.ts';

/** Of one way to count days: log growth by cell, and by the time of a due day its discount factors by cell. */
type Kept = { growth: Float64Array; factors: Map<number, Float64Array> };

const kept = new Map<DayCount, Kept>();
/** Of 5 kB each. The due days of one day of release are the same for all terms, but for how many there are. */
const mostKept = 1_000;

function keptOf(dayCount: DayCount): Kept {
  const known = kept.get(dayCount);
  if (known !== undefined) return known;
  const growth = new Float64Array(cellCount);
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) growth[cell] = logGrowth(cell, dayCount);
  const made = { growth, factors: new Map() };
  kept.set(dayCount, made);
  return made;
}

function factorsAt({ growth, factors }: Kept, elapsed: number): Float64Array {
  const known = factors.get(elapsed);
  if (known !== undefined) return known;
  const made = new Float64Array(cellCount);
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1)
    made[cell] = Math.exp(-growth[cell]! * elapsed);
  if (factors.size >= mostKept) factors.clear();
  factors.set(elapsed, made);
  return made;
}

/** Calls `visit` with the discount factors at the due days for every rate of the grid; the array is reused. */
export function forEachRate(
  dueDays: readonly number[],
  dayCount: DayCount,
  visit: (cell: number, factors: Float64Array) => void,
): void {
  const found = keptOf(dayCount);
  const columns = Array.from(elapsedUnits(dueDays, dayCount), (elapsed) => factorsAt(found, elapsed));
  const factors = new Float64Array(columns.length);
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    for (let index = 0; index < columns.length; index += 1) factors[index] = columns[index]![cell]!;
    visit(cell, factors);
  }
}
