/**
 * What a mapping makes of the body of a webhook, for people who write one and for dead letters: where each fact was found, of what
 * kind its value is, and what nobody read. Keys are shown, values never.
 */

import { printable } from '../domain/printable.ts';
import { recogniseEvent } from './events.ts';
import { extraFactsOf } from './extra-facts.ts';
import { withoutCpf } from './hidden-cpf.ts';
import { isJsonObject, isRawNumber, type JsonValue, kindOf } from './json.ts';
import { factNames, type RequestMapping } from './mapping-table.ts';
import { type Element, elementsOf, type Fields, findAlias, findFact, lowerOf, type Scope } from './request-elements.ts';
import { factProblem, looksLikeRequest } from './request-mapping.ts';
import { readScore } from './values.ts';

/** `key`: as the mapping names it. `problem`: why it could not be read as it came; null: it was. */
type TriedFact = { fact: string; key: string; from: 'element' | 'wrapper'; kind: string; problem: string | null };

/** `kept`: under which name rules can use it; null: it stays in the sealed original alone. */
type UnreadKey = { key: string; kind: string; kept: string | null };

type TriedElement = {
  /** JSON pointer; empty for the whole body. */
  pointer: string;
  isRequest: boolean;
  facts: readonly TriedFact[];
  unread: readonly UnreadKey[];
  /** Keys that were not looked at any more. */
  moreKeys: boolean;
};

export type MappingTrial = {
  elements: readonly TriedElement[];
  /** Elements that were found and are not shown. */
  moreElements: number;
  /** Keys around the elements that no fact was read from. */
  around: readonly UnreadKey[];
};

const mostElements = 50;
const mostKeys = 200;
const deepest = 6;
const longestKey = 100;

/** A key as it may be shown: one that looks like a sentence, or holds a CPF, may be somebody's. */
function shownKey(key: string): string {
  const short = printable(withoutCpf(key, longestKey));
  return /^[\p{L}\p{N}_.$@*-]+$/u.test(short) ? short : '***';
}

type Leaf = { key: string; lower: string; path: string; value: JsonValue };

/** Single values and lists of single values, with dotted keys; lists of objects count once for each key. */
function* leavesOf(value: JsonValue, key: string, lower: string, path: string, depth: number): Generator<Leaf> {
  const inner =
    Array.isArray(value) || (isJsonObject(value) && !isRawNumber(value))
      ? Object.entries<JsonValue>(value as never)
      : [];
  if (inner.length === 0 || depth >= deepest) {
    yield { key, lower, path, value };
    return;
  }
  const isList = Array.isArray(value);
  for (const [name, item] of inner) {
    const shown = isList ? key : `${key}.${shownKey(name)}`;
    yield* leavesOf(item, shown, `${lower}.${lowerOf(name)}`, `${path}.${name}`, depth + 1);
  }
}

function* leavesIn(fields: readonly Fields[], mapping: RequestMapping): Generator<Leaf> {
  for (const { object } of fields) {
    for (const [name, value] of Object.entries<JsonValue>(object)) {
      const lower = lowerOf(name);
      const isContainer = mapping.containers.has(lower) && typeof value === 'object' && value !== null;
      if (!isContainer) yield* leavesOf(value, shownKey(name), lower, name, 1);
    }
  }
}

/** `read`: lower-case paths that facts were read from; what stands below them was read with them. */
function unreadIn(scope: Scope, read: ReadonlySet<string>, mapping: RequestMapping) {
  const extra = extraFactsOf(scope, mapping);
  const unread = new Map<string, UnreadKey>();
  for (const { key, lower, path, value } of leavesIn(scope.fields, mapping)) {
    if (isRead(lower, read) || unread.has(key)) continue;
    if (unread.size >= mostKeys) return { unread: [...unread.values()], moreKeys: true };
    unread.set(key, { key, kind: kindOf(value), kept: Object.hasOwn(extra, path) ? `extra.${key}` : null });
  }
  return { unread: [...unread.values()], moreKeys: false };
}

function isRead(lower: string, read: ReadonlySet<string>): boolean {
  for (let path = lower; path !== ''; path = path.slice(0, Math.max(0, path.lastIndexOf('.')))) {
    if (read.has(path)) return true;
  }
  return false;
}

function triedFacts(element: Element, mapping: RequestMapping, read: Set<string>): TriedFact[] {
  const facts: TriedFact[] = [];
  for (const fact of factNames) {
    const found = findFact(element.scope, fact, mapping);
    if (found === null) continue;
    read.add(found.alias.path.join('.'));
    const from = found.isOwn ? 'element' : 'wrapper';
    const problem = factProblem(fact, found.value, mapping);
    facts.push({ fact, key: found.alias.text, from, kind: kindOf(found.value), problem });
  }
  for (const [name, aliases] of mapping.scores) {
    const found = findAlias(element.scope, aliases);
    if (found === null) continue;
    read.add(found.alias.path.join('.'));
    const reading = readScore(found.value);
    const problem = reading.kind === 'wrong' ? reading.problem : null;
    facts.push({ fact: `score.${name}`, key: found.alias.text, from: 'element', kind: kindOf(found.value), problem });
  }
  return facts;
}

