/** People log in at an OpenID provider: the whole way with a real one, and what one that lies gets. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { openHouse } from '../bidding/house.ts';
import { flowsSandbox, noRivals } from '../flows/world.ts';
import {
  type Browser,
  clientId,
  clientSecret,
  freePort,
  type Lie,
  openBrowser,
  startLiar,
  startProvider,
} from './openid.ts';

const secret = 'a-token-of-an-admin';
const tokens = [{ name: 'root', role: 'admin', sha256: createHash('sha256').update(secret).digest('hex') }];

async function startDesk(context: TestContext, port: number, issuer: string, oidc: object = {}) {
  const origin = `http://127.0.0.1:${port}`;
  const lines: string[] = [];
  const house = await openHouse({
    ...{ seed: 5, sandbox: flowsSandbox(false), rivals: noRivals, bidding: {} },
    more: {
      api: { tokens },
      http: { apiPort: port },
      oidc: {
        ...{ issuer, clientId, clientSecret, redirectBase: `${origin}/`, scopes: ['openid', 'email', 'groups'] },
        roles: [
          { value: 'desk-admins', role: 'admin' },
          { value: 'desk-operators', role: 'operator' },
        ],
        ...oidc,
      },
    },
    onLine: (line) => lines.push(line),
  });
  context.after(() => house.close());
  const login = `${origin}/v1/login`;
  const asAdmin = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return { ...house, origin, login, asAdmin, lines };
}

type Desk = Awaited<ReturnType<typeof startDesk>>;

const json = async (response: Response) => (await response.json()) as Record<string, unknown>;
const read = (browser: Browser, url: string) => browser.request(url);
const send = (browser: Browser, url: string, body: unknown, headers: Record<string, string>) =>
  browser.request(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });

async function sessionIn(browser: Browser, { origin }: Desk): Promise<Record<string, unknown> & { csrfToken: string }> {
  const response = await read(browser, `${origin}/v1/identity`);
  assert.equal(response.status, 200);
  return (await json(response)) as never;
}

const people = {
  ana: { email: 'ana@desk.example', email_verified: true, groups: ['everybody', 'desk-operators'] },
  bruno: { email: 'bruno@desk.example', email_verified: true, groups: ['desk-admins', 'desk-operators'] },
  carla: { email: 'carla@desk.example', email_verified: true, groups: ['everybody'] },
  dora: { email: 'dora@desk.example', email_verified: false, groups: ['desk-operators'] },
  erico: { groups: ['desk-operators'] },
  gil: { email: 'Local', groups: ['desk-operators'] },
  flavia: { email: 'flavia and others@desk.example', groups: ['desk-operators'] },
};

test('a person logs in at a real provider, orders as herself, and logs out', async (context) => {
  const port = await freePort();
  const issuer = await startProvider(context, people, `http://127.0.0.1:${port}/v1/login/callback`);
  const desk = await startDesk(context, port, issuer);
  const browser = openBrowser();

  const before = await read(browser, `${desk.origin}/v1/identity`);
  assert.deepEqual(
    [before.status, (await json(before)).detail],
    [401, 'Send Authorization: Bearer and a token that is known here, or log in at /v1/login.'],
  );

  const { response, visited } = await browser.logIn(`${desk.login}?to=/v1/openapi.json`, 'ana');
  assert.deepEqual([response.status, visited.at(-1)], [200, `${desk.origin}/v1/openapi.json`]);
  const sentTo = new URL(visited.find((url) => url.startsWith(`${issuer}/auth`))!);
  assert.equal(sentTo.searchParams.get('code_challenge_method'), 'S256');
  const callback = visited.find((url) => url.includes('/v1/login/callback'))!;

  const { csrfToken, expiresAt, ...who } = await sessionIn(browser, desk);
  assert.deepEqual(
    { ...who, tokenId: typeof who.tokenId },
    { name: 'ana@desk.example', role: 'operator', tokenId: 'string' },
  );
  const [begun] = (await desk.store.tokenBook.read()).filter(({ kind }) => kind === 'session-begun');
  assert.ok(begun?.kind === 'session-begun');
  assert.deepEqual(
    [begun.issuer, begun.subject, begun.expiresAt, begun.by],
    [issuer, 'ana', expiresAt, 'ana@desk.example'],
  );
  assert.equal(
    JSON.stringify(begun).includes(browser.jar.get(`${desk.origin} lance_session`)!),
    false,
    'the secret is stored',
  );

  await context.test('orders carry the person, and come from pages of the desk alone', async () => {
    const pause = `${desk.origin}/v1/controls/pause`;
    const reason = { reason: 'a taxa parece errada' };
    const refused = [
      {},
      { 'x-csrf-token': 'another' },
      { 'x-csrf-token': csrfToken, origin: 'https://evil.example' },
      { 'x-csrf-token': csrfToken, origin: 'null' },
      { 'x-csrf-token': csrfToken, 'sec-fetch-site': 'cross-site' },
      { 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of refused) {
      const answer = await send(browser, pause, reason, headers as Record<string, string>);
      assert.deepEqual(
        [answer.status, (await json(answer)).type],
        [403, 'urn:problem:lance:cross-site'],
        JSON.stringify(headers),
      );
    }
    assert.equal((await desk.store.control.read()).pause, null);
    const good = { 'x-csrf-token': csrfToken, origin: desk.origin, 'sec-fetch-site': 'same-origin' };
    assert.equal((await send(browser, pause, reason, good)).status, 200);
    const { pause: held } = await desk.store.control.read();
    assert.deepEqual([held?.by, held?.via], ['ana@desk.example', 'api']);
    const forbidden = await send(browser, `${desk.origin}/v1/tokens`, { owner: 'x', role: 'admin' }, good);
    assert.deepEqual([forbidden.status, (await json(forbidden)).type], [403, 'urn:problem:lance:forbidden']);
  });

  await context.test('a log-in counts once', async () => {
    const used = await read(browser, callback);
    assert.deepEqual([used.status, (await json(used)).outcome], [403, { kind: 'not-begun' }]);
  });

  await context.test('who has no role, no name or no confirmed address is not let in', async () => {
    for (const [person, kind] of [
      ['carla', 'role-missing'],
      ['dora', 'name-unverified'],
      ['erico', 'name-missing'],
      ['flavia', 'name-unfit'],
      ['gil', 'name-unfit'],
    ] as const) {
      const other = openBrowser();
      const { response: refusal } = await other.logIn(desk.login, person);
      assert.deepEqual([refusal.status, (await json(refusal)).outcome], [403, { kind }], person);
      assert.equal((await read(other, `${desk.origin}/v1/identity`)).status, 401);
    }
    const told = desk.lines.filter((line) => line.includes('log-in refused: role-missing'));
    assert.equal(told.length, 1);
    const metrics = await (await fetch(`${desk.engine.url}/metrics`)).text();
    assert.match(metrics, /lance_\w*refus\w*\{[^}]*failed-login[^}]*\} 6\n/);
  });

  await context.test('log-out ends this session, log-out everywhere all of the person', async () => {
    const [second, third, other] = [openBrowser(), openBrowser(), openBrowser()];
    await second.logIn(desk.login, 'ana');
    await third.logIn(desk.login, 'ana');
    await other.logIn(desk.login, 'bruno');
    assert.equal((await sessionIn(other, desk)).role, 'admin', 'the first in the settings counts');
    const listed = (await desk.asAdmin('GET', '/v1/tokens')).body.tokens as { kind: string; owner: string }[];
    assert.deepEqual(
      listed.map(({ kind, owner }) => `${kind} ${owner.split('@')[0]}`),
      ['session bruno', 'session ana', 'session ana', 'session ana'],
    );
    const stolen = new Map(browser.jar);
    const out = await send(browser, `${desk.origin}/v1/logout`, {}, { 'x-csrf-token': csrfToken });
    assert.equal(out.status, 200);
    assert.equal((await json(out)).ended, 1);
    assert.equal(browser.jar.has(`${desk.origin} lance_session`), false, 'the browser keeps the cookie');
    for (const [key, value] of stolen) browser.jar.set(key, value);
    const over = await read(browser, `${desk.origin}/v1/identity`);
    assert.deepEqual(
      [over.status, (await json(over)).detail],
      [401, 'This session is over: log in again at /v1/login.'],
    );
    const { csrfToken: own } = await sessionIn(second, desk);
    const all = await send(second, `${desk.origin}/v1/logout`, { everywhere: true }, { 'x-csrf-token': own });
    assert.deepEqual([all.status, (await json(all)).ended], [200, 2]);
    assert.equal((await read(third, `${desk.origin}/v1/identity`)).status, 401);
    assert.equal((await sessionIn(other, desk)).name, 'bruno@desk.example');
    // An admin ends a session of somebody else as he revokes a token.
    const { tokenId } = await sessionIn(other, desk);
    assert.equal((await desk.asAdmin('POST', `/v1/tokens/${tokenId}/revoke`, {})).status, 200);
    assert.equal((await read(other, `${desk.origin}/v1/identity`)).status, 401);
  });
});

test('log-out in the console and over the API ends the session at the provider as well', async (context) => {
  const port = await freePort();
  const issuer = await startProvider(context, people, `http://127.0.0.1:${port}/v1/login/callback`);
  const desk = await startDesk(context, port, issuer);
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin: desk.origin };
  /** Whether the provider asks for a name, or knows who it is. */
  const isAsked = async (browser: Browser) => {
    const { visited } = await browser.logIn(`${desk.login}?to=/v1/openapi.json`, 'ana');
    return visited.some((url) => url.startsWith(`${issuer}/interaction/`));
  };
  /** From the provider's question to its answer. */
  const confirm = async (browser: Browser, address: string) => {
    const asked = await browser.request(address);
    assert.equal(asked.status, 200, await asked.clone().text());
    const text = await asked.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(text)?.[1];
    const body = new URLSearchParams({ xsrf: xsrf!, logout: 'yes' }).toString();
    const done = await browser.request(action!, { method: 'POST', body, headers: { ...form, origin: issuer } });
    return browser.request(done.headers.get('location')!);
  };

  const browser = openBrowser();
  assert.equal(await isAsked(browser), true);
  const page = await (await browser.request(`${desk.origin}/?lang=en`)).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)![1]!;
  const body = new URLSearchParams({ csrf }).toString();
  const out = await browser.request(`${desk.origin}/console/logout`, { method: 'POST', body, headers: form });
  // A redirection from a form to another site is what `form-action` keeps a browser from following.
  assert.equal(out.status, 200);
  assert.equal(browser.jar.has(`${desk.origin} lance_session`), false);
  assert.equal(browser.jar.has(`${desk.origin} lance_id_token`), false);
  const address = /^0;url=(.*)$/.exec(out.headers.get('refresh') ?? '')?.[1] ?? '';
  const text = await out.text();
  assert.ok(text.includes(`href="${address.replaceAll('&', '&amp;')}"`), text);
  assert.doesNotMatch(text, /console\/logout/, 'nobody is logged in on it');
  const { origin, pathname, searchParams } = new URL(address);
  assert.deepEqual([origin + pathname, searchParams.get('client_id')], [`${issuer}/session/end`, clientId]);
  assert.match(searchParams.get('id_token_hint')!, /^[\w-]+\.[\w-]+\.[\w-]+$/, 'it says whose session');
  assert.equal((await confirm(browser, address)).status, 200);
  assert.equal(await isAsked(browser), true, 'the provider has forgotten who it was');

  // In the same browser, without log-out at the provider.
  const { csrfToken } = await sessionIn(browser, desk);
  const told = await json(await send(browser, `${desk.origin}/v1/logout`, {}, { 'x-csrf-token': csrfToken }));
  assert.equal(await isAsked(browser), false, 'it knows her still');
  const again = await sessionIn(browser, desk);
  await send(browser, `${desk.origin}/v1/logout`, {}, { 'x-csrf-token': again.csrfToken });
  assert.ok(new URL(String(told.providerLogout)).searchParams.has('id_token_hint'));
  assert.equal((await confirm(browser, String(told.providerLogout))).status, 200);
  assert.equal(await isAsked(browser), true);

  await context.test('a provider that says no address to log out at: the page says so', async (inner) => {
    const lying = await startLiar(inner, () => ({ endless: true }));
    const other = await startDesk(inner, await freePort(), lying);
    const visitor = openBrowser();
    await visitor.logIn(other.login, 'ana');
    const shown = await (await visitor.request(`${other.origin}/?lang=en`)).text();
    const own = new URLSearchParams({ csrf: /name="csrf" value="([^"]+)"/.exec(shown)![1]! }).toString();
    const headers = { ...form, origin: other.origin };
    const left = await visitor.request(`${other.origin}/console/logout`, { method: 'POST', body: own, headers });
    assert.deepEqual([left.status, left.headers.get('location')], [303, '/?notice=out-here']);
    const last = await visitor.request(`${other.origin}/?notice=out-here`, { headers: { 'accept-language': 'en' } });
    assert.match(await last.text(), /log out there as well/);
  });
});

