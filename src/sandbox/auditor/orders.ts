/**
 * What people ordered, and when, as whoever gave the orders wrote it down: pauses, caps by hand, rule sets. The desk's own word
 * about any of it is not asked. Cap rules are read from the rule files here, without the code that the desk reads them by.
 */
import type { EpochMs } from '../../domain/glossary.ts';
import type { CapReservation } from '../../domain/offer.ts';
import type { LoanRequest } from '../../domain/request.ts';
import { readBidBytes } from './bid-bytes.ts';
import type { RequestCase } from './run.ts';

/** `until` null: never resumed. Times: when the order was durable. */
export type OrderedPause = { from: EpochMs; until: EpochMs | null };

/** `limitCents` null: removed. */
export type OrderedCap = { at: EpochMs; name: string; limitCents: number | null };

/** In force from this time until the next one begins. */
export type OrderedRules = { from: EpochMs; caps: readonly CapRule[] };

export type Orders = {
  /** In order of time; the first one is in force from the beginning. */
  ruleSets: readonly OrderedRules[];
  /** In order of time. */
  caps: readonly OrderedCap[];
  pauses: readonly OrderedPause[];
};

type FactValue = string | number | boolean | null;
export type Facts = Readonly<Record<string, FactValue>>;
/** Null: a fact that it looks at is not known. */
type Condition = (facts: Facts) => boolean | null;

export type CapRule = {
  name: string;
  keyFacts: readonly string[];
  /** Null: a day in São Paulo. */
  windowHours: number | null;
  limitAmountCents: number | null;
  limitCount: number | null;
  applies: Condition;
};

/** What the auditor knows of a request by itself; a rule that looks at anything else is not judged. */
const knownFacts = [
  'desk.always',
  'employer.key',
  'employer.rootKey',
  'employer.sector',
  'guarantee.present',
  'offer.amountReais',
  'offer.installments',
  'offer.ratePercent',
  'request.amountReais',
  'request.installments',
  'worker.key',
  'worker.politicallyExposed',
] as const;
type KnownFact = (typeof knownFacts)[number];

function isKnown(fact: unknown): fact is KnownFact {
  return (knownFacts as readonly unknown[]).includes(fact);
}

type Json = Readonly<Record<string, unknown>>;

const ruleKeys = ['name', 'description', 'owner', 'stage', 'priority', 'conditions', 'event'];
const hourMs = 3_600_000;
/** São Paulo has had no daylight saving since 2019. */
export const zoneMs = -3 * hourMs;

/** The cap rules of these files, and the names of those that look at what the auditor does not know. */
export function readCapRules(files: readonly { path: string; text: string }[]): { caps: CapRule[]; unread: string[] } {
  const caps: CapRule[] = [];
  const unread: string[] = [];
  for (const { path, text } of files) {
    if (!path.endsWith('.json')) continue;
    const { rules } = JSON.parse(text) as { rules?: readonly Json[] };
    for (const rule of Array.isArray(rules) ? rules : []) {
      const event = rule.event as Json | undefined;
      if (event?.type !== 'cap') continue;
      const cap = readCap(rule, event.params as Json);
      if (cap === null) unread.push(String(rule.name));
      else caps.push(cap);
    }
  }
  return { caps, unread };
}

function readCap(rule: Json, params: Json): CapRule | null {
  const applies = readCondition(rule.conditions as Json);
  const keyFacts = params.keyFacts as readonly string[];
  if (applies === null || !keyFacts.every(isKnown) || !Object.keys(rule).every((key) => ruleKeys.includes(key))) {
    return null;
  }
  const { window, maxAmountReais, maxCount } = params as Record<string, number | undefined> & { window: unknown };
  const hours = window === 'day' ? null : (window as { hours: number }).hours;
  return {
    name: params.name as string,
    keyFacts,
    windowHours: hours,
    limitAmountCents: maxAmountReais === undefined ? null : Math.round(maxAmountReais * 100),
    limitCount: maxCount ?? null,
    applies,
  };
}

