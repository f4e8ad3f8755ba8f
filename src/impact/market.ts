/**
 * What the desk has learnt of its market, for people who look at it while it runs: how the best rivals bid of late by segment, where our
 * bids came, and the figures of the model card. Reads the latest requests alone, a page at a time, so that decisions go on meanwhile.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { eachBid } from '../bidding/bid-search.ts';
import { unreadClaimId } from '../bidding/evolve.ts';
import type { Views } from '../bidding/ports.ts';
import { cellCount, type EpochMs, noRivalCell, type RateHundredths } from '../domain/glossary.ts';
import type { RequestState } from '../domain/states.ts';
import { wholeMarket } from '../rules/keys.ts';
import { type ModelCard, type ModelCardOptions, readModelCard } from './model-card.ts';

/** As many as a search among bids looks at. */
const mostRequests = 2_000;
const rowsEachTurn = 100;
const mostGroups = 20;
/** A quantile of fewer would say little. */
const leastInGroup = 10;
/** Width of a bar of what was learnt. */
const barHundredths = 5;
const tail = 0.1;

/** The best rival: the middle 80 % of its rates and their median; null: nobody else bid. `ours`: median of our rates; null: no bid. */
export type MarketRates = {
  auctions: number;
  withoutRivals: number;
  rivals: { low: RateHundredths; median: RateHundredths; high: RateHundredths } | null;
  ours: RateHundredths | null;
};

export type Market = {
  at: EpochMs;
  /** Requests that were looked at, and whether there are older ones. */
  requests: number;
  isCut: boolean;
  card: Pick<ModelCard, 'data' | 'weights' | 'segments' | 'bins'>;
  /** In the order of `card.segments`; `key` as there. */
  rates: readonly (MarketRates & { key: string | null })[];
  /** The same auctions in groups as large, the oldest first; `to`: how many auctions had ended with the last of the group. */
  groups: readonly (MarketRates & { to: number })[];
  /** Our bids by their place among those published; the last is for all places from there on. */
  places: readonly { place: number; bids: number }[];
  /** Rate of the best rival less ours, where it bid: of bids that won, and of those that did not. Medians; null: there was none. */
  gaps: { won: number | null; lost: number | null };
  /** Shares of what was learnt of the whole market, the latest results counting most, by rates from `from` on. Empty: nothing was. */
  learnt: { bars: readonly { from: RateHundredths; share: number }[]; withoutRivals: number };
};

type Seen = { rival: number; ours: number | null; place: number | null; key: string };

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(share * (sorted.length - 1))))]!;
}

function median(values: readonly number[]): number | null {
  return values.length === 0
    ? null
    : quantile(
        values.toSorted((left, right) => left - right),
        0.5,
      );
}

function ratesIn(seen: readonly Seen[]): MarketRates {
  const sorted = seen.flatMap(({ rival }) => (rival === noRivalCell ? [] : rival)).sort((left, right) => left - right);
  return {
    auctions: seen.length,
    withoutRivals: seen.length - sorted.length,
    rivals:
      sorted.length === 0
        ? null
        : { low: quantile(sorted, tail), median: quantile(sorted, 0.5), high: quantile(sorted, 1 - tail) },
    ours: median(seen.flatMap(({ ours }) => ours ?? [])),
  };
}

/** Null: it teaches nothing of the market. */
function seenIn({ request, auction, claim, segmentKeys }: RequestState): Seen | null {
  if (request === null || auction === null || auction.bestRivalCell === null) return null;
  const isOurs = claim !== null && claim.claimId !== unreadClaimId && auction.position !== null;
  return {
    rival: auction.bestRivalCell,
    ours: isOurs ? claim.offer.rateHundredths : null,
    place: isOurs ? auction.position : null,
    key: segmentKeys.at(-1) ?? wholeMarket,
  };
}

const lastPlace = 5;

