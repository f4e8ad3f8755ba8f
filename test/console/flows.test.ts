/** The console after the win, without a browser: who sees what of a flow, which steps its forms take, and what is refused beside which field. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { stepFields } from '../../src/console/flow-pages.ts';
import { flowSteps } from '../../src/domain/flow-records.ts';
import { type contractPage, stepBodies } from '../../src/http/api/schemas.ts';
import { jsonLines, lance } from '../cli/desk.ts';
import type { Flow } from '../flows/client.ts';
import { type Role, roles, startApi } from '../http/api-house.ts';
import { contractToSign, until } from './flow-person.ts';
import { openPerson, type Person, tokenOf } from './person.ts';

const cpf = '52998224725';
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)> \u202Egnp.exe' &`;

async function loggedIn(origin: string, role: Role): Promise<Person> {
  const person = openPerson(origin);
  assert.equal((await person.logIn(`a-token-of-the-${role}`)).status, 303);
  return person;
}

/** As a browser sends it, to the second. */
const typedTime = (at: number) => new Date(at - 3 * 3_600_000).toISOString().slice(0, 19);

test('the fields of a form are those of the step', () => {
  for (const step of flowSteps) {
    const fields = stepFields(step);
    if (fields.includes('fields')) continue;
    assert.deepEqual([...fields].sort(), Object.keys(stepBodies[step].shape).sort(), step);
  }
});

