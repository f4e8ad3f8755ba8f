/** What is written to a rule book and read of it: each file once, an entry without its set, and what earlier versions wrote. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BookRow, createKeptBook } from '../../src/domain/kept-book.ts';
import { joinFiles, splitFiles } from '../../src/domain/set-source.ts';
import { changesBetween } from '../../src/rules/set-changes.ts';
import { compiledFiles } from '../rules/sample-request.ts';
import { filesNamed, setNamed } from './rule-sets.ts';

function bookOf(rows: string[] = []) {
  const told: number[] = [];
  const book = createKeptBook({
    *after(place): Iterable<BookRow> {
      for (let at = (place ?? -1) + 1; at < rows.length; at += 1) {
        told.push(at);
        yield { place: at, text: rows[at]! };
      }
    },
    at: async (place) => rows[place]!,
    add: async (text) => void rows.push(text),
  });
  return { book, rows, told };
}

const entryOf = ({ hash }: { hash: string }) => {
  return { kind: 'proposed', hash, at: 1, by: 'ana', against: null, changes: [] } as const;
};

const list = {
  path: 'lists/blocked.json',
  text: JSON.stringify({
    description: 'Blocked.',
    fact: 'worker.key',
    values: Array.from({ length: 2_000 }, (_, index) => `${index}`.padStart(43, 'k')),
  }),
};

test('a list beside a rule that changes is written once, and read again with each of its sets', async () => {
  const sets = ['a', 'b', 'c'].map((name) => compiledFiles([...filesNamed(name), list]));
  const { book, rows } = bookOf();
  for (const set of sets) await book.append({ ...entryOf(set), source: set.source });
  const holding = rows.filter((row) => row.includes('kkk'));
  assert.equal(holding.length, 1);
  assert.ok(rows.join('').length < 1.1 * sets[0]!.source.length, `${rows.join('').length}`);
  for (const { hash, source } of sets) assert.equal(await book.source(hash), source);
  assert.deepEqual(await book.read(), sets.map(entryOf));
});

test('what was read is not read again; two who read at once read each row once', async () => {
  const { book, rows, told } = bookOf();
  for (const name of ['a', 'b']) await book.append({ ...entryOf(setNamed(name)), source: setNamed(name).source });
  await Promise.all([book.read(), book.read(), book.source(setNamed('a').hash)]);
  assert.deepEqual(told, [...rows.keys()]);
  await book.append({ kind: 'activated', hash: setNamed('b').hash, at: 2, by: null });
  await book.read();
  assert.deepEqual(told, [...rows.keys()]);
});

test('a set that an earlier version kept whole is told, read, and written no second time in parts', async () => {
  const [a, b] = [setNamed('a'), setNamed('b')];
  const { book, rows } = bookOf([JSON.stringify({ ...entryOf(a), source: a.source })]);
  assert.deepEqual(await book.read(), [entryOf(a)]);
  assert.equal(await book.source(a.hash), a.source);
  await book.append({ ...entryOf(b), source: b.source });
  assert.equal(await book.source(b.hash), b.source);
  assert.equal(await book.source('nobody'), null);
  const kinds = rows.map((row) => JSON.parse(row).kind as string);
  assert.deepEqual(kinds, ['proposed', 'file', 'file', 'file', 'proposed']);
});

test('a file of a set that is not there is said, and nothing is put in its place', async () => {
  const { book, rows } = bookOf();
  const set = setNamed('a');
  await book.append({ ...entryOf(set), source: set.source });
  const { book: broken } = bookOf(rows.slice(1));
  await assert.rejects(broken.source(set.hash), { code: 'log-unavailable', message: /lacks the file codes\.json/ });
});

test('a source comes apart into its files whatever their texts hold, and together again as it was', () => {
  const files = [
    { path: 'a"b\\.json', text: '{"x":"},{\\"path\\":","y":["]","\\\\",{}]}' },
    { path: 'scalar.json', text: '"\\\\\\""' },
    { path: 'empty.json', text: '[]' },
  ];
  assert.deepEqual(splitFiles(joinFiles(files)), files);
  assert.deepEqual(splitFiles('[]'), []);
  for (const other of ['', '{}', '[{"path":"a"}]', '[{"path":"a","value":1},', '[ ]', '[{"path":"a', 'null'])
    assert.equal(splitFiles(other), null, other);
  const { source } = setNamed('a');
  assert.equal(joinFiles(splitFiles(source)!), source);
  assert.deepEqual(changesBetween(source, source), []);
});
