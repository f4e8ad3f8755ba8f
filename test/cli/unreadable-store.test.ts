/** A data directory that cannot be read is not one without a desk: commands say who may not read it, or what stands there, and the remedy. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { openEmbeddedStore, startRefusal } from '../../src/adapters/embedded/store.ts';
import { giveUpViews } from '../../src/adapters/embedded/view-scratch.ts';
import { Fault } from '../../src/errors.ts';
import { type Ended, lance, mainFile, twoAtATime } from './desk.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-unreadable-'));
chmodSync(directory, 0o755);
after(() => rmSync(directory, { recursive: true, force: true }));

/** Nobody, where this process may be anybody; else this user, who closes the directory to himself. */
const isRoot = process.getuid!() === 0;
const readerUid = isRoot ? 65_534 : process.getuid!();

async function lanceAsReader(LANCE_DATA_DIR: string, ...words: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [mainFile, ...words], {
    env: { PATH: process.env.PATH, LANCE_DATA_DIR },
    ...(isRoot ? { uid: readerUid, gid: readerUid } : {}),
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code: code as number | null };
}

async function deskIn(name: string): Promise<string> {
  const data = join(directory, name);
  await (await openEmbeddedStore({ directory: data, onFault: () => undefined })).close();
  return data;
}

test('a directory that this user may not read is told with who may not, whose it is, and the remedy', async () => {
  const data = await deskIn('closed');
  chmodSync(data, isRoot ? 0o700 : 0o000);
  const owner = process.getuid!();
  const commands = [
    ['bids', 'list'],
    ['letters', 'list'],
    ['views', 'rebuild'],
  ];
  await twoAtATime(commands, async (words) => {
    const { code, stderr } = await lanceAsReader(data, ...words, '--lang', 'en');
    assert.equal(code, 73, stderr);
    assert.ok(
      stderr.startsWith(`lance: The data directory ${data} cannot be read by this user (uid ${readerUid}): EACCES`),
      stderr,
    );
    assert.match(stderr, new RegExp(`Run this as the user of the daemon \\(uid ${owner} owns the directory\\)`));
    assert.doesNotMatch(stderr, /no desk|mistyped/);
  });
  const { stderr } = await lanceAsReader(data, 'bids', 'list');
  assert.ok(
    stderr.startsWith(
      `lance: O diretório de dados ${data} não pode ser lido por este usuário (uid ${readerUid}): este usuário não tem permissão [EACCES`,
    ),
    stderr,
  );
  assert.doesNotMatch(stderr, /Não há mesa|\b(?:Run|the|owns)\b/);
  // The file of the store alone, in a directory that all may read.
  chmodSync(data, 0o755);
  if (!isRoot) chmodSync(join(data, 'lance.sqlite'), 0o000);
  const file = await lanceAsReader(data, 'bids', 'list', '--lang', 'en');
  assert.match(file.stderr, /cannot be used by this user \(uid \d+\): EACCES/);
  if (!isRoot) chmodSync(join(data, 'lance.sqlite'), 0o600);
});

test('a file where the directory should be, and a path that cannot be followed, are told as such', async () => {
  const file = join(directory, 'a-file');
  writeFileSync(file, 'x');
  const loop = join(directory, 'loop');
  symlinkSync(loop, loop);
  const places: [path: string, english: RegExp, portuguese: RegExp][] = [
    [file, /a file stands where a directory is wanted/, /há um arquivo onde deve haver um diretório/],
    [join(file, 'below'), /a file stands where a directory is wanted/, /há um arquivo onde deve haver um diretório/],
    [loop, /cannot be read \(ELOOP\).*disk and its mount/, /não pode ser lido \(ELOOP\).*disco/],
  ];
  await twoAtATime(places, async ([path, english, portuguese]) => {
    const said = await lance({ LANCE_DATA_DIR: path }, 'bids', 'list', '--lang', 'en');
    assert.equal(said.code, 73);
    assert.match(said.stderr, english);
    assert.doesNotMatch(said.stderr, /no desk/);
    assert.match((await lance({ LANCE_DATA_DIR: path }, 'bids', 'list')).stderr, portuguese);
  });
});

test('a directory that is not there, or is empty, holds no desk', async () => {
  const empty = join(directory, 'empty');
  mkdirSync(empty);
  for (const path of [empty, join(directory, 'nowhere')])
    assert.match((await lance({ LANCE_DATA_DIR: path }, 'bids', 'list', '--lang', 'en')).stderr, /There is no desk in/);
});

test('what cannot be read is not taken for lost: nobody is told to accept an empty directory', async () => {
  const file = join(directory, 'in-the-way');
  writeFileSync(file, 'x');
  const isUnreadable = (fault: unknown) => {
    assert.ok(fault instanceof Fault && fault.code === 'data-directory-unusable', String(fault));
    assert.doesNotMatch(fault.message, /no desk|accept/);
    return true;
  };
  const anchor = { file: join(directory, 'anchor'), key: null };
  isUnreadable(await startRefusal(file, anchor, async () => undefined));
  assert.throws(() => giveUpViews(file), isUnreadable);
});
