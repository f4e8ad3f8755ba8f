/** What one rule set has that another has not: rules by name, everything else by file. */
import type { Json } from './json.ts';
import { isObject } from './place.ts';
import { kindOf } from './rule-set.ts';

/** The words of `RuleSetChange`, which the store keeps. */
type Change = {
  what: 'rule' | 'list' | 'table' | 'codes' | 'conditions' | 'tests';
  name: string;
  change: 'added' | 'removed' | 'changed';
};

type Part = Pick<Change, 'what' | 'name'> & { content: Json };

/** A file of rules is one rule, a list of them, or an object with the list. */
function rulesIn(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value;
  return isObject(value) && Array.isArray(value.rules) ? value.rules : [value];
}

const ending = /(?:\.test|\.table)?\.json$/;

function partsOf(path: string, value: Json): Part[] {
  const kind = kindOf(path);
  const name = path.replace(/^lists\//, '').replace(ending, '');
  switch (kind) {
    case 'rules':
      return rulesIn(value).map((rule, index) => ({
        what: 'rule',
        name: isObject(rule) && typeof rule.name === 'string' ? rule.name : `${path}/${index}`,
        content: rule,
      }));
    case 'codes':
    case 'conditions':
      return [{ what: kind, name, content: value }];
    case 'test':
      return [{ what: 'tests', name, content: value }];
    case 'list':
    case 'table':
      return [{ what: kind, name, content: value }];
    default:
      return kind satisfies never;
  }
}

/** `source` as `RuleSet.source` has it. */
export function contentsOf(source: string): Map<string, Part> {
  const files = JSON.parse(source) as { path: string; value: Json }[];
  const parts = files.flatMap(({ path, value }) => partsOf(path, value));
  return new Map(parts.map((part) => [`${part.what} ${part.name}`, part]));
}

/** Both come from a canonical text, so that equal ones have their keys in the same order. */
function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** From the set `before` (null: from none) to the set `after`, both as `RuleSet.source`. Moved to another file is not changed. */
export function changesBetween(before: string | null, after: string): Change[] {
  const old = before === null ? new Map<string, Part>() : contentsOf(before);
  const now = contentsOf(after);
  const changes: Change[] = [];
  for (const [key, { what, name, content }] of now) {
    const was = old.get(key);
    if (was === undefined) changes.push({ what, name, change: 'added' });
    else if (!isSame(was.content, content)) changes.push({ what, name, change: 'changed' });
  }
  for (const [key, { what, name }] of old) if (!now.has(key)) changes.push({ what, name, change: 'removed' });
  return changes;
}