test('a contract is signed, and its note generated again, by forms; the server says what is wrong beside the field', async (context) => {
  const house = await startApi(context);
  const { url } = house.engine;
  const flow = await contractToSign(house);
  const path = `/console/flows/contracts/${flow.flowId}`;
  const person = await loggedIn(url, 'operator');

  const overview = await person.get('/console/flows');
  assert.equal(overview.status, 200, overview.text);
  assert.match(
    overview.text,
    new RegExp(`<section aria-labelledby="waiting-title">.*href="${path}".*sign \\(entregar`, 's'),
  );
  assert.match(overview.text, /href="\/console\/flows\/contracts\?phase=awaiting-signature">1</);
  const ordered = flow.flowId.replace('c-', '');
  const { text: before } = await person.get('/console/flows');
  assert.doesNotMatch(before, new RegExp(`href="/console/requests/${ordered}"`), 'its contract is ordered');
  const unordered = house.sandbox.record.of('won').find(({ requestId }) => requestId !== ordered)!.requestId;
  const section = /<section aria-labelledby="unordered-title">.*?<\/section>/s.exec(before)![0];
  assert.match(section, /Lances ganhos à espera do contrato <span class="help">\d+</);
  const row = new RegExp(
    `href="/console/requests/${unordered}".*?R\\$.*?data-name="Pedir antes de"><time.*?sem contrato pedido`,
    's',
  );
  assert.match(section, row);
  // The API tells them too, and so does the command line of another machine.
  const first = (await house.call('GET', '/v1/contracts?waitsFor=person')).body as z.infer<typeof contractPage>;
  const told = first.wonBids!.map(({ requestId }) => requestId);
  assert.deepEqual([told.includes(unordered), told.includes(ordered), first.wonBidsWhole], [true, false, true]);
  const all = (await house.call('GET', '/v1/contracts')).body as z.infer<typeof contractPage>;
  assert.equal(all.wonBids, undefined);
  const afar = { LANCE_URL: url, LANCE_TOKEN: tokenOf('operator'), LANCE_LANG: 'en' };
  const [next, asJson] = await Promise.all([
    lance(afar, 'contracts', 'next', '--limit', '500'),
    lance(afar, 'contracts', 'next', '--limit', '500', '--json'),
  ]);
  assert.equal(next.code, 0, next.stderr);
  assert.ok(next.stdout.includes(`lance contracts example ${unordered} > order.json`), next.stdout);
  assert.doesNotMatch(next.stderr, /without won bids/);
  const bids = jsonLines<{ wonBid?: { requestId: string } }>(asJson.stdout).flatMap(({ wonBid }) => wonBid ?? []);
  assert.deepEqual(
    bids.map(({ requestId }) => requestId),
    told,
  );
  assert.match(overview.text, /Prazos<\/dt><dd><bdi>.*?competência/s, 'the deadline is said');
  const list = await person.get('/console/flows/contracts?phase=awaiting-signature');
  assert.match(list.text, new RegExp(`href="${path}"`));
  assert.match((await person.get('/console/flows/contracts?phase=cancelled')).text, /Nenhum/);
  assert.equal((await person.get('/console/flows/contracts?phase=nothing')).status, 422);
  assert.equal((await person.get('/console/flows/nothing')).status, 404);
  assert.equal((await person.get('/console/flows/withdrawals/c-1')).status, 404);
  assert.equal((await person.get(path.replace('contracts', 'withdrawals'))).status, 404, 'of another kind');

  const shown = await person.get(path);
  assert.equal(shown.status, 200);
  assert.match(shown.text, /aguarda a assinatura/);
  assert.match(shown.text, /taxa no máximo<\/dt><dd>[\d,]+ %/, 'the limits');
  assert.match(shown.text, /<table[^>]*aria-labelledby="history-title">.*proposta/s);
  const fieldsOf = (text: string, step: string) => person.hiddenIn(text, `${path}/steps/${step}`);
  assert.deepEqual(Object.keys(fieldsOf(shown.text, 'sign')), ['csrf', 'key']);

  await context.test('in the words of the page, beside the field, with what was typed', async () => {
    const form = fieldsOf(shown.text, 'sign');
    const note = flow.note!.noteNumber;
    const wrong = async (fields: Record<string, string>, field: string, said: RegExp, status = 422) => {
      const answer = await person.post(`${path}/steps/sign`, { ...form, ...fields });
      assert.equal(answer.status, status, answer.text);
      const beside = new RegExp(
        `id="sign-${field}".*?aria-invalid="true".*?<ul class="reasons wrong" id="sign-${field}-fault">(.*?)</ul>`,
        's',
      );
      const [, text = ''] = beside.exec(answer.text) ?? [];
      assert.match(text, said);
      assert.match(answer.text, /<details class="panel" id="step-sign" open>/);
      return answer.text;
    };
    const now = typedTime(Date.now());
    const content = JSON.stringify({ numeroContrato: note });
    const kept = await wrong({ signedAt: now, content: `{\r\n"a": ${hostile}` }, 'content', /não é JSON/i);
    assert.match(kept, /&lt;script&gt;alert/, 'what was typed is still there');
    assert.doesNotMatch(kept, /\\u000d/);
    assert.doesNotMatch(kept, /<script>|<img|\u202e/i);
    await wrong({ signedAt: now, content: '{"a":1,"a":2}' }, 'content', /não é JSON/i);
    await wrong({ signedAt: '', content }, 'signedAt', /falta|ausente|missing/i);
    await wrong({ signedAt: '2026-02-30T10:00', content }, 'signedAt', /./);
    await wrong({ signedAt: '2020-01-01T10:00', content }, 'signedAt', /antes|CCB|gerad/i);
    await wrong({ signedAt: now, content: JSON.stringify({ numeroContrato: 'another' }) }, 'content', /CCB/);
    const english = await person.post(`${path}/steps/sign?lang=en`, { ...form, signedAt: '2020-01-01T10:00', content });
    assert.match(english.text, /Refused: sign/);
    await person.get('/?lang=pt');
    assert.equal(((await house.call('GET', `/v1/contracts/${flow.flowId}`)).body as Flow).phase, 'awaiting-signature');
  });

  await context.test('sent twice under its key, a step is taken once', async () => {
    const before = (await person.get(path)).text;
    const form = { ...fieldsOf(before, 'regenerate'), reason: 'o valor mudou' };
    const answers = await Promise.all([1, 2].map(() => person.post(`${path}/steps/regenerate`, form)));
    for (const answer of answers)
      assert.deepEqual([answer.status, answer.location], [303, `${path}?notice=taken`], answer.text);
    await until(
      async () => (await house.call('GET', `/v1/contracts/${flow.flowId}`)).body as Flow,
      ({ phase, note }) => phase === 'awaiting-signature' && note?.noteNumber !== flow.note!.noteNumber,
    );
    const after = await person.get(`${path}?notice=taken`);
    assert.match(after.text, /role="status">O passo foi aceito/);
    assert.equal(house.sandbox.summary().operations.contract, 2);
    assert.match(after.text, /motivo o valor mudou/, 'the history says why');
  });

  await context.test('signed with every digit of a long content, it is endorsed', async () => {
    const { note } = (await house.call('GET', `/v1/contracts/${flow.flowId}`)).body as Flow;
    const form = fieldsOf((await person.get(path)).text, 'sign');
    const content = `{"numeroContrato":"${note!.noteNumber}","foto":"${'x'.repeat(300_000)}","id":12345678901234567890}`;
    // The note was generated within this second.
    await sleep(1_100);
    const signed = await person.post(`${path}/steps/sign`, { ...form, signedAt: typedTime(Date.now()), content });
    if (signed.status !== 303)
      assert.fail(/<div class="fault".*?<\/div>|reasons wrong.*?<\/ul>/s.exec(signed.text)?.[0] ?? signed.text);
    await until(
      async () => (await house.call('GET', `/v1/contracts/${flow.flowId}`)).body as Flow,
      ({ phase }) => phase === 'endorsed',
    );
    assert.match(JSON.stringify(house.sandbox.record.of('call')), /"id\\*":12345678901234567890\}/);
  });
});

