/**
 * The decision: rules, then price, then caps. Pure: the same inputs give the same offer and the same bytes, months later
 * too, which is what `replay` and the explanation of a bid live from.
 */
import assert from 'node:assert/strict';
import type { BiddingSettings } from '../config/sections.ts';
import {
  capKeysOf,
  eveCapsOf,
  fullCap,
  isLimiting,
  nothingUsed,
  operatorDayKeys,
  operatorKeyStart,
} from '../domain/cap-book.ts';
import { dayOf } from '../domain/clock.ts';
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import type {
  AcceptanceShift,
  AmountSearch,
  CapReservation,
  DecisionTrace,
  Offer,
  Reason,
  Review,
  SnoozedRule,
  SourceLook,
  TableLook,
  Tailoring,
  Trial,
  Usage,
  WorseValue,
} from '../domain/offer.ts';
import type { Economics } from '../domain/policy.ts';
import type { StoredInput } from '../domain/records.ts';
import type { LinkDetail, LoanRequest } from '../domain/request.ts';
import { shiftAcceptance } from '../pricing/acceptance.ts';
import { chooseOffer } from '../pricing/choose.ts';
import type { ChoiceInput } from '../pricing/mask.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import type { RateTables } from '../pricing/terms.ts';
import type { WinCurve } from '../pricing/win-curve.ts';
import {
  evaluateOffer,
  evaluateRequest,
  type OfferVerdict,
  type OpenRule,
  type RequestVerdict,
} from '../rules/evaluate.ts';
import { contradictedFacts, type Facts, lackedByCaps } from '../rules/facts.ts';
import { factsOf, offerFactsOf } from '../rules/facts-of.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { type Source, sourcePrefix, withSources } from '../rules/sources.ts';
import type { Joining } from '../rules/two-sources.ts';
import { withLooks } from '../rules/value-tables.ts';
import { type Words, worseOfferVerdict, worseVerdict } from '../rules/worse-word.ts';
import { unreadKey, unreadKeysFor } from './ledger-facts.ts';

/** Everything that steers decisions at one moment; immutable, swapped whole. */
export type Policy = {
  ruleSet: RuleSet;
  economics: Economics;
  tables: RateTables;
  /** What is believed of rivals before the first result. */
  prior: Float64Array;
  settingsHash: string;
  /** Rule set and settings, to be stored once under their hashes. */
  stored: readonly StoredInput[];
};

/** What was known beside the request when it was assessed. */
export type Surroundings = {
  link: LinkDetail | null;
  /** Facts of the ledger; undefined: no rule looks at any. */
  ledger: Readonly<Record<string, number>> | undefined;
  /** Rules that operators had put to sleep; left out: none. */
  snoozed?: readonly SnoozedRule[] | undefined;
  /** What value tables said when it was decided first; left out: they are asked now. */
  tables?: readonly TableLook[] | undefined;
  /** What external sources had said when it was decided; left out: nothing. */
  sources?: readonly SourceLook[] | undefined;
  /** What a person was asked of the request, with the answer; left out: nothing. */
  review?: Review | null | undefined;
  /** Absent: `worse`. Decisions of programs that took the request's word are made again with that. */
  joining?: Joining;
  /** Requests that lack a fact of a cap's key share one cap, as in earlier versions; absent: they are no bid. */
  unknownKeys?: 'shared';
};

export type Assessment = {
  request: LoanRequest;
  link: LinkDetail | null;
  ledger: Readonly<Record<string, number>> | undefined;
  snoozed: readonly SnoozedRule[];
  tables: readonly TableLook[];
  sources: readonly SourceLook[];
  review: Review | null;
  joining: Joining;
  unknownKeys?: 'shared';
  marginCents: AmountCents | null;
  facts: Facts;
  /** The facts by the word of request and link, where these contradict each other and the decision is no better than by either; else null. */
  words: Words | null;
  verdict: RequestVerdict;
  /** What the words made worse. */
  worse: readonly WorseValue[];
  at: EpochMs;
};

