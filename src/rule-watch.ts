/** The thread of the rules, seen from the desk: started, asked, started anew when a file was too much for it. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { RuleReport, RuleWatch } from './bidding/ports.ts';
import { Fault } from './errors.ts';
import type { RuleFile } from './rules/rule-set.ts';
import type { RequestMapping } from './wire/mapping-table.ts';

export type RuleThreadData = {
  directory: string;
  /** A change counts when the folder has stayed as it is for so long. */
  restMs: number;
  /**
   * A folder that holds what is followed at the start was checked when that was announced. Whether this program would still take it
   * is told so long after the start: a desk that has just started has better things to do with the machine.
   */
  followedRestMs: number;
  leastCoveragePercent: number;
  /** What requests are read by: a rule on a fact that it never brings is refused. */
  mapping: RequestMapping;
  /** Of the set that is followed at the start; null: none is. */
  followedHash: string | null;
};

/** A stored set, or files that somebody would make a set of. */
export type RuleQuestion = { id: number } & ({ source: string } | { files: readonly RuleFile[] });
/** `asFound`: of the folder as it was at the first look. */
export type RuleWord =
  | { kind: 'folder'; report: RuleReport; asFound: boolean }
  | { kind: 'answer'; id: number; report: RuleReport };

const restartMs = 5_000;
const memoryMb = 512;

export function createRuleWatch(data: Omit<RuleThreadData, 'followedHash'>): RuleWatch {
  let followedHash: string | null = null;
  let onReport: ((report: RuleReport, asFound: boolean) => void) | null = null;
  let worker: Worker | null = null;
  let later: NodeJS.Timeout | null = null;
  /** It was not needed yet: whoever asks something starts it. */
  let fresh = true;
  let lastId = 0;
  let stopped = false;
  const asked = new Map<number, { resolve: (report: RuleReport) => void; reject: (fault: Fault) => void }>();

  function run(): void {
    if (later !== null) clearTimeout(later);
    fresh = false;
    const begun = new Worker(new URL(`./rule-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: { ...data, followedHash } satisfies RuleThreadData,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    begun.unref();
    worker = begun;
    begun.on('message', (word: RuleWord) => {
      if (word.kind === 'folder') return onReport?.(word.report, word.asFound);
      asked.get(word.id)?.resolve(word.report);
      asked.delete(word.id);
    });
    begun.on('error', (cause) => die(cause.message));
    begun.on('exit', (code) => {
      if (worker === begun) die(`exit code ${code}`);
    });
  }

  function runIn(ms: number): void {
    later = setTimeout(run, ms);
    later.unref();
  }

  function die(why: string): void {
    if (worker === null || stopped) return;
    worker = null;
    const text = `The thread that checks the rules has ended (${why}); a file may be too much for it.`;
    for (const { reject } of asked.values()) reject(new Fault('rules-unchecked', text));
    asked.clear();
    onReport?.({ kind: 'refused', text }, false);
    runIn(restartMs);
  }

  function ask(question: { source: string } | { files: readonly RuleFile[] }): Promise<RuleReport> {
    return new Promise((resolve, reject) => {
      if (stopped) return reject(new Fault('rules-unchecked', 'The process ends.'));
      if (fresh) run();
      if (worker === null) return reject(new Fault('rules-unchecked', 'The thread that checks the rules starts anew.'));
      lastId += 1;
      asked.set(lastId, { resolve, reject });
      worker.postMessage({ id: lastId, ...question } satisfies RuleQuestion);
    });
  }

  return {
    start: (listener, afterMs, followed) => {
      onReport = listener;
      followedHash = followed;
      if (afterMs === 0) run();
      else runIn(afterMs);
    },
    check: (source) => ask({ source }),
    judge: (files) => ask({ files }),
    stop: async () => {
      stopped = true;
      if (later !== null) clearTimeout(later);
      await worker?.terminate();
      for (const { reject } of asked.values()) reject(new Fault('rules-unchecked', 'The process ends.'));
      asked.clear();
    },
  };
}
