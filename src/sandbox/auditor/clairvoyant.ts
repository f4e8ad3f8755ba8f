/**
 * The clairvoyant: the best fixed rule for someone who knows how rivals are distributed in each segment and regime, how
 * workers choose and what defaults, on the same requests and inside the same limits. It does not know the single draws.
 * Its score, like the desk's, is expected value given the published bids. It tries every rate with every term allowed, and
 * amounts from the least to the largest that fits; the best of those it computes exactly, moving the amount by the cent.
 */
import {
  type AmountCents,
  cellCount,
  maxRateHundredths,
  minRateHundredths,
  type RateHundredths,
} from '../../domain/glossary.ts';
import type { Limits } from '../../domain/policy.ts';
import type { EmittedRequest } from '../record.ts';
import type { BestRival } from '../rivals.ts';
import { guaranteedShare, trueAcceptance, trueLossMultiplier, trueValue } from '../worker-choice.ts';
import { segmentKey, type WorldSettings } from '../world.ts';
import { limitsFor, type RequestCase, type Run } from './run.ts';
import { publishedRivals, type Truth, trueWorth, winAgainst } from './surplus.ts';
import type { AuditSettings } from './violation.ts';

export type ClairvoyantSettings = Pick<AuditSettings, 'limitsOf'> & {
  /** Least share of what was asked that may be offered. */
  minAmountShare: number;
  /** Left free of the usable margin. */
  marginBufferCents: AmountCents;
  /** Longest term of the programme. */
  maxInstallments: number;
  /** Passes with these codes are the desk's own doing: the clairvoyant may bid there. All others are rules for both. */
  countedPassCodes: readonly string[];
};

export const defaultClairvoyant: Omit<ClairvoyantSettings, 'limitsOf'> = {
  minAmountShare: 0.5,
  marginBufferCents: 1,
  maxInstallments: 96,
  countedPassCodes: [
    'auction-ended',
    'claimed-before',
    'clock-skew',
    'clock-step',
    'control-stale',
    'deadline',
    'internal-error',
    'log-changed',
    'log-refused',
    'margin-missing',
    'margin-too-small',
    'no-admissible-rate',
    'no-profit',
    'no-send-slot',
    'overload',
    'partitions-not-live',
    'restored',
    'rule-set-missing',
    'service-throttled',
    'service-unauthorised',
    'service-unreachable',
    'views-incomplete',
  ],
};

type ClairvoyantScore = { surplusCents: number; requests: number; bids: number };

/** Rates at which loans are really computed; between them the worth of a cent lent is as good as straight. */
const rateStep = 5;
/** IOF on top of the amount, about: enough to choose the finalists. */
const typicalGrossUp = 1.03;
/** Best of the approximation, each computed exactly before one is chosen. */
const finalists = 4;
/** Amounts tried at each rate and term where a guarantee covers part of the loan. */
const amountsTried = 20;

/** What one cent lent is worth at each rate, before guarantee and selection: a loan is as good as linear in its amount. */
type UnitLoan = { installment: Float64Array; worth: Float64Array; loss: Float64Array };
/** What holds for all requests of a segment in a regime, by rate. */
type Market = { rival: BestRival; win: Float64Array; lossMultiplier: Float64Array };

type Bounds = {
  /** Terms that may be offered. */
  installments: readonly number[];
  lowRate: RateHundredths;
  highRate: RateHundredths;
  fullCents: number;
  leastCents: number;
  usableCents: number;
  leastInstallmentCents: number;
  leastValueCents: number;
};

/** Requests on which the desk could have bid: those it knew of and that no rule or cap forbade. */
function isConsidered({ truth, evidence, standing }: RequestCase, countedPassCodes: readonly string[]): boolean {
  if (truth === null || evidence.requested === null) return false;
  const code = standing.end === 'passed' ? (evidence.pass ?? evidence.unsent)?.code : undefined;
  return code === undefined || countedPassCodes.includes(code);
}

