/** A day's budget: what the pacer makes of it against the best that could be done with one price, known in hindsight. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPacer, type Pacer } from '../../src/bidding/pacer.ts';
import { cellCount } from '../../src/domain/glossary.ts';
import type { CapReservation } from '../../src/domain/offer.ts';
import { noLimits } from '../../src/domain/policy.ts';
import { chooseOffer } from '../../src/pricing/choose.ts';
import type { ChoiceInput } from '../../src/pricing/mask.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { buildWinCurve, type WinCurve } from '../../src/pricing/win-curve.ts';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { economics, evidenceOf, histogramOf, settings } from '../pricing/setting.ts';

const hourMs = 3_600_000;
/** Midnight in São Paulo. */
const midnight = Date.parse('2026-11-20T03:00:00Z');
/** What the desk is told of the day, and what the day is like. */
const told = [2, 1, 1, 1, 1, 1, 2, 3, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5, 5, 5, 4, 4, 3];
const real = [1, 1, 0, 0, 1, 1, 3, 4, 6, 7, 6, 6, 5, 5, 6, 6, 7, 7, 5, 4, 4, 4, 3, 2];
const requestCount = 4_000;

const hazards = [0.025, 0.03, 0.035, 0.045].map((separationMonthly) => ({ ...economics, separationMonthly }));
const tables = createRateTables(settings, 512);
const markets = [0, 18, 40].map((shift) => {
  const chance = chanceOf('pacing', shift);
  return Array.from({ length: 400 }, () => Math.round(235 + shift + 60 * chance() + 50 * chance()));
});
const curves: WinCurve[] = markets.map((cells) =>
  buildWinCurve({
    ...evidenceOf(histogramOf(cells)),
    prior: new Float64Array(cellCount),
    priorWeight: 0,
    shrinkage: 1,
    smoothing: 1,
    at: 0,
    halfLifeMs: Number.POSITIVE_INFINITY,
  }),
);

type Asked = { at: number; input: ChoiceInput; rivalCell: number };

function dayOfRequests(seed: number): Asked[] {
  const chance = chanceOf('day', seed);
  const total = real.reduce((sum, weight) => sum + weight, 0);
  const asked: Asked[] = [];
  for (let index = 0; index < requestCount; index += 1) {
    let left = chance() * total;
    const hour = real.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
    const market = Math.floor(chance() * markets.length);
    const cells = markets[market]!;
    const input: ChoiceInput = {
      tables,
      releaseDay: '2026-11-20',
      requestedAmountCents: Math.round(100_000 + 900_000 * chance() ** 2),
      requestedInstallments: [12, 24, 36][Math.floor(chance() * 3)]!,
      availableMarginCents: 150_000,
      pledgedCents: 0,
      limits: noLimits,
      economics: hazards[Math.floor(chance() * hazards.length)]!,
      strategy: { kind: 'optimise' },
      curve: curves[market]!,
      shadowPricePerCent: 0,
    };
    const at = midnight + (hour + chance()) * hourMs;
    asked.push({ at, input, rivalCell: cells[Math.floor(chance() * cells.length)]! });
  }
  return asked.sort((left, right) => left.at - right.at);
}

/** Surplus of a day: expected value of what was won, given the rivals' bids. `priceAt` is asked before each request. */
function surplusOf(
  day: readonly Asked[],
  limitCents: number,
  priceAt: (one: Asked, usedCents: number) => number,
  after: (one: Asked, heldCents: number) => void = () => undefined,
): { surplus: number; used: number; usedByNoon: number } {
  const sum = { surplus: 0, used: 0, usedByNoon: 0 };
  for (const one of day) {
    const choice = chooseOffer({ ...one.input, shadowPricePerCent: priceAt(one, sum.used) });
    const offer = choice.kind === 'offer' ? choice.offer : null;
    after(one, offer === null ? 0 : offer.amountCents * offer.winProbability);
    if (choice.kind !== 'offer' || offer === null || sum.used + offer.amountCents > limitCents) continue;
    sum.surplus -= economics.bidCostCents;
    if (offer.rateHundredths >= one.rivalCell) continue;
    sum.used += offer.amountCents;
    sum.surplus += choice.acceptance * choice.valueIfReleasedCents;
    if (one.at < midnight + 12 * hourMs) sum.usedByNoon = sum.used;
  }
  return sum;
}

function capOf(limitAmountCents: number, day = '2026-11-20'): CapReservation {
  return { keys: [`desk-day|${day}`], limitAmountCents, limitCount: null, paced: true };
}

