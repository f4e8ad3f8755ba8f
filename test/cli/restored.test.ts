/** After an accepted restore whose claims are not all known: nothing received before a time is bid for, and everybody says until when. */
import assert from 'node:assert/strict';
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { anchorFileOf } from '../../src/adapters/embedded/anchor.ts';
import { nextLink } from '../../src/adapters/embedded/chain.ts';
import { openSetBack } from '../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../src/adapters/vault/audit-key.ts';
import { lostAnswer, restoredPass } from '../../src/bidding/react.ts';
import { encodeBid } from '../../src/wire/bid.ts';
import { claimed, offer } from '../bidding/parts.ts';
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
  // Shorter than the auctions, of which one may be open still (stranger 15, session 46).
  const settings = `${directory}.json`;
  writeFileSync(settings, JSON.stringify({ bidding: { windowMs: 7_200_000 } }));
  const impatient = { ...played.environment, LANCE_CONFIG: settings };
  const accepted = await lance(impatient, 'audit', 'accept-restore', ...who, '--json');
  assert.equal(accepted.code, 0, accepted.stderr);
  const { complete, at, noBidReceivedBefore } = JSON.parse(accepted.stdout);
  assert.equal(complete, false);
  assert.equal(noBidReceivedBefore - at, 7_200_000);
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

test('what was bid for in the lost part counts as it was offered, and a person or an event says how it ended', async () => {
  const stage = await openStage(5, 4_000);
  const { environment, sandbox } = stage;
  const { LANCE_DATA_DIR: directory } = environment;
  try {
    const first = await startDaemon(environment);
    await first.stop();
    cpSync(directory, `${directory}.backup`, { recursive: true });
    const second = await startDaemon(environment);
    sandbox.connect(second.url);
    await sandbox.run(30);
    const listed = async () => {
      const { stdout } = await lance(environment, 'bids', 'list', '--limit', '1000', '--json');
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    };
    await second.stop();
    const bids = (await listed()).filter(({ rateHundredths }) => rateHundredths !== null);
    assert.ok(bids.length > 2, `${bids.length} bids`);
    rmSync(directory, { recursive: true });
    renameSync(`${directory}.backup`, directory);

    // Acceptances that were killed after a page have written behind what the log had, further than the claims stood (line 21).
    const anchor = {
      ...anchorFileOf(directory, null),
      key: createAuditKey(environment.LANCE_PSEUDONYM_KEY!),
      everyMs: 300_000,
    };
    const killed = await openSetBack({ directory, anchor, emptied: false, onFault: assert.fail });
    assert.ok(killed !== null);
    const lostEnd = killed.lost?.auctions?.[0] ?? assert.fail('nothing was lost');
    const page = [...killed.claimed.claims].slice(0, Math.ceil(bids.length / 2));
    const at = Date.now();
    const written = page.flatMap(([key, claim]) =>
      [restoredPass(key, at), lostAnswer(key, claim, at)].map(
        (record) => ({ topic: 'auctions', key, record }) as const,
      ),
    );
    while (((await killed.log.ends('auctions')).get(0) ?? 0) < lostEnd) await killed.log.append(written);
    await killed.close();

    const accepted = await lance(environment, 'audit', 'accept-restore', ...who, '--json');
    assert.equal(accepted.code, 0, accepted.stderr);
    const { claimed, withOffer, promisedCents: promised, complete } = JSON.parse(accepted.stdout);
    const offered = bids.reduce((sum, { amountCents }) => sum + amountCents, 0);
    assert.deepEqual([claimed, withOffer, promised, complete], [bids.length, bids.length, offered, true]);

    const third = await startDaemon(environment);
    const beside = { ...environment, LANCE_HTTP_PORT: new URL(third.url).port };
    const promisedCents = async () => {
      const metrics = await (await fetch(new URL('/metrics', third.url))).text();
      return ['held', 'committed'].map((status) => {
        const [, reais] = metrics.match(new RegExp(`lance_exposure_reais\\{status="${status}"\\} (\\S+)`)) ?? [];
        return Math.round(Number(reais) * 100);
      });
    };
    try {
      assert.deepEqual(await promisedCents(), [offered, 0]);
      const states = (await listed()).map(({ state }) => state);
      assert.ok(
        states.every((state) => state === 'unknown' || state === 'result-missing'),
        `${states}`,
      );
      const [one, other] = bids;
      const shown = await lance(beside, 'bids', 'show', one.requestId, '--lang', 'en');
      assert.match(shown.stdout, /the bytes are not in the log/);
      const won = ['bids', 'resolve', one.requestId, '--as', 'contemplated', ...who];
      assert.equal((await lance(beside, ...won)).code, 0);
      const lost = ['bids', 'resolve', other.requestId, '--as', 'not-landed', ...who];
      assert.equal((await lance(beside, ...lost)).code, 0);
      assert.deepEqual(await promisedCents(), [offered - one.amountCents - other.amountCents, one.amountCents]);
      const example = await lance(beside, 'contracts', 'example', one.requestId);
      assert.equal(example.code, 0, example.stderr);
      assert.match(example.stdout, new RegExp(`"rateHundredths": ${one.rateHundredths}`));
    } finally {
      await third.stop();
    }
  } finally {
    await stage.close();
  }
});

