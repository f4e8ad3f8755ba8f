/** What a schema has against a value, in words: the field, what is wrong, what to write. Never the value, which may name a worker. */

import type { z } from 'zod';
import { nearestWord } from '../../domain/nearest-word.ts';
import { printable } from '../../domain/printable.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import { fieldsAt, type Unit, unitAt } from './described.ts';

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
  datetime: 'a time such as 2026-11-30T12:00:00Z',
};

function sizeOf(origin: string, bound: number | bigint, which: 'least' | 'most'): string {
  const unit = origin === 'string' ? ' characters' : origin === 'array' ? ' entries' : '';
  return `write at ${which} ${bound}${unit}`;
}

export const longestKey = 60;
const mostKeys = 10;

/** Keys are the sender's own: shortened, and never a CPF. */
export function keyText(key: string): string {
  return withoutCpf(printable(key.slice(0, longestKey)));
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
      return `write ${kinds[issue.expected] ?? issue.expected}${inUnit}`;
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

/** Whether nothing was sent at a place. */
export function isMissing(sent: unknown, path: readonly PropertyKey[]): boolean {
  let at = sent;
  for (const part of path) at = (at as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return at === undefined;
}

/** In place of a field, where all of a file is meant. */
export const wholeFile = 'the file';

/** What a schema has against a value, part by part: `account.branch`, `is missing; write a text`. The whole value is `the file`. */
export function issueTexts(error: z.ZodError, value: unknown, schema: z.ZodType): [field: string, text: string][] {
  return error.issues.map((issue) => {
    const field = issue.path.length === 0 ? wholeFile : issue.path.join('.');
    return [
      field,
      `${isMissing(value, issue.path) ? 'is missing; ' : ''}${remedyOf(issue, unitAt(schema, issue.path), fieldsAt(schema, issue.path))}`,
    ];
  });
}
