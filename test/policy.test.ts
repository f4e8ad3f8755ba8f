import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readRuleFiles } from '../src/adapters/system/rule-files.ts';
import { Fault } from '../src/errors.ts';
import { createRuleCheck } from '../src/policy.ts';

test('rule files that are spoilt or gone under a running desk are noticed, and again when they are mended', () => {
  const shipped = readRuleFiles(fileURLToPath(new URL('../rules', import.meta.url)));
  let files: () => { path: string; text: string }[] = () => shipped;
  const refused = createRuleCheck(() => files());
  assert.equal(refused(), false);
  files = () => shipped.map((file, index) => (index === 0 ? { ...file, text: `${file.text}]` } : file));
  assert.equal(refused(), true);
  files = () => {
    throw new Fault('rules-refused', 'the folder is gone');
  };
  assert.equal(refused(), true);
  files = () => shipped;
  assert.equal(refused(), false);
});
