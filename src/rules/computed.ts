/**
 * Computed facts: `facts.json` of a rule set, each an expression over typed facts. Units are checked where the file is read, and the
 * arithmetic is exact. What cannot be told of one part cannot be told of the whole; nothing is divided by zero.
 */
import { basesOf, type DerivedFact, type DerivedFacts, factIn } from './derived.ts';
import { extraPrefix, type FactDefinition, type Facts } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject, type Place, readNumber, readObject, readText, refuse, shown, suggestion, within } from './place.ts';
import { type Arithmetic, bigArithmetic, type Fraction, Overflow, plainArithmetic } from './rational.ts';
import { combine, isSameUnit, plainUnit, type Unit, unitOf, unitText } from './units.ts';

const computedPrefix = 'computed.';

type Expression =
  | { kind: 'number'; value: number }
  | { kind: 'fact'; name: string }
  | { kind: 'add' | 'mul' | 'min' | 'max'; parts: readonly Expression[] }
  | { kind: 'sub' | 'div'; left: Expression; right: Expression }
  | { kind: 'round'; part: Expression; decimals: number }
  | { kind: 'count'; name: string }
  | { kind: 'sum'; list: ItemList }
  | { kind: 'days' | 'months'; from: DayOperand; to: DayOperand };

/** Values of a list among the facts of `extra`: `extra.loans.*.instalment`, as many as `extra.loans.length` says. */
type ItemList = { name: string; lengthName: string; before: string; after: string };

type DayOperand = { kind: 'day'; day: string } | { kind: 'fact'; name: string };

/** `unit` null: it takes that of what stands beside it. */
type Measured = { expression: Expression; unit: Unit | null };

const maxFacts = 200;
const maxDepth = 8;
/** Facts within facts are counted each time they stand somewhere. */
const maxOperations = 100;
/** More values are taken of no request. */
const maxItems = 100;
/** What a sum over a list counts as. */
const operationsOfSum = 10;
const factShape = /^[a-z][A-Za-z0-9]{0,39}$/;
const dayShape = /^\d{4}-\d{2}-\d{2}$/;
const largest = 1e15;

// --- Values ---------------------------------------------------------------------------------------------------------

const dayMs = 86_400_000;

function dayOf(tables: DerivedFacts, operand: DayOperand, facts: Facts, offerFacts: Facts): number | null {
  const text = operand.kind === 'day' ? operand.day : factIn(tables, operand.name, facts, offerFacts);
  if (typeof text !== 'string' || !dayShape.test(text)) return null;
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(time) ? null : time / dayMs;
}

