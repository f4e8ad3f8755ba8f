/**
 * A desk that is sent three times the bids that the service takes: what its bids are worth, against what a queue takes that knows all that
 * will come and has the same service; whether they arrive in time; what its ingress answers; its memory; and how soon it is as before.
 * What a request is worth is what a bid for it was expected to bring before anything was learnt.
 */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { bestOf } from './best-queue.ts';
import { createDecider, requestsOf } from './decider.ts';
import { type Benchmark, quantile, rounded, type Say } from './figures.ts';
import { type Loop, startOurs } from './loops.ts';
import { whenReady } from './ready.ts';
import { type Sink, startSink } from './sink.ts';
import { roomyRules, type Webhook, webhooksOf } from './workload.ts';

const webhookRequests = 5;
const windowMs = 10_000;
/** What the desk keeps of an auction for the way and for clocks that differ, as shipped. */
const allowanceMs = 1_000;
const answerMs = 40;
const times = 3;
const calmTimes = 0.5;
const warmS = 8;
const afterS = 14;
/** Sending to a desk that has just started is no measure. */
const beginsInMs = 1_500;
const recoveryMs = 2_000;
const targetShare = 0.9;
const sampleMs = 250;

const wallMs = (): number => performance.timeOrigin + performance.now();

type Phase = 'warm' | 'overload' | 'after';
type Request = { requestId: string; phase: Phase; value: number; sentAt: number; closesAt: number };
type Ingress = { status: number; phase: Phase; tookMs: number };
type Sending = { webhook: Webhook; phase: Phase; dueAt: number };

/** Webhooks by the clock, each of auctions that begin when it is sent. */
function plan(bidsPerS: number, bidShare: number, overloadS: number): Sending[] {
  const sendings: Sending[] = [];
  let dueAt = wallMs() + beginsInMs;
  const stages = [
    ['warm', calmTimes, warmS],
    ['overload', times, overloadS],
    ['after', calmTimes, afterS],
  ] as const;
  for (const [phase, load, lengthS] of stages) {
    const requestsPerS = (load * bidsPerS) / bidShare;
    const apartMs = (webhookRequests / requestsPerS) * 1_000;
    for (const until = dueAt + lengthS * 1_000; dueAt < until; dueAt += apartMs) {
      const first = sendings.length * webhookRequests;
      const [webhook] = webhooksOf(first, 1, webhookRequests, Math.round(dueAt), windowMs);
      sendings.push({ webhook: webhook!, phase, dueAt });
    }
  }
  return sendings;
}

/** What each request is worth where it is bid for; those that are not are worth nothing. */
function createJudge(rulesDir: string) {
  const at = Date.now();
  const { config, decide } = createDecider(at, rulesDir, false);
  const worthOf = (request: Parameters<typeof decide>[0]): number => {
    const draft = decide(request);
    return draft.kind === 'offer' ? Math.max(0, draft.offer.expectedValueCents) : 0;
  };
  const sample = requestsOf(config, 500, at).map(({ request }) => worthOf(request));
  const values = new Map<string, number>();
  return {
    bidShare: sample.filter((value) => value > 0).length / sample.length,
    valuesOf: (count: number) => {
      for (const { request, requestId } of requestsOf(config, count, at)) values.set(requestId, worthOf(request));
      return values;
    },
  };
}

async function play(loop: Loop, sendings: readonly Sending[]) {
  const pool = new Pool(loop.origins[0]!, { connections: 32, pipelining: 1, allowH2: false });
  const ingress: Ingress[] = [];
  const sentAt = new Map<string, number>();
  const post = async ({ webhook, phase }: Sending): Promise<void> => {
    const startedAt = wallMs();
    for (const id of webhook.requestIds) sentAt.set(id, startedAt);
    const headers = { 'content-type': 'application/json' };
    const answer = await pool.request({ method: 'POST', path: loop.path, headers, body: webhook.body });
    await answer.body.dump();
    ingress.push({ status: answer.statusCode, phase, tookMs: wallMs() - startedAt });
  };
  const posts: Promise<void>[] = [];
  for (const sending of sendings) {
    const waitMs = sending.dueAt - wallMs();
    if (waitMs > 0) await sleep(waitMs);
    posts.push(post(sending));
  }
  await Promise.all(posts);
  await sleep(windowMs);
  await pool.destroy();
  return { ingress, sentAt };
}

