/** Files of a store that are removed, moved or replaced under the process that has it open (strangers, issue 15 lines 11 and 21). */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anchorFileOf } from '../../../src/adapters/embedded/anchor.ts';
import { pathOfDesk, refuseLiving } from '../../../src/adapters/embedded/database.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { faultPt } from '../../../src/cli/fault-texts-pt.ts';
import { Fault } from '../../../src/errors.ts';
import { pause } from '../../../src/operating/controls.ts';
import { claimed, requested } from '../../bidding/parts.ts';
import { auctionEntry } from '../../conformance/samples.ts';

const root = mkdtempSync(join(tmpdir(), 'lance-lost-files-'));
after(() => rmSync(root, { recursive: true, force: true }));
const key = createAuditKey('a key of the tests of lost files and of nothing else');

async function opened(
  everyMs = 3_600_000,
): Promise<{ store: EmbeddedStore; directory: string; file: string; said: (string | null)[] }> {
  const directory = join(mkdtempSync(join(root, 'desk-')), 'data');
  const { file } = anchorFileOf(directory, null);
  const said: (string | null)[] = [];
  const store = await openEmbeddedStore({
    directory,
    onFault: assert.fail,
    anchor: { file, key, everyMs },
    onLostFiles: (text) => said.push(text),
  });
  await store.log.append([auctionEntry('k', '1')]);
  return { store, directory, file, said };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let look = 0; look < 100 && !holds(); look += 1) await sleep(50);
  assert.ok(holds(), what);
}

const fileIn = (directory: string, name: string) => join(directory, name);

/** As the runbook has it: what the process still holds, by the names that it had. */
function savedFrom(directory: string): Map<string, Buffer> {
  const saved = new Map<string, Buffer>();
  for (const name of ['lance.sqlite', 'lance.sqlite-wal']) {
    const gone = `${fileIn(directory, name)} (deleted)`;
    const held = readdirSync('/proc/self/fd').find((fd) => targetOf(fd) === gone);
    assert.ok(held !== undefined, `${name} is not held any more`);
    saved.set(name, readFileSync(`/proc/self/fd/${held}`));
  }
  return saved;
}

function targetOf(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null;
  }
}

