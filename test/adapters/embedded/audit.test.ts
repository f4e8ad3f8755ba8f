/** What the chains and the anchor outside of the directory tell of a store that was edited or set back. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { anchorFileOf } from '../../../src/adapters/embedded/anchor.ts';
import { headsOf, nextLink } from '../../../src/adapters/embedded/chain.ts';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore, openSetBack } from '../../../src/adapters/embedded/store.ts';
import { unsignedRow } from '../../../src/adapters/embedded/unsigned-rows.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import type { NewEntry } from '../../../src/bidding/ports.ts';
import { lostAnswer, restoredPass } from '../../../src/bidding/react.ts';
import type { Tampering } from '../../../src/domain/audit.ts';
import { signLine } from '../../../src/domain/signed-line.ts';
import { Fault, type FaultCode } from '../../../src/errors.ts';
import { claimed, offer, trace } from '../../bidding/parts.ts';
import { auctionEntry } from '../../conformance/samples.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-audit-'));
after(() => rmSync(places, { recursive: true, force: true }));
const key = createAuditKey('a key of the tests of the audit and of nothing else');
const otherKey = createAuditKey('another key of the tests of the audit, of no use');

type Place = { directory: string; file: string };

function newPlace(): Place {
  const root = mkdtempSync(join(places, 'desk-'));
  const directory = join(root, 'data');
  return { directory, file: anchorFileOf(directory, null).file };
}

const onFault = (fault: Fault) => {
  throw fault;
};
const anchor = (file: string, signedWith = key) => ({ file, key: signedWith, everyMs: 3_600_000 });
const open = ({ directory, file }: Place, signedWith = key) =>
  openEmbeddedStore({ directory, onFault, anchor: anchor(file, signedWith) });
const isFault = (code: FaultCode, exitCode: number, text: RegExp) => (fault: unknown) =>
  fault instanceof Fault && fault.code === code && fault.exitCode === exitCode && text.test(fault.message);

const callback = (number: number): NewEntry => ({
  topic: 'callbacks',
  key: `code-${number}`,
  record: { kind: 'contemplated', at: number, requestCode: `code-${number}`, message: null, errors: [] },
});
const claimOf = (requestId: string): NewEntry => {
  return { topic: 'auctions', key: requestId, record: claimed(`a:${requestId}`, { requestId }) };
};

/** Three lives of a desk with 20 records each in two tables, and what operators did. */
async function lived(): Promise<Place> {
  const place = newPlace();
  for (let life = 0; life < 3; life += 1) {
    const store = await open(place);
    for (let number = life * 20; number < life * 20 + 20; number += 1) {
      await store.log.append([auctionEntry('k', `${number}`), callback(number)]);
    }
    await store.ruleBook.append({ kind: 'approved', hash: `hash-${life}`, at: life, by: 'ana' });
    const pause = { by: 'ana', reason: 'rates', at: 1 };
    await (life === 1 ? store.control.resume(pause) : store.control.setPause(pause));
    await store.close();
  }
  return place;
}

const verify = async ({ directory, file }: Place, signedWith: typeof key | null = key) => {
  const reader = openEmbeddedReader({ directory, anchor: { file, key: signedWith } });
  const verdict = await reader.verifyChain(() => undefined);
  reader.close();
  return verdict;
};

function edit({ directory }: Place, work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  work(database);
  database.close();
}

/** Computes all links of a table anew, as somebody would who knows how. */
function rewriteChain(database: DatabaseSync, table: string): void {
  let link = table === 'auctions' ? '' : table;
  const rows = database.prepare(`SELECT offset, key, value FROM ${table} ORDER BY offset`).all();
  const update = database.prepare(`UPDATE ${table} SET chain = ? WHERE offset = ?`);
  for (const { offset, key: rowKey, value } of rows) {
    link = nextLink(link, Number(offset), String(rowKey), String(value));
    update.run(link, offset!);
  }
}

test('a store that nobody edited verifies, with every anchor (defect line 18)', async () => {
  const place = await lived();
  const verdict = await verify(place);
  assert(verdict.kind === 'intact');
  assert.deepEqual(verdict.unverified, []);
  assert.equal(verdict.entries, 60);
  assert.equal(verdict.tables.callbacks?.entries, 60);
  assert.equal(verdict.tables.rule_book?.entries, 3);
  assert.equal(verdict.tables.control_changes?.entries, 3);
  assert.ok(verdict.anchors >= 4, String(verdict.anchors));
  const unsigned = await verify(place, null);
  assert.deepEqual([unsigned.kind, unsigned.unverified], ['intact', [{ kind: 'no-key' }]]);
});

