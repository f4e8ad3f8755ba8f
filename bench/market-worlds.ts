/**
 * Made-up markets whose distribution is known exactly: rivals, what the state of the market is at each auction, and the true
 * win curve in that state. Rates are hundredths of a percent a month on the grid 2 … 497.
 */
import { cellCount, maxRateHundredths, minRateHundredths, noRivalCell } from '../src/domain/glossary.ts';

export type Chance = () => number;

/** One rival: takes part with a probability, and how its rate is distributed. */
type Rival = { share: number; rates: Rates };
/** P(rate ≤ cell) by cell within the grid, and a draw from it. */
type Rates = { below: (cell: number) => number; draw: (chance: Chance) => number };

/** One of several crowds comes, each with its probability; its rivals bid independently. */
type Crowd = { share: number; rivals: readonly Rival[] };

export type Auction = {
  /** Milliseconds from the beginning. */
  at: number;
  /** Labels of the segment dimensions, `name=value`; none: the whole market. */
  dimensions: readonly string[];
  /** Level of each feature, from 0. */
  features: readonly number[];
  /** Names the state: auctions of one state share a true curve. */
  state: string;
  /** When the state is true of the market; made only when asked for. */
  crowds: () => readonly Crowd[];
};

export type World = {
  auctions: readonly Auction[];
  /** Levels of each feature. */
  levels: readonly number[];
  /** Results come so much later than in the next batch, and this share of them never. */
  delayMs: number;
  missing: number;
  /** One rival of each auction answers what we last won with. */
  undercut: boolean;
};

const dayMs = 86_400_000;

// Abramowitz and Stegun 26.2.17 would do as well; a table with straight lines between is faster and good to 1e-7.
const normalSteps = 4_096;
const normalReach = 8;
const normalTable = Float64Array.from({ length: normalSteps + 1 }, (_, step) => {
  const z = (step / normalSteps) * 2 * normalReach - normalReach;
  return 0.5 * erfc(-z / Math.SQRT2);
});

/** Numerical Recipes, erfc by a Chebyshev fit: relative error below 1.2e-7. */
function erfc(x: number): number {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const terms = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
  ];
  const sum = terms.reduceRight((rest, term) => term + t * rest, 0);
  const value = t * Math.exp(-x * x + sum);
  return x >= 0 ? value : 2 - value;
}

function normalBelow(z: number): number {
  const place = ((z + normalReach) / (2 * normalReach)) * normalSteps;
  if (place <= 0) return 0;
  if (place >= normalSteps) return 1;
  const step = Math.floor(place);
  return normalTable[step]! + (place - step) * (normalTable[step + 1]! - normalTable[step]!);
}

function normalOf(chance: Chance): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}

function onGrid(rate: number): number {
  return Math.min(maxRateHundredths, Math.max(minRateHundredths, Math.round(rate)));
}

/** A distribution on the line, brought to the grid: `share(x)` is P(rate ≤ x). */
function rounded(share: (x: number) => number, draw: (chance: Chance) => number): Rates {
  return {
    below: (cell) => (cell >= maxRateHundredths ? 1 : share(cell + 0.5)),
    draw: (chance) => onGrid(draw(chance)),
  };
}

function normal(mean: number, deviation: number): Rates {
  return rounded(
    (x) => normalBelow((x - mean) / deviation),
    (chance) => mean + deviation * normalOf(chance),
  );
}

function uniform(low: number, high: number): Rates {
  return rounded(
    (x) => Math.min(1, Math.max(0, (x - low) / (high - low))),
    (chance) => low + (high - low) * chance(),
  );
}

function exponential(low: number, mean: number): Rates {
  return rounded(
    (x) => (x <= low ? 0 : -Math.expm1(-(x - low) / mean)),
    (chance) => low - mean * Math.log(1 - chance()),
  );
}

/** `share` of the rates are moved to the nearest that ends in 9. */
function onNines(rates: Rates, share: number): Rates {
  const nine = (cell: number) => 10 * Math.round((cell - 9) / 10) + 9;
  return {
    below: (cell) => {
      // Those at `10k + 9` come from `10k + 4` on and end at `10k + 13`.
      const moved = 10 * Math.floor((cell - 9) / 10) + 9;
      const movedBelow = moved > maxRateHundredths - 9 ? 1 : rates.below(moved + 4);
      return (1 - share) * rates.below(cell) + share * (cell >= maxRateHundredths ? 1 : movedBelow);
    },
    draw: (chance) => {
      const cell = rates.draw(chance);
      return chance() < share ? onGrid(nine(cell)) : cell;
    },
  };
}

/** With `share` exactly at the floor, else the floor and half a normal distribution. */
function floored(floor: number, share: number, deviation: number): Rates {
  const half = rounded(
    (x) => (x <= floor - 0.5 ? 0 : Math.max(0, 2 * normalBelow((x - floor) / deviation) - 1)),
    (chance) => floor + deviation * Math.abs(normalOf(chance)),
  );
  return {
    below: (cell) => (cell >= floor ? share + (1 - share) * half.below(cell) : 0),
    draw: (chance) => (chance() < share ? floor : half.draw(chance)),
  };
}

