/** Keys that nobody mapped, flattened and offered to rules as `extra.*`. What is about a person stays out, by key and by value. */
import type { ExtraValue } from '../domain/request.ts';
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue } from './json.ts';
import { isPersonalKey, type RequestMapping } from './mapping-table.ts';
import { type Fields, lowerOf, type Scope } from './request-elements.ts';
import { readCpf } from './values.ts';

const maxFacts = 100;
const maxTextLength = 200;
const maxDepth = 6;
/** A longer path is no fact's name. */
const maxPathLength = 200;
/**
 * Characters that the names of one element's facts may have together: some, and so many for each character of its own keys and
 * texts. A path stands before each value of a list, so a small body could become large.
 */
const namesAtLeast = 4_000;
const namesPerOwn = 4;
/** How the fact ends that says how many values a list has. */
const lengthEnd = '.length';
/** Nothing may be written through these names when facts are copied about. */
const reservedKeys = new Set(['__proto__', 'constructor', 'prototype']);

const inheritedLengths = new WeakMap<Scope, number>();
const inheritedFacts = new WeakMap<Scope, Record<string, ExtraValue>>();

/** What may still be taken of one element. `listsOutside`: objects further out have given it lists. */
type Budget = { facts: number; names: number; listsOutside: boolean };

export function extraFactsOf(scope: Scope, mapping: RequestMapping): Record<string, ExtraValue> {
  const facts = scope.parent === null ? {} : { ...wrapperFacts(scope.parent, mapping) };
  const budget = { facts: 0, names: namesAtLeast, listsOutside: false };
  for (let depth = scope.fields.length - 1; depth >= 0; depth -= 1) {
    const names = Object.keys(facts);
    budget.facts = maxFacts - names.length;
    budget.listsOutside = names.some((name) => name.endsWith(lengthEnd));
    addFields(facts, scope.fields[depth]!, mapping, budget);
  }
  return facts;
}

/** Characters that the wrappers of a request give it as facts. */
export function inheritedLength(scope: Scope, mapping: RequestMapping): number {
  if (scope.parent === null) return 0;
  const known = inheritedLengths.get(scope.parent);
  if (known !== undefined) return known;
  const { length } = JSON.stringify(wrapperFacts(scope.parent, mapping));
  inheritedLengths.set(scope.parent, length);
  return length;
}

/** Worked out once for all requests of a list. */
function wrapperFacts(scope: Scope, mapping: RequestMapping): Record<string, ExtraValue> {
  const known = inheritedFacts.get(scope);
  if (known !== undefined) return known;
  const facts = extraFactsOf(scope, mapping);
  inheritedFacts.set(scope, facts);
  return facts;
}

function addFields(facts: Record<string, ExtraValue>, fields: Fields, mapping: RequestMapping, budget: Budget): void {
  for (const key of Object.keys(fields.object)) {
    const value = fields.object[key]!;
    const lower = lowerOf(key);
    const isContainer = mapping.containers.has(lower) && typeof value === 'object' && value !== null;
    if (!isContainer) add(facts, key, lower, key, value, mapping, budget, 1);
  }
}

function add(
  facts: Record<string, ExtraValue>,
  path: string,
  lowerPath: string,
  key: string,
  value: JsonValue,
  mapping: RequestMapping,
  budget: Budget,
  depth: number,
): void {
  budget.names += namesPerOwn * key.length;
  if (budget.facts <= 0 || path.length > maxPathLength || reservedKeys.has(key)) return;
  if (mapping.mapped.has(lowerPath) || isPersonalKey(mapping, key)) return;
  if (budget.listsOutside || Array.isArray(value)) forgetList(facts, path);
  if (Array.isArray(value) || isJsonObject(value)) {
    if (depth >= maxDepth) return;
    // Before its values, some of which may have no room: whoever adds them up knows how many there are.
    if (Array.isArray(value)) take(facts, `${path}${lengthEnd}`, value.length, budget);
    for (const [inner, item] of Object.entries<JsonValue>(value as JsonObject)) {
      add(facts, `${path}.${inner}`, `${lowerPath}.${lowerOf(inner)}`, inner, item, mapping, budget, depth + 1);
    }
    return;
  }
  // Sums and counts would take it for how many values a list has.
  if (path.endsWith(lengthEnd)) return;
  const plain = isRawNumber(value) ? value.rawJSON : (value as ExtraValue);
  if (looksPersonal(plain)) return;
  if (typeof plain === 'string') budget.names += namesPerOwn * plain.length;
  take(facts, path, plain, budget);
}

/** A list of the same name further out: of two lists no third one is made, and of a list and what stands in its place none. */
function forgetList(facts: Record<string, ExtraValue>, path: string): void {
  if (!Object.hasOwn(facts, `${path}${lengthEnd}`)) return;
  for (const name of Object.keys(facts)) if (name.startsWith(`${path}.`)) delete facts[name];
}

function take(facts: Record<string, ExtraValue>, path: string, value: ExtraValue, budget: Budget): void {
  budget.facts -= 1;
  if (path.length > budget.names) return;
  budget.names -= path.length;
  facts[path] = value;
}

const cpfInText = /(?<!\d)\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?!\d)/;

function looksPersonal(value: ExtraValue): boolean {
  if (typeof value === 'string') return value.length > maxTextLength || value.includes('@') || cpfInText.test(value);
  return typeof value === 'number' && value >= 1e8 && value < 1e11 && readCpf(value).kind === 'value';
}
