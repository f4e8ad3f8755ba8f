import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Economics, Limits, Strategy } from '../../src/domain/policy.ts';
import { noLimits } from '../../src/domain/policy.ts';
import { type Choice, chooseOffer, explainChoice, holdAtPrices, worthOf } from '../../src/pricing/choose.ts';
import { cetOf, financeReleased, quoteReleased } from '../../src/pricing/loan.ts';
import type { ChoiceInput } from '../../src/pricing/mask.ts';
import type { PricingSettings } from '../../src/pricing/settings.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { costStack } from '../../src/pricing/value.ts';
import { buildWinCurve, priorDistribution } from '../../src/pricing/win-curve.ts';
import { economics, evidenceOf, histogramOf, settings } from './setting.ts';

const prior = priorDistribution(settings.winCurve.prior);
const curveOf = (cells: readonly number[]) =>
  buildWinCurve({
    ...evidenceOf(histogramOf(cells)),
    prior,
    priorWeight: 4,
    shrinkage: 4,
    smoothing: 1,
    at: 0,
    halfLifeMs: Number.POSITIVE_INFINITY,
  });
const curve = curveOf([240, 260, 265, 280, 290, 299, 299, 310, 330, 360, 498]);
const tables = createRateTables(settings, 64);

const shipped: { economics: Economics; pricing: PricingSettings } = JSON.parse(
  readFileSync(new URL('../../config/default.json', import.meta.url), 'utf8'),
);

const request: ChoiceInput = {
  tables,
  releaseDay: '2026-11-10',
  requestedAmountCents: 680_000,
  requestedInstallments: 24,
  availableMarginCents: 60_000,
  pledgedCents: 0,
  limits: noLimits,
  economics,
  strategy: { kind: 'optimise' },
  curve,
  shadowPricePerCent: 0,
};

function offered(choice: Choice): Extract<Choice, { kind: 'offer' }> {
  assert.equal(choice.kind, 'offer', choice.kind === 'none' ? choice.text : '');
  return choice as Extract<Choice, { kind: 'offer' }>;
}

function refusedAs(part: Partial<ChoiceInput>): string {
  const choice = chooseOffer({ ...request, ...part });
  return choice.kind === 'none' ? choice.code : `offer at ${choice.offer.rateHundredths}`;
}

const limited = (part: Partial<Limits>): Partial<ChoiceInput> => ({ limits: { ...noLimits, ...part } });

test('a normal request is offered its amount above break-even, at the instalment that its own arithmetic gives', () => {
  const { offer, breakEvenHundredths, valueIfReleasedCents } = offered(chooseOffer(request));
  assert.equal(offer.amountCents, 680_000);
  assert.ok(offer.rateHundredths > breakEvenHundredths && breakEvenHundredths > 150);
  assert.ok(offer.expectedValueCents > 0 && offer.expectedValueCents < valueIfReleasedCents);
  const term = tables.terms(request.releaseDay, 24);
  const quote = quoteReleased(680_000, tables.loanTerms(term, offer.rateHundredths));
  assert.equal(offer.installmentCents, quote.installmentCents);
  assert.equal(offer.financedCents, quote.financedCents);
  assert.equal(offer.iofCents, quote.iofCents);
  assert.equal(offer.cetAnnualHundredths, quote.cetAnnualHundredths);
});

/** Shipped economics and settings, before any result, for a worker who leaves the job soon. */
const halfPledged: ChoiceInput = {
  ...request,
  tables: createRateTables(shipped.pricing, 64),
  requestedAmountCents: 650_000,
  availableMarginCents: 10_000_000,
  pledgedCents: 325_000,
  economics: { ...shipped.economics, separationMonthly: 0.0715 },
  curve: buildWinCurve({
    ...evidenceOf(histogramOf([])),
    prior: priorDistribution(shipped.pricing.winCurve.prior),
    priorWeight: 4,
    shrinkage: 16,
    smoothing: 1,
    at: 0,
    halfLifeMs: Number.POSITIVE_INFINITY,
  }),
};

