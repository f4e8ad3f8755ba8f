/**
 * The price on made-up markets whose distribution is known: the surplus that the desk's bids would earn as a share of what
 * somebody earns who knows the true distribution in each state. Curves and statistics are the desk's own; the plain histogram
 * of the best rival rate runs beside it on the same draws. Bids are scored by their expected surplus in the true state.
 */

import type { Trial } from '../src/domain/offer.ts';
import { chanceOf } from '../src/impact/chance.ts';
import { breakEvensOf, createLearner, createPlain, firstScored, liveBreakEvens } from '../src/impact/learn.ts';
import type { Layout } from '../src/pricing/additive.ts';
import type { PricingSettings } from '../src/pricing/settings.ts';
import { bestRates } from '../src/pricing/trial.ts';
import { createShared } from '../src/pricing/win-curve.ts';
import { segmentKeysOf } from '../src/rules/keys.ts';
import { type Benchmark, rounded } from './figures.ts';
import { type Auction, drawBest, trueWin, undercutCrowds, type World, worlds } from './market-worlds.ts';
import { configOf, environmentOf, shippedRules } from './workload.ts';

type WinCurveSettings = PricingSettings['winCurve'];

const batch = 20;
const halfLifeMs = 14 * 86_400_000;

/** Surplus an auction, hundredths of a percent a month. */
type Earned = { policy: number; histogram: number; oracle: number };

type Known = { win: Float64Array; rates: Int32Array };
/** `won`: what we won it with. */
type Result = { knownAt: number; index: number; cell: number; trial: Trial | null; won: number | null };

function expected(rates: Int32Array, breakEvens: Float64Array, truth: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < rates.length; index += 1) {
    sum += (rates[index]! - breakEvens[index]!) * truth[rates[index]!]!;
  }
  return sum / rates.length;
}

function layoutOf({ levels }: World): { layout: Layout; levelsOf: (auction: Auction) => number[] } {
  const starts: number[] = [];
  let columns = 0;
  for (const count of levels) {
    starts.push(columns);
    columns += count;
  }
  return {
    layout: { name: 'market', columns },
    levelsOf: ({ features }) => features.map((level, place) => starts[place]! + level),
  };
}

/** Break-evens by the best rival rates of the whole run, which is what a file of it would hold. */
function playMarket(world: World, winCurve: WinCurveSettings, seed: number): Earned {
  const chance = chanceOf(seed);
  const cells = world.auctions.map(({ crowds }) => drawBest(crowds(), chance));
  const breakEvens = breakEvensOf(
    cells.map((bestRivalCell) => ({ bestRivalCell, bestRivalOffGrid: false })),
    'mid',
    liveBreakEvens,
  );
  if (world.undercut) return playUndercut(world, winCurve, breakEvens, seed);
  const learner = createLearner(winCurve, breakEvens, { halfLifeMs });
  const plain = createPlain();
  const truths = new Map<string, Known>();
  const truthOf = ({ state, crowds }: Auction): Known => {
    const known = truths.get(state);
    if (known !== undefined) return known;
    const win = trueWin(crowds());
    const made = { win, rates: bestRates(win, breakEvens) };
    truths.set(state, made);
    return made;
  };
  const keyLists = new Map<string, readonly string[]>();
  const keysOf = ({ dimensions }: Auction): readonly string[] => {
    const name = dimensions.join('|');
    const keys = keyLists.get(name) ?? segmentKeysOf(dimensions.map((label) => `|${label}`));
    keyLists.set(name, keys);
    return keys;
  };
  const { layout, levelsOf } = layoutOf(world);
  const ownChance = chanceOf(seed + 5_000);
  const waiting: Result[] = [];
  const total: Earned = { policy: 0, histogram: 0, oracle: 0 };
  let scored = 0;
  for (let start = 0; start < world.auctions.length; start += batch) {
    const now = world.auctions.slice(start, start + batch);
    const { at } = now[0]!;
    let learnt = 0;
    while (learnt < waiting.length && waiting[learnt]!.knownAt <= at) {
      const { index, cell, trial, won } = waiting[learnt]!;
      const auction = world.auctions[index]!;
      const seen = { bestRivalCell: cell, bestRivalOffGrid: false };
      learner.learn({ ...seen, wonHundredths: won }, keysOf(auction), trial, auction.at);
      plain.add(seen);
      learnt += 1;
    }
    waiting.splice(0, learnt);
    const shared = createShared();
    const plainRates = start === 0 ? null : bestRates(plain.win(), breakEvens);
    for (const [place, auction] of now.entries()) {
      const index = start + place;
      const decided = learner.decide(keysOf(auction), { layout, levels: levelsOf(auction) }, shared, at);
      // Draws of its own: what comes in the market does not depend on what we bid.
      const own = bestRates(decided.win, breakEvens)[Math.floor(ownChance() * breakEvens.length)]!;
      const won = own < cells[index]! || (own === cells[index]! && ownChance() < 0.5) ? own : null;
      if (chance() >= world.missing) {
        waiting.push({ knownAt: auction.at + world.delayMs, index, cell: cells[index]!, trial: decided.trial, won });
      }
      if (index < firstScored) continue;
      const truth = truthOf(auction);
      scored += 1;
      total.policy += expected(bestRates(decided.win, breakEvens), breakEvens, truth.win);
      total.histogram += plainRates === null ? 0 : expected(plainRates, breakEvens, truth.win);
      total.oracle += expected(truth.rates, breakEvens, truth.win);
    }
  }
  return { policy: total.policy / scored, histogram: total.histogram / scored, oracle: total.oracle / scored };
}

