/**
 * Acceptance: the worker chooses later, among offers from outside too. A logistic curve in the rate, configured; our own
 * wins, taken or not, move its midpoint and its ceiling, and nothing else, so that it never rises with the rate.
 */
import { cellCount, type EpochMs, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import { decayFactor, type Histogram, timeAlone } from '../domain/histogram.ts';
import type { AcceptanceShift } from '../domain/offer.ts';
import type { Economics } from '../domain/policy.ts';
import type { AcceptancePrior } from './settings.ts';

type Curve = Pick<Economics, 'acceptanceCeiling' | 'acceptanceMidpointPercent' | 'acceptanceSlope'>;

/** Probability that a won offer at this rate is taken. Never rises with the rate as long as the slope is not negative. */
export function acceptanceAt(rateHundredths: number, economics: Curve): number {
  const distance = rateHundredths / 100 - economics.acceptanceMidpointPercent;
  return economics.acceptanceCeiling / (1 + Math.exp(economics.acceptanceSlope * distance));
}

/** Factor for an amount or a term that is not the one asked for, 0 … 1. */
export function amountLiking(amountCents: number, askedCents: number, economics: Economics): number {
  if (amountCents >= askedCents) return 1;
  return (amountCents / askedCents) ** economics.acceptanceAmountElasticity;
}

export function termLiking(installments: number, asked: number, economics: Economics): number {
  return Math.exp(-economics.acceptanceTermElasticity * Math.abs(Math.log(installments / asked)));
}

/** `acceptanceAt` for every cell of the grid. */
export function acceptanceCurve(economics: Economics): Float64Array {
  return Float64Array.from({ length: cellCount }, (_, cell) => acceptanceAt(cell, economics));
}

/** The configured curve as our own wins have moved it. */
export function shiftAcceptance(economics: Curve, shift: AcceptanceShift): Curve {
  return {
    acceptanceCeiling: Math.min(1, economics.acceptanceCeiling * shift.ceilingFactor),
    acceptanceMidpointPercent: economics.acceptanceMidpointPercent + shift.midpointShiftPercent,
    acceptanceSlope: economics.acceptanceSlope,
  };
}

/** Own wins by the rate offered, decayed as of `at`. */
export type OwnWins = { taken: Histogram; declined: Histogram; at: EpochMs; halfLifeMs: number };

/** Grid of either parameter, in standard deviations of its prior. */
const widestDeviations = 3;
const deviationStep = 0.25;
const leastProbability = 1e-9;

/**
 * Share of the answers yes that have their answers no beside them, 0 … 1. Who takes an offer says so at once, who declines
 * is known when validity and grace are over: of the first days' wins only those taken have been counted.
 */
function answeredShare({ taken, declined, at, halfLifeMs }: OwnWins): number {
  if (declined.count === 0) return 0;
  // A landmark that was moved is no beginning; by then the first days have faded.
  if (declined.landmarkCount > 0 || declined.landmarkAt <= taken.landmarkAt) return 1;
  const covered = ({ landmarkAt }: Histogram) => {
    const age = at - landmarkAt;
    return Number.isFinite(halfLifeMs) ? -Math.expm1((-Math.LN2 * age) / halfLifeMs) : age;
  };
  const whole = covered(taken);
  return whole > 0 ? Math.max(0, covered(declined)) / whole : 0;
}

/**
 * Posterior mean of midpoint shift and logarithm of the ceiling's factor under independent normal priors, on a grid.
 * Rounded to four decimals: it is recorded with each decision.
 */
export function fitAcceptance(wins: OwnWins, economics: Curve, prior: AcceptancePrior): AcceptanceShift {
  const seen: { cell: number; taken: number; declined: number }[] = [];
  const weightOf = (histogram: Histogram) => decayFactor(histogram, wins.at, timeAlone(wins.halfLifeMs));
  const [takenWeight, declinedWeight] = [weightOf(wins.taken) * answeredShare(wins), weightOf(wins.declined)];
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const taken = wins.taken.cells[cell]! * takenWeight;
    const declined = wins.declined.cells[cell]! * declinedWeight;
    if (taken + declined > 0) seen.push({ cell, taken, declined });
  }
  const points: { shift: number; logFactor: number; logWeight: number }[] = [];
  for (let first = -widestDeviations; first <= widestDeviations; first += deviationStep) {
    for (let second = -widestDeviations; second <= widestDeviations; second += deviationStep) {
      const shift = first * prior.midpointDeviationPercent;
      const logFactor = second * prior.ceilingDeviation;
      const curve = shiftAcceptance(economics, { midpointShiftPercent: shift, ceilingFactor: Math.exp(logFactor) });
      let logWeight = -(first * first + second * second) / 2;
      for (const { cell, taken, declined } of seen) {
        const accepted = Math.min(1 - leastProbability, Math.max(leastProbability, acceptanceAt(cell, curve)));
        logWeight += taken * Math.log(accepted) + declined * Math.log1p(-accepted);
      }
      points.push({ shift, logFactor, logWeight });
    }
  }
  const highest = points.reduce((most, { logWeight }) => Math.max(most, logWeight), Number.NEGATIVE_INFINITY);
  const sum = { weight: 0, shift: 0, logFactor: 0 };
  for (const { shift, logFactor, logWeight } of points) {
    const weight = Math.exp(logWeight - highest);
    sum.weight += weight;
    sum.shift += weight * shift;
    sum.logFactor += weight * logFactor;
  }
  return {
    midpointShiftPercent: Number((sum.shift / sum.weight).toFixed(4)),
    ceilingFactor: Number(Math.exp(sum.logFactor / sum.weight).toFixed(4)),
  };
}
