/** `lance rules backtest CSV`: what each rule of a folder would have saved and cost on loans whose performance is known. */
import { joiningOf } from '../bidding/explain.ts';
import { type JudgedLoan, type LoanSum, outcomesByRule, type RuleOutcomes } from '../impact/rule-outcomes.ts';
import { verdictsAlone } from '../rules/evaluate.ts';
import { factsOf, offerFactsOf } from '../rules/facts-of.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import type { Format } from './format.ts';
import { type FoundLoan, readLoans } from './performance.ts';
import { requireRules } from './rules-files.ts';
import { proseText, tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

/** On what was known when the loan was decided. Value tables and lists are those of the folder, which may know more than there was then. */
function judged(ruleSet: RuleSet, { loan, request, trace, replay, linkUnknown }: FoundLoan): JudgedLoan {
  const { marginCents } = replay.assessment;
  const { link, ledger, decidedAt: at } = trace;
  const facts = factsOf({ request, link, marginCents, joining: joiningOf(trace), ...(ledger && { ledger }), at });
  const offerFacts =
    (replay.draft.kind === 'offer' ? replay.draft.offerFacts : null) ??
    offerFactsOf({ offer: loan.offer, expectedProfitCents: Number.NaN, marginCents });
  return { loan, verdicts: verdictsAlone(ruleSet, facts, offerFacts, at), marginCents, linkUnknown };
}

/** Resolves to the exit code: 65 when a line is bad; the others are reported all the same. */
export async function backtestRules(
  world: CommandWorld,
  directory: string,
  csv: string,
  json: boolean,
): Promise<number> {
  const { terminal, format } = world;
  const ruleSet = requireRules(world, directory);
  const { loans, bad } = await readLoans(world, csv, json, (found) => judged(ruleSet, found));
  const outcomes = outcomesByRule(ruleSet.rules, loans);
  if (json) terminal.write(JSON.stringify({ ...outcomes, bad }));
  else if (loans.length === 0) terminal.say(format.texts.performance.noLoan);
  else terminal.write(outcomesText(outcomes, format));
  return bad.length === 0 ? 0 : 65;
}

function outcomesText({ total, rules }: RuleOutcomes, format: Format): string {
  const { rules: texts, events } = format.texts;
  const sums = ({ releasedCents, ended, lossCents, earnedCents }: LoanSum) => [
    format.money(releasedCents),
    format.number(ended, 0),
    format.money(lossCents),
    format.money(earnedCents),
    format.money(lossCents - earnedCents),
  ];
  const rows = [
    [texts.backtestAll, '', format.number(total.loans, 0), '', ...sums(total)],
    ...rules.map((rule) => [
      rule.rule,
      events[rule.event],
      format.number(rule.loans, 0),
      format.number(rule.undecided, 0),
      ...sums(rule),
    ]),
  ];
  const apart = rules.filter(({ linkNotOnRecord }) => linkNotOnRecord > 0);
  const named = apart.map(({ rule, linkNotOnRecord }) => `"${rule}" (${format.number(linkNotOnRecord, 0)})`).join(', ');
  return [
    tableText(texts.backtestHeader, rows, { right: [2, 3, 4, 5, 6, 7, 8], spare: [1] }),
    ...(apart.length === 0 ? [] : [proseText(texts.backtestWithoutLink(named))]),
    proseText(texts.backtestNote),
  ].join('\n');
}
