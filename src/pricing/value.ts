/**
 * What a loan is worth to the lender once it is released, and how that comes about: the cost stack. The IOF is no row:
 * the worker pays it through the instalments, the lender only passes it on.
 *
 * Model: the link survives to due day d with probability `(1 − neverStarted) · (1 − separation)^(12·d/365)`. While it
 * does, instalments come. At the first due day it does not reach, what was outstanding after the last instalment comes
 * back but for the loss given separation, which a guarantee lessens as far as it covers the loan. All of it is discounted
 * under the funding curve.
 */
import { cellCount } from '../domain/glossary.ts';
import type { Economics } from '../domain/policy.ts';
import { forEachRate } from './grid.ts';
import type { PricingSettings } from './settings.ts';
import type { WinCurve } from './win-curve.ts';

export type ValueTable = {
  /** Present value of one unit at every due day, certain and with survival. */
  certain: number;
  surviving: number;
  /** By rate: present value of what is outstanding when the link ends, for one unit financed. */
  exposed: Float64Array;
};

type FundingCurve = PricingSettings['fundingCurve'];

const daysAMonth = 365 / 12;

/** Percentage points on top of the funding rate for money that comes back on this day. */
function fundingSpread(day: number, curve: FundingCurve): number {
  const months = day / daysAMonth;
  const next = curve.findIndex((point) => point.months >= months);
  if (next <= 0) return (next < 0 ? curve.at(-1)?.spreadPercent : curve[0]!.spreadPercent) ?? 0;
  const [low, high] = [curve[next - 1]!, curve[next]!];
  const share = (months - low.months) / (high.months - low.months);
  return low.spreadPercent + share * (high.spreadPercent - low.spreadPercent);
}

type Hazard = Pick<Economics, 'fundingAnnualPercent' | 'separationMonthly' | 'neverStartedShare'>;

/** `annuity` by rate cell as in the term's own table. */
export function buildValueTable(
  term: { dueDays: readonly number[]; annuity: Float64Array },
  hazard: Hazard,
  { dayCount, fundingCurve }: Pick<PricingSettings, 'dayCount' | 'fundingCurve'>,
): ValueTable {
  const { dueDays, annuity } = term;
  const logSurvival = (Math.log1p(-hazard.separationMonthly) * 12) / 365;
  const endsDiscounted = new Float64Array(dueDays.length);
  const table: ValueTable = { certain: 0, surviving: 0, exposed: new Float64Array(cellCount) };
  let before = 1;
  for (const [index, day] of dueDays.entries()) {
    const fundingPercent = hazard.fundingAnnualPercent + fundingSpread(day, fundingCurve);
    const discount = (1 + fundingPercent / 100) ** (-day / 365);
    const survival = (1 - hazard.neverStartedShare) * Math.exp(logSurvival * day);
    table.certain += discount;
    table.surviving += survival * discount;
    endsDiscounted[index] = (before - survival) * discount;
    before = survival;
  }
  forEachRate(dueDays, dayCount, (cell, factors) => {
    let tail = 0;
    let exposed = 0;
    for (let index = dueDays.length - 1; index >= 0; index -= 1) {
      tail += factors[index]!;
      exposed += (endsDiscounted[index]! * tail) / (index === 0 ? 1 : factors[index - 1]!);
    }
    table.exposed[cell] = exposed / annuity[cell]!;
  });
  return table;
}

/**
 * Loss on what is outstanding when the link ends, 0 … 1. `pledgedCents` is what the guarantee is worth: 0 without one,
 * infinite when it is not told. It is taken to cover the same share of what is outstanding all along.
 */
export function lossShare(economics: Economics, pledgedCents: number, financedCents: number): number {
  const covered = pledgedCents >= financedCents ? 1 : pledgedCents / financedCents;
  return Math.max(0, economics.lossGivenSeparation - economics.guaranteeRecovery * covered);
}

/**
 * Multiplier on the expected loss for winning at this rate: `1 + κ₁·(1 − w) + κ₂·max(0, rate − median)`. Auctions
 * without rivals are taken out of `w` here: that nobody else wanted the loan is the worst news, whatever our rate.
 */
export function lossMultiplier(cell: number, curve: WinCurve, economics: Economics): number {
  const wonAgainstRivals = Math.max(0, curve.win[cell]! - curve.noRivalShare);
  const aboveMedianPercent = Math.max(0, cell - curve.medianHundredths) / 100;
  return 1 + economics.selectionWin * (1 - wonAgainstRivals) + economics.selectionRate * aboveMedianPercent;
}

type PricedLoan = {
  releasedCents: number;
  financedCents: number;
  installmentCents: number;
  installments: number;
};

type CostRowName =
  | 'interest'
  | 'funding'
  | 'early-end'
  | 'expected-loss'
  | 'selection'
  | 'commission'
  | 'contract-cost'
  | 'not-won'
  | 'not-taken'
  | 'budget'
  | 'bid-cost';

export type CostStack = {
  /** In whole cents, costs negative; they add up to `expectedProfitCents` exactly. */
  rows: readonly { name: CostRowName; cents: number }[];
  /** V: the rows from interest to contract cost, in cents, not rounded. */
  valueIfReleased: number;
  /** J in cents, not rounded, and rounded. */
  expectedProfit: number;
  expectedProfitCents: number;
};

export type StackInput = {
  loan: PricedLoan;
  /** Cell of the loan's rate. */
  cell: number;
  values: ValueTable;
  curve: WinCurve;
  acceptance: number;
  economics: Economics;
  /** See `lossShare`. */
  pledgedCents: number;
  /** Cents of value that one cent of released amount costs elsewhere (λ of the design). */
  shadowPricePerCent: number;
};

/** Rounded; never −0, which is another value where records are compared. */
function wholeCents(cents: number): number {
  return Math.round(cents) + 0;
}

/** Builds the rows from interest down to expected profit. `early-end` is the interest that ended links no longer bring. */
export function costStack(input: StackInput): CostStack {
  const { loan, cell, values, economics, acceptance } = input;
  const win = input.curve.win[cell]!;
  const exposed = loan.financedCents * values.exposed[cell]!;
  const loss = exposed * lossShare(economics, input.pledgedCents, loan.financedCents);
  const amounts: [CostRowName, number][] = [
    ['interest', loan.installmentCents * loan.installments - loan.financedCents],
    ['funding', -loan.installmentCents * (loan.installments - values.certain)],
    ['early-end', exposed - loan.installmentCents * (values.certain - values.surviving)],
    ['expected-loss', -loss],
    ['selection', -loss * (lossMultiplier(cell, input.curve, economics) - 1)],
    ['commission', (-economics.commissionPercent / 100) * loan.releasedCents],
    ['contract-cost', -economics.contractCostCents],
  ];
  const valueIfReleased = amounts.reduce((sum, [, amount]) => sum + amount, 0);
  amounts.push(
    ['not-won', -(1 - win) * valueIfReleased],
    ['not-taken', -win * (1 - acceptance) * valueIfReleased],
    ['budget', -win * acceptance * input.shadowPricePerCent * loan.releasedCents],
    ['bid-cost', -economics.bidCostCents],
  );
  // Rounding the running sum, not the rows, makes them add up.
  let running = 0;
  const rows = amounts.map(([name, amount]) => {
    const before = wholeCents(running);
    running += amount;
    return { name, cents: wholeCents(running) - before };
  });
  return { rows, valueIfReleased, expectedProfit: running, expectedProfitCents: wholeCents(running) };
}