/** Whole months from one day to another; below zero where the other comes before. */
function monthsBetween(from: number, to: number): number {
  if (to < from) return -monthsBetween(to, from);
  const [start, end] = [new Date(from * dayMs), new Date(to * dayMs)];
  const months = (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth();
  return end.getUTCDate() < start.getUTCDate() ? months - 1 : months;
}

/** Null: it is not known how many there are, or one of them is no number. */
function itemsOf(list: ItemList, facts: Facts): readonly number[] | null {
  const length = lengthOf(list, facts);
  if (length === null) return null;
  const items: number[] = [];
  for (let index = 0; index < length; index += 1) {
    const value = facts[`${list.before}${index}${list.after}`];
    if (typeof value !== 'number' || !Number.isFinite(value)) return null;
    items.push(value);
  }
  return items;
}

function lengthOf({ lengthName }: ItemList, facts: Facts): number | null {
  const length = facts[lengthName];
  return typeof length === 'number' && Number.isInteger(length) && length >= 0 && length <= maxItems ? length : null;
}

type Evaluate<N> = (facts: Facts, offerFacts: Facts) => Fraction<N> | null;

function fold<N>(
  parts: readonly Evaluate<N>[],
  join: (left: Fraction<N>, right: Fraction<N>) => Fraction<N>,
): Evaluate<N> {
  return (facts, offerFacts) => {
    let whole = parts[0]!(facts, offerFacts);
    for (let index = 1; index < parts.length && whole !== null; index += 1) {
      const part = parts[index]!(facts, offerFacts);
      whole = part === null ? null : join(whole, part);
    }
    return whole;
  };
}

/** `tables`: facts of value tables. */
function compile<N>(arithmetic: Arithmetic<N>, expression: Expression, tables: DerivedFacts): Evaluate<N> {
  const of = (part: Expression) => compile(arithmetic, part, tables);
  switch (expression.kind) {
    case 'number': {
      const value = arithmetic.from(expression.value);
      return () => value;
    }
    case 'fact': {
      const { name } = expression;
      return (facts, offerFacts) => {
        const value = factIn(tables, name, facts, offerFacts);
        return typeof value === 'number' && Number.isFinite(value) ? arithmetic.from(value) : null;
      };
    }
    case 'count': {
      const { name } = expression;
      return (facts, offerFacts) => {
        const value = factIn(tables, name, facts, offerFacts);
        return Array.isArray(value) ? arithmetic.from(value.length) : null;
      };
    }
    case 'sum': {
      const { list } = expression;
      return (facts) => {
        let whole = arithmetic.from(0);
        for (const item of itemsOf(list, facts) ?? [null]) {
          const part = item === null ? null : arithmetic.from(item);
          whole = whole === null || part === null ? null : arithmetic.add(whole, part);
        }
        return whole;
      };
    }
    case 'add':
      return fold(expression.parts.map(of), arithmetic.add);
    case 'mul':
      return fold(expression.parts.map(of), arithmetic.mul);
    case 'min':
      return fold(expression.parts.map(of), (left, right) => (arithmetic.less(right, left) ? right : left));
    case 'max':
      return fold(expression.parts.map(of), (left, right) => (arithmetic.less(left, right) ? right : left));
    case 'sub':
    case 'div': {
      const [left, right, join] = [of(expression.left), of(expression.right), arithmetic[expression.kind]];
      return (facts, offerFacts) => {
        const [one, other] = [left(facts, offerFacts), right(facts, offerFacts)];
        return one === null || other === null ? null : join(one, other);
      };
    }
    case 'round': {
      const [part, { decimals }] = [of(expression.part), expression];
      return (facts, offerFacts) => {
        const value = part(facts, offerFacts);
        return value === null ? null : arithmetic.round(value, decimals);
      };
    }
    case 'days':
    case 'months': {
      const { kind, from, to } = expression;
      return (facts, offerFacts) => {
        const [start, end] = [dayOf(tables, from, facts, offerFacts), dayOf(tables, to, facts, offerFacts)];
        if (start === null || end === null) return null;
        return arithmetic.from(kind === 'days' ? end - start : monthsBetween(start, end));
      };
    }
    default:
      return expression satisfies never;
  }
}

function partsOf(expression: Expression): readonly Expression[] {
  if ('parts' in expression) return expression.parts;
  if ('left' in expression) return [expression.left, expression.right];
  return 'part' in expression ? [expression.part] : [];
}

function usesOf(expression: Expression): readonly string[] {
  const own =
    expression.kind === 'fact' || expression.kind === 'count'
      ? [expression.name]
      : 'list' in expression
        ? [expression.list.lengthName, expression.list.name]
        : 'from' in expression
          ? [expression.from, expression.to].flatMap((operand) => (operand.kind === 'fact' ? [operand.name] : []))
          : [];
  return [...new Set([...own, ...partsOf(expression).flatMap(usesOf)])];
}

function operationsIn(expression: Expression): number {
  const own = expression.kind === 'sum' ? operationsOfSum : 1;
  return partsOf(expression).reduce((sum, part) => sum + operationsIn(part), own);
}

function depthOf(expression: Expression): number {
  return 1 + Math.max(0, ...partsOf(expression).map(depthOf));
}

/** Whether it may be unknown though all that it names is there. */
function mayFail(expression: Expression): boolean {
  return expression.kind === 'div' || expression.kind === 'sum' || partsOf(expression).some(mayFail);
}

function evaluator(expression: Expression, tables: DerivedFacts): DerivedFact['value'] {
  const plain = compileOrNull(expression, tables);
  let big: Evaluate<bigint> | null = null;
  const finish = (value: number) => (Math.abs(value) <= largest ? value : undefined);
  return (facts, offerFacts) => {
    if (plain !== null) {
      try {
        const result = plain(facts, offerFacts);
        return result === null ? undefined : finish(plainArithmetic.value(result));
      } catch (fault) {
        if (!(fault instanceof Overflow)) throw fault;
      }
    }
    big ??= compile(bigArithmetic, expression, tables);
    const result = big(facts, offerFacts);
    return result === null ? undefined : finish(bigArithmetic.value(result));
  };
}

/** Null: a number of the expression itself is too long for plain ones. */
function compileOrNull(expression: Expression, tables: DerivedFacts): Evaluate<number> | null {
  try {
    return compile(plainArithmetic, expression, tables);
  } catch (fault) {
    if (fault instanceof Overflow) return null;
    throw fault;
  }
}

type Known = { tables: DerivedFacts; facts: Facts; offerFacts: Facts };

function isThere(expression: Expression, name: string, known: Known): boolean {
  const { tables, facts, offerFacts } = known;
  if (expression.kind === 'sum') {
    const { list } = expression;
    if (name === list.lengthName) return lengthOf(list, facts) !== null;
    return name !== list.name || lengthOf(list, facts) === null || itemsOf(list, facts) !== null;
  }
  if (partsOf(expression).length > 0) {
    return partsOf(expression).every((part) => isThere(part, name, known));
  }
  if (!usesOf(expression).includes(name)) return true;
  const value = factIn(tables, name, facts, offerFacts);
  if (value === undefined) return false;
  if (expression.kind === 'fact') return typeof value === 'number' && Number.isFinite(value);
  return expression.kind !== 'count' || Array.isArray(value);
}

// --- Reading --------------------------------------------------------------------------------------------------------

type Reader = {
  /** Of the catalogue, a score, a scorecard; null: there is none of this name. */
  definitionOf: (name: string) => FactDefinition | null;
  /** A computed fact by its bare name; null: it was refused, here or where it stands. */
  computed: (name: string, place: Place) => (Measured & { stage: FactDefinition['stage'] }) | null;
};

const operations = [
  'add',
  'sub',
  'mul',
  'div',
  'min',
  'max',
  'round',
  'daysBetween',
  'monthsBetween',
  'count',
  'sum',
] as const;
type Operation = (typeof operations)[number];

/** Units that somebody may say a fact of `extra` has. */
const extraUnits = ['R$', 'R$ a month', 'months', 'days', 'years', '%', '% a month', '% a year', 'share', 'points'];

function readExtra(place: Place, { unit }: JsonObject, name: string): Measured | null {
  const expression: Expression = { kind: 'fact', name };
  if (unit === undefined) return { expression, unit: null };
  if (typeof unit === 'string' && extraUnits.includes(unit)) return { expression, unit: unitOf(unit) };
  return refuse(within(place, 'unit'), `There is no unit ${shown(unit)}. ${suggestion(String(unit), extraUnits)}`);
}

function readFactOperand(place: Place, object: JsonObject, reader: Reader): Measured | null {
  const at = within(place, 'fact');
  const name = readText(at, object.fact!, 'The fact', maxNameLength);
  if (name === null) return null;
  if (name.startsWith(computedPrefix)) return reader.computed(name.slice(computedPrefix.length), at);
  if (name.startsWith(extraPrefix) && name.length > extraPrefix.length) return readExtra(place, object, name);
  if ('unit' in object) {
    return refuse(
      within(place, 'unit'),
      `The unit of "${name}" is known; remove "unit", which is for facts of "extra".`,
    );
  }
  const definition = reader.definitionOf(name);
  if (definition === null) return refuse(at, `There is no fact ${shown(name)}. See rules/schema/facts.md.`);
  if (definition.type !== 'number') {
    const instead = definition.isDay ? '"daysBetween" or "monthsBetween"' : 'a fact that is a number';
    return refuse(at, `"${name}" is no number (${definition.type}); write ${instead}.`);
  }
  const unit = unitOf(definition.unit);
  if (unit === null)
    return refuse(at, `"${name}" is a label (${definition.unit}), which nobody adds; compare it in a condition.`);
  return { expression: { kind: 'fact', name }, unit };
}

function readDay(place: Place, value: Json, reader: Reader): DayOperand | null {
  if (typeof value === 'string') {
    const time = dayShape.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN;
    if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(value)) return { kind: 'day', day: value };
    return refuse(place, `${shown(value)} is no day; write one like "2026-12-31", or {"fact": "desk.date"}.`);
  }
  const object = readObject(place, value, 'A day', { required: ['fact'], optional: [] });
  if (object === null) return null;
  const name = object.fact!;
  const definition = typeof name === 'string' ? reader.definitionOf(name) : null;
  if (typeof name === 'string' && definition?.isDay) return { kind: 'fact', name };
  return refuse(within(place, 'fact'), `${shown(name)} is no fact that is a day; see rules/schema/facts.md for those.`);
}

