/** Everything that a rule file may not say: refused with file, pointer and a sentence that helps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuleFault } from '../../src/rules/place.ts';
import { compileRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { always, compiled, filesOf, ruleOf } from './sample-request.ts';

function faultsOf(files: readonly RuleFile[]): readonly RuleFault[] {
  const result = compileRuleSet(files);
  return result.kind === 'refused' ? result.faults : [];
}

function refused(name: string, rules: readonly unknown[], pointer: string, says: RegExp): void {
  test(`refused: ${name}`, () => {
    const faults = faultsOf(filesOf(rules));
    assert.equal(faults.length, 1, JSON.stringify(faults));
    assert.deepEqual({ file: faults[0]!.file, pointer: faults[0]!.pointer }, { file: 'rules.json', pointer });
    assert.match(faults[0]!.text, says);
  });
}

const test1 = (fact: string, operator: string, value: unknown, more: object = {}) =>
  ruleOf({ conditions: { all: [{ fact, operator, value, ...more }] } });
const event = (type: string, params: unknown, more: object = {}) =>
  ruleOf({ conditions: always, event: { type, params }, ...more });
const inCondition = '/rules/0/conditions/all/0';
const inParams = '/rules/0/event/params';

// Rules and their keys.
refused('a rule that is no object', ['x'], '/rules/0', /write an object/);
refused('an unknown key', [ruleOf({ prioriti: 3 })], '/rules/0/prioriti', /Did you mean "priority"/);
refused('a missing name', [ruleOf({ name: undefined })], '/rules/0', /lacks "name"; add it/);
refused('an empty description', [ruleOf({ description: ' ' })], '/rules/0/description', /write a text/);
refused('a long name', [ruleOf({ name: 'n'.repeat(81) })], '/rules/0/name', /longer than 80/);
refused('a priority as text', [ruleOf({ priority: '5' })], '/rules/0/priority', /the number 5, without quotes/);
refused('a fractional priority', [ruleOf({ priority: 1.5 })], '/rules/0/priority', /whole number/);
refused('an unknown stage', [ruleOf({ stage: 'late' })], '/rules/0/stage', /"request" or "offer"/);
refused('an unknown onMissing', [ruleOf({ onMissing: 'pass' })], '/rules/0/onMissing', /"ignore" or remove/);
refused(
  'onMissing on a limit',
  [event('limit', { maxRatePercent: 2 }, { onMissing: 'ignore' })],
  '/rules/0/onMissing',
  /belongs to "pass" rules only/,
);
refused('two rules of one name', [ruleOf(), ruleOf()], '/rules/1/name', /taken by the rule at rules\.json\/rules\/0/);

// Conditions.
refused('an empty all', [ruleOf({ conditions: { all: [] } })], '/rules/0/conditions/all', /is empty/);
refused('an empty any', [ruleOf({ conditions: { all: [{ any: [] }] } })], `${inCondition}/any`, /is empty/);
refused(
  'a bare comparison',
  [ruleOf({ conditions: { fact: 'desk.always', operator: 'equal', value: true } })],
  '/rules/0/conditions',
  /"all": \[/,
);
refused(
  'an empty condition',
  [ruleOf({ conditions: {} })],
  '/rules/0/conditions',
  /lacks "fact", "operator", "value"; add them/,
);
refused(
  'all and any together',
  [ruleOf({ conditions: { ...always, any: always.all } })],
  '/rules/0/conditions',
  /both "all" and "any"/,
);
refused(
  'not with a list',
  [ruleOf({ conditions: { not: always.all } })],
  '/rules/0/conditions/not',
  /is a list; write one condition/,
);
refused('all without a list', [ruleOf({ conditions: { all: always } })], '/rules/0/conditions/all', /write a list/);
refused(
  'a named condition',
  [ruleOf({ conditions: { all: [{ condition: 'adult' }] } })],
  `${inCondition}/condition`,
  /not declared in conditions\.json/,
);
refused(
  'params on a condition',
  [test1('worker.ageYears', 'lessThan', 18, { params: {} })],
  `${inCondition}/params`,
  /no key "params"/,
);
refused('a condition that is a text', [ruleOf({ conditions: { all: ['x'] } })], inCondition, /write an object/);
refused(
  'an unknown fact',
  [test1('worker.ageYear', 'lessThan', 18)],
  `${inCondition}/fact`,
  /Did you mean "worker.ageYears"/,
);
refused('a fact of the prototype', [test1('constructor', 'equal', 'x')], `${inCondition}/fact`, /There is no fact/);
refused(
  'an unknown operator',
  [test1('worker.ageYears', 'lesThan', 18)],
  `${inCondition}/operator`,
  /Did you mean "lessThan"/,
);
refused(
  'an unknown decorator',
  [test1('alerts.codes', 'someFacts:equal', '7')],
  `${inCondition}/operator`,
  /no decorator "someFacts:".*Did you mean "someFact"/,
);
refused(
  'a decorator on a single value',
  [test1('employer.sector', 'someFact:equal', 'public')],
  `${inCondition}/operator`,
  /does not fit.*use equal/,
);
refused(
  'too many decorators',
  [test1('alerts.codes', 'someFact:not:swap:swap:swap:equal', '7')],
  `${inCondition}/operator`,
  /more than 4 decorators/,
);
refused(
  'an operator of another type',
  [test1('employer.sector', 'lessThan', 3)],
  `${inCondition}/operator`,
  /does not fit.*use equal/,
);
refused('in on a flag', [test1('request.eligible', 'in', [true])], `${inCondition}/operator`, /use equal, notEqual/);
refused('equal on a list', [test1('alerts.codes', 'equal', '7')], `${inCondition}/operator`, /use contains/);
refused(
  'a number as text',
  [test1('worker.ageYears', 'lessThan', '18')],
  `${inCondition}/value`,
  /the number 18, without quotes/,
);
refused(
  'a flag as text',
  [test1('request.eligible', 'equal', 'true')],
  `${inCondition}/value`,
  /true or false, without quotes/,
);
refused('a text as number', [test1('employer.key', 'equal', 12)], `${inCondition}/value`, /a text in quotes/);
refused('null', [test1('worker.ageYears', 'equal', null)], `${inCondition}/value`, /write a number/);
refused(
  'a value outside of the fact',
  [test1('employer.sector', 'equal', 'comerce')],
  `${inCondition}/value`,
  /Did you mean "commerce"/,
);
refused(
  'a rate in hundredths',
  [
    ruleOf({
      stage: 'offer',
      conditions: { all: [{ fact: 'offer.ratePercent', operator: 'greaterThan', value: 199 }] },
    }),
  ],
  `${inCondition}/value`,
  /outside 0\.02 … 4\.97.*Did you mean 1\.99\?/,
);
refused('an impossible age', [test1('worker.ageYears', 'lessThan', 1800)], `${inCondition}/value`, /outside 0 … 130/);
refused(
  'one value for in',
  [test1('employer.sector', 'in', 'commerce')],
  `${inCondition}/value`,
  /like \["commerce"\]/,
);
refused('an empty list', [test1('employer.sector', 'in', [])], `${inCondition}/value`, /list is empty/);
refused('a mixed list', [test1('worker.categoryCode', 'in', [101, '103'])], `${inCondition}/value/1`, /the number 103/);
refused(
  'a fact of another unit as value',
  [test1('request.amountReais', 'lessThan', { fact: 'worker.ageYears' })],
  `${inCondition}/value`,
  /R\$.*years; name a fact of the same unit/,
);
refused(
  'a fact of another type as value',
  [test1('request.amountReais', 'lessThan', { fact: 'employer.sector' })],
  `${inCondition}/value`,
  /does not compare "request.amountReais" \(number\) and "employer.sector" \(string\)/,
);
refused(
  'an unknown fact as value',
  [test1('request.amountReais', 'lessThan', { fact: 'margin.available' })],
  `${inCondition}/value/fact`,
  /Did you mean "margin.availableReais"/,
);
refused(
  'a fact compared with itself',
  [test1('request.amountReais', 'lessThan', { fact: 'request.amountReais' })],
  `${inCondition}/value`,
  /compared with itself/,
);
refused(
  'two facts of no known type',
  [test1('extra.a', 'equal', { fact: 'extra.b' })],
  `${inCondition}/value`,
  /Nobody knows the types/,
);
refused('an unknown list', [test1('list.blocked', 'equal', true)], `${inCondition}/fact`, /There is no fact/);

// What can never hold.
const both = (left: object, right: object) => ruleOf({ conditions: { all: [left, right] } });
const is = (fact: string, operator: string, value: unknown) => ({ fact, operator, value });
refused(
  'an interval without values',
  [both(is('worker.ageYears', 'greaterThan', 60), is('worker.ageYears', 'lessThan', 21))],
  '/rules/0/conditions/all',
  /contradict each other/,
);
refused(
  'an interval between two whole numbers',
  [both(is('worker.tenureMonths', 'greaterThan', 5), is('worker.tenureMonths', 'lessThan', 6))],
  '/rules/0/conditions/all',
  /contradict each other/,
);
refused(
  'a value that the interval leaves out',
  [both(is('worker.categoryCode', 'in', [101, 103]), is('worker.categoryCode', 'greaterThan', 200))],
  '/rules/0/conditions/all',
  /contradict/,
);
refused(
  'both values of a flag',
  [both(is('request.eligible', 'notEqual', true), is('request.eligible', 'notEqual', false))],
  '/rules/0/conditions/all',
  /contradict/,
);
refused(
  'a list that has and lacks',
  [both(is('alerts.codes', 'contains', '7'), { not: is('alerts.codes', 'contains', '7') })],
  '/rules/0/conditions/all',
  /contradict/,
);
refused('below the least value', [test1('worker.ageYears', 'lessThan', 0)], `${inCondition}/value`, /within 0 … 130/);
refused('never always', [test1('desk.always', 'equal', false)], `${inCondition}/value`, /can never be like this/);
refused('the opposite of always', [ruleOf({ conditions: { not: always } })], '/rules/0/conditions/not', /always holds/);

// Days.
refused('a day as a number', [ruleOf({ validFrom: 20_260_101 })], '/rules/0/validFrom', /write a day like/);
refused('a day of no calendar', [ruleOf({ validUntil: '2026-02-30' })], '/rules/0/validUntil', /no calendar/);
refused(
  'an end before the beginning',
  [ruleOf({ validFrom: '2026-05-01', validUntil: '2026-04-30' })],
  '/rules/0/validUntil',
  /swap the days/,
);
refused(
  'a path on a plain fact',
  [test1('request.amountReais', 'lessThan', 5, { path: '$.x' })],
  `${inCondition}/path`,
  /has no path/,
);
refused(
  'a path with a filter',
  [test1('extra', 'equal', 'x', { path: '$..[?(@.a)]' })],
  `${inCondition}/path`,
  /not plain/,
);
refused('an extra list', [test1('extra.channels', 'contains', 'app')], `${inCondition}/operator`, /never a list/);
refused(
  'an extra text compared by size',
  [test1('extra.score', 'lessThan', '700')],
  `${inCondition}/value`,
  /does not compare "700"/,
);
refused('an extra mixed list', [test1('extra.score', 'in', [1, 'x'])], `${inCondition}/value/1`, /write a number/);
refused(
  'an offer fact before pricing',
  [test1('offer.ratePercent', 'lessThan', 2)],
  `${inCondition}/fact`,
  /"stage": "offer"/,
);

// Events.
refused('an unknown event', [event('limits', {})], '/rules/0/event/type', /Did you mean "limit"/);
refused('an experiment', [event('experiment', {})], '/rules/0/event/type', /There is no event "experiment"/);
refused(
  'a limit after pricing',
  [event('limit', { maxRatePercent: 2 }, { stage: 'offer' })],
  '/rules/0/event/type',
  /too late/,
);
refused(
  'an unknown code',
  [event('pass', { code: 'to-young', reason: 'x' })],
  `${inParams}/code`,
  /Did you mean "too-young"/,
);
refused('a pass without a reason', [event('pass', { code: 'too-young' })], inParams, /lacks "reason"/);
refused('a limit that limits nothing', [event('limit', {})], inParams, /changes nothing/);
refused('an unknown limit', [event('limit', { maxRate: 2 })], `${inParams}/maxRate`, /Did you mean "maxRatePercent"/);
refused(
  'a limit in hundredths',
  [event('limit', { maxRatePercent: 199 })],
  `${inParams}/maxRatePercent`,
  /Did you mean 1\.99\?/,
);
refused(
  'a limit as a share',
  [event('limit', { maxRatePercent: 0.0199 })],
  `${inParams}/maxRatePercent`,
  /Did you mean 1\.99\?/,
);
refused(
  'a margin share in percent',
  [event('limit', { maxMarginShare: 30 })],
  `${inParams}/maxMarginShare`,
  /Did you mean 0\.3\?/,
);
refused(
  'a rate off the grid',
  [event('limit', { maxRatePercent: 1.995 })],
  `${inParams}/maxRatePercent`,
  /at most 2 decimals/,
);
refused(
  'half an instalment',
  [event('limit', { maxInstallments: 9.5 })],
  `${inParams}/maxInstallments`,
  /a whole number/,
);
refused(
  'min above max',
  [event('limit', { minRatePercent: 3, maxRatePercent: 2 })],
  `${inParams}/minRatePercent`,
  /swap them/,
);
refused(
  'a limit as text',
  [event('limit', { maxAmountReais: '5.000' })],
  `${inParams}/maxAmountReais`,
  /the number 5, without/,
);
refused('an unknown economics field', [event('economics', { funding: 13 })], `${inParams}/funding`, /no key "funding"/);
refused(
  'a probability in percent',
  [event('economics', { neverStartedShare: 16 })],
  `${inParams}/neverStartedShare`,
  /Did you mean 0\.16\?/,
);
refused('no dimension', [event('segment', { dimensions: [] })], `${inParams}/dimensions`, /a list of 1 to 4/);
refused(
  'a dimension without cuts',
  [event('segment', { dimensions: ['worker.ageYears'] })],
  `${inParams}/dimensions/0`,
  /"cuts"/,
);
refused(
  'a dimension of many values',
  [event('segment', { dimensions: ['employer.key'] })],
  `${inParams}/dimensions/0`,
  /too many values/,
);
refused(
  'a dimension twice',
  [event('segment', { dimensions: ['guarantee.present', 'guarantee.present'] })],
  `${inParams}/dimensions/1`,
  /twice/,
);
refused(
  'an offer dimension',
  [event('segment', { dimensions: ['offer.ratePercent'] })],
  `${inParams}/dimensions/0`,
  /after pricing/,
);
refused(
  'cuts that do not ascend',
  [event('segment', { dimensions: [{ fact: 'worker.ageYears', cuts: [30, 20] }] })],
  `${inParams}/dimensions/0/cuts/1`,
  /ascending/,
);
refused('two strategies', [event('strategy', { optimise: true, undercutPercent: 0.1 })], inParams, /exactly one/);
refused('not to optimise', [event('strategy', { optimise: false })], `${inParams}/optimise`, /write true/);
refused(
  'a fixed rate out of range',
  [event('strategy', { fixedRatePercent: 250 })],
  `${inParams}/fixedRatePercent`,
  /Did you mean 2\.5\?/,
);
const cap = (change: object) => event('cap', { name: 'desk', keyFacts: [], window: 'day', maxCount: 5, ...change });
refused('a cap without a limit', [cap({ maxCount: undefined })], inParams, /limits nothing/);
refused('a cap name with blanks', [cap({ name: 'The desk' })], `${inParams}/name`, /lower-case words/);
refused('an unknown window', [cap({ window: 'week' })], `${inParams}/window`, /"day" or \{"hours": 24\}/);
refused('a window too long', [cap({ window: { hours: 1000 } })], `${inParams}/window/hours`, /outside 1 … 168/);
refused('an unknown key fact', [cap({ keyFacts: ['employer.id'] })], `${inParams}/keyFacts/0`, /employer\./);
refused('a list as key fact', [cap({ keyFacts: ['alerts.codes'] })], `${inParams}/keyFacts/0`, /one value/);
refused(
  'an offer key fact before pricing',
  [cap({ keyFacts: ['offer.ratePercent'] })],
  `${inParams}/keyFacts/0`,
  /"stage": "offer"/,
);

// Between rules.
const hazard = (name: string, priority: number, conditions: unknown) =>
  ruleOf({ name, priority, conditions, event: { type: 'economics', params: { separationMonthlyShare: 0.03 } } });
const sector = (value: string) => ({ fact: 'employer.sector', operator: 'equal', value });
const tenure = (operator: string, value: number) => ({ fact: 'worker.tenureMonths', operator, value });
refused(
  'equal priority on one field',
  [hazard('A', 3, { all: [sector('commerce')] }), hazard('B', 3, { all: [tenure('lessThan', 12)] })],
  '/rules/1/priority',
  /"B" and "A" both decide economics separationMonthly with priority 3/,
);
refused(
  'intervals that touch',
  [
    hazard('A', 3, { all: [tenure('lessThanInclusive', 12)] }),
    hazard('B', 3, { all: [tenure('greaterThanInclusive', 12)] }),
  ],
  '/rules/1/priority',
  /give one of them another priority/,
);
refused(
  'alternatives that only seem to exclude',
  [
    hazard('A', 3, { any: [sector('commerce'), tenure('lessThan', 12)] }),
    hazard('B', 3, { all: [sector('industry')] }),
  ],
  '/rules/1/priority',
  /may hold at once/,
);
refused(
  'two strategies of one priority',
  [event('strategy', { optimise: true }, { name: 'A' }), event('strategy', { undercutPercent: 0.05 }, { name: 'B' })],
  '/rules/1/priority',
  /both decide strategy/,
);
refused(
  'one cap name with two meanings',
  [cap({}), { ...cap({ keyFacts: ['employer.key'] }), name: 'B' }],
  '/rules/1/event/params/name',
  /another stage, window or keyFacts/,
);

test('equal priority stands where conditions exclude each other', () => {
  const pairs: [unknown, unknown][] = [
    [{ all: [sector('commerce')] }, { all: [sector('industry'), tenure('lessThan', 3)] }],
    [{ all: [tenure('lessThan', 12)] }, { all: [tenure('greaterThanInclusive', 12)] }],
    [{ all: [sector('commerce')] }, { not: { all: [sector('commerce')] } }],
    [
      { all: [{ fact: 'employer.sector', operator: 'in', value: ['commerce', 'public'] }] },
      { not: { any: [sector('commerce'), sector('public')] } },
    ],
    [
      { all: [{ fact: 'alerts.codes', operator: 'contains', value: '7' }] },
      { all: [{ fact: 'alerts.codes', operator: 'doesNotContain', value: '7' }] },
    ],
    [
      { all: [{ fact: 'guarantee.present', operator: 'notEqual', value: true }] },
      { all: [{ fact: 'guarantee.present', operator: 'notEqual', value: false }] },
    ],
  ];
  for (const [left, right] of pairs) compiled([hazard('A', 3, left), hazard('B', 3, right)]);
  compiled([hazard('A', 3, always), hazard('B', 4, always)]);
});
