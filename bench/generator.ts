/** Sends webhooks at a loop, as fast as it takes them or at a given pace, and watches the bids arrive at its sink. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Ending } from './endings.ts';
import type { Loop } from './loops.ts';
import type { Sink } from './sink.ts';
import type { Webhook } from './workload.ts';

export type Run = {
  requests: number;
  bids: number;
  /** From the first webhook to the last bid, and the last record of an end. */
  durationMs: number;
  /** For each bid: from its webhook sent to its first byte at the sink. */
  latenciesMs: number[];
  cpuUs: number | null;
};

const lanes = 16;
/** No bid for so long after the last webhook was answered: there are no more. */
const quietMs = 400;
/** How often the log is asked whether all ends are in it: what a round's duration is precise to. */
const settledPollMs = 10;
/** Bids that are awaited for so long while none arrives will not come. */
const patienceMs = 120_000;

/**
 * `ends` are sent among the webhooks, evenly: of auctions whose bids were all answered before. The run is over when the log has what
 * is to come of them.
 */
export type Generator = {
  /** Keeps `waiting` requests or fewer in the loop, of which `bidShare` are awaited at the sink. */
  saturate: (
    webhooks: readonly Webhook[],
    ends: readonly Ending[],
    options: { waiting: number; bidShare: number },
  ) => Promise<Run>;
  /** Sends by the clock, whatever the loop does. */
  pace: (webhooks: readonly Webhook[], ends: readonly Ending[], requestsPerS: number) => Promise<Run>;
  close: () => Promise<void>;
};

/** Those not yet told that are due when so much of a round was sent. */
function dueAfter(ends: readonly Ending[], told: number, sentShare: number): readonly Ending[] {
  return ends.slice(told, Math.ceil(ends.length * sentShare));
}

export function createGenerator(loop: Loop, sink: Sink): Generator {
  const pools = loop.origins.map((origin) => new Pool(origin, { connections: lanes, pipelining: 1, allowH2: false }));
  let turn = 0;
  const sentAt = new Map<string, number>();
  let landed = 0;
  let closed = false;
  let lastBidAt = 0;
  let wake = (): void => undefined;
  sink.onBid(() => {
    landed += 1;
    lastBidAt = performance.now();
    wake();
  });

  const post = async ({ body, requestIds }: Webhook): Promise<void> => {
    const now = performance.now();
    for (const id of requestIds) sentAt.set(id, now);
    await send(body);
  };

  const tell = async ({ bodies }: Ending): Promise<void> => {
    for (const body of bodies) await send(body);
  };

  const send = async (body: Buffer): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const pool = pools[turn % pools.length]!;
    turn += 1;
    const answer = await pool.request({ method: 'POST', path: loop.path, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`${loop.name} answered a webhook with ${answer.statusCode}`);
  };

  /** Resolves to when the log had so many records more of ends and wins. */
  const whenSettled = async (wanted: number): Promise<number> => {
    const until = performance.now() + patienceMs;
    for (;;) {
      const settled = loop.settled!();
      if (settled === wanted) return performance.now();
      if (settled > wanted || performance.now() > until) {
        throw new Error(`${loop.name}: ${settled} records of ends and wins are in the log, not ${wanted}`);
      }
      await sleep(settledPollMs);
    }
  };

  const measured = async (
    webhooks: readonly Webhook[],
    ends: readonly Ending[],
    send: () => Promise<void>,
  ): Promise<Run> => {
    const landedBefore = landed;
    const wanted = ends.length === 0 ? 0 : loop.settled!() + ends.reduce((sum, { records }) => sum + records, 0);
    const cpuBefore = loop.cpuUs();
    const startedAt = performance.now();
    await send();
    const settledAt = ends.length === 0 ? startedAt : await whenSettled(wanted);
    do await sleep(quietMs / 4);
    while (performance.now() - lastBidAt < quietMs);
    const cpuAfter = loop.cpuUs();
    const requestIds = webhooks.flatMap((webhook) => webhook.requestIds);
    const latenciesMs = requestIds.flatMap((id) => {
      const arrival = sink.arrivals.get(id);
      return arrival === undefined ? [] : [arrival.arrivedAt - sentAt.get(id)!];
    });
    return {
      requests: requestIds.length,
      bids: landed - landedBefore,
      durationMs: Math.max(lastBidAt, settledAt) - startedAt,
      latenciesMs,
      cpuUs: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
    };
  };

  return {
    saturate: (webhooks, ends, { waiting, bidShare }) =>
      measured(webhooks, ends, async () => {
        const startedAt = performance.now();
        const landedBefore = landed;
        let sent = 0;
        let next = 0;
        let told = 0;
        const lane = async (): Promise<void> => {
          while (next < webhooks.length && !closed) {
            if (sent - (landed - landedBefore) / bidShare > waiting) {
              if (performance.now() - Math.max(startedAt, lastBidAt) > patienceMs) {
                throw new Error(`${loop.name}: of ${sent} requests ${landed - landedBefore} bids arrived, then none`);
              }
              await Promise.race([sleep(5), new Promise<void>((resolve) => (wake = resolve))]);
              continue;
            }
            const webhook = webhooks[next]!;
            next += 1;
            sent += webhook.requestIds.length;
            const due = dueAfter(ends, told, next / webhooks.length);
            told += due.length;
            await post(webhook);
            for (const end of due) await tell(end);
          }
        };
        await Promise.all(Array.from({ length: lanes }, lane));
      }),
    pace: (webhooks, ends, requestsPerS) =>
      measured(webhooks, ends, async () => {
        const startedAt = performance.now();
        const posts: Promise<void>[] = [];
        let due = startedAt;
        let told = 0;
        for (const [index, webhook] of webhooks.entries()) {
          const waitMs = due - performance.now();
          if (waitMs > 0) await sleep(waitMs);
          posts.push(post(webhook));
          const dueEnds = dueAfter(ends, told, (index + 1) / webhooks.length);
          told += dueEnds.length;
          posts.push(...dueEnds.map(tell));
          due += (webhook.requestIds.length / requestsPerS) * 1_000;
        }
        await Promise.all(posts);
      }),
    close: async () => {
      if (closed) return;
      closed = true;
      await Promise.all(pools.map((pool) => pool.destroy()));
    },
  };
}
