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

/** What is asked of a schema for every record, found out once. */
type Plan = {
  /** Fields with a type of their own. */
  typed: readonly Field[];
  names: ReadonlySet<string>;
  /** By `kind`; null where the schema has no branches. */
  branches: ReadonlyMap<string, { name: string; schema: RecordSchema }> | null;
  hasRest: boolean;
};

const plans = new WeakMap<RecordSchema, Plan>();
const none: ReadonlySet<string> = new Set();

function planOf(schema: RecordSchema, namespace: string): Plan {
  const known = plans.get(schema);
  if (known !== undefined) return known;
  const typed = schema.fields.filter(({ name }) => name !== branchField && name !== restField);
  const union = schema.fields.find(({ name }) => name === branchField)?.type as readonly RecordSchema[] | undefined;
  const plan: Plan = {
    typed,
    names: new Set(typed.map(({ name }) => name)),
    branches: union === undefined ? null : branchesOf(union, namespace),
    hasRest: schema.fields.some(({ name }) => name === restField),
  };
  plans.set(schema, plan);
  return plan;
}

/** The branch `WinCurve` is of kind `win-curve`. */
function branchesOf(union: readonly RecordSchema[], namespace: string): NonNullable<Plan['branches']> {
  const kindOf = (name: string) => name.replaceAll(/(?!^)[A-Z]/g, '-$&').toLowerCase();
  return new Map(union.map((schema) => [kindOf(schema.name), { name: `${namespace}.${schema.name}`, schema }]));
}

export function toAvro(record: object, schema: RecordSchema): Plain {
  return shapeRecord(record as Plain, schema, schema.namespace ?? '', none);
}

/** `taken`: fields that stand elsewhere already. */
function shapeRecord(record: Plain, schema: RecordSchema, namespace: string, taken: ReadonlySet<string>): Plain {
  const { typed, names, branches, hasRest } = planOf(schema, namespace);
  const shaped: Plain = {};
  for (const { name, type } of typed) shaped[name] = shapeValue(record[name], type, namespace);
  if (branches !== null) {
    const branch = branches.get(String(record.kind));
    assert(branch !== undefined, `the schema has no branch for ${String(record.kind)}`);
    shaped[branchField] = { [branch.name]: shapeRecord(record, branch.schema, namespace, names) };
  }
  if (hasRest) {
    const rest: Plain = {};
    for (const name of Object.keys(record)) if (!names.has(name) && !taken.has(name)) rest[name] = record[name];
    shaped[restField] = JSON.stringify(rest);
  }
  return shaped;
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
  if (kind === 'record') return shapeRecord(value as Plain, type as RecordSchema, namespace, none);
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
  const plain: Plain = {};
  for (const name of Object.keys(value)) {
    if (name !== restField) plain[name] = plainOf((value as Plain)[name]);
  }
  const rest = (value as Plain)[restField];
  return typeof rest === 'string' ? Object.assign(plain, JSON.parse(rest)) : plain;
}
