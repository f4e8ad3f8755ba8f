/** When instalments fall due: the payroll calendar, in days since release. */
import assert from 'node:assert/strict';
import type { Day } from '../domain/glossary.ts';
import { businessDayFrom, readHolidays } from './business-days.ts';

/**
 * Payroll windows of the programme (domain facts: endorsed from day 21 to day 20, first discount in the following
 * month, money at the lender 46 to 75 days after release).
 */
export type PayrollCalendar = {
  /** Last day of the month that still belongs to that month's window: 20. */
  cutoffDay: number;
  /** Months from the month in which the window ends to the first due month: 2. */
  monthsToFirstDue: number;
  /** Day of the month on which the lender expects the money; the month's last day where it has no such day. */
  dueDayOfMonth: number;
  /** Where that day is no bank business day: the next one (`following`), or that day all the same (`ignored`). */
  businessDays: 'following' | 'ignored';
};

const dayMs = 86_400_000;

function epochDay(year: number, month: number, day: number): number {
  return Date.UTC(year, month, day) / dayMs;
}

/** Days since 1970; a day that no calendar has is a programmer's mistake. */
export function epochDayOf(day: Day): number {
  const epoch = Date.parse(`${day}T00:00:00Z`) / dayMs;
  assert.ok(Number.isInteger(epoch), `not a calendar day: ${day}`);
  return epoch;
}

export function dayFromEpoch(day: number): Day {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

const yearsAfterLastMonth = 2;

/** Reads now what due dates from this day on will need, so that no decision waits for it. */
export function prepareCalendar(today: Day, maxInstallments: number, calendar: PayrollCalendar): void {
  if (calendar.businessDays === 'ignored') return;
  readHolidays(Number(today.slice(0, 4)), Math.ceil(maxInstallments / 12) + yearsAfterLastMonth);
}

/** Days from release to each due date, ascending. `releaseDay` is the calendar day in São Paulo. */
export function payrollDueDays(releaseDay: Day, installments: number, calendar: PayrollCalendar): number[] {
  const releasedAt = epochDayOf(releaseDay);
  const year = Number(releaseDay.slice(0, 4));
  const month = Number(releaseDay.slice(5, 7)) - 1;
  const day = Number(releaseDay.slice(8, 10));
  const firstMonth = month + (day > calendar.cutoffDay ? 1 : 0) + calendar.monthsToFirstDue;
  return Array.from({ length: installments }, (_, index) => {
    const lastDay = new Date(Date.UTC(year, firstMonth + index + 1, 0)).getUTCDate();
    const due = epochDay(year, firstMonth + index, Math.min(calendar.dueDayOfMonth, lastDay));
    return (calendar.businessDays === 'following' ? businessDayFrom(due) : due) - releasedAt;
  });
}
