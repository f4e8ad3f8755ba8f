/** Where in the rule files the reader stands, and how it refuses what it finds there. */
import { nearestWord } from '../domain/nearest-word.ts';
import { groupedNumbers, type Json, type JsonObject, pointerTo } from './json.ts';

/** One thing to mend: the file, a JSON pointer into it, its line, and a sentence that says what to write instead. */
export type RuleFault = {
  file: string;
  pointer: string;
  /** Counted from 1; null for what concerns a whole file or folder. */
  line: number | null;
  text: string;
};

/**
 * `pinned`: what is read here was made from one cell of a table, so every fault in it points to that cell. `line`: of a file that is no
 * JSON; `said`: what every fault begins with.
 */
export type Place = {
  file: string;
  pointer: string;
  faults: RuleFault[];
  pinned?: boolean;
  line?: number;
  said?: string;
};

/** More faults than a person mends at once are not collected; a hostile file may not fill the memory. */
const maxFaults = 100;
/** Cells of a table are most often wrong all in the same way, and each of these faults is a line of the log. */
const maxCellFaults = 20;

export function within(place: Place, key: string | number): Place {
  if (place.pinned === true) return place;
  return { file: place.file, pointer: pointerTo(place.pointer, key), faults: place.faults };
}

/** The line is found once all faults are known. */
export function refuse(place: Place, text: string): null {
  if (place.faults.length < (place.pinned === true ? maxCellFaults : maxFaults))
    place.faults.push({
      file: place.file,
      pointer: place.pointer,
      line: place.line ?? null,
      text: `${place.said ?? ''}${text}`,
    });
  return null;
}

/** As people read it: `limits.json:12 /rules/3/event: …`. */
export function faultText({ file, pointer, line, text }: RuleFault): string {
  const where = `${file}${line === null ? '' : `:${line}`}${pointer === '' ? '' : ` ${pointer}`}`;
  return where === '' ? text : `${where}: ${text}`;
}

/** A value as a person may read it in a sentence, cut to a bearable length. */
export function shown(value: Json): string {
  if (Array.isArray(value)) return 'a list';
  if (value !== null && typeof value === 'object') return 'an object';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** A sentence that names the nearest known word, or all of them when none is near and they are few. */
export function suggestion(word: string, known: readonly string[]): string {
  let nearest = (word.length >= 3 && known.find((candidate) => candidate.startsWith(word))) || null;
  if (nearest === null && word.length <= 60) nearest = nearestWord(word, known);
  if (nearest !== null) return `Did you mean "${nearest}"?`;
  return known.length > 0 && known.length <= 20 ? `Write one of: ${known.join(', ')}.` : '';
}

export function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

type Keys = { required: readonly string[]; optional: readonly string[] };

/** Refuses anything but an object with exactly these keys. */
export function readObject(place: Place, value: Json, what: string, keys: Keys): JsonObject | null {
  if (!isObject(value)) return refuse(place, `${what} is ${shown(value)}; write an object here.`);
  const known = [...keys.required, ...keys.optional];
  let good = true;
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    good = false;
    refuse(within(place, key), `${what} has no key ${shown(key)}. ${suggestion(key, known)}`);
  }
  const lacking = keys.required.filter((key) => !(key in value)).map((key) => `"${key}"`);
  if (lacking.length > 0) {
    good = false;
    refuse(place, `${what} lacks ${lacking.join(', ')}; add ${lacking.length === 1 ? 'it' : 'them'}.`);
  }
  return good ? value : null;
}

export function readText(place: Place, value: Json, what: string, maxLength: number): string | null {
  if (typeof value !== 'string' || value.trim() === '') {
    return refuse(place, `${what} is ${shown(value)}; write a text here.`);
  }
  if (value.length > maxLength) return refuse(place, `${what} is longer than ${maxLength} characters; shorten it.`);
  return value;
}

/** What a number means. `decimals` null: any. */
export type Measure = { unit: string; min: number; max: number; decimals: number | null };

/** Of money nobody has less than a cent. Sets of earlier versions may say it, so those in the store are read as they are. */
export function decimalsOf(unit: string | null, stored: boolean): number | null {
  return !stored && (unit?.startsWith('R$') ?? false) ? 2 : null;
}

/** Refuses numbers of a file that can be read in two ways, each at its place. `text`: of the whole file. */
export function refuseGrouped(file: Place, text: string): void {
  for (const { pointer, written } of groupedNumbers(text)) {
    const [one, other] = [written.replace('.', ''), String(Number(written))];
    refuse(
      { ...file, pointer },
      `"${written}" can be read in two ways; write ${one} or ${other}, without signs for thousands.`,
    );
  }
}

function fits(value: number, { min, max, decimals }: Measure): boolean {
  if (value < min || value > max) return false;
  if (decimals === null) return true;
  const scaled = value * 10 ** decimals;
  return Math.abs(scaled - Math.round(scaled)) < 1e-6;
}

/** The value somebody probably meant who wrote hundredths for whole units, or shares for percent: those are far outside. */
function probable(value: number, measure: Measure): string {
  const guess = [value / 100, value * 100]
    .map((candidate) => Number(candidate.toPrecision(12)))
    .find((candidate) => candidate !== 0 && fits(candidate, measure));
  return guess === undefined ? '' : ` Did you mean ${guess}?`;
}

/** The amount that somebody probably meant who wrote a point between thousands. */
function thousands(value: number, measure: Measure): string {
  const guess = Number((value * 1_000).toPrecision(12));
  const isMeant = measure.unit.startsWith('R$') && Math.abs(value) >= 1 && Math.abs(value) < 1_000;
  return isMeant && Number.isInteger(guess) && fits(guess, measure) ? ` Did you mean ${guess}?` : '';
}

export function readNumber(place: Place, value: Json, what: string, measure: Measure): number | null {
  if (typeof value !== 'number') {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
    const instead = Number.isFinite(number) ? `the number ${number}, without quotes` : `a number (${measure.unit})`;
    return refuse(place, `${what} is ${shown(value)}; write ${instead}.`);
  }
  if (fits(value, measure)) return value;
  const { unit, min, max, decimals } = measure;
  if (value >= min && value <= max) {
    const grain = decimals === 0 ? 'a whole number' : `at most ${decimals} decimals`;
    return refuse(place, `${what} is ${value}; write ${grain} (${unit}).${thousands(value, measure)}`);
  }
  return refuse(place, `${what} is ${value}, outside ${min} … ${max} (${unit}).${probable(value, measure)}`);
}
