/** The operations after a bid over real HTTP: three roots, both forms of the token, keys, and nothing sent twice without one. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { type OperationName, operations, writeOperation } from '../../../src/wire/operations.ts';
import { type Received, startClient, startHttp, startTcp } from './surroundings.ts';

const account = {
  ...{ accountType: 1, branch: '1', branchDigit: '2', account: '3', accountDigit: '4', bankNumber: '001' },
};
const contract = writeOperation('contract', 'c-1', {
  ...{ requestId: '12', amountCents: 100, installments: 6, rateHundredths: 200, agentCpf: '52998224725', account },
});
const renegotiation = writeOperation('renegotiation', 'r-1', {
  ...{ closedContract: '1', cpf: '52998224725', registration: '1', employerIdType: 1, employerId: '2' },
  ...{ agentCpf: '52998224725', contractType: '1', installments: 6, rateHundredths: 498 },
});
const endorsement = writeOperation('endorsement', 'e-1', { content: { assinatura: 'x' } });
const unkeyed = [contract, renegotiation, endorsement];
const dto = { proposalCode: 'P-1' };
const keyed = [
  writeOperation('simulation', 's-1', { cpf: '52998224725' }),
  writeOperation('inclusion', 'i-1', { cpf: '52998224725' }),
  writeOperation('proposal', 'p-1', { dto: { CodigoProposta: 'P-1' } }),
  writeOperation('installments', 'n-1', { proposalCode: 'P-1' }),
  writeOperation('splits', 'l-1', { dto }),
  writeOperation('signers', 'g-1', { dto }),
  writeOperation('finalisation', 'f-1', { dto }),
  writeOperation('account-update', 'a-1', { dto }),
];

const done = { Msg: null, HasError: false, Messages: null };
const successes: Readonly<Record<OperationName, object>> = {
  contract: { codigoRequisicao: 'code-1' },
  renegotiation: { CodigoRequisicao: 'code-2', Origem: 'x', Conteudo: { Mensagem: 'ok' }, Erros: [] },
  endorsement: { CodigoRequisicao: 'code-3', Conteudo: { Mensagem: 'Recebido' }, Erros: [] },
  simulation: { ...done, Simulacoes: [] },
  inclusion: { ...done, CodigoProposta: 'P-1' },
  proposal: { ...done, Codigo: 'P-1', Situacao: 2 },
  installments: { ...done, Parcelas: [] },
  splits: { msg: null, hasError: false },
  signers: { msg: null, hasError: false },
  finalisation: { msg: null, hasError: false },
  'account-update': { msg: null, hasError: false },
};
const nameOf = new Map(Object.entries(operations).map(([name, { path }]) => [path, name as OperationName]));

function succeed(response: ServerResponse, { url }: Received): void {
  const name = nameOf.get(url.replace(/^\/\w+-root/, ''))!;
  response.writeHead(200).end(JSON.stringify(successes[name]));
}

const roots = (baseUrl: string) => ({
  fgtsUrl: `${baseUrl}/fgts-root`,
  proposalUrl: `${baseUrl}/proposal-root/`,
});

test('each of the operations goes to its root, with its headers, and its answer is read', async (t) => {
  const { baseUrl, received } = await startHttp(t, succeed);
  const { service } = startClient(t, `${baseUrl}/base-root`, roots(baseUrl));
  for (const prepared of [...unkeyed, ...keyed]) {
    const result = await service.perform(prepared);
    assert.equal(result.kind, 'accepted', `${prepared.operation} ${JSON.stringify(result)}`);
    const { url, authorization, contentType, idempotencyKey, body } = received.at(-1)!;
    const root = { base: '/base-root', fgts: '/fgts-root', proposal: '/proposal-root' };
    assert.equal(url, root[operations[prepared.operation].root] + prepared.path);
    assert.equal(authorization, 'Bearer first');
    assert.equal(contentType, 'application/json');
    assert.equal(idempotencyKey, prepared.idempotencyKey);
    assert.equal(body, prepared.body);
  }
  assert.equal(received.length, 11);
});

test('the token stands bare in the header where that is set, for withdrawals alone', async (t) => {
  const { baseUrl, received } = await startHttp(t, succeed);
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), withdrawalAuthorization: 'bare' });
  for (const prepared of [contract, keyed[0]!, keyed[4]!]) await service.perform(prepared);
  assert.deepEqual(
    received.map(({ authorization }) => authorization),
    ['Bearer first', 'first', 'first'],
  );
});

test('without a key an unknown answer is never asked for again', async (t) => {
  const unknown = [500, 502, 302, 408, 200] as const;
  let status: number = 500;
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(status).end('<html>'));
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  for (const prepared of unkeyed) {
    for (status of unknown) {
      const before = received.length;
      const result = await service.perform(prepared);
      assert.ok(result.kind === 'unknown' && result.attempts === 1, JSON.stringify(result));
      assert.equal(received.length, before + 1);
    }
  }
});

test('without a key a lost answer is never asked for again', async (t) => {
  const { baseUrl, connections } = await startTcp(t, (socket) => socket.destroy());
  const { service } = startClient(t, baseUrl);
  for (const prepared of unkeyed) {
    const result = await service.perform(prepared);
    assert.ok(result.kind === 'unknown' && result.reason === 'connection-lost');
  }
  assert.equal(connections(), 3);
});

test('with a key an unknown answer is asked for again, with the same key and bytes, so often as is set', async (t) => {
  let failures = 2;
  const { baseUrl, received } = await startHttp(t, (response, one) => {
    failures -= 1;
    if (failures >= 0) response.destroy();
    else succeed(response, one);
  });
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  for (const prepared of keyed) {
    failures = 2;
    const from = received.length;
    const result = await service.perform(prepared);
    assert.ok(result.kind === 'accepted' && result.attempts === 3);
    const sent = received.slice(from).map(({ body, idempotencyKey }) => `${idempotencyKey} ${body}`);
    assert.deepEqual(sent, Array(3).fill(`${prepared.idempotencyKey} ${prepared.body}`));
  }
  failures = 100;
  const from = received.length;
  const result = await service.perform(keyed[1]!);
  assert.ok(result.kind === 'unknown' && result.attempts === 3);
  assert.equal(received.length - from, 3);
});

test('an inclusion that names a proposal and counts as not done is written once', async (t) => {
  const code = 'a1b2c3d4-0000-4000-8000-000000000001';
  const failed =
    '"Msg":null,"HasError":true,"Messages":[{"Code":"1","Context":"","Description":"Falha","Field":""}],"CodigoProposta"';
  let status = 200;
  let body = '';
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(status).end(body));
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  for (const [answered, text, reason, named] of [
    [200, `{${failed}:"${code}"}`, 'refused-with-code', code],
    [400, `{${failed}:"${code}"}`, 'refused-with-code', code],
    [429, `{${failed}:"${code}"}`, 'refused-with-code', code],
    [500, `{${failed}:"${code}"}`, 'refused-with-code', code],
    [200, `{${failed}:{"Codigo":1}}`, 'refused-with-code', undefined],
    [200, `{"CodigoProposta":"${code}"}`, 'incomplete-success', code],
    [503, `{"HasError":false,"CodigoProposta":"${code}"}`, 'status-503', code],
  ] as const) {
    [status, body] = [answered, text];
    const before = received.length;
    const result = await service.perform(keyed[1]!);
    assert(result.kind === 'unknown', text);
    assert.deepEqual([result.reason, result.code, result.attempts], [reason, named, 1], text);
    assert.equal(received.length, before + 1, text);
  }
});

test('an inclusion beside which a proposal has the value of nothing is sent again, and refused, as one that names none', async (t) => {
  let status = 200;
  let body = '';
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(status).end(body));
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  const zeroGuid = '00000000-0000-0000-0000-000000000000';
  const nothing = [0, '0', '', '  ', zeroGuid, `{${zeroGuid}}`, zeroGuid.replaceAll('-', '')];
  for (const code of nothing.map((each) => JSON.stringify(each))) {
    const failed = `{"HasError":true,"Messages":[{"Code":"C","Description":"Indisponível"}],"CodigoProposta":${code}}`;
    for (const [answered, text, kind, said, attempts] of [
      [503, failed, 'unknown', 'status-503', 3],
      [500, `{"Conteudo":${failed}}`, 'unknown', 'status-500', 3],
      [400, failed, 'rejected', 'C', 1],
      [200, failed, 'rejected', 'C', 1],
      [200, `{"CodigoProposta":${code}}`, 'unknown', 'incomplete-success', 3],
      [200, `{"HasError":false,"CodigoProposta":${code}}`, 'unknown', 'incomplete-success', 3],
    ] as const) {
      [status, body] = [answered, text];
      const before = received.length;
      const result = await service.perform(keyed[1]!);
      assert(result.kind !== 'not-sent' && result.kind !== 'accepted', `${text} ${JSON.stringify(result)}`);
      const told = result.kind === 'rejected' ? result.code : result.reason;
      assert.deepEqual([result.kind, told, received.length - before], [kind, said, attempts], `${answered} ${text}`);
    }
  }
});

test('a request code of zeros names nothing that was done, and no event can come under it', async (t) => {
  let status = 200;
  let body = '';
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(status).end(body));
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  const zeroGuid = '00000000-0000-0000-0000-000000000000';
  const nothing = [0, '0', '', '  ', null, zeroGuid, `{${zeroGuid}}`, zeroGuid.replaceAll('-', '')];
  const no = '"Erros":[{"Codigo":"E","Mensagem":"Margem insuficiente"}]';
  for (const code of nothing.map((each) => `"CodigoRequisicao":${JSON.stringify(each)}`)) {
    for (const prepared of unkeyed) {
      const unsaid = prepared === endorsement ? 'unshown-success' : 'incomplete-success';
      for (const [answered, text, kind, said] of [
        [200, `{${code},${no}}`, 'rejected', 'E'],
        [422, `{${code},${no}}`, 'rejected', 'E'],
        [400, `{"Conteudo":{${code}},${no}}`, 'rejected', 'E'],
        [400, `{${code}}`, 'rejected', 'status-400'],
        [409, `{${code}}`, 'unknown', 'status-409'],
        [429, `{${code},${no}}`, 'not-sent', 'throttled'],
        [503, `{${code},${no}}`, 'unknown', 'status-503'],
        [200, `{${code},"Conteudo":{"Mensagem":"Recebida"},"Erros":[]}`, 'unknown', unsaid],
      ] as const) {
        [status, body] = [answered, text];
        const before = received.length;
        const result = await service.perform(prepared);
        const told = result.kind === 'rejected' ? result.code : 'reason' in result ? result.reason : null;
        const at = `${prepared.operation} ${answered} ${text}`;
        assert.deepEqual([result.kind, told, received.length - before], [kind, said, 1], at);
        assert.equal('code' in result && result.kind === 'unknown' ? result.code : undefined, undefined, at);
      }
    }
  }
});

test('a "no" to the second attempt of a write leaves open what the first one did', async (t) => {
  let calls = 0;
  const no = JSON.stringify({ HasError: true, Messages: [{ Code: 'E', Description: 'no', Field: 'x' }] });
  const { baseUrl } = await startHttp(t, (response) => {
    calls += 1;
    if (calls % 2 === 1) response.destroy();
    else response.writeHead(200).end(no);
  });
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  const write = await service.perform(keyed[1]!);
  assert.ok(write.kind === 'unknown' && write.reason === 'rejected-on-retry');
  const read = await service.perform(keyed[2]!);
  assert.ok(read.kind === 'rejected' && read.code === 'E');
});

test('how the service says no', async (t) => {
  const cases = [
    [contract, 422, '{"Erros":[{"Codigo":"A","Mensagem":"b"}]}', 'A'],
    [contract, 200, '{"codigoRequisicao":null,"erros":[{"Codigo":"B"}]}', 'B'],
    [renegotiation, 400, 'no json', 'status-400'],
    [endorsement, 200, '{"errors":["text alone"]}', 'unclassified'],
    [keyed[1]!, 200, '{"HasError":true,"Msg":"only this"}', 'unclassified'],
    [keyed[1]!, 400, '{"HasError":true,"Messages":[{"Code":"C"}]}', 'C'],
    [keyed[4]!, 200, '{"hasError":true,"messages":[{"code":"D","field":"f"}]}', 'D'],
  ] as const;
  let current: (typeof cases)[number] = cases[0];
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(current[1]).end(current[2]));
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  for (current of cases) {
    const result = await service.perform(current[0]);
    assert.ok(result.kind === 'rejected', JSON.stringify(result));
    assert.equal(result.code, current[3]);
    assert.equal(result.errors.length > 0, current[1] === 200 || current[2] !== 'no json');
  }
  assert.equal(received.length, cases.length);
});

test('a success whose error flag or list is of another kind is not believed to be one', async (t) => {
  let body = '';
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(200).end(body));
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), idempotentRetries: 0 });
  const flaws = [{ HasError: 'true' }, { HasError: 1 }, { Erros: { Codigo: 'E1' } }, { errors: 'E1' }];
  for (const prepared of [...unkeyed, ...keyed]) {
    const fields = Object.entries(successes[prepared.operation]).filter(([key]) => key !== 'Erros');
    for (const flaw of flaws) {
      const kept = fields.filter(([key]) => !('HasError' in flaw && key.toLowerCase() === 'haserror'));
      body = JSON.stringify({ ...Object.fromEntries(kept), ...flaw });
      const result = await service.perform(prepared);
      const reason = prepared.operation === 'endorsement' ? 'unshown-success' : 'unreadable-success';
      assert.ok(result.kind === 'unknown' && result.reason === reason, `${prepared.operation} ${body}`);
    }
  }
  assert.equal(received.length, 11 * 4);
});

test('with a key no more attempts are made than are left to it', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(503).end());
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), idempotentRetries: 4, idempotentRetryMs: 1 });
  const result = await service.perform(keyed[0]!, () => true, 2);
  assert(result.kind === 'unknown' && result.attempts === 2);
  assert.equal(received.length, 2);
  assert.equal(new Set(received.map(({ idempotencyKey, body }) => `${idempotencyKey} ${body}`)).size, 1);
});

test('lists that are null in an answer without errors are an answer: nothing was found', async (t) => {
  const bodies = [
    '{"Msg":null,"HasError":false,"Messages":null,"VlrDispSaque":0,"CodigoBatch":null,"Simulacoes":null,"SimulacoesErro":null}',
    '{"Msg":null,"HasError":false,"Messages":null,"DtCalculo":null,"Parcelas":null}',
  ];
  let body = '';
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(200).end(body));
  const { service } = startClient(t, baseUrl, roots(baseUrl));
  for (const [index, operation] of (['simulation', 'installments'] as const).entries()) {
    body = bodies[index]!;
    const result = await service.perform(keyed.find((prepared) => prepared.operation === operation)!);
    assert.equal(result.kind, 'accepted', JSON.stringify(result));
  }
  assert.equal(received.length, 2);
});

test('a success that does not say what it has to is unknown', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(200).end('{}'));
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), idempotentRetries: 0 });
  for (const prepared of [contract, renegotiation, ...keyed]) {
    const result = await service.perform(prepared);
    assert.ok(result.kind === 'unknown' && result.reason === 'incomplete-success', prepared.operation);
  }
  const endorsed = await service.perform(endorsement);
  assert.ok(endorsed.kind === 'unknown' && endorsed.reason === 'unshown-success');
  assert.equal(received.length, 11);
});

test('what was turned away: throttled, no token, no address, nothing written, and how often it was written', async (t) => {
  let status = 429;
  const { baseUrl, received } = await startHttp(t, (response) =>
    response.writeHead(status, { 'retry-after': '7' }).end(),
  );
  const { service } = startClient(t, baseUrl);
  const throttled = await service.perform(contract);
  assert.ok(throttled.kind === 'not-sent' && throttled.reason === 'throttled' && throttled.attempts === 1);
  assert.ok(Math.abs((throttled.retryAt ?? 0) - Date.now() - 7_000) < 2_000);
  const stopped = await service.perform(contract, () => false);
  assert.ok(stopped.kind === 'not-sent' && stopped.reason === 'stopped' && stopped.attempts === undefined);
  assert.equal(received.length, 1);
  const nowhere = await service.perform(keyed[0]!);
  assert.ok(nowhere.kind === 'not-sent' && nowhere.reason === 'no-address');
  status = 401;
  const refused = await service.perform(contract);
  assert.ok(refused.kind === 'not-sent' && refused.reason === 'unauthorised' && refused.attempts === 1);
  const unreachable = startClient(t, 'http://127.0.0.1:9');
  const lost = await unreachable.service.perform(contract);
  assert.ok(lost.kind === 'not-sent' && lost.reason === 'unreachable' && lost.attempts === undefined);
});

test("without a key what the token kept out is the caller's to send again", async (t) => {
  const { baseUrl, received } = await startHttp(t, (response, one) => {
    if (one.authorization === 'Bearer second') succeed(response, one);
    else response.writeHead(401).end();
  });
  const tokenCommand = [process.execPath, '-e', "console.log('second')"];
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), tokenCommand });
  const first = await service.perform(contract);
  assert.ok(
    first.kind === 'not-sent' && first.reason === 'unauthorised' && first.attempts === 1,
    JSON.stringify(first),
  );
  assert.equal(received.length, 1);
  assert.equal((await service.perform(contract)).kind, 'accepted');
  assert.deepEqual(
    received.map(({ authorization }) => authorization),
    ['Bearer first', 'Bearer second'],
  );
});

test('an expired token is renewed once, and the operation goes with the new one', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response, one) => {
    if (one.authorization === 'Bearer second') succeed(response, one);
    else response.writeHead(401).end();
  });
  const tokenCommand = [process.execPath, '-e', "console.log('second')"];
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), tokenCommand });
  assert.equal((await service.perform(keyed[1]!)).kind, 'accepted');
  assert.deepEqual(
    received.map(({ authorization, idempotencyKey }) => [authorization, idempotencyKey]),
    ['Bearer first', 'Bearer second'].map((token) => [token, keyed[1]!.idempotencyKey]),
  );
});

test('what is turned away beside the code of what was done is unknown, and sent no more', async (t) => {
  let status = 429;
  let body = '{}';
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(status).end(body));
  // A client of its own for each: a fixed token that is refused twice is not used again at once.
  const perform = (prepared: (typeof unkeyed)[number]) =>
    startClient(t, baseUrl, roots(baseUrl)).service.perform(prepared);
  const sentOf = ({ path }: (typeof unkeyed)[number]) => received.filter(({ url }) => url.endsWith(path)).length;
  const code = '831090d4-0000-4000-8000-000000000001';
  const bodies = [
    { codigoRequisicao: code },
    { CodigoRequisicao: code, Conteudo: 'não é um objeto', Erros: [{ Codigo: 'E' }] },
    { Conteudo: { codigoRequisicao: code, Mensagem: 'ok' } },
  ];
  const expired = 'token de acesso expirado';
  for (status of [401, 429, 400, 403, 404, 409, 422]) {
    for (const prepared of unkeyed) {
      for (const each of bodies) {
        body = JSON.stringify({ ...each, texto: expired });
        const before = sentOf(prepared);
        const result = await perform(prepared);
        assert.ok(result.kind === 'unknown', `${status} ${prepared.operation} ${body} ${JSON.stringify(result)}`);
        assert.deepEqual([result.reason, result.code, result.attempts], ['refused-with-code', code, 1]);
        assert.equal(result.response?.status, status);
        assert.equal(sentOf(prepared), before + 1);
      }
    }
  }
  // A code that cannot be read is one all the same.
  body = '{"codigoRequisicao":" 831090d4 0000 "}';
  const unreadable = await perform(contract);
  assert.ok(unreadable.kind === 'unknown' && unreadable.code === undefined, JSON.stringify(unreadable));
});

test('an inclusion that is turned away beside its proposal is a doubt, which no later refusal takes away', async (t) => {
  let answers: { status: number; body: object }[] = [];
  const { baseUrl, received } = await startHttp(t, (response) => {
    const { status, body } = answers.shift()!;
    response.writeHead(status).end(JSON.stringify(body));
  });
  const tokenCommand = [process.execPath, '-e', "console.log('second')"];
  const clientOf = () => startClient(t, baseUrl, { ...roots(baseUrl), tokenCommand }).service;
  const refused = { status: 422, body: { HasError: true, Messages: [{ Code: 'E' }] } };
  for (const status of [429, 401, 403]) {
    answers = [{ status, body: { HasError: false, CodigoProposta: 'P-1', Msg: 'token de acesso expirado' } }, refused];
    const result = await clientOf().perform(keyed[1]!);
    assert.ok(result.kind === 'unknown' && result.attempts === 1, `${status} ${JSON.stringify(result)}`);
  }
  for (const prepared of keyed.slice(4)) {
    answers = [{ status: 429, body: { msg: null, hasError: false } }, refused];
    const result = await clientOf().perform(prepared);
    assert.ok(result.kind === 'unknown' && result.attempts === 2, `${prepared.operation} ${JSON.stringify(result)}`);
  }
  assert.equal(new Set(received.slice(0, 3).map(({ idempotencyKey }) => idempotencyKey)).size, 1);
});

test('with a key, too, it is said how often what was turned away was written', async (t) => {
  let status = 429;
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(status).end());
  const tokenCommand = [process.execPath, '-e', "console.log('second')"];
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), tokenCommand });
  const throttled = await service.perform(keyed[1]!);
  assert.ok(throttled.kind === 'not-sent' && throttled.attempts === 1, JSON.stringify(throttled));
  status = 401;
  const before = received.length;
  const refused = await service.perform(keyed[1]!);
  assert.ok(refused.kind === 'not-sent' && refused.reason === 'unauthorised', JSON.stringify(refused));
  assert.deepEqual([refused.attempts, received.length - before], [2, 2]);
});

test('with a key the last attempt that is left is not made twice after a 401', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response) => response.writeHead(401).end());
  const tokenCommand = [process.execPath, '-e', "console.log('second')"];
  const { service } = startClient(t, baseUrl, { ...roots(baseUrl), tokenCommand });
  const refused = await service.perform(keyed[1]!, () => true, 1);
  assert.ok(refused.kind === 'not-sent' && refused.attempts === 1, JSON.stringify(refused));
  assert.equal(received.length, 1);
});
