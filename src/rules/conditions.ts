/**
 * Conditions as json-rules-engine writes them, read strictly. What that library lets fail open is refused here: unknown
 * facts, operators and keys, empty `all` and `any`, comparisons of the wrong type, paths with filters, and conditions that
 * can never hold.
 */

import { refusedOperation } from './computed.ts';
import type { DerivedFacts } from './derived.ts';
import { choices, neverHolds } from './extents.ts';
import { extraPrefix, type FactDefinition, type Stage } from './facts.ts';
import { holidayFact } from './holidays.ts';
import type { Json, JsonObject } from './json.ts';
import {
  accepts,
  type Decorator,
  decorators,
  memberType,
  type Operator,
  operatorSigns,
  operators,
  readOperatorName,
  type ScalarType,
  type ValueType,
  valueTypes,
} from './operators.ts';
import {
  decimalsOf,
  isObject,
  type Place,
  readNumber,
  readObject,
  readText,
  refuse,
  shown,
  suggestion,
  within,
} from './place.ts';
import type { Comparison, Condition, Scalar } from './rule.ts';
import { createVocabulary, definitionOf, factNames, isTooLong, maxLeaves, type Vocabulary } from './vocabulary.ts';

const maxListLength = 10_000;
const maxDecorators = 4;

export type Scope = { stage: Stage; vocabulary: Vocabulary };

/** What a compared value, or each member of a compared list, must be. */
type Wanted = { what: string; type: ScalarType; definition: FactDefinition | null; isPrefix: boolean; stored: boolean };

function readScalar(place: Place, value: Json, { what, type, definition, isPrefix, stored }: Wanted): Scalar | null {
  if (type === 'number') {
    const { unit = null, range = null } = definition ?? {};
    // Of what is computed there are parts of a cent.
    const decimals = range === null ? null : decimalsOf(unit, stored);
    return readNumber(place, value, what, {
      unit: unit ?? 'number',
      decimals,
      ...(range ?? { min: -Number.MAX_VALUE, max: Number.MAX_VALUE }),
    });
  }
  if (type === 'boolean') {
    if (typeof value === 'boolean') return value;
    return refuse(place, `${what} is compared with ${shown(value)}; write true or false, without quotes.`);
  }
  if (typeof value !== 'string' || value === '') {
    return refuse(place, `${what} is compared with ${shown(value)}; write a text in quotes.`);
  }
  const digits = definition?.digits;
  if (digits !== undefined && !new RegExp(isPrefix ? `^\\d{1,${digits}}$` : `^\\d{${digits}}$`).test(value)) {
    const wanted = isPrefix ? `1 to ${digits} digits` : `${digits} digits, or use "startsWith"`;
    return refuse(place, `${what} is compared with ${shown(value)}; write ${wanted}.`);
  }
  const values = definition?.values ?? null;
  if (values === null || values.includes(value) || isPrefix) return value;
  return refuse(place, `${what} is never ${shown(value)}. ${suggestion(value, values)}`);
}

function readList(place: Place, value: Json, wanted: Wanted): readonly Scalar[] | null {
  if (!Array.isArray(value)) {
    return refuse(
      place,
      `${wanted.what} is compared with ${shown(value)}; this operator wants a list, like [${shown(value)}].`,
    );
  }
  if (value.length === 0) return refuse(place, 'This list is empty; name at least one value or remove the condition.');
  if (value.length > maxListLength)
    return refuse(place, `This list has more than ${maxListLength} values; shorten it or make it a file in lists/.`);
  const list: Scalar[] = [];
  for (const [index, member] of value.entries()) {
    const scalar = readScalar(within(place, index), member, wanted);
    if (scalar !== null) list.push(scalar);
  }
  return list.length === value.length ? list : null;
}

type OperatorName = { written: string; around: readonly Decorator[]; operator: Operator };

function readOperator(place: Place, value: Json): OperatorName | null {
  if (typeof value !== 'string') return refuse(place, `The operator is ${shown(value)}; write its name in quotes.`);
  const read = value.length > 200 ? null : readOperatorName(value);
  if (read === null) return refuse(place, 'The operator is longer than 200 characters; shorten it.');
  if (read.kind === 'known') {
    if (read.around.length <= maxDecorators) return { written: value, around: read.around, operator: read.operator };
    return refuse(place, `The operator ${shown(value)} has more than ${maxDecorators} decorators; write it simpler.`);
  }
  const { part, isLast } = read;
  const what = isLast
    ? `There is no operator ${shown(part)}.`
    : `There is no decorator ${shown(`${part}:`)} of operators.`;
  const meant = Object.hasOwn(operatorSigns, part) ? operatorSigns[part] : undefined;
  if (isLast && meant !== undefined) return refuse(place, `${what} Did you mean "${meant}"?`);
  return refuse(place, `${what} ${suggestion(part, isLast ? operators : decorators)}`);
}

