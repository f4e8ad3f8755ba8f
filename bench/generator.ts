/** Sends webhooks at a loop, as fast as it takes them or at a given pace, and watches the bids arrive at its sink. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Loop } from './loops.ts';
import type { Sink } from './sink.ts';
import type { Webhook } from './workload.ts';

export type Run = {
  requests: number;
  bids: number;
  /** From the first webhook to the last bid. */
  durationMs: number;
  /** For each bid: from its webhook sent to its first byte at the sink. */
  latenciesMs: number[];
  cpuUs: number | null;
};

const lanes = 16;
/** No bid for so long after the last webhook was answered: there are no more. */
const quietMs = 400;
/** Bids that are awaited for so long while none arrives will not come. */
const patienceMs = 120_000;

export type Generator = {
  /** Keeps `waiting` requests or fewer in the loop, of which `bidShare` are awaited at the sink. */
  saturate: (webhooks: readonly Webhook[], options: { waiting: number; bidShare: number }) => Promise<Run>;
  /** Sends by the clock, whatever the loop does. */
  pace: (webhooks: readonly Webhook[], requestsPerS: number) => Promise<Run>;
  close: () => Promise<void>;
};

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
    const headers = { 'content-type': 'application/json' };
    const pool = pools[turn % pools.length]!;
    turn += 1;
    const answer = await pool.request({ method: 'POST', path: loop.path, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`${loop.name} answered a webhook with ${answer.statusCode}`);
  };

  const measured = async (webhooks: readonly Webhook[], send: () => Promise<void>): Promise<Run> => {
    const landedBefore = landed;
    const cpuBefore = loop.cpuUs();
    const startedAt = performance.now();
    await send();
    do await sleep(quietMs / 4);
    while (performance.now() - lastBidAt < quietMs);
    const cpuAfter = loop.cpuUs();
    const requestIds = webhooks.flatMap((webhook) => webhook.requestIds);
    const latenciesMs = requestIds.flatMap((id) => {
      const arrivedAt = sink.arrivals.get(id);
      return arrivedAt === undefined ? [] : [arrivedAt - sentAt.get(id)!];
    });
    return {
      requests: requestIds.length,
      bids: landed - landedBefore,
      durationMs: lastBidAt - startedAt,
      latenciesMs,
      cpuUs: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
    };
  };

  return {
    saturate: (webhooks, { waiting, bidShare }) =>
      measured(webhooks, async () => {
        const startedAt = performance.now();
        const landedBefore = landed;
        let sent = 0;
        let next = 0;
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
            await post(webhook);
          }
        };
        await Promise.all(Array.from({ length: lanes }, lane));
      }),
    pace: (webhooks, requestsPerS) =>
      measured(webhooks, async () => {
        const startedAt = performance.now();
        const posts: Promise<void>[] = [];
        let due = startedAt;
        for (const webhook of webhooks) {
          const waitMs = due - performance.now();
          if (waitMs > 0) await sleep(waitMs);
          posts.push(post(webhook));
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
