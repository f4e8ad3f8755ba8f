/**
 * Zod schemas of single settings. Their messages begin after the field's name: what is wrong with the kind of value, what
 * is allowed, the remedy. No message repeats a text that was given: it may be a secret.
 */
import { z } from 'zod';
import { nearestWord } from '../domain/nearest-word.ts';
import { checkUntrusted } from '../domain/untrusted-value.ts';

/** The kind of a value, never the value itself. */
function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'a text';
  if (typeof value === 'boolean') return 'true or false';
  return `a ${typeof value}`;
}

type Unit = {
  name: string;
  /** What people write instead: the factor that corrects it, and the unit that they meant. */
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

type UnitName = keyof typeof units;

function shown(value: number): string {
  return String(Number(value.toPrecision(12)));
}

type Range = { unit: Unit; min: number; max: number; whole: boolean };

/** What an out-of-range number was probably meant to be. */
function probable(value: number, { unit, min, max, whole }: Range): string {
  for (const { factor, meaning } of unit.mistakes) {
    const corrected = Number((value * factor).toPrecision(12));
    if (corrected >= min && corrected <= max && corrected !== 0 && (!whole || Number.isInteger(corrected))) {
      return `; did you mean ${shown(corrected)}? ${shown(value)} looks like ${meaning}`;
    }
  }
  return '';
}

function numberProblem(value: unknown, range: Range): string {
  const { unit, min, max, whole } = range;
  const numbers = `${whole ? 'a whole number' : 'a number'} from ${shown(min)} to ${shown(max)}`;
  const wanted = unit === units.count ? numbers : `${numbers} (${unit.name})`;
  if (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))) {
    return `is a text, not a number: write it without quotes; ${wanted} is needed`;
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) return `is ${kindOf(value)}: ${wanted} is needed`;
  return `is ${shown(value)}: ${wanted} is needed${probable(value, range)}`;
}

/** Every check of a number has the same message, so that a number that fails two of them is one fault. */
export function wholeNumber(unit: UnitName, min: number, max: number) {
  const range = { unit: units[unit], min, max, whole: true };
  const error = ({ input }: { input?: unknown }) => numberProblem(input, range);
  return z.int({ error }).check(z.gte(min, { error }), z.lte(max, { error }));
}

export function realNumber(unit: UnitName, min: number, max: number) {
  const range = { unit: units[unit], min, max, whole: false };
  const error = ({ input }: { input?: unknown }) => numberProblem(input, range);
  return z.number({ error }).check(z.gte(min, { error }), z.lte(max, { error }));
}

export function flag() {
  return z.boolean({ error: ({ input }) => `is ${kindOf(input)}: true or false is needed, without quotes` });
}

/** Longer texts are no mistyped word. */
const longestWord = 60;

export function choice<const T extends string>(...words: readonly T[]) {
  return z.enum(words, {
    error: ({ input }) => {
      const meant = typeof input === 'string' ? nearestWord(input.slice(0, longestWord), words) : null;
      return `is not one of ${words.join(', ')}${meant === null ? '' : `; did you mean ${meant}?`}`;
    },
  });
}

/** A text that `problem` finds nothing wrong with. `problem` must not repeat the text. */
export function text(problem: (value: string) => string | null) {
  return z.string({ error: ({ input }) => `is ${kindOf(input)}: a text is needed` }).check(({ value, issues }) => {
    const message = problem(value);
    if (message !== null) issues.push({ code: 'custom', message, input: value });
  });
}

/** A text of this form; `problem` says what another one is. */
export function form(pattern: RegExp, problem: string) {
  return z
    .string({ error: ({ input }) => `is ${kindOf(input)}: a text is needed` })
    .check(z.regex(pattern, { error: problem }));
}

/** Absent, null and '' all say "not set". */
export function optional<T extends z.ZodType>(setting: T) {
  return z.preprocess((value) => (value === undefined || value === '' ? null : value), setting.nullable());
}

/** Absent, null and '' are the fault that `remedy` helps with. */
export function required<T extends z.ZodType>(setting: T, remedy: string) {
  return z.preprocess((value, context) => {
    if (value !== undefined && value !== null && value !== '') return value;
    context.addIssue({ code: 'custom', message: `is missing: ${remedy}` });
    return z.NEVER;
  }, setting);
}

export function list<T extends z.ZodType>(entry: T, min: number) {
  return z
    .array(entry, { error: ({ input }) => `is ${kindOf(input)}: a list is needed` })
    .min(min, { error: ({ input }) => `has ${(input as unknown[]).length} entries: at least ${min} needed` })
    .readonly();
}

/** An object with these settings and no others; frozen. */
export function section<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape, { error: ({ input }) => `is ${kindOf(input)}: an object is needed` }).readonly();
}

/** An object whose keys are names of this form; `problem` says what another one is. */
export function byName<T extends z.ZodType>(pattern: RegExp, problem: string, schema: T) {
  const error = ({ code, input }: { code?: string | undefined; input?: unknown }) =>
    code === 'invalid_key' ? problem : `is ${kindOf(input)}: an object is needed`;
  return z.record(z.string().check(z.regex(pattern, { error: problem })), schema, { error }).readonly();
}

/** The remedy for an unknown name: the nearest known one, if it is near at all. */
export function nearestName(name: string, known: readonly string[]): string {
  const best = nearestWord(name, known);
  return best === null ? 'remove it' : `did you mean ${best}?`;
}

type Path = readonly PropertyKey[];

/** The names that the section at `path` has. */
function namesAt(schema: z.core.$ZodType, path: Path): readonly string[] {
  const [part, ...rest] = path;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return part === undefined ? Object.keys(def.shape) : namesAt(def.shape[String(part)]!, rest);
    case 'array':
      return namesAt(def.element, rest);
    case 'pipe':
      return namesAt(def.out, path);
    case 'readonly':
    case 'nullable':
      return namesAt(def.innerType, path);
    default:
      return [];
  }
}

/** `.key` or `[2]` for each part; '' for none. */
function placeOf(path: Path): string {
  return path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
}

/** What is wrong with a setting: `at` is the way from it to the fault inside of it, as `placeOf` writes it. */
type SettingFault = { at: string; text: string };
export type SettingResult<T> = { kind: 'value'; value: T } | { kind: 'faults'; faults: readonly SettingFault[] };

/** Each place in `value` that is wrong is named, with the first thing that is wrong there. */
export function readSetting<T extends z.ZodType>(schema: T, value: unknown): SettingResult<z.infer<T>> {
  // Read once: compiling the schema would take longer than reading with it does.
  const read = checkUntrusted(value, (given) => schema.safeParse(given, { jitless: true }));
  if (read.success) return { kind: 'value', value: read.data };
  const faults = new Map<string, string>();
  for (const issue of read.error.issues) {
    if (issue.code === 'unrecognized_keys') {
      const known = namesAt(schema, issue.path);
      for (const key of issue.keys) {
        faults.set(placeOf([...issue.path, key]), `is not a setting: ${nearestName(key, known)}`);
      }
    } else if (!faults.has(placeOf(issue.path))) faults.set(placeOf(issue.path), issue.message);
  }
  return { kind: 'faults', faults: [...faults].map(([at, text]) => ({ at, text })) };
}
