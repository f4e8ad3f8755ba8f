/**
 * `lance/pricing`: the arithmetic of a loan and the choice of a bid, for programs other than this one. All functions are
 * pure. What is not exported here may change without notice.
 */
export type { AmountCents, Day, RateHundredths } from '../domain/glossary.ts';
export type { Offer } from '../domain/offer.ts';
export { type DayCount, type Economics, type Limits, noLimits, type Strategy } from '../domain/policy.ts';
export type { Cet } from './cet.ts';
export { type Choice, chooseOffer, type Explanation, explainChoice } from './choose.ts';
export type { IofRates } from './iof.ts';
export {
  type Financing,
  type LoanTerms,
  type Quote,
  quoteInstallment,
  quoteReleased,
  type Rounding,
  type ScheduleRow,
  scheduleRows,
} from './loan.ts';
export type { ChoiceInput, PriceCode, Refusal } from './mask.ts';
export { type PayrollCalendar, payrollDueDays } from './schedule.ts';
export type { PricingSettings, PriorSettings } from './settings.ts';
export { createRateTables, type RateTables } from './terms.ts';
export type { CostStack } from './value.ts';
export { curveOf, priorDistribution, type WinCurve } from './win-curve.ts';
