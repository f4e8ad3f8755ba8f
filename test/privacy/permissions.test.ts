/** Files and child processes get no more than they need, whatever stands around them. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { renewByCommand } from '../../src/adapters/service/token.ts';
import { writePrivate } from '../../src/cli/named-file.ts';
import type { CommandWorld } from '../../src/cli/world.ts';
import { readConfig } from '../../src/config.ts';
import { lance } from '../cli/desk.ts';
import { endDaemons, startDaemon } from '../hostile/daemon.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-modes-'));
after(async () => {
  await endDaemons();
  rmSync(directory, { recursive: true, force: true });
});

test("in a directory that others may read, files are the owner's alone, and the directory is told (defect line 19)", async () => {
  const data = join(directory, 'data');
  mkdirSync(data);
  chmodSync(data, 0o755);
  // A file as an earlier version made it.
  writeFileSync(join(data, 'lance.lock'), '');
  chmodSync(join(data, 'lance.lock'), 0o644);
  const before = process.umask(0o022);
  try {
    const daemon = await startDaemon({ directory });
    assert.notEqual(await daemon.ready, null, daemon.output());
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && entry.name !== 'daemon.log',
    );
    const modes = files.map(({ name, parentPath }) => [
      name,
      (statSync(join(parentPath, name)).mode & 0o777).toString(8),
    ]);
    assert.ok(modes.length >= 3, JSON.stringify(modes));
    assert.deepEqual(
      modes.filter(([, mode]) => mode !== '600'),
      [],
    );
    assert.match(daemon.output(), /mode 0755.*data-directory-wide/);
    const { stdout } = await lance({ LANCE_DATA_DIR: data }, 'doctor', '--json');
    assert.match(stdout, /"level":"warn","finding":"directory-wide"/);
    await daemon.stop();
  } finally {
    process.umask(before);
  }
});

test("a secret's file that others may use is told by doctor (stranger, issue 15)", async () => {
  const path = join(directory, 'pseudonym.key');
  writeFileSync(path, 'a key that only this test of file modes uses, and no other');
  for (const [mode, isWide] of [
    [0o644, true],
    [0o600, false],
  ] as const) {
    chmodSync(path, mode);
    const { stdout } = await lance(
      {
        ...{
          LANCE_PSEUDONYM_KEY_FILE: path,
          LANCE_DATA_DIR: join(directory, 'none'),
          LANCE_ACCESS_TOKEN: 'token-of-the-test',
        },
        ...{
          LANCE_WEBHOOK_TOKENS: 'token-of-the-tests',
          LANCE_BASE_URL: 'http://127.0.0.1:9',
          LANCE_CONTACT_URL: 'https://a.example/x',
        },
      },
      ...['doctor', '--json'],
    );
    assert.equal(/"level":"warn","finding":"secret-file-wide"/.test(stdout), isWide, stdout);
  }
});

test('a token command gets PATH, HOME and what the setting names, none of our secrets (defect line 19)', async () => {
  process.env.LANCE_PSEUDONYM_KEY = 'a-secret-of-the-desk';
  process.env.FOR_THE_PROGRAM = 'named';
  process.env.NOT_FOR_IT = 'not-named';
  try {
    // A token has no commas: names and values are joined by what it may hold.
    const script = 'console.log(Object.entries(process.env).map(([k,v]) => k + "." + v.length).sort().join("/"))';
    const run = renewByCommand([process.execPath, '-e', script], 10_000, ['FOR_THE_PROGRAM', 'ABSENT']);
    const names = (await run()).split('/').map((part) => part.split('.')[0]);
    assert.deepEqual(
      names.filter((name) => name !== '__CF_USER_TEXT_ENCODING'),
      ['FOR_THE_PROGRAM', 'HOME', 'PATH'],
    );
  } finally {
    delete process.env.LANCE_PSEUDONYM_KEY;
    delete process.env.FOR_THE_PROGRAM;
    delete process.env.NOT_FOR_IT;
  }
});

test('a variable of the desk cannot be named for the token command (defect line 19)', () => {
  const read = readConfig(
    { LANCE_TOKEN_COMMAND: 'x', LANCE_TOKEN_COMMAND_VARIABLES: 'LANCE_PSEUDONYM_KEY,A-B' },
    () => '',
  );
  assert.ok(read.kind === 'refused');
  const faults = read.faults.filter((text) => text.includes('LANCE_TOKEN_COMMAND_VARIABLES'));
  assert.equal(faults.length, 2, faults.join('\n'));
});

test('a page with decisions is for its owner alone, also where an older one was not (defect line 19)', () => {
  const path = join(directory, 'page.html');
  writeFileSync(path, 'an older and longer page');
  chmodSync(path, 0o644);
  writePrivate({} as CommandWorld, path, 'a page');
  assert.equal((statSync(path).mode & 0o777).toString(8), '600');
  assert.equal(readFileSync(path, 'utf8'), 'a page');
});
