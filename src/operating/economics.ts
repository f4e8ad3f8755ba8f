/**
 * Economics of the settings, which a process reads at its start: which ones decide, and who stands for a change. While two persons have to,
 * a process whose settings say otherwise decides on by what was used before. The same for API and command line.
 */
import type { RuleBook, RuleBookEntry } from '../bidding/ports.ts';
import { isApprovalNeeded, isKnown, person } from '../bidding/rule-book.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { Via } from '../domain/roles.ts';
import { type ValueDifference, valuesBetween } from '../rules/set-differences.ts';
import type { SetUnknown, Signed } from './rule-orders.ts';

type Entries = readonly RuleBookEntry[];
export type EconomicsParts = { ruleBook: Pick<RuleBook, 'read' | 'append'>; clock: Pick<Clock, 'now'> };
type Kept = Extract<RuleBookEntry, { source: string }>;
export type KeptEconomics = { hash: string; source: string };

/** Fewer characters of a hash could be those of several before long. */
const leastHash = 6;

function kept(entries: Entries, kind: Kept['kind']): Kept[] {
  return entries.filter((entry): entry is Kept => entry.kind === kind);
}

function usedIn(entries: Entries): Kept | null {
  return kept(entries, 'economics-used').at(-1) ?? null;
}

function approvalsOf(entries: Entries, hash: string) {
  return entries.filter(
    (entry) => entry.kind === 'economics-approved' && entry.hash === hash && isKnown(entry),
  ) as Extract<RuleBookEntry, { kind: 'economics-approved' }>[];
}

/** A process found them in its settings, so nobody is their author: two persons approve. */
function isApproved(entries: Entries, hash: string): boolean {
  return new Set(approvalsOf(entries, hash).map(({ by }) => person(by))).size >= 2;
}

/**
 * What a process decides by that starts with `own`. `awaited`: it has to decide by others, which were used before, for two persons do not
 * stand for its own. `isSame`: whether a source that was kept says the same as `own`, whatever version kept it. What is new is written down.
 */
export async function settleEconomics(
  { ruleBook, clock }: EconomicsParts,
  own: KeptEconomics,
  isSame: (source: string) => boolean,
): Promise<{ kind: 'own' } | { kind: 'awaited'; used: KeptEconomics }> {
  const entries = await ruleBook.read();
  const used = usedIn(entries);
  const at = clock.now();
  const mayDecide =
    used === null || isSame(used.source) || !isApprovalNeeded(entries, 'economics') || isApproved(entries, own.hash);
  if (mayDecide) {
    if (used?.hash !== own.hash) await ruleBook.append({ kind: 'economics-used', ...own, at, by: null });
    return { kind: 'own' };
  }
  const isProposed = waitingIn(entries).some(({ hash }) => hash === own.hash);
  if (!isProposed) await ruleBook.append({ kind: 'economics-proposed', ...own, at, by: null });
  return { kind: 'awaited', used: { hash: used.hash, source: used.source } };
}

type Signature = { by: string; via: Via | null; at: EpochMs };

export type EconomicsStanding = {
  /** Of those that a process decided by last; null: none has said so yet. */
  used: string | null;
  approvalNeeded: boolean;
  /** In the settings of a process and not used since, the latest first. `approved`: two persons stand for them; they are used from a restart on. */
  waiting: readonly {
    hash: string;
    at: EpochMs;
    approved: boolean;
    approvals: readonly Signature[];
    differences: readonly ValueDifference[];
  }[];
};

/** Proposed after what is used now was first used. */
function waitingIn(entries: Entries): Kept[] {
  const used = usedIn(entries);
  const after = used === null ? entries : entries.slice(entries.indexOf(used) + 1);
  return kept(after, 'economics-proposed').reverse();
}

export async function economicsStanding({ ruleBook }: Pick<EconomicsParts, 'ruleBook'>): Promise<EconomicsStanding> {
  const entries = await ruleBook.read();
  const used = usedIn(entries);
  return {
    used: used?.hash ?? null,
    approvalNeeded: isApprovalNeeded(entries, 'economics'),
    waiting: waitingIn(entries).map(({ hash, at, source }) => ({
      ...{ hash, at, approved: isApproved(entries, hash) },
      approvals: approvalsOf(entries, hash).map((entry) => ({ by: entry.by, via: entry.via ?? null, at: entry.at })),
      differences: used === null ? [] : valuesBetween(used.source, source),
    })),
  };
}

export type EconomicsOutcome =
  | { kind: 'economics-approved'; hash: string }
  | { kind: 'one-more'; hash: string }
  | SetUnknown
  | { kind: 'same-person'; hash: string; people: readonly string[] }
  /** A name that was typed says nothing of who typed it. */
  | { kind: 'identity-needed' };

/** `word`: the beginning of the hash of economics that wait. */
export async function approveEconomics(
  { ruleBook, clock }: EconomicsParts,
  who: Signed,
  word: string,
): Promise<EconomicsOutcome> {
  const entries = await ruleBook.read();
  const found = waitingIn(entries).filter(
    ({ hash }) => word.length >= leastHash && hash.startsWith(word.toLowerCase()),
  );
  if (found.length === 0) return { kind: 'set-unknown' };
  if (found.length > 1) return { kind: 'set-ambiguous', count: found.length };
  if (who.via === 'offline') return { kind: 'identity-needed' };
  const { hash } = found[0]!;
  const people = approvalsOf(entries, hash).map(({ by }) => by);
  if (people.some((name) => person(name) === person(who.by))) return { kind: 'same-person', hash, people };
  await ruleBook.append({ kind: 'economics-approved', hash, at: clock.now(), ...who });
  return isApproved(await ruleBook.read(), hash) ? { kind: 'economics-approved', hash } : { kind: 'one-more', hash };
}
