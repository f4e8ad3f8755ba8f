/** Where the requests of a webhook are: the root itself, an object inside it, or the items of a list, each with its wrapper. */
import { maxElements } from './casing.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import type { Alias, FactName, RequestMapping } from './mapping-table.ts';

/** One object with its keys in lower case. */
export type Fields = { object: JsonObject; values: ReadonlyMap<string, JsonValue> };

/** What can be seen from one request: its own objects, innermost first, and the wrapper of the list it came in. */
export type Scope = { fields: readonly Fields[]; parent: Scope | null };

export type Element = {
  scope: Scope;
  pointer: string;
  /** The item of the list, or the whole body when there is no list. */
  own: JsonValue;
  /** The whole body with this one alone in its list, and without the other lists of requests around it. */
  alone: () => JsonValue;
};

type List = { items: readonly JsonValue[]; pointer: string; wrap: (item: JsonValue) => JsonValue };

/** `emptyBatch`: a list of requests was there and had nothing in it. `tooMany`: there are more than are given; nothing more was looked for. */
type Found = { elements: Element[]; emptyBatch: boolean; tooMany: boolean };

export function elementsOf(root: JsonValue, mapping: RequestMapping): Found {
  const found: Found = { elements: [], emptyBatch: false, tooMany: false };
  if (Array.isArray(root)) {
    visitList({ items: root, pointer: '', wrap: (item) => [item] }, null, mapping, found);
  } else {
    visit(root, '', null, (item) => item, mapping, found);
  }
  return found;
}

/**
 * The body with these of its elements alone in their lists, told by their pointers: what a dead letter keeps, so that they
 * can be read again.
 */
export function onlyElements(root: JsonValue, mapping: RequestMapping, pointers: ReadonlySet<string>): JsonValue {
  const keep = (node: JsonValue, pointer: string): JsonValue | undefined => {
    if (pointers.has(pointer)) return node;
    if (Array.isArray(node)) {
      const items = node.map((item, index) => keep(item, `${pointer}/${index}`)).filter((item) => item !== undefined);
      return items.length > 0 ? items : undefined;
    }
    if (!isJsonObject(node)) return undefined;
    let kept = 0;
    const reduced = withContainers(node, mapping, (value, key) => {
      const inner = keep(value, `${pointer}/${key}`);
      if (inner !== undefined) kept += 1;
      return inner ?? withoutLists(value, mapping);
    });
    return kept === 0 ? undefined : reduced;
  };
  return keep(root, '') ?? root;
}

/** The same object with its containers changed, or without those for which `change` gives nothing. */
function withContainers(
  object: JsonObject,
  mapping: RequestMapping,
  change: (value: JsonValue, key: string) => JsonValue | undefined,
): JsonObject {
  const members = Object.entries<JsonValue>(object).flatMap(([key, value]): [string, JsonValue][] => {
    if (!mapping.containers.has(lowerOf(key)) || !(Array.isArray(value) || isJsonObject(value))) return [[key, value]];
    const changed = change(value, key);
    return changed === undefined ? [] : [[key, changed]];
  });
  return Object.fromEntries(members);
}

/** A container with its fields and without its lists: what stands around the elements of another list, too. */
function withoutLists(container: JsonValue, mapping: RequestMapping): JsonValue | undefined {
  if (!isJsonObject(container)) return undefined;
  return withContainers(container, mapping, (value) => withoutLists(value, mapping));
}

function visitList(list: List, parent: Scope | null, mapping: RequestMapping, found: Found): void {
  for (const [index, item] of list.items.entries()) {
    if (found.tooMany) return;
    visit(item, `${list.pointer}/${index}`, parent, list.wrap, mapping, found);
  }
}

function visit(
  node: JsonValue,
  pointer: string,
  parent: Scope | null,
  wrap: (item: JsonValue) => JsonValue,
  mapping: RequestMapping,
  found: Found,
): void {
  const fields: Fields[] = [];
  const lists: List[] = [];
  if (isJsonObject(node)) gather(node, pointer, wrap, mapping, fields, lists);
  const scope = { fields, parent };
  const filled = lists.filter((list) => list.items.length > 0);
  if (filled.length > 0) {
    for (const list of filled) visitList(list, scope, mapping, found);
    return;
  }
  if (lists.length > 0 && findFact(scope, 'requestId', mapping) === null) {
    found.emptyBatch ||= findFact(scope, 'batchId', mapping) !== null;
    return;
  }
  if (found.elements.length < maxElements) {
    found.elements.push({ scope, pointer, own: node, alone: () => wrap(node) });
  } else found.tooMany = true;
}

