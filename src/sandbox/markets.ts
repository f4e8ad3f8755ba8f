/**
 * Markets to play beside the one where rivals price by segments. In each the rivals of one auction are independent of each
 * other given a state, and each has a distribution over the grid, so the distribution of the best of them is counted out for
 * whoever judges. The shapes are those of `npm run bench -- markets`, moved to what a loan of the segment costs.
 */
import {
  cellCount,
  maxRateHundredths,
  minRateHundredths,
  noRivalCell,
  type RateHundredths,
} from '../domain/glossary.ts';
import { chanceOf, normal } from './chance.ts';
import type { MarketName } from './market-names.ts';
import { requestAt } from './population.ts';
import { type BestRival, modelRivals, normalBelow, type RivalBid, type Rivals } from './rivals.ts';
import { type Segment, segmentCostHundredths, type WorldSettings } from './world.ts';

/** Probability of each rate; what is left to 1 is that the lender does not bid. */
type Mass = Float64Array;

type Place = { index: number; segment: Segment; world: WorldSettings; seed: string };
/** What the rivals of an auction are drawn from. Equal keys have equal lenders. */
type State = { key: string; lenders: () => Mass[] };
type Market = {
  stateOf: (place: Place, lastWin: RateHundredths | null) => State;
  /** It answers to what we have won with. */
  followsUs?: boolean;
};

/** What rivals ask of a segment on average, and how far their views of it are stretched: guaranteed loans are a narrow market. */
function middleOf({ world, segment }: Place): { middle: number; width: number } {
  const width = segment.guaranteed ? 0.5 : 1;
  return { middle: segmentCostHundredths(world, segment) + 100 * width, width };
}

function normalMass(participation: number, mean: number, deviation: number): Mass {
  const mass = new Float64Array(cellCount);
  let below = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const to = cell === maxRateHundredths ? 1 : normalBelow((cell + 0.5 - mean) / deviation);
    mass[cell] = participation * (to - below);
    below = to;
  }
  return mass;
}

function uniformMass(participation: number, from: number, to: number): Mass {
  const mass = new Float64Array(cellCount);
  const [low, high] = [Math.max(minRateHundredths, Math.round(from)), Math.min(maxRateHundredths, Math.round(to))];
  for (let cell = low; cell <= high; cell += 1) mass[cell] = participation / (high - low + 1);
  return mass;
}

/** Exponential above a sharp edge. */
function edgeMass(participation: number, edge: number, mean: number): Mass {
  const mass = new Float64Array(cellCount);
  const first = Math.max(minRateHundredths, Math.round(edge));
  let left = 1;
  for (let cell = first; cell <= maxRateHundredths; cell += 1) {
    const after = cell === maxRateHundredths ? 0 : Math.exp(-(cell + 1 - first) / mean);
    mass[cell] = participation * (left - after);
    left = after;
  }
  return mass;
}

function both(left: Mass, right: Mass): Mass {
  return left.map((share, cell) => share + right[cell]!);
}

/** Guaranteed loans have a ceiling: what lies above it is bid at it. */
function cappedMass(mass: Mass, ceiling: RateHundredths): Mass {
  const capped = mass.slice();
  for (let cell = ceiling + 1; cell < cellCount; cell += 1) {
    capped[ceiling]! += capped[cell]!;
    capped[cell] = 0;
  }
  return capped;
}

function times(count: number, mass: Mass): Mass[] {
  return Array.from({ length: count }, () => mass);
}

function levelOf(value: number, bounds: readonly number[]): number {
  return bounds.filter((bound) => value >= bound).length;
}

const additiveEffect = 25;

/** Levels of features that are no dimension of the shipped segments, in bands of round numbers, as price lists have them. */
function levelsOf({ world, seed, index }: Place): readonly number[] {
  const { worker, amountCents, installments } = requestAt(world, seed, index, 1);
  return [
    levelOf(amountCents, [100_000, 200_000, 350_000, 500_000, 800_000]),
    levelOf(installments, [9, 15, 21, 30, 42]),
    levelOf(worker.ageDays / 365.25, [25, 35, 45, 55]),
    levelOf(worker.tenureDays / 30.4375, [6, 12, 24, 36, 60, 120]),
  ];
}

const seasonAuctions = 240;
const seasonStepAt = 8 * seasonAuctions;
const sparseGroups = 80;

