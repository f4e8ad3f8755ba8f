/**
 * The search over rate, amount and term together. At one rate and term V is, in the amount A, the lower of two straight
 * lines: up to the amount that the guarantee covers, and beyond it, where every further cent bears the whole loss. So
 * `A^e · (V − λ·A)` rises to one amount and falls from there, and that amount has a closed form on either line. Rates are
 * bounded from above in strides, and a stride that cannot beat the best so far is left out. Loan values here are not
 * rounded to cents: a cent of rounding in the instalment is no reason to prefer an amount.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { Prepared } from './candidate.ts';
import type { ChoiceInput, Mask } from './mask.ts';
import { boundSize, cellsFrom, lossMultiplier, rateStep, rateStride, stepsFrom, stridesFrom } from './value.ts';

/** What stays the same at all rates of a request. */
type Facts = {
  asked: number;
  elasticity: number;
  insuranceCents: number;
  contractCents: number;
  bidCostCents: number;
  /** Of the released amount: commission. */
  commission: number;
  shadowPrice: number;
  lossGivenSeparation: number;
  /** Loss share of what is covered in full. */
  coveredLoss: number;
  /** Cents that a guarantee takes off the loss of a loan that it does not cover in full. */
  recoveredCents: number;
  /** Financed amount at which the lines meet; infinite where one line holds for all amounts. */
  meetCents: number;
};

export function requestFacts({
  economics,
  tables,
  pledgedCents,
  requestedAmountCents,
  shadowPricePerCent,
}: ChoiceInput): Facts {
  const { lossGivenSeparation, guaranteeRecovery } = economics;
  const isPartial = pledgedCents > 0 && pledgedCents < Number.POSITIVE_INFINITY && guaranteeRecovery > 0;
  const isCovered = pledgedCents === Number.POSITIVE_INFINITY;
  const covered = Math.max(0, lossGivenSeparation - guaranteeRecovery);
  // Where more is recovered than is lost, a guarantee of part of the loan still takes all of the loss away.
  const reach =
    lossGivenSeparation > 0 ? Math.max(1, guaranteeRecovery / lossGivenSeparation) : Number.POSITIVE_INFINITY;
  return {
    asked: requestedAmountCents,
    elasticity: economics.acceptanceAmountElasticity,
    insuranceCents: tables.settings.insuranceCents,
    contractCents: economics.contractCostCents,
    bidCostCents: economics.bidCostCents,
    commission: economics.commissionPercent / 100,
    shadowPrice: shadowPricePerCent,
    lossGivenSeparation,
    coveredLoss: isPartial || isCovered ? covered : lossGivenSeparation,
    recoveredCents: isPartial ? guaranteeRecovery * pledgedCents : 0,
    meetCents: isPartial ? pledgedCents * reach : Number.POSITIVE_INFINITY,
  };
}

/** V as the lower of two lines in the amount; the lines meet at `meet`. Reused. */
type Lines = { slope: number; base: number; beyondSlope: number; beyondBase: number; meet: number };

function setLines(lines: Lines, facts: Facts, net: number, lossy: number, grossUp: number): void {
  const { insuranceCents, contractCents, commission } = facts;
  const perReleased = grossUp * (net - lossy * facts.coveredLoss);
  lines.slope = perReleased - commission;
  lines.base = perReleased * insuranceCents - contractCents;
  lines.meet = facts.meetCents / grossUp - insuranceCents;
  if (facts.meetCents === Number.POSITIVE_INFINITY) {
    lines.beyondSlope = lines.slope;
    lines.beyondBase = lines.base;
    return;
  }
  const beyond = grossUp * (net - lossy * facts.lossGivenSeparation);
  lines.beyondSlope = beyond - commission;
  lines.beyondBase = beyond * insuranceCents - contractCents + lossy * facts.recoveredCents;
}

function valueOn(lines: Lines, amount: number): number {
  return amount <= lines.meet ? lines.slope * amount + lines.base : lines.beyondSlope * amount + lines.beyondBase;
}

/** Where `A^e · (slope·A + base)` is highest over all positive amounts at which it is positive. */
function peakOf(slope: number, base: number, elasticity: number): number {
  if (slope >= 0) return Number.POSITIVE_INFINITY;
  return base > 0 ? (-elasticity * base) / ((1 + elasticity) * slope) : 0;
}

