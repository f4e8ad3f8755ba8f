/** Runs a compiled rule set on facts and combines what fired, as the table of events in DESIGN says. */
import { dayOf } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { CapReservation, Reason, ReviewAnswer } from '../domain/offer.ts';
import { type Economics, type Limits, noLimits, type Strategy } from '../domain/policy.ts';
import { isFalse, isTrue } from './compile.ts';
import { numberOf } from './derived.ts';
import { contradictedFacts, type Facts, lackedByCaps, selfContradictedFacts, unreadFacts } from './facts.ts';
import { shareOf, wholeMarket } from './keys.ts';
import type { CompiledExperiment, CompiledLimit, CompiledRule, RuleSet, StageRules } from './rule-set.ts';

export type RequestVerdict = {
  /** Not empty: no bid. Certain reasons before missing facts, each by priority; the first gives the code. */
  passes: readonly Reason[];
  limits: Limits;
  /** For each limited field, the rule that set it. */
  limitRules: Readonly<Partial<Record<keyof Limits, string>>>;
  economics: Partial<Economics>;
  /** From most general to most special; `['all']` when no segment rule fired. */
  segmentKeys: readonly string[];
  strategy: Strategy;
  caps: readonly CapReservation[];
  /** Rules that want a person asked before a bid, by priority. */
  reviews: readonly ReviewWanted[];
  /** Experiments that the worker is in, treated or to compare with; at most one of a layer. */
  experiments: readonly Assignment[];
  /** Economics as they would be without any treatment. */
  untreated: Partial<Economics>;
  /** Names of the rules that had an effect, in order of evaluation. */
  fired: readonly string[];
  /** Whether it would be a pass whatever the missing facts turn out to be: a rule that is true, or limits of such rules. */
  refused: boolean;
  /** Undecided rules that may change something once their missing facts are known. */
  open: readonly OpenRule[];
};

/** `passes`: undecided, it is a pass. */
export type OpenRule = { rule: string; passes: boolean; missing: readonly string[] };

export type Assignment = { name: string; layer: string; arm: 'treated' | 'control' };

export type ReviewWanted = { rule: string; queue: string; minutes: number; otherwise: ReviewAnswer };

/** What is asked where several rules want it: the queue of the first, as soon as any wants it answered, no bid where any says so. */
export function joinedReview(wanted: readonly ReviewWanted[]): Omit<ReviewWanted, 'rule'> | null {
  const [first] = wanted;
  if (first === undefined) return null;
  const isPass = wanted.some(({ otherwise }) => otherwise === 'pass');
  const minutes = Math.min(...wanted.map((each) => each.minutes));
  return { queue: first.queue, minutes, otherwise: isPass ? 'pass' : 'bid' };
}

export type OfferVerdict = Pick<RequestVerdict, 'passes' | 'caps' | 'fired' | 'open'>;

const noFacts: Facts = {};
const optimise: Strategy = { kind: 'optimise' };

type Draft = {
  certain: Reason[];
  undecided: Reason[];
  limits: Limits;
  limitRules: Partial<Record<keyof Limits, string>>;
  /** Of rules that are true alone; null: no undecided rule limits anything, so they are `limits`. */
  certainLimits: Limits | null;
  economics: Partial<Economics>;
  segmentKeys: readonly string[] | null;
  strategy: Strategy | null;
  caps: CapReservation[];
  reviews: ReviewWanted[];
  experiments: Assignment[];
  treatments: CompiledExperiment[];
  fired: string[];
  undecidedLimits: CompiledRule[];
  open: OpenRule[];
};

function missingOf(rule: CompiledRule): string[] {
  const missing = new Set<string>();
  rule.collectMissing(missing);
  return [...missing];
}

/** The one thing that a link detail can say and deny. */
const eligibleAndNot =
  ' The link detail contradicts itself on link.eligible: it calls the link eligible and gives a reason why it is not.';

function missingReason(rule: CompiledRule, names: readonly string[], facts: Facts): Reason {
  const contradicted = facts[contradictedFacts]?.filter((name) => names.includes(name)) ?? [];
  const why =
    contradicted.length === 0 ? '' : ` Request and link detail contradict each other on ${contradicted.join(', ')}.`;
  const unread = facts[unreadFacts]?.filter((name) => names.includes(name)) ?? [];
  const unreadWords = unread.length === 0 ? '' : ` A value came for ${unread.join(', ')} that cannot be read.`;
  const ofItself = facts[selfContradictedFacts]?.filter((name) => names.includes(name)) ?? [];
  const ofItselfWords = ofItself.length === 0 ? '' : eligibleAndNot;
  return {
    code: `fact-missing:${names[0]}`,
    rule: rule.name,
    text: `"${rule.name}" cannot be decided: ${names.join(', ')} missing.${why}${unreadWords}${ofItselfWords}`,
  };
}

