import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { DayCount } from '../../src/domain/policy.ts';
import {
  type LoanTerms,
  quoteInstallment,
  quoteReleased,
  type Rounding,
  scheduleRows,
} from '../../src/pricing/loan.ts';
import { dayFromEpoch, epochDayOf, payrollDueDays } from '../../src/pricing/schedule.ts';
import { oracleLoan } from './loan-oracle.ts';
import { seeded } from './setting.ts';

const decree = { daily: 0.000082, dayCap: 365, additional: 0.0038 };
const noTax = { daily: 0, dayCap: 365, additional: 0 };
const eightYears = Array.from({ length: 96 }, (_, month) => 47 + Math.round((month * 365) / 12));
/** Due on the 22nd from March 2026 to February 2027, released on 2026-02-22. */
const yearOf22nds = [28, 59, 89, 120, 150, 181, 212, 242, 273, 303, 334, 365];

function termsOf(part: Partial<LoanTerms>): LoanTerms {
  return {
    rateHundredths: 100,
    dueDays: yearOf22nds,
    dayCount: 'actual365',
    rounding: 'once',
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
  assert.deepEqual([quote.financedCents, quote.iofCents, quote.disbursedCents], [1_000_000, 20_188, 979_812]);
  const rows = scheduleRows(quote, terms);
  assert.deepEqual(
    rows.map((row) => row.interestCents),
    [9202, 9381, 8294, 7751, 6700, 6088, 5245, 4251, 3531, 2576, 1783, 894],
  );
  assert.deepEqual(
    rows.map((row) => row.iofDailyCents + row.iofAdditionalCents),
    [486, 686, 894, 1106, 1322, 1542, 1771, 1999, 2233, 2471, 2714, 2964],
  );
  assert.equal(rows.at(-1)?.installmentCents, 88_808);
  assert.equal(
    rows.reduce((sum, row) => sum + row.iofDailyCents + row.iofAdditionalCents, 0),
    20_188,
  );
});

test("a lender's engine: 1000.00 into the worker's hands at 3 %, twelve instalments, the IOF lent on top", () => {
  const released = epochDayOf('2026-04-10');
  const dueDays = Array.from({ length: 12 }, (_, month) => {
    return Date.UTC(2026, 3 + month, 25) / 86_400_000 - released;
  });
  const quote = quoteReleased(100_000, termsOf({ rateHundredths: 300, dueDays }));
  assert.deepEqual([quote.financedCents, quote.installmentCents, quote.cetAnnualHundredths], [101_985, 10_097, 4_866]);
  assert.deepEqual([quote.lastInstallmentCents, quote.totalCents], [10_097, 12 * 10_097]);
});

test('a loan rounded by row is what earlier versions made of it, to the cent', () => {
  const rounded = (part: Partial<LoanTerms>, releasedCents: number) => {
    const quote = quoteReleased(releasedCents, termsOf({ ...part, rounding: 'by-row' }));
    const { financedCents, installmentCents, lastInstallmentCents, iofCents, cetAnnualHundredths } = quote;
    return [financedCents, installmentCents, lastInstallmentCents, iofCents, cetAnnualHundredths];
  };
  assert.deepEqual(rounded({ iofFinanced: false }, 1_000_000), [1_000_000, 88_808, 88_810, 20_189, 1_714]);
  assert.deepEqual(rounded({ rateHundredths: 300 }, 100_000), [102_122, 10_245, 10_245, 2_122, 4_861]);
  assert.deepEqual(
    rounded({ rateHundredths: 477, dueDays: eightYears, insuranceCents: 4_500 }, 123_457),
    [132_505, 6_558, 6_998, 4_548, 8_220],
  );
  assert.deepEqual(
    rounded({ rateHundredths: 215, dueDays: eightYears, dayCount: '30/360' }, 700_000),
    [724_048, 17_888, 17_896, 24_048, 3_011],
  );
});

