/** Everything that a rule and its conditions may not say: refused with file, pointer and a sentence that helps. */
import { event, inCondition, refused, test1 } from './refused.ts';
import { always, ruleOf } from './sample-request.ts';

// Rules and their keys.
refused('a rule that is no object', ['x'], '/rules/0', /write an object/);
refused('an unknown key', [ruleOf({ prioriti: 3 })], '/rules/0/prioriti', /Did you mean "priority"/);
refused('a missing event', [ruleOf({ event: undefined })], '/rules/0', /lacks "event"; add it/);
refused('an empty description', [ruleOf({ description: ' ' })], '/rules/0/description', /write a text/);
refused('a long name', [ruleOf({ name: 'n'.repeat(81) })], '/rules/0/name', /longer than 80/);
refused(
  'a priority that is no whole number',
  [ruleOf({ priority: '5.5' })],
  '/rules/0/priority',
  /write the number 5\.5/,
);
refused('a fractional priority', [ruleOf({ priority: 1.5 })], '/rules/0/priority', /whole number \([^)]*\)\.$/);
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
  /take no parameters; write the fact of the catalogue/,
);
refused('a condition that is a text', [ruleOf({ conditions: { all: ['x'] } })], inCondition, /write an object/);
refused(
  'an unknown fact',
  [test1('worker.ageYear', 'lessThan', 18)],
  `${inCondition}/fact`,
  /Did you mean "worker.ageYears"/,
);
refused(
  'a fact with a letter too many',
  [test1('worker.agee', 'lessThan', 18)],
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
for (const [sign, operator] of [
  ['<', 'lessThan'],
  ['<=', 'lessThanInclusive'],
  ['>', 'greaterThan'],
  ['>=', 'greaterThanInclusive'],
  ['==', 'equal'],
  ['!=', 'notEqual'],
] as const) {
  refused(
    `the sign ${sign}`,
    [test1('worker.ageYears', sign, 18)],
    `${inCondition}/operator`,
    new RegExp(`Did you mean "${operator}"`),
  );
}
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
// Of money.
refused(
  'thousandths of a real in a condition',
  [test1('request.amountReais', 'greaterThan', 12.345)],
  `${inCondition}/value`,
  /^request\.amountReais is 12\.345; write at most 2 decimals \(R\$\)\. Did you mean 12345\?$/,
);
refused(
  'thousandths of a real as a margin',
  [test1('margin.availableReais', 'lessThan', 0.005)],
  `${inCondition}/value`,
  /at most 2 decimals \(R\$ a month\)\.$/,
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
  'reais as value of reais a month',
  [test1('request.amountReais', 'lessThan', { fact: 'margin.availableReais' })],
  `${inCondition}/value`,
  /is in R\$, "margin\.availableReais" in R\$ a month; name a fact of the same unit/,
);
refused(
  'a rate a year as value of a rate a month',
  [test1('offer.ratePercent', 'lessThan', { fact: 'offer.cetAnnualPercent' }, {})].map((rule) => ({
    ...rule,
    stage: 'offer',
  })),
  `${inCondition}/value`,
  /name a fact of the same unit/,
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
