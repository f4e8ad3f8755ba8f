/**
 * A decision, looked at again: made once more from its stored inputs, compared with what was recorded, and taken apart
 * for people. Pure; milliseconds, for display and audit only.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { BiddingSettings } from '../config/sections.ts';
import { capsAsRecorded } from '../domain/cap-book.ts';
import { type AmountCents, noRivalCell, type RateHundredths, type RequestId } from '../domain/glossary.ts';
import type { DecisionTrace, Offer, Usage } from '../domain/offer.ts';
import type { Economics } from '../domain/policy.ts';
import type { Claimed, Passed } from '../domain/records.ts';
import type { LoanRequest } from '../domain/request.ts';
import { lacksSealed } from '../domain/sealed-facts.ts';
import type { AuctionResult } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { type Explanation, explainChoice } from '../pricing/choose.ts';
import type { ChoiceInput } from '../pricing/mask.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { createRateTables } from '../pricing/terms.ts';
import { decodeShapes, decodeWinCurve, mixTailored, priorDistribution, type WinCurve } from '../pricing/win-curve.ts';
import { openRuleSet } from '../rules/rule-set.ts';
import type { Joining } from '../rules/two-sources.ts';
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
  type Surroundings,
} from './decide.ts';
import { heedReview } from './review.ts';

/** Contents of the stored inputs that a trace names by hash. */
export type StoredContents = {
  ruleSet: string;
  settings: string;
  curve: string | null;
  /** Null where the trace names none. */
  shapes: string | null;
};

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
    pricing: Omit<PricingSettings, 'rounding'> & Partial<Pick<PricingSettings, 'rounding'>>;
  };
  const compiled = openRuleSet(contents.ruleSet);
  if (compiled.kind === 'refused') {
    const text = `The stored rule set ${trace.ruleSetHash} does not compile any more: ${compiled.faults[0]?.text ?? ''}`;
    throw new Fault('record-undecodable', text);
  }
  const policy: Policy = {
    ruleSet: compiled.ruleSet,
    economics: stored.economics,
    // Settings of the time before they named the rounding.
    tables: createRateTables({ ...stored.pricing, rounding: stored.pricing.rounding ?? 'by-row' }, tableLimit),
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

/** Makes the decision again; throws `sealed-unreadable` where the rules looked at what the request lacks. `encodeBid` writes with the contacts of the stored settings. */
export function replayDecision(options: {
  request: LoanRequest;
  trace: DecisionTrace;
  contents: StoredContents;
  encodeBid: (requestId: RequestId, offer: Offer) => string;
}): Replay {
  const { request, trace, contents } = options;
  const { policy, settings } = policyOfStored(contents, trace);
  if (lacksSealed(request, policy.ruleSet.sealedGroups)) {
    throw new Fault(
      'sealed-unreadable',
      'The rules looked at facts that are sealed. Set LANCE_PSEUDONYM_KEY to the key of the desk.',
    );
  }
  const curve = curveOfStored(contents, trace);
  const assessment = assess(request, surroundingsOf(trace), policy, trace.decidedAt);
  const now = draftOffer(draftInput({ policy, settings, curve, assessment }, trace));
  const caps = trace.capKeys === undefined ? capsAsRecorded(now.trace.caps, trace.caps) : now.trace.caps;
  const drafted = { ...now, trace: { ...now.trace, caps } };
  const draft = heedReview(checkCaps(drafted, usageOf(trace)), assessment.review, assessment.verdict.reviews);
  const body = draft.kind === 'offer' ? options.encodeBid(request.requestId, draft.offer) : null;
  return { policy, settings, curve, assessment, draft, body };
}

/** What was known beside the request. */
export function surroundingsOf(trace: DecisionTrace): Surroundings {
  const { link, ledger, snoozed, tables, sources, review, capKeys } = trace;
  const known = { link, ledger, snoozed, tables, sources, review, joining: joiningOf(trace) };
  return capKeys === undefined ? { ...known, unknownKeys: 'shared' } : known;
}

/**
 * How the decision joined request and link detail, by what its trace says. A trace without contradictions is of a version that took the
 * request's word, or of a request without any, for which every way gives the same facts.
 */
export function joiningOf({ contradicted, worseEconomics }: DecisionTrace): Joining {
  if (contradicted === undefined) return 'request-first';
  if (worseEconomics !== undefined) return 'worse';
  return contradicted.includes('request.eligible') ? 'worse-facts' : 'worse-but-eligible';
}

function curveOfStored({ curve, shapes }: StoredContents, { curveHash, tailoring }: DecisionTrace): WinCurve | null {
  if (curve === null || curveHash === null) return null;
  const stored = decodeWinCurve(curve, curveHash);
  if (tailoring === undefined) return stored;
  assert(shapes !== null, `the shapes ${tailoring.shapesHash} of the decision are missing`);
  return mixTailored(stored, decodeShapes(shapes, tailoring.shapesHash), tailoring);
}

/** What `draftOffer` was given. */
export function draftInput(replay: Omit<Replay, 'draft' | 'body'>, trace: DecisionTrace): DraftInput {
  const { policy, settings, curve, assessment } = replay;
  const { shadowPricePerCent, shadowPriceVersion = null, acceptance = null, trial = null, tailoring = null } = trace;
  const operatorCaps = operatorCapsOf(trace);
  return {
    assessment,
    policy,
    settings,
    curve,
    trial,
    tailoring,
    operatorCaps,
    shadowPricePerCent,
    shadowPriceVersion,
    acceptance,
    amounts: trace.amounts ?? 'largest',
  };
}

/** What stood under each cap key when it was decided. */
export function usageOf(trace: DecisionTrace): ReadonlyMap<string, Usage> {
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
  // The wait for the link is no part of the decision.
  const { linkAsked: _, ...then } = recorded.trace ?? {};
  compare('trace', draft.trace, recorded.trace === null ? null : then);
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