/**
 * The careful side: where request and link both name a margin, the smaller one counts. None where either names one that cannot be
 * read: it may be smaller than the other's.
 */
function isMarginUnread(source: { unread?: readonly string[] } | null): boolean {
  return source?.unread?.includes('availableMarginCents') ?? false;
}

export function marginOf(request: LoanRequest, link: LinkDetail | null): AmountCents | null {
  if (isMarginUnread(request) || isMarginUnread(link)) return null;
  const told = request.availableMarginCents;
  const asked = link?.availableMarginCents ?? null;
  if (told === null || asked === null) return told ?? asked;
  return Math.min(told, asked);
}

/** First half: what the rules say of the request alone. */
export function assess(
  request: LoanRequest,
  surroundings: Surroundings,
  policy: Pick<Policy, 'ruleSet' | 'economics'>,
  at: EpochMs,
): Assessment {
  const { link, ledger, snoozed = [], sources = [], review = null, joining = 'worse', unknownKeys } = surroundings;
  const marginCents = marginOf(request, link);
  const known = { request, link, marginCents, ...(ledger && { ledger }), at };
  const keyed = (told: Facts): Facts => (unknownKeys === undefined ? told : { ...told, [lackedByCaps]: [] });
  const own = keyed(factsOf({ ...known, joining }));
  const tables = surroundings.tables ?? policy.ruleSet.tables.map((look) => look(own));
  const facts = withSources(withLooks(own, tables), sources);
  const wordOf = (joining: 'request-first' | 'link-first') => {
    const word = keyed(factsOf({ ...known, joining }));
    return withSources(withLooks(word, looksOfWord(policy.ruleSet, tables, own, word)), sources);
  };
  const words =
    joining === 'worse' && own[contradictedFacts] !== undefined
      ? { request: wordOf('request-first'), link: wordOf('link-first') }
      : null;
  const judged = judge(policy, facts, words, at, snoozed);
  const beside = { request, link, ledger, snoozed, tables, sources, review, joining };
  const assessed = { ...beside, marginCents, facts, words, ...judged, at };
  return unknownKeys === undefined ? assessed : { ...assessed, unknownKeys };
}

/** What the rules say of these facts: no better than of the words, where there are any. */
export function judge(
  { ruleSet, economics }: Pick<Policy, 'ruleSet' | 'economics'>,
  facts: Facts,
  words: Words | null,
  at: EpochMs,
  snoozed: readonly SnoozedRule[],
): Pick<Assessment, 'verdict' | 'worse'> {
  const asleep = namesOf(snoozed);
  const said = (told: Facts) => evaluateRequest(ruleSet, told, at, asleep);
  const verdict = said(facts);
  if (words === null) return { verdict, worse: [] };
  return worseVerdict(ruleSet, verdict, { request: said(words.request), link: said(words.link) }, facts, economics);
}

/** What tables gave, and anew of those that the word looks up under another key. */
function looksOfWord(ruleSet: RuleSet, tables: readonly TableLook[], own: Facts, word: Facts): TableLook[] {
  return ruleSet.tables.flatMap((look) => {
    const anew = look(word);
    if (anew.key !== look(own).key) return anew;
    return tables.find(({ table }) => table === anew.table) ?? [];
  });
}

/** Null: none is asleep. */
export function namesOf(snoozed: readonly SnoozedRule[]): ReadonlySet<string> | null {
  return snoozed.length === 0 ? null : new Set(snoozed.map(({ rule }) => rule));
}

/**
 * What asking for the link's detail is good for. `needed`: without it this is no bid, and nothing that is certain forbids one.
 * `useful`: it is decided without, but a rule is undecided that the detail may decide: a limit that holds only in case of
 * doubt, economics or a segment that are left out.
 */
export type LinkNeed = 'needed' | 'useful' | 'none';

