import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { hashUnchecked } from '../../src/rules/set-hash.ts';

const shipped = readRuleFiles(fileURLToPath(new URL('../../rules', import.meta.url)));

test('the hash without the check is that of the set', () => {
  const compiled = compileRuleSet(shipped);
  assert(compiled.kind === 'compiled');
  assert.equal(hashUnchecked(shipped), compiled.ruleSet.hash);
  assert.equal(hashUnchecked(shipped.toReversed()), compiled.ruleSet.hash);
});

test('another value anywhere makes another hash, and another layout none', () => {
  const [first, ...others] = shipped;
  assert(first !== undefined);
  const laidOut = { path: first.path, text: JSON.stringify(JSON.parse(first.text), null, 7) };
  assert.equal(hashUnchecked([laidOut, ...others]), hashUnchecked(shipped));
  const changed = { path: first.path, text: JSON.stringify({ ...JSON.parse(first.text), changed: 1 }) };
  assert.notEqual(hashUnchecked([changed, ...others]), hashUnchecked(shipped));
});

test('what cannot be read and tables of values have no such hash', () => {
  assert.equal(hashUnchecked([...shipped, { path: 'more.json', text: '{"a":1,"a":2}' }]), null);
  assert.equal(hashUnchecked([...shipped, { path: 'bureau.values.csv', text: 'a;b' }]), null);
  assert.equal(hashUnchecked([...shipped, { path: 'bureau.values.json', text: '{}' }]), null);
});
