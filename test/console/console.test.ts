/** The console without a browser: who sees what, how a session begins and ends, and what a page of others cannot do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFormat } from '../../src/cli/format.ts';
import { openHouse } from '../bidding/house.ts';
import { flowsSandbox, noRivals } from '../flows/world.ts';
import { type Role, roles, startApi } from '../http/api-house.ts';
import { loggedIn, openPerson, tokenOf } from './person.ts';

const ordering: readonly Role[] = ['risk', 'operator', 'admin'];
const pages = [
  '/',
  '/console/requests',
  '/console/flows',
  '/console/rules',
  '/console/market',
  '/console/controls',
  '/console/operations',
];

async function newToken({ call }: Awaited<ReturnType<typeof startApi>>, owner: string, role: Role) {
  const created = await call('POST', '/v1/tokens', { body: { owner, role, days: 1 } });
  assert.equal(created.status, 201, created.text);
  return created.body as { id: string; token: string };
}

test('strangers see a page to log in at, and nothing else', async (context) => {
  const { engine } = await startApi(context);
  const person = openPerson(engine.url);
  const first = await person.get('/');
  assert.deepEqual([first.status, first.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  assert.match(first.text, /<html lang="pt-BR">/);
  assert.match(first.text, /<input id="token" name="token" type="password"/);
  assert.doesNotMatch(first.text, /\/v1\/login/, 'there is no provider');
  for (const path of [...pages.slice(1), '/console/requests/1', '/console/stop', '/console/resume']) {
    const answer = await person.get(path);
    assert.equal(answer.status, 401, path);
    assert.match(answer.text, /action="\/console\/login"/, path);
  }
  for (const path of ['/console/stop', '/console/resume', '/console/logout'])
    assert.equal((await person.post(path, { reason: 'x', csrf: 'y' })).status, 401, path);
  const bearer = await person.get('/console/requests', { authorization: `Bearer ${tokenOf('admin')}` });
  assert.equal(bearer.status, 401, 'a token in a header is nobody');
  assert.equal((await person.get('/console/nothing')).status, 404);
});

test('a path that nobody can read, or that is not there, has a page of its own in a browser', async (context) => {
  const { engine } = await startApi(context);
  const inBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const person = await loggedIn(engine.url, 'viewer');
  const paths = ['/%ZZ', '/console/requests/%E0%A4%A', `/console/requests/${'9'.repeat(600)}`, '/console/nothing'];
  for (const path of paths) {
    for (const who of [person, openPerson(engine.url)]) {
      for (const [language, title] of [
        ['pt-BR', 'Página não encontrada'],
        ['en', 'Page not found'],
      ] as const) {
        const answer = await who.get(path, { ...inBrowser, 'accept-language': language });
        const type = answer.headers.get('content-type');
        assert.deepEqual([answer.status, type], [404, 'text/html; charset=utf-8'], path);
        assert.match(answer.text, new RegExp(`<html lang="${language}">.*<h1>${title}</h1>`, 's'), path);
        assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none'/, path);
      }
    }
  }
  assert.match((await person.get('/%ZZ?lang=en', inBrowser)).text, /<html lang="en">/);
  assert.match((await person.get('/%ZZ', inBrowser)).text, /<html lang="en">/, 'it was said once');
  // Nor is a session looked up there: the limit of wrong ones does not see it.
  assert.doesNotMatch((await person.get('/%ZZ', inBrowser)).text, /console\/logout/);
  // Programs, and what only programs ask for.
  for (const [path, headers] of [
    ['/%ZZ', {}],
    ['/webhooks/%ZZ', inBrowser],
    ['/v1/%ZZ', inBrowser],
    ['/webhooks/wrong-token', inBrowser],
  ] as const) {
    const answer = await person.get(path, headers);
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type')],
      [404, 'application/json; charset=utf-8'],
      path,
    );
  }
});

test('no page has a script or a style of its own, and what it loads is there with its type', async (context) => {
  const { engine } = await startApi(context);
  const person = await loggedIn(engine.url, 'admin');
  const loaded = new Set<string>();
  for (const path of [...pages, '/console/stop', '/console/resume', '/console/requests/1']) {
    const { text, headers } = await person.get(path);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, path);
    assert.doesNotMatch(policy, /unsafe|http:|https:|\*/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-store', path);
    assert.doesNotMatch(text, /<style|\sstyle=|\son[a-z]+=|javascript:|<script(?! src="\/console\/assets\/)/i, path);
    for (const [, reference] of text.matchAll(/(?:href|src)="([^"]*assets[^"]*)"/g)) loaded.add(reference!);
  }
  // The library of plots is loaded where there is a plot.
  assert.equal(loaded.size, 3);
  for (const reference of loaded) {
    const { status, headers, text } = await openPerson(engine.url).get(reference);
    const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' };
    const [, end] = /\.(css|js|svg)\?/.exec(reference)!;
    assert.deepEqual([status, headers.get('content-type')], [200, types[end as keyof typeof types]]);
    assert.match(headers.get('cache-control') ?? '', /max-age=\d{6,}, immutable/);
    assert.ok(text.length > 50);
  }
  assert.equal((await person.get('/console/assets/console.ts')).status, 404);
});

