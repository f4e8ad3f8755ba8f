/**
 * Readers of single settings. Each takes the value as it stands in a file and gives the setting, or says what is wrong
 * in words that name the kind of value and the remedy. The caller puts the field's name in front.
 */
import { nearestWord } from '../domain/nearest-word.ts';

/** `at` is the way from the field to what is wrong inside it: '' for the field itself, `.key` or `[2]` for a part. */
type FieldFault = { at: string; text: string };
type FieldResult<T> = { kind: 'value'; value: T } | { kind: 'faults'; faults: readonly FieldFault[] };
export type Field<T> = (value: unknown) => FieldResult<T>;
export type Fields<T> = { readonly [K in keyof T]-?: Field<T[K]> };

function good<T>(value: T): FieldResult<T> {
  return { kind: 'value', value };
}

function bad(text: string): FieldResult<never> {
  return { kind: 'faults', faults: [{ at: '', text }] };
}

/** The kind of a value, never the value itself: it may be a secret. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'a text';
  if (typeof value === 'boolean') return 'true or false';
  return `a ${typeof value}`;
}

type Unit = {
  name: string;
  /** What people write instead: the factor that mends it, and what they meant. */
  mistakes: readonly { factor: number; meaning: string }[];
};

const units = {
  ms: {
    name: 'milliseconds',
    mistakes: [
      { factor: 1_000, meaning: 'seconds' },
      { factor: 1 / 1_000, meaning: 'microseconds' },
    ],
  },
  percent: {
    name: 'percent',
    mistakes: [
      { factor: 1 / 100, meaning: 'hundredths of a percent' },
      { factor: 100, meaning: 'a share' },
    ],
  },
  share: { name: 'a share of 1', mistakes: [{ factor: 1 / 100, meaning: 'percent' }] },
  cents: { name: 'cents', mistakes: [{ factor: 100, meaning: 'reais' }] },
  bytes: { name: 'bytes', mistakes: [{ factor: 1_024, meaning: 'kilobytes' }] },
  hundredths: { name: 'hundredths of a percent a month', mistakes: [{ factor: 100, meaning: 'percent' }] },
  count: { name: 'a count', mistakes: [] },
  factor: { name: 'a factor', mistakes: [] },
} as const satisfies Record<string, Unit>;

export type UnitName = keyof typeof units;

function shown(value: number): string {
  return String(Number(value.toPrecision(12)));
}

/** What an out-of-range number was probably meant to be. */
function probable(value: number, min: number, max: number, whole: boolean, unit: Unit): string {
  for (const { factor, meaning } of unit.mistakes) {
    const mended = Number((value * factor).toPrecision(12));
    if (mended >= min && mended <= max && mended !== 0 && (!whole || Number.isInteger(mended))) {
      return `; did you mean ${shown(mended)}? ${shown(value)} looks like ${meaning}`;
    }
  }
  return '';
}

function number(unitName: UnitName, min: number, max: number, whole: boolean): Field<number> {
  const unit: Unit = units[unitName];
  const range = `${whole ? 'a whole number' : 'a number'} from ${shown(min)} to ${shown(max)}`;
  const wanted = unitName === 'count' ? range : `${range} (${unit.name})`;
  return (value) => {
    if (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))) {
      return bad(`is a text, not a number: write it without quotes; ${wanted} is needed`);
    }
    if (typeof value !== 'number' || !Number.isFinite(value)) return bad(`is ${kindOf(value)}: ${wanted} is needed`);
    if (value < min || value > max || (whole && !Number.isInteger(value))) {
      return bad(`is ${shown(value)}: ${wanted} is needed${probable(value, min, max, whole, unit)}`);
    }
    return good(value);
  };
}

export function wholeNumber(unit: UnitName, min: number, max: number): Field<number> {
  return number(unit, min, max, true);
}

export function realNumber(unit: UnitName, min: number, max: number): Field<number> {
  return number(unit, min, max, false);
}

export function flag(): Field<boolean> {
  return (value) =>
    typeof value === 'boolean' ? good(value) : bad(`is ${kindOf(value)}: true or false is needed, without quotes`);
}

export function choice<const T extends string>(...words: readonly T[]): Field<T> {
  return (value) => {
    const found = words.find((word) => word === value);
    return found === undefined ? bad(`is not one of ${words.join(', ')}`) : good(found);
  };
}

/** A text that `problem` finds nothing wrong with. `problem` must not repeat the text. */
export function text(problem: (value: string) => string | null): Field<string> {
  return (value) => {
    if (typeof value !== 'string') return bad(`is ${kindOf(value)}: a text is needed`);
    const found = problem(value);
    return found === null ? good(value) : bad(found);
  };
}

/** Absent, null and '' all say "not set". */
export function optional<T>(field: Field<T>): Field<T | null> {
  return (value) => (value === undefined || value === null || value === '' ? good(null) : field(value));
}

export function required<T>(field: Field<T>, remedy: string): Field<T> {
  return (value) =>
    value === undefined || value === null || value === '' ? bad(`is missing: ${remedy}`) : field(value);
}

export function list<T>(field: Field<T>, min: number): Field<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) return bad(`is ${kindOf(value)}: a list is needed`);
    if (value.length < min) return bad(`has ${value.length} entries: at least ${min} needed`);
    const read: T[] = [];
    const faults: FieldFault[] = [];
    for (const [index, entry] of value.entries()) {
      const result = field(entry);
      if (result.kind === 'value') read.push(result.value);
      else for (const { at, text } of result.faults) faults.push({ at: `[${index}]${at}`, text });
    }
    return faults.length > 0 ? { kind: 'faults', faults } : good(Object.freeze(read));
  };
}

export function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The remedy for an unknown name: the nearest known one, if it is near at all. */
export function nearestName(name: string, known: readonly string[]): string {
  const best = nearestWord(name, known);
  return best === null ? 'remove it' : `did you mean ${best}?`;
}

/** An object with these fields and no others; frozen. */
export function section<T extends object>(fields: Fields<T>): Field<T> {
  const names = Object.keys(fields);
  return (value) => {
    if (!isPlain(value)) return bad(`is ${kindOf(value)}: an object is needed`);
    const faults: FieldFault[] = [];
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(fields, key))
        faults.push({ at: `.${key}`, text: `is not a setting: ${nearestName(key, names)}` });
    }
    const read: Record<string, unknown> = {};
    for (const [key, field] of Object.entries<Field<unknown>>(fields)) {
      const result = field(Object.hasOwn(value, key) ? value[key] : undefined);
      if (result.kind === 'value') read[key] = result.value;
      else for (const { at, text } of result.faults) faults.push({ at: `.${key}${at}`, text });
    }
    // Every key of `fields` was read with the reader of its own type.
    return faults.length > 0 ? { kind: 'faults', faults } : good(Object.freeze(read) as T);
  };
}
