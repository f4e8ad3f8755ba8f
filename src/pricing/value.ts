/**
 * What a loan is worth to the lender once it is released, and how that comes about: the cost stack. The IOF is no row:
 * the worker pays it through the instalments, the lender only passes it on.
 *
 * Model: the link survives to due day d with probability `(1 − neverStarted) · (1 − separation)^(12·d/365)`. While it
 * does, instalments come. At the first due day it does not reach, what was outstanding after the last instalment comes
 * back, later by the delay of recovery, but for the loss given separation, which a guarantee lessens as far as it covers
 * the loan. Whoever settles early between two due days pays, on the later one, its instalment and the balance after it,
 * which is the present value of the rest at the contract's rate. All of it is discounted under the funding curve. Taxes
 * take their percent of the present value of what comes in before losses, less what was lent; capital is charged on what
 * is expected to be outstanding.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { Economics } from '../domain/policy.ts';
import { forEachRate } from './grid.ts';
import type { PricingSettings } from './settings.ts';
import type { WinCurve } from './win-curve.ts';

export type ValueTable = {
  /** Present value of one unit at every due day: certain, and as long as the link lives. */
  certain: number;
  surviving: number;
  /** As `surviving`, for those who have not settled. */
  unsettled: number;
  /** By rate, for one unit financed: present value of what is outstanding when the link ends; the same with nobody settling. */
  exposed: Float64Array;
  exposedUnsettled: Float64Array;
  /** `exposed` discounted to the day on which recoveries come in. */
  recovered: Float64Array;
  /** Present value of the balances paid by those who settle early. */
  settled: Float64Array;
  /** Outstanding times years, discounted. */
  carried: Float64Array;
  /**
   * For the joint search, in one piece, since it looks at many tables. From `cellsFrom` on by rate: V of one unit financed
   * before losses, commission and fixed costs, and what a loss share of 1 costs of it. From `stridesFrom` on by stride of the
   * rates, and from `stepsFrom` on by step: the highest of the first and the lowest of the second, gross-up and annuity at the
   * lowest rate, and gross-up at the highest.
   */
  search: Float64Array;
};

/** Rates that the joint search bounds together: first so many, and where those may hold the best, so many of them. */
export const rateStride = 16;
export const rateStep = 4;

const strideCount = Math.ceil(cellCount / rateStride);
const stepCount = Math.ceil(cellCount / rateStep);
/** Numbers of one stride or step. */
export const boundSize = 5;
export const stridesFrom = 0;
export const stepsFrom = boundSize * strideCount;
export const cellsFrom = stepsFrom + boundSize * stepCount;

type SearchedTerm = { dueDays: readonly number[]; annuity: Float64Array; grossUp: Float64Array };

function emptySearch({ annuity, grossUp }: SearchedTerm): Float64Array {
  const search = new Float64Array(cellsFrom + 2 * cellCount);
  const fill = (from: number, count: number, width: number) => {
    for (let index = 0; index < count; index += 1) {
      // Tables hold nothing for the cells of no rate at either end.
      const lowest = Math.max(minRateHundredths, index * width);
      const highest = Math.min(maxRateHundredths, (index + 1) * width - 1);
      const place = from + boundSize * index;
      search[place] = Number.NEGATIVE_INFINITY;
      search[place + 1] = Number.POSITIVE_INFINITY;
      search[place + 2] = grossUp[lowest]!;
      search[place + 3] = annuity[lowest]!;
      search[place + 4] = grossUp[highest]!;
    }
  };
  fill(stridesFrom, strideCount, rateStride);
  fill(stepsFrom, stepCount, rateStep);
  return search;
}

function widen(search: Float64Array, place: number, net: number, lossy: number): void {
  if (net > search[place]!) search[place] = net;
  if (lossy < search[place + 1]!) search[place + 1] = lossy;
}

/** The best of all that these tables hold for each stride and step, so that what cannot pay at any of the terms is seen in one look. */
export function envelopeOf(tables: readonly ValueTable[]): Float64Array {
  const envelope = tables[0]!.search.slice(0, cellsFrom);
  for (const { search } of tables.slice(1)) {
    for (let place = 0; place < cellsFrom; place += boundSize) {
      envelope[place] = Math.max(envelope[place]!, search[place]!);
      envelope[place + 1] = Math.min(envelope[place + 1]!, search[place + 1]!);
      envelope[place + 2] = Math.min(envelope[place + 2]!, search[place + 2]!);
      envelope[place + 3] = Math.max(envelope[place + 3]!, search[place + 3]!);
      envelope[place + 4] = Math.max(envelope[place + 4]!, search[place + 4]!);
    }
  }
  return envelope;
}