/** Of a body that is an event, and no new requests, nothing is mapped: there are no elements. */
export function tryMapping(value: JsonValue, mapping: RequestMapping): MappingTrial {
  if (recogniseEvent(value) !== null) return { elements: [], moreElements: 0, around: [] };
  const { elements } = elementsOf(value, mapping);
  const readAround = new Set<string>();
  const shown = elements.slice(0, mostElements).map((element): TriedElement => {
    const read = new Set<string>();
    const facts = triedFacts(element, mapping, read);
    for (const path of read) readAround.add(path);
    const isRequest = looksLikeRequest(element, mapping);
    const pointer = element.pointer
      .split('/')
      .map((part) => (part === '' ? '' : shownKey(part)))
      .join('/');
    return { pointer, isRequest, facts, ...unreadIn({ ...element.scope, parent: null }, read, mapping) };
  });
  const around = new Map<string, UnreadKey>();
  for (let scope = elements[0]?.scope.parent ?? null; scope !== null; scope = scope.parent) {
    for (const unread of unreadIn({ ...scope, parent: null }, readAround, mapping).unread) {
      if (!around.has(unread.key)) around.set(unread.key, unread);
    }
  }
  return { elements: shown, moreElements: elements.length - shown.length, around: [...around.values()] };
}

const mostItems = 100;
/** Deeper than wrappers and their requests are. */
const deepestKept = 16;
const mostValues = 10_000;

/** The body with the first items of its lists alone, and no more values than people look at: what is shown of a letter is in it. */
export function beginningOf(value: JsonValue): JsonValue {
  let left = mostValues;
  const cut = (inner: JsonValue, depth: number): JsonValue => {
    left -= 1;
    if (Array.isArray(inner)) {
      if (depth > deepestKept) return [];
      const items: JsonValue[] = [];
      for (let index = 0; index < Math.min(mostItems, inner.length) && left > 0; index += 1)
        items.push(cut(inner[index]!, depth + 1));
      return items;
    }
    if (!isJsonObject(inner) || isRawNumber(inner)) return inner;
    const fields: Record<string, JsonValue> = Object.create(null);
    if (depth > deepestKept) return fields;
    for (const key in inner) {
      if (left <= 0) break;
      if (Object.hasOwn(inner, key)) fields[key] = cut(inner[key]!, depth + 1);
    }
    return fields;
  };
  return cut(value, 0);
}

const longestIdentifier = 40;
/** Of an identifier, as in `linha2`; a number of somebody has more. */
const mostDigits = 4;
/** Stand in names of persons as well as in keys. */
const particle = /^d[aeio]s?$/i;

/**
 * Words as programs join them, one of them known: `pedidoNumero`, `numero_pedido`, `numero-pedido`. A name may be joined like that
 * as well, `mariaSilva`, but has no such word in it.
 */
function isIdentifier(key: string, known: (key: string) => boolean): boolean {
  if (key.length > longestIdentifier || !/^[_$@]?[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*$/.test(key)) return false;
  if (key.replace(/\D/g, '').length > mostDigits) return false;
  const words = key.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z0-9]+/);
  return words.some((word) => /[A-Za-z]{2}/.test(word) && !particle.test(word) && known(word));
}

/** A key that may be somebody's name or number is not shown, nor where it stands in a pointer. */
export function maskedKey(key: string, known: (key: string) => boolean): string {
  return /^\d{1,6}$/.test(key) || known(key) || isIdentifier(key, known) ? shownKey(key) : '***';
}

/** Every key of a body, dotted, without its values; of the items of lists each once. Those that are not `known` and are no identifiers are masked. */
export function keysIn(value: JsonValue, known: (key: string) => boolean): readonly string[] {
  const keys = new Set<string>();
  const visit = (inner: JsonValue, shown: string, depth: number): void => {
    if (keys.size >= mostKeys) return;
    const isList = Array.isArray(inner);
    const fields =
      isList || (isJsonObject(inner) && !isRawNumber(inner)) ? Object.entries<JsonValue>(inner as never) : [];
    if (fields.length === 0 || depth > deepest) {
      if (shown !== '') keys.add(shown);
      return;
    }
    for (const [name, item] of fields) {
      const own = isList ? '' : maskedKey(name, known);
      visit(item, [shown, own].filter((part) => part !== '').join('.'), depth + 1);
    }
  };
  visit(value, '', 0);
  return [...keys];
}
