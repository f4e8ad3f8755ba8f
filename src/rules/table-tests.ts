/**
 * Tests of decision tables that nobody has to write: each row in its cells, at both edges of a range and beyond them, and without each
 * fact. What is expected is read from the cells, not from the conditions that were made of them: this row and no other, or none, or what
 * its event does where a fact is missing. They show that each row is reached as its cells say; what it sets people test.
 */
import type { FactDefinition, FactValue } from './facts.ts';
import { isAlwaysPresent } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject } from './place.ts';
import type { Rule, Scalar } from './rule.ts';

export type CellTest = {
  name: string;
  rule: Rule;
  facts: Readonly<Record<string, FactValue | undefined>>;
  fired: readonly string[];
  silent: readonly string[];
};

/** `definition` null: a key of the request that nobody mapped. `isSet`: a test may say it. */
export type InputFact = { fact: string; definition: FactDefinition | null; isSet: boolean };

/** Of a list that is longer, the ends. */
const mostValues = 5;

function stepOf(definition: FactDefinition | null): number {
  return definition?.whole === true ? 1 : 0.01;
}

function exact(value: number): number {
  return Number(value.toFixed(6));
}

/** Values in the cell: those that it lists, or both edges of its range. */
function valuesIn(cell: Json, definition: FactDefinition | null): readonly Scalar[] {
  if (Array.isArray(cell)) return (cell.length > mostValues ? [cell[0]!, cell.at(-1)!] : cell) as Scalar[];
  if (!isObject(cell)) return [cell as Scalar];
  const { from, below } = cell as { from?: number; below?: number };
  const step = stepOf(definition);
  const least = from ?? definition?.range?.min ?? below! - step;
  const most = below === undefined ? (definition?.range?.max ?? least + step) : exact(below - step);
  return most > least ? [least, most] : [least];
}

function isIn(cell: Json, value: Scalar): boolean {
  if (Array.isArray(cell)) return cell.includes(value);
  if (!isObject(cell)) return cell === value;
  const { from = Number.NEGATIVE_INFINITY, below = Number.POSITIVE_INFINITY } = cell as {
    from?: number;
    below?: number;
  };
  return typeof value === 'number' && value >= from && value < below;
}

/** Values just beyond the edges of a range; else one that the cell does not have. */
function valuesBeyond(cell: Json, definition: FactDefinition | null, others: readonly Scalar[]): readonly Scalar[] {
  if (isObject(cell)) {
    const { from, below } = cell as { from?: number; below?: number };
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = definition?.range ?? {};
    const edges = [from === undefined ? null : exact(from - stepOf(definition)), below ?? null];
    return edges.filter((edge) => edge !== null && edge >= min && edge <= max) as number[];
  }
  const pool = definition?.type === 'boolean' ? [true, false] : [...(definition?.values ?? []), ...others];
  const free = pool.find((value) => !isIn(cell, value));
  return free === undefined ? [] : [free];
}

/** What the row does where it cannot be decided. */
function actsUndecided({ event, onMissing }: Rule): boolean {
  return event.type === 'limit' || (event.type === 'pass' && onMissing === 'pass');
}

/** `rules`: of the rows of the table, in order. None where a test cannot say one of the inputs: people have to say what that is made of. */
export function testsOfTable(
  table: JsonObject,
  rules: readonly Rule[],
  inputs: readonly InputFact[],
): readonly CellTest[] {
  const rows = (table.rows as readonly JsonObject[]).map(({ when }) => when as readonly Json[]);
  const used = inputs.map((_, column) => rows.some((row) => row[column] !== null));
  if (rows.length !== rules.length || inputs.some(({ isSet }, column) => used[column]! && !isSet)) return [];
  const valuesOf = inputs.map(({ definition }, column) =>
    rows.flatMap((row) => (row[column] === null ? [] : valuesIn(row[column]!, definition))),
  );
  const tests: CellTest[] = [];
  for (const [index, row] of rows.entries()) {
    const rule = rules[index]!;
    const { name, event, share } = rule;
    const others = rules.filter((other) => other !== rule).map((other) => other.name);
    const base: Record<string, FactValue | undefined> = share === null ? {} : { [share.fact]: true };
    // The first row says a value where this one takes any.
    for (const [column, { fact, definition }] of inputs.entries())
      if (used[column])
        base[fact] = row[column] === null ? valuesOf[column]![0] : valuesIn(row[column]!, definition)[0];
    const add = (text: string, changed: object, fired: readonly string[], silent: readonly string[]) =>
      tests.push({ name: `${name}: ${text} (generated)`, rule, facts: { ...base, ...changed }, fired, silent });
    // Another rule may have chosen the strategy before.
    const own = event.type === 'strategy' ? [] : [name];
    if (row.every((cell) => cell === null)) add('any', {}, own, others);
    for (const [column, { fact, definition }] of inputs.entries()) {
      const cell = row[column]!;
      if (cell === null) continue;
      for (const value of valuesIn(cell, definition))
        add(`${fact} ${JSON.stringify(value)}`, { [fact]: value }, own, others);
      for (const value of valuesBeyond(cell, definition, valuesOf[column]!))
        add(`not with ${fact} ${JSON.stringify(value)}`, { [fact]: value }, [], [name]);
      if (isAlwaysPresent(fact)) continue;
      const acts = actsUndecided(rule);
      add(`${fact} unknown`, { [fact]: undefined }, acts ? [name] : [], acts ? [] : [name]);
    }
  }
  return tests;
}
