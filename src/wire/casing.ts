/**
 * Schemas are written in the contract's own casing and read without regard to case: integrations differ in it, and the
 * contract itself writes one key in three ways. Also how a field becomes a value of the house, and a fault a person can act on.
 */
import { z } from 'zod';
import { isJsonObject, type JsonObject } from './json.ts';
import type { Reader } from './values.ts';

/** What is wrong with one field. `pointer` is a JSON pointer; `problem` says kind and remedy and quotes no value. */
export type WireFault = { pointer: string; problem: string };

/** Present and readable, or the whole object is refused. */
export function needed<T>(reader: Reader<T>) {
  return z.unknown().transform((value, context): T => {
    const reading = reader(value);
    if (reading.kind === 'value') return reading.value;
    context.addIssue(reading.kind === 'missing' ? 'is missing; send it' : reading.problem);
    return z.NEVER;
  });
}

/** Absent or null is null; present and unreadable refuses the whole object. */
export function optional<T>(reader: Reader<T>) {
  return z
    .unknown()
    .transform((value, context): T | null => {
      const reading = reader(value);
      if (reading.kind === 'value') return reading.value;
      if (reading.kind === 'wrong') context.addIssue(reading.problem);
      return null;
    })
    .optional()
    .transform((value): T | null => value ?? null);
}

/** Absent or unreadable is null: for what is good to know and nothing hangs on. */
export function lenient<T>(reader: Reader<T>) {
  return z
    .unknown()
    .optional()
    .transform((value): T | null => {
      const reading = reader(value);
      return reading.kind === 'value' ? reading.value : null;
    });
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

export type Decoded<T> = { kind: 'decoded'; value: T } | { kind: 'refused'; faults: readonly WireFault[] };

/** Reads `value` by `schema`, keys in any case; all faults at once. */
export function decodeBy<T extends z.ZodType>(schema: T, value: unknown): Decoded<z.output<T>> {
  const result = schema.safeParse(recaseOf(schema)(value));
  if (result.success) return { kind: 'decoded', value: result.data };
  const faults = result.error.issues.map((issue) => ({
    pointer: issue.path.map((part) => `/${String(part)}`).join(''),
    // The library's own texts name kinds, never values.
    problem: issue.code === 'custom' ? issue.message : `does not have the right shape (${issue.message})`,
  }));
  return { kind: 'refused', faults };
}

/** The value under `name` whatever its case; the exact case wins. */
export function fieldOf(object: JsonObject, name: string): JsonObject[string] | undefined {
  if (Object.hasOwn(object, name)) return object[name];
  const lower = name.toLowerCase();
  for (const key of Object.keys(object)) if (key.toLowerCase() === lower) return object[key];
  return undefined;
}

export function describeFaults(faults: readonly WireFault[]): string {
  return faults.map((fault) => `${fault.pointer === '' ? 'the body' : fault.pointer} ${fault.problem}`).join('; ');
}
