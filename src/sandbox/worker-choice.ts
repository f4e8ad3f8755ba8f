/** What really becomes of a won bid: whether the worker takes it, what the loan is then worth, whether it goes bad. */
import { type AmountCents, noRivalCell, type RateHundredths } from '../domain/glossary.ts';
import { chanceOf } from './chance.ts';
import { type DayNumber, dueDays, type Loan, loanOf } from './loan.ts';
import { type BestRival, winProbability } from './rivals.ts';
import type { Segment, WorldSettings } from './world.ts';

export type Pledge = { fgtsBalanceCents: AmountCents; terminationFineCents: AmountCents };

export type TrueOffer = {
  rateHundredths: RateHundredths;
  amountCents: AmountCents;
  installments: number;
  segment: Segment;
  /** What secures a guaranteed loan. */
  guarantee: Pledge | null;
  /** What the worker asked for. */
  requestedAmountCents: AmountCents;
  requestedInstallments: number;
  releasedOn: DayNumber;
  /** Distribution of the best rival of the request's segment and regime. */
  rival: BestRival;
};

export type TrueValue = {
  /** Probability that the worker takes the offer once it has won. */
  acceptance: number;
  /** Present value of the released loan, selection included, in cents (not rounded). */
  valueCents: number;
  /** acceptance × value: what winning is worth. Less the bid cost it is the surplus of a win. */
  wonCents: number;
  lossMultiplier: number;
  installmentCents: AmountCents;
  financedCents: AmountCents;
};

export function trueAcceptance(
  world: WorldSettings,
  offer: Omit<TrueOffer, 'segment' | 'guarantee' | 'releasedOn' | 'rival'>,
): number {
  const { ceiling, midpointPercent, slope, amountElasticity, termElasticity } = world.acceptance;
  const share = Math.min(1, offer.amountCents / offer.requestedAmountCents);
  const liked = ceiling / (1 + Math.exp(slope * (offer.rateHundredths / 100 - midpointPercent)));
  const stretch = Math.abs(Math.log(offer.installments / offer.requestedInstallments));
  return liked * share ** amountElasticity * Math.exp(-termElasticity * stretch);
}

/** What comes back of a loan that goes bad because a guarantee secures it, as a share of what is owed then. */
export function guaranteedShare(world: WorldSettings, pledge: Pledge | null, financedCents: AmountCents): number {
  if (pledge === null) return 0;
  const { guaranteeRecovery, fgtsBalanceShare, terminationFineShare } = world.economics;
  const worth = pledge.fgtsBalanceCents * fgtsBalanceShare + pledge.terminationFineCents * terminationFineShare;
  return guaranteeRecovery * Math.min(1, worth / financedCents);
}

/** Monthly probability that the link ends. */
function trueSeparation(world: WorldSettings, segment: Segment): number {
  return world.separationMonthly[segment.sector] * world.separationFactor[segment.tenure];
}

/** Selection: winning means that every rival stayed above, and takers of high rates are riskier. Nobody else bidding is no reassurance. */
export function trueLossMultiplier(world: WorldSettings, rival: BestRival, rateHundredths: RateHundredths): number {
  const wonAgainstRivals = Math.max(0, winProbability(rival, rateHundredths) - rival.best[noRivalCell]!);
  const aboveMedian = Math.max(0, rateHundredths - rival.medianHundredths) / 100;
  return 1 + world.selection.win * (1 - wonAgainstRivals) + world.selection.rate * aboveMedian;
}

/** What comes in while links live, and what is still owed when they end, both discounted; per loan, in cents. */
function expectedFlows(world: WorldSettings, loan: Loan, releasedOn: DayNumber, segment: Segment) {
  const { economics } = world;
  const discountDaily = Math.log1p(economics.fundingAnnualPercent / 100) / 365;
  const survivalDaily = (Math.log1p(-trueSeparation(world, segment)) * 12) / 365;
  let owedCents = loan.financedCents;
  let alive = 1;
  let paid = 0;
  let stranded = 0;
  for (const row of loan.rows) {
    const days = row.dueOn - releasedOn;
    const discount = Math.exp(-discountDaily * days);
    const stillAlive = (1 - economics.neverStartedShare) * Math.exp(survivalDaily * days);
    paid += discount * stillAlive * loan.installmentCents;
    stranded += discount * (alive - stillAlive) * owedCents;
    alive = stillAlive;
    owedCents = row.balanceCents;
  }
  return { paid, stranded };
}

/** Expected value of an offer that has won; the truth that the surplus of a run is measured in. */
export function trueValue(world: WorldSettings, offer: TrueOffer): TrueValue {
  const due = dueDays(offer.releasedOn, offer.installments, world.calendar);
  const loan = loanOf(offer.amountCents, offer.rateHundredths, offer.releasedOn, due);
  const { paid, stranded } = expectedFlows(world, loan, offer.releasedOn, offer.segment);
  const lossMultiplier = trueLossMultiplier(world, offer.rival, offer.rateHundredths);
  const { commissionPercent, contractCostCents, lossGivenSeparation } = world.economics;
  const recovered = guaranteedShare(world, offer.guarantee, loan.financedCents);
  const lossCents = stranded * Math.max(0, lossGivenSeparation - recovered) * lossMultiplier;
  const spent = loan.financedCents + (offer.amountCents * commissionPercent) / 100 + contractCostCents;
  const valueCents = paid + stranded - lossCents - spent;
  const acceptance = trueAcceptance(world, offer);
  return {
    acceptance,
    valueCents,
    wonCents: acceptance * valueCents,
    lossMultiplier,
    installmentCents: loan.installmentCents,
    financedCents: loan.financedCents,
  };
}

export type WorkerChoice = {
  accepted: boolean;
  /** Month in which the link ended or payments never began; null when the loan was paid to its end or not taken. */
  defaultedInMonth: number | null;
};

/** Draws what the worker does; the draws belong to the request, not to the moment. */
export function chooseAsWorker(world: WorldSettings, seed: string, index: number, offer: TrueOffer): WorkerChoice {
  const chance = chanceOf(seed, 'choice', index);
  const accepted = chance() < trueAcceptance(world, offer);
  const multiplier = trueLossMultiplier(world, offer.rival, offer.rateHundredths);
  const hazard = Math.min(1, trueSeparation(world, offer.segment) * multiplier);
  const neverStarted = chance() < Math.min(1, world.economics.neverStartedShare * multiplier);
  let month: number | null = neverStarted ? 1 : null;
  for (let k = 1; k <= offer.installments && month === null; k += 1) if (chance() < hazard) month = k;
  return { accepted, defaultedInMonth: accepted ? month : null };
}