/** The amount in [low, high] with the highest `A^e · (V − λ·A)`; with elasticity 0, of `V − λ·A` alone. */
function bestAmount(lines: Lines, low: number, high: number, price: number, elasticity: number): number {
  const { meet } = lines;
  if (meet > low) {
    const peak = peakOf(lines.slope - price, lines.base, elasticity);
    if (peak <= meet || meet >= high) return Math.max(low, Math.min(peak, high, meet));
    const beyond = peakOf(lines.beyondSlope - price, lines.beyondBase, elasticity);
    return Math.max(meet, Math.min(beyond, high));
  }
  return Math.max(low, Math.min(peakOf(lines.beyondSlope - price, lines.beyondBase, elasticity), high));
}

/** Amounts, both ends allowed; nothing between them when `low > high`. Reused. */
type Span = { low: number; high: number };

/** Leaves of the span what makes the lines reach `least`. */
function keepWorth(span: Span, { slope, base, beyondSlope, beyondBase }: Lines, least: number): void {
  keepAbove(span, slope, base, least);
  if (beyondSlope !== slope || beyondBase !== base) keepAbove(span, beyondSlope, beyondBase, least);
}

function keepAbove(span: Span, slope: number, base: number, least: number): void {
  if (slope > 0) span.low = Math.max(span.low, (least - base) / slope);
  else if (slope < 0) span.high = Math.min(span.high, (least - base) / slope);
  else if (base < least) span.high = Number.NEGATIVE_INFINITY;
}

const strideCount = Math.ceil(cellCount / rateStride);
const lines: Lines = { slope: 0, base: 0, beyondSlope: 0, beyondBase: 0, meet: 0 };
const lowerLines: Lines = { ...lines };
const span: Span = { low: 0, high: 0 };

/** One request at one term. */
export type Place = {
  input: ChoiceInput;
  mask: Mask;
  prepared: Prepared;
  facts: Facts;
  /** Present value of one unit at each due day under the highest CET allowed; 0 without a limit. */
  worthAtMaxCet: number;
  /** By rate, whatever the term: `win` times acceptance of what was asked, and the multiplier on losses. */
  taken: Float64Array;
  multiplier: Float64Array;
};

/** Fills what a place knows by rate; one choice fills it once for all terms. */
export function fillRates({ curve, economics, tables }: ChoiceInput, into: Pick<Place, 'taken' | 'multiplier'>): void {
  const acceptance = tables.acceptance(economics);
  const { taken, multiplier } = into;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    taken[cell] = curve.win[cell]! * acceptance[cell]!;
    multiplier[cell] = lossMultiplier(cell, curve, economics);
  }
}

export type Found = { place: Place; cell: number; amountCents: number; expected: number };

function setLinesAt(into: Lines, place: Place, cell: number): void {
  const { prepared, facts } = place;
  const { search } = prepared.values;
  const lossy = search[cellsFrom + 2 * cell + 1]! * place.multiplier[cell]!;
  setLines(into, facts, search[cellsFrom + 2 * cell]!, lossy, prepared.term.grossUp[cell]!);
}

/** Whether a rate of [from, to], which lie in one stride, may be worth this amount: V is never above what this looks at. */
function mayBeWorth(place: Place, amountCents: number, stride: number, from: number, to: number): boolean {
  const { prepared, facts } = place;
  const { search } = prepared.values;
  const net = search[stridesFrom + boundSize * stride]!;
  const lossy = Math.max(0, search[stridesFrom + boundSize * stride + 1]!) * place.multiplier[from]!;
  const { grossUp } = prepared.term;
  const perUnit = net - lossy * facts.coveredLoss;
  const beyondPerUnit = net - lossy * facts.lossGivenSeparation;
  const lent = amountCents + facts.insuranceCents;
  const [least, most] = [lent * grossUp[from]!, lent * grossUp[to]!];
  const fixed = facts.commission * amountCents + facts.contractCents;
  if (Math.max(perUnit * least, perUnit * most) < fixed) return false;
  if (facts.meetCents === Number.POSITIVE_INFINITY) return true;
  return Math.max(beyondPerUnit * least, beyondPerUnit * most) + lossy * facts.recoveredCents >= fixed;
}