function isTighter({ field, value, tightWhenHigh }: CompiledLimit, limits: Limits): boolean {
  const than = limits[field];
  return than === null || (tightWhenHigh ? value > than : value < than);
}

/** A limit that is undecided holds as well. */
function tighten(draft: Draft, rule: string, limits: readonly CompiledLimit[], certain: boolean): void {
  for (const limit of limits) {
    const { field, value } = limit;
    if (certain && draft.certainLimits !== null && isTighter(limit, draft.certainLimits)) {
      draft.certainLimits[field] = value;
    }
    if (!isTighter(limit, draft.limits)) continue;
    draft.limits[field] = value;
    draft.limitRules[field] = rule;
  }
}

/** A limit that a fact tells; where it cannot be told, nothing may be bid. */
function tightenByFact(
  draft: Draft,
  rule: CompiledRule,
  certain: boolean,
  ruleSet: Derived,
  facts: Facts,
  offerFacts: Facts,
): void {
  if (rule.event.type !== 'limit') return;
  for (const limit of rule.event.byFact) {
    const { fact, field, param, scale, least, most, tightWhenHigh } = limit;
    const value = numberOf(ruleSet.derived, fact, facts, offerFacts);
    if (value === null) {
      lackValues(draft, rule, ruleSet, [fact], facts, offerFacts);
      continue;
    }
    if (tightWhenHigh ? value > most : value < least) {
      const text = `"${rule.name}" wants ${param} ${value}, which leaves nothing to bid (${least} … ${most}).`;
      (certain ? draft.certain : draft.undecided).push({ code: 'limits-conflict', rule: rule.name, text });
      continue;
    }
    const held = Math.min(most, Math.max(least, value));
    // To the tighter side, but for what a binary fraction lacks of a whole number.
    const scaled =
      scale === 1 && field.endsWith('Share')
        ? held
        : tightWhenHigh
          ? Math.ceil(held * scale - slack)
          : Math.floor(held * scale + slack);
    tighten(draft, rule.name, [{ field, value: scaled, tightWhenHigh }], certain);
  }
}

const slack = 1e-6;

type Derived = Pick<RuleSet, 'derived'>;

/** The value of a rule that applies cannot be told: it is a pass, whatever else the request says. */
function lackValues(
  draft: Draft,
  rule: CompiledRule,
  ruleSet: Derived,
  names: readonly string[],
  facts: Facts,
  offerFacts: Facts,
): void {
  const lacking = names
    .filter((name) => numberOf(ruleSet.derived, name, facts, offerFacts) === null)
    .flatMap((name) => ruleSet.derived.get(name)?.lacking(facts, offerFacts) ?? [name]);
  lack(draft, rule, [...new Set(lacking)], facts);
}

/** A rule that applies cannot be judged without these facts. */
function lack(draft: Draft, rule: CompiledRule, missing: readonly string[], facts: Facts): void {
  draft.open.push({ rule: rule.name, passes: true, missing });
  draft.undecided.push(missingReason(rule, missing, facts));
}

/** Under which key the bid would count is not known, and so not whether the cap has room. */
function unknownKeyFacts(keyFacts: readonly string[], facts: Facts, offerFacts: Facts): string[] {
  const lacked = facts[lackedByCaps];
  return keyFacts.filter((fact) => {
    const value = (fact.startsWith('offer.') ? offerFacts : facts)[fact];
    return value === undefined && (lacked === undefined || lacked.includes(fact));
  });
}

/** Two rules may reserve under one key; it is checked once, against the lesser limit. */
function addCap(caps: CapReservation[], cap: CapReservation): void {
  const least = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));
  for (const [index, other] of caps.entries()) {
    if (other.keys[0] !== cap.keys[0]) continue;
    caps[index] = {
      keys: cap.keys,
      limitAmountCents: least(other.limitAmountCents, cap.limitAmountCents),
      limitCount: least(other.limitCount, cap.limitCount),
      ...(other.paced || cap.paced ? { paced: true } : {}),
    };
    return;
  }
  caps.push(cap);
}

function leaveOpen(draft: Draft, rule: CompiledRule): OpenRule {
  const open = { rule: rule.name, passes: rule.event.type === 'pass', missing: missingOf(rule) };
  draft.open.push(open);
  return open;
}

/** Undecided limits that another rule made no matter stay closed. The frame is still loaded. */
function leaveLimitsOpen(draft: Draft): void {
  if (draft.undecidedLimits.length === 0) return;
  const tight = new Set(Object.values(draft.limitRules));
  for (const rule of draft.undecidedLimits) if (tight.has(rule.name)) leaveOpen(draft, rule);
}

