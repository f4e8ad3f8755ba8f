/** What a schema has against a value, in words: the field, what is wrong, what to write. Never the value, which may name a worker. */

import type { z } from 'zod';
import { nearestWord } from '../../domain/nearest-word.ts';
import { printable } from '../../domain/printable.ts';
import { isPlaceholder, leftOpenProblem, placeholdersIn } from '../../origination/placeholders.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import { isRawNumber } from '../../wire/json.ts';
import { fieldsAt, partAt, type Unit, unitAt } from './described.ts';

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object { … }',
  record: 'an object { … }',
  array: 'a list [ … ]',
};

const formats: Readonly<Record<string, string>> = {
  date: 'a day such as 2026-11-30',
  datetime: 'a time with its zone, such as 2026-11-30T12:00:00-03:00',
};

function sizeOf(origin: string, bound: number | bigint, which: 'least' | 'most'): string {
  const unit = origin === 'string' ? ' characters' : origin === 'array' ? ' entries' : '';
  return `write at ${which} ${bound}${unit}`;
}

export const longestKey = 60;
export const mostKeys = 10;

/** Keys are the sender's own: shortened, and never a CPF. */
export function keyText(key: string): string {
  return printable(withoutCpf(key, longestKey));
}

function keysText(keys: readonly string[]): string {
  const shown = keys.slice(0, mostKeys).map(keyText);
  return keys.length > mostKeys ? `${shown.join(', ')} and ${keys.length - mostKeys} more` : shown.join(', ');
}

/** zod's own words begin like this; a schema's own are better than any made here. */
const ownWords = /^(?:Invalid |Too (?:big|small)|Unrecognized )/;

const unitless: readonly Unit[] = ['a count', 'a probability from 0 to 1', 'a number as it stands, without a unit'];

/** Keys that are not known, and what the first one was probably meant to be: a field, or a field of one of the fields. */
function unknownText(keys: readonly string[], fields: Fields | null): string {
  const text = `take out what is not known here: ${keysText(keys)}`;
  const [key] = keys;
  if (fields === null || key === undefined) return text;
  const within = [...fields].filter(([, inner]) => inner.includes(key)).map(([holder]) => `${holder}.${key}`);
  const meant = within.length === 0 ? nearestWord(key.slice(0, longestKey), [...fields.keys()]) : within.join(' or ');
  const isShort = fields.size > 0 && fields.size <= mostKeys;
  const known = isShort ? `; known are ${[...fields.keys()].join(', ')}` : '';
  return `${text}${known}${meant === null ? '' : `; did you mean ${meant}?`}`;
}

type Fields = ReadonlyMap<string, readonly string[]>;

/** What to write instead: the kind, the allowed values, or the limit, in the unit of the field. `fields`: of the part that it is about. */
export function remedyOf(issue: z.core.$ZodIssue, unit: Unit | null, fields: Fields | null = null): string {
  if (!ownWords.test(issue.message)) return issue.message;
  const inUnit = unit === null || unitless.includes(unit) ? '' : `, in ${unit}`;
  switch (issue.code) {
    case 'invalid_type':
      return `write ${kindWanted(issue.expected, unit)}${inUnit}`;
    case 'invalid_format': {
      const words = formats[issue.format];
      if (words !== undefined) return `write ${words}`;
      return `write a text of the form ${issue.format === 'regex' ? issue.pattern : issue.format}`;
    }
    case 'too_small':
      return sizeOf(issue.origin, issue.minimum, 'least') + inUnit;
    case 'too_big':
      return sizeOf(issue.origin, issue.maximum, 'most') + inUnit;
    case 'unrecognized_keys':
      return unknownText(issue.keys, fields);
    case 'invalid_value':
      return `write one of ${issue.values.join(', ')}`;
    case 'invalid_union': {
      const choices = issue.errors.flat().flatMap((each) => (each.code === 'invalid_value' ? each.values : []));
      return choices.length === 0 ? 'this is none of the forms that it may have' : `write one of ${choices.join(', ')}`;
    }
    default:
      return issue.message;
  }
}