function readList(place: Place, key: string, value: Json, least: number, most: number): readonly Json[] | null {
  if (Array.isArray(value) && value.length >= least && value.length <= most) return value;
  const count = least === most ? `${least}` : `${least} to ${most}`;
  return refuse(within(place, key), `"${key}" is ${shown(value)}; write a list of ${count} parts.`);
}

/** The unit that all have; null: none of them has one. Undefined: refused. */
function commonUnit(place: Place, parts: readonly Measured[]): Unit | null | undefined {
  let common: Unit | null = null;
  for (const { unit } of parts) {
    if (unit === null) continue;
    if (common !== null && !isSameUnit(common, unit)) {
      refuse(
        place,
        `One part is in ${unitText(common)}, another in ${unitText(unit)}; bring them to one unit, by "mul" or "div".`,
      );
      return undefined;
    }
    common = unit;
  }
  return common;
}

function readOperation(place: Place, key: Operation, object: JsonObject, reader: Reader): Measured | null {
  const at = within(place, key);
  const given = object[key]!;
  const read = (list: readonly Json[]): Measured[] | null => {
    const parts = list.flatMap((part, index) => readExpression(within(at, index), part, reader) ?? []);
    return parts.length === list.length ? parts : null;
  };
  switch (key) {
    case 'add':
    case 'mul':
    case 'min':
    case 'max': {
      const list = readList(place, key, given, 2, 20);
      const parts = list === null ? null : read(list);
      if (parts === null) return null;
      const expression: Expression = { kind: key, parts: parts.map((part) => part.expression) };
      if (key === 'mul') {
        return { expression, unit: parts.reduce((unit, part) => combine(unit, part.unit ?? plainUnit, 1), plainUnit) };
      }
      const unit = commonUnit(at, parts);
      return unit === undefined ? null : { expression, unit };
    }
    case 'sub':
    case 'div': {
      const list = readList(place, key, given, 2, 2);
      const parts = list === null ? null : read(list);
      if (parts === null) return null;
      const [left, right] = parts as [Measured, Measured];
      const expression: Expression = { kind: key, left: left.expression, right: right.expression };
      if (key === 'div') {
        if (right.expression.kind === 'number' && right.expression.value === 0)
          return refuse(within(at, 1), 'This divides by zero; write another number.');
        return { expression, unit: combine(left.unit ?? plainUnit, right.unit ?? plainUnit, -1) };
      }
      const unit = commonUnit(at, parts);
      return unit === undefined ? null : { expression, unit };
    }
    case 'round': {
      const part = readExpression(at, given, reader);
      const measure = { unit: 'decimals', min: 0, max: 6, decimals: 0 };
      const decimals = readNumber(within(place, 'decimals'), object.decimals ?? 0, 'decimals', measure);
      if (part === null || decimals === null) return null;
      return { expression: { kind: 'round', part: part.expression, decimals }, unit: part.unit };
    }
    case 'daysBetween':
    case 'monthsBetween': {
      const list = readList(place, key, given, 2, 2);
      if (list === null) return null;
      const [from, to] = [readDay(within(at, 0), list[0]!, reader), readDay(within(at, 1), list[1]!, reader)];
      if (from === null || to === null) return null;
      const kind = key === 'daysBetween' ? 'days' : 'months';
      return { expression: { kind, from, to }, unit: new Map([[kind, 1]]) };
    }
    case 'count': {
      const name = isObject(given) ? given.fact : undefined;
      const definition = typeof name === 'string' ? reader.definitionOf(name) : null;
      if (typeof name === 'string' && name.startsWith(extraPrefix) && name.length > extraPrefix.length) {
        const most = maxNameLength - lengthWord.length;
        if (name.includes('*') || name.length > most)
          return refuse(at, `"count" wants the list itself, like {"count": {"fact": "extra.loans"}}.`);
        return { expression: { kind: 'fact', name: name + lengthWord }, unit: plainUnit };
      }
      if (typeof name !== 'string' || definition?.type !== 'string-list')
        return refuse(at, `"count" wants a fact that is a list, like {"count": {"fact": "alerts.codes"}}.`);
      return { expression: { kind: 'count', name }, unit: plainUnit };
    }
    case 'sum':
      return readSum(at, given);
    default:
      return key satisfies never;
  }
}

