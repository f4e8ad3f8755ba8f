/** What two rule sets did with the same requests, counted by segment: sums of each set, differences and how sure they are. */

import { wholeMarket } from '../rules/keys.ts';
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

/** What one request adds to the rows that are drawn: by name the candidate's less the current one's, and behind them what win rates are made of. */
const rowWidth = width + 2;

export type BestRival = { cell: number; offGrid: boolean } | null;

/** What a bid earns against the published bids, in cents, not rounded; a pass earns and costs nothing. */
export function profitGivenBids(decision: SetDecision, rival: BestRival): number {
  if (decision.kind === 'pass' || rival === null) return 0;
  const { acceptance, valueIfReleasedCents, bidCostCents } = decision.worth;
  return winAgainst(decision.offer.rateHundredths, rival) * acceptance * valueIfReleasedCents - bidCostCents;
}

const nothing: readonly number[] = sumNames.map(() => 0);

function sumsOf(decision: SetDecision, rival: BestRival): readonly number[] {
  if (decision.kind === 'pass') return nothing;
  const { rateHundredths, amountCents, expectedValueCents } = decision.offer;
  const win = rival === null ? 0 : winAgainst(rateHundredths, rival);
  const judged = rival === null ? 0 : 1;
  const profit = profitGivenBids(decision, rival);
  return [1, judged, win, amountCents, win * amountCents, expectedValueCents, profit];
}

/** Of the current set only the judged bids and the wins are kept: the candidate's are the differences on top. */
function rowOf(current: readonly number[], candidate: readonly number[]): number[] {
  const row = candidate.map((sum, part) => sum - current[part]!);
  row.push(current[judgedAt]!, current[winsAt]!);
  return row;
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
  place: number;
  /** Its row of the batch that was added to last. */
  lastBatch: number;
  lastRow: number[];
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

function emptyGroup(key: string, place: number): Group {
  const sides = [emptySide(), emptySide()] as const;
  return { key, requests: 0, toPass: 0, toBid: 0, otherBid: 0, sides, place, lastBatch: -1, lastRow: [] };
}

function addTo(side: Side, decision: SetDecision, sums: readonly number[]): void {
  if (decision.kind === 'pass') {
    side.passes.set(decision.code, (side.passes.get(decision.code) ?? 0) + 1);
    return;
  }
  for (let part = 0; part < width; part += 1) side.sums[part]! += sums[part]!;
}

export function createTally(): Tally {
  const groups = new Map<string, Group>();
  const batches = new Map<string, number>();
  const rows: BatchRow[] = [];
  // It is told of even where nothing was added.
  groupOf(wholeMarket);
  /** Lists of keys are shared among decisions. */
  const known = new WeakMap<readonly string[], readonly Group[]>();

  function groupOf(key: string): Group {
    const group = groups.get(key) ?? emptyGroup(key, groups.size);
    groups.set(key, group);
    return group;
  }

  function groupsOf(segmentKeys: readonly string[]): readonly Group[] {
    const found = known.get(segmentKeys) ?? segmentKeys.map(groupOf);
    known.set(segmentKeys, found);
    return found;
  }

  /** A batch that others came between has a second row: it is drawn as one all the same. */
  function addRow(group: Group, batch: number, row: readonly number[]): void {
    if (group.lastBatch === batch) {
      for (let part = 0; part < rowWidth; part += 1) group.lastRow[part]! += row[part]!;
      return;
    }
    group.lastBatch = batch;
    group.lastRow = [...row];
    rows.push({ batch, group: group.place, values: group.lastRow });
  }

  return {
    batches: () => batches.size,
    add: (name, segmentKeys, [current, candidate], rival) => {
      const batch = batches.get(name) ?? batches.size;
      batches.set(name, batch);
      const sums = [sumsOf(current, rival), sumsOf(candidate, rival)] as const;
      const row = rowOf(sums[0], sums[1]);
      const isOther = isOtherBid(current, candidate);
      for (const group of groupsOf(segmentKeys)) {
        group.requests += 1;
        if (current.kind === 'bid' && candidate.kind === 'pass') group.toPass += 1;
        if (current.kind === 'pass' && candidate.kind === 'bid') group.toBid += 1;
        if (isOther) group.otherBid += 1;
        addTo(group.sides[0], current, sums[0]);
        addTo(group.sides[1], candidate, sums[1]);
        addRow(group, batch, row);
      }
    },
    move: (side, segmentKeys, amountCents, counts) => {
      for (const group of groupsOf(segmentKeys)) {
        const own = group.sides[side];
        own.exposureCents += amountCents;
        if (counts && own.exposureCents > own.peakCents) own.peakCents = own.exposureCents;
      }
    },
    close: (options) => {
      const shape = { batches: batches.size, groups: groups.size, width: rowWidth };
      const intervals = bootstrap(rows, shape, compared.map(statisticOf), options);
      return [...groups.values()]
        .filter(({ key, requests }) => requests > 0 || key === wholeMarket)
        .map((group) => impactOf(group, intervals[group.place]!))
        .sort((left, right) => partsOf(left.key) - partsOf(right.key) || (left.key < right.key ? -1 : 1));
    },
  };
}

function partsOf(key: string): number {
  return key.split('|').length;
}

/** The candidate's less the current one's. A rate of no bids counts as 0, so that every draw says something. */
function statisticOf(name: Compared): (row: Float64Array) => number {
  if (name !== 'winRate') {
    const part = sumNames.indexOf(name);
    return (row) => row[part]!;
  }
  const rate = (wins: number, judged: number) => (judged > 0 ? wins / judged : 0);
  return (row) => {
    const [judged, wins] = [row[width]!, row[width + 1]!];
    return rate(wins + row[winsAt]!, judged + row[judgedAt]!) - rate(wins, judged);
  };
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
