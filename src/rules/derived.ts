/** Facts that a rule set makes of others: whether the request is on a list, what a table says of it, what is computed, what a scorecard sums up. */
import type { FactDefinition, Facts, FactValue } from './facts.ts';

export type DerivedFact = {
  definition: FactDefinition;
  /** Undefined: it cannot be told. */
  value: (facts: Facts, offerFacts: Facts) => FactValue | undefined;
  /** Facts of the request or the offer that it may look at. */
  uses: readonly string[];
  /** Those of them that it is unknown without. */
  needed: readonly string[];
  /** Facts of value tables among what it is made of; a fact of a table reads itself. */
  reads?: readonly string[];
  /** Those whose absence leaves it unknown; called only when it is. None: it is unknown whatever they are. */
  lacking: (facts: Facts, offerFacts: Facts) => readonly string[];
  /** It is known whenever what it needs is. */
  isTotal: boolean;
  /** A request may carry a fact of the same name, which counts for nothing. */
  comesFirst: boolean;
  /** Tests may say it themselves. */
  isSettable?: true;
  /** Of a scorecard: what each characteristic gave. */
  parts?: (facts: Facts, offerFacts: Facts) => readonly ScoredPart[];
};

/** `bin` null: it is unknown; `points` null: so is the score. */
export type ScoredPart = { fact: string; seen: FactValue | null; bin: string | null; points: number | null };

export type DerivedFacts = ReadonlyMap<string, DerivedFact>;

/** Names under `offer.` come from the offer. */
export function baseFact(facts: Facts, offerFacts: Facts, name: string): FactValue | undefined {
  return (name.startsWith('offer.') ? offerFacts : facts)[name];
}

/** A fact as it is, or as it is made. */
export function factIn(derived: DerivedFacts, name: string, facts: Facts, offerFacts: Facts): FactValue | undefined {
  return derived.get(name)?.value(facts, offerFacts) ?? baseFact(facts, offerFacts, name);
}

/** Of a fact of any kind; null: it is no number, or cannot be told. */
export function numberOf(derived: DerivedFacts, name: string, facts: Facts, offerFacts: Facts): number | null {
  const source = derived.get(name);
  const value = source === undefined ? baseFact(facts, offerFacts, name) : source.value(facts, offerFacts);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The fact itself, or what it is made of. */
export function basesOf(derived: DerivedFacts, name: string): readonly string[] {
  return derived.get(name)?.uses ?? [name];
}
