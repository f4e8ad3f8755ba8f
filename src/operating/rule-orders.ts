/**
 * Rule sets proposed, approved, followed and gone back from by people, beside running desks. The same for API and command line, and the
 * only place that says who may.
 */
import type { Control, RuleBook, RuleBookEntry, RuleReport, RuleSetChange, RuleWatch } from '../bidding/ports.ts';
import {
  activations,
  announce,
  announceAheadMs,
  hashBefore,
  isApprovalNeeded,
  isApproved,
  mayApprove,
  mayFollow,
  peopleFor,
  proposalOf,
  propose,
  type Rollback,
  requireApproval,
  rollbackIn,
  standsMs,
} from '../bidding/rule-book.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { ApprovalOf } from '../domain/kept-book.ts';
import type { Identity, Via } from '../domain/roles.ts';
import { splitFiles } from '../domain/set-source.ts';
import {
  type ConditionChange,
  conditionsBetween,
  differencesBetween,
  type SetDifference,
} from '../rules/set-differences.ts';
import { changeControl, type Silent } from './controls.ts';

type Entries = readonly RuleBookEntry[];

/** The author of an order, and the reason if there is one; stored with the history of the set. */
export type Signed = Identity & { comment?: string };

export function signed(who: Identity, comment: string | null): Signed {
  return comment === null ? who : { ...who, comment };
}

export type RuleOrderParts = {
  ruleBook: RuleBook;
  control: Control;
  clock: Clock;
  /** The configuration asks for two persons; the book may ask for them as well. */
  approval: boolean;
  /** Somebody has to have looked at a rollback by then. */
  rollbackReviewMs: number;
};

/** Fewer characters of a hash could be those of several sets before long. */
const leastHash = 6;

export type SetUnknown = { kind: 'set-unknown' } | { kind: 'set-ambiguous'; count: number };

/** The one set in the store whose hash begins like this. */
function hashNamed(entries: Entries, word: string): { kind: 'found'; hash: string } | SetUnknown {
  const known = new Set(entries.filter((entry) => entry.kind === 'proposed').map(({ hash }) => hash));
  const found = word.length < leastHash ? [] : [...known].filter((hash) => hash.startsWith(word.toLowerCase()));
  if (found.length === 0) return { kind: 'set-unknown' };
  return found.length > 1 ? { kind: 'set-ambiguous', count: found.length } : { kind: 'found', hash: found[0]! };
}

async function followedHash(control: Pick<Control, 'read'>): Promise<string | null> {
  return (await control.read()).ruleOrders.at(-1)?.hash ?? null;
}

/** `knownBy`: how many live processes know of it. `reviewBy`: of a rollback. */
export type Followed =
  | {
      kind: 'announced';
      hash: string;
      liveAt: EpochMs;
      knownBy: number;
      late: readonly string[];
      silent?: readonly Silent[] | undefined;
      reviewBy?: EpochMs;
    }
  | { kind: 'followed-already'; hash: string };

/** Announces, and resolves when every live process has heard of it. */
async function follow(
  parts: RuleOrderParts,
  who: Signed,
  hash: string,
  rollback?: { reviewBy: EpochMs; from: string },
): Promise<Followed> {
  if ((await followedHash(parts.control)) === hash) return { kind: 'followed-already', hash };
  let liveAt = 0;
  const { obeyedBy, late, silent } = await changeControl(parts, async () => {
    const order = { hash, who, aheadMs: announceAheadMs, ...(rollback === undefined ? {} : { rollback }) };
    const announced = await announce(parts, order);
    liveAt = announced.liveAt;
    return announced.revision;
  });
  const review = {
    ...(rollback === undefined ? {} : { reviewBy: rollback.reviewBy }),
    ...(silent === undefined ? {} : { silent }),
  };
  return { kind: 'announced', hash, liveAt, knownBy: obeyedBy.length, late, ...review };
}

/** `next`: what makes it the set to follow. `text`: every problem on a line of its own. `compiles`: only its tests are against it. */
export type ProposeOutcome =
  | { kind: 'proposed'; hash: string; changes: readonly RuleSetChange[]; next: 'activate' | 'approve' }
  | { kind: 'rules-refused'; text: string; compiles: boolean };

/** `report`: what the check of all that activation checks said of the set. */
export async function proposeSet(parts: RuleOrderParts, who: Signed, report: RuleReport): Promise<ProposeOutcome> {
  if (report.kind === 'refused')
    return { kind: 'rules-refused', text: report.text, compiles: report.compiles === true };
  const { hash, source } = report;
  const entries = await propose(parts, { hash, source, who });
  const { changes } = proposalOf(entries, hash)!;
  return { kind: 'proposed', hash, changes, next: mayFollow(entries, hash, parts.approval) ? 'activate' : 'approve' };
}

