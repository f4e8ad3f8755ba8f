/** Acceptance: the worker chooses later, among offers from outside too. */
import { cellCount } from '../domain/glossary.ts';
import type { Economics } from '../domain/policy.ts';

/** Probability that a won offer at this rate is taken. Never rises with the rate as long as the slope is not negative. */
export function acceptanceAt(rateHundredths: number, economics: Economics): number {
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
