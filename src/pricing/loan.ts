/**
 * Exact loan arithmetic: Price table on actual days, 30/360 or calendar/30, IOF, insurance, CET. Integer cents and
 * hundredths outside; the only floats are discount factors.
 *
 * Conventions. Instalments are equal and rounded half-up to the cent; the interest of a row is the rounded growth of the
 * rounded balance since the due date before; the last row repays what is left, and its interest is the rest of its
 * instalment, so it takes up what the others' rounding left. The daily IOF is rounded half-up in each row, on the row's
 * amortisation and the days since release. The additional IOF is rounded once, on the principal: Decree 6.306/2007,
 * art. 7 § 15, charges it on the operation whatever its term, so rows only share it out, the last one taking the rest.
 * An instalment below the interest of its row repays nothing: that row bears no tax, and what its amortisation takes off
 * the tax of the loan is taken off the rows after it.
 * Insurance is financed. The IOF is financed too (gross-up) or, without `iofFinanced`, kept back from what the worker
 * receives. The CET is the rate between what the worker receives, insurance left out, and all instalments.
 */
import assert from 'node:assert/strict';
import type { AmountCents } from '../domain/glossary.ts';
import type { DayCount } from '../domain/policy.ts';
import { type Cet, solveCet } from './cet.ts';
import { type IofRates, iofAdditionalCents, iofDailyCents, iofDailyShare, iofShare, roundHalfUp } from './iof.ts';

/**
 * Where cents are rounded. `once`: as the module says. `by-row`: as this program did before it knew lenders' engines: the
 * additional IOF is rounded in each row, and the last instalment differs from the others by what their rounding left.
 */
export type Rounding = 'once' | 'by-row';

export type LoanTerms = {
  /** Hundredths of a percent a month; whole for a bid, any number here. */
  rateHundredths: number;
  /** Days from release to each due date, ascending. */
  dueDays: readonly number[];
  dayCount: DayCount;
  rounding: Rounding;
  insuranceCents: AmountCents;
  iof: IofRates;
  /** True: the IOF is lent on top (gross-up). False: it is kept back from the released amount. */
  iofFinanced: boolean;
};

/** A loan in whole cents. */
export type Financing = {
  releasedCents: AmountCents;
  /** What the worker receives: the released amount, less the IOF where it is not financed. */
  disbursedCents: AmountCents;
  /** Released amount, insurance and financed IOF: the principal of the loan. */
  financedCents: AmountCents;
  /** All instalments but the last. */
  installmentCents: AmountCents;
  /** The same, but for loans that are rounded by row. */
  lastInstallmentCents: AmountCents;
  iofCents: AmountCents;
  totalCents: AmountCents;
};

export type Quote = Financing & Cet;

export type ScheduleRow = {
  number: number;
  dueDay: number;
  installmentCents: AmountCents;
  /** Of the last row: what its instalment leaves over the balance; below zero where rounding outweighs a month's interest. */
  interestCents: AmountCents;
  principalCents: AmountCents;
  /** Outstanding after this instalment. */
  balanceCents: AmountCents;
  iofDailyCents: AmountCents;
  /** Of the last row: what the rows before it have left. */
  iofAdditionalCents: AmountCents;
};

/**
 * Logarithm of the growth of one unit over one unit of time, in days for the day-counting kinds and in periods for
 * 30/360. The annual rate is rounded to six decimals as lenders' engines do (domain facts, Loan arithmetic).
 */
export function logGrowth(rateHundredths: number, dayCount: DayCount): number {
  const monthly = rateHundredths / 10_000;
  switch (dayCount) {
    case 'actual365':
      return Math.log1p(Math.round(((1 + monthly) ** 12 - 1) * 1e6) / 1e6) / 365;
    case '30/360':
      return Math.log1p(monthly);
    case 'calendar30':
      return Math.log1p(monthly) / 30;
    default:
      return dayCount satisfies never;
  }
}

/** Elapsed time at each due date in the units of `logGrowth`. */
export function elapsedUnits(dueDays: readonly number[], dayCount: DayCount): Float64Array {
  const elapsed = new Float64Array(dueDays.length);
  for (let index = 0; index < elapsed.length; index += 1) {
    elapsed[index] = dayCount === '30/360' ? index + 1 : dueDays[index]!;
  }
  return elapsed;
}

/**
 * `annuity` = Σ of discount factors; in row k, `interest[k]` on one unit of balance and `daily[k]` IOF on one of amortisation;
 * `iofUnit` = IOF on one unit financed. Plain arrays: they are short, and made for every loan.
 */
type Factors = { annuity: number; interest: number[]; daily: number[]; iofUnit: number };

