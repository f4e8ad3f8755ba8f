/**
 * Schemas are written in the contract's own casing and read without regard to case: integrations differ in it, and the
 * contract itself writes one key in three ways. Also how a field becomes a value of the house, and a fault a person can act on.
 */
import { z } from 'zod';
import { isJsonObject, type JsonObject } from './json.ts';
import type { Adjustment, Reader } from './values.ts';

/**
 * What is wrong with one field. `pointer` is a JSON pointer; `problem` says kind and remedy and quotes no value. `adjusted`: it was
 * taken all the same, and how.
 */
export type WireFault = { pointer: string; problem: string; adjusted?: Adjustment };

type Field = { reader: Reader<unknown>; ifMissing: 'refused' | 'null'; ifWrong: 'refused' | 'null' };

/** Which schemas were made by the three functions below. */
const fieldOfSchema = new WeakMap<z.core.$ZodType, Field>();

function field<S extends z.ZodType>(schema: S, how: Field): S {
  fieldOfSchema.set(schema, how);
  return schema;
}

/** Present and readable, or the whole object is refused. */
export function needed<T>(reader: Reader<T>) {
  const schema = z.unknown().transform((value, context): T => {
    const reading = reader(value);
    if (reading.kind === 'value') return reading.value;
    context.addIssue(reading.kind === 'missing' ? 'is missing; send it' : reading.problem);
    return z.NEVER;
  });
  return field(schema, { reader, ifMissing: 'refused', ifWrong: 'refused' });
}

/** Absent or null is null; present and unreadable refuses the whole object. */
export function optional<T>(reader: Reader<T>) {
  const schema = z
    .unknown()
    .transform((value, context): T | null => {
      const reading = reader(value);
      if (reading.kind === 'value') return reading.value;
      if (reading.kind === 'wrong') context.addIssue(reading.problem);
      return null;
    })
    .optional()
    .transform((value): T | null => value ?? null);
  return field(schema, { reader, ifMissing: 'null', ifWrong: 'refused' });
}

/** Absent or unreadable is null: for what is good to know and nothing hangs on. */
export function lenient<T>(reader: Reader<T>) {
  const schema = z
    .unknown()
    .optional()
    .transform((value): T | null => {
      const reading = reader(value);
      return reading.kind === 'value' ? reading.value : null;
    });
  return field(schema, { reader, ifMissing: 'null', ifWrong: 'null' });
}

type Recase = (value: unknown) => unknown;
const recases = new WeakMap<z.core.$ZodType, Recase>();

/** Compiled once per schema: renames the keys of a value to those of the schema. Of two keys that differ only in case the schema's own wins. */
function recaseOf(schema: z.core.$ZodType): Recase {
  const known = recases.get(schema);
  if (known !== undefined) return known;
  const made = makeRecase(schema);
  recases.set(schema, made);
  return made;
}

function makeRecase(schema: z.core.$ZodType): Recase {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return recaseOf((schema as z.ZodOptional | z.ZodNullable).unwrap());
  }
  if (schema instanceof z.ZodCatch) return recaseOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return recaseOf(schema.in);
  if (schema instanceof z.ZodArray) {
    const element = recaseOf(schema.element);
    return (value) => (Array.isArray(value) ? value.map(element) : value);
  }
  if (!(schema instanceof z.ZodObject)) return (value) => value;
  const fields = new Map(
    Object.entries(schema.shape as Record<string, z.core.$ZodType>).map(([key, inner]) => [
      key.toLowerCase(),
      { key, recase: recaseOf(inner) },
    ]),
  );
  return (value) => {
    if (!isJsonObject(value)) return value;
    const renamed: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      const field = fields.get(key.toLowerCase());
      if (field === undefined || (field.key in renamed && key !== field.key)) continue;
      renamed[field.key] = field.recase(value[key]);
    }
    return renamed;
  };
}

const notPlain = Symbol('not plain');
/** What the schema makes of a value that has all its keys as it writes them and nothing wrong; `notPlain` for any other. */
type PlainReading = (value: unknown) => unknown;
const plainReadings = new WeakMap<z.core.$ZodType, PlainReading>();
const neverPlain: PlainReading = () => notPlain;

