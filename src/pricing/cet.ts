/** CET, the effective cost of a loan to the worker (Resolution CMN 4.881/2020): the rate at which the payments are worth what was released. */
import type { AmountCents } from '../domain/glossary.ts';

const maxSteps = 200;

/** Round half to even (ABNT NBR 5891). */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (Math.abs(rest - 0.5) < 1e-9) return below % 2 === 0 ? below : below + 1;
  return rest < 0.5 ? below : below + 1;
}

export type Cet = {
  /** Hundredths of a percent a year. */
  cetAnnualHundredths: number;
  /** Hundredths of a percent a month: `(1 + CET)^(1/12) − 1`. */
  cetMonthlyHundredths: number;
};

/**
 * Root of `Σ payment / (1 + CET)^(days/365) = released`. The left side falls and is convex in the daily log rate, so
 * Newton's steps are kept inside a bracket that bisection takes over when they leave it.
 * `lastCents` is the last payment, all others are `installmentCents`. Payments must exceed the release.
 */
export function solveCet(
  releasedCents: AmountCents,
  installmentCents: AmountCents,
  lastCents: AmountCents,
  dueDays: readonly number[],
): Cet {
  const last = dueDays.length - 1;
  let low = 0;
  let high = 1;
  let logRate = 0.001;
  for (let step = 0; step < maxSteps; step += 1) {
    let worth = 0;
    let slope = 0;
    for (let index = 0; index <= last; index += 1) {
      const days = dueDays[index]!;
      const present = (index === last ? lastCents : installmentCents) * Math.exp(-logRate * days);
      worth += present;
      slope -= present * days;
    }
    const excess = worth - releasedCents;
    if (excess > 0) low = logRate;
    else high = logRate;
    let next = logRate - excess / slope;
    if (!(next > low && next < high)) next = (low + high) / 2;
    const moved = Math.abs(next - logRate);
    logRate = next;
    if (moved < 1e-13) break;
  }
  return {
    cetAnnualHundredths: roundHalfEven(Math.expm1(365 * logRate) * 10_000),
    cetMonthlyHundredths: roundHalfEven(Math.expm1((365 / 12) * logRate) * 10_000),
  };
}
