/** The main thread's side of the writer thread: tasks go out, promises come back. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { RequestId } from '../../domain/glossary.ts';
import type { LostClaim } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { damageIn, storeError } from './damage.ts';
import type { TaskResult, WriterOptions, WriterReply, WriterRequest, WriterTask } from './writer-messages.ts';

export type Writer = {
  /** Resolves when the task is durable. Rejects with an Error that says why it was not stored. */
  submit: <T extends WriterTask>(task: T) => Promise<TaskResult<T['kind']>>;
  /** Why the last transaction was not committed; null when it was. */
  failure: () => string | null;
  /** Transactions committed so far. */
  commits: () => number;
  /** After everything submitted before. */
  close: () => Promise<void>;
};

type Waiting = { resolve: (result: TaskResult) => void; reject: (fault: Error) => void };

/**
 * Rejects when the file cannot be opened. `onDeath` hears when the thread ends unasked, or finds the file damaged; nothing can be
 * stored after that.
 */
export async function startWriter(
  options: WriterOptions,
  {
    onOpened,
    onDeath,
    onAnchorFault,
    onAnchorChanged,
    onSchemaAltered,
    onLogChanged,
    onLostClaim,
    onUnfitViews,
  }: {
    /** The file can be read by others, and nothing is written to it yet. What it holds may still turn out to be unfit. */
    onOpened: () => void;
    onDeath: (fault: Fault) => void;
    onAnchorFault: (message: string) => void;
    onAnchorChanged: (text: string | null) => void;
    onSchemaAltered: (text: string | null) => void;
    onLogChanged: (text: string, lasting: boolean) => void;
    /** Heard before the claim is refused because of it. */
    onLostClaim: (requestId: RequestId, claim: LostClaim | null) => void;
    onUnfitViews: (problem: string) => void;
  },
): Promise<Writer> {
  const { path } = options;
  const worker = new Worker(new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: options,
  });
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let commits = 0;
  let failure: string | null = null;
  let closed = false;
  let dead: Fault | null = null;
  const opening = Promise.withResolvers<void>();

  const rejectAll = (ids: readonly number[], fault: Error) => {
    for (const id of ids) {
      waiting.get(id)?.reject(fault);
      waiting.delete(id);
    }
  };
  const settle = (reply: WriterReply) => {
    switch (reply.kind) {
      case 'opened':
        onOpened();
        break;
      case 'ready':
        for (const problem of reply.unfitViews) onUnfitViews(problem);
        opening.resolve();
        break;
      case 'unusable':
        closed = true;
        opening.reject(
          reply.what === 'store'
            ? storeError(reply.fault)
            : new Fault(
                'anchor-unusable',
                `The anchor of the log cannot be written: ${reply.fault.message}. Name a file that this user may write in LANCE_AUDIT_ANCHOR (audit.anchorFile), best on another disk than the data directory.`,
              ),
        );
        break;
      case 'committed':
        commits += 1;
        failure = null;
        for (const { id, result } of reply.results) {
          waiting.get(id)?.resolve(result);
          waiting.delete(id);
        }
        break;
      case 'failed': {
        const fault = storeError(reply.fault);
        failure = reply.fault.message;
        const damage = damageIn(path, fault);
        // First, so that nobody goes on by what it rejects.
        if (damage !== null) onDeath(damage);
        rejectAll(reply.ids, fault);
        break;
      }
      case 'damaged':
        failure = reply.message;
        onDeath(new Fault(reply.code, reply.message));
        break;
      case 'views-unfit':
        failure = 'the views do not fit the log';
        onDeath(
          new Fault(
            'views-behind',
            `The views do not fit the log: request ${reply.requestId} has a claim that they do not know. Nothing was sent for it. They are made again from the log at the next start.`,
          ),
        );
        rejectAll(reply.ids, new Error(failure));
        break;
      case 'anchor-changed':
        onAnchorChanged(reply.text);
        break;
      case 'schema-altered':
        onSchemaAltered(reply.text);
        break;
      case 'claims-lost':
        for (const [requestId, claim] of reply.claims) onLostClaim(requestId, claim);
        break;
      case 'log-changed':
        onLogChanged(reply.text, reply.lasting);
        break;
      case 'anchor-failed':
        onAnchorFault(reply.message);
        break;
      default:
        reply satisfies never;
    }
  };
  const die = (cause: unknown) => {
    if (dead !== null || closed) return;
    dead = new Fault('log-unavailable', 'The writer thread has ended; nothing can be stored any more.', cause);
    opening.reject(dead);
    for (const { reject } of waiting.values()) reject(dead);
    waiting.clear();
    onDeath(dead);
  };
  worker.on('message', settle);
  worker.on('error', die);
  worker.on('exit', (code) => die(new Error(`exit code ${code}`)));

  const send = (task: WriterRequest['task']) => {
    const { promise, resolve, reject } = Promise.withResolvers<TaskResult>();
    if (dead !== null || closed) {
      reject(dead ?? new Error('the store is closed'));
      return promise;
    }
    lastId += 1;
    waiting.set(lastId, { resolve, reject });
    worker.postMessage({ id: lastId, task } as WriterRequest);
    return promise;
  };

  await opening.promise;
  return {
    // The writer thread answers each kind of task with what `WriterRuns` says.
    submit: (task) => send(task) as Promise<TaskResult<(typeof task)['kind']>>,
    failure: () => failure,
    commits: () => commits,
    close: async () => {
      if (dead !== null || closed) return;
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      const last = send({ kind: 'close' });
      closed = true;
      await last;
      await ended;
    },
  };
}
