/**
 * What health checks and metrics cost a desk that knows many open requests: the time of the main thread for each probe, on a desk with few
 * open requests and on one with many; and the time to a bid's first byte under load, with each probed every second and without; and
 * what the console adds to the processor time of a bid, with its first page watched and the metrics read every second.
 * Another version of the desk where `BENCH_MAIN` names its `src/main.ts`.
 */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchConsole } from './console-watch.ts';
import { createBatches, sendLimit, sideOf } from './duel.ts';
import { type Benchmark, median, quantile, rounded, type Say } from './figures.ts';
import { createLives } from './lives.ts';
import { type Loop, type OursOptions, otherVersion, startOurs } from './loops.ts';
import { sourceOf } from './processes.ts';
import { whenReady } from './ready.ts';
import { startSink } from './sink.ts';
import { fillStore } from './store-fill.ts';
import { roomyRules } from './workload.ts';

const paths = ['/livez', '/readyz', '/metrics', '/v1/status'] as const;
type Path = (typeof paths)[number];

const few = 1_000;
const quietRounds = 10;
/** What one probe may keep for the next is older then; the text of the metrics is kept for a second. */
const apartMs = 300;
const rounds = 4;
const roundS = 6;
const targetP99Ms = 40;
/** A probe with many open requests may cost this many times what it costs with few: less is noise. */
const mostTimes = 1.5;
const token = 'bench-probe-token';

type Probed = {
  loop: Loop;
  tookUs: ReadonlyMap<Path, number[]>;
  probe: (path: Path) => Promise<void>;
  notReady: readonly string[];
};

async function startProbed(places: OursOptions): Promise<Probed> {
  const tookUs = new Map<Path, number[]>(paths.map((path) => [path, []]));
  const loop = await startOurs({
    ...places,
    preload: sourceOf('./probe-clock.ts'),
    environment: { LANCE_API_TOKENS: `bench:viewer:${createHash('sha256').update(token).digest('hex')}` },
    hear: (line) => {
      const { path, us } = JSON.parse(line) as { path?: Path; us: number };
      if (path !== undefined) tookUs.get(path)?.push(us);
    },
  });
  const [origin] = loop.origins;
  const notReady: string[] = [];
  await whenReady(origin!);
  const probe = async (path: Path): Promise<void> => {
    const answer = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    if (answer.status === 200) return;
    // A desk that is not ready for a moment answers its probes all the same.
    if (path !== '/readyz' || answer.status !== 503) throw new Error(`${path} answered ${answer.status}: ${text}`);
    notReady.push(await (await fetch(`${origin}/readyz?verbose`)).text());
  };
  return { loop, tookUs, probe, notReady };
}

type Cost = Record<Path, { us: number; leastUs: number }>;

/** Of desks that do nothing else. The first round warms. The least is what a busy machine disturbs least. */
async function quietCosts(desks: readonly Probed[]): Promise<Cost[]> {
  for (let round = 0; round <= quietRounds; round += 1) {
    if (round === 1) for (const { tookUs } of desks) for (const each of tookUs.values()) each.length = 0;
    for (const path of paths) {
      for (const { probe } of desks) await probe(path);
      await sleep(apartMs);
    }
  }
  return desks.map(({ tookUs }) => {
    const costOf = (each: readonly number[]) => ({ us: rounded(median(each), 0), leastUs: Math.min(...each) });
    return Object.fromEntries(paths.map((path) => [path, costOf(tookUs.get(path)!)])) as Cost;
  });
}

