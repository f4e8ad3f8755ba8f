/** One rate of one request, priced by the exact arithmetic: what would be bid there, and what forbids it. */
import type { Cet } from './cet.ts';
import { cetOf, type Financing, financeInstallment, financeReleased } from './loan.ts';
import type { ChoiceInput, Mask } from './mask.ts';
import type { TermTable } from './terms.ts';
import { type CostStack, costStack, type ValueTable } from './value.ts';

/** The tables of one request, fetched once. */
export type Prepared = { term: TermTable; values: ValueTable; acceptance: Float64Array };

export function prepare(input: ChoiceInput): Prepared {
  const { tables, releaseDay, requestedInstallments, economics } = input;
  return {
    term: tables.terms(releaseDay, requestedInstallments),
    values: tables.values(releaseDay, requestedInstallments, economics),
    acceptance: tables.acceptance(economics),
  };
}

export type Candidate = {
  cell: number;
  loan: Financing;
  cet: Cet;
  stack: CostStack;
  /** Why this rate cannot be bid; null: it can. */
  forbidden: 'margin' | 'installment' | 'cet' | 'spread' | 'profit' | null;
};

/** The largest loan up to the full amount whose instalment fits; smaller than the least amount where nothing does. */
function fittingLoan(cell: number, input: ChoiceInput, mask: Mask, term: TermTable): Financing {
  const terms = input.tables.loanTerms(term, cell);
  const fullEstimate = (mask.fullCents + terms.insuranceCents) * (term.grossUp[cell]! / term.annuity[cell]!);
  if (fullEstimate < mask.maxInstallmentCents + 2) {
    const full = financeReleased(mask.fullCents, terms);
    if (full.installmentCents <= mask.maxInstallmentCents) return full;
  }
  // The instalment's own loan may round up by a cent when it is priced from its amount, as the service does.
  let released = Math.min(mask.fullCents, financeInstallment(mask.maxInstallmentCents, terms).releasedCents);
  let loan = financeReleased(released, terms);
  const centOfInstallment = Math.ceil(term.annuity[cell]! / 2);
  while (loan.installmentCents > mask.maxInstallmentCents && released > mask.leastCents) {
    released -= centOfInstallment;
    loan = financeReleased(released, terms);
  }
  return loan;
}

function forbiddenBy(
  candidate: Omit<Candidate, 'forbidden'>,
  mask: Mask,
  breakEven: number | null,
): Candidate['forbidden'] {
  const { loan, cell } = candidate;
  if (loan.releasedCents < mask.leastCents || loan.installmentCents > mask.maxInstallmentCents) return 'margin';
  if (loan.installmentCents < mask.minInstallmentCents) return 'installment';
  if (candidate.cet.cetAnnualHundredths > mask.maxCetAnnualHundredths) return 'cet';
  if (candidate.stack.valueIfReleased < mask.minProfitCents) return 'profit';
  if (breakEven === null || cell - breakEven < mask.minSpreadHundredths) return 'spread';
  return null;
}

/** Prices one cell exactly. `breakEven` is the lowest rate at which the loan is worth its cost, null without one. */
export function priceCandidate(
  cell: number,
  input: ChoiceInput,
  mask: Mask,
  prepared: Prepared,
  breakEven: number | null,
): Candidate {
  const loan = fittingLoan(cell, input, mask, prepared.term);
  const stack = costStack({
    loan: { ...loan, installments: input.requestedInstallments },
    cell,
    values: prepared.values,
    curve: input.curve,
    acceptance: prepared.acceptance[cell]!,
    economics: input.economics,
    guaranteed: input.guaranteed,
    shadowPricePerCent: input.shadowPricePerCent,
  });
  const cet = cetOf(loan, input.tables.loanTerms(prepared.term, cell));
  const candidate = { cell, loan, cet, stack };
  return { ...candidate, forbidden: forbiddenBy(candidate, mask, breakEven) };
}