/** What is undecided, and what of it the link's detail or an external source may decide. */
type Undecided = {
  open: readonly OpenRule[];
  linkMayDecide: (rule: OpenRule) => boolean;
  /** A source that has not been asked yet. */
  sourceMayDecide: (rule: OpenRule) => boolean;
};

/** Rules of the offer are asked before there is one, so some count as undecided that the offer would have decided. */
function undecidedOf(assessment: Assessment, { ruleSet }: Policy): Undecided {
  const { request, link, marginCents, facts, verdict, sources, snoozed, at } = assessment;
  const open = ruleSet.offerLooksBack
    ? [...verdict.open, ...evaluateOffer(ruleSet, facts, noOffer, at, namesOf(snoozed)).open]
    : verdict.open;
  const told =
    link !== null || open.length === 0
      ? facts
      : factsOf({ request, link: fullLink, marginCents: marginCents ?? fullLink.availableMarginCents, at });
  const unasked = unaskedSources(ruleSet, sources).map(({ name }) => `${sourcePrefix}${name}.`);
  return {
    open,
    linkMayDecide: ({ missing }) => missing.some((fact) => facts[fact] === undefined && told[fact] !== undefined),
    sourceMayDecide: ({ missing }) => missing.some((fact) => unasked.some((start) => fact.startsWith(start))),
  };
}

export function linkNeed(assessment: Assessment, policy: Policy): LinkNeed {
  const { request, link, marginCents, verdict } = assessment;
  if (link !== null || verdict.refused) return 'none';
  const { open, linkMayDecide, sourceMayDecide } = undecidedOf(assessment, policy);
  const lacksMargin = marginCents === null && !isMarginUnread(request);
  const isNeeded = verdict.passes.length > 0 || lacksMargin;
  if (open.length === 0) return isNeeded ? 'needed' : 'none';
  // Whatever the link says, this rule stays undecided and makes it a pass.
  if (verdict.open.some((rule) => rule.passes && !linkMayDecide(rule) && !sourceMayDecide(rule))) return 'none';
  // Where sources alone are needed, their answers come first.
  const awaitsSource = verdict.open.some((rule) => rule.passes && !linkMayDecide(rule));
  if (lacksMargin || (isNeeded && !awaitsSource)) return 'needed';
  return open.some(linkMayDecide) ? 'useful' : 'none';
}

/** Sources of the set that are not among those that were asked. */
function unaskedSources(ruleSet: RuleSet, asked: readonly SourceLook[]): readonly Source[] {
  return ruleSet.sources.filter(({ name, hash }) => !asked.some((look) => look.source === name && look.hash === hash));
}

/**
 * Sources to be asked: a rule that shapes the outcome is undecided without them. None where it is no bid whatever they say.
 */
export function sourcesWanted(assessment: Assessment, policy: Policy): readonly Source[] {
  const { verdict, sources } = assessment;
  const unasked = unaskedSources(policy.ruleSet, sources);
  if (unasked.length === 0 || verdict.refused) return [];
  const { open, linkMayDecide, sourceMayDecide } = undecidedOf(assessment, policy);
  if (verdict.open.some((rule) => rule.passes && !linkMayDecide(rule) && !sourceMayDecide(rule))) return [];
  const missing = open.flatMap((rule) => rule.missing);
  return unasked.filter(({ name }) => missing.some((fact) => fact.startsWith(`${sourcePrefix}${name}.`)));
}

const noOffer: Facts = {};

/** A detail that says all that one can say: which facts it brings. */
const fullLink: LinkDetail = {
  linkKey: '',
  workerKey: '',
  receivedAt: 0,
  eligible: true,
  ineligibilityCode: 1,
  availableMarginCents: 100,
  marginBaseCents: 100,
  totalEarningsCents: 100,
  admissionDate: '2000-01-01',
  terminationDate: null,
  birthDate: '2000-01-01',
  workerCategoryCode: 101,
  politicallyExposed: false,
  occupationCode: 1,
  activityCode: 4_711_302,
  employerStartDate: '2000-01-01',
  activeLoans: 0,
  alertCount: 0,
};