// Each waits, for looks that are a second apart, at a store of its own.
describe('files that are lost or written to', { concurrency: 8 }, () => {
  for (const name of [
    'lance.sqlite',
    'lance.sqlite-wal',
    'lance.sqlite-shm',
    'lance.lock',
    '.anchor',
    '.anchor.mark',
  ]) {
    test(`a store whose ${name} is gone takes nothing more and says so, within seconds`, async () => {
      const { store, directory, said } = await opened();
      const path = name.startsWith('.') ? `${directory}${name}` : fileIn(directory, name);
      assert.ok(existsSync(path), path);
      assert.equal(store.trouble(), null);
      renameSync(path, `${path}.moved`);
      await until(`${name}: nobody noticed`, () => store.trouble() !== null);
      assert.ok(store.trouble()!.includes(path), store.trouble()!);
      assert.equal(store.unwritable(0), store.trouble());
      await assert.rejects(
        store.log.append([auctionEntry('k', '2')]),
        (fault) => fault instanceof Fault && fault.code === 'log-unavailable' && fault.message.includes(path),
      );
      assert.equal(said.length, 1, name);
      renameSync(`${path}.moved`, path);
      await until(`${name}: put back in vain`, () => store.trouble() === null);
      await store.log.append([auctionEntry('k', '3')]);
      assert.deepEqual(said.slice(1), [null]);
      await store.close();
    });
  }

  const edits: [name: string, what: string, edit: (text: string) => string][] = [
    ['.anchor', 'a name changed', (text) => text.replace('"heads"', '"HEADS"')],
    ['.anchor', 'emptied', () => ''],
    ['.anchor', 'a line added', (text) => `${text}a line of somebody\n`],
    ['.anchor.mark', 'a name changed', (text) => text.replaceAll('"sequence"', '"SEQUENCE"')],
    ['.anchor.mark', 'emptied', () => ''],
    ['.anchor.claims', 'emptied', () => ''],
    ['.anchor.claims', 'changed to the same length', (text) => text.replace('0', '7')],
  ];
  for (const [name, what, edit] of edits) {
    test(`an ${name} that somebody else writes to is not written over until it is as it was: ${what}`, async () => {
      const { store, directory, said } = await opened();
      const path = `${directory}${name}`;
      const before = readFileSync(path, 'utf8');
      const edited = edit(before);
      assert.notEqual(edited, before);
      writeFileSync(path, edited);
      await until(`${name}: nobody noticed`, () => store.trouble() !== null);
      assert.ok(store.trouble()!.startsWith(path), store.trouble()!);
      assert.equal(store.unwritable(0), store.trouble());
      await assert.rejects(
        store.log.append([auctionEntry('k', '2')]),
        (fault) => fault instanceof Fault && fault.code === 'log-unavailable' && fault.message.includes(path),
      );
      assert.equal(readFileSync(path, 'utf8'), edited, 'it is left for whoever looks into it');
      writeFileSync(path, before);
      await until(`${name}: put back in vain`, () => store.trouble() === null);
      await store.log.append([auctionEntry('k', '3')]);
      assert.deepEqual([said.length, said[1]], [2, null]);
      writeFileSync(path, edited);
      await until(`${name}: nobody noticed again`, () => store.trouble() !== null);
      await store.close();
      assert.equal(readFileSync(path, 'utf8'), edited, 'nor at the stop');
    });
  }

  for (const replace of [false, true]) {
    test(`a list of claims that is ${replace ? 'replaced' : 'removed'} is noticed too`, async () => {
      const { store, file } = await opened();
      const path = `${file}.claims`;
      if (replace) {
        copyFileSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
      } else rmSync(path);
      await until('nobody noticed', () => store.trouble() !== null);
      assert.ok(store.trouble()!.startsWith(path), store.trouble()!);
      await store.close();
    });
  }

  test('a file put in the place of the one that is open is not it', async () => {
    const { store, directory } = await opened();
    const path = fileIn(directory, 'lance.sqlite');
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    await until('nobody noticed', () => store.trouble() !== null);
    assert.match(store.trouble()!, /another file/);
    await store.close();
  });

  test('a directory that was moved away is told, and where it was stays without a new one', async () => {
    const { store, directory } = await opened();
    renameSync(directory, `${directory}.moved`);
    await until('nobody noticed', () => store.trouble() !== null);
    renameSync(`${directory}.moved`, directory);
    await until('put back in vain', () => store.trouble() === null);
    await store.close();
  });

  for (const removed of ['files', 'directory']) {
    test(`what was saved of removed ${removed} starts again after an orderly stop, as the runbook store-files-lost says`, async () => {
      const { store, directory, file } = await opened(50);
      for (const name of readdirSync(directory)) {
        if (removed === 'directory' || name.startsWith('lance.sqlite')) rmSync(fileIn(directory, name));
      }
      await until('nobody noticed', () => store.trouble() !== null);
      const saved = savedFrom(directory);
      // Pauses and caps are chained too: with them the heads change, and there would be something to sign.
      await store.control.setPause({ by: 'ana', reason: 'files lost', at: Date.now() });
      await sleep(200);
      await store.close();
      for (const [name, content] of saved) writeFileSync(fileIn(directory, name), content);
      const again = await openEmbeddedStore({
        directory,
        onFault: assert.fail,
        anchor: { file, key, everyMs: 3_600_000 },
      });
      assert.deepEqual([...(await again.log.ends('auctions'))], [[0, 1]], removed);
      await again.close();
    });
  }
});

test('a command beside a desk whose database was removed names its process, in both languages', async () => {
  const { store, directory } = await opened();
  rmSync(fileIn(directory, 'lance.sqlite'));
  assert.throws(
    () => pathOfDesk(directory),
    (fault: unknown) => {
      assert.ok(fault instanceof Fault && fault.code === 'data-directory-unusable');
      assert.match(
        fault.message,
        new RegExp(`removed from ${directory}, and process ${process.pid} still has it open`),
      );
      assert.match(faultPt(fault.message), new RegExp(`o processo ${process.pid} ainda o tem aberto`));
      return true;
    },
  );
  await store.close();
  assert.throws(() => pathOfDesk(directory), /There is no desk in/);
});

test('without its lock file a directory is still in use while a desk shows life on it', async () => {
  const { store, directory, file } = await opened();
  let living = true;
  await store.control.acknowledge('first', 0, Date.now());
  const acknowledging = (async () => {
    for (let revision = 1; living; revision += 1) {
      await sleep(250);
      await store.control.acknowledge('first', revision, Date.now());
    }
  })();
  const second = () =>
    openEmbeddedStore({ directory, onFault: assert.fail, anchor: { file, key, everyMs: 3_600_000 } });
  try {
    rmSync(fileIn(directory, 'lance.lock'));
    await assert.rejects(second(), (fault) => fault instanceof Fault && fault.code === 'data-directory-in-use');
    // The second one has made a lock file: the first one has to notice that it is not its own.
    await until('nobody noticed', () => store.trouble() !== null);
  } finally {
    living = false;
    await acknowledging;
    await store.close();
  }
  await (await second()).close();
});

