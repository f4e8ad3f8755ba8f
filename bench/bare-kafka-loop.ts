/**
 * The pipeline on Kafka without its business, to compare with: takes the same webhooks, appends as many records of the same
 * size to a topic that is as wide and as durable, reads them back, and sends as many bids. It decides nothing, keeps no state
 * and no view, and imports nothing of ours. Appends are grouped and door and desk have a producer each, as there.
 */
import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { Pool } from 'undici';
import { bidOf, createBidSender, serveWebhooks } from './bare-edges.ts';

type Kind = 'requested' | 'claimed' | 'passed' | 'answered';

type Options = {
  brokers: string[];
  topic: string;
  partitions: number;
  replication: number;
  baseUrl: string;
  /** Share of requests that a bid is sent for. */
  bidShare: number;
  sendLimit: number;
  /** Length of each record, so that the same bytes reach the broker. */
  sizes: Record<Kind, number>;
};

type Message = { key: string; value: string };
type Append = (messages: readonly Message[]) => Promise<void>;
type Read = { kind: Kind; requestId: string; content: unknown };

const allReplicas = -1;
const retentionMs = 400 * 86_400_000;
const recordLimitBytes = 8 * 1024 * 1024;
const sessionTimeoutMs = 10_000;
const appendTimeoutMs = 3_000;
const readyPollMs = 100;

async function makeTopic(kafka: Kafka, { topic, partitions, replication }: Options): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  const settings = {
    'cleanup.policy': 'delete',
    'retention.ms': retentionMs,
    'retention.bytes': -1,
    'min.insync.replicas': Math.max(1, replication - 1),
    'max.message.bytes': recordLimitBytes,
  };
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value: String(value) }));
  await admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic, numPartitions: partitions, replicationFactor: replication, configEntries }],
  });
  // A topic that was just made has leaders on paper first. An append that meets one half ready is sent twice.
  for (let ready = false; !ready; ) {
    ready = await admin.fetchTopicOffsets(topic).then(
      () => true,
      () => false,
    );
    if (!ready) await new Promise((resolve) => setTimeout(resolve, readyPollMs));
  }
  await admin.disconnect();
}

/** One send in flight; what is appended meanwhile goes into the next. Resolves when it is durable. */
async function startAppender(kafka: Kafka, topic: string): Promise<Append> {
  const producer: Producer = kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  let waiting: { messages: readonly Message[]; done: () => void }[] = [];
  let running = false;
  const run = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const messages = group.flatMap((each) => each.messages);
      await producer.send({ topic, acks: allReplicas, timeout: appendTimeoutMs, messages });
      for (const { done } of group) done();
    }
    running = false;
  };
  return (messages) =>
    new Promise((done) => {
      waiting.push({ messages, done });
      if (running) return;
      running = true;
      void run();
    });
}

function record(kind: Kind, requestId: string, content: unknown, size: number): Message {
  return { key: requestId, value: JSON.stringify({ kind, requestId, at: Date.now(), content }).padEnd(size) };
}

/** What is read back, one list for each batch of the consumer. */
function createDesk(options: Options, append: Append): (batch: readonly Read[]) => void {
  const pool = new Pool(options.baseUrl, { connections: options.sendLimit, pipelining: 1, allowH2: false });
  const send = createBidSender(pool);
  const { sizes } = options;
  const queue: string[] = [];
  let busy = 0;
  let owed = 0;

  /** Claims for all free slots in one append. */
  const pump = (): void => {
    const requestIds = queue.splice(0, options.sendLimit - busy);
    busy += requestIds.length;
    if (requestIds.length > 0) void append(requestIds.map((id) => record('claimed', id, bidOf(id), sizes.claimed)));
  };
  const place = async (requestId: string, body: string): Promise<void> => {
    const answer = await send(body);
    busy -= 1;
    pump();
    JSON.parse(answer);
    await append([record('answered', requestId, answer, sizes.answered)]);
  };
  return (batch) => {
    const passed: Message[] = [];
    for (const { kind, requestId, content } of batch) {
      if (kind === 'claimed') void place(requestId, content as string);
      if (kind !== 'requested') continue;
      owed += options.bidShare;
      if (owed < 1) passed.push(record('passed', requestId, 'none', sizes.passed));
      else {
        owed -= 1;
        queue.push(requestId);
      }
    }
    if (passed.length > 0) void append(passed);
    pump();
  };
}

/** Resolves when the partitions are assigned. */
async function consume(kafka: Kafka, topic: string, hear: (batch: readonly Read[]) => void): Promise<void> {
  const consumer = kafka.consumer({ groupId: topic, sessionTimeout: sessionTimeoutMs, allowAutoTopicCreation: false });
  const joined = new Promise<void>((resolve) => consumer.on(consumer.events.GROUP_JOIN, () => resolve()));
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    throw payload.error;
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    eachBatch: async ({ batch }) => hear(batch.messages.map(({ value }) => JSON.parse(value!.toString()) as Read)),
  });
  await joined;
}

async function serve(options: Options): Promise<void> {
  const kafka = new Kafka({ clientId: 'bare', brokers: options.brokers, logLevel: logLevel.ERROR });
  await makeTopic(kafka, options);
  const atDoor = await startAppender(kafka, options.topic);
  const desk = await startAppender(kafka, options.topic);
  await consume(kafka, options.topic, createDesk(options, desk));
  const { sizes } = options;

  const onlyUntilClaimed = (): never => {
    throw new Error('the loop on Kafka plays no ends');
  };
  serveWebhooks({
    receive: (ids, requests) =>
      atDoor(ids.map((id, index) => record('requested', id, requests[index], sizes.requested))),
    end: onlyUntilClaimed,
    tell: onlyUntilClaimed,
  });
}

await serve(JSON.parse(process.argv[2]!) as Options);