/** What an offer was thought to be worth: with the published bids it can be judged again. */
export type OfferWorth = {
  /** V of the design: value of the loan if it is released. */
  valueIfReleasedCents: AmountCents;
  /** a of the design. */
  acceptance: number;
  bidCostCents: AmountCents;
};

/** What is decided, but for the room under the caps. */
export type Draft =
  | {
      kind: 'offer';
      offer: Offer;
      breakEvenHundredths: number;
      worth: OfferWorth;
      trace: DecisionTrace;
      offerFacts: Facts;
    }
  /** `offerFacts` null: it was never priced. */
  | { kind: 'pass'; code: string; reasons: readonly Reason[]; trace: DecisionTrace; offerFacts: Facts | null };

export type DraftInput = {
  assessment: Assessment;
  policy: Policy;
  settings: BiddingSettings;
  /** Null when the rules already say no. */
  curve: WinCurve | null;
  /** What the policies behind the curve would have bid; only noted. */
  trial: Trial | null;
  /** How the curve was mixed for this request; null: it is the stored one. Only noted. */
  tailoring: Tailoring | null;
  /** Caps that operators set by hand, cents a day. */
  operatorCaps: Readonly<Record<string, number>>;
  shadowPricePerCent: number;
  /** Null where no budget is paced. */
  shadowPriceVersion: string | null;
  /** Null: own wins have taught nothing. */
  acceptance: AcceptanceShift | null;
  /** Absent: `joint`. Decisions made before amounts were searched are made again with `largest`. */
  amounts?: AmountSearch;
};

/** Second half: price and the rules on the offer. */
export function draftOffer(input: DraftInput): Draft {
  const { assessment, policy, settings, curve } = input;
  const { marginCents, facts, verdict, snoozed, tables, sources, review, at } = assessment;
  const contradicted = facts[contradictedFacts];
  const trace: DecisionTrace = {
    decidedAt: at,
    ruleSetHash: policy.ruleSet.hash,
    settingsHash: policy.settingsHash,
    curveHash: curve?.hash ?? null,
    ...(input.tailoring === null || curve === null ? {} : { tailoring: input.tailoring }),
    segmentKeys: verdict.segmentKeys,
    link: assessment.link,
    ...(contradicted === undefined ? {} : { contradicted }),
    ...(assessment.words === null ? {} : { worseEconomics: assessment.worse }),
    usage: {},
    ...(assessment.ledger && { ledger: assessment.ledger }),
    shadowPricePerCent: input.shadowPricePerCent,
    ...(input.shadowPriceVersion === null ? {} : { shadowPriceVersion: input.shadowPriceVersion }),
    ...(curve === null || input.amounts === 'largest' ? {} : { amounts: 'joint' }),
    ...(assessment.unknownKeys === undefined ? { capKeys: 'known' } : {}),
    ...(input.acceptance === null ? {} : { acceptance: input.acceptance }),
    caps: [],
    rulesFired: verdict.fired,
    ...(tables.length === 0 ? {} : { tables }),
    ...(sources.length === 0 ? {} : { sources }),
    ...(snoozed.length === 0 ? {} : { snoozed }),
    ...(review === null ? {} : { review }),
    reasons: verdict.passes,
    trial: input.trial,
  };
  const refused = verdict.passes[0] ?? missingInput(assessment);
  if (refused !== null) {
    const reasons = verdict.passes.length > 0 ? verdict.passes : [refused];
    return { kind: 'pass', code: refused.code, reasons, trace: { ...trace, reasons }, offerFacts: null };
  }
  const asked = choiceInput(input);
  const choice = chooseOffer(asked);
  if (choice.kind === 'none') {
    const reasons = [{ code: choice.code, rule: null, text: choice.text }];
    return { kind: 'pass', code: choice.code, reasons, trace: { ...trace, reasons }, offerFacts: null };
  }
  const offer: Offer = { ...choice.offer, validUntil: at + settings.bidValidityMs };
  const offerFacts = offerFactsOf({ offer, expectedProfitCents: choice.valueIfReleasedCents, marginCents });
  const onOffer = judgeOffer(assessment, policy, offerFacts);
  const ownCaps = [...verdict.caps, ...onOffer.caps, ...operatorCapsAt(input.operatorCaps, at)];
  const caps = [...ownCaps, ...eveCapsOf(ownCaps, at)];
  const rulesFired = [...verdict.fired, ...onOffer.fired];
  const first = onOffer.passes[0];
  if (first !== undefined) {
    const reasons = onOffer.passes;
    return { kind: 'pass', code: first.code, reasons, trace: { ...trace, caps, rulesFired, reasons }, offerFacts };
  }
  const { breakEvenHundredths, valueIfReleasedCents, acceptance } = choice;
  const worth = { valueIfReleasedCents, acceptance, bidCostCents: asked.economics.bidCostCents };
  return { kind: 'offer', offer, breakEvenHundredths, worth, trace: { ...trace, caps, rulesFired }, offerFacts };
}

