/** What kept a request from its end stands in its story: refused attempts, and what it waited for and how long. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Hindrance } from '../../src/domain/records.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
let daemon: Daemon;
let environment: Record<string, string>;
let root: string;
const windowMs = 2_500;
const apiToken = 'a-token-of-the-risk-team';

before(async () => {
  played = await openStage(41, windowMs);
  const hash = createHash('sha256').update(apiToken).digest('hex');
  environment = { ...played.environment, LANCE_API_TOKENS: `ana:risk:${hash}` };
  daemon = await startDaemon(environment);
  root = new URL('/', daemon.url).href;
  played.sandbox.connect(daemon.url);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

/** A request that ended with this code, and what its story says. */
async function storyOf(code: string): Promise<{ requestId: string; hindrances: Hindrance[]; history: unknown[] }> {
  for (let looks = 0; looks < 40; looks += 1) {
    const listed = jsonLines<{ requestId: string; code: string }>(
      (await lance(environment, 'bids', 'list', '--json', '--limit', '100')).stdout,
    );
    const found = listed.find((row) => row.code === code);
    if (found !== undefined)
      return JSON.parse((await lance(environment, 'bids', 'show', found.requestId, '--json')).stdout);
    await setTimeout(250);
  }
  throw new Error(`no request ended with ${code}`);
}

test('a request that ended in a pause waited for its end: from its receipt to its deadline', async () => {
  const order = ['--by', 'ana', '--reason', 'teste'];
  assert.equal((await lance(environment, 'pause', ...order)).code, 0);
  await played.sandbox.run(10);
  const { requestId, hindrances } = await storyOf('paused');
  const waits = hindrances.filter(({ kind, cause }) => kind === 'wait' && cause === 'paused');
  assert.equal(waits.length, 1, JSON.stringify(hindrances));
  const lastedMs = waits[0]!.until - waits[0]!.from;
  assert.ok(lastedMs > 1_000 && lastedMs <= windowMs + 500, `${lastedMs} ms`);
  const pt = await lance(environment, 'bids', 'show', requestId);
  assert.match(pt.stdout, /esperou \d,\d s com os lances fechados: em pausa \(paused\)/);
  const en = await lance(environment, 'bids', 'show', requestId, '--lang', 'en');
  assert.match(en.stdout, /waited \d\.\d s, bidding was closed: paused \(paused\)/);
  const asked = await fetch(`${root}v1/bids/${requestId}`, { headers: { authorization: `Bearer ${apiToken}` } });
  assert.deepEqual(((await asked.json()) as { hindrances: Hindrance[] }).hindrances, hindrances);
  assert.equal((await lance(environment, 'resume', ...order)).code, 0);
  const recoveredAt = Date.now() + 5_000;
  const recoveries = () => daemon.lines.filter(({ msg, from }) => msg === 'bidding-open' && from !== undefined);
  while (recoveries().length === 0 && Date.now() < recoveredAt) await setTimeout(50);
  const recovery = recoveries().at(-1);
  assert.equal(recovery?.from, 'paused');
  assert.ok(Number(recovery?.durationMs) > 1_000, 'the recovery says how long it was');
});

test('a token that the service refuses: the attempts of the request, and its wait', async () => {
  played.sandbox.revokeTokens();
  await played.sandbox.run(20);
  const { requestId, hindrances } = await storyOf('service-unauthorised');
  const told = hindrances.map(({ kind, cause }) => `${kind} ${cause}`);
  assert.ok(told.includes('wait service-unauthorised'), told.join(', '));
  const { stdout } = await lance(environment, 'bids', 'show', requestId, '--lang', 'en');
  assert.match(stdout, /waited \d\.\d s, bidding was closed: the service refuses the token \(service-unauthorised\)/);
  const rows = jsonLines<{ requestId: string; code: string }>(
    (await lance(environment, 'bids', 'list', '--json', '--limit', '100')).stdout,
  ).filter(({ code }) => code === 'service-unauthorised');
  const stories = await Promise.all(
    rows.map(async (row) => JSON.parse((await lance(environment, 'bids', 'show', row.requestId, '--json')).stdout)),
  );
  const attempts = stories.flatMap(({ hindrances: all }) =>
    (all as Hindrance[]).filter(({ kind, cause }) => kind !== 'wait' && cause === 'unauthorised'),
  );
  assert.ok(attempts.length > 0, 'no request tells of its refused attempt');
});
