/** What the entries of the rule book come to: whose a set is, who stands for it, which one was to be followed when. */
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { ApprovalOf } from '../domain/kept-book.ts';
import type { Identity } from '../domain/roles.ts';
import { isRefresh } from '../rules/refreshes.ts';
import { changesBetween } from '../rules/set-changes.ts';
import type { Control, RuleBook, RuleBookEntry } from './ports.ts';

type Entries = readonly RuleBookEntry[];
type Proposed = Extract<RuleBookEntry, { kind: 'proposed' }>;
type Activated = Extract<RuleBookEntry, { kind: 'activated' }>;

/**
 * A set begins so long after it was announced. Every process that may decide has heard the controls within this time, so all of
 * them know when it begins.
 */
export const announceAheadMs = 2_000;

/** Names are compared as people mean them. */
export function person(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

function of<K extends 'proposed' | 'approved'>(
  entries: Entries,
  kind: K,
  hash: string,
): Extract<RuleBookEntry, { kind: K }>[] {
  return entries.filter(
    (entry): entry is Extract<RuleBookEntry, { kind: K }> => entry.kind === kind && entry.hash === hash,
  );
}

/** The set as it was first proposed; null: nobody ever has. */
export function proposalOf(entries: Entries, hash: string): Proposed | null {
  return of(entries, 'proposed', hash)[0] ?? null;
}

/** Who has put a name to the set, as author or as approver; each once. Also names that were only typed. */
export function peopleFor(entries: Entries, hash: string): string[] {
  return distinct([...of(entries, 'proposed', hash), ...of(entries, 'approved', hash)].flatMap(({ by }) => by ?? []));
}

function distinct(names: readonly string[]): string[] {
  return [...new Map(names.map((name) => [person(name), name])).values()];
}

/** A name that was typed beside the store says nothing of who typed it. Older entries were counted when they were written. */
export function isKnown({ via }: { via?: Identity['via'] }): boolean {
  return via !== 'offline';
}

/** Whether two persons stand for the set: its author and another, or, where nobody knows the author, two others. */
export function isApproved(entries: Entries, hash: string): boolean {
  const approvals = of(entries, 'approved', hash).filter(isKnown);
  const authors = of(entries, 'proposed', hash).filter(isKnown);
  return approvals.length > 0 && distinct([...authors, ...approvals].flatMap(({ by }) => by ?? [])).length >= 2;
}

/** Whoever orders what takes two persons stands for it so long. */
export const standsMs = 86_400_000;

type Requirement = {
  needed: boolean;
  /** Who wants it to end, since when. */
  lifting: readonly { by: string; at: EpochMs }[];
  /** The hash of the set that decided when it began. */
  held: string | null;
};

/**
 * Whether two persons have to stand for a set here, whatever the configuration of the process that asks says: once it was
 * required, only two persons end it. An older book says nothing, and nothing is required until a desk whose configuration
 * requires it has written it down.
 */
function requirementIn(entries: Entries, of?: ApprovalOf): Requirement {
  let state: Requirement = { needed: false, lifting: [], held: null };
  let followed: string | null = null;
  for (const entry of entries) {
    if (entry.kind === 'activated') followed = entry.hash;
    else if ('of' in entry ? entry.of !== of : of !== undefined) continue;
    else if (entry.kind === 'approval-required') {
      if (!state.needed) state = { needed: true, lifting: [], held: followed };
      else if (entry.by !== null) state = { ...state, lifting: [] };
    } else if (entry.kind === 'approval-lift' && state.needed) {
      if (!isKnown(entry)) continue;
      const { by, at, until } = entry;
      const others = state.lifting.filter(
        (other) => person(other.by) !== person(by) && (until === undefined || at - other.at < standsMs),
      );
      const lifting = [...others, { by, at }];
      state = lifting.length >= 2 ? { needed: false, lifting: [], held: null } : { ...state, lifting };
    }
  }
  return state;
}

/** `of` left out: for a set of rules. */
export function isApprovalNeeded(entries: Entries, of?: ApprovalOf): boolean {
  return requirementIn(entries, of).needed;
}

/**
 * Writes down that approval is needed, where the book does not say so yet; a person also where somebody wants it to end, which is taken
 * back by it. Resolves to what the book holds then.
 */
export async function requireApproval(
  { ruleBook, clock }: { ruleBook: RuleBook; clock: Clock },
  who: (Identity & { comment?: string }) | null,
  of?: ApprovalOf,
): Promise<Entries> {
  const entries = await ruleBook.read();
  const { needed, lifting } = requirementIn(entries, of);
  if (needed && (who === null || lifting.length === 0)) return entries;
  const entry: RuleBookEntry = {
    ...{ kind: 'approval-required', at: clock.now(), ...(who ?? { by: null }) },
    ...(of === undefined ? {} : { of }),
  };
  await ruleBook.append(entry);
  return [...entries, entry];
}

/** The set, and those that it only refreshes, one after the other: a table that is refreshed each day makes a long chain of them. */
function refreshedBy(entries: Entries, hash: string): ReadonlySet<string> {
  const bases = Map.groupBy(
    entries.filter((entry) => entry.kind === 'proposed' && entry.refreshes !== undefined) as Proposed[],
    (entry) => entry.hash,
  );
  const found = new Set([hash]);
  for (const one of found) for (const { refreshes } of bases.get(one) ?? []) found.add(refreshes!);
  return found;
}

/**
 * May the set be followed: nobody has to approve, two persons do, it decided already when that was asked for first, or somebody
 * went back to it from the set that was followed after it; or it only refreshes one of which that is true.
 */
export function mayFollow(entries: Entries, hash: string, approval: boolean): boolean {
  const { needed, held } = requirementIn(entries);
  if (!(approval || needed)) return true;
  const backTo = rollbackIn(entries)?.hash;
  const stood = new Set(entries.flatMap((entry) => (entry.kind === 'approved' ? entry.hash : [])));
  for (const one of refreshedBy(entries, hash))
    if (held === one || backTo === one || (stood.has(one) && isApproved(entries, one))) return true;
  return false;
}

/** May this person approve: not whoever has stood for it already. What was gone back to may be looked at by anyone but who did it. */
export function mayApprove(entries: Entries, hash: string, by: string): boolean {
  const rollback = rollbackIn(entries);
  if (rollback?.hash === hash && rollback.reviewedBy === null) return isOther(by, rollback.by);
  return !peopleFor(entries, hash).some((name) => person(name) === person(by));
}

/** The sets to follow, one after the other; each change once, whoever announced it. */
export function activations(entries: Entries): Activated[] {
  const all = entries.filter((entry) => entry.kind === 'activated');
  return all.filter((entry, index) => all[index - 1]?.hash !== entry.hash);
}

/** The sets that were followed one after the other, without those that somebody went back from. */
function standing(entries: Entries): Activated[] {
  const stack: Activated[] = [];
  for (const entry of activations(entries)) {
    const at = entry.rollback === undefined ? -1 : stack.findLastIndex(({ hash }) => hash === entry.hash);
    if (at >= 0) stack.length = at;
    stack.push(entry);
  }
  return stack;
}

/** The set that was followed before the last one: where a rollback goes. After a rollback the one before that. */
export function hashBefore(entries: Entries): string | null {
  return standing(entries).at(-2)?.hash ?? null;
}

export type Rollback = {
  hash: string;
  /** The set that was followed until then. */
  from: string;
  at: EpochMs;
  by: string | null;
  /** Somebody else has to have looked at it by then. */
  reviewBy: EpochMs;
  /** Who has, and when; null: nobody yet. */
  reviewedBy: string | null;
  reviewedAt: EpochMs | null;
};

/**
 * The rollback that holds; null: the last set was followed otherwise. One person may go back to the set that was followed before, and
 * nowhere else: what only calls itself a rollback is none.
 */
export function rollbackIn(entries: Entries): Rollback | null {
  const last = activations(entries).at(-1);
  if (last?.rollback === undefined) return null;
  const place = entries.indexOf(last);
  if (hashBefore(entries.slice(0, place)) !== last.hash) return null;
  const { hash, at, by, rollback } = last;
  const review = entries
    .slice(place)
    .filter((entry) => entry.kind === 'approved')
    .find((entry) => entry.hash === hash && isKnown(entry) && isOther(entry.by, by));
  return { hash, at, by, ...rollback, reviewedBy: review?.by ?? null, reviewedAt: review?.at ?? null };
}

/** How somebody went back from the set, where nobody has had it followed since; null: nobody did. It is not followed by itself then. */
export function rollbackFrom(entries: Entries, hash: string): Activated | null {
  const last = activations(entries).findLast((entry) => entry.hash === hash || entry.rollback?.from === hash);
  return last?.rollback?.from === hash ? last : null;
}

function isOther(name: string, by: string | null): boolean {
  return by === null || person(name) !== person(by);
}

/** Keeps a set that passed its check, with whose it is and what it changes. */
export async function propose(
  { ruleBook, clock }: { ruleBook: RuleBook; clock: Clock },
  { hash, source, who }: { hash: string; source: string; who: (Identity & { comment?: string }) | null },
): Promise<Entries> {
  const entries = await ruleBook.read();
  const named = of(entries, 'proposed', hash);
  const isSame = ({ by, via }: Proposed) =>
    by !== null && person(by) === person(who!.by) && (via !== 'offline' || who!.via === 'offline');
  const against = activations(entries).at(-1)?.hash ?? null;
  const isKnownAs = (refreshes: string | null) =>
    named.some((entry) => (who === null || isSame(entry)) && (refreshes === null || entry.refreshes === refreshes));
  if (isKnownAs(against)) return entries;
  const before = against === null ? null : await ruleBook.source(against);
  const refreshes = before !== null && isRefresh(before, source) ? against : null;
  if (isKnownAs(refreshes)) return entries;
  const entry: RuleBookEntry = {
    ...{ kind: 'proposed', hash, at: clock.now(), ...(who ?? { by: null }), against },
    ...{ changes: changesBetween(before, source), ...(refreshes === null ? {} : { refreshes }) },
  };
  await ruleBook.append({ ...entry, source });
  return [...entries, entry];
}

/**
 * Announces the set on every instance and says so in the book first: what was announced and forgotten by the controls can be
 * announced again. Resolves to the revision of the controls and when the set begins.
 */
export async function announce(
  { ruleBook, control, clock }: { ruleBook: RuleBook; control: Control; clock: Clock },
  {
    hash,
    who,
    aheadMs,
    rollback,
  }: { hash: string; who: (Identity & { comment?: string }) | null; aheadMs: number; rollback?: Activated['rollback'] },
): Promise<{ revision: number; liveAt: number }> {
  await ruleBook.append({
    ...{ kind: 'activated', hash, at: clock.now(), ...(who ?? { by: null }) },
    ...(rollback === undefined ? {} : { rollback }),
  });
  const liveAt = clock.now() + aheadMs;
  return { revision: await control.announceRules({ hash, liveAt }), liveAt };
}
