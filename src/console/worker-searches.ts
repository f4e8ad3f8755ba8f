/**
 * Searches by CPF that are under way, under names that say nothing of the worker: neither a CPF nor its pseudonym stands in an address,
 * which browsers and proxies keep. In memory, for whoever began it.
 */
import { randomBytes } from 'node:crypto';

const keptMs = 30 * 60_000;
/** Of one person. When there are more, their oldest is forgotten. */
const most = 200;
const nameBytes = 16;

export type WorkerSearches = {
  begin: (by: string, workerKey: string) => string;
  /** Null: it is over, was begun by somebody else or in another process. */
  find: (by: string, search: string) => string | null;
  /** How many are kept. */
  size: () => number;
};

type Search = { workerKey: string; untilMs: number };

/** `monotonicMs` never goes back. */
export function createWorkerSearches(monotonicMs: () => number): WorkerSearches {
  /** Of each person the oldest first. */
  const searches = new Map<string, Map<string, Search>>();

  function forgetOver(): void {
    for (const [by, own] of searches) {
      for (const [name, { untilMs }] of own) {
        if (monotonicMs() < untilMs) break;
        own.delete(name);
      }
      if (own.size === 0) searches.delete(by);
    }
  }

  return {
    begin: (by, workerKey) => {
      forgetOver();
      const own = searches.get(by) ?? new Map<string, Search>();
      const oldest = own.keys().next().value;
      if (own.size >= most && oldest !== undefined) own.delete(oldest);
      const name = randomBytes(nameBytes).toString('base64url');
      searches.set(by, own.set(name, { workerKey, untilMs: monotonicMs() + keptMs }));
      return name;
    },
    find: (by, search) => {
      const found = searches.get(by)?.get(search);
      return found !== undefined && monotonicMs() < found.untilMs ? found.workerKey : null;
    },
    size: () => [...searches.values()].reduce((sum, own) => sum + own.size, 0),
  };
}
