/** Search among bids: the views give pages by time and state, and what else is asked for is looked for in them, in bounds. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { listedBid } from '../../bidding/bid-list.ts';
import { cursorOf, type Views } from '../../bidding/ports.ts';
import type { RequestState } from '../../domain/states.ts';
import type { bidQuery } from './schemas.ts';

/** Rows looked at for one page: a page may come back short, and `next` goes on behind the last row looked at. */
const scannedRows = 2_000;
const rowsAtOnce = 200;

/** `next`: cursor of the page after; null where nothing is left to look at. */
export async function searchBids(
  views: Pick<Views, 'query'>,
  asked: z.infer<typeof bidQuery>,
): Promise<{ found: RequestState[]; next: string | null }> {
  const { state: phase = null, code, batchId, since = 0, until, limit, before = null } = asked;
  const found: RequestState[] = [];
  const searches = code !== undefined || batchId !== undefined;
  const size = searches ? rowsAtOnce : limit;
  let cursor = until === undefined ? before : earlier(before, cursorAfter(until));
  for (let scanned = 0; scanned < scannedRows; scanned += size) {
    const rows = await views.query({ phase, limit: size, before: cursor });
    for (const { state } of rows) {
      cursor = cursorOf(state);
      if (cursor < cursorAfter(since - 1)) return { found, next: null };
      if (code !== undefined && listedBid(state).code !== code) continue;
      if (batchId !== undefined && state.batchId !== batchId) continue;
      found.push(state);
      if (found.length === limit) return { found, next: cursor };
    }
    if (rows.length < size) return { found, next: null };
    await nextTurn();
  }
  return { found, next: cursor };
}

/** Every row of `time` or before lies before it, and none of later. */
function cursorAfter(time: number): string {
  return String(time + 1).padStart(15, '0');
}

function earlier(one: string | null, other: string): string {
  return one === null || other < one ? other : one;
}
