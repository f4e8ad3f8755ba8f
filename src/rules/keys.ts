/** Keys made from facts: under which segments an auction is learnt, and under which caps exposure is reserved. */
import { dayKeys, windowKeys } from '../domain/cap-book.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { CapReservation } from '../domain/offer.ts';
import { type Facts, type FactValue, keysOfFacts } from './facts.ts';
import type { CapRule, Dimension } from './rule.ts';

/**
 * Stands for a fact that is absent: those requests share one segment. Under a cap it stands for texts that are too long, and for what
 * earlier versions let share one cap.
 */
export const absent = '?';

/** The segment that every auction belongs to. */
export const wholeMarket = 'all';

const plain = /^[A-Za-z0-9_.-]{1,80}$/;

type Label = (facts: Facts) => string;

function rangeLabels(cuts: readonly number[]): readonly string[] {
  const inner = cuts.slice(1).map((cut, index) => `${cuts[index]}-${cut}`);
  return [`<${cuts[0]}`, ...inner, `${cuts.at(-1)}+`];
}

function compileDimension({ fact, cuts }: Dimension): Label {
  if (cuts === null) {
    return (facts) => {
      const value = facts[fact];
      return `|${fact}=${typeof value === 'string' || typeof value === 'boolean' ? value : absent}`;
    };
  }
  const labels = rangeLabels(cuts).map((label) => `|${fact}=${label}`);
  const unknown = `|${fact}=${absent}`;
  return (facts) => {
    const value = facts[fact];
    if (typeof value !== 'number' || Number.isNaN(value)) return unknown;
    let part = 0;
    while (part < cuts.length && value >= cuts[part]!) part += 1;
    return labels[part]!;
  };
}

/**
 * The whole market, each dimension alone, then the dimensions together one by one, so that the order in which they are
 * listed matters little: `all`, `all|a=1`, `all|b=2`, `all|a=1|b=2`, … Labels start with `|`.
 */
export function segmentKeysOf(labels: readonly string[]): readonly string[] {
  const keys = [wholeMarket, ...labels.map((label) => wholeMarket + label)];
  let together = keys[1]!;
  for (const label of labels.slice(1)) {
    together += label;
    keys.push(together);
  }
  return keys;
}

/** The same few segments come again and again: their keys are made once. Lists are shared, and never changed. */
const sharedKeys = 4_096;

export function compileSegment(dimensions: readonly Dimension[]): (facts: Facts) => readonly string[] {
  const labels = dimensions.map(compileDimension);
  const made = new Map<string, readonly string[]>();
  return (facts) => {
    const own = labels.map((label) => label(facts));
    const together = own.join('');
    const known = made.get(together);
    if (known !== undefined) return known;
    if (made.size >= sharedKeys) made.clear();
    const keys = segmentKeysOf(own);
    made.set(together, keys);
    return keys;
  };
}

/**
 * A share in [0, 1) that is always the same for one unit under one salt, and says nothing under another: FNV-1a with the last
 * steps of MurmurHash3, which spread it evenly.
 */
export function shareOf(salt: string, unit: string): number {
  const text = `${salt}|${unit}`;
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 4_294_967_296;
}

export function keyPart(value: FactValue | undefined): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || value.length > 80) return absent;
  return plain.test(value) ? value : encodeURIComponent(value.toWellFormed());
}

/** The fact, or what stands for it in a key; what would not tell requests apart does not do so by what stands for it either. */
export function clearPart(facts: Facts, fact: string): string {
  const part = keyPart(facts[fact]);
  const stands = facts[keysOfFacts];
  return part === absent || stands === undefined || !Object.hasOwn(stands, fact) ? part : stands[fact]!;
}

/** Null: a limit is told by a fact, and that cannot be told. */
export type CompiledCap = (facts: Facts, offerFacts: Facts, at: EpochMs) => CapReservation | null;
export type ReadNumber = (fact: string, facts: Facts, offerFacts: Facts) => number | null;

/** A limit from below nothing is none left. */
function atMost(value: number | null): number | null {
  return value === null ? null : Math.max(0, Math.floor(value + roundingSlack));
}

/** What a number of reais may lack of a whole cent because it is a binary fraction. */
const roundingSlack = 1e-6;

export function compileCap(rule: CapRule, read: ReadNumber): CompiledCap {
  const { name, keyFacts, windowHours, paced, amountFact, countFact } = rule;
  return (facts, offerFacts, at) => {
    let { limitAmountCents, limitCount } = rule;
    if (amountFact !== null) {
      const reais = read(amountFact, facts, offerFacts);
      if (reais === null) return null;
      limitAmountCents = atMost(reais * 100);
    }
    if (countFact !== null) {
      limitCount = atMost(read(countFact, facts, offerFacts));
      if (limitCount === null) return null;
    }
    let key = name;
    for (const fact of keyFacts) {
      key += `|${fact}=${fact.startsWith('offer.') ? keyPart(offerFacts[fact]) : clearPart(facts, fact)}`;
    }
    if (windowHours === null) {
      const cap = { keys: dayKeys(key, at), limitAmountCents, limitCount };
      return paced ? { ...cap, paced } : cap;
    }
    return { keys: windowKeys(key, windowHours, at), limitAmountCents, limitCount };
  };
}