test('steps and readings are for those who may; strangers and pages of others change nothing', async (context) => {
  const house = await startApi(context);
  const { call, store, engine } = house;
  const { birthDate } = house.sandbox.withdrawals.holder(cpf);
  const begun = await call('POST', '/v1/withdrawals', { key: 'w1', body: { cpf, birthDate } });
  const { flowId } = begun.body as Flow;
  const path = `/console/flows/withdrawals/${flowId}`;
  const operator = await loggedIn(engine.url, 'operator');
  const form = operator.hiddenIn((await operator.get(path)).text, `${path}/steps/cancel`);

  for (const role of roles) {
    const person = await loggedIn(engine.url, role);
    const may = role === 'operator' || role === 'admin';
    for (const page of ['/console/flows', '/console/flows/withdrawals', path]) {
      const { status, text } = await person.get(page);
      assert.equal(status, 200, `${role} ${page}`);
      assert.doesNotMatch(text, new RegExp(cpf), `${role} ${page}: no page has the whole number`);
      const isShown = text.includes('***.982.247-**');
      // The overview names no worker at all.
      assert.equal(isShown, may && page !== '/console/flows', `${role} sees the worker on ${page}`);
    }
    const { text } = await person.get(path);
    assert.equal(text.includes(`action="${path}/steps/cancel"`), may, role);
    if (may) continue;
    const own = person.hiddenIn(text, '/console/logout');
    for (const order of ['steps/cancel', 'steps/simulation', 'thaw', 'results/simulation'])
      assert.equal((await person.post(`${path}/${order}`, { ...own, reason: 'x', fields: '{}' })).status, 403, order);
  }
  const refused: [Record<string, string>, Record<string, string>][] = [
    [{}, {}],
    [{ ...form, csrf: 'another' }, {}],
    [form, { origin: 'https://evil.example' }],
    [form, { 'sec-fetch-site': 'cross-site' }],
  ];
  for (const [fields, headers] of refused)
    assert.equal((await operator.post(`${path}/steps/cancel`, { ...fields, reason: 'x' }, headers)).status, 403);
  assert.equal((await openPerson(engine.url).post(`${path}/steps/cancel`, { ...form, reason: 'x' })).status, 401);
  const stranger = { ...form, reason: 'x'.repeat(100_000) };
  assert.equal(
    (await openPerson(engine.url).post(`${path}/steps/sign`, stranger)).status,
    413,
    'strangers send little',
  );
  assert.equal(((await call('GET', `/v1/withdrawals/${flowId}`)).body as Flow).phase, 'started');

  await context.test('what the service answered is shown once the reading is recorded, with its reason', async () => {
    const fields = JSON.stringify({ birthDay: birthDate });
    const wrong = await operator.post(`${path}/steps/simulation`, { ...form, fields: '{"birthDay":"x","other":1}' });
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /id="simulation-fields-fault">.*<code><bdi>birthDay<\/bdi><\/code>/s);
    const simulated = await operator.post(`${path}/steps/simulation`, { ...form, key: 'k-1', fields });
    assert.equal(simulated.status, 303, simulated.text);
    await until(
      async () => (await operator.get(path)).text,
      (text) => text.includes(`action="${path}/results/simulation"`),
    );
    const shownRecords = async () => {
      const found = [];
      for await (const { record } of readTopic(store.log, 'flows')) if (record.kind === 'shown') found.push(record);
      return found;
    };
    const blank = await operator.post(`${path}/results/simulation`, { ...form, reason: '  ' });
    assert.equal(blank.status, 422);
    assert.match(blank.text, /id="result-simulation-reason-fault"/);
    assert.deepEqual(await shownRecords(), []);
    const read = await operator.post(`${path}/results/simulation`, { ...form, reason: 'ligação 123' });
    assert.equal(read.status, 200, read.text);
    assert.match(read.text, /<pre class="wide" tabindex="0">[^<]*Período/);
    const records = await shownRecords();
    assert.deepEqual(
      records.map(({ by, via, what }) => [by, via, what]),
      [['operator', 'api', 'simulation']],
    );
    assert.match((await operator.get(path)).text, /motivo ligação 123/);
    assert.equal((await operator.post(`${path}/results/nothing`, { ...form, reason: 'x' })).status, 404);
  });

  await context.test('what is frozen is brought back or ended, and hostile words stay words', async () => {
    const problem = `${hostile}${'a'.repeat(10_240)}`;
    await store.log.append([
      { topic: 'flows', key: flowId, record: { kind: 'frozen', flowId, at: Date.now(), problem } },
    ]);
    const frozen = await until(
      async () => (await operator.get(path)).text,
      (text) => text.includes(`action="${path}/thaw"`),
    );
    for (const text of [
      frozen,
      (await operator.get('/console/flows')).text,
      (await operator.get('/console/flows/withdrawals')).text,
    ]) {
      assert.doesNotMatch(text, /<script>|<img|\u202e|a{1600}/i);
      assert.equal(text.split('</main>').length, 2);
    }
    assert.match((await operator.get('/console/flows')).text, /está congelado/);
    assert.equal((await operator.post(`${path}/thaw`, { ...form, reason: 'x' })).status, 422, 'no action');
    assert.equal((await operator.post(`${path}/thaw`, { ...form, action: 'retry', reason: ' ' })).status, 422);
    const thawed = await operator.post(`${path}/thaw`, { ...form, action: 'retry', reason: 'versão nova' });
    assert.equal(thawed.status, 303, thawed.text);
    // Whoever ordered it is asked first: somebody else says whose flow it is.
    const admin = await loggedIn(engine.url, 'admin');
    const theirs = (await admin.get(path)).text;
    const [, of] = /name="of" value="([^"]+)" required/.exec(theirs) ?? [];
    assert.ok(of !== undefined && theirs.includes(`o que foi pedido por último é de ${of}`), theirs);
    assert.doesNotMatch((await operator.get(path)).text, /name="of"/);
    const ofAdmin = { ...admin.hiddenIn(theirs, `${path}/steps/cancel`), reason: 'x' };
    const untold = await admin.post(`${path}/steps/cancel`, ofAdmin);
    assert.equal(untold.status, 422);
    assert.ok(untold.text.includes(`Confirme que se cancela o fluxo em que ${of} trabalha.`), untold.text);
    const cancelled = await operator.post(`${path}/steps/cancel`, {
      ...form,
      key: 'k-9',
      reason: `${hostile} desistiu`,
    });
    assert.equal(cancelled.status, 303, cancelled.text);
    const { text } = await operator.get(path);
    assert.match(text, /desistiu/);
    assert.doesNotMatch(text, /<script>|<img|\u202e/i);
    const again = await operator.post(`${path}/steps/cancel`, { ...form, key: 'k-10', reason: 'x' });
    assert.equal(again.status, 409);
    assert.match(again.text, /id="refused"><p>Não foi aceito: cancel/);
  });
});