test('where a guarantee covers half of the amount, the amount that earns most is chosen, not the largest', () => {
  const largest = offered(chooseOffer({ ...halfPledged, amounts: 'largest' })).offer;
  assert.deepEqual([largest.rateHundredths, largest.amountCents, largest.expectedValueCents], [325, 650_000, 606]);
  const { offer } = offered(chooseOffer(halfPledged));
  assert.ok(offer.expectedValueCents >= 2_719, `${offer.expectedValueCents} cents`);
  assert.ok(Math.abs(offer.rateHundredths - 264) <= 3, `${offer.rateHundredths}`);
  assert.ok(offer.amountCents > 300_000 && offer.amountCents < 340_000, `${offer.amountCents}`);
});

test('every way not to bid has its code', () => {
  assert.equal(refusedAs({ requestedInstallments: 97 }), 'installments-out-of-range');
  assert.equal(refusedAs(limited({ minInstallments: 30 })), 'installments-out-of-range');
  assert.equal(refusedAs(limited({ minAmountCents: 700_000 })), 'amount-out-of-range');
  assert.equal(refusedAs(limited({ maxAmountCents: 100_000 })), 'amount-out-of-range');
  assert.equal(refusedAs(limited({ minRateHundredths: 300, maxRateHundredths: 299 })), 'limits-conflict');
  assert.equal(refusedAs({ availableMarginCents: 1 }), 'margin-too-small');
  assert.equal(refusedAs({ availableMarginCents: 10_000 }), 'margin-too-small');
  assert.equal(refusedAs(limited({ maxRateHundredths: 199 })), 'no-profit');
  assert.equal(refusedAs(limited({ minProfitCents: 1_000_000 })), 'no-profit');
  assert.equal(refusedAs(limited({ minSpreadHundredths: 400 })), 'no-profit');
  assert.equal(refusedAs(limited({ maxCetAnnualHundredths: 10 })), 'no-admissible-rate');
  assert.equal(
    refusedAs({ ...limited({ maxRateHundredths: 300 }), strategy: { kind: 'fixed-rate', rateHundredths: 301 } }),
    'no-admissible-rate',
  );
});

test('a binding margin lowers the amount, not below its least share', () => {
  const { offer } = offered(chooseOffer({ ...request, availableMarginCents: 30_000 }));
  assert.equal(offer.installmentCents, 29_999);
  assert.ok(offer.amountCents < 680_000 && offer.amountCents >= 204_000);
  const half = offered(chooseOffer({ ...request, ...limited({ maxMarginShare: 0.5 }) }));
  assert.equal(half.offer.installmentCents, 29_999);
});

test('where the instalment of the fitting amount rounds up over the margin, the amount gives way', () => {
  const choice = chooseOffer({
    ...request,
    requestedInstallments: 1,
    requestedAmountCents: 100_000,
    availableMarginCents: 60_001,
    economics: { ...economics, neverStartedShare: 0, separationMonthly: 0 },
    strategy: { kind: 'fixed-rate', rateHundredths: 422 },
  });
  const { offer } = offered(choice);
  assert.ok(offer.installmentCents <= 60_000 && offer.installmentCents >= 59_998);
});

test('strategies choose inside the mask', () => {
  const best = offered(chooseOffer(request)).offer;
  const fixed = offered(chooseOffer({ ...request, strategy: { kind: 'fixed-rate', rateHundredths: 310 } })).offer;
  assert.equal(fixed.rateHundredths, 310);
  assert.ok(fixed.expectedValueCents <= best.expectedValueCents);
  const by = curve.medianHundredths - best.rateHundredths + 10;
  const strategy: Strategy = { kind: 'undercut', byHundredths: by };
  const lower = offered(chooseOffer({ ...request, strategy })).offer;
  assert.ok(lower.rateHundredths <= best.rateHundredths - 10);
});