function judgeOffer({ facts, words, snoozed, at }: Assessment, { ruleSet }: Policy, offerFacts: Facts): OfferVerdict {
  const asleep = namesOf(snoozed);
  const said = (told: Facts) => evaluateOffer(ruleSet, told, offerFacts, at, asleep);
  const own = said(facts);
  return words === null ? own : worseOfferVerdict(own, { request: said(words.request), link: said(words.link) });
}

/** Whether the optimiser can be asked: nothing forbids it and nothing that it needs is missing. */
export function isComplete({ assessment, curve }: DraftInput): boolean {
  return curve !== null && assessment.verdict.passes.length === 0 && missingInput(assessment) === null;
}

/** What the optimiser is asked; the explanation of a bid asks it again. The request has to be complete. */
export function choiceInput(input: DraftInput): ChoiceInput {
  const { assessment, policy, curve, shadowPricePerCent, acceptance, amounts = 'joint' } = input;
  const { request, marginCents, verdict } = assessment;
  const { requestedAmountCents, requestedInstallments } = request;
  assert(requestedAmountCents !== null && requestedInstallments !== null && marginCents !== null && curve !== null);
  const overridden = Object.keys(verdict.economics).length > 0;
  const told = overridden ? { ...policy.economics, ...verdict.economics } : policy.economics;
  return {
    tables: policy.tables,
    releaseDay: dayOf(assessment.at),
    requestedAmountCents,
    requestedInstallments,
    availableMarginCents: marginCents,
    pledgedCents: pledgedOf(request, policy.tables.settings),
    limits: verdict.limits,
    economics: acceptance === null ? told : { ...told, ...shiftAcceptance(told, acceptance) },
    strategy: verdict.strategy,
    curve,
    shadowPricePerCent,
    amounts,
  };
}

/** Part of a guarantee that is not told is not counted; when nothing of it is told, it is taken to cover the loan. */
function pledgedOf({ guarantee }: LoanRequest, { guaranteePledge }: PricingSettings): number {
  const { present, fgtsBalanceCents, terminationFineCents } = guarantee;
  if (present !== true) return 0;
  if (fgtsBalanceCents === null && terminationFineCents === null) return Number.POSITIVE_INFINITY;
  const { fgtsBalanceShare, terminationFineShare } = guaranteePledge;
  return (fgtsBalanceCents ?? 0) * fgtsBalanceShare + (terminationFineCents ?? 0) * terminationFineShare;
}

