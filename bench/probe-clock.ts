/**
 * Loaded into a daemon before its program: says how long each GET takes from the request to the end of the answer, where the main thread
 * answers it. Of a daemon that does nothing else, that is the time of the thread: the CPU of a thread is told to a tick only.
 */
import { writeSync } from 'node:fs';
import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { isMainThread } from 'node:worker_threads';

type Emit = (this: Server, name: string | symbol, ...rest: unknown[]) => boolean;

const emit = Server.prototype.emit as Emit;

function watch({ method, url }: IncomingMessage, response: ServerResponse): void {
  if (method !== 'GET') return;
  const startedAt = performance.now();
  response.once('finish', () => {
    const us = Math.round((performance.now() - startedAt) * 1_000);
    writeSync(1, `${JSON.stringify({ path: url, us })}\n`);
  });
}

if (isMainThread) {
  Server.prototype.emit = function (this: Server, name: string | symbol, ...rest: unknown[]): boolean {
    if (name === 'request') watch(rest[0] as IncomingMessage, rest[1] as ServerResponse);
    return emit.call(this, name, ...rest);
  };
}
