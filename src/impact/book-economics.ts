/**
 * What a lender's own loans teach about the value of the next ones: how often links end and loans are settled early, how many
 * never start, and what is lost of a loan whose link ended. By segment, each shrunk to the whole book as far as it has few loans,
 * and the whole book to what its decisions believed, which counts as one event.
 *
 * Counts are Poisson over exposure with a gamma distribution of the segments' rates around the book's; losses are normal around
 * the segment's mean, and these around the book's (Gelman et al., "Bayesian Data Analysis", 3rd ed., ch. 5). How far segments
 * differ is unknown as well, so it is drawn from its own posterior on a grid.
 */
import { chanceOf } from './chance.ts';
import type { LoanOutcome } from './performance.ts';

/** Of one loan. Exposure: months under observation; of what ended within a month, half of it. */
type Count = { events: number; exposure: number };

const countNames = ['separationMonthly', 'earlySettlementMonthly', 'neverStartedShare'] as const;
export type EstimateName = (typeof countNames)[number] | 'lossGivenSeparation';

export type Lesson = Record<(typeof countNames)[number], Count> & {
  /** The segment that says most; null: only the whole book learns. */
  segment: string | null;
  /** Share lost of what was outstanding, 0 … 1; null: not told, or a guarantee paid a part. */
  lossShare: number | null;
  believed: Record<EstimateName, number>;
};

/** A share, 0 … 1. `low` … `high` holds it with 90 %. `events`: ends, settlements, loans whose loss is known. */
export type Estimate = { events: number; exposure: number; mean: number; deviation: number; low: number; high: number };
export type BookRow = Record<EstimateName, Estimate> & { key: string; loans: number };
export type BookEconomics = { book: BookRow; segments: readonly BookRow[] };

const drawCount = 4_000;
const tail = 0.05;

/** A loan that ended or was settled did so somewhere in its last interval; one that never started has no other exposure. */
export function lessonOf(
  outcome: LoanOutcome,
  segment: string | null,
  pledgedCents: number,
  believed: Lesson['believed'],
): Lesson {
  const { end, wholeMonths, endMonths, outstandingCents, recoveredCents } = outcome;
  const notStarted = end === 'not-started';
  const ended = end === 'default';
  const settled = end === 'settled';
  const count = (event: boolean, exposure: number) => ({ events: event ? 1 : 0, exposure });
  const separation = wholeMonths + (ended ? endMonths / 2 : settled ? endMonths : 0);
  const settling = wholeMonths + endMonths / 2;
  const started = wholeMonths + endMonths > 0 ? 1 : 0;
  const known = recoveredCents !== null && pledgedCents === 0 && outstandingCents > 0;
  return {
    segment,
    separationMonthly: count(ended, notStarted ? 0 : separation),
    earlySettlementMonthly: count(settled, notStarted ? 0 : settling),
    neverStartedShare: count(notStarted, notStarted ? 0.5 : started),
    lossShare: known ? Math.min(1, Math.max(0, 1 - recoveredCents / outstandingCents)) : null,
    believed,
  };
}

type Chance = () => number;

function normal(chance: Chance): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}

