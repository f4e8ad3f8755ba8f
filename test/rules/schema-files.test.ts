/** The JSON Schemas for editors: each shipped file fits the one that it names, and they find what they refer to. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { schemaFiles } from '../../src/rules/schema.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

function schemas(): Ajv {
  const ajv = new Ajv({ strict: false, multipleOfPrecision: 6 });
  for (const { path, text } of schemaFiles()) {
    const name = basename(path);
    if (name.endsWith('.json')) ajv.addSchema({ ...JSON.parse(text), $id: `schema:/${name}` });
  }
  return ajv;
}

const shipped = execFileSync('git', ['ls-files', '-z', 'rules'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path.endsWith('.json') && !path.startsWith('rules/schema/'))
  .map((path) => ({ path, content: JSON.parse(readFileSync(`${root}/${path}`, 'utf8')) }))
  .filter(({ content }) => typeof content.$schema === 'string');

test('each shipped file of rules fits the schema that it names', () => {
  const ajv = schemas();
  assert.ok(shipped.length > 50);
  for (const { path, content } of shipped) {
    const isValid = ajv.validate(`schema:/${basename(content.$schema)}`, content);
    assert.ok(isValid, `${path}: ${ajv.errorsText()}`);
  }
});

test('a fact that there is not, an operator of another type, and a value out of range fit no schema', () => {
  const ajv = schemas();
  const { content } = shipped.find(({ path }) => path === 'rules/eligibility.json')!;
  const [rule] = content.rules;
  const fits = (comparison: object) =>
    ajv.validate('schema:/rules.schema.json', { ...content, rules: [{ ...rule, conditions: { all: [comparison] } }] });
  const known = { fact: 'worker.ageYears', operator: 'lessThan', value: 21 };
  assert.equal(fits(known), true, ajv.errorsText());
  assert.equal(fits({ ...known, fact: 'worker.age' }), false);
  assert.equal(fits({ ...known, value: 900 }), false);
  assert.equal(fits({ ...known, operator: 'startsWith' }), false);
  const base = (facts: object) => ajv.validate('schema:/bases.schema.json', { bases: { one: facts } });
  assert.deepEqual([base({ like: 'two', 'worker.ageYears': 30 }), base({ 'worker.age': 30 })], [true, false]);
});
