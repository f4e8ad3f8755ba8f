/** Our own arithmetic of a contract, and where the service's credit note says otherwise. Pure. */
import type { FlowSettings } from '../config/sections.ts';
import { dayOf } from '../domain/clock.ts';
import type { ExpectedLoan, FlowTerms, LoanFigure } from '../domain/flow-records.ts';
import type { FlowState, NoteDifference } from '../domain/flow-states.ts';
import type { EpochMs, RateHundredths } from '../domain/glossary.ts';
import type { CreditNote } from '../domain/records.ts';
import { type LoanTerms, quoteInstallment, quoteReleased } from '../pricing/loan.ts';
import { payrollDueDays } from '../pricing/schedule.ts';
import type { PricingSettings } from '../pricing/settings.ts';

/** Of a renegotiation only the rate can be told: what is owed the service alone knows. */
export function expectedLoan(terms: FlowTerms, at: EpochMs, settings: PricingSettings): ExpectedLoan {
  const { amountCents, installmentCents, rateHundredths } = terms;
  if (amountCents === null && installmentCents === null) return { rateHundredths };
  const insuranceCents = terms.insuranceCents ?? 0;
  const loanTerms: LoanTerms = {
    rateHundredths,
    dueDays: payrollDueDays(dayOf(at), terms.installments, settings.payrollCalendar),
    dayCount: settings.dayCount,
    rounding: settings.rounding,
    insuranceCents,
    iof: settings.iof,
    iofFinanced: true,
  };
  const quote =
    amountCents === null ? quoteInstallment(installmentCents!, loanTerms) : quoteReleased(amountCents, loanTerms);
  return {
    rateHundredths,
    loanCents: quote.financedCents,
    iofCents: quote.iofCents,
    installmentCents: quote.installmentCents,
    insuranceCents,
    cetAnnualHundredths: quote.cetAnnualHundredths,
    cetMonthlyHundredths: quote.cetMonthlyHundredths,
  };
}

/** Every figure that both name and that differs, to the cent and the hundredth of a percent. */
export function differencesOf(expected: ExpectedLoan | null, note: CreditNote | null): readonly NoteDifference[] {
  if (expected === null || note === null) return [];
  const told: Record<LoanFigure, number | null> = {
    rateHundredths: hundredths(note.rateMonthlyPercent),
    loanCents: note.loanCents,
    iofCents: note.iofCents,
    installmentCents: note.installmentCents,
    insuranceCents: note.insuranceCents,
    cetAnnualHundredths: hundredths(note.cetAnnualPercent),
    cetMonthlyHundredths: hundredths(note.cetMonthlyPercent),
  };
  return (Object.keys(told) as LoanFigure[]).flatMap((field) => {
    const ours = expected[field];
    const theirs = told[field];
    return ours === undefined || theirs === null || theirs === ours ? [] : [{ field, ours, theirs }];
  });
}

/** Figures without which nobody can tell what would be signed, and that the note leaves out or writes unreadably. */
const needed = ['loanCents', 'installmentCents', 'rateHundredths'] as const satisfies readonly LoanFigure[];

export function unsaidIn({ expected, note }: Pick<FlowState, 'expected' | 'note'>): readonly LoanFigure[] {
  if (expected === null || note === null) return [];
  const told = { ...note, rateHundredths: note.rateMonthlyPercent };
  return needed.filter((field) => expected[field] !== undefined && told[field] === null);
}

/** What else is doubtful about the note: another flow has had it, or something else was told for the same contract. */
export function marksOf({ noteHolder, noteAgain }: Pick<FlowState, 'noteHolder' | 'noteAgain'>): readonly string[] {
  return [...(noteHolder == null ? [] : ['noteHolder']), ...(noteAgain == null ? [] : ['noteAgain'])];
}

/** What somebody has to look at before the note is signed: a figure where ours is another or that it does not say, and `marksOf`. */
export function doubtsOf(
  state: Pick<FlowState, 'expected' | 'note' | 'differences' | 'noteHolder' | 'noteAgain'>,
  { noteTolerance }: Pick<FlowSettings, 'noteTolerance'>,
): readonly string[] {
  const beyond = state.differences.filter(
    ({ field, ours, theirs }) => Math.abs(ours - theirs) > (field === 'rateHundredths' ? 0 : noteTolerance),
  );
  return [...beyond.map(({ field }) => field), ...unsaidIn(state), ...marksOf(state)];
}

/** What the note says the rate is; null: nothing. */
export function noteRate({ note }: Pick<FlowState, 'note'>): RateHundredths | null {
  return hundredths(note?.rateMonthlyPercent ?? null);
}

function hundredths(percent: number | null): number | null {
  return percent === null ? null : Math.round(percent * 100);
}
