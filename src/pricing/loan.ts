/**
 * Exact loan arithmetic: Price table on actual days, 30/360 or calendar/30, IOF, insurance, CET. Integer cents and
 * hundredths outside; the only floats are discount factors.
 *
 * Conventions. Instalments are equal and rounded half-up to the cent; the interest of a row is the rounded growth of the
 * rounded balance since the due date before; the last row repays what is left, so its instalment differs by what the
 * others' rounding left. Both parts of the IOF are rounded half-up in each row, on the row's amortisation and the days
 * since release. Insurance is financed. The IOF is financed too (gross-up) or, without `iofFinanced`, kept back from what
 * the worker receives. The CET is the rate between what the worker receives, insurance left out, and all instalments.
 */
import assert from 'node:assert/strict';
import type { AmountCents } from '../domain/glossary.ts';
import type { DayCount } from '../domain/policy.ts';
import { type Cet, solveCet } from './cet.ts';
import { type IofRates, iofAdditionalCents, iofDailyCents, iofShare } from './iof.ts';

export type LoanTerms = {
  /** Hundredths of a percent a month; whole for a bid, any number here. */
  rateHundredths: number;
  /** Days from release to each due date, ascending. */
  dueDays: readonly number[];
  dayCount: DayCount;
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
  /** All instalments but the last, which takes up what rounding left: see `lastInstallmentCents`. */
  installmentCents: AmountCents;
  lastInstallmentCents: AmountCents;
  iofCents: AmountCents;
  totalCents: AmountCents;
};

export type Quote = Financing & Cet;

export type ScheduleRow = {
  number: number;
  dueDay: number;
  installmentCents: AmountCents;
  interestCents: AmountCents;
  principalCents: AmountCents;
  /** Outstanding after this instalment. */
  balanceCents: AmountCents;
  iofDailyCents: AmountCents;
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

const maxFixedPointSteps = 8;

/** `annuity` = Σ of discount factors; `interest[k]` = interest of period k on one unit; `iofUnit` = IOF on one unit financed. */
type Factors = { annuity: number; interest: Float64Array; iofUnit: number };

function factorsOf(terms: LoanTerms): Factors {
  const growth = logGrowth(terms.rateHundredths, terms.dayCount);
  const elapsed = elapsedUnits(terms.dueDays, terms.dayCount);
  const interest = new Float64Array(elapsed.length);
  let annuity = 0;
  let before = 0;
  for (let index = 0; index < elapsed.length; index += 1) {
    annuity += Math.exp(-growth * elapsed[index]!);
    interest[index] = Math.expm1(growth * (elapsed[index]! - before));
    before = elapsed[index]!;
  }
  let balance = 1;
  let iofUnit = 0;
  for (let index = 0; index < elapsed.length; index += 1) {
    const principal = 1 / annuity - balance * interest[index]!;
    balance -= principal;
    iofUnit += principal * iofShare(terms.dueDays[index]!, terms.iof);
  }
  return { annuity, interest, iofUnit };
}

/** Walks the rounded schedule. The last row takes what is left, so its instalment may differ by the rounding of the others. */
function walk(
  financedCents: AmountCents,
  installmentCents: AmountCents,
  terms: LoanTerms,
  interest: Float64Array,
  visit: ((row: ScheduleRow) => void) | null,
): { iofCents: AmountCents; lastInstallmentCents: AmountCents } {
  const last = terms.dueDays.length - 1;
  let balance = financedCents;
  let iofCents = 0;
  let lastInstallmentCents = installmentCents;
  for (let index = 0; index <= last; index += 1) {
    const dueDay = terms.dueDays[index]!;
    const interestCents = Math.round(balance * interest[index]!);
    const principalCents = index === last ? balance : installmentCents - interestCents;
    balance -= principalCents;
    const daily = iofDailyCents(principalCents, dueDay, terms.iof);
    const additional = iofAdditionalCents(principalCents, terms.iof);
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

/**
 * Instalment and costs of a loan of `releasedCents`. With the IOF financed, the financed amount is the fixed point
 * `released + insurance + IOF(financed)`; where rounding leaves none, the next amount that covers the tax is financed,
 * and the cent or two that it exceeds the rows' tax by are counted as IOF, in the last row.
 */
export function financeReleased(releasedCents: AmountCents, terms: LoanTerms): Financing {
  const { annuity, interest, iofUnit } = factorsOf(terms);
  const base = releasedCents + terms.insuranceCents;
  assert.ok(Number.isSafeInteger(base), 'released amount and insurance must be whole cents');
  if (!terms.iofFinanced) {
    const installmentCents = Math.round(base / annuity);
    const { iofCents, lastInstallmentCents } = walk(base, installmentCents, terms, interest, null);
    return financing(base, installmentCents, iofCents, lastInstallmentCents, terms);
  }
  let financedCents = Math.round(base / (1 - iofUnit));
  for (let step = 0; ; step += 1) {
    const installmentCents = Math.round(financedCents / annuity);
    const { iofCents, lastInstallmentCents } = walk(financedCents, installmentCents, terms, interest, null);
    const next = base + iofCents;
    if (next === financedCents || (step > maxFixedPointSteps && next < financedCents)) {
      return financing(financedCents, installmentCents, financedCents - base, lastInstallmentCents, terms);
    }
    financedCents = step < maxFixedPointSteps ? next : financedCents + 1;
  }
}

/** The loan whose instalment is `installmentCents`: what can be released for it. Inverse of `financeReleased` within a cent of instalment. */
export function financeInstallment(installmentCents: AmountCents, terms: LoanTerms): Financing {
  const { annuity, interest } = factorsOf(terms);
  const financedCents = Math.round(installmentCents * annuity);
  const { iofCents, lastInstallmentCents } = walk(financedCents, installmentCents, terms, interest, null);
  return financing(financedCents, installmentCents, iofCents, lastInstallmentCents, terms);
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
