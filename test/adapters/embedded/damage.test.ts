/** A file that is damaged somewhere: opening or using it ends with one fault that says so, wherever the page is. */
import assert from 'node:assert/strict';
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { damageIn, watchDamage } from '../../../src/adapters/embedded/damage.ts';
import { openReadOnly, openWritable } from '../../../src/adapters/embedded/database.ts';
import { quickCheck } from '../../../src/adapters/embedded/quick-check.ts';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { Fault } from '../../../src/errors.ts';
import { createViewReader } from '../../../src/state/view-rows.ts';
import { auctionEntry, stateOf } from '../../conformance/samples.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-damage-'));
after(() => rmSync(places, { recursive: true, force: true }));
const whole = join(places, 'whole');
const records = 2_000;
const patienceMs = 10_000;

before(async () => {
  const store = await openEmbeddedStore({ directory: whole, onFault: assert.fail });
  for (let from = 0; from < records; from += 500) {
    const entries = Array.from({ length: 500 }, (_, index) => auctionEntry(`${from + index}`, 'x'.repeat(100)));
    await store.log.append(entries);
    const changes = entries.map(({ key }) => ({
      kind: 'state' as const,
      state: stateOf(key, 'lost', 5),
      open: false,
      bidIds: [],
    }));
    await store.views.apply({ partition: 0, first: from, next: from + 500, changes });
  }
  await store.close();
  // A copy has another lock file than the one that is noted: each start would wait two seconds for a daemon that still lives.
  const database = new DatabaseSync(join(whole, 'lance.sqlite'));
  assert.equal(database.prepare('DELETE FROM lock_file').run().changes, 1);
  database.close();
});

function copied(): string {
  const directory = mkdtempSync(join(places, 'copy-'));
  cpSync(whole, directory, { recursive: true });
  return directory;
}

function rootOf(name: string): { page: number; pageBytes: number } {
  const database = new DatabaseSync(join(whole, 'lance.sqlite'), { readOnly: true });
  const root = database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').get(name);
  const size = database.prepare('PRAGMA page_size').get();
  database.close();
  return { page: Number(root!.rootpage), pageBytes: Number(size!.page_size) };
}

function overwrite(directory: string, name: string): void {
  const { page, pageBytes } = rootOf(name);
  const descriptor = openSync(join(directory, 'lance.sqlite'), 'r+');
  writeSync(descriptor, Buffer.alloc(pageBytes, 0xa5), 0, pageBytes, (page - 1) * pageBytes);
  closeSync(descriptor);
}

/** Opens the store, uses all of it, and tells with which fault that ended: thrown at the start, or told to whoever ends the process. */
async function endOf(directory: string): Promise<Fault> {
  const told = Promise.withResolvers<Fault>();
  try {
    const store = await openEmbeddedStore({ directory, onFault: told.resolve });
    const use = async () => {
      await store.log.read('auctions', 0, 0, records);
      await store.control.read();
      await store.views.query({ phase: null, limit: 10, before: null });
      await store.log.append([auctionEntry('again', 'x')]);
      const [, end] = [...(await store.log.ends('auctions'))][0]!;
      const state = stateOf('again', 'lost', 5);
      await store.views.apply({
        partition: 0,
        first: records,
        next: end,
        changes: [{ kind: 'state', state, open: false, bidIds: [] }],
      });
      await store.views.query({ phase: null, limit: 10, before: null });
    };
    use().then(
      () => told.reject(new Error('nothing was found to be damaged')),
      (fault: unknown) => setTimeout(() => told.reject(fault), patienceMs).unref(),
    );
    const fault = await told.promise.finally(() => store.close().catch(() => undefined));
    return fault;
  } catch (fault) {
    assert(fault instanceof Fault, String(fault));
    return fault;
  }
}

for (const name of [
  'auctions',
  'auctions_key',
  'ledger',
  'ledger_cursor',
  'control',
  'house',
  'applied',
  'sqlite_autoindex_ledger_1',
]) {
  test(`an overwritten page of ${name} ends the process with a fault that names the file (defect line 21)`, async () => {
    const directory = copied();
    overwrite(directory, name);
    if (name === 'house') {
      const store = await openEmbeddedStore({ directory, onFault: () => undefined });
      await assert.rejects(store.house.read(), (fault) => fault instanceof Fault && fault.code === 'store-damaged');
      await store.close();
    } else {
      const fault = await endOf(directory);
      assert.deepEqual([fault.code, fault.exitCode], ['store-damaged', 65], fault.message);
      assert.match(fault.message, /lance\.sqlite is damaged/);
    }
    const checked = await quickCheck(directory, 20_000);
    assert.ok(checked?.kind === 'damaged');
    // Stars stand for what is kept back elsewhere.
    assert.doesNotMatch(checked.text, /\*|\n|^$/);
  });
}

