/**
 * How far predicted probabilities can be believed: a reliability diagram, and proper scores. An outcome is the share of
 * the prize: 1 won, ½ tied, 0 lost.
 */
import { type Interval, intervalsOver } from './bootstrap.ts';

const binCount = 10;
/** A prediction of never or always that fails once would cost infinitely much. */
const leastProbability = 0.001;

type CalibrationBin = {
  from: number;
  to: number;
  count: number;
  predicted: number | null;
  observed: number | null;
};

export type Calibration = {
  bins: readonly CalibrationBin[];
  count: number;
  /** Mean of `(p − o)²` (Brier 1950); less is better. */
  brier: number;
  /** Mean of `−o·ln p − (1 − o)·ln(1 − p)`, p kept within 0.001 … 0.999; less is better. */
  logScore: number;
  /** Mean distance between predicted and observed of a bin, weighed by its count. */
  meanGap: number;
  /** Over batches drawn anew; of `bins` the share observed, null where there is none. */
  interval: { brier: Interval; logScore: Interval; bins: readonly (Interval | null)[] };
  /** What a constant prediction of the observed mean scores. */
  constant: { probability: number; brier: number; logScore: number };
};

function logLoss(probability: number, outcome: number): number {
  const kept = Math.min(1 - leastProbability, Math.max(leastProbability, probability));
  return -(outcome * Math.log(kept) + (1 - outcome) * Math.log(1 - kept));
}

/** Columns of a batch's row: counts by bin, outcomes by bin, squares, losses. */
const [squareColumn, lossColumn, columns] = [2 * binCount, 2 * binCount + 1, 2 * binCount + 2];

function sumOfCounts(sums: Float64Array): number {
  let count = 0;
  for (let bin = 0; bin < binCount; bin += 1) count += sums[bin]!;
  return count;
}

/** `endBatch`: what was added since the last one met the same rivals in the same mood. */
type Calibrating = {
  add: (probability: number, outcome: number) => void;
  endBatch: () => void;
  /** At least one prediction was added. */
  read: () => Calibration;
};

export function createCalibration(): Calibrating {
  const counts = new Float64Array(binCount);
  const predicted = new Float64Array(binCount);
  const observed = new Float64Array(binCount);
  let square = 0;
  let loss = 0;
  let outcomeSquares = 0;
  const rows: Float64Array[] = [];
  let row: Float64Array | null = null;
  const intervalOf = (): Calibration['interval'] => {
    const statistics = [
      (sums: Float64Array) => sums[squareColumn]! / sumOfCounts(sums),
      (sums: Float64Array) => sums[lossColumn]! / sumOfCounts(sums),
      // A resample without any of the bin says what all say.
      ...Array.from(counts, (_count, bin) => (sums: Float64Array) => {
        const [from, inBin] = sums[bin]! > 0 ? [sums, sums[bin]!] : [null, counts[bin]!];
        return (from === null ? observed[bin]! : from[binCount + bin]!) / inBin;
      }),
    ];
    const [brier, logScore, ...bins] = intervalsOver(rows, statistics) as [Interval, Interval, ...Interval[]];
    return { brier, logScore, bins: bins.map((interval, bin) => (counts[bin] === 0 ? null : interval)) };
  };
  return {
    add: (probability, outcome) => {
      const bin = Math.min(binCount - 1, Math.floor(probability * binCount));
      counts[bin]! += 1;
      predicted[bin]! += probability;
      observed[bin]! += outcome;
      square += (probability - outcome) ** 2;
      loss += logLoss(probability, outcome);
      outcomeSquares += outcome * outcome;
      if (row === null) {
        row = new Float64Array(columns);
        rows.push(row);
      }
      row[bin]! += 1;
      row[binCount + bin]! += outcome;
      row[squareColumn]! += (probability - outcome) ** 2;
      row[lossColumn]! += logLoss(probability, outcome);
    },
    endBatch: () => {
      row = null;
    },
    read: () => {
      const total = (sums: Float64Array) => sums.reduce((sum, value) => sum + value, 0);
      const count = total(counts);
      const mean = total(observed) / count;
      const bins = Array.from(counts, (inBin, bin) => ({
        from: bin / binCount,
        to: (bin + 1) / binCount,
        count: inBin,
        predicted: inBin === 0 ? null : predicted[bin]! / inBin,
        observed: inBin === 0 ? null : observed[bin]! / inBin,
      }));
      const gaps = predicted.reduce((sum, value, bin) => sum + Math.abs(value - observed[bin]!), 0);
      return {
        bins,
        count,
        brier: square / count,
        logScore: loss / count,
        meanGap: gaps / count,
        interval: intervalOf(),
        constant: { probability: mean, brier: outcomeSquares / count - mean * mean, logScore: logLoss(mean, mean) },
      };
    },
  };
}
