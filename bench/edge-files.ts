/**
 * Made-up files of recorded auctions with hard edges, floors, ties and gaps, whose numbers are drawn at random. Of the
 * families some are to tune by and the others to judge by.
 */
import { maxRateHundredths, minRateHundredths, noRivalCell } from '../src/domain/glossary.ts';
import { chanceOf } from '../src/impact/chance.ts';
import type { RecordedAuction } from '../src/impact/recorded-auctions.ts';

type Chance = () => number;
/** Draws one rival's rate, hundredths of a percent a month. */
type Draw = () => number;

function bell(chance: Chance): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}

function between(chance: Chance, low: number, high: number): number {
  return low + (high - low) * chance();
}

function exponential(chance: Chance, mean: number): number {
  return -mean * Math.log(1 - chance());
}

/** One of some draws, each with a share that is drawn too. */
function oneOf(chance: Chance, draws: readonly Draw[]): Draw {
  const shares = draws.map(() => 0.15 + chance());
  const sum = shares.reduce((total, share) => total + share, 0);
  return () => {
    let left = chance() * sum;
    const place = shares.findIndex((share) => {
      left -= share;
      return left < 0;
    });
    return (draws[place] ?? draws[0]!)();
  };
}

export type Family = (chance: Chance) => Draw;

/** A few rivals far below, most right above an edge. */
const edge: Family = (chance) => {
  const [share, low, high] = [between(chance, 0.02, 0.15), between(chance, 120, 180), between(chance, 215, 280)];
  const [end, mean] = [between(chance, low + 20, high - 10), between(chance, 8, 60)];
  return () => (chance() < share ? between(chance, low, end) : high + exponential(chance, mean));
};

/** Nobody below a floor, many right on it. */
const floor: Family = (chance) => {
  const [at, on, spread] = [between(chance, 150, 260), between(chance, 0, 0.5), between(chance, 15, 80)];
  return () => Math.round(at) + (chance() < on ? 0 : Math.abs(bell(chance)) * spread);
};

/** Rates on a raster, a part of them beside it. */
const ties: Family = (chance) => {
  const steps = [5, 10, 20, 25, 50];
  const step = steps[Math.floor(chance() * steps.length)]!;
  const [mean, spread, on] = [between(chance, 200, 320), between(chance, 20, 70), between(chance, 0.6, 1)];
  const phase = Math.floor(chance() * step);
  return () => {
    const rate = mean + spread * bell(chance);
    return chance() < on ? step * Math.round((rate - phase) / step) + phase : rate;
  };
};

/** Even blocks with nothing between. */
const gaps: Family = (chance) => {
  const blocks = 2 + Math.floor(chance() * 3);
  let from = between(chance, 120, 180);
  const draws = Array.from({ length: blocks }, () => {
    const [low, high] = [from, from + between(chance, 3, 60)];
    from = high + between(chance, 15, 70);
    return () => between(chance, low, high);
  });
  return oneOf(chance, draws);
};

/** A bell cut off below, with the part that is cut off on a few exact rates. */
const cut: Family = (chance) => {
  const [mean, spread] = [between(chance, 220, 320), between(chance, 20, 60)];
  const limit = mean - spread * between(chance, -0.3, 1);
  const list = Math.round(limit + between(chance, 5, 40));
  const listed = between(chance, 0, 0.4);
  const draw = (): number => {
    const rate = mean + spread * bell(chance);
    return rate < limit ? draw() : rate;
  };
  return () => (chance() < listed ? list : draw());
};

/** Price lists of a few lenders: all that they quote are some exact rates. */
const lists: Family = (chance) => {
  const rates = Array.from({ length: 3 + Math.floor(chance() * 9) }, () => Math.round(between(chance, 150, 380)));
  const listed = oneOf(
    chance,
    rates.map((rate) => () => rate),
  );
  const [on, mean] = [between(chance, 0.7, 1), between(chance, 240, 320)];
  return () => (chance() < on ? listed() : mean + 50 * bell(chance));
};

/** Pareto: an edge that many stand right at, and a long tail. */
const pareto: Family = (chance) => {
  const [low, steepness] = [between(chance, 120, 220), between(chance, 2, 12)];
  return () => low * (1 - chance()) ** (-1 / steepness);
};

/** Stairs: even within each step, another density in the next, no gap between. */
const stairs: Family = (chance) => {
  let from = between(chance, 120, 200);
  const draws = Array.from({ length: 3 + Math.floor(chance() * 3) }, () => {
    const [low, high] = [from, from + between(chance, 10, 70)];
    from = high;
    return () => between(chance, low, high);
  });
  return oneOf(chance, draws);
};

/** A ceiling that all who would ask more ask exactly, and a triangle that rises to it. */
const ceiling: Family = (chance) => {
  const [low, width] = [between(chance, 120, 220), between(chance, 60, 200)];
  const top = Math.round(low + width * between(chance, 0.5, 0.95));
  return () => Math.min(top, low + width * Math.sqrt(chance()));
};

/** Two of the other families in one market. */
function mixture(families: readonly Family[]): Family {
  return (chance) => {
    const pick = () => families[Math.floor(chance() * families.length)]!(chance);
    return oneOf(chance, [pick(), pick()]);
  };
}

export const tuned: Readonly<Record<string, Family>> = { edge, floor, ties, gaps };
export const heldOut: Readonly<Record<string, Family>> = {
  cut,
  lists,
  pareto,
  stairs,
  ceiling,
  mixture: mixture([edge, floor, ties, gaps, cut, lists, pareto, stairs, ceiling]),
};

export function edgeFile(family: Family, seed: number, count: number): RecordedAuction[] {
  const chance = chanceOf(seed);
  const draw = family(chance);
  const none = chance() < 0.5 ? 0 : between(chance, 0, 0.08);
  const most = 1 + Math.floor(chance() * 4);
  return Array.from({ length: count }, () => {
    const rivals = chance() < none ? 0 : 1 + Math.floor(chance() * most);
    let best = noRivalCell;
    for (let rival = 0; rival < rivals; rival += 1) {
      const rate = Math.round(draw());
      if (rate <= maxRateHundredths) best = Math.min(best, Math.max(minRateHundredths, rate));
    }
    return { segment: {}, bestRivalCell: best, bestRivalOffGrid: false };
  });
}