test('a claim that somebody put into a stopped store is not sent, also where the store is accepted as it is', async () => {
  const stage = await openStage(7);
  const { environment, sandbox } = stage;
  const directory = environment.LANCE_DATA_DIR!;
  try {
    const first = await startDaemon(environment);
    sandbox.connect(first.url);
    await sandbox.run(10);
    await first.stop();
    const database = new DatabaseSync(join(directory, 'lance.sqlite'));
    const requestId = '77700000000';
    const asked = `SELECT value FROM auctions WHERE json_extract(value, '$.kind') = 'requested' LIMIT 1`;
    const request = JSON.parse((database.prepare(asked).get() as { value: string }).value);
    const terms = { ...offer, amountCents: 10_000, rateHundredths: 2, validUntil: Date.now() + 172_800_000 };
    const body = encodeBid({
      requestId,
      offer: terms,
      contacts: [{ kind: 'url', value: 'https://parceiro.example/credito' }],
    });
    const made = claimed('made-up', { requestId, at: Date.now(), offer: terms, body });
    const insert = database.prepare('INSERT INTO auctions VALUES (?, ?, ?, ?)');
    const last = database.prepare('SELECT offset, chain FROM auctions ORDER BY offset DESC LIMIT 1').get();
    let { offset, chain } = last as { offset: number; chain: string };
    for (const record of [{ ...request, requestId, at: Date.now() }, made]) {
      offset += 1;
      const value = JSON.stringify(record);
      chain = nextLink(chain, offset, requestId, value);
      insert.run(offset, requestId, value, chain);
    }
    database.close();

    for (const command of [['doctor'], ['audit', 'verify']]) {
      const told = await lance(environment, ...command, '--lang', 'en');
      assert.notEqual(told.code, 0);
      // The request, which comes first.
      assert.match(told.stdout.replaceAll(/\s+/g, ' '), new RegExp(`\\b${offset - 1}\\b`));
    }
    await assert.rejects(startDaemon(environment), /ended with 65/);
    const accepted = await lance(environment, 'audit', 'accept-restore', ...who, '--json');
    assert.equal(accepted.code, 0, accepted.stderr);
    const second = await startDaemon(environment);
    try {
      const reached = { ...environment, LANCE_HTTP_PORT: new URL(second.url).port };
      const { stdout } = await lance(reached, 'bids', 'list', '--limit', '1000', '--json');
      const bids = stdout.trim().split('\n');
      const { state, code } = JSON.parse(bids.find((line) => line.includes(requestId)) ?? assert.fail(stdout));
      assert.deepEqual([state, code], ['passed', 'restored']);
    } finally {
      await second.stop();
    }
  } finally {
    await stage.close();
  }
});
