/** Requests are found by the CPF of their worker: by roles that may know the worker, on record, and with the CPF in no address. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { requestsPage, wordsIn } from '../../src/console/pages.ts';
import { type BidPage, type BidReader, firstFound } from '../../src/http/api/bid-reader.ts';
import { exampleOf } from '../../src/http/api/described.ts';
import { bidPage } from '../../src/http/api/schemas.ts';
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

  // Where the number of a request belongs a CPF is not taken, not told again, and stands in no address.
  const risk = await loggedIn(engine.url, 'risk');
  for (const [who, advice] of [
    [person, 'use o campo abaixo'],
    [risk, 'pelo número dela'],
  ] as const) {
    const own = who.hiddenIn((await who.get('/console/requests')).text, '/console/requests/find');
    for (const typed of [cpf, spaced, ` ${cpf} `, '12345678901']) {
      const refused = await who.post('/console/requests/find', { ...own, id: typed });
      assert.deepEqual([refused.status, refused.location], [422, null], typed);
      assert.match(refused.text, new RegExp(`id="id-fault">Isto parece um CPF.*${advice}`));
      assert.doesNotMatch(refused.text, new RegExp(`${cpf}|${spaced}|12345678901`));
    }
  }
  assert.deepEqual(await readings(), [['worker-searched', 'operator', 'api']]);
  // Without a script: the form itself sends nothing in an address.
  for (const { text: each } of [page, await risk.get('/console/requests')])
    for (const [tag, rest] of [...each.matchAll(/<form method="get"(.*?)<\/form>/gs)].map(([all, inner]) => [
      all,
      inner!,
    ]))
      assert.doesNotMatch(rest!, /name="(?:id|cpf)"/, tag);

  // Whose search it is not sees nothing by it.
  const admin = await loggedIn(engine.url, 'admin');
  for (const address of [found.location!, '/console/requests?worker=unknown']) {
    const strange = await admin.get(address);
    assert.equal(strange.status, 410);
    assert.doesNotMatch(strange.text, /href="\/console\/requests\/\d+"/);
    assert.match(strange.text, /Busque o CPF de novo/);
  }
});

test('where the first parts have nothing the search goes on, for a while, and says how far it came', async () => {
  const example = exampleOf(bidPage) as BidPage;
  const nothing = { ...example, bids: [], missing: [] };
  const asked: (string | undefined)[] = [];
  /** Seven parts of requests; what is searched for stands in the last one. */
  const page: BidReader['page'] = async (_name, { before }) => {
    asked.push(before);
    const part = asked.length;
    return { kind: 'page', page: part === 7 ? { ...example, next: null } : { ...nothing, next: `part-${part}` } };
  };
  const query = { limit: 50, workerKey: 'w' };
  const found = await firstFound({ page }, 'ana', query, () => false);
  assert.equal(found?.bids.length, example.bids.length);
  assert.deepEqual(asked, [undefined, 'part-1', 'part-2', 'part-3', 'part-4', 'part-5', 'part-6']);
  asked.length = 0;
  const late = await firstFound({ page }, 'ana', query, () => asked.length === 3);
  assert.deepEqual([late?.bids, late?.next], [[], 'part-3']);
  // A part that could not be asked may have it: nobody looks behind it unseen.
  const missing = [{ partition: 1, instance: null, why: 'no-owner' as const }];
  const partly: BidReader['page'] = async () => ({ kind: 'page', page: { ...nothing, missing, next: 'x' } });
  assert.deepEqual((await firstFound({ page: partly }, 'ana', query, () => false))?.missing, missing);
  assert.equal(await firstFound({ page: async () => ({ kind: 'not-done' }) }, 'ana', query, () => false), null);

  const next = `${String(Date.parse('2026-11-20T13:05:00Z')).padStart(15, '0')}:77`;
  const person = { name: 'ana', role: 'operator' as const, csrfToken: 'c' };
  for (const [language, said] of [
    [
      'pt',
      /Nada foi encontrado ainda\. A busca já voltou até <time[^>]*>20\/11\/2026 10:05 -03<\/time>\..*>Continuar a busca</s,
    ],
    [
      'en',
      /Nothing was found yet\. The search has gone back to <time[^>]*>2026-11-20 10:05 -03<\/time>\..*>Go on searching</s,
    ],
  ] as const) {
    const shown = { ...wordsIn(language), otherHref: '/', assetVersion: 'v', person };
    const facts = { filters: {}, found: { ...nothing, next }, isFirst: true, worker: 's', problem: null };
    assert.match(requestsPage(shown, facts), said);
  }
});
