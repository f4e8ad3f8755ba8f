/**
 * Ours and the bare loop side by side, and the prototype where there is one: all processes stay up and warm, rounds alternate, then
 * each is paced at half of our capacity. Generator and sinks are this process. At the end the logs are compared with what was
 * sent and what arrived. Whole lives: with the webhooks of a round go the ends of the auctions of the round before, so each round
 * has all the work of as many lives as it has requests.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Ending, endingOf } from './endings.ts';
import { median, quantile, type Report, rounded, type Say, type Until } from './figures.ts';
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
  until: Until;
  startOurs: (baseUrl: string) => Promise<Loop>;
  startBare: (given: { baseUrl: string; bidShare: number; sizes: RecordLengths }) => Promise<Loop>;
  /** The cheapest known program with our promises, or another version of ours; left out: it is not played. */
  startThird?: (baseUrl: string) => Promise<Loop>;
  warmRequests: number;
  roundRequests: number;
  rounds: number;
  pacedS: number;
  /** Microseconds of CPU that the servers beside the loops have used so far. */
  serversCpuUs?: () => number | null;
};

/** A run with the CPU of the servers that both loops share. */
type Measured = Run & { serversCpuUs: number | null };

/** `open`: webhooks whose auctions go on. `ended`: what was told of the others. */
export type Side = { loop: Loop; sink: Sink; generator: Generator; open: Webhook[]; ended: Ended };
type Ended = { requestIds: Set<string>; wonIds: Set<string> };

export function sideOf(loop: Loop, sink: Sink): Side {
  const ended = { requestIds: new Set<string>(), wonIds: new Set<string>() };
  return { loop, sink, generator: createGenerator(loop, sink), open: [], ended };
}

/** The ends of as many webhooks as are sent now, the oldest first; those sent now are open from here on. */
export function turnOver(side: Side, webhooks: readonly Webhook[], until: Until): Ending[] {
  if (until === 'claimed') return [];
  const over = side.open.splice(0, webhooks.length);
  side.open.push(...webhooks);
  const endings = over.map((webhook) => endingOf(webhook, side.sink.arrivals));
  for (const { requestIds } of over) for (const id of requestIds) side.ended.requestIds.add(id);
  for (const { wonIds } of endings) for (const id of wonIds) side.ended.wonIds.add(id);
  return endings;
}

export const perS = ({ requests, durationMs }: Run): number => (requests / durationMs) * 1_000;
const bidsPerS = ({ bids, durationMs }: Run): number => (bids / durationMs) * 1_000;

