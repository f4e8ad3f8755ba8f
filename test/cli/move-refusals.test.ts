/** What keeps a desk from moving, and a file from being taken in: on the embedded backend, where nothing else has to run. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { anchorFileOf } from '../../src/adapters/embedded/anchor.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../src/adapters/vault/audit-key.ts';
import { evolve } from '../../src/bidding/evolve.ts';
import { callbackPartition, type NewEntry } from '../../src/bidding/ports.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { Phase, RequestState } from '../../src/domain/states.ts';
import { evolve as evolveFlow } from '../../src/origination/evolve.ts';
import { requested, settings } from '../bidding/parts.ts';
import { auctionEntry, linkDetail, stateOf } from '../conformance/samples.ts';
import { settings as flowSettings } from '../origination/orders.ts';
import { runningClock } from '../sandbox/clocks.ts';
import { lance, mainFile, offlineEnvironment, pseudonymKey } from './desk.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-move-'));
const environment = offlineEnvironment(join(directory, 'desk'));
const file = (name: string) => join(directory, name);
const newHome = () => ({ ...environment, LANCE_DATA_DIR: file(randomUUID()) });
const openStore = (place: string): Promise<EmbeddedStore> =>
  openEmbeddedStore({
    directory: place,
    anchor: { ...anchorFileOf(place, null), key: createAuditKey(pseudonymKey), everyMs: 300_000 },
    onFault: (fault) => {
      throw fault;
    },
  });

type Header = { control: object; hash: string } & Record<string, unknown>;

const unsigned = ({ signature: _, ...header }: Header): Header => header as Header;

function hashed(header: Header, body: string): Header {
  return { ...header, hash: createHash('sha256').update(body).digest('hex') };
}

function withHeader(text: string, change: (header: Header, body: string) => object, control: object = {}): string {
  const end = text.indexOf('\n') + 1;
  const header = JSON.parse(text.slice(0, end)) as Header;
  const changed = change({ ...header, control: { ...header.control, ...control } }, text.slice(end));
  return `${JSON.stringify(changed)}\n${text.slice(end)}`;
}

async function refused(words: readonly string[], code: number, why: RegExp, home = environment): Promise<void> {
  const ended = await lance(home, ...words);
  assert.equal(ended.code, code, `${ended.stdout}${ended.stderr}`);
  assert.match(ended.stderr, why);
}

let next = 0;
/** One more record, folded to a request in this phase. */
async function fold(store: EmbeddedStore, requestId: string, phase: Phase, closesAt: number): Promise<void> {
  await store.log.append([auctionEntry(requestId, phase)]);
  // Of today: an auction that is told to close a week after the request came is not believed.
  const request = { ...requested().request, requestId, receivedAt: Date.now() - 90_000, closesAt };
  const state = { ...stateOf(requestId, phase, null), request };
  await store.views.apply({
    partition: 0,
    first: next,
    next: next + 1,
    changes: [{ kind: 'state', state, open: phase === 'unknown' || phase === 'claimed', bidIds: [] }],
  });
  next += 1;
}

before(async () => {
  const store = await openStore(environment.LANCE_DATA_DIR);
  await fold(store, '1', 'passed', 0);
  const now = Date.now();
  const detail = { kind: 'link-detail', at: now, requestCode: null, sealed: '' } as const;
  const entries = [linkDetail('fresh', now, 5), linkDetail('stale', now - 90_000_000, 6)].map((each) => ({
    topic: 'callbacks' as const,
    key: each.linkKey,
    record: { ...detail, detail: each },
  }));
  await store.log.append(entries);
  await store.views.apply({ partition: callbackPartition(0), first: 0, next: 1, changes: [] });
  await store.close();
});
after(() => rmSync(directory, { recursive: true, force: true }));

