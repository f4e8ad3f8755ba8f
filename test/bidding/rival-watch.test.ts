/** Rivals that follow our bids are told from markets that move of their own accord, with a known share of false words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRivalWatch, isFollowing } from '../../src/bidding/rival-watch.ts';
import { chanceOf } from '../../src/impact/chance.ts';

const batch = 20;

type Market = { count: number; follows: number; drift: (index: number, chance: () => number) => number };

function normal(chance: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}

/** Batches of auctions; our rate keeps a distance to the rivals seen of late, by what the loan costs us. */
function play({ count, follows, drift }: Market, seed: number) {
  const chance = chanceOf(seed);
  const watch = createRivalWatch();
  let published = 280;
  let level = 300;
  let known = 300;
  for (let first = 0; first < count; first += batch) {
    let last = published;
    let sum = 0;
    for (let index = first; index < first + batch; index += 1) {
      level += drift(index, chance);
      const own = Math.round(known - 25 + 15 * normal(chance));
      const answers = chance() < follows;
      const rival = Math.round(answers ? published - 0.5 - 5 * chance() : level + 20 * normal(chance));
      const decidedAt = first * 1_000;
      watch.note({
        decidedAt,
        publishedAt: decidedAt + 900,
        ownHundredths: own,
        rivalHundredths: rival,
        won: own < rival,
      });
      if (own < rival) last = own;
      sum += rival;
    }
    published = last;
    known += 0.3 * (sum / batch - known);
  }
  return watch.following();
}

const still = () => 0;
const wandering = (_index: number, chance: () => number) => 1.5 * normal(chance);
const daily = (index: number) => 3 * Math.cos((2 * Math.PI * index) / 200);
const shocked = (index: number) => (index % 300 === 299 ? (index % 600 === 299 ? 40 : -40) : 0);

test('rivals that undercut what we published are noticed, and the interval holds how far they follow', (context) => {
  const found = Array.from({ length: 40 }, (_, seed) => play({ count: 1_500, follows: 0.5, drift: still }, seed + 1)!);
  const noticed = found.filter(isFollowing).length;
  const held = found.filter(({ low, high }) => low <= 0.5 && 0.5 <= high).length;
  context.diagnostic(`noticed ${noticed} of 40, the true slope held by ${held}`);
  assert.ok(noticed >= 36, `${noticed}`);
  assert.ok(held >= 34, `${held}`);
});

test('a market that moves of its own accord is not said to follow us', (context) => {
  for (const [name, drift] of Object.entries({ still, wandering, daily, shocked })) {
    const found = Array.from({ length: 40 }, (_, seed) => play({ count: 1_500, follows: 0, drift }, seed + 1)!);
    const noticed = found.filter(isFollowing).length;
    context.diagnostic(`${name}: ${noticed} of 40`);
    assert.ok(noticed <= 2, `${name} ${noticed}`);
  }
});

test('too few auctions, or bids that are all the same, say nothing', () => {
  assert.equal(play({ count: 200, follows: 0.5, drift: still }, 1), null);
  const watch = createRivalWatch();
  for (let index = 0; index < 500; index += 1) {
    watch.note({
      decidedAt: index,
      publishedAt: index,
      ownHundredths: 200,
      rivalHundredths: 210 + (index % 7),
      won: true,
    });
  }
  assert.equal(watch.following(), null);
});
