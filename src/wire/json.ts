/** JSON in and out without losing a digit: the service's ids have up to 19 of them, a double keeps 15. */
import { isUtf8 } from 'node:buffer';

export type JsonValue = string | number | boolean | null | RawNumber | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };
/** A number that a double might not hold, as it was written. Made by `JSON.rawJSON`, so it is written again as it was read. */
export type RawNumber = { readonly rawJSON: string };

/** `exact`: every number that would be written otherwise than it came, as `1.0` and `1e400`, becomes a `RawNumber`; all are looked at. */
export type JsonLimits = { maxBytes: number; maxDepth: number; exact?: true };
const defaultJsonLimits: JsonLimits = { maxBytes: 4 * 1024 * 1024, maxDepth: 64 };

/**
 * `members`: how many the text writes; an object that says a key twice has one fewer. `wide`: an object has more keys than
 * `mostKeys`, and the text was not read any further; it may be JSON.
 */
export type Parsed =
  | { kind: 'parsed'; value: JsonValue; members: number }
  | { kind: 'malformed'; text: string; wide?: true };

/** Keys of one object. Each one that was not met before costs many times what its bytes do. */
const mostKeys = 10_000;

// The type library does not know this proposal yet (ECMAScript "JSON.parse source text access"); Node 24 has it.
const json = JSON as typeof JSON & {
  rawJSON: (text: string) => RawNumber;
  isRawJSON: (value: unknown) => value is RawNumber;
  parse: (
    text: string,
    reviver?: (key: string, value: JsonValue, context: { source?: string }) => JsonValue,
  ) => unknown;
};

const exactDigits = 15;

/**
 * Size and depth are checked before anything is built. Numbers of 16 digits and more become `RawNumber`; all others stay
 * plain. `text` of a malformed body says what is wrong and where, and quotes nothing of it.
 */
export function parseJson(body: Buffer | string, limits: JsonLimits = defaultJsonLimits): Parsed {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  if (bytes.length > limits.maxBytes) {
    return malformed(`the body has ${bytes.length} bytes, more than the ${limits.maxBytes} allowed; send it in parts`);
  }
  if (bytes.length === 0) return malformed('the body is empty; send a JSON object');
  if (!isUtf8(bytes)) return malformed('the body is not UTF-8; send JSON in UTF-8');
  const { depth, long, members, widest } = survey(bytes, limits.maxDepth);
  if (depth > limits.maxDepth) {
    return malformed(`the body nests deeper than the ${limits.maxDepth} levels allowed; flatten it`);
  }
  if (widest > mostKeys) {
    const text = `an object in it has more than the ${mostKeys} keys allowed; send it without them, or in parts`;
    return { kind: 'malformed', text, wide: true };
  }
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const from = hasMark ? 3 : 0;
  try {
    if (limits.exact) {
      const value = json.parse(bytes.toString('utf8', from), keepAsWritten) as JsonValue;
      return { kind: 'parsed', value, members };
    }
    const marked = long.length === 0 ? null : markNumbers(bytes, from, long);
    if (marked !== null) return { kind: 'parsed', value: unmark(json.parse(marked) as JsonValue), members };
    const text = bytes.toString('utf8', from);
    return {
      kind: 'parsed',
      value: (long.length === 0 ? json.parse(text) : json.parse(text, keepDigits)) as JsonValue,
      members,
    };
  } catch (error) {
    // The engine's message quotes the body; only its position is safe to repeat.
    const at = error instanceof Error ? / at position (\d+)( \(line \d+ column \d+\))?$/.exec(error.message) : null;
    return malformed(
      `the body is not JSON${at === null ? '' : ` (position ${at[1]})`}; check quotes, commas and brackets`,
    );
  }
}

function malformed(text: string): Parsed {
  return { kind: 'malformed', text };
}

function keepDigits(_key: string, value: JsonValue, context: { source?: string }): JsonValue {
  if (typeof value !== 'number' || context.source === undefined || context.source.length <= exactDigits) return value;
  return json.rawJSON(context.source);
}

function keepAsWritten(_key: string, value: JsonValue, context: { source?: string }): JsonValue {
  const { source } = context;
  return typeof value !== 'number' || source === undefined || source === String(value) ? value : json.rawJSON(source);
}

