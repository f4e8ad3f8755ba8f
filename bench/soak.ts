/**
 * Whole lives of requests at a steady rate for a long time: what the daemon holds of memory, handles and timers, and what a request adds to
 * its file, has to stay as it is. Nothing of an embedded log is ever removed, so its file grows with the requests, each by as much.
 */
import { rmSync } from 'node:fs';
import { createBatches, type Side, sendLimit, sideOf, turnOver, verify, whenAllEnded } from './duel.ts';
import { type Benchmark, quantile, rounded } from './figures.ts';
import { startOurs } from './loops.ts';
import { whenReady } from './ready.ts';
import { startSink } from './sink.ts';
import { type Sample, type Trend, trendOf } from './trend.ts';
import { roomyRules } from './workload.ts';

/** What is sent at once, with a pause after it: of the time this part, but no more than so long. */
const chunkShare = 1 / 40;
const mostChunkS = 5;
const sampleMs = 1_000;
/** Of the time: until caches are full and code is compiled. */
const warmShare = 0.4;

/** What is sampled: what counts of a stretch of time, and how much more is no growth, whatever there was. */
const series = {
  rssMb: { of: 'mean', slack: 8 },
  heapMb: { of: 'least', slack: 4 },
  handles: { of: 'mean', slack: 2 },
  timers: { of: 'mean', slack: 2 },
  diskBytesPerRequest: { of: 'mean', slack: 0 },
} as const;
type Series = keyof typeof series;

const megabyte = 1_048_576;

/** The sum of a metric's series whose labels have that text. */
function sumOf(metrics: string, name: string, label = ''): number {
  let sum = 0;
  for (const line of metrics.split('\n')) {
    const [, labels = '', value] = /^(?:[a-z_]+)(\{[^}]*\})? ([\d.e+]+)$/.exec(line) ?? [];
    if (line.startsWith(name) && !/[a-z_]/.test(line[name.length] ?? '') && labels.includes(label))
      sum += Number(value);
  }
  return sum;
}

function createSampler(side: Side) {
  const { loop } = side;
  const samples = Object.fromEntries(Object.keys(series).map((name) => [name, []])) as unknown as Record<
    Series,
    Sample[]
  >;
  let asking: Promise<void> = Promise.resolve();
  const ask = async (): Promise<void> => {
    const metrics = await (await fetch(`${loop.origins[0]}/metrics`)).text();
    const at = performance.now();
    samples.rssMb.push({ at, value: loop.rssBytes()! / megabyte });
    samples.heapMb.push({ at, value: sumOf(metrics, 'nodejs_heap_size_used_bytes') / megabyte });
    samples.handles.push({ at, value: sumOf(metrics, 'nodejs_active_handles') });
    samples.timers.push({ at, value: sumOf(metrics, 'nodejs_active_resources', 'Timeout') });
  };
  const timer = setInterval(() => {
    asking = asking.then(ask);
  }, sampleMs);
  return {
    samples,
    stop: async () => {
      clearInterval(timer);
      await asking;
    },
  };
}

function told(name: string, { mean, growth, from, to, isFlat }: Trend): string {
  return `${name}: ${mean}, grew by ${growth} (${from} … ${to}): ${isFlat ? 'flat' : 'not flat'}`;
}

async function play(
  side: Side,
  next: ReturnType<typeof createBatches>['next'],
  { rate, lengthMs }: { rate: number; lengthMs: number },
) {
  const { samples, stop } = createSampler(side);
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const chunkS = Math.min(mostChunkS, (chunkShare * lengthMs) / 1_000);
  const isOver = () => performance.now() - startedAt >= lengthMs;
  try {
    while (!isOver()) {
      const webhooks = next(rate * chunkS);
      const diskBefore = side.loop.diskBytes()!;
      const run = await side.generator.pace(webhooks, turnOver(side, webhooks, 'settled'), rate);
      const value = (side.loop.diskBytes()! - diskBefore) / run.requests;
      samples.diskBytesPerRequest.push({ at: performance.now(), value });
      for (const ms of run.latenciesMs) latenciesMs.push(ms);
    }
  } finally {
    await stop();
  }
  const warmUntil = startedAt + warmShare * lengthMs;
  const names = Object.keys(series) as Series[];
  const trends = names.map((name): [Series, Trend] => {
    const { of, slack } = series[name];
    return [
      name,
      trendOf(
        samples[name].filter(({ at }) => at >= warmUntil),
        of,
        slack,
      ),
    ];
  });
  return { trends, p99Ms: rounded(quantile(latenciesMs, 0.99)) };
}

export const soak: Benchmark = {
  run: async (say, { rate, minutes }) => {
    const { directory, rulesDir } = roomyRules();
    const sink = await startSink();
    const closing: (() => unknown)[] = [sink.close];
    try {
      const loop = await startOurs({ directory, rulesDir, baseUrl: sink.url, sendLimit });
      const side = sideOf(loop, sink);
      closing.unshift(loop.stop, side.generator.close);
      await whenReady(loop.origins[0]!);
      const { next, sent } = createBatches(Date.now());
      const { trends, p99Ms } = await play(side, next, { rate, lengthMs: minutes * 60_000 });
      await whenAllEnded(side, sent);
      await side.generator.close();
      await loop.stop();
      await verify([side], sent);
      for (const [name, trend] of trends) say(told(name, trend));
      const holds = trends.every(([, { isFlat }]) => isFlat);
      return { minutes, rate, requests: sent.size, p99Ms, ...Object.fromEntries(trends), warmShare, holds };
    } finally {
      for (const close of closing) await close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
