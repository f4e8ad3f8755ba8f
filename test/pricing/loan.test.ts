import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DayCount } from '../../src/domain/policy.ts';
import { type LoanTerms, quoteInstallment, quoteReleased, scheduleRows } from '../../src/pricing/loan.ts';
import { dayFromEpoch, epochDayOf, payrollDueDays } from '../../src/pricing/schedule.ts';

const decree = { daily: 0.000082, dayCap: 365, additional: 0.0038 };
const noTax = { daily: 0, dayCap: 365, additional: 0 };
/** Due on the 22nd from March 2026 to February 2027, released on 2026-02-22. */
const yearOf22nds = [28, 59, 89, 120, 150, 181, 212, 242, 273, 303, 334, 365];

function termsOf(part: Partial<LoanTerms>): LoanTerms {
  return {
    rateHundredths: 100,
    dueDays: yearOf22nds,
    dayCount: 'actual365',
    insuranceCents: 0,
    iof: decree,
    iofFinanced: true,
    ...part,
  };
}

test("a lender's published schedule on actual days comes out to the cent", () => {
  const terms = termsOf({ iofFinanced: false });
  const quote = quoteReleased(1_000_000, terms);
  assert.equal(quote.installmentCents, 88_808);
  assert.deepEqual([quote.financedCents, quote.iofCents, quote.disbursedCents], [1_000_000, 20_189, 979_811]);
  const rows = scheduleRows(quote, terms);
  assert.deepEqual(
    rows.map((row) => row.interestCents),
    [9202, 9381, 8294, 7751, 6700, 6088, 5245, 4251, 3531, 2576, 1783, 896],
  );
  assert.deepEqual(
    rows.map((row) => row.iofDailyCents + row.iofAdditionalCents),
    [486, 686, 894, 1106, 1322, 1542, 1771, 1999, 2233, 2471, 2714, 2965],
  );
  assert.equal(rows.at(-1)?.installmentCents, 88_810);
  assert.equal(
    rows.reduce((sum, row) => sum + row.iofDailyCents + row.iofAdditionalCents, 0),
    20_189,
  );
});

test('the tax on one due date after 31 days is 25.42 + 38.00', () => {
  const terms = termsOf({ dueDays: [31], iofFinanced: false });
  const [row] = scheduleRows(quoteReleased(1_000_000, terms), terms);
  assert.deepEqual([row?.iofDailyCents, row?.iofAdditionalCents], [2542, 3800]);
});

test('the daily tax stops growing after 365 days', () => {
  const terms = termsOf({ dueDays: [400], iofFinanced: false });
  const [row] = scheduleRows(quoteReleased(1_000_000, terms), terms);
  assert.deepEqual([row?.iofDailyCents, row?.iofAdditionalCents], [29_930, 3800]);
});

test("the central bank's calculator: 12 instalments at 25.106880 % a month on 30/360", () => {
  const terms = termsOf({ rateHundredths: 2510.688, dayCount: '30/360', iof: noTax });
  assert.equal(quoteReleased(132_075, terms).installmentCents, 35_580);
  const inverse = quoteInstallment(35_580, terms);
  assert.equal(inverse.releasedCents, 132_075);
  assert.equal(inverse.installmentCents * 12, 426_960);
  assert.equal(inverse.installmentCents * 12 - inverse.releasedCents, 294_885);
});

test('7 % a month is 125.22 % a year, and without tax the CET is the rate itself', () => {
  const quote = quoteReleased(5_000_000, termsOf({ rateHundredths: 700, iof: noTax }));
  assert.equal(quote.cetAnnualHundredths, 12_522);
  assert.equal(quote.cetMonthlyHundredths, 700);
});

test('what falls due on a day without banks comes on the next with them', () => {
  const calendar = { cutoffDay: 20, monthsToFirstDue: 2, dueDayOfMonth: 7, businessDays: 'following' } as const;
  const days = (release: string, count: number, dueDayOfMonth: number) =>
    payrollDueDays(release, count, { ...calendar, dueDayOfMonth }).map((day) =>
      dayFromEpoch(epochDayOf(release) + day),
    );
  // A Saturday; Independence Day, a Monday; the 7th itself.
  assert.deepEqual(days('2026-06-25', 3, 7), ['2026-09-08', '2026-10-07', '2026-11-09']);
  // Tiradentes on a Tuesday; Good Friday with the weekend after it; Carnival; Corpus Christi.
  assert.deepEqual(days('2026-02-03', 1, 21), ['2026-04-22']);
  assert.deepEqual(days('2026-02-03', 1, 3), ['2026-04-06']);
  assert.deepEqual(days('2025-12-01', 1, 16), ['2026-02-18']);
  assert.deepEqual(days('2026-04-01', 1, 4), ['2026-06-05']);
});

