/**
 * Where a process answers questions of the other processes of its desk, on a port of its own. Who does not have the key of the desk is
 * answered with a status alone, and so is a question that comes again, is for another process, or is old.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { EpochMs } from '../../domain/glossary.ts';
import {
  answerTo,
  mostAnswerBytes,
  mostQuestionBytes,
  openPeerText,
  type PeerKeys,
  peerPath,
  questionFor,
  readUpTo,
  sealPeerText,
} from './seal.ts';

export type PeerServerParts = {
  host: string;
  /** 0 takes any free one. */
  port: number;
  instance: string;
  keys: PeerKeys;
  now: () => EpochMs;
  /** Null for what is no question that this version knows. */
  answer: (question: unknown) => Promise<object | null>;
  /** A failure of our own; nothing of the question is in it. */
  onFault: (fault: unknown) => void;
};

/** `host` and `port`: where others reach it. */
export type PeerServer = { host: string; port: number; close: () => Promise<void> };

const mostAtOnce = 8;
const mostConnections = 64;
const requestTimeoutMs = 5_000;
/** Clocks of the machines of a desk differ by less. */
const freshMs = 30_000;
/** Of questions that may come again. */
const mostKnown = 50_000;

export async function openPeerServer(parts: PeerServerParts): Promise<PeerServer> {
  const { host, port, instance, keys, now, answer, onFault } = parts;
  const isNews = createNewsCheck(now);
  let underWay = 0;

  /** The sealed answer, or the status that tells why there is none. */
  async function answerOf(request: IncomingMessage): Promise<Buffer | number> {
    if (request.method !== 'POST' || request.url !== peerPath) return 404;
    if (underWay >= mostAtOnce) return 503;
    underWay += 1;
    try {
      const bytes = await readUpTo(request, mostQuestionBytes);
      if (bytes === null) return 413;
      const text = openPeerText(keys.question, questionFor(instance), bytes);
      if (text === null) return 401;
      const { id, at, question } = JSON.parse(text) as { id: string; at: EpochMs; question: unknown };
      if (!isNews(id, at)) return 401;
      const said = await answer(question);
      if (said === null) return 422;
      const sealed = sealPeerText(keys.answer, answerTo(instance, id), JSON.stringify(said));
      return sealed.length > mostAnswerBytes ? 413 : sealed;
    } finally {
      underWay -= 1;
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = await answerOf(request).catch((fault: unknown) => {
      onFault(fault);
      return 500;
    });
    // A connection that is kept may be closed just when the next question is sent.
    response.setHeader('connection', 'close');
    if (typeof given === 'number') response.writeHead(given).end();
    else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(given);
  }

  const server = createServer({ requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs }, (...exchange) => {
    void serve(...exchange);
  });
  server.maxConnections = mostConnections;
  await listening(server, host, port);
  return {
    host: reachableHost(host),
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Whether a question is of now and has not come before. What is too old to be answered need not be remembered. */
export function createNewsCheck(now: () => EpochMs): (id: string, at: EpochMs) => boolean {
  const known = new Map<string, EpochMs>();
  return (id, at) => {
    const time = now();
    // Remembered in the order in which they came.
    for (const [oldest, until] of known) {
      if (until >= time) break;
      known.delete(oldest);
    }
    if (!(Math.abs(time - at) <= freshMs) || known.has(id) || known.size >= mostKnown) return false;
    known.set(id, time + 2 * freshMs);
    return true;
  };
}

/** Where the other machines find one that listens everywhere: its first address that is not its own alone. */
function reachableHost(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const found = outside.find(({ family }) => family === 'IPv4') ?? (host === '::' ? outside[0] : undefined);
  return found?.address ?? '127.0.0.1';
}
