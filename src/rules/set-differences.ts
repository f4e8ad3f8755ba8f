/** What one rule set says otherwise than another, value by value. */
import type { Json } from './json.ts';
import { isObject } from './place.ts';
import { changesBetween, differingParts } from './set-changes.ts';

/** `at`: where it stands, as `conditions.all[0].value`; null: it stands there in one of the two alone. */
export type ValueDifference = { at: string; before: Json | null; after: Json | null };
export type SetDifference = ReturnType<typeof changesBetween>[number] & { values: readonly ValueDifference[] };

/** Both as `RuleSet.source`. Of what was added or removed as a whole no value is told. */
export function differencesBetween(before: string, after: string): SetDifference[] {
  const { old, now } = differingParts(before, after);
  return changesBetween(before, after).map((change) => {
    const key = `${change.what} ${change.name}`;
    const [was, is] = [old.get(key), now.get(key)];
    return {
      ...change,
      values:
        was === undefined || is === undefined ? [] : [...differing(JSON.parse(was.text), JSON.parse(is.text), '')],
    };
  });
}

/** What a rule, or a condition with a name, has to meet, by `what name`. Null: it is not there. Those that are alike are left out. */
export type ConditionChange = { before: Json | null; after: Json | null };

/** Both as `RuleSet.source`. */
export function conditionsBetween(before: string, after: string): ReadonlyMap<string, ConditionChange> {
  const { old, now } = differingParts(before, after);
  const changes = [...new Set([...old.keys(), ...now.keys()])].map((key): [string, ConditionChange] => {
    const [was, is] = [old.get(key), now.get(key)].map((part) => (part === undefined ? null : conditionsOf(part)));
    return [key, { before: was ?? null, after: is ?? null }];
  });
  return new Map(changes.filter(([, { before: was, after: is }]) => JSON.stringify(was) !== JSON.stringify(is)));
}

/** Null: the part has none. */
function conditionsOf({ what, text }: { what: string; text: string }): Json | null {
  if (what !== 'rule' && what !== 'conditions') return null;
  const said = JSON.parse(text) as Json;
  if (what === 'conditions' || !isObject(said)) return what === 'conditions' ? said : null;
  return said.conditions ?? null;
}

/** Of two canonical JSON texts. */
export function valuesBetween(before: string, after: string): ValueDifference[] {
  return [...differing(JSON.parse(before), JSON.parse(after), '')];
}

function isScalar(value: Json | undefined): boolean {
  return value === undefined || value === null || typeof value !== 'object';
}

function* differing(before: Json | undefined, after: Json | undefined, at: string): Generator<ValueDifference> {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    // Entries of a list have no places: what left and what came.
    if ([...before, ...after].every(isScalar)) {
      const [had, has] = [new Set(before), new Set(after)];
      for (const value of had) if (!has.has(value)) yield { at, before: value, after: null };
      for (const value of has) if (!had.has(value)) yield { at, before: null, after: value };
      return;
    }
    for (let place = 0; place < Math.max(before.length, after.length); place += 1)
      yield* differing(before[place], after[place], `${at}[${place}]`);
    return;
  }
  // A file that is a text holds the rows of a value table, which are too many and may be personal.
  if (at === '' && (typeof before === 'string' || typeof after === 'string')) return;
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* differing(before[name], after[name], at === '' ? name : `${at}.${name}`);
    return;
  }
  yield { at, before: before ?? null, after: after ?? null };
}
