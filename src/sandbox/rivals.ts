/**
 * The other lenders. Behaviour models are discrete on purpose: a lender's view takes one of a few equally likely values,
 * so the distribution of the best rival rate can be counted out exactly for whoever judges, and not only sampled.
 */
import type { Chance } from '../domain/clock.ts';
import {
  cellCount,
  maxRateHundredths,
  minRateHundredths,
  noRivalCell,
  type RateHundredths,
} from '../domain/glossary.ts';
import { Fault } from '../errors.ts';
import { chanceOf } from './chance.ts';
import { type RivalLender, type Segment, segmentCostHundredths, type WorldSettings } from './world.ts';

export type RivalBid = {
  lender: string;
  /** May end in .5: half a hundredth below a cell of the grid. */
  rateHundredths: number;
  /** When it arrives, as a share of the window. */
  arrivesAt: number;
};

/** Where the best rival lies, by cell: off the grid it counts for the cell above; `noRivalCell` when nobody bids. */
export type BestRival = {
  best: Float64Array;
  /** The part of `best` that lies exactly on the cell: bidding it is a tie, settled by who came first. */
  exact: Float64Array;
  /** Median of the best rival rate where there is a rival. */
  medianHundredths: RateHundredths;
};

export type Rivals = {
  /** Bids on one request. `index` is its place in the run. */
  bidsOn: (index: number, segment: Segment, regime: number) => RivalBid[];
  /** `index` is the request's place, for markets where more than segment and regime counts. Equal distributions are one object. */
  bestRival: (segment: Segment, regime: number, index?: number) => BestRival;
  /** Hears the bids of an auction that has ended, best first; a `rival` of null is the partner's own. Absent: nobody listens. */
  published?: (ranked: readonly { rival: string | null; rateHundredths: number }[]) => void;
};

const commonSteps = 15;
const ownSteps = 31;

