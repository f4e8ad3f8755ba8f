/** Settings and economics that the pricing tests share; values near the defaults of the configuration. */
import { cellCount } from '../../src/domain/glossary.ts';
import { emptyHistogram, foldSums, type Histogram } from '../../src/domain/histogram.ts';
import type { Economics } from '../../src/domain/policy.ts';
import type { PricingSettings } from '../../src/pricing/settings.ts';
import { windows } from '../../src/pricing/trial.ts';
import type { WinCurveInput } from '../../src/pricing/win-curve.ts';

export const settings: PricingSettings = {
  dayCount: 'actual365',
  rounding: 'once',
  iof: { daily: 0.000082, dayCap: 365, additional: 0.0038 },
  payrollCalendar: { cutoffDay: 20, monthsToFirstDue: 2, dueDayOfMonth: 7, businessDays: 'ignored' },
  fundingCurve: [],
  guaranteePledge: { fgtsBalanceShare: 0.1, terminationFineShare: 1 },
  insuranceCents: 0,
  maxInstallments: 96,
  marginBufferCents: 1,
  minAmountShare: 0.3,
  acceptancePrior: { midpointDeviationPercent: 0.5, ceilingDeviation: 0.15 },
  winCurve: {
    priorWeight: 4,
    shrinkage: 12,
    smoothing: 1,
    prior: {
      quantiles: [
        { share: 0.1, rateHundredths: 214 },
        { share: 0.25, rateHundredths: 265 },
        { share: 0.5, rateHundredths: 332 },
        { share: 0.75, rateHundredths: 418 },
        { share: 0.9, rateHundredths: 608 },
      ],
      rivals: 3,
    },
  },
};

export const economics: Economics = {
  fundingAnnualPercent: 13.75,
  separationMonthly: 0.035,
  neverStartedShare: 0.16,
  lossGivenSeparation: 0.17,
  guaranteeRecovery: 0.08,
  commissionPercent: 0.5,
  contractCostCents: 1500,
  bidCostCents: 2,
  acceptanceCeiling: 0.9,
  acceptanceMidpointPercent: 4.2,
  acceptanceSlope: 1.5,
  acceptanceAmountElasticity: 0.25,
  acceptanceTermElasticity: 0.5,
  selectionWin: 0.15,
  selectionRate: 0.1,
};

/** A histogram of these cells, all at time 0. */
export function histogramOf(cells: readonly number[]): Histogram {
  const histogram = emptyHistogram(0);
  const never = Number.POSITIVE_INFINITY;
  for (const cell of cells) foldSums(histogram, [[cell, 1]], 0, { halfLifeMs: never, halfLifeResults: never });
  return histogram;
}

/** A whole market, and segments of it, in which all windows saw the same; nothing was scored yet. */
export function evidenceOf(...levels: readonly Histogram[]): Pick<WinCurveInput, 'segments' | 'scores' | 'breakEvens'> {
  const segments = levels.map((histogram, depth) => ({
    key: `all${'|a=1'.repeat(depth)}`,
    histograms: windows.map(() => histogram),
  }));
  return { segments, scores: [], breakEvens: null };
}

/** Histogram without smoothing or prior, as the plain way would have it. */
export function plainWin(cells: readonly number[]): Float64Array {
  const win = new Float64Array(cellCount);
  for (let cell = 0; cell < cellCount; cell += 1) {
    const above = cells.filter((rival) => rival > cell).length;
    const tied = cells.filter((rival) => rival === cell).length;
    win[cell] = (above + tied / 2) / cells.length;
  }
  return win;
}

/** Uniform numbers in [0, 1) that are the same in every run (Park and Miller). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
