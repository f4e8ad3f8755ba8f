/**
 * The figures of the model card: the data that the price was fitted to, the weights of its readings, and whether bids were won
 * as often as expected. Reads the views in one pass, in bounded memory.
 */
import { unreadClaimId } from '../bidding/evolve.ts';
import { curveOf, statisticKeysOf, weightsOf } from '../bidding/learning.ts';
import type { Views } from '../bidding/ports.ts';
import { type EpochMs, noRivalCell } from '../domain/glossary.ts';
import type { RequestState } from '../domain/states.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { createShared, priorDistribution } from '../pricing/win-curve.ts';
import { requestFeatures } from '../rules/features.ts';
import { shareOf, wholeMarket } from '../rules/keys.ts';
import { batchNameOf, type Interval, intervalsOver } from './bootstrap.ts';

/** Names of segments come from outside, so only this many segments are counted apart; further ones are counted together. */
const maxSegments = 2_000;
/** The card lists this many segments, those with the most auctions, and sums up the rest. */
const listedSegments = 20;
/** Batches are hashed into this many blocks. The bootstrap resamples blocks, which bounds memory and keeps each batch whole. */
const blockCount = 128;
/** An interval over fewer blocks would be too narrow. */
const leastBlocks = 10;
const binCount = 10;

/** Shares of bids, 0 … 1. `gapInterval`: observed less expected, the middle 90 %; null: too few blocks. */
export type CardCalibration = { bids: number; expected: number; observed: number; gapInterval: Interval | null };

type CardSegment = {
  /** Null: all that is not listed, which is rarer segments and requests without a segment. */
  key: string | null;
  /** Ended auctions with published bids. */
  auctions: number;
  newestAt: EpochMs | null;
  /** Null: none of its bids was found among the published ones. */
  calibration: CardCalibration | null;
};

/** Mean over the listed segments, weighted by their auctions, with the lowest and the highest of them. */
export type CardWeight = { name: string; mean: number; low: number; high: number };

export type ModelCard = {
  data: {
    auctions: number;
    withoutRivals: number;
    /** Results in the statistics. Differs from `auctions` where learning was frozen, old rows were removed or the result came first. */
    learnt: number;
    oldestAt: EpochMs | null;
    newestAt: EpochMs | null;
    newestAgeMs: number | null;
    /** Bids prepared, and those of them whose place among the published bids is known. */
    claims: number;
    placed: number;
  };
  /** Empty while nothing was learnt. */
  weights: { readings: readonly CardWeight[]; parts: readonly CardWeight[] };
  /** The whole market first, then by how many auctions. */
  segments: readonly CardSegment[];
  /** By the probability expected, in tenths; `calibration` null where no bid expected that. */
  bins: readonly { from: number; to: number; calibration: CardCalibration | null }[];
  /** Null: nothing was decided yet. */
  newestDecision: { requestId: string; at: EpochMs } | null;
};

type Tally = { bids: number; expected: number; won: number; blocks: Map<number, [bids: number, gap: number]> };
type Segment = { keys: readonly string[]; auctions: number; newestAt: EpochMs | null; tally: Tally };

const emptyTally = (): Tally => ({ bids: 0, expected: 0, won: 0, blocks: new Map() });
const emptySegment = (keys: readonly string[]): Segment => ({
  ...{ keys, auctions: 0, newestAt: null },
  tally: emptyTally(),
});

function blockOf({ batchId, request }: RequestState): number {
  const batch = batchNameOf({ batchId, receivedAt: request?.receivedAt ?? 0 });
  return Math.floor(blockCount * shareOf('model-card', batch));
}

function addBid(tally: Tally, block: number, expected: number, won: number): void {
  tally.bids += 1;
  tally.expected += expected;
  tally.won += won;
  const sums = tally.blocks.get(block) ?? [0, 0];
  sums[0] += 1;
  sums[1] += won - expected;
  tally.blocks.set(block, sums);
}

function calibrationOf({ bids, expected, won, blocks }: Tally): CardCalibration | null {
  if (bids === 0) return null;
  const gapInterval =
    blocks.size < leastBlocks ? null : intervalsOver([...blocks.values()], [(sums) => sums[1]! / sums[0]!])[0]!;
  return { bids, expected: expected / bids, observed: won / bids, gapInterval };
}

function noteAuction(segment: Segment, at: EpochMs): void {
  segment.auctions += 1;
  segment.newestAt = Math.max(segment.newestAt ?? at, at);
}

