/** Views that lost rows, or whose position was moved, are found at the start and made again from the log. */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { openWritable } from '../../../src/adapters/embedded/database.ts';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { beginSums, createSumsWriter, emptyUnfit } from '../../../src/adapters/embedded/view-sums.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { callbackPartition, type NewEntry, type ViewChange } from '../../../src/bidding/ports.ts';
import { timeAlone } from '../../../src/domain/histogram.ts';
import { Fault } from '../../../src/errors.ts';
import { inTransaction } from '../../../src/state/sqlite.ts';
import { claimed, requestId } from '../../bidding/parts.ts';
import { auctionEntry, stateOf } from '../../conformance/samples.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-unfit-'));
after(() => rmSync(places, { recursive: true, force: true }));
const whole = join(places, 'whole');
const records = 20;
const event = { kind: 'contemplated', at: 1, requestCode: 'B', message: null, errors: [] } as const;
const callback: NewEntry = { topic: 'callbacks', key: 'B', record: event };
const claim = { topic: 'auctions', key: requestId, record: claimed(), firstClaim: true } as const;

function changesOf(index: number): ViewChange[] {
  const id = `r${index}`;
  const cap = { keys: [`day:${id}`], limitAmountCents: null, limitCount: null };
  return [
    { kind: 'state', state: stateOf(id, 'claimed', index), open: true, bidIds: [`bid ${id}`] },
    {
      kind: 'reserve',
      requestId: id,
      at: 1,
      amountCents: 100,
      caps: [cap],
      expiresAt: 9e15,
      force: true,
    } as ViewChange,
    { kind: 'learn', keys: [`k${index}`], additions: [[200, 1]], at: 1, halfLives: timeAlone(1_000) },
  ];
}

before(async () => {
  const store = await openEmbeddedStore({ directory: whole, onFault: assert.fail });
  await store.log.append(Array.from({ length: records }, (_, index) => auctionEntry(`r${index}`, 'x')));
  await store.log.append(Array.from({ length: records }, () => callback));
  for (let index = 0; index < records; index += 1) {
    await store.views.apply({ partition: 0, first: index, next: index + 1, changes: changesOf(index) });
  }
  await store.views.apply({ partition: callbackPartition(0), first: 0, next: records, changes: [] });
  await store.close();
  // A copy has another lock file than the one that is noted: each start would wait two seconds for a daemon that still lives.
  const database = new DatabaseSync(join(whole, 'lance.sqlite'));
  assert.equal(database.prepare('DELETE FROM lock_file').run().changes, 1);
  database.close();
});

function altered(sql: string): string {
  const directory = mkdtempSync(join(places, 'copy-'));
  cpSync(whole, directory, { recursive: true });
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  database.exec(sql);
  database.close();
  return directory;
}

/** What is found wrong at the start, and what the views hold then. */
async function opened(directory: string) {
  const problems: string[] = [];
  const store = await openEmbeddedStore({
    directory,
    onFault: assert.fail,
    onUnfitViews: (text) => problems.push(text),
  });
  try {
    const rows = await store.views.query({ phase: null, limit: 100, before: null });
    const used = await store.views.usage(['day:r1'], 1);
    const applied = await store.views.applied(0);
    const callbacks = await store.views.applied(callbackPartition(0));
    return { problems, rows: rows.length, usedCents: used.get('day:r1')!.amountCents, applied, callbacks };
  } finally {
    await store.close();
  }
}

test('views that nobody touched are taken as they are', async () => {
  const expected = { problems: [], rows: records, usedCents: 100, applied: records, callbacks: records };
  assert.deepEqual(await opened(altered('')), expected);
});

