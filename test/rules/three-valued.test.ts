/** The compiled form against a plainly written evaluator, with facts missing or of another type. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import { compileSet, factNames, factTypes, generatedSet, partialFacts, wholeFacts } from './generated-rules.ts';
import { plainVerdict } from './plain-evaluator.ts';
import { at, ruleOf } from './sample-request.ts';

test('a plainly written evaluator says the same, with facts missing or of another type', (context) => {
  const seen = { true: 0, false: 0, unknown: 0 };
  const property = fc.property(generatedSet, partialFacts, (set, facts) => {
    const rules = set.rules.map((rule) => ({
      ...rule,
      event: { type: 'pass', params: { code: 'too-young', reason: 'x' } },
    }));
    const ruleSet = compileSet({ rules, conditions: set.conditions });
    if (ruleSet === null) return;
    const { passes } = evaluateRequest(ruleSet, facts, at);
    for (const { name, conditions } of rules as { name?: string; conditions?: unknown }[]) {
      const verdict = plainVerdict(conditions, { conditions: set.conditions, facts, types: factTypes });
      const reason = passes.find((pass) => pass.rule === name);
      const ours = reason === undefined ? 'false' : reason.code === 'too-young' ? 'true' : 'unknown';
      assert.equal(ours, verdict, name);
      seen[verdict] += 1;
    }
  });
  fc.assert(property, { numRuns: 4_000 });
  context.diagnostic(
    `figure: true ${seen.true}, false ${seen.false}, unknown ${seen.unknown}, the same by both evaluators`,
  );
  assert.ok(Math.min(seen.true, seen.false, seen.unknown) > 500);
});

test('taking facts away turns a verdict into unknown, never into its opposite', () => {
  const property = fc.property(
    generatedSet,
    wholeFacts,
    fc.subarray(factNames, { minLength: 1 }),
    (set, facts, removed) => {
      const rules = set.rules.map((rule) => ({ ...rule, event: ruleOf().event }));
      const ruleSet = compileSet({ rules, conditions: set.conditions });
      if (ruleSet === null) return;
      const whole = new Set(evaluateRequest(ruleSet, facts, at).passes.map((reason) => reason.rule));
      const left = Object.fromEntries(Object.entries(facts).filter(([name]) => !removed.includes(name)));
      const now = new Map(evaluateRequest(ruleSet, left, at).passes.map((reason) => [reason.rule, reason.code]));
      for (const { name } of ruleSet.rules) {
        const code = now.get(name);
        if (code === undefined) assert.ok(!whole.has(name));
        else if (code === 'too-young') assert.ok(whole.has(name));
        else assert.ok(removed.includes(code.replace('fact-missing:', '')), code);
      }
    },
  );
  fc.assert(property, { numRuns: 1_000 });
});