function sampleMemory(loop: Loop): () => { at: number; bytes: number }[] {
  const samples: { at: number; bytes: number }[] = [];
  const timer = setInterval(() => {
    const bytes = loop.rssBytes();
    if (bytes !== null) samples.push({ at: wallMs(), bytes });
  }, sampleMs);
  return () => {
    clearInterval(timer);
    return samples;
  };
}

/** When the bid of a request arrived, wall time; null: never. */
function arrivalOf({ arrivals }: Sink, { requestId }: Request): number | null {
  const arrival = arrivals.get(requestId);
  return arrival === undefined ? null : performance.timeOrigin + arrival.arrivedAt;
}

const inTime =
  (sink: Sink) =>
  (request: Request): boolean => {
    const at = arrivalOf(sink, request);
    return at !== null && at <= request.closesAt;
  };

function sumOf(requests: readonly Request[]): number {
  return requests.reduce((sum, { value }) => sum + value, 0);
}

function judge(requests: readonly Request[], sink: Sink, bidsPerS: number) {
  const jobs = requests.map(({ value, sentAt, closesAt }) => ({
    value,
    fromMs: sentAt,
    untilMs: closesAt - allowanceMs,
  }));
  const best = bestOf(jobs, 1_000 / bidsPerS);
  const taken = requests.filter(inTime(sink));
  const bidFor = requests.filter((request) => arrivalOf(sink, request) !== null);
  const late = bidFor.length - taken.length;
  const leftMs = bidFor.map((request) => request.closesAt - arrivalOf(sink, request)!);
  const waitedMs = bidFor.map((request) => arrivalOf(sink, request)! - request.sentAt);
  return {
    capturedShare: rounded(sumOf(taken) / best.value, 3),
    valueReais: rounded(sumOf(taken) / 100, 0),
    bestReais: rounded(best.value / 100, 0),
    /** What as many bids would bring that are taken without a look at their value. */
    blindShare: rounded(
      (sumOf(requests) / Math.max(1, requests.filter(({ value }) => value > 0).length)) * (best.jobs / best.value),
      3,
    ),
    ...{ bids: taken.length, bestBids: best.jobs, late, p99WaitMs: rounded(quantile(waitedMs, 0.99), 0) },
    leastLeftMs: rounded(Math.min(...leftMs), 0),
  };
}

/** Of those sent from `recoveryMs` after the fall on that are worth a bid: how many had one in time. And when the waits were as before for good. */
function recoveryOf(requests: readonly Request[], sink: Sink, warmP99Ms: number) {
  const after = requests.filter(({ phase, value }) => phase === 'after' && value > 0);
  const fellAt = Math.min(...after.map(({ sentAt }) => sentAt));
  const later = after.filter(({ sentAt }) => sentAt >= fellAt + recoveryMs);
  const usualMs = 2 * warmP99Ms + answerMs;
  const slow = after.filter(
    (request) => (arrivalOf(sink, request) ?? Number.POSITIVE_INFINITY) - request.sentAt > usualMs,
  );
  return {
    bidInTimeShare: rounded(later.filter(inTime(sink)).length / later.length, 3),
    lastSlowMs: rounded(Math.max(0, ...slow.map(({ sentAt }) => sentAt - fellAt)), 0),
    usualMs: rounded(usualMs, 0),
  };
}

function ingressOf(answers: readonly Ingress[]) {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  const p99Of = (phase: Phase) =>
    rounded(
      quantile(
        answers.filter((each) => each.phase === phase).map(({ tookMs }) => tookMs),
        0.99,
      ),
      0,
    );
  const isHonest = answers.every(({ status }) => (status >= 200 && status < 300) || status === 503);
  return {
    answers: counts,
    isHonest,
    p99Ms: { warm: p99Of('warm'), overload: p99Of('overload'), after: p99Of('after') },
  };
}

