/** What kept a request from its end, told with it: attempts that came to nothing, and what was waited for. Pure. */
import type { EpochMs } from '../domain/glossary.ts';
import type { Answered, AuctionRecord, Hindrance, Passed } from '../domain/records.ts';

/** A record stays short however long the service was away: of more, the middle is left out. */
const most = 16;

/** The list with one more: joined with the last of the same, else at its end. Changes the list. */
export function noteHindrance(list: Hindrance[], next: Hindrance): void {
  const last = list.at(-1);
  if (last?.kind === next.kind && last.cause === next.cause) {
    list[list.length - 1] = { ...last, count: last.count + next.count, until: Math.max(last.until, next.until) };
    return;
  }
  list.push(next);
  if (list.length > most) list.splice(most / 2, 1);
}

/** The record with these as well, by time; as it is where there is none. */
export function hindered<R extends Passed | Answered>(record: R, more: readonly Hindrance[]): R {
  if (more.length === 0) return record;
  const all = [...(record.hindrances ?? []), ...more].sort((one, other) => one.from - other.from);
  if (all.length > most) all.splice(most / 2, all.length - most);
  return { ...record, hindrances: all };
}

/** Of the whole history, by time; with the answers that refused the bid. What several records tell of one wait is told once. */
export function hindrancesIn(history: readonly AuctionRecord[]): readonly Hindrance[] {
  const found = history.flatMap((record): readonly Hindrance[] => {
    if (record.kind !== 'passed' && record.kind !== 'answered') return [];
    const told = record.hindrances ?? [];
    if (record.kind === 'passed' || record.response === null || record.response.status < 400) return told;
    const { response, firstByteAt, at } = record;
    return [...told, refusal(`status-${response.status}`, firstByteAt ?? at, at)];
  });
  return withoutOverlaps(found.sort((one, other) => one.from - other.from));
}

/** Two records of one request each tell all that it has waited for until then. */
function withoutOverlaps(sorted: readonly Hindrance[]): readonly Hindrance[] {
  const told: Hindrance[] = [];
  for (const next of sorted) {
    const place = told.findLastIndex(({ kind, cause }) => kind === 'wait' && cause === next.cause);
    const earlier = told[place];
    if (next.kind !== 'wait' || earlier === undefined || earlier.until <= next.from) told.push(next);
    else told[place] = { ...earlier, until: Math.max(earlier.until, next.until) };
  }
  return told;
}

function refusal(cause: string, from: EpochMs, until: EpochMs): Hindrance {
  return { kind: 'attempt', cause, count: 1, from, until };
}
