/** What the commands of rules say to do where something else was meant; without a desk. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { createFormat } from '../../src/cli/format.ts';
import { explainRules } from '../../src/cli/rules-account.ts';
import { checkRules } from '../../src/cli/rules-check.ts';
import { tryRule } from '../../src/cli/rules-try.ts';
import type { CommandWorld } from '../../src/cli/world.ts';
import { defaultRulesDir } from '../../src/config.ts';
import type { RuleFile } from '../../src/rules/rule-set.ts';
import type { ConfiguredEndpoints } from '../../src/rules/sources.ts';
import { mapping } from '../impact/recorded.ts';
import { runningClock } from '../sandbox/clocks.ts';

const shipped = readRuleFiles(defaultRulesDir);

let endpoints: ConfiguredEndpoints = {};

function worldWith(language: 'pt' | 'en', ...more: RuleFile[]): { world: CommandWorld; said: string[] } {
  const said: string[] = [];
  const world = {
    clock: runningClock,
    format: createFormat(language),
    terminal: { say: (text: string) => said.push(text), write: (text: string) => said.push(text) },
    readRules: () => [...shipped, ...more],
    mapping: () => mapping,
    endpoints: () => endpoints,
    readText: () => {
      throw Object.assign(new Error('none'), { code: 'ENOENT' });
    },
  } as unknown as CommandWorld;
  return { world, said };
}

test('an id in place of a file is told where ids go', async () => {
  const { world } = worldWith('en');
  const explain = (path: string) => explainRules(world, 'rules', { path, requestId: undefined, json: false });
  await assert.rejects(explain('18600000100'), /--request 18600000100/);
  await assert.rejects(explain('facts.json'), (fault) => !/--request/.test((fault as Error).message));
});

test('what is no rule is told the nearest one, or which there are, and how to ask', async () => {
  const { world } = worldWith('en');
  const attempt = (name: string) => tryRule(world, 'rules', name, { last: 1, json: false });
  await assert.rejects(attempt('Only eligible worker'), /Did you mean "Only eligible workers"\?/);
  await assert.rejects(
    attempt('rules/eligibility.json'),
    /The rules are: .*"Only eligible workers".*lance rules try "/s,
  );
});

test('tests that fail for want of a fact are told to have it in their base', async () => {
  const limit = {
    name: 'By earnings',
    description: 'x',
    conditions: { all: [{ fact: 'worker.totalEarningsReais', operator: 'lessThan', value: 100 }] },
    event: { type: 'pass', params: { code: 'alerts', reason: 'of a test' } },
  };
  const { world, said } = worldWith('en', { path: 'earnings.json', text: JSON.stringify(limit) });
  assert.equal(await checkRules(world, 'rules', { json: false, coverage: 0 }), 1);
  const advice = said.filter((text) => text.includes('"base"'));
  assert.equal(advice.length, 1);
  assert.match(advice[0]!, /"worker\.totalEarningsReais".*"base" of .*eligibility\.test\.json/);
});

test('a test that takes the fact away itself is not told to have it in its base (stranger, session 52)', async () => {
  const young = {
    name: 'Not too young',
    conditions: { all: [{ fact: 'worker.ageYears', operator: 'lessThan', value: 18 }] },
    event: { type: 'pass', params: { code: 'too-young', reason: 'x' } },
  };
  const tests = [
    { name: 'without an age', facts: { 'worker.ageYears': null }, expect: { pass: null } },
    { name: 'grown up', expect: { pass: null } },
  ];
  const files = [
    { path: 'codes.json', text: JSON.stringify({ codes: { 'too-young': 'x' } }) },
    { path: 'young.json', text: JSON.stringify(young) },
    { path: 'young.test.json', text: JSON.stringify({ base: { 'worker.ageYears': 30 }, tests }) },
  ];
  const { world, said } = worldWith('en');
  assert.equal(await checkRules({ ...world, readRules: () => files }, 'rules', { json: false, coverage: 0 }), 1);
  assert.match(said.join('\n'), /fact-missing:worker\.ageYears/);
  assert.deepEqual(
    said.filter((text) => text.includes('"base"')),
    [],
  );
});

test('one fault is one, in both languages', async () => {
  for (const [language, one, two] of [
    ['en', /refused, 1 fault:/, /refused, 2 faults:/],
    ['pt', /recusadas, 1 falta:/, /recusadas, 2 faltas:/],
  ] as const) {
    const bad = { path: 'bad.json', text: '{"rules": [7]}' };
    const { world, said } = worldWith(language, bad);
    await checkRules(world, 'rules', { json: false, coverage: 100 });
    assert.match(said.join('\n'), one);
    const more = worldWith(language, { path: 'bad.json', text: '{"rules": [7, 8]}' });
    await checkRules(more.world, 'rules', { json: false, coverage: 100 });
    assert.match(more.said.join('\n'), two);
  }
});

test('a source whose endpoint is not configured, or may not have the CPF, is a warning with the setting', async () => {
  const source = {
    ...{ description: 'A score.', endpoint: 'bureau', send: ['worker.cpf'], personal: ['worker.cpf'] },
    ...{ reply: { score: { type: 'number', unit: 'points' } }, timeoutMs: 500, maxAskedPerDay: 10 },
  };
  const conditions = { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: 500 }] };
  const event = { type: 'limit', params: { maxAmountReais: 5_000 } };
  const files = [
    { path: 'bureau.source.json', text: JSON.stringify(source, null, 2) },
    { path: 'bureau.json', text: JSON.stringify({ name: 'Low score', conditions, event }) },
  ];
  const check = async (language: 'pt' | 'en', configured: ConfiguredEndpoints) => {
    endpoints = configured;
    const { world, said } = worldWith(language, ...files);
    await checkRules(world, 'rules', { json: false, coverage: 0 });
    return said.join('\n');
  };
  assert.match(
    await check('en', { bureu: { sendCpf: true } }),
    /bureau\.source\.json:3 \/endpoint: The configuration has no endpoint "bureau": .* Set "enrichment": \{"bureau": \{"url": "https:.*LANCE_CONFIG names\. Did you mean "bureu"\?/,
  );
  assert.match(await check('pt', {}), /A configuração não tem o endpoint "bureau".*LANCE_CONFIG nomeia\.$/m);
  assert.match(
    await check('en', { bureau: { sendCpf: false } }),
    /\/send: "worker\.cpf" is not sent, for "enrichment\.bureau\.sendCpf" is not true/,
  );
  assert.doesNotMatch(await check('en', { bureau: { sendCpf: true } }), /warning/);
});