const one = 'LIMIT 1)';
for (const [name, sql] of [
  ['all rows', 'DELETE FROM ledger'],
  ['one row', `DELETE FROM ledger WHERE rowid IN (SELECT rowid FROM ledger ${one}`],
  ['one closed', `UPDATE ledger SET open = 0 WHERE rowid IN (SELECT rowid FROM ledger ${one}`],
  ['all reservations', 'DELETE FROM exposure'],
  ['one reservation', `DELETE FROM exposure WHERE rowid IN (SELECT rowid FROM exposure ${one}`],
  ['one released', `UPDATE exposure SET status = 'released' WHERE rowid IN (SELECT rowid FROM exposure ${one}`],
  ['a smaller amount', `UPDATE exposure SET amount_cents = 1 WHERE rowid IN (SELECT rowid FROM exposure ${one}`],
  ['one bid', `DELETE FROM bid_index WHERE rowid IN (SELECT rowid FROM bid_index ${one}`],
  ['one statistic', `DELETE FROM statistics WHERE rowid IN (SELECT rowid FROM statistics ${one}`],
  ['applied far ahead', 'UPDATE applied SET next = next + 1000000 WHERE partition = 0'],
  ['applied negative', 'UPDATE applied SET next = -5 WHERE partition = 0'],
  ['applied behind', 'UPDATE applied SET next = next - 1 WHERE partition = 0'],
  ['applied gone', 'DELETE FROM applied WHERE partition = 0'],
  ['a row that is no JSON', `UPDATE ledger SET state = 'Zuleica' WHERE rowid IN (SELECT rowid FROM ledger ${one}`],
  ['a row that is a text', `UPDATE ledger SET state = '"Zuleica"' WHERE rowid IN (SELECT rowid FROM ledger ${one}`],
  ['a row that is an empty object', `UPDATE ledger SET state = '{}' WHERE rowid IN (SELECT rowid FROM ledger ${one}`],
  [
    'a promise that is no JSON',
    `UPDATE exposure SET keys = 'Zuleica' WHERE rowid IN (SELECT rowid FROM exposure ${one}`,
  ],
  ['the figures gone', 'DELETE FROM view_sums'],
  ['the figures no JSON', "UPDATE view_sums SET sums = 'x'"],
] as const) {
  test(`views with ${name} are emptied at the start, and what was dealt with of callbacks is kept`, async () => {
    const directory = altered(sql);
    const { problems, ...now } = await opened(directory);
    assert.equal(problems.filter((text) => !text.includes('flows')).length, 1, problems.join('; '));
    assert.deepEqual(now, { rows: 0, usedCents: 0, applied: 0, callbacks: records });
    assert.deepEqual((await opened(directory)).problems, []);
  });
}

for (const [name, next] of [
  ['ahead of', records + 1],
  ['before', -1],
] as const) {
  test(`callbacks dealt with ${name} all there are is damage: they are dealt with again`, async () => {
    const directory = altered(`UPDATE applied SET next = ${next} WHERE partition = -1;
      UPDATE view_sums SET sums = json_set(sums, '$.applied."-1"', ${next}) WHERE name = 'views'`);
    const { problems, callbacks } = await opened(directory);
    assert.equal(problems.length, 1);
    assert.equal(callbacks, 0);
  });
}

test('a closed row that cannot be read is named, with the remedy and without its text (issue 15 line 21)', async () => {
  for (const [sql, read] of [
    [`UPDATE ledger SET state = '{}'`, 'query'],
    [`UPDATE ledger SET state = 'null'`, 'query'],
    ['UPDATE statistics SET cells = zeroblob(5)', 'statistics'],
  ] as const) {
    const directory = altered(sql);
    const reader = openEmbeddedReader({ directory });
    const reading = async () =>
      read === 'query' ? reader.views.query({ phase: null, limit: 1, before: null }) : reader.views.statistics(['k1']);
    await assert
      .rejects(reading(), (fault) => {
        assert.ok(fault instanceof Fault, `${sql}: ${String(fault)}`);
        assert.equal(fault.code, 'views-unavailable', sql);
        assert.match(fault.message, /^A stored row of the views cannot be read\. .*lance views rebuild/);
        return true;
      })
      .finally(() => reader.close());
  }
});

const key = createAuditKey('a key of the tests of edited views and of nothing else');
const anchorOf = (directory: string) => ({ file: `${directory}.anchor`, key, everyMs: 3_600_000 });

/** A desk that keeps its figures with a key, with so many claims that stand; the edits are made after its stop. */
async function edited(sql: string): Promise<{ problems: string[]; usedCents: number; rows: number }> {
  const directory = join(mkdtempSync(join(places, 'signed-')), 'data');
  const open = (problems: string[]) =>
    openEmbeddedStore({
      directory,
      onFault: assert.fail,
      anchor: anchorOf(directory),
      onUnfitViews: (text) => problems.push(text),
    });
  const made: string[] = [];
  const store = await open(made);
  await store.log.append(Array.from({ length: records }, (_, index) => auctionEntry(`r${index}`, 'x')));
  for (let index = 0; index < records; index += 1) {
    await store.views.apply({ partition: 0, first: index, next: index + 1, changes: changesOf(index) });
  }
  await store.close();
  assert.deepEqual(made, [], 'a new desk has nothing that does not fit');
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  database.exec(sql);
  database.close();
  const problems: string[] = [];
  const again = await open(problems);
  const rows = (await again.views.query({ phase: null, limit: 100, before: null })).length;
  const usedCents = (await again.views.usage(['day:r1'], 1)).get('day:r1')!.amountCents;
  await again.close();
  const third: string[] = [];
  await (await open(third)).close();
  assert.deepEqual(third, [], 'it is told once');
  return { problems, usedCents, rows };
}

