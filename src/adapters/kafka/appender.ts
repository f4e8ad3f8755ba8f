/**
 * Appends by one plain producer: all replicas in sync, finite retries, one send in flight; what is appended meanwhile goes
 * into the next. The idempotent producer retries for ever and would keep a door waiting, so a record may come twice here:
 * the fold absorbs it.
 */
import type { Kafka, Partitioners, TopicMessages } from 'kafkajs';
import type { NewEntry } from '../../bidding/ports.ts';
import { Fault } from '../../errors.ts';
import { unavailable } from './client.ts';
import type { LogIdentity } from './identity.ts';
import { partitionOfKey } from './key-partition.ts';
import type { Codec } from './registry.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';

export type Appender = {
  /**
   * Resolves when all are durable. Rejects with `log-unavailable` when nothing more of it was taken for `appendTimeoutMs`; a part,
   * or all of it, may be stored then.
   */
  append: (entries: readonly NewEntry[], headers?: Readonly<Record<string, string>>) => Promise<void>;
  /** Sends so far. */
  sends: () => number;
  close: () => Promise<void>;
};

/** `beside`: the key whose partition it goes to; null: its own. */
type Message = { topic: string; key: string; beside: string | null; value: Buffer; headers: Record<string, string> };
type Waiting = {
  messages: Message[];
  bytes: number;
  over: boolean;
  resolve: () => void;
  reject: (fault: Fault) => void;
};

/** A broker takes what fits one request of a topic's `max.message.bytes`; several smaller sends cost little. */
const sendBytes = 1024 * 1024;
const allReplicas = -1;
/** Sends begin no closer together than this: under load a few records more go into each, and an idle log waits for nothing. */
const paceMs = 6;

export async function createAppender(
  kafka: Kafka,
  codec: Codec,
  settings: KafkaSettings,
  identity: LogIdentity,
): Promise<Appender> {
  const { appendTimeoutMs } = settings;
  const producer = kafka.producer({
    createPartitioner: besidePartitioner,
    allowAutoTopicCreation: false,
    idempotent: false,
    maxInFlightRequests: 1,
    retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 4 },
  });
  await producer.connect().catch((cause: unknown) => {
    throw unavailable(cause);
  });
  const waiting: Waiting[] = [];
  let running: Promise<void> | null = null;
  let sends = 0;
  let sentAt = Number.NEGATIVE_INFINITY;

  async function run(): Promise<void> {
    // Everything that is appended in this turn of the event loop goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const earlyMs = sentAt + paceMs - performance.now();
      if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
      sentAt = performance.now();
      await send(nextGroup());
    }
    running = null;
  }

  function nextGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    while (count < waiting.length && (count === 0 || bytes + waiting[count]!.bytes <= sendBytes)) {
      bytes += waiting[count]!.bytes;
      count += 1;
    }
    // What was refused for lack of time is not written later.
    return waiting.splice(0, count).filter(({ over }) => !over);
  }

  async function send(group: readonly Waiting[]): Promise<void> {
    if (group.length === 0) return;
    sends += 1;
    try {
      refuseReplaced();
      const topicMessages = topicMessagesOf(group.flatMap(({ messages }) => messages));
      const reached = new Map(topicMessages.map(({ topic }) => [topic, identity.reached(topic)]));
      const stored = await producer.sendBatch({ acks: allReplicas, timeout: appendTimeoutMs, topicMessages });
      for (const { topicName, partition, baseOffset } of stored) {
        const before = reached.get(topicName)?.get(partition) ?? 0;
        if (baseOffset !== undefined) identity.appended(topicName, partition, Number(baseOffset), before);
      }
      // What has just been stored in another topic than before was not stored.
      refuseReplaced();
      for (const { resolve } of group) resolve();
    } catch (cause) {
      for (const { reject } of group) reject(unavailable(cause));
    }
  }

  function refuseReplaced(): void {
    const replaced = identity.replaced();
    if (replaced !== null) throw new Fault('log-unavailable', replaced);
  }

  return {
    append: async (entries, headers = {}) => {
      let messages: Message[] = [];
      let bytes = 0;
      for (const { topic, key, record, beside = null, traceparent } of entries) {
        const value = codec.encode(topic, record);
        // What does not fit one send goes in several, each with a time limit of its own: a long batch is not refused for its length.
        if (messages.length > 0 && bytes + value.length > sendBytes) {
          await appendTogether(messages, bytes);
          messages = [];
          bytes = 0;
        }
        bytes += value.length;
        messages.push({
          topic: topicNameOf(settings, topic),
          key,
          beside,
          value,
          headers: traceparent === undefined ? { ...headers } : { ...headers, traceparent },
        });
      }
      if (messages.length > 0) await appendTogether(messages, bytes);
    },
    sends: () => sends,
    close: async () => {
      await running;
      await producer.disconnect();
    },
  };

  async function appendTogether(messages: Message[], bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const append: Waiting = { messages, bytes, over: false, resolve, reject };
    const timer = setTimeout(() => {
      append.over = true;
      reject(new Fault('log-unavailable', `Kafka did not take it within ${appendTimeoutMs} ms.`));
    }, appendTimeoutMs);
    waiting.push(append);
    running ??= run();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The library hands each message on as it was given, with `beside`. */
type Partitioning = ReturnType<typeof Partitioners.DefaultPartitioner>;

function besidePartitioner(): Partitioning {
  return ({ message, partitionMetadata }) => {
    const { beside, key } = message as typeof message & Pick<Message, 'key' | 'beside'>;
    return partitionOfKey(beside || key, partitionMetadata.length);
  };
}

function topicMessagesOf(messages: readonly Message[]): TopicMessages[] {
  const byTopic = Map.groupBy(messages, ({ topic }) => topic);
  return [...byTopic].map(([topic, group]) => ({
    topic,
    messages: group.map(({ key, beside, value, headers }) => ({ key, beside, value, headers })),
  }));
}
