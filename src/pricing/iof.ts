/** IOF, the tax on credit to individuals (Decree 6.306/2007, art. 7): a daily part and an additional part. */
import type { AmountCents } from '../domain/glossary.ts';

export type IofRates = {
  /** Share of the amortisation a day: 0.000082. */
  daily: number;
  /** Days after which the daily part grows no more: 365. */
  dayCap: number;
  /** Share of the amortisation, once: 0.0038. */
  additional: number;
};

/** Half-up, in whole cents. Products of cents, days and rates have at most seven decimals, so anything nearer to a half is one. */
export function roundHalfUp(value: number): number {
  return Math.floor(value + 0.5 + 1e-7);
}

/** Daily part for one amortisation, in whole cents. */
export function iofDailyCents(principalCents: AmountCents, dueDay: number, rates: IofRates): AmountCents {
  return roundHalfUp(principalCents * rates.daily * Math.min(dueDay, rates.dayCap));
}

/** Additional part for a principal or one amortisation of it, in whole cents. */
export function iofAdditionalCents(principalCents: AmountCents, rates: IofRates): AmountCents {
  return roundHalfUp(principalCents * rates.additional);
}

/** Daily part for one unit of amortisation, not rounded. */
export function iofDailyShare(dueDay: number, rates: IofRates): number {
  return rates.daily * Math.min(dueDay, rates.dayCap);
}

/** Both parts for one unit of amortisation, not rounded. */
export function iofShare(dueDay: number, rates: IofRates): number {
  return iofDailyShare(dueDay, rates) + rates.additional;
}
