/** After an accepted restore whose claims are not all known: nothing received before a time is bid for, and everybody says until when. */
import assert from 'node:assert/strict';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
const who = ['--by', 'ana', '--reason', 'compared'];

before(async () => {
  played = await openStage(23);
});

after(async () => {
  await played.close();
});

test('while requests of before the restore are not bid for, no surface says that the desk bids', async () => {
  const { LANCE_DATA_DIR: directory } = played.environment;
  const first = await startDaemon(played.environment);
  await first.stop();
  cpSync(directory, `${directory}.backup`, { recursive: true });
  const second = await startDaemon(played.environment);
  played.sandbox.connect(second.url);
  await played.sandbox.run(3);
  await second.stop();
  rmSync(directory, { recursive: true });
  renameSync(`${directory}.backup`, directory);
  rmSync(`${directory}.anchor.claims`);
  const accepted = await lance(played.environment, 'audit', 'accept-restore', ...who, '--json');
  assert.equal(accepted.code, 0, accepted.stderr);
  const { complete, noBidReceivedBefore } = JSON.parse(accepted.stdout);
  assert.equal(complete, false);
  const isoUntil = new Date(noBidReceivedBefore).toISOString();

  const daemon = await startDaemon(played.environment);
  const environment = { ...played.environment, LANCE_HTTP_PORT: new URL(daemon.url).port };
  try {
    const resumed = await lance(environment, 'resume', ...who, '--lang', 'en');
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.doesNotMatch(resumed.stdout, /Bidding again/);
    assert.match(resumed.stdout, /not paused any more.*received before \d{4}-/s);
    const again = await lance(environment, 'resume', ...who, '--lang', 'en');
    assert.doesNotMatch(again.stdout, /bidding goes on/);
    assert.match(again.stdout, /not paused.*received before \d{4}-/s);
    const inPortuguese = await lance(environment, 'resume', ...who);
    assert.match(inPortuguese.stdout, /recebid[ao]s? antes de \d\d\/\d\d/);

    const status = await lance(environment, 'status', '--json');
    const { bidding, ready } = JSON.parse(status.stdout);
    assert.deepEqual(
      [bidding.kind, bidding.cause, bidding.until, ready],
      ['closed', 'restored', noBidReceivedBefore, false],
    );
    const shown = await lance(environment, 'status', '--lang', 'en');
    assert.match(shown.stdout, /CLOSED: [^(]*\(restored\)[\s\S]*until +\d{4}-\d\d-\d\d/);
    const readiness = await fetch(new URL('/readyz?verbose', daemon.url));
    assert.equal(readiness.status, 503);
    const checks = await readiness.text();
    assert.ok(checks.includes(`bidding is closed: restored`) && checks.includes(`until ${isoUntil}`), checks);
    const metrics = await (await fetch(new URL('/metrics', daemon.url))).text();
    assert.match(metrics, /lance_bidding_status\{cause="restored"\} 1/);
    assert.match(metrics, /lance_bidding_status\{cause="none"\} 0/);
    const doctor = await lance(environment, 'doctor', '--lang', 'en');
    assert.match(doctor.stdout, /closed since .*\(restored\).*until \d{4}-/s);
    assert.doesNotMatch(doctor.stdout, /bidding is open/);

    played.sandbox.connect(daemon.url);
    await played.sandbox.run(3);
    const bids = await lance(environment, 'bids', 'list', '--json');
    const listed = bids.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.ok(listed.length > 0, bids.stderr);
    assert.ok(
      listed.every(({ code }) => code === 'restored'),
      bids.stdout,
    );
    const bid = await lance(environment, 'bids', 'show', listed[0].requestId, '--lang', 'en');
    assert.ok(bid.stdout.replaceAll(/\s+/g, ' ').includes(`received before ${isoUntil}`), bid.stdout);
  } finally {
    await daemon.stop();
  }
});
