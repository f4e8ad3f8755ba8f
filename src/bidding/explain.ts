/**
 * A decision, looked at again: made once more from its stored inputs, compared with what was recorded, and taken apart
 * for people. Pure; milliseconds, for display and audit only.
 */
import { isDeepStrictEqual } from 'node:util';
import { type AmountCents, type Day, noRivalCell, type RateHundredths, type RequestId } from '../domain/glossary.ts';
import type { DecisionTrace, Offer, Usage } from '../domain/offer.ts';
import type { Economics } from '../domain/policy.ts';
import type { Claimed, Passed } from '../domain/records.ts';
import type { LoanRequest } from '../domain/request.ts';
import type { AuctionResult } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { type Explanation, explainChoice } from '../pricing/choose.ts';
import type { ChoiceInput } from '../pricing/mask.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { createRateTables } from '../pricing/terms.ts';
import { buildWinCurve, decodeWinCurve, priorDistribution, type WinCurve } from '../pricing/win-curve.ts';
import { candidateValues, factSeen } from '../rules/account.ts';
import { evaluateRequest } from '../rules/evaluate.ts';
import type { FactValue } from '../rules/facts.ts';
import { openRuleSet } from '../rules/rule-set.ts';
import {
  type Assessment,
  assess,
  checkCaps,
  choiceInput,
  type Draft,
  type DraftInput,
  draftOffer,
  isComplete,
  type Policy,
} from './decide.ts';
import type { BiddingSettings } from './settings.ts';

/** Contents of the stored inputs that a trace names by hash. */
export type StoredContents = { ruleSet: string; settings: string; curve: string | null };

export type Replay = {
  policy: Policy;
  settings: BiddingSettings;
  curve: WinCurve | null;
  assessment: Assessment;
  draft: Draft;
  /** Bytes of the offer; null for a pass. */
  body: string | null;
};

const tableLimit = 256;

/** Stored policies opened of late, by their hashes: reports replay many decisions of few policies. */
const opened = new Map<string, { policy: Policy; settings: BiddingSettings }>();
const mostOpened = 8;

/** Throws `record-undecodable` when the stored rule set no longer compiles. */
function policyOfStored(contents: StoredContents, trace: DecisionTrace): { policy: Policy; settings: BiddingSettings } {
  const key = `${trace.ruleSetHash}/${trace.settingsHash}`;
  const known = opened.get(key);
  if (known !== undefined) return known;
  const made = openPolicy(contents, trace);
  if (opened.size >= mostOpened) opened.clear();
  opened.set(key, made);
  return made;
}

function openPolicy(contents: StoredContents, trace: DecisionTrace): { policy: Policy; settings: BiddingSettings } {
  const stored = JSON.parse(contents.settings) as {
    bidding: BiddingSettings;
    economics: Economics;
    pricing: PricingSettings;
  };
  const compiled = openRuleSet(contents.ruleSet);
  if (compiled.kind === 'refused') {
    const text = `The stored rule set ${trace.ruleSetHash} does not compile any more: ${compiled.faults[0]?.text ?? ''}`;
    throw new Fault('record-undecodable', text);
  }
  const policy: Policy = {
    ruleSet: compiled.ruleSet,
    economics: stored.economics,
    tables: createRateTables(stored.pricing, tableLimit),
    prior: priorDistribution(stored.pricing.winCurve.prior),
    settingsHash: trace.settingsHash,
    stored: [],
  };
  return { policy, settings: stored.bidding };
}

/** Limits that operators had set by hand are in the trace only as the caps they became. */
export function operatorCapsOf(trace: DecisionTrace): Record<string, number> {
  const caps: Record<string, number> = {};
  for (const { keys, limitAmountCents } of trace.caps) {
    const name = /^operator:(.*)\|[^|]*$/.exec(keys[0] ?? '')?.[1];
    if (name !== undefined && limitAmountCents !== null) caps[name] = limitAmountCents;
  }
  return caps;
}

/** Makes the decision again. `encodeBid` writes with the contacts of the stored settings. */
export function replayDecision(options: {
  request: LoanRequest;
  trace: DecisionTrace;
  contents: StoredContents;
  encodeBid: (requestId: RequestId, offer: Offer) => string;
}): Replay {
  const { request, trace, contents } = options;
  const { policy, settings } = policyOfStored(contents, trace);
  const curve =
    contents.curve === null || trace.curveHash === null ? null : decodeWinCurve(contents.curve, trace.curveHash);
  const assessment = assess(request, { link: trace.link, ledger: trace.ledger }, policy, trace.decidedAt);
  const draft = checkCaps(draftOffer(draftInput({ policy, settings, curve, assessment }, trace)), usageOf(trace));
  const body = draft.kind === 'offer' ? options.encodeBid(request.requestId, draft.offer) : null;
  return { policy, settings, curve, assessment, draft, body };
}