/**
 * The lowest rate up to `upTo` at which this amount is worth its cost, null where none is. V is not monotone in the rate, so
 * higher rates may not be worth it.
 */
export function breakEvenOf(place: Place, amountCents: number, upTo = maxRateHundredths): number | null {
  for (let stride = 0; stride * rateStride <= upTo; stride += 1) {
    const from = Math.max(minRateHundredths, stride * rateStride);
    const to = Math.min(upTo, stride * rateStride + rateStride - 1);
    if (!mayBeWorth(place, amountCents, stride, from, to)) continue;
    for (let cell = from; cell <= to; cell += 1) {
      setLinesAt(lowerLines, place, cell);
      if (valueOn(lowerLines, amountCents) >= 0) return cell;
    }
  }
  return null;
}

/** What rounding to cents may move V by: an amount at the edge of the least profit is kept this far inside. */
function slackOf(place: Place): number {
  return place.prepared.installments * 0.6 + 1;
}

/** Sets `span` to the amounts that limits and margin allow at this rate, their profit and spread aside. */
function setSpan({ mask, prepared, facts, worthAtMaxCet }: Place, cell: number): void {
  const perInstallment = prepared.term.annuity[cell]! / prepared.term.grossUp[cell]!;
  span.low = mask.leastCents;
  if (mask.minInstallmentCents > 1) {
    span.low = Math.max(span.low, mask.minInstallmentCents * perInstallment - facts.insuranceCents);
  }
  span.high = Math.min(mask.fullCents, mask.maxInstallmentCents * perInstallment - facts.insuranceCents);
  if (worthAtMaxCet > 0) {
    const share = worthAtMaxCet / perInstallment;
    // Rounding may move an instalment by half a cent; the exact pricing decides.
    const slack = prepared.installments;
    if (share < 1) span.low = Math.max(span.low, (share * facts.insuranceCents - slack) / (1 - share));
    else if (share > 1) span.high = Math.min(span.high, (slack - share * facts.insuranceCents) / (share - 1));
  }
}

/** Leaves of `span` the amounts that the rate `minSpread` below is worth: at rates so low V rises with the rate. */
function keepSpread(place: Place, cell: number): void {
  const below = cell - place.mask.minSpreadHundredths;
  if (below < minRateHundredths) {
    span.high = Number.NEGATIVE_INFINITY;
    return;
  }
  setLinesAt(lowerLines, place, below);
  keepWorth(span, lowerLines, 0);
}

/** In cents, whole; −1 when the span holds none. */
function wholeAmount(amount: number): number {
  const low = Math.ceil(span.low - 1e-6);
  const high = Math.floor(span.high + 1e-6);
  return low > high ? -1 : Math.max(low, Math.min(high, Math.round(amount)));
}

function likingOf({ asked, elasticity }: Facts, amount: number): number {
  return amount < asked && elasticity !== 0 ? (amount / asked) ** elasticity : 1;
}

let foundAmount = -1;

/** J of the best amount at one rate, which `foundAmount` then holds; −∞ where no amount is allowed or none beats `least`. */
function bestAt(place: Place, cell: number, least: number): number {
  const { mask, facts, prepared } = place;
  setSpan(place, cell);
  if (span.low > span.high) return Number.NEGATIVE_INFINITY;
  setLinesAt(lines, place, cell);
  const taken = place.taken[cell]! * prepared.termLiking;
  const { shadowPrice, elasticity } = facts;
  const dearest = bestAmount(lines, span.low, span.high, shadowPrice, 0);
  const most = valueOn(lines, dearest) - shadowPrice * dearest;
  if (taken * most - facts.bidCostCents <= least) return Number.NEGATIVE_INFINITY;
  let amount = bestAmount(lines, span.low, span.high, shadowPrice, elasticity);
  const leastValue = mask.minProfitCents + (mask.minProfitCents > 0 ? slackOf(place) : 0);
  if (valueOn(lines, amount) < leastValue) {
    keepWorth(span, lines, leastValue);
    if (span.low > span.high) return Number.NEGATIVE_INFINITY;
    amount = Math.max(span.low, Math.min(span.high, amount));
  }
  amount = wholeAmount(amount);
  if (amount < 0) return Number.NEGATIVE_INFINITY;
  let expected = expectedOf(facts, taken, amount);
  if (expected <= least) return Number.NEGATIVE_INFINITY;
  if (!hasSpread(place, cell, amount)) {
    keepSpread(place, cell);
    amount = wholeAmount(amount);
    if (amount < 0 || !hasSpread(place, cell, amount)) return Number.NEGATIVE_INFINITY;
    expected = expectedOf(facts, taken, amount);
    if (expected <= least) return Number.NEGATIVE_INFINITY;
  }
  foundAmount = amount;
  return expected;
}