test('cookies are for the desk alone, and secure where there is TLS', async (context) => {
  const issuer = await startLiar(context, () => ({}));
  const port = await freePort();
  const desk = await startDesk(context, port, issuer, { redirectBase: 'https://desk.example' });
  const begun = await fetch(`${desk.origin}/v1/login`, { redirect: 'manual' });
  const [cookie] = begun.headers.getSetCookie();
  assert.match(
    cookie!,
    /^__Host-lance_login=[\w-]{43}\/v1\/docs; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
  );
  assert.equal(begun.headers.get('cache-control'), 'no-store');
  for (const to of [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'evil',
    `/${'a'.repeat(300)}`,
    '/a\r\nx: y',
  ]) {
    const refused = await fetch(`${desk.origin}/v1/login?to=${encodeURIComponent(to)}`, { redirect: 'manual' });
    assert.equal(refused.status, 422, to);
  }
});

test('a provider that lies lets nobody in, and nothing fails', async (context) => {
  let lie: Lie = {};
  const issuer = await startLiar(context, () => lie);
  const port = await freePort();
  const desk = await startDesk(context, port, issuer);
  const now = Math.floor(Date.now() / 1_000);
  const lies: [name: string, lie: Lie, kind: string][] = [
    ['another issuer', { claims: { iss: 'https://evil.example' } }, 'id-token-refused'],
    ['another audience', { claims: { aud: 'another-client' } }, 'id-token-refused'],
    ['several audiences', { claims: { aud: [clientId, 'another-client'] } }, 'id-token-refused'],
    ['expired', { claims: { iat: now - 7_200, exp: now - 3_600 } }, 'id-token-refused'],
    ['another nonce', { claims: { nonce: 'of-another-log-in' } }, 'id-token-refused'],
    ['no nonce', { claims: { nonce: undefined } }, 'id-token-refused'],
    ['no signature', { header: { alg: 'none' } }, 'id-token-refused'],
    ['a secret as key', { header: { alg: 'HS256' } }, 'id-token-refused'],
    ['a key of others', { foreignKey: true }, 'id-token-refused'],
    ['an unknown key', { header: { kid: 'two' } }, 'id-token-refused'],
    [
      'no ID token',
      { tokenAnswer: { status: 200, body: { access_token: 'a', token_type: 'bearer' } } },
      'id-token-refused',
    ],
    ['a code that was used', { tokenAnswer: { status: 400, body: { error: 'invalid_grant' } } }, 'code-refused'],
    ['another state', { back: { state: 'of-another-log-in' } }, 'response-refused'],
    ['answers of another issuer', { back: { iss: 'https://evil.example' } }, 'response-refused'],
    ['an error', { back: { error: 'access_denied' } }, 'denied'],
    ['an error in words of its own', { back: { error: 'CPF 111.444.777-35' } }, 'denied'],
    ['groups that are no texts', { claims: { groups: [{ a: 1 }, 7, null] } }, 'role-missing'],
    ['no groups', { claims: { groups: null } }, 'role-missing'],
    ['a name that is no text', { claims: { email: ['ana'] } }, 'name-missing'],
  ];
  const refusals: string[] = [];
  for (const [name, told, kind] of lies) {
    lie = told;
    const browser = openBrowser();
    const { response } = await browser.logIn(desk.login, 'ana');
    const { outcome, detail } = await json(response);
    assert.deepEqual([response.status, outcome], [403, { kind }], name);
    assert.ok(typeof detail === 'string' && !/evil|111\.444/.test(detail), name);
    assert.equal(browser.jar.size, 0, `${name}: a cookie is left`);
    refusals.push(kind);
  }
  for (const [name, told] of [
    ['refuses the desk', { tokenAnswer: { status: 401, body: { error: 'invalid_client' } } }],
    ['fails', { tokenAnswer: { status: 500, body: {} } }],
    ['answers with no JSON object', { tokenAnswer: { status: 200, body: 7 } }],
  ] as [string, Lie][]) {
    lie = told;
    const { response } = await openBrowser().logIn(desk.login, 'ana');
    assert.ok([403, 503].includes(response.status), `${name}: ${response.status}`);
  }
  assert.ok(
    desk.lines.every((line) => !line.includes('evil') && !line.includes('111.444')),
    'the log repeats what was sent',
  );
  assert.deepEqual(await desk.store.tokenBook.read(), []);

  await context.test('a code and a state that this provider would take again begin one session', async () => {
    lie = {};
    const fresh = await startDesk(context, await freePort(), issuer);
    const browser = openBrowser();
    const begun = await browser.request(fresh.login);
    const kept = new Map(browser.jar);
    const back = (await browser.request(begun.headers.get('location')!)).headers.get('location')!;
    assert.equal((await browser.request(back)).status, 303);
    await sessionIn(browser, fresh);
    // Whoever has the cookie of the log-in too.
    const thief = openBrowser();
    for (const [key, value] of kept) thief.jar.set(key, value);
    const used = await thief.request(back);
    assert.deepEqual([used.status, (await json(used)).outcome], [403, { kind: 'used-before' }]);
    // And whoever has not, or has another one.
    assert.deepEqual((await json(await openBrowser().request(back))).outcome, { kind: 'not-begun' });
    const other = openBrowser();
    await other.request(fresh.login);
    assert.deepEqual((await json(await other.request(back))).outcome, { kind: 'response-refused' });
    assert.equal((await fresh.store.tokenBook.read()).length, 1);

    // Sessions that nobody has are guesses, and guesses are few.
    const statuses = new Set<number>();
    for (let guess = 0; guess < 30; guess += 1) {
      const guesser = openBrowser();
      guesser.jar.set(`${fresh.origin} lance_session`, `guess-${guess}`);
      statuses.add((await guesser.request(`${fresh.origin}/v1/identity`)).status);
    }
    assert.deepEqual([...statuses], [401, 429]);
    assert.equal((await openBrowser().request(back)).status, 429, 'refused log-ins are limited with them');
    assert.equal((await sessionIn(browser, fresh)).name, 'ana@desk.example', 'whoever has a session goes on');
  });
});

