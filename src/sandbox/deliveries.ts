/** The sender of webhooks: delivers until a 2xx or the limit, plays the webhook faults, and writes down every attempt. */
import { createHash } from 'node:crypto';
import { Pool } from 'undici';
import type { Chance, Clock, Timer } from '../domain/clock.ts';
import { uuidOf } from './chance.ts';
import { drawWebhookFault, type WebhookFault, type WebhookFaults } from './faults.ts';
import type { Delivery, SandboxRecord } from './record.ts';

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

export type Message = Pick<Delivery, 'what' | 'requestIds' | 'batchId' | 'requestCode'> & { body: string };

export type Deliveries = {
  send: (message: Message) => void;
  /** Resolves when nothing is under way or waiting. */
  idle: () => Promise<void>;
  counts: () => { sent: number; acknowledged: number; givenUp: number; faults: Readonly<Record<WebhookFault, number>> };
  stop: () => Promise<void>;
};

const duplicateAfterMs = 20;

type Open = { deliveryId: string; body: string; attempt: number; firstAt: number; acknowledged: boolean };

/** `target`: where webhooks go, the whole address with its token. */
export function createDeliveries(options: {
  target: string;
  settings: DeliverySettings;
  faults: WebhookFaults;
  clock: Clock;
  chance: Chance;
  record: SandboxRecord;
}): Deliveries {
  const { settings, faults, clock, chance, record } = options;
  const address = new URL(options.target);
  const path = address.pathname + address.search;
  const pool = new Pool(address.origin, { connections: settings.connections, headersTimeout: settings.timeoutMs });
  const counts = { sent: 0, acknowledged: 0, givenUp: 0, faults: { duplicate: 0, reorder: 0, late: 0, missing: 0 } };
  const timers = new Set<Timer>();
  let held: Open[] = [];
  let open = 0;
  let stopped = false;
  let waiting: (() => void)[] = [];

  const finish = () => {
    open -= 1;
    if (open > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };

  const later = (delayMs: number, run: () => void) => {
    const timer = clock.schedule(clock.now() + delayMs, () => {
      timers.delete(timer);
      run();
    });
    timers.add(timer);
  };

  const attempt = async (delivery: Open, again: boolean): Promise<void> => {
    if (stopped) return;
    delivery.attempt += 1;
    const sentAt = clock.now();
    const result = await post(pool, path, delivery.body, settings.timeoutMs);
    const acknowledged = result.status !== null && result.status >= 200 && result.status < 300;
    const { deliveryId } = delivery;
    record.write({
      kind: 'attempt',
      deliveryId,
      attempt: delivery.attempt,
      sentAt,
      answeredAt: clock.now(),
      ...result,
      acknowledged,
    });
    if (acknowledged && !delivery.acknowledged) counts.acknowledged += 1;
    delivery.acknowledged ||= acknowledged;
    if (delivery.acknowledged || !again) {
      finish();
      return;
    }
    if (stopped || clock.now() - delivery.firstAt >= settings.giveUpAfterMs) {
      counts.givenUp += 1;
      finish();
      return;
    }
    later(Math.min(settings.retryMaxMs, settings.retryFirstMs * 2 ** Math.min(10, delivery.attempt - 1)), () => {
      void attempt(delivery, true);
    });
  };

  const go = (delivery: Open) => {
    void attempt(delivery, true);
    const released = held;
    held = [];
    for (const other of released) void attempt(other, true);
  };

  const play = (delivery: Open, fault: WebhookFault | null): void => {
    if (fault === 'missing' && faults.redeliverMissingMs === null) {
      finish();
    } else if (fault === 'missing' || fault === 'late') {
      later((fault === 'late' ? faults.lateMs : faults.redeliverMissingMs) ?? 0, () => go(delivery));
    } else if (fault === 'reorder') {
      held.push(delivery);
      // Nothing may follow it: then it goes by itself.
      later(faults.lateMs, () => {
        if (!held.includes(delivery)) return;
        held = held.filter((other) => other !== delivery);
        void attempt(delivery, true);
      });
    } else {
      if (fault === 'duplicate') {
        open += 1;
        later(duplicateAfterMs, () => void attempt(delivery, false));
      }
      go(delivery);
    }
  };

  const send: Deliveries['send'] = ({ body, ...message }) => {
    if (stopped) return;
    const fault = drawWebhookFault(faults, chance);
    const deliveryId = uuidOf(chance);
    const dueAt = clock.now();
    const sha256 = createHash('sha256').update(body).digest('hex');
    record.write({ kind: 'delivery', deliveryId, ...message, sha256, dueAt, fault });
    counts.sent += 1;
    if (fault !== null) counts.faults[fault] += 1;
    open += 1;
    play({ deliveryId, body, attempt: 0, firstAt: dueAt, acknowledged: false }, fault);
  };

  const stop = async () => {
    stopped = true;
    for (const timer of timers) timer.cancel();
    for (const resolve of waiting) resolve();
    waiting = [];
    await pool.destroy();
  };

  return {
    send,
    idle: () => (open === 0 || stopped ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    counts: () => counts,
    stop,
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