/** 200 loans of many rates, terms, dates and day counts, the same in every run. */
test('floats say what whole numbers of 40 decimals say, row by row', (context) => {
  const random = seeded(20_260_410);
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  let same = 0;
  const loans = 200;
  for (let count = 0; count < loans; count += 1) {
    const dueDays = [between(1, 76)];
    for (let more = between(0, 95); more > 0; more -= 1) dueDays.push(dueDays.at(-1)! + between(28, 31));
    const dayCount = (['actual365', '30/360', 'calendar30'] as const)[between(0, 2)]!;
    const rateHundredths = between(2, 497);
    const terms = termsOf({ rateHundredths, dueDays, dayCount, iofFinanced: between(0, 3) > 0 });
    const releasedCents = between(30_000, 5_000_000);
    const quote = quoteReleased(releasedCents, terms);
    const oracle = oracleLoan(releasedCents, terms);
    const rows = scheduleRows(quote, terms).map(({ interestCents, principalCents, ...row }) => {
      return {
        interestCents,
        principalCents,
        dailyCents: row.iofDailyCents,
        additionalCents: row.iofAdditionalCents,
      };
    });
    const { financedCents, installmentCents, iofCents } = quote;
    assert.ok(Math.abs(iofCents - oracle.iofCents) <= 5, `${JSON.stringify(terms)} ${releasedCents}`);
    assert.ok(Math.abs(installmentCents - oracle.installmentCents) <= 1, `${JSON.stringify(terms)} ${releasedCents}`);
    if (isDeepStrictEqual({ financedCents, installmentCents, iofCents, rows }, oracle)) same += 1;
    const worth = (annual: number) => {
      return dueDays.reduce((sum, day) => sum + oracle.installmentCents / (1 + annual) ** (day / 365), 0);
    };
    if (installmentCents === oracle.installmentCents) {
      const cet = quote.cetAnnualHundredths / 10_000;
      assert.ok(worth(cet - 0.000_051) >= quote.disbursedCents, 'a lower CET makes the instalments worth more');
      assert.ok(worth(cet + 0.000_051) <= quote.disbursedCents, 'a higher CET makes them worth less');
    }
  }
  context.diagnostic(`${same} of ${loans} loans are the same to the cent in every row`);
  assert.ok(same >= loans * 0.99, `${same} of ${loans}`);
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
  rounding: fc.constantFrom<Rounding>('once', 'once', 'by-row'),
  insuranceCents: fc.constantFrom(0, 4_500),
  taxed: fc.boolean(),
  iofFinanced: fc.boolean(),
});

function drawn(value: typeof anyTerms extends fc.Arbitrary<infer T> ? T : never): LoanTerms {
  const dueDays = [value.firstDay];
  for (const gap of value.gaps) dueDays.push(dueDays.at(-1)! + gap);
  const { rateHundredths, dayCount, rounding, insuranceCents, taxed, iofFinanced } = value;
  return { rateHundredths, dueDays, dayCount, rounding, insuranceCents, iof: taxed ? decree : noTax, iofFinanced };
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
      const daily = sum((row) => row.iofDailyCents);
      const byRow = rows.reduce(
        (total, row) => total + Math.round(row.principalCents * terms.iof.additional - 1e-9),
        0,
      );
      const once = Math.round(quote.financedCents * terms.iof.additional);
      const excess = quote.iofCents - daily - (terms.rounding === 'once' ? once : byRow);
      assert.ok(excess >= -1 && excess <= 4, `${excess} cents more than the tax`);
      if (terms.rounding === 'once') {
        assert.ok(
          rows.every((row) => row.installmentCents === quote.installmentCents),
          'instalments are equal',
        );
      }
    }),
    { numRuns: 500 },
  );
});

const anyLoan = fc.record({
  rateHundredths: fc.integer({ min: 2, max: 497 }),
  firstDay: fc.integer({ min: 1, max: 120 }),
  gaps: fc.array(fc.integer({ min: 28, max: 31 }), { minLength: 0, maxLength: 95 }),
  dayCount: fc.constantFrom<DayCount>('actual365', '30/360', 'calendar30'),
  rounding: fc.constantFrom<Rounding>('once', 'by-row'),
  insuranceCents: fc.constantFrom(0, 4_500),
  taxed: fc.constant(true),
  iofFinanced: fc.boolean(),
});

