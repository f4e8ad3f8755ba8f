/**
 * The contract as rows, in words of our own (`rows.json`): every endpoint, field, event, limit, rule and state, each with the
 * test that proves it and the place of its check in the source, so that a mutation run can take the check away.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const text = z.string().trim().min(1);
const named = z.strictObject({ file: text, name: text });

const fileSchema = z.strictObject({
  /** One field table each. A field's check is its key in the source: the first place after `after` where the pattern stands. */
  groups: z.array(
    z.strictObject({
      id: text,
      about: text,
      test: named,
      anchor: z.strictObject({ file: text, after: text, pattern: text.includes('{key}') }),
      fields: z.record(text, text),
    }),
  ),
  rows: z.array(
    z.strictObject({
      kind: z.enum(['endpoint', 'event', 'limit', 'rule', 'state']),
      id: text,
      says: text,
      test: named,
      check: z.strictObject({ file: text, search: text, replacement: z.string() }),
    }),
  ),
  /** What the contract says and no test of ours can prove, and why. */
  unproved: z.array(z.strictObject({ says: text, reason: text })),
});

export type Row = {
  kind: 'field' | 'endpoint' | 'event' | 'limit' | 'rule' | 'state';
  id: string;
  says: string;
  test: { file: string; name: string };
  /** `after`: where the search begins; empty for the file's beginning. */
  check: { file: string; after: string; search: string; replacement: string };
};

const root = new URL('../../', import.meta.url);

function readFile(): z.infer<typeof fileSchema> {
  return fileSchema.parse(JSON.parse(readFileSync(new URL('test/contract/rows.json', root), 'utf8')));
}

export function readUnproved(): z.infer<typeof fileSchema>['unproved'] {
  return readFile().unproved;
}

/** All rows; throws where one is empty or incomplete. */
export function readRows(): Row[] {
  const file = readFile();
  const fields = file.groups.flatMap(({ id, test, anchor, fields: keys }) =>
    Object.entries(keys).map(([key, says]): Row => {
      const of = (name: string) => anchor.pattern.replace('{key}', name);
      const check = { file: anchor.file, after: anchor.after, search: of(key), replacement: of(`${key}Removed`) };
      return { kind: 'field', id: `${id}: ${key}`, says, test, check };
    }),
  );
  const others = file.rows.map((row): Row => ({ ...row, check: { ...row.check, after: '' } }));
  return [...others, ...fields];
}

/** The source without the row's check. */
export function withoutCheck(source: string, { id, check }: Row): string {
  const from = check.after === '' ? 0 : source.indexOf(check.after);
  const at = from < 0 ? -1 : source.indexOf(check.search, from);
  assert.ok(at >= 0, `${id}: its check is not in ${check.file}: ${check.after} … ${check.search}`);
  return source.slice(0, at) + check.replacement + source.slice(at + check.search.length);
}

const exampleNames = new Set(
  ['answers', 'messages', 'operations', 'webhooks'].flatMap((kind) =>
    readdirSync(new URL(`test/examples/${kind}/`, root)),
  ),
);

const titles = /\btest\(\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)/g;

/** Whether a file has a test of this name: written out, or by a template whose parts are cases in the file or examples. */
export function hasTest(source: string, name: string): boolean {
  for (const [, single, double, template] of source.matchAll(titles)) {
    if ((single ?? double) === name) return true;
    if (template === undefined) continue;
    const parts = template.split(/\$\{[^}]*\}/).map((part) => RegExp.escape(part));
    const found = new RegExp(`^${parts.join('(.+)')}$`).exec(name);
    if (found?.slice(1).every((part) => exampleNames.has(part) || isCase(source, part))) return true;
  }
  return false;
}

function isCase(source: string, part: string): boolean {
  const bare = new RegExp(`^\\s*${RegExp.escape(part)}: `, 'm');
  return source.includes(`'${part}'`) || source.includes(`"${part}"`) || bare.test(source);
}
