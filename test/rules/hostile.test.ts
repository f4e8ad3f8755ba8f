/**
 * Hostile files: mutations of the shipped rules are refused with a place to look at, soon, or mean exactly what a second
 * evaluator reads in them; and what no text can hold (links, sizes, bytes) is refused where the folder is read.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { evaluateRequest } from '../../src/rules/evaluate.ts';
import { economicsParameters, limitParameters } from '../../src/rules/events.ts';
import { catalogue, type Facts, type FactValue } from '../../src/rules/facts.ts';
import type { RuleFault } from '../../src/rules/place.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';
import { chanceFrom, mutationsOf } from './mutations.ts';
import { plainDecision } from './plain-decision.ts';
import { at, codesFile, ruleOf } from './sample-request.ts';

const longestMs = 2_000;
const shippedFolder = new URL('../../rules/', import.meta.url).pathname;
const shipped = readRuleFiles(shippedFolder).filter(({ path }) => !path.endsWith('.test.json'));
const types = Object.fromEntries(
  catalogue.map(({ name, type }) => [name, type === 'string-list' ? 'list' : (type as string)]),
);

function refusedWell(faults: readonly RuleFault[], files: readonly RuleFile[]): void {
  assert.ok(faults.length > 0 && faults.length <= 100);
  for (const { file, pointer, line, text } of faults) {
    assert.ok(text.length > 10 && text.length < 1_000, text);
    assert.ok(pointer === '' || pointer.startsWith('/'), pointer);
    const whole = files.find(({ path }) => path === file);
    if (whole !== undefined)
      assert.ok(line !== null && line >= 1 && line <= whole.text.split('\n').length, `${file} ${line}`);
  }
}

function factsBy(draw: () => number): Facts {
  const facts: Record<string, FactValue> = { 'desk.always': true };
  for (const { name, type, range, values, stage, example, whole } of catalogue) {
    if (stage === 'offer' || name === 'desk.always' || draw() < 0.12) continue;
    const number =
      range === null
        ? 0
        : draw() < 0.5
          ? (example as number)
          : range.min + draw() * Math.min(100, range.max - range.min);
    if (type === 'number') facts[name] = whole ? Math.round(number) : number;
    else if (type === 'boolean') facts[name] = draw() < 0.5;
    else if (type === 'string')
      facts[name] = values === null ? `key-${Math.floor(draw() * 3)}` : values[Math.floor(draw() * values.length)]!;
    else facts[name] = draw() < 0.5 ? [] : ['7'];
  }
  return facts;
}

const cases = Array.from({ length: 25 }, (_, index) => factsBy(chanceFrom(1_000 + index * 7_919)));

/** The verdict in the words of the plain decision: units of the files, fields that are limited. */
function decisionOf(ruleSet: RuleSet, facts: Facts) {
  const verdict = evaluateRequest(ruleSet, facts, at);
  const named = (
    known: typeof limitParameters | typeof economicsParameters,
    values: Partial<Record<string, number | null>>,
  ) =>
    Object.fromEntries(
      Object.entries(known).flatMap(([key, { field }]) =>
        values[field] === null || values[field] === undefined ? [] : [[key, values[field]]],
      ),
    );
  return {
    passes: verdict.passes
      .filter(({ code }) => code !== 'limits-conflict')
      .map(({ rule, code }) => `${rule}: ${code.startsWith('fact-missing:') ? '?' : code}`)
      .sort(),
    limits: named(limitParameters, verdict.limits),
    economics: named(economicsParameters, verdict.economics),
    fired: [...verdict.fired].sort(),
  };
}

function inUnits(values: Record<string, number>, known: typeof limitParameters | typeof economicsParameters) {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      known[key]!.scale === 1 ? value : Math.round(value * known[key]!.scale),
    ]),
  );
}

test('300 mutations of the shipped rules: refused with a place, or they mean what a second evaluator reads', (context) => {
  const count = { refused: 0, same: 0 };
  let slowestMs = 0;
  for (const { kind, victim, files } of mutationsOf(shipped, 300)) {
    const startedAt = performance.now();
    const result = compileRuleSet(files);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    if (result.kind === 'refused') {
      refusedWell(result.faults, files);
      count.refused += 1;
      continue;
    }
    count.same += 1;
    for (const facts of cases) {
      const plain = plainDecision(files, facts, types, '2026-11-20');
      const expected = {
        ...plain,
        limits: inUnits(plain.limits, limitParameters),
        economics: inUnits(plain.economics, economicsParameters),
      };
      assert.deepEqual(decisionOf(result.ruleSet, facts), expected, `${kind} of ${victim}`);
    }
  }
  context.diagnostic(
    `figure: 300 mutations: ${count.refused} refused, ${count.same} decided alike; slowest ${slowestMs.toFixed(0)} ms`,
  );
  assert.ok(count.refused >= 100 && count.same >= 40, JSON.stringify(count));
  assert.ok(slowestMs < longestMs, `${slowestMs} ms`);
});

