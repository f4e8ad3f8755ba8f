/** Two desks on one log, ordered over the API of one of them: the other obeys within a second, and lets no revoked token in. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bidPath } from '../../src/wire/bid.ts';
import { clientId, clientSecret, openBrowser, startProvider } from '../http/openid.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

/** In front of several processes: the first request goes to the first, the next to the next. `taken`: which one got which path. */
async function openBalancer(origins: () => readonly string[]) {
  const taken: [desk: number, path: string][] = [];
  const server = createServer((request, response) => {
    const desk = taken.length % origins().length;
    taken.push([desk, request.url!.split('?', 1)[0]!]);
    const { method, headers } = request;
    const onward = forward(new URL(request.url!, origins()[desk]), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Long enough for bids on a loaded machine. */
const windowMs = 10_000;
const adminToken = 'a-token-of-the-admin';

await describeOnStack('two desks ordered over one API', (stack) => {
  let stage: Played;
  let desks: readonly Awaited<ReturnType<typeof startDaemon>>[] = [];
  let environment: Record<string, string>;
  let balancer: Awaited<ReturnType<typeof openBalancer>>;
  const ends: (() => void)[] = [];

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
    balancer = await openBalancer(() => desks.map(({ url }) => new URL(url).origin));
    const people = { bia: { email: 'bia@desk.example', email_verified: true, groups: ['desk-risk'] } };
    const ending = { after: (end: () => void) => void ends.push(end) } as Parameters<typeof startProvider>[0];
    const issuer = await startProvider(ending, people, `${balancer.origin}/v1/login/callback`);
    const oidc = {
      ...{ issuer, clientId, clientSecret, redirectBase: balancer.origin, scopes: ['openid', 'email', 'groups'] },
      roles: [{ value: 'desk-risk', role: 'risk' }],
    };
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), oidc }));
    const first = await startDaemon(environment);
    // Where views are in files each process has a directory of its own.
    desks = [first, await startDaemon({ ...environment, LANCE_DATA_DIR: join(stage.directory, 'second') })];
    stage.sandbox.connect(first.url);
  });
  after(async () => {
    for (const desk of desks) await desk.stop();
    for (const end of ends) end();
    balancer?.close();
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

  test('a log-in that is begun at one desk is finished at the other, and counts at both', async (context) => {
    const { origin, taken } = balancer;
    const browser = openBrowser();
    taken.length = 0;
    const { response } = await browser.logIn(`${origin}/v1/login?to=/v1/openapi.json`, 'bia');
    assert.equal(response.status, 200, JSON.stringify(taken));
    const deskOf = (path: string) => taken.find(([, asked]) => asked === path)?.[0];
    assert.deepEqual([deskOf('/v1/login'), deskOf('/v1/login/callback')], [0, 1]);
    const cookie = `lance_session=${browser.jar.get(`${origin} lance_session`)}`;
    const identityAt = async (desk: number) => {
      const answer = await fetch(`${rootOf(desk)}/v1/identity`, { headers: { cookie } });
      return { status: answer.status, body: (await answer.json()) as { name: string; csrfToken: string } };
    };
    assert.equal((await identityAt(1)).status, 200, 'where it was finished');
    const heardMs = await until(async () => (await identityAt(0)).status === 200, 5_000);
    context.diagnostic(`the session counts at the other desk after ${Math.round(heardMs)} ms`);
    const [{ body }, other] = [await identityAt(0), await identityAt(1)];
    assert.deepEqual([body.name, other.body.csrfToken], ['bia@desk.example', body.csrfToken]);
    // What one desk has told a page is taken by the other.
    const ordered = async (desk: number, path: string, sent: object) =>
      fetch(`${rootOf(desk)}/v1/${path}`, {
        method: 'POST',
        headers: { cookie, 'x-csrf-token': body.csrfToken, 'content-type': 'application/json' },
        body: JSON.stringify(sent),
      });
    assert.equal((await ordered(0, 'controls/pause', { reason: 'teste' })).status, 200);
    assert.equal((await ordered(1, 'controls/resume', { reason: 'visto' })).status, 200);
    assert.equal((await ordered(1, 'logout', {})).status, 200);
    const gone = (desk: number) => until(async () => (await identityAt(desk)).status === 401, 5_000);
    const endedMs = Math.max(...(await Promise.all([gone(0), gone(1)])));
    context.diagnostic(`over on both after ${Math.round(endedMs)} ms`);
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

  test('a desk that hangs is said to hang, though the other one lives', async () => {
    desks[0]!.signal('SIGSTOP');
    try {
      const at = { ...environment, LANCE_LANG: 'en' };
      const [{ code, stdout }, told] = await Promise.all([lance(at, 'status'), lance(at, 'doctor', '--json')]);
      assert.equal(code, 69);
      assert.match(
        stdout.replaceAll(/\s+/g, ' '),
        /holds the data directory and does not answer: it is starting, or hangs/,
      );
      assert.match(told.stdout, /daemon-silent/);
    } finally {
      desks[0]!.signal('SIGCONT');
    }
  });
});