export type ApproveOutcome =
  | Followed
  | SetUnknown
  | { kind: 'one-more'; hash: string }
  /** It was gone back to, and somebody else has looked at it now. */
  | { kind: 'reviewed'; hash: string }
  | { kind: 'same-person'; hash: string; people: readonly string[] }
  /** A name that was typed says nothing of who typed it. */
  | { kind: 'identity-needed' };

export async function approveSet(parts: RuleOrderParts, who: Signed, word: string): Promise<ApproveOutcome> {
  const { ruleBook, clock } = parts;
  const before = await ruleBook.read();
  const named = hashNamed(before, word);
  if (named.kind !== 'found') return named;
  if (who.via === 'offline') return { kind: 'identity-needed' };
  const { hash } = named;
  const rollback = rollbackIn(before);
  const isReview = rollback?.hash === hash && rollback.reviewedBy === null;
  if (!mayApprove(before, hash, who.by)) {
    const people = isReview ? [rollback.by ?? who.by] : peopleFor(before, hash);
    return { kind: 'same-person', hash, people };
  }
  await ruleBook.append({ kind: 'approved', hash, at: clock.now(), ...who });
  if (isReview) return { kind: 'reviewed', hash };
  return isApproved(await ruleBook.read(), hash) ? follow(parts, who, hash) : { kind: 'one-more', hash };
}

export type ActivateOutcome =
  | Followed
  | SetUnknown
  /** Two persons have to stand for it first. */
  | { kind: 'not-approved'; hash: string };

export async function activateSet(parts: RuleOrderParts, who: Signed, word: string): Promise<ActivateOutcome> {
  const entries = await parts.ruleBook.read();
  const named = hashNamed(entries, word);
  if (named.kind !== 'found') return named;
  if (!mayFollow(entries, named.hash, parts.approval)) return { kind: 'not-approved', hash: named.hash };
  return follow(parts, who, named.hash);
}

export type RollBackOutcome = ActivateOutcome | { kind: 'none-before' };

/** `word` null: the set that was followed before the one of now, which takes one person. Another one has to be allowed as ever. */
export async function rollBack(parts: RuleOrderParts, who: Signed, word: string | null): Promise<RollBackOutcome> {
  const entries = await parts.ruleBook.read();
  const before = hashBefore(entries);
  const named = word === null ? null : hashNamed(entries, word);
  if (named !== null && named.kind !== 'found') return named;
  const hash = named === null ? before : named.hash;
  if (hash === null) return { kind: 'none-before' };
  const from = activations(entries).at(-1)?.hash;
  if (hash === before && from !== undefined)
    return follow(parts, who, hash, { reviewBy: parts.clock.now() + parts.rollbackReviewMs, from });
  if (!mayFollow(entries, hash, parts.approval)) return { kind: 'not-approved', hash };
  return follow(parts, who, hash);
}

export type ApprovalOutcome =
  | { kind: 'approval-on' }
  | { kind: 'approval-off' }
  /** Another person has to say the same. */
  | { kind: 'approval-one-more' }
  /** The configuration asks for it all the same. */
  | { kind: 'approval-configured' }
  | { kind: 'identity-needed' };

/**
 * Whether two persons have to stand for a set, a cap by hand that is raised or other economics of the settings, said into the store, so that no process can leave it out of its configuration.
 * One person may ask for it, and takes back by it what was said for its end; it takes two within a day to end it.
 */
export async function setApproval(
  parts: RuleOrderParts,
  who: Signed,
  needed: boolean,
  of?: ApprovalOf,
): Promise<ApprovalOutcome> {
  const { ruleBook, clock } = parts;
  if (needed) {
    await requireApproval(parts, who, of);
    return { kind: 'approval-on' };
  }
  if (!isApprovalNeeded(await ruleBook.read(), of)) return { kind: 'approval-off' };
  if (who.via === 'offline') return { kind: 'identity-needed' };
  const at = clock.now();
  const lift = { kind: 'approval-lift', at, ...who, until: at + standsMs } as const;
  await ruleBook.append({ ...lift, ...(of === undefined ? {} : { of }) });
  if (isApprovalNeeded(await ruleBook.read(), of)) return { kind: 'approval-one-more' };
  return { kind: parts.approval && of === undefined ? 'approval-configured' : 'approval-off' };
}

/** `followed`: it is about the set that is to be followed now. */
type OfSets = Exclude<RuleBookEntry, { kind: 'cap-raise' | 'personal-read' | `economics-${string}` }>;
export type RuleHistoryEntry = OfSets & { followed: boolean };

const ofOthers: ReadonlySet<RuleBookEntry['kind']> = new Set([
  'cap-raise',
  'personal-read',
  'economics-used',
  'economics-proposed',
  'economics-approved',
]);