test('audit names the first record that differs and what was done to it (defect line 18)', async () => {
  const place = await lived();
  const shift = (table: string, from: number, by: number) =>
    `UPDATE ${table} SET offset = -offset WHERE offset >= ${from}; UPDATE ${table} SET offset = ${by} - offset WHERE offset < 0;`;
  const swap = (table: string, one: number, other: number) =>
    `UPDATE ${table} SET offset = -1 WHERE offset = ${one}; UPDATE ${table} SET offset = ${one} WHERE offset = ${other}; UPDATE ${table} SET offset = ${other} WHERE offset = -1;`;
  const swapContents = `CREATE TEMP TABLE held AS SELECT * FROM callbacks WHERE offset IN (7, 8);
    UPDATE callbacks SET (key, value) = (SELECT key, value FROM held WHERE held.offset = 15 - callbacks.offset) WHERE offset IN (7, 8);`;
  const cases: [edit: string, table: string, offset: number, what: Tampering][] = [
    ["UPDATE auctions SET value = replace(value, 'lost', 'won') WHERE offset = 11", 'auctions', 11, 'changed'],
    ['DELETE FROM auctions WHERE offset = 12', 'auctions', 12, 'deleted'],
    [`DELETE FROM auctions WHERE offset = 12; ${shift('auctions', 13, -1)}`, 'auctions', 12, 'deleted'],
    [
      `${shift('auctions', 30, 1)} INSERT INTO auctions SELECT 30, key, value, chain FROM auctions WHERE offset = 5`,
      'auctions',
      30,
      'inserted',
    ],
    [swap('auctions', 13, 14), 'auctions', 13, 'reordered'],
    [swap('auctions', 13, 24), 'auctions', 13, 'reordered'],
    [swapContents, 'callbacks', 7, 'reordered'],
    ['DELETE FROM auctions WHERE offset >= 55', 'auctions', 55, 'truncated'],
    ['DELETE FROM auctions', 'auctions', 0, 'truncated'],
    ['DELETE FROM callbacks WHERE offset >= 58', 'callbacks', 58, 'truncated'],
    ["UPDATE callbacks SET key = 'code-x' WHERE offset = 3", 'callbacks', 3, 'changed'],
    ["UPDATE rule_book SET entry = replace(entry, 'ana', 'bia') WHERE number = 2", 'rule_book', 2, 'changed'],
    ['DELETE FROM rule_book WHERE number = 3', 'rule_book', 3, 'truncated'],
    ['UPDATE control SET pause = NULL', 'control', 3, 'changed'],
  ];
  for (const [sql, table, offset, what] of cases) {
    const copy = { ...place, directory: join(places, `copy-${Math.random()}`) };
    cpSync(place.directory, copy.directory, { recursive: true });
    edit(copy, (database) => database.exec(sql));
    const verdict = await verify(copy);
    assert(verdict.kind === 'broken', `${sql}: ${verdict.kind}`);
    assert.deepEqual([verdict.table, verdict.offset, verdict.what], [table, offset, what], sql);
  }
});

test('a chain that was written anew is told by its anchors, and between which of them (defect line 18)', async () => {
  for (const table of ['auctions', 'callbacks']) {
    const place = await lived();
    edit(place, (database) => {
      database.exec(`UPDATE ${table} SET value = replace(value, '"at":', '"at": ') WHERE offset = 45`);
      rewriteChain(database, table);
    });
    const verdict = await verify(place);
    assert(verdict.kind === 'broken');
    assert.deepEqual([verdict.table, verdict.offset, verdict.until, verdict.what], [table, 40, 59, 'rewritten']);
    await assert.rejects(open(place), isFault('store-set-back', 65, /other records/));
  }
});

test('an anchor file that was edited, or signed with another key, is no proof (defect line 18)', async () => {
  const place = await lived();
  const lines = readFileSync(place.file, 'utf8').split('\n');
  writeFileSync(
    place.file,
    lines.map((line, index) => (index === 1 ? line.replace('"auctions":[', '"auctions":[1') : line)).join('\n'),
  );
  const edited = await verify(place);
  assert.deepEqual([edited.kind, edited.kind === 'anchor-broken' && edited.line], ['anchor-broken', 2]);
  writeFileSync(place.file, lines.toSpliced(1, 1).join('\n'));
  const shortened = await verify(place);
  assert.deepEqual([shortened.kind, shortened.kind === 'anchor-broken' && shortened.line], ['anchor-broken', 2]);
  writeFileSync(place.file, lines.join('\n'));
  const foreign = await verify(place, otherKey);
  assert.equal(foreign.kind, 'intact');
  assert.ok(foreign.unverified.some(({ kind }) => kind === 'other-key'));
  await assert.rejects(open(place, otherKey), isFault('configuration-invalid', 78, /another key/));
});

test('a file of the version before goes on: its auctions verify, the other tables begin here (defect line 18)', async () => {
  const place = newPlace();
  const old = await openEmbeddedStore({ directory: place.directory, onFault });
  for (let number = 0; number < 6; number += 1)
    await old.log.append([auctionEntry('k', `${number}`), callback(number)]);
  await old.close();
  edit(place, (database) => {
    for (const table of ['callbacks', 'dead_letters', 'inputs', 'flows', 'rule_book']) {
      database.exec(`ALTER TABLE ${table} DROP COLUMN chain`);
    }
    database.exec(
      'DROP TABLE chain_starts; DROP TABLE origins; DROP TABLE control_changes; DROP TABLE anchoring; PRAGMA user_version = 4',
    );
  });
  const said: string[] = [];
  const { directory, file } = place;
  const onChanged = (text: string) => said.push(text);
  const store = await openEmbeddedStore({ directory, onFault, anchor: anchor(file), onChanged });
  assert.match(said.join(), /a version that signed nothing/);
  await store.log.append([auctionEntry('k', '6'), callback(6)]);
  await store.close();
  const verdict = await verify(place);
  assert.equal(verdict.kind, 'intact');
  assert.deepEqual(
    verdict.unverified.map((each) => ({ ...each, at: 0 })),
    [
      { kind: 'before-chain', table: 'callbacks', until: 6, at: 0 },
      { kind: 'before-key', entries: 12, at: 0 },
    ],
  );
  edit(place, (database) => database.exec("UPDATE callbacks SET key = 'x' WHERE offset = 2"));
  const edited = await verify(place);
  assert(edited.kind === 'broken');
  assert.deepEqual([edited.table, edited.offset, edited.until, edited.what], ['callbacks', 0, 5, 'rewritten']);
});

/** A desk that bid, and its directory from before the last bids in the place of what it left. */
async function setBackByTwoClaims(): Promise<Place> {
  const place = newPlace();
  const first = await open(place);
  await first.log.append([auctionEntry('k', '0'), claimOf('sent-before')]);
  await first.close();
  const backup = `${place.directory}.backup`;
  cpSync(place.directory, backup, { recursive: true });
  const second = await open(place);
  await second.log.append([claimOf('sent-1'), auctionEntry('k', '1')]);
  await second.log.append([claimOf('sent-2')]);
  await second.close();
  rmSync(place.directory, { recursive: true });
  cpSync(backup, place.directory, { recursive: true });
  return place;
}