const maxNameLength = 200;
const lengthWord = '.length';
const listShape = /^(extra\.(?:[^*]+\.)?[^*.]+)\.\*((?:\.[^*.]+)*)$/;

/** `extra.loans.*.instalment` for the values of a key in a list of objects, `extra.debts.*` for a list of numbers. */
function readSum(place: Place, value: Json): Measured | null {
  const example = '{"sum": {"fact": "extra.loans.*.instalment", "unit": "R$ a month"}}';
  if (Array.isArray(value)) return refuse(place, `Write "add" for parts; a sum is over a list, like ${example}.`);
  const object = readObject(place, value, '"sum"', { required: ['fact'], optional: ['unit'] });
  if (object === null) return null;
  const at = within(place, 'fact');
  const name = readText(at, object.fact!, 'The fact', maxNameLength);
  if (name === null) return null;
  const [, list, after] = listShape.exec(name) ?? [];
  if (list === undefined || after === undefined) {
    return refuse(at, `${shown(name)} names no values of a list; write one like ${example}.`);
  }
  const measured = readExtra(place, object, name);
  if (measured === null) return null;
  const items: ItemList = { name, lengthName: list + lengthWord, before: `${list}.`, after };
  return { expression: { kind: 'sum', list: items }, unit: measured.unit };
}