function missingInput({ request, link, marginCents }: Assessment): Reason | null {
  if (request.requestedAmountCents === null) {
    const text = request.unread?.includes('requestedAmountCents')
      ? 'the request names an amount that cannot be read'
      : 'the request names no amount';
    return { code: 'amount-missing', rule: null, text };
  }
  if (request.requestedInstallments === null) {
    const text = request.unread?.includes('requestedInstallments')
      ? 'the request names a number of installments that cannot be read'
      : 'the request names no number of installments';
    return { code: 'term-missing', rule: null, text };
  }
  if (marginCents === null) {
    const text = isMarginUnread(request)
      ? 'the request names a margin that cannot be read'
      : isMarginUnread(link)
        ? 'the detail of the employment link names a margin that cannot be read'
        : 'neither the request nor the employment link names a margin';
    return { code: 'margin-missing', rule: null, text };
  }
  return null;
}

function operatorCapsAt(caps: Readonly<Record<string, number>>, at: EpochMs): CapReservation[] {
  return Object.entries(caps).map(([name, limitCents]) => ({
    keys: operatorDayKeys(name, at),
    limitAmountCents: limitCents,
    limitCount: null,
  }));
}

/** Whether a bid under these caps obeys each cap that is set by hand now: one may have been set or lowered since its decision. */
export function obeysOperatorCaps(
  caps: readonly CapReservation[],
  operatorCaps: Readonly<Record<string, number>>,
): boolean {
  return Object.entries(operatorCaps).every(([name, limitCents]) =>
    caps.some(
      ({ keys, limitAmountCents }) =>
        keys[0]!.startsWith(operatorKeyStart(name)) && limitAmountCents !== null && limitAmountCents <= limitCents,
    ),
  );
}

/**
 * Last step: an offer that no longer fits under a cap passes. The reservation after the claim checks again. While there are claims
 * that cannot be read they count under each cap that they may belong under: the keys are in the caps of the trace then.
 */
export function checkCaps(draft: Draft, usage: ReadonlyMap<string, Usage>): Draft {
  if (draft.kind === 'pass') return draft;
  const { offer, offerFacts } = draft;
  const unread = usage.get(unreadKey) ?? nothingUsed;
  const trace = unread.count === 0 ? draft.trace : { ...draft.trace, caps: withUnread(draft.trace.caps) };
  // Without a prototype it is a table from the start: keys that hardly two requests share would each make a new shape.
  const used: Record<string, Usage> = Object.create(null);
  for (const key of capKeysOf(trace.caps)) {
    const usageOfKey = usage.get(key);
    if (usageOfKey !== undefined) used[key] = usageOfKey;
  }
  if (unread.count > 0) used[unreadKey] = unread;
  const full = fullCap(trace.caps, { amountCents: offer.amountCents, count: 1 }, (key) => usage.get(key));
  if (full === null) return { ...draft, trace: { ...trace, usage: used } };
  const beside = unread.count === 0 ? '' : ', and claims that cannot be read may count under it';
  const text = `${fullCapStart}${full}${fullCapEnd}${beside}`;
  const reasons = [{ code: 'cap', rule: null, text }];
  return { kind: 'pass', code: 'cap', reasons, trace: { ...trace, usage: used, reasons }, offerFacts };
}

const fullCapStart = 'the cap ';
const fullCapEnd = ' has no room left for this amount';

/** The key of the cap that a pass ended by, out of its reason; null: it names none. */
export function fullCapOf(reasons: readonly Reason[]): string | null {
  for (const { code, text } of reasons) {
    const end = text.lastIndexOf(fullCapEnd);
    if (code === 'cap' && end > 0 && text.startsWith(fullCapStart)) return text.slice(fullCapStart.length, end);
  }
  return null;
}

function withUnread(caps: readonly CapReservation[]): CapReservation[] {
  return caps.map((cap) => (isLimiting(cap) ? { ...cap, keys: [...cap.keys, ...unreadKeysFor(cap)] } : cap));
}

/** A full cap is named by its key, which may stand for a worker: said to nobody without the key of the desk. */
export function shownReasons(reasons: readonly Reason[]): Reason[] {
  return reasons.map((reason) =>
    reason.code === 'cap' ? { ...reason, text: 'a cap has no room left for this amount' } : reason,
  );
}
