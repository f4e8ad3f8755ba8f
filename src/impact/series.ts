/** What is drawn of an impact: how profit and exposure went over time, and at which rates the two sets bid. */
import type { EpochMs } from '../domain/glossary.ts';
import type { SetDecision } from './desk-replay.ts';
import { type BestRival, profitGivenBids } from './tally.ts';

type Pair = readonly [current: readonly number[], candidate: readonly number[]];

export type Series = {
  /** Moments in order, as many as a plot can show. */
  at: readonly EpochMs[];
  /** Profit given the published bids up to each moment, in cents. */
  profitCents: Pair;
  exposureCents: Pair;
  /** Bids by rate: cells of `rateStep` hundredths, each from `rates[i]` on. */
  rates: readonly number[];
  bids: Pair;
};

const rateStep = 10;
const mostPoints = 400;

type Point = { at: EpochMs; profit: [number, number]; exposure: [number, number] };

export function createSeries(): {
  add: (at: EpochMs, decisions: readonly [SetDecision, SetDecision], rival: BestRival) => void;
  move: (side: 0 | 1, amountCents: number) => void;
  close: () => Series;
} {
  const points: Point[] = [];
  const profit: [number, number] = [0, 0];
  const exposure: [number, number] = [0, 0];
  const bids = new Map<number, [number, number]>();
  return {
    move: (side, amountCents) => {
      exposure[side] += amountCents;
    },
    add: (at, decisions, rival) => {
      for (const [side, decision] of decisions.entries()) {
        profit[side as 0 | 1] += profitGivenBids(decision, rival);
        if (decision.kind === 'pass') continue;
        const from = Math.floor(decision.offer.rateHundredths / rateStep) * rateStep;
        const counts = bids.get(from) ?? [0, 0];
        counts[side as 0 | 1] += 1;
        bids.set(from, counts);
      }
      const point = { at, profit: [...profit] as [number, number], exposure: [...exposure] as [number, number] };
      if (points.at(-1)?.at === at) points[points.length - 1] = point;
      else points.push(point);
    },
    close: () => {
      const step = Math.max(1, Math.ceil(points.length / mostPoints));
      const shown = points.filter((_, index) => index % step === step - 1 || index === points.length - 1);
      const [low, high] = [Math.min(...bids.keys()), Math.max(...bids.keys())];
      const count = bids.size === 0 ? 0 : (high - low) / rateStep + 1;
      const rates = Array.from({ length: count }, (_, index) => low + index * rateStep);
      const both = (of: (side: 0 | 1) => number[]): Pair => [of(0), of(1)];
      return {
        at: shown.map((point) => point.at),
        profitCents: both((side) => shown.map((point) => Math.round(point.profit[side]) + 0)),
        exposureCents: both((side) => shown.map((point) => point.exposure[side])),
        rates,
        bids: both((side) => rates.map((rate) => bids.get(rate)?.[side] ?? 0)),
      };
    },
  };
}
