/**
 * Messages as tables: each field once, with its key on the wire and how its value is read and written. Both directions come
 * from the same table. What the table does not name, and what could be spared and was not readable, is kept in `extra`.
 */
import { z } from 'zod';
import { type Decoded, decodeBy, lenient as lenientSchema, needed, optional as optionalSchema } from './casing.ts';
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from './json.ts';
import type { Reader } from './values.ts';

/** How one kind of value crosses: `O` is what reading gives, `I` what writing takes. Methods, so that tables may mix kinds. */
export type Kind<I, O = I> = {
  schema: (presence: Presence) => z.ZodType;
  fromWire(checked: unknown, raw: JsonValue): O;
  toWire(value: I): unknown;
};

/**
 * `required`: refused without. `optional`: absent is null, unreadable is refused. `told`: absent or unreadable is null.
 * `nullable`: as told, and written as null where it is null.
 */
type Presence = 'required' | 'optional' | 'told' | 'nullable';

export type Field<I, O, P extends Presence> = { key: string; presence: P; kind: Kind<I, O> };
type AnyField = Field<never, unknown, Presence>;
export type Fields = Readonly<Record<string, AnyField>>;

type RequiredKeys<F extends Fields> = {
  [K in keyof F]: F[K] extends Field<never, unknown, 'required'> ? K : never;
}[keyof F];
type InputOf<F> = F extends { kind: { toWire(value: infer I): unknown } } ? I : never;
type OutputOf<F> = F extends { kind: { fromWire(checked: unknown, raw: JsonValue): infer O } } ? O : never;

/** What reading gives: every field, null where nothing (usable) was said. */
export type Output<F extends Fields> = {
  [K in keyof F]: F[K] extends Field<never, unknown, 'required'> ? OutputOf<F[K]> : OutputOf<F[K]> | null;
} & { extra: JsonObject };

/** What writing takes: required fields; others may be left out. `extra` is written after them, key by key as it is. */
export type Input<F extends Fields> = { [K in RequiredKeys<F>]: InputOf<F[K]> } & {
  [K in Exclude<keyof F, RequiredKeys<F>>]?: InputOf<F[K]> | null;
} & { extra?: JsonObject };

export type Message<I, O> = {
  schema: z.ZodType;
  /** The keys on the wire, in the contract's casing and order. */
  keys: readonly string[];
  decode: (value: JsonValue) => Decoded<O>;
  /** Of what `schema` made of `raw`. */
  rename: (checked: unknown, raw: JsonValue) => O;
  encode: (value: I) => JsonObject;
};

export function required<I, O>(key: string, kind: Kind<I, O>): Field<I, O, 'required'> {
  return { key, kind, presence: 'required' };
}
export function optional<I, O>(key: string, kind: Kind<I, O>): Field<I, O, 'optional'> {
  return { key, kind, presence: 'optional' };
}
export function told<I, O>(key: string, kind: Kind<I, O>): Field<I, O, 'told'> {
  return { key, kind, presence: 'told' };
}
export function nullable<I, O>(key: string, kind: Kind<I, O>): Field<I, O, 'nullable'> {
  return { key, kind, presence: 'nullable' };
}

/** A kind of single value. `readTold` reads what the other side tells, where that may have another form than what is asked of it. */
export function scalar<T>(read: Reader<T>, write: (value: T) => unknown, readTold: Reader<T> = read): Kind<T> {
  return {
    schema: (presence) =>
      presence === 'required' ? needed(read) : presence === 'optional' ? optionalSchema(read) : lenientSchema(readTold),
    fromWire: (checked) => checked as T,
    toWire: write,
  };
}

function within(schema: z.ZodType, presence: Presence): z.ZodType {
  if (presence === 'required') return schema;
  const spared = schema.nullish();
  return presence === 'optional' ? spared : spared.catch(null);
}

export function object<I, O>(message: Message<I, O>): Kind<I, O> {
  return {
    schema: (presence) => within(message.schema, presence),
    fromWire: (checked, raw) => message.rename(checked, raw),
    toWire: (value) => message.encode(value),
  };
}

export function listOf<I, O>(message: Message<I, O>): Kind<readonly I[], readonly O[]> {
  return {
    schema: (presence) => within(z.array(message.schema), presence),
    fromWire: (checked, raw) =>
      (checked as unknown[]).map((element, index) => message.rename(element, (raw as JsonValue[])[index]!)),
    toWire: (value) => value.map((element) => message.encode(element)),
  };
}

/** Whole, as it came: for what the contract does not show. */
export const listAsItIs: Kind<readonly JsonValue[]> = {
  schema: (presence) => within(z.array(z.unknown()), presence),
  fromWire: (_checked, raw) => raw as JsonValue[],
  toWire: (value) => value,
};

export const objectAsItIs: Kind<JsonObject> = {
  schema: (presence) =>
    within(
      z.unknown().refine(isJsonObject, { error: (issue) => `is ${kindOf(issue.input)}; send an object` }),
      presence,
    ),
  fromWire: (_checked, raw) => raw as JsonObject,
  toWire: (value) => value,
};

export function message<F extends Fields>(fields: F): Message<Input<F>, Output<F>> {
  const table = Object.entries<AnyField>(fields);
  const schema = z.object(Object.fromEntries(table.map(([, { key, kind, presence }]) => [key, kind.schema(presence)])));
  const named = new Map(table.map(([name, { key }]) => [key.toLowerCase(), name]));

  const rename = (checked: unknown, raw: JsonValue): Output<F> => {
    const values = checked as Record<string, unknown>;
    const found = rawByName(raw as JsonObject, fields, named);
    const extra = { ...found.extra };
    const made: Record<string, unknown> = {};
    for (const [name, { key, kind }] of table) {
      const value = values[key];
      const own = found.raws.get(name);
      const usable = value !== null && value !== undefined && own !== undefined;
      made[name] = usable ? kind.fromWire(value, own.value) : null;
      // Said, and not in a way that can be used: nothing is thrown away.
      if (!usable && own !== undefined && own.value !== null && own.value !== '') extra[own.key] = own.value;
    }
    return { ...made, extra } as Output<F>;
  };

  return {
    schema,
    keys: table.map(([, { key }]) => key),
    rename,
    decode: (value) => {
      const decoded = decodeBy(schema, value);
      return decoded.kind === 'refused' ? decoded : { kind: 'decoded', value: rename(decoded.value, value) };
    },
    encode: (value) => {
      const written: Record<string, unknown> = {};
      for (const [name, { key, kind, presence }] of table) {
        const own = (value as Record<string, unknown>)[name];
        if (own !== null && own !== undefined) written[key] = kind.toWire(own as never);
        else if (presence === 'nullable') written[key] = null;
      }
      return { ...written, ...((value as { extra?: JsonObject }).extra ?? {}) } as JsonObject;
    },
  };
}

type RawField = { key: string; value: JsonValue };

/** Which key of `raw` stands for which field: of two that differ only in case the table's own wins, and the other is extra. */
function rawByName(raw: JsonObject, fields: Fields, named: ReadonlyMap<string, string>) {
  const raws = new Map<string, RawField>();
  const extra: JsonObject = {};
  for (const key of Object.keys(raw)) {
    const name = named.get(key.toLowerCase());
    const value = raw[key]!;
    if (name === undefined) {
      extra[key] = value;
      continue;
    }
    const before = raws.get(name);
    const winner = before === undefined || key === fields[name]!.key ? { key, value } : before;
    const loser = winner === before ? { key, value } : before;
    raws.set(name, winner);
    if (loser !== undefined) extra[loser.key] = loser.value;
  }
  return { raws, extra };
}