test('rows that are read one after the other tell of a damaged page too', () => {
  const directory = copied();
  overwrite(directory, 'ledger');
  const told: Fault[] = [];
  const path = join(directory, 'lance.sqlite');
  const database = watchDamage(openReadOnly(path), path, (fault) => told.push(fault));
  assert.throws(() => [...database.prepare('SELECT state FROM ledger').iterate()], /is damaged/);
  assert.deepEqual(
    told.map(({ code }) => code),
    ['store-damaged'],
  );
  database.close();
});

test('a read that the disk refuses is damage, a write that it refuses is not', () => {
  const [read, shortRead, write, full] = [266, 522, 778, 13];
  const codeOf = (errcode: number) => damageIn('x', Object.assign(new Error('disk I/O error'), { errcode }))?.code;
  assert.deepEqual([read, shortRead, write, full].map(codeOf), [
    'store-damaged',
    'store-damaged',
    undefined,
    undefined,
  ]);
});

test('a file that is cut off, replaced, of a later version or beside a foreign log is refused (defect line 21)', async () => {
  const cases: [name: string, damage: (directory: string, file: string) => void, code: string | null][] = [
    ['cut off', (_, file) => truncateSync(file, Math.floor(statSync(file).size / 8_192) * 4_096), 'store-damaged'],
    ['header', (_, file) => writeFileSync(file, 'x'.repeat(8_192)), 'data-directory-unusable'],
    [
      'later version',
      (_, file) => {
        const database = new DatabaseSync(file);
        database.exec('PRAGMA user_version = 99');
        database.close();
      },
      'store-newer',
    ],
    [
      'a directory',
      (_, file) => {
        rmSync(file);
        mkdirSync(file);
      },
      'data-directory-unusable',
    ],
    // SQLite ignores a log whose checksums do not fit: what the file holds is whole.
    ['noise in the write-ahead log', (_, file) => writeFileSync(`${file}-wal`, Buffer.alloc(100_000, 0xa5)), null],
  ];
  for (const [name, damage, code] of cases) {
    const directory = copied();
    damage(directory, join(directory, 'lance.sqlite'));
    if (code === null) {
      const store = await openEmbeddedStore({ directory, onFault: assert.fail });
      assert.equal((await store.log.ends('auctions')).get(0), records, name);
      await store.close();
      continue;
    }
    assert.equal((await endOf(directory)).code, code, name);
  }
});

test('a key that is damaged, anywhere in the file, hides no stored request from the start (third stranger of issue 15)', () => {
  const count = 10_500;
  const path = join(places, 'keys.sqlite');
  const database = openWritable(path);
  const row = database.prepare('INSERT INTO ledger (request_id, phase, open, cursor, state) VALUES (?, ?, 0, ?, ?)');
  const ids = Array.from({ length: count }, (_, index) => `${1_000_000 + index}`);
  database.exec('BEGIN');
  for (const id of ids) row.run(id, 'passed', id, '{}');
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const bytes = readFileSync(path);
  // The key that a reading by pages stops at, and one in the middle of a page.
  const seen = [ids[9_999]!, ids[5_000]!].flatMap((id) => {
    const outcomes: string[] = [];
    for (let at = bytes.indexOf(id); at >= 0; at = bytes.indexOf(id, at + 1)) {
      const copy = join(places, `keys-${id}-${at}.sqlite`);
      const damaged = Buffer.from(bytes);
      damaged[at] = '9'.charCodeAt(0);
      writeFileSync(copy, damaged);
      const reader = openReadOnly(copy);
      try {
        const found = new Set(createViewReader(reader).ids());
        outcomes.push(ids.every((known) => found.has(known)) ? 'all' : 'hidden');
      } catch (fault) {
        outcomes.push(damageIn(copy, fault)?.code ?? 'unknown');
      } finally {
        reader.close();
      }
    }
    return outcomes;
  });
  assert.ok(seen.includes('store-damaged'), seen.join());
  assert.ok(
    seen.every((outcome) => outcome === 'all' || outcome === 'store-damaged'),
    seen.join(),
  );
});
