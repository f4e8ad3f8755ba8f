/** The programs beside the desk say what was mistyped, and how it is written, before they begin. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const programs = ['crash', 'flows', 'simulation'].map((room) => `./${room}/run.ts`);
const files = [...programs, './contract/mutate.ts', '../bench/run.ts'];

function run(file: string, ...words: string[]) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...words], { encoding: 'utf8' });
  return { status, stdout, lines: stderr.trimEnd().split('\n') };
}

test('a mistyped option is named with the usage, and no stack', () => {
  for (const file of files) {
    const { status, stdout, lines } = run(file, '--sead', '3');
    assert.equal(status, 64, file);
    assert.match(lines[0]!, /'--sead'/, file);
    assert.match(lines[1]!, /^usage: npm run /, file);
    assert.ok(!lines.some((line) => line.trim().startsWith('at ')), lines.join('\n'));
    assert.equal(stdout, '');
  }
});

test('--help is the usage alone', () => {
  const { status, stdout, lines } = run('../bench/run.ts', '--help');
  assert.equal(status, 0);
  assert.match(stdout, /^usage: npm run bench -- NAME .*\nNAME is one of demo, /);
  assert.deepEqual(lines, ['']);
});

test('a number or a word that an option does not take is refused before anything begins', () => {
  const refused = [
    ['./crash/run.ts', '--backend', 'kafkaa'],
    ['./flows/run.ts', '--count', '2.5'],
    ['./contract/mutate.ts', '--rows', ''],
  ] as const;
  for (const [file, option, text] of refused) {
    const { status, lines } = run(file, option, text);
    assert.equal(status, 64, `${file} ${option} ${text}`);
    assert.ok(lines[0]!.startsWith(`${option} ${text}: write `), lines[0]);
    assert.match(lines[1]!, /^usage: /);
  }
});