const folder = mkdtempSync(join(tmpdir(), 'lance-hostile-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function folderWith(name: string, make: (directory: string) => void): string {
  const directory = join(folder, name);
  mkdirSync(directory);
  writeFileSync(join(directory, 'codes.json'), codesFile.text);
  make(directory);
  return directory;
}

/** Text of the refusal, wherever it comes from; or null. Within the time allowed. */
function refusalOf(directory: string): string | null {
  const startedAt = performance.now();
  try {
    const result = compileRuleSet(readRuleFiles(directory));
    return result.kind === 'refused' ? `${result.faults[0]!.file}: ${result.faults[0]!.text}` : null;
  } catch (fault) {
    return (fault as Error).message;
  } finally {
    assert.ok(performance.now() - startedAt < longestMs);
  }
}

const rulesText = JSON.stringify({ rules: [ruleOf()] });

test('what is wrong with a folder is refused by name: links out of it, sizes, bytes, counts', () => {
  const outside = join(folder, 'outside.json');
  writeFileSync(outside, rulesText);
  const put = (name: string, make: (path: string) => void) =>
    refusalOf(folderWith(name, (directory) => make(join(directory, 'rules.json'))));
  assert.equal(
    put('good', (path) => writeFileSync(path, rulesText)),
    null,
  );
  assert.match(put('link-out', (path) => symlinkSync(outside, path))!, /rules\.json is a link that leads out/);
  assert.match(put('link-nowhere', (path) => symlinkSync('gone.json', path))!, /rules\.json leads nowhere/);
  assert.match(put('folder', (path) => symlinkSync('.', path))!, /rules\.json/);
  assert.match(put('large', (path) => writeFileSync(path, Buffer.alloc(10_000_000, 32)))!, /rules\.json is larger/);
  assert.match(put('bytes', (path) => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d])))!, /not text in UTF-8/);
  const many = Array.from({ length: 20_000 }, (_, index) => ruleOf({ name: `${index}`, description: 'd' }));
  assert.match(put('many', (path) => writeFileSync(path, JSON.stringify(many)))!, /rules\.json/);
  const short = Array.from({ length: 20_000 }, () => 0);
  assert.match(put('short', (path) => writeFileSync(path, JSON.stringify(short)))!, /write an object/);
});

test('a link inside of the folder counts as the file that it leads to, once', () => {
  const directory = folderWith('mounted', (path) => {
    mkdirSync(join(path, '..data'));
    writeFileSync(join(path, '..data', 'rules.json'), rulesText);
    symlinkSync(join('..data', 'rules.json'), join(path, 'rules.json'));
  });
  assert.deepEqual(
    readRuleFiles(directory).map(({ path }) => path),
    ['codes.json', 'rules.json'],
  );
  assert.equal(refusalOf(directory), null);
});

test('folders in examples/ are sets of their own, and what lies there otherwise is refused', () => {
  const directory = folderWith('with-examples', (path) => {
    writeFileSync(join(path, 'rules.json'), rulesText);
    mkdirSync(join(path, 'examples', 'night'), { recursive: true });
    writeFileSync(join(path, 'examples', 'README.md'), '# Examples');
    writeFileSync(join(path, 'examples', 'night', 'codes.json'), codesFile.text);
    writeFileSync(join(path, 'examples', 'night', 'rules.json'), rulesText);
  });
  assert.deepEqual(
    readRuleFiles(directory).map(({ path }) => path),
    ['codes.json', 'rules.json'],
  );
  assert.equal(refusalOf(directory), null);
  writeFileSync(join(directory, 'examples', 'loose.json'), rulesText);
  assert.match(refusalOf(directory)!, /examples\/loose\.json .*no part of this set.*codes\.json/);
  rmSync(join(directory, 'examples', 'loose.json'));
  rmSync(join(directory, 'examples', 'night', 'codes.json'));
  assert.match(refusalOf(directory)!, /examples\/night .*no part of this set/);
});

test('rules that are slow to compare are refused or compiled in time', () => {
  const wide = (count: number, parts: number) =>
    Array.from({ length: count }, (_, index) =>
      ruleOf({
        name: `${index}`,
        description: 'd',
        conditions: {
          all: Array.from({ length: parts }, (_, part) => ({
            any: Array.from({ length: 4 }, (_, one) => ({
              fact: `extra.f${part}`,
              operator: 'greaterThan',
              value: one + index,
            })),
          })),
        },
      }),
    );
  for (const [count, parts] of [
    [200, 12],
    [1_000, 1],
    [60, 40],
  ] as const) {
    const startedAt = performance.now();
    compileRuleSet([codesFile, { path: 'rules.json', text: JSON.stringify(wide(count, parts)) }]);
    assert.ok(performance.now() - startedAt < longestMs, `${count} rules of ${parts} parts`);
  }
  const named = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [
      `c-${index}`,
      {
        all:
          index === 0
            ? [{ fact: 'worker.ageYears', operator: 'greaterThan', value: 18 }]
            : [{ condition: `c-${index - 1}` }, { condition: `c-${index - 1}` }],
      },
    ]),
  );
  const startedAt = performance.now();
  const conditions = { path: 'conditions.json', text: JSON.stringify({ conditions: named }) };
  const result = compileRuleSet([codesFile, conditions, { path: 'rules.json', text: rulesText }]);
  assert.ok(result.kind === 'refused' && /More than 5000 comparisons/.test(result.faults[0]!.text));
  assert.ok(performance.now() - startedAt < longestMs);
});

test('the shipped files are read as they are', () => {
  assert.equal(
    readFileSync(join(shippedFolder, 'limits.json'), 'utf8'),
    shipped.find(({ path }) => path === 'limits.json')?.text,
  );
});