/** Null: it asks for something that the auditor cannot tell. */
function readCondition(condition: Json): Condition | null {
  for (const [group, ends] of [
    ['all', false],
    ['any', true],
  ] as const) {
    if (!(group in condition)) continue;
    const parts = (condition[group] as readonly Json[]).map(readCondition);
    if (parts.some((part) => part === null)) return null;
    return (facts) => {
      const truths = parts.map((part) => part!(facts));
      if (truths.includes(ends)) return ends;
      return truths.includes(null) ? null : !ends;
    };
  }
  if ('not' in condition) {
    const part = readCondition(condition.not as Json);
    if (part === null) return null;
    return (facts) => {
      const truth = part(facts);
      return truth === null ? null : !truth;
    };
  }
  const { fact, operator, value } = condition;
  const compare = comparisons[operator as string];
  if (!isKnown(fact) || compare === undefined || typeof value === 'object') return null;
  return (facts) => {
    const own = facts[fact] ?? null;
    return own === null ? null : compare(own, value as FactValue);
  };
}

const comparisons: Readonly<Record<string, (own: NonNullable<FactValue>, value: FactValue) => boolean>> = {
  equal: (own, value) => own === value,
  notEqual: (own, value) => own !== value,
  lessThan: (own, value) => Number(own) < Number(value),
  lessThanInclusive: (own, value) => Number(own) <= Number(value),
  greaterThan: (own, value) => Number(own) > Number(value),
  greaterThanInclusive: (own, value) => Number(own) >= Number(value),
};

type Employer = { id: string; type: number | null; pseudonym: string | null };

/** Null: the request does not say who it is, in a form that can be read. */
function employerOf(request: LoanRequest | undefined): Employer | null {
  if (request === undefined || request.employerId === null || request.unread?.includes('employerId')) return null;
  const pseudonym = request.linkKey ?? request.workerKey;
  return { id: request.employerId, type: request.employerIdType, pseudonym };
}

function signsOf(id: string): string {
  return id.replace(/[^a-z0-9]/gi, '').toUpperCase();
}

/** The establishment. A person as employer is known by the link; so is a number that may be a person's. */
function establishmentOf(employer: Employer | null): string | null {
  if (employer === null) return null;
  const { id, type, pseudonym } = employer;
  const isCompany = type === 1 || (type === null && signsOf(id).length > 11);
  return isCompany ? id : pseudonym;
}

/** The company of all its establishments: the first eight signs of its CNPJ. Null where it is in doubt. */
function companyOf(employer: Employer | null): string | null {
  if (employer === null) return null;
  const { id, type, pseudonym } = employer;
  if (type === 2) return pseudonym;
  const signs = signsOf(id);
  if (signs === '' || signs.length > 14 || (type !== 1 && signs.length < 12)) return null;
  const whole = signs.padStart(14, '0');
  if (signs.length > 8) return whole.slice(0, 8);
  // Without its leading zeros a whole number looks like the root of another company.
  const root = signs.padStart(8, '0');
  const mayBeWhole = /^\d+$/.test(signs) && (signs === '0' || signs[0] !== '0') && isWholeCnpj(whole);
  return mayBeWhole && whole.slice(0, 8) !== root ? null : root;
}

const weights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];

/** By the two digits at its end. */
function isWholeCnpj(digits: string): boolean {
  return [12, 13].every((length) => {
    const own = weights.slice(weights.length - length);
    const rest = own.reduce((sum, weight, index) => sum + weight * Number(digits[index]), 0) % 11;
    return Number(digits[length]) === (rest < 2 ? 0 : 11 - rest);
  });
}

export function factsOf({ truth, evidence }: RequestCase): Facts {
  const request = evidence.requested?.request;
  const employer = employerOf(request);
  const bid = evidence.claim === null ? null : readBidBytes(evidence.claim.body);
  return {
    'desk.always': true,
    'employer.key': establishmentOf(employer),
    'employer.rootKey': request?.unread?.includes('employerIdType') ? null : companyOf(employer),
    'employer.sector': truth?.segment.sector ?? null,
    'guarantee.present': truth === null ? null : truth.guarantee !== null,
    'offer.amountReais': bid === null ? null : bid.amountCents / 100,
    'offer.installments': bid?.installments ?? null,
    'offer.ratePercent': bid === null ? null : bid.rateHundredths / 100,
    'request.amountReais': truth === null ? null : truth.amountCents / 100,
    'request.installments': truth?.installments ?? null,
    'worker.key': request?.unread?.includes('workerKey') ? null : (request?.workerKey ?? null),
    'worker.politicallyExposed': truth?.politicallyExposed ?? null,
  };
}

function dayOf(at: EpochMs): number {
  return Math.floor((at + zoneMs) / (24 * hourMs));
}

/** A rule of a cap applies unless it surely does not. */
export function appliesTo(rule: CapRule, facts: Facts): boolean {
  return rule.applies(facts) !== false;
}

