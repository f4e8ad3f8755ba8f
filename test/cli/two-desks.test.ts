/** Two desks on one log, ordered over the API of one of them: the other obeys within a second, and lets no revoked token in. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bidPath } from '../../src/wire/bid.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

/** Long enough for bids on a loaded machine. */
const windowMs = 10_000;
const adminToken = 'a-token-of-the-admin';

await describeOnStack('two desks ordered over one API', (stack) => {
  let stage: Played;
  let desks: readonly Daemon[] = [];
  let environment: Record<string, string>;

  before(async () => {
    stage = await openStage(31, windowMs);
    const path = join(stage.directory, 'kafka.json');
    const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: windowMs / 2, resultTimeoutMs: 5_000 };
    const kafka = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions: 4, replication: 1 };
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
    const hash = createHash('sha256').update(adminToken).digest('hex');
    environment = {
      ...{ ...stage.environment, LANCE_LANG: 'en', LANCE_CONFIG: path, LANCE_API_TOKENS: `ana:admin:${hash}` },
      ...stackEnvironment(stack),
    };
    const first = await startDaemon(environment);
    // Where views are in files each process has a directory of its own.
    desks = [first, await startDaemon({ ...environment, LANCE_DATA_DIR: join(stage.directory, 'second') })];
    stage.sandbox.connect(first.url);
  });
  after(async () => {
    for (const desk of desks) await desk.stop();
    await stage.close();
  });

  const rootOf = (desk: number) => new URL(desks[desk]!.url).origin;
  const ask = async (desk: number, path: string, token: string, body?: object) => {
    const answer = await fetch(`${rootOf(desk)}/v1/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const over = (token: string, ...words: string[]) =>
    lance({ LANCE_LANG: 'en', LANCE_URL: rootOf(0), LANCE_TOKEN: token }, ...words);
  const bids = () => stage.sandbox.record.of('call').filter(({ path }) => path === bidPath);

  async function until(is: () => Promise<boolean>, timeoutMs: number): Promise<number> {
    const startedAt = performance.now();
    while (!(await is())) {
      assert.ok(performance.now() - startedAt < timeoutMs, `not within ${timeoutMs} ms`);
      await sleep(25);
    }
    return performance.now() - startedAt;
  }

  test('a pause over the API of one stops both within a second', { timeout: 300_000 }, async (context) => {
    const owned = async (desk: number) => {
      const { partitions } = (await ask(desk, 'status', adminToken)).body as { partitions: { owned: number[] } };
      return partitions.owned.length;
    };
    await until(async () => (await owned(0)) > 0 && (await owned(1)) > 0, 120_000);
    const running = stage.sandbox.run(120);
    await until(async () => bids().length > 5, 60_000);
    const orderedAt = Date.now();
    const paused = await ask(0, 'controls/pause', adminToken, { reason: 'teste' });
    assert.equal(paused.status, 200, JSON.stringify(paused.body));
    assert.equal((paused.body.obeyedBy as string[]).length, 2);
    await running;
    // What was written before a desk had heard of it may arrive a moment later.
    const lastMs = Math.max(...bids().map(({ arrivedAt }) => arrivedAt - orderedAt));
    context.diagnostic(`last bid ${lastMs} ms after the order`);
    assert.ok(lastMs < 1_000, `${lastMs} ms`);
    const { bidding } = (await ask(1, 'status', adminToken)).body as { bidding: { cause: string; by: string } };
    assert.deepEqual([bidding.cause, bidding.by], ['paused', 'ana']);
  });

  test('the command line orders over the API without a store, as the owner of its token', async () => {
    const resumed = await over(adminToken, 'resume', '--reason', 'visto');
    assert.deepEqual([resumed.code, /Bidding again \(revision \d+\), by 2 process/.test(resumed.stdout)], [0, true]);
    const other = await over(adminToken, 'pause', '--by', 'bruno', '--reason', 'x');
    assert.deepEqual([other.code, /is of ana, not of bruno/.test(other.stderr)], [65, true]);
    const cap = await over(adminToken, 'cap', 'mesa', '--reais-a-day', '250000', '--reason', 'fim do mês');
    assert.deepEqual([cap.code, /R\$ 250,000\.00 a day/.test(cap.stdout)], [0, true], cap.stderr + cap.stdout);
    assert.match((await over(adminToken, 'cap', 'mesa')).stdout, /of R\$ 250,000\.00 promised today/);
    assert.equal((await over(adminToken, 'cap', 'nobody')).code, 66);
    const history = jsonLines<{ kind: string; by: string; via: string }>(
      (await over(adminToken, 'controls', 'history', '--json')).stdout,
    );
    assert.deepEqual([history[0]!.kind, history[0]!.by, history[0]!.via], ['cap-set', 'ana', 'api']);
    // Beside the store it is said of nobody who is known.
    assert.equal((await lance(environment, 'cap', 'mesa', '--remove', '--by', 'ana', '--reason', 'x')).code, 0);
    assert.match((await over(adminToken, 'controls', 'history', '--limit', '1')).stdout, /ana \(offline\)/);
    const unknown = await over(adminToken, 'bids', 'resolve', '1', '--as', 'lost', '--reason', 'x');
    assert.deepEqual([unknown.code, unknown.stdout], [66, '']);
    assert.equal((await over(adminToken, 'letters', 'list')).code, 0);
    assert.match((await over(adminToken, 'letters', 'replay')).stdout, /0/);
    assert.match((await over('wrong-token', 'pause', '--reason', 'x')).stderr, /answered 401/);
    const away = await lance(
      { LANCE_LANG: 'en', LANCE_URL: 'http://127.0.0.1:9', LANCE_TOKEN: 'x' },
      'resume',
      '--reason',
      'x',
    );
    assert.deepEqual([away.code, /No desk answers/.test(away.stderr)], [69, true]);
  });

  test('a token is given out on one desk, works on the other, and is revoked on both within 5 seconds', async (context) => {
    const made = await over(adminToken, 'tokens', 'create', '--owner', 'bruno', '--role', 'risk', '--json');
    assert.equal(made.code, 0, made.stderr);
    const { id, token } = JSON.parse(made.stdout) as { id: string; token: string };
    const statusOn = async (desk: number) => (await ask(desk, 'identity', token)).status;
    assert.equal(await statusOn(0), 200);
    await until(async () => (await statusOn(1)) === 200, 5_000);
    assert.equal((await over(token, 'tokens', 'list')).code, 77, 'a role of risk sees no tokens');
    // Beside the store, while both run.
    assert.match((await lance(environment, 'tokens', 'list')).stdout, new RegExp(`${id} +bruno +risk .* ana `));
    const revoked = await lance(environment, 'tokens', 'revoke', id, '--by', 'carla');
    assert.match(revoked.stdout, new RegExp(`Token ${id} of bruno revoked`));
    // Each is asked until it refuses. Whoever goes on with a wrong token gets 429, as the second desk may have counted above.
    const refused = (desk: number) => until(async () => [401, 429].includes(await statusOn(desk)), 5_000);
    const tookMs = Math.max(...(await Promise.all([refused(0), refused(1)])));
    context.diagnostic(`revoked on both ${Math.round(tookMs)} ms after the command had ended`);
    const unnamed = await lance(environment, 'tokens', 'create', '--owner', 'bia', '--role', 'viewer');
    assert.deepEqual([unnamed.code, /--by NAME/.test(unnamed.stderr)], [1, true]);
  });
});
