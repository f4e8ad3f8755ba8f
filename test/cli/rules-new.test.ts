/** `lance rules new`: what it writes passes check and tests as it stands, beside whatever rules there are. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { confirmRules, reasonsAgainst } from '../../src/rules/verdict.ts';
import { lance } from './desk.ts';

const shipped = new URL('../../rules/', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'lance-rules-new-'));
after(() => rmSync(root, { recursive: true, force: true }));

const english = { LANCE_LANG: 'en' };
const kinds = ['pass', 'limit', 'table', 'score'] as const;

function textsIn(directory: string): Map<string, string> {
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(files.map(({ name }) => [name, readFileSync(join(directory, name), 'utf8')]));
}

/** Fails where the set is not good, has a warning, or its tests do not show all of it. */
async function assertGood(directory: string): Promise<{ rules: number; tests: number }> {
  const verdict = await confirmRules(readRuleFiles(directory), 100);
  assert.ok(verdict.kind === 'good', verdict.kind === 'good' ? '' : reasonsAgainst(verdict).join('\n'));
  assert.deepEqual([verdict.warnings, verdict.report.failed, verdict.report.coverage], [[], 0, 1]);
  return { rules: verdict.ruleSet.rules.length, tests: verdict.report.results.length };
}

for (const [language, word] of [
  ['en', 'To be edited'],
  ['pt', 'A editar'],
] as const) {
  test(`each kind is a set of its own in an empty folder, and says what comes next (${language})`, async () => {
    for (const kind of kinds) {
      const directory = join(root, `${language}-${kind}`);
      mkdirSync(directory);
      const made = await lance({ LANCE_LANG: language }, 'rules', 'new', kind, 'young-links', '--dir', directory);
      assert.equal(made.code, 0, made.stderr);
      assert.match(
        made.stdout,
        new RegExp(`${language === 'en' ? 'Now edit' : 'Agora edite'} .*lance rules test ${directory}`),
      );
      for (const name of textsIn(directory).keys()) assert.ok(made.stdout.includes(join(directory, name)), name);
      assert.ok([...textsIn(directory).values()].join('').includes(word));
      const { tests } = await assertGood(directory);
      assert.ok(tests >= 3, `${tests}`);
    }
  });
}

test('all four stand beside the shipped rules and beside each other; what was there stays as it was', async () => {
  const directory = join(root, 'shipped');
  cpSync(shipped, directory, { recursive: true });
  const before = textsIn(directory);
  const { rules } = await assertGood(directory);
  for (const kind of kinds) {
    const { code, stderr } = await lance(english, 'rules', 'new', kind, `new-${kind}`, '--dir', directory);
    assert.equal(code, 0, stderr);
  }
  assert.equal((await assertGood(directory)).rules, rules + 6);
  for (const word of ['check', 'test']) {
    const { code, stdout, stderr } = await lance(english, 'rules', word, directory);
    assert.deepEqual([code, stderr], [0, ''], stdout);
  }
  const now = textsIn(directory);
  for (const [name, text] of before) if (name !== 'codes.json') assert.equal(now.get(name), text, name);
  const { codes } = JSON.parse(now.get('codes.json')!);
  const { 'new-pass': meaning, ...others } = codes;
  assert.match(meaning, /To be edited/);
  assert.deepEqual(others, JSON.parse(before.get('codes.json')!).codes);
});

test('nothing is written over a file, under a bad name, or into a set that would be refused', async () => {
  const directory = join(root, 'refused');
  cpSync(shipped, directory, { recursive: true });
  writeFileSync(join(directory, 'mine.test.json'), '{"tests": []}\n');
  const refused = async (code: number, told: RegExp, ...words: string[]) => {
    const before = textsIn(directory);
    const answer = await lance(english, 'rules', 'new', ...words, '--dir', directory);
    assert.equal(answer.code, code, answer.stderr);
    assert.match(answer.stderr, told);
    assert.deepEqual(textsIn(directory), before);
  };
  await refused(65, /limits\.json is there already: choose another name/, 'limit', 'limits');
  // One of two files is there: the other is not written either.
  await refused(65, /mine\.test\.json is there already/, 'limit', 'mine');
  await refused(78, /The name "Young Links" does not do/, 'pass', 'Young Links');
  await refused(78, /The name "\.\.\/x" does not do/, 'pass', '../x');
  await refused(65, /The code "fact-missing" is given by the desk itself/, 'pass', 'fact-missing');
  await refused(65, /"One alert"/, 'limit', 'one-alert');
  rmSync(join(directory, 'mine.test.json'));
  writeFileSync(join(directory, 'broken.json'), '{"rules": [}');
  await refused(65, /broken\.json:1/, 'table', 'mine');
});
