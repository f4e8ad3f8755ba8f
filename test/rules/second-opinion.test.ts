/** The tests beside rules asked of json-rules-engine too: rules of other programs are taken as they are, and a difference refuses the set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Json } from '../../src/rules/json.ts';
import { compileRuleSet, openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { differencesFromLibrary } from '../../src/rules/second-opinion.ts';
import { confirmRules, judgeRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { at, codesFile, filesOf, ruleOf } from './sample-request.ts';

const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 1) });
const shippedFolder = new URL('../../rules/', import.meta.url).pathname;

test('the shipped set says in each of its tests what the library says', async (context) => {
  const verdict = judgeRules(readRuleFiles(shippedFolder), 100, at);
  assert.ok(verdict.kind === 'good');
  const { faults, asked } = await differencesFromLibrary(verdict.ruleSet, verdict.written);
  assert.deepEqual(faults, []);
  context.diagnostic(`figure: ${asked} questions of ${verdict.ruleSet.rules.length} rules, one answer`);
  assert.ok(asked > verdict.ruleSet.rules.length);
});

/** As json-rules-engine's own pages write them: without what only this program has, with what only the library has. */
const foreign = [
  json('events.json', {
    events: {
      'reject-applicant': { type: 'pass', params: { code: 'too-young' }, rename: { message: 'reason' } },
      shorten: { type: 'limit', params: { maxInstallments: 24 } },
    },
  }),
  json('conditions.json', {
    conditions: {
      grown: { all: [{ fact: 'worker', path: '$.ageYears', operator: 'greaterThanInclusive', value: 18 }] },
    },
  }),
  json('rules.json', [
    {
      conditions: {
        name: 'young or doubtful',
        priority: '7',
        any: [
          { name: 'young', priority: 10, not: { condition: 'grown', name: 'not grown up' } },
          {
            atLeast: 2,
            of: [
              { fact: 'worker.tenureMonths', operator: 'lessThan', value: 6 },
              { fact: 'alerts', path: '.count', operator: 'greaterThan', value: 0 },
              { fact: 'extra', path: '$.channel', operator: 'startsWith', value: 'web' },
            ],
          },
        ],
      },
      event: { type: 'reject-applicant', params: { message: 'Declined by the old engine.' } },
      priority: '20',
    },
    {
      name: 'Shops',
      conditions: { all: [{ fact: 'employer.activityClass', operator: 'startsWith', value: '47' }] },
      event: { type: 'shorten' },
    },
  ]),
  json('bases.json', {
    bases: {
      ordinary: {
        'worker.ageYears': 30,
        'worker.tenureMonths': 24,
        'alerts.count': 0,
        'extra.channel': 'shop',
        'employer.activityClass': '10121',
      },
      web: { like: 'ordinary', 'extra.channel': 'web-2' },
    },
  }),
  json('rules.test.json', {
    base: 'ordinary',
    tests: [
      { name: 'ordinary', expect: { pass: null, fired: [] } },
      { name: 'young', facts: { 'worker.ageYears': 17 }, expect: { pass: 'too-young', fired: ['rules #1'] } },
      { name: 'one doubt', base: 'web', expect: { pass: null } },
      { name: 'two doubts', base: 'web', facts: { 'worker.tenureMonths': 1 }, expect: { pass: 'too-young' } },
      { name: 'alert', base: 'web', facts: { 'alerts.count': 1 }, expect: { pass: 'too-young' } },
      {
        name: 'a shop',
        facts: { 'employer.activityClass': '47113' },
        expect: { fired: ['Shops'], limits: { maxInstallments: 24 } },
      },
      ...['worker.ageYears', 'worker.tenureMonths', 'alerts.count', 'extra.channel', 'employer.activityClass'].map(
        (fact) => ({
          name: `without ${fact}`,
          base: 'web',
          facts: { [fact]: null },
          expect:
            fact === 'employer.activityClass'
              ? { fired: ['Shops'] }
              : fact === 'extra.channel'
                ? { pass: null }
                : { pass: `fact-missing:${fact}` },
        }),
      ),
      {
        name: 'two unknown',
        facts: { 'extra.channel': null, 'alerts.count': null },
        expect: { pass: 'fact-missing:alerts.count' },
      },
    ],
  }),
];