test('a desk that runs, is not paused, or may have a bid under way stays where it is', async () => {
  const held = await openStore(environment.LANCE_DATA_DIR);
  await refused(['export', file('a')], 73, /Another daemon runs/);
  await held.close();
  await refused(['export', file('a')], 65, /not paused/);
  const store = await openStore(environment.LANCE_DATA_DIR);
  await store.control.setPause({ by: 'ana', reason: 'mudança', at: 1 });
  await fold(store, '2', 'claimed', Date.now() - 60_000);
  await store.close();
  await refused(['export', file('a')], 65, /request 2 may have been sent and has no answer/);
  const later = await openStore(environment.LANCE_DATA_DIR);
  await fold(later, '2', 'unknown', Date.now() + 60_000);
  await later.close();
  await refused(['export', file('a')], 65, /request 2 arrived is unknown, and it may still arrive for \d\d s/);
  const behind = await openStore(environment.LANCE_DATA_DIR);
  await behind.log.append([auctionEntry('3', 'not folded')]);
  await behind.close();
  await refused(['export', file('a')], 65, /views are 1 records behind/);
  const over = await openStore(environment.LANCE_DATA_DIR);
  await over.views.apply({ partition: 0, first: next, next: next + 1, changes: [] });
  next += 1;
  await fold(over, '2', 'unknown', Date.now() - 1);
  await over.close();
  await refused(['export', file('no/such/a')], 65, /cannot be written: ENOENT/);
  await refused(['export', file('a')], 73, /no desk in/, newHome());
  await refused(['export'], 1, /--undo and no file/);
  assert.equal((await lance(environment, 'bids', 'list')).code, 0, 'nothing of all this marked the place');
});

test('an export marks the place, undo takes it back, and the file must be whole to be taken in', async () => {
  assert.equal((await lance(environment, 'export', file('b.ndjson.gz'))).code, 0);
  await refused(['export', file('c')], 65, /moved to .*b\.ndjson\.gz/);
  await refused(['run'], 78, /moved to .*lance export --undo/);
  assert.equal((await lance(environment, 'export', '--undo')).code, 0);
  await refused(['export', '--undo'], 66, /nothing to undo/);
  await refused(['export', file('b.ndjson.gz')], 65, /is there already/);
  assert.equal((await lance(environment, 'export', file('c'))).code, 0);

  const whole = readFileSync(file('c'), 'utf8');
  const spoilt: readonly (readonly [string, RegExp])[] = [
    ['', /it is empty/],
    [whole.split('\n').slice(1).join('\n'), /first line is not the header/],
    [whole.replace('"version":1', '"version":2'), /newer version of Lance wrote it; import it with that version/],
    [whole.replace('"note', '"n0te').replace('not folded', 'not f0lded'), /not those that the header was written for/],
    [`${whole.trim().split('\n').slice(0, -1).join('\n')}\n`, /has 4 records of auctions, its header says 5/],
    [whole.slice(0, -10), /line \d is not a record/],
    // An attacker left a record out and wrote hash and pause to fit: the bids were sent again with other bytes.
    [withHeader(whole, (header) => ({ ...header, control: { pause: null, caps: {} } })), /it was edited/],
    [withHeader(whole.replace('not folded', 'not f0lded'), hashed), /it was edited/],
    [withHeader(whole, unsigned), /is not signed, .* --unsigned/],
    [withHeader(whole, unsigned, { caps: { x: 'abc' } }), /first line is not the header/],
    [withHeader(whole, unsigned, { pause: 'no' }), /first line is not the header/],
    [withHeader(whole, (header) => ({ ...unsigned(header), control: null })), /first line is not the header/],
    [withHeader(whole, (header) => ({ ...unsigned(header), ruleBook: ['x'] })), /first line is not the header/],
  ];
  for (const [text, why] of spoilt) {
    writeFileSync(file('spoilt'), text);
    await refused(['import', file('spoilt')], 65, why, newHome());
  }
  const { LANCE_PSEUDONYM_KEY: _, ...withoutKey } = newHome();
  await refused(['import', file('c')], 65, /Set LANCE_PSEUDONYM_KEY/, withoutKey as typeof environment);
  // Of an earlier version: taken where somebody says so, and paused whatever it says.
  const older = newHome();
  writeFileSync(file('older'), withHeader(whole, unsigned, { pause: null }));
  assert.equal((await lance(older, 'import', file('older'), '--unsigned')).code, 0);
  const arrived = await openStore(older.LANCE_DATA_DIR);
  assert.equal((await arrived.control.read()).pause?.reason, 'imported');
  await arrived.close();
  copyFileSync(file('c'), file('c.gz'));
  await refused(['import', file('c.gz')], 65, /incorrect header check/, newHome());
  await refused(['import', file('nowhere')], 65, /ENOENT/, newHome());
  await refused(['import', file('c')], 65, /not empty .*LANCE_DATA_DIR/);
});