export function clairvoyantSurplus(run: Run, truth: Truth, settings: ClairvoyantSettings): ClairvoyantScore {
  const markets = new Map<BestRival, Market>();
  const unitLoans = new Map<string, UnitLoan>();
  const likings = likingsOf(truth.world);
  const { bidCostCents } = truth.world.economics;
  const score: ClairvoyantScore = { surplusCents: 0, requests: 0, bids: 0 };
  for (const known of run.cases.values()) {
    if (known.truth === null || !isConsidered(known, settings.countedPassCodes)) continue;
    const request = known.truth;
    score.requests += 1;
    const bounds = boundsOf(request, limitsFor(known, request, settings), settings);
    if (bounds === null) continue;
    const place = segmentKey(request.segment);
    const rival = truth.rivals.bestRival(request.segment, request.regime, request.index);
    const market = kept(markets, rival, () => marketOf(truth.world, rival));
    const unitOf = (installments: number) =>
      kept(unitLoans, `${place}/${installments}/${request.releasedOn}`, () => {
        return unitLoanOf(truth.world, { ...request, installments }, market.rival);
      });
    const chosen = choose(truth, request, bounds, market, unitOf, likings);
    if (chosen === null) continue;
    score.bids += 1;
    score.surplusCents += winAgainst(publishedRivals(known), chosen.rateHundredths) * chosen.wonCents - bidCostCents;
  }
  return score;
}

function kept<K, T>(known: Map<K, T>, key: K, make: () => T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}

/** Acceptance of the whole amount by rate. */
function likingsOf(world: WorldSettings): Float64Array {
  return Float64Array.from({ length: cellCount }, (_, rateHundredths) =>
    trueAcceptance(world, {
      rateHundredths,
      amountCents: 1,
      requestedAmountCents: 1,
      installments: 1,
      requestedInstallments: 1,
    }),
  );
}

function marketOf(world: WorldSettings, rival: BestRival): Market {
  const win = new Float64Array(cellCount);
  let beaten = 0;
  for (let rate = cellCount - 1; rate >= 0; rate -= 1) {
    win[rate] = beaten + rival.exact[rate]! / 2;
    beaten += rival.best[rate]!;
  }
  const lossMultiplier = Float64Array.from({ length: cellCount }, (_, rate) => trueLossMultiplier(world, rival, rate));
  return { rival, win, lossMultiplier };
}

function unitLoanOf(world: WorldSettings, request: EmittedRequest, rival: BestRival): UnitLoan {
  const amountCents = 10_000_000;
  const economics = { ...world.economics, contractCostCents: 0 };
  const selection = { win: 0, rate: 0 };
  const plain: WorldSettings = { ...world, economics, selection };
  const lossless: WorldSettings = { ...plain, economics: { ...economics, lossGivenSeparation: 0 } };
  const { installments, segment, releasedOn } = request;
  const unit = {
    installment: new Float64Array(cellCount),
    worth: new Float64Array(cellCount),
    loss: new Float64Array(cellCount),
  };
  const compute = (rateHundredths: number) => {
    const offer = {
      rateHundredths,
      amountCents,
      installments,
      segment,
      guarantee: null,
      requestedAmountCents: amountCents,
      requestedInstallments: installments,
      releasedOn,
      rival,
    };
    const { valueCents: worth, installmentCents } = trueValue(lossless, offer);
    unit.installment[rateHundredths] = installmentCents / amountCents;
    unit.worth[rateHundredths] = worth / amountCents;
    unit.loss[rateHundredths] = (worth - trueValue(plain, offer).valueCents) / amountCents;
  };
  compute(minRateHundredths);
  for (let before = minRateHundredths; before < maxRateHundredths; ) {
    const next = Math.min(maxRateHundredths, before + rateStep);
    compute(next);
    for (const cells of [unit.installment, unit.worth, unit.loss]) fillBetween(cells, before, next);
    before = next;
  }
  return unit;
}

