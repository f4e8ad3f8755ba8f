/** The truth of the played world: who asks, what rivals cost, how workers choose, what defaults. Settings and their defaults. */
import { dayOf } from '../domain/clock.ts';
import type { AmountCents, EpochMs, RateHundredths } from '../domain/glossary.ts';

const sectors = ['construction', 'agriculture', 'commerce', 'services', 'industry'] as const;
export type Sector = (typeof sectors)[number];

/** Months since admission: under 12, 12 to 35, 36 and more. */
const tenures = ['short', 'middle', 'long'] as const;
export type Tenure = (typeof tenures)[number];

/** What rivals tell requests apart by. */
export type Segment = { sector: Sector; tenure: Tenure; guaranteed: boolean };

export type RivalLender = {
  name: string;
  /** Probability that it bids for a request. */
  participation: number;
  /** Added to what a loan of the segment costs everybody. */
  markupHundredths: RateHundredths;
  /** Standard deviation of its own view of a request. */
  noiseHundredths: number;
  /** It bids in multiples of this (10: 3.30, 3.40 …); 1 for none. */
  roundHundredths: number;
  /** Taken off a multiple: 1 turns 3.30 into 3.29. */
  belowRoundHundredths: number;
  floorHundredths: RateHundredths;
};

type Regime = {
  /** Added to every rival's mark-up. */
  markupHundredths: RateHundredths;
  /** Multiplies every rival's participation. */
  participation: number;
};

type TrueEconomics = {
  fundingAnnualPercent: number;
  neverStartedShare: number;
  lossGivenSeparation: number;
  /** Recovered on top by a guarantee that is worth the whole loan; by one worth half of it, half. */
  guaranteeRecovery: number;
  /** What of it is pledged. */
  fgtsBalanceShare: number;
  terminationFineShare: number;
  commissionPercent: number;
  contractCostCents: AmountCents;
  bidCostCents: AmountCents;
};

export type WorldSettings = {
  /** The day whose people these are, in days since 1970. Set once for a run, so that nobody's dates move while it lasts. */
  startDay?: number;
  /** Shares of requests, made to sum to 1. */
  sectorShares: Readonly<Record<Sector, number>>;
  tenureShares: Readonly<Record<Tenure, number>>;
  guaranteedShare: number;
  employers: number;
  /** Probability that a request comes from a worker who has asked before. */
  returningShare: number;
  /** Requests that do not say the margin, so that the link has to be asked. */
  marginOmittedShare: number;
  ineligibleShare: number;
  politicallyExposedShare: number;
  alertShare: number;
  authorisationOmittedShare: number;
  youngEmployerShare: number;
  /** Request ids of 19 digits, which no double holds. */
  longIdShare: number;
  /** About the median of what is asked for over two years. */
  medianAmountCents: AmountCents;
  /** Monthly probability that a link ends, by sector, and its factor by tenure. */
  separationMonthly: Readonly<Record<Sector, number>>;
  separationFactor: Readonly<Record<Tenure, number>>;
  economics: TrueEconomics;
  /** The worker takes a won offer with `ceiling / (1 + exp(slope · (rate − midpoint)))`, rate in percent a month, times (amount / asked) ^ amountElasticity and e ^ (−termElasticity · |ln(term / asked)|). */
  acceptance: {
    ceiling: number;
    midpointPercent: number;
    slope: number;
    amountElasticity: number;
    termElasticity: number;
  };
  /** Loss multiplier: 1 + win · (1 − w(rate) against rivals) + rate · (percent points above the median best rival). */
  selection: { win: number; rate: number };
  lenders: readonly RivalLender[];
  /** Rivals' view of a request that they share, standard deviation. */
  commonNoiseHundredths: number;
  /** Requests with a guarantee may not cost more than this. */
  guaranteedMaxHundredths: RateHundredths;
  /** Share of rival bids that lie half a hundredth below the grid cell. */
  offGridShare: number;
  regimes: readonly Regime[];
  /** When rivals bid, as shares of the window, uniformly between. */
  rivalArrival: { from: number; to: number };
  /** `businessDays`: what falls due on a day without banks comes on the next with them. */
  calendar: { cutoffDay: number; dueDay: number; businessDays: boolean };
};