test('what arrives: every record under its key, what was dealt with, margins of a day, the pause', async () => {
  const home = newHome();
  const taken = await lance(home, 'import', file('c'), '--json');
  assert.equal(taken.code, 0, taken.stderr);
  assert.equal(JSON.parse(taken.stdout).records, 7);
  const [from, to] = [await openStore(environment.LANCE_DATA_DIR), await openStore(home.LANCE_DATA_DIR)];
  try {
    for (const topic of ['auctions', 'callbacks', 'dead-letters', 'inputs', 'flows'] as const) {
      assert.deepEqual(await to.log.read(topic, 0, 0, 100), await from.log.read(topic, 0, 0, 100));
    }
    assert.deepEqual([await to.views.applied(callbackPartition(0)), await to.views.applied(0)], [1, 0]);
    assert.deepEqual([...(await to.margins.read(['fresh', 'stale'], Date.now())).keys()], ['fresh']);
    assert.equal((await to.control.read()).pause?.reason, 'mudança');
    assert.equal(await to.house.read(), null);
    await to.house.write({ kind: 'arriving', file: 'c', at: runningClock.now() });
  } finally {
    await from.close();
    await to.close();
  }
  await refused(['run'], 78, /import of c into this place.*broke off/, home);
  await refused(['export', file('d')], 65, /did not end/, home);
  await refused(['export', '--undo'], 65, /did not end/, home);
});

/** What a start says that is refused; a desk that began is ended. */
async function startRefused(home: typeof environment): Promise<string> {
  const options = { env: { ...process.env, ...home }, timeout: 30_000 } as const;
  const ended = await promisify(execFile)(process.execPath, [mainFile, 'run'], options).catch(
    (fault: unknown) => fault,
  );
  const { code, stderr } = ended as { code?: unknown; stderr: string };
  assert.equal(code, 78, stderr);
  return stderr;
}

const killer = new URL('./kill-at-write.ts', import.meta.url).href;

async function readAll({ log }: EmbeddedStore) {
  const topics = ['auctions', 'callbacks', 'dead-letters', 'inputs', 'flows'] as const;
  return Promise.all(topics.map((topic) => log.read(topic, 0, 0, 100)));
}

type Moved = { file: string; records: number; all: Awaited<ReturnType<typeof readAll>> };

/** A paused desk of its own, exported. */
async function movedDesk(): Promise<Moved> {
  const home = newHome();
  const store = await openStore(home.LANCE_DATA_DIR);
  await store.log.append([auctionEntry('1', 'passed'), auctionEntry('1', 'not folded')]);
  await store.views.apply({ partition: 0, first: 0, next: 2, changes: [] });
  await store.control.setPause({ by: 'ana', reason: 'mudança', at: 1 });
  const all = await readAll(store);
  await store.close();
  const path = file(randomUUID());
  const exported = await lance(home, 'export', path, '--json');
  assert.equal(exported.code, 0, exported.stderr);
  return { file: path, records: JSON.parse(exported.stdout).records, all };
}

