/**
 * The would-be bids that were decided before this process took the partition over, found in its rows: so that a cap without room is told
 * from the start on, and not only once a request has met it.
 */
import type { Claimed, Passed } from '../domain/records.ts';
import type { RequestState } from '../domain/states.ts';
import { cursorOf, type EventLog, type Views } from './ports.ts';

/** A claim, of which nothing but its time is kept, or a pass by a cap with its record. */
export type EarlierBid = Pick<Claimed, 'kind' | 'requestId' | 'at'> | Passed;

/** Requests that are looked through: most of them may have ended by a rule, and are no would-be bids. */
const pageRows = 200;
const mostPages = 10;

/** The latest would-be bids, at most `most`, the latest first. */
export async function findEarlierBids(
  { views, log }: { views: Pick<Views, 'query'>; log: Pick<EventLog, 'readKey'> },
  most: number,
): Promise<EarlierBid[]> {
  const found: EarlierBid[] = [];
  let before: string | null = null;
  for (let page = 0; page < mostPages && found.length < most; page += 1) {
    const rows = await views.query({ phase: null, limit: pageRows, before });
    const states = rows.map(({ state }) => state);
    const wouldBe = states.filter(isWouldBe).slice(0, most - found.length);
    const records = await Promise.all(wouldBe.map((state) => recordOf(log, state)));
    found.push(...records.flatMap((record) => record ?? []));
    if (rows.length < pageRows) break;
    before = cursorOf(states.at(-1)!);
  }
  return found;
}

function isWouldBe({ claim, pass }: RequestState): boolean {
  return claim !== null || pass?.code === 'cap';
}

/** Null: the log keeps the record no longer. */
async function recordOf(log: Pick<EventLog, 'readKey'>, state: RequestState): Promise<EarlierBid | null> {
  const { requestId, pass, claim, decidedAt, places } = state;
  if (pass?.code !== 'cap') return claim === null ? null : { kind: 'claimed', requestId, at: decidedAt ?? 0 };
  const records = await log.readKey('auctions', requestId, places);
  const passed = records.map(({ record }) => record).findLast((record) => record.kind === 'passed');
  return passed ?? null;
}
