/**
 * Which requests have a code of the service. It should be one. Where the service gives two bids the same code, the index keeps both
 * under it, for nobody can tell then whose an event is.
 */
import type { RequestId } from './glossary.ts';

/** Kept of one code, the first ones by id: whoever may answer our bids must not make an entry grow. */
export const mostHolders = 8;

/** As an index stores them: by id, apart by a blank, which no id has. */
export function holdersIn(stored: string): readonly RequestId[] {
  return stored.split(' ');
}

/** `stored` null: nobody had the code yet. The same in whatever order they come. */
export function withHolder(stored: string | null, requestId: RequestId): string {
  if (stored === null || stored === requestId) return requestId;
  return [...new Set([...holdersIn(stored), requestId])].sort().slice(0, mostHolders).join(' ');
}

/** Of one index or several, by code. */
export function mergedHolders(
  found: Iterable<readonly [code: string, holders: readonly RequestId[]]>,
): ReadonlyMap<string, readonly RequestId[]> {
  const merged = new Map<string, readonly RequestId[]>();
  for (const [code, holders] of found) {
    const known = merged.get(code);
    merged.set(code, known === undefined ? holders : [...new Set([...known, ...holders])].sort().slice(0, mostHolders));
  }
  return merged;
}
