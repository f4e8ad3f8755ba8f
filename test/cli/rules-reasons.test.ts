/** What a worker is told: each code that the program or the shipped rules can give has a text in both languages. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { closedCauses } from '../../src/bidding/bidding-status.ts';
import { deskCodes } from '../../src/bidding/react.ts';
import { workerReasonsEn } from '../../src/cli/reason-texts-en.ts';
import { workerReasonsPt } from '../../src/cli/reason-texts-pt.ts';
import { priceCodes } from '../../src/pricing/mask.ts';
import { ownCodes } from '../../src/rules/rule-file.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { lance } from './desk.ts';

const shipped = new URL('../../rules/', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'lance-rules-reasons-'));
after(() => rmSync(root, { recursive: true, force: true }));

const english = { LANCE_LANG: 'en' };
const programCodes = [
  ...[...deskCodes, ...closedCauses, ...priceCodes, ...ownCodes].filter((code) => code !== 'stopping'),
  ...['request-not-found', 'request-expired', 'validity-too-long', 'unclassified'],
];

test('every code of the program and of the shipped rules has two texts, which name nothing of the inside', () => {
  const compiled = compileRuleSet(readRuleFiles(shipped));
  assert.ok(compiled.kind === 'compiled');
  const told = new Map<string, { pt: string; en: string } | null>();
  for (const { code, worker } of compiled.ruleSet.codes) told.set(code, worker);
  const [pt, en]: Readonly<Record<string, string>>[] = [workerReasonsPt, workerReasonsEn];
  for (const code of programCodes) told.set(code, { pt: pt![code]!, en: en![code]! });
  assert.ok(told.size >= 13 + 36, `${told.size}`);
  assert.deepEqual(Object.keys(pt!).sort(), [...new Set(programCodes)].sort());
  for (const [code, texts] of told) {
    assert.ok(texts !== null, code);
    for (const text of [texts.pt, texts.en]) assert.match(text, /^\p{Lu}.{20,280}\.$/u, code);
    assert.notEqual(texts.pt, texts.en, code);
    assert.doesNotMatch(texts.pt + texts.en, /\b(?:rule|regra|log|score|fato|fact|cap|teto|token|NSU|HTTP)\b/iu, code);
    assert.doesNotMatch(texts.en.replaceAll('Crédito do Trabalhador', ''), /[ãçõáéíóú]/, code);
  }
});

test('reasons tells both languages for each code, and which ones nobody has written', async () => {
  const good = await lance(english, 'rules', 'reasons', shipped, '--json');
  assert.equal(good.code, 0, good.stderr);
  const told = good.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const tenure = told.find(({ code }) => code === 'tenure-short');
  assert.deepEqual(
    [tenure.of, tenure.en],
    ['rules', 'You have been in this employment for too short a time for this loan.'],
  );
  assert.equal(told.find(({ code }) => code === 'margin-too-small').of, 'desk');
  assert.equal(new Set(told.map(({ code }) => code)).size, told.length);

  const directory = join(root, 'unwritten');
  cpSync(shipped, directory, { recursive: true });
  const path = join(directory, 'codes.json');
  const codes = JSON.parse(readFileSync(path, 'utf8'));
  delete codes.worker['tenure-short'];
  delete codes.worker.alerts;
  writeFileSync(path, JSON.stringify(codes, null, 2));
  const lacking = await lance(english, 'rules', 'reasons', directory);
  assert.equal(lacking.code, 1);
  assert.match(lacking.stdout, /tenure-short\n {2}pt {2}\(not written\)\n {2}en {2}\(not written\)/);
  assert.match(lacking.stdout, /margin-too-small\n {2}pt {2}A sua margem .*\n {2}en {2}What may still be deducted/);
  assert.match(lacking.stderr, /for tenure-short, alerts: say it in codes\.json under "worker"/);
  assert.match(
    (await lance({ LANCE_LANG: 'pt' }, 'rules', 'reasons', directory)).stderr,
    /Ninguém escreveu .* tenure-short, alerts/,
  );
});

test('a text for a code that is not declared, of one language alone, or none at all is refused by place', () => {
  const refused = (worker: unknown, pointer: string, says: RegExp) => {
    const codes = { codes: { 'too-young': 'Below the age.' }, worker };
    const compiled = compileRuleSet([{ path: 'codes.json', text: JSON.stringify(codes, null, 1) }]);
    assert.ok(compiled.kind === 'refused');
    const [fault] = compiled.faults;
    assert.deepEqual([fault!.file, fault!.pointer], ['codes.json', pointer]);
    assert.match(fault!.text, says);
  };
  const both = { pt: 'Você é jovem demais.', en: 'You are too young.' };
  refused({ 'too-yuong': both }, '/worker/too-yuong', /is not declared under "codes"\. Did you mean "too-young"\?/);
  refused({ 'too-young': { pt: 'Jovem.' } }, '/worker/too-young', /"en"/);
  refused({ 'too-young': { ...both, es: 'Joven.' } }, '/worker/too-young/es', /es/);
  refused({ 'too-young': { ...both, en: '' } }, '/worker/too-young/en', /./);
  refused({ 'too-young': 'Young.' }, '/worker/too-young', /./);
  refused([], '/worker', /write an object/);
});
