/**
 * The hash chain over `auctions`: each row's link is the SHA-256 of the link before it and of all that the row says, so a
 * row that is changed, removed or put in later breaks every link after it.
 */
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';

export const firstLink = '';

/** The key's length is hashed too, so that no two pairs of key and value read the same. */
export function nextLink(previous: string, offset: number, key: string, value: string): string {
  return hash('sha256', `${previous}\n${offset}\n${key.length}\n${key}${value}`, 'base64url');
}

export type ChainVerdict =
  | { kind: 'intact'; entries: number; head: string }
  /** `offset` is the first row that is missing or does not fit the one before it. */
  | { kind: 'broken'; offset: number };

const pageRows = 500;

/** Reads page by page and lets other work go on in between. `onProgress` hears how many rows fit so far. */
export async function verifyChain(
  database: DatabaseSync,
  onProgress: (verified: number) => void,
): Promise<ChainVerdict> {
  const page = database.prepare(
    'SELECT offset, key, value, chain FROM auctions WHERE offset >= ? ORDER BY offset LIMIT ?',
  );
  let expected = 0;
  let head = firstLink;
  for (;;) {
    const rows = page.all(expected, pageRows) as { offset: number; key: string; value: string; chain: string }[];
    for (const row of rows) {
      const link = nextLink(head, expected, row.key, row.value);
      if (row.offset !== expected || row.chain !== link) return { kind: 'broken', offset: expected };
      head = link;
      expected += 1;
    }
    onProgress(expected);
    if (rows.length < pageRows) return { kind: 'intact', entries: expected, head };
    await turn();
  }
}