function factorsOf(terms: LoanTerms): Factors {
  const growth = logGrowth(terms.rateHundredths, terms.dayCount);
  const elapsed = elapsedUnits(terms.dueDays, terms.dayCount);
  const interest: number[] = [];
  const daily: number[] = [];
  let annuity = 0;
  let before = 0;
  for (let index = 0; index < elapsed.length; index += 1) {
    annuity += Math.exp(-growth * elapsed[index]!);
    interest.push(Math.expm1(growth * (elapsed[index]! - before)));
    daily.push(iofDailyShare(terms.dueDays[index]!, terms.iof));
    before = elapsed[index]!;
  }
  let balance = 1;
  let iofUnit = 0;
  for (let index = 0; index < elapsed.length; index += 1) {
    const principal = 1 / annuity - balance * interest[index]!;
    balance -= principal;
    iofUnit += principal * (daily[index]! + terms.iof.additional);
  }
  return { annuity, interest, daily, iofUnit };
}

/** IOF of the schedule that `walk` makes of a loan rounded once, without its rows: principals are looked for with it. */
function iofOf(
  financedCents: AmountCents,
  installmentCents: AmountCents,
  { interest, daily }: Factors,
  iof: IofRates,
): AmountCents {
  const last = interest.length - 1;
  let balance = financedCents;
  let iofCents = iofAdditionalCents(financedCents, iof);
  for (let index = 0; index < last; index += 1) {
    const principalCents = installmentCents - Math.round(balance * interest[index]!);
    balance -= principalCents;
    iofCents += roundHalfUp(principalCents * daily[index]!);
  }
  return iofCents + roundHalfUp(balance * daily[last]!);
}

type Walked = { iofCents: AmountCents; lastInstallmentCents: AmountCents };

/** Shares a tax out over rows: one that would fall below zero bears none, and those after it bear as much less. The last one settles. */
function createTaxShare(): (reckonedCents: AmountCents, isLast: boolean) => AmountCents {
  let overCents = 0;
  return (reckonedCents, isLast) => {
    const dueCents = reckonedCents - overCents;
    const borneCents = isLast ? dueCents : Math.max(0, dueCents);
    overCents = borneCents - dueCents;
    return borneCents;
  };
}

/** Walks the rounded schedule. */
function walk(
  financedCents: AmountCents,
  installmentCents: AmountCents,
  terms: LoanTerms,
  interest: readonly number[],
  visit: ((row: ScheduleRow) => void) | null,
): Walked {
  const { dueDays, iof } = terms;
  const byRow = terms.rounding === 'by-row';
  const last = dueDays.length - 1;
  let balance = financedCents;
  let additionalLeft = iofAdditionalCents(financedCents, iof);
  let iofCents = 0;
  let lastInstallmentCents = installmentCents;
  const dailyShare = createTaxShare();
  const additionalShare = createTaxShare();
  for (let index = 0; index <= last; index += 1) {
    const isLast = index === last;
    const dueDay = dueDays[index]!;
    const takesRest = isLast && !byRow;
    const principalCents = isLast ? balance : installmentCents - Math.round(balance * interest[index]!);
    const interestCents = takesRest ? installmentCents - principalCents : Math.round(balance * interest[index]!);
    balance -= principalCents;
    const daily = dailyShare(iofDailyCents(principalCents, dueDay, iof), isLast);
    const shared = additionalShare(iofAdditionalCents(principalCents, iof), isLast);
    // Rounded up in each row, the shares of a small loan are more than the whole.
    const additional = takesRest ? additionalLeft : byRow ? shared : Math.min(shared, additionalLeft);
    additionalLeft -= additional;
    iofCents += daily + additional;
    lastInstallmentCents = principalCents + interestCents;
    visit?.({
      number: index + 1,
      dueDay,
      installmentCents: lastInstallmentCents,
      interestCents,
      principalCents,
      balanceCents: balance,
      iofDailyCents: daily,
      iofAdditionalCents: additional,
    });
  }
  return { iofCents, lastInstallmentCents };
}

function financing(
  financedCents: AmountCents,
  installmentCents: AmountCents,
  iofCents: AmountCents,
  lastInstallmentCents: AmountCents,
  terms: LoanTerms,
): Financing {
  const disbursedCents = financedCents - iofCents - terms.insuranceCents;
  return {
    releasedCents: terms.iofFinanced ? disbursedCents : disbursedCents + iofCents,
    disbursedCents,
    financedCents,
    installmentCents,
    lastInstallmentCents,
    iofCents,
    totalCents: installmentCents * (terms.dueDays.length - 1) + lastInstallmentCents,
  };
}

/** What a principal would have to pay in IOF. */
type Taxed = (financedCents: AmountCents) => AmountCents;

/** Rounds and cents that a search takes at most; those that end need ten or so. */
const mostTries = 100;

/**
 * The principal at which `base` and its own IOF settle when the tax is lent and taxed again, from `base` on: what lenders'
 * engines do, in four rounds or so. Where a step of the instalment jumps over that principal, the rounds repeat
 * themselves; from there the smallest that covers its tax, so the worker never receives less than was agreed.
 * The last one tried where rates and terms are such that the rounding of the instalment outgrows the loan itself.
 */
