/** Everything that an event and two rules together may not say: refused with file, pointer and a sentence that helps. */
import { test } from 'node:test';
import { event, inParams, refused } from './refused.ts';
import { always, compiled, ruleOf } from './sample-request.ts';

// Events.
refused('an unknown event', [event('limits', {})], '/rules/0/event/type', /Did you mean "limit"/);
refused('an experiment with nobody in it', [event('experiment', {})], inParams, /lacks "name"/);
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
refused('a cap name with blanks', [cap({ name: 'The desk' })], `${inParams}/name`, /without accents/);
refused('an unknown window', [cap({ window: 'week' })], `${inParams}/window`, /"day" or \{"hours": 24\}/);
refused('a window too long', [cap({ window: { hours: 1000 } })], `${inParams}/window/hours`, /outside 1 … 720/);
refused('an unknown key fact', [cap({ keyFacts: ['employer.id'] })], `${inParams}/keyFacts/0`, /employer\./);
refused('a list as key fact', [cap({ keyFacts: ['alerts.codes'] })], `${inParams}/keyFacts/0`, /one value/);
refused('a paced count', [cap({ paced: true })], `${inParams}/paced`, /Only a day's amount/);
refused(
  'a paced window of hours',
  [cap({ paced: true, maxAmountReais: 9, window: { hours: 3 } })],
  `${inParams}/paced`,
  /day/,
);
refused('paced as text', [cap({ paced: 'yes' })], `${inParams}/paced`, /true or false/);
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

// Reviews.
const review = { queue: 'large-amounts', minutes: 20 };
refused('a review without a queue', [event('review', { minutes: 20 })], inParams, /lacks "queue"/);
refused('a review without a time', [event('review', { queue: 'large' })], inParams, /lacks "minutes"/);
refused(
  'a review by nobody knows whom',
  [event('review', { ...review, who: 'ana' })],
  `${inParams}/who`,
  /no key "who"/,
);
for (const queue of ['', 'Large', 'large amounts', 'large\u001b[31m', 'a'.repeat(41), 7])
  refused(
    `a queue called ${JSON.stringify(queue)}`,
    [event('review', { ...review, queue })],
    `${inParams}/queue`,
    /without accents/,
  );
for (const minutes of [0, 0.5, -1, 10_081, '20'])
  refused(
    `a review of ${JSON.stringify(minutes)} minutes`,
    [event('review', { ...review, minutes })],
    `${inParams}/minutes`,
    /minutes is/,
  );
for (const otherwise of ['ask', null, true])
  refused(
    `a review that is otherwise ${JSON.stringify(otherwise)}`,
    [event('review', { ...review, otherwise })],
    `${inParams}/otherwise`,
    /write "pass" or "bid"/,
  );
refused(
  'a review that has no name (stranger, session 52)',
  [{ conditions: always, event: { type: 'review', params: review } }],
  '/rules/0',
  /needs a name/,
);
refused('a review after pricing', [event('review', review, { stage: 'offer' })], '/rules/0/event/type', /too late/);
refused(
  'a review that ignores what is missing',
  [event('review', review, { onMissing: 'ignore' })],
  '/rules/0/onMissing',
  /./,
);

refused(
  'a queue with accents',
  [event('review', { queue: 'Alçada 2', minutes: 20 })],
  `${inParams}/queue`,
  /write a to z without accents, digits and hyphens, a letter first, at most 40 characters, .* Did you mean "alcada-2"\?$/,
);
refused(
  'a queue without a letter',
  [event('review', { queue: '…1', minutes: 20 })],
  `${inParams}/queue`,
  /amounts"\.$/,
);
refused(
  'the name of a cap with accents',
  [event('cap', { name: 'São Paulo', keyFacts: [], window: 'day', maxCount: 1 })],
  `${inParams}/name`,
  /without accents.* Did you mean "sao-paulo"\?$/,
);

const operation = { mul: [{ fact: 'desk.volumeTodayReais' }, 0.2] };
const ofFactsFile = /^"mul" stands in facts\.json; write .* there, and \{"fact": "computed\.NAME"\} here\.$/;
refused(
  'an operation in a limit',
  [event('limit', { maxAmountReais: operation })],
  `${inParams}/maxAmountReais`,
  ofFactsFile,
);
refused(
  'an operation in a cap',
  [event('cap', { name: 'a', keyFacts: [], window: 'day', maxAmountReais: operation })],
  `${inParams}/maxAmountReais`,
  ofFactsFile,
);
refused(
  'an operation in a condition',
  [
    ruleOf({
      conditions: { all: [{ fact: 'request.amountReais', operator: 'lessThan', value: operation }] },
    }),
  ],
  '/rules/0/conditions/all/0/value',
  ofFactsFile,
);
refused(
  'a limit in R$ by R$ a month',
  [event('limit', { maxAmountReais: { fact: 'margin.availableReais' } })],
  `${inParams}/maxAmountReais/fact`,
  /name a fact of that unit\. In facts\.json R\$ a month times months is R\$; a column/,
);

const byStanding = (fact: string) => [event('segment', { dimensions: [{ fact, cuts: [20] }] })];
refused(
  'a segment of how the desk fares in it',
  byStanding('market.auctions'),
  '/rules/0',
  /told by the segment itself/,
);
refused(
  'a segment where the desk fares well',
  [
    ruleOf({
      conditions: { all: [{ fact: 'market.hourWinRate', operator: 'lessThan', value: 0.5 }] },
      event: { type: 'segment', params: { dimensions: ['employer.sector'] } },
    }),
  ],
  '/rules/0',
  /makes segments of "market.hourWinRate", which is told by the segment itself; make them of other facts/,
);