function expectedOf(facts: Facts, taken: number, amount: number): number {
  const value = valueOn(lines, amount) - facts.shadowPrice * amount;
  return taken * likingOf(facts, amount) * value - facts.bidCostCents;
}

/** Most often the rate `minSpread` below is worth the amount; only where it is not, a lower one is looked for. */
function hasSpread(place: Place, cell: number, amount: number): boolean {
  const below = cell - place.mask.minSpreadHundredths;
  if (below === cell) return true;
  if (below < minRateHundredths) return false;
  setLinesAt(lowerLines, place, below);
  return valueOn(lowerLines, amount) >= 0 || breakEvenOf(place, amount, below) !== null;
}

/**
 * For `count` strides or steps, of `width` rates each, the lowest of which starts at `lowest`: no rate that the mask allows
 * expects more than this; −∞ where that is not above `least`. Their numbers stand in `search` from `at` on. One loop with all
 * that it needs at hand: a call for each would cost more than what it computes.
 */
function setBounds(
  { mask, facts, taken, multiplier, prepared: { termLiking } }: Place,
  search: Float64Array,
  at: number,
  lowest: number,
  { count, width, least }: { count: number; width: number; least: number },
  bounds: Float64Array,
): void {
  const { insuranceCents, coveredLoss, lossGivenSeparation, recoveredCents, meetCents, bidCostCents } = facts;
  const { lowRate, highRate, maxInstallmentCents } = mask;
  const mostLent = mask.fullCents + insuranceCents;
  const leastLent = mask.leastCents + insuranceCents;
  const perReleased = facts.commission + facts.shadowPrice;
  const fixed = perReleased * insuranceCents - facts.contractCents;
  const toBeat = least + bidCostCents;
  for (let index = 0; index < count; index += 1) {
    bounds[index] = Number.NEGATIVE_INFINITY;
    const low = lowest + index * width;
    if (low > highRate || low + width <= lowRate) continue;
    const from = Math.max(low, lowRate);
    const place = at + boundSize * index;
    const net = search[place]!;
    const highestGrossUp = search[place + 4]!;
    const financedHigh = Math.min(mostLent * highestGrossUp, maxInstallmentCents * search[place + 3]!);
    const takenHere = taken[from]! * termLiking;
    if (takenHere * net * financedHigh <= toBeat) continue;
    const financedLow = leastLent * search[place + 2]!;
    if (financedLow > financedHigh) continue;
    const lossy = Math.max(0, search[place + 1]!) * multiplier[from]!;
    // In the amount financed: the released part of it is at least what the highest gross-up leaves.
    const price = perReleased / highestGrossUp;
    const slope = net - lossy * coveredLoss - price;
    const beyond = net - lossy * lossGivenSeparation - price;
    let financed = financedHigh;
    if (slope <= 0) financed = financedLow;
    else if (beyond < 0 && meetCents < financedHigh) financed = Math.max(financedLow, meetCents);
    const value = financed <= meetCents ? slope * financed + fixed : beyond * financed + lossy * recoveredCents + fixed;
    if (takenHere * value > toBeat) bounds[index] = takenHere * value - bidCostCents;
  }
}

/** What strides, and the steps of one stride, may expect at most. Reused. */
const strideBounds = new Float64Array(strideCount);
const stepsEach = rateStride / rateStep;
const stepBounds = new Float64Array(stepsEach);

/**
 * Rates looked at in one search at most: some 70 are with the terms as shipped, 1,000 with all of them. More are only where a
 * loan of cents makes every bound useless; the best so far is taken then, for other requests wait.
 */
