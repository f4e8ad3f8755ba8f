/**
 * How the sandbox reads a body: in the contract's casing and types, to the letter. Written on its own: the client's tables in
 * `wire` must not be able to agree with it on a mistake.
 */
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';

type Scalar = 'string' | 'number' | 'boolean' | 'date-time' | 'date' | 'any';
/**
 * Keys as the contract writes them, with marks: `!` has to be there, `~` its object's keys may come in any case (where the
 * contract writes them in two). A list is written as a list of one shape.
 */
export type Shape = Scalar | { readonly [key: string]: Shape } | readonly [Shape];

const dateTime = /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/;
const date = /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])$/;

const fits: Record<Scalar, (value: JsonValue) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' || isRawNumber(value),
  boolean: (value) => typeof value === 'boolean',
  'date-time': (value) => typeof value === 'string' && dateTime.test(value),
  date: (value) => typeof value === 'string' && date.test(value),
  any: () => true,
};

export type ReadBody = { kind: 'read'; body: JsonObject } | { kind: 'invalid'; problems: readonly string[] };

/** Every problem at once. */
export function readStrictly(text: string, shape: Shape): ReadBody {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') return { kind: 'invalid', problems: [parsed.text] };
  const problems: string[] = [];
  const body = judge(parsed.value, shape, '', false, problems);
  return problems.length > 0 || !isJsonObject(body) ? { kind: 'invalid', problems } : { kind: 'read', body };
}

function judge(value: JsonValue, shape: Shape, path: string, anyCase: boolean, problems: string[]): JsonValue {
  const at = path === '' ? 'the body' : path;
  if (typeof shape === 'string') {
    if (!fits[shape](value)) problems.push(`${at} is no ${shape}`);
    return value;
  }
  if (isListShape(shape)) {
    if (!Array.isArray(value)) problems.push(`${at} is no list`);
    else return value.map((item, index) => judge(item, shape[0], `${path}/${index}`, anyCase, problems));
    return value;
  }
  if (!isJsonObject(value)) {
    problems.push(`${at} is no object`);
    return value;
  }
  return judgeObject(value, shape as Readonly<Record<string, Shape>>, path, anyCase, problems);
}

function judgeObject(
  value: JsonObject,
  shape: Readonly<Record<string, Shape>>,
  path: string,
  anyCase: boolean,
  problems: string[],
): JsonObject {
  const found: JsonObject = { ...value };
  for (const [marked, inner] of Object.entries(shape)) {
    const key = marked.replace(/[!~]+$/, '');
    const marks = marked.slice(key.length);
    const written = anyCase ? Object.keys(value).find((name) => name.toLowerCase() === key.toLowerCase()) : key;
    const own = written === undefined ? undefined : value[written];
    if (own === undefined || own === null) {
      if (marks.includes('!')) problems.push(`${path}/${key} is missing`);
      continue;
    }
    found[key] = judge(own, inner, `${path}/${key}`, marks.includes('~'), problems);
  }
  return found;
}

function isListShape(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}

/** A number of a body that was read as one; NaN where there is none. */
export function numberAt(body: JsonObject, key: string): number {
  const value = body[key];
  if (isRawNumber(value)) return Number(value.rawJSON);
  return typeof value === 'number' ? value : Number.NaN;
}

/** Every digit of a number, as it was written; empty where there is none. */
export function digitsAt(body: JsonObject, key: string): string {
  const value = body[key];
  return isRawNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : '';
}

export function textAt(body: JsonObject, key: string): string {
  const value = body[key];
  return typeof value === 'string' ? value : '';
}

export function objectAt(body: JsonObject, key: string): JsonObject {
  const value = body[key];
  return isJsonObject(value) ? (value as JsonObject) : {};
}

export function listAt(body: JsonObject, key: string): readonly JsonObject[] {
  const value = body[key];
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isJsonObject(item)) : [];
}

/** Reais to cents. */
export function centsAt(body: JsonObject, key: string): number {
  return Math.round(numberAt(body, key) * 100);
}

export function isGiven(body: JsonObject, key: string): boolean {
  return body[key] !== undefined && body[key] !== null;
}