async function passesOf(origin: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  const found = text.matchAll(/^lance_passes_total\{code="([^"]+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, code, count]) => [code!, Number(count)]));
}

export const overload: Benchmark = {
  run: async (say, { rate, minutes }) => {
    const { directory, rulesDir } = roomyRules();
    const sink = await startSink(answerMs);
    const closing: (() => unknown)[] = [sink.close];
    try {
      const slots = Math.max(1, Math.round((rate * answerMs) / 1_000));
      const bidsPerS = (slots * 1_000) / answerMs;
      const loop = await startOurs({ directory, rulesDir, baseUrl: sink.url, sendLimit: slots });
      closing.unshift(loop.stop);
      await whenReady(loop.origins[0]!);
      const { bidShare, valuesOf } = createJudge(rulesDir);
      const sendings = plan(bidsPerS, bidShare, minutes * 60);
      say(`the service takes ${bidsPerS} bids/s; ${rounded(100 * bidShare)} % of the requests are worth one`);
      const memory = sampleMemory(loop);
      const { ingress, sentAt } = await play(loop, sendings);
      const samples = memory();
      const values = valuesOf(sendings.length * webhookRequests);
      const requests = sendings.flatMap(({ webhook, phase }) =>
        webhook.requestIds.map((requestId) => ({
          ...{ requestId, phase, value: values.get(requestId) ?? 0 },
          ...{ sentAt: sentAt.get(requestId)!, closesAt: webhook.lot.endsAt },
        })),
      );
      return report(requests, { sink, bidsPerS, ingress, samples, passes: await passesOf(loop.origins[0]!), say });
    } finally {
      for (const close of closing) await close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

type Seen = {
  sink: Sink;
  bidsPerS: number;
  ingress: readonly Ingress[];
  samples: readonly { at: number; bytes: number }[];
  passes: Readonly<Record<string, number>>;
  say: Say;
};

function report(requests: readonly Request[], { sink, bidsPerS, ingress, samples, passes, say }: Seen) {
  const ofPhase = (phase: Phase) => requests.filter((request) => request.phase === phase);
  const loaded = ofPhase('overload');
  // All of them: what was queued is bid for after the load has fallen, by the desk and by the best.
  const judged = judge(requests, sink, bidsPerS);
  const arrived = loaded.flatMap((request) => arrivalOf(sink, request) ?? []);
  const [from, until] = [loaded[0]!.sentAt, loaded.at(-1)!.sentAt];
  // What the desk itself takes of each slot makes it slower than the service.
  const ownBidsPerS = arrived.filter((at) => at <= until).length / ((until - from) / 1_000);
  const capturedAtOwnPace = judge(requests, sink, ownBidsPerS).capturedShare;
  const warm = judge(ofPhase('warm'), sink, bidsPerS);
  const recovery = recoveryOf(requests, sink, warm.p99WaitMs);
  const megabytes = (after: number) => {
    const sample = samples.find(({ at }) => at >= after) ?? samples.at(-1);
    return sample === undefined ? null : rounded(sample.bytes / 1_048_576, 0);
  };
  const rssMb = {
    before: megabytes(from),
    middle: megabytes((from + until) / 2),
    end: megabytes(until),
    after: megabytes(Number.POSITIVE_INFINITY),
  };
  const answered = ingressOf(ingress);
  say(
    `${loaded.length} requests at ${times} times what the service takes: ${judged.bids} bids in time, ${judged.late} late`,
  );
  say(
    `value: ${judged.capturedShare} of the best (wanted ≥ ${targetShare}; blind ${judged.blindShare}); ingress ${JSON.stringify(answered.answers)}`,
  );
  say(`from ${recoveryMs} ms after the load fell: ${recovery.bidInTimeShare} of what is worth a bid had one in time`);
  return {
    ...{ bidsPerS, times, windowMs, requests: requests.length, ...judged, targetShare, warm },
    ...{ ownBidsPerS: rounded(ownBidsPerS), capturedAtOwnPace },
    ...{ passes, ingress: answered, rssMb, recovery },
    isInTarget:
      judged.capturedShare >= targetShare && judged.late === 0 && answered.isHonest && recovery.bidInTimeShare >= 0.99,
  };
}