test('a provider that is away is told, and nobody else is kept out', async (context) => {
  const port = await freePort();
  const desk = await startDesk(context, port, `http://127.0.0.1:${await freePort()}`);
  const away = await fetch(desk.login, { redirect: 'manual' });
  const { type, detail } = await json(away);
  assert.deepEqual([away.status, type], [503, 'urn:problem:lance:unavailable']);
  assert.match(String(detail), /metadata of the provider cannot be had \(ECONNREFUSED\)/);
  assert.equal((await desk.asAdmin('GET', '/v1/identity')).status, 200);
});

test('in the console a session that is over does not hide the one of a person who has logged in', async (context) => {
  const issuer = await startLiar(context, () => ({}));
  const desk = await startDesk(context, await freePort(), issuer);
  const browser = openBrowser();
  const dead = { cookie: `lance_console=${'x'.repeat(43)}` };
  assert.match(await (await browser.request(`${desk.origin}/`, { headers: dead })).text(), /action="\/console\/login"/);
  await browser.logIn(desk.login, 'ana');
  const secretOf = browser.jar.get(`${desk.origin} lance_session`)!;
  const both = { cookie: `${dead.cookie}; lance_session=${secretOf}` };
  const page = await (await browser.request(`${desk.origin}/`, { headers: both })).text();
  assert.doesNotMatch(page, /action="\/console\/login"/);
  assert.match(page, /action="\/console\/logout"/);
});

