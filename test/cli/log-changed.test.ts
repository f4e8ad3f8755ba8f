/** A log that somebody edits beside its desk: no bid goes out by it, and every surface says so, until a person accepts what is there. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bidPath } from '../../src/wire/bid.ts';
import { type Daemon, lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
const by = ['--by', 'ana', '--reason', 'teste'];

before(async () => {
  played = await openStage(31);
});

after(async () => {
  await played.close();
});

function bidsSent(): number {
  return played.sandbox.record.of('call').filter(({ path }) => path === bidPath).length;
}

function edit(sql: string): void {
  const database = new DatabaseSync(join(played.environment.LANCE_DATA_DIR, 'lance.sqlite'));
  database.exec(sql);
  database.close();
}

const alarmed = ({ lines }: Daemon) => lines.some(({ msg, code }) => msg === 'alarm' && code === 'log-changed');
const opened = ({ lines }: Daemon) => lines.filter(({ msg }) => msg === 'bidding-open').length;

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let look = 0; look < 400 && !holds(); look += 1) await sleep(50);
  assert.ok(holds(), what);
}

/** A machine that is busy misses the deadlines of the first ones. */
async function runUntilBid(sent: number): Promise<void> {
  for (let run = 0; run < 5 && bidsSent() === sent; run += 1) await played.sandbox.run(20);
  assert.ok(bidsSent() > sent, 'the desk does not bid');
}

async function causeOf(daemon: Daemon): Promise<string | null> {
  const environment = { ...played.environment, LANCE_HTTP_PORT: new URL(daemon.url).port };
  const { stdout } = await lance(environment, 'status', '--json');
  return JSON.parse(stdout).bidding.cause ?? null;
}

test('a pause whose record is deleted holds while the desk runs, and the next start is refused', async () => {
  const daemon = await startDaemon(played.environment);
  try {
    played.sandbox.connect(daemon.url);
    await runUntilBid(0);
    const paused = await lance(played.environment, 'pause', ...by);
    assert.equal(paused.code, 0, paused.stderr);
    const [sent, openings] = [bidsSent(), opened(daemon)];
    edit('DELETE FROM control_changes WHERE number = (SELECT max(number) FROM control_changes)');
    await until('no alarm', () => alarmed(daemon));
    await played.sandbox.run(20);
    assert.deepEqual([bidsSent(), opened(daemon)], [sent, openings]);
    assert.equal(await causeOf(daemon), 'log-changed');
    const asked = { ...played.environment, LANCE_HTTP_PORT: new URL(daemon.url).port };
    const resumed = await lance(asked, 'resume', ...by, '--lang', 'en');
    assert.match(resumed.stdout, /^No bid goes out all the same: the log is not what was written \(log-changed\)\./m);
    assert.match(resumed.stdout, /^It was not paused \(revision \d+\)\.$/m);
    const { stdout: status } = await lance(asked, 'status', '--lang', 'en');
    const { stdout: doctor } = await lance(asked, 'doctor', '--lang', 'en');
    for (const said of [resumed.stdout, status, doctor].map((text) => text.replaceAll(/\s+/g, ' '))) {
      assert.doesNotMatch(said, /Bidding again|bidding goes on|only a restart helps|until it is started again/);
      assert.match(said, /the next start is refused \(65\).*put back .*accept-restore/);
    }
    const { stdout: remedy } = await lance(asked, 'status', '--lang', 'pt');
    assert.match(remedy.replaceAll(/\s+/g, ' '), /a próxima partida é recusada \(65\).*accept-restore/);
    await sleep(1_000);
    assert.equal(await causeOf(daemon), 'log-changed', 'a resumption does not bring back what is gone');
  } finally {
    daemon.signal('SIGKILL');
    await daemon.stop();
  }
  await sleep(500);
  await assert.rejects(startDaemon(played.environment), /ended with 65/);
  const accepted = await lance(played.environment, 'audit', 'accept-restore', ...by);
  assert.equal(accepted.code, 0, accepted.stderr);
  const again = await startDaemon(played.environment);
  assert.equal(await causeOf(again), 'paused');
  assert.equal((await lance(played.environment, 'resume', ...by)).code, 0);
  await again.stop();
});

test('a desk that was killed in a pause misses the record of it at its next start', async () => {
  const daemon = await startDaemon(played.environment);
  const paused = await lance(played.environment, 'pause', ...by);
  assert.equal(paused.code, 0, paused.stderr);
  daemon.signal('SIGKILL');
  await sleep(500);
  edit(
    'CREATE TABLE kept AS SELECT * FROM control_changes; DELETE FROM control_changes WHERE number = (SELECT max(number) FROM control_changes)',
  );
  await assert.rejects(startDaemon(played.environment), /ended with 65/);
  edit('DELETE FROM control_changes; INSERT INTO control_changes SELECT * FROM kept; DROP TABLE kept');
  const whole = await startDaemon(played.environment);
  assert.equal(await causeOf(whole), 'paused');
  assert.equal((await lance(played.environment, 'resume', ...by)).code, 0);
  await whole.stop();
});

test('a record changed in the middle of the log closes bidding until a person resumes', async () => {
  edit(`UPDATE auctions SET value = replace(value, '"at":', '"at": ') WHERE offset = 1`);
  const daemon = await startDaemon(played.environment);
  try {
    played.sandbox.connect(daemon.url);
    await until('no alarm', () => alarmed(daemon));
    const sent = bidsSent();
    await played.sandbox.run(20);
    assert.equal(bidsSent(), sent, 'a bid was sent by a log that was changed');
    assert.equal(await causeOf(daemon), 'log-changed');
    const environment = { ...played.environment, LANCE_HTTP_PORT: new URL(daemon.url).port };
    const { stdout } = await lance(environment, 'status', '--lang', 'pt');
    assert.match(stdout, /^detalhe\s.*\bregistros? \d.* de auctions/m);
    const resumed = await lance(played.environment, 'resume', ...by, '--lang', 'en');
    assert.equal(resumed.code, 0, resumed.stderr);
    await runUntilBid(sent);
    assert.equal(await causeOf(daemon), null);
  } finally {
    await daemon.stop();
  }
});