test('no row shows a tax below zero, and the rows still add up to the tax of the loan', () => {
  const amounts = fc.oneof(fc.integer({ min: 100, max: 30_000 }), fc.integer({ min: 30_000, max: 20_000_000 }));
  fc.assert(
    fc.property(anyLoan, amounts, (value, releasedCents) => {
      const terms = drawn(value);
      // Half a cent on each instalment, grown over the whole term, must stay small beside the loan.
      fc.pre((1 + value.rateHundredths / 10_000) ** terms.dueDays.length * 20 < releasedCents);
      const quote = quoteReleased(releasedCents, terms);
      const rows = scheduleRows(quote, terms);
      for (const { number, iofDailyCents, iofAdditionalCents } of rows) {
        assert.ok(iofDailyCents >= 0, `daily tax of row ${number}: ${iofDailyCents}`);
        assert.ok(iofAdditionalCents >= 0, `additional tax of row ${number}: ${iofAdditionalCents}`);
      }
      assert.equal(
        rows.reduce((sum, row) => sum + row.iofDailyCents + row.iofAdditionalCents, 0),
        quote.iofCents,
      );
    }),
    { numRuns: 1_000 },
  );
});

test('an instalment below the interest of the first months repays nothing: no tax there, and as much less after it', () => {
  const terms = termsOf({ rateHundredths: 400, dueDays: eightYears, iofFinanced: false });
  const rows = scheduleRows(quoteReleased(1_000_000, terms), terms);
  const [first] = rows;
  assert.ok(first!.principalCents < 0);
  assert.deepEqual([first!.iofDailyCents, first!.iofAdditionalCents], [0, 0]);
  const raw = rows.map((row) => row.principalCents * 0.000082 * Math.min(row.dueDay, 365));
  const shown = rows.reduce((sum, row) => sum + row.iofDailyCents, 0);
  assert.ok(Math.abs(raw.reduce((sum, tax) => sum + tax, 0) - shown) <= rows.length / 2);
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

test('IOF never falls by more than rounding when amount or days grow', () => {
  fc.assert(
    fc.property(anyTerms, anyAmount, fc.integer({ min: 1, max: 100_000 }), (value, releasedCents, more) => {
      const terms = { ...drawn(value), rounding: 'once' as const };
      const half = (terms.dueDays.length + 1) / 2 + 1;
      const low = quoteReleased(releasedCents, terms);
      const high = quoteReleased(releasedCents + more, terms);
      assert.ok(high.iofCents >= low.iofCents - 2 * half);
      const later = { ...terms, dueDays: terms.dueDays.map((day) => day + 30), iofFinanced: false };
      const now = quoteReleased(releasedCents, { ...terms, iofFinanced: false });
      if (terms.dayCount === '30/360') assert.ok(quoteReleased(releasedCents, later).iofCents >= now.iofCents - half);
    }),
    { numRuns: 300 },
  );
});

test('an IOF that takes the whole loan is a mistake of the settings, not a search without end', () => {
  const iof = { daily: 0.01, dayCap: 3_660, additional: 0.0038 };
  assert.throws(() => quoteReleased(100_000, termsOf({ iof })), /takes the whole principal/);
});

test('rates at which rounding outgrows the loan end with some figure, not in a search without end', () => {
  const fortyYears = Array.from({ length: 480 }, (_, month) => 47 + Math.round((month * 365) / 12));
  for (const rateHundredths of [498, 1_000, 3_000, 9_990]) {
    for (const releasedCents of [1, 100_000, 99_999_999_999]) {
      const quote = quoteReleased(releasedCents, termsOf({ rateHundredths, dueDays: fortyYears }));
      assert.equal(quote.releasedCents, releasedCents);
    }
  }
});
