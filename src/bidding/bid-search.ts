/** Search among bids: the views give pages by time and state; what else is asked for is looked for in them, in bounds. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EpochMs } from '../domain/glossary.ts';
import type { RequestState } from '../domain/states.ts';
import { listedBid } from './bid-list.ts';
import { cursorOf, type Views } from './ports.ts';

/** What is left out does not matter. */
export type BidSearch = {
  state?: string | undefined;
  /** Code of a pass or of a rejection. */
  code?: string | undefined;
  /** Names of one batch: its code, its pseudonym. */
  batchIds?: readonly string[] | undefined;
  /** Key of a segment; finds the requests of the segments below it as well. */
  segment?: string | undefined;
  /** Pseudonym of the worker. */
  workerKey?: string | undefined;
  /** Time of decision, else of receipt, else of the result. Both are inclusive. */
  since?: EpochMs | undefined;
  until?: EpochMs | undefined;
};

/** Rows looked at for one page: a page may come back short, and `next` goes on behind the last row looked at. */
const scannedRows = 2_000;
const rowsAtOnce = 200;

/** Latest first. `limit` is at most 200. `next`: cursor of the page after; null where nothing is left to look at. */
export async function searchBids(
  views: Pick<Views, 'query'>,
  search: BidSearch,
  { limit, before }: { limit: number; before: string | null },
): Promise<{ found: RequestState[]; next: string | null }> {
  const { state: phase = null, code, batchIds, segment, workerKey, since = 0, until } = search;
  const found: RequestState[] = [];
  const looksInside = code !== undefined || batchIds !== undefined || segment !== undefined || workerKey !== undefined;
  const size = looksInside ? rowsAtOnce : limit;
  let cursor = until === undefined ? before : earlier(before, cursorAfter(until));
  for (let scanned = 0; scanned < scannedRows; scanned += size) {
    const rows = await views.query({ phase, limit: size, before: cursor });
    for (const { state } of rows) {
      cursor = cursorOf(state);
      if (cursor < cursorAfter(since - 1)) return { found, next: null };
      if (code !== undefined && listedBid(state).code !== code) continue;
      if (batchIds !== undefined && !batchIds.includes(state.batchId ?? '')) continue;
      if (workerKey !== undefined && state.request?.workerKey !== workerKey) continue;
      if (segment !== undefined && !state.segmentKeys.includes(segment)) continue;
      found.push(state);
      if (found.length === limit) return { found, next: cursor };
    }
    if (rows.length < size) return { found, next: null };
    await nextTurn();
  }
  return { found, next: cursor };
}

/** All that are found, latest first, page by page. */
export async function* eachBid(views: Pick<Views, 'query'>, search: BidSearch): AsyncGenerator<RequestState> {
  let before: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof searchBids>> = await searchBids(views, search, { limit: rowsAtOnce, before });
    yield* page.found;
    before = page.next;
  } while (before !== null);
}

/** Every row of `time` or before lies before it, and none of later. */
function cursorAfter(time: number): string {
  return String(time + 1).padStart(15, '0');
}

function earlier(one: string | null, other: string): string {
  return one === null || other < one ? other : one;
}
