/**
 * What rules come to where a request and the detail of its link contradict each other: as with the facts that the two have in common,
 * and no better than with the word of either. A contradicted fact may be missing, and rules that do not fire on a missing fact would
 * else leave a value that is better than both words give.
 */
import type { Reason, WorseValue } from '../domain/offer.ts';
import type { Economics } from '../domain/policy.ts';
import type { OfferVerdict, RequestVerdict } from './evaluate.ts';
import { contradictedFacts, type Facts } from './facts.ts';
import type { RuleSet } from './rule-set.ts';

/** For each of the two: the facts with its word wherever they differ. */
export type Words<T = Facts> = { request: T; link: T };

/** Which value is worth less to the lender; null: that depends on the loan and on the other values. */
const worseSide: Readonly<Record<keyof Economics, 'higher' | 'lower' | null>> = {
  fundingAnnualPercent: 'higher',
  separationMonthly: 'higher',
  neverStartedShare: 'higher',
  lossGivenSeparation: 'higher',
  guaranteeRecovery: 'lower',
  commissionPercent: 'higher',
  contractCostCents: 'higher',
  bidCostCents: 'higher',
  acceptanceCeiling: 'lower',
  acceptanceMidpointPercent: 'lower',
  acceptanceSlope: null,
  acceptanceAmountElasticity: 'higher',
  acceptanceTermElasticity: 'higher',
  selectionWin: 'higher',
  selectionRate: 'higher',
  earlySettlementMonthly: null,
  spreadTaxPercent: 'higher',
  capitalChargeAnnualPercent: 'higher',
  recoveryDelayMonths: 'higher',
};

type Changes = Partial<Economics>;

/** Of the values that two words give; null: neither is plainly the worse. */
function worseOf(field: keyof Economics, one: number, other: number): number | null {
  if (one === other) return one;
  const side = worseSide[field];
  if (side === null) return null;
  return side === 'higher' ? Math.max(one, other) : Math.min(one, other);
}

/** `unclear`: fields of which neither word's value is plainly the worse. */
function worseEconomics(
  joined: Changes,
  { request, link }: Words<Changes>,
  base: Economics,
): { economics: Changes; unclear: readonly string[] } {
  const economics: Partial<Record<keyof Economics, number>> = { ...joined };
  const unclear: string[] = [];
  const fields = new Set(Object.keys({ ...joined, ...request, ...link }) as (keyof Economics)[]);
  for (const field of fields) {
    const told = (changes: Changes) => changes[field] ?? base[field] ?? 0;
    const worse = worseOf(field, told(request), told(link));
    if (worse === null) {
      unclear.push(field);
      continue;
    }
    // The words agree on a value that has no worse side: it is taken, whatever the missing fact would give.
    const value = worseOf(field, told(joined), worse) ?? worse;
    if (value !== told(joined)) economics[field] = value;
  }
  return { economics, unclear };
}

/** Passes of either word that the common facts do not give, each rule once. */
function passesBeside(own: readonly Reason[], words: Words<{ passes: readonly Reason[] }>): Reason[] {
  const known = new Set(own.map(({ rule }) => rule));
  const beside: Reason[] = [];
  for (const { passes } of [words.request, words.link]) {
    for (const pass of passes) {
      if (known.has(pass.rule)) continue;
      known.add(pass.rule);
      beside.push(pass);
    }
  }
  return beside;
}

function firedWith(fired: readonly string[], beside: readonly (string | null)[]): readonly string[] {
  const names = new Set([...fired, ...beside].filter((name) => name !== null));
  return names.size === fired.length ? fired : [...names];
}

/** `base`: the economics where no rule says any. `worse`: the values that the word of one of the two brought. */
export function worseVerdict(
  ruleSet: RuleSet,
  own: RequestVerdict,
  words: Words<RequestVerdict>,
  facts: Facts,
  base: Economics,
): { verdict: RequestVerdict; worse: readonly WorseValue[] } {
  const { request, link } = words;
  const { economics, unclear } = worseEconomics(
    own.economics,
    { request: request.economics, link: link.economics },
    base,
  );
  const untreated = worseEconomics(own.untreated, { request: request.untreated, link: link.untreated }, base).economics;
  const rules = new Map(ruleSet.request.rules.map((rule) => [rule.name, rule]));
  const worse: WorseValue[] = [];
  for (const field of Object.keys(economics) as (keyof Economics)[]) {
    const value = economics[field]!;
    if (value === (own.economics[field] ?? base[field] ?? 0)) continue;
    const word = (request.economics[field] ?? base[field] ?? 0) === value ? 'request' : 'link';
    const rule = words[word].fired.find((name) => {
      const event = rules.get(name)?.event;
      return (
        event?.type === 'economics' && event.changes.some(([changed, said]) => changed === field && said === value)
      );
    });
    worse.push({ field, value, word, rule: rule ?? null });
  }
  const beside = passesBeside(own.passes, words);
  if (unclear.length > 0) beside.push(unclearReason(own, facts, unclear));
  const passes = [...own.passes, ...beside];
  const reviews = [...own.reviews];
  for (const review of [...request.reviews, ...link.reviews])
    if (!reviews.some(({ rule }) => rule === review.rule)) reviews.push(review);
  const fired = firedWith(
    own.fired,
    [...worse, ...beside, ...reviews].map(({ rule }) => rule),
  );
  return { verdict: { ...own, passes, economics, untreated, reviews, fired }, worse };
}

/** Named after a fact that the rules of the economics miss; else after the first that the two contradict each other on. */
function unclearReason({ open }: RequestVerdict, facts: Facts, unclear: readonly string[]): Reason {
  const contradicted = facts[contradictedFacts] ?? [];
  const missing = open.flatMap((rule) => rule.missing).find((name) => contradicted.includes(name));
  const fact = missing ?? contradicted[0]!;
  const text = `Request and link detail contradict each other on ${contradicted.join(', ')}, and by their words ${unclear.join(', ')} would differ, of which neither value is plainly the worse.`;
  return { code: `fact-missing:${fact}`, rule: null, text };
}

export function worseOfferVerdict(own: OfferVerdict, words: Words<OfferVerdict>): OfferVerdict {
  const beside = passesBeside(own.passes, words);
  const fired = firedWith(
    own.fired,
    beside.map(({ rule }) => rule),
  );
  return beside.length === 0 ? own : { ...own, passes: [...own.passes, ...beside], fired };
}
