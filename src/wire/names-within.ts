/** What a partner's own fields may name, however it is written: found in texts, in keys and in JSON inside a text. */
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

/** Each text once a place, in order, the first ones; as long as the value takes to read. */
export function namesWithin(value: JsonValue): NameWithin[] {
  const found: NameWithin[] = [];
  const seen = new Set<string>();
  const add = (path: string, text: string, isWhole: boolean, isNumber = false): void => {
    const mark = `${path}\n${text}`;
    if (text === '' || found.length === mostNames || seen.has(mark)) return;
    seen.add(mark);
    found.push({ path, text, isWhole, isNumber });
  };
  const addParts = (path: string, text: string): void => {
    for (const [run] of text.matchAll(/[\p{L}\p{N}-]+/gu)) if (/\d/.test(run)) add(path, run, false);
    for (const [run] of text.matchAll(/\d+/g)) {
      const bare = run.replace(/^0+(?=\d)/, '');
      for (const digits of [run, bare]) if (digits.length >= leastDigits) add(path, digits, false);
    }
    const joined = text.replaceAll(/[\s./-]/g, '');
    if (/^\d+$/.test(joined) && joined.length >= leastDigits) add(path, joined, false);
  };
  const visit = (inner: JsonValue, path: string, depth: number): void => {
    if (typeof inner === 'string' || typeof inner === 'number' || isRawNumber(inner)) {
      const text = (typeof inner === 'string' ? inner : numberText(inner)).trim();
      if (text.length <= longestWhole) add(path, text, true, typeof inner !== 'string');
      const within = depth < deepest && /^[[{"]/.test(text) ? parseJson(text) : null;
      if (within?.kind === 'parsed') visit(within.value, path, depth + 1);
      else if (text.length <= longestSearched) addParts(path, text.normalize('NFKC'));
    } else if (Array.isArray(inner) || isJsonObject(inner)) {
      for (const [key, each] of Object.entries(inner)) {
        const place = path === '' ? key : `${path}.${key}`;
        if (!Array.isArray(inner) && key.length <= longestSearched) addParts(place, key.normalize('NFKC'));
        visit(each as JsonValue, place, depth);
      }
    }
  };
  visit(value, '', 0);
  return found;
}
