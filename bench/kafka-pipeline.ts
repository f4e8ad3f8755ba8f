/**
 * The pipeline on Kafka and Redis: the daemon against the bare loop on the same stack, and what a second instance brings.
 * Broker, registry, Redis, generator and sinks share the machine with what is measured.
 */
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createBatches, duel, perS, saturate, sendLimit, sideOf, verify } from './duel.ts';
import { median, type Report, rounded, type Say } from './figures.ts';
import {
  inServers,
  keepAsShipped,
  keptByDesk,
  redisCpuUs,
  runningStack,
  type SharedPlaces,
  serversCpuUs,
  startSharedBare,
  startSharedDesk,
  startSharedOurs,
} from './kafka-loops.ts';
import { type Loop, originOf, webhookPath } from './loops.ts';
import type { LoopProcess } from './processes.ts';
import { startSink } from './sink.ts';
import { roomyRules } from './workload.ts';

const warmRequests = 6_000;
const stageWarmRequests = 3_000;
const roundRequests = 3_000;
const rounds = 5;
const stageRounds = 3;
const pacedS = 4;

export async function sharedPipeline(say: Say, instances: readonly number[]): Promise<Report> {
  const { directory, rulesDir } = roomyRules();
  const stack = await runningStack();
  await keepAsShipped(stack);
  const cores = availableParallelism();
  say(`${cores} cores for the loops, broker, Redis, generator and sinks together`);
  try {
    const places = { stack, directory, rulesDir, sendLimit };
    const redisBefore = redisCpuUs(stack);
    const report = await duel(
      {
        until: 'claimed',
        startOurs: (baseUrl) => startSharedOurs({ ...places, baseUrl, name: 'duel' }),
        startBare: (given) => startSharedBare({ stack, sendLimit, ...given }),
        warmRequests,
        roundRequests,
        rounds,
        pacedS,
        serversCpuUs: () => serversCpuUs(stack),
      },
      say,
    );
    const redisAfter = redisCpuUs(stack);
    // The bare loop asks nothing of Redis.
    const redis =
      redisBefore === null || redisAfter === null
        ? {}
        : { redisCpuUsPerRequest: rounded((redisAfter - redisBefore) / Number(report.requests), 1) };
    const scaled = instances.length === 0 ? {} : { scaling: await scale({ ...places, name: 'scale' }, instances, say) };
    return { ...report, backend: 'kafka', cores, ...redis, ...scaled };
  } finally {
    await stack.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

type Stage = { instances: number; requestsPerS: number };

/** Capacity with each number of instances, up and down again, so that what changes with time does not count for one of them. */
async function scale(places: Omit<SharedPlaces, 'baseUrl'>, counts: readonly number[], say: Say) {
  const sink = await startSink();
  const desks: LoopProcess[] = [];
  const { next, sent } = createBatches(Date.now());
  const speeds = new Map<number, number[]>(counts.map((count) => [count, []]));
  const stages: Stage[] = [];
  const fleet = (): Loop => ({
    name: 'ours',
    origins: desks.map(({ port }) => originOf(port)),
    path: webhookPath,
    cpuUs: () => desks.reduce((sum, { cpuUs }) => sum + (cpuUs() ?? 0), 0),
    kept: () => keptByDesk(places),
    ...inServers,
    stop: async () => undefined,
  });
  try {
    for (const count of [...counts, ...counts.slice(0, -1).reverse()]) {
      while (desks.length > count) await desks.pop()!.stop();
      while (desks.length < count) {
        const dataName = `data-${desks.length}`;
        desks.push(await startSharedDesk({ ...places, baseUrl: sink.url, dataName }));
      }
      const side = sideOf(fleet(), sink);
      const warmed = await saturate(side, next(stageWarmRequests), 0.6);
      const bidShare = warmed.bids / warmed.requests;
      const each: number[] = [];
      for (let round = 1; round <= stageRounds; round += 1) {
        each.push(perS(await saturate(side, next(roundRequests), bidShare)));
      }
      await side.generator.close();
      speeds.get(count)!.push(...each);
      stages.push({ instances: count, requestsPerS: rounded(median(each), 0) });
      say(`${count} ${count === 1 ? 'instance' : 'instances'}: ${rounded(median(each), 0)} requests/s`);
    }
    while (desks.length > 0) await desks.pop()!.stop();
    await verify([{ loop: fleet(), sink }], sent);
  } finally {
    for (const desk of desks) await desk.stop();
    sink.close();
  }
  const alone = median(speeds.get(counts[0]!)!);
  const ratios = counts.map((count) => ({ instances: count, ratio: rounded(median(speeds.get(count)!) / alone, 3) }));
  for (const { instances, ratio } of ratios.slice(1)) say(`${instances} instances bring ${ratio} × ${counts[0]}`);
  return { stages, ratios, requests: sent.size };
}
