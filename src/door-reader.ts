/** The thread that reads webhooks, seen from the door: bodies go out, entries of the log come back. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Topic } from './domain/records.ts';
import type { BodyReader, DoorLimits } from './http/door.ts';
import type { RequestMapping } from './wire/mapping-table.ts';
import type { WebhookEntry, WebhookReading } from './wire/webhook.ts';

export type DoorThreadData = { pseudonymKey: string; mapping: RequestMapping; limits: DoorLimits };
export type BodyQuestion = { id: number; body: Uint8Array; receivedAt: number };

type Rest<R> = R extends { kind: 'dead-letter' } ? Omit<R, 'letter'> : R;

/** What was read, its entries apart, as parallel lists: the cheapest thing to hand to another thread. */
export type BodyAnswer = {
  id: number;
  reading: Rest<WebhookReading>;
  topics: Topic[];
  keys: string[];
  texts: string[];
};

/** A body with memory of its own may be handed over: it is empty afterwards. `up` resolves when the thread reads. */
export type DoorReader = { read: BodyReader; up: Promise<void>; close: () => Promise<void> };

/** A process that begins has more urgent things to do than to load a thread: requests that waited for it. */
const usualRestMs = 10_000;

function readingOf({ reading, topics, keys, texts }: BodyAnswer): WebhookReading {
  const entries = topics.map((topic, index): WebhookEntry => {
    const text = texts[index]!;
    return { topic, key: keys[index]!, record: JSON.parse(text), text };
  });
  if (reading.kind === 'dead-letter') return { ...reading, letter: entries[0]! };
  return reading.kind === 'entries' ? { ...reading, entries } : reading;
}

/**
 * Until the thread is up, `here` reads. Nothing in a webhook ends the thread: when it ends all the same, that is a mistake
 * of ours, and the process ends too.
 */
export function createDoorReader(data: DoorThreadData, here: BodyReader, restMs = usualRestMs): DoorReader {
  const waiting = new Map<number, (reading: WebhookReading) => void>();
  const up = Promise.withResolvers<void>();
  let worker: Worker | null = null;
  let isUp = false;
  let lastId = 0;
  let closed = false;

  const hear = (word: BodyAnswer | 'up'): void => {
    if (word === 'up') {
      isUp = true;
      up.resolve();
      return;
    }
    waiting.get(word.id)?.(readingOf(word));
    waiting.delete(word.id);
  };
  const timer = setTimeout(() => {
    worker = new Worker(new URL(`./door-thread${extname(import.meta.url)}`, import.meta.url), { workerData: data });
    worker.on('message', hear);
    worker.on('error', (fault) => {
      throw fault;
    });
    worker.on('exit', (code) => {
      if (!closed) throw new Error(`the thread that reads webhooks has ended with ${code}`);
    });
  }, restMs);
  return {
    read: (body, receivedAt) => {
      if (!isUp) return here(body, receivedAt);
      return new Promise((resolve) => {
        lastId += 1;
        waiting.set(lastId, resolve);
        const isWhole = body.byteLength === body.buffer.byteLength;
        const question: BodyQuestion = { id: lastId, body, receivedAt };
        worker?.postMessage(question, isWhole ? [body.buffer as ArrayBuffer] : []);
      });
    },
    up: up.promise,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await worker?.terminate();
    },
  };
}
