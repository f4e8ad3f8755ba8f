/**
 * Conditions as json-rules-engine writes them, read strictly. What that library lets fail open is refused here: unknown
 * facts, operators and keys, empty `all` and `any`, comparisons of the wrong type, paths with filters.
 */
import { catalogue, extraPrefix, type FactDefinition, factNamed, type Stage } from './facts.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject, type Place, readNumber, readObject, readText, refuse, shown, suggestion, within } from './place.ts';
import { type Comparison, type Condition, type Operator, operators, type Scalar } from './rule.ts';

const maxListLength = 10_000;

const comparing: readonly Operator[] = ['lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive'];
const matching: readonly Operator[] = ['equal', 'notEqual', 'in', 'notIn'];

/** A number, text or flag fact, or one member of a list fact: what a compared value must be. */
type Wanted = { what: string; type: 'number' | 'string' | 'boolean'; definition: FactDefinition | null };

function operatorsFor(type: FactDefinition['type']): readonly Operator[] {
  switch (type) {
    case 'number':
      return [...matching, ...comparing];
    case 'string':
      return matching;
    case 'boolean':
      return ['equal', 'notEqual'];
    case 'string-list':
      return ['contains', 'doesNotContain'];
    default:
      return type satisfies never;
  }
}

function readScalar(place: Place, value: Json, { what, type, definition }: Wanted): Scalar | null {
  if (isObject(value) && 'fact' in value) {
    return refuse(place, `${what} is compared with another fact, which is not supported yet; write a value here.`);
  }
  if (type === 'number') {
    const range = definition?.range ?? { min: -Number.MAX_VALUE, max: Number.MAX_VALUE };
    return readNumber(place, value, what, { unit: definition?.unit ?? 'number', decimals: null, ...range });
  }
  if (type === 'boolean') {
    if (typeof value === 'boolean') return value;
    return refuse(place, `${what} is compared with ${shown(value)}; write true or false, without quotes.`);
  }
  if (typeof value !== 'string' || value === '') {
    return refuse(place, `${what} is compared with ${shown(value)}; write a text in quotes.`);
  }
  const values = definition?.values ?? null;
  if (values === null || values.includes(value)) return value;
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
    return refuse(place, `This list has more than ${maxListLength} values; shorten it.`);
  const list: Scalar[] = [];
  for (const [index, member] of value.entries()) {
    const scalar = readScalar(within(place, index), member, wanted);
    if (scalar !== null) list.push(scalar);
  }
  return list.length === value.length ? list : null;
}

function readOperator(place: Place, value: Json): Operator | null {
  const found = operators.find((operator) => operator === value);
  if (found !== undefined) return found;
  if (typeof value !== 'string') return refuse(place, `The operator is ${shown(value)}; write its name in quotes.`);
  return refuse(place, `There is no operator ${shown(value)}. ${suggestion(value, operators)}`);
}