test('a store behind its anchor is refused, and accepted with the requests that were lost (defect line 21)', async () => {
  const place = await setBackByTwoClaims();
  const backup = `${place.directory}.backup`;
  await assert.rejects(open(place), isFault('store-set-back', 65, /has 2 records, and had 5.*accept-restore/));
  const setBack = await openSetBack({
    directory: place.directory,
    onFault,
    anchor: anchor(place.file),
    emptied: false,
  });
  assert(setBack !== null);
  // What counts under caps is kept, and can be folded; an unknown one is null.
  const kept = (requestId: string) => ({ claimId: `a:${requestId}`, at: claimed().at, offer, caps: trace.caps });
  const claims = new Map(['sent-1', 'sent-2'].map((requestId) => [requestId, kept(requestId)]));
  assert.deepEqual(setBack.claimed, { claims, complete: true });
  assert.deepEqual([setBack.heads.auctions?.[0], setBack.lost?.auctions?.[0]], [2, 5]);
  await setBack.log.append([auctionEntry('sent-1', 'passed')]);
  await setBack.accept();
  const third = await open(place);
  assert.equal((await third.log.ends('auctions')).get(0), 3);
  await third.close();
  const verdict = await verify(place);
  assert.equal(verdict.kind, 'intact');
  assert.deepEqual(
    verdict.unverified.map(({ kind }) => kind),
    ['lost-part'],
  );

  // An empty directory in its place, and one whose anchor is gone, are refused as well.
  rmSync(place.directory, { recursive: true });
  await assert.rejects(open(place), isFault('store-set-back', 65, /holds no desk/));
  assert.ok(!existsSync(join(place.directory, 'lance.sqlite')));
  cpSync(backup, place.directory, { recursive: true });
  for (const suffix of ['', '.mark', '.claims']) rmSync(`${place.file}${suffix}`);
  await assert.rejects(open(place), isFault('store-set-back', 65, /is not there/));
  const unknown = await openSetBack({
    directory: place.directory,
    onFault,
    anchor: anchor(place.file),
    emptied: false,
  });
  assert(unknown !== null);
  assert.deepEqual([unknown.claimed, unknown.lost], [{ claims: new Map(), complete: false }, null]);
  await unknown.accept();
  await (await open(place)).close();
});

test('an acceptance that was killed is no part of what the store had: its pause is neither an order that was kept nor one that was lost', async () => {
  for (const killedAfter of ['ends', 'origin', 'pause'] as const) {
    const place = newPlace();
    const first = await open(place);
    await first.log.append([auctionEntry('k', '0'), claimOf('sent-before')]);
    await first.control.setPause({ by: 'ana', reason: 'kept', at: 1 });
    await first.close();
    const backup = `${place.directory}.backup`;
    cpSync(place.directory, backup, { recursive: true });
    const second = await open(place);
    await second.log.append([claimOf('sent-1')]);
    for (const at of [2, 3]) await second.control.setPause({ by: 'ana', reason: 'lost', at });
    await second.close();
    // Of the part that is lost there are anchors of their own.
    const third = await open(place);
    await third.log.append([claimOf('sent-2')]);
    await third.close();
    rmSync(place.directory, { recursive: true });
    cpSync(backup, place.directory, { recursive: true });

    const options = { ...place, onFault, anchor: anchor(place.file), emptied: false };
    const had: unknown[] = [];
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const setBack = (await openSetBack(options))!;
      const { heads, lost, claimed: known } = setBack;
      had.push(heads);
      assert.deepEqual([heads.auctions?.[0], lost?.auctions?.[0]], [2, 4], killedAfter);
      assert.deepEqual([heads.control_changes?.[0], lost?.control_changes?.[0]], [1, 3], `${killedAfter} ${attempt}`);
      if (attempt === 1) {
        for (const [requestId, claim] of known.claims) {
          for (const record of [restoredPass(requestId, attempt), lostAnswer(requestId, claim, attempt)])
            await setBack.log.append([{ topic: 'auctions', key: requestId, record }]);
        }
      }
      if (killedAfter === 'ends' && attempt === 1) {
        await setBack.close();
        continue;
      }
      const origin = { by: 'ana', reason: 'disk', heads, lost, noBidReceivedBefore: attempt };
      await setBack.house.addOrigin({ kind: 'restored', at: attempt, ...origin });
      if (killedAfter !== 'origin' || attempt > 1)
        await setBack.control.setPause({ by: 'ana', reason: 'restored', at: attempt });
      await (attempt < 3 ? setBack.close() : setBack.accept());
    }
    assert.deepEqual(had[2], had[0], killedAfter);
    const verdict = await verify(place);
    assert.equal(verdict.kind, 'intact', `${killedAfter} ${JSON.stringify(verdict)}`);
    assert.equal(await openSetBack(options), null);
  }
});

test('what an acceptance wrote that came to its end is part of what the store had when it is set back again', async () => {
  for (const killed of [false, true]) {
    const place = newPlace();
    const backup = `${place.directory}.backup`;
    const setBackAfter = async (ids: readonly string[]) => {
      cpSync(place.directory, backup, { recursive: true });
      for (const requestId of ids) {
        const store = await open(place);
        await store.log.append([claimOf(requestId)]);
        await store.close();
      }
      rmSync(place.directory, { recursive: true });
      cpSync(backup, place.directory, { recursive: true });
      rmSync(backup, { recursive: true });
    };
    const accept = async (at: number, isKilled = false) => {
      const store = (await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false }))!;
      const { heads, lost, claimed: known } = store;
      for (const [requestId, claim] of known.claims) {
        if ((await store.log.readKey('auctions', requestId)).length > 0) continue;
        for (const record of [restoredPass(requestId, at), lostAnswer(requestId, claim, at)])
          await store.log.append([{ topic: 'auctions', key: requestId, record }]);
      }
      const told = { had: heads.auctions?.[0], lost: [...known.claims.keys()], complete: known.complete };
      if (isKilled) {
        await store.close();
        return told;
      }
      const origin = { by: 'ana', reason: 'disk', heads, lost, noBidReceivedBefore: at };
      await store.house.addOrigin({ kind: 'restored', at, ...origin });
      await store.accept();
      return told;
    };
    const first = await open(place);
    await first.log.append([auctionEntry('k', '0'), claimOf('s0')]);
    await first.close();
    await setBackAfter(['s1']);
    assert.deepEqual(await accept(10), { had: 2, lost: ['s1'], complete: true });
    await setBackAfter(['s2', 's3']);
    const second = { had: 4, lost: ['s2', 's3'], complete: true };
    if (killed) assert.deepEqual(await accept(15, true), second);
    assert.deepEqual(await accept(20), second, `killed ${killed}`);
    assert.equal((await verify(place)).kind, 'intact');
  }
});