/** `TEST_KILL_STEP` 1 kills at every write, which takes minutes. */
const givenStep = process.env.TEST_KILL_STEP;
/** Of a failure, as it says: the run begins at the same writes again. */
const seed = Number(process.env.TEST_KILL_SEED ?? Math.floor(Math.random() * 1_000_000));

/**
 * Of one of the two threads: the import is killed at one write after the other, until it comes to its end. `every`: so many writes further each time,
 * from any of the first ones on, so that many runs meet all of them. Says at how many it was killed, and at how many of these with its mark.
 */
async function killEverywhere(
  thread: 'main' | 'thread',
  every: number,
  moved: Moved,
): Promise<{ killed: number; marked: number }> {
  let [killed, marked] = [0, 0];
  for (let at = 1 + (seed % every); ; at += every) {
    const home = newHome();
    const place = home.LANCE_DATA_DIR;
    const killing = { ...home, NODE_OPTIONS: `--import=${killer}`, LANCE_TEST_KILL_AT: `${thread}:${at}` };
    const first = await lance(killing, 'import', moved.file, '--json');
    const point = `${thread}:${at}, TEST_KILL_SEED=${seed}`;
    if (first.code !== null) {
      assert.equal(first.code, 0, `${point} ${first.stderr}`);
      return { killed, marked };
    }
    killed += 1;
    // Before the mark nothing is there that a start could find, and without it again all is.
    const isMarked = existsSync(join(place, 'lance.import'));
    const isWhole = !isMarked && existsSync(join(place, 'lance.sqlite'));
    if (isMarked) {
      marked += 1;
      // A start takes its time: it is tried at the first of them, or at some.
      if (marked === 1 || (givenStep !== undefined && marked % 4 === 1))
        assert.match(await startRefused(home), /import of \S+ into this place.*broke off/, point);
    } else if (!isWhole && existsSync(place)) {
      assert.deepEqual(
        readdirSync(place).filter((name) => !['lance.lock', 'lance.import.new'].includes(name)),
        [],
        point,
      );
    }
    if (!isWhole) {
      const again = await lance(home, 'import', moved.file, '--json');
      assert.equal(again.code, 0, `${point} ${again.stderr}`);
      assert.equal(JSON.parse(again.stdout).records, moved.records, point);
    }
    const to = await openStore(place);
    try {
      assert.deepEqual(await readAll(to), moved.all, point);
      assert.deepEqual([await to.house.read(), (await to.house.origins()).length], [null, 1], point);
      assert.equal((await to.control.read()).pause?.reason, 'mudança', point);
    } finally {
      await to.close();
    }
    rmSync(place, { recursive: true });
  }
}

test('an import that is killed at any write is known for one: no desk begins there, and the import can be made again', async (t) => {
  const moved = await movedDesk();
  const [main, thread] = await Promise.all([
    killEverywhere('main', Number(givenStep ?? 4), moved),
    killEverywhere('thread', Number(givenStep ?? 24), moved),
  ]);
  const told = `TEST_KILL_SEED=${seed}: ${main.killed} and ${thread.killed} writes, marked ${main.marked} and ${thread.marked}`;
  t.diagnostic(told);
  assert.ok(main.marked > 0 && thread.marked > 0, told);
});

const swapper = new URL('./swap-at-read.ts', import.meta.url).href;

