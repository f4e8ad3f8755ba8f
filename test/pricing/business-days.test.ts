import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { businessDayFrom, holidaysOf, readHolidays } from '../../src/pricing/business-days.ts';

const dayMs = 86_400_000;
const dayOf = (epochDay: number) => new Date(epochDay * dayMs).toISOString().slice(0, 10);
const years = Array.from({ length: 100 }, (_, index) => 2000 + index);

/** Gauss, as corrected by Lichtenberg; days since 1970. */
function easterOf(year: number): number {
  const century = Math.floor(year / 100);
  const moon = 15 + Math.floor((3 * century + 3) / 4) - Math.floor((8 * century + 13) / 25);
  const sun = 2 - Math.floor((3 * century + 3) / 4);
  const golden = year % 19;
  const seed = (19 * golden + moon) % 30;
  const isCorrected = seed === 29 || (seed === 28 && golden >= 11);
  const limit = 21 + seed - (isCorrected ? 1 : 0);
  const sunday = 7 - ((year + Math.floor(year / 4) + sun) % 7);
  return Date.UTC(year, 2, limit + 7 - ((limit - sunday) % 7)) / dayMs;
}

/** Laws 662/1949, 6.802/1980, 10.607/2002 and 14.759/2023; Resolution CMN 2.932/2002 for Carnival and Corpus Christi. */
function closedByLaw(year: number): number[] {
  const fixed = ['01-01', '04-21', '05-01', '09-07', '10-12', '11-02', '11-15', '12-25'];
  if (year >= 2024) fixed.push('11-20');
  const easter = easterOf(year);
  return [
    ...fixed.map((day) => Date.parse(`${year}-${day}`) / dayMs),
    ...[-48, -47, -2, 60].map((day) => easter + day),
  ];
}

test('banks are closed on the days that the law names, and open on all other weekdays', () => {
  for (const year of years) {
    const closed = new Set(closedByLaw(year));
    for (let day = Date.UTC(year, 0, 1) / dayMs; day < Date.UTC(year + 1, 0, 1) / dayMs; day += 1) {
      const weekday = new Date(day * dayMs).getUTCDay();
      const isOpen = weekday !== 0 && weekday !== 6 && !closed.has(day);
      assert.equal(businessDayFrom(day) === day, isOpen, dayOf(day));
    }
  }
});

test('a process that prices loans of these years does not load the package of holidays', () => {
  const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => /date-holidays/.test(file));
  readHolidays(2000, 100);
  assert.ok(!isLoaded());
  assert.equal(dayOf(businessDayFrom(Date.UTC(2100, 0, 1) / dayMs)), '2100-01-04');
  assert.equal(dayOf(businessDayFrom(Date.UTC(1999, 1, 15) / dayMs)), '1999-02-17');
  assert.ok(isLoaded());
});

test('the holidays that are written out are those of the package', async () => {
  const { bankHolidays } = await import('../../src/pricing/bank-holidays.ts');
  assert.deepEqual(Object.keys(bankHolidays), years.map(String));
  for (const year of years) {
    const written = bankHolidays[year]!.split(' ').map((day) => `${year}-${day}`);
    assert.deepEqual(written, holidaysOf(year), `${year}: run npm run build`);
  }
});
