/**
 * The choice of the rate: `J(r) = w(r) · a(r) · (V(r) − λ·A(r)) − bid cost` over the mask, by tables; the chosen cell is
 * priced once more by the exact arithmetic, and the next best is taken when it fails there.
 */
import { maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import { amountLiking } from './acceptance.ts';
import { type Candidate, type Prepared, prepare, priceCandidate } from './candidate.ts';
import { buildMask, type ChoiceInput, type Mask, moneyText, percentText, type Refusal, refuse } from './mask.ts';
import type { Scratch } from './terms.ts';
import { type CostStack, lossMultiplier, lossShare } from './value.ts';

type PricedOffer = Omit<Offer, 'validUntil'>;

export type Choice =
  | {
      kind: 'offer';
      offer: PricedOffer;
      /** Lowest rate at which the released loan is worth its cost; value is not monotone, so higher rates may not be. */
      breakEvenHundredths: number;
      /** V, rounded. */
      valueIfReleasedCents: number;
      acceptance: number;
      cetMonthlyHundredths: number;
      totalCents: number;
    }
  | Refusal;

/**
 * What the tables say of all rates. In the scratch: `expected` is J, −∞ for cells outside the mask; inside it, `worth` is J
 * without a budget, `release` the amount expected to be released, `hold` the amount expected to be held under caps.
 */
type Scan = {
  scratch: Scratch;
  breakEven: number | null;
  /** Cells of the strategy's range: amount fits the margin; nothing but value may be missing; value is there too. */
  fitting: number;
  admissible: number;
  earning: number;
  /** Cells that would be worth their cost if the margin carried the least amount. */
  cramped: number;
};

/** Present value of one unit at each due day under the highest CET allowed; infinite without a limit. */
function cetAnnuity(dueDays: readonly number[], maxCetAnnualHundredths: number): number {
  if (maxCetAnnualHundredths === Number.POSITIVE_INFINITY) return 0;
  // Half a hundredth more, because the exact CET is rounded before it is compared.
  const logRate = Math.log1p((maxCetAnnualHundredths + 0.5) / 10_000) / 365;
  let annuity = 0;
  for (const day of dueDays) annuity += Math.exp(-logRate * day);
  return annuity;
}

function scan(input: ChoiceInput, mask: Mask, prepared: Prepared): Scan {
  const { economics, curve, shadowPricePerCent, pledgedCents, requestedAmountCents: asked } = input;
  const { annuity, grossUp } = prepared.term;
  const { surviving, exposed } = prepared.values;
  const { lowRate, highRate, fullCents, leastCents, maxInstallmentCents, minInstallmentCents } = mask;
  const { scratch } = input.tables;
  scratch.expected.fill(Number.NEGATIVE_INFINITY);
  const { insuranceCents } = input.tables.settings;
  const commission = economics.commissionPercent / 100;
  const { contractCostCents, bidCostCents } = economics;
  const flatLoss = lossShare(economics, pledgedCents, 1);
  const isPartlyCovered = pledgedCents > 0 && pledgedCents < Number.POSITIVE_INFINITY;
  const worthAtMaxCet = cetAnnuity(prepared.term.dueDays, mask.maxCetAnnualHundredths);
  // Rounding may move the exact value by about a cent an instalment either way; the exact pricing decides.
  const slack = prepared.installments;
  const result: Scan = { scratch, breakEven: null, fitting: 0, admissible: 0, earning: 0, cramped: 0 };
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const factor = annuity[cell]!;
    const perInstallment = factor / grossUp[cell]!;
    const amount = Math.min(fullCents, maxInstallmentCents * perInstallment - insuranceCents);
    const installment = (amount + insuranceCents) / perInstallment;
    const loss = isPartlyCovered ? lossShare(economics, pledgedCents, installment * factor) : flatLoss;
    const lossGrowth = loss * lossMultiplier(cell, curve, economics);
    const value =
      installment * (surviving + factor * (exposed[cell]! * (1 - lossGrowth) - 1)) -
      commission * amount -
      contractCostCents;
    if (result.breakEven === null && value >= 0 && amount > 0) result.breakEven = cell;
    if (cell < lowRate || cell > highRate) continue;
    if (amount < leastCents - 1) {
      if (value >= 0) result.cramped += 1;
      continue;
    }
    result.fitting += 1;
    if (installment < minInstallmentCents - 1 || installment * worthAtMaxCet > amount + slack) continue;
    result.admissible += 1;
    if (value < mask.minProfitCents - slack) continue;
    if (result.breakEven === null || cell - result.breakEven < mask.minSpreadHundredths) continue;
    result.earning += 1;
    const win = curve.win[cell]!;
    const liking = amount < asked ? prepared.termLiking * amountLiking(amount, asked, economics) : prepared.termLiking;
    const taken = win * prepared.acceptance[cell]! * liking;
    scratch.worth[cell] = taken * value - bidCostCents;
    scratch.release[cell] = taken * amount;
    scratch.hold[cell] = win * amount;
    scratch.expected[cell] = scratch.worth[cell]! - shadowPricePerCent * scratch.release[cell]!;
  }
  return result;
}

