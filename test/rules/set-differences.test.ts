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