function newestMark({ file }: Pick<Place, 'file'>) {
  const text = readFileSync(`${file}.mark`, 'utf8');
  const contents = [text.slice(0, 4_096), text.slice(4_096)].map((slot) => JSON.parse(slot.slice(slot.indexOf('{'))));
  const { key: _, ...content } = contents.reduce((one, other) => (one.sequence > other.sequence ? one : other));
  return content;
}

/** Signs the newest mark anew, with other words on the list of claims, and as of another run of the machine. */
function remark({ file }: Place, change: object, boot: object = {}): void {
  const content = newestMark({ file });
  const { line } = signLine(key, { ...content, claims: { ...content.claims, ...change }, ...boot });
  writeFileSync(`${file}.mark`, `${`${line.padEnd(4_095)}\n`.repeat(2)}`);
}

test('a list of claims that was cut or edited is not taken for the whole of what was lost', async () => {
  const cases: [name: string, edit: (text: string) => string, complete: boolean][] = [
    ['as it was', (text) => text, true],
    ['longer than it was at the stop', (text) => `${text}[6]\n`, false],
    ['cut', (text) => text.slice(0, text.lastIndexOf('[', text.length - 2)), false],
    ['with other requests', (text) => text.replaceAll('sent-2', 'sent-9'), false],
    ['begun anew', () => '[0]\n', false],
  ];
  for (const [name, edit, complete] of cases) {
    const place = await setBackByTwoClaims();
    const path = `${place.file}.claims`;
    writeFileSync(path, edit(readFileSync(path, 'utf8')));
    const setBack = await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false });
    assert(setBack !== null);
    assert.equal(setBack.claimed.complete, complete, name);
    await setBack.close();
  }
  // Marks of a process that died: with a list that went on, and with claims that could not be written to it.
  for (const { change, complete } of [
    { change: { closed: undefined }, complete: true },
    { change: { closed: undefined, lacks: true }, complete: false },
  ]) {
    const place = await setBackByTwoClaims();
    remark(place, change);
    writeFileSync(`${place.file}.claims`, `${readFileSync(`${place.file}.claims`, 'utf8')}[6]\n`);
    const setBack = await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false });
    assert(setBack !== null);
    assert.equal(setBack.claimed.complete, complete, JSON.stringify(change));
    await setBack.close();
  }
  // It died while it wrote a line, which nobody was told of. After a loss of power nobody knows how much is missing.
  for (const { boot, text, complete } of [
    { boot: {}, text: '[6,{"requestId":"se', complete: true },
    { boot: {}, text: '[6]\n[7,{"requestId":"se', complete: false },
    { boot: { boot: 'another run' }, text: '[6,{"requestId":"se', complete: false },
    { boot: { boot: undefined }, text: '[6,{"requestId":"se', complete: false },
  ]) {
    const torn = await setBackByTwoClaims();
    remark(torn, { closed: undefined }, boot);
    writeFileSync(`${torn.file}.claims`, `${readFileSync(`${torn.file}.claims`, 'utf8')}${text}`);
    assert.equal(await isComplete(torn), complete, JSON.stringify({ boot, text }));
  }
  // The process died after it had begun another file, and before the mark said so.
  const place = await setBackByTwoClaims();
  renameSync(`${place.file}.claims`, `${place.file}.claims.1`);
  writeFileSync(`${place.file}.claims`, '[5]\n');
  const setBack = await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false });
  assert(setBack !== null);
  assert.deepEqual([setBack.claimed.complete, setBack.claimed.claims.size], [true, 2]);
  await setBack.close();
});

const isComplete = async (place: Place) => {
  const setBack = await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false });
  assert(setBack !== null);
  await setBack.close();
  return setBack.claimed.complete;
};
const firstLineOf = (text: string) => text.slice(0, text.indexOf('\n') + 1);
/** The mark as a version wrote it that signed no list, with the line of the anchor that it knows. */
function unseal({ file }: Place, previous: string | undefined): void {
  const { claims: _, ...content } = newestMark({ file });
  const { line } = signLine(key, { ...content, previous });
  writeFileSync(`${file}.mark`, `${`${line.padEnd(4_095)}\n`.repeat(2)}`);
}

test('a list of claims without its mark is not taken for the whole, but for one of a version that signed none (stranger 15)', async () => {
  const place = await setBackByTwoClaims();
  const list = `${place.file}.claims`;
  writeFileSync(list, firstLineOf(readFileSync(list, 'utf8')));
  const lines = readFileSync(place.file, 'utf8').split('\n').slice(0, -1);
  const nameOf = (line: string) => line.slice(0, line.indexOf(' '));
  const cases: [previous: string | undefined, complete: boolean][] = [
    [nameOf(lines.at(-1)!), true],
    [nameOf(lines.at(-2)!), false],
    [undefined, false],
  ];
  for (const [previous, complete] of cases) {
    unseal(place, previous);
    assert.equal(await isComplete(place), complete, String(previous));
  }
  rmSync(`${place.file}.mark`);
  await assert.rejects(open(place), isFault('store-set-back', 65, /is not there/));
  assert.equal(await isComplete(place), false);
});