const plainPath = /^\$?\.?([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)$/;

/** The full name of the fact: `{fact: "extra", path: "$.score"}` is `extra.score`; no other fact has a path. */
function readFactName(place: Place, object: JsonObject): string | null {
  const name = readText(within(place, 'fact'), object.fact!, 'The fact', 200);
  if (name === null || !('path' in object)) return name;
  const path = object.path!;
  if (name !== 'extra' && !name.startsWith(extraPrefix)) {
    return refuse(within(place, 'path'), `"${name}" is a single value and has no path; remove "path".`);
  }
  const found = typeof path === 'string' && path.length <= 200 ? plainPath.exec(path)?.[1] : undefined;
  if (found !== undefined) return `${name}.${found}`;
  return refuse(
    within(place, 'path'),
    `The path ${shown(path)} is not plain; write keys joined by dots, like "$.score.value", without filters or brackets.`,
  );
}

function wantedOfExtra(place: Place, name: string, operator: Operator, value: Json): Wanted | null {
  const sample = Array.isArray(value) ? value[0] : value;
  const type = typeof sample;
  if (operator === 'contains' || operator === 'doesNotContain') {
    return refuse(within(place, 'operator'), `"${name}" is never a list; use "equal" or "in".`);
  }
  if (type !== 'number' && type !== 'string' && type !== 'boolean') {
    return refuse(
      within(place, 'value'),
      `"${name}" is compared with ${shown(value)}; write a number, a text, true or false.`,
    );
  }
  if (!operatorsFor(type).includes(operator)) {
    return refuse(within(place, 'value'), `"${operator}" does not compare ${shown(value)}; ${operatorsAdvice(type)}`);
  }
  return { what: name, type, definition: null };
}

function operatorsAdvice(type: FactDefinition['type']): string {
  return `use ${operatorsFor(type).join(', ')}.`;
}

function wantedOf(place: Place, name: string, operator: Operator, stage: Stage): Wanted | null {
  const definition = factNamed(name);
  if (definition === null) {
    const known = catalogue.map((fact) => fact.name);
    const hint =
      suggestion(name, known) || 'See the catalogue of facts; unmapped keys of the request are "extra.<key>".';
    return refuse(within(place, 'fact'), `There is no fact ${shown(name)}. ${hint}`);
  }
  if (definition.stage === 'offer' && stage === 'request') {
    return refuse(within(place, 'fact'), `"${name}" exists only after pricing; give the rule "stage": "offer".`);
  }
  if (!operatorsFor(definition.type).includes(operator)) {
    const advice = operatorsAdvice(definition.type);
    return refuse(within(place, 'operator'), `"${operator}" does not fit "${name}" (${definition.type}); ${advice}`);
  }
  const type = definition.type === 'string-list' ? 'string' : definition.type;
  return { what: name, type, definition };
}

function readComparison(place: Place, value: JsonObject, stage: Stage): Comparison | null {
  const keys = { required: ['fact', 'operator', 'value'], optional: ['path'] };
  const object = readObject(place, value, 'A condition', keys);
  if (object === null) return null;
  const fact = readFactName(place, object);
  const operator = readOperator(within(place, 'operator'), object.operator!);
  if (fact === null || operator === null) return null;
  const wanted = fact.startsWith(extraPrefix)
    ? wantedOfExtra(place, fact, operator, object.value!)
    : wantedOf(place, fact, operator, stage);
  if (wanted === null) return null;
  const valuePlace = within(place, 'value');
  const isList = operator === 'in' || operator === 'notIn';
  const read = isList ? readList(valuePlace, object.value!, wanted) : readScalar(valuePlace, object.value!, wanted);
  return read === null ? null : { kind: 'comparison', fact, operator, value: read };
}

function readParts(place: Place, kind: 'all' | 'any', value: Json, stage: Stage): Condition | null {
  const inner = within(place, kind);
  if (!Array.isArray(value)) return refuse(inner, `"${kind}" is ${shown(value)}; write a list of conditions.`);
  if (value.length === 0) {
    return refuse(inner, `"${kind}" is empty, which says nothing; add a condition, or use the fact "desk.always".`);
  }
  const parts: Condition[] = [];
  for (const [index, part] of value.entries()) {
    const condition = readCondition(within(inner, index), part, stage);
    if (condition !== null) parts.push(condition);
  }
  return parts.length === value.length ? { kind, parts } : null;
}

function readCondition(place: Place, value: Json, stage: Stage): Condition | null {
  if (!isObject(value)) return refuse(place, `A condition is ${shown(value)}; write an object with "fact" or "all".`);
  const groups = (['all', 'any', 'not'] as const).filter((key) => key in value);
  if (groups.length === 0) {
    if (!('condition' in value)) return readComparison(place, value, stage);
    return refuse(within(place, 'condition'), 'Named conditions are not supported yet; write the condition out.');
  }
  const kind = groups[0]!;
  if (groups.length > 1) {
    return refuse(place, `A condition has both "${kind}" and "${groups[1]}"; put one inside the other.`);
  }
  const object = readObject(place, value, `A condition with "${kind}"`, { required: [kind], optional: [] });
  if (object === null) return null;
  if (kind !== 'not') return readParts(place, kind, object[kind]!, stage);
  if (Array.isArray(object.not)) {
    return refuse(within(place, 'not'), '"not" is a list; write one condition, perhaps with "any" inside.');
  }
  const part = readCondition(within(place, 'not'), object.not!, stage);
  return part === null ? null : { kind: 'not', part };
}

/** The condition of a rule. json-rules-engine wants a group outermost; so do we, to stay readable by it. */
export function readConditions(place: Place, value: Json, stage: Stage): Condition | null {
  if (isObject(value) && 'fact' in value) {
    return refuse(place, 'The outermost condition is a single comparison; write {"all": [ … ]} around it.');
  }
  return readCondition(place, value, stage);
}
