/**
 * Searches by CPF that are under way, under names that say nothing of the worker: neither a CPF nor its pseudonym stands in an address,
 * which browsers and proxies keep. In memory, for whoever began it.
 */
import { randomBytes } from 'node:crypto';

const keptMs = 30 * 60_000;
/** When there are more, the oldest is forgotten. */
const most = 200;
const nameBytes = 16;

export type WorkerSearches = {
  begin: (by: string, workerKey: string) => string;
  /** Null: it is over, was begun by somebody else or in another process. */
  find: (by: string, search: string) => string | null;
};

/** `monotonicMs` never goes back. */
export function createWorkerSearches(monotonicMs: () => number): WorkerSearches {
  const searches = new Map<string, { by: string; workerKey: string; untilMs: number }>();
  return {
    begin: (by, workerKey) => {
      const oldest = searches.keys().next().value;
      if (searches.size >= most && oldest !== undefined) searches.delete(oldest);
      const name = randomBytes(nameBytes).toString('base64url');
      searches.set(name, { by, workerKey, untilMs: monotonicMs() + keptMs });
      return name;
    },
    find: (by, search) => {
      const found = searches.get(search);
      return found !== undefined && found.by === by && monotonicMs() < found.untilMs ? found.workerKey : null;
    },
  };
}
