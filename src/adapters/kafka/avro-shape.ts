/**
 * Between our records and their Avro form. A field that the schema names is written under its own type; everything else of
 * an object goes, as JSON, into its field `rest`. So integrators read typed fields, deep parts grow without a new schema,
 * and every record comes back exactly as it was.
 */
import assert from 'node:assert/strict';

type Field = { name: string; type: unknown };
export type RecordSchema = { type: 'record'; name: string; namespace?: string; fields: readonly Field[] };
type Plain = Record<string, unknown>;

/** The field of a topic's record whose branch is named by the record's `kind`. */
const branchField = 'record';
const restField = 'rest';

export function toAvro(record: object, schema: RecordSchema): Plain {
  return shapeRecord({ ...record }, schema, schema.namespace ?? '');
}

function shapeRecord(remaining: Plain, schema: RecordSchema, namespace: string): Plain {
  const shaped: Plain = {};
  const { kind } = remaining;
  for (const { name, type } of schema.fields) {
    if (name === branchField || name === restField) continue;
    shaped[name] = shapeValue(remaining[name], type, namespace);
    delete remaining[name];
  }
  for (const { name, type } of schema.fields) {
    if (name === branchField) {
      const branch = branchOf(type as readonly RecordSchema[], kind);
      shaped[name] = { [`${namespace}.${branch.name}`]: shapeRecord(remaining, branch, namespace) };
    } else if (name === restField) {
      shaped[name] = JSON.stringify(remaining);
    }
  }
  return shaped;
}

function branchOf(branches: readonly RecordSchema[], kind: unknown): RecordSchema {
  assert(typeof kind === 'string');
  const name = kind.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const branch = branches.find((each) => each.name === name);
  assert(branch !== undefined, `the schema has no branch ${name}`);
  return branch;
}

function shapeValue(value: unknown, type: unknown, namespace: string): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(type)) {
    return shapeValue(
      value,
      type.find((each) => each !== 'null'),
      namespace,
    );
  }
  const { type: kind, items } = type as { type?: unknown; items?: unknown };
  if (kind === 'record') return shapeRecord({ ...(value as Plain) }, type as RecordSchema, namespace);
  assert(kind === 'array' && Array.isArray(value));
  return value.map((each) => shapeValue(each, items, namespace));
}

/** Whatever schema it was written under: a field is taken where it stands. Throws what `JSON.parse` throws. */
export function fromAvro(shaped: unknown): object {
  const { [branchField]: branch, ...head } = shaped as Plain;
  const plain = plainOf(head) as Plain;
  if (branch === undefined) return plain;
  // The branch's name says nothing that `kind` does not.
  return { ...plain, ...(plainOf(Object.values(branch as Plain)[0]) as Plain) };
}

function plainOf(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(plainOf);
  const { [restField]: rest, ...fields } = value as Plain;
  const plain: Plain = {};
  for (const [name, each] of Object.entries(fields)) plain[name] = plainOf(each);
  return typeof rest === 'string' ? { ...plain, ...(JSON.parse(rest) as Plain) } : plain;
}
