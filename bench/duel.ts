/**
 * Ours and the bare loop side by side: both processes stay up and warm, rounds alternate, then both are paced at half of our
 * capacity. Generator and sinks are this process. At the end both logs are compared with what was sent and what arrived.
 */
import { median, quantile, type Report, rounded, type Say } from './figures.ts';
import { createGenerator, type Generator, type Run } from './generator.ts';
import { type Kept, type Loop, lengthsIn, type RecordLengths } from './loops.ts';
import { type Sink, startSink } from './sink.ts';
import { type Webhook, webhooksOf } from './workload.ts';

/** As shipped. */
export const sendLimit = 64;
/** Requests in the loop at saturation. */
const waiting = 1_500;
const webhookRequests = 20;

export type DuelPlan = {
  startOurs: (baseUrl: string) => Promise<Loop>;
  startBare: (given: { baseUrl: string; bidShare: number; sizes: RecordLengths }) => Promise<Loop>;
  warmRequests: number;
  roundRequests: number;
  rounds: number;
  pacedS: number;
  /** Microseconds of CPU that the servers beside the loops have used so far. */
  serversCpuUs?: () => number | null;
};

/** A run with the CPU of the servers that both loops share. */
type Measured = Run & { serversCpuUs: number | null };

export type Side = { loop: Loop; sink: Sink; generator: Generator };

export function sideOf(loop: Loop, sink: Sink): Side {
  return { loop, sink, generator: createGenerator(loop, sink) };
}

export const perS = ({ requests, durationMs }: Run): number => (requests / durationMs) * 1_000;
const bidsPerS = ({ bids, durationMs }: Run): number => (bids / durationMs) * 1_000;

/** Saturates a side: as many requests as it takes. */
export function saturate({ generator }: Side, webhooks: readonly Webhook[], bidShare: number): Promise<Run> {
  return generator.saturate(webhooks, { waiting, bidShare });
}

/** Webhooks of requests that were never sent before; all ids are remembered in `sent`. */
export function createBatches(startsAt: number): { next: (requests: number) => Webhook[]; sent: ReadonlySet<string> } {
  const sent = new Set<string>();
  let first = 0;
  return {
    sent,
    next: (requests) => {
      const webhooks = webhooksOf(first, Math.ceil(requests / webhookRequests), webhookRequests, startsAt);
      first += webhooks.length * webhookRequests;
      for (const { requestIds } of webhooks) for (const id of requestIds) sent.add(id);
      return webhooks;
    },
  };
}

/** What is wrong with a log: every request sent is there once, every bid that arrived was claimed and answered there. */
function faultsOf({ loop, sink }: Pick<Side, 'loop' | 'sink'>, kept: Kept, sent: ReadonlySet<string>): string[] {
  const { requested, claimed, passed, answered } = kept;
  const arrived = new Set(sink.arrivals.keys());
  const same = (ids: readonly string[], wanted: ReadonlySet<string>): boolean =>
    ids.length === wanted.size && ids.every((id) => wanted.has(id));
  const faults: string[] = [];
  if (!same(requested.requestIds, sent)) faults.push(`requested ${requested.requestIds.length}, sent ${sent.size}`);
  if (!same(claimed.requestIds, arrived)) faults.push(`claimed ${claimed.requestIds.length}, arrived ${arrived.size}`);
  if (!same(answered.requestIds, arrived))
    faults.push(`answered ${answered.requestIds.length}, arrived ${arrived.size}`);
  if (!same([...claimed.requestIds, ...passed.requestIds], sent)) faults.push('some requests have no end');
  if (sink.faults() > 0) faults.push(`the sink refused ${sink.faults()} bodies`);
  return faults.map((text) => `${loop.name}: ${text}`);
}

/** Throws unless everything that was sent is whole in the logs. The loops have stopped. */
export async function verify(sides: readonly Pick<Side, 'loop' | 'sink'>[], sent: ReadonlySet<string>): Promise<void> {
  const faults: string[] = [];
  for (const side of sides) faults.push(...faultsOf(side, await side.loop.kept(), sent));
  if (faults.length > 0) throw new Error(`the run does not count:\n${faults.join('\n')}`);
}

function medianEach(runs: readonly Measured[], value: (run: Measured) => number | null): number | null {
  const each = runs.flatMap((run) => {
    const sum = value(run);
    return sum === null ? [] : [sum / run.requests];
  });
  return each.length === 0 ? null : rounded(median(each), 0);
}

function summary(runs: readonly Measured[], paced: Run) {
  const servers = medianEach(runs, ({ serversCpuUs }) => serversCpuUs);
  return {
    requestsPerS: rounded(median(runs.map(perS)), 0),
    bidsPerS: rounded(median(runs.map(bidsPerS)), 0),
    cpuUsPerRequest: medianEach(runs, ({ cpuUs }) => cpuUs),
    ...(servers === null ? {} : { serversCpuUsPerRequest: servers }),
    p50Ms: rounded(quantile(paced.latenciesMs, 0.5), 2),
    p99Ms: rounded(quantile(paced.latenciesMs, 0.99), 2),
  };
}