/** What became of which set, the latest first; without the sets themselves. */
export async function ruleHistory({
  ruleBook,
  control,
}: Pick<RuleOrderParts, 'ruleBook' | 'control'>): Promise<RuleHistoryEntry[]> {
  const entries = await ruleBook.read();
  const [followed, activated] = [await followedHash(control), new Set<RuleBookEntry>(activations(entries))];
  const shown = entries.filter((entry) => entry.kind !== 'activated' || activated.has(entry)).reverse();
  return shown
    .filter((entry): entry is OfSets => !ofOthers.has(entry.kind))
    .map((entry) => ({ ...entry, followed: 'hash' in entry && entry.hash === followed }));
}

type Signature = { by: string | null; via: Via | null; at: EpochMs };

/** `former`: it was followed, and another one is now. `approved`: two persons stand for it. */
export const setStates = ['live', 'former', 'approved', 'proposed'] as const;
type SetState = (typeof setStates)[number];

/** The sets that the store keeps, the latest proposal first, and what holds. */
export type RuleStanding = {
  /** The set that is to be followed; null: none ever was. */
  live: string | null;
  /** Where a rollback goes; null: nowhere. */
  before: string | null;
  approvalNeeded: boolean;
  rollback: Rollback | null;
  sets: readonly {
    hash: string;
    state: SetState;
    proposed: readonly Signature[];
    approved: readonly Signature[];
    changes: readonly RuleSetChange[];
    mayFollow: boolean;
  }[];
};

export async function ruleStanding({ ruleBook, control, approval }: RuleOrderParts): Promise<RuleStanding> {
  const entries = await ruleBook.read();
  const proposals = entries.filter((entry) => entry.kind === 'proposed');
  const hashes = [...new Set(proposals.map(({ hash }) => hash))].reverse();
  const signed = (kind: 'proposed' | 'approved', hash: string): Signature[] =>
    entries.flatMap((entry) =>
      entry.kind === kind && entry.hash === hash ? [{ by: entry.by, via: entry.via ?? null, at: entry.at }] : [],
    );
  const live = await followedHash(control);
  const followed = new Set(activations(entries).map(({ hash }) => hash));
  const stateOf = (hash: string): SetState => {
    if (hash === live) return 'live';
    if (followed.has(hash)) return 'former';
    return isApproved(entries, hash) ? 'approved' : 'proposed';
  };
  return {
    live,
    before: hashBefore(entries),
    approvalNeeded: approval || isApprovalNeeded(entries),
    rollback: rollbackIn(entries),
    sets: hashes.map((hash) => ({
      hash,
      state: stateOf(hash),
      proposed: signed('proposed', hash),
      approved: signed('approved', hash),
      changes: proposalOf(entries, hash)!.changes,
      mayFollow: mayFollow(entries, hash, approval),
    })),
  };
}

export type KeptSet = { kind: 'found'; hash: string; source: string };

/** `word`: `live`, or the beginning of a kept set's hash. */
export async function keptSet(
  { ruleBook, control }: Pick<RuleOrderParts, 'ruleBook' | 'control'>,
  word: string,
): Promise<KeptSet | SetUnknown> {
  const entries = await ruleBook.read();
  const live = word === 'live' ? await followedHash(control) : null;
  const named = live === null ? hashNamed(entries, word) : ({ kind: 'found', hash: live } as const);
  if (named.kind !== 'found') return named;
  const source = await ruleBook.source(named.hash);
  return source === null ? { kind: 'set-unknown' } : { kind: 'found', hash: named.hash, source };
}

export type JudgeOutcome = { kind: 'judged'; hash: string; report: RuleReport } | SetUnknown;

/** What the check of all that activation checks says now of a kept set, with its tests. `judge`: see `RuleWatch`. */
export async function judgeKept(
  parts: Pick<RuleOrderParts, 'ruleBook' | 'control'>,
  judge: RuleWatch['judge'],
  word: string,
): Promise<JudgeOutcome> {
  const kept = await keptSet(parts, word);
  if (kept.kind !== 'found') return kept;
  const { hash, source } = kept;
  // Rows of a value table stand in the set as the text that they are.
  const files = (splitFiles(source) ?? []).map(({ path, text }) => ({
    path,
    text: text.startsWith('"') ? (JSON.parse(text) as string) : text,
  }));
  return { kind: 'judged', hash, report: await judge(files) };
}

export type DiffOutcome =
  | {
      kind: 'compared';
      before: string;
      after: string;
      differences: SetDifference[];
      /** By `what name`. */
      conditions: ReadonlyMap<string, ConditionChange>;
    }
  | SetUnknown;

export async function diffSets(
  parts: Pick<RuleOrderParts, 'ruleBook' | 'control'>,
  one: string,
  other: string,
): Promise<DiffOutcome> {
  const before = await keptSet(parts, one);
  if (before.kind !== 'found') return before;
  const after = await keptSet(parts, other);
  if (after.kind !== 'found') return after;
  const differences = differencesBetween(before.source, after.source);
  const conditions = conditionsBetween(before.source, after.source);
  return { kind: 'compared', before: before.hash, after: after.hash, differences, conditions };
}
