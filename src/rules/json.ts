/**
 * Strict JSON for files that people write. `JSON.parse` takes the last of two equal keys, sets prototypes' names and
 * follows any depth; each of these is a rule that says something else than its author thinks, so they are refused here.
 */

export type Json = null | boolean | number | string | Json[] | JsonObject;
/** Has no prototype. */
export type JsonObject = { [key: string]: Json };

export type ParsedJson =
  | { kind: 'parsed'; value: Json }
  | { kind: 'malformed'; pointer: string; line: number; text: string };

const maxDepth = 32;
/** Some editors begin a file with it; JSON does not know it. */
export const byteOrderMark = '\ufeff';

type Cursor = {
  text: string;
  index: number;
  fault: { pointer: string; line: number; text: string } | null;
  /** Hears where each value begins; null when nobody asks. */
  onValue: ((pointer: string, index: number) => void) | null;
};

function fail(cursor: Cursor, pointer: string, text: string): undefined {
  const before = cursor.text.slice(0, cursor.index);
  const line = before.split('\n').length;
  const column = cursor.index - before.lastIndexOf('\n');
  cursor.fault ??= { pointer, line, text: `Line ${line}, column ${column}: ${text}` };
  return undefined;
}

function skipBlank(cursor: Cursor): string {
  while (true) {
    const character = cursor.text[cursor.index] ?? '';
    if (character !== ' ' && character !== '\n' && character !== '\t' && character !== '\r') return character;
    cursor.index += 1;
  }
}