type SpreadPoint = { months: number };

const daysAMonth = 365 / 12;

/** Of what is off; never written. */
const zeros = new Float64Array(cellCount);

/** Linear between the points, flat beyond them; `none` without any. */
function atMonth<Point extends SpreadPoint>(
  months: number,
  points: readonly Point[],
  read: (point: Point) => number,
  none: number,
): number {
  const next = points.findIndex((point) => point.months >= months);
  if (next <= 0) {
    const edge = next < 0 ? points.at(-1) : points[0];
    return edge === undefined ? none : read(edge);
  }
  const [low, high] = [points[next - 1]!, points[next]!];
  const share = (months - low.months) / (high.months - low.months);
  return read(low) + share * (read(high) - read(low));
}

/** What a table of values depends on beside the term and the settings. */
type Hazard = Pick<
  Economics,
  | 'fundingAnnualPercent'
  | 'separationMonthly'
  | 'neverStartedShare'
  | 'earlySettlementMonthly'
  | 'spreadTaxPercent'
  | 'capitalChargeAnnualPercent'
  | 'recoveryDelayMonths'
>;

type ValueSettings = Pick<PricingSettings, 'dayCount' | 'fundingCurve' | 'earlySettlementProfile'>;

/** Probability that a loan which runs at one day has not been settled by the other; steps of a month at most. */
function unsettledShare(
  fromDay: number,
  toDay: number,
  monthly: number,
  profile: ValueSettings['earlySettlementProfile'],
) {
  if (monthly === 0) return 1;
  let log = 0;
  for (let day = fromDay; day < toDay; ) {
    const next = Math.min(toDay, day + daysAMonth);
    const factor = atMonth((day + next) / 2 / daysAMonth, profile ?? [], (point) => point.factor, 1);
    log += Math.log1p(-Math.min(0.999, monthly * factor)) * ((next - day) / daysAMonth);
    day = next;
  }
  return Math.exp(log);
}

