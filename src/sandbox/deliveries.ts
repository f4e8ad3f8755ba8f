/** Webhooks on their way out: recorded when they are due, then sent under the webhook faults. */
import { createHash } from 'node:crypto';
import type { Chance, Clock } from '../domain/clock.ts';
import { uuidOf } from './chance.ts';
import { drawFault, type WebhookFault, type WebhookFaults, webhookKinds } from './faults.ts';
import type { Delivery, SandboxRecord } from './record.ts';
import { createSender, type DeliverySettings, type Outgoing, type SenderCounts } from './sender.ts';

export type Message = Pick<Delivery, 'what' | 'requestIds' | 'batchId' | 'requestCode'> & { body: string };

export type DeliveryCounts = SenderCounts & { faults: Readonly<Record<WebhookFault, number>> };

export type Deliveries = {
  send: (message: Message) => void;
  /** Resolves when nothing is under way or waiting. */
  idle: () => Promise<void>;
  counts: () => DeliveryCounts;
  stop: () => Promise<void>;
};

const duplicateAfterMs = 20;

/** `target`: where webhooks go, the whole address with its token. */
export function createDeliveries(options: {
  target: string;
  settings: DeliverySettings;
  faults: WebhookFaults;
  clock: Clock;
  chance: Chance;
  record: SandboxRecord;
}): Deliveries {
  const { faults, chance, clock, record } = options;
  const sender = createSender(options);
  const happened = { duplicate: 0, reorder: 0, late: 0, missing: 0 };
  let held: Outgoing[] = [];
  let open = 0;
  let waiting: (() => void)[] = [];

  const wake = () => {
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const finish = () => {
    open -= 1;
    if (open === 0) wake();
  };
  const go = (outgoing: Outgoing) => {
    sender.insist(outgoing, finish);
    for (const other of held) sender.insist(other, finish);
    held = [];
  };

  const play = (outgoing: Outgoing, fault: WebhookFault | null): void => {
    if (fault === 'missing' && faults.redeliverMissingMs === null) {
      finish();
    } else if (fault === 'missing' || fault === 'late') {
      sender.later((fault === 'late' ? faults.lateMs : faults.redeliverMissingMs) ?? 0, () => go(outgoing));
    } else if (fault === 'reorder') {
      held.push(outgoing);
      // Where nothing follows it, it goes by itself.
      sender.later(faults.lateMs, () => {
        if (held.includes(outgoing)) go(held.splice(held.indexOf(outgoing), 1)[0]!);
      });
    } else {
      go(outgoing);
      if (fault === null) return;
      open += 1;
      sender.later(duplicateAfterMs, () => sender.once(outgoing, finish));
    }
  };

  const send: Deliveries['send'] = ({ body, ...message }) => {
    const fault = drawFault(webhookKinds, faults, chance);
    const deliveryId = uuidOf(chance);
    const dueAt = clock.now();
    const sha256 = createHash('sha256').update(body).digest('hex');
    record.write({ kind: 'delivery', deliveryId, ...message, sha256, dueAt, fault });
    sender.counts.sent += 1;
    if (fault !== null) happened[fault] += 1;
    open += 1;
    play({ deliveryId, body, attempts: 0, firstAt: dueAt, acknowledged: false }, fault);
  };

  return {
    send,
    idle: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    counts: () => ({ ...sender.counts, faults: happened }),
    stop: async () => {
      await sender.stop();
      wake();
    },
  };
}