function settledPrincipal(base: AmountCents, iofOn: Taxed): AmountCents {
  const tried: AmountCents[] = [];
  let financedCents = base;
  while (!tried.includes(financedCents)) {
    const next = base + iofOn(financedCents);
    if (next === financedCents) return financedCents;
    if (tried.length === mostTries) return financedCents;
    tried.push(financedCents);
    financedCents = next;
  }
  const covers = (cents: AmountCents) => base + iofOn(cents) <= cents;
  for (let step = 0; step < mostTries; step += 1) {
    if (!covers(financedCents)) financedCents += 1;
    else if (covers(financedCents - 1)) financedCents -= 1;
    else return financedCents;
  }
  return financedCents;
}

const mostRoundsByRow = 8;

/** The principal that loans rounded by row had: stored decisions are made again to the same bytes with it. */
function principalByRow(base: AmountCents, start: AmountCents, iofOn: Taxed): AmountCents {
  let financedCents = start;
  for (let round = 0; ; round += 1) {
    const next = base + iofOn(financedCents);
    if (next === financedCents || (round > mostRoundsByRow && next < financedCents)) return financedCents;
    financedCents = round < mostRoundsByRow ? next : financedCents + 1;
  }
}

/** Instalment, IOF and last instalment of what is lent, its IOF at `taxCents` where that is known. */
function lend(
  financedCents: AmountCents,
  installmentCents: AmountCents,
  taxCents: AmountCents | null,
  factors: Factors,
  terms: LoanTerms,
): Financing {
  const { iofCents, lastInstallmentCents } =
    terms.rounding === 'by-row'
      ? walk(financedCents, installmentCents, terms, factors.interest, null)
      : {
          iofCents: taxCents ?? iofOf(financedCents, installmentCents, factors, terms.iof),
          lastInstallmentCents: installmentCents,
        };
  return financing(financedCents, installmentCents, taxCents ?? iofCents, lastInstallmentCents, terms);
}

/**
 * Instalment and costs of a loan of `releasedCents`. With the IOF financed, the financed amount is
 * `released + insurance + IOF(financed)`; where rounding leaves no such amount, the next that covers the tax is financed,
 * and the cent or two that it exceeds the rows' tax by are counted as IOF, in the last row.
 */
export function financeReleased(releasedCents: AmountCents, terms: LoanTerms): Financing {
  const factors = factorsOf(terms);
  const { annuity, interest, iofUnit } = factors;
  const base = releasedCents + terms.insuranceCents;
  assert.ok(Number.isSafeInteger(base), 'released amount and insurance must be whole cents');
  if (!terms.iofFinanced) return lend(base, Math.round(base / annuity), null, factors, terms);
  const { iof } = terms;
  assert.ok(iofShare(iof.dayCap, iof) < 1, 'an IOF that takes the whole principal cannot be financed');
  const financedCents =
    terms.rounding === 'by-row'
      ? principalByRow(base, Math.round(base / (1 - iofUnit)), (cents) => {
          return walk(cents, Math.round(cents / annuity), terms, interest, null).iofCents;
        })
      : settledPrincipal(base, (cents) => iofOf(cents, Math.round(cents / annuity), factors, iof));
  return lend(financedCents, Math.round(financedCents / annuity), financedCents - base, factors, terms);
}

/** The loan whose instalment is `installmentCents`: what can be released for it. Inverse of `financeReleased` within a cent of instalment. */
export function financeInstallment(installmentCents: AmountCents, terms: LoanTerms): Financing {
  const factors = factorsOf(terms);
  return lend(Math.round(installmentCents * factors.annuity), installmentCents, null, factors, terms);
}

/**
 * The loan of a given principal, if its instalment is this one: all principals within half a cent of instalment are rounded to the
 * same. Null: it is another one.
 */
export function financePrincipal(
  financedCents: AmountCents,
  installmentCents: AmountCents,
  terms: LoanTerms,
): Financing | null {
  const factors = factorsOf(terms);
  if (Math.round(financedCents / factors.annuity) !== installmentCents) return null;
  return lend(financedCents, installmentCents, null, factors, terms);
}

export function cetOf(loan: Financing, terms: LoanTerms): Cet {
  return solveCet(loan.disbursedCents, loan.installmentCents, loan.lastInstallmentCents, terms.dueDays);
}

/** `financeReleased` with its CET. */
export function quoteReleased(releasedCents: AmountCents, terms: LoanTerms): Quote {
  const loan = financeReleased(releasedCents, terms);
  return { ...loan, ...cetOf(loan, terms) };
}

/** `financeInstallment` with its CET. */
export function quoteInstallment(installmentCents: AmountCents, terms: LoanTerms): Quote {
  const loan = financeInstallment(installmentCents, terms);
  return { ...loan, ...cetOf(loan, terms) };
}

/** The rows of a loan: their instalments add up to `totalCents`, their principals to `financedCents`, their IOF to `iofCents`. */
export function scheduleRows(loan: Financing, terms: LoanTerms): ScheduleRow[] {
  const rows: ScheduleRow[] = [];
  const { interest } = factorsOf(terms);
  const { iofCents } = walk(loan.financedCents, loan.installmentCents, terms, interest, (row) => rows.push(row));
  rows.at(-1)!.iofAdditionalCents += loan.iofCents - iofCents;
  return rows;
}