function paced(day: readonly Asked[], limitCents: number, pacer: Pacer) {
  const caps = [capOf(limitCents)];
  return surplusOf(
    day,
    limitCents,
    ({ at }, amountCents) => {
      pacer.update(caps, new Map([[caps[0]!.keys[0]!, { amountCents, count: 0 }]]), at);
      return pacer.priceUnder(caps)!.perCent;
    },
    ({ at, input }, heldCents) => pacer.observe(caps, input, heldCents, at),
  );
}

test('what counts on the day under another key of its cap, from a clock that was wrong, spends the budget too', () => {
  const day = dayOfRequests(4).slice(0, 400);
  const keys = ['desk-day|2026-11-20', 'desk-day|eve-2026-11-20', 'desk-day|2026-11-21'];
  const caps = [{ ...capOf(100_000_000), keys }];
  const priceWith = (key: string) => {
    const pacer = createPacer(told);
    for (const { at, input } of day) {
      pacer.update(caps, new Map([[key, { amountCents: 90_000_000, count: 9 }]]), at);
      pacer.observe(caps, input, 500_000, at);
    }
    return pacer.priceUnder(caps)!.perCent;
  };
  assert.ok(priceWith(keys[0]!) > 0);
  assert.deepEqual(
    keys.map(priceWith),
    keys.map(() => priceWith(keys[0]!)),
  );
});

test('under a binding daily budget the pacer earns at least 0.97 of the best price known in hindsight', (t) => {
  const shares: number[] = [];
  const unpacedShares: number[] = [];
  for (const [seed, budgetShare] of [
    [1, 0.5],
    [2, 0.25],
    [3, 0.75],
  ] as const) {
    const day = dayOfRequests(seed);
    const free = surplusOf(day, Number.POSITIVE_INFINITY, () => 0);
    const limitCents = Math.round(free.used * budgetShare);
    let best = 0;
    for (let price = 0; price < 0.12; price += 0.004) {
      best = Math.max(best, surplusOf(day, limitCents, () => price).surplus);
    }
    const own = paced(day, limitCents, createPacer(told));
    shares.push(own.surplus / best);
    unpacedShares.push(surplusOf(day, limitCents, () => 0).surplus / best);
    assert.ok(own.used <= limitCents && own.used > 0.93 * limitCents, `used ${own.used} of ${limitCents}`);
    assert.ok(own.usedByNoon < 0.62 * limitCents, `${own.usedByNoon} of ${limitCents} by noon`);
  }
  const text = (values: number[]) => values.map((value) => value.toFixed(4)).join(' ');
  t.diagnostic(`figure: paced ${text(shares)} of the best price in hindsight, unpaced ${text(unpacedShares)}`);
  assert.ok(Math.min(...shares) >= 0.97, text(shares));
  assert.ok(Math.max(...unpacedShares) < Math.min(...shares), text(unpacedShares));
});

test('a budget that does not bind has no price, and a cap that is not paced has none at all', () => {
  const day = dayOfRequests(4).slice(0, 600);
  const pacer = createPacer(told);
  const caps = [capOf(1e15)];
  paced(day, 1e15, pacer);
  assert.equal(pacer.priceUnder(caps)?.perCent, 0);
  const plain: CapReservation = { ...capOf(1), paced: false };
  pacer.update([plain], new Map(), midnight);
  assert.equal(pacer.priceUnder([plain]), null);
});

test('what others hold under the same cap raises the price, and the next day begins with what is known', () => {
  const day = dayOfRequests(5);
  const limitCents = Math.round(surplusOf(day, Number.POSITIVE_INFINITY, () => 0).used);
  const priceWith = (others: number) => {
    const pacer = createPacer(told);
    const caps = [capOf(limitCents)];
    const key = caps[0]!.keys[0]!;
    let afternoon = 0;
    surplusOf(
      day,
      limitCents,
      ({ at }, used) => {
        pacer.update(caps, new Map([[key, { amountCents: used * (1 + others), count: 0 }]]), at);
        const { perCent } = pacer.priceUnder(caps)!;
        if (at < midnight + 14 * hourMs) afternoon = perCent;
        return perCent;
      },
      ({ at, input }, heldCents) => pacer.observe(caps, input, heldCents, at),
    );
    return { pacer, price: afternoon };
  };
  const alone = priceWith(0);
  const shared = priceWith(1);
  assert.ok(shared.price > alone.price, `${shared.price} against ${alone.price}`);
  const morning = [capOf(limitCents / 10, '2026-11-21')];
  shared.pacer.update(morning, new Map(), midnight + 24.5 * hourMs);
  const next = shared.pacer.priceUnder(morning)!;
  assert.ok(next.perCent > 0 && next.version.startsWith('desk-day#'));
});