test('a budget with a price makes poor loans unwanted and never raises the expected value', () => {
  const free = offered(chooseOffer(request)).offer;
  const priced = offered(chooseOffer({ ...request, shadowPricePerCent: 0.01 })).offer;
  assert.ok(priced.expectedValueCents < free.expectedValueCents);
  assert.ok(priced.rateHundredths >= free.rateHundredths);
  assert.equal(refusedAs({ shadowPricePerCent: 1 }), 'no-profit');
});

test('a price on the budget keeps what the best offer is expected to hold, and less of it the higher it is', () => {
  const prices = Float64Array.of(0, 0.005, 0.01, 0.02, 0.05, 0.1, 1);
  const held = new Float64Array(prices.length).fill(7);
  holdAtPrices(request, prices, held);
  for (const [index, shadowPricePerCent] of prices.entries()) {
    const choice = chooseOffer({ ...request, shadowPricePerCent });
    const expected = choice.kind === 'offer' ? choice.offer.winProbability * choice.offer.amountCents : 0;
    assert.ok(Math.abs(held[index]! - expected) < 2, `${held[index]} at ${shadowPricePerCent}, not ${expected}`);
    if (index > 0) assert.ok(held[index]! <= held[index - 1]!);
  }
  assert.ok(held[0]! > 0 && held[6] === 0);
});

test('other terms are offered only where a limit allows them, and only when they earn more', () => {
  // A margin so small that in the term asked only part of the amount fits.
  const tight: ChoiceInput = { ...request, availableMarginCents: 24_000 };
  const same = offered(chooseOffer(tight)).offer;
  assert.equal(same.installments, 24);
  const free = offered(chooseOffer({ ...tight, ...limited({ maxTermChange: 12 }) })).offer;
  assert.ok(free.installments > 24 && free.installments <= 36, `${free.installments} installments`);
  assert.ok(free.amountCents > same.amountCents && free.expectedValueCents > same.expectedValueCents);
  const kept = offered(chooseOffer({ ...tight, ...limited({ maxTermChange: 12, maxInstallments: 24 }) })).offer;
  assert.ok(kept.installments <= 24);
  const stubborn = { ...economics, acceptanceTermElasticity: 10 };
  const disliked = offered(chooseOffer({ ...tight, economics: stubborn, ...limited({ maxTermChange: 12 }) })).offer;
  assert.equal(disliked.installments, 24);
  const { stack } = explainChoice({ ...tight, ...limited({ maxTermChange: 12 }) });
  assert.equal(
    stack?.rows.reduce((sum, row) => sum + row.cents, 0),
    free.expectedValueCents,
  );
});

test('an offer is worth what it was chosen for, whatever else would be offered', () => {
  const treated = { ...halfPledged, economics: { ...halfPledged.economics, separationMonthly: 0.02 } };
  for (const input of [request, halfPledged]) {
    const choice = offered(chooseOffer(input));
    const { acceptance, valueIfReleasedCents } = worthOf(input, choice.offer);
    assert.deepEqual([acceptance, valueIfReleasedCents], [choice.acceptance, choice.valueIfReleasedCents]);
  }
  // Chosen under other economics: another amount than these would have chosen.
  const { offer } = offered(chooseOffer(treated));
  assert.notEqual(offer.amountCents, offered(chooseOffer(halfPledged)).offer.amountCents);
  const shown = explainChoice(halfPledged).rates.find(({ rateHundredths }) => rateHundredths === offer.rateHundredths);
  assert.notEqual(worthOf(halfPledged, offer).valueIfReleasedCents, shown?.valueIfReleasedCents);
});