/** Operators without decorators that compare a fact of this type. */
function operatorsAdvice(type: ValueType): string {
  const fitting = operators.filter((operator) => valueTypes.some((value) => accepts([], operator, type, value)));
  return `use ${fitting.join(', ')}${memberType(type) === null ? '' : ', or "someFact:" and "everyFact:" before others'}.`;
}

const plainPath = /^\$?\.?([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)$/;

/** The full name of the fact: `{fact: "extra", path: "$.score"}` is `extra.score`, and `{fact: "worker", path: "$.ageYears"}` is `worker.ageYears`. */
function readFactName(place: Place, object: JsonObject, { vocabulary }: Scope): string | null {
  const name = readText(within(place, 'fact'), object.fact!, 'The fact', 200);
  if (name === null || !('path' in object)) return name;
  const path = object.path!;
  if (definitionOf(name, vocabulary) !== null) {
    return refuse(within(place, 'path'), `"${name}" is a single value and has no path; remove "path".`);
  }
  const found = typeof path === 'string' && path.length <= 200 ? plainPath.exec(path)?.[1] : undefined;
  if (found !== undefined) return `${name}.${found}`;
  return refuse(
    within(place, 'path'),
    `The path ${shown(path)} is not plain; write keys joined by dots, like "$.score.value", without filters or brackets.`,
  );
}

/** A fact that may be named here; `definition` null: an `extra.` fact, of which nothing is known beforehand. */
function readFact(
  place: Place,
  object: JsonObject,
  scope: Scope,
): { name: string; definition: FactDefinition | null } | null {
  const name = readFactName(place, object, scope);
  if (name === null) return null;
  if (name.startsWith(extraPrefix) && name.length > extraPrefix.length) return { name, definition: null };
  const at = within(place, 'fact');
  const definition = definitionOf(name, scope.vocabulary);
  if (definition === null) {
    const hint =
      (name === holidayFact ? 'Write its days in holidays.json.' : '') ||
      suggestion(name, factNames(scope.vocabulary)) ||
      'See the catalogue of facts; unmapped keys of the request are "extra.<key>", scores "score.<name>".';
    return refuse(at, `There is no fact ${shown(name)}. ${hint}`);
  }
  if (definition.stage === 'offer' && scope.stage === 'request') {
    return refuse(at, `"${name}" exists only after pricing; give the rule "stage": "offer".`);
  }
  return { name, definition };
}

type Sides = { fact: ValueType; value: ValueType };

/** The types of both sides when the right one is written out; `sample` tells the type of facts that nobody declared. */
function sidesOf(left: ValueType | null, value: Json, { around, operator }: OperatorName): Sides | null {
  const sample = Array.isArray(value) ? value[0] : value;
  const lefts = left === null ? valueTypes.filter((type) => memberType(type) === null) : [left];
  const fitting = lefts.flatMap((fact) =>
    valueTypes.filter((type) => accepts(around, operator, fact, type)).map((type) => ({ fact, value: type })),
  );
  const asWritten = fitting.find(({ value: type }) => (memberType(type) ?? type) === typeof sample);
  return asWritten ?? (left === null ? null : (fitting[0] ?? null));
}

function refuseExtra(place: Place, name: string, { written, operator, around }: OperatorName, value: Json): null {
  const plain = around.length === 0;
  if (plain && (operator === 'contains' || operator === 'doesNotContain')) {
    return refuse(within(place, 'operator'), `"${name}" is never a list; use "equal" or "in".`);
  }
  const type = typeof (Array.isArray(value) ? value[0] : value);
  if (type !== 'number' && type !== 'string' && type !== 'boolean') {
    const text = `"${name}" is compared with ${shown(value)}; write a number, a text, true or false.`;
    return refuse(within(place, 'value'), text);
  }
  return refuse(within(place, 'value'), `"${written}" does not compare ${shown(value)}; ${operatorsAdvice(type)}`);
}

type LeftSide = { name: string; definition: FactDefinition | null };

function readWithValue(
  place: Place,
  left: LeftSide,
  operator: OperatorName,
  value: Json,
  stored: boolean,
): Comparison | null {
  const { name, definition } = left;
  const sides = sidesOf(definition?.type ?? null, value, operator);
  if (sides === null) {
    if (definition === null) return refuseExtra(place, name, operator, value);
    const advice = operatorsAdvice(definition.type);
    const text = `"${operator.written}" does not fit "${name}" (${definition.type}); ${advice}`;
    return refuse(within(place, 'operator'), text);
  }
  const member = memberType(sides.value);
  const type = member ?? (sides.value as ScalarType);
  const at = within(place, 'value');
  const isPrefix = operator.operator === 'startsWith' || operator.operator === 'doesNotStartWith';
  const wanted: Wanted = { what: name, type, definition, isPrefix, stored };
  const read = member === null ? readScalar(at, value, wanted) : readList(at, value, wanted);
  if (read === null) return null;
  return { kind: 'comparison', fact: name, ...operator, types: sides, value: read, valueFact: null };
}

/** What follows a comma only explains. Earlier versions compared first words, so sets in the store may have R$ and R$ a month. */
function fitTogether(left: string | null | undefined, right: string | null | undefined, stored: boolean): boolean {
  const nameOf = (written: string) => written.split(stored ? /[ ,]/ : ',')[0]!;
  if (left == null || right == null || nameOf(left) === nameOf(right)) return true;
  // Of what is computed, a share is one of anything.
  return [left, right].includes('share') && left.startsWith('share') && right.startsWith('share');
}

/** `"value": {"fact": …}`: the right side is looked up like the left one. */
function readWithFact(
  place: Place,
  left: LeftSide,
  operator: OperatorName,
  value: JsonObject,
  scope: Scope,
): Comparison | null {
  const at = within(place, 'value');
  const object = readObject(at, value, 'A fact as value', { required: ['fact'], optional: ['path'] });
  const right = object === null ? null : readFact(at, object, scope);
  if (right === null) return null;
  if (right.name === left.name)
    return refuse(at, `"${left.name}" is compared with itself; name another fact or a value.`);
  const known = (side: LeftSide) => (side.definition === null ? valueTypes : [side.definition.type]);
  if (left.definition === null && right.definition === null) {
    return refuse(
      at,
      `Nobody knows the types of "${left.name}" and "${right.name}"; compare one with a fact of the catalogue.`,
    );
  }
  const { around, operator: base, written } = operator;
  const sides = known(left)
    .flatMap((fact) => known(right).map((type) => ({ fact, value: type as ValueType })))
    .find((pair) => accepts(around, base, pair.fact, pair.value));
  if (sides === undefined) {
    const types = `"${left.name}" (${left.definition?.type ?? 'any'}) and "${right.name}" (${right.definition?.type ?? 'any'})`;
    return refuse(at, `"${written}" does not compare ${types}; name a fact of a type that fits.`);
  }
  if (!fitTogether(left.definition?.unit, right.definition?.unit, scope.vocabulary.stored)) {
    const text = `"${left.name}" is in ${left.definition?.unit}, "${right.name}" in ${right.definition?.unit}`;
    return refuse(at, `${text}; name a fact of the same unit.`);
  }
  return { kind: 'comparison', fact: left.name, ...operator, types: sides, value: [], valueFact: right.name };
}

/** `name` and `priority` of the library: for people, and in which order it looks. Here neither changes what a condition means. */
const asides = ['name', 'priority'];

function readAsides(place: Place, object: JsonObject): void {
  if ('name' in object) readText(within(place, 'name'), object.name!, 'The name', 200);
  if ('priority' in object) readPriority(within(place, 'priority'), object.priority!);
}

/** A whole number, also as a text of digits, as the library takes it. */
export function readPriority(place: Place, value: Json): number | null {
  const measure = { unit: 'higher wins', min: 1, max: 1_000_000, decimals: 0 };
  const isDigits = typeof value === 'string' && /^\d{1,7}$/.test(value);
  return readNumber(place, isDigits ? Number(value) : value, 'priority', measure);
}

function readComparison(place: Place, value: JsonObject, scope: Scope): Comparison | null {
  if ('params' in value) {
    const remedy = 'write the fact of the catalogue that holds the value, or compute one in facts.json';
    return refuse(within(place, 'params'), `Facts are values here and take no parameters; ${remedy}.`);
  }
  const keys = { required: ['fact', 'operator', 'value'], optional: ['path', ...asides] };
  const object = readObject(place, value, 'A condition', keys);
  if (object === null) return null;
  readAsides(place, object);
  const left = readFact(place, object, scope);
  const operator = readOperator(within(place, 'operator'), object.operator!);
  if (left === null || operator === null) return null;
  const right = object.value!;
  if (isObject(right) && refusedOperation(within(place, 'value'), right)) return null;
  const comparison =
    isObject(right) && 'fact' in right
      ? readWithFact(place, left, operator, right, scope)
      : readWithValue(place, left, operator, right, scope.vocabulary.stored);
  if (comparison !== null && neverHolds(comparison)) {
    const range = left.definition?.range;
    const why = range ? ` (it lies within ${range.min} … ${range.max})` : '';
    return refuse(within(place, 'value'), `"${left.name}" can never be like this${why}; write another value.`);
  }
  return comparison;
}

function readParts(place: Place, kind: 'all' | 'any', value: Json, scope: Scope): Condition | null {
  const inner = within(place, kind);
  if (!Array.isArray(value)) return refuse(inner, `"${kind}" is ${shown(value)}; write a list of conditions.`);
  if (value.length === 0) {
    return refuse(inner, `"${kind}" is empty, which says nothing; add a condition, or use the fact "desk.always".`);
  }
  const parts: Condition[] = [];
  for (const [index, part] of value.entries()) {
    const condition = readCondition(within(inner, index), part, scope);
    if (condition !== null) parts.push(condition);
  }
  if (parts.length < value.length) return null;
  const group: Condition = { kind, parts };
  if (isTooLong(group)) return refuse(inner, `More than ${maxLeaves} comparisons; write it shorter.`);
  if (!neverHolds(group)) return group;
  return refuse(inner, 'These conditions contradict each other, so this can never hold; mend or remove one of them.');
}

/** More ways to choose than this are more than anybody reads. */
const mostChoices = 1_000;

function readAtLeast(place: Place, object: JsonObject, scope: Scope): Condition | null {
  const inner = within(place, 'of');
  const list = object.of!;
  if (!Array.isArray(list) || list.length < 2) {
    return refuse(inner, `"of" is ${shown(list)}; write a list of two conditions or more.`);
  }
  const measure = { unit: 'of the conditions', min: 1, max: list.length, decimals: 0 };
  const count = readNumber(within(place, 'atLeast'), object.atLeast!, 'atLeast', measure);
  const parts = list.flatMap((part, index) => readCondition(within(inner, index), part, scope) ?? []);
  if (count === null || parts.length < list.length) return null;
  if (choices(parts.length, count) > mostChoices) {
    const ways = `${count} of ${parts.length} can be chosen in more than ${mostChoices} ways`;
    return refuse(inner, `${ways}, which nobody can test; name groups of them in conditions.json and count those.`);
  }
  const group: Condition = { kind: 'atLeast', count, parts };
  if (isTooLong(group)) return refuse(inner, `More than ${maxLeaves} comparisons; write it shorter.`);
  if (!neverHolds(group)) return group;
  return refuse(inner, `No ${count} of these can hold together, so this never does; mend or remove some of them.`);
}

function readNamed(place: Place, value: JsonObject, scope: Scope): Condition | null {
  const object = readObject(place, value, 'A named condition', { required: ['condition'], optional: asides });
  if (object === null) return null;
  readAsides(place, object);
  const at = within(place, 'condition');
  const name = readText(at, object.condition!, 'The name of the condition', 60);
  const part = name === null ? null : scope.vocabulary.named(name, scope.stage, at);
  return name === null || part === null ? null : { kind: 'named', name, part };
}

function readCondition(place: Place, value: Json, scope: Scope): Condition | null {
  if (!isObject(value)) return refuse(place, `A condition is ${shown(value)}; write an object with "fact" or "all".`);
  const groups = (['all', 'any', 'not', 'atLeast'] as const).filter((key) => key in value);
  if (groups.length === 0)
    return 'condition' in value ? readNamed(place, value, scope) : readComparison(place, value, scope);
  const kind = groups[0]!;
  if (groups.length > 1) {
    return refuse(place, `A condition has both "${kind}" and "${groups[1]}"; put one inside the other.`);
  }
  const required = kind === 'atLeast' ? [kind, 'of'] : [kind];
  const object = readObject(place, value, `A condition with "${kind}"`, { required, optional: asides });
  if (object === null) return null;
  readAsides(place, object);
  if (kind === 'atLeast') return readAtLeast(place, object, scope);
  if (kind !== 'not') return readParts(place, kind, object[kind]!, scope);
  const inner = within(place, 'not');
  if (Array.isArray(object.not)) {
    return refuse(inner, '"not" is a list; write one condition, perhaps with "any" inside.');
  }
  const part = readCondition(inner, object.not!, scope);
  if (part === null) return null;
  const condition: Condition = { kind: 'not', part };
  if (!neverHolds(condition)) return condition;
  return refuse(inner, 'What stands here always holds, so its "not" never does; mend or remove it.');
}

/** The condition of a rule. json-rules-engine wants a group outermost; so do we, to stay readable by it. */
export function readConditions(place: Place, value: Json, scope: Scope): Condition | null {
  if (isObject(value) && 'fact' in value) {
    return refuse(place, 'The outermost condition is a single comparison; write {"all": [ … ]} around it.');
  }
  return readCondition(place, value, scope);
}

/** `conditions.json` and what the set makes of facts, as rules may refer to them. A named condition may look at facts of both stages. */
export function readVocabulary(
  place: Place,
  value: Json | undefined,
  derived: DerivedFacts,
  stored: boolean,
): Vocabulary {
  const read = (at: Place, condition: Json, vocabulary: Vocabulary) =>
    readConditions(at, condition, { stage: 'offer', vocabulary });
  return createVocabulary({ place, value, derived, stored, readCondition: read });
}
