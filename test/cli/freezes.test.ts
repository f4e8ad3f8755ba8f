/** Readers beside a desk with records that nobody can process: they name them or leave them out; retry and cancel are recorded. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { poisonedEntries } from '../hostile/poison.ts';
import { started } from '../origination/orders.ts';
import { type Daemon, lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
let daemon: Daemon = { url: '', lines: [], stop: async () => {} };
const keyOf = (topic: string, number: number) =>
  topic === 'flows' ? `${['c-', 'r-', 'w-', 'event:'][number % 4]}9${number}` : `9${number}`;
const planted = poisonedEntries(keyOf, Date.now());
const who = ['--by', 'ana', '--reason', 'seen with the vendor'];
const command = (...words: string[]) => lance({ ...played.environment, LANCE_LANG: 'en' }, ...words);

before(async () => {
  played = await openStage(5);
  daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(10);
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR! });
  await reader.appendBeside(planted.map(({ entry }) => entry));
  const keys = planted.flatMap(({ topic, key }) => (topic === 'auctions' ? [key] : []));
  for (let round = 0; round < 200; round += 1) {
    const rows = await reader.views.read(keys);
    if (rows.size === keys.length && [...rows.values()].every(({ state }) => state.pass !== null)) break;
    await sleep(50);
  }
  reader.close();
});

after(async () => {
  await daemon.stop();
  await played.close();
});

test('readers name what cannot be processed, or leave it out, and never die of it (defect line 9)', async () => {
  const request = planted.find(({ kind, how }) => kind === 'claimed' && how === 'no JSON')!.key;
  const flow = planted.find(({ key }) => key.startsWith('r-'))!.key;
  const reads: readonly (readonly [words: readonly string[], says: RegExp])[] = [
    [['bids', 'list', '--limit', '500'], new RegExp(`${request} .*\\(frozen\\)`)],
    [
      ['bids', 'show', request],
      /frozen +auctions\/0 at \d+: its bytes are no JSON[\s\S]*record that cannot be processed/,
    ],
    [['bids', 'show', request, '--json'], /"frozen":\{"at":0,"problem":"auctions/],
    [['renegotiations', 'list'], new RegExp(`${flow} .*\\(frozen\\)`)],
    [['renegotiations', 'show', flow], /frozen +flows\/0 at \d+/],
    [['renegotiations', 'history', flow], /unreadable/],
    [['audit', 'export', join(played.directory, 'out.ndjson'), '--last', '500'], /10/],
    [['rules', 'impact', join(import.meta.dirname, '../../rules'), '--last', '500', '--json'], /"requests"/],
  ];
  // Two at a time: each is a process of its own.
  for (let from = 0; from < reads.length; from += 2) {
    await Promise.all(
      reads.slice(from, from + 2).map(async ([words, says]) => {
        const { code, stdout, stderr } = await command(...words);
        assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
        assert.match(stdout, says, words.join(' '));
      }),
    );
  }
});

test('retry and cancel say what came of them, ask for who and why, and are recorded', async () => {
  const [first, second] = planted.filter(({ kind }) => kind === 'requested').map(({ key }) => key);
  const flow = planted.find(({ key }) => key.startsWith('w-'))!.key;
  const [nameless, retried, cancelled, unknown, ofFlow] = await Promise.all([
    command('bids', 'cancel', first!, '--reason', 'x'),
    command('bids', 'retry', first!, ...who),
    command('bids', 'cancel', second!, ...who),
    command('bids', 'cancel', '404', ...who),
    command('withdrawals', 'cancel', flow, ...who),
  ]);
  assert.notEqual(nameless.code, 0);
  assert.match(nameless.stderr, /--by/);
  assert.deepEqual([retried.code, /still frozen: auctions\/0 at/.test(retried.stderr)], [65, true], retried.stderr);
  assert.deepEqual([cancelled.code, /nothing more is sent/.test(cancelled.stdout)], [0, true], cancelled.stderr);
  assert.equal(unknown.code, 66);
  assert.equal(ofFlow.code, 0, ofFlow.stderr);
  const again = await command('bids', 'cancel', second!, ...who);
  assert.deepEqual([again.code, /is not frozen/.test(again.stderr)], [65, true], again.stderr);
  const shown = await command('bids', 'show', second!);
  assert.match(shown.stdout, /released from the freeze \(cancel\): ana, seen with the vendor/);
});

test('a retry of a flow that freezes again at once says so, with why (clerk, session 33)', async () => {
  const flowId = 'r-elsewhere';
  // Sealed with nobody's key: it is read, and cannot be prepared.
  const begun = { ...started('renegotiation', undefined, Date.now()), flowId };
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR! });
  await reader.appendBeside([{ topic: 'flows', key: flowId, record: begun }]);
  const isFrozen = async () => (await reader.flows.read([flowId])).get(flowId)?.frozen !== undefined;
  for (let round = 0; round < 200 && !(await isFrozen()); round += 1) await sleep(50);
  assert.ok(await isFrozen());
  reader.close();
  const retried = await command('renegotiations', 'retry', flowId, ...who);
  assert.equal(retried.code, 65, retried.stdout + retried.stderr);
  assert.match(retried.stderr, /still frozen: .*sealed value does not open/);
});

test('an accepted bid whose claim record was damaged is not shown as no bid once the views are made again', async () => {
  await daemon.stop();
  const database = new DatabaseSync(join(played.environment.LANCE_DATA_DIR!, 'lance.sqlite'));
  const [damaged] = database
    .prepare(`SELECT key FROM auctions WHERE value LIKE '%"kind":"answered"%"kind":"accepted"%' LIMIT 1`)
    .all();
  const requestId = String(damaged!.key);
  database
    .prepare(`UPDATE auctions SET value = replace(value, '"kind":"claimed"', '"kind":"clained"') WHERE key = ?`)
    .run(requestId);
  database.close();
  const rebuilt = await command('views', 'rebuild');
  assert.equal(rebuilt.code, 0, rebuilt.stderr);
  daemon = await startDaemon(played.environment);
  const reader = openEmbeddedReader({ directory: played.environment.LANCE_DATA_DIR! });
  const row = async () => (await reader.views.read([requestId])).get(requestId);
  for (let round = 0; round < 200 && (await row())?.state.frozen === undefined; round += 1) await sleep(50);
  assert.notEqual((await row())?.state.exposure, 'none');
  reader.close();
  const shown = await command('bids', 'show', requestId);
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /frozen +auctions\/0 at \d+/);
  assert.match(shown.stdout, /record of the claim cannot be read: a bid may have been sent[\s\S]*at most/);
  assert.doesNotMatch(shown.stdout, /To be decided|No bid|exposure +none/i);
  const { state, claim, claimUnread } = JSON.parse((await command('bids', 'show', requestId, '--json')).stdout);
  assert.ok(['accepted', 'won', 'lost', 'contemplated', 'proposed', 'winner-failed'].includes(state), state);
  assert.deepEqual([claim, claimUnread.mostAmountCents > 0], [null, true]);
});
