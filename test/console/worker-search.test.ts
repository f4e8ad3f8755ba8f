/** Requests are found by the CPF of their worker: by roles that may know the worker, on record, and with the CPF in no address. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { startApi } from '../http/api-house.ts';
import { loggedIn } from './person.ts';

const path = '/console/requests/worker';

test('who may know the worker finds requests by CPF, on record (issue 22)', async (context) => {
  const { engine, sandbox, call, store } = await startApi(context);
  await sandbox.run(20);
  const { cpf } = sandbox.people(20, 20)[3]!;
  const spaced = `${cpf.slice(0, 3)}.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-${cpf.slice(9)}`;
  const readings = async () => {
    const { orders } = (await call('GET', '/v1/controls/history')).body as {
      orders: { kind: string; what?: string; by: string | null; via?: string }[];
    };
    return orders.flatMap(({ kind, what, by, via }) => (kind === 'personal-read' ? [[what, by, via]] : []));
  };
  for (const role of ['viewer', 'risk'] as const) {
    const person = await loggedIn(engine.url, role);
    const { text } = await person.get('/console/requests');
    assert.doesNotMatch(text, /name="cpf"/, role);
    const form = { ...person.hiddenIn(text, '/console/logout'), cpf };
    assert.equal((await person.post(path, form)).status, 403, role);
  }
  assert.deepEqual(await readings(), []);

  const person = await loggedIn(engine.url, 'operator');
  const { text } = await person.get('/console/requests');
  assert.match(text, /<input id="cpf" name="cpf"/);
  const form = person.hiddenIn(text, path);
  for (const wrong of ['', '123', `${cpf.slice(0, 10)}${(Number(cpf[10]) + 1) % 10}`, '<b>x</b>']) {
    const refused = await person.post(path, { ...form, cpf: wrong });
    assert.equal(refused.status, 422, wrong);
    assert.match(refused.text, /id="cpf-fault"/);
    assert.doesNotMatch(refused.text, wrong === '' ? /never/ : new RegExp(`value="${wrong}"|<b>x`));
  }
  assert.equal((await person.post(path, { cpf, csrf: 'x' })).status, 403);
  assert.deepEqual(await readings(), [], 'what is not looked for is not recorded');

  const found = await person.post(path, { ...form, cpf: spaced });
  assert.equal(found.status, 303, found.text);
  assert.match(found.location!, /^\/console\/requests\?worker=[\w-]{16,}$/);
  assert.deepEqual(await readings(), [['worker-searched', 'operator', 'api']]);
  // The book of orders is held in memory: it says once a day who searches, and each search is a record.
  for (let more = 0; more < 4; more += 1) assert.equal((await person.post(path, { ...form, cpf })).status, 303);
  assert.deepEqual(await readings(), [['worker-searched', 'operator', 'api']]);
  const searches: string[] = [];
  for await (const { record } of readTopic(store.log, 'callbacks'))
    if (record.kind === 'personal-read') searches.push(`${record.what} ${record.by} ${record.linkKey}`);
  assert.deepEqual(searches, Array<string>(5).fill('worker-searched operator null'));
  const page = await person.get(found.location!);
  assert.equal(page.status, 200);
  const ids = [...page.text.matchAll(/href="\/console\/requests\/(\d+)"/g)].map(([, id]) => id!);
  assert.ok(ids.length >= 1 && ids.length < 20, `${ids.length} requests`);
  const told = await Promise.all(
    ids.map(async (id) => {
      const answer = await call('POST', `/v1/bids/${id}/worker`, { role: 'admin', body: { reason: 'teste' } });
      return answer.status === 200 ? (answer.body as { cpf: string }).cpf : cpf;
    }),
  );
  assert.deepEqual([...new Set(told)], [cpf]);
  assert.doesNotMatch(page.text, new RegExp(`${cpf}|${spaced}`));
  // With other filters it goes on being asked for.
  assert.match(page.text, /<input type="hidden" name="worker" value="/);
  const narrowed = await person.get(`${found.location!}&state=frozen`);
  assert.doesNotMatch(narrowed.text, /href="\/console\/requests\/\d+"/);

  // Whose search it is not sees nothing by it.
  const admin = await loggedIn(engine.url, 'admin');
  for (const address of [found.location!, '/console/requests?worker=unknown']) {
    const strange = await admin.get(address);
    assert.equal(strange.status, 410);
    assert.doesNotMatch(strange.text, /href="\/console\/requests\/\d+"/);
    assert.match(strange.text, /Busque o CPF de novo/);
  }
});
