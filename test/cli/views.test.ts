/** `views verify` and `views rebuild` on what a real desk has stored, edited so that counts and sums stay (issue 15, view tables). */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { lance, openStage, type Played, startDaemon, twoAtATime } from './desk.ts';

let played: Played;
let daemon: Awaited<ReturnType<typeof startDaemon>>;

before(async () => {
  played = await openStage(15);
  daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(200);
});
after(async () => {
  await daemon.stop();
  await played.close();
});

const verify = async (dataDir = played.environment.LANCE_DATA_DIR) => {
  const { code, stdout, stderr } = await lance(
    { ...played.environment, LANCE_DATA_DIR: dataDir },
    'views',
    'verify',
    '--json',
  );
  assert.notEqual(stdout, '', stderr);
  return { code, verdict: JSON.parse(stdout) };
};

test('the views of a desk that runs, and of one that has stopped and begun again, are what the log gives', async () => {
  const running = await verify();
  assert.deepEqual([running.code, running.verdict.kind, running.verdict.found], [0, 'same', []]);
  assert.ok(running.verdict.rows > 200, JSON.stringify(running.verdict));
  await daemon.stop();
  assert.equal((await verify()).code, 0);
  const rebuilt = await lance(played.environment, 'views', 'rebuild');
  assert.equal(rebuilt.code, 0, rebuilt.stderr);
  daemon = await startDaemon(played.environment);
  // What a kill leaves is folded again from the log.
  daemon.signal('SIGKILL');
  await daemon.stop();
  daemon = await startDaemon(played.environment);
  const refused = await lance(played.environment, 'views', 'rebuild');
  assert.equal(refused.code, 73, refused.stderr);
  await daemon.stop();
  const again = await verify();
  assert.deepEqual([again.code, again.verdict.rows >= running.verdict.rows], [0, true]);
});

test('rows that were edited with all sums kept are named, of each table', async () => {
  await daemon.stop();
  const cases: [name: string, sql: string, table: string, what: string][] = [
    ['caps under other keys', `UPDATE exposure SET keys = '["x"]' WHERE status <> 'refused'`, 'exposure', 'changed'],
    ['promises that never expire', 'UPDATE exposure SET expires_at = expires_at + 1', 'exposure', 'changed'],
    [
      'reservations released',
      "UPDATE exposure SET status = 'released', amount_cents = 0, keys = '[]'",
      'exposure',
      'changed',
    ],
    ['reservations deleted', 'DELETE FROM exposure', 'exposure', 'missing'],
    ['what was learnt', 'UPDATE statistics SET cells = zeroblob(length(cells))', 'statistics', 'changed'],
    ['a phase', "UPDATE ledger SET phase = 'lost' WHERE phase = 'passed'", 'ledger', 'changed'],
    ['bids of others', 'UPDATE bid_index SET request_id = 0', 'bid_index', 'changed'],
    ['a row of nobody', "INSERT INTO bid_index VALUES ('of nobody', 'x')", 'bid_index', 'extra'],
    ['states', 'DELETE FROM ledger WHERE rowid % 2 = 0', 'ledger', 'missing'],
  ];
  await twoAtATime(cases, async ([name, sql, table, what]) => {
    const data = join(played.directory, `edited-${Math.random()}`);
    cpSync(played.environment.LANCE_DATA_DIR, data, { recursive: true });
    const database = new DatabaseSync(join(data, 'lance.sqlite'));
    const { changes } = database.prepare(sql).run();
    database.close();
    assert.ok(changes > 0, name);
    const { code, verdict } = await verify(data);
    assert.equal(code, 1, name);
    assert.deepEqual(Object.keys(verdict.counts), [table], name);
    assert.ok(verdict.counts[table][what] > 0, `${name}: ${JSON.stringify(verdict.counts)}`);
    const [first] = verdict.found;
    assert.deepEqual([first.table, first.what, typeof first.key], [table, what, 'string'], name);
  });
});