test('rules of another engine are taken as they stand, with a table for its events', async () => {
  const verdict = await confirmRules([codesFile, ...foreign], 100, at);
  assert.deepEqual(reasonsAgainst(verdict), []);
  assert.ok(verdict.kind === 'good');
  const { ruleSet } = verdict;
  assert.deepEqual(
    ruleSet.rules.map(({ name, priority }) => [name, priority]),
    [
      ['rules #1', 20],
      ['Shops', 1],
    ],
  );
  const [reason] = evaluateRequest(ruleSet, { 'worker.ageYears': 17 }, at).passes;
  assert.equal(reason?.text, 'Declined by the old engine.');
  const again = openRuleSet(ruleSet.source, true);
  assert.ok(again.kind === 'compiled' && again.ruleSet.hash === ruleSet.hash);
  const { asked } = await differencesFromLibrary(ruleSet, verdict.written);
  assert.ok(asked >= 6, String(asked));
});

test('what the library says otherwise refuses the set, where the rule stands', async () => {
  const verdict = judgeRules([codesFile, ...foreign], 100, at);
  assert.ok(verdict.kind === 'good');
  const turned: Json = { all: [{ fact: 'employer.activityClass', operator: 'doesNotStartWith', value: '47' }] };
  const rules = new Map([...verdict.written.rules, ['Shops', turned]]);
  const { faults } = await differencesFromLibrary(verdict.ruleSet, { ...verdict.written, rules });
  assert.equal(faults.length, 2);
  assert.deepEqual([faults[0]!.file, faults[0]!.pointer], ['rules.json', '/1']);
  assert.match(faults[0]!.text, /^"Shops" is false in the test "ordinary", and true in json-rules-engine: /);
});

test('2 000 rows with as many tests are soon asked about', async () => {
  const rows = (from: number) =>
    Array.from({ length: 500 }, (_, index) => ({ when: [from + index], set: [1 + (index % 3)] }));
  const files = [0, 1, 2, 3].flatMap((part) => [
    json(`t${part}.table.json`, {
      ...{ name: `T${part}`, description: 'd', event: 'limit', inputs: ['worker.occupationCode'] },
      ...{ outputs: ['maxRatePercent'], rows: rows(part * 500) },
    }),
    json(`t${part}.test.json`, {
      tests: rows(part * 500).map(({ when, set }) => {
        return {
          name: `${when}`,
          facts: { 'worker.occupationCode': when[0] },
          expect: { limits: { maxRatePercent: set[0] } },
        };
      }),
    }),
  ]);
  const verdict = judgeRules([codesFile, ...files], 60, at);
  assert.ok(verdict.kind === 'good', reasonsAgainst(verdict).slice(0, 3).join('\n'));
  const before = process.cpuUsage();
  const { faults, asked } = await differencesFromLibrary(verdict.ruleSet, verdict.written);
  const { user } = process.cpuUsage(before);
  assert.deepEqual([faults, asked], [[], 4_000]);
  assert.ok(user < 3_000_000, `${user} µs`);
});

test('a file of rules that is called as a later kind of file is one of rules still', () => {
  for (const path of ['events.json', 'bases.json']) {
    const compiled = compileRuleSet([codesFile, json(path, { rules: [ruleOf()] })]);
    assert.ok(compiled.kind === 'compiled', path);
    assert.equal(compiled.ruleSet.rules[0]!.file, path);
  }
});

