/** Acceptance: the worker chooses later, among offers from outside too. */
import { cellCount } from '../domain/glossary.ts';
import type { Economics } from '../domain/policy.ts';

/** Probability that a won offer at this rate is taken. Never rises with the rate as long as the slope is not negative. */
export function acceptanceAt(rateHundredths: number, economics: Economics): number {
  const distance = rateHundredths / 100 - economics.acceptanceMidpointPercent;
  return economics.acceptanceCeiling / (1 + Math.exp(economics.acceptanceSlope * distance));
}

/** `acceptanceAt` for every cell of the grid. */
export function acceptanceCurve(economics: Economics): Float64Array {
  return Float64Array.from({ length: cellCount }, (_, cell) => acceptanceAt(cell, economics));
}
