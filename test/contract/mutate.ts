/**
 * `npm run mutate -- --rows 30 --seed N`: draws rows of the contract, takes the check of each out of a copy of the source, and
 * runs the test that the row names. A test that still passes proves nothing. `--kind` draws from one kind only; `--rows all`.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { readOptions, wholeNumber } from '../command-line.ts';
import { type Row, readRows, withoutCheck } from './rows.ts';

const usage = 'usage: npm run mutate -- [--rows 30|all] [--seed 1] [--kind KIND]';
const { values } = readOptions(usage, {
  options: {
    rows: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
  },
});
const count = values.rows === 'all' ? null : wholeNumber(usage, '--rows', values.rows, 1);
const root = fileURLToPath(new URL('../..', import.meta.url));
const longestTestMs = 60_000;

function draw(rows: Row[], count: number, seed: string): Row[] {
  const chance = chanceOf(seed, 'mutations');
  const left = [...rows];
  const drawn: Row[] = [];
  while (drawn.length < count && left.length > 0) drawn.push(left.splice(Math.floor(chance() * left.length), 1)[0]!);
  return drawn;
}

/** `failed` only where the named test itself failed: a source that no longer loads proves nothing. */
function runTest(copy: string, { test }: Row): 'passed' | 'failed' | 'not-run' {
  const pattern = `^${RegExp.escape(test.name)}$`;
  const parameters = ['--test', '--test-reporter=tap', `--test-name-pattern=${pattern}`, test.file];
  const result = spawnSync(process.execPath, parameters, { cwd: copy, encoding: 'utf8', timeout: longestTestMs });
  // A hash mark is escaped in TAP; no row has one.
  const lines = result.stdout.split('\n').map((line) => line.trim());
  const named = (verdict: string) =>
    lines.some((line) => line.startsWith(verdict) && line.replace(/^(not )?ok \d+ - /, '') === test.name);
  return named('not ok ') ? 'failed' : named('ok ') ? 'passed' : 'not-run';
}

const copy = mkdtempSync(join(tmpdir(), 'lance-mutate-'));
try {
  for (const part of ['src', 'test', 'config', 'rules', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const all = readRows().filter(({ kind }) => values.kind === undefined || kind === values.kind);
  const drawn = count === null ? all : draw(all, count, values.seed);
  const sound = new Map<string, string>();
  let caught = 0;
  for (const row of drawn) {
    const key = `${row.test.file} ${row.test.name}`;
    if (!sound.has(key)) sound.set(key, runTest(copy, row));
    const path = join(copy, row.check.file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, withoutCheck(source, row));
    const verdict = sound.get(key) === 'passed' ? runTest(copy, row) : `unsound (${sound.get(key)} as it is)`;
    writeFileSync(path, source);
    if (verdict === 'failed') caught += 1;
    process.stdout.write(`${verdict === 'failed' ? 'caught ' : `MISSED (${verdict}) `} ${row.kind} ${row.id}\n`);
  }
  process.stdout.write(`${caught} of ${drawn.length} removed checks caught, seed ${values.seed}\n`);
  process.exitCode = caught === drawn.length && drawn.length > 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true });
}
