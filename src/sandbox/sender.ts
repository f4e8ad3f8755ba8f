/** Sends one body until somebody answers 2xx or the limit is reached, and writes down every attempt. */
import { Pool } from 'undici';
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { SandboxRecord } from './record.ts';

export type DeliverySettings = {
  connections: number;
  timeoutMs: number;
  /** Pause before the next attempt: first, doubled each time, and at most. */
  retryFirstMs: number;
  retryMaxMs: number;
  /** After this time without a 2xx the sender gives up. */
  giveUpAfterMs: number;
};

export const defaultDeliveries: DeliverySettings = {
  connections: 16,
  timeoutMs: 5_000,
  retryFirstMs: 50,
  retryMaxMs: 1_000,
  giveUpAfterMs: 120_000,
};

export type Outgoing = { deliveryId: string; body: string; attempts: number; firstAt: EpochMs; acknowledged: boolean };

export type SenderCounts = { sent: number; acknowledged: number; givenUp: number };

export type Sender = {
  /** Tries until it ends, calls `done` then. */
  insist: (outgoing: Outgoing, done: () => void) => void;
  /** Tries once, whatever comes of it. */
  once: (outgoing: Outgoing, done: () => void) => void;
  later: (delayMs: number, run: () => void) => void;
  counts: SenderCounts;
  stop: () => Promise<void>;
};

export function createSender(options: {
  target: string;
  settings: DeliverySettings;
  clock: Clock;
  record: SandboxRecord;
}): Sender {
  const { settings, clock } = options;
  const address = new URL(options.target);
  const path = address.pathname + address.search;
  const pool = new Pool(address.origin, { connections: settings.connections });
  const counts: SenderCounts = { sent: 0, acknowledged: 0, givenUp: 0 };
  const timers = new Set<Timer>();
  let stopped = false;

  const later: Sender['later'] = (delayMs, run) => {
    const timer = clock.schedule(clock.now() + delayMs, () => {
      timers.delete(timer);
      run();
    });
    timers.add(timer);
  };

  const attempt = async (outgoing: Outgoing): Promise<void> => {
    outgoing.attempts += 1;
    const { deliveryId, attempts } = outgoing;
    const sentAt = clock.now();
    const result = await post(pool, path, outgoing.body, settings.timeoutMs);
    const acknowledged = result.status !== null && result.status >= 200 && result.status < 300;
    const answeredAt = clock.now();
    options.record.write({
      kind: 'attempt',
      deliveryId,
      attempt: attempts,
      sentAt,
      answeredAt,
      ...result,
      acknowledged,
    });
    if (acknowledged && !outgoing.acknowledged) counts.acknowledged += 1;
    outgoing.acknowledged ||= acknowledged;
  };

  const insist: Sender['insist'] = async (outgoing, done) => {
    if (stopped) return;
    await attempt(outgoing);
    const givenUp = !outgoing.acknowledged && clock.now() - outgoing.firstAt >= settings.giveUpAfterMs;
    if (givenUp) counts.givenUp += 1;
    if (outgoing.acknowledged || givenUp) {
      done();
      return;
    }
    const doublings = Math.min(10, outgoing.attempts - 1);
    later(Math.min(settings.retryMaxMs, settings.retryFirstMs * 2 ** doublings), () => insist(outgoing, done));
  };

  return {
    insist,
    once: async (outgoing, done) => {
      if (stopped) return;
      await attempt(outgoing);
      done();
    },
    later,
    counts,
    stop: async () => {
      stopped = true;
      for (const timer of timers) timer.cancel();
      await pool.destroy();
    },
  };
}

async function post(
  pool: Pool,
  path: string,
  body: string,
  timeoutMs: number,
): Promise<{ status: number | null; error: string | null }> {
  try {
    const answer = await pool.request({
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.body.dump();
    return { status: answer.statusCode, error: null };
  } catch (error) {
    return { status: null, error: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
