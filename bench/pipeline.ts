/**
 * The whole way of a bid, from webhook to the answer durable, in the real `lance run` on the embedded backend; beside it
 * the bare loop, which appends and sends as much and decides nothing. Both processes stay up and warm; rounds alternate.
 * Generator and sinks are this process. At the end both logs are compared with what was sent and what arrived.
 */
import { rmSync } from 'node:fs';
import { type Benchmark, median, quantile, rounded } from './figures.ts';
import { createGenerator, type Generator, type Run } from './generator.ts';
import { type Loop, type RecordKind, startBare, startOurs } from './loops.ts';
import { type Sink, startSink } from './sink.ts';
import { roomyRules, webhooksOf } from './workload.ts';

const webhookRequests = 20;
const warmRequests = 10_000;
const roundRequests = 3_000;
const rounds = 5;
const pacedS = 3;
/** As shipped. */
const sendLimit = 64;
/** Requests in the loop at saturation. */
const waiting = 1_500;

type Side = { loop: Loop; sink: Sink; generator: Generator };

function sideOf(loop: Loop, sink: Sink): Side {
  return { loop, sink, generator: createGenerator(loop, sink) };
}

const perS = ({ requests, durationMs }: Run): number => (requests / durationMs) * 1_000;
const bidsPerS = ({ bids, durationMs }: Run): number => (bids / durationMs) * 1_000;

function cpuOf(runs: readonly Run[]): number | null {
  const each = runs.flatMap(({ cpuUs, requests }) => (cpuUs === null ? [] : [cpuUs / requests]));
  return each.length === 0 ? null : rounded(median(each), 0);
}

/** What is wrong with a log: every request sent is there once, every bid that arrived was claimed and answered there. */
function faultsOf({ loop, sink }: Side, sent: ReadonlySet<string>): string[] {
  const { requested, claimed, passed, answered } = loop.kept();
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

function summary(runs: readonly Run[], paced: Run) {
  return {
    requestsPerS: rounded(median(runs.map(perS)), 0),
    bidsPerS: rounded(median(runs.map(bidsPerS)), 0),
    cpuUsPerRequest: cpuOf(runs),
    p50Ms: rounded(quantile(paced.latenciesMs, 0.5), 2),
    p99Ms: rounded(quantile(paced.latenciesMs, 0.99), 2),
  };
}

export const pipeline: Benchmark = {
  run: async (say) => {
    const { directory, rulesDir } = roomyRules();
    const closing: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
    const startsAt = Date.now();
    const sent = new Set<string>();
    let first = 0;
    const batchOf = (requests: number) => {
      const webhooks = webhooksOf(first, Math.ceil(requests / webhookRequests), webhookRequests, startsAt);
      first += webhooks.length * webhookRequests;
      for (const { requestIds } of webhooks) for (const id of requestIds) sent.add(id);
      return webhooks;
    };
    try {
      const sinks = [await startSink(), await startSink()] as const;
      closing.unshift(sinks[0].close, sinks[1].close);
      const ours = sideOf(await startOurs({ directory, rulesDir, baseUrl: sinks[0].url, sendLimit }), sinks[0]);
      closing.unshift(ours.loop.stop, ours.generator.close);
      const warm = batchOf(warmRequests);
      const warmed = await ours.generator.saturate(warm, { waiting, bidShare: 0.6 });
      const bidShare = warmed.bids / warmed.requests;
      say(`warm: ${warmed.requests} requests, ${rounded(bidShare * 100)} % end as bids`);
      const kept = ours.loop.kept();
      const sizes = Object.fromEntries(Object.entries(kept).map(([kind, { length }]) => [kind, length])) as Record<
        RecordKind,
        number
      >;
      const bareLoop = await startBare({ directory, baseUrl: sinks[1].url, sendLimit, bidShare, sizes });
      const bare = sideOf(bareLoop, sinks[1]);
      closing.unshift(bare.loop.stop, bare.generator.close);
      await bare.generator.saturate(warm, { waiting, bidShare });

      const runs = { ours: [] as Run[], bare: [] as Run[] };
      for (let round = 1; round <= rounds; round += 1) {
        const webhooks = batchOf(roundRequests);
        for (const side of round % 2 === 1 ? [ours, bare] : [bare, ours]) {
          const run = await side.generator.saturate(webhooks, { waiting, bidShare });
          runs[side.loop.name].push(run);
          say(
            `round ${round}, ${side.loop.name}: ${rounded(perS(run), 0)} requests/s, ${rounded(bidsPerS(run), 0)} bids/s`,
          );
        }
      }
      const half = median(runs.ours.map(perS)) / 2;
      const calm = batchOf(half * pacedS);
      const paced = {
        bare: await bare.generator.pace(calm, half),
        ours: await ours.generator.pace(calm, half),
      };
      for (const side of [ours, bare]) {
        await side.generator.close();
        await side.loop.stop();
      }
      const faults = [ours, bare].flatMap((side) => faultsOf(side, sent));
      if (faults.length > 0) throw new Error(`the run does not count:\n${faults.join('\n')}`);
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
      say(`CPU a request: ours ${own.cpuUsPerRequest} µs, bare ${base.cpuUsPerRequest} µs`);
      say(
        `webhook to first byte at ${report.halfLoadRequestsPerS} requests/s: ours p50 ${own.p50Ms} ms, p99 ${own.p99Ms} ms; bare p50 ${base.p50Ms} ms, p99 ${base.p99Ms} ms`,
      );
      return report;
    } finally {
      for (const close of closing) await close();
    }
  },
};
