/**
 * The thread that reads webhooks, put together here because it has to know the vault: opening, mapping and sealing a hundred
 * requests takes longer than a decision may wait. Each record leaves it as JSON, as the log of one machine keeps it.
 */
import { flushCompileCache } from 'node:module';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createVault } from './adapters/vault/vault.ts';
import type { BodyAnswer, BodyQuestion, DoorThreadData } from './door-reader.ts';
import { bodyReader } from './http/door.ts';
import type { WebhookEntry, WebhookReading } from './wire/webhook.ts';

const textOf = ({ record }: WebhookEntry): string => JSON.stringify(record);

function answerOf(id: number, reading: WebhookReading): BodyAnswer {
  if (reading.kind === 'malformed') return { id, reading, topics: [], keys: [], texts: [] };
  const { entries, rest } =
    reading.kind === 'entries'
      ? { entries: reading.entries, rest: { ...reading, entries: [] } }
      : {
          entries: [reading.letter],
          rest: { kind: reading.kind, reason: reading.reason, ...(reading.failed ? { failed: true as const } : {}) },
        };
  return {
    id,
    reading: rest,
    topics: entries.map(({ topic }) => topic),
    keys: entries.map(({ key }) => key),
    texts: entries.map(textOf),
  };
}

async function serve(port: MessagePort, { pseudonymKey, ...reading }: DoorThreadData): Promise<void> {
  const read = bodyReader({ vault: createVault(pseudonymKey), ...reading });
  port.on('message', async ({ id, body, receivedAt, now }: BodyQuestion) => {
    const reading = await read(Buffer.from(body.buffer, body.byteOffset, body.byteLength), receivedAt, now);
    port.postMessage(answerOf(id, reading));
  });
  port.postMessage('up');
  // A thread keeps what it alone has loaded; see `main.ts`.
  flushCompileCache();
}

if (parentPort !== null) await serve(parentPort, workerData as DoorThreadData);