/** First character of a text that stands for a long number while the body is parsed: for private use, so rarely met. */
const mark = '\ue000';
const markCode = mark.charCodeAt(0);
const wholeNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The body with its long numbers written as marked texts, so that no reviver has to look at every value, which takes four
 * times as long as the parsing. Null when that could change what the body says.
 */
function markNumbers(bytes: Buffer, from: number, long: readonly Span[]): string | null {
  if (bytes.includes(mark) || bytes.includes('\\ue000') || bytes.includes('\\uE000')) return null;
  const parts: string[] = [];
  let done = from;
  for (const [start, end] of long) {
    const digits = bytes.toString('latin1', start, end);
    // Where a name must stand a number is malformed, and a text would not be.
    if (!wholeNumber.test(digits) || nextByte(bytes, end) === 0x3a) return null;
    parts.push(bytes.toString('utf8', done, start), '"', mark, digits, '"');
    done = end;
  }
  parts.push(bytes.toString('utf8', done));
  return parts.join('');
}

function nextByte(bytes: Buffer, from: number): number | undefined {
  let index = from;
  while (bytes[index] === 0x20 || bytes[index] === 0x09 || bytes[index] === 0x0a || bytes[index] === 0x0d) index += 1;
  return bytes[index];
}

/** Puts the numbers back, in place. */
function unmark(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.charCodeAt(0) === markCode ? json.rawJSON(value.slice(1)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const holder = value as Record<string, JsonValue>;
  for (const key of Object.keys(holder)) {
    const inner = holder[key]!;
    if (typeof inner === 'string' ? inner.charCodeAt(0) === markCode : typeof inner === 'object') {
      holder[key] = unmark(inner);
    }
  }
  return value;
}

type Span = readonly [start: number, end: number];

/** What one pass over the bytes finds. */
type Survey = {
  /** How deep it nests; the pass ends past the limit. */
  depth: number;
  /** Numbers that have more digits than a double keeps. */
  long: readonly Span[];
  members: number;
  /** Keys of the object that has most; the pass ends past `mostKeys`. */
  widest: number;
};

function survey(bytes: Buffer, maxDepth: number): Survey {
  let depth = 0;
  let deepest = 0;
  let digits = 0;
  let members = 0;
  let widest = 0;
  /** Keys so far, of what is open at each depth. */
  const keys = new Uint32Array(maxDepth + 1);
  const long: Span[] = [];
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]!;
    if (byte >= 0x30 && byte <= 0x39) {
      digits += 1;
      if (digits <= exactDigits) continue;
      const span = numberAround(bytes, index);
      long.push(span);
      index = span[1] - 1;
      digits = 0;
      continue;
    }
    // A decimal point does not end a run of digits: 1.234567890123456789 needs them all too.
    if (byte !== 0x2e) digits = 0;
    if (byte === 0x22) {
      index = endOfString(bytes, index + 1);
    } else if (byte === 0x3a) {
      members += 1;
      const own = keys[depth]! + 1;
      keys[depth] = own;
      if (own > widest) widest = own;
      if (widest > mostKeys) break;
    } else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > deepest) deepest = depth;
      if (deepest > maxDepth) break;
      keys[depth] = 0;
    } else if (byte === 0x5d || byte === 0x7d) {
      depth -= 1;
    }
  }
  return { depth: deepest, long, members, widest };
}

/** The number that the byte at `index` belongs to. */
function numberAround(bytes: Buffer, index: number): Span {
  let start = index;
  let end = index + 1;
  while (start > 0 && isOfNumber(bytes[start - 1]!)) start -= 1;
  while (end < bytes.length && isOfNumber(bytes[end]!)) end += 1;
  return [start, end];
}

/** Digits, sign, point, exponent. */
function isOfNumber(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2b || byte === 0x2e || (byte | 0x20) === 0x65;
}

function endOfString(bytes: Buffer, from: number): number {
  let index = from;
  while (index < bytes.length && bytes[index] !== 0x22) index += bytes[index] === 0x5c ? 2 : 1;
  return index;
}

