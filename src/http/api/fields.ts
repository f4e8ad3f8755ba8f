/** How the parts of a request are named in refusals: one form for all, whoever refuses. */
import { z } from 'zod';
import { fieldsAt, partAt } from './described.ts';
import { isMissing, keyText } from './remedies.ts';

/** As the documentation writes it. */
export function headerName(name: string): string {
  return name.toLowerCase().replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** No schema nests deeper. */
const mostParts = 12;

/**
 * `contract.installments`, `Idempotency-Key`, `limit`: parts of the body by their path in it, headers and parameters by their
 * names. `body` is the whole of it. Keys that are the sender's own are shortened, and never a CPF.
 */
export function fieldName(context: string, path: readonly PropertyKey[]): string {
  const parts = path.slice(0, mostParts).map((part) => keyText(String(part)));
  if (parts.length === 0) return context;
  return context === 'headers' ? headerName(parts[0]!) : parts.join('.');
}

/** What there is of the name in what a schema describes: the ways to all that holds it. */
function holdersOf(name: string, schema: z.ZodType, within: readonly string[] = []): (readonly string[])[] {
  const names = [...(fieldsAt(schema, within)?.keys() ?? [])];
  const inner = names.flatMap((each) => holdersOf(name, schema, [...within, each]));
  return names.includes(name) ? [within, ...inner] : inner;
}

/**
 * A rule may name a field without what holds it. `field` with its holder, where it is no field of the body itself, and in what was
 * sent, or else in the schema, exactly one part that is nested least holds it; else as it is.
 */
export function wholePath(field: string, body: unknown, schema: unknown): string {
  const path = field.split('.');
  if (!(schema instanceof z.ZodType) || fieldsAt(schema, [])?.has(path[0]!)) return field;
  const holders = holdersOf(path[0]!, schema).filter((holder) => partAt(schema, [...holder, ...path]) !== null);
  const sent = holders.filter((holder) => !isMissing(body, holder));
  const possible = sent.length > 0 ? sent : holders;
  const least = Math.min(...possible.map(({ length }) => length));
  const [holder, ...others] = possible.filter(({ length }) => length === least);
  return holder === undefined || others.length > 0 ? field : [...holder, field].join('.');
}
