/** Whole files of rules: codes, shapes, hashes, hostile and mutated content. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { groupedNumbers } from '../../src/rules/json.ts';
import type { RuleFault } from '../../src/rules/place.ts';
import { compileRuleSet, openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { always, codesFile, compiled, filesOf, ruleOf } from './sample-request.ts';

function faultsOf(files: readonly RuleFile[]): readonly RuleFault[] {
  const result = compileRuleSet(files);
  return result.kind === 'refused' ? result.faults : [];
}

const event = (type: string, params: unknown, more: object = {}) =>
  ruleOf({ conditions: always, event: { type, params }, ...more });
const hazard = (name: string, priority: number, conditions: unknown) =>
  ruleOf({ name, priority, conditions, event: { type: 'economics', params: { separationMonthlyShare: 0.03 } } });
const cap = (change: object) => event('cap', { name: 'desk', keyFacts: [], window: 'day', maxCount: 5, ...change });
const sector = (value: string) => ({ fact: 'employer.sector', operator: 'equal', value });

test('codes.json has its own faults', () => {
  const withCodes = (codes: unknown) =>
    faultsOf([
      { path: 'codes.json', text: JSON.stringify(codes) },
      filesOf([event('limit', { maxRatePercent: 2 })])[1]!,
    ]);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`code-${index}`, 'x']));
  assert.match(withCodes({ codes: many })[0]!.text, /101 codes are declared; keep to 100/);
  assert.equal(withCodes({ codes: { 'Too Young': 'x' } })[0]!.pointer, '/codes/Too Young');
  assert.match(withCodes({ codes: { 'limits-conflict': 'x' } })[0]!.text, /given by the desk itself/);
  assert.match(withCodes({ codes: ['x'] })[0]!.text, /write an object/);
  assert.match(withCodes({ code: {} })[0]!.text, /Did you mean "codes"/);
  assert.deepEqual(withCodes({ codes: {} }), []);
  assert.match(faultsOf([filesOf([ruleOf()])[1]!])[0]!.text, /missing; declare the pass codes/);
});

test('hostile files are refused soon, with a pointer, and never crash', () => {
  const file = (text: string, path = 'rules.json') => faultsOf([codesFile, { path, text }]);
  const started = performance.now();
  assert.match(file('['.repeat(900_000))[0]!.text, /deeper than 32/);
  assert.match(file(' '.repeat(10_000_000))[0]!.text, /longer than 1000000/);
  assert.match(file('{"__proto__": {"rules": []}}')[0]!.text, /__proto__/);
  assert.match(file('{"rules": {}}')[0]!.text, /write a list of rules/);
  assert.match(file('{"rules": []}')[0]!.text, /no rule at all/);
  assert.match(file('[]', '../notes.txt')[0]!.text, /no \.json file/);
  assert.match(file(JSON.stringify(ruleOf()), 'codes.json')[0]!.text, /given twice/);
  assert.equal(file(JSON.stringify(Array.from({ length: 900 }, () => ({}))))!.length, 100);
  const numbered = (count: number, change: (index: number) => object) =>
    JSON.stringify(
      Array.from({ length: count }, (_, index) => ruleOf({ name: `${index}`, description: 'd', ...change(index) })),
    );
  assert.match(file(numbered(2_001, () => ({})))[0]!.text, /More than 2000 rules/);
  const deep = Array.from({ length: 30 }).reduce<unknown>((inner) => ({ all: [inner] }), always);
  assert.match(file(JSON.stringify(ruleOf({ conditions: deep })))[0]!.text, /deeper than 32/);
  const equal = (index: number) => ({
    priority: 7,
    conditions: { all: [{ fact: 'employer.key', operator: 'equal', value: `${index}` }] },
    event: { type: 'strategy', params: { optimise: true } },
  });
  assert.deepEqual(file(numbered(2_000, equal)), []);
  const list = (index: number) => Array.from({ length: 60 }, (_, member) => `${index * 60 + member}`);
  const apart = (index: number) => ({
    ...equal(index),
    conditions: { all: [{ fact: 'employer.key', operator: 'in', value: list(index) }] },
  });
  assert.match(file(numbered(1_500, apart))[0]!.text, /Too many rules decide strategy/);
  assert.ok(performance.now() - started < 8_000);
});

test('a mutated file is refused with a pointer into it, or compiles', () => {
  const text = JSON.stringify({
    rules: [
      ruleOf(),
      { ...cap({ window: { hours: 3 } }), name: 'C' },
      hazard('H', 2, { any: [{ not: sector('commerce') }] }),
    ],
  });
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.nat(6), fc.string({ maxLength: 4 }), (place, cut, insert) => {
      const mutated = text.slice(0, place) + insert + text.slice(place + cut);
      for (const fault of faultsOf([codesFile, { path: 'rules.json', text: mutated }])) {
        assert.ok(fault.text.length > 10 && fault.text.length < 1_000);
        assert.ok(fault.pointer === '' || fault.pointer.startsWith('/'));
      }
    }),
    { numRuns: 1_000 },
  );
});

test('the hash names the content, not its layout, and the source compiles again', () => {
  const rules = [ruleOf(), hazard('H', 2, always)];
  const set = compiled(rules);
  const spaced = compileRuleSet([{ path: 'rules.json', text: JSON.stringify({ rules }, null, 3) }, codesFile]);
  assert.ok(spaced.kind === 'compiled');
  assert.equal(spaced.ruleSet.hash, set.hash);
  assert.notEqual(compiled([ruleOf({ priority: 2 }), hazard('H', 2, always)]).hash, set.hash);
  const again = openRuleSet(set.source);
  assert.ok(again.kind === 'compiled');
  assert.deepEqual([again.ruleSet.hash, again.ruleSet.rules], [set.hash, set.rules]);
  for (const broken of ['', '{}', '[1]', '[{"path": 1, "value": 2}]'])
    assert.equal(openRuleSet(broken).kind, 'refused');
});

test('facts of one unit are compared whatever explains it; a set of the store is opened as it was taken', () => {
  const profit = (fact: string) => {
    const conditions = { all: [{ fact: 'offer.expectedProfitReais', operator: 'lessThan', value: { fact } }] };
    return ruleOf({ conditions, stage: 'offer' });
  };
  const fits = compiled([profit('offer.amountReais')]);
  const text = JSON.stringify({ rules: [profit('offer.installmentReais')] });
  assert.equal(compileRuleSet([{ path: 'rules.json', text }, codesFile]).kind, 'refused');
  const older = fits.source.replaceAll('offer.amountReais', 'offer.installmentReais');
  for (const checked of [true, false]) assert.equal(openRuleSet(older, checked).kind, 'compiled');
});

test('a file may hold one rule, a list, or an object with rules', () => {
  const one = { ...ruleOf(), $schema: './rules.schema.json' };
  for (const content of [one, [ruleOf()], { $schema: 'x', rules: [ruleOf()] }]) {
    const result = compileRuleSet([codesFile, { path: 'a/b.json', text: JSON.stringify(content) }]);
    assert.ok(result.kind === 'compiled' && result.ruleSet.rules.length === 1);
  }
});

test('a number that reads as thousands to some is refused in JSON as in CSV, wherever it stands', () => {
  const rule = (params: string) =>
    `{"rules": [{"name": "a", "conditions": {"all": [{"fact": "request.amountReais", "operator": "greaterThan", "value": 30.000}]},
      "event": {"type": "limit", "params": {"maxAmountReais": ${params}}}}]}`;
  const tests = `{"base": {"request.amountReais": 1.500}, "tests": [{"name": "one", "expect": {"limits": {"maxAmountReais": 10.00}}}]}`;
  const faultsOf = (texts: Readonly<Record<string, string>>) => {
    const result = compileRuleSet(Object.entries(texts).map(([path, text]) => ({ path, text })));
    assert(result.kind === 'refused', 'it was not refused');
    return result.faults.map(({ file, pointer, line, text }) => `${file}:${line} ${pointer}: ${text}`);
  };
  assert.deepEqual(faultsOf({ 'a.json': rule('-5.000'), 'a.test.json': tests }).slice(0, 3), [
    'a.json:1 /rules/0/conditions/all/0/value: "30.000" can be read in two ways; write 30000 or 30, without signs for thousands.',
    'a.json:2 /rules/0/event/params/maxAmountReais: "-5.000" can be read in two ways; write -5000 or -5, without signs for thousands.',
    'a.test.json:1 /base/request.amountReais: "1.500" can be read in two ways; write 1500 or 1.5, without signs for thousands.',
  ]);
  for (const plain of ['30', '30.00', '30.5', '30000', '0.100', '1234.500', '30.000e1'])
    assert.deepEqual(groupedNumbers(`{"a": [${plain}], "b": "30.000"}`), [], plain);
});

test('thousandths of a real are refused in the facts of a test, and stay good in a set of an earlier version', () => {
  const rules = filesOf([
    ruleOf({ conditions: { all: [{ fact: 'request.amountReais', operator: 'lessThan', value: 9.5 }] } }),
  ]);
  const test = { name: 'one', facts: { 'request.amountReais': 1.234 }, expect: { pass: null } };
  const result = compileRuleSet([...rules, { path: 'rules.test.json', text: JSON.stringify({ tests: [test] }) }]);
  assert(result.kind === 'refused', 'it was not refused');
  assert.deepEqual(
    result.faults.map(({ pointer, text }) => [pointer, text]),
    [
      [
        '/tests/0/facts/request.amountReais',
        'request.amountReais is 1.234; write at most 2 decimals (R$). Did you mean 1234?',
      ],
    ],
  );
  const good = compileRuleSet(rules);
  assert(good.kind === 'compiled', 'it was refused');
  assert.equal(openRuleSet(good.ruleSet.source.replaceAll('9.5', '9.125')).kind, 'compiled');
});

test('what follows from codes, conditions, events or holidays that are refused is not told beside it', () => {
  const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 1) });
  const files = [
    json('codes.json', { codes: { 'too-young': 'Too young.' } }),
    json('conditions.json', { conditions: { grown: ruleOf().conditions } }),
    json('events.json', { events: { refuse: { type: 'pass', params: { code: 'too-young' } } } }),
    json('holidays.json', { from: '2026-01-01', until: '2026-12-31', holidays: { '2026-11-20': 'x' } }),
    json('bases.json', { bases: { ordinary: { 'worker.ageYears': 30 } } }),
    json('rules.json', {
      rules: [
        ruleOf({ name: 'A', conditions: { all: [{ condition: 'grown' }] } }),
        ruleOf({ name: 'B', event: { type: 'refuse', params: { reason: 'x' } } }),
        ruleOf({ name: 'C', conditions: { all: [{ fact: 'desk.holiday', operator: 'equal', value: true }] } }),
      ],
    }),
    json('rules.test.json', { base: 'ordinary', tests: [{ name: 'a', facts: {}, expect: { fired: ['A'] } }] }),
  ];
  assert.equal(compileRuleSet(files).kind, 'compiled');
  const spoilt = (path: string, how: (text: string) => string, more: readonly RuleFile[] = []) => {
    const result = compileRuleSet([
      ...files.map((file) => (file.path === path ? { path, text: how(file.text) } : file)),
      ...more,
    ]);
    assert.ok(result.kind === 'refused', path);
    return result.faults;
  };
  for (const path of ['codes.json', 'conditions.json', 'events.json', 'holidays.json', 'bases.json']) {
    for (const how of [
      (text: string) => text.slice(0, -3),
      (text: string) => text.replace(/^\{\n "\w+"/, (start) => start.replace(/"$/, 's"')),
    ])
      assert.deepEqual([...new Set(spoilt(path, how).map(({ file }) => file))], [path]);
  }
  // One that is refused takes with it what names it, and nothing else.
  const other = json('other.json', [
    ruleOf({ name: 'D', event: { type: 'pass', params: { code: 'odd', reason: 'x' } } }),
  ]);
  const inCodes = spoilt('codes.json', (text) => text.replace('"Too young."', '7'), [other]);
  assert.deepEqual(
    inCodes.map(({ file, pointer }) => `${file}${pointer}`),
    ['codes.json/codes/too-young', 'other.json/0/event/params/code'],
  );
  const odd = json('other.json', [ruleOf({ name: 'D', event: { type: 'odd', params: { reason: 'x' } } })]);
  const inEvents = spoilt('events.json', (text) => text.replace('"pass"', '"pas"'), [odd]);
  assert.deepEqual(
    inEvents.map(({ file }) => file),
    ['events.json', 'other.json'],
  );
});
