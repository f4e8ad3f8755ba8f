/** How we fare in the auctions of a segment: what the fold counts is what rules see at the next decision, with its age. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewChanges } from '../../src/bidding/evolve.ts';
import { readMarketFacts } from '../../src/bidding/market-facts.ts';
import type { Views } from '../../src/bidding/ports.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { marketFacts } from '../../src/rules/facts.ts';
import { createViewsModel } from '../conformance/views-model.ts';
import { accepted, answered, at, bid, claimed, ended, folded, offer, requested, settings, trace } from './parts.ts';

const segmentKeys = ['all', 'all|employer.sector=commerce'];
const hourMs = 3_600_000;
const halfLifeMs = 1_000_000 * hourMs;
const terms = { ...settings, halfLifeMs };

function createBook() {
  const model = createViewsModel();
  const views = {
    statistics: async (keys: readonly string[]) =>
      new Map(keys.flatMap((key) => (model.statistic(key) === undefined ? [] : [[key, model.statistic(key)!]]))),
  } as unknown as Views;
  let played = 0;
  /** An auction of ours that ended at this place; `counted` false: its decision looked at no such fact. */
  const play = (position: number, { moment = at, keys = segmentKeys, counted = true } = {}) => {
    const requestId = `${played}`;
    played += 1;
    const rival = bid('rival', { rateHundredths: 200, position: position === 1 ? 2 : 1 });
    const ledger = counted ? { ledger: { 'market.auctions': 0 } } : {};
    const claim = claimed('a:1', { at: moment, trace: { ...trace, segmentKeys: keys, ...ledger } });
    const end = ended([rival, bid('ours', { position, rateHundredths: offer.rateHundredths })]);
    const records = [requested(), claim, answered(accepted), { ...end, at: moment }].map(
      (record) => ({ ...record, requestId }) as AuctionRecord,
    );
    for (const [index, record] of records.entries()) {
      const before = index === 0 ? null : folded(...records.slice(0, index));
      const changes = viewChanges(before, folded(...records.slice(0, index + 1)), record, terms);
      model.apply({ partition: 0, first: 0, next: 1, changes });
    }
  };
  const see = async (now = at, keys = segmentKeys) =>
    (await readMarketFacts(views, marketFacts, [keys], now, halfLifeMs))[0]!;
  return { play, see };
}

test('win rate and mean place are told from 20 auctions of the segment on, with how many and how old they are', async () => {
  const book = createBook();
  assert.deepEqual(await book.see(), { 'market.auctions': 0, 'market.hourAuctions': 0 });
  for (let index = 0; index < 19; index += 1) book.play(index % 4 === 0 ? 1 : 3);
  assert.deepEqual(await book.see(), { 'market.auctions': 19, 'market.hourAuctions': 19 });
  book.play(3);
  const seen = await book.see(at + 30 * 60_000);
  const all = { winRate: 0.25, position: 2.5, auctions: 20, ageMinutes: 30 };
  assert.deepEqual(seen, {
    'market.auctions': all.auctions,
    'market.winRate': all.winRate,
    'market.position': all.position,
    'market.ageMinutes': all.ageMinutes,
    'market.hourAuctions': all.auctions,
    'market.hourWinRate': all.winRate,
    'market.hourPosition': all.position,
    'market.hourAgeMinutes': all.ageMinutes,
  });
});

test('another segment and another hour of the day have figures of their own', async () => {
  const book = createBook();
  for (let index = 0; index < 20; index += 1) book.play(1);
  for (let index = 0; index < 20; index += 1) book.play(2, { moment: at + 3 * hourMs });
  const now = at + 3 * hourMs;
  const seen = await book.see(now);
  assert.deepEqual([seen['market.auctions'], seen['market.winRate'], seen['market.ageMinutes']], [40, 0.5, 90]);
  assert.deepEqual(
    [seen['market.hourAuctions'], seen['market.hourWinRate'], seen['market.hourAgeMinutes']],
    [20, 0, 0],
  );
  assert.equal((await book.see(at))['market.hourWinRate'], 1);
  assert.equal((await book.see(now, ['all', 'all|employer.sector=public']))['market.auctions'], 0);
  assert.equal((await book.see(now, ['all']))['market.auctions'], 0);
});

test('what grows old counts for less, until nothing is told any more', async () => {
  const book = createBook();
  for (let index = 0; index < 30; index += 1) book.play(1);
  assert.equal((await book.see(at + halfLifeMs / 2))['market.auctions'], 21);
  const old = await book.see(at + halfLifeMs);
  assert.deepEqual([old['market.auctions'], old['market.winRate']], [15, undefined]);
});

test('only auctions are counted whose decision looked at such facts: what was folded before stays as it was', async () => {
  const book = createBook();
  for (let index = 0; index < 25; index += 1) book.play(1, { counted: false });
  assert.equal((await book.see())['market.auctions'], 0);
});

test('nothing is read where no rule asks, and only what is asked for is told', async () => {
  assert.deepEqual(await readMarketFacts({} as Views, ['desk.winRate'], [segmentKeys], at, halfLifeMs), [undefined]);
  const { statistics } = { statistics: async () => new Map() };
  const views = { statistics } as unknown as Views;
  const seen = await readMarketFacts(views, ['market.hourWinRate'], [segmentKeys, null], at, halfLifeMs);
  assert.deepEqual(seen, [{ 'market.auctions': 0 }, undefined]);
});