function fillBetween(cells: Float64Array, from: number, to: number): void {
  const rise = (cells[to]! - cells[from]!) / (to - from);
  for (let cell = from + 1; cell < to; cell += 1) cells[cell] = cells[from]! + rise * (cell - from);
}

/** Null: the limits leave nothing to offer. */
function boundsOf(request: EmittedRequest, limits: Limits, settings: ClairvoyantSettings): Bounds | null {
  const { amountCents, installments, marginCents } = request;
  const change = limits.maxTermChange ?? 0;
  const fewest = Math.max(1, limits.minInstallments ?? 1, installments - change);
  const most = Math.min(
    settings.maxInstallments,
    limits.maxInstallments ?? settings.maxInstallments,
    installments + change,
  );
  const usable = Math.floor(marginCents * (limits.maxMarginShare ?? 1) + 1e-6) - settings.marginBufferCents;
  const bounds = {
    installments: Array.from({ length: Math.max(0, most - fewest + 1) }, (_, index) => fewest + index),
    lowRate: Math.max(minRateHundredths, limits.minRateHundredths ?? minRateHundredths),
    highRate: Math.min(maxRateHundredths, limits.maxRateHundredths ?? maxRateHundredths),
    fullCents: Math.min(amountCents, limits.maxAmountCents ?? amountCents),
    leastCents: Math.max(1, limits.minAmountCents ?? 0, Math.ceil(amountCents * settings.minAmountShare)),
    usableCents: Math.min(usable, limits.maxInstallmentCents ?? usable),
    leastInstallmentCents: limits.minInstallmentCents ?? 0,
    leastValueCents: limits.minProfitCents ?? Number.NEGATIVE_INFINITY,
  };
  const { fullCents, leastCents, usableCents } = bounds;
  return fullCents < leastCents || usableCents < 1 || bounds.installments.length === 0 ? null : bounds;
}

type Chosen = { rateHundredths: RateHundredths; wonCents: number };

/** What is tried: a term, a rate and an amount, and what it would earn by the approximation. */
type Trial = { installments: number; rate: number; amountCents: number; worth: number };

function choose(
  truth: Truth,
  request: EmittedRequest,
  bounds: Bounds,
  market: Market,
  unitOf: (installments: number) => UnitLoan,
  likings: Float64Array,
): Chosen | null {
  const best: Trial[] = [];
  for (const installments of bounds.installments) {
    const unit = unitOf(installments);
    for (let rate = bounds.lowRate; rate <= bounds.highRate; rate += 1) {
      // Without any loss, cost or dislike it would not be among the best.
      const ceiling = market.win[rate]! * likings[rate]! * bounds.fullCents * unit.worth[rate]!;
      if (ceiling <= (best.length === finalists ? best.at(-1)!.worth : 0)) continue;
      const trial = bestTrial(truth, request, bounds, market, { installments, unit, rate, liked: likings[rate]! });
      if (trial === null || (best.length === finalists && trial.worth <= best.at(-1)!.worth)) continue;
      if (best.length === finalists) best.pop();
      best.push(trial);
      best.sort((left, right) => right.worth - left.worth);
    }
  }
  let chosen: Trial | null = null;
  let wonCents = 0;
  let most = truth.world.economics.bidCostCents;
  for (const trial of best) {
    const exact = exactWorth(truth, request, bounds, unitOf(trial.installments), trial);
    if (exact === null || market.win[trial.rate]! * exact.wonCents <= most) continue;
    wonCents = exact.wonCents;
    most = market.win[trial.rate]! * wonCents;
    chosen = { ...trial, amountCents: exact.amountCents };
  }
  if (chosen === null) return null;
  if (isAmountOpen(request)) wonCents = refined(truth, request, bounds, chosen, wonCents);
  return { rateHundredths: chosen.rate, wonCents };
}

/** Without a guarantee worth is proportional to the amount but for a fixed cost, so the largest amount earns most. */
function isAmountOpen({ guarantee }: EmittedRequest): boolean {
  return guarantee !== null;
}

