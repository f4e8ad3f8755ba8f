/** The cap in rules/README.md that lets a worker have one open bid at a time is one that the desk takes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { judgeRules } from '../../src/rules/verdict.ts';

test('the example of one open bid a worker is a cap of one bid, by worker', () => {
  const readme = readFileSync(new URL('../../rules/README.md', import.meta.url), 'utf8');
  const text = readme
    .split('```json\n')
    .find((block) => block.includes('worker-open'))
    ?.split('```')[0];
  assert.ok(text !== undefined);
  const verdict = judgeRules(
    [
      { path: 'codes.json', text: '{"codes": {}}' },
      { path: 'caps.json', text },
    ],
    0,
  );
  assert.equal(verdict.kind, 'good', JSON.stringify(verdict));
  const { rules } = JSON.parse(text) as { rules: { event: object }[] };
  const params = { name: 'worker-open', keyFacts: ['worker.key'], window: { hours: 168 }, maxCount: 1 };
  assert.deepEqual(rules[0]?.event, { type: 'cap', params });
});
