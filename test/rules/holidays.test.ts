/** Holidays by a file: true, false, and unknown outside of the days that the file was written for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import { compileRuleSet, openRuleSet, type RuleFile } from '../../src/rules/rule-set.ts';
import { changesBetween } from '../../src/rules/set-changes.ts';
import { confirmRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { mutationsOf } from './mutations.ts';
import { at, codesFile, compiledFiles, ruleOf } from './sample-request.ts';

const json = (path: string, content: unknown): RuleFile => ({ path, text: JSON.stringify(content, null, 2) });
const days = { '2026-11-20': 'Consciência Negra', '2026-12-25': 'Natal', '2028-02-29': 'Carnaval' };
const calendar = { from: '2026-03-01', until: '2028-12-31', holidays: days };
const rules = json('rules.json', {
  rules: [ruleOf({ name: 'Holiday', conditions: { all: [{ fact: 'desk.holiday', operator: 'equal', value: true }] } })],
});
const filesWith = (change: object = {}): RuleFile[] => [
  codesFile,
  json('holidays.json', { ...calendar, ...change }),
  rules,
];
const set = compiledFiles(filesWith());
const codeOn = (day: string | undefined) =>
  evaluateRequest(set, { 'desk.always': true, ...(day && { 'desk.date': day }) }, at).passes[0]?.code ?? null;

test('every day of four years is what the file says, and nobody knows the others', () => {
  for (let time = Date.parse('2026-01-01'); time < Date.parse('2030-01-01'); time += 86_400_000) {
    const day = new Date(time).toISOString().slice(0, 10);
    const isOutside = time < Date.parse(calendar.from) || time > Date.parse(calendar.until);
    const plain = isOutside ? 'fact-missing:desk.holiday' : Object.keys(days).includes(day) ? 'too-young' : null;
    assert.equal(codeOn(day), plain, day);
  }
  assert.equal(codeOn(undefined), 'fact-missing:desk.date');
});

test('the set reads back as it was; a changed calendar is another set, and says so', () => {
  const again = openRuleSet(set.source, true);
  assert.ok(again.kind === 'compiled' && again.ruleSet.hash === set.hash);
  const { source, hash } = compiledFiles(filesWith({ until: '2029-12-31' }));
  assert.notEqual(hash, set.hash);
  assert.deepEqual(changesBetween(set.source, source), [{ what: 'holidays', name: 'holidays', change: 'changed' }]);
});

test('tests show all three by the day, and cannot say the fact themselves', async () => {
  const tests = (facts: readonly object[]) =>
    json('rules.test.json', {
      tests: facts.map((own, index) => ({
        name: `${index}`,
        facts: own,
        expect: index === 1 ? { pass: null } : { fired: ['Holiday'] },
      })),
    });
  const [holiday, other, after] = ['2026-12-25', '2026-12-24', '2029-12-25'].map((day) => ({ 'desk.date': day }));
  const whole = await confirmRules([...filesWith(), tests([holiday!, other!, after!])], 100);
  assert.equal(whole.kind, 'good', reasonsAgainst(whole).join('\n'));
  const short = await confirmRules([...filesWith(), tests([holiday!, other!])], 100);
  assert.match(reasonsAgainst(short).join('\n'), /desk\.holiday equal true: never unknown/);
  const said = await confirmRules([...filesWith(), tests([{ 'desk.holiday': true }])], 100);
  assert.match(reasonsAgainst(said).join('\n'), /"desk\.holiday" is made by the desk, of desk\.date/);
});

for (const [what, change, pointer, says] of [
  [
    'a day that no calendar has',
    { holidays: { '2027-02-29': 'x' } },
    '/holidays/2027-02-29',
    /no day that a calendar has/,
  ],
  ['a day outside', { holidays: { '2029-01-01': 'x' } }, '/holidays/2029-01-01', /outside of 2026-03-01 … 2028-12-31/],
  ['a holiday without a name', { holidays: { '2026-12-25': 3 } }, '/holidays/2026-12-25', /The name of a holiday/],
  ['a list of days', { holidays: ['2026-12-25'] }, '/holidays', /write an object/],
  ['an end before the beginning', { until: '2026-01-01', holidays: {} }, '/until', /swap them/],
  ['an end that is no day', { until: 'never' }, '/until', /like "2026-12-31"/],
] as const) {
  test(`refused: ${what}`, () => {
    const result = compileRuleSet(filesWith(change));
    assert.ok(result.kind === 'refused');
    const [fault] = result.faults;
    assert.deepEqual([fault!.file, fault!.pointer], ['holidays.json', pointer], fault!.text);
    assert.match(fault!.text, says);
  });
}

test('without the file the fact is refused, with what to write', () => {
  const result = compileRuleSet([codesFile, rules]);
  assert.ok(result.kind === 'refused');
  assert.match(result.faults[0]!.text, /no fact "desk\.holiday"\. Write its days in holidays\.json/);
});

test('300 ways to spoil the file: refused with a place, or the days are what the text says', () => {
  const [codes, own] = filesWith() as [RuleFile, RuleFile];
  let refused = 0;
  const spoilt = mutationsOf([own], 1_500)
    .filter(({ files }) => files[0]!.text !== own.text)
    .slice(0, 300);
  assert.equal(spoilt.length, 300);
  for (const { files } of spoilt) {
    const result = compileRuleSet([codes, ...files, rules]);
    if (result.kind === 'refused') {
      refused += 1;
      for (const { line, text } of result.faults) assert.ok(line !== null && text.length > 10, text);
      continue;
    }
    const written = JSON.parse(files[0]!.text) as typeof calendar;
    for (const day of ['2026-11-20', '2026-12-24', '2026-12-25', '2028-02-29'])
      assert.equal(
        result.ruleSet.derived.get('desk.holiday')!.value({ 'desk.date': day }, {}),
        day < written.from || day > written.until ? undefined : Object.hasOwn(written.holidays, day),
      );
  }
  assert.ok(refused > 150, String(refused));
});
