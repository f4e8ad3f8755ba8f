/**
 * Every route that the server has, with no token, a wrong one, one of each role, and a session of each role: who is let in, and that
 * nothing else happens. The routes are heard of as they are added: one that is in no table here fails the test.
 */
import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { beginSession } from '../../src/operating/tokens.ts';
import { type Role, roles, startApi } from './api-house.ts';
import { clientId, startLiar } from './openid.ts';

const everybody: readonly Role[] = roles;
const deciding: readonly Role[] = ['risk', 'admin'];
const seeing: readonly Role[] = ['risk', 'operator', 'admin'];
const working: readonly Role[] = ['operator', 'admin'];

/** Who may, by method and path; a step or a reading of flows by the last entries. The first that fits counts. */
const allowed: readonly [RegExp, readonly Role[]][] = [
  [/^GET \/v1\/(status|identity|bids|bids\/\{requestId\})$/, everybody],
  [/^GET \/v1\/controls(\/history|\/caps\/\{name\})?$/, everybody],
  [/^POST \/v1\/controls\/(pause|resume|caps\/\{name\})$/, seeing],
  [/^GET \/v1\/rules(\/history|\/snoozes|\/sets\/\{set\}\/reasons)?$/, everybody],
  [/^GET \/v1\/rules\/(diff|sets\/\{set\})$/, seeing],
  [/^POST \/v1\/rules\/rollback$/, seeing],
  [/^POST \/v1\/rules\/(sets|sets\/\{set\}\/(approve|activate)|approval|snoozes|snoozes\/resume)$/, deciding],
  [/^GET \/v1\/economics$/, seeing],
  [/^POST \/v1\/economics\/\{hash\}\/approve$/, deciding],
  [/^POST \/v1\/logout$/, everybody],
  [/ \/v1\/tokens/, ['admin']],
  [/^POST \/v1\/bids\/\{requestId\}\/(worker|resolve|thaw)$/, working],
  [/^GET \/v1\/reviews$/, everybody],
  [/^POST \/v1\/reviews\/\{requestId\}$/, seeing],
  [/^GET \/v1\/bids\/\{requestId\}\/margin$/, seeing],
  [/^POST \/v1\/margins\/query$/, working],
  [/^GET \/v1\/dead-letters$/, seeing],
  [/^POST \/v1\/dead-letters\/(replay|\{partition\}\/\{offset\}\/dismiss)$/, ['admin']],
  [/^(GET|POST) \/v1\/\w+\/\{flowId\}\/results\/\{operation\}$/, working],
  [/^GET \/v1\/(contracts|renegotiations|withdrawals|lookups|events)/, everybody],
  [/^POST \/v1\/(contracts|renegotiations|withdrawals|lookups|events)/, working],
];

/** Pages of the console, which only sessions open; without one they are a page to log in at. */
const pages: readonly [RegExp, readonly Role[]][] = [
  [/^GET \/$/, everybody],
  [/^GET \/console\/(requests|requests\/\{requestId\}|controls|flows|flows\/\{kind\}(\/\{flowId\})?)$/, everybody],
  [/^GET \/console\/(rules|operations|runbooks)$/, everybody],
  [/^GET \/console\/(stop|resume|market|operations\/letters|rules\/rollback|rules\/sets\/\{set\})$/, seeing],
  [/^GET \/console\/rules\/sets\/\{set\}\/(approve|activate)$/, deciding],
  [/^GET \/console\/operations\/tokens$/, ['admin']],
  [/^GET \/console\/reviews(\/\{requestId\})?$/, everybody],
];

/** What changes on the page *Now*, for whoever may see it. */
const stream = 'GET /console/now/events';

/** What needs nobody's identity: probes, figures without persons, what a program reads of the API, and the ways to log in. */
const open: readonly RegExp[] = [
  /^GET \/(livez|readyz|metrics|status)$/,
  /^GET \/v1\/(openapi\.json|docs|docs\/.+|login|login\/callback)$/,
  /^GET \/console\/assets\/\{name\}$/,
  /^POST \/console\/login$/,
  // The path is the token.
  /^POST \/webhooks\/\{token\}$/,
];

/** `GET /v1/bids/{requestId}` of each route that a server in this process adds from now on. */
function hearOfRoutes(): readonly string[] {
  const routes: string[] = [];
  subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat()) routes.push(`${each} ${url.replaceAll(/:(\w+)/g, '{$1}')}`);
    });
  });
  return routes;
}