function placesOf(seen: readonly Seen[]): Market['places'] {
  return Array.from({ length: lastPlace }, (_, before) => {
    const place = before + 1;
    const bids = seen.filter((each) => each.place !== null && Math.min(each.place, lastPlace) === place).length;
    return { place, bids };
  });
}

function gapsOf(seen: readonly Seen[]): Market['gaps'] {
  const gap = (isWon: boolean) =>
    median(
      seen.flatMap(({ rival, ours, place }) =>
        ours === null || rival === noRivalCell || (place === 1) !== isWon ? [] : rival - ours,
      ),
    );
  return { won: gap(true), lost: gap(false) };
}

function groupsOf(seen: readonly Seen[]): Market['groups'] {
  const count = Math.min(mostGroups, Math.floor(seen.length / leastInGroup));
  return Array.from({ length: count }, (_, group) => {
    const [from, to] = [Math.floor((group * seen.length) / count), Math.floor(((group + 1) * seen.length) / count)];
    return { ...ratesIn(seen.slice(from, to)), to };
  });
}

async function learntOf(statistics: Views['statistics']): Promise<Market['learnt']> {
  const cells = (await statistics([wholeMarket])).get(wholeMarket)?.cells;
  const total = cells?.reduce((sum, weight) => sum + weight, 0) ?? 0;
  if (cells === undefined || total <= 0) return { bars: [], withoutRivals: 0 };
  const shares = new Map<number, number>();
  for (const [index, weight] of cells.entries()) {
    // The second half lies just below its cell.
    const cell = index < cellCount ? index : index - cellCount;
    if (index === noRivalCell || weight === 0) continue;
    const from = Math.floor(cell / barHundredths) * barHundredths;
    shares.set(from, (shares.get(from) ?? 0) + weight / total);
  }
  const known = [...shares.keys()].sort((left, right) => left - right);
  const [first = 0, last = -1] = [known[0], known.at(-1)];
  const bars = Array.from({ length: Math.floor((last - first) / barHundredths) + 1 }, (_, place) => {
    const from = first + place * barHundredths;
    return { from, share: shares.get(from) ?? 0 };
  });
  return { bars, withoutRivals: cells[noRivalCell]! / total };
}

async function latest(views: Pick<Views, 'query'>): Promise<{ states: RequestState[]; isCut: boolean }> {
  const states: RequestState[] = [];
  for await (const state of eachBid(views, {})) {
    if (states.length === mostRequests) return { states, isCut: true };
    states.push(state);
    if (states.length % rowsEachTurn === 0) await nextTurn();
  }
  return { states, isCut: false };
}

export async function readMarket(
  views: Pick<Views, 'query' | 'statistics'>,
  options: Omit<ModelCardOptions, 'statistics' | 'onRow'>,
): Promise<Market> {
  const { statistics } = views;
  const { states, isCut } = await latest(views);
  async function* each() {
    for (const [place, state] of states.entries()) {
      if (place % rowsEachTurn === 0) await nextTurn();
      yield state;
    }
  }
  const { data, weights, segments, bins } = await readModelCard(each(), {
    ...options,
    statistics: async (keys) => {
      await nextTurn();
      return statistics(keys);
    },
    onRow: () => undefined,
  });
  const seen = states.flatMap((state) => seenIn(state) ?? []).reverse();
  const listed = new Set(segments.flatMap(({ key }) => key ?? []));
  const ofSegment = (key: string | null) => {
    if (key === wholeMarket) return seen;
    return seen.filter((one) => (key === null ? one.key === wholeMarket || !listed.has(one.key) : one.key === key));
  };
  return {
    ...{ at: options.at, requests: states.length, isCut },
    card: { data, weights, segments, bins },
    rates: segments.map(({ key }) => ({ key, ...ratesIn(ofSegment(key)) })),
    groups: groupsOf(seen),
    places: placesOf(seen),
    gaps: gapsOf(seen),
    learnt: await learntOf(statistics),
  };
}
