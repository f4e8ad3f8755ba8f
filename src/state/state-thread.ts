/** Writes the state files of a process, in a thread of its own so that no disk stalls the fold. */
import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { dirname } from 'node:path';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { syncDirectory } from './sqlite.ts';
import {
  type FoldedTopic,
  openStateFile,
  removeFile,
  type StateFile,
  type StateFlush,
  type StateOrigin,
  Unusable,
} from './state-file.ts';

/** `path` names the file. Tasks of one file are done in the order in which they come. */
export type StateTask =
  /** Opens or makes the file. `from` `nothing`: one that is there is thrown away; a path: that file takes its place. */
  | {
      kind: 'open';
      path: string;
      topic: FoldedTopic;
      genesis: string;
      partition: number;
      from: 'own' | 'nothing' | { path: string };
    }
  /** See `StateFile.write`. */
  | { kind: 'flush'; path: string; flush: StateFlush; lastHash: string | null | undefined }
  | { kind: 'pin' | 'unpin' | 'close'; path: string }
  /** Closes every file and ends the thread. */
  | { kind: 'end' };

/** `unusable`: why the file that was there was thrown away; null: it was not. */
export type Opened = { origin: StateOrigin; unusable: string | null };

/** What is done for each task, and what that gives back. */
type Runs = {
  open: () => Opened;
  /** Milliseconds that storing took. */
  flush: () => number;
  pin: () => StateOrigin;
  unpin: () => void;
  close: () => void;
  end: () => void;
};
export type StateResult<K extends StateTask['kind'] = StateTask['kind']> = ReturnType<Runs[K]>;

export type StateRequest = { id: number; task: StateTask };

/** `errcode`: as SQLite says it; null: it is no error of SQLite's. */
export type StateReply =
  | { id: number; result: StateResult }
  | { id: number; fault: { message: string; errcode: number | null } };

function serve(port: MessagePort): void {
  const files = new Map<string, StateFile>();
  const fileAt = (path: string) => {
    const file = files.get(path);
    if (file === undefined) throw new Error(`${path} is not open`);
    return file;
  };

  function close(path: string): void {
    files.get(path)?.close();
    files.delete(path);
  }

  function open({ path, from, ...own }: Extract<StateTask, { kind: 'open' }>): Opened {
    close(path);
    if (from !== 'own') removeFile(path);
    if (typeof from === 'object') take(from.path, path);
    try {
      return { origin: opened(path, own), unusable: null };
    } catch (cause) {
      if (!(cause instanceof Unusable)) throw cause;
      removeFile(path);
      return { origin: opened(path, own), unusable: cause.message };
    }
  }

  function opened(path: string, own: Parameters<typeof openStateFile>[1]): StateOrigin {
    const file = openStateFile(path, own);
    files.set(path, file);
    return file.origin;
  }

  function run(task: StateTask): StateResult {
    switch (task.kind) {
      case 'open':
        return open(task);
      case 'flush': {
        const startedAt = performance.now();
        fileAt(task.path).write(task.flush, task.lastHash);
        return performance.now() - startedAt;
      }
      case 'pin':
        return fileAt(task.path).pin();
      case 'unpin':
        // It may be closed already.
        return files.get(task.path)?.unpin();
      case 'close':
        return close(task.path);
      case 'end':
        for (const path of [...files.keys()]) close(path);
        return;
      default:
        return task satisfies never;
    }
  }

  port.on('message', ({ id, task }: StateRequest) => {
    try {
      port.postMessage({ id, result: run(task) } satisfies StateReply);
    } catch (fault) {
      const message = fault instanceof Error ? fault.message : String(fault);
      const errcode = fault instanceof Error && 'errcode' in fault ? Number(fault.errcode) : null;
      port.postMessage({ id, fault: { message, errcode } } satisfies StateReply);
    }
    if (task.kind === 'end') port.close();
  });
}

/** A file whose name says more than is on the disk would be taken for a damaged one after a power cut. */
function take(from: string, path: string): void {
  const file = openSync(from, 'r+');
  fsyncSync(file);
  closeSync(file);
  renameSync(from, path);
  syncDirectory(dirname(path));
}

if (parentPort !== null) {
  serve(parentPort);
  // A thread keeps what it alone has loaded; see `main.ts`.
  flushCompileCache();
}
