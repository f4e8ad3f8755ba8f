/** Rules put to sleep for a time by people, and woken before it is over. The same for API and command line. */
import { type Snooze, snoozedIn } from '../bidding/ports.ts';
import { isApprovalNeeded } from '../bidding/rule-book.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { nearestWord } from '../domain/nearest-word.ts';
import type { Identity } from '../domain/roles.ts';
import { openRuleSet, type RuleSet } from '../rules/rule-set.ts';
import { type ControlOutcome, ordered } from './controls.ts';
import type { RuleOrderParts } from './rule-orders.ts';

type SnoozeParts = Pick<RuleOrderParts, 'ruleBook' | 'control' | 'clock' | 'approval'>;

/** Longer is no snooze: a set without the rule says the same, and is tested. */
const longestSnoozeMs = 30 * 86_400_000;

export type SnoozeOrder = { rule: string; until: EpochMs; reason: string };

export type SnoozeRefusal =
  /** `nearest`: a name that may be meant. */
  | { kind: 'rule-unknown'; nearest: string | null }
  | { kind: 'until-outside'; latest: EpochMs }
  /** Two persons have to stand for the rules, and so for what is left out of them. */
  | { kind: 'snooze-needs-approval' };

/** The set that decides now; null: none does, or it cannot be read. */
async function decidingSet({ control, ruleBook, clock }: SnoozeParts): Promise<RuleSet | null> {
  const { ruleOrders } = await control.read();
  const order = ruleOrders.findLast(({ liveAt }) => liveAt <= clock.now());
  const source = order === undefined ? null : await ruleBook.source(order.hash);
  const opened = source === null ? null : openRuleSet(source, true);
  return opened?.kind === 'compiled' ? opened.ruleSet : null;
}

/** The rule of the set that decides has no say from now on, until then or until it says something else. */
export async function snoozeRule(
  parts: SnoozeParts,
  who: Identity,
  { rule, until, reason }: SnoozeOrder,
): Promise<ControlOutcome | SnoozeRefusal> {
  const at = parts.clock.now();
  if (until <= at || until > at + longestSnoozeMs) return { kind: 'until-outside', latest: at + longestSnoozeMs };
  if (parts.approval || isApprovalNeeded(await parts.ruleBook.read())) return { kind: 'snooze-needs-approval' };
  const ruleSet = await decidingSet(parts);
  const digest = ruleSet?.digestOf(rule) ?? null;
  if (digest === null) {
    const names = ruleSet?.rules.map(({ name }) => name) ?? [];
    return { kind: 'rule-unknown', nearest: nearestWord(rule, names) };
  }
  return ordered(parts, (control) => control.snoozeRule({ ...who, rule, digest, until, reason, at }));
}

export type WakeRefusal = { kind: 'rule-awake'; asleep: readonly string[] };

export async function resumeRule(
  parts: SnoozeParts,
  who: Identity,
  { rule, reason }: Omit<SnoozeOrder, 'until'>,
): Promise<ControlOutcome | WakeRefusal> {
  const at = parts.clock.now();
  const asleep = (await parts.control.read()).snoozes.filter(({ until }) => at < until);
  if (!asleep.some((snooze) => snooze.rule === rule))
    return { kind: 'rule-awake', asleep: asleep.map((snooze) => snooze.rule) };
  return ordered(parts, (control) => control.resumeRule(rule, { ...who, reason, at }));
}

/** `holds`: false where the set that decides has no such rule, or one that says something else: then it is awake. */
export type ShownSnooze = Omit<Snooze, 'digest'> & { holds: boolean };

export async function shownSnoozes(parts: SnoozeParts): Promise<ShownSnooze[]> {
  const at = parts.clock.now();
  const snoozes = (await parts.control.read()).snoozes.filter(({ until }) => at < until);
  const ruleSet = snoozes.length === 0 ? null : await decidingSet(parts);
  const holding = ruleSet === null ? [] : snoozedIn(snoozes, ruleSet, at);
  return snoozes.map(({ digest, ...snooze }) => ({
    ...snooze,
    holds: holding.some((one) => one.rule === snooze.rule && one.digest === digest),
  }));
}