test('a file that is swapped between its check and its reading is not taken in, and nothing runs there', async () => {
  const whole = readFileSync(file('c'), 'utf8');
  const others = {
    other: whole.replace('not folded', 'not f0lded'),
    longer: `${whole}${whole.trim().split('\n').at(-1)!}\n`,
    shorter: `${whole.trim().split('\n').slice(0, -1).join('\n')}\n`,
    'no-records': `${whole.split('\n')[0]!}\nno record\n`,
  };
  for (const [name, text] of Object.entries(others)) {
    assert.notEqual(text, whole);
    writeFileSync(file('swapped'), whole);
    writeFileSync(file(name), text);
    const home = newHome();
    // It is opened for the check, for the key and to be taken in.
    const swap = JSON.stringify([file('swapped'), file(name), 3]);
    const ended = await lance(
      { ...home, NODE_OPTIONS: `--import=${swapper}`, LANCE_TEST_SWAP: swap },
      ...['import', file('swapped'), '--json'],
    );
    assert.equal(readFileSync(file('swapped'), 'utf8'), text, `${name}: it was swapped`);
    assert.equal(ended.code, 65, `${name} ${ended.stdout}${ended.stderr}`);
    assert.match(ended.stderr, /swapped cannot be imported: it changed while it was read/, name);
    await refused(['run'], 78, /import of \S*swapped into this place.*broke off/, home);
    assert.equal((await lance(home, 'import', file('c'), '--json')).code, 0, `${name}: the place can be used again`);
  }
});

test('import says when the file was exported, by which desk, and its hash, and takes no other hash', async () => {
  const header = JSON.parse(readFileSync(file('c'), 'utf8').split('\n')[0]!);
  const told = new RegExp(
    `taken in from embedded \\S*desk to .*exported on \\S+.*hash ${header.hash}\\.[\\s\\S]*Compare time and hash .* before lance resume`,
  );
  const plain = await lance(newHome(), 'import', file('c'));
  assert.match(plain.stdout, told);
  const compared = await lance(newHome(), 'import', file('c'), '--hash', header.hash.toUpperCase());
  assert.equal(compared.code, 0, compared.stderr);
  assert.doesNotMatch(compared.stdout, /Compare time/);
  const { hash, exportedAt, source } = JSON.parse((await lance(newHome(), 'import', file('c'), '--json')).stdout);
  assert.deepEqual(
    { hash, exportedAt, source },
    {
      hash: header.hash,
      exportedAt: header.exportedAt,
      source: header.source,
    },
  );
  const home = newHome();
  await refused(['import', file('c'), '--hash', header.hash.slice(1)], 65, /has another hash: [\da-f]{64}, exp/, home);
  assert.ok(!existsSync(home.LANCE_DATA_DIR), 'nothing is made');
});

test('a line without an end is refused, in time and memory that do not grow with it', async () => {
  const zeros = Buffer.alloc(16 * 1024 * 1024);
  const bomb = async function* () {
    for (let part = 0; part < 40; part += 1) yield zeros;
  };
  await pipeline(bomb, createGzip({ level: 1 }), createWriteStream(file('bomb.gz')));
  const startedAtMs = performance.now();
  await refused(
    ['import', file('bomb.gz')],
    65,
    /bomb\.gz cannot be imported: line 1 is longer than \d+ bytes/,
    newHome(),
  );
  assert.ok(performance.now() - startedAtMs < 60_000);
});