test('cheaper rivals pull the rate down', () => {
  const cheap = curveOf(Array.from({ length: 300 }, (_, index) => 230 + (index % 30)));
  const dear = curveOf(Array.from({ length: 300 }, (_, index) => 330 + (index % 30)));
  const low = offered(chooseOffer({ ...request, curve: cheap })).offer.rateHundredths;
  const high = offered(chooseOffer({ ...request, curve: dear })).offer.rateHundredths;
  assert.ok(low < 262 && high > 320, `${low} ${high}`);
});

test('the explanation shows the chosen offer as the best admissible rate, and its stack', () => {
  const { choice, stack, rates } = explainChoice({ ...request, availableMarginCents: 30_000 });
  const { offer } = offered(choice);
  const admissible = rates.filter((rate) => rate.forbidden === null);
  const best = Math.max(...admissible.map((rate) => rate.expectedValueCents));
  assert.ok(offer.expectedValueCents >= best - 2);
  assert.equal(
    stack?.rows.reduce((sum, row) => sum + row.cents, 0),
    offer.expectedValueCents,
  );
  assert.equal(rates.length, 496);
});

/** The largest amount whose exact instalment fits, by bisection on the amount. */
function largestFitting(input: ChoiceInput, cell: number, fullCents: number, capCents: number): number {
  const terms = tables.loanTerms(tables.terms(input.releaseDay, input.requestedInstallments), cell);
  if (financeReleased(fullCents, terms).installmentCents <= capCents) return fullCents;
  let fits = 0;
  let tooMuch = fullCents;
  while (tooMuch - fits > 1) {
    const middle = Math.floor((fits + tooMuch) / 2);
    if (financeReleased(middle, terms).installmentCents <= capCents) fits = middle;
    else tooMuch = middle;
  }
  return fits;
}

type Tried = {
  cell: number;
  amountCents: number;
  value: number;
  expected: number;
  /** The limits are kept by more than the little that rounding may take from the amount. */
  sure: boolean;
};

/** The most by which the amount offered is below the largest whose instalment still rounds down. */
const roundedCents = 120;

/** What rounding may hide: a cent of instalment, which is `annuity` cents of amount and some of value. */
const slackOf = (input: ChoiceInput) => 3 + input.requestedInstallments * 0.6;

function priceExactly(input: ChoiceInput, cell: number, amountCents: number) {
  const installments = input.requestedInstallments;
  const terms = tables.loanTerms(tables.terms(input.releaseDay, installments), cell);
  const loan = financeReleased(amountCents, terms);
  const stack = costStack({
    loan: { ...loan, installments },
    cell,
    values: tables.values(input.releaseDay, installments, input.economics),
    curve: input.curve,
    acceptance:
      (0.9 / (1 + Math.exp(1.5 * (cell / 100 - 4.2)))) *
      Math.min(1, (amountCents / input.requestedAmountCents) ** 0.25),
    economics: input.economics,
    pledgedCents: input.pledgedCents,
    shadowPricePerCent: input.shadowPricePerCent,
  });
  return { terms, loan, stack };
}