function draftInput(replay: Omit<Replay, 'draft' | 'body'>, trace: DecisionTrace): DraftInput {
  const { policy, settings, curve, assessment } = replay;
  const { shadowPricePerCent, shadowPriceVersion = null, acceptance = null, trial } = trace;
  const operatorCaps = operatorCapsOf(trace);
  return {
    assessment,
    policy,
    settings,
    curve,
    trial,
    operatorCaps,
    shadowPricePerCent,
    shadowPriceVersion,
    acceptance,
  };
}

function usageOf(trace: DecisionTrace): ReadonlyMap<string, Usage> {
  return new Map(Object.entries(trace.usage));
}

/** Names what the replay says otherwise than the record; empty, or something is very wrong. */
export function differencesOf(replay: Replay, recorded: Claimed | Passed): string[] {
  const { draft, body } = replay;
  const differences: string[] = [];
  const compare = (name: string, now: unknown, then: unknown) => {
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(now ?? null)), then ?? null)) differences.push(name);
  };
  if (recorded.kind === 'claimed') {
    compare('body', body, recorded.body);
    compare('offer', draft.kind === 'offer' ? draft.offer : null, recorded.offer);
  } else {
    compare('code', draft.kind === 'pass' ? draft.code : null, recorded.code);
    compare('reasons', draft.kind === 'pass' ? draft.reasons : null, recorded.reasons);
  }
  compare('trace', draft.trace, recorded.trace);
  return differences;
}

/** What the optimiser was asked; null when rules or missing facts kept the request from being priced. */
export function askedOf(replay: Omit<Replay, 'draft' | 'body'>, trace: DecisionTrace): ChoiceInput | null {
  const input = draftInput(replay, trace);
  return isComplete(input) ? choiceInput(input) : null;
}

/** Cost stack and every rate; null when the request was not priced. */
export function explainPrice(replay: Replay, trace: DecisionTrace): Explanation | null {
  const asked = askedOf(replay, trace);
  return asked === null ? null : explainChoice(asked);
}

export type Hindsight = {
  /** Null: nobody else bid. */
  bestRivalHundredths: RateHundredths | null;
  /** The rival's published rate had digits below a hundredth: it lies between this cell and the one below. */
  bestRivalOffGrid: boolean;
  /** Ours less the best rival's: negative when we were cheaper. */
  gapHundredths: number | null;
  /** The admissible rate that would have won and earned most, taken or not; null when no such rate earns anything. */
  bestWinningRate: RateHundredths | null;
  /** Expected value of winning at that rate, less that of our own bid if it won. */
  forgoneCents: AmountCents;
};

/** What the published bids say of our rate: money left on the table when we won, missed when we did not. */
export function hindsightOf(
  explanation: Explanation,
  auction: AuctionResult,
  ourRate: RateHundredths,
  won: boolean,
): Hindsight | null {
  const rival = auction.bestRivalCell;
  if (rival === null) return null;
  const worth = (rate: Explanation['rates'][number]) => rate.acceptance * rate.valueIfReleasedCents;
  let best: Explanation['rates'][number] | null = null;
  let own = 0;
  for (const rate of explanation.rates) {
    if (won && rate.rateHundredths === ourRate) own = worth(rate);
    const wins = rate.rateHundredths < rival || (won && rate.rateHundredths === ourRate);
    if (!wins || rate.forbidden !== null || worth(rate) <= 0) continue;
    if (best === null || worth(rate) > worth(best)) best = rate;
  }
  return {
    bestRivalHundredths: rival === noRivalCell ? null : rival,
    bestRivalOffGrid: auction.bestRivalOffGrid,
    gapHundredths: rival === noRivalCell ? null : ourRate - rival,
    bestWinningRate: best?.rateHundredths ?? null,
    forgoneCents: best === null ? 0 : Math.max(0, Math.round(worth(best) - own)),
  };
}

/** Facts whose change does more than rules see: what the loan costs, and what follows from it. */
type NamedFact =
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