/** Lets a rule whose condition is not false have its effect; false when it has none. */
function apply(
  ruleSet: Derived,
  draft: Draft,
  rule: CompiledRule,
  certain: boolean,
  facts: Facts,
  offerFacts: Facts,
  at: EpochMs,
): boolean {
  const { event } = rule;
  switch (event.type) {
    case 'pass':
      if (certain) draft.certain.push({ code: event.code, rule: rule.name, text: event.reason });
      else if (event.ignoresMissing) return false;
      else draft.undecided.push(missingReason(rule, leaveOpen(draft, rule).missing, facts));
      return true;
    case 'limit':
      if (!certain) {
        draft.certainLimits ??= { ...draft.limits };
        draft.undecidedLimits.push(rule);
      }
      tighten(draft, rule.name, event.limits, certain);
      if (event.byFact.length > 0) tightenByFact(draft, rule, certain, ruleSet, facts, offerFacts);
      return true;
    case 'cap': {
      if (!certain) leaveOpen(draft, rule);
      const cap = event.reserve(facts, offerFacts, at);
      const unknown = unknownKeyFacts(event.keyFacts, facts, offerFacts);
      if (unknown.length > 0) lack(draft, rule, unknown, facts);
      if (cap === null) lackValues(draft, rule, ruleSet, event.byFact, facts, offerFacts);
      else addCap(draft.caps, cap);
      return true;
    }
    case 'economics':
      if (!certain) {
        if (event.changes.some(([field]) => draft.economics[field] === undefined)) leaveOpen(draft, rule);
        return false;
      }
      for (const [field, value] of event.changes) draft.economics[field] ??= value;
      return true;
    case 'segment':
      if (draft.segmentKeys !== null) return false;
      if (!certain) {
        leaveOpen(draft, rule);
        return false;
      }
      draft.segmentKeys = event.keysOf(facts);
      return true;
    case 'strategy':
      if (draft.strategy !== null) return false;
      if (!certain) {
        leaveOpen(draft, rule);
        return false;
      }
      draft.strategy = event.strategy;
      return true;
    case 'experiment':
      if (!certain) {
        leaveOpen(draft, rule);
        return false;
      }
      return assign(draft, event.experiment, facts);
    case 'review': {
      if (!certain) leaveOpen(draft, rule);
      const { queue, minutes, otherwise } = event;
      draft.reviews.push({ rule: rule.name, queue, minutes, otherwise });
      return true;
    }
    default:
      return event satisfies never;
  }
}

/** Without a worker there is nobody who could be treated always alike. True when treated: to be compared with is no effect. */
function assign(draft: Draft, experiment: CompiledExperiment, facts: Facts): boolean {
  const { name, layer, share } = experiment;
  const worker = facts['worker.key'];
  if (typeof worker !== 'string' || draft.experiments.some((other) => other.layer === layer)) return false;
  const isTreated = shareOf(`${layer}/${name}`, worker) < share;
  draft.experiments.push({ name, layer, arm: isTreated ? 'treated' : 'control' });
  if (isTreated) draft.treatments.push(experiment);
  return isTreated;
}

/** What those treated are treated with comes before all else; of two layers the rule that comes first. */
function treated(draft: Draft): Pick<RequestVerdict, 'economics' | 'strategy'> {
  const economics = { ...draft.economics };
  const changed = new Set<keyof Economics>();
  let strategy: Strategy | null = null;
  for (const treatment of draft.treatments) {
    strategy ??= treatment.strategy;
    for (const [field, value] of treatment.changes) {
      if (changed.has(field)) continue;
      changed.add(field);
      economics[field] = value;
    }
  }
  return { economics, strategy: strategy ?? draft.strategy ?? optimise };
}

/** Days compare as text. */
function isValidOn(day: string, { validity }: CompiledRule): boolean {
  if (validity === null) return true;
  return (validity.from === null || validity.from <= day) && (validity.until === null || day <= validity.until);
}

function emptyDraft(): Draft {
  return {
    certain: [],
    undecided: [],
    limits: { ...noLimits },
    limitRules: {},
    certainLimits: null,
    economics: {},
    segmentKeys: null,
    strategy: null,
    caps: [],
    reviews: [],
    experiments: [],
    treatments: [],
    fired: [],
    undecidedLimits: [],
    open: [],
  };
}

