/**
 * Block and allow lists: files `lists/NAME.json` of a rule set, each a fact `list.NAME` that says whether the request is
 * on it. Unknown when the fact it looks up is: a list never lets through what it could not look up.
 */
import type { DerivedFact } from './derived.ts';
import { type Facts, listFact, listPrefix } from './facts.ts';
import type { Json } from './json.ts';
import { isObject, type Place, readObject, readText, refuse, shown, suggestion, within } from './place.ts';

export const listFacts = ['worker.key', 'employer.key', 'employer.activityCode'] as const;
export type ListKeyFact = (typeof listFacts)[number];

export type RuleList = {
  name: string;
  description: string;
  fact: ListKeyFact;
  values: readonly string[];
};

/** True, false, or undefined: cannot be told from these facts. */
type ListLookup = (facts: Facts) => boolean | undefined;

const listPath = /^lists\/([a-z][a-z0-9-]{0,59})\.json$/;
const maxListValues = 50_000;

/** The name of the list that a file holds; null for other files. */
export function listNameOf(path: string): string | null {
  return listPath.exec(path)?.[1] ?? null;
}

type Shape = { pattern: RegExp; remedy: string };

const shapes: Readonly<Record<ListKeyFact, Shape>> = {
  'worker.key': {
    pattern: /^[A-Za-z0-9_-]{43}$/,
    remedy: 'write the pseudonym of 43 characters, never a CPF; "lance rules import" makes it',
  },
  'employer.key': {
    pattern: /^(?:[0-9A-Z]{8}|[0-9A-Z]{14}|[A-Za-z0-9_-]{43})$/,
    remedy: 'write a CNPJ (14 characters, no dots), its first 8 for all branches, or a pseudonym of 43',
  },
  'employer.activityCode': {
    pattern: /^(?:\d{2}|\d{3}|\d{5}|\d{7})$/,
    remedy: 'write a CNAE division (2 digits), group (3), class (5) or subclass (7) in quotes, like "4711302"',
  },
};

/** What is wrong with one value of a list over `fact`; null: nothing. Says what to write, never the value itself. */
export function listValueProblem(fact: ListKeyFact, value: string): string | null {
  const { pattern, remedy } = shapes[fact];
  return pattern.test(value) ? null : `This is no ${fact}; ${remedy}.`;
}

/** `checked`: the very same text has passed, so that its values, of which there may be many thousands, are not looked at again. */
export function readList(place: Place, value: Json, name: string, checked = false): RuleList | null {
  const keys = { required: ['description', 'fact', 'values'], optional: ['$schema', 'owner'] };
  const object = readObject(place, value, 'A list', keys);
  if (object === null) return null;
  const description = readText(within(place, 'description'), object.description!, 'The description', 600);
  if ('owner' in object) readText(within(place, 'owner'), object.owner!, 'The owner', 80);
  const fact = listFacts.find((known) => known === object.fact);
  if (fact === undefined) {
    const hint = suggestion(String(object.fact), listFacts);
    return refuse(within(place, 'fact'), `A list over ${shown(object.fact!)} is not possible. ${hint}`);
  }
  const at = within(place, 'values');
  const given = object.values!;
  if (!Array.isArray(given)) return refuse(at, `"values" is ${shown(given)}; write a list of texts.`);
  if (given.length > maxListValues) return refuse(at, `More than ${maxListValues} values; split the list.`);
  if (checked) return description === null ? null : { name, description, fact, values: given as string[] };
  const seen = new Set<string>();
  for (const [index, member] of given.entries()) {
    const problem =
      typeof member === 'string' ? listValueProblem(fact, member) : `This is ${kind(member)}; write a text.`;
    if (problem !== null) refuse(within(at, index), problem);
    else if (seen.has(member as string)) refuse(within(at, index), 'This value is in the list already; remove it.');
    else seen.add(member as string);
  }
  return description === null || seen.size < given.length ? null : { name, description, fact, values: [...seen] };
}

/** Values of lists may be personal, so they are not repeated in faults. */
function kind(value: Json): string {
  if (Array.isArray(value)) return 'a list';
  return isObject(value) ? 'an object' : `a ${value === null ? 'null' : typeof value}`;
}

const rootLength = 8;
const companyLength = 14;
const pseudonym = /^[A-Za-z0-9_-]{43}$/;

/**
 * A company's number comes as the service likes it: with dots, without its leading zeros, or as the root alone. An employer
 * that goes by a pseudonym is a person, or a company whose kind nobody told: that one cannot be looked up.
 */
function employerLookup(values: ReadonlySet<string>): ListLookup {
  const companies = [...values].filter((value) => value.length <= companyLength);
  const rootsOfWhole = new Set(
    companies.filter((value) => value.length === companyLength).map((value) => value.slice(0, rootLength)),
  );
  return (facts) => {
    const key = facts['employer.key'];
    if (typeof key !== 'string') return undefined;
    if (pseudonym.test(key)) {
      if (values.has(key)) return true;
      return facts['employer.idType'] === 'cpf' || companies.length === 0 ? false : undefined;
    }
    const bare = key.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
    const isRoot = bare.length <= rootLength;
    const whole = bare.padStart(isRoot ? rootLength : companyLength, '0');
    if (values.has(whole) || values.has(whole.slice(0, rootLength))) return true;
    return isRoot && rootsOfWhole.has(whole) ? undefined : false;
  };
}

/** A code arrives as a number, so leading zeros are lost: from 100 000 on it is a subclass, from 1 000 on a class. */
function activityLookup(values: ReadonlySet<string>): ListLookup {
  const longest = Math.max(0, ...[...values].map((value) => value.length));
  return (facts) => {
    const code = facts['employer.activityCode'];
    if (typeof code !== 'number' || !Number.isInteger(code) || code < 1_000) return undefined;
    const text = String(code).padStart(code >= 100_000 ? 7 : 5, '0');
    for (const length of [2, 3, 5, 7]) if (length <= text.length && values.has(text.slice(0, length))) return true;
    if (longest <= text.length) return false;
    // A class was told; whether its subclass is on the list cannot be.
    for (const value of values) if (value.startsWith(text)) return undefined;
    return false;
  };
}

/** Whether the request is on the list, as a fact. */
export function listAsFact(list: RuleList): DerivedFact {
  const { name, fact } = list;
  const lookup = compileList(list);
  return {
    definition: listFact(listPrefix + name, fact),
    value: lookup,
    uses: [fact],
    needed: [fact],
    lacking: () => [fact],
    isTotal: false,
    comesFirst: false,
  };
}

function compileList({ fact, values }: RuleList): ListLookup {
  const set = new Set(values);
  switch (fact) {
    case 'worker.key':
      return (facts) => (typeof facts[fact] === 'string' ? set.has(facts[fact]) : undefined);
    case 'employer.key':
      return employerLookup(set);
    case 'employer.activityCode':
      return activityLookup(set);
    default:
      return fact satisfies never;
  }
}
