/**
 * The pipeline without its business, to compare with: takes the same webhooks, appends as many records of the same size
 * to one SQLite file through the same kind of worker, keyed and chained alike, and sends as many bids. It decides nothing,
 * keeps no state and no view, and imports nothing of ours. One file: the main thread serves HTTP, the worker thread is the writer.
 */
import { hash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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

const bidPath = '/contrato/oferta-leilao/incluir-lance';
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

function bidOf(requestId: string): string {
  const body = {
    numeroSolicitacao: 0,
    dataHoraValidadeLance: '2026-11-22T12:00:00',
    contatos: [{ contato: 'https://parceiro.example/credito', tipo: 0 }],
    valorLiberado: 6500,
    numeroParcelas: 24,
    valorTaxaMensal: 2.89,
  };
  // Ids have up to 19 digits, more than a number keeps.
  return JSON.stringify(body).replace('"numeroSolicitacao":0', `"numeroSolicitacao":${requestId}`);
}

function sender(pool: Pool): (body: string) => Promise<string> {
  const headers = [
    'authorization',
    'Bearer bench-access-token',
    'content-type',
    'application/json',
    'accept',
    'application/json',
  ];
  return (body) =>
    new Promise((resolve, reject) => {
      let text = '';
      pool.dispatch(
        { method: 'POST', path: bidPath, headers, body },
        {
          onRequestStart: () => undefined,
          onResponseStart: () => undefined,
          onResponseData: (_controller, chunk) => {
            text += chunk.toString();
          },
          onResponseEnd: () => resolve(text),
          onResponseError: (_controller, fault) => reject(fault),
        },
      );
    });
}

async function serve(options: Options): Promise<void> {
  const append = await startLog(options.path);
  const pool = new Pool(options.baseUrl, { connections: options.sendLimit, pipelining: 1, allowH2: false });
  const send = sender(pool);
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
  const receive = async (text: string): Promise<void> => {
    const { Payload } = JSON.parse(text) as { Payload: { Solicitacoes: unknown[] } };
    const ids = [...text.matchAll(/"numeroSolicitacao":(\d+)/g)].map(([, id]) => id!);
    await append(
      ids,
      ids.map((id, index) => record('requested', id, Payload.Solicitacoes[index], sizes.requested)),
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
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void receive(Buffer.concat(chunks).toString()).then(() => {
        response.setHeader('content-type', 'application/json');
        response.end('{"status":"taken"}');
      });
    });
  };
  const server = createServer(answer);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : null })}\n`);
  });
}

if (!isMainThread && parentPort !== null) serveWriter(parentPort, (workerData as { path: string }).path);
else await serve(JSON.parse(process.argv[2]!) as Options);
