/**
 * What a set in the folder would take away at one stroke: every cap, or whole files and most of the rules with them. An interrupted copy
 * of the folder looks like that, and passes its own tests: somebody has to say that it is meant.
 */
import { openRuleSet, type RuleSet } from '../rules/rule-set.ts';
import type { RuleBookEntry } from './ports.ts';
import { isApproved, mayFollow, rollbackIn } from './rule-book.ts';

/** `hash`: of the set in the folder. */
export type HeldBack = {
  hash: string;
  /** All the caps of the set that is followed, where none is left; 0: caps are left, or there were none. */
  caps: number;
  /** Of the set that is followed, and of the one in the folder. */
  rules: number;
  left: number;
  /** With rules before, with none now. */
  files: readonly string[];
};

type Rules = Pick<RuleSet, 'hash' | 'rules'>;

function capsIn({ rules }: Rules): number {
  return rules.filter(({ event }) => event === 'cap').length;
}

function filesIn({ rules }: Rules): Set<string> {
  return new Set(rules.map(({ file }) => file));
}

/** Null: nothing that somebody would have to say, or persons decide anyway: who approves it, or who went back from it. */
export function heldBackIn(
  entries: readonly RuleBookEntry[],
  approval: boolean,
  live: Rules,
  next: Rules,
): HeldBack | null {
  const { hash } = next;
  if (isApproved(entries, hash) || !mayFollow(entries, hash, approval) || rollbackIn(entries)?.from === hash)
    return null;
  const caps = capsIn(next) === 0 ? capsIn(live) : 0;
  const files = [...filesIn(live).difference(filesIn(next))].sort();
  const [rules, left] = [live.rules.length, next.rules.length];
  const isGutted = files.length > 0 && left * 2 < rules;
  return caps > 0 || isGutted ? { hash, caps, rules, left, files } : null;
}

/** A set that has passed its check, opened without it; null: it is not there, or this program cannot read it. */
export function openChecked(source: string | null): RuleSet | null {
  const opened = source === null ? null : openRuleSet(source, true);
  return opened?.kind === 'compiled' ? opened.ruleSet : null;
}
