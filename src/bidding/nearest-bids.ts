/** What would have made a bid of a pass: the smallest change of one fact, the others as they were. */
import type { AmountCents, Day, RateHundredths } from '../domain/glossary.ts';
import type { DecisionTrace } from '../domain/offer.ts';
import type { LinkDetail, LoanRequest } from '../domain/request.ts';
import { buildWinCurve, type WinCurve } from '../pricing/win-curve.ts';
import { candidateValues, factSeen } from '../rules/account.ts';
import type { Facts, FactValue } from '../rules/facts.ts';
import { type Assessment, assess, checkCaps, draftOffer, judge } from './decide.ts';
import { draftInput, type Replay, usageOf } from './explain.ts';
import { wouldBeSent } from './review.ts';

/** Facts whose change does more than rules see: what the loan costs, and what follows from it. `review`: its answer, in time. */
type NamedFact =
  | 'review'
  | 'margin'
  | 'amount'
  | 'installments'
  | 'tenure'
  | 'age'
  | 'eligible'
  | 'exposed'
  | 'alerts'
  | 'guarantee';

/** The smallest change of one fact that would have made a bid of a pass, the others unchanged. */
export type NearestBid = {
  fact: NamedFact | { catalogue: string };
  /** Cents, months or years; null for facts that are only true or false. Facts of the catalogue as rules see them. */
  from: FactValue | null;
  to: FactValue | null;
  rateHundredths: RateHundredths;
  /** No curve had been looked up: judged by what is believed of rivals before any result. */
  byPrior: boolean;
};

type Variation = Pick<NearestBid, 'fact' | 'from' | 'to'> & { assessment: () => Assessment };

/**
 * Tries one fact after another, each in steps away from what it was; facts that do not help are left out. The review of a person stays as it
 * was: a change helps only where the bid would have been sent with that answer, or without one.
 */
export function nearestBids(replay: Replay, trace: DecisionTrace): NearestBid[] {
  const byPrior = replay.curve === null;
  const curve = replay.curve ?? priorCurve(replay);
  const found: NearestBid[] = [];
  const rateOf = (assessment: Assessment): RateHundredths | null => {
    const draft = draftOffer(draftInput({ ...replay, curve, assessment }, trace));
    const checked = checkCaps(draft, usageOf(trace));
    return checked.kind === 'offer' ? checked.offer.rateHundredths : null;
  };
  const { review, verdict } = replay.assessment;
  const rateOfAnswered = wouldBeSent(review, verdict.reviews) ? null : rateOf(replay.assessment);
  if (rateOfAnswered !== null) {
    found.push({ fact: 'review', from: null, to: null, rateHundredths: rateOfAnswered, byPrior });
  }
  for (const variations of variationsOf(replay)) {
    for (const { fact, from, to, assessment } of variations) {
      const changed = assessment();
      if (!wouldBeSent(changed.review, changed.verdict.reviews)) continue;
      const rateHundredths = rateOf(changed);
      if (rateHundredths === null) continue;
      found.push({ fact, from, to, rateHundredths, byPrior });
      break;
    }
  }
  return found;
}

function priorCurve({ policy, assessment, settings }: Replay): WinCurve {
  const { halfLifeMs } = settings;
  const { prior, tables } = policy;
  return buildWinCurve({
    ...tables.settings.winCurve,
    segments: [],
    scores: [],
    prior,
    at: assessment.at,
    halfLifeMs,
    breakEvens: null,
  });
}

const stepGrowth = 1.05;
const steps = 90;
const longestShiftYears = 60;
const longestTenureMonths = 120;

/** Amounts away from `cents`, in steps of 5 %, rounded to whole reais. */
function amounts(cents: AmountCents, direction: 1 | -1): AmountCents[] {
  const whole = direction > 0 ? Math.ceil : Math.floor;
  const tried = Array.from(
    { length: steps },
    (_, step) => whole((Math.max(cents, 1_000) * stepGrowth ** (direction * (step + 1))) / 100) * 100,
  );
  return [...new Set(tried)].filter((value) => value > 0);
}

/** The same day of another month, or its last one where it is shorter. */
function shiftMonths(day: Day, months: number): Day {
  const shifted = new Date(`${day.slice(0, 7)}-01T00:00:00Z`);
  shifted.setUTCMonth(shifted.getUTCMonth() + months + 1, 0);
  const last = shifted.getUTCDate();
  return `${shifted.toISOString().slice(0, 8)}${String(Math.min(Number(day.slice(8)), last)).padStart(2, '0')}`;
}

function variationsOf(replay: Replay): Variation[][] {
  return [...pricingVariations(replay), ...workerVariations(replay), ...otherVariations(replay)];
}