test('a session is over at its time', async (context) => {
  const issuer = await startLiar(context, () => ({}));
  const desk = await startDesk(context, await freePort(), issuer);
  const browser = openBrowser();
  await browser.logIn(desk.login, 'ana');
  const secretOf = browser.jar.get(`${desk.origin} lance_session`)!;
  const [begun] = await desk.store.tokenBook.read();
  assert.ok(begun?.kind === 'session-begun');
  const { createGuard } = await import('../../src/http/api/auth.ts');
  const { default: fastify } = await import('fastify');
  let now = begun.expiresAt - 1;
  const { id, owner, role, sha256, expiresAt } = begun;
  const watch = { tokens: () => known, isCurrent: () => true };
  const known = [{ kind: 'session' as const, id, owner, role, sha256, mark: null, expiresAt, isRevoked: false }];
  const guard = createGuard([], watch, () => now, { origin: desk.origin });
  const app = fastify();
  app.get('/', { onRequest: guard.only() }, (request) => guard.callerOf(request).name);
  const asked = async (headers: Record<string, string>) => (await app.inject({ url: '/', headers })).statusCode;
  assert.equal(await asked({ cookie: `lance_session=${secretOf}` }), 200);
  assert.equal(await asked({ authorization: `Bearer ${secretOf}` }), 401, 'a session is no token');
  assert.equal(
    await asked({ cookie: `lance_session=${secretOf}`, authorization: 'Bearer other' }),
    401,
    'what is shown counts',
  );
  now += 1;
  assert.equal(await asked({ cookie: `lance_session=${secretOf}` }), 401);
});
