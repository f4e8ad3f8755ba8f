/**
 * Whether rivals answer our own bids: does the best rival rate move with the rate of ours that won last? All rates of a
 * market rise and fall together, and our bids follow that. So what is known at the time of a bid is taken out of both first: the
 * rate that we bid ourselves then, and the best rivals published of late. What is left of our published rate differs by what each
 * loan costs us, which no rival knows.
 *
 * Least squares; the interval allows for errors that hang together over auctions (Newey & West, "A simple, positive semi-definite,
 * heteroskedasticity and autocorrelation consistent covariance matrix", Econometrica 55, 1987).
 */
import type { EpochMs, RateHundredths } from '../domain/glossary.ts';

/** An auction that we bid in, with a rival. Rates in hundredths of a percent a month. */
type Met = {
  /** When we decided, and when its bids were published. */
  decidedAt: EpochMs;
  publishedAt: EpochMs;
  ownHundredths: RateHundredths;
  rivalHundredths: RateHundredths;
  /** Whether our bid was the best: those are what a rival sees first, and what it has to beat. */
  won: boolean;
};

/** `slope`: hundredths by which the best rival moves for one of ours; `low` … `high` holds it with 99 %. */
export type Following = { slope: number; low: number; high: number; auctions: number };

/** So many auctions are looked back on, and so few say nothing. */
const mostAuctions = 1_500;
const leastAuctions = 300;
/** Errors of auctions this far apart hang together: about two batches. */
const lags = 40;
const deviations = 2.576;
/** Rivals that move by less than this share of our moves are no matter. */
const slightShare = 0.1;
/** How many of the latest published rivals the level is taken from. */
const levelAuctions = 40;

type Row = readonly [level: number, own: number, published: number];

export function isFollowing({ low }: Following): boolean {
  return low > slightShare;
}

/** Solves a small symmetric system; null where it has no single solution. */
function inverseOf(matrix: readonly (readonly number[])[]): number[][] | null {
  const size = matrix.length;
  const rows = matrix.map((row, place) => [...row, ...row.map((_value, column) => (column === place ? 1 : 0))]);
  for (let column = 0; column < size; column += 1) {
    let best = column;
    for (let row = column + 1; row < size; row += 1) {
      if (Math.abs(rows[row]![column]!) > Math.abs(rows[best]![column]!)) best = row;
    }
    const pivot = rows[best]!;
    if (Math.abs(pivot[column]!) < 1e-9) return null;
    [rows[column], rows[best]] = [pivot, rows[column]!];
    for (let row = 0; row < size; row += 1) {
      if (row === column) continue;
      const factor = rows[row]![column]! / pivot[column]!;
      rows[row] = rows[row]!.map((value, place) => value - factor * pivot[place]!);
    }
  }
  return rows.map((row, place) => row.slice(size).map((value) => value / row[place]!));
}

/** Of the last column's coefficient. Null: what was seen does not tell it. */
function regress(columns: readonly Row[], targets: readonly number[]): Following | null {
  const { length } = targets;
  const rows = columns.map((row) => [1, ...row]);
  const means = rows[0]!.map((_value, place) =>
    place === 0 ? 0 : rows.reduce((sum, row) => sum + row[place]!, 0) / length,
  );
  const centred = rows.map((row) => row.map((value, place) => value - means[place]!));
  const width = means.length;
  const products = Array.from({ length: width }, () => new Array<number>(width).fill(0));
  const right = new Array<number>(width).fill(0);
  for (const [index, row] of centred.entries()) {
    for (let first = 0; first < width; first += 1) {
      right[first]! += row[first]! * targets[index]!;
      for (let second = 0; second < width; second += 1) products[first]![second]! += row[first]! * row[second]!;
    }
  }
  const inverse = inverseOf(products);
  if (inverse === null) return null;
  const effects = inverse.map((row) => row.reduce((sum, value, place) => sum + value * right[place]!, 0));
  const last = width - 1;
  // What each auction moves the last coefficient by.
  const moves = centred.map((row, index) => {
    const error = targets[index]! - row.reduce((sum, value, place) => sum + value * effects[place]!, 0);
    return error * row.reduce((sum, value, place) => sum + value * inverse[last]![place]!, 0);
  });
  let variance = 0;
  for (let lag = 0; lag <= lags; lag += 1) {
    let sum = 0;
    for (let index = lag; index < length; index += 1) sum += moves[index]! * moves[index - lag]!;
    variance += (lag === 0 ? 1 : 2 * (1 - lag / (lags + 1))) * sum;
  }
  const reach = deviations * Math.sqrt(Math.max(0, variance));
  const slope = effects[last]!;
  return { slope, low: slope - reach, high: slope + reach, auctions: length };
}

export type RivalWatch = {
  note: (met: Met) => void;
  /** Null: too little was seen. */
  following: () => Following | null;
};

/** Of the auctions whose results this process folds. */
export function createRivalWatch(): RivalWatch {
  /** In the order in which results came. */
  const seen: Met[] = [];
  return {
    note: (met) => {
      seen.push(met);
      if (seen.length > mostAuctions) seen.shift();
    },
    following: () => {
      if (seen.length < leastAuctions) return null;
      const published = seen.toSorted((left, right) => left.publishedAt - right.publishedAt);
      const decided = seen.toSorted((left, right) => left.decidedAt - right.decidedAt);
      const rows: Row[] = [];
      const targets: number[] = [];
      let next = 0;
      let winning: RateHundredths | null = null;
      let level = 0;
      for (const { decidedAt, ownHundredths, rivalHundredths } of decided) {
        for (; next < published.length && published[next]!.publishedAt <= decidedAt; next += 1) {
          level += published[next]!.rivalHundredths;
          if (published[next]!.won) winning = published[next]!.ownHundredths;
          if (next >= levelAuctions) level -= published[next - levelAuctions]!.rivalHundredths;
        }
        if (next < levelAuctions || winning === null) continue;
        rows.push([level / levelAuctions, ownHundredths, winning]);
        targets.push(rivalHundredths);
      }
      return targets.length < leastAuctions - levelAuctions ? null : regress(rows, targets);
    },
  };
}