/** Every rate priced exactly, in the plainest way; what breaks a limit is left out. */
function bruteForce(input: ChoiceInput): Tried[] {
  const { limits, strategy } = input;
  const fullCents = Math.min(input.requestedAmountCents, limits.maxAmountCents ?? Number.POSITIVE_INFINITY);
  const leastCents = Math.max(limits.minAmountCents ?? 0, 0.3 * input.requestedAmountCents);
  const marginCap = Math.floor(input.availableMarginCents * (limits.maxMarginShare ?? 1) + 1e-9) - 1;
  const capCents = Math.min(marginCap, limits.maxInstallmentCents ?? Number.POSITIVE_INFINITY);
  const tried: Tried[] = [];
  let breakEven = Number.POSITIVE_INFINITY;
  for (let cell = 2; cell <= 497; cell += 1) {
    const amountCents = largestFitting(input, cell, fullCents, capCents);
    if (amountCents <= 0) continue;
    const { terms, loan, stack } = priceExactly(input, cell, amountCents);
    if (stack.valueIfReleased >= 0 && cell < breakEven) breakEven = cell;
    if (amountCents < leastCents) continue;
    if (cell < (limits.minRateHundredths ?? 2) || cell > (limits.maxRateHundredths ?? 497)) continue;
    if (strategy.kind === 'fixed-rate' && cell !== strategy.rateHundredths) continue;
    if (strategy.kind === 'undercut' && cell > input.curve.medianHundredths - strategy.byHundredths) continue;
    if (loan.installmentCents < (limits.minInstallmentCents ?? 0)) continue;
    if (cell - breakEven < (limits.minSpreadHundredths ?? 0)) continue;
    if (stack.valueIfReleased < (limits.minProfitCents ?? 0)) continue;
    const maxCet = limits.maxCetAnnualHundredths ?? Number.POSITIVE_INFINITY;
    const isDear = (released: typeof loan) =>
      maxCet < Number.POSITIVE_INFINITY && cetOf(released, terms).cetAnnualHundredths > maxCet;
    if (isDear(loan)) continue;
    const lessPaidOut = { ...loan, disbursedCents: loan.disbursedCents - roundedCents };
    const isWorth = stack.valueIfReleased - slackOf(input) - 100 >= (limits.minProfitCents ?? 0);
    // The spread is that of the amount offered: a larger one, which fits at a lower rate only, may break even before it.
    const spread = limits.minSpreadHundredths ?? 0;
    const keepsSpread =
      spread === 0 ||
      (cell - spread >= 2 && priceExactly(input, cell - spread, amountCents).stack.valueIfReleased >= slackOf(input));
    const sure = amountCents - roundedCents >= leastCents && !isDear(lessPaidOut) && isWorth && keepsSpread;
    tried.push({ cell, amountCents, value: stack.valueIfReleased, expected: stack.expectedProfit, sure });
  }
  return tried;
}

const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { freq: 2, nil: null });

const anyInput: fc.Arbitrary<ChoiceInput> = fc
  .record({
    asked: fc.integer({ min: 50_000, max: 2_000_000 }),
    installments: fc.integer({ min: 1, max: 48 }),
    marginShareOfInstallment: fc.double({ min: 0.2, max: 2.5, noNaN: true }),
    pledgedCents: fc.constantFrom(0, 150_000, Number.POSITIVE_INFINITY),
    shadowPricePerCent: fc.constantFrom(0, 0.005, 0.02),
    strategy: fc.oneof(
      { weight: 4, arbitrary: fc.constant<Strategy>({ kind: 'optimise' }) },
      fc.integer({ min: 200, max: 497 }).map((rateHundredths): Strategy => ({ kind: 'fixed-rate', rateHundredths })),
      fc.integer({ min: 0, max: 40 }).map((byHundredths): Strategy => ({ kind: 'undercut', byHundredths })),
    ),
    limits: fc.record({
      minRateHundredths: sometimes(fc.integer({ min: 2, max: 280 })),
      maxRateHundredths: sometimes(fc.integer({ min: 280, max: 497 })),
      minAmountCents: sometimes(fc.integer({ min: 10_000, max: 100_000 })),
      maxAmountCents: sometimes(fc.integer({ min: 100_000, max: 1_500_000 })),
      minInstallments: fc.constant(null),
      maxInstallments: fc.constant(null),
      minInstallmentCents: sometimes(fc.integer({ min: 1, max: 20_000 })),
      maxInstallmentCents: sometimes(fc.integer({ min: 20_000, max: 90_000 })),
      maxCetAnnualHundredths: sometimes(fc.integer({ min: 3_000, max: 7_000 })),
      maxMarginShare: sometimes(fc.double({ min: 0.5, max: 1, noNaN: true })),
      minSpreadHundredths: sometimes(fc.integer({ min: 0, max: 60 })),
      minProfitCents: sometimes(fc.integer({ min: 0, max: 10_000 })),
      maxTermChange: fc.constant(null),
    }),
  })
  .map(({ asked, installments, marginShareOfInstallment, ...rest }) => ({
    ...request,
    ...rest,
    requestedAmountCents: asked,
    requestedInstallments: installments,
    availableMarginCents: Math.round(((asked * 1.4) / installments) * marginShareOfInstallment),
  }));

