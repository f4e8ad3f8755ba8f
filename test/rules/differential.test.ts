/**
 * The compiled form against json-rules-engine, one run at a time. The library is asked only where all facts are there and of their types; where they are not, it fails open, and each way in which the
 * two differ then is in the list below.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Engine, RuleProperties } from 'json-rules-engine';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Facts } from '../../src/rules/facts.ts';
import type { Json, JsonObject } from '../../src/rules/json.ts';
import { createLibrary, libraryConditions } from '../../src/rules/second-opinion.ts';
import { compileSet, type GeneratedSet, generatedSet, wholeFacts } from './generated-rules.ts';
import { at, ruleOf } from './sample-request.ts';

/** `extra` as the object that the library's paths look into. */
async function firedByLibrary(engine: Engine, facts: Facts): Promise<string[]> {
  const extra = Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) => (name.startsWith('extra.') ? [[name.slice(6), value]] : [])),
  );
  const { results } = await engine.run({ ...facts, extra });
  return results.map((result) => result.name ?? '').sort();
}

function engineOf({ rules, conditions }: GeneratedSet): Engine {
  const engine = createLibrary(conditions as unknown as JsonObject);
  for (const { name, conditions: own, priority } of rules) {
    const translated = libraryConditions(own as Json);
    engine.addRule({ name, conditions: translated, priority, event: { type: 'fired' } } as unknown as RuleProperties);
  }
  return engine;
}

test('20 000 generated pairs of rule set and facts fire as in the library when all facts are there', async (context) => {
  let pairs = 0;
  let ruleCount = 0;
  let firedCount = 0;
  const samples = fc.sample(fc.tuple(generatedSet, fc.array(wholeFacts, { minLength: 6, maxLength: 6 })), {
    numRuns: 3_900,
    seed: 7,
  });
  for (const [set, cases] of samples) {
    const ruleSet = compileSet(set);
    if (ruleSet === null) continue;
    const engine = engineOf(set);
    for (const facts of cases) {
      const ours = [...evaluateRequest(ruleSet, facts, at).fired].sort();
      assert.deepEqual(ours, await firedByLibrary(engine, facts), JSON.stringify({ set, facts }));
      pairs += 1;
      ruleCount += set.rules.length;
      firedCount += ours.length;
    }
  }
  const share = firedCount / ruleCount;
  context.diagnostic(
    `figure: ${pairs} rule sets and facts, ${ruleCount} rules, agree with json-rules-engine; ${Math.round(share * 100)} % fire`,
  );
  assert.ok(pairs >= 20_000 && share > 0.2 && share < 0.8, `${pairs} pairs, ${share}`);
});

/** Where the two are meant to differ: what the library fires and what the desk says instead. */
const differences: readonly {
  what: string;
  condition: object;
  facts: Facts;
  library: boolean;
  ours: 'true' | 'false' | 'unknown';
}[] = [
  {
    what: 'notEqual on a missing fact',
    condition: { fact: 'employer.sector', operator: 'notEqual', value: 'public' },
    facts: {},
    library: true,
    ours: 'unknown',
  },
  {
    what: 'notIn on a missing fact',
    condition: { fact: 'employer.sector', operator: 'notIn', value: ['public'] },
    facts: {},
    library: true,
    ours: 'unknown',
  },
  {
    what: 'equal on a missing fact',
    condition: { fact: 'request.eligible', operator: 'equal', value: false },
    facts: {},
    library: false,
    ours: 'unknown',
  },
  {
    what: 'a size of a missing fact',
    condition: { fact: 'worker.ageYears', operator: 'lessThan', value: 18 },
    facts: {},
    library: false,
    ours: 'unknown',
  },
  {
    what: 'not around a missing fact',
    condition: { not: { fact: 'request.eligible', operator: 'equal', value: true } },
    facts: {},
    library: true,
    ours: 'unknown',
  },
  {
    what: 'the decorator not on a missing fact',
    condition: { fact: 'worker.ageYears', operator: 'not:lessThan', value: 18 },
    facts: {},
    library: true,
    ours: 'unknown',
  },
  {
    what: 'doesNotContain on a missing list',
    condition: { fact: 'alerts.codes', operator: 'doesNotContain', value: '7' },
    facts: {},
    library: false,
    ours: 'unknown',
  },
  {
    what: 'everyFact on a missing list',
    condition: { fact: 'alerts.codes', operator: 'everyFact:equal', value: '7' },
    facts: {},
    library: false,
    ours: 'unknown',
  },
  {
    what: 'a text where a number is compared',
    condition: { fact: 'extra.level', operator: 'greaterThan', value: 9 },
    facts: { 'extra.level': '10' },
    library: true,
    ours: 'unknown',
  },
  {
    what: 'a number where a text is compared',
    condition: { fact: 'extra.channel', operator: 'notEqual', value: '7' },
    facts: { 'extra.channel': 7 },
    library: true,
    ours: 'unknown',
  },
  {
    what: 'a fact as value that is missing',
    condition: { fact: 'employer.sector', operator: 'notEqual', value: { fact: 'extra.channel' } },
    facts: { 'employer.sector': 'public' },
    library: true,
    ours: 'unknown',
  },
  {
    what: 'any with one part unknown and none true',
    condition: {
      any: [
        { fact: 'worker.ageYears', operator: 'lessThan', value: 18 },
        { fact: 'request.eligible', operator: 'equal', value: false },
      ],
    },
    facts: { 'request.eligible': true },
    library: false,
    ours: 'unknown',
  },
];

for (const { what, condition, facts, library, ours } of differences) {
  test(`differs from the library on purpose: ${what}`, async () => {
    const set = { rules: [ruleOf({ conditions: { all: [condition] } })], conditions: {} } as unknown as GeneratedSet;
    assert.equal((await firedByLibrary(engineOf(set), facts)).length === 1, library);
    const [reason] = evaluateRequest(compileSet(set)!, facts, at).passes;
    assert.equal(reason === undefined ? 'false' : reason.code === 'too-young' ? 'true' : 'unknown', ours);
  });
}
