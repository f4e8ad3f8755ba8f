/** What the entries of the rule book come to: whose a set is, who stands for it, which one was to be followed when. */
import type { Clock } from '../domain/clock.ts';
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
function person(name: string): string {
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

/** Who has put a name to the set, as author or as approver; each once. */
export function peopleFor(entries: Entries, hash: string): string[] {
  const named = [...of(entries, 'proposed', hash), ...of(entries, 'approved', hash)].flatMap(({ by }) => by ?? []);
  return [...new Map(named.map((name) => [person(name), name])).values()];
}

/** Whether two persons stand for the set: its author and another, or, where nobody knows the author, two others. */
export function isApproved(entries: Entries, hash: string): boolean {
  return of(entries, 'approved', hash).length > 0 && peopleFor(entries, hash).length >= 2;
}

type Requirement = {
  needed: boolean;
  /** Who wants it to end. */
  lifting: string[];
  /** The hash of the set that decided when it began. */
  held: string | null;
};

/**
 * Whether two persons have to stand for a set here, whatever the configuration of the process that asks says: once it was
 * required, only two persons end it. An older book says nothing, and nothing is required until a desk whose configuration
 * requires it has written it down.
 */
function requirementIn(entries: Entries): Requirement {
  let state: Requirement = { needed: false, lifting: [], held: null };
  let followed: string | null = null;
  for (const entry of entries) {
    if (entry.kind === 'activated') followed = entry.hash;
    else if (entry.kind === 'approval-required' && !state.needed) state = { needed: true, lifting: [], held: followed };
    else if (entry.kind === 'approval-lift' && state.needed) {
      if (!state.lifting.some((name) => person(name) === person(entry.by))) state.lifting.push(entry.by);
      if (state.lifting.length >= 2) state = { needed: false, lifting: [], held: null };
    }
  }
  return state;
}

export function isApprovalNeeded(entries: Entries): boolean {
  return requirementIn(entries).needed;
}

/** Writes down that approval is needed, where the book does not say so yet. Resolves to what the book holds then. */
export async function requireApproval(
  { ruleBook, clock }: { ruleBook: RuleBook; clock: Clock },
  by: string | null,
): Promise<Entries> {
  const entries = await ruleBook.read();
  if (isApprovalNeeded(entries)) return entries;
  const entry: RuleBookEntry = { kind: 'approval-required', at: clock.now(), by };
  await ruleBook.append(entry);
  return [...entries, entry];
}

/** May the set be followed: nobody has to approve, two persons do, or it decided already when that was asked for first. */
export function mayFollow(entries: Entries, hash: string, approval: boolean): boolean {
  const { needed, held } = requirementIn(entries);
  return !(approval || needed) || isApproved(entries, hash) || held === hash;
}

/** May this person approve: not whoever has stood for it already. */
export function mayApprove(entries: Entries, hash: string, by: string): boolean {
  return !peopleFor(entries, hash).some((name) => person(name) === person(by));
}

/** The sets to follow, one after the other; each change once, whoever announced it. */
export function activations(entries: Entries): Activated[] {
  const all = entries.filter((entry) => entry.kind === 'activated');
  return all.filter((entry, index) => all[index - 1]?.hash !== entry.hash);
}

/** The set that was followed before the last one. */
export function hashBefore(entries: Entries): string | null {
  return activations(entries).at(-2)?.hash ?? null;
}

/** Keeps a set that passed its check, with whose it is and what it changes. */
export async function propose(
  { ruleBook, clock }: { ruleBook: RuleBook; clock: Clock },
  set: { hash: string; source: string; by: string | null },
): Promise<Entries> {
  const entries = await ruleBook.read();
  const named = of(entries, 'proposed', set.hash);
  if (named.some(({ by }) => set.by === null || (by !== null && person(by) === person(set.by)))) return entries;
  const against = activations(entries).at(-1)?.hash ?? null;
  const before = against === null ? null : proposalOf(entries, against);
  const changes = changesBetween(before === null ? null : await ruleBook.source(before.hash), set.source);
  const { hash, source, by } = set;
  const entry: RuleBookEntry = { kind: 'proposed', hash, by, at: clock.now(), against, changes };
  await ruleBook.append({ ...entry, source });
  return [...entries, entry];
}

/**
 * Announces the set on every instance and says so in the book first: what was announced and forgotten by the controls can be
 * announced again. Resolves to the revision of the controls and when the set begins.
 */
export async function announce(
  { ruleBook, control, clock }: { ruleBook: RuleBook; control: Control; clock: Clock },
  { hash, by, aheadMs }: { hash: string; by: string | null; aheadMs: number },
): Promise<{ revision: number; liveAt: number }> {
  await ruleBook.append({ kind: 'activated', hash, at: clock.now(), by });
  const liveAt = clock.now() + aheadMs;
  return { revision: await control.announceRules({ hash, liveAt }), liveAt };
}