test('a desk with a record that cannot be read moves when what that froze was ended, which it stays (defect line 9)', async () => {
  const home = newHome();
  const store = await openStore(home.LANCE_DATA_DIR);
  await store.control.setPause({ by: 'ana', reason: 'mudança', at: 1 });
  const cancelled = { kind: 'unfrozen', at: 2, action: 'cancel', by: 'ana', reason: 'seen' } as const;
  /** What a desk makes of all that stands in the log. */
  const fold = async ({ log, views, flows }: EmbeddedStore): Promise<[RequestState | null, FlowState | null]> => {
    let [request, flow]: [RequestState | null, FlowState | null] = [null, null];
    for (const { record } of await log.read('auctions', 0, 0, 10)) request = evolve(request, record, settings);
    for (const { record } of await log.read('flows', 0, 0, 10)) flow = evolveFlow(flow, record, flowSettings);
    const next = { first: await views.applied(0), next: (await log.ends('auctions')).get(0)! };
    const rows = [{ kind: 'state', state: request!, open: false, bidIds: [] }] as const;
    await views.apply({ partition: 0, ...next, changes: rows });
    const flowsNext = { first: await flows.applied(0), next: (await log.ends('flows')).get(0)! };
    await flows.apply({ partition: 0, ...flowsNext, rows: [{ state: flow!, open: false, codes: [], givenUp: [] }] });
    return [request, flow];
  };
  const poison = { text: '{"kind":', record: {} as never };
  const entries: NewEntry[] = [
    { topic: 'auctions', key: '9', record: { ...requested(), requestId: '9' } },
    { topic: 'auctions', key: '9', ...poison },
    { topic: 'flows', key: 'c-9', ...poison },
  ];
  await store.log.append(entries);
  await fold(store);
  await store.close();
  await refused(['export', file('f')], 65, /record of 9 cannot be read.*lance bids retry 9/, home);
  for (const [entry, why] of [
    [{ topic: 'auctions', key: '9', record: { ...cancelled, requestId: '9' } }, /of c-9 .*lance contracts cancel c-9/],
    [{ topic: 'flows', key: 'c-9', record: { ...cancelled, flowId: 'c-9' } }, null],
  ] as const) {
    const later = await openStore(home.LANCE_DATA_DIR);
    await later.log.append([entry]);
    await fold(later);
    await later.close();
    if (why !== null) await refused(['export', file('f')], 65, why, home);
  }
  const moved = await lance(home, 'export', file('f'));
  assert.equal(moved.code, 0, moved.stderr);
  const elsewhere = newHome();
  assert.equal((await lance(elsewhere, 'import', file('f'))).code, 0);
  const arrived = await openStore(elsewhere.LANCE_DATA_DIR);
  const [request, flow] = await fold(arrived);
  await arrived.close();
  assert.deepEqual([request?.frozen, request?.phase, request?.exposure], [undefined, 'unknown', 'held']);
  assert.deepEqual([flow?.frozen, flow?.phase], [undefined, 'cancelled']);
});

/** A new desk whose `table` has a first row that says nothing. */
async function withRow(table: string, columns: string, text: string) {
  const home = newHome();
  await (await openStore(home.LANCE_DATA_DIR)).close();
  const database = new DatabaseSync(join(home.LANCE_DATA_DIR, 'lance.sqlite'));
  database.prepare(`INSERT OR REPLACE INTO ${table} ${columns} VALUES (1, ?)`).run(text);
  database.close();
  return home;
}

async function doctorOf(home: typeof environment, finding: string, why: RegExp): Promise<void> {
  const { stdout } = await lance(home, 'doctor', '--json');
  assert.match(stdout, new RegExp(`"${finding}"`));
  assert.match(stdout, why);
  assert.doesNotMatch(stdout, /SyntaxError|garbage/);
}

test('a mark that cannot be read refuses the start, doctor says so, and undo takes it away (stranger, finding 3)', async () => {
  for (const text of ['garbage', '{"kind":"moved","file":"x","at":1e99}']) {
    const home = await withRow('house', '(id, mark)', text);
    const why = /The mark in house .*lance export --undo.*accept-restore/;
    await refused(['run'], 65, why, home);
    await doctorOf(home, 'start-refused', why);
    await refused(['export', file(randomUUID())], 65, why, home);
    const undone = await lance(home, 'export', '--undo');
    assert.equal(undone.code, 0, undone.stderr);
    assert.match(undone.stdout, /must not run anywhere else/);
    await refused(['export', '--undo'], 66, /nothing to undo/, home);
  }
});

test('a row beside the log that cannot be read is named by its table (stranger, finding 3)', async () => {
  for (const table of ['origins', 'token_book', 'rule_book']) {
    const home = await withRow(table, '(number, entry)', table === 'origins' ? 'null' : 'garbage');
    const why = new RegExp(`Record 1 of the table ${table} .*accept-restore`);
    if (table === 'origins') await refused(['run'], 65, why, home);
    await doctorOf(home, 'store-unreadable', why);
  }
});