/** Escapes a key for a JSON pointer (RFC 6901). */
export function pointerTo(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function readString(cursor: Cursor, pointer: string): string | undefined {
  let end = cursor.index + 1;
  while (end < cursor.text.length && cursor.text[end] !== '"') end += cursor.text[end] === '\\' ? 2 : 1;
  try {
    const value: unknown = JSON.parse(cursor.text.slice(cursor.index, end + 1));
    if (typeof value === 'string') {
      cursor.index = end + 1;
      return value;
    }
  } catch {
    // Reported below like any other broken string.
  }
  return fail(cursor, pointer, 'this string is not closed or holds a character that JSON wants escaped.');
}

const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

function readScalar(cursor: Cursor, pointer: string): Json | undefined {
  scalar.lastIndex = cursor.index;
  const found = scalar.exec(cursor.text)?.[0];
  if (found === undefined) {
    return fail(
      cursor,
      pointer,
      'a value is missing here; write an object, a list, a "text", a number, true or false.',
    );
  }
  const value: Json = JSON.parse(found);
  if (typeof value === 'number' && !Number.isFinite(value)) return fail(cursor, pointer, 'this number is too large.');
  cursor.index += found.length;
  return value;
}

function readList(cursor: Cursor, pointer: string, depth: number): Json | undefined {
  const list: Json[] = [];
  cursor.index += 1;
  if (skipBlank(cursor) === ']') {
    cursor.index += 1;
    return list;
  }
  while (true) {
    const value = readValue(cursor, pointerTo(pointer, list.length), depth);
    if (value === undefined) return undefined;
    list.push(value);
    const next = skipBlank(cursor);
    if (next !== ',' && next !== ']') return fail(cursor, pointer, 'write a comma or a ] here.');
    cursor.index += 1;
    if (next === ']') return list;
  }
}

function readKey(cursor: Cursor, pointer: string, object: JsonObject): string | undefined {
  if (skipBlank(cursor) !== '"') return fail(cursor, pointer, 'write a "key" in double quotes here.');
  const key = readString(cursor, pointer);
  if (key === undefined) return undefined;
  if (key === '__proto__') return fail(cursor, pointer, 'the key "__proto__" is not allowed; remove it.');
  if (key in object) {
    return fail(cursor, pointerTo(pointer, key), 'this key is written twice; keep the one that is meant.');
  }
  if (skipBlank(cursor) !== ':') return fail(cursor, pointerTo(pointer, key), 'write a colon after the key.');
  cursor.index += 1;
  return key;
}

function readObject(cursor: Cursor, pointer: string, depth: number): Json | undefined {
  const object: JsonObject = Object.create(null);
  cursor.index += 1;
  if (skipBlank(cursor) === '}') {
    cursor.index += 1;
    return object;
  }
  while (true) {
    const key = readKey(cursor, pointer, object);
    if (key === undefined) return undefined;
    const value = readValue(cursor, pointerTo(pointer, key), depth);
    if (value === undefined) return undefined;
    object[key] = value;
    const next = skipBlank(cursor);
    if (next !== ',' && next !== '}') return fail(cursor, pointer, 'write a comma or a } here.');
    cursor.index += 1;
    if (next === '}') return object;
  }
}

function readValue(cursor: Cursor, pointer: string, depth: number): Json | undefined {
  const first = skipBlank(cursor);
  if (first === byteOrderMark)
    return fail(cursor, pointer, 'a byte order mark stands here; save the file as UTF-8 without one.');
  cursor.onValue?.(pointer, cursor.index);
  if (first === '"') return readString(cursor, pointer);
  if (first !== '{' && first !== '[') return readScalar(cursor, pointer);
  if (depth >= maxDepth) return fail(cursor, pointer, `nested deeper than ${maxDepth} levels; write it flatter.`);
  return first === '{' ? readObject(cursor, pointer, depth + 1) : readList(cursor, pointer, depth + 1);
}

/** Reads one JSON value. Never throws; a fault says where (JSON pointer, line, column) and what to write. */
export function parseJson(text: string): ParsedJson {
  return parse({ text, index: 0, fault: null, onValue: null });
}

/** The line of each pointer, counted from 1; for a value that is not there, the line of the nearest one around it. */
export function linesOf(text: string, pointers: readonly string[]): ReadonlyMap<string, number> {
  const wanted = new Set<string>();
  for (const pointer of pointers) {
    for (let part = pointer; part !== ''; part = part.slice(0, part.lastIndexOf('/'))) wanted.add(part);
  }
  const starts = new Map<string, number>();
  const onValue = (pointer: string, index: number) => void (wanted.has(pointer) && starts.set(pointer, index));
  parse({ text, index: 0, fault: null, onValue });
  const lines = new Map<string, number>();
  const lineAt = lineCounter(text);
  for (const pointer of pointers) {
    let known = pointer;
    while (known !== '' && !starts.has(known)) known = known.slice(0, known.lastIndexOf('/'));
    lines.set(pointer, lineAt(starts.get(known) ?? 0));
  }
  return lines;
}

/**
 * Numbers as they are written that JSON reads as fractions and a reader of Portuguese as thousands: `30.000`. Three digits behind the
 * point, the last of them a zero that no fraction needs. The text has been read without a fault.
 */
export function groupedNumbers(text: string): readonly { pointer: string; written: string }[] {
  if (!anyGrouped.test(text)) return [];
  const found: { pointer: string; written: string }[] = [];
  const onValue = (pointer: string, index: number) => {
    grouped.lastIndex = index;
    const written = grouped.exec(text)?.[0];
    if (written !== undefined) found.push({ pointer, written });
  };
  parse({ text, index: 0, fault: null, onValue });
  return found;
}

const grouped = /-?[1-9]\d{0,2}\.\d\d0(?![\d.eE])/y;
const anyGrouped = new RegExp(grouped.source);

/** Which line a place of the text is on; the text is read once for all places. */
function lineCounter(text: string): (index: number) => number {
  const ends: number[] = [];
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) ends.push(end);
  return (index) => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle]! < index) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}

function parse(cursor: Cursor): ParsedJson {
  const value = readValue(cursor, '', 0);
  if (value !== undefined && skipBlank(cursor) !== '') {
    fail(cursor, '', 'something follows the end of the value; remove it.');
  }
  if (cursor.fault !== null || value === undefined) {
    return { kind: 'malformed', ...(cursor.fault ?? { pointer: '', line: 1, text: 'The file holds no JSON value.' }) };
  }
  return { kind: 'parsed', value };
}

/** Keys sorted, no blanks: equal content gives equal text. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`);
  return `{${members.join(',')}}`;
}