function times(count: number, rival: Rival): Rival[] {
  return new Array<Rival>(count).fill(rival);
}

/** P(no rival is below or at the cell), by cell. */
function survivalOf(crowds: readonly Crowd[]): Float64Array {
  const survival = new Float64Array(cellCount);
  for (const { share, rivals } of crowds) {
    for (let cell = 0; cell < cellCount; cell += 1) {
      let none = share;
      for (const rival of rivals) none *= 1 - rival.share * (cell < minRateHundredths ? 0 : rival.rates.below(cell));
      survival[cell]! += none;
    }
  }
  return survival;
}

/** By cell: P(best rival > cell) + ½ · P(best rival = cell). */
export function trueWin(crowds: readonly Crowd[]): Float64Array {
  const survival = survivalOf(crowds);
  const win = new Float64Array(cellCount).fill(1);
  for (let cell = 1; cell < noRivalCell; cell += 1) win[cell] = (survival[cell]! + survival[cell - 1]!) / 2;
  win[noRivalCell] = survival[maxRateHundredths]! / 2;
  return win;
}

/** Best rival of one auction; `noRivalCell` when nobody comes. */
export function drawBest(crowds: readonly Crowd[], chance: Chance): number {
  let left = chance();
  const crowd = crowds.find(({ share }) => {
    left -= share;
    return left < 0;
  });
  let best = noRivalCell;
  for (const { share, rates } of (crowd ?? crowds.at(-1)!).rivals) {
    if (chance() < share) best = Math.min(best, rates.draw(chance));
  }
  return best;
}

/** What the undercutter of a market does when our latest published winning rate is `latest`; null: none yet. */
export function undercutCrowds(latest: number | null): readonly Crowd[] {
  const usual: Rival = { share: 1, rates: normal(300, 30) };
  const other: Rival = { share: 1, rates: normal(310, 40) };
  if (latest === null) return [{ share: 1, rivals: [usual, other] }];
  const under = uniform(latest - 5.5, latest - 0.5);
  return [
    { share: 0.5, rivals: [{ share: 1, rates: under }, other] },
    { share: 0.5, rivals: [usual, other] },
  ];
}

type Plan = { count: number; aDay: number };
type Told = Partial<Pick<Auction, 'dimensions' | 'features' | 'state'>> & { crowds: () => readonly Crowd[] };

function worldOf({ count, aDay }: Plan, tell: (index: number) => Told, rest: Partial<World> = {}): World {
  const auctions = Array.from({ length: count }, (_, index) => ({
    at: Math.round((index * dayMs) / aDay),
    dimensions: [],
    features: [],
    state: '',
    ...tell(index),
  }));
  return { auctions, levels: [], delayMs: 0, missing: 0, undercut: false, ...rest };
}

/** One state for all auctions. */
function steady(plan: Plan, crowds: readonly Crowd[], rest: Partial<World> = {}): World {
  return worldOf(plan, () => ({ crowds: () => crowds }), rest);
}

const usual: Plan = { count: 2_400, aDay: 500 };

/** 0 … `count` − 1. */
function pick(chance: Chance, count: number): number {
  return Math.floor(chance() * count);
}

function manyFew(rest: Partial<World> = {}): World {
  const one: Rival = { share: 1, rates: normal(340, 55) };
  const crowds: Crowd[] = [{ share: 0.05, rivals: [] }];
  for (let extra = 0; extra < 20; extra += 1) {
    const share = Math.sqrt((extra + 1) / 20) - Math.sqrt(extra / 20);
    crowds.push({ share: 0.95 * share, rivals: times(1 + extra, one) });
  }
  return steady(usual, crowds, rest);
}

function shocks(plan: Plan, rest: Partial<World> = {}): World {
  const moves = [0, -60, -60, 40, -20];
  return worldOf(
    plan,
    (index) => {
      const move = moves[Math.floor((index * moves.length) / plan.count)]!;
      return {
        state: String(move),
        crowds: () => [{ share: 1, rivals: times(3, { share: 0.8, rates: normal(290 + move, 30) }) }],
      };
    },
    rest,
  );
}

function season(): World {
  return worldOf(
    { count: 2_400, aDay: 240 },
    (index) => {
      const hour = Math.floor((index * 24) / 240) % 24;
      const late = index >= 8 * 240 ? 25 : 0;
      const mean = 290 + 30 * Math.sin((2 * Math.PI * hour) / 24) + late;
      return {
        features: [hour],
        state: `${hour}/${late}`,
        crowds: () => [{ share: 1, rivals: times(3, { share: 0.8, rates: normal(mean, 22) }) }],
      };
    },
    { levels: [24] },
  );
}