/** The best amount at one rate and term; null where none earns anything. */
function bestTrial(
  { world }: Truth,
  request: EmittedRequest,
  bounds: Bounds,
  market: Market,
  at: { installments: number; unit: UnitLoan; rate: number; liked: number },
): Trial | null {
  const { unit, rate, installments } = at;
  const { economics, acceptance } = world;
  const perCent = unit.installment[rate]!;
  const most = Math.min(bounds.fullCents, bounds.usableCents / perCent);
  const least = Math.max(bounds.leastCents, bounds.leastInstallmentCents / perCent);
  if (most < least) return null;
  const stretch = Math.abs(Math.log(installments / request.installments));
  const taken = market.win[rate]! * at.liked * Math.exp(-acceptance.termElasticity * stretch);
  const lossCents = unit.loss[rate]! * market.lossMultiplier[rate]!;
  let best: Trial | null = null;
  const steps = isAmountOpen(request) ? amountsTried : 0;
  for (let step = 0; step <= steps; step += 1) {
    const amountCents = most - (steps === 0 ? 0 : ((most - least) * step) / steps);
    const recovered = guaranteedShare(world, request.guarantee, amountCents * typicalGrossUp);
    const lost = Math.max(0, 1 - recovered / economics.lossGivenSeparation);
    const value = amountCents * (unit.worth[rate]! - lossCents * lost) - economics.contractCostCents;
    const ceiling = taken * value;
    if (ceiling <= (best?.worth ?? 0)) continue;
    const worth = ceiling * Math.min(1, amountCents / request.amountCents) ** acceptance.amountElasticity;
    if (worth > (best?.worth ?? 0)) best = { installments, rate, amountCents, worth };
  }
  return best;
}

/** `acceptance · value` of exactly this; null where it is outside the bounds. */
function wonBy(
  truth: Truth,
  request: EmittedRequest,
  bounds: Bounds,
  { rate, installments, amountCents }: Omit<Trial, 'worth'>,
): number | null {
  if (amountCents < bounds.leastCents || amountCents > bounds.fullCents) return null;
  const terms = { rateHundredths: rate, amountCents, installments };
  const { installmentCents, valueCents, wonCents } = trueWorth(truth, request, terms);
  const fits = installmentCents <= bounds.usableCents && installmentCents >= bounds.leastInstallmentCents;
  return fits && valueCents >= bounds.leastValueCents ? wonCents : null;
}

/** The amount moved by up to some cents of instalment, so that the instalment rounded to the cent fits. */
function exactWorth(
  truth: Truth,
  request: EmittedRequest,
  bounds: Bounds,
  unit: UnitLoan,
  trial: Trial,
): { amountCents: number; wonCents: number } | null {
  const near = Math.floor(trial.amountCents);
  const centOfInstallment = Math.ceil(1 / unit.installment[trial.rate]!);
  for (let round = 0; round <= 4; round += 1) {
    for (const amountCents of [near - round * centOfInstallment, near + 1 + round * centOfInstallment]) {
      const wonCents = wonBy(truth, request, bounds, { ...trial, amountCents });
      if (wonCents !== null) return { amountCents, wonCents };
    }
  }
  return null;
}

/** The amount moved by halving steps, down to a cent, where that earns more. */
function refined(truth: Truth, request: EmittedRequest, bounds: Bounds, trial: Trial, wonCents: number): number {
  let { amountCents } = trial;
  let best = wonCents;
  const first = Math.ceil((bounds.fullCents - bounds.leastCents) / amountsTried);
  for (let step = first; step >= 1; step = Math.floor(step / 2)) {
    for (const moved of [amountCents - step, amountCents + step]) {
      const won = wonBy(truth, request, bounds, { ...trial, amountCents: moved });
      if (won === null || won <= best) continue;
      best = won;
      amountCents = moved;
    }
  }
  return best;
}
