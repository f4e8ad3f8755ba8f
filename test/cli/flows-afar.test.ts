/** With LANCE_URL and LANCE_TOKEN flows are listed and shown by the desk that runs there, whatever store this machine has. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
let daemon: Daemon;
let afar: Record<string, string>;
const cpf = '52998224725';
const flowIds: string[] = [];

before(async () => {
  played = await openStage(2_115);
  const people = `ana:operator:${createHash('sha256').update('token-of-ana').digest('hex')}`;
  // What comes under a code that nobody knows waits for a person after this.
  const path = played.environment.LANCE_CONFIG!;
  const settings = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...settings, flows: { noteTimeoutMs: 1_000 } }));
  daemon = await startDaemon({ ...played.environment, LANCE_API_TOKENS: people });
  const empty = join(played.directory, 'empty');
  mkdirSync(empty);
  // A store of this machine that knows none of them: what is read is not read there.
  afar = {
    ...{ LANCE_URL: new URL(daemon.url).origin, LANCE_TOKEN: 'token-of-ana', LANCE_LANG: 'en' },
    ...{ LANCE_DATA_DIR: empty, LANCE_PSEUDONYM_KEY: played.environment.LANCE_PSEUDONYM_KEY! },
  };
  const order = join(played.directory, 'lookup.json');
  writeFileSync(order, JSON.stringify({ cpf, reason: 'o cliente pediu' }));
  for (const key of ['one', 'two', 'three']) {
    const { code, stdout, stderr } = await lance(afar, 'lookups', 'start', '--file', order, '--key', key, '--json');
    assert.equal(code, 0, stderr);
    flowIds.unshift(JSON.parse(stdout).flowId);
  }
});

after(async () => {
  await daemon.stop();
  await played.close();
});

type Told = { flowId: string; flow: string; phase: string; by: string };

test('flows are listed by the running desk (issue 21, line 6)', async () => {
  const all = await lance(afar, 'lookups', 'list', '--json');
  assert.equal(all.code, 0, all.stderr);
  assert.deepEqual(
    jsonLines<Told>(all.stdout).map(({ flowId, flow, by }) => [flowId, flow, by]),
    flowIds.map((flowId) => [flowId, 'lookup', 'ana']),
  );
  const some = await lance(afar, 'lookups', 'list', '--json', '--limit', '2');
  assert.deepEqual(
    jsonLines<Told>(some.stdout).map(({ flowId }) => flowId),
    flowIds.slice(0, 2),
  );
  const table = await lance(afar, 'lookups', 'list');
  for (const flowId of flowIds) assert.match(table.stdout, new RegExp(`${flowId} .*ana`));
  const { phase } = jsonLines<Told>(all.stdout)[0]!;
  const here = await lance(afar, 'lookups', 'list', '--phase', phase, '--json');
  assert.ok(jsonLines<Told>(here.stdout).every((told) => told.phase === phase));
  const none = await lance(afar, 'contracts', 'list');
  assert.deepEqual([none.code, none.stdout.trim()], [0, 'No such flow.']);
  for (const words of [['--waiting'], ['--waiting', '--json']])
    assert.equal((await lance(afar, 'lookups', 'list', ...words)).code, 0);
  assert.equal((await lance(afar, 'events', 'list')).code, 0);
  const byCpf = await lance(afar, 'lookups', 'list', '--cpf', cpf);
  assert.notEqual(byCpf.code, 0);
  assert.match(byCpf.stderr, /LANCE_URL/);
});

test('one flow and its history are shown by the running desk', async () => {
  const flowId = flowIds[0]!;
  const shown = await lance(afar, 'lookups', 'show', flowId, '--json');
  assert.equal(shown.code, 0, shown.stderr);
  assert.equal((JSON.parse(shown.stdout) as Told).flowId, flowId);
  const words = await lance(afar, 'lookups', 'show', flowId);
  assert.equal(words.code, 0, words.stderr);
  for (const said of [flowId, 'ana']) assert.ok(words.stdout.includes(said), words.stdout);
  for (const line of words.stdout.split('\n')) assert.ok(line.length <= 80, line);
  const history = await lance(afar, 'lookups', 'history', flowId, '--json');
  assert.equal(history.code, 0, history.stderr);
  assert.equal(jsonLines<{ kind: string }>(history.stdout)[0]!.kind, 'started');
  assert.match((await lance(afar, 'lookups', 'history', flowId)).stdout, /ana/);
  for (const verb of ['show', 'history']) {
    const none = await lance(afar, 'lookups', verb, 'q-none');
    assert.deepEqual([none.code, none.stdout], [66, ''], none.stderr);
  }
});

test('what waits for a person is told by the running desk, with the command for it (issue 21, line 6)', async () => {
  const none = await lance(afar, 'contracts', 'next');
  assert.deepEqual([none.code, none.stdout.trim()], [0, 'Nothing waits for a person.'], none.stderr);
  assert.equal(none.stderr, '', 'the desk tells won bids without a contract too');
  const headers = { 'content-type': 'application/json' };
  const body = readFileSync(new URL('../examples/webhooks/ccb.json', import.meta.url));
  const taken = await fetch(daemon.url, { method: 'POST', headers, body });
  assert.ok(taken.ok, await taken.text());
  let told = '';
  for (let looks = 0; !told.includes('flowId') && looks < 40; looks += 1)
    told = (await lance(afar, 'contracts', 'next', '--json')).stdout;
  const next = jsonLines<Told & { waitsFor: string[]; needs: { step: string; command: string }[] }>(told)[0]!;
  const command = `lance events close ${next.flowId} --reason TEXT`;
  assert.deepEqual([next.flow, next.needs], ['event', next.waitsFor.map((step) => ({ step, command }))]);
  const { stdout } = await lance(afar, 'contracts', 'next');
  assert.ok(next.needs.length > 0 && stdout.replaceAll(/ \\\n +/g, ' ').includes(command), stdout);
  const shown = await lance(afar, 'lookups', 'show', flowIds[0]!);
  assert.doesNotMatch(shown.stdout, /\[object/);
});
