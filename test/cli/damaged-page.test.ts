/** A page of the file of a real desk is overwritten: the desk ends with 65, and sends no bid after it has met the page. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, cpSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bidPath } from '../../src/wire/bid.ts';
import {
  inheritedEnvironment,
  type LogLine,
  mainFile,
  openStage,
  type Played,
  startDaemon,
  webhookToken,
} from './desk.ts';

const dataError = 65;
const patienceMs = 30_000;
const noiseBytes = 4_096;

let played: Played;
let pages: { table: string; page: number }[];
let pageBytes: number;

/** The data directory and its anchor, which stand beside each other. */
const stored = () => readdirSync(played.directory).filter((name) => name.startsWith('data'));
const kept = () => join(played.directory, 'kept');

before(async () => {
  played = await openStage(31);
  const daemon = await startDaemon(played.environment);
  played.sandbox.connect(daemon.url);
  for (let run = 0; run < 8; run += 1) await played.sandbox.run(20);
  await daemon.stop();
  for (const name of stored()) cpSync(join(played.directory, name), join(kept(), name), { recursive: true });
  const database = new DatabaseSync(join(played.environment.LANCE_DATA_DIR, 'lance.sqlite'), { readOnly: true });
  pageBytes = Number(database.prepare('PRAGMA page_size').get()!.page_size);
  pages = database
    .prepare("SELECT name, pageno FROM dbstat WHERE pagetype = 'leaf' ORDER BY pageno")
    .all()
    .map(({ name, pageno }) => ({ table: String(name), page: Number(pageno) }));
  database.close();
});

after(() => played.close());

function middleOf(table: string): number {
  const own = pages.filter((each) => each.table === table);
  assert.ok(own.length > 2, `${table} has ${own.length} pages`);
  return own[Math.floor(own.length / 2)]!.page;
}

/** What no page of SQLite looks like, and the same in each run. */
function noise(): Buffer {
  const parts = Array.from({ length: noiseBytes / 32 }, (_, index) => createHash('sha256').update(`${index}`).digest());
  return Buffer.concat(parts);
}

function overwrite(page: number): void {
  for (const name of stored()) rmSync(join(played.directory, name), { recursive: true });
  for (const name of readdirSync(kept())) {
    cpSync(join(kept(), name), join(played.directory, name), { recursive: true });
  }
  const descriptor = openSync(join(played.environment.LANCE_DATA_DIR, 'lance.sqlite'), 'r+');
  writeSync(descriptor, noise(), 0, noiseBytes, (page - 1) * pageBytes);
  closeSync(descriptor);
}

function bidsSent(): number {
  return played.sandbox.record.of('call').filter(({ path }) => path === bidPath).length;
}

type End = { code: number | null; lines: LogLine[]; complaint: string; sentAfter: number };

/** Runs the desk under traffic until it ends. `sentAfter`: bids that went out after the line that says why it ends. */
async function endUnderTraffic(): Promise<End> {
  const child = spawn(process.execPath, [mainFile, 'run'], {
    env: { ...inheritedEnvironment, ...played.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  const lines: LogLine[] = [];
  let sentAtAlarm: number | null = null;
  const started = Promise.withResolvers<number | null>();
  void exited.then(() => started.resolve(null));
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as LogLine;
    lines.push(line);
    if (line.msg === 'started') started.resolve(Number(line.port));
    if (line.msg === 'alarm' || line.msg === 'store-died') sentAtAlarm ??= bidsSent();
  });
  const port = await started.promise;
  if (port !== null) {
    played.sandbox.connect(`http://127.0.0.1:${port}/webhooks/${webhookToken}`);
    // What the desk does not take any more is sent to nobody.
    void played.sandbox.run(60).catch(() => undefined);
  }
  await Promise.race([exited, sleep(patienceMs, undefined, { ref: false })]);
  child.kill('SIGKILL');
  await exited;
  return { code: child.exitCode, lines, complaint, sentAfter: sentAtAlarm === null ? 0 : bidsSent() - sentAtAlarm };
}

for (const table of ['auctions', 'callbacks', 'inputs']) {
  test(`a page in the middle of ${table}, which only the walk over the log meets, ends the desk`, async () => {
    overwrite(middleOf(table));
    const { code, lines, complaint, sentAfter } = await endUnderTraffic();
    assert.equal(code, dataError, complaint);
    const died = lines.find(({ msg }) => msg === 'store-died');
    assert.equal(died?.code, 'store-damaged', complaint);
    assert.match(String(died?.text), /lance\.sqlite is damaged/);
    assert.equal(sentAfter, 0, 'a bid went out after the page was met');
    assert.deepEqual(
      lines.filter(({ msg, code }) => msg === 'alarm' && code === 'log-changed'),
      [],
    );
  });
}
