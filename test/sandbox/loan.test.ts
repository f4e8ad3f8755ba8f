/** The sandbox's arithmetic against vectors that nobody here computed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { payrollDueDays } from '../../src/pricing/schedule.ts';
import { annualRate, dayNumber, dueDays, installmentOf, loanOf, scheduleOf } from '../../src/sandbox/loan.ts';

const released = dayNumber(2026, 2, 22);
const due = Array.from({ length: 12 }, (_, month) => dayNumber(2026, 3 + month, 22));

test('twelve instalments on actual days, to the cent', () => {
  const loan = scheduleOf(1_000_000, 100, released, due);
  assert.equal(loan.installmentCents, 88_808);
  const interest = [9202, 9381, 8294, 7751, 6700, 6088, 5245, 4251, 3531, 2576, 1783, 894];
  const iof = [486, 686, 894, 1106, 1322, 1542, 1771, 1999, 2233, 2471, 2714, 2964];
  assert.deepEqual(
    loan.rows.map((row) => row.interestCents),
    interest,
  );
  assert.deepEqual(
    loan.rows.map((row) => row.iofCents),
    iof,
  );
  assert.equal(loan.iofCents, 20_188);
  assert.equal(loan.rows.at(-1)!.balanceCents, 0);
});

test('IOF of one due date after 31 days', () => {
  assert.equal(scheduleOf(1_000_000, 100, 0, [31]).iofCents, 2_542 + 3_800);
});

test('a monthly rate as a yearly one', () => {
  assert.equal(annualRate(100), 0.126825);
  assert.equal(annualRate(700), 1.252192);
});

test('the IOF is lent on top of what is released', () => {
  const loan = loanOf(380_000, 332, released, due);
  assert.equal(loan.financedCents, loan.releasedCents + loan.iofCents);
  assert.equal(installmentOf(loan.financedCents, 332, released, due), loan.installmentCents);
  const amortised = loan.rows.reduce((sum, row) => sum + row.amortisedCents, 0);
  assert.equal(amortised, loan.financedCents);
});

test('the note agrees with itself for every amount: what is lent, its tax, its instalment and its rows', () => {
  const longDue = Array.from({ length: 72 }, (_, month) => released + 47 + month * 30 + (month % 2));
  for (let releasedCents = 99_900; releasedCents < 100_300; releasedCents += 1) {
    const loan = loanOf(releasedCents, 415, released, longDue);
    assert.equal(loan.financedCents, releasedCents + loan.iofCents, `${releasedCents}`);
    assert.equal(loan.installmentCents, installmentOf(loan.financedCents, 415, released, longDue));
    assert.equal(
      loan.rows.reduce((sum, row) => sum + row.iofCents, 0),
      loan.iofCents,
    );
  }
});

test('the payroll calendar turns on the day after the cut-off', () => {
  const calendar = { cutoffDay: 20, dueDay: 7 };
  assert.deepEqual(dueDays(dayNumber(2026, 1, 21), 2, calendar), [dayNumber(2026, 4, 7), dayNumber(2026, 5, 7)]);
  assert.deepEqual(dueDays(dayNumber(2026, 1, 20), 1, calendar), [dayNumber(2026, 3, 7)]);
  assert.deepEqual(dueDays(dayNumber(2026, 11, 21), 1, calendar), [dayNumber(2027, 2, 7)]);
});

test('days without banks are those that the engine takes from its package, over ten years', () => {
  for (let cell = 0; cell < 10 * 12; cell += 1) {
    for (const dueDay of [1, 2, 7, 12, 15, 20, 21, 25]) {
      const at = dayNumber(2025, 1 + cell, 10);
      const day = new Date(at * 86_400_000).toISOString().slice(0, 10);
      const calendar = {
        cutoffDay: 20,
        monthsToFirstDue: 2,
        dueDayOfMonth: dueDay,
        businessDays: 'following',
      } as const;
      const engine = payrollDueDays(day, 1, calendar).map((days) => at + days);
      assert.deepEqual(dueDays(at, 1, { cutoffDay: 20, dueDay, businessDays: true }), engine, `${day}, ${dueDay}`);
    }
  }
});