export const probes: Benchmark = {
  run: async (say, { requests, rate }) => {
    const { directory, rulesDir } = roomyRules();
    const sink = await startSink();
    const closing: (() => unknown)[] = [sink.close];
    try {
      const lives = createLives(Date.now(), rulesDir);
      const desks: Probed[] = [];
      for (const open of [few, requests]) {
        const other = otherVersion();
        const main = other === null ? {} : { main: other.main };
        const places = { directory, rulesDir, baseUrl: sink.url, sendLimit, name: `open-${open}`, ...main };
        const records = await fillStore(places, (index) => lives.openOf(index, Date.now()), open);
        const startedAt = performance.now();
        const desk = await startProbed(places);
        closing.unshift(desk.loop.stop);
        say(
          `${open} open requests, ${records} records: ready after ${rounded((performance.now() - startedAt) / 1_000)} s`,
        );
        desks.push(desk);
      }
      const [atFew, atMany] = await quietCosts(desks);
      tellCosts(atFew!, atMany!, requests, say);
      await desks[0]!.loop.stop();
      const load = await underLoad(desks[1]!, sink, rate, say);
      const notReady = desks.flatMap((desk) => desk.notReady);
      for (const text of notReady) say(`not ready: ${text.replaceAll('\n', ' ')}`);
      const times = Math.max(...paths.map((path) => atMany![path].leastUs / atFew![path].leastUs));
      return {
        ...{
          requests,
          rate,
          few,
          mainThread: { few: atFew, many: atMany },
          mostTimesFew: rounded(times, 2),
          mostTimes,
        },
        ...{
          ...load,
          notReady: notReady.length,
          targetP99Ms,
          isFlat: times <= mostTimes,
          isInTarget: load.probed.p99Ms <= targetP99Ms,
        },
      };
    } finally {
      for (const close of closing) await close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

function tellCosts(atFew: Cost, atMany: Cost, many: number, say: Say): void {
  for (const path of paths) {
    const told = ({ us, leastUs }: Cost[Path]) => `${us} µs (least ${leastUs})`;
    say(`${path}: ${told(atFew[path])} with ${few} open, ${told(atMany[path])} with ${many}`);
  }
}

const kinds = ['plain', 'probed', 'watched'] as const;
type Kind = (typeof kinds)[number];
const said = { plain: 'nobody looks', probed: 'probes each second', watched: 'console and metrics' };
/** What console and metrics may add to the processor time of a bid. */
const mostConsoleShare = 0.03;

/** Rounds of each kind take turns, so that what else the machine does weighs on all alike. */
async function underLoad({ loop, probe }: Probed, sink: Awaited<ReturnType<typeof startSink>>, rate: number, say: Say) {
  const side = sideOf(loop, sink);
  const { next } = createBatches(Date.now());
  const latencies: Record<Kind, number[]> = { plain: [], probed: [], watched: [] };
  const cpuUs: Record<Kind, number[]> = { plain: [], probed: [], watched: [] };
  let events = 0;
  const beside = async (kind: Kind): Promise<(() => Promise<void>) | null> => {
    if (kind === 'plain') return async () => undefined;
    if (kind === 'probed') return probeEachSecond(probe);
    const watch = await watchConsole(loop.origins[0]!, token);
    if (watch === null) return null;
    return async () => {
      events += await watch.stop();
    };
  };
  try {
    await side.generator.pace(next(rate * roundS), [], rate);
    for (let round = 0; round < kinds.length * rounds; round += 1) {
      const kind = kinds[round % kinds.length]!;
      const stop = await beside(kind);
      // An earlier version.
      if (stop === null) continue;
      const before = loop.cpuUs();
      const run = await side.generator.pace(next(rate * roundS), [], rate);
      const after = loop.cpuUs();
      await stop();
      latencies[kind].push(...run.latenciesMs);
      if (before !== null && after !== null) cpuUs[kind].push((after - before) / (rate * roundS));
      const told = `p99 ${rounded(quantile(run.latenciesMs, 0.99))} ms, ${rounded(cpuUs[kind].at(-1) ?? 0, 0)} µs a request`;
      say(`${said[kind]}: ${told}`);
    }
  } finally {
    await side.generator.close();
  }
  const of = (each: readonly number[]) => ({
    p50Ms: rounded(quantile(each, 0.5)),
    p99Ms: rounded(quantile(each, 0.99)),
    bids: each.length,
  });
  const measured = cpuUs.plain.length > 0 && cpuUs.watched.length > 0;
  const share = measured ? median(cpuUs.watched) / median(cpuUs.plain) - 1 : null;
  if (share !== null) say(`console and metrics: ${rounded(100 * share)} % of the processor time, ${events} events`);
  return {
    ...{ plain: of(latencies.plain), probed: of(latencies.probed) },
    watched: cpuUs.watched.length === 0 ? null : { ...of(latencies.watched), events },
    cpuUsOfRequest: measured
      ? { plain: rounded(median(cpuUs.plain), 1), watched: rounded(median(cpuUs.watched), 1) }
      : null,
    consoleShare: share === null ? null : rounded(share, 4),
    mostConsoleShare,
  };
}

function probeEachSecond(probe: (path: Path) => Promise<void>): () => Promise<void> {
  let stopped = false;
  const run = (async () => {
    while (!stopped) {
      await Promise.all(paths.map(probe));
      await sleep(1_000);
    }
  })();
  return async () => {
    stopped = true;
    await run;
  };
}
