/** What is special to the embedded backend: its directory, its file, processes beside it, and what a full disk does. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import type { Tampering } from '../../../src/domain/audit.ts';
import { timeAlone } from '../../../src/domain/histogram.ts';
import { Fault, type FaultCode } from '../../../src/errors.ts';
import { eventually } from '../../conformance/backend.ts';
import { auctionEntry, stateOf } from '../../conformance/samples.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-store-'));
after(() => rmSync(places, { recursive: true, force: true }));
const newDirectory = () => mkdtempSync(join(places, 'desk-'));
const holder = fileURLToPath(new URL('./hold-directory.ts', import.meta.url));
const open = (directory: string) =>
  openEmbeddedStore({
    directory,
    onFault: (fault) => {
      throw fault;
    },
  });
const isFault = (code: FaultCode, exitCode: number) => (fault: unknown) =>
  fault instanceof Fault && fault.code === code && fault.exitCode === exitCode;

async function firstLine(child: ChildProcess): Promise<string> {
  const [text] = (await once(child.stdout!, 'data')) as [Buffer];
  return String(text).trim();
}

test('a second daemon on one directory is refused, until the first one is killed', async () => {
  const directory = newDirectory();
  const child = spawn(process.execPath, [holder, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  assert.equal(await firstLine(child), 'open');
  await assert.rejects(open(directory), isFault('data-directory-in-use', 73));
  child.kill('SIGKILL');
  await once(child, 'exit');
  const store = await open(directory);
  await assert.rejects(open(directory), isFault('data-directory-in-use', 73));
  await store.close();
  await (await open(directory)).close();
});

test('a desk that ended leaves one file with all of it', async () => {
  const directory = newDirectory();
  const store = await open(directory);
  await store.log.append([auctionEntry('1', 'kept')]);
  await store.close();
  assert.ok(!existsSync(join(directory, 'lance.sqlite-wal')));
  const database = new DatabaseSync(join(directory, 'lance.sqlite'), { readOnly: true });
  assert.deepEqual({ ...database.prepare('SELECT count(*) AS kept FROM auctions').get() }, { kept: 1 });
  database.close();
});

test('a directory that cannot be used is named, with a remedy', async () => {
  const directory = newDirectory();
  const file = join(directory, 'file');
  writeFileSync(file, 'x');
  for (const unusable of [join(file, 'below'), file, '/proc/lance']) {
    await assert.rejects(open(unusable), (fault: unknown) => {
      assert.ok(isFault('data-directory-unusable', 73)(fault), String(fault));
      assert.ok(String(fault).includes(unusable) && String(fault).includes('LANCE_DATA_DIR'));
      return true;
    });
  }
  await (await open(join(directory, 'made', 'deep'))).close();
});

test('a file that is no database, or one of a later version, is refused and left alone', async () => {
  const garbage = newDirectory();
  writeFileSync(join(garbage, 'lance.sqlite'), 'not a database '.repeat(500));
  await assert.rejects(open(garbage), isFault('data-directory-unusable', 73));
  const later = newDirectory();
  await (await open(later)).close();
  const database = new DatabaseSync(join(later, 'lance.sqlite'));
  database.exec('PRAGMA user_version = 99');
  database.close();
  const isNewer = (fault: Error) => {
    assert.match(fault.message, /written by a newer version of Lance \(schema version 99; this one reads up to \d+\)/);
    assert.match(fault.message, /Run that version, or put back a copy of the data directory from before the upgrade/);
    assert.doesNotMatch(fault.message, /LANCE_DATA_DIR|may write/);
    return isFault('store-newer', 73)(fault);
  };
  await assert.rejects(open(later), isNewer);
  assert.throws(() => openEmbeddedReader({ directory: later }), isNewer);
});

test('a file of the first version is brought up to date, with what it learnt', async () => {
  const directory = newDirectory();
  const first = await open(directory);
  await first.log.append([auctionEntry('1', 'learnt from'), auctionEntry('2', 'learnt from')]);
  const learn = (cell: number) => ({
    kind: 'learn' as const,
    keys: ['*'],
    additions: [[cell, 1]] as const,
    at: 1,
    halfLives: timeAlone(1_000),
  });
  await first.views.apply({ partition: 0, first: 0, next: 1, changes: [learn(300)] });
  await first.close();
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  database.exec('ALTER TABLE statistics DROP COLUMN landmark_count; DROP TABLE house; PRAGMA user_version = 1');
  database.close();
  const store = await open(directory);
  try {
    await store.views.apply({ partition: 0, first: 1, next: 2, changes: [learn(200)] });
    const { count, landmarkCount, cells } = (await store.views.statistics(['*'])).get('*')!;
    assert.deepEqual([count, landmarkCount, cells[300], cells[200]], [2, 0, 1, 1]);
  } finally {
    await store.close();
  }
});

test('a file of the third version, which knew no flows, is brought up to date', async () => {
  const directory = newDirectory();
  await (await open(directory)).close();
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  database.exec(
    'DROP TABLE flows; DROP TABLE flow_applied; DROP TABLE flow_states; DROP TABLE flow_codes; DROP TABLE direct_queries; PRAGMA user_version = 3',
  );
  database.close();
  const store = await open(directory);
  try {
    assert.deepEqual(await store.flows.query({ flow: null, phase: null, code: null, limit: 9, before: null }), []);
    assert.equal(await store.queryBudget.take('2026-11-21', 1), true);
  } finally {
    await store.close();
  }
});

test('the command line sees what the daemon stored, and its append soon reaches the daemon', async (context) => {
  const directory = newDirectory();
  assert.throws(() => openEmbeddedReader({ directory }), isFault('data-directory-unusable', 73));
  const store = await open(directory);
  const reader = openEmbeddedReader({ directory });
  try {
    const state = stateOf('1', 'claimed', 5);
    const halfLives = { halfLifeMs: 1, halfLifeResults: Number.POSITIVE_INFINITY };
    const learn = { kind: 'learn' as const, keys: ['*'], additions: [[300, 1]] as const, at: 1, halfLives };
    const cap = { keys: ['day'], limitAmountCents: null, limitCount: null };
    const hold = {
      kind: 'reserve' as const,
      requestId: '1',
      at: 1,
      amountCents: 7,
      caps: [cap],
      expiresAt: 9,
      force: false,
    };
    const changes = [{ kind: 'state' as const, state, open: true, bidIds: ['b'] }, hold, learn];
    await store.views.apply({ partition: 0, first: 0, next: 1, changes });
    const row = { state, reservation: 'held', hadRoom: true };
    // A query of the daemon stores what is only in memory.
    assert.deepEqual(await store.views.query({ phase: null, limit: 9, before: null }), [row]);
    assert.deepEqual(await reader.views.query({ phase: 'claimed', limit: 9, before: null }), [row]);
    assert.deepEqual([...(await reader.views.read(['1', '2']))], [['1', row]]);
    assert.deepEqual(await reader.views.open(0), [{ applied: 1, rows: [row], later: [] }]);
    assert.deepEqual([...(await reader.views.findByBid(['b', 'c']))], [['b', ['1']]]);
    assert.deepEqual((await reader.views.usage(['day'], 8)).get('day'), { amountCents: 7, count: 1 });
    assert.deepEqual((await reader.views.usage(['day'], 9)).get('day'), { amountCents: 0, count: 0 });
    assert.equal((await reader.views.statistics(['*'])).get('*')?.cells[300], 1);
    assert.equal(await reader.views.applied(0), 1);

    const seen = Promise.withResolvers<number>();
    await store.log.consume({
      topic: 'auctions',
      scope: 'owned',
      onLost: () => undefined,
      from: async () => 0,
      maxEntries: 9,
      handler: async () => seen.resolve(Date.now()),
      onFault: seen.reject,
    });
    const appendedAt = Date.now();
    await reader.appendBeside([auctionEntry('1', 'beside')]);
    const latencyMs = (await seen.promise) - appendedAt;
    // 250 ms on a machine with room; a loaded one may be late, but not by a turn of another kind of poll.
    context.diagnostic(`figure: an entry of another process is seen after ${latencyMs} ms`);
    assert.ok(latencyMs < 1_000, `${latencyMs} ms`);
  } finally {
    reader.close();
    await store.close();
  }
});

test('while another process keeps the file locked appends are refused, and afterwards they go on', async () => {
  const directory = newDirectory();
  const store = await open(directory);
  const other = new DatabaseSync(join(directory, 'lance.sqlite'));
  try {
    await store.log.append([auctionEntry('a', '1')]);
    other.exec('BEGIN IMMEDIATE');
    const state = { kind: 'state' as const, state: stateOf('1', 'lost', 5), open: false, bidIds: [] };
    await store.views.apply({ partition: 0, first: 0, next: 1, changes: [state] });
    await Promise.all([
      assert.rejects(store.log.append([auctionEntry('a', '2')]), isFault('log-unavailable', 74)),
      assert.rejects(store.views.query({ phase: null, limit: 1, before: null }), isFault('views-unavailable', 74)),
    ]);
    assert.equal(await store.views.applied(0), 1);
    other.exec('ROLLBACK');
    await store.log.append([auctionEntry('a', '3')]);
    const entries = await store.log.read('auctions', 0, 0, 9);
    assert.deepEqual(
      entries.map(({ offset, record }) => [offset, record.kind === 'resolved' && record.reason]),
      [
        [0, '1'],
        [1, '3'],
      ],
    );
    assert.equal((await store.views.query({ phase: null, limit: 1, before: null })).length, 1);
  } finally {
    other.close();
    await store.close();
  }
});

test('a transaction that fails half-way leaves nothing of itself, and the next one is taken', async () => {
  const directory = newDirectory();
  const store = await open(directory);
  try {
    // The first one is in the transaction when the table refuses the second, whose key is no text.
    const bad = { ...auctionEntry('bad', '2'), key: Buffer.from('bad') as never };
    const failing = store.log.append([auctionEntry('good', '1'), bad]);
    await assert.rejects(failing, isFault('log-unavailable', 74));
    await store.log.append([auctionEntry('good', '3')]);
    const entries = await store.log.read('auctions', 0, 0, 9);
    assert.deepEqual(
      entries.map(({ offset, record }) => [offset, record.kind === 'resolved' && record.reason]),
      [[0, '3']],
    );
  } finally {
    await store.close();
  }
});

test('a disk without room refuses appends; what had resolved stays, and the process lives', async () => {
  const directory = newDirectory();
  // The shell's limit on file size (512-byte or 1 KB blocks) stands for a full disk: writes beyond it fail.
  const script = `trap '' XFSZ; ulimit -f 4000; exec "$0" "$1" "$2" fill`;
  const child = spawn('sh', ['-c', script, process.execPath, holder, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += String(text);
  });
  await once(child, 'close');
  const [code, appended, stored, margins] = said.trim().split('\n').at(-1)!.split(' ');
  assert.equal(code, 'log-unavailable', said);
  assert.ok(Number(appended) > 10);
  assert.equal(Number(stored), Number(appended));
  assert.equal(margins, '0');
  const store = await open(directory);
  await store.log.append([auctionEntry('a', 'room again')]);
  assert.ok((await store.log.ends('auctions')).get(0)! > Number(appended));
  await store.close();
});

test('the hash chain names the first record that was changed, removed or put in', async () => {
  const directory = newDirectory();
  const store = await open(directory);
  for (let from = 0; from < 1_200; from += 300) {
    await store.log.append(Array.from({ length: 300 }, (_, index) => auctionEntry('k', `${from + index}`)));
  }
  const reader = openEmbeddedReader({ directory });
  await reader.appendBeside([auctionEntry('k', 'beside')]);
  await store.log.append([auctionEntry('k', 'last')]);
  await store.close();
  const heard: number[] = [];
  const verdict = await reader.verifyChain((verified) => heard.push(verified));
  assert.deepEqual([verdict.kind, verdict.kind === 'intact' && verdict.entries], ['intact', 1_202]);
  assert.deepEqual(heard, [500, 1_000, 1_202]);
  reader.close();

  const tampered = async (sql: string) => {
    const database = new DatabaseSync(join(directory, 'lance.sqlite'));
    database.exec(`BEGIN; ${sql}`);
    database.exec('COMMIT');
    database.close();
    const again = openEmbeddedReader({ directory });
    const found = await again.verifyChain(() => {});
    again.close();
    return found;
  };
  const broken = (offset: number, what: Tampering) => ({
    kind: 'broken',
    table: 'auctions',
    offset,
    what,
    unverified: [],
  });
  const move =
    'UPDATE auctions SET offset = -offset WHERE offset >= 900; UPDATE auctions SET offset = 1 - offset WHERE offset < 0;';
  assert.deepEqual(
    await tampered(`${move} INSERT INTO auctions SELECT 900, key, value, chain FROM auctions WHERE offset = 899`),
    broken(900, 'inserted'),
  );
  assert.deepEqual(await tampered(`DELETE FROM auctions WHERE offset = 700`), broken(700, 'deleted'));
  assert.deepEqual(
    await tampered(`UPDATE auctions SET value = replace(value, '"lost"', '"won"') WHERE offset = 40`),
    broken(40, 'changed'),
  );
  assert.deepEqual(await tampered(`UPDATE auctions SET key = 'kk' WHERE offset = 30`), broken(30, 'changed'));
});

test('a record without a key closes the partition with its cause, and what stood before it is handed on', async () => {
  const directory = newDirectory();
  const store = await open(directory);
  const reader = openEmbeddedReader({ directory });
  const read: string[] = [];
  const told: string[] = [];
  const consumer = await store.log.consume({
    ...{ topic: 'auctions', scope: 'owned', maxEntries: 10, from: async () => 0 },
    onLost: (partition) => told.push(`lost ${partition}`),
    onClosed: (partition, cause) => told.push(`closed ${partition}: ${cause}`),
    handler: async ({ entries }) => void read.push(...entries.map(({ key, record }) => `${key} ${record.kind}`)),
    onFault: (fault) => assert.fail(String(fault)),
  });
  const good = auctionEntry('1', 'before');
  await reader.appendBeside([good, { ...good, text: 'no JSON' }, { ...good, key: '' }, auctionEntry('2', 'after')]);
  await eventually(() => told.length === 2);
  assert.deepEqual(read, ['1 resolved', '1 unreadable']);
  assert.deepEqual(told, ['closed 0: the record at 2 has no key', 'lost 0']);
  assert.equal(consumer.owns(0), false);
  reader.close();
  await store.close();
});
