/** Whether a figure that is sampled while a program runs grows: a slope with its interval. */
import { rounded } from './figures.ts';

/** `at` in milliseconds. */
export type Sample = { at: number; value: number };

/** All of `value` and of growth are in the unit of the samples. `from` and `to`: the 95 % interval of `growth`. */
export type Trend = { mean: number; growth: number; from: number; to: number; isFlat: boolean };

/** Samples side by side are alike, so what counts are means, or least values, of stretches of time, which are nearly independent. */
const mostStretches = 8;
const leastStretches = 4;
/** Student's t for 95 %, by degrees of freedom: two less than there are stretches. */
const studentT: Readonly<Record<number, number>> = { 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447 };
/** Over the time that was looked at, of the mean: a growth that is surely above it is none of chance, nor too small to matter. */
const mostGrowth = 0.05;

/** `of`: what counts of each stretch. Of a heap the least, as after a collection. `slack`: so much is no growth, whatever the mean. */
export function trendOf(samples: readonly Sample[], of: 'mean' | 'least', slack = 0): Trend {
  const points = stretchesOf(samples, of);
  if (points.length < leastStretches) throw new Error(`${samples.length} samples are too few for a trend`);
  const [at, value] = [mean(points.map((point) => point.at)), mean(points.map((point) => point.value))];
  const squares = points.reduce((sum, point) => sum + (point.at - at) ** 2, 0);
  const slope = points.reduce((sum, point) => sum + (point.at - at) * (point.value - value), 0) / squares;
  const residual = points.reduce((sum, point) => sum + (point.value - value - slope * (point.at - at)) ** 2, 0);
  const error = Math.sqrt(residual / (points.length - 2) / squares);
  const lengthMs = samples.at(-1)!.at - samples[0]!.at;
  const [growth, margin] = [slope * lengthMs, studentT[points.length - 2]! * error * lengthMs];
  return {
    mean: rounded(value, 2),
    growth: rounded(growth, 2),
    from: rounded(growth - margin, 2),
    to: rounded(growth + margin, 2),
    isFlat: growth - margin <= Math.max(slack, mostGrowth * Math.abs(value)),
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function stretchesOf(samples: readonly Sample[], of: 'mean' | 'least'): Sample[] {
  const count = Math.min(mostStretches, samples.length);
  return Array.from({ length: count }, (_, stretch) => {
    const ends = [stretch, stretch + 1].map((end) => Math.floor((end * samples.length) / count));
    const own = samples.slice(...ends);
    const values = own.map(({ value }) => value);
    return { at: mean(own.map(({ at }) => at)), value: of === 'mean' ? mean(values) : Math.min(...values) };
  });
}
