/** What one rule set has that another has not: rules, and what one file declares by names, by name; everything else by file. */

import type { RuleSetChange } from '../domain/kept-book.ts';
import { type SetFile, splitFiles } from '../domain/set-source.ts';
import type { Json } from './json.ts';
import { isObject } from './place.ts';
import { kindOf } from './rule-set.ts';

/** `text`: the canonical JSON of what it says. */
type Part = Pick<RuleSetChange, 'what' | 'name'> & { text: string };

/** A file of rules is one rule, a list of them, or an object with the list. */
function rulesIn(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value;
  return isObject(value) && Array.isArray(value.rules) ? value.rules : [value];
}

const ending = /(?:\.test|\.table|\.score|\.values|\.source)?\.json$/;

function partsOf({ path, text }: SetFile): Part[] {
  const kind = kindOf(path, () => JSON.parse(text) as Json);
  const name = path.replace(/^lists\//, '').replace(ending, '');
  switch (kind) {
    case 'rules':
      return rulesIn(JSON.parse(text) as Json).map((rule, index) => ({
        what: 'rule',
        name: isObject(rule) && typeof rule.name === 'string' ? rule.name : `${path}/${index}`,
        text: JSON.stringify(rule),
      }));
    case 'conditions':
    case 'events':
    case 'bases':
    case 'facts': {
      const declared = JSON.parse(text) as Json;
      const entries = isObject(declared) ? declared[kind] : undefined;
      if (!isObject(entries)) return [{ what: kind, name, text }];
      return Object.entries(entries).map(([own, entry]) => ({ what: kind, name: own, text: JSON.stringify(entry) }));
    }
    case 'codes':
    case 'holidays':
    case 'score':
    case 'values':
    case 'source':
      return [{ what: kind, name, text }];
    // Beside the declaration of the same name.
    case 'value-rows':
      return [{ what: 'values', name, text }];
    case 'test':
      return [{ what: 'tests', name, text }];
    case 'list':
    case 'table':
      return [{ what: kind, name, text }];
    default:
      return kind satisfies never;
  }
}

/** The parts of two sets by kind and name; of files that both have alike none. Both as `RuleSet.source`; null: no set. */
export function differingParts(before: string | null, after: string): Record<'old' | 'now', Map<string, Part>> {
  const [old, now] = [before === null ? [] : (splitFiles(before) ?? []), splitFiles(after) ?? []];
  const texts = new Map(old.map(({ path, text }) => [path, text]));
  const alike = new Set(now.flatMap(({ path, text }) => (texts.get(path) === text ? [path] : [])));
  const named = (files: readonly SetFile[]) => {
    const parts = files.filter(({ path }) => !alike.has(path)).flatMap(partsOf);
    return new Map(parts.map((part) => [`${part.what} ${part.name}`, part]));
  };
  return { old: named(old), now: named(now) };
}

/** From the set `before` (null: from none) to the set `after`, both as `RuleSet.source`. Moved to another file is not changed. */
export function changesBetween(before: string | null, after: string): RuleSetChange[] {
  const { old, now } = differingParts(before, after);
  const changes: RuleSetChange[] = [];
  for (const [key, { what, name, text }] of now) {
    const was = old.get(key);
    if (was === undefined) changes.push({ what, name, change: 'added' });
    else if (was.text !== text) changes.push({ what, name, change: 'changed' });
  }
  for (const [key, { what, name }] of old) if (!now.has(key)) changes.push({ what, name, change: 'removed' });
  return changes;
}