/** Of something counted in whole units a fraction is none. */
function kindWanted(expected: string, unit: Unit | null): string {
  return expected === 'number' && unit?.startsWith('whole ') ? kinds.int! : (kinds[expected] ?? expected);
}

function valueAt(sent: unknown, path: readonly PropertyKey[]): unknown {
  let at = sent;
  for (const part of path) at = (at as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return at;
}

/** Whether nothing was sent at a place. */
export function isMissing(sent: unknown, path: readonly PropertyKey[]): boolean {
  return valueAt(sent, path) === undefined;
}

/** A number of many digits is kept as it was written, which no schema takes for a number: what counts is how large it is. */
function asNumber(issue: z.core.$ZodIssue, value: unknown, schema: z.ZodType): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_type') return [issue];
  const sent = valueAt(value, issue.path);
  const part = isRawNumber(sent) ? partAt(schema, issue.path) : null;
  if (!isRawNumber(sent) || part === null) return [issue];
  const issues = part.safeParse(Number(sent.rawJSON)).error?.issues ?? [issue];
  return issues.map((each) => ({ ...each, path: issue.path }));
}

/** Of several limits that one number is beyond only the narrowest helps: whole numbers have a limit of their own in every schema. */
function narrowest(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  const byPlace = new Map<unknown, z.core.$ZodIssue>();
  for (const issue of issues) {
    const isLimit = issue.code === 'too_big' || issue.code === 'too_small';
    const place = isLimit ? JSON.stringify([issue.code, issue.path]) : issue;
    const other = byPlace.get(place);
    if (other === undefined || isNarrower(issue, other)) byPlace.set(place, issue);
  }
  return [...byPlace.values()];
}

function isNarrower(one: z.core.$ZodIssue, other: z.core.$ZodIssue): boolean {
  if (one.code === 'too_big' && other.code === 'too_big') return one.maximum < other.maximum;
  return one.code === 'too_small' && other.code === 'too_small' && one.minimum > other.minimum;
}

/** `unknown`: the keys in that part that are not known. */
type PartFault = { path: readonly PropertyKey[]; unknown: readonly string[]; rule: string; text: string };

/** What a schema has against a value, part by part: what is wrong, and what to write instead. */
export function faultsOf(issues: readonly z.core.$ZodIssue[], value: unknown, schema: z.ZodType): PartFault[] {
  const faults = narrowest(issues.flatMap((issue) => asNumber(issue, value, schema))).map((issue) => {
    if (isPlaceholder(valueAt(value, issue.path))) return leftOpenAt(issue.path);
    const remedy = remedyOf(issue, unitAt(schema, issue.path), fieldsAt(schema, issue.path));
    const text = `${isMissing(value, issue.path) ? 'is missing; ' : ''}${remedy}`;
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [];
    return { path: issue.path, unknown, rule: issue.code, text };
  });
  if (!faults.some(({ text }) => text === leftOpenProblem)) return faults;
  // Name everything that is refused at once, also texts that have room for a placeholder.
  const said = new Set(faults.map(({ path }) => path.join('.')));
  const others = placeholdersIn(value).filter((place) => !said.has(place));
  return [...faults, ...others.map((place) => leftOpenAt(place.split('.')))];
}

function leftOpenAt(path: readonly PropertyKey[]): PartFault {
  return { path, unknown: [], rule: 'filled-in', text: leftOpenProblem };
}

/** In place of a field, where all of a file is meant. */
export const wholeFile = 'the file';

/** What a schema has against a value, part by part: `account.branch`, `is missing; write a text`. The whole value is `the file`. */
export function issueTexts(error: z.ZodError, value: unknown, schema: z.ZodType): [field: string, text: string][] {
  return faultsOf(error.issues, value, schema).map(({ path, text }) => [
    path.length === 0 ? wholeFile : path.join('.'),
    text,
  ]);
}