/** The fields of an object and of the containers inside it; lists in containers are handed back. */
function gather(
  object: JsonObject,
  pointer: string,
  wrap: (item: JsonValue) => JsonValue,
  mapping: RequestMapping,
  fields: Fields[],
  lists: List[],
): void {
  const values = new Map<string, JsonValue>();
  let around: JsonObject | null = null;
  const wrapIn = (key: string, inner: JsonValue): JsonValue => {
    around ??= withContainers(object, mapping, (value) => withoutLists(value, mapping));
    return wrap({ ...around, [key]: inner });
  };
  for (const key of Object.keys(object)) {
    if (key === '__proto__') continue;
    const lower = lowerOf(key);
    const value = object[key]!;
    if (mapping.containers.has(lower)) {
      if (Array.isArray(value)) {
        lists.push({ items: value, pointer: `${pointer}/${key}`, wrap: (item) => wrapIn(key, [item]) });
        continue;
      }
      if (isJsonObject(value)) {
        gather(value, `${pointer}/${key}`, (inner) => wrapIn(key, inner), mapping, fields, lists);
        continue;
      }
    }
    values.set(lower, values.has(lower) && !agree(values.get(lower)!, value) ? contradiction : value);
  }
  fields.push({ object, values });
}

/** Two keys that differ only in case and say different things: neither is believed. No reader accepts a list of this kind. */
const contradiction: JsonValue = [['the key is written twice with different values']];

function agree(one: JsonValue, other: JsonValue): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

const lowered = new Map<string, string>();
const maxLowered = 2_000;
/** Longer ones are not kept: a key may be as long as the body. */
const longestKept = 100;

/** The same keys come with every request; lower case is worked out once. */
export function lowerOf(key: string): string {
  const known = lowered.get(key);
  if (known !== undefined) return known;
  const lower = key.toLowerCase();
  if (key.length > longestKept) return lower;
  if (lowered.size >= maxLowered) lowered.clear();
  lowered.set(key, lower);
  return lower;
}

export type FoundFact = { alias: Alias; value: JsonValue; isOwn: boolean };

/**
 * The first alias that carries a value: the request's own before its wrapper's, and from a wrapper only what it may give. What a
 * wrapper gives is one object, the same for all its requests.
 */
export function findFact(scope: Scope, fact: FactName, mapping: RequestMapping): FoundFact | null {
  const own = findAlias(scope, mapping.facts[fact]);
  if (own !== null) return { ...own, isOwn: true };
  return scope.parent === null || !mapping.inherited.has(fact) ? null : givenFact(scope.parent, fact, mapping);
}

const givenFacts = new WeakMap<Scope, Map<FactName, FoundFact | null>>();

/** Looked for once for all requests of a list: the keys around them may be as many as they are. */
function givenFact(scope: Scope, fact: FactName, mapping: RequestMapping): FoundFact | null {
  const given = givenFacts.get(scope) ?? new Map<FactName, FoundFact | null>();
  givenFacts.set(scope, given);
  let found = given.get(fact);
  if (found !== undefined) return found;
  const here = findAlias(scope, mapping.facts[fact], false);
  if (here !== null) found = { ...here, isOwn: false };
  else found = scope.parent === null ? null : givenFact(scope.parent, fact, mapping);
  given.set(fact, found);
  return found;
}

/** The first alias that carries a value in one element or wrapper, seen alone. */
export function findAlias(
  scope: Scope,
  aliases: readonly Alias[],
  isOwn = true,
): { alias: Alias; value: JsonValue } | null {
  for (const alias of aliases) {
    for (let depth = 0; depth < scope.fields.length; depth += 1) {
      if (alias.ownOnly && (depth > 0 || !isOwn)) continue;
      const value = resolve(scope.fields[depth]!, alias.path);
      if (value !== undefined && value !== null && value !== '') return { alias, value };
    }
  }
  return null;
}

function resolve(fields: Fields, path: readonly string[]): JsonValue | undefined {
  let value = fields.values.get(path[0]!);
  for (let step = 1; step < path.length && value !== undefined; step += 1) {
    value = isJsonObject(value) ? innerValue(value, path[step]!) : undefined;
  }
  return value;
}

export function innerValue(object: JsonObject, lower: string): JsonValue | undefined {
  for (const key of Object.keys(object)) if (lowerOf(key) === lower && key !== '__proto__') return object[key];
  return undefined;
}
