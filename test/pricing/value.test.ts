import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { acceptanceAt } from '../../src/pricing/acceptance.ts';
import { quoteReleased, scheduleRows } from '../../src/pricing/loan.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { costStack, lossMultiplier } from '../../src/pricing/value.ts';
import { buildWinCurve, priorDistribution } from '../../src/pricing/win-curve.ts';
import { economics, evidenceOf, histogramOf, settings } from './setting.ts';

const prior = priorDistribution(settings.winCurve.prior);
const curve = buildWinCurve({
  ...evidenceOf(histogramOf([210, 230, 250, 260, 270, 280, 300, 320, 350, 498])),
  prior,
  priorWeight: 4,
  shrinkage: 4,
  smoothing: 1,
  at: 0,
  halfLifeMs: Number.POSITIVE_INFINITY,
});
const fundingCurve = [
  { months: 6, spreadPercent: -0.5 },
  { months: 24, spreadPercent: 1 },
];
const tables = createRateTables({ ...settings, fundingCurve }, 64);

/** The value of a released loan by walking its rows month by month, with who is still paying in a plain variable. */
function monthByMonth(cell: number, installments: number, releasedCents: number, pledgedCents: number): number {
  const term = tables.terms('2026-11-10', installments);
  const terms = tables.loanTerms(term, cell);
  const quote = quoteReleased(releasedCents, terms);
  const loss =
    economics.lossGivenSeparation - economics.guaranteeRecovery * Math.min(1, pledgedCents / quote.financedCents);
  const w = curve.win[cell]! - curve.noRivalShare;
  const multiplier =
    1 +
    economics.selectionWin * (1 - Math.max(0, w)) +
    economics.selectionRate * Math.max(0, (cell - curve.medianHundredths) / 100);
  let worth = -quote.financedCents;
  let outstanding = quote.financedCents;
  let paying = 1;
  for (const row of scheduleRows(quote, terms)) {
    const months = (row.dueDay * 12) / 365;
    const spread = -0.5 + 1.5 * Math.min(1, Math.max(0, (months - 6) / 18));
    const discount = (1 + (economics.fundingAnnualPercent + spread) / 100) ** (-row.dueDay / 365);
    const stillPaying =
      (1 - economics.neverStartedShare) * (1 - economics.separationMonthly) ** ((row.dueDay * 12) / 365);
    worth += discount * stillPaying * row.installmentCents;
    worth += discount * (paying - stillPaying) * outstanding * (1 - loss * multiplier);
    paying = stillPaying;
    outstanding = row.balanceCents;
  }
  return worth - (economics.commissionPercent / 100) * releasedCents - economics.contractCostCents;
}

function stackOf(cell: number, installments: number, releasedCents: number, pledgedCents: number, shadowPrice: number) {
  const term = tables.terms('2026-11-10', installments);
  const quote = quoteReleased(releasedCents, tables.loanTerms(term, cell));
  return costStack({
    loan: { ...quote, installments },
    cell,
    values: tables.values('2026-11-10', installments, economics),
    curve,
    acceptance: acceptanceAt(cell, economics),
    economics,
    pledgedCents,
    shadowPricePerCent: shadowPrice,
  });
}

const anyLoan = fc.record({
  cell: fc.integer({ min: 100, max: 497 }),
  installments: fc.integer({ min: 1, max: 60 }),
  releasedCents: fc.integer({ min: 50_000, max: 5_000_000 }),
  pledgedCents: fc.constantFrom(0, 100_000, Number.POSITIVE_INFINITY),
  shadowPrice: fc.constantFrom(0, 0.01),
});

test('the closed form is the month-by-month sum, but for the rounding of the last row', () => {
  fc.assert(
    fc.property(anyLoan, ({ cell, installments, releasedCents, pledgedCents }) => {
      const plain = monthByMonth(cell, installments, releasedCents, pledgedCents);
      const { valueIfReleased } = stackOf(cell, installments, releasedCents, pledgedCents, 0);
      // Half a cent a month, with compound interest, is what the last row may take up.
      const allowed = 1 + installments * (1 + cell / 10_000) ** installments;
      assert.ok(Math.abs(plain - valueIfReleased) < allowed, `${plain} against ${valueIfReleased}`);
    }),
    { numRuns: 300 },
  );
});

test('the cost stack adds up to the expected profit to the cent', () => {
  fc.assert(
    fc.property(anyLoan, ({ cell, installments, releasedCents, pledgedCents, shadowPrice }) => {
      const stack = stackOf(cell, installments, releasedCents, pledgedCents, shadowPrice);
      const sum = stack.rows.reduce((total, row) => total + row.cents, 0);
      assert.equal(sum, stack.expectedProfitCents);
      const taken = curve.win[cell]! * acceptanceAt(cell, economics);
      const formula = taken * (stack.valueIfReleased - shadowPrice * releasedCents) - economics.bidCostCents;
      assert.ok(Math.abs(formula - stack.expectedProfit) < 1e-6 * (1 + Math.abs(formula)));
      const names = ['interest', 'funding', 'early-end', 'expected-loss', 'selection', 'commission', 'contract-cost'];
      const upToValue = stack.rows.filter((row) => names.includes(row.name)).reduce((all, row) => all + row.cents, 0);
      assert.equal(upToValue, Math.round(stack.valueIfReleased) + 0);
    }),
    {
      numRuns: 300,
      examples: [[{ cell: 410, installments: 6, releasedCents: 50_000, pledgedCents: 0, shadowPrice: 0 }]],
    },
  );
});

test('a guarantee is worth something, and a loan that must be won at a high rate is worth less', () => {
  const worth = (pledged: number) => stackOf(300, 24, 500_000, pledged, 0).valueIfReleased;
  const untold = worth(Number.POSITIVE_INFINITY);
  assert.ok(worth(0) < worth(250_000) && worth(250_000) < untold);
  assert.equal(worth(1_000_000), untold);
  for (let cell = 3; cell < 498; cell += 1) {
    assert.ok(lossMultiplier(cell, curve, economics) >= lossMultiplier(cell - 1, curve, economics) - 1e-12);
  }
});

test('an auction without rivals is the worst news', () => {
  const lonely = buildWinCurve({
    ...evidenceOf(histogramOf(Array.from({ length: 500 }, () => 498))),
    prior,
    priorWeight: 0,
    shrinkage: 0,
    smoothing: 1,
    at: 0,
    halfLifeMs: Number.POSITIVE_INFINITY,
  });
  assert.ok(Math.abs(lossMultiplier(200, lonely, economics) - (1 + economics.selectionWin)) < 1e-9);
});

test('acceptance never rises with the rate and stays a probability', () => {
  const anyAcceptance = fc.record({
    acceptanceCeiling: fc.double({ min: 0, max: 1, noNaN: true }),
    acceptanceMidpointPercent: fc.double({ min: 0, max: 8, noNaN: true }),
    acceptanceSlope: fc.double({ min: 0, max: 20, noNaN: true }),
  });
  fc.assert(
    fc.property(anyAcceptance, fc.integer({ min: 2, max: 496 }), (acceptance, cell) => {
      const values = { ...economics, ...acceptance };
      const here = acceptanceAt(cell, values);
      assert.ok(here >= 0 && here <= 1);
      assert.ok(acceptanceAt(cell + 1, values) <= here);
    }),
  );
});
