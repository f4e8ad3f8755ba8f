/** The mask: which rates, amounts and instalments a bid for one request may have. Rates are cells of the grid. */
import { type AmountCents, type Day, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { AmountSearch } from '../domain/offer.ts';
import type { Economics, Limits, Strategy } from '../domain/policy.ts';
import type { RateTables } from './terms.ts';
import type { WinCurve } from './win-curve.ts';

export type ChoiceInput = {
  tables: RateTables;
  /** Calendar day in São Paulo on which the loan would be released. */
  releaseDay: Day;
  requestedAmountCents: AmountCents;
  requestedInstallments: number;
  availableMarginCents: AmountCents;
  /** What the FGTS guarantee is worth in cents: 0 without one, infinite when it is not told how much. */
  pledgedCents: number;
  limits: Limits;
  economics: Economics;
  strategy: Strategy;
  curve: WinCurve;
  /** λ: cents of value that one cent of released amount costs elsewhere; 0 without a budget. */
  shadowPricePerCent: number;
  /**
   * How the amount is chosen: together with rate and term, or as the largest that fits, which is how decisions were made whose
   * record does not say. Absent: together.
   */
  amounts?: AmountSearch;
};

/** Why pricing does not bid. */
export const priceCodes = [
  'installments-out-of-range',
  'amount-out-of-range',
  'limits-conflict',
  'margin-too-small',
  'no-admissible-rate',
  'no-profit',
] as const;
export type PriceCode = (typeof priceCodes)[number];

export type Refusal = { kind: 'none'; code: PriceCode; text: string };

export type Mask = {
  kind: 'mask';
  lowRate: number;
  highRate: number;
  /** What is offered where nothing binds, and the least that is worth offering. */
  fullCents: AmountCents;
  leastCents: AmountCents;
  minInstallmentCents: AmountCents;
  /** Tighter of margin and limit. */
  maxInstallmentCents: AmountCents;
  maxCetAnnualHundredths: number;
  minSpreadHundredths: number;
  minProfitCents: number;
};

export function refuse(code: PriceCode, text: string): Refusal {
  return { kind: 'none', code, text };
}

export function percentText(hundredths: number): string {
  return `${(hundredths / 100).toFixed(2)} %`;
}

export function moneyText(cents: number): string {
  return `R$ ${(cents / 100).toFixed(2)}`;
}

function crossedLimits(limits: Limits): string | null {
  const pairs = [
    ['rate', limits.minRateHundredths, limits.maxRateHundredths],
    ['amount', limits.minAmountCents, limits.maxAmountCents],
    ['installments', limits.minInstallments, limits.maxInstallments],
    ['installment', limits.minInstallmentCents, limits.maxInstallmentCents],
  ] as const;
  return pairs.find(([, low, high]) => low !== null && high !== null && low > high)?.[0] ?? null;
}

function rateRange(input: ChoiceInput): [number, number] {
  const { limits, strategy, curve } = input;
  const low = Math.max(minRateHundredths, limits.minRateHundredths ?? minRateHundredths);
  const high = Math.min(maxRateHundredths, limits.maxRateHundredths ?? maxRateHundredths);
  switch (strategy.kind) {
    case 'optimise':
      return [low, high];
    case 'fixed-rate':
      return [Math.max(low, strategy.rateHundredths), Math.min(high, strategy.rateHundredths)];
    case 'undercut':
      return [low, Math.min(high, curve.medianHundredths - strategy.byHundredths)];
    default:
      return strategy satisfies never;
  }
}

function termRange({ limits, tables: { settings } }: ChoiceInput): { fewest: number; most: number } {
  return {
    fewest: Math.max(1, limits.minInstallments ?? 1),
    most: Math.min(settings.maxInstallments, limits.maxInstallments ?? settings.maxInstallments),
  };
}

export function isTermAllowed(input: ChoiceInput, installments: number): boolean {
  const { fewest, most } = termRange(input);
  return Number.isInteger(installments) && installments >= fewest && installments <= most;
}

/** What can be known before any rate is tried, for a loan of this many installments: the same for all terms that are allowed. */
export function buildMask(input: ChoiceInput, installments: number): Mask | Refusal {
  const { limits } = input;
  const { settings } = input.tables;
  const crossed = crossedLimits(limits);
  if (crossed !== null) return refuse('limits-conflict', `the least ${crossed} allowed is above the highest`);
  const { requestedAmountCents: asked } = input;
  if (!isTermAllowed(input, installments)) {
    const { fewest, most } = termRange(input);
    const text = `${installments} instalments asked, ${fewest} to ${most} allowed`;
    return refuse('installments-out-of-range', text);
  }
  const fullCents = Math.min(asked, limits.maxAmountCents ?? asked);
  const leastCents = Math.max(1, limits.minAmountCents ?? 0, Math.ceil(asked * settings.minAmountShare));
  if (fullCents < leastCents) {
    const text = `${moneyText(asked)} asked; at most ${moneyText(fullCents)} may and at least ${moneyText(leastCents)} must be offered`;
    return refuse('amount-out-of-range', text);
  }
  const marginShare = limits.maxMarginShare ?? 1;
  const usableMargin = Math.floor(input.availableMarginCents * marginShare + 1e-9) - settings.marginBufferCents;
  const maxInstallmentCents = Math.min(usableMargin, limits.maxInstallmentCents ?? usableMargin);
  if (maxInstallmentCents < Math.max(1, limits.minInstallmentCents ?? 1)) {
    return refuse('margin-too-small', `the margin leaves ${moneyText(Math.max(0, maxInstallmentCents))} an instalment`);
  }
  const [lowRate, highRate] = rateRange(input);
  if (lowRate > highRate) {
    const text = `the strategy ${input.strategy.kind} and the limits leave no rate (${percentText(lowRate)} to ${percentText(highRate)})`;
    return refuse('no-admissible-rate', text);
  }
  return {
    kind: 'mask',
    lowRate: Math.ceil(lowRate),
    highRate: Math.floor(highRate),
    fullCents,
    leastCents,
    minInstallmentCents: limits.minInstallmentCents ?? 1,
    maxInstallmentCents,
    maxCetAnnualHundredths: limits.maxCetAnnualHundredths ?? Number.POSITIVE_INFINITY,
    minSpreadHundredths: limits.minSpreadHundredths ?? 0,
    minProfitCents: limits.minProfitCents ?? 0,
  };
}
