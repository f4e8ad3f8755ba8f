/**
 * Decision tables: files `NAME.table.json`, one event for many rows. Each row becomes a rule, so that tables mean what
 * rules mean; exactly one row may hold, so every two rows have to exclude each other.
 */
import { economicsParameters, limitParameters, strategyKeys } from './events.ts';
import { catalogue, extraPrefix } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject, type Place, readObject, readText, refuse, shown, suggestion, within } from './place.ts';
import { definitionOf, type Vocabulary } from './vocabulary.ts';

export type TableRow = { rule: JsonObject; place: Place; tableName: string };

const maxRows = 500;
const maxColumns = 12;
/** The parameters that each event may set. */
const tableEvents: Readonly<Record<string, readonly string[]>> = {
  pass: ['code', 'reason'],
  limit: Object.keys(limitParameters),
  economics: Object.keys(economicsParameters),
  strategy: strategyKeys,
};

const keys = {
  required: ['name', 'description', 'event', 'inputs', 'outputs', 'rows'],
  optional: ['$schema', 'owner', 'priority', 'stage', 'onMissing', 'validFrom', 'validUntil', 'share'],
};

function object(entries: Readonly<Record<string, Json | undefined>>): JsonObject {
  const made: JsonObject = Object.create(null);
  for (const [key, value] of Object.entries(entries)) if (value !== undefined) made[key] = value;
  return made;
}

function comparison(fact: string, operator: string, value: Json): JsonObject {
  return object({ fact, operator, value });
}

/** `null`: any; a value; a list of values; `{"from": 12, "below": 36}`. */
function cellConditions(place: Place, fact: string, cell: Json): JsonObject[] | null {
  if (cell === null) return [];
  if (Array.isArray(cell)) return [comparison(fact, 'in', cell)];
  if (!isObject(cell)) return [comparison(fact, 'equal', cell)];
  const bounds = readObject(place, cell, 'A range', { required: [], optional: ['from', 'below'] });
  if (bounds === null) return null;
  const { from, below } = bounds;
  if (from === undefined && below === undefined) {
    return refuse(place, 'This range has no bounds; write {"from": 12, "below": 36}, or null for any value.');
  }
  const parts: JsonObject[] = [];
  if (from !== undefined) parts.push(comparison(fact, 'greaterThanInclusive', from));
  if (below !== undefined) parts.push(comparison(fact, 'lessThan', below));
  return parts;
}

function readNames(place: Place, value: Json, what: string, least: number): readonly string[] | null {
  const good = Array.isArray(value) && value.length >= least && value.length <= maxColumns;
  if (!good || !value.every((name) => typeof name === 'string')) {
    return refuse(place, `${what} are ${shown(value)}; write a list of ${least} to ${maxColumns} names.`);
  }
  if (new Set(value).size < value.length) return refuse(place, `${what} name one column twice; remove one.`);
  return value as string[];
}

function readCells(place: Place, key: string, value: Json, count: number): readonly Json[] | null {
  const at = within(place, key);
  if (Array.isArray(value) && value.length === count) return value;
  return refuse(at, `"${key}" is ${shown(value)}; write a list of ${count} cells, null for any.`);
}

type Columns = { inputs: readonly string[]; outputs: readonly string[] };

function readRow(place: Place, value: Json, table: JsonObject, columns: Columns, index: number): TableRow | null {
  const row = readObject(place, value, 'A row', { required: ['when', 'set'], optional: [] });
  if (row === null) return null;
  const when = readCells(place, 'when', row.when!, columns.inputs.length);
  const set = readCells(place, 'set', row.set!, columns.outputs.length);
  if (when === null || set === null) return null;
  const conditions: Json[] = [];
  for (const [column, cell] of when.entries()) {
    const parts = cellConditions(within(within(place, 'when'), column), columns.inputs[column]!, cell);
    if (parts === null) return null;
    conditions.push(...parts);
  }
  if (conditions.length === 0) conditions.push(comparison('desk.always', 'equal', true));
  const params = object(Object.fromEntries(columns.outputs.map((name, column) => [name, set[column] ?? undefined])));
  const { description, owner, priority, stage, onMissing, validFrom, validUntil, share } = table;
  const rule = object({
    name: `${table.name} #${index + 1}`,
    description,
    owner,
    priority,
    stage,
    onMissing,
    validFrom,
    validUntil,
    share,
    conditions: object({ all: conditions }),
    event: object({ type: table.event, params }),
  });
  return { rule, place: { ...place, pinned: true }, tableName: String(table.name) };
}

/** Columns whose cells are all empty are in no rule, so their names are checked here. */
function refuseUnknown(
  place: Place,
  names: readonly string[],
  isKnown: (name: string) => boolean,
  known: readonly string[],
) {
  for (const [index, name] of names.entries()) {
    if (!isKnown(name)) refuse(within(place, index), `There is no ${shown(name)} here. ${suggestion(name, known)}`);
  }
}

/** The rows as rules yet to be read; a fault in one points to its row. */
export function readTable(place: Place, value: Json, vocabulary: Vocabulary): readonly TableRow[] {
  const table = readObject(place, value, 'A table', keys);
  if (table === null) return [];
  const name = readText(within(place, 'name'), table.name!, 'The name', 70);
  const event = typeof table.event === 'string' && Object.hasOwn(tableEvents, table.event) ? table.event : null;
  if (event === null)
    refuse(
      within(place, 'event'),
      `The event is ${shown(table.event!)}; write one of ${Object.keys(tableEvents).join(', ')}.`,
    );
  const inputs = readNames(within(place, 'inputs'), table.inputs!, 'The inputs', 1);
  const outputs = readNames(within(place, 'outputs'), table.outputs!, 'The outputs', 1);
  const at = within(place, 'rows');
  const rows = table.rows!;
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > maxRows) {
    refuse(at, `"rows" is ${shown(rows)}; write a list of 1 to ${maxRows} rows.`);
    return [];
  }
  if (name === null || event === null || inputs === null || outputs === null) return [];
  const before = place.faults.length;
  const isFact = (fact: string) => fact.startsWith(extraPrefix) || definitionOf(fact, vocabulary) !== null;
  const facts = catalogue.map((fact) => fact.name);
  refuseUnknown(within(place, 'inputs'), inputs, isFact, facts);
  const parameters = tableEvents[event]!;
  refuseUnknown(within(place, 'outputs'), outputs, (parameter) => parameters.includes(parameter), parameters);
  if (place.faults.length > before) return [];
  return rows.flatMap((row, index) => readRow(within(at, index), row, table, { inputs, outputs }, index) ?? []);
}
