/**
 * Bank business days in Brazil: not Saturday, Sunday or a national holiday on which banks are closed (public holidays,
 * and the bank holidays of Carnival and Corpus Christi, as `date-holidays` knows them). That package takes some 150 ms to
 * load and 10 ms a year, so the years that loans are made in are written out in `bank-holidays.ts`, and the package is loaded
 * for other years alone.
 */
import { createRequire } from 'node:module';
import type Holidays from 'date-holidays';
import { bankHolidays } from './bank-holidays.ts';

const dayMs = 86_400_000;
const closedKinds: readonly string[] = ['public', 'bank'];
const require = createRequire(import.meta.url);

let brazil: Holidays | null = null;
/** By year: holidays as days since 1970. */
const closed = new Map<number, ReadonlySet<number>>();

/** As `date-holidays` tells them: `YYYY-MM-DD`, ascending. */
export function holidaysOf(year: number): string[] {
  brazil ??= new (require('date-holidays') as typeof Holidays)('BR');
  // `date` is local wall clock, `YYYY-MM-DD hh:mm:ss`.
  const days = brazil.getHolidays(year).filter(({ type }) => closedKinds.includes(type));
  return [...new Set(days.map(({ date }) => date.slice(0, 10)))].sort();
}

function closedDays(year: number): ReadonlySet<number> {
  const known = closed.get(year);
  if (known !== undefined) return known;
  const days = bankHolidays[year]?.split(' ').map((day) => `${year}-${day}`) ?? holidaysOf(year);
  const set = new Set(days.map((day) => Date.parse(day) / dayMs));
  closed.set(year, set);
  return set;
}

function isBusinessDay(epochDay: number): boolean {
  const date = new Date(epochDay * dayMs);
  const weekday = date.getUTCDay();
  return weekday !== 0 && weekday !== 6 && !closedDays(date.getUTCFullYear()).has(epochDay);
}

/** The day itself or the next business day; days since 1970. */
export function businessDayFrom(epochDay: number): number {
  let day = epochDay;
  while (!isBusinessDay(day)) day += 1;
  return day;
}

/** Reads the holidays of these years now, so that no decision waits for them. */
export function readHolidays(fromYear: number, years: number): void {
  for (let year = fromYear; year < fromYear + years; year += 1) closedDays(year);
}
