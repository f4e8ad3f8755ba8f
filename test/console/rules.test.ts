/** The pages of the rule sets without a browser: who sees and orders what, by the same rules as the API, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { filesNamed } from '../bidding/rule-sets.ts';
import { type Role, roles, startApi } from '../http/api-house.ts';
import { loggedIn, openPerson, type Person } from './person.ts';

type House = Awaited<ReturnType<typeof startApi>>;

async function propose({ call }: House, name: string, role: Role = 'risk', comment: string | null = null) {
  const proposed = await call('POST', '/v1/rules/sets', { role, body: { files: filesNamed(name), comment } });
  assert.equal(proposed.status, 201, proposed.text);
  return (proposed.body as { hash: string }).hash;
}

const standingOf = async ({ call }: House) =>
  (await call('GET', '/v1/rules')).body as {
    live: string;
    before: string | null;
    sets: { hash: string; state: string }[];
    rollback: { reviewedBy: string | null } | null;
  };

async function order(person: Person, path: string, comment = '') {
  const form = person.hiddenIn((await person.get(path)).text, path);
  return person.post(path, { ...form, comment });
}

test('a set is approved by another person than who proposed it, followed, gone back from, and looked at', async (context) => {
  const house = await startApi(context);
  const { url } = house.engine;
  const { live: first } = await standingOf(house);
  assert.equal((await house.call('POST', '/v1/rules/approval', { body: { needed: true } })).status, 200);
  const hash = await propose(house, 'other', 'risk', 'teto de 529.982.247-25');
  const set = `/console/rules/sets/${hash}`;
  const people = Object.fromEntries(
    await Promise.all(roles.map(async (role) => [role, await loggedIn(url, role)] as const)),
  ) as Record<Role, Person>;

  await context.test('each role sees what the API shows it', async () => {
    for (const role of roles) {
      const list = await people[role].get('/console/rules');
      assert.equal(list.status, 200, role);
      assert.match(list.text, /proposto/);
      assert.equal(list.text.includes(`href="${set}"`), role !== 'viewer', role);
      const one = await people[role].get(set);
      assert.equal(one.status, role === 'viewer' ? 403 : 200, role);
      const decides = role === 'risk' || role === 'admin';
      assert.equal(one.text.includes(`href="${set}/approve"`), role === 'admin', role);
      assert.equal(one.text.includes('falta outra pessoa aprovar'), role === 'risk', role);
      assert.equal((await people[role].get(`${set}/approve`)).status, decides ? 200 : 403, role);
    }
    const { text } = await people.risk.get(`${set}?lang=en`);
    assert.match(text, /<h2 id="diff-title">Differences<\/h2>.*Marker other/s);
    assert.match(text, /teto de \*\*\*/);
    assert.match(
      text,
      new RegExp(`<code class="hash">${first.slice(0, 12)}</code> → <code class="hash">${hash.slice(0, 12)}</code>`),
    );
    // What it has to meet, in the words of the page.
    assert.match(
      text,
      /<th scope="row" role="rowheader">Conditions<\/th>.*<i>nothing<\/i>.*<div>in every request<\/div>/s,
    );
    await people.risk.get('/?lang=pt');
    assert.match(
      (await people.risk.get(set)).text,
      /<th scope="row" role="rowheader">Condições<\/th>.*em toda solicitação/s,
    );
  });

  await context.test('its tests are run when somebody asks', async () => {
    assert.doesNotMatch((await people.operator.get(set)).text, /todos os testes passam/);
    const { text } = await people.operator.get(`${set}?tests=run`);
    assert.match(text, /Conferido: todos os testes passam\..*<dt>Testes<\/dt><dd>[1-9]\d*<\/dd>/s);
    assert.match(text, /<dt>Cobertura<\/dt><dd>100,0 %<\/dd>/);
  });

  await context.test('four eyes hold, and a refusal is told in the language of the page', async () => {
    const own = await order(people.risk, `${set}/approve`);
    assert.equal(own.status, 409);
    assert.match(own.text, /role="alert">Por ele já responde: risk\./);
    const form = people.risk.hiddenIn((await people.risk.get(`${set}/approve`)).text, `${set}/approve`);
    const early = await people.risk.post(`${set}/activate`, { ...form, comment: '' });
    assert.equal(early.status, 409);
    assert.match(early.text, /não tem a aprovação de uma segunda pessoa/);
    await people.risk.get('/?lang=en');
    assert.match((await order(people.risk, `${set}/approve`)).text, /They stand for it already: risk\./);
    await people.risk.get('/?lang=pt');
    assert.equal((await standingOf(house)).live, first);
  });

  await context.test('no form of others is taken, and no role orders what is not its own', async () => {
    const form = people.admin.hiddenIn((await people.admin.get(`${set}/approve`)).text, `${set}/approve`);
    for (const [fields, headers] of [
      [{}, {}],
      [form, { origin: 'https://evil.example' }],
      [{ ...form, csrf: 'another' }, {}],
    ] as [Record<string, string>, Record<string, string>][])
      assert.equal((await people.admin.post(`${set}/approve`, fields, headers)).status, 403);
    for (const [role, paths] of [
      ['viewer', [`${set}/approve`, `${set}/activate`, '/console/rules/rollback']],
      ['operator', [`${set}/approve`, `${set}/activate`]],
    ] as const) {
      const own = people[role].hiddenIn((await people[role].get('/console/rules')).text, '/console/logout');
      for (const path of paths) assert.equal((await people[role].post(path, own)).status, 403, `${role} ${path}`);
    }
    assert.equal((await openPerson(url).post(`${set}/approve`, form)).status, 401);
    assert.equal((await standingOf(house)).live, first);
  });

  await context.test('another one approves it, and it is followed', async () => {
    const long = await order(people.admin, `${set}/approve`, 'x'.repeat(201));
    assert.equal(long.status, 422);
    const done = await order(people.admin, `${set}/approve`, 'conferido, CPF 529.982.247-25');
    assert.deepEqual([done.status, done.location], [303, '/console/rules?notice=announced'], done.text);
    assert.match((await people.admin.get(done.location!)).text, /role="status">Anunciado/);
    const { live, sets } = await standingOf(house);
    assert.equal(live, hash);
    assert.deepEqual(
      sets.map(({ state }) => state),
      ['live', 'former'],
    );
    const { text } = await people.viewer.get('/console/rules');
    assert.match(text, /conferido, CPF \*\*\*/);
    assert.match((await people.admin.get(`${set}/approve`)).text, /Aprovar este conjunto/);
  });

  await context.test('an operator goes back to the set before, and somebody else looks at it', async () => {
    const path = '/console/rules/rollback';
    const { text } = await people.operator.get(path);
    const form = people.operator.hiddenIn(text, path);
    assert.equal(form.set, first);
    const moved = await people.operator.post(path, { ...form, set: hash, comment: '' });
    assert.equal(moved.status, 409);
    assert.match(moved.text, /o conjunto mudou/);
    const back = await people.operator.post(path, { ...form, comment: 'taxas erradas' });
    assert.deepEqual([back.status, back.location], [303, '/console/rules?notice=announced'], back.text);
    assert.equal((await standingOf(house)).live, first);
    const list = await people.risk.get('/console/rules');
    assert.match(list.text, /Outra pessoa tem de conferir até/);
    assert.doesNotMatch(list.text, /rollback"/, 'there is no set before it');
    assert.equal((await people.risk.get(path)).status, 409);
    const review = `/console/rules/sets/${first}/approve`;
    assert.match((await people.risk.get(review)).text, /A volta a este conjunto foi conferida\?/);
    const looked = await order(people.risk, review);
    assert.equal(looked.location, '/console/rules?notice=reviewed', looked.text);
    assert.equal((await standingOf(house)).rollback?.reviewedBy, 'risk');
  });

  await context.test('what names no set is no page', async () => {
    for (const [path, status] of [
      ['/console/rules/sets/ffffff', 404],
      ['/console/rules/sets/nothing', 404],
      ['/console/rules/sets/ffffff/approve', 404],
      [`/console/rules/sets/${'f'.repeat(500)}`, 404],
      [`${set}?before=${encodeURIComponent('"><script>alert(1)</script>')}`, 200],
      ['/console/rules/sets/live', 200],
    ] as const) {
      const answer = await people.admin.get(path);
      assert.equal(answer.status, status, path);
      assert.doesNotMatch(answer.text, /<script>alert/);
    }
  });
});

test('where one person is enough a kept set is activated, and rules that sleep are shown', async (context) => {
  const house = await startApi(context);
  const hash = await propose(house, 'other');
  const person = await loggedIn(house.engine.url, 'risk');
  const path = `/console/rules/sets/${hash}/activate`;
  const done = await order(person, path);
  assert.equal(done.location, '/console/rules?notice=announced', done.text);
  const again = await order(person, path);
  assert.equal(again.location, '/console/rules?notice=followed-already', again.text);
  let liveNow = '';
  while (liveNow !== hash) {
    await sleep(50);
    liveNow = ((await house.call('GET', '/v1/status')).body as { ruleSet: string }).ruleSet;
  }
  const until = Date.now() + 60_000;
  const body = { rule: 'Marker other', until, reason: 'falso <alarme>' };
  assert.equal((await house.call('POST', '/v1/rules/snoozes', { role: 'risk', body })).status, 200);
  const { text } = await person.get('/console/rules');
  assert.match(text, /Regras suspensas.*<bdi>Marker other<\/bdi>.*<bdi>falso &lt;alarme&gt;<\/bdi>/s);
});
