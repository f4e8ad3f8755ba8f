/**
 * Readings of personal data that are of no single request or flow, as entries of the book of orders, so that they are listed with
 * who ordered what. What is read of one request or flow is a record of that one.
 */
import type { NewEntry, RuleBook, RuleBookEntry } from '../bidding/ports.ts';
import { type Clock, dayOf } from '../domain/clock.ts';
import type { Day } from '../domain/glossary.ts';
import type { DailyReading } from '../domain/records.ts';
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

export type PersonalReads = {
  /** Before anything is shown. Rejects with `log-unavailable`. `linkKey` null: not of one link. */
  note: (who: Identity, what: DailyReading, worker: { workerKey: string; linkKey: string | null }) => Promise<void>;
};

/**
 * Programs may name workers by CPF thousands of times a day, and the book of orders is held in memory. So each reading is a record in
 * `callbacks`, under the worker's pseudonym, and the book has one entry a day for each identity and kind of reading.
 */
export function createPersonalReads({
  append,
  ruleBook,
  clock,
}: {
  append: (entries: readonly NewEntry[]) => Promise<void>;
  ruleBook: Pick<RuleBook, 'read' | 'append'>;
  clock: Pick<Clock, 'now'>;
}): PersonalReads {
  let day: Day = '';
  /** Identities and readings that have an entry of the day, or are being given one. */
  const listed = new Map<string, Promise<void>>();

  function list(who: Identity, what: DailyReading): Promise<void> {
    const today = dayOf(clock.now());
    if (today !== day) listed.clear();
    day = today;
    const name = `${what} ${who.via} ${who.by}`;
    const known = listed.get(name);
    if (known !== undefined) return known;
    const done = listOnce(who, what, today).catch((fault: unknown) => {
      if (listed.get(name) === done) listed.delete(name);
      throw fault;
    });
    listed.set(name, done);
    return done;
  }

  /** A process that was started again finds its entry; of two processes each may write one. */
  async function listOnce(who: Identity, what: DailyReading, today: Day): Promise<void> {
    const isListed = (await ruleBook.read()).some(
      (entry) =>
        entry.kind === 'personal-read' &&
        entry.what === what &&
        entry.by === who.by &&
        entry.via === who.via &&
        dayOf(entry.at) === today,
    );
    if (!isListed) await notePersonalRead({ ruleBook, clock }, who, { what });
  }

  return {
    note: async (who, what, worker) => {
      const record = { kind: 'personal-read', at: clock.now(), requestCode: null, ...who, what, ...worker } as const;
      await Promise.all([append([{ topic: 'callbacks', key: worker.workerKey, record }]), list(who, what)]);
    },
  };
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
