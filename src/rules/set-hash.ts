/** The hash of a set without its check: enough to see that a folder still holds what is followed, at a tenth of the cost. */
import { createHash } from 'node:crypto';
import { joinFiles } from '../domain/set-source.ts';
import { canonicalJson, parseJson } from './json.ts';

/**
 * As `RuleSet.hash` of the same files, if they are a set at all. Null: a file cannot be read, or is a table of values, whose
 * canonical text comes from its rows.
 */
export function hashUnchecked(files: readonly { path: string; text: string }[]): string | null {
  const canonical: { path: string; text: string }[] = [];
  for (const { path, text } of files) {
    if (/\.values\.(json|csv)$/.test(path)) return null;
    const parsed = parseJson(text);
    if (parsed.kind !== 'parsed') return null;
    canonical.push({ path, text: canonicalJson(parsed.value) });
  }
  canonical.sort((left, right) => (left.path < right.path ? -1 : 1));
  return createHash('sha256').update(joinFiles(canonical)).digest('hex');
}
