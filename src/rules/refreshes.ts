/**
 * Whether a set is another one with new rows in its value tables and nothing else, where the tables say that this may be: whoever
 * stands for the one stands for the other. A table that lost most of its rows was not refreshed: it may be half a file.
 */
import { type SetFile, splitFiles } from '../domain/set-source.ts';
import type { Json } from './json.ts';
import { isObject } from './place.ts';
import { kindOf } from './rule-set.ts';

/** Rows stand in the set as one JSON text, so their line breaks are escaped; the last row has one too. */
function rowCount(text: string): number {
  let count = -1;
  for (let at = text.indexOf('\\n'); at !== -1; at = text.indexOf('\\n', at + 2)) count += 1;
  return count;
}

function mayBeRefreshed({ path }: SetFile, files: ReadonlyMap<string, string>): boolean {
  if (kindOf(path, () => null) !== 'value-rows') return false;
  const declaration = JSON.parse(files.get(path.replace(/csv$/, 'json')) ?? 'null') as Json;
  return isObject(declaration) && declaration.refresh === true;
}

/** Both as `RuleSet.source`. */
export function isRefresh(before: string, after: string): boolean {
  const [old, now] = [splitFiles(before), splitFiles(after)];
  if (old === null || now === null || old.length !== now.length) return false;
  const texts = new Map(old.map(({ path, text }) => [path, text]));
  const changed = now.filter(({ path, text }) => texts.get(path) !== text);
  if (changed.length === 0) return false;
  return changed.every((file) => {
    const was = texts.get(file.path);
    return was !== undefined && mayBeRefreshed(file, texts) && rowCount(file.text) * 2 >= rowCount(was);
  });
}
