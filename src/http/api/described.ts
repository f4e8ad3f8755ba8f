/**
 * How a field of the API is described: in words, with its unit, an example, and its key in the contract. What stands here is
 * what `/v1/docs` shows, what `lance … example` prints, and what a test looks for.
 */
import assert from 'node:assert/strict';
import { z } from 'zod';

export type Unit =
  | 'whole cents of a real'
  | 'hundredths of a percent a month'
  | 'hundredths of a percent a year'
  | 'hundredths of a percent'
  | 'percent a month'
  | 'percent a year'
  | 'percent'
  | 'ms'
  | 'epoch ms'
  | 'hours'
  | 'a count'
  | 'a probability from 0 to 1'
  | 'a number as it stands, without a unit';

const units = new WeakMap<z.ZodType, Unit>();

/** A kind of number. Its limits have to be there already: each check makes another schema. */
export function measured<S extends z.ZodType>(schema: S, unit: Unit): S {
  units.set(schema, unit);
  return schema;
}

function innerOf(schema: z.ZodType): z.ZodType | null {
  const { innerType } = schema.def as { innerType?: z.ZodType };
  return innerType ?? null;
}

function unitOf(schema: z.ZodType): Unit | null {
  const inner = innerOf(schema);
  return units.get(schema) ?? (inner === null ? null : unitOf(inner));
}

type Shape = Readonly<Record<PropertyKey, z.ZodType>>;

/** The schema of a part of a value, by its path; null: there is no such part. */
export function partAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | null {
  let at: z.ZodType | undefined = schema;
  for (const part of path) {
    const plain = plainOf(at);
    at = plain instanceof z.ZodArray ? (plain.element as z.ZodType) : (plain?.shape as Shape | undefined)?.[part];
  }
  return at ?? null;
}

/** Whether a part is a text, whatever form it has to have. */
export function isText(schema: z.ZodType): boolean {
  const inner = innerOf(schema);
  return inner === null ? schema.def.type === 'string' : isText(inner);
}

/** What stands within all that says when a part may be left out. */
function plainOf(schema: z.ZodType | undefined): z.ZodObject | z.ZodArray | undefined {
  let at = schema;
  while (at !== undefined && !(at instanceof z.ZodObject || at instanceof z.ZodArray)) at = innerOf(at) ?? undefined;
  return at;
}

/** The unit of a part of a value, by its path; null: it has none, or there is no such part. */
export function unitAt(schema: z.ZodType, path: readonly PropertyKey[]): Unit | null {
  const at = partAt(schema, path);
  return at === null ? null : ((z.globalRegistry.get(at)?.['x-unit'] as Unit | undefined) ?? unitOf(at));
}

/** The names of the fields of a part that is an object, each with those of its own fields; null: it is none. */
export function fieldsAt(
  schema: z.ZodType,
  path: readonly PropertyKey[],
): ReadonlyMap<string, readonly string[]> | null {
  const object = plainOf(partAt(schema, path) ?? undefined);
  if (!(object instanceof z.ZodObject)) return null;
  const own = (field: z.ZodType) => {
    const inner = plainOf(field);
    return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
  };
  return new Map(Object.entries(object.shape as Record<string, z.ZodType>).map(([name, field]) => [name, own(field)]));
}

/**
 * A field with its example. `contract`: its key on the wire, with dots where it is nested; `none`: the contract has no such field;
 * left out of answers of our own.
 */
export function said<S extends z.ZodType>(schema: S, text: string, example: unknown, contract?: string): S {
  const unit = unitOf(schema);
  const words = [
    text,
    ...(unit === null ? [] : [`Unit: ${unit}.`]),
    ...(contract === undefined || contract === 'none' ? [] : [`In the contract: \`${contract}\`.`]),
  ];
  return schema.meta({
    description: words.map((each) => (/[.!?]$/.test(each) ? each : `${each}.`)).join(' '),
    examples: [example],
    ...(unit === null ? {} : { 'x-unit': unit }),
    ...(contract === undefined ? {} : { 'x-contract': contract }),
  });
}

/** A field that holds others: its example is theirs. */
export function saidOfParts<S extends z.ZodType>(schema: S, text: string, contract?: string): S {
  return said(schema, text, exampleOf(schema), contract);
}

/** What a request holds. Without an example of its own it is that of its fields. */
export function order<S extends z.ZodType>(schema: S, title: string, text: string, example?: unknown): S {
  return schema.meta({ title, description: text, examples: [example ?? exampleOf(schema)] });
}

/** A schema of answers under a name of its own. */
export function answerNamed<S extends z.ZodType>(schema: S, id: string, text: string): S {
  return schema.meta({ id, title: id, description: text, examples: [exampleOf(schema)] });
}

/** An answer of a route: what it is, and what it holds. */
export function answered<S extends z.ZodType>(schema: S, description: string) {
  return { description, content: { 'application/json': { schema } } };
}

/** The example that was given for a schema, or one made of those of its parts. */
export function exampleOf(schema: z.ZodType): unknown {
  const own = z.globalRegistry.get(schema)?.examples;
  if (Array.isArray(own)) return own[0];
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
    return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field)]));
  }
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)];
  const inner = innerOf(schema);
  assert(inner !== null, 'a field of the API has no example');
  return exampleOf(inner);
}