test('the payroll window runs from day 21 to day 20 and money comes 46 to 76 days after release', () => {
  const calendar = { cutoffDay: 20, monthsToFirstDue: 2, dueDayOfMonth: 7, businessDays: 'ignored' } as const;
  assert.deepEqual(payrollDueDays('2026-02-20', 3, calendar), [46, 76, 107]);
  assert.deepEqual(payrollDueDays('2026-01-21', 2, calendar), [76, 106]);
  assert.deepEqual(payrollDueDays('2026-02-21', 1, calendar), [75]);
  assert.deepEqual(payrollDueDays('2026-12-21', 2, { ...calendar, dueDayOfMonth: 31 }), [100, 130]);
});

const anyTerms = fc.record({
  rateHundredths: fc.integer({ min: 2, max: 497 }),
  firstDay: fc.integer({ min: 20, max: 76 }),
  gaps: fc.array(fc.integer({ min: 28, max: 31 }), { minLength: 0, maxLength: 59 }),
  dayCount: fc.constantFrom<DayCount>('actual365', '30/360', 'calendar30'),
  insuranceCents: fc.constantFrom(0, 4_500),
  taxed: fc.boolean(),
  iofFinanced: fc.boolean(),
});

function drawn(value: typeof anyTerms extends fc.Arbitrary<infer T> ? T : never): LoanTerms {
  const dueDays = [value.firstDay];
  for (const gap of value.gaps) dueDays.push(dueDays.at(-1)! + gap);
  const { rateHundredths, dayCount, insuranceCents, taxed, iofFinanced } = value;
  return { rateHundredths, dueDays, dayCount, insuranceCents, iof: taxed ? decree : noTax, iofFinanced };
}

const anyAmount = fc.integer({ min: 30_000, max: 20_000_000 });

test('a schedule adds up to its quote and the tax to its rows', () => {
  fc.assert(
    fc.property(anyTerms, anyAmount, (value, releasedCents) => {
      const terms = drawn(value);
      const quote = quoteReleased(releasedCents, terms);
      const rows = scheduleRows(quote, terms);
      const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + pick(row), 0);
      assert.equal(quote.releasedCents, releasedCents);
      assert.equal(
        sum((row) => row.principalCents),
        quote.financedCents,
      );
      assert.equal(
        sum((row) => row.installmentCents),
        quote.totalCents,
      );
      assert.equal(sum((row) => row.interestCents) + quote.financedCents, quote.totalCents);
      assert.equal(rows.at(-1)?.balanceCents, 0);
      const lent = terms.iofFinanced ? quote.iofCents : 0;
      assert.equal(quote.financedCents, releasedCents + terms.insuranceCents + lent);
      assert.equal(quote.disbursedCents, releasedCents - (terms.iofFinanced ? 0 : quote.iofCents));
      assert.equal(
        sum((row) => row.iofDailyCents + row.iofAdditionalCents),
        quote.iofCents,
      );
      const last = rows.at(-1)!;
      const excess = last.iofAdditionalCents - Math.round(last.principalCents * terms.iof.additional);
      assert.ok(excess >= 0 && excess <= 3, `${excess} cents more in the last row than its tax`);
    }),
    { numRuns: 500 },
  );
});

test('released → instalment → released → instalment comes back within a cent', () => {
  fc.assert(
    fc.property(anyTerms, anyAmount, (value, releasedCents) => {
      const terms = drawn(value);
      const quote = quoteReleased(releasedCents, terms);
      const back = quoteInstallment(quote.installmentCents, terms);
      const again = quoteReleased(back.releasedCents, terms);
      assert.ok(Math.abs(again.installmentCents - quote.installmentCents) <= 1);
      // Half a cent on each instalment is what rounding may hide of the amount.
      assert.ok(Math.abs(back.releasedCents - releasedCents) <= terms.dueDays.length * 1.6 + 2);
    }),
    { numRuns: 500 },
  );
});

test('instalment and CET never fall when the rate rises, and the CET is never below the rate', () => {
  fc.assert(
    fc.property(anyTerms, anyAmount, fc.integer({ min: 1, max: 60 }), (value, releasedCents, step) => {
      const low = quoteReleased(releasedCents, drawn(value));
      const high = quoteReleased(releasedCents, { ...drawn(value), rateHundredths: value.rateHundredths + step });
      assert.ok(high.installmentCents >= low.installmentCents);
      assert.ok(high.cetAnnualHundredths >= low.cetAnnualHundredths);
      if (value.dayCount === 'actual365') assert.ok(low.cetMonthlyHundredths >= value.rateHundredths - 1);
    }),
    { numRuns: 300 },
  );
});
