/** Two sets, value by value: what stands elsewhere, what left a list and what came. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differencesBetween } from '../../src/rules/set-differences.ts';

const sourceOf = (files: Record<string, unknown>) =>
  JSON.stringify(Object.entries(files).map(([path, value]) => ({ path, value })));

test('values of rules and lists are told before and after; what is whole is not taken apart', () => {
  const rule = (value: unknown, more: object = {}) => ({
    name: 'a',
    conditions: { all: [{ fact: 'x', value }] },
    ...more,
  });
  const before = sourceOf({ 'r.json': { rules: [rule(1), { name: 'gone' }] }, 'lists/l.json': { values: ['p', 'q'] } });
  const after = sourceOf({
    'r.json': { rules: [rule(2, { owner: 'o' }), { name: 'come' }] },
    'lists/l.json': { values: ['q', 's'] },
  });
  assert.deepEqual(differencesBetween(before, after), [
    {
      ...{ what: 'rule', name: 'a', change: 'changed' },
      values: [
        { at: 'conditions.all[0].value', before: 1, after: 2 },
        { at: 'owner', before: null, after: 'o' },
      ],
    },
    { what: 'rule', name: 'come', change: 'added', values: [] },
    {
      ...{ what: 'list', name: 'l', change: 'changed' },
      values: [
        { at: 'values', before: 'p', after: null },
        { at: 'values', before: null, after: 's' },
      ],
    },
    { what: 'rule', name: 'gone', change: 'removed', values: [] },
  ]);
  assert.deepEqual(differencesBetween(before, before), []);
});

test('a condition more or less is told with its place', () => {
  const of = (all: unknown[]) => sourceOf({ 'r.json': { rules: [{ name: 'a', conditions: { all } }] } });
  const [one, two] = [{ fact: 'x' }, { fact: 'y' }];
  assert.deepEqual(differencesBetween(of([one]), of([one, two]))[0]!.values, [
    { at: 'conditions.all[1]', before: null, after: two },
  ]);
});

test('named conditions, events, bases and computed facts are told by their names, not by their file', () => {
  const held = (fact: string) => ({ description: fact, all: [{ fact, operator: 'equal', value: 1 }] });
  const before = sourceOf({
    'conditions.json': { conditions: { low: held('x'), gone: held('y') } },
  });
  const after = sourceOf({
    'conditions.json': { conditions: { low: held('z'), come: held('y') } },
  });
  const told = (from: string, to: string) =>
    differencesBetween(from, to).map(({ what, name, change }) => `${change} ${what} ${name}`);
  assert.deepEqual(told(before, after), ['changed conditions low', 'added conditions come', 'removed conditions gone']);
  assert.deepEqual(differencesBetween(before, after)[0]!.values, [
    { at: 'description', before: 'x', after: 'z' },
    { at: 'all[0].fact', before: 'x', after: 'z' },
  ]);
  assert.deepEqual(told(sourceOf({}), before), ['added conditions low', 'added conditions gone']);
  for (const [what, file] of [
    ['events', 'events.json'],
    ['facts', 'facts.json'],
    ['bases', 'bases.json'],
  ] as const) {
    const source = sourceOf({ [file]: { [what]: { one: { description: 'a' }, two: { description: 'b' } } } });
    assert.deepEqual(told(sourceOf({}), source), [`added ${what} one`, `added ${what} two`], what);
  }
});
