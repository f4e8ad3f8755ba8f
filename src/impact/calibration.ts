/**
 * How far predicted probabilities can be believed: a reliability diagram, and proper scores. An outcome is the share of
 * the prize: 1 won, ½ tied, 0 lost.
 */

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
  /** What a constant prediction of the observed mean scores. */
  constant: { probability: number; brier: number; logScore: number };
};

function logLoss(probability: number, outcome: number): number {
  const kept = Math.min(1 - leastProbability, Math.max(leastProbability, probability));
  return -(outcome * Math.log(kept) + (1 - outcome) * Math.log(1 - kept));
}

export function createCalibration(): { add: (probability: number, outcome: number) => void; read: () => Calibration } {
  const counts = new Float64Array(binCount);
  const predicted = new Float64Array(binCount);
  const observed = new Float64Array(binCount);
  let square = 0;
  let loss = 0;
  let outcomeSquares = 0;
  return {
    add: (probability, outcome) => {
      const bin = Math.min(binCount - 1, Math.floor(probability * binCount));
      counts[bin]! += 1;
      predicted[bin]! += probability;
      observed[bin]! += outcome;
      square += (probability - outcome) ** 2;
      loss += logLoss(probability, outcome);
      outcomeSquares += outcome * outcome;
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
        constant: { probability: mean, brier: outcomeSquares / count - mean * mean, logScore: logLoss(mean, mean) },
      };
    },
  };
}