test('the chosen offer is inside mask and margin, and as good as the best found by trying every rate exactly', () => {
  let offers = 0;
  fc.assert(
    fc.property(anyInput, (input) => {
      const choice = chooseOffer(input);
      const tried = bruteForce(input);
      const slack = slackOf(input);
      const sure = tried.filter((each) => each.sure);
      if (choice.kind === 'none') {
        const missed = Math.max(0, ...sure.map(({ expected }) => expected));
        assert.ok(missed < slack, `${choice.code} missed ${missed}`);
        return;
      }
      offers += 1;
      const { offer } = choice;
      const same = tried.find(({ cell }) => cell === offer.rateHundredths);
      const { minSpreadHundredths, minProfitCents, maxCetAnnualHundredths } = input.limits;
      // The largest amount may break by a rounding what a few cents less keep.
      const borderline = minSpreadHundredths !== null || minProfitCents !== null || maxCetAnnualHundredths !== null;
      // Where a guarantee covers part of it, a smaller amount may be worth what the largest is not.
      const partly = input.pledgedCents > 0 && input.pledgedCents < Number.POSITIVE_INFINITY;
      assert.ok(same !== undefined || borderline || partly, `the rate ${offer.rateHundredths} is outside the mask`);
      if (same !== undefined) assert.ok(offer.amountCents <= same.amountCents + roundedCents);
      const term = tables.terms(input.releaseDay, input.requestedInstallments);
      const quote = quoteReleased(offer.amountCents, tables.loanTerms(term, offer.rateHundredths));
      assert.equal(quote.installmentCents, offer.installmentCents);
      const loanTerms = tables.loanTerms(term, offer.rateHundredths);
      const { cetAnnualHundredths } = cetOf(financeReleased(offer.amountCents, loanTerms), loanTerms);
      assert.ok(cetAnnualHundredths <= (maxCetAnnualHundredths ?? Number.POSITIVE_INFINITY), 'dearer than allowed');
      const share = input.limits.maxMarginShare ?? 1;
      assert.ok(offer.installmentCents + settings.marginBufferCents <= input.availableMarginCents * share + 1e-6);
      assert.ok(offer.expectedValueCents >= 0);
      const best = Math.max(...sure.map(({ expected }) => expected));
      assert.ok(offer.expectedValueCents >= best - slack, `${offer.expectedValueCents} of ${best}`);
    }),
    { numRuns: 300 },
  );
  assert.ok(offers > 20, `only ${offers} offers`);
});

type Best = { expected: number; rate: number; amountCents: number; installments: number };

/**
 * Every whole cent of every rate and allowed term, in the plainest way: V of the loan written down as the sum of what comes
 * in, its instalment not rounded. Least profit, spread and margin as in the mask.
 */
