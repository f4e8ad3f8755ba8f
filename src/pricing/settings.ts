/** Settings of the pricing room. Their defaults stand in the configuration, not here: rules of the programme change. */
import type { AmountCents, RateHundredths } from '../domain/glossary.ts';
import type { DayCount } from '../domain/policy.ts';
import type { IofRates } from './iof.ts';
import type { Rounding } from './loan.ts';
import type { PayrollCalendar } from './schedule.ts';

export type PricingSettings = {
  dayCount: DayCount;
  /** Decisions stored without it were rounded by row. */
  rounding: Rounding;
  iof: IofRates;
  payrollCalendar: PayrollCalendar;
  /**
   * Percentage points a year on top of the economics' funding rate by maturity, linear between the points and flat beyond
   * them; ascending in months. Empty: one rate for all maturities.
   */
  fundingCurve: readonly { months: number; spreadPercent: number }[];
  /**
   * How the monthly probability of early settlement changes with the months since release: factors on the economics' own, linear
   * between the points and flat beyond them; ascending in months. Absent or empty: the same in all months.
   */
  earlySettlementProfile?: readonly { months: number; factor: number }[];
  /** What a guarantee pledges: 10 % of the FGTS balance and the whole termination fine. */
  guaranteePledge: { fgtsBalanceShare: number; terminationFineShare: number };
  /** Premium financed with every loan and paid on to the insurer. */
  insuranceCents: AmountCents;
  maxInstallments: number;
  /** Kept free below the margin, for the service's own rounding. */
  marginBufferCents: AmountCents;
  /** Where margin or limits bind, the amount may fall to this share of what was asked, 0 … 1. */
  minAmountShare: number;
  acceptancePrior: AcceptancePrior;
  /**
   * Standard deviations that `lance economics propose` adds to what it estimates, so that what is not known widens the margin;
   * absent: 0.
   */
  bookCautionDeviations?: number;
  winCurve: WinCurveSettings;
};

/** How sure the configured acceptance is: standard deviations of what our own wins may make of it. 0: nothing is learnt. */
export type AcceptancePrior = {
  /** Of the midpoint, percentage points a month. */
  midpointDeviationPercent: number;
  /** Of the logarithm of the ceiling. */
  ceilingDeviation: number;
};

type WinCurveSettings = {
  /** Results that the prior counts for in the most general segment. */
  priorWeight: number;
  /** Results that a parent segment counts for in its child. */
  shrinkage: number;
  /** Width of the smoothing of single results, in standard deviations of the rates: about 1; 0 for none. */
  smoothing: number;
  prior: PriorSettings;
};

/** What is believed of rivals before the first result: quantiles of one lender's quoted rates, and how many quote. */
export type PriorSettings = {
  /** Ascending in both; `share` is the quantile, 0 … 1. */
  quantiles: readonly { share: number; rateHundredths: RateHundredths }[];
  rivals: number;
};
