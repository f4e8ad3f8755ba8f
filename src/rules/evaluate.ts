/** Runs a compiled rule set on facts and combines what fired, as the table of events in DESIGN says. */
import { dayOf } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { CapReservation, Reason } from '../domain/offer.ts';
import { type Economics, type Limits, noLimits, type Strategy } from '../domain/policy.ts';
import { isFalse, isTrue } from './compile.ts';
import type { Facts } from './facts.ts';
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
  /** Experiments that the worker is in, treated or to compare with; at most one of a layer. */
  experiments: readonly Assignment[];
  /** Economics as they would be without any treatment. */
  untreated: Partial<Economics>;
  /** Names of the rules that had an effect, in order of evaluation. */
  fired: readonly string[];
};

export type Assignment = { name: string; layer: string; arm: 'treated' | 'control' };

export type OfferVerdict = Pick<RequestVerdict, 'passes' | 'caps' | 'fired'>;

const noFacts: Facts = {};
const optimise: Strategy = { kind: 'optimise' };

type Draft = {
  certain: Reason[];
  undecided: Reason[];
  limits: Limits;
  limitRules: Partial<Record<keyof Limits, string>>;
  economics: Partial<Economics>;
  segmentKeys: readonly string[] | null;
  strategy: Strategy | null;
  caps: CapReservation[];
  experiments: Assignment[];
  treatments: CompiledExperiment[];
  fired: string[];
};

function missingReason(rule: CompiledRule): Reason {
  const missing = new Set<string>();
  rule.collectMissing(missing);
  const names = [...missing];
  return {
    code: `fact-missing:${names[0]}`,
    rule: rule.name,
    text: `"${rule.name}" cannot be decided: ${names.join(', ')} missing.`,
  };
}

function tighten(draft: Draft, rule: string, limits: readonly CompiledLimit[]): void {
  for (const { field, value, tightWhenHigh } of limits) {
    const than = draft.limits[field];
    if (than !== null && (tightWhenHigh ? value <= than : value >= than)) continue;
    draft.limits[field] = value;
    draft.limitRules[field] = rule;
  }
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

/** Lets a rule whose condition is not false have its effect; false when it has none. */
function apply(
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
      else draft.undecided.push(missingReason(rule));
      return true;
    case 'limit':
      tighten(draft, rule.name, event.limits);
      return true;
    case 'cap':
      addCap(draft.caps, event.reserve(facts, offerFacts, at));
      return true;
    case 'economics':
      if (!certain) return false;
      for (const [field, value] of event.changes) draft.economics[field] ??= value;
      return true;
    case 'segment':
      if (!certain || draft.segmentKeys !== null) return false;
      draft.segmentKeys = event.keysOf(facts);
      return true;
    case 'strategy':
      if (!certain || draft.strategy !== null) return false;
      draft.strategy = event.strategy;
      return true;
    case 'experiment':
      return certain && assign(draft, event.experiment, facts);
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

function run({ rules, frame, places }: StageRules, facts: Facts, offerFacts: Facts, at: EpochMs): Draft {
  const draft: Draft = {
    certain: [],
    undecided: [],
    limits: { ...noLimits },
    limitRules: {},
    economics: {},
    segmentKeys: null,
    strategy: null,
    caps: [],
    experiments: [],
    treatments: [],
    fired: [],
  };
  const day = dayOf(at);
  frame.load(facts, offerFacts);
  const { truths } = frame;
  for (let index = 0; index < places.length; index += 1) {
    const truth = truths[places[index]!];
    if (truth === isFalse) continue;
    const rule = rules[index]!;
    if (!isValidOn(day, rule)) continue;
    if (apply(draft, rule, truth === isTrue, facts, offerFacts, at)) draft.fired.push(rule.name);
  }
  return draft;
}

const opposites = [
  ['minRateHundredths', 'maxRateHundredths'],
  ['minAmountCents', 'maxAmountCents'],
  ['minInstallments', 'maxInstallments'],
  ['minInstallmentCents', 'maxInstallmentCents'],
] as const;

function limitConflicts({ limits, limitRules }: Draft): Reason[] {
  const conflicts: Reason[] = [];
  for (const [min, max] of opposites) {
    const least = limits[min];
    const most = limits[max];
    if (least === null || most === null || least <= most) continue;
    const text = `"${limitRules[min]}" wants ${min} ${least}, "${limitRules[max]}" wants ${max} ${most}.`;
    conflicts.push({ code: 'limits-conflict', rule: limitRules[min] ?? null, text });
  }
  return conflicts;
}

/** Rules of the request stage, before pricing. `facts` from `factsOf`; `at` resolves the windows of caps. */
export function evaluateRequest(ruleSet: RuleSet, facts: Facts, at: EpochMs): RequestVerdict {
  const draft = run(ruleSet.request, facts, noFacts, at);
  return {
    passes: [...draft.certain, ...limitConflicts(draft), ...draft.undecided],
    limits: draft.limits,
    limitRules: draft.limitRules,
    ...(draft.treatments.length === 0
      ? { economics: draft.economics, strategy: draft.strategy ?? optimise }
      : treated(draft)),
    segmentKeys: draft.segmentKeys ?? [wholeMarket],
    experiments: draft.experiments,
    untreated: draft.economics,
    caps: draft.caps,
    fired: draft.fired,
  };
}

/** Rules of the offer stage, once, after pricing. `offerFacts` from `offerFactsOf`. */
export function evaluateOffer(ruleSet: RuleSet, facts: Facts, offerFacts: Facts, at: EpochMs): OfferVerdict {
  const draft = run(ruleSet.offer, facts, offerFacts, at);
  return { passes: [...draft.certain, ...draft.undecided], caps: draft.caps, fired: draft.fired };
}
