/** Recorded requests for impact from the end of a desk's log. */
import type { EventLog } from '../bidding/ports.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { AuctionRecord } from '../domain/records.ts';
import type { LoanRequest } from '../domain/request.ts';
import { type RecordedCase, type RecordedEnd, recordedCaseOf } from '../impact/recorded-cases.ts';

const pageEntries = 1_000;
/** A request has some five records; fewer than wanted are found: further back. */
const recordsEach = 8;
const further = 4;

type Whole = (request: LoanRequest, sealed: string | null) => LoanRequest;
type LoggedCase = RecordedCase & { end: RecordedEnd };

/** Requests that came last, by receipt, with all that the log says of them; those that came before what was read are left out. */
export async function readLoggedCases(
  log: Pick<EventLog, 'read' | 'ends'>,
  last: number,
  onEntries: (read: number) => void,
  wholeRequest: Whole,
): Promise<LoggedCase[]> {
  const ends = await log.ends('auctions');
  for (let back = recordsEach * last; ; back *= further) {
    const records = new Map<RequestId, AuctionRecord[]>();
    let whole = true;
    let read = 0;
    for (const [partition, end] of ends) {
      const first = Math.max(0, end - back);
      if (first > 0) whole = false;
      for (let from = first; from < end; ) {
        const page = await log.read('auctions', partition, from, Math.min(pageEntries, end - from));
        if (page.length === 0) break;
        for (const { record } of page) {
          const known = records.get(record.requestId);
          if (known === undefined) records.set(record.requestId, [record]);
          else known.push(record);
        }
        from = page.at(-1)!.offset + 1;
        read += page.length;
        onEntries(read);
      }
    }
    const cases = [...records.values()].flatMap((own) => recordedCaseOf(own) ?? []);
    if (!whole && cases.length < last) continue;
    cases.sort((left, right) => left.request.receivedAt - right.request.receivedAt);
    return cases
      .slice(-last)
      .map((logged) => ({ ...logged, request: wholeRequest(logged.request, logged.end.sealed) }));
  }
}