function fourSegments(chance: Chance): World {
  return worldOf(
    { count: 900, aDay: 8 },
    () => {
      const segment = pick(chance, 4);
      return {
        dimensions: [`k=${segment}`],
        features: [segment],
        state: String(segment),
        crowds: () => [{ share: 1, rivals: times(2, { share: 0.9, rates: normal(240 + 30 * segment, 30) }) }],
      };
    },
    { levels: [4] },
  );
}

function sparse(chance: Chance): World {
  const segments = Array.from({ length: 80 }, () => normal(280 + 50 * normalOf(chance), 14 + 10 * chance()));
  return worldOf(
    usual,
    () => {
      const segment = pick(chance, segments.length);
      return {
        dimensions: [`k=${segment}`],
        features: [segment],
        state: String(segment),
        crowds: () => [{ share: 1, rivals: times(2, { share: 0.9, rates: segments[segment]! }) }],
      };
    },
    { levels: [80] },
  );
}

function additive(chance: Chance): World {
  const effects = Array.from({ length: 4 }, () => Array.from({ length: 6 }, () => 25 * normalOf(chance)));
  return worldOf(
    { count: 3_000, aDay: 500 },
    () => {
      const features = effects.map((levels) => pick(chance, levels.length));
      const mean = features.reduce((sum, level, place) => sum + effects[place]![level]!, 290);
      return {
        features,
        state: features.join('/'),
        crowds: () => [{ share: 1, rivals: times(3, { share: 0.8, rates: normal(mean, 20) }) }],
      };
    },
    { levels: [6, 6, 6, 6] },
  );
}

/** What each level of a feature of a payroll loan does to a lender's rate. */
const payrollEffects = [
  [0, -55],
  [-3, 4, 11, 18, 25, 31, 38],
  [22, 14, 6, -2, -9],
  [0, 5, 10, 14],
  [24, 14, 4, -6],
  [0, 2, 4, 6],
  [12, 4, -5],
];

/** Five quantiles of a normal distribution, each a fifth of it. */
const fifths = [-1.2816, -0.5244, 0, 0.5244, 1.2816];

function payroll(chance: Chance): World {
  const lenders = Array.from({ length: 5 }, (_, who) => ({
    share: 0.35 + 0.4 * chance(),
    base: 180 + 25 * who,
    noise: 14 + 14 * chance(),
    nines: who % 2 === 0,
    effects: payrollEffects.map((levels) => levels.map((effect) => effect * (0.5 + chance()) + 5 * normalOf(chance))),
  }));
  return worldOf(
    { count: 10_000, aDay: 3_000 },
    () => {
      const features = payrollEffects.map((levels) => pick(chance, levels.length));
      const crowds = () =>
        fifths.map((shock) => ({
          share: 1 / fifths.length,
          rivals: lenders.map(({ share, base, noise, nines, effects }) => {
            const mean = features.reduce((sum, level, place) => sum + effects[place]![level]!, base + 10 * shock);
            const rates = normal(mean, noise);
            return { share, rates: nines ? onNines(rates, 1) : rates };
          }),
        }));
      return { features, state: features.join('/'), crowds };
    },
    { levels: payrollEffects.map((levels) => levels.length) },
  );
}

/** By name; `chance` draws what is fixed for the market and how its auctions come. */
export const worlds: Readonly<Record<string, (chance: Chance) => World>> = {
  bimodal: () => {
    const rivals = [{ share: 0.5, rates: normal(180, 10) }, ...times(2, { share: 0.9, rates: normal(320, 25) })];
    return steady(usual, [{ share: 1, rivals }]);
  },
  digits: () => {
    const one = { share: 1, rates: onNines(normal(270, 45), 0.95) };
    return steady(
      usual,
      [1, 2, 3, 4].map((count) => ({ share: 0.25, rivals: times(count, one) })),
    );
  },
  floor: () => {
    const one = { share: 1, rates: floored(199, 0.35, 35) };
    return steady(usual, [
      { share: 0.1, rivals: [{ share: 1, rates: normal(150, 8) }] },
      { share: 0.9, rivals: times(4, one) },
    ]);
  },
  edge: () => {
    const low = uniform(150, 210);
    const high = exponential(240, 25);
    const rates: Rates = {
      below: (cell) => 0.06 * low.below(cell) + 0.94 * high.below(cell),
      draw: (chance) => (chance() < 0.06 ? low : high).draw(chance),
    };
    return steady(
      usual,
      [1, 2, 3].map((count) => ({ share: 1 / 3, rivals: times(count, { share: 1, rates }) })),
    );
  },
  'many-few': () => manyFew(),
  missing: () => manyFew({ missing: 0.3 }),
  thin: () =>
    steady({ count: 400, aDay: 3 }, [{ share: 1, rivals: times(2, { share: 0.85, rates: normal(300, 60) }) }]),
  'four-segments': fourSegments,
  sparse,
  shocks: () => shocks(usual),
  'shocks-late': () => shocks({ count: 2_400, aDay: 100 }, { delayMs: 76 * 3_600_000 }),
  season,
  additive,
  payroll,
  undercutter: () => steady(usual, undercutCrowds(null), { undercut: true }),
};
