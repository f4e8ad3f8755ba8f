/**
 * Nine mends of kafkajs 2.2.4 from outside; it has had no release since 2023.
 *
 * Idle loop (kafkajs #1704, #1751): once a connection has had an answer, its request queue looks for pending requests every
 * millisecond for ever, because the wait until the end of a throttling that never was is negative. That is 5 % of a core in
 * a daemon that does nothing, and `TimeoutNegativeWarning` since Node 24. Here a look is scheduled only where a request
 * waits: every other change of the queue looks by itself already.
 *
 * Timeouts: each connection looks ten times a second, at times of its own, whether a request of its has waited too long. A desk
 * has a dozen connections, so that alone wakes it a hundred times a second. Here one timer looks for all of them.
 *
 * Time of day: kafkajs takes ages from it. Set back by an hour, the machine's clock stops the heartbeats for that long, so the
 * group gives our partitions to nobody or to others; set ahead, it ends every request under way. Here when a request was sent and
 * when the next heartbeat is due are times of the monotonic clock; that is also what `sentAt` of a REQUEST event says.
 *
 * Lost socket: two requests that find a connection not yet open both open it, and the first socket is forgotten but stays
 * open; the process then never ends by itself. Here the second request waits for the first one's attempt.
 *
 * Listeners of a dead socket: each time a connection is ended, one more listener waits for its socket to connect. While a broker is
 * away that goes on without end. Here a socket that is destroyed keeps one of them.
 *
 * Lost causes: where a broker refuses, kafkajs logs a sentence without the error code, and the error itself does not say which
 * topic it is about, although the answer did. Here both are kept: see `cause.ts`.
 *
 * Compression: kafkajs reads batches of gzip alone, however much they become. Here it reads those of all codecs: see `compression.ts`.
 *
 * Checksums: kafkajs compares none, and does not say which batch it cannot read: see `record-batches.ts`.
 *
 * Costly writing: what a plain producer sends takes a tenth of a busy desk's CPU to put together: see `produce-bytes.ts`.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import './compression.ts';
import './record-batches.ts';
import { causeText, placeOf } from './cause.ts';
import { type ProduceBody, produceBytes } from './produce-bytes.ts';

type RequestQueue = {
  pending: readonly unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests: () => void;
  scheduleCheckPendingRequests: () => void;
  enforceRequestTimeout: boolean;
  inflight: ReadonlyMap<number, { sentAt: number; requestTimeout: number; timeoutRequest: () => void }>;
  isConnected: () => boolean;
  scheduleRequestTimeoutCheck: () => void;
  destroy: () => void;
};

type SocketRequest = { send: () => void; sentAt: number };
type ConsumerGroup = {
  memberId: string | null | undefined;
  heartbeat: (options: { interval: number }) => Promise<void>;
};

type ProduceArguments = ProduceBody & { compression: number; transactionalId?: string | null; producerId: unknown };
/** What kafkajs takes for one of its encoders where it writes a request's body. */
type Written = { buf: Buffer; buffer: Buffer; size: () => number };
type Definition = (given: ProduceArguments) => { request: { encode: () => Promise<Written> } };
type Produce = { protocol: (asked: { version: number }) => Definition };
type Encoder = { buf: Buffer; offset: number; ensureAvailable: (length: number) => void };

type Sent = {
  request: { apiName: string; apiKey: number; apiVersion: number };
  response: { decode: (bytes: unknown) => Promise<unknown>; parse: (answer: unknown) => Promise<unknown> };
  logResponseError?: boolean;
};
type Connection = {
  host: string;
  port: number;
  socket: Socket | null;
  connect: () => Promise<unknown>;
  disconnect: () => Promise<unknown>;
  send: (sent: Sent) => Promise<unknown>;
  logError: (text: string, fields: object) => void;
};

const pendingLookMs = 10;
const timeoutLookMs = 200;