/** Facts that the variations above already change. */
const varied =
  /^(?:offer\.|desk\.|margin\.availableReais$|request\.|worker\.age|worker\.tenureMonths$|worker\.politicallyExposed$|worker\.key$|employer\.key$|alerts\.|guarantee\.present$)/;

/** Every other fact that some rule looks at, at the values that rules name: these change nothing but what rules say. */
function otherVariations({ assessment, policy }: Replay): Variation[][] {
  const { facts, words, at } = assessment;
  const { ruleSet } = policy;
  const variations: Variation[][] = [];
  for (const [name, values] of candidateValues(ruleSet, facts, {})) {
    if (varied.test(name)) continue;
    const changed = (to: FactValue): Variation => ({
      fact: { catalogue: name },
      from: factSeen(ruleSet, facts, name),
      to,
      assessment: () => {
        const withChange = (told: Facts): Facts => ({ ...told, [name]: to });
        const own = withChange(facts);
        const both = words && { request: withChange(words.request), link: withChange(words.link) };
        return { ...assessment, facts: own, words: both, ...judge(policy, own, both, at, assessment.snoozed) };
      },
    });
    variations.push(values.map(changed));
  }
  return variations;
}

/** The request and, where the detail of its link may say the same, that detail are changed. */
function changedBy(
  { assessment, policy }: Replay,
  change: Partial<LoanRequest>,
  linkChange: Partial<LinkDetail> = {},
): () => Assessment {
  const { request, link, at } = assessment;
  const detail = link === null ? null : { ...link, ...linkChange };
  return () => assess({ ...request, ...change }, { ...assessment, link: detail }, policy, at);
}

function pricingVariations(replay: Replay): Variation[][] {
  const { assessment, policy } = replay;
  const { request, marginCents } = assessment;
  const { requestedAmountCents: amount, requestedInstallments: term } = request;
  const variations: Variation[][] = [];
  if (marginCents !== null) {
    const raised = (cents: number) => {
      const change = { availableMarginCents: cents };
      return changedBy(replay, change, change);
    };
    const margins = amounts(marginCents, 1);
    variations.push(margins.map((to) => ({ fact: 'margin', from: marginCents, to, assessment: raised(to) })));
  }
  if (amount !== null) {
    const changed = (to: number): Variation => {
      return { fact: 'amount', from: amount, to, assessment: changedBy(replay, { requestedAmountCents: to }) };
    };
    variations.push(amounts(amount, -1).map(changed), amounts(amount, 1).map(changed));
  }
  if (term !== null) {
    const most = policy.tables.settings.maxInstallments;
    const terms = Array.from({ length: most }, (_, index) => index + 1).filter((other) => other !== term);
    terms.sort((left, right) => Math.abs(left - term) - Math.abs(right - term));
    const changed = (to: number): Variation => {
      return { fact: 'installments', from: term, to, assessment: changedBy(replay, { requestedInstallments: to }) };
    };
    variations.push(terms.map(changed));
  }
  const guarantee = { ...request.guarantee, present: false };
  variations.push([{ fact: 'guarantee', from: null, to: null, assessment: changedBy(replay, { guarantee }) }]);
  return variations;
}

function workerVariations(replay: Replay): Variation[][] {
  const { request, link, facts } = replay.assessment;
  const admission = facts['worker.admissionDate'];
  const birth = request.birthDate ?? link?.birthDate ?? null;
  const variations: Variation[][] = [];
  const tenure = facts['worker.tenureMonths'];
  if (typeof admission === 'string' && typeof tenure === 'number') {
    const earlier = Array.from({ length: longestTenureMonths }, (_, step) => step + 1);
    const changed = (months: number): Variation => {
      const change = { admissionDate: shiftMonths(admission, -months) };
      const assessment = changedBy(replay, change, change);
      return { fact: 'tenure', from: tenure, to: tenure + months, assessment };
    };
    variations.push(earlier.map(changed));
  }
  const age = facts['worker.ageYears'];
  if (birth !== null && typeof age === 'number') {
    const shifts = Array.from({ length: longestShiftYears }, (_, step) => [step + 1, -step - 1]).flat();
    const changed = (years: number): Variation => {
      const change = { birthDate: shiftMonths(birth, -12 * years) };
      const assessment = changedBy(replay, change, change);
      return { fact: 'age', from: age, to: age + years, assessment };
    };
    variations.push(shifts.map(changed));
  }
  const changes: [NamedFact, Partial<LoanRequest>, Partial<LinkDetail>][] = [
    ['eligible', { eligible: true }, {}],
    ['exposed', { politicallyExposed: false }, { politicallyExposed: false }],
    ['alerts', { alertCodes: [] }, { alertCount: 0 }],
  ];
  for (const [fact, change, linkChange] of changes) {
    variations.push([{ fact, from: null, to: null, assessment: changedBy(replay, change, linkChange) }]);
  }
  return variations;
}