function readExpression(place: Place, value: Json, reader: Reader): Measured | null {
  if (typeof value === 'number') return { expression: { kind: 'number', value }, unit: null };
  if (!isObject(value))
    return refuse(place, `This is ${shown(value)}; write a number, {"fact": …} or an operation like {"div": [ … ]}.`);
  if ('fact' in value) {
    const object = readObject(place, value, 'A fact', { required: ['fact'], optional: ['unit'] });
    return object === null ? null : readFactOperand(place, object, reader);
  }
  const keys = Object.keys(value);
  const key = operations.find((known) => known in value);
  if (key === undefined) {
    const word = keys[0] ?? '';
    return refuse(place, `There is no operation ${shown(word)}. ${suggestion(word, operations)}`);
  }
  const optional = key === 'round' ? ['decimals'] : [];
  const object = readObject(place, value, `"${key}"`, { required: [key], optional });
  return object === null ? null : readOperation(place, key, object, reader);
}

/** An operation where a rule names a fact: it has to be made into one first. */
export function refusedOperation(place: Place, value: JsonObject): boolean {
  const operation = operations.find((known) => known in value);
  if (operation === undefined) return false;
  const fact = `{"facts": {"NAME": {"description": "…", "value": {"${operation}": … }}}}`;
  refuse(place, `"${operation}" stands in facts.json; write ${fact} there, and {"fact": "computed.NAME"} here.`);
  return true;
}

type Entry = {
  value: Json;
  place: Place;
  state: 'unread' | 'reading' | 'read';
  read: ReturnType<Reader['computed']>;
  description: string;
};