/** The members of all objects in a value. It nests no deeper than the limit that it was parsed with. */
export function membersIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += membersIn(item);
    return count;
  }
  if (isRawNumber(value)) return 0;
  const inner = Object.values<JsonValue>(value as JsonObject);
  count += inner.length;
  for (const each of inner) if (typeof each === 'object') count += membersIn(each);
  return count;
}

/** Whether a value holds more than `most` members of objects and items of lists. It nests no deeper than the limit that it was parsed with. */
export function holdsMoreThan(value: JsonValue, most: number): boolean {
  let left = most;
  const visit = (inner: JsonValue): void => {
    if (typeof inner !== 'object' || inner === null || isRawNumber(inner)) return;
    const held = Array.isArray(inner) ? inner : Object.values<JsonValue>(inner as JsonObject);
    left -= held.length;
    for (const each of held) {
      if (left < 0) return;
      visit(each);
    }
  };
  visit(value);
  return left < 0;
}

/** The first key that an object of a text says twice; null: none does. `json` is well-formed. */
export function repeatedKey(json: string): string | null {
  /** Of each object that is open its keys, of each list null. */
  const open: (Set<string> | null)[] = [];
  let mayBeKey = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : null);
      mayBeKey = true;
    } else if (character === '}' || character === ']') open.pop();
    else if (character === ',') mayBeKey = true;
    else if (character === ':') mayBeKey = false;
    else if (character === '"') {
      const from = at;
      for (at += 1; json[at] !== '"'; at += 1) if (json[at] === '\\') at += 1;
      const keys = open.at(-1);
      if (!mayBeKey || keys == null) continue;
      const key = JSON.parse(json.slice(from, at + 1)) as string;
      if (keys.has(key)) return key;
      keys.add(key);
    }
  }
  return null;
}

/** A number as a text, whichever way it was written: a whole one that a double holds is its digits. */
export function numberText(value: number | RawNumber): string {
  if (!isRawNumber(value)) return String(value);
  const { rawJSON } = value;
  const plain = /[.eE]/.test(rawJSON) ? Number(rawJSON) : Number.NaN;
  return Number.isSafeInteger(plain) ? String(plain) : rawJSON;
}

/** Texts, trimmed, and numbers of at most `longest` characters, with their dotted places; the first `most` of them. */
export function scalarsIn(
  value: JsonValue,
  { longest, most }: { longest: number; most: number },
): { path: string; text: string }[] {
  const found: { path: string; text: string }[] = [];
  const visit = (inner: JsonValue, path: string): void => {
    if (found.length === most) return;
    if (typeof inner === 'string' || typeof inner === 'number' || isRawNumber(inner)) {
      const text = (typeof inner === 'string' ? inner : numberText(inner)).trim();
      if (text !== '' && text.length <= longest) found.push({ path, text });
    } else if (Array.isArray(inner) || isJsonObject(inner)) {
      for (const [key, each] of Object.entries(inner)) visit(each as JsonValue, path === '' ? key : `${path}.${key}`);
    }
  };
  visit(value, '');
  return found;
}

export function isRawNumber(value: unknown): value is RawNumber {
  return typeof value === 'object' && value !== null && json.isRawJSON(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value);
}

/** Digits as JSON writes a whole number: without leading zeros. Other texts stay as they are. */
export function canonicalDigits(text: string): string {
  return /^0+\d+$/.test(text) ? text.replace(/^0+(?=\d)/, '') : text;
}

/**
 * Writes decimal digits as a JSON number, every one of them except leading zeros, which a JSON number cannot have. Throws a
 * `RangeError`, which does not quote the text, for anything else: a stored record may hold what its writer should have refused.
 */
export function numberOfDigits(digits: string): RawNumber {
  if (typeof digits !== 'string' || !/^\d+$/.test(digits)) {
    throw new RangeError('an id that is written as a number holds other characters than decimal digits');
  }
  return json.rawJSON(canonicalDigits(digits));
}

/** What kind of value it is, for an error text that must not quote it. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return isRawNumber(value) ? 'a number' : 'an object';
  if (typeof value === 'string') return value.trim() === '' ? 'an empty text' : 'a text';
  return typeof value === 'boolean' ? 'true or false' : 'a number';
}