/** What a bid at that time counts under, and what it has to fit into. */
function reservationOf(rule: CapRule, facts: Facts, at: EpochMs): CapReservation | null {
  if (!appliesTo(rule, facts)) return null;
  const { name, keyFacts, windowHours, limitAmountCents, limitCount } = rule;
  const group = [name, ...keyFacts.map((fact) => `${fact}=${facts[fact] ?? '?'}`)].join('|');
  if (windowHours === null) return { keys: [`${group}|day ${dayOf(at)}`], limitAmountCents, limitCount };
  // The hours that lie in the window whole: never more than is in it.
  const hour = Math.floor(at / hourMs);
  const keys = Array.from({ length: windowHours }, (_, back) => `${group}|hour ${hour - back}`);
  return { keys, limitAmountCents, limitCount };
}

export type ControlTimes = {
  /** An order counts so long after it was given at the latest. */
  controlMaxAgeMs: number;
  /** How far clocks of one machine may differ between two stamps. */
  clockToleranceMs: number;
};

/** Of limits that may each have been the one in force, the widest; undefined stands for none at all. */
function widest(limits: readonly (number | null | undefined)[]): number | null {
  let most = 0;
  for (const limit of limits) {
    if (limit === null || limit === undefined) return null;
    most = Math.max(most, limit);
  }
  return most;
}

/** When a bid was decided, and when it was claimed: from then on it counts. */
type ClaimTimes = { decidedAt: EpochMs; at: EpochMs };

/** Each cap that a bid decided then has to keep, whichever of the orders under way had been heard. */
export function capsOrdered(
  orders: Orders,
  known: RequestCase,
  claim: ClaimTimes,
  times: ControlTimes,
): CapReservation[] {
  const byHand = capsByHandAt(orders, claim.decidedAt, times).map(({ name, limitCents }) => {
    return { keys: [`by hand ${name}|day ${dayOf(claim.at)}`], limitAmountCents: limitCents, limitCount: null };
  });
  return [...capsOfRules(orders, factsOf(known), claim, times), ...byHand];
}

/** The rule sets that may have been the one in force. Every process knows before a set begins when it begins. */
export function ruleSetsAt(
  { ruleSets }: Orders,
  decidedAt: EpochMs,
  { clockToleranceMs }: ControlTimes,
): readonly OrderedRules[] {
  return ruleSets.filter(({ from }, index) => {
    const until = ruleSets[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    return from - clockToleranceMs <= decidedAt && decidedAt <= until + clockToleranceMs;
  });
}

function capsOfRules(
  orders: Orders,
  facts: Facts,
  { decidedAt, at }: ClaimTimes,
  times: ControlTimes,
): CapReservation[] {
  const possible = ruleSetsAt(orders, decidedAt, times);
  const byKey = new Map<
    string,
    { reservation: CapReservation; amounts: (number | null)[]; counts: (number | null)[] }
  >();
  for (const { caps } of possible) {
    for (const reservation of caps.flatMap((rule) => reservationOf(rule, facts, at) ?? [])) {
      const key = reservation.keys.join();
      const own = byKey.get(key) ?? { reservation, amounts: [], counts: [] };
      byKey.set(key, own);
      own.amounts.push(reservation.limitAmountCents);
      own.counts.push(reservation.limitCount);
    }
  }
  return [...byKey.values()].map(({ reservation, amounts, counts }) => {
    const isInAll = amounts.length >= possible.length;
    const limitAmountCents = isInAll ? widest(amounts) : null;
    return { keys: reservation.keys, limitAmountCents, limitCount: isInAll ? widest(counts) : null };
  });
}

/** The caps by hand that surely were in force, with the widest limit that each may have had. */
export function capsByHandAt(
  { caps }: Orders,
  at: EpochMs,
  { controlMaxAgeMs, clockToleranceMs }: ControlTimes,
): { name: string; limitCents: number }[] {
  const names = new Set(caps.map(({ name }) => name));
  return [...names].flatMap((name) => {
    const own = caps.filter((cap) => cap.name === name);
    // The limit that the oldest control still obeyed may have had, and each one since.
    const first = own.findLastIndex((cap) => cap.at <= at - controlMaxAgeMs - clockToleranceMs);
    const possible = own.filter((cap, index) => index >= first && cap.at <= at + clockToleranceMs);
    const limits = possible.map(({ limitCents }) => limitCents);
    if (first < 0) limits.push(null);
    // Only what is surely decided under the cap counts against it.
    const limitCents = widest(limits);
    return limitCents === null ? [] : [{ name, limitCents }];
  });
}
