/** A token that is refused, from the start or later, closes bidding, and is seen to work without any traffic, by no bid. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { bidPath } from '../../src/wire/bid.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
let daemon: Daemon;
let token: string;

before(async () => {
  played = await openStage(51, 2_000);
  const { LANCE_ACCESS_TOKEN: first = '', ...environment } = played.environment as Record<string, string>;
  token = join(played.directory, 'token');
  writeFileSync(token, first);
  daemon = await startDaemon({ ...environment, LANCE_TOKEN_COMMAND: `cat ${token}` });
  played.sandbox.connect(daemon.url);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

async function causeShown(): Promise<string | null> {
  const answer = await fetch(new URL('/status', daemon.url));
  return ((await answer.json()) as { bidding: { cause: string | null } }).bidding.cause;
}

async function until(cause: string | null, timeoutMs: number): Promise<number> {
  const startedAt = Date.now();
  while ((await causeShown()) !== cause) {
    assert.ok(Date.now() - startedAt < timeoutMs, `${await causeShown()} after ${timeoutMs} ms`);
    await setTimeout(100);
  }
  return Date.now() - startedAt;
}

test('bidding opens within seconds of a new token, with no traffic and no bid', async (t) => {
  await played.sandbox.run(10);
  played.sandbox.revokeTokens();
  await played.sandbox.run(10);
  await until('service-unauthorised', 10_000);
  // Every auction is over: from here on nobody asks the service for anything of its own.
  await setTimeout(3_000);
  const before = played.sandbox.record.of('call').length;
  assert.equal(await causeShown(), 'service-unauthorised');
  const issued = (await (await fetch(`${played.environment.LANCE_BASE_URL}/sandbox/token`)).json()) as {
    token: string;
  };
  writeFileSync(token, issued.token);
  const tookMs = await until(null, 15_000);
  t.diagnostic(`figure: open ${tookMs} ms after the new token`);
  assert.ok(tookMs < 8_000, `${tookMs} ms`);
  const calls = played.sandbox.record.of('call').slice(before);
  assert.ok(calls.length > 0 && calls.length <= 5, `${calls.length} calls`);
  assert.ok(calls.every(({ path }) => path !== bidPath));
  const told = () => daemon.lines.some(({ msg, from }) => msg === 'bidding-open' && from === 'service-unauthorised');
  for (let looks = 0; looks < 50 && !told(); looks += 1) await setTimeout(100);
  assert.ok(told(), 'the recovery is logged');
});

test('a fixed token that is refused closes bidding at the start, before any traffic, and webhooks are taken', async () => {
  const stage = await openStage(52, 2_000);
  const desk = await startDaemon({ ...stage.environment, LANCE_ACCESS_TOKEN: 'nobody-has-issued-this' });
  try {
    const shown = async (path: string) => (await fetch(new URL(path, desk.url))).text();
    const cause = async () =>
      (JSON.parse(await shown('/status')) as { bidding: { cause: string | null } }).bidding.cause;
    for (let looks = 0; looks < 50 && (await cause()) === null; looks += 1) await setTimeout(100);
    assert.equal(await cause(), 'service-unauthorised');
    assert.match(await shown('/metrics'), /lance_bidding_status\{cause="service-unauthorised"\} 1/);
    assert.match(await shown('/readyz?verbose'), /service-unauthorised/);
    const calls = stage.sandbox.record.of('call');
    assert.ok(calls.length > 0 && calls.length <= 3, `${calls.length} calls`);
    assert.ok(calls.every(({ path }) => path !== bidPath));
    stage.sandbox.connect(desk.url);
    await stage.sandbox.run(2);
    const codesNow = async () => {
      const listed = await lance(stage.environment, 'bids', 'list', '--json');
      return jsonLines<{ code: string | null }>(listed.stdout).map(({ code }) => code);
    };
    // They wait for the token to the end of their auctions, and their end is written after that.
    let codes = await codesNow();
    for (let looks = 0; looks < 10 && codes.includes(null); looks += 1) codes = await codesNow();
    assert.deepEqual([...new Set(codes)], ['service-unauthorised'], 'its webhooks are taken');
  } finally {
    await desk.stop();
    await stage.close();
  }
});