/** `annuity` and `grossUp` by rate cell as in the term's own table. */
export function buildValueTable(
  term: SearchedTerm,
  hazard: Hazard,
  { dayCount, fundingCurve, earlySettlementProfile }: ValueSettings,
): ValueTable {
  const { dueDays, annuity } = term;
  const { earlySettlementMonthly = 0, spreadTaxPercent = 0 } = hazard;
  const { capitalChargeAnnualPercent = 0, recoveryDelayMonths = 0 } = hazard;
  const logSurvival = (Math.log1p(-hazard.separationMonthly) * 12) / 365;
  const count = dueDays.length;
  const ends = new Float64Array(count);
  const endsUnsettled = new Float64Array(count);
  const endsDelayed = new Float64Array(count);
  const settles = new Float64Array(count);
  const carries = new Float64Array(count);
  const discountAt = (day: number) => {
    const spread = atMonth(day / daysAMonth, fundingCurve, (point) => point.spreadPercent, 0);
    return (1 + (hazard.fundingAnnualPercent + spread) / 100) ** (-day / 365);
  };
  const [settling, delayed, charged] = [
    earlySettlementMonthly > 0,
    recoveryDelayMonths > 0,
    capitalChargeAnnualPercent > 0,
  ];
  const make = () => new Float64Array(cellCount);
  const exposed = make();
  const table: ValueTable = {
    certain: 0,
    surviving: 0,
    unsettled: 0,
    exposed,
    exposedUnsettled: settling ? make() : exposed,
    recovered: delayed ? make() : exposed,
    settled: settling ? make() : zeros,
    carried: charged ? make() : zeros,
    search: emptySearch(term),
  };
  let before = 1;
  let running = 1;
  let dayBefore = 0;
  for (const [index, day] of dueDays.entries()) {
    const discount = discountAt(day);
    const survival = (1 - hazard.neverStartedShare) * Math.exp(logSurvival * day);
    const ended = (before - survival) * discount;
    table.certain += discount;
    table.surviving += survival * discount;
    table.unsettled += survival * discount * running;
    endsUnsettled[index] = ended;
    ends[index] = ended * running;
    if (delayed)
      endsDelayed[index] = (before - survival) * running * discountAt(day + recoveryDelayMonths * daysAMonth);
    if (charged) carries[index] = before * running * ((day - dayBefore) / 365) * discount;
    const left = running * unsettledShare(dayBefore, day, earlySettlementMonthly, earlySettlementProfile);
    settles[index] = survival * discount * (running - left);
    running = left;
    before = survival;
    dayBefore = day;
  }
  const kept = 1 - spreadTaxPercent / 100;
  forEachRate(dueDays, dayCount, (cell, factors) => {
    let tail = 0;
    let sum = 0;
    let sumUnsettled = 0;
    let sumDelayed = 0;
    let sumSettled = 0;
    let sumCarried = 0;
    for (let index = count - 1; index >= 0; index -= 1) {
      // What is outstanding after this due day, and before it, in instalments.
      if (settling) sumSettled += (settles[index]! * tail) / factors[index]!;
      tail += factors[index]!;
      const scale = index === 0 ? 1 : factors[index - 1]!;
      sum += (ends[index]! * tail) / scale;
      if (settling) sumUnsettled += (endsUnsettled[index]! * tail) / scale;
      if (delayed) sumDelayed += (endsDelayed[index]! * tail) / scale;
      if (charged) sumCarried += (carries[index]! * tail) / scale;
    }
    const unit = annuity[cell]!;
    table.exposed[cell] = sum / unit;
    if (settling) table.exposedUnsettled[cell] = sumUnsettled / unit;
    if (settling) table.settled[cell] = sumSettled / unit;
    if (delayed) table.recovered[cell] = sumDelayed / unit;
    if (charged) table.carried[cell] = sumCarried / unit;
    const spread = table.unsettled / unit + table.exposed[cell]! + table.settled[cell]! - 1;
    const late = table.exposed[cell]! - table.recovered[cell]!;
    const net = spread * kept - late - (capitalChargeAnnualPercent / 100) * table.carried[cell]!;
    const lossy = table.recovered[cell]!;
    table.search[cellsFrom + 2 * cell] = net;
    table.search[cellsFrom + 2 * cell + 1] = lossy;
    widen(table.search, stridesFrom + boundSize * Math.floor(cell / rateStride), net, lossy);
    widen(table.search, stepsFrom + boundSize * Math.floor(cell / rateStep), net, lossy);
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
  | 'early-settlement'
  | 'expected-loss'
  | 'selection'
  | 'recovery-delay'
  | 'spread-tax'
  | 'capital'
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

/**
 * Builds the rows from interest down to expected profit. `early-end` is the interest that ended links no longer bring,
 * `early-settlement` what those who settle no longer bring. What is off in the economics has no row.
 */
export function costStack(input: StackInput): CostStack {
  const { loan, cell, values, economics, acceptance } = input;
  const { earlySettlementMonthly = 0, spreadTaxPercent = 0 } = economics;
  const { capitalChargeAnnualPercent = 0, recoveryDelayMonths = 0 } = economics;
  const { installmentCents, financedCents } = loan;
  const win = input.curve.win[cell]!;
  const exposed = financedCents * values.exposed[cell]!;
  const exposedUnsettled = financedCents * values.exposedUnsettled[cell]!;
  const share = lossShare(economics, input.pledgedCents, financedCents);
  const loss = exposed * share;
  const multiplier = lossMultiplier(cell, input.curve, economics);
  const amounts: [CostRowName, number][] = [
    ['interest', installmentCents * loan.installments - financedCents],
    ['funding', -installmentCents * (loan.installments - values.certain)],
    ['early-end', exposedUnsettled - installmentCents * (values.certain - values.surviving)],
  ];
  if (earlySettlementMonthly > 0) {
    const balances = financedCents * values.settled[cell]! + exposed - exposedUnsettled;
    amounts.push(['early-settlement', balances - installmentCents * (values.surviving - values.unsettled)]);
  }
  const spread = amounts.reduce((sum, [, amount]) => sum + amount, 0);
  amounts.push(['expected-loss', -loss], ['selection', -loss * (multiplier - 1)]);
  if (recoveryDelayMonths > 0) {
    const late = exposed - financedCents * values.recovered[cell]!;
    amounts.push(['recovery-delay', -late * (1 - share * multiplier)]);
  }
  if (spreadTaxPercent > 0) amounts.push(['spread-tax', (-spreadTaxPercent / 100) * spread]);
  if (capitalChargeAnnualPercent > 0) {
    amounts.push(['capital', (-capitalChargeAnnualPercent / 100) * financedCents * values.carried[cell]!]);
  }
  amounts.push(
    ['commission', (-economics.commissionPercent / 100) * loan.releasedCents],
    ['contract-cost', -economics.contractCostCents],
  );
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
