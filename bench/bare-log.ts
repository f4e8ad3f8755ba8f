/**
 * A log in one SQLite file with a thread that writes it, keyed and chained like ours, and nothing around it. Imports nothing of
 * ours.
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

/** `rowIds` and `rows`: what is stored beside the log, one text for each request; the last one counts. */
type Append = { id: number; keys: string[]; values: string[]; rowIds: string[]; rows: string[] };

const groupLimit = 256;

function serveWriter(port: MessagePort, path: string): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32000;');
  database.exec('PRAGMA wal_autocheckpoint = 8000');
  database.exec(`CREATE TABLE log (
    offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, chain TEXT NOT NULL
  ) STRICT; CREATE INDEX log_key ON log (key);
  CREATE TABLE rows (id TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT;`);
  const insert = database.prepare('INSERT INTO log (offset, key, value, chain) VALUES (?, ?, ?, ?)');
  const store = database.prepare(
    'INSERT INTO rows (id, row) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET row = excluded.row',
  );
  let offset = 0;
  let link = '';
  port.on('message', (first: Append) => {
    const ids: number[] = [];
    database.exec('BEGIN IMMEDIATE');
    let message: Append | undefined = first;
    while (message !== undefined) {
      const { id, keys, values, rowIds, rows } = message;
      for (let index = 0; index < keys.length; index += 1) {
        link = hash('sha256', `${link}${offset}${keys[index]!}${values[index]!}`, 'hex');
        insert.run(offset, keys[index]!, values[index]!, link);
        offset += 1;
      }
      for (const [index, rowId] of rowIds.entries()) store.run(rowId, rows[index]!);
      ids.push(id);
      message = ids.length < groupLimit ? (receiveMessageOnPort(port)?.message as Append | undefined) : undefined;
    }
    database.exec('COMMIT');
    port.postMessage(ids);
  });
  port.postMessage([]);
}

export type BareLog = {
  /** Appends of one turn of the event loop go to the writer in one message; resolves when they are durable. */
  append: (keys: readonly string[], values: readonly string[]) => Promise<void>;
  /** Stored with the next append. */
  keep: (id: string, row: string) => void;
};

export async function startLog(path: string): Promise<BareLog> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { path } });
  const waiting = new Map<number, (() => void)[]>();
  let lastId = 0;
  const emptyBatch = () => ({ keys: [] as string[], values: [] as string[], done: [] as (() => void)[] });
  let batch = emptyBatch();
  let kept = new Map<string, string>();
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
    worker.postMessage({
      id: lastId,
      keys,
      values,
      rowIds: [...kept.keys()],
      rows: [...kept.values()],
    } satisfies Append);
    batch = emptyBatch();
    kept = new Map();
  };
  return {
    keep: (id, row) => kept.set(id, row),
    append: (keys, values) =>
      new Promise((resolve) => {
        if (batch.done.length === 0) setImmediate(flush);
        batch.keys.push(...keys);
        batch.values.push(...values);
        batch.done.push(resolve);
      }),
  };
}

if (!isMainThread && parentPort !== null) serveWriter(parentPort, (workerData as { path: string }).path);