/** Weights in the curves of these segments, averaged by their auctions. */
async function weightsIn(
  statistics: Views['statistics'],
  segments: readonly Segment[],
  { at, halfLifeMs, winCurve }: { at: EpochMs; halfLifeMs: number; winCurve: PricingSettings['winCurve'] },
): Promise<ModelCard['weights']> {
  const sums = { readings: new Map<string, number[]>(), parts: new Map<string, number[]>() };
  const prior = priorDistribution(winCurve.prior);
  const { priorWeight, shrinkage, smoothing } = winCurve;
  const shared = createShared();
  let total = 0;
  for (const { keys, auctions } of segments) {
    const known = await statistics(statisticKeysOf(keys, requestFeatures));
    const curve = curveOf(keys, known, {
      ...{ prior, priorWeight, shrinkage, smoothing, at, halfLifeMs, shared },
      ...{ breakEvens: null, layout: requestFeatures },
    });
    const { readings, segments: parts } = weightsOf(keys, curve);
    total += auctions;
    for (const [found, named] of [[sums.readings, readings] as const, [sums.parts, parts] as const]) {
      for (const { name, weight } of named) {
        const [sum = 0, low = 1, high = 0] = found.get(name) ?? [];
        found.set(name, [sum + weight * auctions, Math.min(low, weight), Math.max(high, weight)]);
      }
    }
  }
  const read = (found: ReadonlyMap<string, number[]>) =>
    Array.from(found, ([name, [sum = 0, low = 0, high = 0]]): CardWeight => ({ name, mean: sum / total, low, high }));
  return { readings: read(sums.readings), parts: read(sums.parts) };
}

export type ModelCardOptions = {
  statistics: Views['statistics'];
  at: EpochMs;
  halfLifeMs: number;
  winCurve: PricingSettings['winCurve'];
  onRow: (read: number) => void;
};

export async function readModelCard(
  states: AsyncIterable<RequestState>,
  options: ModelCardOptions,
): Promise<ModelCard> {
  const market = emptySegment([wholeMarket]);
  const others = emptySegment([]);
  const known = new Map<string, Segment>();
  const bins = Array.from({ length: binCount }, emptyTally);
  let newestDecision: ModelCard['newestDecision'] = null;
  let [withoutRivals, claims, read] = [0, 0, 0];
  let oldestAt: EpochMs | null = null;
  for await (const state of states) {
    read += 1;
    options.onRow(read);
    const { auction, claim, decidedAt, segmentKeys } = state;
    if (decidedAt !== null && decidedAt > (newestDecision?.at ?? Number.NEGATIVE_INFINITY)) {
      newestDecision = { requestId: state.requestId, at: decidedAt };
    }
    if (claim !== null) claims += 1;
    // The result of a request that was not received teaches nothing.
    if (state.request === null || auction === null || auction.bestRivalCell === null) continue;
    const special = segmentKeys.at(-1) ?? wholeMarket;
    let segment = known.get(special) ?? others;
    if (segment === others && special !== wholeMarket && known.size < maxSegments) {
      segment = emptySegment(segmentKeys);
      known.set(special, segment);
    }
    const endedAt = auction.endedAt ?? decidedAt ?? state.request?.receivedAt ?? options.at;
    oldestAt = Math.min(oldestAt ?? endedAt, endedAt);
    if (auction.bestRivalCell === noRivalCell) withoutRivals += 1;
    for (const one of [market, segment]) noteAuction(one, endedAt);
    if (claim === null || claim.claimId === unreadClaimId || auction.position === null) continue;
    const { winProbability } = claim.offer;
    const won = auction.position === 1 ? 1 : 0;
    const bin = bins[Math.min(binCount - 1, Math.floor(winProbability * binCount))]!;
    const block = blockOf(state);
    for (const tally of [market.tally, segment.tally, bin]) addBid(tally, block, winProbability, won);
  }
  const frequent = [...known.values()].sort((left, right) => right.auctions - left.auctions);
  const listed = frequent.slice(0, listedSegments);
  for (const { auctions, newestAt, tally } of frequent.slice(listedSegments)) {
    others.auctions += auctions;
    others.newestAt = Math.max(others.newestAt ?? 0, newestAt ?? 0);
    others.tally.bids += tally.bids;
    others.tally.expected += tally.expected;
    others.tally.won += tally.won;
    for (const [block, [bids, gap]] of tally.blocks) {
      const sums = others.tally.blocks.get(block) ?? [0, 0];
      others.tally.blocks.set(block, [sums[0] + bids, sums[1] + gap]);
    }
  }
  const learnt = (await options.statistics([wholeMarket])).get(wholeMarket)?.count ?? 0;
  const rowOf = (key: string | null, { auctions, newestAt, tally }: Segment): CardSegment => ({
    ...{ key, auctions, newestAt },
    calibration: calibrationOf(tally),
  });
  return {
    data: {
      ...{ auctions: market.auctions, withoutRivals, learnt, oldestAt, newestAt: market.newestAt },
      newestAgeMs: market.newestAt === null ? null : options.at - market.newestAt,
      ...{ claims, placed: market.tally.bids },
    },
    weights:
      learnt === 0
        ? { readings: [], parts: [] }
        : await weightsIn(options.statistics, listed.length === 0 ? [market] : listed, options),
    segments: [
      rowOf(wholeMarket, market),
      ...listed.map((segment) => rowOf(segment.keys.at(-1)!, segment)),
      ...(others.auctions === 0 ? [] : [rowOf(null, others)]),
    ],
    bins: bins.map((tally, bin) => ({
      ...{ from: bin / binCount, to: (bin + 1) / binCount },
      calibration: calibrationOf(tally),
    })),
    newestDecision,
  };
}
