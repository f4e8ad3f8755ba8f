/**
 * How sure a difference is: whole batches are drawn anew, with replacement, because requests of one batch meet the same
 * rivals in the same mood. Percentile intervals (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13).
 */
import { chanceOf } from './chance.ts';

/** What one batch adds to one group of requests: a row of numbers. */
export type BatchRow = { batch: number; group: number; values: Float64Array };

export type Interval = { low: number; high: number };

/** Bounds of the middle 90 %. */
const tail = 0.05;

function middleOf(draws: Float64Array): Interval {
  const sorted = draws.toSorted();
  const place = (share: number) => Math.min(sorted.length - 1, Math.max(0, Math.round(share * (sorted.length - 1))));
  return { low: sorted[place(tail)]!, high: sorted[place(1 - tail)]! };
}

/**
 * For each group and each statistic of its sums, the interval over `draws` resamples of `batches` batches. `statistics` turns the
 * sums of a group's rows into figures. Groups that not one row belongs to have none.
 */
export function bootstrap(
  rows: readonly BatchRow[],
  shape: { batches: number; groups: number; width: number },
  statistics: readonly ((sums: Float64Array) => number)[],
  { draws, seed }: { draws: number; seed: number },
): Interval[][] {
  const { batches, groups, width } = shape;
  const chance = chanceOf(seed);
  const figures = Array.from({ length: groups }, () => statistics.map(() => new Float64Array(draws)));
  const times = new Float64Array(batches);
  const sums = new Float64Array(groups * width);
  // Flat, so that a draw is one pass over memory.
  const flat = new Float64Array(rows.length * width);
  for (const [index, row] of rows.entries()) flat.set(row.values, index * width);
  for (let draw = 0; draw < draws; draw += 1) {
    times.fill(0);
    for (let index = 0; index < batches; index += 1) times[Math.floor(chance() * batches)]! += 1;
    sums.fill(0);
    for (let index = 0; index < rows.length; index += 1) {
      const { batch, group } = rows[index]!;
      const weight = times[batch]!;
      if (weight === 0) continue;
      const to = group * width;
      const from = index * width;
      for (let part = 0; part < width; part += 1) sums[to + part]! += weight * flat[from + part]!;
    }
    for (let group = 0; group < groups; group += 1) {
      const own = sums.subarray(group * width, (group + 1) * width);
      for (const [place, statistic] of statistics.entries()) figures[group]![place]![draw] = statistic(own);
    }
  }
  return figures.map((own) => own.map(middleOf));
}
