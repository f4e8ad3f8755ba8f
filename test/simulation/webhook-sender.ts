/**
 * How the service delivers: it posts to whichever process answers, comes again after 503, a lost connection or silence,
 * and may send twice, late or out of order. Every 2xx is a promise of ours and is kept for the checker.
 */
import type { EpochMs } from '../../src/domain/glossary.ts';
import type { DoorAnswer } from '../../src/http/door.ts';
import type { Remote } from './remote.ts';
import type { Process } from './virtual-time.ts';

/** What a webhook holds, told by its sender: never read from its text. */
export type Content =
  | { kind: 'requests'; requestIds: readonly string[] }
  | { kind: 'ended'; requestIds: readonly string[] }
  | { kind: 'winner'; event: 'contemplated' | 'proposed'; bidId: string }
  | { kind: 'link'; requestCode: string }
  | { kind: 'nonsense' };

export type Webhook = { text: string; content: Content };

export type Acknowledged = { webhook: Webhook; status: number; at: EpochMs; instance: string };

export type SenderWorld = Remote & {
  processes: () => readonly Process[];
  /** Null when the process takes nothing yet. */
  knock: (process: Process, body: Buffer) => Promise<DoorAnswer> | null;
};

export type WebhookSender = {
  send: (webhook: Webhook) => void;
  acknowledged: Acknowledged[];
  /** First moment at which each request's webhook was handed to a door. */
  firstReceipt: Map<string, EpochMs>;
  pending: () => number;
};

const answerTimeoutMs = 8_000;

export function createWebhookSender(world: SenderWorld): WebhookSender {
  const { chance, faults, time } = world;
  const acknowledged: Acknowledged[] = [];
  const firstReceipt = new Map<string, EpochMs>();
  let pending = 0;

  function post(webhook: Webhook, delayMs: number): void {
    pending += 1;
    time.after(delayMs, null, () => {
      let settled = false;
      const settle = (again: boolean) => {
        if (settled) return;
        settled = true;
        pending -= 1;
        if (!again) return;
        faults.note('webhook-retried');
        post(webhook, chance.between(200, 2_500));
      };
      const reachable = world.processes().filter((process) => process.alive);
      const target = reachable.length === 0 ? null : chance.pick(reachable);
      if (target === null) return settle(true);
      // Arrives as an event of the process: a frozen one takes it in when it wakes.
      time.after(chance.between(1, 20), target, () => void handOver(webhook, target, settle));
      time.after(answerTimeoutMs, null, () => settle(true));
    });
  }

  async function handOver(webhook: Webhook, target: Process, settle: (again: boolean) => void): Promise<void> {
    const { content } = webhook;
    if (content.kind === 'requests') {
      for (const id of content.requestIds) firstReceipt.set(id, Math.min(firstReceipt.get(id) ?? Infinity, time.now()));
    }
    const answering = world.knock(target, Buffer.from(webhook.text));
    // The daemon says so at once.
    if (answering === null) return settle(true);
    const answer = await answering;
    if (!target.alive) return;
    const good = answer.status >= 200 && answer.status < 300;
    if (good) acknowledged.push({ webhook, status: answer.status, at: time.now(), instance: target.id });
    const lost = faults.strikes('webhook-answer-lost', 0.04);
    time.after(chance.between(1, 20), null, () => settle(lost || answer.status === 503));
  }

  return {
    send: (webhook) => {
      let delayMs = chance.between(0, 40);
      if (faults.strikes('webhook-late', 0.06)) delayMs += chance.between(1_000, 15_000);
      else if (faults.strikes('webhook-reordered', 0.1)) delayMs += chance.between(50, 1_500);
      post(webhook, delayMs);
      if (faults.strikes('webhook-doubled', 0.12)) post(webhook, delayMs + chance.between(0, 4_000));
    },
    acknowledged,
    firstReceipt,
    pending: () => pending,
  };
}
