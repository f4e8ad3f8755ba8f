/**
 * The clairvoyant: the best fixed rule for someone who knows how rivals are distributed in each segment and regime, how
 * workers choose and what defaults, on the same requests and inside the same limits. It does not know the single draws.
 * Its score, like the desk's, is expected value given the published bids.
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
  /** Passes with these codes are the desk's own doing: the clairvoyant may bid there. All others are rules for both. */
  countedPassCodes: readonly string[];
};

export const defaultClairvoyant: Omit<ClairvoyantSettings, 'limitsOf'> = {
  minAmountShare: 0.5,
  marginBufferCents: 1,
  countedPassCodes: [
    'auction-ended',
    'deadline',
    'internal-error',
    'margin-missing',
    'margin-too-small',
    'no-admissible-rate',
    'no-profit',
    'overload',
  ],
};

type ClairvoyantScore = { surplusCents: number; requests: number; bids: number };

/** Rates at which loans are really computed; between them the worth of a cent lent is as good as straight. */
const rateStep = 5;
/** IOF on top of the amount, about: enough to choose the finalists. */
const typicalGrossUp = 1.03;
/** Best cells of the approximation, each computed exactly before one is chosen. */
const finalists = 4;

/** What one cent lent is worth at each rate, before guarantee and selection: a loan is as good as linear in its amount. */
type UnitLoan = { installment: Float64Array; worth: Float64Array; loss: Float64Array };
/** What holds for all requests of a segment in a regime, by rate. */
type Market = { rival: BestRival; win: Float64Array; lossMultiplier: Float64Array };

type Bounds = {
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
  const markets = new Map<string, Market>();
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
    const market = kept(markets, `${place}/${request.regime}`, () => marketOf(truth, request));
    const unit = kept(unitLoans, `${place}/${request.installments}/${request.releasedOn}`, () => {
      return unitLoanOf(truth.world, request, market.rival);
    });
    const chosen = chooseRate(truth, request, bounds, market, unit, likings);
    if (chosen === null) continue;
    score.bids += 1;
    score.surplusCents += winAgainst(publishedRivals(known), chosen.rateHundredths) * chosen.wonCents - bidCostCents;
  }
  return score;
}

function kept<T>(known: Map<string, T>, key: string, make: () => T): T {
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

function marketOf({ world, rivals }: Truth, { segment, regime }: EmittedRequest): Market {
  const rival = rivals.bestRival(segment, regime);
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
  if (installments < (limits.minInstallments ?? 0)) return null;
  if (installments > (limits.maxInstallments ?? Number.POSITIVE_INFINITY)) return null;
  const usable = Math.floor(marginCents * (limits.maxMarginShare ?? 1) + 1e-6) - settings.marginBufferCents;
  const bounds = {
    lowRate: Math.max(minRateHundredths, limits.minRateHundredths ?? minRateHundredths),
    highRate: Math.min(maxRateHundredths, limits.maxRateHundredths ?? maxRateHundredths),
    fullCents: Math.min(amountCents, limits.maxAmountCents ?? amountCents),
    leastCents: Math.max(1, limits.minAmountCents ?? 0, Math.ceil(amountCents * settings.minAmountShare)),
    usableCents: Math.min(usable, limits.maxInstallmentCents ?? usable),
    leastInstallmentCents: limits.minInstallmentCents ?? 0,
    leastValueCents: limits.minProfitCents ?? Number.NEGATIVE_INFINITY,
  };
  return bounds.fullCents < bounds.leastCents || bounds.usableCents < 1 ? null : bounds;
}

type Chosen = { rateHundredths: RateHundredths; wonCents: number };

function chooseRate(
  truth: Truth,
  request: EmittedRequest,
  bounds: Bounds,
  market: Market,
  unit: UnitLoan,
  likings: Float64Array,
): Chosen | null {
  const { economics, acceptance } = truth.world;
  const best: { rate: number; worth: number }[] = [];
  for (let rate = bounds.lowRate; rate <= bounds.highRate; rate += 1) {
    const amountCents = Math.min(bounds.fullCents, bounds.usableCents / unit.installment[rate]!);
    if (amountCents < bounds.leastCents) break;
    const share = Math.min(1, amountCents / request.amountCents);
    const taken = share === 1 ? likings[rate]! : likings[rate]! * share ** acceptance.amountElasticity;
    const recovered = guaranteedShare(truth.world, request.guarantee, amountCents * typicalGrossUp);
    const lost = Math.max(0, 1 - recovered / economics.lossGivenSeparation);
    const perCent = unit.worth[rate]! - unit.loss[rate]! * lost * market.lossMultiplier[rate]!;
    const worth = market.win[rate]! * taken * (amountCents * perCent - economics.contractCostCents);
    if (worth <= 0 || (best.length === finalists && worth <= best.at(-1)!.worth)) continue;
    if (best.length === finalists) best.pop();
    best.push({ rate, worth });
    best.sort((left, right) => right.worth - left.worth);
  }
  let chosen: Chosen | null = null;
  let most = economics.bidCostCents;
  for (const { rate } of best) {
    const wonCents = exactWorth(truth, request, bounds, unit, rate);
    if (wonCents === null || market.win[rate]! * wonCents <= most) continue;
    most = market.win[rate]! * wonCents;
    chosen = { rateHundredths: rate, wonCents };
  }
  return chosen;
}

/** With the largest amount whose instalment, rounded to the cent, fits. Null when none that is worth offering does. */
function exactWorth(
  truth: Truth,
  request: EmittedRequest,
  bounds: Bounds,
  unit: UnitLoan,
  rateHundredths: number,
): number | null {
  let amountCents = Math.min(bounds.fullCents, Math.floor(bounds.usableCents / unit.installment[rateHundredths]!));
  for (let round = 0; round < 4 && amountCents >= bounds.leastCents; round += 1) {
    const terms = { rateHundredths, amountCents, installments: request.installments };
    const { installmentCents, valueCents, wonCents } = trueWorth(truth, request, terms);
    if (installmentCents <= bounds.usableCents) {
      const allowed = installmentCents >= bounds.leastInstallmentCents && valueCents >= bounds.leastValueCents;
      return allowed ? wonCents : null;
    }
    amountCents = Math.floor((amountCents * bounds.usableCents) / installmentCents) - round;
  }
  return null;
}