/** What a bidder in a market with an undercutter does: rates for all break-evens, and what it is told of each auction. */
type Bidder = {
  rates: (at: number, latest: number | null) => { rates: Int32Array; trial: Trial | null };
  learn: (cell: number, trial: Trial | null, at: number, won: number | null) => void;
};

/**
 * Rivals answer our own bids, so each bidder plays in a market of its own, by the same draws. Each auction has one break-even;
 * what was won with becomes known with the results of its batch.
 */
function playAgainstUndercutter({ auctions }: World, breakEvens: Float64Array, bidder: Bidder, seed: number): number {
  const chance = chanceOf(seed + 1);
  let latest: number | null = null;
  let total = 0;
  let scored = 0;
  const truths = new Map<number | null, Float64Array>();
  for (let start = 0; start < auctions.length; start += batch) {
    const now = auctions.slice(start, start + batch);
    const crowds = undercutCrowds(latest);
    const truth = truths.get(latest) ?? trueWin(crowds);
    truths.set(latest, truth);
    const { rates, trial } = bidder.rates(now[0]!.at, latest);
    const results: { cell: number; at: number; won: number | null }[] = [];
    let won: number | null = latest;
    for (const [place, { at }] of now.entries()) {
      const index = Math.floor(chance() * breakEvens.length);
      const rate = rates[index]!;
      const cell = drawBest(crowds, chance);
      const tie = chance() < 0.5;
      const wins = rate < cell || (rate === cell && tie);
      if (wins) won = rate;
      results.push({ cell, at, won: wins ? rate : null });
      if (start + place < firstScored) continue;
      total += (rate - breakEvens[index]!) * truth[rate]!;
      scored += 1;
    }
    latest = won;
    for (const result of results) bidder.learn(result.cell, trial, result.at, result.won);
  }
  return total / scored;
}

