/** What two rule sets did with the same requests, counted by segment: sums of each set, differences and how sure they are. */

import { type BatchRow, bootstrap, type Interval } from './bootstrap.ts';
import type { SetDecision } from './desk-replay.ts';
import { winAgainst } from './desk-replay.ts';

export type Measures = {
  bids: number;
  /** Requests by the code they were passed with. */
  passes: Readonly<Record<string, number>>;
  /** Bids on auctions whose end is known; wins are counted among them, a tie as a half. */
  judgedBids: number;
  wins: number;
  winRate: number | null;
  /** Amounts bid, and amounts won. */
  volumeCents: number;
  wonCents: number;
  /** ΣJ as believed at the decision. */
  expectedProfitCents: number;
  /** Σ win(published)·a·V − bid cost, over judged bids. */
  profitGivenBidsCents: number;
  /** The most that was promised at one moment. */
  peakExposureCents: number;
};

export const compared = [
  'bids',
  'wins',
  'winRate',
  'volumeCents',
  'wonCents',
  'expectedProfitCents',
  'profitGivenBidsCents',
] as const;
export type Compared = (typeof compared)[number];

/** Candidate less current. `winRate` null: one of the two made no bid that can be judged. */
export type Difference = { value: number | null } & Interval;

export type SegmentImpact = {
  key: string;
  requests: number;
  /** Bids that became passes, passes that became bids, and bids that became other bids. */
  toPass: number;
  toBid: number;
  otherBid: number;
  current: Measures;
  candidate: Measures;
  difference: Readonly<Record<Compared, Difference>>;
};

const sumNames = [
  'bids',
  'judgedBids',
  'wins',
  'volumeCents',
  'wonCents',
  'expectedProfitCents',
  'profitGivenBidsCents',
] as const;
const width = sumNames.length;
const [judgedAt, winsAt] = [sumNames.indexOf('judgedBids'), sumNames.indexOf('wins')];

export type BestRival = { cell: number; offGrid: boolean } | null;

/** What a bid earns against the published bids, in cents, not rounded; a pass earns and costs nothing. */
export function profitGivenBids(decision: SetDecision, rival: BestRival): number {
  if (decision.kind === 'pass' || rival === null) return 0;
  const { acceptance, valueIfReleasedCents, bidCostCents } = decision.worth;
  return winAgainst(decision.offer.rateHundredths, rival) * acceptance * valueIfReleasedCents - bidCostCents;
}

function sumsOf(decision: SetDecision, rival: BestRival): number[] {
  if (decision.kind === 'pass') return sumNames.map(() => 0);
  const { rateHundredths, amountCents, expectedValueCents } = decision.offer;
  const win = rival === null ? 0 : winAgainst(rateHundredths, rival);
  const judged = rival === null ? 0 : 1;
  const profit = profitGivenBids(decision, rival);
  return [1, judged, win, amountCents, win * amountCents, expectedValueCents, profit];
}

function isOtherBid(one: SetDecision, other: SetDecision): boolean {
  if (one.kind === 'pass' || other.kind === 'pass') return false;
  return (['rateHundredths', 'amountCents', 'installments'] as const).some(
    (field) => one.offer[field] !== other.offer[field],
  );
}

type Side = { sums: Float64Array; passes: Map<string, number>; exposureCents: number; peakCents: number };

type Group = {
  key: string;
  requests: number;
  toPass: number;
  toBid: number;
  otherBid: number;
  sides: readonly [Side, Side];
};

export type Tally = {
  add: (
    batch: string,
    segmentKeys: readonly string[],
    decisions: readonly [current: SetDecision, candidate: SetDecision],
    rival: BestRival,
  ) => void;
  /** Exposure of one of the two sets changes; peaks are only noted of what `counts`. */
  move: (side: 0 | 1, segmentKeys: readonly string[], amountCents: number, counts: boolean) => void;
  /** Segments by their keys: the whole market first. */
  close: (options: { draws: number; seed: number }) => SegmentImpact[];
  batches: () => number;
};

function emptySide(): Side {
  return { sums: new Float64Array(width), passes: new Map(), exposureCents: 0, peakCents: 0 };
}