function everyCent(input: ChoiceInput, rates: readonly number[]): Best {
  const { limits, economics: told, curve: rivals, pledgedCents, requestedAmountCents: asked } = input;
  const best: Best = { expected: Number.NEGATIVE_INFINITY, rate: 0, amountCents: 0, installments: 0 };
  const change = limits.maxTermChange ?? 0;
  for (let term = input.requestedInstallments - change; term <= input.requestedInstallments + change; term += 1) {
    const table = input.tables.terms(input.releaseDay, term);
    const values = input.tables.values(input.releaseDay, term, told);
    const worthOf = (rate: number, amount: number) => {
      const lent = amount * table.grossUp[rate]!;
      const owed = lent * values.exposed[rate]!;
      const loss = Math.max(0, told.lossGivenSeparation - told.guaranteeRecovery * Math.min(1, pledgedCents / lent));
      const won = Math.max(0, rivals.win[rate]! - rivals.noRivalShare);
      const above = Math.max(0, rate - rivals.medianHundredths) / 100;
      const selected = 1 + told.selectionWin * (1 - won) + told.selectionRate * above;
      const paid = (lent / table.annuity[rate]!) * values.surviving;
      return (
        paid + owed - owed * loss * selected - lent - (told.commissionPercent / 100) * amount - told.contractCostCents
      );
    };
    const liked = Math.exp(-told.acceptanceTermElasticity * Math.abs(Math.log(term / input.requestedInstallments)));
    const cap = Math.floor(input.availableMarginCents * (limits.maxMarginShare ?? 1) + 1e-9) - 1;
    for (const rate of rates) {
      const most = Math.min(asked, Math.floor((cap * table.annuity[rate]!) / table.grossUp[rate]!));
      const accepted =
        told.acceptanceCeiling / (1 + Math.exp(told.acceptanceSlope * (rate / 100 - told.acceptanceMidpointPercent)));
      for (let amount = Math.ceil(0.3 * asked); amount <= most; amount += 1) {
        const value = worthOf(rate, amount);
        if (value < (limits.minProfitCents ?? 0)) continue;
        const taken = rivals.win[rate]! * accepted * liked * (amount / asked) ** told.acceptanceAmountElasticity;
        const expected = taken * (value - input.shadowPricePerCent * amount) - told.bidCostCents;
        if (expected <= best.expected) continue;
        const spread = limits.minSpreadHundredths ?? 0;
        if (
          rate - spread < 2 ||
          !Array.from({ length: rate - spread - 1 }, (_, at) => at + 2).some((at) => worthOf(at, amount) >= 0)
        )
          continue;
        Object.assign(best, { expected, rate, amountCents: amount, installments: term });
      }
    }
  }
  return best;
}

const anyPartlyPledged: fc.Arbitrary<ChoiceInput> = fc
  .record({
    asked: fc.integer({ min: 15_000, max: 30_000 }),
    installments: fc.integer({ min: 4, max: 30 }),
    pledgedShare: fc.constantFrom(0, 0.3, 0.5, 0.8),
    hazard: fc.double({ min: 0.02, max: 0.09, noNaN: true }),
    elasticity: fc.constantFrom(0, 0.25, 1),
    recovery: fc.constantFrom(0.08, 0.17, 0.3),
    marginShare: fc.double({ min: 0.5, max: 1.5, noNaN: true }),
    shadowPricePerCent: fc.constantFrom(0, 0, 0.01),
    minProfitCents: sometimes(fc.integer({ min: 0, max: 1_000 })),
    minSpreadHundredths: sometimes(fc.integer({ min: 0, max: 40 })),
    maxTermChange: fc.constantFrom(null, 2),
  })
  .map(({ asked, installments, pledgedShare, hazard, elasticity, recovery, marginShare, ...rest }) => ({
    ...request,
    requestedAmountCents: asked,
    requestedInstallments: installments,
    pledgedCents: Math.round(asked * pledgedShare),
    availableMarginCents: Math.round(((asked * 1.4) / installments) * marginShare),
    shadowPricePerCent: rest.shadowPricePerCent,
    economics: {
      ...economics,
      contractCostCents: 50,
      separationMonthly: hazard,
      acceptanceAmountElasticity: elasticity,
      guaranteeRecovery: recovery,
    },
    limits: {
      ...noLimits,
      minProfitCents: rest.minProfitCents,
      minSpreadHundredths: rest.minSpreadHundredths,
      maxTermChange: rest.maxTermChange,
    },
  }));

