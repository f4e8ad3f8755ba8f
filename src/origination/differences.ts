/** Our own arithmetic of a contract, and where the service's credit note says otherwise. Pure. */
import type { FlowSettings } from '../config/sections.ts';
import { dayOf } from '../domain/clock.ts';
import type { ExpectedLoan, FlowTerms, LoanFigure, ProposalSaid } from '../domain/flow-records.ts';
import type { FlowState, NoteDifference } from '../domain/flow-states.ts';
import type { AmountCents, EpochMs, RateHundredths } from '../domain/glossary.ts';
import type { CreditNote, NoteFigure } from '../domain/records.ts';
import {
  cetOf,
  financePrincipal,
  financeReleased,
  type LoanTerms,
  quoteInstallment,
  quoteReleased,
} from '../pricing/loan.ts';
import { payrollDueDays } from '../pricing/schedule.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import type { NoteFacts } from '../wire/checks/worker-credit.ts';
import { notesToldAgain } from './notes.ts';
import type { ClosedNote } from './preparation.ts';

function loanTermsOf(terms: FlowTerms, at: EpochMs, settings: PricingSettings): LoanTerms {
  return {
    rateHundredths: terms.rateHundredths,
    dueDays: payrollDueDays(dayOf(at), terms.installments, settings.payrollCalendar),
    dayCount: settings.dayCount,
    rounding: settings.rounding,
    insuranceCents: terms.insuranceCents ?? 0,
    iof: settings.iof,
    iofFinanced: true,
  };
}

/** What a note may come to at most for it to be reckoned with; more than this nobody lends on a payroll. */
const mostLoanCents = 1e12;

/**
 * What the note of a renegotiation should say. What is owed the service alone knows, so the loan is taken as the note says it, and
 * everything else is reckoned from it at the rate and the term that were ordered: with another term the instalment is another one.
 * Insurance is never ordered. The tax is at most that of a new loan: less is due on what was taxed before. An instalment that the
 * order estimates is the most that was agreed. `mostDebtCents`: more than this cannot be owed, and with its tax it is the most that
 * the loan may be; null: nobody here knows.
 */
export function expectedRenegotiation(
  terms: FlowTerms,
  note: CreditNote,
  at: EpochMs,
  settings: PricingSettings,
  mostDebtCents: AmountCents | null = null,
): ExpectedLoan {
  const { rateHundredths, installmentCents: estimated } = terms;
  const least: ExpectedLoan = { rateHundredths, insuranceCents: 0 };
  const loanCents = note.loanCents ?? 0;
  if (loanCents <= 0 || loanCents > mostLoanCents) {
    return estimated === null ? least : { ...least, installmentCents: estimated };
  }
  const kept = { ...loanTermsOf(terms, at, settings), insuranceCents: 0, iofFinanced: false };
  const loan = financeReleased(loanCents, kept);
  const iofCents = Math.min(loan.iofCents, note.iofCents ?? loan.iofCents);
  const installmentCents = Math.min(loan.installmentCents, estimated ?? loan.installmentCents);
  const disbursedCents = loanCents - iofCents;
  const { cetAnnualHundredths, cetMonthlyHundredths } = cetOf({ ...loan, disbursedCents }, kept);
  const owed = mostDebtCents === null ? {} : { loanCents: Math.min(loanCents, mostDebtCents + iofCents) };
  return { ...least, ...owed, iofCents, installmentCents, cetAnnualHundredths, cetMonthlyHundredths };
}

/**
 * What may be owed at most of a contract that was made here, as its note says: every instalment that the order says is open, with all
 * its interest, else every one that there was. Null: its note does not say.
 */
export function mostDebtOf(
  { note, terms }: Pick<FlowState, 'note' | 'terms'>,
  openInstallments: number | null,
): AmountCents | null {
  const installmentCents = note?.installmentCents ?? null;
  if (installmentCents === null || installmentCents <= 0 || terms === null) return null;
  return installmentCents * Math.min(openInstallments ?? terms.installments, terms.installments);
}

/**
 * What the new instalment may come to, from the note of the loan that was closed: reckoned from what its open instalments are worth at
 * its rate, else from the whole loan, which is the most that can be owed. What is owed the service alone knows. Null: the note does
 * not say enough.
 */