function lender(
  name: string,
  participation: number,
  markupHundredths: number,
  noiseHundredths: number,
  habit: { round?: number; below?: number; floor?: number } = {},
): RivalLender {
  return {
    name,
    participation,
    markupHundredths,
    noiseHundredths,
    roundHundredths: habit.round ?? 1,
    belowRoundHundredths: habit.below ?? 0,
    floorHundredths: habit.floor ?? 149,
  };
}

/** The world as it is on that day in São Paulo; one that has a day keeps it. */
export function worldOn(world: WorldSettings, at: EpochMs): WorldSettings {
  return { startDay: Date.parse(dayOf(at)) / 86_400_000, ...world };
}

export const defaultWorld: WorldSettings = {
  sectorShares: { construction: 0.08, agriculture: 0.07, commerce: 0.27, services: 0.38, industry: 0.2 },
  tenureShares: { short: 0.18, middle: 0.38, long: 0.44 },
  guaranteedShare: 0.1,
  employers: 240,
  returningShare: 0.04,
  marginOmittedShare: 0.15,
  ineligibleShare: 0.04,
  politicallyExposedShare: 0.015,
  alertShare: 0.03,
  authorisationOmittedShare: 0.01,
  youngEmployerShare: 0.03,
  longIdShare: 0.1,
  medianAmountCents: 380_000,
  separationMonthly: { construction: 0.052, agriculture: 0.04, commerce: 0.03, services: 0.027, industry: 0.026 },
  separationFactor: { short: 1.25, middle: 1, long: 0.82 },
  economics: {
    fundingAnnualPercent: 13.75,
    neverStartedShare: 0.13,
    lossGivenSeparation: 0.175,
    guaranteeRecovery: 0.1,
    fgtsBalanceShare: 0.1,
    terminationFineShare: 1,
    commissionPercent: 0.7,
    contractCostCents: 1_700,
    bidCostCents: 3,
  },
  acceptance: { ceiling: 0.86, midpointPercent: 3.5, slope: 2.2, amountElasticity: 0.2, termElasticity: 0.4 },
  selection: { win: 0.4, rate: 0.35 },
  lenders: [
    lender('rio', 0.5, 109, 24),
    lender('serra', 0.45, 94, 20, { round: 10, below: 1 }),
    lender('litoral', 0.35, 82, 16, { floor: 189 }),
    lender('planalto', 0.4, 139, 32, { round: 5 }),
    lender('pampa', 0.3, 164, 40, { round: 50, below: 1, floor: 199 }),
    lender('sertao', 0.25, 88, 34, { round: 10 }),
    lender('cerrado', 0.5, 124, 22),
  ],
  commonNoiseHundredths: 18,
  guaranteedMaxHundredths: 199,
  offGridShare: 0.02,
  regimes: [
    { markupHundredths: 0, participation: 1 },
    { markupHundredths: -20, participation: 1.1 },
    { markupHundredths: 32, participation: 0.9 },
  ],
  rivalArrival: { from: 0.1, to: 0.9 },
  calendar: { cutoffDay: 20, dueDay: 7, businessDays: true },
};

export function segmentKey(segment: Segment): string {
  return `${segment.sector}/${segment.tenure}/${segment.guaranteed ? 'guaranteed' : 'plain'}`;
}

/** The regime of a request by its place in a run of `planned` requests: changes come at equal distances. */
export function regimeAt(world: WorldSettings, index: number, planned: number): number {
  return Math.min(world.regimes.length - 1, Math.floor((index * world.regimes.length) / Math.max(1, planned)));
}

/** Monthly loss of a loan in the segment that every lender reckons with, percent a month: it anchors the rivals' rates. */
export function segmentCostHundredths(world: WorldSettings, segment: Segment): number {
  const { economics } = world;
  const funding = (1 + economics.fundingAnnualPercent / 100) ** (1 / 12) - 1;
  const recovered = segment.guaranteed ? economics.guaranteeRecovery : 0;
  const loss = Math.max(0, economics.lossGivenSeparation - recovered);
  const separation = world.separationMonthly[segment.sector] * world.separationFactor[segment.tenure];
  return Math.round((funding + separation * loss) * 10_000);
}
