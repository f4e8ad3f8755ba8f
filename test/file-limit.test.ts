/** A test file that leaves something running ends the run as a failure, and is named. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = mkdtempSync(join(tmpdir(), 'lance-file-limit-'));
after(() => rmSync(root, { recursive: true, force: true }));
const limit = fileURLToPath(new URL('./file-limit.ts', import.meta.url));

function runOf(lines: string): { status: number | null; said: string } {
  const file = join(root, 'left-running.test.mjs');
  writeFileSync(file, `import { test } from 'node:test';\n${lines}\n`);
  // Without the outer runner's mark: a runner inside a runner skips its files.
  const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
  const ran = spawnSync(process.execPath, ['--import', limit, '--test', file], {
    env: { ...env, LANCE_TEST_FILE_LIMIT_MS: '1500' },
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { status: ran.status, said: `${ran.stdout}${ran.stderr}` };
}

test('a test file whose process lives on after its tests ends as a failure that names it', () => {
  const { status, said } = runOf("test('over', () => { setInterval(() => undefined, 1_000); });");
  assert.equal(status, 1, said);
  assert.match(said, /left-running\.test\.mjs has not ended within 1\.5 s; what keeps it alive: .*Timeout/);
});

test('a test file that ends in time is left alone', () => {
  const { status, said } = runOf("test('over', () => undefined);");
  assert.equal(status, 0, said);
  assert.doesNotMatch(said, /has not ended/);
});
