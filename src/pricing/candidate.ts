/** One rate of one request, priced by the exact arithmetic: what would be bid there, and what forbids it. */
import { amountLiking, termLiking } from './acceptance.ts';
import type { Cet } from './cet.ts';
import { cetOf, type Financing, financeInstallment, financeReleased } from './loan.ts';
import type { ChoiceInput, Mask } from './mask.ts';
import type { TermTable } from './terms.ts';
import { type CostStack, costStack, type ValueTable } from './value.ts';

/** The tables of one request, fetched once. */
export type Prepared = {
  installments: number;
  term: TermTable;
  values: ValueTable;
  /** Of the amount asked, by rate. */
  acceptance: Float64Array;
  /** Factor on it for this term. */
  termLiking: number;
};

/** `installments` may differ from what was asked. */
export function prepare(input: ChoiceInput, installments: number): Prepared {
  const { tables, releaseDay, requestedInstallments, economics } = input;
  return {
    installments,
    term: tables.terms(releaseDay, installments),
    values: tables.values(releaseDay, installments, economics),
    acceptance: tables.acceptance(economics),
    termLiking: installments === requestedInstallments ? 1 : termLiking(installments, requestedInstallments, economics),
  };
}

export type Candidate = {
  cell: number;
  loan: Financing;
  cet: Cet;
  stack: CostStack;
  acceptance: number;
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

/** A loan of this amount, or of so many cents more or fewer as bring its rounded instalment between the least and the highest. */
function loanOfAbout(amountCents: number, cell: number, input: ChoiceInput, mask: Mask, term: TermTable): Financing {
  const terms = input.tables.loanTerms(term, cell);
  const centOfInstallment = Math.ceil(term.annuity[cell]! / 2);
  let released = amountCents;
  let loan = financeReleased(released, terms);
  while (loan.installmentCents > mask.maxInstallmentCents && released > mask.leastCents) {
    released -= centOfInstallment;
    loan = financeReleased(released, terms);
  }
  while (loan.installmentCents < mask.minInstallmentCents && released + centOfInstallment <= mask.fullCents) {
    released += centOfInstallment;
    loan = financeReleased(released, terms);
  }
  return loan;
}

/**
 * Prices one cell exactly. `amountCents` null: the largest that fits. `breakEven` is the lowest rate at which the loan is worth
 * its cost, null without one.
 */
export function priceCandidate(
  cell: number,
  amountCents: number | null,
  input: ChoiceInput,
  mask: Mask,
  prepared: Prepared,
  breakEven: number | null,
): Candidate {
  const { economics } = input;
  const loan =
    amountCents === null
      ? fittingLoan(cell, input, mask, prepared.term)
      : loanOfAbout(amountCents, cell, input, mask, prepared.term);
  const liking = amountLiking(loan.releasedCents, input.requestedAmountCents, economics) * prepared.termLiking;
  const acceptance = prepared.acceptance[cell]! * liking;
  const stack = costStack({
    loan: { ...loan, installments: prepared.installments },
    cell,
    values: prepared.values,
    curve: input.curve,
    acceptance,
    economics,
    pledgedCents: input.pledgedCents,
    shadowPricePerCent: input.shadowPricePerCent,
  });
  const cet = cetOf(loan, input.tables.loanTerms(prepared.term, cell));
  const candidate = { cell, loan, cet, stack, acceptance };
  return { ...candidate, forbidden: forbiddenBy(candidate, mask, breakEven) };
}
