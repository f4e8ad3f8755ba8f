/** What it costs in the played world to ignore that acceptance falls with the rate, or that winning is bad news. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { noRivalCell } from '../../src/domain/glossary.ts';
import { emptyHistogram, foldSums, timeAlone } from '../../src/domain/histogram.ts';
import { type Economics, noLimits } from '../../src/domain/policy.ts';
import { chooseOffer } from '../../src/pricing/choose.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { buildWinCurve, priorDistribution, type WinCurve } from '../../src/pricing/win-curve.ts';
import { trueWorth } from '../../src/sandbox/auditor/surplus.ts';
import { dayNumber } from '../../src/sandbox/loan.ts';
import { requestAt } from '../../src/sandbox/population.ts';
import { modelRivals, winProbability } from '../../src/sandbox/rivals.ts';
import { segmentKey, defaultWorld as world } from '../../src/sandbox/world.ts';

const requests = 1_500;
const learnt = 300;
const forever = Number.POSITIVE_INFINITY;
const { pricing, economics } = JSON.parse(
  readFileSync(new URL('../../config/default.json', import.meta.url), 'utf8'),
) as { pricing: Parameters<typeof createRateTables>[0]; economics: Economics };
const tables = createRateTables(pricing, 1_024);
const rivals = modelRivals(world, 'ignorance');
const truth = { world, rivals };
const { fgtsBalanceShare, terminationFineShare, ...costs } = world.economics;
const curves = new Map<string, WinCurve>();

function worthOf(guarantee: { fgtsBalanceCents: number; terminationFineCents: number }): number {
  return fgtsBalanceShare * guarantee.fgtsBalanceCents + terminationFineShare * guarantee.terminationFineCents;
}

/** What a desk knows of a segment's rivals after some hundred auctions. */
function curveOf(segment: ReturnType<typeof requestAt>['segment']): WinCurve {
  const key = segmentKey(segment);
  const known = curves.get(key);
  if (known !== undefined) return known;
  const histogram = emptyHistogram(0);
  for (let index = 0; index < learnt; index += 1) {
    const rates = rivals.bidsOn(1_000_000 + index, segment, 0).map(({ rateHundredths }) => Math.ceil(rateHundredths));
    foldSums(histogram, [[Math.min(noRivalCell, ...rates), 1]], 0, timeAlone(forever));
  }
  const { priorWeight, shrinkage, smoothing } = pricing.winCurve;
  const prior = priorDistribution(pricing.winCurve.prior);
  const curve = buildWinCurve({
    segments: [{ key, histograms: [histogram, histogram] }],
    scores: [],
    breakEvens: null,
    prior,
    priorWeight,
    shrinkage,
    smoothing,
    at: 0,
    halfLifeMs: forever,
  });
  curves.set(key, curve);
  return curve;
}

/** True expected value of what a desk with these beliefs would have offered, each rate won as often as rivals let it. */
function surplusWith(change: Partial<Economics>): { surplus: number; bids: number; meanRate: number } {
  const sum = { surplus: 0, bids: 0, rates: 0 };
  for (let index = 0; index < requests; index += 1) {
    const request = requestAt(world, 'ignorance', index, forever);
    const { segment, amountCents, installments, worker, guarantee } = request;
    // All but acceptance and selection as it is: those alone are looked at here.
    const separationMonthly = world.separationMonthly[segment.sector] * world.separationFactor[segment.tenure];
    const choice = chooseOffer({
      tables,
      releaseDay: '2026-11-10',
      requestedAmountCents: amountCents,
      requestedInstallments: installments,
      availableMarginCents: worker.marginCents,
      pledgedCents: guarantee === null ? 0 : worthOf(guarantee),
      limits: { ...noLimits, maxRateHundredths: segment.guaranteed ? 199 : null },
      economics: { ...economics, ...costs, separationMonthly, ...change },
      strategy: { kind: 'optimise' },
      curve: curveOf(segment),
      shadowPricePerCent: 0,
    });
    if (choice.kind === 'none') continue;
    const { offer } = choice;
    const emitted = { ...request, releasedOn: dayNumber(2026, 11, 10) } as unknown as Parameters<typeof trueWorth>[1];
    const win = winProbability(rivals.bestRival(segment, 0), offer.rateHundredths);
    sum.bids += 1;
    sum.rates += offer.rateHundredths;
    sum.surplus += win * trueWorth(truth, emitted, offer).wonCents - world.economics.bidCostCents;
  }
  return { surplus: sum.surplus, bids: sum.bids, meanRate: sum.rates / sum.bids };
}

test('ignoring acceptance or selection costs money', (t) => {
  const known = surplusWith({});
  const flat = { acceptanceSlope: 0, acceptanceMidpointPercent: 50, acceptanceAmountElasticity: 0 };
  const blind = { selectionWin: 0, selectionRate: 0 };
  const ignorant = {
    acceptance: surplusWith(flat),
    selection: surplusWith(blind),
    both: surplusWith({ ...flat, ...blind }),
  };
  const share = ({ surplus }: { surplus: number }) => (surplus / known.surplus).toFixed(4);
  t.diagnostic(
    `figure: surplus without acceptance ${share(ignorant.acceptance)}, without selection ${share(ignorant.selection)}, without both ${share(ignorant.both)} of that with them (${known.bids} bids, mean rate ${known.meanRate.toFixed(1)}; without both ${ignorant.both.bids} and ${ignorant.both.meanRate.toFixed(1)})`,
  );
  assert.ok(known.surplus > 0);
  assert.ok(ignorant.acceptance.surplus < 0.9975 * known.surplus, share(ignorant.acceptance));
  assert.ok(ignorant.selection.surplus < 0.99 * known.surplus, share(ignorant.selection));
  assert.ok(ignorant.both.surplus < 0.988 * known.surplus, share(ignorant.both));
});