/** Marsaglia & Tsang, "A simple method for generating gamma variables", 2000. */
function gamma(shape: number, chance: Chance): number {
  if (shape < 1) return gamma(shape + 1, chance) * (1 - chance()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(chance);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - chance()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** Stirling's series, shifted to where it is exact to 1e-10. */
function logGamma(given: number): number {
  let shift = 0;
  let x = given;
  for (; x < 8; x += 1) shift -= Math.log(x);
  const series = 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1_260 * x ** 5);
  return shift + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
}

/** Draws places by weights given as logarithms. */
function drawerOf(logs: readonly number[], chance: Chance): () => number {
  const most = Math.max(...logs);
  let sum = 0;
  const sums = logs.map((log) => {
    sum += Math.exp(log - most);
    return sum;
  });
  return () => {
    const wanted = chance() * sum;
    return Math.max(
      0,
      sums.findIndex((reached) => reached >= wanted),
    );
  };
}

/** Of 0 to 1 on a grid, both ends included. */
function grid(count: number, low: number, high: number): number[] {
  return Array.from({ length: count }, (_, place) => low + ((high - low) * place) / (count - 1));
}

function closed(draws: Float64Array, events: number, exposure: number): Estimate {
  const sorted = draws.toSorted();
  const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
  const variance = draws.reduce((sum, draw) => sum + (draw - mean) ** 2, 0) / draws.length;
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!;
  return { events, exposure, mean, deviation: Math.sqrt(variance), low: at(tail), high: at(1 - tail) };
}

type Groups<Data> = { all: Data; own: readonly Data[] };
type Drawn = { all: Float64Array; own: readonly Float64Array[] };

function emptyDraws(groups: number): Drawn {
  const make = () => new Float64Array(drawCount);
  return { all: make(), own: Array.from({ length: groups }, make) };
}

/** Log of the probability of these events where segments' rates are gamma with this shape around the mean. */
function logEvents(groups: readonly Count[], mean: number, shape: number): number {
  let log = 0;
  for (const { events, exposure } of groups) {
    const expected = mean * exposure;
    log += logGamma(shape + events) - logGamma(shape) - shape * Math.log1p(expected / shape);
    if (events > 0) log += events * Math.log(expected / (shape + expected));
  }
  return log;
}

/** Rates a unit of exposure. `believed` 0: nothing was, and half an event is taken instead of one. */
function drawRates({ all, own }: Groups<Count>, believed: number, chance: Chance): Drawn {
  const [priorShape, priorExposure] = believed > 0 ? [1, 1 / believed] : [0.5, 1];
  const shapeOfAll = priorShape + all.events;
  const exposureOfAll = priorExposure + all.exposure;
  const centre = Math.log(shapeOfAll / exposureOfAll);
  const reach = 4 * Math.sqrt(1 / shapeOfAll + 1 / Math.max(1, own.length));
  const means = grid(41, centre - reach, centre + reach).map(Math.exp);
  const shapes = grid(15, Math.log(0.7), Math.log(500)).map(Math.exp);
  const points = shapes.flatMap((shape) => means.map((mean) => ({ shape, mean })));
  const logs = points.map(({ shape, mean }) => {
    const prior = priorShape * Math.log(mean) - priorExposure * mean;
    return prior + logEvents(own, mean, shape);
  });
  const draw = drawerOf(logs, chance);
  const drawn = emptyDraws(own.length);
  for (let index = 0; index < drawCount; index += 1) {
    drawn.all[index] = gamma(shapeOfAll, chance) / exposureOfAll;
    const { shape, mean } = points[draw()]!;
    for (const [place, { events, exposure }] of own.entries()) {
      drawn.own[place]![index] = gamma(shape + events, chance) / (shape / mean + exposure);
    }
  }
  return drawn;
}

type Losses = { count: number; sum: number; squares: number };

/** How sure the belief about the mean loss is, and how far single losses are taken to scatter before any is seen. */
const believedDeviation = 0.2;
const scatter = 0.25;

function drawLosses({ all, own }: Groups<Losses>, believed: number, chance: Chance): Drawn {
  const told = own.filter(({ count }) => count > 0);
  const within = told.reduce((sum, { count, sum: total, squares }) => sum + squares - (total * total) / count, 0);
  const freedom = told.reduce((sum, { count }) => sum + count - 1, 0);
  const variance = (Math.max(0, within) + 2 * scatter ** 2) / (freedom + 2);
  const meanGiven = (between: number) => {
    let precision = believedDeviation ** -2;
    let weighed = believed * precision;
    let log = 0;
    for (const { count, sum } of told) {
      const own = 1 / (between ** 2 + variance / count);
      precision += own;
      weighed += (own * sum) / count;
      log += 0.5 * Math.log(own);
    }
    const mean = weighed / precision;
    for (const { count, sum } of told) log -= (0.5 * (sum / count - mean) ** 2) / (between ** 2 + variance / count);
    log -= 0.5 * ((mean - believed) / believedDeviation) ** 2 + 0.5 * Math.log(precision);
    return { between, mean, deviation: Math.sqrt(1 / precision), log };
  };
  const points = grid(15, Math.log(0.005), Math.log(0.4)).map((log) => meanGiven(Math.exp(log)));
  const draw = drawerOf(
    points.map(({ log }) => log),
    chance,
  );
  const share = (value: number) => Math.min(1, Math.max(0, value));
  const drawn = emptyDraws(own.length);
  const precisionOfAll = believedDeviation ** -2 + all.count / variance;
  const meanOfAll = (believed * believedDeviation ** -2 + all.sum / variance) / precisionOfAll;
  for (let index = 0; index < drawCount; index += 1) {
    drawn.all[index] = share(meanOfAll + normal(chance) / Math.sqrt(precisionOfAll));
    const { between, mean, deviation } = points[draw()]!;
    const centre = mean + deviation * normal(chance);
    for (const [place, { count, sum }] of own.entries()) {
      const precision = between ** -2 + count / variance;
      const own = (centre * between ** -2 + sum / variance) / precision;
      drawn.own[place]![index] = share(own + normal(chance) / Math.sqrt(precision));
    }
  }
  return drawn;
}

/** A rate a month as the share of what is left that goes in a month. */
function asShares(draws: Float64Array): Float64Array {
  return draws.map((rate) => -Math.expm1(-rate));
}

function asRate(share: number): number {
  return -Math.log1p(-Math.min(0.999, share));
}

/** The same lessons give the same figures. */
export function bookEconomics(lessons: readonly Lesson[]): BookEconomics {
  const bySegment = Map.groupBy(
    lessons.filter(({ segment }) => segment !== null),
    ({ segment }) => segment!,
  );
  const keys = [...bySegment.keys()].sort();
  const groups = keys.map((key) => bySegment.get(key)!);
  // Loans in no segment form one of their own for the draws, so that every loan is in the book.
  const others = lessons.filter(({ segment }) => segment === null);
  const parts = others.length === 0 ? groups : [...groups, others];
  const chance = chanceOf(1);
  const believedOf = (name: EstimateName) =>
    lessons.length === 0 ? 0 : lessons.reduce((sum, { believed }) => sum + believed[name], 0) / lessons.length;
  const rows = [lessons, ...groups].map((own, place): Partial<BookRow> & { key: string; loans: number } => {
    return { key: place === 0 ? 'all' : keys[place - 1]!, loans: own.length };
  });
  for (const name of countNames) {
    const countOf = (own: readonly Lesson[]): Count => {
      const add = (field: keyof Count) => own.reduce((sum, lesson) => sum + lesson[name][field], 0);
      return { events: add('events'), exposure: add('exposure') };
    };
    const counts = { all: countOf(lessons), own: parts.map(countOf) };
    const { all, own } = drawRates(counts, asRate(believedOf(name)), chance);
    for (const [place, row] of rows.entries()) {
      const { events, exposure } = place === 0 ? counts.all : counts.own[place - 1]!;
      row[name] = closed(asShares(place === 0 ? all : own[place - 1]!), events, exposure);
    }
  }
  const lossesOf = (own: readonly Lesson[]): Losses => {
    const told = own.flatMap(({ lossShare }) => (lossShare === null ? [] : [lossShare]));
    const squares = told.reduce((total, share) => total + share * share, 0);
    return { count: told.length, sum: told.reduce((total, share) => total + share, 0), squares };
  };
  const losses = { all: lossesOf(lessons), own: parts.map(lossesOf) };
  const { all, own } = drawLosses(losses, believedOf('lossGivenSeparation'), chance);
  for (const [place, row] of rows.entries()) {
    const { count } = place === 0 ? losses.all : losses.own[place - 1]!;
    row.lossGivenSeparation = closed(place === 0 ? all : own[place - 1]!, count, count);
  }
  const [book, ...segments] = rows as BookRow[];
  return { book: book!, segments };
}
