/**
 * The threads that read webhooks, seen from the door: bodies go out, entries of the log come back. Long bodies have a thread of their
 * own, so that no short one waits for the seconds that reading them takes. A webhook that ends its thread costs itself alone: it is kept
 * unread, the thread begins again, and the bodies behind it are read by the next one.
 */
import { extname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { EpochMs } from './domain/glossary.ts';
import type { Topic } from './domain/records.ts';
import type { BodyReader, ReadingParts } from './http/door.ts';
import type { WebhookEntry, WebhookReading } from './wire/webhook.ts';

export type DoorThreadData = ReadingParts & { pseudonymKey: string };
export type BodyQuestion = { id: number; body: Uint8Array; receivedAt: number; now: number };

type Rest<R> = R extends { kind: 'dead-letter' } ? Omit<R, 'letter'> : R;

/** What was read, its entries apart, as parallel lists: the cheapest thing to hand to another thread. */
export type BodyAnswer = {
  id: number;
  reading: Rest<WebhookReading>;
  topics: Topic[];
  keys: string[];
  texts: string[];
};

/** `up` resolves when the thread of short bodies reads. */
export type DoorReader = { read: BodyReader; up: Promise<void>; close: () => Promise<void> };

export type DoorReaderParts = {
  data: DoorThreadData;
  /** Reads until the thread is up. */
  here: BodyReader;
  /** What becomes of a body that ended the thread; `code` says by what. */
  keep: (body: Buffer, receivedAt: EpochMs, code: string) => WebhookReading;
  restMs?: number;
  thread?: URL;
};

/** A process that begins has more urgent things to do than to load a thread: requests that waited for it. */
const usualRestMs = 10_000;
/**
 * A longer body is read by a thread of its own, which begins with the first such body and reads one at a time: 20 000 requests take it
 * seconds, and neither decisions nor short bodies are to wait for them.
 */
const longestHere = 262_144;
/**
 * Bodies handed over at once, and from how many bytes of them on no more. The thread has the next one at hand and need not be woken for
 * each: with 4, a tenth fewer webhooks are read a second. No more lie there than must.
 */
const handedOver = 16;
const handedOverBytes = 262_144;
/** The thread ends so often before it has read anything: then it is not the bodies. */
const maxFruitless = 5;

/** As this file is: compiled or not. */
const ownThread = new URL(`./door-thread${extname(import.meta.url)}`, import.meta.url);

type Waiting = {
  id: number;
  body: Buffer;
  receivedAt: EpochMs;
  now: EpochMs;
  /** By the clock that never goes back. */
  queuedMs: number;
  resolve: (reading: WebhookReading | null) => void;
};

/** Entries made at once; a webhook of many thousands must not keep decisions waiting. */
const entriesAtOnce = 500;

async function readingOf({ reading, topics, keys, texts }: BodyAnswer): Promise<WebhookReading> {
  const entries: WebhookEntry[] = [];
  for (const [index, topic] of topics.entries()) {
    const text = texts[index]!;
    entries.push({ topic, key: keys[index]!, record: JSON.parse(text), text });
    if (entries.length % entriesAtOnce === 0) await nextTurn();
  }
  if (reading.kind === 'dead-letter') return { ...reading, letter: entries[0]! };
  return reading.kind === 'entries' ? { ...reading, entries } : reading;
}

function codeOf(fault: unknown): string {
  if (!(fault instanceof Error)) return 'unknown';
  return 'code' in fault ? String(fault.code) : fault.name;
}

export function createDoorReader(parts: DoorReaderParts): DoorReader {
  const { here, restMs = usualRestMs } = parts;
  const short = createReadingThread(parts, handedOver);
  const long = createReadingThread(parts, 1);
  const timer = setTimeout(short.begin, restMs);
  return {
    read: (body, receivedAt, now = receivedAt) => {
      if (body.length > longestHere) return long.read(body, receivedAt, now);
      if (short.isFirstToCome()) return here(body, receivedAt, now);
      clearTimeout(timer);
      return short.read(body, receivedAt, now);
    },
    up: short.up,
    close: async () => {
      clearTimeout(timer);
      await Promise.all([short.close(), long.close()]);
    },
  };
}

type ReadingThread = {
  /** Begins the thread, if none was. Bodies are answered in the order in which they came. */
  read: (body: Buffer, receivedAt: EpochMs, now: EpochMs) => Promise<WebhookReading | null>;
  begin: () => void;
  /** It has never read, and has not ended before it did. */
  isFirstToCome: () => boolean;
  up: Promise<void>;
  close: () => Promise<void>;
};

/** `most`: bodies that it has at hand. */
function createReadingThread({ data, keep, thread }: DoorReaderParts, most: number): ReadingThread {
  /** With the thread, which reads them in this order. */
  const handed: Waiting[] = [];
  /** What waits to be handed over, in the order in which it came. */
  const queue: Waiting[] = [];
  const up = Promise.withResolvers<void>();
  let worker: Worker | null = null;
  let isUp = false;
  let wasUp = false;
  let lastId = 0;
  let closed = false;
  let fruitless = 0;

  function hasPlace(): boolean {
    const bytes = handed.reduce((sum, { body }) => sum + body.length, 0);
    return handed.length < most && bytes < handedOverBytes;
  }

  function handOver(): void {
    while (isUp && worker !== null && hasPlace()) {
      const next = queue.shift();
      if (next === undefined) return;
      const { id, body, receivedAt, now, queuedMs, resolve } = next;
      // Its sender has given up or will: those behind it are not to wait for it.
      if (performance.now() - queuedMs > data.limits.appendTimeoutMs) {
        resolve(null);
        continue;
      }
      // Copied, not given away: it is needed again should the thread end over it.
      const question: BodyQuestion = { id, body, receivedAt, now };
      worker.postMessage(question);
      handed.push(next);
    }
  }

  const hear = (word: BodyAnswer | 'up'): void => {
    if (word === 'up') {
      isUp = true;
      wasUp = true;
      up.resolve();
    } else {
      fruitless = 0;
      const { resolve } = handed.shift()!;
      void readingOf(word).then(resolve);
    }
    handOver();
  };

  function begin(): void {
    if (worker !== null) return;
    let fault: unknown = null;
    const mine = new Worker(thread ?? ownThread, { workerData: data });
    worker = mine;
    mine.on('message', hear);
    mine.on('error', (cause) => {
      fault = cause;
    });
    mine.on('exit', () => {
      if (closed) return;
      fruitless += 1;
      if (fruitless > maxFruitless)
        throw new Error(`the thread that reads webhooks ends again and again`, { cause: fault });
      const culprit = handed.shift();
      isUp = false;
      queue.unshift(...handed.splice(0));
      if (culprit !== undefined) culprit.resolve(keep(culprit.body, culprit.receivedAt, codeOf(fault)));
      worker = null;
      begin();
    });
  }

  return {
    read: (body, receivedAt, now) => {
      begin();
      return new Promise((resolve) => {
        lastId += 1;
        queue.push({ id: lastId, body, receivedAt, now, queuedMs: performance.now(), resolve });
        handOver();
      });
    },
    begin,
    isFirstToCome: () => !wasUp && fruitless === 0,
    up: up.promise,
    close: async () => {
      closed = true;
      await worker?.terminate();
    },
  };
}
