/** Rules in words, each condition with the value it saw: for `lance rules explain` and a decision's page. */

import { refusingLimits } from '../bidding/limiting-rules.ts';
import { Fault } from '../errors.ts';
import {
  accountRules,
  type ConditionAccount,
  nearestClear,
  type RuleAccount,
  type SeenFact,
} from '../rules/account.ts';
import { evaluateOffer, evaluateRequest } from '../rules/evaluate.ts';
import { type Facts, type FactValue, lackedByCaps } from '../rules/facts.ts';
import { linesOf, parseJson } from '../rules/json.ts';
import { isObject, type RuleFault, refuseGrouped, within } from '../rules/place.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { factMaps, readAt, readFacts } from '../rules/test-file.ts';
import { changeWithoutPersonal, withoutPersonal } from './bid-report.ts';
import type { Format } from './format.ts';
import { limitText } from './limit-text.ts';
import { readNamed } from './named-file.ts';
import { faultLine, requireRules } from './rules-files.ts';
import { factsOfRequest } from './rules-try.ts';
import type { CommandWorld } from './world.ts';

const marks = { true: '✓', false: '✗', unknown: '?' } as const;
const longestValue = 60;

function valueText(value: FactValue | null | readonly (string | number | boolean)[], format: Format): string {
  if (value === null) return format.texts.rules.absent;
  const text = JSON.stringify(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

function conditionLines(account: ConditionAccount, format: Format, indent: string): string[] {
  const { rules } = format.texts;
  const mark = marks[account.truth];
  if (account.kind === 'comparison') {
    const { fact, operator, value, valueFact, seen } = account;
    const right = valueFact === null ? valueText(value, format) : `${valueFact} = ${valueText(value, format)}`;
    const made = madeOfLines(account.from, format, `${indent}    `);
    return [`${indent}${mark} ${fact} ${operator} ${right}  ${rules.saw(valueText(seen, format))}`, ...made];
  }
  const group = account.count === undefined ? rules.groups[account.kind] : rules.atLeast(account.count);
  const name = account.name === null ? group : `"${account.name}"`;
  const inner = account.parts.flatMap((part) => conditionLines(part, format, `${indent}  `));
  return [`${indent}${mark} ${name}`, ...inner];
}

/** What a computed fact is made of, one to a line; of a scorecard with the bin and its points. */
function madeOfLines(from: readonly SeenFact[] | undefined, format: Format, indent: string): string[] {
  return (from ?? []).map(({ fact, seen, bin, points }) => {
    const line = `${indent}${fact} = ${valueText(seen, format)}`;
    if (points === undefined) return line;
    return `${line}  [${bin ?? '?'}: ${points === null ? '?' : points > 0 ? `+${points}` : points}]`;
  });
}

/** The rule's own line, then its conditions, then the facts that tell its values. */
export function ruleLines(account: RuleAccount, format: Format): string[] {
  const { events, rules } = format.texts;
  const valid = account.valid ? '' : ` ${rules.notValid}`;
  const asleep = account.snoozed === true ? ` ${rules.snoozed}` : '';
  const head = `${marks[account.truth]} ${account.name} [${events[account.event]}]${valid}${asleep}`;
  const values = (account.values ?? []).flatMap(({ fact, seen, from }) => [
    `    = ${fact}  ${rules.saw(valueText(seen, format))}`,
    ...madeOfLines(from, format, '        '),
  ]);
  return [head, ...conditionLines(account.condition, format, '    '), ...values];
}

function centsOf(reais: FactValue | undefined): number | null {
  return typeof reais === 'number' ? Math.round(reais * 100) : null;
}

/** Amount and term of the request as the facts tell them. */
function askedOf(facts: Facts): { requestedAmountCents: number | null; requestedInstallments: number | null } {
  const term = facts['request.installments'];
  return {
    requestedAmountCents: centsOf(facts['request.amountReais']),
    requestedInstallments: typeof term === 'number' ? term : null,
  };
}

/** A request's id in place of a file is told where ids go. */
function readFactsText(world: CommandWorld, path: string): string {
  const { rules } = world.format.texts;
  try {
    return readNamed(world, path, rules.help.facts);
  } catch (fault) {
    if (fault instanceof Fault && /^\d{1,40}$/.test(path)) throw new Fault('not-found', rules.explainId(path), fault);
    throw fault;
  }
}

function readFactsFile(
  world: CommandWorld,
  path: string,
  ruleSet: RuleSet,
): ReturnType<typeof factMaps> & { at: number } {
  const text = readFactsText(world, path);
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed')
    throw new Fault('rules-refused', `${path}: ${world.format.texts.rules.fault(parsed.text)}`);
  const faults: RuleFault[] = [];
  const place = { file: path, pointer: '', faults };
  const { value } = parsed;
  refuseGrouped(place, text);
  const now = world.clock.now();
  // The facts alone, or beside the time that they were seen at, as in a test.
  const isWrapped = isObject(value) && 'facts' in value;
  const draft = isWrapped ? readFacts(within(place, 'facts'), value.facts!, ruleSet) : readFacts(place, value, ruleSet);
  const at = isWrapped ? readAt(place, value, now) : now;
  if (faults.length > 0) {
    const lines = linesOf(
      text,
      faults.map((fault) => fault.pointer),
    );
    const told = faults.map((fault) => `  ${faultLine(world, { ...fault, line: lines.get(fault.pointer) ?? null })}`);
    throw new Fault('rules-refused', told.join('\n'));
  }
  const { facts, offerFacts } = factMaps(draft);
  // As in a test: the key of a cap is unknown only where a fact of it is taken away.
  const removed = [...draft].flatMap(([fact, told]) => (told === null ? [fact] : []));
  return { facts: { ...facts, [lackedByCaps]: removed }, offerFacts, at };
}

/**
 * `lance rules explain FACTS.json | --request ID`: every rule of the folder on these facts, now or at the time they name, or on what was
 * known when that request was decided; and what would let them through.
 */
export async function explainRules(
  world: CommandWorld,
  directory: string,
  { path, requestId, json }: { path: string | undefined; requestId: string | undefined; json: boolean },
): Promise<void> {
  const { terminal, format } = world;
  const { rules } = format.texts;
  const ruleSet = requireRules(world, directory);
  const asked = path === undefined ? await factsOfRequest(world, requestId!) : readFactsFile(world, path, ruleSet);
  const { facts, at } = asked;
  const offer = asked.offerFacts !== null && Object.keys(asked.offerFacts).length > 0 ? asked.offerFacts : null;
  const told = accountRules(ruleSet, facts, offer, at);
  // Of a file the reader has written all; of a request nobody is told more than `bids show` tells.
  const accounts = requestId === undefined ? told : told.map((account) => withoutPersonal(account, facts));
  const verdict = evaluateRequest(ruleSet, facts, at);
  const onOffer = offer === null ? null : evaluateOffer(ruleSet, facts, offer, at);
  const passes = [...verdict.passes, ...(onOffer?.passes ?? [])];
  const nearest = nearestClear(ruleSet, facts, offer, at).map((change) =>
    requestId === undefined ? change : changeWithoutPersonal(change, facts),
  );
  const refusing =
    passes.length > 0 ? [] : refusingLimits(verdict, askedOf(facts), centsOf(facts['margin.availableReais']));
  if (json) {
    const { limits, limitRules, economics, strategy, segmentKeys, reviews } = verdict;
    const decided = { passes, limits, limitRules, refusingLimits: refusing, economics, strategy, segmentKeys, reviews };
    terminal.write(JSON.stringify({ ruleSet: ruleSet.hash, ...decided, rules: accounts, nearest }));
    return;
  }
  for (const account of accounts) for (const line of ruleLines(account, format)) terminal.write(line);
  terminal.write('');
  for (const field of refusing) {
    const { limits, limitRules } = verdict;
    const value = limitText(field, limits[field]!, format);
    terminal.write(rules.limitRefuses(limitRules[field] ?? '?', format.texts.limits[field], value));
  }
  if (passes.length === 0 && refusing.length === 0) terminal.write(rules.noPass);
  for (const { code, rule, text } of passes) terminal.write(`${code}${rule === null ? '' : ` – "${rule}"`}: ${text}`);
  for (const { queue, rule, minutes, otherwise } of passes.length + refusing.length === 0 ? verdict.reviews : []) {
    terminal.write(rules.asksReview(rule, queue, minutes, format.texts.review.decisions[otherwise]));
  }
  for (const { fact, from, to } of nearest) {
    terminal.write(`  ${rules.nearest(fact, valueText(from, format), valueText(to, format))}`);
  }
  if (passes.length > 0 && nearest.length === 0) terminal.write(`  ${rules.nearestNone}`);
}