/** Share of a standard normal below x (Abramowitz and Stegun 26.2.17; its error of 1e-7 is far below a hundredth of a percent). */
export function normalBelow(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (poly * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
  return x > 0 ? 1 - tail : tail;
}

/** `steps` equally likely values of a standard normal: its quantiles at the middles of equal shares (bisected). */
function normalSteps(steps: number): number[] {
  return Array.from({ length: steps }, (_, step) => {
    let low = -6;
    let high = 6;
    for (let round = 0; round < 50; round += 1) {
      const middle = (low + high) / 2;
      if (normalBelow(middle) < (step + 0.5) / steps) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  });
}

const commonValues = normalSteps(commonSteps);
const ownValues = normalSteps(ownSteps);

/** Rate on the grid that a lender writes down for one view of a request. */
function rateOf(
  world: WorldSettings,
  who: RivalLender,
  segment: Segment,
  regime: number,
  common: number,
  own: number,
): RateHundredths {
  const shift = world.regimes[regime]?.markupHundredths ?? 0;
  // Guaranteed loans are a narrower market under a ceiling: mark-ups and views shrink there.
  const width = segment.guaranteed ? 0.5 : 1;
  const view = who.markupHundredths + shift + common * world.commonNoiseHundredths + own * who.noiseHundredths;
  const wanted = segmentCostHundredths(world, segment) + width * view;
  const round = who.roundHundredths;
  const habitual = Math.round(wanted / round) * round - who.belowRoundHundredths;
  const floor = segment.guaranteed ? Math.min(who.floorHundredths, 159) : who.floorHundredths;
  const ceiling = segment.guaranteed ? world.guaranteedMaxHundredths : maxRateHundredths;
  return Math.max(minRateHundredths, Math.min(ceiling, Math.max(floor, habitual)));
}

function participationOf(world: WorldSettings, who: RivalLender, regime: number): number {
  return Math.min(1, who.participation * (world.regimes[regime]?.participation ?? 1));
}

/** Folds a distribution over half hundredths (index = 2 · rate, last = nobody) into cells. */
function foldHalves(halves: Float64Array): BestRival {
  const best = new Float64Array(cellCount);
  const exact = new Float64Array(cellCount);
  for (let half = 0; half < halves.length; half += 1) {
    const cell = Math.min(noRivalCell, Math.ceil(half / 2));
    best[cell]! += halves[half]!;
    if (half % 2 === 0 && cell < noRivalCell) exact[cell]! += halves[half]!;
  }
  const some = 1 - best[noRivalCell]!;
  let sum = 0;
  let medianHundredths = maxRateHundredths;
  for (let cell = 0; cell < noRivalCell; cell += 1) {
    sum += best[cell]!;
    if (sum >= some / 2) {
      medianHundredths = cell;
      break;
    }
  }
  return { best, exact, medianHundredths };
}

const halfCount = 2 * noRivalCell + 1;

/** Counts out the distribution of the best rival exactly: sum over shared views, product over lenders. */
export function countBestRival(world: WorldSettings, segment: Segment, regime: number): BestRival {
  const halves = new Float64Array(halfCount);
  for (const common of commonValues) {
    // above[h]: probability that no lender is at half-hundredth h or below.
    const above = new Float64Array(halfCount).fill(1);
    for (const who of world.lenders) {
      const mass = new Float64Array(halfCount);
      const share = participationOf(world, who, regime) / ownSteps;
      for (const own of ownValues) {
        const half = 2 * rateOf(world, who, segment, regime, common, own);
        mass[half]! += share * (1 - world.offGridShare);
        mass[half - 1]! += share * world.offGridShare;
      }
      let reached = 0;
      for (let half = 0; half < halfCount; half += 1) {
        reached += mass[half]!;
        above[half]! *= 1 - reached;
      }
    }
    let before = 1;
    for (let half = 0; half < halfCount - 1; half += 1) {
      halves[half]! += (before - above[half]!) / commonSteps;
      before = above[half]!;
    }
    halves[halfCount - 1]! += before / commonSteps;
  }
  return foldHalves(halves);
}

/** Probability of winning at each cell: no rival is better, and of exact ties we take `tieShare`. */
export function winProbability(rival: BestRival, rateHundredths: RateHundredths, tieShare = 0.5): number {
  let beaten = 0;
  for (let cell = rateHundredths + 1; cell < cellCount; cell += 1) beaten += rival.best[cell]!;
  return beaten + tieShare * rival.exact[rateHundredths]!;
}

function remembered<T>(make: (segment: Segment, regime: number) => T): (segment: Segment, regime: number) => T {
  const known = new Map<string, T>();
  return (segment, regime) => {
    const key = `${segment.sector}/${segment.tenure}/${segment.guaranteed}/${regime}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = make(segment, regime);
    known.set(key, made);
    return made;
  };
}

function arrivalOf(world: WorldSettings, chance: Chance): number {
  return world.rivalArrival.from + chance() * (world.rivalArrival.to - world.rivalArrival.from);
}

/** Rivals by behaviour model. Each request has its own stream of chance, so the order of asking changes nothing. */
export function modelRivals(world: WorldSettings, seed: string): Rivals {
  return {
    bidsOn: (index, segment, regime) => {
      const chance = chanceOf(seed, 'rivals', index);
      const common = commonValues[Math.floor(chance() * commonSteps)]!;
      const bids: RivalBid[] = [];
      for (const who of world.lenders) {
        const present = chance() < participationOf(world, who, regime);
        const own = ownValues[Math.floor(chance() * ownSteps)]!;
        const offGrid = chance() < world.offGridShare;
        const arrivesAt = arrivalOf(world, chance);
        if (!present) continue;
        const rate = rateOf(world, who, segment, regime, common, own);
        bids.push({ lender: who.name, rateHundredths: offGrid ? rate - 0.5 : rate, arrivesAt });
      }
      return bids;
    },
    bestRival: remembered((segment, regime) => countBestRival(world, segment, regime)),
  };
}

/** Rates of recorded auctions, one object a line: `{"id","segment","rates"}`; names file line and what is wrong. */
export function readRecordedRates(text: string, name: string): number[][] {
  const auctions: number[][] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    let rates: unknown;
    try {
      rates = (JSON.parse(line) as { rates?: unknown } | null)?.rates;
    } catch {
      throw new Fault('configuration-invalid', `${name}, line ${index + 1}: not JSON; write one auction a line`);
    }
    if (!Array.isArray(rates) || !rates.every((rate) => typeof rate === 'number' && rate >= 0 && rate < noRivalCell)) {
      throw new Fault(
        'configuration-invalid',
        `${name}, line ${index + 1}: "rates" must be a list of numbers from 0 to 497 (hundredths of a percent a month)`,
      );
    }
    auctions.push(rates);
  }
  if (auctions.length === 0) throw new Fault('configuration-invalid', `${name}: holds no auction`);
  return auctions;
}

/** Rivals from recorded auctions, drawn in order or at random; segments of the file are not those of the requests. */
export function recordedRivals(
  world: WorldSettings,
  seed: string,
  auctions: readonly (readonly number[])[],
  order: 'in-order' | 'random',
): Rivals {
  const halves = new Float64Array(halfCount);
  for (const rates of auctions) {
    const half = rates.length === 0 ? halfCount - 1 : Math.round(Math.min(...rates) * 2);
    halves[half]! += 1 / auctions.length;
  }
  const whole = foldHalves(halves);
  return {
    bidsOn: (index) => {
      const chance = chanceOf(seed, 'rivals', index);
      const pick = order === 'in-order' ? index % auctions.length : Math.floor(chance() * auctions.length);
      return auctions[pick]!.map((rate, place) => ({
        lender: `recorded-${place + 1}`,
        rateHundredths: Math.round(rate * 2) / 2,
        arrivesAt: arrivalOf(world, chance),
      }));
    },
    bestRival: () => whole,
  };
}
