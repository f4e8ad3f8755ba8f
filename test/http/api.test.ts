/** The operator API over real HTTP: roles, idempotency, problem documents, whole flows, and what no role is shown. */
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Flow } from '../flows/client.ts';
import { type Reply, roles, startApi } from './api-house.ts';

type Problem = { type: string; status: number; detail: string; errors: { field: string; rule: string }[] };
const problemOf = ({ body }: Reply) => body as Problem;
const flowOf = ({ body }: Reply) => body as Flow;
const cpf = '52998224725';

const account = {
  accountType: 2,
  branch: '0001',
  branchDigit: '9',
  account: '1',
  accountDigit: '7',
  bankNumber: '341',
};
const agentCpf = '11144477735';

async function until(read: () => Promise<Reply>, is: (flow: Flow) => boolean): Promise<Flow> {
  for (let round = 0; round < 200; round += 1) {
    const flow = flowOf(await read());
    if (is(flow)) return flow;
    await sleep(25);
  }
  throw new Error(`never: ${JSON.stringify(flowOf(await read()))}`);
}

test('the operator API', async (context) => {
  const { call, sandbox, store, engine } = await startApi(context);
  await sandbox.run(25);
  const won = sandbox.record.of('won').find(({ errors }) => errors.length === 0)!;
  assert.ok(won !== undefined);
  const { requestId, amountCents, installments, rateHundredths } = won;
  const order = { requestId, workerAccepted: true, amountCents, installments, rateHundredths, agentCpf, account };

  await context.test('what cannot be compared with a limit is refused like any other wrong value', async () => {
    for (const wrong of ['{"length":{"valueOf":1,"toString":1}}', '{"length":[-6.655827637473621e-291]}']) {
      const sent = { role: 'admin', key: 'odd', raw: `{"reason":${wrong}}` } as const;
      const reply = await call('POST', '/v1/contracts/nobody/cancel', sent);
      assert.equal(reply.status, 422, reply.text);
      assert.match((reply.body as { detail: string }).detail, /^reason: write a text/);
    }
  });

  await context.test('a token is needed, and its role says what for', async () => {
    const none = await call('GET', '/v1/bids', { role: null });
    assert.equal(none.status, 401);
    assert.equal(none.headers.get('www-authenticate'), 'Bearer');
    assert.match(none.headers.get('content-type') ?? '', /application\/problem\+json/);
    assert.equal((await call('GET', '/v1/bids', { token: 'wrong' })).status, 401);
    const start = { key: 'k', body: order };
    for (const role of ['viewer', 'risk'] as const)
      assert.equal((await call('POST', '/v1/contracts', { role, ...start })).status, 403);
    for (const role of roles) assert.equal((await call('GET', '/v1/bids', { role })).status, 200);
    assert.equal((await call('GET', '/v1/status', { role: null })).status, 401);
    for (const role of roles) {
      const { status, body } = await call('GET', '/v1/status', { role });
      assert.deepEqual([status, (body as { bidding: { kind: string } }).bidding.kind], [200, 'open'], role);
    }
    for (const role of ['viewer', 'risk', 'operator'] as const) {
      const replay = { role, body: { partition: 0, from: 0, count: 1 } };
      assert.equal((await call('POST', '/v1/dead-letters/replay', replay)).status, 403);
    }
  });

  await context.test('a body over the limit is refused with the limit and its setting (line 7)', async () => {
    const raw = JSON.stringify({ signedAt: 'x', content: { a: 'x'.repeat(2_000_000) } });
    const long = await call('POST', '/v1/contracts/c-1/sign', { key: 'long', raw });
    assert.equal(long.status, 413);
    assert.match(long.text, /at most 2000000 bytes: the setting api\.bodyLimitBytes/);
    const { info } = (await call('GET', '/v1/openapi.json')).body as { info: { description: string } };
    assert.match(info.description, /at most 2000000 bytes/);
  });

  await context.test('a parameter that is not known is refused with the nearest one that is', async () => {
    const wrong = await call('GET', '/v1/bids?stat=won&limit=5');
    assert.equal(wrong.status, 422);
    assert.deepEqual(problemOf(wrong).errors, [
      {
        field: 'stat',
        rule: 'unrecognized_keys',
        detail:
          'is no parameter of this; did you mean state? write one of limit, before, state, code, batchId, segment, since, until',
      },
    ]);
    const far = await call('GET', '/v1/contracts?52998224725=1&__proto__=2');
    assert.equal(far.status, 422);
    assert.ok(!far.text.includes('52998224725') && far.text.includes('phase'));
    assert.match((await call('GET', `/v1/bids/${requestId}?reveal=1`)).text, /takes no parameters/);
    const reason = (await call('GET', '/v1/lookups/q-1/results/links?reason=x')).text;
    assert.match(reason, /send it in the body of a POST to the same address, as \{\\"reason\\"/);
    assert.match((await call('GET', '/v1/lookups/q-1?reason=x')).text, /takes no parameters/);
    assert.equal((await call('GET', '/v1/bids?stat=won', { role: null })).status, 401);
    assert.equal((await call('GET', '/v1/bids?state=won&limit=5')).status, 200);
    assert.equal((await call('GET', '/v1/docs/?any=1', { role: null })).status, 200);
  });

  await context.test('problems name field and rule and quote nothing', async () => {
    const secret = 'Zq9-secret';
    const wrong = await call('POST', '/v1/contracts', { key: 'p1', body: { ...order, agentCpf: secret } });
    assert.equal(wrong.status, 422);
    assert.ok(problemOf(wrong).errors.some(({ field }) => field === 'agentCpf'));
    assert.ok(!wrong.text.includes(secret));
    const keyless = await call('POST', '/v1/contracts', { body: order });
    assert.equal(problemOf(keyless).errors[0]?.field, 'Idempotency-Key');
    const both = await call('POST', '/v1/contracts', { key: 'p2', body: { ...order, installmentCents: 100 } });
    assert.deepEqual([both.status, problemOf(both).errors[0]?.rule], [422, 'one-value']);
    const dear = await call('POST', '/v1/contracts', {
      key: 'p3',
      body: { ...order, rateHundredths: rateHundredths + 1 },
    });
    assert.equal(problemOf(dear).errors[0]?.rule, 'rate-within-bid');
    const insured = await call('POST', '/v1/contracts', { key: 'p4', body: { ...order, insuranceCents: 5 } });
    assert.equal(problemOf(insured).errors[0]?.rule, 'policy-with-insurance');
    const unknown = await call('POST', '/v1/contracts', { key: 'p5', body: { ...order, requestId: '1' } });
    assert.deepEqual([unknown.status, problemOf(unknown).errors[0]?.rule], [404, 'request-known']);
    for (const [raw, detail] of [
      ['{', /"status":400,"detail":"[^"]+one JSON object/],
      ['', /"status":400,"detail":"[^"]+one JSON object/],
      // Which of two values is meant nobody knows.
      [JSON.stringify(order).replace('"installments":', '"installments":7,"installments":'), /says a key twice/],
      [JSON.stringify(order).replace('"account":{', '"account":{"branch":"2","br\\u0061nch":"3",'), /says a key twice/],
      [Buffer.from(JSON.stringify({ ...order, account: { ...account, account: '1\u00e9' } }), 'latin1'), /UTF-8/],
    ] as const) {
      const refused = await call('POST', '/v1/contracts', { key: 'p6', raw });
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.text, detail);
    }
    const future = await call('POST', '/v1/withdrawals', { key: 'p7', body: { cpf, birthDate: '2090-02-20' } });
    assert.deepEqual([future.status, problemOf(future).errors[0]?.field], [422, 'birthDate']);
    const mistyped = await call('POST', '/v1/contracts', { key: 'p8', body: { ...order, account: undefined } });
    assert.match(mistyped.text, /"account","rule":"invalid_type","detail":"is missing/);
    const typeless = { ...account, accountType: undefined };
    const halfway = await call('POST', '/v1/contracts', { key: 'p9', body: { ...order, account: typeless } });
    assert.match(halfway.text, /accountType","rule":"[^"]+","detail":"is missing/);
    assert.equal((await call('POST', '/v1/contracts', { key: 'p6', raw: 'x', type: 'text/plain' })).status, 415);
    const zipped = gzipSync(JSON.stringify(order));
    for (const [coding, said] of [
      ['gzip', '(gzip)'],
      ['identity, BR', '(br)'],
      ['52998224725', '(a coding that is not known here)'],
    ] as const) {
      const headers = { 'content-encoding': coding };
      const refused = await call('POST', '/v1/contracts', { key: 'p6', raw: zipped, headers });
      assert.deepEqual([refused.status, problemOf(refused).errors[0]?.field], [415, 'Content-Encoding'], refused.text);
      assert.ok(refused.text.includes(said) && refused.text.includes('identity'), refused.text);
      assert.equal(refused.headers.get('accept-encoding'), 'identity');
    }
    const asItIs = { key: 'p6', raw: '{', headers: { 'content-encoding': 'identity' } };
    assert.equal((await call('POST', '/v1/contracts', asItIs)).status, 400);
    assert.equal((await call('GET', '/v1/nowhere')).status, 404);
    assert.match(
      (await call('GET', '/v1/lookup?limit=1')).text,
      /"There is nothing here\. Did you mean \/v1\/lookups\?"/,
    );
    const stepless = await call('POST', '/v1/contracts/c-1/finalisation', { key: 'p6', body: {} });
    assert.deepEqual([stepless.status, problemOf(stepless).errors[0]?.rule], [404, 'step-known']);
    assert.match(stepless.text, /A contract has no such step; its steps are amend, sign, .*, proposal\./);
    assert.match((await call('POST', '/v1/lookups/q-1/sign?x=1', { body: {} })).text, /its steps are cancel\./);
    for (const path of ['/v1/bids/1/sign', '/v1/contracts/c-1/sign/more', '/v1/events/e-1/sign'])
      assert.match((await call('POST', path, { body: {} })).text, /"There is nothing here\."/, path);
    const deleted = await call('DELETE', '/v1/contracts/c-1?x=1');
    assert.deepEqual([deleted.status, problemOf(deleted).type], [405, 'urn:problem:lance:method-not-allowed']);
    assert.match(deleted.text, /Send one of GET, HEAD here\./);
    assert.match((await call('PUT', '/v1/contracts')).text, /GET, HEAD, POST|POST, GET, HEAD/);
    assert.equal((await call('DELETE', '/v1/contracts//')).status, 404);
  });

  await context.test('a contract from its start to its endorsement, each thing asked twice and done once', async () => {
    const begun = await call('POST', '/v1/contracts', { key: 'c1', body: order });
    assert.equal(begun.status, 201, begun.text);
    const again = await call('POST', '/v1/contracts', { key: 'c1', body: order });
    assert.deepEqual([again.status, flowOf(again).flowId], [200, flowOf(begun).flowId]);
    const other = await call('POST', '/v1/contracts', { key: 'c2', body: order });
    assert.deepEqual([other.status, problemOf(other).errors[0]?.rule], [409, 'flow-exists']);
    assert.equal(problemOf(other).errors[0]?.field, 'requestId');
    const reused = await call('POST', '/v1/contracts', {
      key: 'c1',
      body: { ...order, installments: installments + 1 },
    });
    assert.deepEqual([reused.status, problemOf(reused).errors[0]?.rule], [409, 'key-reused']);
    const path = `/v1/contracts/${flowOf(begun).flowId}`;
    const early = await call('POST', `${path}/sign`, {
      key: 's0',
      body: { signedAt: new Date().toISOString(), content: { a: 'b' } },
    });
    const waiting = await until(
      () => call('GET', path),
      ({ phase }) => phase === 'awaiting-signature',
    );
    if (early.status !== 202) assert.equal(problemOf(early).errors[0]?.rule, 'step-allowed');
    const differs = waiting.differences.length > 0;
    const steps = ['sign', 'cancel', 'regenerate', ...(differs ? ['accept'] : []), 'proposal'];
    assert.deepEqual(waiting.nextSteps, steps);
    const body = {
      signedAt: new Date().toISOString(),
      // Biometrics are long; the largest body is stated in the description.
      content: { assinatura: 'x'.repeat(1_600_000), contrato: waiting.note!.noteNumber, fim: 'x' },
    };
    const raw = JSON.stringify(body).replace('"fim":"x"', '"fim":"x","id":12345678901234567890');
    for (const status of [202, 200])
      assert.equal((await call('POST', `${path}/sign`, { key: 's1', raw })).status, status);
    const endorsed = await until(
      () => call('GET', path),
      ({ phase }) => phase === 'endorsed',
    );
    const calls = JSON.stringify(sandbox.record.of('call'));
    assert.match(calls, /"id\\*":12345678901234567890\}/, 'what is only carried keeps every digit');
    assert.deepEqual(endorsed.nextSteps, ['deny']);
    const history = (await call('GET', `${path}/history`, { role: 'viewer' })).body as { records: { kind: string }[] };
    const kinds = history.records.map(({ kind }) => kind).filter((kind) => kind !== 'margin-asked');
    assert.deepEqual(kinds.slice(0, 2), ['started', 'proposed']);
    assert.deepEqual(kinds.filter((kind) => kind === 'intended').length, 2);
    const list = (await call('GET', `/v1/contracts?requestId=${requestId}`)).body as { flows: Flow[] };
    assert.deepEqual(
      list.flows.map(({ flowId }) => flowId),
      [endorsed.flowId],
    );
    assert.equal(sandbox.summary().operations.contract, 1);
  });

  await context.test('a renegotiation of a contract made here: its worker, and at most its rate', async () => {
    const loan = sandbox.contracts.loans().find((each) => each.requestId === requestId)!;
    const renegotiation = {
      ...{ closedContract: loan.noteNumber, registration: 'm', employerId: '12345678', employerIdType: 1, agentCpf },
      ...{ contractType: 'CLT', installments: 12, rateHundredths: rateHundredths + 1, originalRateHundredths: 498 },
    };
    const start = (key: string, worker: string, change = {}) =>
      call('POST', '/v1/renegotiations', { key, body: { ...renegotiation, cpf: worker, ...change } });
    const stranger = await start('r1', cpf);
    assert.deepEqual([stranger.status, problemOf(stranger).errors[0]?.rule], [422, 'contract-of-worker']);
    assert.match(stranger.text, /another worker/);
    const wrong = await start('r1a', '52998224726');
    assert.deepEqual([wrong.status, problemOf(wrong).errors[0]?.field], [422, 'cpf']);
    const typed = await start('r1b', loan.cpf);
    assert.deepEqual([typed.status, problemOf(typed).errors[0]?.rule], [422, 'original-rate']);
    assert.match(
      typed.text,
      new RegExp(`it was made here at ${rateHundredths} \\([\\d.]+ % a month\\): leave this out`),
    );
    const nobody = await start('r1c', cpf, { closedContract: 'elsewhere', originalRateHundredths: undefined });
    assert.deepEqual([nobody.status, problemOf(nobody).errors[0]?.rule], [422, 'original-rate-given']);
    for (const [closedContract, rule] of [
      [`0${loan.noteNumber}`, 'contract-number'],
      [` ${loan.noteNumber}`, 'contract-number'],
      [loan.cpf, 'contract-number'],
      ['Maria de Souza', 'contract-number'],
    ] as const) {
      const misspelt = await start('r1d', loan.cpf, { closedContract });
      assert.deepEqual([misspelt.status, problemOf(misspelt).errors[0]?.rule], [422, rule], misspelt.text);
    }
    const dear = await start('r2', loan.cpf, { originalRateHundredths: undefined });
    assert.deepEqual([dear.status, problemOf(dear).errors[0]?.rule], [422, 'rate-within-original']);
    const elsewhere = await start('r3', cpf, { closedContract: 'of-another-lender', rateHundredths: 499 });
    assert.ok(
      problemOf(elsewhere).errors.some(({ rule }) => rule === 'rate-at-most-maximum'),
      elsewhere.text,
    );
    const taken = await start('r4', cpf, { closedContract: 'of-another-lender', rateHundredths: 498 });
    assert.equal(taken.status, 201, taken.text);
    const path = `/v1/renegotiations/${flowOf(taken).flowId}`;
    await until(
      () => call('GET', path),
      ({ phase }) => phase === 'withheld',
    );
    for (const role of roles) {
      const { errors } = flowOf(await call('GET', path, { role }));
      assert.deepEqual(errors, ['authorisation-missing'], `${role}: a reason of our own names nobody`);
    }
    const higher = { renegotiation: { installments: 12, rateHundredths: 499 } };
    const amended = await call('POST', `${path}/amend`, { key: 'r4a', body: higher });
    assert.deepEqual([amended.status, problemOf(amended).errors[0]?.field], [422, 'renegotiation.rateHundredths']);
    const reason = `o trabalhador ${cpf} desistiu`;
    const cancelled = await call('POST', `${path}/cancel`, { key: 'r5', body: { reason } });
    assert.deepEqual([cancelled.status, flowOf(cancelled).phase], [202, 'cancelled']);
    const history = await call('GET', `${path}/history`, { role: 'operator' });
    assert.ok(history.text.includes('desistiu'), history.text);
    for (const role of ['viewer', 'risk'] as const) {
      const { text } = await call('GET', `${path}/history`, { role });
      assert.ok(!text.includes('desistiu') && !text.includes(cpf), `${role} sees ${text}`);
    }
  });

  await context.test('a withdrawal: steps in their order only, answers for those who may see them', async () => {
    const { birthDate } = sandbox.withdrawals.holder(cpf);
    const begun = await call('POST', '/v1/withdrawals', { key: 'w1', body: { cpf, birthDate } });
    assert.equal(begun.status, 201, begun.text);
    const path = `/v1/withdrawals/${flowOf(begun).flowId}`;
    const tooSoon = await call('POST', `${path}/inclusion`, { key: 'i0', body: {} });
    assert.deepEqual([tooSoon.status, problemOf(tooSoon).errors[0]?.rule], [409, 'step-allowed']);
    assert.match(tooSoon.text, /possible now: cancel, simulation"/);
    const wrongMonth = birthDate.slice(5, 7) === '01' ? '1990-02-01' : '1990-01-01';
    const born = await call('POST', `${path}/simulation`, { key: 'b', body: { birthDay: wrongMonth } });
    assert.equal(problemOf(born).errors[0]?.rule, 'birth-month');
    assert.equal((await call('POST', `${path}/simulation`, { key: 's', body: { birthDay: birthDate } })).status, 202);
    await until(
      () => call('GET', path),
      ({ phase }) => phase === 'simulated',
    );
    const foreign = { period: 1, account: { ...account, holderCpf: agentCpf } };
    const empty = await call('POST', `${path}/inclusion`, { key: 'i2', body: {} });
    assert.deepEqual(
      problemOf(empty).errors.map(({ field }) => field),
      ['period', 'account'],
    );
    const stranger = await call('POST', `${path}/inclusion`, { key: 'i1', body: foreign });
    assert.equal(problemOf(stranger).errors[0]?.rule, 'holder-is-worker');
    const result = await call('GET', `${path}/results/simulation`, { role: 'operator' });
    assert.equal(result.status, 200);
    assert.ok(result.text.includes(cpf), 'who drives the flow sees its answers');
    const workerFor = async (role: (typeof roles)[number]) => (await call('GET', path, { role })).text;
    const middle = `"worker":"***.${cpf.slice(3, 6)}.${cpf.slice(6, 9)}-**"`;
    for (const role of ['operator', 'admin'] as const) assert.ok((await workerFor(role)).includes(middle), role);
    for (const role of ['viewer', 'risk'] as const)
      assert.match(
        await workerFor(role),
        /"worker":null,"amountCents":null,"releasedCents":null,"terms":null,"payments":null/,
      );
    assert.match(await workerFor('operator'), /"payments":\[\]/);
    for (const role of ['viewer', 'risk'] as const)
      assert.equal((await call('GET', `${path}/results/simulation`, { role })).status, 403);
  });

  await context.test('of many alike that come at once, one begins it and the others find it begun', async () => {
    const { birthDate } = sandbox.withdrawals.holder(agentCpf);
    const many = (path: string, key: string, body: object) =>
      Promise.all(Array.from({ length: 8 }, () => call('POST', path, { key, body })));
    const statusesOf = (replies: readonly Reply[]) => replies.map(({ status }) => status).sort();
    const recordsOf = async (flowId: string, kind: string) =>
      (await store.log.readKey('flows', flowId)).filter(({ record }) => record.kind === kind);
    const begun = await many('/v1/withdrawals', 'at-once', { cpf: agentCpf, birthDate });
    assert.deepEqual(statusesOf(begun), [200, 200, 200, 200, 200, 200, 200, 201]);
    const { flowId } = flowOf(begun[0]!);
    assert.equal((await recordsOf(flowId, 'started')).length, 1);
    const taken = await many(`/v1/withdrawals/${flowId}/simulation`, 'sim-at-once', { birthDate });
    assert.deepEqual(statusesOf(taken), [200, 200, 200, 200, 200, 200, 200, 202]);
    assert.equal((await recordsOf(flowId, 'asked')).length, 1);
  });

  await context.test('digits with leading zeros go out as the number that they name (defect line 9)', async () => {
    const { birthDate } = sandbox.withdrawals.holder(cpf);
    const beside = await call('POST', '/v1/withdrawals', { key: 'z0', body: { cpf, birthDate } });
    assert.deepEqual([beside.status, problemOf(beside).errors[0]?.field], [409, 'alongside']);
    const begun = await call('POST', '/v1/withdrawals', { key: 'z1', body: { cpf, birthDate, alongside: true } });
    const path = `/v1/withdrawals/${flowOf(begun).flowId}`;
    const simulation = (credential: string, key: string) =>
      call('POST', `${path}/simulation`, { key, body: { birthDay: birthDate, credential } });
    const taken = await simulation('007', 'z2');
    assert.equal(taken.status, 202, taken.text);
    await until(
      () => call('GET', path),
      ({ phase }) => phase === 'simulated',
    );
    const refused = await simulation('7e2', 'z3');
    assert.equal(refused.status, 422);
    assert.match(refused.text, /"field":"credential".*send 1 to 40 decimal digits/);
    const started = await call('POST', '/v1/renegotiations', {
      key: 'z4',
      body: {
        ...{ closedContract: 'zeros', cpf, registration: 'm', employerId: '12345678', employerIdType: 1, agentCpf },
        ...{ contractType: 'CLT', installments: 12, rateHundredths: 300, originalRateHundredths: 498 },
        authorisationNumber: '0123',
      },
    });
    assert.equal(started.status, 201, started.text);
    await until(
      () => call('GET', `/v1/renegotiations/${flowOf(started).flowId}`),
      () => /"nsuAutorizacaoDigital\\*":123\b/.test(JSON.stringify(sandbox.record.of('call'))),
    );
  });

  await context.test('an event of nobody is closed by those who work on flows', async () => {
    const event = { kind: 'told', flowId: 'event:q-9', at: Date.now(), requestCode: 'q-9', of: 'contract' } as const;
    const record = { ...event, note: null, errors: [], sealed: '' };
    await store.log.append([{ topic: 'flows', key: event.flowId, record }]);
    const listed = async () => flowOf((await call('GET', '/v1/events')) as Reply) as unknown as { flows: Flow[] };
    await until(
      () => call('GET', '/v1/events'),
      (page) => JSON.stringify(page).includes(event.flowId),
    );
    const close = (id: string, more: object = {}) =>
      call('POST', `/v1/events/${id}/cancel`, { key: 'e1', body: { reason: 'visto' }, ...more });
    assert.equal((await close(event.flowId, { role: 'viewer' })).status, 403);
    assert.equal((await close('event:none')).status, 404);
    assert.equal((await close('none')).status, 422);
    assert.equal((await close(event.flowId, { body: {} })).status, 422);
    const closed = await close(event.flowId);
    assert.deepEqual([closed.status, flowOf(closed).phase], [202, 'closed'], closed.text);
    assert.equal((await close(event.flowId)).status, 200);
    assert.ok(!(await listed()).flows.some(({ flowId }) => flowId === event.flowId));
    const winner = { kind: 'contemplated', at: Date.now(), message: null, errors: [] } as const;
    for (const code of ['of-no-bid', cpf])
      await store.log.append([{ topic: 'callbacks', key: code, record: { ...winner, requestCode: code } }]);
    const { unknownWinners, unknownWinnersWhole } = (await listed()) as unknown as {
      unknownWinners: { requestCode: string }[];
      unknownWinnersWhole: boolean;
    };
    const codes = unknownWinners.map(({ requestCode }) => requestCode);
    assert.deepEqual([codes, unknownWinnersWhole], [['***', 'of-no-bid'], true]);
    const later = (await call('GET', '/v1/events?phase=closed')).body as { unknownWinners: unknown[] };
    assert.deepEqual(later.unknownWinners, []);
  });

  await context.test('no CPF is shown where it may not be', async () => {
    const known = new Set([cpf, agentCpf]);
    const cpfsInWebhooks = [
      ...JSON.stringify(sandbox.record.of('call')).matchAll(/cpfTrabalhador\\*":\\*"(\d{11})/g),
    ].map(([, each]) => each!);
    // The query that tries the token names nobody, by eleven zeros.
    for (const each of cpfsInWebhooks) if (/[1-9]/.test(each)) known.add(each);
    const flows = (await call('GET', '/v1/contracts')).body as { flows: Flow[] };
    const paths = [
      ...[
        '/v1/bids',
        '/v1/contracts',
        '/v1/withdrawals',
        '/v1/renegotiations',
        '/v1/events',
        '/v1/dead-letters',
        '/v1/status',
      ],
      ...flows.flows.flatMap(({ flowId }) => [`/v1/contracts/${flowId}`, `/v1/contracts/${flowId}/history`]),
      ...[`/v1/bids/${requestId}`, `/v1/bids/${requestId}/margin`],
    ];
    for (const role of roles) {
      for (const path of paths) {
        const { text } = await call('GET', path, { role });
        for (const each of known)
          assert.ok(!text.includes(each) && !text.includes(each.replace(/^0+/, '')), `${role} ${path}`);
      }
    }
  });

  await context.test(
    'who the worker of a won bid is, for those who may know it; each reading is recorded (line 12)',
    async () => {
      const path = `/v1/bids/${requestId}/worker`;
      const body = { reason: 'to send the contract, CPF 529.982.247-25' };
      for (const role of ['viewer', 'risk'] as const)
        assert.equal((await call('POST', path, { role, body })).status, 403, role);
      assert.equal((await call('POST', path, { role: 'operator', body: { reason: ' ' } })).status, 422);
      const shown = await call('POST', path, { role: 'operator', body });
      assert.equal(shown.status, 200, shown.text);
      const { cpf, name } = shown.body as { cpf: string; name: string };
      const calls = JSON.stringify(sandbox.record.of('call'));
      assert.ok(
        cpf.length === 11 && calls.replaceAll('\\', '').includes(`"cpfTrabalhador":"${cpf}"`),
        'as it was asked about',
      );
      assert.equal(typeof name, 'string');
      assert.ok(name.trim().length > 3);
      const { links, proposal } = shown.body as {
        links: { name: string; motherName: string; ineligibility: unknown; legacyLoans: unknown }[];
        proposal: Record<string, string>;
      };
      assert.equal(links[0]?.name, name, 'as the detail of the link says (line 16)');
      assert.ok(links[0]!.motherName.length > 3 && Array.isArray(links[0]!.legacyLoans));
      assert.ok('ineligibility' in links[0]!);
      assert.match(proposal.responseId!, /^\d+$/);
      assert.match(proposal.operationHash!, /^\d+$/);
      assert.ok(proposal.payloadHash!.length > 0);
      const { bids } = (await call('GET', '/v1/bids?state=lost')).body as { bids: { requestId: string }[] };
      const lost = bids[0]?.requestId;
      if (lost !== undefined) {
        const refused = await call('POST', `/v1/bids/${lost}/worker`, { body });
        assert.deepEqual([refused.status, problemOf(refused).errors[0]?.rule], [409, 'bid-won']);
      }
      const records = (await store.log.readKey('auctions', requestId)).map(({ record }) => record);
      const read = records.filter((record) => record.kind === 'worker-read');
      assert.deepEqual(
        read.map(({ by }) => by),
        ['operator'],
      );
      assert.match(read[0]!.reason, /^to send the contract, CPF (?!529)/);
      const state = (await call('GET', `/v1/bids/${requestId}`)).body as { frozen?: string };
      assert.equal(state.frozen, undefined);
    },
  );

  await context.test(
    "a worker's links are asked for on demand; who read the answer and why is recorded (line 15)",
    async () => {
      const worker = await call('POST', `/v1/bids/${requestId}/worker`, { body: { reason: 'to look up' } });
      const { cpf: theirs, registration } = worker.body as { cpf: string; registration: string };
      const body = { cpf: theirs, reason: 'the customer asked' };
      for (const role of ['viewer', 'risk'] as const)
        assert.equal((await call('POST', '/v1/lookups', { role, key: 'l0', body })).status, 403);
      const begun = await call('POST', '/v1/lookups', { role: 'operator', key: 'l1', body });
      assert.equal(begun.status, 201, begun.text);
      const path = `/v1/lookups/${flowOf(begun).flowId}`;
      const done = await until(
        () => call('GET', path),
        ({ phase }) => phase === 'answered' || phase === 'refused',
      );
      assert.equal(done.phase, 'answered', JSON.stringify(done));
      assert.match(String(done.requestCode), /^[\da-f-]{36}$/, 'the code of its query, to ask the service about');
      const result = `${path}/results/links`;
      assert.equal((await call('POST', result, { role: 'risk', body: { reason: 'x' } })).status, 403);
      const shown = await call('POST', result, { role: 'operator', body: { reason: 'CPF 529.982.247-25' } });
      assert.ok(shown.status === 200 && shown.text.includes(registration), shown.text);
      const { flowId } = flowOf(begun);
      const records = (await store.log.readKey('flows', flowId)).map(({ record }) => record);
      const readings = records.filter((record) => record.kind === 'shown');
      assert.deepEqual(
        readings.map(({ by, what }) => [by, what]),
        [['operator', 'links']],
      );
      for (const key of ['l2', 'l3']) {
        const direct = flowOf(await call('POST', '/v1/lookups', { key, body: { ...body, cached: false } }));
        await until(
          () => call('GET', `/v1/lookups/${direct.flowId}`),
          (flow) => flow.phase === 'answered',
        );
      }
      const queries = sandbox.record.of('call').filter((made) => made.path === '/trabalhador/listar-autorizados');
      const cached = queries.map((made) => made.body.includes('"consultaCacheada":true'));
      assert.ok(cached.at(-1), 'beyond the budget of the day the cache is asked');
      assert.ok(cached.filter((isCached) => !isCached).length <= 1, JSON.stringify(cached));
      for (const role of roles) {
        const { text } = await call('GET', `${path}/history`, { role });
        assert.ok(!text.includes(theirs) && !/529\.?982/.test(text), role);
      }
      assert.match((await call('GET', `${path}/history`)).text, /"reason":"CPF /);
    },
  );

  await context.test('dead letters are listed without what they say, and read again in bounds', async () => {
    const webhook = { solicitacoesDesconhecidas: [{ cpf: 52998224725 }] };
    const taken = await call('POST', '/webhooks/token-of-the-webhooks', { role: null, body: webhook });
    assert.equal(taken.status, 202);
    const page = await call('GET', '/v1/dead-letters', { role: 'risk' });
    assert.equal((page.body as { letters: unknown[] }).letters.length, 1);
    assert.ok(!page.text.includes('52998224725'));
    const whole = { partition: 0, from: 0, count: 10 };
    const replay = await call('POST', '/v1/dead-letters/replay', {
      body: { ...whole, reason: 'mapeamento corrigido' },
    });
    assert.deepEqual(replay.body, { read: 1, understood: 0, stillNot: 1, next: 1 });
    const blank = await call('POST', '/v1/dead-letters/replay', { body: { ...whole, reason: ' ' } });
    assert.deepEqual([blank.status, problemOf(blank).errors[0]?.field], [422, 'reason']);
    const tooMany = await call('POST', '/v1/dead-letters/replay', { body: { partition: 0, from: 0, count: 501 } });
    assert.deepEqual([tooMany.status, problemOf(tooMany).errors[0]?.rule], [422, 'replay-limit']);
    const path = '/v1/dead-letters/0/0/dismiss';
    const why = { body: { reason: 'teste, CPF 52998224725' } };
    assert.equal((await call('POST', path, { ...why, role: 'operator' })).status, 403);
    assert.equal((await call('POST', '/v1/dead-letters/0/9/dismiss', why)).status, 404);
    assert.deepEqual((await call('POST', path, why)).body, { partition: 0, offset: 0 });
    const again = await call('POST', path, why);
    assert.equal(again.status, 409, again.text);
    const { letters } = (await call('GET', '/v1/dead-letters')).body as { letters: { dismissedBy?: object }[] };
    assert.deepEqual(letters[0]?.dismissedBy, { by: 'admin', via: 'api', reason: 'teste, CPF ***' });
  });

  await context.test('margins for those who contract; decisions for those who answer for them', async () => {
    assert.equal((await call('GET', `/v1/bids/${requestId}/margin`, { role: 'viewer' })).status, 403);
    const margin = await call('GET', `/v1/bids/${requestId}/margin`, { role: 'risk' });
    assert.ok(margin.status === 200 && (margin.body as { availableMarginCents: number }).availableMarginCents > 0);
    const decision = (role: (typeof roles)[number]) => call('GET', `/v1/bids/${requestId}`, { role });
    assert.equal(((await decision('viewer')).body as { trace: unknown }).trace, null);
    assert.notEqual(((await decision('risk')).body as { trace: unknown }).trace, null);
  });

  await context.test('leading zeros of a request id do not count, wherever it stands', async () => {
    const same = `00${requestId}`;
    const body = { reason: 'to send the contract' };
    for (const [method, path, sent] of [
      ['GET', '/v1/bids/ID', undefined],
      ['GET', '/v1/bids/ID/margin', undefined],
      ['POST', '/v1/bids/ID/worker', body],
      ['GET', '/v1/contracts?requestId=ID', undefined],
    ] as const) {
      const [plain, padded] = [requestId, same].map((id) =>
        call(method, path.replace('ID', id), sent === undefined ? {} : { body: sent }),
      );
      const reply = await padded!;
      assert.equal(reply.status, 200, `${path}: ${reply.text}`);
      assert.deepEqual(reply.body, (await plain!).body, path);
    }
    assert.equal((await call('GET', '/v1/bids/12a')).status, 422);
    const flow = await call('GET', `/v1/contracts/${same}`);
    assert.match(flow.text, new RegExp(`There is /v1/contracts/c-${requestId}\\.`));
  });

  await context.test('pages go on where the last one ended', async () => {
    const seen: string[] = [];
    for (let before = ''; ; ) {
      const page = (await call('GET', `/v1/bids?limit=7${before}`)).body as {
        bids: { requestId: string }[];
        next: string | null;
      };
      seen.push(...page.bids.map((bid) => bid.requestId));
      if (page.next === null) break;
      before = `&before=${encodeURIComponent(page.next)}`;
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.equal(seen.length, 25);
  });

  await context.test('the document is served as a page that people can read, with all that it loads', async () => {
    const page = await call('GET', '/v1/docs/', { role: null });
    assert.match(page.text, /<title>Lance: API<\/title>/);
    const loaded = [...page.text.matchAll(/(?:src|href)="\.?\/?([^"]+\.(?:js|css))"/g)].map(([, path]) => path!);
    assert.ok(loaded.length > 2, page.text);
    for (const path of loaded) {
      const at = path.startsWith('v1/') ? `/${path}` : `/v1/docs/${path}`;
      assert.equal((await call('GET', at, { role: null })).status, 200, at);
    }
    const document = (await call('GET', '/v1/openapi.json', { role: null })).body as {
      openapi: string;
      paths: Record<string, Record<string, { summary?: string; responses: object }>>;
    };
    assert.match(document.openapi, /^3\.1/);
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const operation of Object.values(methods)) assert.ok((operation.summary?.length ?? 0) > 10, path);
    }
  });

  await context.test('a path with dots leads from the documentation to nothing else', async () => {
    for (const path of ['/v1/docs/../status', '/v1/docs/%2e%2e/bids', '/v1/docs/static/../../login/callback']) {
      const status = await new Promise<number>((resolve, reject) => {
        // As it stands: a browser and fetch would resolve the dots themselves.
        get(`${engine.url}/livez`, { path }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        }).on('error', reject);
      });
      assert.equal(status, 404, path);
    }
  });

  await context.test(
    'an endorsement that is told to have failed after all is shown, and counted as an alarm',
    async () => {
      const [flow] = ((await call('GET', `/v1/contracts?requestId=${requestId}`)).body as { flows: Flow[] }).flows;
      const endorsement = sandbox.record.of('operation').find(({ operation }) => operation === 'endorsement')!;
      const alarms = async () =>
        Number(/lance_alarms_total\{code="flow-refused"\} (\d+)/.exec((await call('GET', '/metrics')).text)?.[1] ?? 0);
      const before = await alarms();
      const event = {
        CodigoRequisicao: endorsement.requestCode,
        Endpoint: '/contrato/oferta-leilao/averbar-contrato',
        Payload: { Conteudo: {}, Erros: ['margem indisponível'] },
      };
      assert.equal((await call('POST', '/webhooks/token-of-the-webhooks', { role: null, body: event })).status, 200);
      const refused = await until(
        () => call('GET', `/v1/contracts/${flow!.flowId}`),
        ({ phase }) => phase === 'endorsement-refused',
      );
      assert.ok(refused.errors.some((text) => text.includes('margem')));
      // The text of the metrics is kept for a second.
      for (let looks = 0; looks < 30 && (await alarms()) === before; looks += 1) await sleep(100);
      assert.equal(await alarms(), before + 1);
    },
  );

  await context.test('a search finds what the whole list has of it, and nothing else', async () => {
    type Bid = { requestId: string; state: string; code: string | null; batchId: string | null; decidedAt: number };
    const search = async (query: string) => {
      const { body, status, text } = await call('GET', `/v1/bids?limit=200${query}`);
      assert.equal(status, 200, text);
      return (body as { bids: Bid[] }).bids;
    };
    const all = await search('');
    const ids = (bids: readonly Bid[]) => bids.map((bid) => bid.requestId);
    const times = all.map(({ decidedAt }) => decidedAt).sort((one, other) => one - other);
    const [early, late] = [times[8]!, times[16]!];
    const searches: [string, (bid: Bid) => boolean][] = [
      ...[...new Set(all.map(({ batchId }) => batchId))].map((batch): [string, (bid: Bid) => boolean] => [
        `&batchId=${encodeURIComponent(batch!)}`,
        ({ batchId }) => batchId === batch,
      ]),
      ...[...new Set(all.map(({ code }) => code)), 'no-such-code'].map((named): [string, (bid: Bid) => boolean] => [
        named === null ? '' : `&code=${named}`,
        ({ code }) => named === null || code === named,
      ]),
      [`&since=${early}`, ({ decidedAt }) => decidedAt >= early],
      [`&until=${late}`, ({ decidedAt }) => decidedAt <= late],
      [
        `&since=${early}&until=${late}&state=passed`,
        (bid) => bid.decidedAt >= early && bid.decidedAt <= late && bid.state === 'passed',
      ],
    ];
    const segments = new Map<string, readonly string[]>();
    for (const { requestId } of all) {
      const { trace } = (await call('GET', `/v1/bids/${requestId}`)).body as {
        trace: { segmentKeys: string[] } | null;
      };
      segments.set(requestId, trace?.segmentKeys ?? []);
    }
    for (const segment of new Set([...segments.values()].flat())) {
      searches.push([
        `&segment=${encodeURIComponent(segment)}`,
        ({ requestId }) => segments.get(requestId)!.includes(segment),
      ]);
    }
    assert.ok(new Set([...segments.values()].flat()).size > 1, 'no request was decided in a segment');
    for (const [query, fits] of searches) assert.deepEqual(ids(await search(query)), ids(all.filter(fits)), query);
    const { batchId } = all[0]!;
    const inBatch = ids(all.filter((bid) => bid.batchId === batchId));
    const found: string[] = [];
    for (let next = ''; ; ) {
      const query = `/v1/bids?limit=3&batchId=${encodeURIComponent(batchId!)}${next}`;
      const page = (await call('GET', query)).body as { bids: Bid[]; next: string | null };
      found.push(...ids(page.bids));
      if (page.next === null) break;
      next = `&before=${encodeURIComponent(page.next)}`;
    }
    assert.deepEqual(found, inBatch);
  });
});
