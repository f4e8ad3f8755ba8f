/** A cap of a day beside a clock that is some minutes wrong over midnight: what was claimed then counts on once the clock is corrected. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assess, type Draft, draftOffer } from '../../src/bidding/decide.ts';
import { viewChanges } from '../../src/bidding/evolve.ts';
import { readLedgerFacts } from '../../src/bidding/ledger-facts.ts';
import type { Views } from '../../src/bidding/ports.ts';
import { fullCap } from '../../src/domain/cap-book.ts';
import type { CapReservation } from '../../src/domain/offer.ts';
import { capUse } from '../../src/operating/controls.ts';
import { buildWinCurve } from '../../src/pricing/win-curve.ts';
import { createViewsModel } from '../conformance/views-model.ts';
import { at, sampleLink, sampleRequest } from '../rules/sample-request.ts';
import { configOf, shippedPolicy } from './house.ts';
import { claimed, folded, requested, settings } from './parts.ts';

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });
const policy = shippedPolicy(config);
const minuteMs = 60_000;
/** In São Paulo. */
const midnight = Date.parse('2026-11-21T03:00:00Z');
const { priorWeight, shrinkage, smoothing } = config.pricing.winCurve;
const smooth = { prior: policy.prior, shrinkage, smoothing, priorWeight };
const curve = buildWinCurve({ segments: [], scores: [], ...smooth, at, halfLifeMs: 1_000_000, breakEvens: null });

/** As the desk decides it by a clock that shows this time: under the shipped rules and a cap by hand of the day. */
function decidedAt(time: number): Extract<Draft, { kind: 'offer' }> {
  const draft = draftOffer({
    ...{ policy, curve, settings: config.bidding, trial: null, tailoring: null, acceptance: null },
    ...{ shadowPricePerCent: 0, shadowPriceVersion: null, operatorCaps: { book: 1_000_000_000 } },
    assessment: assess(sampleRequest, { link: sampleLink, ledger: undefined }, policy, time),
  });
  assert.equal(draft.kind, 'offer', JSON.stringify(draft));
  return draft as Extract<Draft, { kind: 'offer' }>;
}

function claimedAt(time: number) {
  const { offer, trace } = decidedAt(time);
  const model = createViewsModel();
  const records = [requested(), claimed('a:1', { at: time, offer, trace })];
  for (const [index, record] of records.entries()) {
    const before = index === 0 ? null : folded(...records.slice(0, index));
    const changes = viewChanges(before, folded(...records.slice(0, index + 1)), record, settings);
    model.apply({ partition: 0, first: 0, next: 1, changes });
  }
  const usage = async (keys: readonly string[], asked: number) =>
    new Map(keys.map((key) => [key, model.usage(key, asked)]));
  return {
    offer,
    views: { usage } as unknown as Views,
    usageAt: (asked: number) => (key: string) => model.usage(key, asked),
  };
}

/** Names of the caps under which nothing more has room, where each allows what was claimed and no more. */
function fullAt(book: ReturnType<typeof claimedAt>, time: number): string[] {
  const { offer, usageAt } = book;
  return decidedAt(time).trace.caps.flatMap((cap: CapReservation) => {
    const limited = { ...cap, limitAmountCents: offer.amountCents, limitCount: null };
    const isLimiting = cap.limitAmountCents !== null || cap.limitCount !== null;
    const full = fullCap([limited], { amountCents: 1, count: 1 }, usageAt(time));
    return isLimiting && full !== null ? [cap.keys[0]!.split('|')[0]!] : [];
  });
}

const all = ['desk-day', 'employer-day', 'operator:book', 'worker-day'];

test('what a clock that is 8 minutes ahead claims before midnight counts on the day that it is, once the clock is corrected', () => {
  const book = claimedAt(midnight + 3 * minuteMs);
  assert.deepEqual(fullAt(book, midnight - 4 * minuteMs).sort(), all);
  assert.deepEqual(fullAt(book, midnight + 4 * minuteMs).sort(), all);
});

test('what a clock that is 8 minutes behind claims after midnight counts on the day that it is, once the clock is corrected', () => {
  const book = claimedAt(midnight - 5 * minuteMs);
  assert.deepEqual(fullAt(book, midnight - 4 * minuteMs).sort(), all);
  assert.deepEqual(fullAt(book, midnight + 4 * minuteMs).sort(), all);
  assert.deepEqual(fullAt(book, midnight + 1_000 * minuteMs).sort(), all);
});

test('a bid of a day counts once on it, and not on the next, but for the last minutes', () => {
  const before = claimedAt(midnight - 16 * minuteMs);
  assert.deepEqual(fullAt(before, midnight + minuteMs), []);
  for (const minutes of [-16, -5]) {
    const { offer, usageAt } = claimedAt(midnight + minutes * minuteMs);
    for (const cap of decidedAt(midnight - minuteMs).trace.caps) {
      const limited = { ...cap, limitAmountCents: 2 * offer.amountCents, limitCount: null };
      assert.equal(
        fullCap([limited], { amountCents: offer.amountCents, count: 1 }, usageAt(midnight - minuteMs)),
        null,
      );
    }
  }
});

test('what is told of a day counts a bid of the next one too: facts and the use of a cap', async () => {
  const { views, offer } = claimedAt(midnight + 3 * minuteMs);
  const now = midnight - 4 * minuteMs;
  const factsOf = async (book: Views, time: number) => {
    const names = ['desk.volumeTodayReais', 'desk.bidsToday'] as const;
    const [facts] = await readLedgerFacts(book, names, [folded(requested())], time);
    return facts;
  };
  const counted = { 'desk.volumeTodayReais': offer.amountCents / 100, 'desk.bidsToday': 1 };
  assert.deepEqual(await factsOf(views, now), counted);
  // And what a clock that is behind has claimed on the eve, up to as far behind as one is believed.
  for (const minutes of [5, 14])
    assert.deepEqual(await factsOf(claimedAt(midnight - minutes * minuteMs).views, midnight + minuteMs), counted);
  assert.deepEqual(await factsOf(claimedAt(midnight - 16 * minuteMs).views, midnight + minuteMs), {
    ...{ 'desk.volumeTodayReais': 0, 'desk.bidsToday': 0 },
  });
  const control = { read: async () => ({ caps: { book: offer.amountCents } }) };
  for (const name of ['book', 'desk-day']) {
    const use = await capUse({ control, views, clock: { now: () => now } } as never, name);
    assert.deepEqual([use?.usedCents, use?.bids], [offer.amountCents, 1], name);
  }
});
