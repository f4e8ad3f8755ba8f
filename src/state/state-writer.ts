/** The thread that writes state files, seen from the process that folds. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Fault } from '../errors.ts';
import type { StateReply, StateRequest, StateResult, StateTask } from './state-thread.ts';

export type StateWriter = {
  /** Rejects with the error of the disk or the file, `errcode` as SQLite says it. */
  run: <T extends StateTask>(task: T) => Promise<StateResult<T['kind']>>;
  /** Closes every file, after everything that was asked before. */
  close: () => Promise<void>;
};

type Waiting = { resolve: (result: StateResult) => void; reject: (fault: Error) => void };

/** `onDeath` hears when the thread ends unasked: nothing can be stored after that. */
export function startStateWriter(onDeath: (fault: Fault) => void): StateWriter {
  const worker = new Worker(new URL(`./state-thread${extname(import.meta.url)}`, import.meta.url));
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let ending: Promise<void> | null = null;
  let dead: Fault | null = null;

  function settle(reply: StateReply): void {
    const { resolve, reject } = waiting.get(reply.id)!;
    waiting.delete(reply.id);
    if (waiting.size === 0 && ending === null) worker.unref();
    if ('result' in reply) resolve(reply.result);
    else {
      const { message, errcode } = reply.fault;
      reject(errcode === null ? new Error(message) : Object.assign(new Error(message), { errcode }));
    }
  }

  function die(cause: unknown): void {
    if (dead !== null || ending !== null) return;
    dead = new Fault('views-unavailable', 'The thread that stores the views has ended.', cause);
    for (const { reject } of waiting.values()) reject(dead);
    waiting.clear();
    onDeath(dead);
  }

  // It keeps no process alive but while something is asked of it.
  worker.unref();
  worker.on('message', settle);
  worker.on('error', die);
  worker.on('exit', (code) => die(new Error(`exit code ${code}`)));

  function send(task: StateTask): Promise<StateResult> {
    const { promise, resolve, reject } = Promise.withResolvers<StateResult>();
    if (dead !== null || ending !== null) {
      reject(dead ?? new Error('the state store is closed'));
      return promise;
    }
    lastId += 1;
    waiting.set(lastId, { resolve, reject });
    worker.ref();
    worker.postMessage({ id: lastId, task } satisfies StateRequest);
    return promise;
  }

  async function end(last: Promise<unknown>): Promise<void> {
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    await last;
    await ended;
  }

  return {
    // The thread answers each kind of task with what `StateResult` says.
    run: (task) => send(task) as Promise<StateResult<(typeof task)['kind']>>,
    close: async () => {
      if (dead !== null) return;
      ending ??= end(send({ kind: 'end' }));
      await ending;
    },
  };
}
