/** What a rule set adds to the language: named conditions (`conditions.json`) and lists, as the rules refer to them. */

import type { DerivedFacts } from './derived.ts';
import { factsIn, leafCount } from './extents.ts';
import { catalogue, type FactDefinition, factNamed, type Stage } from './facts.ts';
import type { Json } from './json.ts';
import { isObject, type Place, readObject, refuse, shown, suggestion, within } from './place.ts';
import type { Condition } from './rule.ts';

export type Vocabulary = {
  /** What the set makes of other facts, by the names of those facts. */
  derived: DerivedFacts;
  /** The set comes from the store: what was refused only after it was taken must not keep it from deciding again. */
  stored: boolean;
  /** The condition of that name, or null when it was refused, here or where it stands. */
  named: (name: string, stage: Stage, place: Place) => Condition | null;
  /** Names that no rule has asked for. */
  unused: () => readonly string[];
};

/** A fact of the catalogue, a score, or one that this rule set makes of others; null for what is none, and for `extra.` facts. */
export function definitionOf(name: string, { derived }: Pick<Vocabulary, 'derived'>): FactDefinition | null {
  return derived.get(name)?.definition ?? factNamed(name);
}

/** The names that `definitionOf` knows, but for scores. */
export function factNames({ derived }: Pick<Vocabulary, 'derived'>): readonly string[] {
  return [...catalogue.map(({ name }) => name), ...derived.keys()];
}

type Entry = { value: Json; place: Place; state: 'unread' | 'reading' | 'read'; condition: Condition | null };
export type ReadCondition = (place: Place, value: Json, vocabulary: Vocabulary) => Condition | null;

const conditionName = /^[a-z][a-z0-9-]{0,59}$/;
const maxNamed = 500;

function readEntries(place: Place, value: Json): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const object = readObject(place, value, 'conditions.json', { required: ['conditions'], optional: ['$schema'] });
  if (object === null) return entries;
  const at = within(place, 'conditions');
  const declared = object.conditions!;
  if (!isObject(declared)) {
    refuse(at, `"conditions" is ${shown(declared)}; write an object {"name": {"all": [ … ]}}.`);
    return entries;
  }
  const names = Object.keys(declared);
  if (names.length > maxNamed) refuse(at, `${names.length} conditions are named; keep to ${maxNamed}.`);
  for (const name of names.slice(0, maxNamed)) {
    const here = within(at, name);
    if (conditionName.test(name)) {
      entries.set(name, { value: declared[name]!, place: here, state: 'unread', condition: null });
    } else refuse(here, `The name ${shown(name)} is not lower-case words; write it like "young-worker".`);
  }
  return entries;
}

/** `value` undefined: the rule set has no `conditions.json`. Each condition is read once, when it is first asked for. */
export function createVocabulary(parts: {
  place: Place;
  value: Json | undefined;
  derived: DerivedFacts;
  stored: boolean;
  readCondition: ReadCondition;
}): Vocabulary {
  const entries = parts.value === undefined ? new Map<string, Entry>() : readEntries(parts.place, parts.value);
  const asked = new Set<string>();

  function read(name: string, entry: Entry): Condition | null {
    if (entry.state === 'reading') {
      entry.state = 'read';
      return refuse(entry.place, `The condition "${name}" refers to itself; write out what it means.`);
    }
    if (entry.state === 'unread') {
      entry.state = 'reading';
      const condition = parts.readCondition(entry.place, entry.value, vocabulary);
      entry.condition = condition;
      entry.state = 'read';
    }
    return entry.condition;
  }

  const vocabulary: Vocabulary = {
    derived: parts.derived,
    stored: parts.stored,
    named: (name, stage, place) => {
      const entry = entries.get(name);
      if (entry === undefined) {
        const hint = suggestion(name, [...entries.keys()]) || 'Declare it there.';
        return refuse(place, `The condition ${shown(name)} is not declared in conditions.json. ${hint}`);
      }
      asked.add(name);
      const condition = read(name, entry);
      const isLate = (fact: string) => isOfferFact(fact) || definitionOf(fact, vocabulary)?.stage === 'offer';
      const late = condition === null || stage === 'offer' ? undefined : factsIn(condition).find(isLate);
      if (late === undefined) return condition;
      return refuse(
        place,
        `"${name}" looks at "${late}", which exists only after pricing; give the rule "stage": "offer".`,
      );
    },
    unused: () => [...entries.keys()].filter((name) => !asked.has(name)),
  };
  // Those that nobody uses have to be right all the same.
  for (const [name, entry] of entries) read(name, entry);
  return vocabulary;
}

export function isOfferFact(name: string): boolean {
  return name.startsWith('offer.');
}

/** Named conditions may hold each other, so that a short file can stand for a very long condition. */
export const maxLeaves = 5_000;

export function isTooLong(condition: Condition): boolean {
  return leafCount(condition) > maxLeaves;
}
