/**
 * The choice of a bid: `J(r, A, n) = w(r) · a(r, A, n) · (V(r, A, n) − λ·A) − bid cost`, highest over rate, amount and the
 * terms that the limits allow, by tables; the chosen offer is priced once more by the exact arithmetic, and the next best is
 * taken when it fails there.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import { amountLiking } from './acceptance.ts';
import { type Candidate, type Prepared, prepare, priceCandidate } from './candidate.ts';
import {
  amountAt,
  breakEvenOf,
  type Found,
  fillRates,
  holdAtEach,
  type Place,
  requestFacts,
  searchJointly,
} from './joint-search.ts';
import { financeReleased } from './loan.ts';
import {
  buildMask,
  type ChoiceInput,
  isTermAllowed,
  type Mask,
  moneyText,
  percentText,
  type Refusal,
  refuse,
} from './mask.ts';
import type { Scratch } from './terms.ts';
import { type CostStack, costStack, lossMultiplier, lossShare } from './value.ts';

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
    const candidate = priceCandidate(best, null, input, mask, prepared, scanned.breakEven);
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
 * at hand, and one or two more for every other term that the limits allow.
 */
export function chooseOffer(input: ChoiceInput): Choice {
  return input.amounts === 'largest' ? chooseLargest(input) : chooseJointly(input);
}

/** Terms as far from the one asked as the limits allow. The longest first: it often earns most, and then little else is looked at. */
function termsOf({ requestedInstallments: asked, limits }: ChoiceInput): number[] {
  const change = limits.maxTermChange ?? 0;
  const terms: number[] = [];
  for (let installments = asked + change; installments >= Math.max(1, asked - change); installments -= 1) {
    terms.push(installments);
  }
  return terms;
}

/** Reused between choices, which never overlap: they are synchronous. */
const byRate = { taken: new Float64Array(cellCount), multiplier: new Float64Array(cellCount) };

/** Of an input for which `fillRates` has filled `byRate`. */
function placeOf(input: ChoiceInput, mask: Mask, installments: number, facts = requestFacts(input)): Place {
  const prepared = prepare(input, installments);
  return {
    input,
    mask,
    prepared,
    facts,
    worthAtMaxCet: cetAnnuity(prepared.term.dueDays, mask.maxCetAnnualHundredths),
    ...byRate,
  };
}

function chooseJointly(input: ChoiceInput): Choice {
  const asked = buildMask(input, input.requestedInstallments);
  // Of the terms that are allowed one mask is that of all: the others are refused for their length alone.
  const terms = termsOf(input).filter((installments) => isTermAllowed(input, installments));
  const mask = asked.kind === 'mask' || terms.length === 0 ? asked : buildMask(input, terms[0]!);
  const places: Place[] = [];
  if (mask.kind === 'mask') {
    fillRates(input, byRate);
    const facts = requestFacts(input);
    for (const installments of terms) places.push(placeOf(input, mask, installments, facts));
  }
  if (places.length > 0) {
    // Longest first.
    const [most, fewest] = [places[0]!.prepared.installments, places.at(-1)!.prepared.installments];
    const envelope = input.tables.envelope(input.releaseDay, fewest, most, input.economics);
    const found = searchJointly(places, envelope, null);
    const chosen = found === null ? null : (exactly(found) ?? exactlyBest(places, envelope));
    if (chosen !== null) {
      return offerOf(chosen.candidate, chosen.installments, input, chosen.breakEven);
    }
  }
  if (asked.kind === 'none') return asked;
  return whyNone(asked, scan(input, asked, prepare(input, input.requestedInstallments)));
}

type Exact = { candidate: Candidate; installments: number; breakEven: number };

/** Null where the exact arithmetic refuses what the tables found. */
function exactly({ place, cell, amountCents }: Found): Exact | null {
  const breakEven = breakEvenOf(place, amountCents, cell);
  const candidate = priceNear(place, cell, amountCents, breakEven);
  if (candidate.forbidden !== null || breakEven === null || !(candidate.stack.expectedProfit > 0)) return null;
  return { candidate, installments: place.prepared.installments, breakEven };
}

/** The best that holds exactly: rare, so everything that is better than what was found before is priced on the way. */
function exactlyBest(places: readonly Place[], envelope: Float64Array): Exact | null {
  let best: Exact | null = null;
  searchJointly(places, envelope, (found) => {
    const exact = exactly(found);
    if (exact !== null) best = exact;
    return exact !== null;
  });
  return best;
}