test('a session is a cookie that no script reads and no other page sends, and it ends', async (context) => {
  const house = await startApi(context);
  const { url } = house.engine;
  const { id, token } = await newToken(house, 'ana', 'operator');
  const person = openPerson(url);
  const begun = await person.logIn(token);
  const cookie = begun.headers.getSetCookie().find((each) => each.startsWith('lance_console='))!;
  assert.match(cookie, /^lance_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800$/);
  const secret = person.jar.get('lance_console')!;
  assert.equal(JSON.stringify(await house.store.tokenBook.read()).includes(secret), false, 'the secret is stored');
  const now = await person.get('/');
  assert.match(now.text, /<bdi>ana<\/bdi> \(operação\)/);

  await context.test('the API takes no cookie of the console', async () => {
    const answer = await person.get('/v1/bids');
    assert.equal(answer.status, 401);
  });

  await context.test('log-out ends it, not in the browser alone', async () => {
    const other = openPerson(url);
    await other.logIn(token);
    const kept = other.jar.get('lance_console')!;
    const out = await other.post('/console/logout', other.hiddenIn((await other.get('/')).text, '/console/logout'));
    assert.deepEqual([out.status, out.location], [303, '/?notice=out']);
    assert.equal(other.jar.has('lance_console'), false);
    other.jar.set('lance_console', kept);
    assert.equal((await other.get('/console/requests')).status, 401);
    assert.equal((await person.get('/console/requests')).status, 200, 'the others go on');
  });

  await context.test('it ends with the token that it was begun with', async () => {
    assert.equal((await house.call('POST', `/v1/tokens/${id}/revoke`, { body: {} })).status, 200);
    assert.equal((await person.get('/console/requests')).status, 401);
    const again = await openPerson(url).logIn(token);
    assert.equal(again.status, 401);
    assert.match(again.text, /role="alert"/);
  });
});

test('cookies are secure where a proxy that is believed says https', async (context) => {
  const { engine } = await startApi(context, { http: { trustedProxies: ['127.0.0.1'] } });
  const secure = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'desk.example', origin: 'https://desk.example' };
  const person = openPerson(engine.url);
  const { text } = await person.get('/', secure);
  const form = { ...person.hiddenIn(text, '/console/login'), token: tokenOf('risk') };
  const begun = await person.post('/console/login', form, secure);
  assert.equal(begun.status, 303, begun.text);
  const cookie = begun.headers.getSetCookie().find((each) => each.includes('lance_console='));
  assert.match(cookie!, /^__Host-lance_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800; Secure$/);
  assert.equal((await person.get('/console/requests', secure)).status, 200);
});