type Rounds = { ours: Measured[]; bare: Measured[] };

async function alternate(
  sides: { ours: Side; bare: Side },
  plan: DuelPlan,
  next: (requests: number) => Webhook[],
  bidShare: number,
  say: Say,
): Promise<Rounds> {
  const { ours, bare } = sides;
  const runs: Rounds = { ours: [], bare: [] };
  const serversCpuUs = plan.serversCpuUs ?? (() => null);
  for (let round = 1; round <= plan.rounds; round += 1) {
    const webhooks = next(plan.roundRequests);
    for (const side of round % 2 === 1 ? [ours, bare] : [bare, ours]) {
      const before = serversCpuUs();
      const run = await saturate(side, webhooks, bidShare);
      const after = serversCpuUs();
      runs[side.loop.name].push({ ...run, serversCpuUs: before === null || after === null ? null : after - before });
      const speeds = `${rounded(perS(run), 0)} requests/s, ${rounded(bidsPerS(run), 0)} bids/s`;
      say(`round ${round}, ${side.loop.name}: ${speeds}`);
    }
  }
  return runs;
}

function tellSides(own: ReturnType<typeof summary>, base: ReturnType<typeof summary>, half: number, say: Say): void {
  const servers = (side: ReturnType<typeof summary>): string =>
    side.serversCpuUsPerRequest === undefined ? '' : ` and ${side.serversCpuUsPerRequest} µs of the servers`;
  say(`CPU a request: ours ${own.cpuUsPerRequest} µs${servers(own)}, bare ${base.cpuUsPerRequest} µs${servers(base)}`);
  say(
    `webhook to first byte at ${half} requests/s: ours p50 ${own.p50Ms} ms, p99 ${own.p99Ms} ms; bare p50 ${base.p50Ms} ms, p99 ${base.p99Ms} ms`,
  );
}

export async function duel(plan: DuelPlan, say: Say): Promise<Report> {
  const closing: (() => unknown)[] = [];
  const { next, sent } = createBatches(Date.now());
  try {
    const sinks = [await startSink(), await startSink()] as const;
    closing.unshift(sinks[0].close, sinks[1].close);
    const ours = sideOf(await plan.startOurs(sinks[0].url), sinks[0]);
    closing.unshift(ours.loop.stop, ours.generator.close);
    const warm = next(plan.warmRequests);
    const warmed = await saturate(ours, warm, 0.6);
    const bidShare = warmed.bids / warmed.requests;
    say(`warm: ${warmed.requests} requests, ${rounded(bidShare * 100)} % end as bids`);
    const sizes = lengthsIn(await ours.loop.kept());
    const bare = sideOf(await plan.startBare({ baseUrl: sinks[1].url, bidShare, sizes }), sinks[1]);
    closing.unshift(bare.loop.stop, bare.generator.close);
    await saturate(bare, warm, bidShare);

    const runs = await alternate({ ours, bare }, plan, next, bidShare, say);
    const half = median(runs.ours.map(perS)) / 2;
    const calm = next(half * plan.pacedS);
    const paced = { bare: await bare.generator.pace(calm, half), ours: await ours.generator.pace(calm, half) };
    for (const side of [ours, bare]) {
      await side.generator.close();
      await side.loop.stop();
    }
    await verify([ours, bare], sent);
    const [own, base] = [summary(runs.ours, paced.ours), summary(runs.bare, paced.bare)];
    const report = {
      ratio: rounded(median(runs.ours.map(perS)) / median(runs.bare.map(perS)), 3),
      /** Of each round with its neighbour: what else the machine does weighs on both alike. */
      pairedRatio: rounded(median(runs.ours.map((run, round) => perS(run) / perS(runs.bare[round]!))), 3),
      targetRatio: 0.5,
      bidShare: rounded(bidShare, 3),
      ours: own,
      bare: base,
      halfLoadRequestsPerS: rounded(half, 0),
      requests: sent.size,
      bids: { ours: ours.sink.arrivals.size, bare: bare.sink.arrivals.size },
      recordLengths: sizes,
      verified: 'every body at the sinks, every record in both logs',
    };
    say(
      `saturated: ours ${own.requestsPerS}, bare ${base.requestsPerS} requests/s; ratio ${report.ratio}, by pairs ${report.pairedRatio} (target ≥ 0.5)`,
    );
    tellSides(own, base, report.halfLoadRequestsPerS, say);
    return report;
  } finally {
    for (const close of closing) await close();
  }
}