const mostRates = 20_000;
/** Each costs an exact pricing. */
const mostRefused = 500;

/**
 * The best over all places, which are one request at some terms and have one mask; null where nothing earns. `envelope` is that
 * of their tables. `holds` says of what beats all before it whether it may be taken; null: it may. No more than `mostRefused`
 * are asked for in vain.
 */
export function searchJointly(
  places: readonly Place[],
  envelope: Float64Array,
  holds: ((found: Found) => boolean) | null,
): Found | null {
  let found: Found | null = null;
  let least = 0;
  let [looks, refused] = [0, 0];
  const any = mostLiked(places);
  const { lowRate, highRate } = any.mask;
  setBounds(any, envelope, stridesFrom, 0, { count: strideCount, width: rateStride, least }, strideBounds);
  for (;;) {
    // The most promising first: the better the best is, the more is left out.
    let stride = 0;
    for (let other = 1; other < strideCount; other += 1) {
      if (strideBounds[other]! > strideBounds[stride]!) stride = other;
    }
    if (strideBounds[stride]! <= least) return found;
    strideBounds[stride] = Number.NEGATIVE_INFINITY;
    const lowest = stride * rateStride;
    for (const place of places) {
      const at = stepsFrom + boundSize * stride * stepsEach;
      const steps = { count: stepsEach, width: rateStep, least };
      setBounds(place, place.prepared.values.search, at, lowest, steps, stepBounds);
      for (let step = 0; step < stepsEach; step += 1) {
        if (stepBounds[step]! <= least) continue;
        const low = lowest + step * rateStep;
        const to = Math.min(highRate, low + rateStep - 1);
        for (let cell = Math.max(lowRate, low); cell <= to; cell += 1) {
          looks += 1;
          if (looks > mostRates || refused === mostRefused) return found;
          const expected = bestAt(place, cell, least);
          if (expected <= least) continue;
          const better = { place, cell, amountCents: foundAmount, expected };
          if (holds !== null && !holds(better)) {
            refused += 1;
            continue;
          }
          least = expected;
          found = better;
        }
      }
    }
  }
}
function mostLiked(places: readonly Place[]): Place {
  let most = places[0]!;
  for (const place of places) if (place.prepared.termLiking > most.prepared.termLiking) most = place;
  return most;
}

/** The best amount at one rate whatever it earns, for display; the largest that fits where no amount is allowed. */
export function amountAt(place: Place, cell: number): number {
  setSpan(place, cell);
  setLinesAt(lines, place, cell);
  const { facts } = place;
  if (span.low > span.high) return Math.floor(span.high);
  const expected = bestAt(place, cell, Number.NEGATIVE_INFINITY);
  if (expected > Number.NEGATIVE_INFINITY) return foundAmount;
  setSpan(place, cell);
  setLinesAt(lines, place, cell);
  const amount = bestAmount(lines, span.low, span.high, facts.shadowPrice, facts.elasticity);
  return Math.max(1, Math.floor(amount));
}

/** For each price of a budget, the amount that the best offer at that price is expected to hold; see `holdAtPrices`. */
export function holdAtEach(place: Place, pricesPerCent: Float64Array, held: Float64Array): void {
  const { lowRate, highRate } = place.mask;
  const { facts, input } = place;
  const first = new Float64Array(highRate - lowRate + 1);
  const priced = { ...place, facts: { ...facts } };
  let near = lowRate;
  for (let index = 0; index < pricesPerCent.length; index += 1) {
    const price = pricesPerCent[index]!;
    priced.facts.shadowPrice = price;
    let best = 0;
    const tryRate = (cell: number) => {
      const expected = bestAt(priced, cell, index === 0 ? 0 : best);
      if (index === 0) first[cell - lowRate] = expected;
      if (expected <= best) return;
      best = expected;
      near = cell;
      held[index] = input.curve.win[cell]! * foundAmount;
    };
    // A price only ever lowers what a rate earns.
    if (index > 0) tryRate(near);
    for (let cell = lowRate; cell <= highRate; cell += 1) {
      if (index > 0 && first[cell - lowRate]! <= best) continue;
      tryRate(cell);
    }
    if (best === 0) return;
  }
}