test('a mark and a list of an earlier time are contradicted by the anchor (stranger 15)', async () => {
  const place = newPlace();
  const first = await open(place);
  await first.log.append([claimOf('sent-0')]);
  await first.close();
  const kept = ['.mark', '.claims'].map((ending) => [`${place.file}${ending}`, `${place.file}${ending}.kept`]);
  for (const [path, aside] of kept) cpSync(path!, aside!);
  cpSync(place.directory, `${place.directory}.backup`, { recursive: true });
  const second = await open(place);
  await second.log.append([claimOf('sent-1')]);
  await second.close();
  const putBack = () => {
    for (const [path, aside] of kept) cpSync(aside!, path!);
  };
  putBack();
  // The store is the newest one, so it starts; the list is begun anew, and does not say that it is the whole of what was claimed.
  const faults: string[] = [];
  const third = await openEmbeddedStore({
    ...place,
    onFault,
    anchor: anchor(place.file),
    onAnchorFault: (text) => faults.push(text),
  });
  await third.close();
  assert.equal(faults.length, 1);
  for (const isOlder of [false, true]) {
    if (isOlder) putBack();
    rmSync(place.directory, { recursive: true });
    cpSync(`${place.directory}.backup`, place.directory, { recursive: true });
    assert.equal(await isComplete(place), false, String(isOlder));
  }
});

test('a list of claims that is not what was written is told at the start, set aside and begun anew', async () => {
  for (const { name, edit, closes } of [
    { name: 'edited', edit: (text: string) => text.replaceAll('sent-2', 'sent-9'), closes: true },
    { name: 'cut', edit: (text: string) => text.slice(0, -3), closes: false },
  ]) {
    const place = newPlace();
    const first = await open(place);
    await first.log.append([claimOf('sent-1')]);
    await first.log.append([claimOf('sent-2')]);
    await first.close();
    const path = `${place.file}.claims`;
    const before = edit(readFileSync(path, 'utf8'));
    writeFileSync(path, before);
    const [changes, faults]: [string[], string[]] = [[], []];
    const store = await openEmbeddedStore({
      ...place,
      onFault,
      anchor: anchor(place.file),
      onChanged: (text) => changes.push(text),
      onAnchorFault: (text) => faults.push(text),
    });
    const told = closes ? changes : faults;
    assert.deepEqual([changes.length, faults.length], closes ? [1, 0] : [0, 1], name);
    assert.ok(told[0]!.startsWith(path), told[0]);
    assert.equal(store.changed() !== null, closes, name);
    const aside = readdirSync(dirname(place.file)).find((each) => /\.claims\.\d+$/.test(each));
    assert.equal(readFileSync(join(dirname(place.file), aside!), 'utf8'), before);
    await store.close();
    // It closes bidding until somebody resumes, however often the desk starts.
    for (const resumes of [false, true]) {
      const again = await open(place);
      assert.equal(again.changed() !== null, closes, `${name}, second start`);
      assert.equal(again.changed()?.includes(aside!) ?? false, closes);
      if (resumes) {
        await again.control.read();
        await again.control.resume({ by: 'ana', reason: 'looked at it', at: 1 });
        await again.control.read();
        assert.equal(again.changed(), null);
      }
      await again.close();
    }
    const last = await open(place);
    assert.equal(last.changed(), null, `${name}, after it was resumed`);
    // Whoever the list named is not bid for again, though the list was begun anew.
    if (closes) await assert.rejects(last.log.append([{ ...claimOf('sent-9'), firstClaim: true }]), /sent-9/);
    await last.close();
  }
});

test('a list of claims that is gone is told at the start as gone, and no file is named that is not there', async () => {
  for (const hasOlder of [false, true]) {
    const place = newPlace();
    const first = await open(place);
    await first.log.append([claimOf('sent-1')]);
    await first.close();
    const path = `${place.file}.claims`;
    rmSync(path);
    if (hasOlder) writeFileSync(`${path}.1`, '[1]\n');
    const faults: string[] = [];
    const heard = { onAnchorFault: (text: string) => faults.push(text) };
    await (await openEmbeddedStore({ ...place, onFault, anchor: anchor(place.file), ...heard })).close();
    const [told = '', ...more] = faults;
    assert.deepEqual(more, []);
    assert.ok(told.startsWith(`${path} is gone`), told);
    const named = /kept as (\S+)\)/.exec(told)?.[1];
    assert.deepEqual([named !== undefined, named === undefined || existsSync(named)], [hasOlder, true], told);
  }
});

test('a store and its anchor that are older than the list of claims were set back (stranger 15, session 46)', async () => {
  const place = newPlace();
  const first = await open(place);
  await first.log.append([claimOf('sent-0')]);
  await first.close();
  const kept = [place.directory, place.file, `${place.file}.mark`];
  for (const path of kept) cpSync(path, `${path}.backup`, { recursive: true });
  const second = await open(place);
  await second.log.append([claimOf('sent-1')]);
  await second.log.append([claimOf('sent-2')]);
  await second.close();
  for (const path of kept) {
    rmSync(path, { recursive: true });
    cpSync(`${path}.backup`, path, { recursive: true });
  }
  for (const _ of ['first start', 'second start'])
    await assert.rejects(open(place), isFault('store-set-back', 65, /auctions has 1 records, and had 3/));
  // Longer than what is read of its end at first.
  appendFileSync(`${place.file}.claims`, `${'x'.repeat(200_000)}\n`);
  await assert.rejects(open(place), isFault('store-set-back', 65, /auctions has 1 records, and had 3/));
  const setBack = await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false });
  assert(setBack !== null);
  assert.deepEqual([[...setBack.claimed.claims.keys()], setBack.claimed.complete], [['sent-1', 'sent-2'], false]);
  await setBack.close();
});

