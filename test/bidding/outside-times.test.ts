/** Times that the service wrote, of which any year may be wrong: what they may and may not do to the desk. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deadlineOf, validityEnd, viewChanges } from '../../src/bidding/evolve.ts';
import { curveOf, statisticKeysOf } from '../../src/bidding/learning.ts';
import { cursorOf } from '../../src/bidding/ports.ts';
import { decayFactor, emptyHistogram, foldSums, type Histogram, timeAlone } from '../../src/domain/histogram.ts';
import type { AuctionRecord, Ended } from '../../src/domain/records.ts';
import { priorDistribution } from '../../src/pricing/win-curve.ts';
import { settings as pricing } from '../pricing/setting.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import {
  accepted,
  answered,
  at,
  bid,
  claimed,
  deadlineAt,
  ended,
  folded,
  offer,
  proposed,
  requested,
  settings,
} from './parts.ts';

const dayMs = 86_400_000;
const year9999 = Date.UTC(9999, 11, 31);
const year1900 = Date.UTC(1900, 0, 1);
const oneYearOff = [365 * dayMs, -365 * dayMs].map((offMs) => deadlineAt + offMs);
const wrongYears = [year9999, year1900, ...oneYearOff];

/** Folds what the result of a request teaches into `statistics`, as the views do. */
function learn(statistics: Map<string, Histogram>, record: AuctionRecord): void {
  const request = requested({ requestId: record.requestId });
  for (const change of viewChanges(folded(request), folded(request, record), record, settings)) {
    if (change.kind !== 'learn') continue;
    for (const key of change.keys) {
      const histogram = statistics.get(key) ?? emptyHistogram(change.at);
      foldSums(histogram, change.additions, change.at, change.halfLives);
      statistics.set(key, histogram);
    }
  }
}

function endOf(number: number, change: Partial<Ended> = {}): Ended {
  const rival = bid('rival', { rateHundredths: 240, placedAt: null });
  return { ...ended([rival]), requestId: String(1_000 + number), at: deadlineAt + number, ...change };
}

for (const endedAt of wrongYears) {
  test(`an end in ${new Date(endedAt).getUTCFullYear()} teaches no more than any other`, () => {
    const statistics = new Map<string, Histogram>();
    for (let number = 0; number < 200; number += 1) learn(statistics, endOf(number));
    const wrong = bid('wrong', { rateHundredths: 0, placedAt: null });
    learn(statistics, endOf(200, { endedAt, startedAt: endedAt, bids: [wrong] }));
    for (let number = 201; number < 400; number += 1) learn(statistics, endOf(number));
    const now = deadlineAt + 400;
    for (const key of statisticKeysOf(['all'], null)) {
      const histogram = statistics.get(key);
      if (histogram === undefined) continue;
      assert.ok(histogram.landmarkAt <= now, `the landmark of ${key} is at ${histogram.landmarkAt}`);
      const { cells } = histogram;
      assert.ok(cells[240]! / cells[0]! > 100, `${key}: ${cells[240]} against ${cells[0]}`);
    }
    const { win } = curveOf(['all'], statistics, {
      ...pricing.winCurve,
      prior: priorDistribution(pricing.winCurve.prior),
      ...{ at: now, halfLifeMs: settings.halfLifeMs, breakEvens: null },
    });
    assert.ok(win.every(Number.isFinite));
    assert.ok(win[235]! > 0.8 && win[245]! < 0.2, `${win[235]} below the rivals, ${win[245]} above`);
  });

  test(`an end in ${new Date(endedAt).getUTCFullYear()} neither hides bids nor leads the list`, () => {
    const rival = bid('rival', { rateHundredths: 240, placedAt: at + 1_000 });
    const state = folded(endOf(0, { endedAt, startedAt: endedAt, bids: [rival] }));
    assert.equal(state.auction!.bestRivalCell, 240);
    assert.equal(state.auction!.endedAt, null);
    assert.equal(state.auction!.startedAt, null);
    assert.ok(cursorOf(state) < cursorOf(folded(endOf(1))));
  });
}

test('weights are finite whatever times results and readers have', () => {
  const times = fc.integer({ min: -8.64e15, max: 8.64e15 });
  const halfLives = [
    timeAlone(1_000),
    timeAlone(Number.POSITIVE_INFINITY),
    { halfLifeMs: 1_000, halfLifeResults: 0.05 },
  ];
  fc.assert(
    fc.property(fc.array(times, { minLength: 1 }), times, fc.constantFrom(...halfLives), (folds, readAt, fading) => {
      const histogram = emptyHistogram(folds[0]!);
      for (const [place, foldedAt] of folds.entries()) foldSums(histogram, [[place % 400, 1]], foldedAt, fading);
      const factor = decayFactor(histogram, readAt, fading);
      for (const cell of histogram.cells) assert.ok(Number.isFinite(cell * factor), `${cell} × ${factor}`);
    }),
  );
});

test('a proposal of a mistyped year neither holds a promise for ever nor ends it at once', () => {
  const won = (validUntil: number) =>
    folded(requested(), claimed(), answered(accepted), ended([bid('ours')]), proposed([], validUntil));
  for (const wrong of [year9999, year1900, at - 1]) {
    const until = validityEnd(won(wrong), settings);
    assert.ok(until >= offer.validUntil + settings.graceMs, `${wrong} ends at ${until}`);
    assert.ok(until <= offer.validUntil + 30 * dayMs + settings.graceMs, `${wrong} ends at ${until}`);
    assert.deepEqual(won(wrong).timer, { at: until, due: 'validity' });
  }
  // Shorter than the bid's own validity, or longer by some days: as told.
  for (const told of [at + 3_600_000, offer.validUntil + 20 * dayMs]) {
    assert.equal(validityEnd(won(told), settings), told + settings.graceMs);
  }
});

test('an auction that says it closes in 9999 has a deadline all the same', () => {
  const request = { ...sampleRequest, receivedAt: at, closesAt: year9999, expiresAt: null };
  assert.equal(deadlineOf({ request }, settings), at + 7 * dayMs);
  assert.equal(deadlineOf({ request: { ...request, closesAt: at + dayMs } }, settings), at + dayMs);
});
