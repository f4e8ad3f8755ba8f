/** No text from outside commands the terminal that it is shown on. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { tableText } from '../../src/cli/terminal.ts';
import { printable } from '../../src/domain/printable.ts';
import { lance, twoAtATime } from './desk.ts';

/** Clears the screen, sets the title, one control of eight bits, turns the direction of writing. */
const hostile = '\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\x7f';
const obeyed = /[^\P{C}\n]/u;

test('what a terminal would obey is written out, and JSON still says the same (defect line 10)', () => {
  assert.equal(printable('a\x1b[2J\u202eb\n'), 'a\\u001b[2J\\u202eb\n');
  assert.equal(printable('Crédito, ação e taxa: 1,99 % – ✓ 😀 █'), 'Crédito, ação e taxa: 1,99 % – ✓ 😀 █');
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const written = printable(JSON.stringify(value));
      assert.deepEqual(JSON.parse(written), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('a cell of a table stays in its row (defect line 10)', () => {
  const table = tableText(['id', 'state'], [[`7\n8  won${hostile}`, 'lost']]);
  assert.equal(table.split('\n').length, 3);
  assert.doesNotMatch(table, obeyed);
});

test('names in files and words of the command line reach no terminal as they are (defect line 10)', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-printable-'));
  try {
    const rule = {
      name: `Age ${hostile}`,
      description: hostile,
      [hostile]: true,
      priority: 10,
      conditions: { all: [{ fact: `worker.${hostile}`, operator: 'equal', value: hostile }] },
      event: { type: hostile, params: { [hostile]: hostile } },
    };
    const rules = join(directory, 'rules');
    mkdirSync(rules);
    writeFileSync(join(rules, 'codes.json'), JSON.stringify({ codes: { [hostile]: hostile } }));
    writeFileSync(join(rules, 'ages.json'), JSON.stringify({ rules: [rule] }));
    const commands = [
      ['rules', 'check', rules],
      ['rules', 'check', rules, '--json'],
      ['rules', 'check', join(directory, hostile.replaceAll('/', ''))],
      [`--${hostile}`],
      ['bids', 'list', '--state', hostile],
      ['learn', join(directory, hostile)],
    ];
    await twoAtATime(commands, async (words) => {
      const { code, stdout, stderr } = await lance({ LANCE_LANG: 'en', LANCE_DATA_DIR: directory }, ...words);
      assert.notEqual(code, 0, words.join(' '));
      assert.ok(`${stdout}${stderr}`.includes('\\u001b'), `${words[0]}: what was wrong is still named`);
      assert.doesNotMatch(`${stdout}${stderr}`, obeyed, words.join(' '));
      if (words.includes('--json')) assert.ok((JSON.parse(stdout) as { faults: unknown[] }).faults.length > 0);
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