export function renegotiationEstimate(
  terms: FlowTerms,
  { note, openInstallments }: { note: ClosedNote; openInstallments: number | null },
  at: EpochMs,
  settings: PricingSettings,
): AmountCents | null {
  const { loanCents, installmentCents, rateMonthlyPercent } = note;
  const rate = (rateMonthlyPercent ?? 0) / 100;
  const isReckoned = openInstallments !== null && installmentCents !== null && rate > 0;
  const owedCents = isReckoned
    ? Math.round((installmentCents * (1 - (1 + rate) ** -openInstallments)) / rate)
    : loanCents;
  if (owedCents === null || owedCents <= 0 || owedCents > mostLoanCents) return null;
  // The loan is at most the debt and the tax on it, as in `expectedRenegotiation`.
  return financeReleased(owedCents, { ...loanTermsOf(terms, at, settings), insuranceCents: 0 }).installmentCents;
}

/** Of a renegotiation only the rate can be told before its note comes. */
export function expectedLoan(terms: FlowTerms, at: EpochMs, settings: PricingSettings): ExpectedLoan {
  const { amountCents, installmentCents, rateHundredths } = terms;
  if (amountCents === null && installmentCents === null) return { rateHundredths };
  const insuranceCents = terms.insuranceCents ?? 0;
  const loanTerms = loanTermsOf(terms, at, settings);
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

/**
 * What the note of an order by its instalment should say. Of all loans whose instalment is rounded to that cent the service chooses
 * (contract: the released value is computed by the service), so the loan is taken as the note says it, and the rest is reckoned from
 * it. Null: the order names an amount, or the note a loan with another instalment.
 */
export function expectedOfInstallment(
  terms: FlowTerms,
  { loanCents, iofCents: told }: Pick<CreditNote, 'loanCents' | 'iofCents'>,
  at: EpochMs,
  settings: PricingSettings,
): ExpectedLoan | null {
  const { amountCents, installmentCents } = terms;
  if (amountCents !== null || installmentCents === null) return null;
  if (loanCents === null || loanCents <= 0 || loanCents > mostLoanCents) return null;
  const loanTerms = loanTermsOf(terms, at, settings);
  const ofPrincipal = financePrincipal(loanCents, installmentCents, loanTerms);
  if (ofPrincipal === null) return null;
  const releasedCents = loanCents - (told ?? ofPrincipal.iofCents) - loanTerms.insuranceCents;
  // Where no principal settles with its tax, a cent or two more than the tax of its rows are counted as tax.
  const ofRelease = releasedCents > 0 ? financeReleased(releasedCents, loanTerms) : ofPrincipal;
  const loan = ofRelease.financedCents === loanCents ? ofRelease : ofPrincipal;
  const { cetAnnualHundredths, cetMonthlyHundredths } = cetOf(loan, loanTerms);
  return { loanCents, iofCents: loan.iofCents, cetAnnualHundredths, cetMonthlyHundredths };
}

/**
 * The instalment that releases this amount at the rate, term and insurance that are ordered: a greater one releases more. It is
 * rounded to the cent, so at most half a cent of each instalment is beyond.
 */
export function installmentReleasing(
  amountCents: AmountCents,
  terms: FlowTerms,
  at: EpochMs,
  settings: PricingSettings,
): AmountCents {
  const { installmentCents } = expectedLoan({ ...terms, amountCents, installmentCents: null }, at, settings);
  return installmentCents ?? 0;
}

/** What the tax of a note may be rounded otherwise than ours. */
const taxSlackCents = 2;

/** What another rounding of an ordered instalment changes the loan by, and its tax by less: half a cent of each. */
function roundingOf({ amountCents, installments }: FlowTerms): AmountCents {
  return amountCents === null ? Math.ceil(installments / 2) : 0;
}

/** What a note releases, and the most that it may: the bid's amount, and what rounding adds to it. Null: it is not known. */
function noteRelease({ note, subject, terms }: Pick<FlowState, 'note' | 'subject' | 'terms'>): {
  releasedCents: AmountCents | null;
  mostCents: AmountCents | null;
} {
  const limitCents = subject.amountLimitCents;
  const isSaid = note !== null && note.loanCents !== null;
  return {
    releasedCents: isSaid ? note.loanCents! - (note.iofCents ?? 0) - (note.insuranceCents ?? 0) : null,
    mostCents: limitCents === undefined || terms === null ? null : limitCents + roundingOf(terms) + taxSlackCents,
  };
}

type Notes = Pick<FlowState, 'note' | 'noteAgain' | 'notesAgain' | 'subject' | 'terms'>;

/** What is signed may be as any of the notes says: the highest rate counts, and the greatest release. */
function highestNoteRate(state: Pick<Notes, 'note' | 'noteAgain' | 'notesAgain'>): RateHundredths | null {
  const notes = [state.note, ...notesToldAgain(state)];
  return notes.flatMap((note) => [noteRate({ note }), rateOfYear(note)]).reduce(highest, null);
}

function highestNoteRelease(state: Notes): ReturnType<typeof noteRelease> {
  const own = noteRelease(state);
  const again = notesToldAgain(state).map((note) => noteRelease({ ...state, note }).releasedCents);
  return { ...own, releasedCents: again.reduce(highest, own.releasedCents) };
}

/** What all notes of the flow come to at most, and what that may be. Of a contract alone a bid says so of the instalment. */
export function noteFactsOf(state: FlowState, { noteTolerance }: Pick<FlowSettings, 'noteTolerance'>): NoteFacts {
  const notes = [state.note, ...notesToldAgain(state)];
  const most = (field: 'installmentCents' | 'insuranceCents') =>
    notes.map((note) => note?.[field] ?? null).reduce(highest, null);
  const facts: NoteFacts = {
    rateLimitHundredths: state.subject.rateLimitHundredths,
    noteRateHundredths: highestNoteRate(state),
    noteRelease: highestNoteRelease(state),
    noteUnreadable: [...new Set(notes.flatMap(unreadableFigures))],
    noteInsurance: {
      cents: most('insuranceCents'),
      mostCents: state.terms === null ? null : (state.terms.insuranceCents ?? 0) + noteTolerance,
    },
  };
  if (state.flow !== 'contract') return facts;
  const { installmentLimitCents } = state.subject;
  // Due days have moved since the bid: what was ordered within it may be a little more a month.
  const ofBid =
    installmentLimitCents === undefined ? 0 : Math.max(installmentLimitCents, state.expected?.installmentCents ?? 0);
  return {
    ...facts,
    noteInstallment: { cents: most('installmentCents'), mostCents: ofBid === 0 ? null : ofBid + noteTolerance },
  };
}

function highest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Every figure that both name and that differs, to the cent and the hundredth of a percent. */
export function differencesOf(expected: ExpectedLoan | null, note: CreditNote | null): readonly NoteDifference[] {
  if (expected === null || note === null) return [];
  const figures = differing(expected, {
    rateHundredths: noteRate({ note }),
    loanCents: note.loanCents,
    iofCents: note.iofCents,
    installmentCents: note.installmentCents,
    insuranceCents: note.insuranceCents,
    cetAnnualHundredths: hundredths(note.cetAnnualPercent),
    cetMonthlyHundredths: hundredths(note.cetMonthlyPercent),
  });
  return [...figures, ...yearDiffering(expected, note)];
}

/** How a year may be reckoned from months: as 12 of them, or by its 365 days, of which 30 are one. The contract does not say. */
const monthsOfYear = [12, 365 / 30] as const;

/** Of a monthly rate, in hundredths of a percent. */
function rateInYear(monthlyHundredths: number, months: number): number {
  return ((1 + monthlyHundredths / 10_000) ** months - 1) * 10_000;
}

/**
 * The annual rate of a note, where no way to reckon a year makes it of the monthly rate. The monthly one that it was made of may have
 * been rounded to the hundredth that is said, which moves the annual one by more than a hundredth.
 */
function yearDiffering({ rateHundredths: ordered }: ExpectedLoan, note: CreditNote): readonly NoteDifference[] {
  const theirs = hundredths(note.rateAnnualPercent);
  if (ordered === undefined || theirs === null) return [];
  const said = (note.rateMonthlyPercent ?? 0) * 100;
  // What differs by a part of a hundredth is the rate that was ordered.
  const monthly = noteRate({ note }) === ordered ? said : ordered;
  const isMadeOf = (months: number) =>
    theirs >= Math.floor(rateInYear(monthly - halfHundredth, months)) &&
    theirs <= Math.ceil(rateInYear(monthly + halfHundredth, months));
  if (monthsOfYear.some(isMadeOf)) return [];
  const [year, byDays] = monthsOfYear.map((months) => Math.round(rateInYear(ordered, months))) as [number, number];
  const ours = Math.abs(theirs - year) <= Math.abs(theirs - byDays) ? year : byDays;
  return [{ field: 'rateAnnualHundredths', ours, theirs }];
}

const halfHundredth = 0.5;

function differing(
  expected: ExpectedLoan,
  told: { readonly [F in LoanFigure]?: number | null },
): readonly NoteDifference[] {
  return (Object.keys(told) as LoanFigure[]).flatMap((field) => {
    const ours = expected[field];
    const theirs = told[field];
    return ours === undefined || theirs == null || theirs === ours ? [] : [{ field, ours, theirs }];
  });
}

/** The same of what is said of a proposal. What it leaves out stands as it was said before. */
export function proposalDifferences(
  { expected, most = {}, differences }: Pick<FlowState, 'expected' | 'most' | 'differences'>,
  { figures }: Pick<ProposalSaid, 'figures'>,
): readonly NoteDifference[] {
  const unsaid = differences.filter(({ field }) => figures[field] === undefined);
  // Ours holds the additional tax; the contract does not say whether that of a proposal does.
  const told = differing(expected ?? {}, figures).filter(
    ({ field, ours, theirs }) => field !== 'iofCents' || theirs > ours,
  );
  const above = differing(most, figures).filter(({ ours, theirs }) => theirs > ours);
  return [...told, ...above, ...unsaid];
}

/** Figures without which nobody can tell what would be signed, and that the note leaves out or writes unreadably. */
const needed = ['loanCents', 'installmentCents', 'rateHundredths'] as const satisfies readonly LoanFigure[];

/** The same of a proposal that the service was asked for. */
const neededOfProposal = ['creditCents', 'rateHundredths', 'installments'] as const satisfies readonly LoanFigure[];

type FiguresSaid = Pick<FlowState, 'flow' | 'expected' | 'most' | 'note' | 'saidFigures' | 'unusableFigures'>;

export function unsaidIn({
  flow,
  expected,
  note,
  most = {},
  saidFigures,
  unusableFigures = [],
}: FiguresSaid): readonly LoanFigure[] {
  if (flow === 'withdrawal' && expected !== null && saidFigures !== undefined) {
    const missing = neededOfProposal.filter(
      (field) => expected[field] !== undefined && saidFigures[field] === undefined,
    );
    const isCompared = (field: LoanFigure) => [expected, most, saidFigures].some((figures) => field in figures);
    return [...new Set([...missing, ...unusableFigures.filter(isCompared)])];
  }
  if (expected === null || note === null) return [];
  const told = { ...note, rateHundredths: note.rateMonthlyPercent };
  const isNeeded = (field: LoanFigure) => flow === 'renegotiation' || expected[field] !== undefined;
  // A loan of nothing, or less, is none.
  const isSaid = (field: (typeof needed)[number]) => {
    const value = told[field];
    return value !== null && (field === 'rateHundredths' || value > 0);
  };
  const missing = needed.filter((field) => isNeeded(field) && !isSaid(field));
  return [...new Set([...missing, ...unreadableFigures(note)])];
}

const figureOfNote: Readonly<Record<NoteFigure, LoanFigure>> = {
  loanCents: 'loanCents',
  iofCents: 'iofCents',
  insuranceCents: 'insuranceCents',
  installmentCents: 'installmentCents',
  rateMonthlyPercent: 'rateHundredths',
  rateAnnualPercent: 'rateAnnualHundredths',
  cetMonthlyPercent: 'cetMonthlyHundredths',
  cetAnnualPercent: 'cetAnnualHundredths',
};

/** What it names in a way that cannot be read. */
export function unreadableFigures(note: CreditNote | null): readonly LoanFigure[] {
  return (note?.unreadable ?? []).map((figure) => figureOfNote[figure]);
}

type Marks = Pick<FlowState, 'noteHolder' | 'noteAgain' | 'lateNote' | 'ending' | 'otherProposals'>;

/**
 * What else is doubtful about the note: another flow has had it, something else was told for the same contract, or there is another
 * note of this flow, which came after its generation counted no more. Of a withdrawal: its proposal is said to have ended, or another one was named for it.
 */
export function marksOf({ noteHolder, noteAgain, lateNote, ending, ...state }: Marks): readonly string[] {
  const otherProposals = proposalsUnsettled(state).length === 0 ? null : true;
  const marks = { noteHolder, noteAgain, lateNote, ending, otherProposals };
  return Object.entries(marks).flatMap(([name, mark]) => (mark == null ? [] : [name]));
}

/** Proposals that were named beside the one that counts, and of which nobody has said which one holds. */
export function proposalsUnsettled({ otherProposals = [] }: Pick<FlowState, 'otherProposals'>): readonly string[] {
  return otherProposals.flatMap(({ code, isSettled }) => (isSettled ? [] : [code]));
}

/** What somebody has to look at before the note is signed: a figure where ours is another or that it does not say, and `marksOf`. */
export function doubtsOf(
  state: Pick<FlowState, 'terms' | 'differences'> & FiguresSaid & Marks,
  settings: Pick<FlowSettings, 'noteTolerance'>,
): readonly string[] {
  return [...beyondTolerance(state, settings), ...unsaidIn(state), ...marksOf(state)];
}

/** The figures that differ by more than rounding does. */
export function beyondTolerance(
  state: Pick<FlowState, 'flow' | 'terms' | 'differences'>,
  { noteTolerance }: Pick<FlowSettings, 'noteTolerance'>,
): readonly LoanFigure[] {
  const rounding = state.flow === 'contract' && state.terms !== null ? roundingOf(state.terms) : 0;
  const tolerated = (field: LoanFigure) => {
    if (field === 'rateHundredths' || field === 'installments' || field === 'foreignSplitCents') return 0;
    return field === 'loanCents' || field === 'iofCents' ? noteTolerance + rounding : noteTolerance;
  };
  const beyond = state.differences.filter(({ field, ours, theirs }) => Math.abs(ours - theirs) > tolerated(field));
  return beyond.map(({ field }) => field);
}

/** A percentage as a number is a little off what was written, and by less than this. In hundredths. */
const slipHundredths = 1e-6;

/** What the note says the rate is, in whole hundredths; null: nothing. What lies between two of them is the higher: it may not exceed a limit. */
function noteRate({ note }: Pick<FlowState, 'note'>): RateHundredths | null {
  const percent = note?.rateMonthlyPercent ?? null;
  return percent === null ? null : Math.ceil(percent * 100 - slipHundredths);
}

/**
 * The monthly rate that the annual one of a note comes to at least. The contract does not say how a year is reckoned: as 12 months,
 * or by its 365 days, which of one annual rate makes the lower monthly one.
 */
function rateOfYear(note: CreditNote | null): RateHundredths | null {
  const percent = note?.rateAnnualPercent ?? null;
  if (percent === null || percent <= 0) return null;
  return Math.ceil(((1 + percent / 100) ** (1 / monthsOfYear[1]) - 1) * 10_000 - yearSlackHundredths);
}

/** An annual rate is rounded: a hundredth of it is less than this a month. */
const yearSlackHundredths = 0.1;

/** The rate that a later one may not exceed: what lies between two whole hundredths is the lower. */
export function noteRateAtMost({ note }: Pick<FlowState, 'note'>): RateHundredths | null {
  const percent = note?.rateMonthlyPercent ?? null;
  return percent === null ? null : Math.floor(percent * 100 + slipHundredths);
}

function hundredths(percent: number | null): number | null {
  return percent === null ? null : Math.round(percent * 100);
}