/** Best cell first, each priced exactly until one holds; null when none is left that earns anything. */
function bestCandidate(input: ChoiceInput, mask: Mask, prepared: Prepared, scanned: Scan): Candidate | null {
  const { expected } = scanned.scratch;
  for (;;) {
    let best = -1;
    let bestExpected = 0;
    for (let cell = mask.lowRate; cell <= mask.highRate; cell += 1) {
      if (expected[cell]! > bestExpected) {
        best = cell;
        bestExpected = expected[cell]!;
      }
    }
    if (best < 0) return null;
    const candidate = priceCandidate(best, input, mask, prepared, scanned.breakEven);
    if (candidate.forbidden === null && candidate.stack.expectedProfit > 0) return candidate;
    expected[best] = Number.NEGATIVE_INFINITY;
  }
}

function whyNone(mask: Mask, scanned: Scan): Refusal {
  const range = `${percentText(mask.lowRate)} to ${percentText(mask.highRate)}`;
  if (scanned.fitting === 0 || (scanned.earning === 0 && scanned.cramped > 0)) {
    const text = `an instalment of ${moneyText(mask.maxInstallmentCents)} does not carry ${moneyText(mask.leastCents)} at a rate worth bidding`;
    return refuse('margin-too-small', text);
  }
  if (scanned.admissible === 0) {
    return refuse('no-admissible-rate', `limits on instalment or CET forbid every rate from ${range}`);
  }
  const breakEven = scanned.breakEven === null ? 'at no rate' : `from ${percentText(scanned.breakEven)}`;
  return refuse('no-profit', `no rate from ${range} earns enough; the loan breaks even ${breakEven}`);
}

/**
 * The offer that earns most in expectation inside the limits, or why there is none. Pure; some 10 µs with tables and curve
 * at hand, and as much again for every other term that the limits allow. Of the amounts, the largest that fits is best.
 */
export function chooseOffer(input: ChoiceInput): Choice {
  const { requestedInstallments: asked } = input;
  let best = chooseForTerm(input, asked);
  const change = input.limits.maxTermChange ?? 0;
  for (let installments = Math.max(1, asked - change); installments <= asked + change; installments += 1) {
    if (installments === asked) continue;
    const other = chooseForTerm(input, installments);
    if (other.kind === 'offer' && expectedOf(other) > expectedOf(best)) best = other;
  }
  return best;
}

function expectedOf(choice: Choice): number {
  return choice.kind === 'offer' ? choice.offer.expectedValueCents : Number.NEGATIVE_INFINITY;
}