test('what was changed in the middle of the log is told after the start, and of a sound log nothing is', async () => {
  const [sound, changed] = [await lived(), await lived()];
  edit(changed, (database) => database.exec("UPDATE callbacks SET key = 'code-x' WHERE offset = 3"));
  const told = new Map<Place, string[]>();
  const stores = await Promise.all(
    [sound, changed].map((place) => {
      const texts: string[] = [];
      told.set(place, texts);
      const onChanged = (text: string) => texts.push(text);
      return openEmbeddedStore({ directory: place.directory, onFault, anchor: anchor(place.file), onChanged });
    }),
  );
  // Records come meanwhile.
  for (let number = 0; told.get(changed)!.length === 0 && number < 500; number += 1) {
    for (const { log } of stores) await log.append([auctionEntry('late', `${number}`)]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const store of stores) await store.close();
  assert.deepEqual(
    [told.get(sound), told.get(changed)],
    [[], ['record 3 of callbacks is not what was written (changed); see lance audit verify']],
  );
});

/** What somebody does who can write the directory and what is beside it, but does not know the key. */
const anchorFiles = ({ file }: Place) => ['', '.mark', '.claims'].map((ending) => `${file}${ending}`);
function rewriteAll(place: Place): void {
  edit(place, (database) => {
    database.exec(`UPDATE auctions SET value = replace(value, '"at":', '"at": ') WHERE offset = 45`);
    rewriteChain(database, 'auctions');
    database.exec('DELETE FROM anchoring');
  });
  for (const file of anchorFiles(place)) rmSync(file);
}

test('a log rewritten with its anchors taken away is refused, and audit says so before (stranger, issue 15 line 18)', async () => {
  const place = await lived();
  rewriteAll(place);
  const before = await verify(place);
  assert.notEqual(before.kind, 'intact');
  await assert.rejects(open(place), isFault('store-set-back', 65, /its anchor .* is not there/));
  const after = await verify(place);
  assert.notEqual(after.kind, 'intact');
});

test('without the signed heads of a log as well it is no new one (stranger, issue 15 line 18)', async () => {
  const place = await lived();
  rewriteAll(place);
  edit(place, (database) => database.exec('DELETE FROM signed_heads'));
  assert.equal((await verify(place)).kind, 'anchor-missing');
  await assert.rejects(open(place), isFault('store-set-back', 65, /no signed heads/));
  // As if it were of a version that signed nothing: taken over, and said for good.
  edit(place, (database) => database.exec('DROP TABLE signed_heads; PRAGMA user_version = 5'));
  await (await open(place)).close();
  const verdict = await verify(place);
  assert.deepEqual(
    verdict.unverified.map((each) => (each.kind === 'before-key' ? [each.kind, each.entries] : each)),
    [['before-key', 126]],
  );
});

test('an empty log is a new one, with or without its tables (stranger, issue 15 line 18)', async () => {
  const place = newPlace();
  await (await open(place)).close();
  edit(place, (database) => database.exec('DELETE FROM signed_heads; DELETE FROM anchoring'));
  for (const file of anchorFiles(place)) rmSync(file);
  await (await open(place)).close();
  assert.deepEqual((await verify(place)).unverified, []);
});

test('the signed heads in the log are its own, of its key, and in their places (stranger, issue 15 line 18)', async () => {
  const cases: [edit: string, refused: RegExp, table: string, offset: number][] = [
    [
      `UPDATE signed_heads SET entry = replace(entry, '"at":1', '"at":2') WHERE number = 6`,
      /edited/,
      'signed_heads',
      6,
    ],
    [`UPDATE signed_heads SET entry = 'x' WHERE number = 6`, /edited/, 'signed_heads', 6],
    ['DELETE FROM signed_heads WHERE number = 6', /signed_heads has 5 records, and had 6/, 'signed_heads', 6],
  ];
  for (const [sql, refused, table, offset] of cases) {
    const place = await lived();
    edit(place, (database) => {
      database.exec(sql);
      let link = 'signed_heads';
      const update = database.prepare('UPDATE signed_heads SET chain = ? WHERE number = ?');
      for (const { number, entry } of database
        .prepare('SELECT number, entry FROM signed_heads ORDER BY number')
        .all()) {
        link = nextLink(link, Number(number), '', String(entry));
        update.run(link, number!);
      }
    });
    await assert.rejects(open(place), isFault('store-set-back', 65, refused));
    const verdict = await verify(place);
    assert(verdict.kind === 'broken', verdict.kind);
    assert.deepEqual([verdict.table, verdict.offset], [table, offset], sql);
  }
});

test('an anchor without its mark, or a mark without its lines, is no anchor (stranger, issue 15 line 18)', async () => {
  const unmarked = await lived();
  rmSync(`${unmarked.file}.mark`);
  const missed = await verify(unmarked);
  assert.deepEqual([missed.kind, 'place' in missed && missed.place], ['anchor-missing', `${unmarked.file}.mark`]);
  await assert.rejects(open(unmarked), isFault('store-set-back', 65, /its anchor, \S+\.anchor\.mark, is not there/));
  const unlined = await lived();
  rmSync(unlined.file);
  assert.notEqual((await verify(unlined)).kind, 'intact');
  await assert.rejects(open(unlined), isFault('store-set-back', 65, /is not there|edited/));
  const shortened = await lived();
  const lines = readFileSync(shortened.file, 'utf8').split('\n');
  writeFileSync(shortened.file, lines.toSpliced(-2, 1).join('\n'));
  assert.equal((await verify(shortened)).kind, 'anchor-broken');
  await assert.rejects(open(shortened), isFault('store-set-back', 65, /edited/));
});

test('a log anchored by the version before is taken over with its anchors (stranger, issue 15 line 18)', async () => {
  const place = await lived();
  const signedBefore = (line: string) => {
    const { signed_heads: _, ...heads } = JSON.parse(line.slice(line.indexOf(' '))).heads;
    const { previous: __, key: ___, ...rest } = JSON.parse(line.slice(line.indexOf(' ')));
    return signLine(key, { ...rest, heads }).line;
  };
  const [mark] = readFileSync(`${place.file}.mark`, 'utf8').split('\n');
  const last = readFileSync(place.file, 'utf8').trimEnd().split('\n').at(-1)!;
  writeFileSync(place.file, `${signedBefore(last)}\n`);
  writeFileSync(`${place.file}.mark`, `${signedBefore(mark!.trimEnd()).padEnd(4095)}\n`);
  edit(place, (database) => database.exec('DROP TABLE signed_heads; PRAGMA user_version = 6'));
  const beside = openEmbeddedReader({ directory: place.directory });
  beside.close();
  await (await open(place)).close();
  const verdict = await verify(place);
  assert.deepEqual([verdict.kind, verdict.unverified], ['intact', []]);
});

/** A row put behind the last one of a table, with a link that fits: that needs no key. */
function forge({ directory }: Place, table: string, entry: object | null, rowKey = ''): void {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  if (table === 'house_book') {
    database.exec('DELETE FROM house');
  }
  const isTopic = rowKey !== '';
  const place = isTopic ? 'offset' : 'number';
  const last = database.prepare(`SELECT ${place} AS place, chain FROM ${table} ORDER BY ${place} DESC LIMIT 1`).get();
  const { place: end, chain } = (last ?? { place: isTopic ? -1 : 0, chain: table }) as { place: number; chain: string };
  const text = JSON.stringify(entry);
  const link = nextLink(chain, end + 1, rowKey, text);
  if (isTopic) database.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?)`).run(end + 1, rowKey, text, link);
  else database.prepare(`INSERT INTO ${table} VALUES (?, ?, ?)`).run(end + 1, text, link);
  database.close();
}

const copyOf = ({ directory, file }: Place): Place => {
  const copy = newPlace();
  cpSync(directory, copy.directory, { recursive: true });
  for (const ending of ['', '.mark', '.claims']) cpSync(`${file}${ending}`, `${copy.file}${ending}`);
  return copy;
};

/** What somebody may put into a store without the key, of each table and kind. */
function forgeries(): [table: string, entry: object | null, rowKey?: string][] {
  const claim = claimOf('9').record;
  const person = { id: 'id', owner: 'rui', role: 'admin', sha256: '0', expiresAt: 9, at: 5, by: 'rui', via: 'api' };
  const resumed = [{ kind: 'resumed', by: 'rui', via: 'api', reason: null, at: 5, revision: 4 }];
  const control = { revision: 4, pause: null, caps: '{}', orders: '[]', changes: JSON.stringify(resumed) };
  const { record: won } = callback(9);
  const bids = [{ bidId: 'b', rateHundredths: 180, isOurs: false }];
  return [
    ['auctions', claim, '9'],
    ['auctions', { kind: 'requested', requestId: '9', at: 5, request: {}, sealed: '', rawHash: '' }, '9'],
    ['auctions', { kind: 'ended', requestId: '9', at: 5, batchId: 'b', startedAt: null, endedAt: null, bids }, '9'],
    ['auctions', { kind: 'contemplated', requestId: '9', at: 5, requestCode: 'c', message: null, errors: [] }, '9'],
    ['auctions', { kind: 'resolved', requestId: '9', at: 5, as: 'lost', by: 'desk', reason: 'none' }, '9'],
    ['auctions', { kind: 'resolved', requestId: '9', at: 5, as: 'lost', by: 'rui', via: 'api', reason: 'none' }, '9'],
    // As of an acceptance of a restore, which ends a request that comes later without a bid.
    ['auctions', restoredPass('9', 5), '9'],
    ['auctions', lostAnswer('9', null, 5), '9'],
    ['flows', { kind: 'intended', flowId: 'f', at: 5 }, 'f'],
    ['flows', { kind: 'asked', flowId: 'f', at: 5, step: 'sign', by: 'rui', via: 'offline' }, 'f'],
    ['callbacks', won, 'code-9'],
    ['inputs', { kind: 'rule-set', hash: 'h', content: '{}' }, 'h'],
    ['dead_letters', { at: 5, receivedAt: 5, reason: 'none', pointer: null, sealedPayload: '' }, 'k'],
    ['rule_book', { kind: 'approved', hash: 'hash-2', at: 5, by: 'rui', via: 'api' }],
    ['rule_book', { kind: 'approved', hash: 'hash-2', at: 5, by: 'rui' }],
    ['token_book', { kind: 'session-begun', ...person }],
    ['control_changes', control],
    ['house_book', null],
  ];
}

test('what nobody with the key wrote is refused, after a stop and wherever a desk was killed', async () => {
  const living = await lived();
  const moving = await open(living);
  await moving.house.write({ kind: 'moved', file: 'a file', at: 4 });
  await moving.log.append([claimOf('8'), callback(8)]);
  const killed = copyOf(living);
  await moving.close();
  for (const [table, entry, rowKey] of forgeries()) {
    for (const ended of [living, killed]) {
      const place = copyOf(ended);
      await isRefusedWith(place, table, entry, rowKey);
    }
  }
});

async function isRefusedWith(place: Place, table: string, entry: object | null, rowKey?: string): Promise<void> {
  assert.equal((await verify(place)).kind, 'intact');
  forge(place, table, entry, rowKey);
  const verdict = await verify(place);
  // That the row of the controls does not say the same is told first.
  const told = table === 'control_changes' ? ['control', 'changed'] : [table, 'inserted'];
  assert.ok(verdict.kind === 'broken', `${table} ${JSON.stringify(entry)}`);
  assert.deepEqual([verdict.table, verdict.what], told);
  const refused = new RegExp(`record \\d+ of ${table}, which nobody with the key of the log wrote: .*accept-restore`);
  await assert.rejects(open(place), isFault('store-set-back', 65, refused));
}

test('what an acceptance wrote that was killed is signed: with the anchor put back the desk starts', async () => {
  const place = await lived();
  const aside = copyOf(place);
  rmSync(place.file);
  const killed = (await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false }))!;
  await killed.log.append([{ topic: 'auctions', key: '9', record: restoredPass('9', 5) }]);
  await killed.house.addOrigin({
    ...{ kind: 'restored', at: 5, by: 'ana', reason: 'disk' },
    ...{ heads: killed.heads, lost: killed.lost, noBidReceivedBefore: 5 },
  });
  await killed.log.append([{ topic: 'auctions', key: '9', record: lostAnswer('9', null, 5) }]);
  await killed.close();
  cpSync(aside.file, place.file);
  assert.equal((await verify(place)).kind, 'intact');
  await (await open(place)).close();
  assert.equal((await verify(place)).kind, 'intact');
});

test('the signature of the last transaction cannot be left out, nor an earlier one put back', async () => {
  const place = await lived();
  const database = new DatabaseSync(join(place.directory, 'lance.sqlite'));
  const earlier = database.prepare('SELECT entry FROM signed_commit').get()!.entry!;
  database.close();
  const store = await open(place);
  await store.log.append([claimOf('8')]);
  await store.close();
  const cases: [sql: string, refused: RegExp][] = [
    ['DROP TABLE signed_commit', /signed heads in the log of .* were edited or are damaged/],
    ['DELETE FROM signed_commit', /signed heads in the log of .* were edited or are damaged/],
    [
      `UPDATE signed_commit SET entry = replace(entry, '"at":1', '"at":2')`,
      /signed heads in the log of .* were edited/,
    ],
    [`UPDATE signed_commit SET entry = '${String(earlier)}'`, /record 60 of auctions, which nobody with the key/],
  ];
  for (const [sql, refused] of cases) {
    const copy = copyOf(place);
    edit(copy, (opened) => opened.exec(sql));
    await assert.rejects(open(copy), isFault('store-set-back', 65, refused), sql);
  }
  await (await open(place)).close();
});

test('behind the stop of a version that signed no transactions only what a running desk writes is refused', async () => {
  const place = await lived();
  const file = join(place.directory, 'lance.sqlite');
  const reading = new DatabaseSync(file, { readOnly: true });
  const heads = headsOf(reading);
  reading.close();
  const found = () => {
    const database = new DatabaseSync(file, { readOnly: true });
    const row = unsignedRow(database, { signed: 'stop', heads, key });
    database.close();
    return row;
  };
  forge(place, 'callbacks', callback(9).record, 'code-9');
  forge(place, 'auctions', { kind: 'ended', requestId: '9', at: 5, bids: [] }, '9');
  assert.equal(found(), null);
  forge(place, 'auctions', claimOf('9').record, '9');
  assert.deepEqual(found(), { table: 'auctions', place: 61 });
});

test('a mark of a stop says nothing against what was written after the next start, however that ended', async () => {
  const stopped = await lived();
  const running = await open(stopped);
  await running.log.append([claimOf('9')]);
  const killed = copyOf(stopped);
  const earlier = copyOf(stopped);
  await running.log.append([claimOf('10')]);
  await running.tokenBook.append({ kind: 'revoked', id: 'id', at: 5, by: 'rui', via: 'api' });
  // The mark is one group behind, or a second after a loss of power.
  const behind = copyOf(stopped);
  for (const ending of ['', '.mark', '.claims']) cpSync(`${earlier.file}${ending}`, `${behind.file}${ending}`);
  await running.close();
  // Somebody has put the anchor of an earlier stop beside a newer directory.
  const older = await lived();
  const kept = copyOf(older);
  const later = await open(older);
  await later.log.append([claimOf('9')]);
  await later.close();
  for (const ending of ['', '.mark', '.claims']) cpSync(`${kept.file}${ending}`, `${older.file}${ending}`);
  for (const place of [killed, behind, stopped, older]) {
    const again = await open(place);
    await again.close();
    assert.equal((await verify(place)).kind, 'intact');
  }
});

test('what the command line writes beside a stopped desk stands behind what the desk signed', async () => {
  const place = await lived();
  const reader = openEmbeddedReader({ directory: place.directory, anchor: { file: place.file, key } });
  const who = { by: 'rui', via: 'offline', at: 5 } as const;
  await reader.control.resume({ ...who, reason: null });
  await reader.ruleBook.append({ kind: 'activated', hash: 'hash-2', ...who });
  await reader.ruleBook.append({ kind: 'approval-required', ...who });
  await reader.tokenBook.append({ kind: 'revoked', id: 'id', ...who });
  const resolved = { kind: 'resolved', requestId: 'k', as: 'lost', reason: 'none', ...who } as const;
  await reader.appendBeside([auctionEntry('k', 'sent again'), callback(9)]);
  reader.close();
  // An order that ends a request needs no key.
  const keyless = openEmbeddedReader({ directory: place.directory });
  await keyless.appendBeside([{ topic: 'auctions', key: 'k', record: resolved }]);
  keyless.close();
  assert.equal((await verify(place)).kind, 'intact');
  const added = copyOf(place);
  const edited = copyOf(place);
  await (await open(place)).close();
  assert.equal((await verify(place)).kind, 'intact');
  // What somebody puts behind signed rows, or into them, is not signed with them.
  forge(added, 'callbacks', callback(10).record, 'code-10');
  await assert.rejects(open(added), isFault('store-set-back', 65, /record 61 of callbacks, which nobody with the key/));
  edit(edited, (database) => {
    database.exec(`UPDATE callbacks SET value = replace(value, 'code-9', 'code-8'), key = 'code-8' WHERE offset = 60`);
    rewriteChain(database, 'callbacks');
  });
  await assert.rejects(
    open(edited),
    isFault('store-set-back', 65, /record 60 of callbacks, which nobody with the key/),
  );
});

test('a command with another key than the desk has signs nothing, and a start refuses what it wrote', async () => {
  const place = await lived();
  const reader = openEmbeddedReader({ directory: place.directory, anchor: { file: place.file, key: otherKey } });
  await assert.rejects(
    reader.appendBeside([callback(9)]),
    isFault('configuration-invalid', 78, /LANCE_AUDIT_KEY .*nothing was changed/),
  );
  reader.close();
  const store = await open(place);
  const beside = openEmbeddedReader({ directory: place.directory, anchor: { file: place.file, key: otherKey } });
  await beside.appendBeside([callback(9)]);
  beside.close();
  await store.close();
  await (await open(place)).close();
});

test('a request and a claim that somebody put into a stopped store are named to who accepts the store', async () => {
  const place = await lived();
  const { requestId, record } = { requestId: '9', record: claimOf('9').record };
  forge(place, 'auctions', { kind: 'requested', requestId, at: 5 }, requestId);
  forge(place, 'auctions', record, requestId);
  const accepted = await openSetBack({ ...place, onFault, anchor: anchor(place.file), emptied: false });
  assert.deepEqual(accepted?.forged, [
    { requestId, claimId: null },
    { requestId, claimId: 'a:9' },
  ]);
  await accepted!.accept();
  await (await open(place)).close();
  assert.equal((await verify(place)).kind, 'intact');
});