/** Prices exactly. Where the rounding of the instalment makes the CET too high, so many cents more as the same instalment carries. */
function priceNear(
  { input, mask, prepared }: Place,
  cell: number,
  amountCents: number,
  breakEven: number | null,
): Candidate {
  const candidate = priceCandidate(cell, amountCents, input, mask, prepared, breakEven);
  if (candidate.forbidden !== 'cet') return candidate;
  const { installmentCents, financedCents, releasedCents } = candidate.loan;
  const room = Math.floor((installmentCents + 0.5) * prepared.term.annuity[cell]! - financedCents) - 1;
  const more = Math.min(mask.fullCents, releasedCents + room);
  return more > releasedCents ? priceCandidate(cell, more, input, mask, prepared, breakEven) : candidate;
}

/** The way of decisions whose record does not say how the amount was chosen: kept so that they are made again as they were. */
function chooseLargest(input: ChoiceInput): Choice {
  const { requestedInstallments: asked } = input;
  let best = chooseForTerm(input, asked);
  for (const installments of termsOf(input).reverse()) {
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
  return chosen === null ? whyNone(mask, scanned) : offerOf(chosen, installments, input, scanned.breakEven!);
}

function offerOf(
  { cell, loan, cet, stack, acceptance }: Candidate,
  installments: number,
  input: ChoiceInput,
  breakEvenHundredths: number,
): Choice {
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
    breakEvenHundredths,
    valueIfReleasedCents: Math.round(stack.valueIfReleased),
    acceptance,
    cetMonthlyHundredths: cet.cetMonthlyHundredths,
    totalCents: loan.totalCents,
  };
}

/**
 * For each budget price, ascending: the amount that the best offer at that price is expected to hold under the caps, its win
 * probability times its amount; 0 where none earns anything. `held` is filled. For the term asked.
 */
export function holdAtPrices(input: ChoiceInput, pricesPerCent: Float64Array, held: Float64Array): void {
  held.fill(0);
  const mask = buildMask(input, input.requestedInstallments);
  if (mask.kind === 'none') return;
  fillRates(input, byRate);
  holdAtEach(placeOf(input, mask, input.requestedInstallments), pricesPerCent, held);
}

/** What this offer is worth under the economics and the curve of `input`, whatever they would have had it offer. */
export function worthOf(
  input: ChoiceInput,
  { rateHundredths, amountCents, installments }: Pick<Offer, 'rateHundredths' | 'amountCents' | 'installments'>,
): { acceptance: number; valueIfReleasedCents: number } {
  const { economics, curve, tables, requestedAmountCents, pledgedCents, shadowPricePerCent } = input;
  const { term, values, acceptance, termLiking } = prepare(input, installments);
  const loan = financeReleased(amountCents, tables.loanTerms(term, rateHundredths));
  const liked = amountLiking(amountCents, requestedAmountCents, economics) * termLiking;
  const accepted = acceptance[rateHundredths]! * liked;
  const stack = costStack({
    ...{ loan: { ...loan, installments }, cell: rateHundredths, values, curve, acceptance: accepted },
    ...{ economics, pledgedCents, shadowPricePerCent },
  });
  return { acceptance: accepted, valueIfReleasedCents: Math.round(stack.valueIfReleased) };
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
  fillRates(input, byRate);
  // What the CET forbids is shown with the amount that it would have had.
  const place = { ...placeOf(input, mask, installments), worthAtMaxCet: 0 };
  const { prepared } = place;
  const isJoint = input.amounts !== 'largest';
  const largestBreakEven = isJoint ? null : scan(input, mask, prepared).breakEven;
  const rates: RateExplanation[] = [];
  let stack: CostStack | null = null;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const isChosen = choice.kind === 'offer' && cell === choice.offer.rateHundredths;
    const amountAtCell = isChosen ? choice.offer.amountCents : amountAt(place, cell);
    const amountCents = isJoint ? amountAtCell : null;
    const breakEven = amountCents === null ? largestBreakEven : breakEvenOf(place, amountCents, cell);
    const candidate = priceCandidate(cell, amountCents, input, mask, prepared, breakEven);
    const outside = cell < mask.lowRate || cell > mask.highRate;
    if (isChosen) stack = candidate.stack;
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
