/**
 * What a request costs a desk by how many it knows: CPU and the time to a bid's first byte, of whole lives, at 1,000 known and ten times as
 * many at each step; and how long a start takes. All desks run at once and are asked in turns, so that what else the machine does weighs on
 * all alike.
 */
import { rmSync } from 'node:fs';
import { createBatches, type Side, sendLimit, sideOf, turnOver } from './duel.ts';
import { type Benchmark, median, quantile, rounded, type Say } from './figures.ts';
import type { Run } from './generator.ts';
import { createLives } from './lives.ts';
import { type OursOptions, startOurs } from './loops.ts';
import { whenReady } from './ready.ts';
import { startSink } from './sink.ts';
import { fillStore } from './store-fill.ts';
import { roomyRules } from './workload.ts';

const least = 1_000;
const rounds = 7;
const warmRounds = 2;
const roundS = 4;
/** What is known ended at least so long ago. */
const agoMs = 3_600_000;
const spanMs = 9 * 3_600_000;
/** More than with the fewest known, in CPU or in p99. */
const mostGrowth = 0.1;

type Grown = { known: number; side: Side; foldSeconds: number; startSeconds: number; runs: Run[] };

function sizesUpTo(most: number): number[] {
  const sizes: number[] = [];
  for (let known = least; known < most; known *= 10) sizes.push(known);
  return [...sizes, most];
}

async function secondsOfStart(places: OursOptions) {
  const startedAt = performance.now();
  const loop = await startOurs(places);
  await whenReady(loop.origins[0]!);
  return { loop, seconds: rounded((performance.now() - startedAt) / 1_000) };
}

/** The first start folds all that was filled in; the second one finds it folded. */
async function grow(
  common: Omit<OursOptions, 'baseUrl' | 'name'>,
  known: number,
  closing: (() => unknown)[],
  say: Say,
) {
  const lives = createLives(Date.now(), common.rulesDir);
  const sink = await startSink();
  closing.unshift(sink.close);
  const places = { ...common, baseUrl: sink.url, name: `known-${known}` };
  const until = Date.now() - agoMs;
  const receivedAt = (index: number) => until - Math.round(((known - index) / known) * spanMs);
  const records = await fillStore(places, (index) => lives.recordsOf(index, receivedAt(index)), known);
  const { loop: first, seconds: foldSeconds } = await secondsOfStart(places);
  await first.stop();
  const { loop, seconds: startSeconds } = await secondsOfStart(places);
  const side = sideOf(loop, sink);
  closing.unshift(loop.stop, side.generator.close);
  say(`${known} known, ${records} records: folded and ready after ${foldSeconds} s, then after ${startSeconds} s`);
  return { known, side, foldSeconds, startSeconds, runs: [] };
}

const cpuOf = ({ cpuUs, requests }: Run): number => (cpuUs ?? Number.NaN) / requests;
const p99Of = ({ latenciesMs }: Run): number => quantile(latenciesMs, 0.99);

/** Median of the rounds, each held against the same round with the fewest known. */
function growthOf({ runs }: Grown, base: Grown, value: (run: Run) => number): number {
  return rounded(median(runs.map((run, round) => value(run) / value(base.runs[round]!))), 3);
}

export const growth: Benchmark = {
  run: async (say, { requests, rate }) => {
    const { directory, rulesDir } = roomyRules();
    const closing: (() => unknown)[] = [];
    try {
      const desks: Grown[] = [];
      for (const known of sizesUpTo(requests))
        desks.push(await grow({ directory, rulesDir, sendLimit }, known, closing, say));
      const { next } = createBatches(Date.now());
      for (let round = -warmRounds; round < rounds; round += 1) {
        const webhooks = next(rate * roundS);
        for (const desk of round % 2 === 0 ? desks : desks.toReversed()) {
          const { side, runs } = desk;
          const run = await side.generator.pace(webhooks, turnOver(side, webhooks, 'settled'), rate);
          if (round >= 0) runs.push(run);
        }
      }
      const [base] = desks;
      const sizes = desks.map((desk) => ({
        known: desk.known,
        cpuUsPerRequest: rounded(median(desk.runs.map(cpuOf)), 0),
        p99Ms: rounded(median(desk.runs.map(p99Of)), 2),
        cpuToFewest: growthOf(desk, base!, cpuOf),
        p99ToFewest: growthOf(desk, base!, p99Of),
        foldSeconds: desk.foldSeconds,
        startSeconds: desk.startSeconds,
      }));
      for (const { known, cpuUsPerRequest, p99Ms, cpuToFewest, p99ToFewest } of sizes) {
        say(`${known} known: ${cpuUsPerRequest} µs a request (× ${cpuToFewest}), p99 ${p99Ms} ms (× ${p99ToFewest})`);
      }
      const isFlat = sizes.every(
        ({ cpuToFewest, p99ToFewest }) => Math.max(cpuToFewest, p99ToFewest) <= 1 + mostGrowth,
      );
      return { requests, rate, rounds, sizes, mostGrowth, isFlat };
    } finally {
      for (const close of closing) await close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
