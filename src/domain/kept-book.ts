/**
 * A rule book over rows that are only ever added to: a table, or a topic. Each file of a set is a row of its own, kept once under
 * its hash, and a set that is proposed names its files. So a rule that changes beside a list of megabytes costs a rule, and what
 * became of the sets is known without reading one of them. Rows of earlier versions hold a set whole, in its entry.
 */
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { Fault } from '../errors.ts';
import type { EpochMs } from './glossary.ts';
import type { Via } from './roles.ts';
import { joinFiles, splitFiles } from './set-source.ts';
import { readStoredRow } from './stored-rows.ts';

export type RuleSetChange = {
  what:
    | 'rule'
    | 'list'
    | 'table'
    | 'codes'
    | 'conditions'
    | 'events'
    | 'bases'
    | 'facts'
    | 'holidays'
    | 'score'
    | 'values'
    | 'source'
    | 'tests';
  name: string;
  change: 'added' | 'removed' | 'changed';
};

/** `by` null: nobody said who; it was found in the folder of rules. `via`: see `Via`; absent where nobody said who, and in older entries. `comment`: why, where somebody said so. */
export type RuleBookEntry =
  /**
   * A set that passed its check; `RuleBook.source` has its text. `changes` are against the set `against`, the one to follow then; null: the
   * first one. `refreshes`: the set that it is but for rows of value tables that may be refreshed; who stands for that one stands for it.
   */
  | {
      kind: 'proposed';
      hash: string;
      at: EpochMs;
      by: string | null;
      via?: Via;
      comment?: string;
      against: string | null;
      changes: readonly RuleSetChange[];
      refreshes?: string;
    }
  | { kind: 'approved'; hash: string; at: EpochMs; by: string; via?: Via; comment?: string }
  /**
   * Announced, or about to be, as the set to follow. `rollback`: somebody went back to a set that was followed before, which takes
   * one person, until somebody else has looked at it: by `reviewBy` at the latest.
   */
  | {
      kind: 'activated';
      hash: string;
      at: EpochMs;
      by: string | null;
      via?: Via;
      comment?: string;
      rollback?: { reviewBy: EpochMs; from: string };
    }
  /**
   * From here on two persons have to stand for what `of` says. `by` null: the configuration of a desk says so. Where they had to already,
   * a person takes back by it what others had said for its end.
   */
  | { kind: 'approval-required'; of?: ApprovalOf; at: EpochMs; by: string | null; via?: Via; comment?: string }
  /** One of the two persons who have to agree that it ends. `until`: so long it waits for the other; absent in older entries, which did not expire. */
  | { kind: 'approval-lift'; of?: ApprovalOf; at: EpochMs; by: string; via?: Via; comment?: string; until?: EpochMs }
  /**
   * Somebody wants a cap by hand raised, or taken away (null), while two persons have to. `completes`: another one had ordered the same,
   * and it was done. `withdraws`: they ordered at once another limit of the cap, so that what they had wanted raised before stands no longer.
   */
  | {
      kind: 'cap-raise';
      name: string;
      limitCents: number | null;
      reason: string | null;
      at: EpochMs;
      by: string;
      via?: Via;
      completes?: true;
      withdraws?: true;
    }
  /**
   * Sections `economics` and `pricing` of the settings, as canonical JSON with their hash. `used`: from here on a process decides by them,
   * where others were used before. `proposed`: a process has them in its settings while two persons have to stand for a change.
   */
  | { kind: 'economics-used' | 'economics-proposed'; hash: string; source: string; at: EpochMs; by: null }
  | { kind: 'economics-approved'; hash: string; at: EpochMs; by: string; via?: Via; comment?: string }
  /**
   * Somebody was about to read personal data of more than one request. `file`: where it was written to. `requests`: of how many;
   * absent where that was not known yet. `workerKey`: pseudonym of the worker who was looked for.
   */
  | {
      kind: 'personal-read';
      what: PersonalReading;
      at: EpochMs;
      by: string;
      via: Via;
      file?: string;
      requests?: number;
      workerKey?: string;
    };

/**
 * `requests-exported`: requests as they came in; `desk-exported`: a whole desk, sealed as it is; `worker-searched`: what there is of a CPF.
 * `margins-queried`: margins of workers named by CPF. Over HTTP these two are said once a day, and each is a record of its own in `callbacks`.
 */
export const personalReadings = ['requests-exported', 'desk-exported', 'worker-searched', 'margins-queried'] as const;
type PersonalReading = (typeof personalReadings)[number];

/** What two persons may have to stand for: a set of rules, where it is not said; a cap by hand that is raised; other economics in the settings. */
export type ApprovalOf = 'caps' | 'economics';

/** `source`: `RuleSet.source` of what is proposed. */
export type NewRuleBookEntry =
  | Exclude<RuleBookEntry, { kind: 'proposed' }>
  | (Extract<RuleBookEntry, { kind: 'proposed' }> & { source: string });

/** What became of rule sets. Kept with the log, so that it lasts as long; `Control` says in time what it comes to. */
export type RuleBook = {
  /** All entries in the order in which they were written. Costs what has been written since the last time. */
  read: () => Promise<readonly RuleBookEntry[]>;
  /** `RuleSet.source` of a set that was proposed; null: none with this hash was. */
  source: (hash: string) => Promise<string | null>;
  /** Durable when it resolves. Rejects with `log-unavailable`. */
  append: (entry: NewRuleBookEntry) => Promise<void>;
};

