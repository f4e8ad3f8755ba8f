import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Economics } from '../../src/domain/policy.ts';
import { acceptanceAt } from '../../src/pricing/acceptance.ts';
import { quoteReleased, scheduleRows } from '../../src/pricing/loan.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { cellsFrom, costStack, lossMultiplier, lossShare } from '../../src/pricing/value.ts';
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

const anyHazard = fc.record({
  earlySettlementMonthly: fc.constantFrom(0, 0.01, 0.04),
  spreadTaxPercent: fc.constantFrom(0, 4.65, 20),
  capitalChargeAnnualPercent: fc.constantFrom(0, 1.2),
  recoveryDelayMonths: fc.constantFrom(0, 7),
});
const profile = [
  { months: 3, factor: 0.2 },
  { months: 12, factor: 1.5 },
];
const profiled = createRateTables({ ...settings, fundingCurve, earlySettlementProfile: profile }, 64);

/** One borrower in each month: still paying, link ended, or settled; with taxes, capital and late recoveries. */
function withEveryPart(
  cell: number,
  installments: number,
  releasedCents: number,
  pledgedCents: number,
  told: Economics,
) {
  const terms = profiled.loanTerms(profiled.terms('2026-11-10', installments), cell);
  const quote = quoteReleased(releasedCents, terms);
  const loss = Math.max(
    0,
    told.lossGivenSeparation - told.guaranteeRecovery * Math.min(1, pledgedCents / quote.financedCents),
  );
  const lost = loss * lossMultiplier(cell, curve, told);
  const discountOn = (day: number) => {
    const spread = -0.5 + 1.5 * Math.min(1, Math.max(0, ((day * 12) / 365 - 6) / 18));
    return (1 + (told.fundingAnnualPercent + spread) / 100) ** (-day / 365);
  };
  let spread = -quote.financedCents;
  let losses = 0;
  let capital = 0;
  let outstanding = quote.financedCents;
  let linked = 1;
  let unsettled = 1;
  let dayBefore = 0;
  for (const row of scheduleRows(quote, terms)) {
    const days = row.dueDay - dayBefore;
    const still = (1 - told.neverStartedShare) * (1 - told.separationMonthly) ** ((row.dueDay * 12) / 365);
    const ended = (linked - still) * unsettled * outstanding;
    const discount = discountOn(row.dueDay);
    spread += discount * (still * unsettled * row.installmentCents + ended);
    losses +=
      discount * ended - discountOn(row.dueDay + ((told.recoveryDelayMonths ?? 0) * 365) / 12) * ended * (1 - lost);
    capital +=
      ((told.capitalChargeAnnualPercent ?? 0) / 100) * outstanding * linked * unsettled * (days / 365) * discount;
    let kept = 1;
    for (let day = dayBefore; day < row.dueDay; day += 1) {
      const month = ((day + 0.5) * 12) / 365;
      const factor = 0.2 + 1.3 * Math.min(1, Math.max(0, (month - 3) / 9));
      kept *= (1 - (told.earlySettlementMonthly ?? 0) * factor) ** (12 / 365);
    }
    spread += discount * still * unsettled * (1 - kept) * row.balanceCents;
    unsettled *= kept;
    linked = still;
    outstanding = row.balanceCents;
    dayBefore = row.dueDay;
  }
  const taxes = (spread * (told.spreadTaxPercent ?? 0)) / 100;
  return spread - taxes - losses - capital - (told.commissionPercent / 100) * releasedCents - told.contractCostCents;
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

test('early settlement, taxes, capital and late recoveries are what a walk by the month makes of them', () => {
  fc.assert(
    fc.property(anyLoan, anyHazard, ({ cell, installments, releasedCents, pledgedCents }, hazard) => {
      const told = { ...economics, ...hazard };
      const loan = quoteReleased(releasedCents, profiled.loanTerms(profiled.terms('2026-11-10', installments), cell));
      const values = profiled.values('2026-11-10', installments, told);
      const stack = costStack({
        loan: { ...loan, installments },
        cell,
        values,
        curve,
        acceptance: acceptanceAt(cell, told),
        economics: told,
        pledgedCents,
        shadowPricePerCent: 0,
      });
      const walked = withEveryPart(cell, installments, releasedCents, pledgedCents, told);
      // Settlements are summed by the month here and by the day there.
      const allowed = 1 + installments * (1 + cell / 10_000) ** installments + 1e-4 * releasedCents;
      assert.ok(Math.abs(walked - stack.valueIfReleased) < allowed, `${walked} against ${stack.valueIfReleased}`);
      assert.equal(
        stack.rows.reduce((total, row) => total + row.cents, 0),
        stack.expectedProfitCents,
      );
      const names = stack.rows.map(({ name }) => name);
      assert.equal(names.includes('early-settlement'), hazard.earlySettlementMonthly > 0);
      assert.equal(names.includes('spread-tax'), hazard.spreadTaxPercent > 0);
      assert.equal(names.includes('capital'), hazard.capitalChargeAnnualPercent > 0);
      assert.equal(names.includes('recovery-delay'), hazard.recoveryDelayMonths > 0);
      // What the search looks at is the same value, but for the rounding of the instalment.
      const { search } = values;
      const share = lossShare(told, pledgedCents, loan.financedCents) * lossMultiplier(cell, curve, told);
      const net = search[cellsFrom + 2 * cell]! - share * search[cellsFrom + 2 * cell + 1]!;
      const searched =
        loan.financedCents * net - (told.commissionPercent / 100) * releasedCents - told.contractCostCents;
      assert.ok(Math.abs(searched - stack.valueIfReleased) <= 1 + installments / 2, `${searched}`);
    }),
    { numRuns: 300 },
  );
});

test('who settles early takes interest away, and each part costs the lender something', () => {
  const worth = (part: Partial<Economics>) => {
    const told = { ...economics, ...part };
    const loan = quoteReleased(500_000, tables.loanTerms(tables.terms('2026-11-10', 24), 320));
    const values = tables.values('2026-11-10', 24, told);
    const acceptance = acceptanceAt(320, told);
    const shared = {
      loan: { ...loan, installments: 24 },
      cell: 320,
      curve,
      acceptance,
      pledgedCents: 0,
      shadowPricePerCent: 0,
    };
    return costStack({ ...shared, values, economics: told }).valueIfReleased;
  };
  const off = { earlySettlementMonthly: 0, spreadTaxPercent: 0, capitalChargeAnnualPercent: 0, recoveryDelayMonths: 0 };
  assert.equal(worth(off), worth({}));
  assert.equal(worth({}), stackOf(320, 24, 500_000, 0, 0).valueIfReleased);
  for (const [name, value] of Object.entries({
    spreadTaxPercent: 4.65,
    capitalChargeAnnualPercent: 1,
    recoveryDelayMonths: 6,
  })) {
    assert.ok(worth({ [name]: value }) < worth({}) - 100, name);
  }
  const lasting = { separationMonthly: 0.005, neverStartedShare: 0 };
  assert.ok(worth({ ...lasting, earlySettlementMonthly: 0.03 }) < worth(lasting) - 1_000);
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
