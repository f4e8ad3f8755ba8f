/**
 * The pipeline without its business, to compare with: takes the same webhooks, appends as many records of the same size
 * to one SQLite file through the same kind of worker, keyed and chained alike, and sends as many bids. It decides nothing,
 * keeps no state and no view, and imports nothing of ours. The main thread serves HTTP, the worker thread is the writer.
 */
import { hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import {
  isMainThread,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  Worker,
  workerData,
} from 'node:worker_threads';
import { Pool } from 'undici';
import { bidOf, createBidSender, serveWebhooks } from './bare-edges.ts';

type Options = {
  path: string;
  baseUrl: string;
  /** Share of requests that a bid is sent for. */
  bidShare: number;
  sendLimit: number;
  /** Length of each record, so that the same bytes reach the disk. */
  sizes: { requested: number; claimed: number; passed: number; answered: number };
};

type Append = { id: number; keys: string[]; values: string[] };

const groupLimit = 256;

function serveWriter(port: MessagePort, path: string): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32000;');
  database.exec('PRAGMA wal_autocheckpoint = 8000');
  database.exec(`CREATE TABLE log (
    offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, chain TEXT NOT NULL
  ) STRICT; CREATE INDEX log_key ON log (key);`);
  const insert = database.prepare('INSERT INTO log (offset, key, value, chain) VALUES (?, ?, ?, ?)');
  let offset = 0;
  let link = '';
  port.on('message', (first: Append) => {
    const ids: number[] = [];
    database.exec('BEGIN IMMEDIATE');
    let message: Append | undefined = first;
    while (message !== undefined) {
      const { id, keys, values } = message;
      for (let index = 0; index < keys.length; index += 1) {
        link = hash('sha256', `${link}${offset}${keys[index]!}${values[index]!}`, 'hex');
        insert.run(offset, keys[index]!, values[index]!, link);
        offset += 1;
      }
      ids.push(id);
      message = ids.length < groupLimit ? (receiveMessageOnPort(port)?.message as Append | undefined) : undefined;
    }
    database.exec('COMMIT');
    port.postMessage(ids);
  });
  port.postMessage([]);
}

/** Appends of one turn of the event loop go to the writer in one message; resolves when they are durable. */
async function startLog(path: string): Promise<(keys: readonly string[], values: readonly string[]) => Promise<void>> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { path } });
  const waiting = new Map<number, (() => void)[]>();
  let lastId = 0;
  let batch: { keys: string[]; values: string[]; done: (() => void)[] } = { keys: [], values: [], done: [] };
  await new Promise((resolve) => worker.once('message', resolve));
  worker.on('message', (ids: number[]) => {
    for (const id of ids) {
      for (const done of waiting.get(id)!) done();
      waiting.delete(id);
    }
  });
  worker.on('error', (fault) => {
    throw fault;
  });
  const flush = (): void => {
    lastId += 1;
    const { keys, values, done } = batch;
    waiting.set(lastId, done);
    worker.postMessage({ id: lastId, keys, values } satisfies Append);
    batch = { keys: [], values: [], done: [] };
  };
  return (keys, values) =>
    new Promise((resolve) => {
      if (batch.done.length === 0) setImmediate(flush);
      batch.keys.push(...keys);
      batch.values.push(...values);
      batch.done.push(resolve);
    });
}

function record(kind: string, requestId: string, content: unknown, size: number): string {
  return JSON.stringify({ kind, requestId, at: Date.now(), content }).padEnd(size);
}

async function serve(options: Options): Promise<void> {
  const append = await startLog(options.path);
  const pool = new Pool(options.baseUrl, { connections: options.sendLimit, pipelining: 1, allowH2: false });
  const send = createBidSender(pool);
  const { sizes } = options;
  const queue: string[] = [];
  let busy = 0;
  let owed = 0;

  const place = async (requestId: string, body: string): Promise<void> => {
    const answer = await send(body);
    busy -= 1;
    pump();
    JSON.parse(answer);
    await append([requestId], [record('answered', requestId, answer, sizes.answered)]);
  };
  /** Claims for all free slots in one append, then the bids. */
  const claim = async (requestIds: readonly string[]): Promise<void> => {
    const bodies = requestIds.map(bidOf);
    await append(
      requestIds,
      requestIds.map((id, index) => record('claimed', id, bodies[index], sizes.claimed)),
    );
    for (const [index, requestId] of requestIds.entries()) void place(requestId, bodies[index]!);
  };
  const pump = (): void => {
    const requestIds = queue.splice(0, options.sendLimit - busy);
    busy += requestIds.length;
    if (requestIds.length > 0) void claim(requestIds);
  };
  const receive = async (ids: readonly string[], requests: readonly unknown[]): Promise<void> => {
    await append(
      ids,
      ids.map((id, index) => record('requested', id, requests[index], sizes.requested)),
    );
    const passed: string[] = [];
    for (const id of ids) {
      owed += options.bidShare;
      if (owed < 1) passed.push(id);
      else {
        owed -= 1;
        queue.push(id);
      }
    }
    if (passed.length > 0)
      void append(
        passed,
        passed.map((id) => record('passed', id, 'none', sizes.passed)),
      );
    pump();
  };
  serveWebhooks(receive);
}

if (!isMainThread && parentPort !== null) serveWriter(parentPort, (workerData as { path: string }).path);
else await serve(JSON.parse(process.argv[2]!) as Options);