export function createTally(): Tally {
  const groups = new Map<string, Group & { place: number }>();
  const batches = new Map<string, { place: number; rows: Map<number, Float64Array> }>();

  function groupOf(key: string): Group & { place: number } {
    let group = groups.get(key);
    if (group === undefined) {
      const sides = [emptySide(), emptySide()] as const;
      group = { key, requests: 0, toPass: 0, toBid: 0, otherBid: 0, sides, place: groups.size };
      groups.set(key, group);
    }
    return group;
  }

  function batchOf(name: string): Map<number, Float64Array> {
    let batch = batches.get(name);
    if (batch === undefined) {
      batch = { place: batches.size, rows: new Map() };
      batches.set(name, batch);
    }
    return batch.rows;
  }

  return {
    batches: () => batches.size,
    add: (name, segmentKeys, decisions, rival) => {
      const rows = batchOf(name);
      const sums = decisions.map((decision) => sumsOf(decision, rival));
      const [current, candidate] = decisions;
      for (const key of segmentKeys) {
        const group = groupOf(key);
        let row = rows.get(group.place);
        if (row === undefined) {
          row = new Float64Array(2 * width);
          rows.set(group.place, row);
        }
        group.requests += 1;
        if (current.kind === 'bid' && candidate.kind === 'pass') group.toPass += 1;
        if (current.kind === 'pass' && candidate.kind === 'bid') group.toBid += 1;
        if (isOtherBid(current, candidate)) group.otherBid += 1;
        for (const [place, side] of group.sides.entries()) {
          const decision = decisions[place]!;
          if (decision.kind === 'pass') side.passes.set(decision.code, (side.passes.get(decision.code) ?? 0) + 1);
          for (let part = 0; part < width; part += 1) {
            side.sums[part]! += sums[place]![part]!;
            row[place * width + part]! += sums[place]![part]!;
          }
        }
      }
    },
    move: (side, segmentKeys, amountCents, counts) => {
      for (const key of segmentKeys) {
        const own = groupOf(key).sides[side];
        own.exposureCents += amountCents;
        if (counts && own.exposureCents > own.peakCents) own.peakCents = own.exposureCents;
      }
    },
    close: (options) => {
      const rows: BatchRow[] = [...batches.values()].flatMap(({ place, rows: own }) =>
        [...own].map(([group, values]) => ({ batch: place, group, values })),
      );
      const shape = { batches: batches.size, groups: groups.size, width: 2 * width };
      const intervals = bootstrap(rows, shape, compared.map(statisticOf), options);
      return [...groups.values()]
        .filter(({ requests }) => requests > 0)
        .map((group) => impactOf(group, intervals[group.place]!))
        .sort((left, right) => partsOf(left.key) - partsOf(right.key) || (left.key < right.key ? -1 : 1));
    },
  };
}

function partsOf(key: string): number {
  return key.split('|').length;
}

/** Of a row of both sets' sums: the candidate's less the current one's. A rate of no bids counts as 0, so that every draw says something. */
function statisticOf(name: Compared): (sums: Float64Array) => number {
  if (name === 'winRate') {
    const rate = (sums: Float64Array, from: number) =>
      sums[from + judgedAt]! > 0 ? sums[from + winsAt]! / sums[from + judgedAt]! : 0;
    return (sums) => rate(sums, width) - rate(sums, 0);
  }
  const part = sumNames.indexOf(name);
  return (sums) => sums[width + part]! - sums[part]!;
}

const inCents: readonly string[] = ['expectedProfitCents', 'profitGivenBidsCents', 'wonCents', 'volumeCents'];

function rounded(name: string, value: number): number {
  // Never −0, which reads as a loss.
  return (inCents.includes(name) ? Math.round(value) : Number(value.toPrecision(12))) + 0;
}

function measuresOf({ sums, passes, peakCents }: Side): Measures {
  const of = (name: (typeof sumNames)[number]) => rounded(name, sums[sumNames.indexOf(name)]!);
  const judgedBids = of('judgedBids');
  const counted = [...passes].sort(([one, more], [other, less]) => less - more || (one < other ? -1 : 1));
  return {
    bids: of('bids'),
    passes: Object.fromEntries(counted),
    judgedBids,
    wins: of('wins'),
    winRate: judgedBids === 0 ? null : rounded('winRate', of('wins') / judgedBids),
    volumeCents: of('volumeCents'),
    wonCents: of('wonCents'),
    expectedProfitCents: of('expectedProfitCents'),
    profitGivenBidsCents: of('profitGivenBidsCents'),
    peakExposureCents: peakCents,
  };
}

function impactOf(group: Group, intervals: readonly Interval[]): SegmentImpact {
  const { key, requests, toPass, toBid, otherBid, sides } = group;
  const [current, candidate] = [measuresOf(sides[0]), measuresOf(sides[1])];
  const difference = {} as Record<Compared, Difference>;
  for (const [place, name] of compared.entries()) {
    const [was, is] = [current[name], candidate[name]];
    const { low, high } = intervals[place]!;
    const value = was === null || is === null ? null : rounded(name, is - was);
    difference[name] = { value, low: rounded(name, low), high: rounded(name, high) };
  }
  return { key, requests, toPass, toBid, otherBid, current, candidate, difference };
}