test('wrong tokens are told so, and counted', async (context) => {
  const { engine } = await startApi(context, { http: { failedLoginsPerMinute: 3 } });
  const person = openPerson(engine.url);
  const statuses: number[] = [];
  for (let times = 0; times < 5; times += 1) statuses.push((await person.logIn(`never-given-out-${times}`)).status);
  assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
  const { text } = await person.logIn('<script>alert(1)</script>');
  assert.doesNotMatch(text, /alert\(1\)/, 'what was typed is not shown');
  const metrics = await (await fetch(`${engine.url}/metrics`)).text();
  assert.match(metrics, /lance_\w*refus\w*\{[^}]*failed-login"[^}]*\} 3\n/);
  assert.equal((await openPerson(engine.url).logIn(tokenOf('viewer'))).status, 303, 'a token that is known is let in');
});

test('no form of others is taken', async (context) => {
  const { engine, store } = await startApi(context);
  const person = await loggedIn(engine.url, 'operator');
  const form = person.hiddenIn((await person.get('/console/stop')).text, '/console/stop');
  assert.match(form.csrf!, /^[\w-]{43}$/);
  const other = await loggedIn(engine.url, 'operator');
  const otherForm = other.hiddenIn((await other.get('/console/stop')).text, '/console/stop');
  const refused: [Record<string, string>, Record<string, string>][] = [
    [{}, {}],
    [{ csrf: 'another' }, {}],
    [otherForm, {}],
    [form, { origin: 'https://evil.example' }],
    [form, { origin: 'null' }],
    [form, { origin: '' }],
    [form, { 'sec-fetch-site': 'cross-site' }],
    [form, { 'sec-fetch-site': 'same-site' }],
  ];
  for (const [fields, headers] of refused) {
    const answer = await person.post('/console/stop', { ...fields, reason: 'x' }, headers);
    assert.equal(answer.status, 403, JSON.stringify([fields, headers]));
  }
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
    assert.equal((await openPerson(engine.url).logIn(tokenOf('admin'), headers)).status, 403, 'log-in');
    const out = await person.post('/console/logout', form, headers as Record<string, string>);
    assert.equal(out.status, 403, 'log-out');
  }
  const visitor = openPerson(engine.url);
  assert.equal((await visitor.post('/console/login', { token: tokenOf('admin'), csrf: form.csrf! })).status, 403);
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x'])
    assert.equal((await person.post('/console/stop', form, { 'content-type': type })).status, 415, type);
  assert.equal((await person.post('/console/stop', { ...form, reason: 'x'.repeat(20_000) })).status, 413);
  assert.equal((await store.control.read()).pause, null);
});

test('bids are stopped and resumed by those who may, in their own name', async (context) => {
  const { engine, store, call } = await startApi(context);
  for (const role of roles) {
    const person = await loggedIn(engine.url, role);
    const now = await person.get('/');
    assert.equal(/href="\/console\/stop"/.test(now.text), ordering.includes(role), role);
    const asked = await person.get('/console/stop');
    assert.equal(asked.status, ordering.includes(role) ? 200 : 403, role);
    // Who has no form of its own takes the token of another one.
    const form = person.hiddenIn(now.text, '/console/logout');
    const stopped = await person.post('/console/stop', { ...form, reason: 'a taxa de 529.982.247-25 parece errada' });
    if (!ordering.includes(role)) {
      assert.equal(stopped.status, 403);
      assert.equal((await person.post('/console/resume', { ...form, reason: 'x' })).status, 403);
      assert.equal((await store.control.read()).pause, null);
      continue;
    }
    assert.deepEqual([stopped.status, stopped.location], [303, '/?notice=stopped'], stopped.text);
    const { pause } = await store.control.read();
    assert.deepEqual([pause?.by, pause?.via, pause?.reason], [role, 'api', 'a taxa de *** parece errada']);
    const held = await person.get('/?lang=en');
    assert.match(held.text, /Bidding is closed/);
    assert.match(held.text, new RegExp(`<dt>By</dt><dd><bdi>${role}</bdi></dd>`));
    assert.match(held.text, /<dt>Reason<\/dt><dd><bdi>a taxa de \*\*\* parece errada<\/bdi><\/dd>/);
    for (const reason of ['', '   ', 'x'.repeat(201)]) {
      const answer = await person.post('/console/resume', { ...form, reason });
      assert.equal(answer.status, 422, reason);
      assert.match(answer.text, /role="alert"/);
    }
    const resumed = await person.post('/console/resume', { ...form, reason: 'já foi corrigida' });
    assert.deepEqual([resumed.status, resumed.location], [303, '/?notice=resumed'], resumed.text);
    assert.equal((await store.control.read()).pause, null);
    const orders = await person.get('/console/controls');
    assert.match(orders.text, /já foi corrigida/);
  }
  const { orders } = (await call('GET', '/v1/controls/history')).body as { orders: { by: string | null }[] };
  assert.deepEqual(
    orders.flatMap(({ by }) => by ?? []),
    ['admin', 'admin', 'operator', 'operator', 'risk', 'risk'],
  );
});

test('the language is that of the address, of the cookie, or of the browser', async (context) => {
  const { engine } = await startApi(context);
  const person = openPerson(engine.url);
  const langOf = async (path: string, language = '') =>
    /<html lang="([\w-]+)">/.exec((await person.get(path, { 'accept-language': language })).text)?.[1];
  assert.equal(await langOf('/'), 'pt-BR');
  assert.equal(await langOf('/', 'de, fr;q=0.5'), 'pt-BR');
  assert.equal(await langOf('/', 'en-US,en;q=0.9,pt;q=0.8'), 'en');
  assert.equal(await langOf('/', 'en;q=0.3, pt-BR'), 'pt-BR');
  assert.equal(await langOf('/?lang=en'), 'en');
  assert.equal(await langOf('/', 'pt-BR'), 'en', 'the choice is remembered');
  assert.equal(await langOf('/?lang=pt'), 'pt-BR');
  assert.equal(await langOf('/', 'en'), 'pt-BR');
});