const refusals: readonly (readonly [what: string, files: readonly RuleFile[], says: RegExp])[] = [
  [
    'an event nobody named',
    [json('rules.json', [ruleOf({ event: { type: 'decline' } })])],
    /^rules\.json \/0\/event\/type: There is no event "decline".*events\.json/,
  ],
  [
    'a param of the other engine',
    [
      json('events.json', { events: { decline: { type: 'pass', params: { code: 'too-young' } } } }),
      json('rules.json', [ruleOf({ event: { type: 'decline', params: { message: 'x' } } })]),
    ],
    /^rules\.json \/0\/event: A pass has no key "message"/,
  ],
  [
    'a name for no event',
    [json('events.json', { events: { decline: { type: 'pas' } } }), json('rules.json', [ruleOf()])],
    /^events\.json \/events\/decline\/type: There is no event "pas"\. Did you mean "pass"/,
  ],
  [
    'another name for an own event',
    [json('events.json', { events: { pass: { type: 'pass' } } }), json('rules.json', [ruleOf()])],
    /^events\.json \/events\/pass: "pass" is an event already/,
  ],
  [
    'more than there are',
    [
      json('rules.json', [
        ruleOf({
          conditions: {
            atLeast: 3,
            of: [
              { fact: 'worker.ageYears', operator: 'lessThan', value: 18 },
              { fact: 'alerts.count', operator: 'equal', value: 1 },
            ],
          },
        }),
      ]),
    ],
    /^rules\.json \/0\/conditions\/atLeast: atLeast is 3, outside 1 … 2/,
  ],
  ['a count without a list', [json('rules.json', [ruleOf({ conditions: { atLeast: 1 } })])], /lacks "of"/],
  [
    'two that exclude each other',
    [
      json('rules.json', [
        ruleOf({
          conditions: {
            atLeast: 2,
            of: [
              { fact: 'worker.ageYears', operator: 'lessThan', value: 18 },
              { fact: 'worker.ageYears', operator: 'greaterThan', value: 60 },
            ],
          },
        }),
      ]),
    ],
    /No 2 of these can hold together/,
  ],
  [
    'too many ways',
    [
      json('rules.json', [
        ruleOf({
          conditions: {
            atLeast: 10,
            of: Array.from({ length: 20 }, (_, index) => ({ fact: 'extra.a', operator: 'greaterThan', value: index })),
          },
        }),
      ]),
    ],
    /more than 1000 ways/,
  ],
  [
    'beginnings that exclude each other',
    [
      json('rules.json', [
        ruleOf({
          conditions: {
            all: [
              { fact: 'extra.c', operator: 'startsWith', value: 'ab' },
              { fact: 'extra.c', operator: 'startsWith', value: 'b' },
            ],
          },
        }),
      ]),
    ],
    /contradict each other/,
  ],
  [
    'the beginning of a number',
    [
      json('rules.json', [
        ruleOf({ conditions: { all: [{ fact: 'worker.occupationCode', operator: 'startsWith', value: '52' }] } }),
      ]),
    ],
    /does not fit "worker\.occupationCode" \(number\)/,
  ],
  [
    'a code of too many digits',
    [
      json('rules.json', [
        ruleOf({ conditions: { all: [{ fact: 'employer.activityClass', operator: 'startsWith', value: '4711302' }] } }),
      ]),
    ],
    /write 1 to 5 digits/,
  ],
  [
    'a code of too few digits',
    [
      json('rules.json', [
        ruleOf({ conditions: { all: [{ fact: 'employer.activityClass', operator: 'equal', value: '47' }] } }),
      ]),
    ],
    /write 5 digits, or use "startsWith"/,
  ],
  [
    'a base nobody declared',
    [json('rules.json', [ruleOf()]), json('rules.test.json', { base: 'ordinary', tests: [] })],
    /^rules\.test\.json \/base: The base "ordinary" is not declared in bases\.json/,
  ],
  [
    'a base that stands below',
    [json('rules.json', [ruleOf()]), json('bases.json', { bases: { a: { like: 'b' }, b: {} } })],
    /^bases\.json \/bases\/a\/like: The base "b" is not declared/,
  ],
  [
    'a base with an unknown fact',
    [json('rules.json', [ruleOf()]), json('bases.json', { bases: { a: { 'worker.age': 3 } } })],
    /^bases\.json \/bases\/a\/worker\.age: There is no fact/,
  ],
];

for (const [what, files, says] of refusals) {
  test(`refused: ${what}`, () => {
    const verdict = judgeRules([codesFile, ...files], 0, at);
    assert.ok(verdict.kind === 'refused', JSON.stringify(verdict));
    assert.match(reasonsAgainst(verdict)[0]!.replace(/:\d+ /, ' '), says);
  });
}

test('a fact that is called like what every object inherits reaches the library and nothing else', async () => {
  const rule = ruleOf({ conditions: { all: [{ fact: 'extra.__proto__.spoilt', operator: 'equal', value: true }] } });
  const own = { name: 't', facts: { 'extra.__proto__.spoilt': true }, expect: { fired: ['Adults'] } };
  const { kind } = await confirmRules(
    [...filesOf([rule]), { path: 'r.test.json', text: JSON.stringify({ tests: [own] }) }],
    0,
  );
  assert.notEqual(kind, 'tests-failed');
  assert.equal(({} as Record<string, unknown>).spoilt, undefined);
});
