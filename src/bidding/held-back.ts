/**
 * What a set in the folder would take away at one stroke: caps, or every rule of a file. An interrupted copy of the folder looks like that,
 * and passes its own tests: a person has to say that it is meant.
 */
import { openRuleSet, type RuleSet } from '../rules/rule-set.ts';
import type { RuleBookEntry } from './ports.ts';
import { isApproved, mayFollow, rollbackFrom } from './rule-book.ts';

/** `hash`: of the set in the folder. */
export type HeldBack = {
  hash: string;
  /** All the caps of the set that is followed, where none is left; 0: caps are left, or there were none. */
  caps: number;
  /** The caps of the set that is followed which are not in the folder. Absent: an earlier version says it. */
  capNames?: readonly string[] | undefined;
  /** Of the set that is followed, and of the one in the folder. */
  rules: number;
  left: number;
  /** Of the set that is followed: those whose rules are all gone. */
  files: readonly string[];
};

type Rules = Pick<RuleSet, 'hash' | 'rules' | 'caps'>;

function rulesByFile({ rules }: Rules): Map<string, string[]> {
  const files = Map.groupBy(rules, ({ file }) => file);
  return new Map([...files].map(([file, ofFile]) => [file, ofFile.map(({ name }) => name)]));
}

/**
 * Files whose rules are all gone, by their names. A file that has as many rules as before, under other names, was edited; rules that moved to
 * another file are not gone.
 */
function lostFiles(live: Rules, next: Rules): string[] {
  const names = new Set(next.rules.map(({ name }) => name));
  const nextFiles = rulesByFile(next);
  const lost = [...rulesByFile(live)].filter(
    ([file, rules]) => (nextFiles.get(file)?.length ?? 0) < rules.length && !rules.some((name) => names.has(name)),
  );
  return lost.map(([file]) => file).sort();
}

/** Files that have no rule any more, where most of the rules are gone with them, some of them to other files perhaps. */
function guttedFiles(live: Rules, next: Rules): string[] {
  if (next.rules.length * 2 >= live.rules.length) return [];
  const nextFiles = rulesByFile(next);
  return [...rulesByFile(live).keys()].filter((file) => !nextFiles.has(file));
}

/** What following `next` instead of `live` would take away; null: nothing that a person would have to say. */
export function takenAwayBy(live: Rules, next: Rules): HeldBack | null {
  const capNames = live.caps.filter((name) => !next.caps.includes(name)).sort();
  const files = [...new Set([...lostFiles(live, next), ...guttedFiles(live, next)])].sort();
  if (capNames.length === 0 && files.length === 0) return null;
  const caps = next.caps.length === 0 ? live.caps.length : 0;
  return { hash: next.hash, caps, capNames, rules: live.rules.length, left: next.rules.length, files };
}

/** Persons decide on the set anyway: two have approved it, or have to, or somebody went back from it. */
export function isForPersons(entries: readonly RuleBookEntry[], approval: boolean, hash: string): boolean {
  return isApproved(entries, hash) || !mayFollow(entries, hash, approval) || rollbackFrom(entries, hash) !== null;
}

/** A set that has passed its check, opened without it; null: it is not there, or this program cannot read it. */
export function openChecked(source: string | null): RuleSet | null {
  const opened = source === null ? null : openRuleSet(source, true);
  return opened?.kind === 'compiled' ? opened.ruleSet : null;
}