test('where nobody can log in the page says how to open it', async (context) => {
  const house = await openHouse({ seed: 5, sandbox: flowsSandbox(false), rivals: noRivals, bidding: {} });
  context.after(() => house.close());
  const person = openPerson(house.engine.url);
  const { status, text } = await person.get('/');
  assert.equal(status, 200);
  assert.match(text, /<pre>lance tokens create --owner/);
  assert.doesNotMatch(text, /<form|role="alert"/);
  const posted = await person.post('/console/login', { token: 'x' });
  assert.match(posted.text, /lance tokens create/);
});

const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)> \u202Egnp.exe' & ${'a'.repeat(800)}`;

test('requests are found, by what they are and by their number; hostile texts stay texts', async (context) => {
  const house = await startApi(context);
  const { url } = house.engine;
  const person = await loggedIn(url, 'operator');
  const empty = await person.get('/console/requests');
  assert.match(empty.text, /Nenhuma solicitação ainda\./);
  await house.sandbox.run(3);
  let bids: { requestId: string; state: string; batchId: string; rateHundredths: number | null }[] = [];
  while (bids.length < 3 || bids.some(({ state }) => state === 'requested')) {
    await sleep(100);
    bids = ((await house.call('GET', '/v1/bids')).body as { bids: typeof bids }).bids;
  }
  const list = await person.get('/console/requests');
  for (const { requestId } of bids) assert.match(list.text, new RegExp(`/console/requests/${requestId}"`));
  const none = await person.get('/console/requests?state=lost&code=nothing-of-the-kind');
  assert.match(none.text, /Nenhuma solicitação corresponde ao filtro\./);
  assert.doesNotMatch(none.text, /<tbody/);
  const one = bids[0]!;
  const form = person.hiddenIn(list.text, '/console/requests/find');
  const found = await person.post('/console/requests/find', { ...form, id: ` ${one.requestId} ` });
  assert.deepEqual([found.status, found.location], [303, `/console/requests/${one.requestId}`]);
  const shown = await person.get(`/console/requests/${one.requestId}`);
  assert.equal(shown.status, 200);
  assert.match(shown.text, new RegExp(`<h1>Solicitação ${one.requestId}</h1>`));
  // Why, as `bids show` tells it.
  const { show } = createFormat('pt').texts;
  for (const said of [show.asked, show.amount, show.factsTitle, 'request.amountReais', 'solicitada'])
    assert.ok(shown.text.includes(said), said);
  const claimed = bids.find(({ state }) => state !== 'passed')!;
  const bid = await person.get(`/console/requests/${claimed.requestId}`);
  for (const said of [show.limitsTitle, 'lance registrado: ', 'respondida: ']) assert.ok(bid.text.includes(said), said);
  assert.equal((await person.get('/console/requests/999999999999')).status, 404);
  assert.equal((await person.get('/console/requests/nothing')).status, 404);
  const viewer = await loggedIn(url, 'viewer');
  const viewed = await viewer.get(`/console/requests/${one.requestId}`);
  assert.match(viewed.text, /Tentativas e esperas são mostradas a quem/);
  assert.doesNotMatch(viewed.text, /request\.amountReais|solicitada/);

  // How it ended is said by those who may, with a reason, in a form of this page.
  let over: { requestId: string }[] = [];
  for (let looks = 0; over.length === 0; looks += 1) {
    assert.ok(looks < 200, 'nothing was won');
    over = ((await house.call('GET', '/v1/bids?state=proposed')).body as { bids: typeof over }).bids;
    await sleep(50);
  }
  const page = `/console/requests/${over[0]!.requestId}`;
  const resolving = `${page}/resolve`;
  const risk = await loggedIn(url, 'risk');
  for (const who of [viewer, risk]) {
    const { text } = await who.get(page);
    assert.doesNotMatch(text, /id="resolve"/);
    const own = who.hiddenIn(text, '/console/logout');
    assert.equal((await who.post(resolving, { ...own, as: 'cancelled', reason: 'x' })).status, 403);
  }
  const asked = person.hiddenIn((await person.get(page)).text, resolving);
  for (const [fields, status, said] of [
    [{ as: 'cancelled', reason: ' ' }, 422, /Escreva a justificativa/],
    [{ reason: 'x' }, 422, /Escolha como terminou/],
    [{ as: 'lost', reason: hostile }, 409, /não pode ser encerrada assim\. Possíveis: /],
    [{ as: 'cancelled', reason: 'x', csrf: 'other' }, 403, /formulário/],
  ] as const) {
    const refused = await person.post(resolving, { ...asked, ...fields });
    assert.equal(refused.status, status);
    assert.match(refused.text, said);
    assert.doesNotMatch(refused.text, /<script>|<img|\u202e/i);
  }
  const stateNow = async () =>
    ((await house.call('GET', `/v1/bids/${over[0]!.requestId}`)).body as { state: string }).state;
  assert.equal(await stateNow(), 'proposed');
  const done = await person.post(resolving, { ...asked, as: 'cancelled', reason: 'disse 529.982.247-25' });
  assert.deepEqual([done.status, done.location], [303, `${page}?notice=resolved`], done.text);
  assert.equal(await stateNow(), 'cancelled');
  assert.match((await person.get(done.location!)).text, /role="status">Registrado/);

  for (const name of ['code', 'batchId', 'segment', 'state', 'since', 'before', 'id', 'lang', 'notice']) {
    const answer = await person.get(`/console/requests?${new URLSearchParams({ [name]: hostile })}`);
    assert.ok(answer.status < 500, `${name}: ${answer.status}`);
    assert.doesNotMatch(answer.text, /<script>|<img|\u202e/i, name);
  }
  // As is a minute that no clock shows, or a day that no month has (stranger 15).
  for (const time of [
    '2026-13-45T99:99',
    '2026-02-30T10:00',
    '2026-11-20T24:00',
    '0000-01-01T00:00',
    'x'.repeat(5_000),
  ])
    for (const [name, label] of Object.entries({ since: 'De (horário', until: 'Até (horário' })) {
      const answer = await person.get(`/console/requests?${new URLSearchParams({ [name]: time })}`);
      assert.equal(answer.status, 422, `${name} ${time.slice(0, 20)}`);
      assert.ok(new RegExp(`role="alert"[^<]*>[^<]*${label.replace('(', '\\(')}`).test(answer.text), name);
    }
  assert.equal((await person.get('/console/requests?since=2026-02-28T23:59&until=9999-12-31T23:59')).status, 200);
  // What is typed comes into an address only as the number of a request that there is.
  for (const [id, status] of [
    [hostile, 404],
    ['999999999999', 404],
    ...[
      ...['529.982.247–25', '529.982.247\u201025', 'CPF 529.982.247-25', '529.982.247-25 Ana', '529,982,247-25'],
      ...[
        '５２９９８２２４７２５',
        '529·982·247·25',
        '#52998224725',
        '052998224725',
        '529\u200b98224725',
        '529_982_247_25',
      ],
      ...['529.982.247-26', 'x529.982.247-25x', '529.982.247-25 (11) 91234-5678'],
    ].map((cpf) => [cpf, 422] as const),
  ] as const) {
    const answer = await person.post('/console/requests/find', { ...form, id });
    assert.deepEqual([answer.status, answer.location ?? null], [status, null], id);
    assert.doesNotMatch(answer.text, /<script>|<img|\u202e|529.?982/i, id);
  }
  // So does what is filtered by: a batch whose code may be a CPF goes by its pseudonym, as wherever it is shown.
  const filter = { ...form, state: 'lost', code: '', segment: '', since: '', until: '' };
  const filtered = (typed: Record<string, string>) => person.post('/console/requests/filter', { ...filter, ...typed });
  const plain = await filtered({ batchId: ' L-1 ' });
  assert.deepEqual([plain.status, plain.location], [303, '/console/requests?state=lost&batchId=L-1']);
  for (const typed of ['52998224725', '529.982.247–25', '５２９９８２２４７２５', 'CPF 529.982.247-25']) {
    const { status, location } = await filtered({ batchId: typed });
    assert.equal(status, 303);
    assert.match(location!, /^\/console\/requests\?state=lost&batchId=[\w%-]+$/);
    assert.doesNotMatch(decodeURIComponent(location!).normalize('NFKC').replaceAll(/\D/g, ''), /52998224725/, typed);
    for (const name of ['code', 'segment', 'since', 'state'])
      assert.deepEqual(((each) => [each.status, each.location ?? null])(await filtered({ [name]: typed })), [
        422,
        null,
      ]);
  }
  assert.equal((await person.post('/console/requests/find', { id: one.requestId, csrf: 'x' })).status, 403);
  const wrong = await person.get('/console/requests?since=yesterday&state=nothing');
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /role="alert"/);
});