test('views kept with a key are taken as they are when nobody touched them (issue 15 line 20)', async () => {
  assert.deepEqual(await edited(''), { problems: [], usedCents: 100, rows: records });
});

const figure = (name: string, change: string) =>
  `UPDATE view_sums SET sums = json_set(sums, '$.rows.${name}', json_extract(sums, '$.rows.${name}') ${change}) WHERE name = 'views';`;
for (const [name, sql, why] of [
  [
    'a reservation released, and the figures with it',
    `UPDATE exposure SET status = 'released', amount_cents = 0, keys = '[]' WHERE request_id = 'r1'; ${figure('live', '- 1')} ${figure('liveCents', '- 100')}`,
    /not signed/,
  ],
  ['a promise under another cap', `UPDATE exposure SET keys = '["x"]' WHERE request_id = 'r1'`, /not what was stored/],
  ['a promise that has expired', `UPDATE exposure SET expires_at = 2 WHERE request_id = 'r1'`, /not what was stored/],
  [
    'money moved to another request',
    `UPDATE exposure SET amount_cents = 1 WHERE request_id = 'r1'; UPDATE exposure SET amount_cents = 199 WHERE request_id = 'r2'`,
    /not what was stored/,
  ],
  ['the signature gone', `UPDATE view_sums SET sums = json_remove(sums, '$.mac') WHERE name = 'views'`, /not signed/],
] as const) {
  test(`views with ${name} are made again: no cap counts less than the log says (issue 15 line 20)`, async () => {
    const { problems, ...now } = await edited(sql);
    assert.equal(problems.length, 1, problems.join('; '));
    assert.match(problems[0]!, why);
    assert.deepEqual(now, { usedCents: 0, rows: 0 }, 'they are folded again from the log');
  });
}

test('flows that lost a row are emptied at the start', async () => {
  const directory = altered(`INSERT INTO flow_applied VALUES (0, 7)`);
  assert.match((await opened(directory)).problems.join(), /flow_applied of partition 0 is 7/);
});

test('an index or a table of the views that was dropped is made again (stranger, issue 15 line 21)', async () => {
  for (const index of ['ledger_cursor', 'ledger_open_phase', 'auctions_key', 'flow_states_cursor', 'exposure_live']) {
    const { problems, applied } = await opened(altered(`DROP INDEX ${index}`));
    assert.deepEqual([problems, applied], [[], records], index);
  }
  for (const table of ['ledger', 'bid_index', 'exposure', 'statistics', 'applied']) {
    const { problems, applied } = await opened(altered(`DROP TABLE ${table}`));
    assert.deepEqual([problems.length, applied], [1, 0], table);
  }
  for (const table of ['margins', 'direct_queries']) {
    assert.deepEqual((await opened(altered(`DROP TABLE ${table}`))).problems, [], table);
  }
});

test('a table of the log that was dropped is damage, with its remedy (stranger, issue 15 line 21)', async () => {
  for (const table of ['auctions', 'callbacks', 'rule_book', 'control']) {
    await assert.rejects(opened(altered(`DROP TABLE ${table}`)), (fault) => {
      assert(fault instanceof Fault, String(fault));
      assert.deepEqual([fault.code, fault.exitCode], ['store-damaged', 65], table);
      assert.match(fault.message, new RegExp(`no such table: (main\\.)?${table}.*put back a backup`));
      return true;
    });
  }
});

test('a file of the version before begins with what it holds, unless its position is past the log', async () => {
  const before = 'DROP TABLE view_sums; PRAGMA user_version = 5;';
  assert.deepEqual((await opened(altered(before))).problems, []);
  const { problems } = await opened(altered(`${before} UPDATE applied SET next = next + 1 WHERE partition = 0`));
  assert.match(problems.join(), /the log ends at 20/);
});

