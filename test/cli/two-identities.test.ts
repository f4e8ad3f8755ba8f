/**
 * Where two persons have to stand for something, names that are typed beside the store never do, however many there are: two identities
 * over HTTP do. A set of rules and a raised cap, each with the commands alone.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ControlStanding } from '../../src/operating/controls.ts';
import { eventually } from '../conformance/backend.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

type Entry = { kind: string; hash: string; by: string | null; via?: string; followed: boolean };

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const tokenOf = (name: string) => `token-of-${name}`;
let played: Played;
let environment: Record<string, string>;
let candidate: string;
let daemon: Daemon;

before(async () => {
  played = await openStage(2_107);
  const [folder, copy] = [join(played.directory, 'rules'), join(played.directory, 'candidate')];
  candidate = copy;
  for (const each of [folder, copy])
    cpSync(fileURLToPath(new URL('../../rules/', import.meta.url)), each, { recursive: true });
  const limits = join(candidate, 'limits.json');
  writeFileSync(limits, readFileSync(limits, 'utf8').replace(/"description": "/, '"description": "Anders: '));
  const people = ['ana', 'bruno'].map((name) => `${name}:risk:${sha256(tokenOf(name))}`);
  environment = {
    ...played.environment,
    ...{ LANCE_RULES_DIR: folder, LANCE_LANG: 'en', LANCE_API_TOKENS: people.join(',') },
  };
  daemon = await startDaemon(environment);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

const offline = (by: string, ...words: string[]) => lance(environment, ...words, '--by', by);
const as = (name: string, ...words: string[]) =>
  lance({ LANCE_LANG: 'en', LANCE_URL: new URL(daemon.url).origin, LANCE_TOKEN: tokenOf(name) }, ...words);
const history = async () => jsonLines<Entry>((await lance(environment, 'rules', 'history', '--json')).stdout);
const followed = async () => (await history()).find((entry) => entry.followed)!.hash;

test('two typed names never make a rule set live; two identities over HTTP do (issue 21, line 7)', async () => {
  // Nothing is followed before the first set is announced.
  await eventually(async () => (await history()).some((entry) => entry.followed), 10_000);
  assert.equal((await as('ana', 'rules', 'approval', 'on')).code, 0);
  const first = await followed();
  const proposed = await offline('carla', 'rules', 'propose', candidate);
  assert.equal(proposed.code, 0, proposed.stderr);
  const { hash } = (await history()).find(({ kind, by }) => kind === 'proposed' && by === 'carla')!;
  assert.notEqual(hash, first);
  for (const name of ['bruno', 'ana', 'carla']) {
    const refused = await offline(name, 'rules', 'approve', hash);
    assert.deepEqual(
      [refused.code, /A name that is typed never counts/.test(refused.stderr)],
      [65, true],
      refused.stderr,
    );
  }
  for (const name of ['bruno', 'carla']) assert.equal((await offline(name, 'rules', 'activate', hash)).code, 65);
  // The one who proposed it offline was nobody, so one identity is one of two.
  const one = await as('ana', 'rules', 'approve', hash);
  assert.equal(one.code, 0, one.stderr);
  assert.equal(await followed(), first);
  assert.equal((await as('ana', 'rules', 'activate', hash)).code, 65, 'one identity');
  assert.equal((await offline('bruno', 'rules', 'activate', hash)).code, 65);
  assert.equal((await offline('bruno', 'rules', 'approve', hash)).code, 65);
  assert.equal(await followed(), first);
  const two = await as('bruno', 'rules', 'approve', hash);
  assert.equal(two.code, 0, two.stderr);
  await eventually(async () => (await followed()) === hash, 10_000);
});

test('two typed names never raise a cap; two identities over HTTP do (issue 21, line 7)', async () => {
  const cap = (reais: string) => ['cap', 'noite', '--reais-a-day', reais, '--reason', 'fim do mês'];
  const limitOf = async () => {
    const { stdout } = await lance(environment, 'controls', 'show', '--json');
    return (JSON.parse(stdout) as ControlStanding).caps.map(({ name, limitCents }) => [name, limitCents]);
  };
  assert.equal((await offline('ana', ...cap('1000'))).code, 0);
  assert.equal((await as('ana', 'rules', 'approval', 'on', '--of', 'caps')).code, 0);
  const standing = async (cents: number) => assert.deepEqual(await limitOf(), [['noite', cents]]);
  for (const name of ['bruno', 'carla', 'bruno']) {
    const refused = await offline(name, ...cap('5000'));
    assert.notEqual(refused.code, 0, refused.stdout);
    await standing(100_000);
  }
  const taken = await offline('carla', 'cap', 'noite', '--remove', '--reason', 'fora');
  assert.notEqual(taken.code, 0, taken.stdout);
  // One identity, and typed names after it, are one person.
  assert.notEqual((await as('ana', ...cap('5000'))).code, 0);
  assert.notEqual((await offline('bruno', ...cap('5000'))).code, 0);
  await standing(100_000);
  const raised = await as('bruno', ...cap('5000'));
  assert.equal(raised.code, 0, raised.stderr);
  await standing(500_000);
  // To lower it stops bids: one person may, and a typed name does.
  assert.equal((await offline('carla', ...cap('100'))).code, 0);
  await standing(10_000);
});
