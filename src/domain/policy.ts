/** The words in which the risk team and the settings steer a bid: limits, economics, strategy, caps. */
import type { AmountCents, RateHundredths } from './glossary.ts';

/** Null: not limited. Several limits on one field: the tightest wins. */
export type Limits = {
  minRateHundredths: RateHundredths | null;
  maxRateHundredths: RateHundredths | null;
  minAmountCents: AmountCents | null;
  maxAmountCents: AmountCents | null;
  minInstallments: number | null;
  maxInstallments: number | null;
  minInstallmentCents: AmountCents | null;
  maxInstallmentCents: AmountCents | null;
  /** Hundredths of a percent a year. */
  maxCetAnnualHundredths: number | null;
  /** Share of the available margin that an instalment may take, 0 … 1. */
  maxMarginShare: number | null;
  /** Bid rate less the rate at which the loan breaks even. */
  minSpreadHundredths: RateHundredths | null;
  minProfitCents: AmountCents | null;
  /** How many installments more or fewer than asked may be offered instead; null: none. */
  maxTermChange: number | null;
};

export const noLimits: Limits = {
  minRateHundredths: null,
  maxRateHundredths: null,
  minAmountCents: null,
  maxAmountCents: null,
  minInstallments: null,
  maxInstallments: null,
  minInstallmentCents: null,
  maxInstallmentCents: null,
  maxCetAnnualHundredths: null,
  maxMarginShare: null,
  minSpreadHundredths: null,
  minProfitCents: null,
  maxTermChange: null,
};

export type DayCount = 'actual365' | '30/360' | 'calendar30';

/**
 * The value model of a loan. Defaults come from the settings, single fields are overridden by `economics` rules.
 * Percentages are plain numbers here (13.75 means 13.75 %): they are never money.
 */
export type Economics = {
  fundingAnnualPercent: number;
  /** Probability a month that the employment link ends. */
  separationMonthly: number;
  /** Share of released loans whose first instalment never comes through payroll. */
  neverStartedShare: number;
  /** Loss on what is outstanding when the link ends, after guarantee and recoveries, 0 … 1. */
  lossGivenSeparation: number;
  /** Share of what is outstanding that a guarantee worth the whole loan recovers on top, 0 … 1; one worth half of it, half. */
  guaranteeRecovery: number;
  /** Paid once on release, percent of the released amount. */
  commissionPercent: number;
  contractCostCents: AmountCents;
  bidCostCents: AmountCents;
  /** Acceptance by the worker: `1 / (1 + exp(slope · (rate − midpoint)))` times `ceiling`, rate in percent a month. */
  acceptanceCeiling: number;
  acceptanceMidpointPercent: number;
  acceptanceSlope: number;
  /** Times (amount / asked) to this power: less money than asked for is liked less. */
  acceptanceAmountElasticity: number;
  /** Times e to the minus this · |ln(term / asked)|: other terms than the one asked for are liked less. */
  acceptanceTermElasticity: number;
  /** Weight of (1 − w) in the loss multiplier: winning is bad news. */
  selectionWin: number;
  /** Weight of each percent a month above the segment's median. */
  selectionRate: number;
  /**
   * Probability a month that a running loan is settled early, 0 … 1; absent: 0. The settings' profile says how it changes with
   * the age of the loan. Who settles pays the present value of what is left at the contract's own rate: consumers have a right to
   * interest reduced in proportion (Código de Defesa do Consumidor, Law 8.078/1990, art. 52 § 2).
   */
  earlySettlementMonthly?: number;
  /**
   * Percent of interest less funding that taxes on revenue take; absent: 0. PIS and COFINS of a bank together: 4.65 (Law
   * 9.718/1998, arts. 2 and 3 § 6, with Law 10.684/2003, art. 18). Credit losses do not lower them.
   */
  spreadTaxPercent?: number;
  /**
   * Percent a year of what is outstanding that the lender's own capital costs beyond its funding: share of capital held times what
   * owners want above the funding rate; absent: 0. Capital held: 8 % of risk-weighted assets and buffers (CMN Resolution 4.958/2021).
   */
  capitalChargeAnnualPercent?: number;
  /** Months between the end of the link and the day on which what is recovered comes in; absent: 0. */
  recoveryDelayMonths?: number;
};

export type Strategy =
  | { kind: 'optimise' }
  | { kind: 'fixed-rate'; rateHundredths: RateHundredths }
  | { kind: 'undercut'; byHundredths: RateHundredths };
