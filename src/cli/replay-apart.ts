/** The thread that replays the candidate of an impact, seen from the command: it helps to read the file, so that it has the requests by then. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Model } from '../config.ts';
import type { Apart } from '../impact/desk-replay.ts';
import type { RecordedCase } from '../impact/recorded-cases.ts';
import type { Replayed } from '../impact/replay-sets.ts';
import type { RuleFile } from '../rules/rule-set.ts';
import type { RequestMapping } from '../wire/mapping-table.ts';
import type { PieceRead } from './case-file.ts';

export type ReplayTask = {
  model: Model;
  /** Of the candidate. */
  files: readonly RuleFile[];
  mapping: RequestMapping;
  pseudonymKey: string;
};

/** Pieces of the file by their place in it, as text or read. */
export type ReplayQuestion =
  | { kind: 'read'; place: number; text: string }
  | { kind: 'take'; place: number; cases: readonly RecordedCase[] }
  | { kind: 'replay'; apart: Apart };

export type ReplayAnswer = { kind: 'read'; place: number; piece: PieceRead } | { kind: 'replayed'; replayed: Replayed };

export type ReplayApart = {
  /** The thread starts when it is first given something. */
  isBegun: () => boolean;
  /** Reads this piece, keeps it and gives it back. */
  read: (place: number, text: string) => Promise<PieceRead>;
  /** Pieces that are to be read and are not yet. */
  waiting: () => number;
  take: (place: number, cases: readonly RecordedCase[]) => void;
  /** Replays all pieces that came, in the order of their places. */
  replay: (apart: Apart) => Promise<Replayed>;
  close: () => Promise<void>;
};

export function createReplayApart(task: ReplayTask): ReplayApart {
  const reading = new Map<number, PromiseWithResolvers<PieceRead>>();
  let replayed: PromiseWithResolvers<Replayed> | null = null;
  let failure: Error | null = null;
  let worker: Worker | null = null;

  /** Nothing that is read or replayed ends the thread: that would be a mistake of ours. */
  const fail = (fault: Error) => {
    failure = fault;
    for (const { reject } of reading.values()) reject(fault);
    replayed?.reject(fault);
  };
  const hear = (answer: ReplayAnswer) => {
    if (answer.kind === 'replayed') return replayed?.resolve(answer.replayed);
    reading.get(answer.place)?.resolve(answer.piece);
    reading.delete(answer.place);
  };
  const ask = (question: ReplayQuestion) => {
    if (worker === null) {
      worker = new Worker(new URL(`../replay-thread${extname(import.meta.url)}`, import.meta.url), {
        workerData: task,
      });
      worker.on('message', hear);
      worker.on('error', fail);
    }
    worker.postMessage(question);
  };

  return {
    isBegun: () => worker !== null,
    read: (place, text) => {
      const piece = Promise.withResolvers<PieceRead>();
      reading.set(place, piece);
      ask({ kind: 'read', place, text });
      return piece.promise;
    },
    waiting: () => reading.size,
    take: (place, cases) => ask({ kind: 'take', place, cases }),
    replay: async (apart) => {
      if (failure !== null) throw failure;
      replayed = Promise.withResolvers<Replayed>();
      ask({ kind: 'replay', apart });
      return replayed.promise;
    },
    close: async () => {
      await worker?.terminate();
    },
  };
}