test('rate, amount and term are the best of all there are, to the cent', () => {
  let inside = 0;
  fc.assert(
    fc.property(anyPartlyPledged, fc.integer({ min: 0, max: 19 }), (input, phase) => {
      const choice = chooseOffer(input);
      const rates = Array.from({ length: 16 }, (_, index) => 170 + phase + 20 * index);
      if (choice.kind === 'offer') rates.push(choice.offer.rateHundredths);
      const best = everyCent(input, rates);
      // Instalment and IOF are rounded to cents in what is bid.
      const slack = 1 + (input.requestedInstallments + 2) * 0.6;
      if (choice.kind === 'none') {
        assert.ok(best.expected < slack, `${choice.code} missed ${best.expected}`);
        return;
      }
      const { offer } = choice;
      assert.ok(
        offer.expectedValueCents >= best.expected - slack,
        `${JSON.stringify(offer)} of ${JSON.stringify(best)}`,
      );
      assert.ok(offer.amountCents >= Math.ceil(0.3 * input.requestedAmountCents));
      assert.ok(offer.installmentCents <= input.availableMarginCents - settings.marginBufferCents);
      assert.ok(valueLeast(input) <= choice.valueIfReleasedCents);
      const same = everyCent(input, [offer.rateHundredths]);
      if (same.installments !== offer.installments) return;
      const least = Math.ceil(0.3 * input.requestedAmountCents);
      const isInside = same.amountCents > least && same.amountCents < input.requestedAmountCents;
      if (isInside) inside += 1;
    }),
    { numRuns: 30 },
  );
  assert.ok(inside > 0, `only ${inside} amounts lay between the least and the one asked`);
});

function valueLeast({ limits }: ChoiceInput): number {
  return limits.minProfitCents ?? 0;
}

test('of the tables, those in use are kept and no more than the limit', () => {
  const limit = 8;
  const few = createRateTables(settings, limit);
  const day = request.releaseDay;
  const kept = few.terms(day, 24);
  for (let installments = 1; installments <= 96; installments += 1) {
    // Between other terms this one is asked for again and again.
    if (installments % 3 === 0) assert.equal(few.terms(day, 24), kept);
    if (installments !== 24) few.terms(day, installments);
  }
  const made = Array.from({ length: limit + 1 }, (_, index) => few.terms(day, index + 1));
  assert.notEqual(few.terms(day, 1), made[0]);
  assert.deepEqual(few.terms(day, 1), made[0]);
});

test('no request and no limits make a choice take long, however small the loan', () => {
  const own = createRateTables(shipped.pricing, 4_096);
  const free = { ...shipped.economics, contractCostCents: 0, bidCostCents: 0 };
  const cases: [requestedAmountCents: number, limits: Partial<Limits>, pledgedCents: number][] = [
    [1, { maxTermChange: 96, minSpreadHundredths: 48 }, 0],
    [1, { maxTermChange: 96 }, 0],
    [2, { maxTermChange: 12 }, 0],
    [219, { maxTermChange: 12, maxCetAnnualHundredths: 3_823, minProfitCents: 4, minSpreadHundredths: 31 }, 109],
    [860, { maxTermChange: 96, maxCetAnnualHundredths: 2_964 }, 0],
    [3_000, { maxTermChange: 96, maxCetAnnualHundredths: 2_964 }, 0],
    [10_000, { maxTermChange: 96 }, 0],
  ];
  const asked = { ...request, tables: own, economics: free, availableMarginCents: 10_000_000 };
  // Tables are made once a day and term; here it is the choice that counts.
  chooseOffer({ ...asked, limits: { ...noLimits, maxTermChange: 96 } });
  for (const [requestedAmountCents, limits, pledgedCents] of cases) {
    const startedAt = performance.now();
    chooseOffer({ ...asked, requestedAmountCents, pledgedCents, limits: { ...noLimits, ...limits } });
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 400, `${requestedAmountCents} cents under ${JSON.stringify(limits)}: ${tookMs} ms`);
  }
});