function derivedOf(
  name: string,
  { expression, unit, stage }: NonNullable<Entry['read']>,
  description: string,
  tables: DerivedFacts,
): DerivedFact {
  const parts = usesOf(expression);
  const uses = [...new Set(parts.flatMap((part) => basesOf(tables, part)))];
  const reads = parts.filter((part) => tables.has(part));
  const written = unitText(unit ?? plainUnit);
  const definition: FactDefinition = {
    ...{ name, type: 'number', unit: written, present: description, example: 0, range: null, values: null },
    ...{ stage, whole: false },
  };
  return {
    definition,
    value: evaluator(expression, tables),
    uses,
    needed: uses,
    ...(reads.length === 0 ? {} : { reads }),
    lacking: (facts, offerFacts) => {
      const missing = parts
        .filter((part) => !isThere(expression, part, { tables, facts, offerFacts }))
        .flatMap((part) => tables.get(part)?.lacking(facts, offerFacts) ?? [part]);
      return missing.length > 0 ? missing : [name];
    },
    isTotal: !mayFail(expression) && reads.length === 0,
    comesFirst: false,
  };
}

/** `definitionOf`: of facts that are not computed; `tables`: those of value tables. */
export function readComputed(
  place: Place,
  value: Json,
  definitionOf: Reader['definitionOf'],
  tables: DerivedFacts,
): DerivedFacts {
  const derived = new Map<string, DerivedFact>();
  const object = readObject(place, value, 'facts.json', { required: ['facts'], optional: ['$schema'] });
  if (object === null) return derived;
  const at = within(place, 'facts');
  const declared = object.facts!;
  if (!isObject(declared) || Object.keys(declared).length > maxFacts) {
    refuse(
      at,
      `"facts" is ${shown(declared)}; write an object {"name": {"value": { … }}} of at most ${maxFacts} facts.`,
    );
    return derived;
  }
  const entries = new Map<string, Entry>();
  for (const [name, content] of Object.entries(declared)) {
    const here = within(at, name);
    if (!factShape.test(name)) refuse(here, `The name ${shown(name)} is none of a fact; write it like "debtShare".`);
    else entries.set(name, { value: content, place: here, state: 'unread', read: null, description: '' });
  }
  const read = (name: string, asked: Place): Entry['read'] => {
    const entry = entries.get(name);
    if (entry === undefined) {
      return refuse(asked, `There is no computed fact ${shown(name)}. ${suggestion(name, [...entries.keys()])}`);
    }
    if (entry.state === 'reading') return refuse(asked, `"${name}" is made of itself; write out what it means.`);
    if (entry.state === 'read') return entry.read;
    entry.state = 'reading';
    entry.read = readEntry(entry, { definitionOf, computed: read });
    entry.state = 'read';
    return entry.read;
  };
  for (const [name, entry] of entries) {
    const measured = read(name, entry.place);
    if (measured !== null)
      derived.set(computedPrefix + name, derivedOf(computedPrefix + name, measured, entry.description, tables));
  }
  return derived;
}

function readEntry(entry: Entry, reader: Reader): Entry['read'] {
  const { place } = entry;
  const object = readObject(place, entry.value, 'A computed fact', {
    required: ['description', 'value'],
    optional: [],
  });
  if (object === null) return null;
  entry.description = readText(within(place, 'description'), object.description!, 'The description', 600) ?? '';
  const measured = readExpression(within(place, 'value'), object.value!, reader);
  if (measured === null) return null;
  const { expression } = measured;
  if (depthOf(expression) > maxDepth) return refuse(place, `Nested deeper than ${maxDepth} levels; write it flatter.`);
  if (operationsIn(expression) > maxOperations)
    return refuse(place, `More than ${maxOperations} operations; write it shorter.`);
  const uses = usesOf(expression);
  if (uses.length === 0)
    return refuse(place, 'It looks at no fact, so it is a number; write the number where it is used.');
  const isLate = uses.some((use) => use.startsWith('offer.'));
  return { ...measured, stage: isLate ? 'offer' : 'request' };
}