/** `place`: where it stands among its like; ascending, and anything beside that. */
export type BookRow = { place: number; text: string };

export type BookRows = {
  /** The rows behind `place` in their order; null: all of them. */
  after: (place: number | null) => AsyncIterable<BookRow> | Iterable<BookRow>;
  /** The row at a place that `after` told. */
  at: (place: number) => Promise<string>;
  /** `hash` null: the entry belongs to no set. Durable when it resolves. */
  add: (text: string, hash: string | null) => Promise<void>;
};

type Proposed = Extract<RuleBookEntry, { kind: 'proposed' }>;
type NamedFile = { path: string; hash: string };
type KeptRow =
  | Exclude<RuleBookEntry, { kind: 'proposed' }>
  | (Proposed & ({ source: string } | { files: readonly NamedFile[] }))
  /** `hash`: of `text`, the canonical JSON of a file. */
  | { kind: 'file'; hash: string; text: string };

/** Where the text of a set is: whole in a row of an earlier version, or in its files. */
type Whereabouts = { kind: 'whole'; place: number } | { kind: 'files'; files: readonly NamedFile[] };

/** What is taken in one turn of the event loop: an earlier version kept whole sets in rows, and decisions go on meanwhile. */
const rowsATurn = 64;
const charactersATurn = 65_536;

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

const keptRow = ({ place, text }: BookRow) => readStoredRow<KeptRow>('rule_book', place, text);

export function createKeptBook(rows: BookRows): RuleBook {
  let entries: readonly RuleBookEntry[] = [];
  let last: number | null = null;
  /** The place of each file, by its hash. */
  const files = new Map<string, number>();
  const sets = new Map<string, Whereabouts>();
  let reading: Promise<void> = Promise.resolve();

  function take(row: BookRow): RuleBookEntry | null {
    const kept = keptRow(row);
    if (kept.kind === 'file') {
      if (!files.has(kept.hash)) files.set(kept.hash, row.place);
      return null;
    }
    if (kept.kind !== 'proposed') return kept;
    if ('source' in kept) {
      const { source: _, ...entry } = kept;
      if (!sets.has(entry.hash)) sets.set(entry.hash, { kind: 'whole', place: row.place });
      return entry;
    }
    const { files: named, ...entry } = kept;
    if (!sets.has(entry.hash)) sets.set(entry.hash, { kind: 'files', files: named });
    return entry;
  }

  async function catchUp(): Promise<void> {
    const added: RuleBookEntry[] = [];
    let [taken, characters] = [0, 0];
    try {
      for await (const row of rows.after(last)) {
        const entry = take(row);
        last = row.place;
        if (entry !== null) added.push(entry);
        taken += 1;
        characters += row.text.length;
        if (taken < rowsATurn && characters < charactersATurn) continue;
        [taken, characters] = [0, 0];
        await turn();
      }
    } finally {
      if (added.length > 0) entries = [...entries, ...added];
    }
  }

  /** One after the other, so that no row is taken twice. */
  function read(): Promise<readonly RuleBookEntry[]> {
    const done = reading.then(catchUp);
    reading = done.catch(() => undefined);
    return done.then(() => entries);
  }

  async function rowAt<T extends { kind: string }>(place: number): Promise<T> {
    return readStoredRow<T>('rule_book', place, await rows.at(place));
  }

  async function textOf({ path, hash }: NamedFile): Promise<{ path: string; text: string }> {
    const place = files.get(hash);
    if (place === undefined)
      throw new Fault('log-unavailable', `The rule book lacks the file ${path} of a set (${hash}).`);
    return { path, text: (await rowAt<{ kind: 'file'; text: string }>(place)).text };
  }

  async function source(hash: string): Promise<string | null> {
    await read();
    const found = sets.get(hash);
    if (found === undefined) return null;
    if (found.kind === 'whole') return (await rowAt<{ kind: 'proposed'; source: string }>(found.place)).source;
    const texts = [];
    for (const file of found.files) texts.push(await textOf(file));
    return joinFiles(texts);
  }

  /** Files first: whoever reads the entry finds them. One that another process has just written may stand there twice. */
  async function propose({ source: text, ...entry }: Proposed & { source: string }): Promise<void> {
    await read();
    const split = splitFiles(text);
    if (split === null) return rows.add(JSON.stringify({ ...entry, source: text }), entry.hash);
    const named: NamedFile[] = [];
    const fresh = new Map<string, string>();
    for (const { path, text: own } of split) {
      const hash = hashOf(own);
      named.push({ path, hash });
      if (!files.has(hash)) fresh.set(hash, own);
    }
    for (const [hash, own] of fresh) await rows.add(JSON.stringify({ kind: 'file', hash, text: own }), hash);
    await rows.add(JSON.stringify({ ...entry, files: named }), entry.hash);
  }

  return {
    read,
    source,
    append: async (entry: NewRuleBookEntry) => {
      if (entry.kind === 'proposed') return propose(entry);
      await rows.add(JSON.stringify(entry), 'hash' in entry ? entry.hash : null);
    },
  };
}