test('no operation without its role and identity', async (context) => {
  const heard = hearOfRoutes();
  const issuer = await startLiar(context, () => ({}));
  const redirectBase = 'http://127.0.0.1:1';
  const groups = roles.map((role) => ({ value: role, role }));
  const { call, store, engine } = await startApi(context, { oidc: { issuer, clientId, redirectBase, roles: groups } });
  const sessions = new Map<Role, { cookie: string; 'x-csrf-token': string }>();
  const book = { tokenBook: store.tokenBook, clock: createSystemClock() };
  for (const role of roles) {
    const person = { id: `aa${roles.indexOf(role)}`, owner: `${role}@desk.example`, role, issuer, subject: role };
    const begun = await beginSession(book, { ...person, sessionMs: 600_000 });
    assert.ok(begun.kind === 'begun');
    sessions.set(role, { cookie: `other=1; lance_session=${begun.secret}`, 'x-csrf-token': '' });
  }
  for (const headers of sessions.values()) {
    const identity = () => call('GET', '/v1/identity', { role: null, headers });
    while ((await identity()).status !== 200) await sleep(250);
    headers['x-csrf-token'] = ((await identity()).body as { csrfToken: string }).csrfToken;
  }
  const { paths } = (await call('GET', '/v1/openapi.json', { role: null })).body as {
    paths: Record<string, Record<string, unknown>>;
  };
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // Each GET has a HEAD beside it, which runs the same.
  const routes = [...new Set(heard)].filter((route) => !route.startsWith('HEAD '));
  const isOpen = (route: string) => open.some((pattern) => pattern.test(route));
  const guarded = routes.filter((route) => !isOpen(route));
  const operations = guarded.filter((route) => route.includes(' /v1/'));
  const ofConsole = guarded.filter((route) => !operations.includes(route));
  assert.ok(operations.length > 60 && ofConsole.length > 20, `${operations.length}, ${ofConsole.length}`);
  assert.deepEqual(
    described.filter((operation) => operation !== 'GET /v1/login').sort(),
    [...operations].sort(),
    'the description has each of them',
  );
  const held = async () => {
    const { revision, pause, caps, snoozes } = await store.control.read();
    const ends = await Promise.all((['auctions', 'flows'] as const).map((topic) => store.log.ends(topic)));
    const books = [await store.ruleBook.read(), await store.tokenBook.read()];
    return JSON.stringify([revision, pause, caps, snoozes, ends.map((end) => [...end]), books]);
  };
  const { url } = engine;
  const before = await held();
  const wrong: string[] = [];
  const strangers = new Set<number>();
  for (const operation of operations) {
    const [method, path] = operation.split(' ') as [string, string];
    const row = allowed.find(([pattern]) => pattern.test(operation));
    assert.ok(row !== undefined, `${operation} is not in the table`);
    // Ids that nothing has, and bodies that no schema takes: who is let in changes nothing.
    const address = path.replaceAll(/\{\w+\}/g, 'nothing-of-this-name');
    const options = method === 'GET' ? {} : { key: 'roles', body: { nothing: 'of the kind' } };
    const nobody = await call(method, address, { ...options, role: null });
    if (nobody.status !== 401) wrong.push(`${operation} without a token: ${nobody.status}`);
    const stranger = await call(method, address, { ...options, token: 'never-given-out' });
    strangers.add(stranger.status);
    for (const role of roles) {
      const { status } = await call(method, address, { ...options, role });
      const isLetIn = status !== 401 && status !== 403;
      if (isLetIn !== row[1].includes(role) || status >= 500) wrong.push(`${operation} ${role}: ${status}`);
      const headers = sessions.get(role)!;
      const inSession = await call(method, address, { ...options, role: null, headers });
      if (inSession.status !== status)
        wrong.push(`${operation} ${role} in a session: ${inSession.status}, not ${status}`);
      if (method === 'GET') continue;
      const { cookie } = headers;
      const fromElsewhere = await call(method, address, { ...options, role: null, headers: { cookie } });
      if (fromElsewhere.status !== 403) wrong.push(`${operation} ${role} from elsewhere: ${fromElsewhere.status}`);
    }
  }
  // Pages of the console: sessions alone count there, and a form without its token changes nothing.
  for (const operation of ofConsole.filter((each) => each !== stream)) {
    const [method, path] = operation.split(' ') as [string, string];
    const row = pages.find(([pattern]) => pattern.test(operation));
    assert.ok(row !== undefined || method === 'POST', `${operation} is not in the table`);
    const address = path.replaceAll(/\{\w+\}/g, 'nothing-of-this-name');
    const isHere = { origin: url, 'content-type': 'application/x-www-form-urlencoded' };
    const ask = (headers: Record<string, string>) =>
      fetch(`${url}${address}`, {
        method,
        headers: { ...(method === 'GET' ? {} : isHere), ...headers },
        ...(method === 'GET' ? {} : { body: 'reason=x' }),
      });
    for (const headers of [{}, { authorization: 'Bearer a-token-of-the-admin' }] as Record<string, string>[]) {
      const answer = await ask(headers);
      const isLogIn = /action="\/console\/login"/.test(await answer.text());
      if (!isLogIn || answer.status !== (path === '/' ? 200 : 401))
        wrong.push(`${operation} without a session: ${answer.status}`);
    }
    for (const role of roles) {
      const { status } = await ask({ cookie: sessions.get(role)!.cookie });
      const isLetIn = [200, 404, 409].includes(status);
      const expected = method === 'GET' && row![1].includes(role);
      if (isLetIn !== expected || (!isLetIn && status !== 403))
        wrong.push(`${operation} ${role} in a session: ${status}`);
    }
  }
  // A stream is no page: without a session it has nothing to log in at, and what is open has no end.
  const listened = async (headers: Record<string, string>): Promise<number> => {
    const answer = await fetch(`${url}${stream.split(' ')[1]!}`, { headers });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.ok(ofConsole.includes(stream));
  for (const headers of [{}, { authorization: 'Bearer a-token-of-the-admin' }] as Record<string, string>[])
    assert.equal(await listened(headers), 401);
  for (const role of roles) assert.equal(await listened({ cookie: sessions.get(role)!.cookie }), 200, role);
  // It sends whoever comes to the provider, and does nothing else.
  const sent = await fetch(`${url}/v1/login`, { redirect: 'manual' });
  assert.deepEqual([sent.status, new URL(sent.headers.get('location')!).origin], [302, issuer]);
  assert.deepEqual(wrong, []);
  // Wrong tokens of one address are refused, and from some number on no longer looked at for the rest of the minute.
  assert.deepEqual([...strangers], [401, 429]);
  assert.equal(await held(), before, 'something was changed');
  const back = await call('GET', '/v1/login/callback?code=a&state=b', { role: null });
  assert.deepEqual([back.status, (back.body as { outcome: unknown }).outcome], [429, undefined]);
});