test('a desk that has not shown life yet is looked for as well', async () => {
  const { store, directory, file } = await opened();
  const acknowledging = sleep(500).then(() => store.control.acknowledge('first', 0, Date.now()));
  try {
    rmSync(fileIn(directory, 'lance.lock'));
    await assert.rejects(
      openEmbeddedStore({ directory, onFault: assert.fail, anchor: { file, key, everyMs: 3_600_000 } }).then((second) =>
        second.close(),
      ),
      (fault) => fault instanceof Fault && fault.code === 'data-directory-in-use',
    );
  } finally {
    await acknowledging;
    await store.close();
  }
});

test('a start waits for a process that is just closing the database, and not for ever', async (t) => {
  const { store, directory } = await opened();
  await store.control.acknowledge('first', 0, Date.now());
  await store.close();
  const other = new DatabaseSync(fileIn(directory, 'lance.sqlite'));
  other.prepare('SELECT count(*) FROM sqlite_master').get();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  syncBuiltinESMExports();
  const startFor = (ms: number) => {
    let end: string | null = null;
    const starting = refuseLiving(directory, 'of another lock');
    starting.then(
      () => (end = 'starts'),
      ({ code }) => (end = code),
    );
    return async () => {
      for (let waitedMs = 0; waitedMs < ms; waitedMs += 100) {
        await new Promise((resolve) => setImmediate(resolve));
        t.mock.timers.tick(100);
      }
      await new Promise((resolve) => setImmediate(resolve));
      return end;
    };
  };
  // It looks for signs of life for 2.2 s.
  const first = startFor(3_500);
  assert.equal(await first(), null);
  assert.equal(await first(), 'data-directory-in-use');
  const second = startFor(3_500);
  assert.equal(await second(), null);
  other.close();
  assert.equal(await second(), 'starts');
});

test('a request that the list of claims names is not claimed again where the log has lost its claim', async () => {
  const { store: first, directory, file } = await opened();
  const claimOf = (requestId: string, claimId: string) =>
    ({
      topic: 'auctions',
      key: requestId,
      record: claimed(claimId, { requestId }),
      firstClaim: true,
    }) as const;
  await first.log.append([claimOf('1', 'a:1')]);
  await first.close();
  const database = new DatabaseSync(fileIn(directory, 'lance.sqlite'));
  const value = JSON.stringify(requested({ requestId: '1' }));
  database.prepare("UPDATE auctions SET value = ? WHERE key = '1'").run(value);
  database.close();
  const alarms: string[] = [];
  const anchor = { file, key, everyMs: 3_600_000 };
  const onChanged = (text: string) => alarms.push(text);
  const store = await openEmbeddedStore({ directory, onFault: assert.fail, anchor, onChanged });
  try {
    await store.log.append([claimOf('2', 'b:1')]);
    assert.equal(store.changed(), null);
    await assert.rejects(store.log.append([claimOf('1', 'b:2')]), /was bid for before/);
    assert.match(store.changed() ?? '', /request 1 was bid for before/);
    assert.equal(alarms.length, 1);
    // What the list keeps of the claim is told to whoever ends the request.
    const { claimId, offer: offered } = store.lostClaim('1') ?? {};
    assert.deepEqual([claimId, offered], ['a:1', claimOf('1', 'a:1').record.offer]);
    assert.equal(store.lostClaim('2'), undefined);
    assert.equal((await store.log.readKey('auctions', '1')).length, 1);
    await store.log.append([claimOf('3', 'b:3')]);
  } finally {
    await store.close();
  }
});

test('an order that cannot be stored says that nothing was changed, and why (issue 15 line 22)', async () => {
  const { store, directory } = await opened();
  const other = new DatabaseSync(fileIn(directory, 'lance.sqlite'));
  other.exec('BEGIN IMMEDIATE');
  const parts = { control: store.control, clock: createSystemClock() } as unknown as Parameters<typeof pause>[0];
  try {
    const outcome = await pause(parts, { by: 'ana', via: 'offline' }, 'a test');
    assert.equal(outcome.kind, 'not-stored');
    assert.match((outcome as { why: string }).why, /^It was not stored, and nothing was changed: another process is /);
  } finally {
    other.exec('ROLLBACK');
    other.close();
    await store.close();
  }
});
