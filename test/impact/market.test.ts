/** What is told of the market: counted by hand from a few auctions, the latest alone, whoever else bid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cursorOf, type LedgerQuery } from '../../src/bidding/ports.ts';
import { noRivalCell } from '../../src/domain/glossary.ts';
import { emptyHistogram, foldSums, timeAlone } from '../../src/domain/histogram.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { readMarket } from '../../src/impact/market.ts';
import { accepted, answered, at, bid, claimed, ended, folded, offer, requested, trace } from '../bidding/parts.ts';
import { settings } from '../pricing/setting.ts';

/** Our bid at 2.50 %, at this place, against a best rival. */
function auctioned(index: number, rival: number | null, place: number, segment = 'all|s=a'): RequestState {
  const rivals = rival === null ? [] : [bid('theirs', { rateHundredths: rival, position: place === 1 ? 2 : 1 })];
  const ours = bid('ours', { position: place });
  const state = folded(
    requested(),
    claimed('a:1', { offer, trace: { ...trace, segmentKeys: ['all', segment] } }),
    answered(accepted),
    ended([ours, ...rivals]),
  );
  return { ...state, requestId: String(index), decidedAt: at + index };
}

function viewsOf(states: readonly RequestState[], histogram = emptyHistogram(at)) {
  const latestFirst = states.toSorted((left, right) => (cursorOf(left) < cursorOf(right) ? 1 : -1));
  return {
    query: async ({ limit, before }: LedgerQuery) =>
      latestFirst
        .filter((state) => before === null || cursorOf(state) < before)
        .slice(0, limit)
        .map((state) => ({ state })) as never,
    statistics: async (keys: readonly string[]) =>
      new Map(keys.filter((key) => key === 'all' && histogram.count > 0).map((key) => [key, histogram])),
  };
}

const options = { at: at + 100_000, halfLifeMs: 86_400_000, winCurve: settings.winCurve };

test('rates, places and gaps are those of the auctions, by segment and over time', async () => {
  const states = [
    ...Array.from({ length: 10 }, (_, index) => auctioned(index, 300, 1)),
    ...Array.from({ length: 9 }, (_, index) => auctioned(10 + index, 200, 2, 'all|s=b')),
    auctioned(19, null, 1, 'all|s=b'),
  ];
  const histogram = emptyHistogram(at);
  foldSums(histogram, [[301, 3]], at, timeAlone(86_400_000));
  foldSums(histogram, [[noRivalCell, 1]], at, timeAlone(86_400_000));
  const market = await readMarket(viewsOf(states, histogram), options);
  assert.deepEqual([market.requests, market.isCut, market.card.data.auctions], [20, false, 20]);
  const [whole] = market.rates;
  const [first, second] = ['all|s=a', 'all|s=b'].map((key) => market.rates.find((each) => each.key === key));
  assert.deepEqual(
    { ...whole },
    { key: 'all', auctions: 20, withoutRivals: 1, rivals: { low: 200, median: 300, high: 300 }, ours: 250 },
  );
  assert.deepEqual([first?.key, first?.rivals?.median, first?.withoutRivals], ['all|s=a', 300, 0]);
  assert.deepEqual([second?.key, second?.rivals?.median, second?.withoutRivals], ['all|s=b', 200, 1]);
  assert.deepEqual(
    market.groups.map(({ to, rivals }) => [to, rivals?.median]),
    [
      [10, 300],
      [20, 200],
    ],
  );
  assert.deepEqual(
    market.places.map(({ bids }) => bids),
    [11, 9, 0, 0, 0],
  );
  assert.deepEqual(market.gaps, { won: 50, lost: -50 });
  assert.deepEqual(market.learnt, { bars: [{ from: 300, share: 0.75 }], withoutRivals: 0.25 });
});

test('only the latest requests are looked at, and where nothing is known that is told', async () => {
  const many = Array.from({ length: 2_001 }, (_, index) => auctioned(index, index === 0 ? 100 : 300, 1));
  const cut = await readMarket(viewsOf(many), options);
  assert.deepEqual([cut.requests, cut.isCut, cut.rates[0]?.rivals?.low], [2_000, true, 300]);
  const empty = await readMarket(viewsOf([]), options);
  assert.deepEqual(empty.rates[0], { key: 'all', auctions: 0, withoutRivals: 0, rivals: null, ours: null });
  assert.deepEqual(
    [empty.groups, empty.learnt, empty.gaps],
    [[], { bars: [], withoutRivals: 0 }, { won: null, lost: null }],
  );
});