/** Saturates a side: as many requests as it takes. */
export function saturate(
  side: Side,
  webhooks: readonly Webhook[],
  bidShare: number,
  until: Until = 'claimed',
): Promise<Run> {
  return side.generator.saturate(webhooks, turnOver(side, webhooks, until), { waiting, bidShare });
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

type Judged = Pick<Side, 'loop' | 'sink'> & { ended?: Ended };

/** What is wrong with a log: every request sent is there once, every bid that arrived was claimed and answered there. */
function faultsOf({ loop, sink, ended }: Judged, kept: Kept, sent: ReadonlySet<string>): string[] {
  const { requested, claimed, passed, answered, contemplated, proposed } = kept;
  const arrived = new Set(sink.arrivals.keys());
  const same = (ids: readonly string[], wanted: ReadonlySet<string>): boolean =>
    ids.length === wanted.size && ids.every((id) => wanted.has(id));
  const faults: string[] = [];
  if (!same(requested.requestIds, sent)) faults.push(`requested ${requested.requestIds.length}, sent ${sent.size}`);
  if (!same(claimed.requestIds, arrived)) faults.push(`claimed ${claimed.requestIds.length}, arrived ${arrived.size}`);
  if (!same(answered.requestIds, arrived))
    faults.push(`answered ${answered.requestIds.length}, arrived ${arrived.size}`);
  if (!same([...claimed.requestIds, ...passed.requestIds], sent)) faults.push('some requests have no end');
  if (ended !== undefined) {
    if (!same(kept.ended.requestIds, ended.requestIds))
      faults.push(`ended ${kept.ended.requestIds.length}, told of ${ended.requestIds.size}`);
    for (const { requestIds } of [contemplated, proposed])
      if (!same(requestIds, ended.wonIds)) faults.push(`wins ${requestIds.length}, told of ${ended.wonIds.size}`);
  }
  if (sink.faults() > 0) faults.push(`the sink refused ${sink.faults()} bodies`);
  return faults.map((text) => `${loop.name}: ${text}`);
}

const patienceMs = 30_000;

/** A loaded machine may be silent for longer than a run waits for its last bids: ends when all that was sent has an end, or after `patienceMs`. */
export async function whenAllEnded({ loop }: Pick<Side, 'loop'>, sent: ReadonlySet<string>): Promise<void> {
  for (const until = performance.now() + patienceMs; performance.now() < until; await sleep(100)) {
    const { claimed, passed, answered } = await loop.kept();
    const ended = new Set([...claimed.requestIds, ...passed.requestIds]);
    if (ended.size >= sent.size && answered.requestIds.length >= claimed.requestIds.length) return;
  }
}

/** Throws unless everything that was sent is whole in the logs. The loops have stopped. */
export async function verify(sides: readonly Judged[], sent: ReadonlySet<string>): Promise<void> {
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

function summary({ loop }: Side, runs: readonly Measured[], paced: Run, requests: number) {
  const servers = medianEach(runs, ({ serversCpuUs }) => serversCpuUs);
  const diskBytes = loop.diskBytes();
  return {
    requestsPerS: rounded(median(runs.map(perS)), 0),
    bidsPerS: rounded(median(runs.map(bidsPerS)), 0),
    cpuUsPerRequest: medianEach(runs, ({ cpuUs }) => cpuUs),
    ...(servers === null ? {} : { serversCpuUsPerRequest: servers }),
    ...(diskBytes === null ? {} : { diskBytesPerRequest: rounded(diskBytes / requests, 0) }),
    p50Ms: rounded(quantile(paced.latenciesMs, 0.5), 2),
    p99Ms: rounded(quantile(paced.latenciesMs, 0.99), 2),
  };
}

async function alternate(
  sides: readonly Side[],
  plan: DuelPlan,
  next: (requests: number) => Webhook[],
  bidShare: number,
  say: Say,
): Promise<ReadonlyMap<Side, Measured[]>> {
  const runs = new Map<Side, Measured[]>(sides.map((side) => [side, []]));
  const serversCpuUs = plan.serversCpuUs ?? (() => null);
  for (let round = 1; round <= plan.rounds; round += 1) {
    const webhooks = next(plan.roundRequests);
    for (const side of round % 2 === 1 ? sides : sides.toReversed()) {
      const before = serversCpuUs();
      const run = await saturate(side, webhooks, bidShare, plan.until);
      const after = serversCpuUs();
      runs.get(side)!.push({ ...run, serversCpuUs: before === null || after === null ? null : after - before });
      const speeds = `${rounded(perS(run), 0)} requests/s, ${rounded(bidsPerS(run), 0)} bids/s`;
      say(`round ${round}, ${side.loop.name}: ${speeds}`);
    }
  }
  return runs;
}

type Summary = ReturnType<typeof summary>;

function tellSides(sides: readonly { name: string; own: Summary }[], half: number, say: Say): void {
  const cpu = sides.map(({ name, own }) => {
    const servers =
      own.serversCpuUsPerRequest === undefined ? '' : ` and ${own.serversCpuUsPerRequest} µs of the servers`;
    return `${name} ${own.cpuUsPerRequest} µs${servers}`;
  });
  say(`CPU a request: ${cpu.join(', ')}`);
  const waits = sides.map(({ name, own }) => `${name} p50 ${own.p50Ms} ms, p99 ${own.p99Ms} ms`);
  say(`webhook to first byte at ${half} requests/s: ${waits.join('; ')}`);
}

/** How many requests one side does for each of another; by pairs: of each round with its neighbour, for what else the machine does weighs on both alike. */
function ratiosOf(own: readonly Run[], base: readonly Run[]): { ratio: number; pairedRatio: number } {
  return {
    ratio: rounded(median(own.map(perS)) / median(base.map(perS)), 3),
    pairedRatio: rounded(median(own.map((run, round) => perS(run) / perS(base[round]!))), 3),
  };
}

/** How much of the bare loop's throughput is wanted of ours. */
const targets: Record<Until, number> = { settled: 0.5, claimed: 0.52 };

export async function duel(plan: DuelPlan, say: Say): Promise<Report> {
  const closing: (() => unknown)[] = [];
  const { next, sent } = createBatches(Date.now());
  const { until } = plan;
  const start = async (begin: (baseUrl: string) => Promise<Loop>): Promise<Side> => {
    const sink = await startSink();
    closing.unshift(sink.close);
    const side = sideOf(await begin(sink.url), sink);
    closing.unshift(side.loop.stop, side.generator.close);
    return side;
  };
  try {
    const ours = await start(plan.startOurs);
    const warm = next(plan.warmRequests);
    const warmed = await saturate(ours, warm, 0.6, until);
    const bidShare = warmed.bids / warmed.requests;
    say(`warm: ${warmed.requests} requests, ${rounded(bidShare * 100)} % end as bids`);
    // Ends are as long as those of the first auctions.
    const second = until === 'settled' ? [next(plan.roundRequests)] : [];
    for (const webhooks of second) await saturate(ours, webhooks, bidShare, until);
    const sizes = lengthsIn(await ours.loop.kept());
    const bare = await start((baseUrl) => plan.startBare({ baseUrl, bidShare, sizes }));
    const { startThird } = plan;
    const third = startThird === undefined ? null : await start(startThird);
    const sides = [ours, bare, ...(third === null ? [] : [third])];
    for (const side of sides.slice(1)) {
      for (const webhooks of [warm, ...second]) await saturate(side, webhooks, bidShare, until);
    }

    const runs = await alternate(sides, plan, next, bidShare, say);
    const half = median(runs.get(ours)!.map(perS)) / 2;
    const calm = next(half * plan.pacedS);
    const paced = new Map<Side, Run>();
    for (const side of sides.toReversed()) {
      paced.set(side, await side.generator.pace(calm, turnOver(side, calm, until), half));
    }
    for (const side of sides) {
      await side.generator.close();
      await side.loop.stop();
    }
    await verify(sides, sent);
    const summaries = new Map(sides.map((side) => [side, summary(side, runs.get(side)!, paced.get(side)!, sent.size)]));
    const summaryOf = (side: Side): Summary => summaries.get(side)!;
    const told = sides.map((side) => ({ name: side.loop.name, own: summaryOf(side) }));
    const ratios = ratiosOf(runs.get(ours)!, runs.get(bare)!);
    const targetRatio = targets[until];
    const report = {
      until,
      ...ratios,
      targetRatio,
      bidShare: rounded(bidShare, 3),
      ours: summaryOf(ours),
      bare: summaryOf(bare),
      ...(third === null
        ? {}
        : { [third.loop.name]: { ...summaryOf(third), ...ratiosOf(runs.get(third)!, runs.get(bare)!) } }),
      ...(third?.loop.name === 'other' ? { oursToOther: ratiosOf(runs.get(ours)!, runs.get(third)!) } : {}),
      ...(ours.loop.diskBytes() === null ? {} : { diskBytesPerRequest: summaryOf(ours).diskBytesPerRequest }),
      halfLoadRequestsPerS: rounded(half, 0),
      requests: sent.size,
      ...(until === 'claimed' ? {} : { ended: ours.ended.requestIds.size, won: ours.ended.wonIds.size }),
      bids: { ours: ours.sink.arrivals.size, bare: bare.sink.arrivals.size },
      recordLengths: sizes,
      verified: 'every body at the sinks, every record in all logs',
    };
    const speeds = told.map(({ name, own }) => `${name} ${own.requestsPerS}`).join(', ');
    say(
      `saturated, until ${until}: ${speeds} requests/s; ratio ${report.ratio}, by pairs ${report.pairedRatio} (target ≥ ${targetRatio})`,
    );
    tellSides(told, report.halfLoadRequestsPerS, say);
    return report;
  } finally {
    for (const close of closing) await close();
  }
}
