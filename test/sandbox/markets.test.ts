/** The markets that can be played: what a judge is told of the best rival is what the rivals do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noRivalCell } from '../../src/domain/glossary.ts';
import { type MarketName, marketNames } from '../../src/sandbox/market-names.ts';
import { marketRivals, worldOf } from '../../src/sandbox/markets.ts';
import { requestAt } from '../../src/sandbox/population.ts';
import { defaultWorld, regimeAt, type Segment } from '../../src/sandbox/world.ts';
import { lance } from '../cli/desk.ts';

const plain: Segment = { sector: 'services', tenure: 'middle', guaranteed: false };

function placesOf(name: MarketName, count: number) {
  const world = { ...defaultWorld, ...worldOf(name) };
  const rivals = marketRivals(name, world, 'markets');
  return {
    rivals,
    places: Array.from({ length: count }, (_, index) => {
      const { segment } = requestAt(world, 'markets', index, count);
      return { index, segment, regime: regimeAt(world, index, count) };
    }),
  };
}

for (const name of marketNames) {
  test(`${name}: the best rival is distributed as the judge is told`, () => {
    const { rivals, places } = placesOf(name, 1_500);
    let [lonely, expectedLonely, below, expectedBelow] = [0, 0, 0, 0];
    for (const { index, segment, regime } of places) {
      const bids = rivals.bidsOn(index, segment, regime);
      const { best, exact, medianHundredths } = rivals.bestRival(segment, regime, index);
      assert.ok(Math.abs(best.reduce((sum, share) => sum + share, 0) - 1) < 1e-9);
      assert.ok(best.every((share, cell) => share >= -1e-12 && exact[cell]! <= share + 1e-12));
      expectedLonely += best[noRivalCell]!;
      if (bids.length === 0) lonely += 1;
      for (let cell = 0; cell <= medianHundredths; cell += 1) expectedBelow += best[cell]!;
      const lowest = Math.min(...bids.map(({ rateHundredths }) => rateHundredths));
      if (lowest <= medianHundredths) below += 1;
      for (const { rateHundredths } of bids) assert.ok(rateHundredths > 1 && rateHundredths < noRivalCell);
    }
    // Four standard deviations of a count of so many.
    const allowed = 4 * Math.sqrt(places.length) * 0.5;
    assert.ok(Math.abs(lonely - expectedLonely) < allowed, `${lonely} without rivals, ${expectedLonely} expected`);
    assert.ok(Math.abs(below - expectedBelow) < allowed, `${below} up to the median, ${expectedBelow} expected`);
  });
}

test('asked twice, or in another order, rivals bid the same', () => {
  for (const name of marketNames) {
    const { rivals, places } = placesOf(name, 40);
    const first = places.map(({ index, segment, regime }) => rivals.bidsOn(index, segment, regime));
    const again = placesOf(name, 40).rivals;
    for (const { index, segment, regime } of places.toReversed()) {
      assert.deepEqual(again.bidsOn(index, segment, regime), first[index]);
    }
  }
});

test('the undercutter bids below what we have won with, from the next auction on', () => {
  const world = { ...defaultWorld, ...worldOf('undercutter') };
  const rivals = marketRivals('undercutter', world, 'markets');
  const before = rivals.bestRival(plain, 0, 0);
  rivals.published?.([{ rival: 'lender-1', rateHundredths: 180 }]);
  assert.equal(rivals.bestRival(plain, 0, 1), before, 'a win of somebody else is nothing to it');
  rivals.published?.([{ rival: null, rateHundredths: 233 }]);
  const after = rivals.bestRival(plain, 0, 2);
  for (let cell = 228; cell <= 232; cell += 1) assert.ok(after.best[cell]! > 0.08, `${after.best[cell]} at ${cell}`);
  assert.equal(rivals.bestRival(plain, 0, 1), before, 'what was decided stays');
});

test('a market that is not known is refused with the list of those that are', async () => {
  for (const command of ['demo', 'sandbox']) {
    const { code, stderr } = await lance({}, command, '--market', 'nowhere', '--exit');
    assert.notEqual(code, 0);
    assert.match(stderr, new RegExp(marketNames.join(', ')));
  }
});
