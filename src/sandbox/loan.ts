/**
 * Loan arithmetic of the sandbox, written on its own: the engine's must not be able to agree with it on a mistake.
 * Price table on actual days, IOF per instalment (Decree 6.306, article 7), financed as a fixed point.
 */
import type { AmountCents, RateHundredths } from '../domain/glossary.ts';

/** Whole days since 1970-01-01. */
export type DayNumber = number;

const iofDaily = 0.000082;
const iofOnce = 0.0038;
const iofMaxDays = 365;

type LoanRow = {
  dueOn: DayNumber;
  interestCents: AmountCents;
  amortisedCents: AmountCents;
  iofCents: AmountCents;
  /** Outstanding after this instalment. */
  balanceCents: AmountCents;
};

export type Loan = {
  releasedCents: AmountCents;
  financedCents: AmountCents;
  iofCents: AmountCents;
  installmentCents: AmountCents;
  rows: LoanRow[];
};

/** Half-up on values that binary fractions may hold a hair below the half. */
function roundCents(value: number): number {
  return Math.floor(value + 0.5 + 1e-7);
}

/** Rate a year of a monthly rate, rounded to six decimals: 1 % a month is 0.126825. */
export function annualRate(rateHundredths: RateHundredths): number {
  return Math.round(((1 + rateHundredths / 10_000) ** 12 - 1) * 1e6) / 1e6;
}

export function dayNumber(year: number, month: number, day: number): DayNumber {
  return Date.UTC(year, month - 1, day) / 86_400_000;
}

/** Easter Sunday by the anonymous Gregorian algorithm (Meeus, "Astronomical Algorithms", chapter 8). */
function easterOf(year: number): DayNumber {
  const golden = year % 19;
  const century = Math.floor(year / 100);
  const leap = year % 100;
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const epact = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30;
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(leap / 4) - epact - (leap % 4)) % 7;
  const late = Math.floor((golden + 11 * epact + 22 * weekday) / 451);
  const position = epact + weekday - 7 * late + 114;
  return dayNumber(year, Math.floor(position / 31), (position % 31) + 1);
}

/** Month and day of the national holidays, and the moving ones as distances from Easter: Carnival, Good Friday, Corpus Christi. */
const fixedHolidays = [101, 421, 501, 907, 1012, 1102, 1115, 1120, 1225];
const movingHolidays = [-48, -47, -2, 60];

/** The day itself, or the next on which banks are open. */
function openDayFrom(from: DayNumber): DayNumber {
  for (let day = from; ; day += 1) {
    const date = new Date(day * 86_400_000);
    const isWeekend = date.getUTCDay() % 6 === 0;
    const isFixed = fixedHolidays.includes((date.getUTCMonth() + 1) * 100 + date.getUTCDate());
    if (!isWeekend && !isFixed && !movingHolidays.includes(day - easterOf(date.getUTCFullYear()))) return day;
  }
}

/**
 * Payroll calendar: what is endorsed from day `cutoffDay + 1` to day `cutoffDay` is discounted in the following month,
 * and the lender receives it on `dueDay` of the month after that (46 to 75 days later with 20 and 7).
 */
export function dueDays(
  releasedOn: DayNumber,
  installments: number,
  calendar: { cutoffDay: number; dueDay: number; businessDays?: boolean },
): DayNumber[] {
  const released = new Date(releasedOn * 86_400_000);
  const year = released.getUTCFullYear();
  const first = released.getUTCMonth() + (released.getUTCDate() > calendar.cutoffDay ? 3 : 2);
  const key = `${year}/${first}/${calendar.dueDay}/${calendar.businessDays === true}`;
  const days = daysFrom.get(key) ?? [];
  if (!daysFrom.has(key)) daysFrom.set(key, days);
  while (days.length < installments) {
    const day = Date.UTC(year, first + days.length, calendar.dueDay) / 86_400_000;
    days.push(calendar.businessDays === true ? openDayFrom(day) : day);
  }
  return days.slice(0, installments);
}

