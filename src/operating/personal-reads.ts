/**
 * Readings of personal data that are of no single request or flow, as entries of the book of orders, so that they are listed with
 * who ordered what. What is read of one request or flow is a record of that one.
 */
import type { RuleBook, RuleBookEntry } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { Identity } from '../domain/roles.ts';

type Entry = Extract<RuleBookEntry, { kind: 'personal-read' }>;
export type PersonalRead = Pick<Entry, 'what' | 'requests' | 'file' | 'workerKey'>;

/** Before it is shown. Rejects with `log-unavailable`. */
export async function notePersonalRead(
  { ruleBook, clock }: { ruleBook: Pick<RuleBook, 'append'>; clock: Pick<Clock, 'now'> },
  who: Identity,
  read: PersonalRead,
): Promise<void> {
  await ruleBook.append({ kind: 'personal-read', ...read, at: clock.now(), ...who });
}

/** As it is listed: without the worker's pseudonym. */
export type ReadingGiven = Omit<Entry, 'workerKey'> & { reason: null };

export function readingsIn(entries: readonly RuleBookEntry[]): ReadingGiven[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'personal-read') return [];
    const { workerKey: _, ...read } = entry;
    return { ...read, reason: null };
  });
}
