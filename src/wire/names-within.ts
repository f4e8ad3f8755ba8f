/** What a partner's own fields may name, however it is written: found in texts, in keys and in JSON inside a text. */
import { plainlyWritten } from './hidden-cpf.ts';
import { isJsonObject, isRawNumber, type JsonValue, numberText, parseJson } from './json.ts';

/** `isWhole`: all of a value, trimmed; else a part of one, or of a key. `isNumber`: the value is a JSON number. */
type NameWithin = { path: string; text: string; isWhole: boolean; isNumber: boolean };

const longestWhole = 128;
/** Longer texts are biometrics, unless they are JSON. */
const longestSearched = 4_096;
/** A shorter run of digits is a date or a count by chance. */
const leastDigits = 6;
const mostNames = 5_000;
const deepest = 8;
/** Of a number that is written in groups: no more than these, for a row of figures is none. */
const mostGroups = 10;
const mostDigits = 24;
const mostGrouped = 5_000;
/** The code of a proposal with something else than its hyphens between its parts. */
const spacedGuid = /(?<![\da-f])[\da-f]{8}(?:[\s./_-]{1,3}[\da-f]{4}){3}[\s./_-]{1,3}[\da-f]{12}(?![\da-f])/gi;

/** Every number that neighbouring groups of digits may be, as far as one goes: each group is begun at once. */
function* groupedNumbers(text: string): Generator<string> {
  for (const [row] of text.matchAll(/\d+(?:[\s./_-]{1,3}\d+)+/g)) {
    const groups = row.split(/\D+/);
    for (const [first, group] of groups.entries()) {
      let digits = group;
      for (const next of groups.slice(first + 1, first + mostGroups)) {
        digits += next;
        if (digits.length > mostDigits) break;
        yield digits;
      }
    }
  }
}

/** Each text once a place, in order, the first ones; as long as the value takes to read. What is put together of groups comes last, once. */
export function namesWithin(value: JsonValue): NameWithin[] {
  const found: NameWithin[] = [];
  const grouped = new Map<string, NameWithin>();
  const seen = new Set<string>();
  const add = (path: string, text: string, isWhole: boolean, isNumber = false): void => {
    const mark = `${path}\n${text}`;
    if (text === '' || found.length === mostNames || seen.has(mark)) return;
    seen.add(mark);
    found.push({ path, text, isWhole, isNumber });
  };
  const addGrouped = (path: string, text: string): void => {
    if (grouped.size === mostGrouped || grouped.has(text)) return;
    grouped.set(text, { path, text, isWhole: false, isNumber: false });
  };
  const addParts = (path: string, text: string): void => {
    for (const [run] of text.matchAll(/[\p{L}\p{N}-]+/gu)) if (/\d/.test(run)) add(path, run, false);
    for (const [run] of text.matchAll(/\d+/g)) {
      const bare = run.replace(/^0+(?=\d)/, '');
      for (const digits of [run, bare]) if (digits.length >= leastDigits) add(path, digits, false);
    }
    const joined = text.replaceAll(/[\s./-]/g, '');
    if (/^\d+$/.test(joined) && joined.length >= leastDigits) add(path, joined, false);
    for (const number of groupedNumbers(text)) {
      const bare = number.replace(/^0+(?=\d)/, '');
      for (const digits of [number, bare]) if (digits.length >= leastDigits) addGrouped(path, digits);
    }
    for (const [code] of text.matchAll(spacedGuid)) addGrouped(path, code.replaceAll(/[\s./_-]+/g, '-'));
  };
  const visit = (inner: JsonValue, path: string, depth: number): void => {
    if (typeof inner === 'string' || typeof inner === 'number' || isRawNumber(inner)) {
      const text = (typeof inner === 'string' ? inner : numberText(inner)).trim();
      if (text.length <= longestWhole) add(path, text, true, typeof inner !== 'string');
      const within = depth < deepest && /^[[{"]/.test(text) ? parseJson(text) : null;
      if (within?.kind === 'parsed') visit(within.value, path, depth + 1);
      else if (text.length <= longestSearched) addParts(path, plainlyWritten(text));
    } else if (Array.isArray(inner) || isJsonObject(inner)) {
      for (const [key, each] of Object.entries(inner)) {
        const place = path === '' ? key : `${path}.${key}`;
        if (!Array.isArray(inner) && key.length <= longestSearched) addParts(place, plainlyWritten(key));
        visit(each as JsonValue, place, depth);
      }
    }
  };
  visit(value, '', 0);
  return [...found, ...grouped.values()];
}
