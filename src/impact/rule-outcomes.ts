/**
 * What rules would have kept away of the loans whose performance is known: by rule, what that would have saved (losses) and what it
 * would have cost (interest less funding), until the last month known of each loan. Every rule is looked at alone, and of a loan that its
 * limits leave no room for the whole is taken: a smaller one might have been made. What rules that decided kept away at the time is in
 * no such loan.
 */
import type { AmountCents } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import type { Limits } from '../domain/policy.ts';
import type { AloneVerdict } from '../rules/evaluate.ts';
import { comesWithLink } from '../rules/facts.ts';
import type { RuleSummary } from '../rules/rule-set.ts';
import { type Loan, outcomeOf } from './performance.ts';

/** `verdicts`: of each rule that is not false. `linkUnknown`: the link is not on record, and nobody had asked for it. */
export type JudgedLoan = {
  loan: Loan;
  verdicts: readonly AloneVerdict[];
  marginCents: AmountCents | null;
  linkUnknown: boolean;
};

export type LoanSum = {
  loans: number;
  releasedCents: number;
  /** Loans that ended with money outstanding, or never started. */
  ended: number;
  /** What was lost of them: what the rule would have saved. */
  lossCents: number;
  /** Interest paid less what the money cost: what the rule would have cost. */
  earnedCents: number;
};

type RuleOutcome = LoanSum & {
  rule: string;
  event: 'pass' | 'limit';
  /** Of the loans: those that it is undecided about, which it would have kept away as well. */
  undecided: number;
  /** It lacks facts of a link that nobody had asked for: such loans are in no other figure. */
  linkNotOnRecord: number;
};

export type RuleOutcomes = {
  /** All loans. */
  total: LoanSum;
  /** Rules that pass or limit, those that would have gained most first. */
  rules: readonly RuleOutcome[];
};

/** Whether the offer is none that these limits allow. Spread and profit are not looked at: they are of a price, not of a loan. */
export function isOutside(limits: Limits, offer: Offer, marginCents: AmountCents | null): boolean {
  const above = (value: number, most: number | null) => most !== null && value > most;
  const below = (value: number, least: number | null) => least !== null && value < least;
  const { maxMarginShare } = limits;
  return (
    above(offer.rateHundredths, limits.maxRateHundredths) ||
    below(offer.rateHundredths, limits.minRateHundredths) ||
    above(offer.amountCents, limits.maxAmountCents) ||
    below(offer.amountCents, limits.minAmountCents) ||
    above(offer.installments, limits.maxInstallments) ||
    below(offer.installments, limits.minInstallments) ||
    above(offer.installmentCents, limits.maxInstallmentCents) ||
    below(offer.installmentCents, limits.minInstallmentCents) ||
    above(offer.cetAnnualHundredths, limits.maxCetAnnualHundredths) ||
    (maxMarginShare !== null && marginCents !== null && offer.installmentCents > maxMarginShare * marginCents)
  );
}

const none: LoanSum = { loans: 0, releasedCents: 0, ended: 0, lossCents: 0, earnedCents: 0 };

function plus(sum: LoanSum, more: LoanSum): void {
  for (const field of ['loans', 'releasedCents', 'ended', 'lossCents', 'earnedCents'] as const)
    sum[field] += more[field];
}

function sumOf(loan: Loan): LoanSum {
  const { ended, actualLossCents, interestCents, fundingCents } = outcomeOf(loan);
  return {
    loans: 1,
    releasedCents: loan.offer.amountCents,
    ended: ended ? 1 : 0,
    lossCents: Math.round(actualLossCents),
    earnedCents: Math.round(interestCents - fundingCents),
  };
}

export function outcomesByRule(rules: readonly RuleSummary[], judged: readonly JudgedLoan[]): RuleOutcomes {
  const total = { ...none };
  const byRule = new Map<string, RuleOutcome>();
  for (const { name, event } of rules)
    if (event === 'pass' || event === 'limit')
      byRule.set(name, { rule: name, event, ...none, undecided: 0, linkNotOnRecord: 0 });
  for (const { loan, verdicts, marginCents, linkUnknown } of judged) {
    const own = sumOf(loan);
    plus(total, own);
    for (const { rule, passes, limits, missing } of verdicts) {
      const outcome = byRule.get(rule);
      if (outcome === undefined || !(passes || isOutside(limits, loan.offer, marginCents))) continue;
      if (linkUnknown && missing.some(comesWithLink)) {
        outcome.linkNotOnRecord += 1;
        continue;
      }
      plus(outcome, own);
      if (missing.length > 0) outcome.undecided += 1;
    }
  }
  const gain = ({ lossCents, earnedCents }: LoanSum) => lossCents - earnedCents;
  const ordered = [...byRule.values()].sort(
    (left, right) => gain(right) - gain(left) || right.loans - left.loans || (left.rule < right.rule ? -1 : 1),
  );
  return { total, rules: ordered };
}
