/** Arithmetic of a played contract: released value or instalment given, the note's figures out. On the sandbox's own loan. */
import { dayOf } from '../domain/clock.ts';
import type { AmountCents, EpochMs, RateHundredths, RequestId } from '../domain/glossary.ts';
import { annualRate, type DayNumber, dayNumber, dueDays, loanOf } from './loan.ts';
import type { WorldSettings } from './world.ts';

export type Terms = {
  rateHundredths: RateHundredths;
  installments: number;
  insuranceCents: AmountCents;
  /** Exactly one is a number. */
  amountCents: AmountCents | null;
  installmentCents: AmountCents | null;
};

export type NoteFigures = {
  releasedCents: AmountCents;
  financedCents: AmountCents;
  iofCents: AmountCents;
  insuranceCents: AmountCents;
  installmentCents: AmountCents;
  rateMonthlyPercent: number;
  rateAnnualPercent: number;
  cetMonthlyPercent: number;
  cetAnnualPercent: number;
};

/** A loan as the service holds it. */
export type PlayedLoan = {
  noteNumber: string;
  proposalCode: string;
  requestCode: string;
  requestId: RequestId | null;
  cpf: string;
  rateHundredths: RateHundredths;
  figures: NoteFigures;
  generatedAt: EpochMs;
  /** The webhook with its number has gone out. */
  told: boolean;
  endorsedAt: EpochMs | null;
  closedByTermination: boolean;
  openInstallments: number;
  pendingCharges: boolean;
};

function dayNumberOf(at: EpochMs): DayNumber {
  const [year, month, day] = dayOf(at).split('-').map(Number) as [number, number, number];
  return dayNumber(year, month, day);
}

export function figuresOf(terms: Terms, at: EpochMs, calendar: WorldSettings['calendar']): NoteFigures {
  const releasedOn = dayNumberOf(at);
  const due = dueDays(releasedOn, terms.installments, calendar);
  const { rateHundredths, insuranceCents } = terms;
  // Insurance is lent too: the worker's hands get what is left of the loan without it.
  const lent = (releasedCents: AmountCents) => loanOf(releasedCents + insuranceCents, rateHundredths, releasedOn, due);
  const releasedCents = terms.amountCents ?? releasedBy(terms.installmentCents ?? 0, (cents) => lent(cents));
  const loan = lent(releasedCents);
  const installmentCents = terms.installmentCents ?? loan.installmentCents;
  const cetAnnual = costRate(releasedCents, installmentCents, releasedOn, due);
  return {
    releasedCents,
    financedCents: releasedCents + loan.iofCents + insuranceCents,
    iofCents: loan.iofCents,
    insuranceCents,
    installmentCents,
    rateMonthlyPercent: rateHundredths / 100,
    rateAnnualPercent: percent(annualRate(rateHundredths)),
    cetMonthlyPercent: percent((1 + cetAnnual) ** (1 / 12) - 1),
    cetAnnualPercent: percent(cetAnnual),
  };
}

/** The largest released value whose instalment is not above the given one. */
function releasedBy(
  installmentCents: AmountCents,
  lent: (cents: AmountCents) => { installmentCents: number },
): AmountCents {
  let low = 0;
  let high = installmentCents * 999;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (lent(middle).installmentCents <= installmentCents) low = middle;
    else high = middle - 1;
  }
  return low;
}

function percent(share: number): number {
  return Math.round(share * 10_000) / 100;
}

/** Yearly rate at which all instalments are worth what was released. */
function costRate(
  releasedCents: AmountCents,
  installmentCents: AmountCents,
  releasedOn: DayNumber,
  due: readonly DayNumber[],
): number {
  let low = 0;
  let high = 1e6;
  for (let round = 0; round < 100; round += 1) {
    const middle = (low + high) / 2;
    let worth = 0;
    for (const day of due) worth += installmentCents / (1 + middle) ** ((day - releasedOn) / 365);
    if (worth > releasedCents) low = middle;
    else high = middle;
  }
  return low;
}