function chooseForTerm(input: ChoiceInput, installments: number): Choice {
  const mask = buildMask(input, installments);
  if (mask.kind === 'none') return mask;
  const prepared = prepare(input, installments);
  const scanned = scan(input, mask, prepared);
  const chosen = bestCandidate(input, mask, prepared, scanned);
  if (chosen === null) return whyNone(mask, scanned);
  const { cell, loan, cet, stack, acceptance } = chosen;
  return {
    kind: 'offer',
    offer: {
      rateHundredths: cell,
      amountCents: loan.releasedCents,
      installments,
      installmentCents: loan.installmentCents,
      financedCents: loan.financedCents,
      iofCents: loan.iofCents,
      cetAnnualHundredths: cet.cetAnnualHundredths,
      expectedValueCents: stack.expectedProfitCents,
      winProbability: input.curve.win[cell]!,
    },
    breakEvenHundredths: scanned.breakEven!,
    valueIfReleasedCents: Math.round(stack.valueIfReleased),
    acceptance,
    cetMonthlyHundredths: cet.cetMonthlyHundredths,
    totalCents: loan.totalCents,
  };
}

/**
 * For each budget price: the amount that the best offer at that price is expected to hold under the caps, its win
 * probability times its amount; 0 where none earns anything. `held` is filled. For the term asked.
 */
export function holdAtPrices(input: ChoiceInput, pricesPerCent: Float64Array, held: Float64Array): void {
  held.fill(0);
  const mask = buildMask(input, input.requestedInstallments);
  if (mask.kind === 'none') return;
  const { scratch } = scan(input, mask, prepare(input, input.requestedInstallments));
  const { expected, worth, release, hold } = scratch;
  for (let index = 0; index < pricesPerCent.length; index += 1) {
    const price = pricesPerCent[index]!;
    let best = 0;
    for (let cell = mask.lowRate; cell <= mask.highRate; cell += 1) {
      if (expected[cell] === Number.NEGATIVE_INFINITY) continue;
      const net = worth[cell]! - price * release[cell]!;
      if (net <= best) continue;
      best = net;
      held[index] = hold[cell]!;
    }
    if (best === 0) return;
  }
}

type RateExplanation = {
  rateHundredths: number;
  winProbability: number;
  acceptance: number;
  amountCents: number;
  installmentCents: number;
  cetAnnualHundredths: number;
  valueIfReleasedCents: number;
  expectedValueCents: number;
  /** Null: this rate could have been bid. `range`: outside the rate limits or the strategy. */
  forbidden: Candidate['forbidden'] | 'range';
};

export type Explanation = {
  choice: Choice;
  /** Cost stack of the chosen offer. */
  stack: CostStack | null;
  /** Every rate of the grid by the exact arithmetic; empty when the request was refused before any was tried. */
  rates: readonly RateExplanation[];
};

/** The same choice with everything that a person may want to see of it; milliseconds, for display only. */
export function explainChoice(input: ChoiceInput): Explanation {
  const choice = chooseOffer(input);
  const installments = choice.kind === 'offer' ? choice.offer.installments : input.requestedInstallments;
  const mask = buildMask(input, installments);
  if (mask.kind === 'none') return { choice, stack: null, rates: [] };
  const prepared = prepare(input, installments);
  const { breakEven } = scan(input, mask, prepared);
  const rates: RateExplanation[] = [];
  let stack: CostStack | null = null;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const candidate = priceCandidate(cell, input, mask, prepared, breakEven);
    const outside = cell < mask.lowRate || cell > mask.highRate;
    if (choice.kind === 'offer' && cell === choice.offer.rateHundredths) stack = candidate.stack;
    rates.push({
      rateHundredths: cell,
      winProbability: input.curve.win[cell]!,
      acceptance: candidate.acceptance,
      amountCents: candidate.loan.releasedCents,
      installmentCents: candidate.loan.installmentCents,
      cetAnnualHundredths: candidate.cet.cetAnnualHundredths,
      valueIfReleasedCents: Math.round(candidate.stack.valueIfReleased),
      expectedValueCents: candidate.stack.expectedProfitCents,
      forbidden: outside ? 'range' : candidate.forbidden,
    });
  }
  return { choice, stack, rates };
}