/** Due days from a first month on, as many as were asked for so far: a list for each month and calendar. */
const daysFrom = new Map<string, DayNumber[]>();

/** Instalment of `financedCents`: P / Σ (1 + ia)^(−days / 365), rounded to the cent. */
export function installmentOf(
  financedCents: AmountCents,
  rateHundredths: RateHundredths,
  releasedOn: DayNumber,
  due: readonly DayNumber[],
): AmountCents {
  const daily = Math.log1p(annualRate(rateHundredths)) / 365;
  let annuity = 0;
  for (const day of due) annuity += Math.exp(-daily * (day - releasedOn));
  return roundCents(financedCents / annuity);
}

/**
 * The rows of a loan whose principal is given: interest and both parts of the IOF rounded in each row. The additional
 * IOF is 0.38 % of the principal altogether, so its last part is what the rounded ones before it have left.
 */
export function scheduleOf(
  financedCents: AmountCents,
  rateHundredths: RateHundredths,
  releasedOn: DayNumber,
  due: readonly DayNumber[],
): Omit<Loan, 'releasedCents'> {
  const daily = Math.log1p(annualRate(rateHundredths)) / 365;
  const installmentCents = installmentOf(financedCents, rateHundredths, releasedOn, due);
  const rows: LoanRow[] = [];
  let balanceCents = financedCents;
  let before = releasedOn;
  let iofTotal = 0;
  let onceTotal = 0;
  for (const dueOn of due) {
    // Equal instalments: the last one repays what is left, and its interest takes up what the rounding made.
    const last = rows.length === due.length - 1;
    const computed = roundCents(balanceCents * Math.expm1(daily * (dueOn - before)));
    const interestCents = last ? installmentCents - balanceCents : computed;
    const amortisedCents = installmentCents - interestCents;
    const heldDays = Math.min(dueOn - releasedOn, iofMaxDays);
    const onceCents = last ? roundCents(financedCents * iofOnce) - onceTotal : roundCents(amortisedCents * iofOnce);
    const iofCents = roundCents(amortisedCents * iofDaily * heldDays) + onceCents;
    balanceCents -= amortisedCents;
    onceTotal += onceCents;
    before = dueOn;
    iofTotal += iofCents;
    rows.push({ dueOn, interestCents, amortisedCents, iofCents, balanceCents });
  }
  return { financedCents, iofCents: iofTotal, installmentCents, rows };
}

/** Rates and terms at which cents outgrow the loan would be tried for ever. */
const mostTries = 100;

/**
 * The loan that puts `releasedCents` into the worker's hands: the IOF is lent on top of it. Where taxing again and again
 * swings between two principals, the smallest that covers its tax is lent, and what it covers more is IOF of the last row.
 */
export function loanOf(
  releasedCents: AmountCents,
  rateHundredths: RateHundredths,
  releasedOn: DayNumber,
  due: readonly DayNumber[],
): Loan {
  const lent = (financedCents: AmountCents) => scheduleOf(financedCents, rateHundredths, releasedOn, due);
  const spare = (loan: { financedCents: AmountCents; iofCents: AmountCents }) => {
    return loan.financedCents - loan.iofCents - releasedCents;
  };
  let loan = lent(releasedCents);
  const seen = new Set<AmountCents>();
  while (spare(loan) !== 0 && !seen.has(loan.financedCents) && seen.size < mostTries) {
    seen.add(loan.financedCents);
    loan = lent(releasedCents + loan.iofCents);
  }
  if (spare(loan) === 0) return { ...loan, releasedCents };
  for (let tries = 0; tries < mostTries && spare(loan) < 0; tries += 1) loan = lent(loan.financedCents + 1);
  for (let tries = 0; tries < mostTries; tries += 1) {
    const less = lent(loan.financedCents - 1);
    if (spare(less) < 0) break;
    loan = less;
  }
  const surplus = spare(loan);
  loan.rows.at(-1)!.iofCents += surplus;
  return { ...loan, iofCents: loan.iofCents + surplus, releasedCents };
}