function run(
  ruleSet: Derived,
  { rules, frame, places }: StageRules,
  facts: Facts,
  offerFacts: Facts,
  at: EpochMs,
  snoozed: ReadonlySet<string> | null,
): Draft {
  const draft = emptyDraft();
  const day = dayOf(at);
  frame.load(facts, offerFacts);
  const { truths } = frame;
  for (let index = 0; index < places.length; index += 1) {
    const truth = truths[places[index]!];
    if (truth === isFalse) continue;
    const rule = rules[index]!;
    if (!isValidOn(day, rule) || snoozed?.has(rule.name)) continue;
    if (apply(ruleSet, draft, rule, truth === isTrue, facts, offerFacts, at)) draft.fired.push(rule.name);
  }
  leaveLimitsOpen(draft);
  return draft;
}

/** What one rule says where there is no other. `passes`: it is a pass; else `limits` hold. `missing`: empty, where it is true. */
export type AloneVerdict = { rule: string; passes: boolean; limits: Limits; missing: readonly string[] };

/** The rules of both stages that pass or limit and are not false, each as if it were the only one. */
export function verdictsAlone(ruleSet: RuleSet, facts: Facts, offerFacts: Facts, at: EpochMs): AloneVerdict[] {
  const day = dayOf(at);
  const verdicts: AloneVerdict[] = [];
  for (const { rules, frame, places } of [ruleSet.request, ruleSet.offer]) {
    frame.load(facts, offerFacts);
    const { truths } = frame;
    for (const [index, rule] of rules.entries()) {
      const truth = truths[places[index]!];
      const { type } = rule.event;
      if (truth === isFalse || (type !== 'pass' && type !== 'limit') || !isValidOn(day, rule)) continue;
      const draft = emptyDraft();
      const certain = truth === isTrue;
      if (!apply(ruleSet, draft, rule, certain, facts, offerFacts, at)) continue;
      const passes = draft.certain.length + draft.undecided.length > 0;
      const unknown = [...(certain ? [] : missingOf(rule)), ...draft.open.flatMap(({ missing }) => missing)];
      verdicts.push({ rule: rule.name, passes, limits: draft.limits, missing: [...new Set(unknown)] });
    }
  }
  return verdicts;
}

/** Least above most is a conflict. */
export const oppositeLimits = [
  ['minRateHundredths', 'maxRateHundredths'],
  ['minAmountCents', 'maxAmountCents'],
  ['minInstallments', 'maxInstallments'],
  ['minInstallmentCents', 'maxInstallmentCents'],
] as const;

function limitConflicts(limits: Limits, limitRules: Draft['limitRules']): Reason[] {
  const conflicts: Reason[] = [];
  for (const [min, max] of oppositeLimits) {
    const least = limits[min];
    const most = limits[max];
    if (least === null || most === null || least <= most) continue;
    const text = `"${limitRules[min]}" wants ${min} ${least}, "${limitRules[max]}" wants ${max} ${most}.`;
    conflicts.push({ code: 'limits-conflict', rule: limitRules[min] ?? null, text });
  }
  return conflicts;
}

/**
 * Rules of the request stage, before pricing. `facts` from `factsOf`; `at` resolves the windows of caps. `snoozed`: names of rules that
 * have no say; null: none.
 */
export function evaluateRequest(
  ruleSet: RuleSet,
  facts: Facts,
  at: EpochMs,
  snoozed: ReadonlySet<string> | null = null,
): RequestVerdict {
  const draft = run(ruleSet, ruleSet.request, facts, noFacts, at, snoozed);
  const { certain, certainLimits, limits, limitRules } = draft;
  const conflicts = limitConflicts(limits, limitRules);
  const isConflict = certainLimits === null ? conflicts.length > 0 : limitConflicts(certainLimits, {}).length > 0;
  return {
    passes: [...certain, ...conflicts, ...draft.undecided],
    refused: certain.length > 0 || isConflict,
    open: draft.open,
    limits,
    limitRules,
    ...(draft.treatments.length === 0
      ? { economics: draft.economics, strategy: draft.strategy ?? optimise }
      : treated(draft)),
    segmentKeys: draft.segmentKeys ?? [wholeMarket],
    experiments: draft.experiments,
    untreated: draft.economics,
    caps: draft.caps,
    reviews: draft.reviews,
    fired: draft.fired,
  };
}

/** Rules of the offer stage, once, after pricing. `offerFacts` from `offerFactsOf`. */
export function evaluateOffer(
  ruleSet: RuleSet,
  facts: Facts,
  offerFacts: Facts,
  at: EpochMs,
  snoozed: ReadonlySet<string> | null = null,
): OfferVerdict {
  const draft = run(ruleSet, ruleSet.offer, facts, offerFacts, at, snoozed);
  const { certain, undecided, caps, fired, open } = draft;
  return { passes: [...certain, ...undecided], caps, fired, open };
}