/** Compiled once per schema: most of what comes is plain, and the library takes five times as long for it. */
function plainReadingOf(schema: z.core.$ZodType): PlainReading {
  const known = plainReadings.get(schema);
  if (known !== undefined) return known;
  const made = makePlainReading(schema);
  plainReadings.set(schema, made);
  return made;
}

function makePlainReading(schema: z.core.$ZodType): PlainReading {
  const how = fieldOfSchema.get(schema);
  if (how !== undefined) return (value) => readField(how, value);
  if ((schema._zod.def.checks ?? []).length > 0) return neverPlain;
  if (schema instanceof z.ZodArray) return plainList(plainReadingOf(schema.element));
  if (!(schema instanceof z.ZodObject) || schema.def.catchall !== undefined) return neverPlain;
  const shape = schema.shape as Record<string, z.core.$ZodType>;
  return plainObject(Object.keys(shape).map((key) => [key, plainReadingOf(shape[key]!)]));
}

function readField({ reader, ifMissing, ifWrong }: Field, value: unknown): unknown {
  const reading = reader(value);
  if (reading.kind === 'value') return reading.value;
  return (reading.kind === 'missing' ? ifMissing : ifWrong) === 'null' ? null : notPlain;
}

function plainList(element: PlainReading): PlainReading {
  if (element === neverPlain) return neverPlain;
  return (value) => {
    if (!Array.isArray(value)) return notPlain;
    const items: unknown[] = [];
    for (const item of value) {
      const read = element(item);
      if (read === notPlain) return notPlain;
      items.push(read);
    }
    return items;
  };
}

function plainObject(fields: readonly (readonly [key: string, read: PlainReading])[]): PlainReading {
  if (fields.some(([key, read]) => read === neverPlain || key in Object.prototype)) return neverPlain;
  return (value) => {
    if (!isJsonObject(value)) return notPlain;
    const object: Record<string, unknown> = {};
    for (const [key, inner] of fields) {
      const own = value[key];
      // Under another case it may be there all the same.
      if (own === undefined) return notPlain;
      const read = inner(own);
      if (read === notPlain) return notPlain;
      object[key] = read;
    }
    return object;
  };
}

export type Decoded<T> = { kind: 'decoded'; value: T } | { kind: 'refused'; faults: readonly WireFault[] };

/** Reads `value` by `schema`, keys in any case; all faults at once. */
export function decodeBy<T extends z.ZodType>(schema: T, value: unknown): Decoded<z.output<T>> {
  const plain = plainReadingOf(schema)(value);
  if (plain !== notPlain) return { kind: 'decoded', value: plain as z.output<T> };
  const result = schema.safeParse(recaseOf(schema)(value));
  if (result.success) return { kind: 'decoded', value: result.data };
  const faults = result.error.issues.map((issue) => ({
    pointer: issue.path.map((part) => `/${String(part)}`).join(''),
    // The library's own texts name kinds, never values.
    problem: issue.code === 'custom' ? issue.message : `does not have the right shape (${issue.message})`,
  }));
  return { kind: 'refused', faults };
}

/** Each element becomes a record of a kilobyte or more, however short it was: more of them could fill the memory. */
export const maxElements = 100_000;

export function tooManyElements(pointer: string): Decoded<never> {
  const problem = `has more than ${maxElements} elements; send them in several webhooks`;
  return { kind: 'refused', faults: [{ pointer, problem }] };
}

/** The value under `name`, which is ASCII, whatever its case; the exact case wins. */
export function fieldOf(object: JsonObject, name: string): JsonObject[string] | undefined {
  if (Object.hasOwn(object, name)) return object[name];
  const lower = name.toLowerCase();
  for (const key of Object.keys(object)) {
    // No key of another length has these letters, and most keys have another length.
    if (key.length === lower.length && key.toLowerCase() === lower) return object[key];
  }
  return undefined;
}

/** A list of a million wrong values would make a text far longer than the list. */
const faultsTold = 20;

export function describeFaults(faults: readonly WireFault[]): string {
  const told = faults
    .slice(0, faultsTold)
    .map((fault) => `${fault.pointer === '' ? 'the body' : fault.pointer} ${fault.problem}`);
  const more = faults.length - told.length;
  return (more > 0 ? [...told, `and ${more} more`] : told).join('; ');
}