const require = createRequire(import.meta.url);
const { prototype: queue } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
const { prototype: request } = require('kafkajs/src/network/requestQueue/socketRequest') as {
  prototype: SocketRequest;
};
const { prototype: group } = require('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup };
const { prototype: connection } = require('kafkajs/src/network/connection') as { prototype: Connection };
const produce = require('kafkajs/src/protocol/requests/produce') as Produce;
const { prototype: encoder } = require('kafkajs/src/protocol/encoder') as { prototype: Encoder };

queue.scheduleCheckPendingRequests = function scheduleOnlyWhereNeeded(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return;
  const waitMs = Math.max(this.throttledUntil - Date.now(), pendingLookMs);
  this.throttleCheckTimeoutId = setTimeout(() => {
    this.throttleCheckTimeoutId = null;
    this.checkPendingRequests();
  }, waitMs);
};

const sendRequest = request.send;

request.send = function noteWhen(this: SocketRequest): void {
  sendRequest.call(this);
  this.sentAt = performance.now();
};

const beat = group.heartbeat;
const beatAt = new WeakMap<ConsumerGroup, number>();
/** Less than any time since the last one. */
const atOnce = Number.NEGATIVE_INFINITY;

group.heartbeat = async function beatWhenDue(this: ConsumerGroup, { interval }): Promise<void> {
  if (performance.now() - (beatAt.get(this) ?? atOnce) < interval) return;
  await beat.call(this, { interval: atOnce });
  if (this.memberId) beatAt.set(this, performance.now());
};

const watched = new Set<RequestQueue>();
let watching: NodeJS.Timeout | null = null;

function lookForTimeouts(): void {
  for (const one of watched) {
    for (const each of one.inflight.values()) {
      if (performance.now() - each.sentAt > each.requestTimeout) each.timeoutRequest();
    }
    if (!one.isConnected()) one.destroy();
  }
}

queue.scheduleRequestTimeoutCheck = function watchWithOthers(this: RequestQueue): void {
  if (!this.enforceRequestTimeout) return;
  watched.add(this);
  watching ??= setInterval(lookForTimeouts, timeoutLookMs);
};

const destroyQueue = queue.destroy;
queue.destroy = function leaveOthers(this: RequestQueue): void {
  destroyQueue.call(this);
  watched.delete(this);
  if (watched.size > 0 || watching === null) return;
  clearInterval(watching);
  watching = null;
};

const openOne = connection.connect;
const opening = new WeakMap<Connection, Promise<unknown>>();

connection.connect = function connectOnce(this: Connection): Promise<unknown> {
  const under = opening.get(this);
  if (under !== undefined) return under;
  const attempt = openOne.call(this).finally(() => opening.delete(this));
  opening.set(this, attempt);
  return attempt;
};

const endOne = connection.disconnect;

connection.disconnect = function leaveDeadSocket(this: Connection): Promise<unknown> {
  if (this.socket?.destroyed) this.socket.removeAllListeners('connect');
  return endOne.call(this);
};

const sendOne = connection.send;

/** The error of an answer, with what the answer said beside its code. */
function keepPlace(cause: unknown, answer: unknown, broker: string): void {
  if (!(cause instanceof Error)) return;
  const known = cause as Error & { code?: unknown; topic?: unknown; broker?: unknown; errors?: readonly unknown[] };
  for (const inner of known.errors ?? []) keepPlace(inner, answer, broker);
  known.broker ??= broker;
  if (known.topic === undefined && typeof known.code === 'number') Object.assign(known, placeOf(answer, known.code));
}

connection.send = function keepCauses(this: Connection, sent: Sent): Promise<unknown> {
  const parse = async (answer: unknown): Promise<unknown> => {
    try {
      return await sent.response.parse(answer);
    } catch (cause) {
      keepPlace(cause, answer, `${this.host}:${this.port}`);
      const { apiName, apiKey, apiVersion } = sent.request;
      if (sent.logResponseError !== false) {
        this.logError(`${apiName}(key: ${apiKey}, version: ${apiVersion}) was refused`, { error: causeText(cause) });
      }
      throw cause;
    }
  };
  return sendOne.call(this, { ...sent, response: { ...sent.response, parse }, logResponseError: false });
};

const firstPlainVersion = 3;
const protocolOf = produce.protocol;

/** What `produceBytes` knows how to write; the rest is left to kafkajs. */
function isPlain({ compression, transactionalId, producerId, topicData }: ProduceArguments): boolean {
  return (
    compression === 0 &&
    (transactionalId ?? null) === null &&
    Number(producerId) === -1 &&
    topicData.every(({ partitions }) =>
      partitions.every(({ messages }) =>
        messages.every(
          (message) => !('timestamp' in message) && !Object.values(message.headers ?? {}).some(Array.isArray),
        ),
      ),
    )
  );
}

produce.protocol = ({ version }) => {
  const define = protocolOf({ version });
  if (version < firstPlainVersion) return define;
  return (given) => {
    const defined = define(given);
    if (!isPlain(given)) return defined;
    const encode = async (): Promise<Written> => {
      const bytes = produceBytes(given, Date.now());
      return { buf: bytes, buffer: bytes, size: () => bytes.length };
    };
    return { ...defined, request: { ...defined.request, encode } };
  };
};

/** As it was, but for the zeros that are written over anyway. */
encoder.ensureAvailable = function growUnfilled(this: Encoder, length: number): void {
  const needed = this.offset + length;
  if (needed <= this.buf.length) return;
  const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.buf.length));
  this.buf.copy(larger, 0, 0, this.offset);
  this.buf = larger;
};