/** Tries one fact after another, each in steps away from what it was; facts that do not help are left out. */
export function nearestBids(replay: Replay, trace: DecisionTrace): NearestBid[] {
  const byPrior = replay.curve === null;
  const curve = replay.curve ?? priorCurve(replay);
  const found: NearestBid[] = [];
  for (const variations of variationsOf(replay)) {
    for (const { fact, from, to, assessment } of variations) {
      const draft = draftOffer(draftInput({ ...replay, curve, assessment: assessment() }, trace));
      const checked = checkCaps(draft, usageOf(trace));
      if (checked.kind !== 'offer') continue;
      found.push({ fact, from, to, rateHundredths: checked.offer.rateHundredths, byPrior });
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
  const { facts, at } = assessment;
  const { ruleSet } = policy;
  const variations: Variation[][] = [];
  for (const [name, values] of candidateValues(ruleSet, facts, {})) {
    if (varied.test(name)) continue;
    const changed = (to: FactValue): Variation => ({
      fact: { catalogue: name },
      from: factSeen(ruleSet, facts, name),
      to,
      assessment: () => {
        const own = { ...facts, [name]: to };
        return { ...assessment, facts: own, verdict: evaluateRequest(ruleSet, own, at) };
      },
    });
    variations.push(values.map(changed));
  }
  return variations;
}

function withRequest({ assessment, policy }: Replay, change: Partial<LoanRequest>): () => Assessment {
  const { request, link, ledger, at } = assessment;
  return () => assess({ ...request, ...change }, { link, ledger }, policy, at);
}

function pricingVariations(replay: Replay): Variation[][] {
  const { assessment, policy } = replay;
  const { request, link, ledger, marginCents, at } = assessment;
  const { requestedAmountCents: amount, requestedInstallments: term } = request;
  const variations: Variation[][] = [];
  if (marginCents !== null) {
    const raised = (cents: number) => () => {
      const detail = link === null ? null : { ...link, availableMarginCents: cents };
      return assess({ ...request, availableMarginCents: cents }, { link: detail, ledger }, policy, at);
    };
    const margins = amounts(marginCents, 1);
    variations.push(margins.map((to) => ({ fact: 'margin', from: marginCents, to, assessment: raised(to) })));
  }
  if (amount !== null) {
    const changed = (to: number): Variation => {
      return { fact: 'amount', from: amount, to, assessment: withRequest(replay, { requestedAmountCents: to }) };
    };
    variations.push(amounts(amount, -1).map(changed), amounts(amount, 1).map(changed));
  }
  if (term !== null) {
    const most = policy.tables.settings.maxInstallments;
    const terms = Array.from({ length: most }, (_, index) => index + 1).filter((other) => other !== term);
    terms.sort((left, right) => Math.abs(left - term) - Math.abs(right - term));
    const changed = (to: number): Variation => {
      return { fact: 'installments', from: term, to, assessment: withRequest(replay, { requestedInstallments: to }) };
    };
    variations.push(terms.map(changed));
  }
  const guarantee = { ...request.guarantee, present: false };
  variations.push([{ fact: 'guarantee', from: null, to: null, assessment: withRequest(replay, { guarantee }) }]);
  return variations;
}

function workerVariations(replay: Replay): Variation[][] {
  const { request, link, facts } = replay.assessment;
  const admission = request.admissionDate ?? link?.admissionDate ?? null;
  const birth = request.birthDate ?? link?.birthDate ?? null;
  const variations: Variation[][] = [];
  const tenure = facts['worker.tenureMonths'];
  if (admission !== null && typeof tenure === 'number') {
    const earlier = Array.from({ length: longestTenureMonths }, (_, step) => step + 1);
    const changed = (months: number): Variation => {
      const assessment = withRequest(replay, { admissionDate: shiftMonths(admission, -months) });
      return { fact: 'tenure', from: tenure, to: tenure + months, assessment };
    };
    variations.push(earlier.map(changed));
  }
  const age = facts['worker.ageYears'];
  if (birth !== null && typeof age === 'number') {
    const shifts = Array.from({ length: longestShiftYears }, (_, step) => [step + 1, -step - 1]).flat();
    const changed = (years: number): Variation => {
      const assessment = withRequest(replay, { birthDate: shiftMonths(birth, -12 * years) });
      return { fact: 'age', from: age, to: age + years, assessment };
    };
    variations.push(shifts.map(changed));
  }
  const changes: [NamedFact, Partial<LoanRequest>][] = [
    ['eligible', { eligible: true }],
    ['exposed', { politicallyExposed: false }],
    ['alerts', { alertCodes: [] }],
  ];
  for (const [fact, change] of changes) {
    variations.push([{ fact, from: null, to: null, assessment: withRequest(replay, change) }]);
  }
  return variations;
}
