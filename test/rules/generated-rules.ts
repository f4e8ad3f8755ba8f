/** Generated rule sets over the whole condition language, and facts for them: what the differential tests run on. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Facts } from '../../src/rules/facts.ts';
import { compileRuleSet, type RuleSet } from '../../src/rules/rule-set.ts';
import { codesFile, ruleOf } from './sample-request.ts';

const numbers = ['worker.ageYears', 'worker.tenureMonths', 'request.installments', 'extra.level', 'score.bureau'];
const texts = ['employer.sector', 'extra.channel'];
const flags = ['request.eligible', 'guarantee.present'];
const words = ['commerce', 'industry', 'public'];

const number = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(1.5, 2.5, 5.99));
const word = fc.constantFrom(...words);
const listOf = <T>(values: fc.Arbitrary<T>) => fc.array(values, { minLength: 1, maxLength: 12 });
const leaf = (facts: readonly string[], operators: readonly string[], value: fc.Arbitrary<unknown>) =>
  fc.record({ fact: fc.constantFrom(...facts), operator: fc.constantFrom(...operators), value });

const sizes = ['lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive'];
const negated = (operators: readonly string[]) => [...operators, ...operators.map((operator) => `not:${operator}`)];
const aliasOf = (value: string) => ({ fact: 'extra', operator: 'equal', path: '$.channel', value });

const comparison = fc.oneof(
  leaf(numbers, negated([...sizes, 'equal', 'notEqual', 'swap:lessThan']), number),
  leaf(numbers, negated(['in', 'notIn', 'someValue:equal', 'everyValue:greaterThan', 'swap:contains']), listOf(number)),
  leaf(texts, ['equal', 'notEqual', 'swap:equal'], word),
  leaf(texts, negated(['in', 'notIn', 'someValue:equal', 'everyValue:notEqual']), listOf(word)),
  leaf(texts, negated(['startsWith', 'doesNotStartWith']), fc.constantFrom('com', 'commerce', 'i', 'publica')),
  leaf(['alerts.codes'], ['someFact:startsWith', 'everyFact:doesNotStartWith'], fc.constantFrom('com', 'i')),
  leaf(flags, negated(['equal', 'notEqual']), fc.boolean()),
  leaf(['alerts.codes'], negated(['contains', 'doesNotContain', 'someFact:equal', 'everyFact:notEqual']), word),
  leaf(['alerts.codes'], ['someFact:in', 'everyFact:in', 'everyFact:not:in', 'someFact:someValue:equal'], listOf(word)),
  leaf(['request.installments'], ['lessThan', 'equal'], fc.constant({ fact: 'worker.tenureMonths' })),
  leaf(
    ['score.bureau'],
    negated(['greaterThan', 'notEqual']),
    fc.constantFrom({ fact: 'extra.level' }, { fact: 'extra', path: '$.level' }),
  ),
  fc.record({
    fact: fc.constant('employer.sector'),
    operator: fc.constant('notEqual'),
    value: fc.constant({ fact: 'extra.channel' }),
  }),
  word.map(aliasOf),
);

export type Group = Record<string, unknown>;

const { group } = fc.letrec<{ part: unknown; group: Group }>((tie) => {
  const parts = fc.array(tie('part'), { minLength: 1, maxLength: 4 });
  return {
    part: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      comparison,
      comparison,
      tie('group'),
      fc.constantFrom({ condition: 'first' }, { condition: 'second' }),
    ),
    group: fc.oneof(
      fc.record({ all: parts }),
      fc.record({ any: parts }),
      fc.record({ not: tie('part') }),
      fc
        .tuple(fc.array(tie('part'), { minLength: 2, maxLength: 5 }), fc.integer({ min: 1, max: 5 }))
        .map(([of, count]) => ({ atLeast: Math.min(count, of.length), of })),
    ),
  };
});

/** The two named conditions; the second may hold the first. */
const { plainGroup } = fc.letrec<{ part: unknown; plainGroup: Group }>((tie) => {
  const parts = fc.array(comparison, { minLength: 1, maxLength: 3 });
  return {
    part: comparison,
    plainGroup: fc.oneof(fc.record({ all: parts }), fc.record({ any: parts }), fc.record({ not: tie('part') })),
  };
});

export type GeneratedSet = { rules: Record<string, unknown>[]; conditions: { first: Group; second: Group } };

export const generatedSet: fc.Arbitrary<GeneratedSet> = fc
  .record({ groups: fc.array(group, { minLength: 1, maxLength: 3 }), first: plainGroup, second: plainGroup })
  .map(({ groups, first, second }) => ({
    conditions: { first, second: { any: [second, { condition: 'first' }] } },
    rules: groups.map((conditions, index) =>
      ruleOf({
        name: `rule-${index}`,
        priority: 1 + (index % 2),
        conditions,
        event: { type: 'limit', params: { maxRatePercent: 2 } },
      }),
    ),
  }));

const values: Record<string, fc.Arbitrary<number | string | boolean | string[]>> = {
  'worker.ageYears': number,
  'worker.tenureMonths': number,
  'request.installments': number,
  'extra.level': number,
  'score.bureau': number,
  'employer.sector': word,
  'extra.channel': word,
  'request.eligible': fc.boolean(),
  'guarantee.present': fc.boolean(),
  'alerts.codes': fc.array(word, { maxLength: 3 }),
};

/** What each fact is meant to be; keys that nobody mapped may be anything. */
export const factTypes: Readonly<Record<string, string>> = {
  'worker.ageYears': 'number',
  'worker.tenureMonths': 'number',
  'request.installments': 'number',
  'score.bureau': 'number',
  'employer.sector': 'string',
  'request.eligible': 'boolean',
  'guarantee.present': 'boolean',
  'alerts.codes': 'list',
};

export const factNames = Object.keys(values);

/** All facts are there; so that results can be compared with a library that does not know what is missing. */
export const wholeFacts: fc.Arbitrary<Facts> = fc.record(values);

/** Any may be absent, or of a type that nobody declared. */
export const partialFacts: fc.Arbitrary<Facts> = fc.record(
  Object.fromEntries(
    factNames.map((name) => [
      name,
      fc.oneof(
        { weight: 5, arbitrary: values[name]! },
        { weight: 1, arbitrary: fc.constantFrom('10', 3, true, Number.NaN) },
      ),
    ]),
  ),
  { requiredKeys: [] },
);

/** Null: chance wrote a contradiction, which is refused; nothing else may be wrong with these sets. */
export function compileSet({ rules, conditions }: GeneratedSet): RuleSet | null {
  const result = compileRuleSet([
    codesFile,
    { path: 'conditions.json', text: JSON.stringify({ conditions }) },
    { path: 'rules.json', text: JSON.stringify({ rules }) },
  ]);
  if (result.kind === 'compiled') return result.ruleSet;
  for (const fault of result.faults)
    assert.match(fault.text, /contradict|always holds|hold together|can never be like this/, JSON.stringify(fault));
  return null;
}