const markets: Readonly<Record<Exclude<MarketName, 'segments' | 'shocks'>, Market>> = {
  additive: {
    stateOf: (place) => {
      const { middle, width } = middleOf(place);
      const levels = levelsOf(place);
      const effects = levels.map((level, feature) => {
        return additiveEffect * normal(chanceOf(place.seed, 'market', 'additive', feature, level));
      });
      const mean = middle + width * (35 + effects.reduce((sum, effect) => sum + effect, 0));
      return { key: levels.join('/'), lenders: () => times(3, normalMass(0.8, mean, 20 * width)) };
    },
  },
  season: {
    stateOf: (place) => {
      const { middle, width } = middleOf(place);
      const hour = Math.floor((24 * (place.index % seasonAuctions)) / seasonAuctions);
      const later = place.index >= seasonStepAt ? 25 : 0;
      const mean = middle + width * (35 + 30 * Math.sin((2 * Math.PI * hour) / 24) + later);
      return { key: `${hour}/${later}`, lenders: () => times(3, normalMass(0.8, mean, 22 * width)) };
    },
  },
  edge: {
    stateOf: (place) => {
      const { middle, width } = middleOf(place);
      const lender = (participation: number) =>
        both(
          uniformMass(0.06 * participation, middle - 80 * width, middle - 20 * width),
          edgeMass(0.94 * participation, middle + 10 * width, 25 * width),
        );
      return { key: '', lenders: () => [lender(1), lender(0.5), lender(0.5)] };
    },
  },
  sparse: {
    stateOf: (place) => {
      const { middle, width } = middleOf(place);
      const { sector, tenure, guaranteed } = place.segment;
      const term = requestAt(place.world, place.seed, place.index, 1).installments;
      const place80 = chanceOf(place.seed, 'market', 'sparse', sector, tenure, `${guaranteed}`, term);
      const group = Math.floor(sparseGroups * place80());
      const chance = chanceOf(place.seed, 'market', 'sparse', group);
      const mean = middle + width * (25 + 50 * normal(chance));
      const deviation = width * (14 + 10 * chance());
      return { key: `${group}`, lenders: () => times(2, normalMass(0.9, mean, deviation)) };
    },
  },
  undercutter: {
    followsUs: true,
    stateOf: (place, lastWin) => {
      const { middle, width } = middleOf(place);
      const usual = (share: number) => normalMass(share, middle + 45 * width, 30 * width);
      const follower = () =>
        lastWin === null ? usual(1) : both(uniformMass(0.5, lastWin - 5, lastWin - 1), usual(0.5));
      return { key: `${lastWin}`, lenders: () => [follower(), normalMass(1, middle + 55 * width, 40 * width)] };
    },
  },
};

function bestOf(lenders: readonly Mass[]): BestRival {
  const best = new Float64Array(cellCount);
  const reached = lenders.map(() => 0);
  let before = 1;
  let medianHundredths = maxRateHundredths;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    let above = 1;
    for (const [place, mass] of lenders.entries()) {
      reached[place]! += mass[cell]!;
      above *= 1 - Math.min(1, reached[place]!);
    }
    best[cell] = before - above;
    before = above;
  }
  const exact = best.slice();
  best[noRivalCell] = before;
  let sum = 0;
  for (let cell = 0; cell <= maxRateHundredths; cell += 1) {
    sum += best[cell]!;
    if (sum < (1 - before) / 2) continue;
    medianHundredths = cell;
    break;
  }
  return { best, exact, medianHundredths };
}

/** The world as the market changes it: `shocks` moves all rivals together, by fifths of the stream. */
export function worldOf(name: MarketName): Partial<Pick<WorldSettings, 'regimes'>> {
  if (name === 'segments') return {};
  const moves = name === 'shocks' ? [0, -60, -60, 40, -20] : [0];
  return { regimes: moves.map((markupHundredths) => ({ markupHundredths, participation: 1 })) };
}

/** `world` with what `worldOf` says of it. */
export function marketRivals(name: MarketName, world: WorldSettings, seed: string): Rivals {
  if (name === 'segments' || name === 'shocks') return modelRivals(world, seed);
  const market = markets[name];
  const states = new Map<number, State>();
  const lendersOf = new Map<string, Mass[]>();
  const bestByKey = new Map<string, BestRival>();
  let lastWin: RateHundredths | null = null;
  const stateAt = (index: number, segment: Segment): State => {
    const known = states.get(index);
    if (known !== undefined) return known;
    const { key, lenders } = market.stateOf({ index, segment, world, seed }, lastWin);
    const { sector, tenure, guaranteed } = segment;
    const state = { key: `${sector}/${tenure}/${guaranteed}/${key}`, lenders };
    states.set(index, state);
    return state;
  };
  const lendersIn = ({ key, lenders }: State, { guaranteed }: Segment): Mass[] => {
    const known = lendersOf.get(key);
    if (known !== undefined) return known;
    const made = guaranteed ? lenders().map((mass) => cappedMass(mass, world.guaranteedMaxHundredths)) : lenders();
    lendersOf.set(key, made);
    return made;
  };
  return {
    bidsOn: (index, segment) => {
      const chance = chanceOf(seed, 'rivals', index);
      const bids: RivalBid[] = [];
      for (const [place, mass] of lendersIn(stateAt(index, segment), segment).entries()) {
        let left = chance();
        const arrivesAt = world.rivalArrival.from + chance() * (world.rivalArrival.to - world.rivalArrival.from);
        const rateHundredths = mass.findIndex((share) => {
          left -= share;
          return left < 0;
        });
        if (rateHundredths >= 0) bids.push({ lender: `lender-${place + 1}`, rateHundredths, arrivesAt });
      }
      return bids;
    },
    bestRival: (segment, _regime, index = 0) => {
      const state = stateAt(index, segment);
      const known = bestByKey.get(state.key);
      if (known !== undefined) return known;
      const made = bestOf(lendersIn(state, segment));
      bestByKey.set(state.key, made);
      return made;
    },
    ...(market.followsUs === true && {
      published: (ranked) => {
        const best = ranked[0];
        if (best?.rival === null) lastWin = Math.ceil(best.rateHundredths);
      },
    }),
  };
}