function playUndercut(world: World, winCurve: WinCurveSettings, breakEvens: Float64Array, seed: number): Earned {
  const learner = createLearner(winCurve, breakEvens, { halfLifeMs });
  const plain = createPlain();
  const market = segmentKeysOf([]);
  const nothing = { layout: layoutOf(world).layout, levels: [] };
  const policy: Bidder = {
    rates: (at) => {
      const { win, trial } = learner.decide(market, nothing, createShared(), at);
      return { rates: bestRates(win, breakEvens), trial };
    },
    learn: (cell, trial, at, won) =>
      learner.learn({ bestRivalCell: cell, bestRivalOffGrid: false, wonHundredths: won }, market, trial, at),
  };
  const flat = new Float64Array(trueWin(undercutCrowds(null)).length).fill(0.5);
  let seen = 0;
  const histogram: Bidder = {
    rates: () => ({ rates: bestRates(seen === 0 ? flat : plain.win(), breakEvens), trial: null }),
    learn: (cell) => {
      plain.add({ bestRivalCell: cell, bestRivalOffGrid: false });
      seen += 1;
    },
  };
  const oracle: Bidder = {
    rates: (_at, latest) => ({ rates: bestRates(trueWin(undercutCrowds(latest)), breakEvens), trial: null }),
    learn: () => undefined,
  };
  const play = (bidder: Bidder) => playAgainstUndercutter(world, breakEvens, bidder, seed);
  return { policy: play(policy), histogram: play(histogram), oracle: play(oracle) };
}

/** Two-sided 95 % quantiles of Student's t by degrees of freedom from 1 on; beyond them the normal one is close enough. */
const studentT = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13];

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** 95 % interval of the mean over seeds. */
function intervalOf(values: readonly number[]): [low: number, high: number] {
  const mean = meanOf(values);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const reach = (studentT[values.length - 2] ?? 1.96) * Math.sqrt(squares / (values.length - 1) / values.length);
  return [mean - reach, mean + reach];
}

type MarketFigures = { policy: number; histogram: number; oracle: number; low: number; high: number };

function summarise(earned: readonly Earned[], asShare: boolean): MarketFigures {
  const digits = asShare ? 4 : 2;
  const scaled = earned.map(({ policy, histogram, oracle }) => {
    const unit = asShare ? oracle : 1;
    return { policy: policy / unit, histogram: histogram / unit, oracle };
  });
  const [low, high] = intervalOf(scaled.map(({ policy }) => policy));
  return {
    policy: rounded(meanOf(scaled.map(({ policy }) => policy)), digits),
    histogram: rounded(meanOf(scaled.map(({ histogram }) => histogram)), digits),
    oracle: rounded(meanOf(scaled.map(({ oracle }) => oracle)), 2),
    low: rounded(low, digits),
    high: rounded(high, digits),
  };
}

/** `SEEDS` and `MARKETS` (names, with commas) narrow it down. */
export const markets: Benchmark = {
  run: async (say) => {
    const places = { dataDir: 'unused', rulesDir: shippedRules, baseUrl: 'http://127.0.0.1:1' };
    const { winCurve } = configOf(environmentOf(places)).pricing;
    const seeds = Array.from({ length: Math.max(2, Number(process.env.SEEDS ?? 4)) }, (_, index) => index + 1);
    const names = process.env.MARKETS?.split(',') ?? Object.keys(worlds);
    const found: Record<string, MarketFigures> = {};
    say('share of the surplus of an oracle that knows the true distribution (undercutter: surplus an auction)');
    for (const name of names) {
      const make = worlds[name];
      if (make === undefined) throw new Error(`no market ${name}; known are ${Object.keys(worlds).join(', ')}`);
      let undercut = false;
      const earned = seeds.map((seed) => {
        const world = make(chanceOf(1_000 + seed));
        undercut = world.undercut;
        return playMarket(world, winCurve, seed);
      });
      const figures = summarise(earned, !undercut);
      found[name] = figures;
      const { policy, low, high, histogram, oracle } = figures;
      // What an oracle earns depends on the break-evens: only the share can be held against what others measured.
      const share = undercut ? `, which is ${rounded(policy / oracle, 4)} of the oracle's` : '';
      say(
        `${name.padEnd(14)} ${policy} (${low} … ${high})${share}, plain histogram ${histogram}, oracle earns ${oracle}`,
      );
    }
    return { markets: found, seeds: seeds.length };
  },
};