test('a second claim of a request is not appended; the views by which it was made are made again', async () => {
  const directory = altered('');
  const ended = Promise.withResolvers<Fault>();
  const store = await openEmbeddedStore({ directory, onFault: ended.resolve });
  await store.log.append([{ topic: 'auctions', key: 'poison', record: 'no record' as never }]);
  await store.log.append([claim]);
  await assert.rejects(store.log.append([auctionEntry('r9', 'with it'), claim]), (fault) => fault instanceof Fault);
  assert.equal((await ended.promise).code, 'views-behind');
  assert.match((await ended.promise).message, new RegExp(requestId));
  assert.equal((await store.log.ends('auctions')).get(0), records + 2);
  // A record of history, as of an import, may be a later claim.
  await store.log.append([{ topic: 'auctions', key: requestId, record: claimed('b:1') }]);
  await store.views.apply({ partition: 0, first: records, next: records + 1, changes: changesOf(30) });
  await store.close();
  const { problems, applied } = await opened(directory);
  assert.match(problems.join(), /figures kept of the views are gone/);
  assert.equal(applied, 0);
});

test('a row that cannot be read is told to a command with its remedy, and not quoted', async () => {
  const reader = openEmbeddedReader({ directory: altered("UPDATE ledger SET state = 'Zuleica'") });
  const told = (fault: unknown) => {
    assert(fault instanceof Fault, String(fault));
    assert.match(fault.message, /lance views rebuild/);
    assert.ok(!String(fault.stack).includes('Zuleica'));
    return true;
  };
  await assert.rejects(reader.views.query({ phase: null, limit: 1, before: null }), told);
  await assert.rejects(reader.views.read(['r1']), told);
  reader.close();
});

test('batches of flows that were taken back together are taken when they come again, and what comes beside them is stored', async (t) => {
  const directory = altered('');
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  t.after(() => store.close());
  const beside = new DatabaseSync(join(directory, 'lance.sqlite'));
  const batch = (first: number, rows: readonly object[] = []) =>
    store.flows.apply({ partition: 0, first, next: first + 1, rows: rows as never });
  // The table takes no phase that is not a text.
  const poison = { state: { flowId: 'f', flow: 'contract', phase: new Uint8Array(1), at: 1 }, codes: [], givenUp: [] };
  await store.log.append([auctionEntry('r1', 'x')]);
  beside.exec(`INSERT INTO flows (offset, key, value) VALUES (0, '', '{}'); BEGIN IMMEDIATE`);
  // While the writer waits for the lock, three batches come: they make one transaction.
  const before = store.log.append([auctionEntry('r1', 'x')]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const group = Promise.allSettled([batch(0), batch(1), batch(2, [poison])]);
  beside.exec('COMMIT');
  await before;
  assert.deepEqual(
    (await group).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  beside.close();
  assert.deepEqual(await Promise.all([batch(0), store.log.append([auctionEntry('r1', 'x')])]), [
    { kind: 'applied' },
    undefined,
  ]);
});

test('signed figures of which two were taken back go on from what is stored, and not from what was stored before', async () => {
  const database = openWritable(join(mkdtempSync(join(places, 'sums-')), 'lance.sqlite'));
  inTransaction(database, () => emptyUnfit(database, key));
  const sums = createSumsWriter(database, 'views', key);
  const stored = () =>
    (database.prepare("SELECT sums FROM view_sums WHERE name = 'views'").get() as { sums: string }).sums;
  const put = database.prepare("UPDATE view_sums SET sums = ? WHERE name = 'views'");
  const add = () => sums.add([], { requests: 1 });
  const begun = stored();
  const twice = (end: 'COMMIT' | 'ROLLBACK') => {
    database.exec('BEGIN');
    add();
    add();
    database.exec(end);
    sums.settle(end === 'COMMIT');
  };
  for (const end of ['ROLLBACK', 'COMMIT', 'ROLLBACK', 'ROLLBACK', 'COMMIT'] as const) twice(end);
  assert.equal(JSON.parse(stored()).rows.requests, 4);
  const latest = stored();
  put.run(begun);
  assert.throws(add, /do not fit the log/);
  put.run(latest);
  add();
  database.close();
});

test('a start hashes each promise once', (t) => {
  const database = openWritable(join(altered('DELETE FROM view_sums'), 'lance.sqlite'));
  inTransaction(database, () => beginSums(database, key));
  const hashing = t.mock.method(crypto, 'hash');
  syncBuiltinESMExports();
  try {
    assert.deepEqual(
      inTransaction(database, () => emptyUnfit(database, key)),
      [],
    );
  } finally {
    hashing.mock.restore();
    syncBuiltinESMExports();
  }
  const promises = database.prepare('SELECT count(*) AS n FROM exposure').get() as { n: number };
  database.close();
  assert.deepEqual([promises.n, hashing.mock.callCount()], [records, records]);
});
