import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkQuery } from '../../../src/bidding/ports.ts';
import { encodeQueryAcknowledged, linkDetailPath, linkListPath } from '../../../src/wire/link-queries.ts';
import { startClient, startHttp, startTcp } from './surroundings.ts';

const query: LinkQuery = {
  identity: {
    cpf: '00000000191',
    name: null,
    registration: '77',
    employerId: '12ABC34501DE35',
    employerIdType: 1,
  },
  authorisationNumber: '1234567890123456789',
  cached: true,
};

test('both queries are written as the contract says and acknowledged with their request code', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response, { url }) =>
    response.writeHead(202).end(encodeQueryAcknowledged({ requestCode: 'code-1', path: url, message: 'ok' })),
  );
  const { service } = startClient(t, `${baseUrl}/api`);
  assert.deepEqual(await service.listLinks(query), { kind: 'acknowledged', requestCode: 'code-1' });
  assert.deepEqual(await service.askLinkDetail(query), { kind: 'acknowledged', requestCode: 'code-1' });
  assert.deepEqual(
    received.map(({ url }) => url),
    [`/api${linkListPath}`, `/api${linkDetailPath}`],
  );
  const common = '"consultaCacheada":true,"autorizacao":{"nsuAutorizacaoDigital":1234567890123456789}}';
  const link = '"matricula":"77","codigoInscricaoEmpregador":1,"numeroInscricaoEmpregador":"12ABC34501DE35"';
  assert.deepEqual(
    received.map(({ body }) => body),
    [`{"cpfTrabalhador":"00000000191",${common}`, `{"cpfTrabalhador":"00000000191",${link},${common}`],
  );
  for (const { authorization, contentType, idempotencyKey } of received) {
    assert.deepEqual([authorization, contentType, idempotencyKey], ['Bearer first', 'application/json', null]);
  }
});

test('answers to a query are told apart', async (t) => {
  const cases = [
    [202, '', { kind: 'acknowledged', requestCode: null, isDoubtful: true }],
    [200, 'OK', { kind: 'acknowledged', requestCode: null, isDoubtful: true }],
    [200, '{}', { kind: 'acknowledged', requestCode: null }],
    [200, '<html><body>Maintenance</body></html>', { kind: 'failed', reason: 'unreadable-success' }],
    [200, '\uFEFF\r\n <!DOCTYPE html>', { kind: 'failed', reason: 'unreadable-success' }],
    [400, '{"Mensagem":"Autorização não encontrada"}', 'authorisation-missing'],
    [422, '{"Mensagem":"NSU ausente"}', 'authorisation-missing'],
    [200, '{"Mensagem":"sem autorizacao do trabalhador"}', 'authorisation-missing'],
    [422, '{"Mensagem":"Autorização EXPIRADA"}', 'authorisation-expired'],
    [200, '{"Mensagem":"nsu vencido"}', 'authorisation-expired'],
    [200, '{"CodigoRequisicao":"c-1","Conteudo":null,"Erros":[{"Codigo":"E-1"}]}', 'unclassified'],
    [200, '{"CodigoRequisicao":"c-1","Erros":[{"Mensagem":"NSU ausente"}]}', 'authorisation-missing'],
    [200, '{"CodigoRequisicao":"c-1","Erros":[]}', { kind: 'acknowledged', requestCode: 'c-1' }],
    [400, '{"Mensagem":"consulta expirada"}', 'unclassified'],
    [400, '{"Mensagem":"consulta inválida"}', 'unclassified'],
    [429, '', { kind: 'failed', reason: 'throttled' }],
    [502, '', { kind: 'failed', reason: 'status-502' }],
    [401, '', { kind: 'failed', reason: 'unauthorised' }],
  ] as const;
  let current: (typeof cases)[number] = cases[0];
  const { baseUrl } = await startHttp(t, (response) => response.writeHead(current[0]).end(current[1]));
  const { service } = startClient(t, baseUrl);
  for (current of cases) {
    const [status, body, expected] = current;
    const answer = await service.listLinks(query);
    if (typeof expected === 'string')
      assert.deepEqual(answer, { kind: 'refused', reason: expected, response: { status, body } });
    else assert.deepEqual(answer, expected);
  }
});

test('a worker who is not identified is not asked for', async (t) => {
  const { baseUrl, received } = await startHttp(t, (response) => response.end());
  const { service } = startClient(t, baseUrl);
  const nobody = { ...query, identity: { ...query.identity, cpf: null } };
  assert.deepEqual(await service.listLinks(nobody), { kind: 'failed', reason: 'worker-not-identified' });
  assert.deepEqual(await service.askLinkDetail(nobody), { kind: 'failed', reason: 'worker-not-identified' });
  assert.equal(received.length, 0);
});

test('a query without an answer fails, and does not keep more than its connections', async (t) => {
  const { baseUrl, connections } = await startTcp(t, () => {});
  const { service } = startClient(t, baseUrl, { queryConnections: 2 });
  const answers = await Promise.all(Array.from({ length: 4 }, () => service.listLinks(query)));
  assert.deepEqual(
    new Set(answers.map((answer) => answer.kind === 'failed' && answer.reason)),
    new Set(['headers-timeout']),
  );
  assert.ok(connections() <= 4);
});

test('queries that pile up are refused instead of kept', async (t) => {
  const { baseUrl } = await startTcp(t, () => {});
  const { service } = startClient(t, baseUrl, { queryConnections: 1 });
  const waiting = Array.from({ length: 1_000 }, () => service.listLinks(query));
  assert.deepEqual(await service.listLinks(query), { kind: 'failed', reason: 'too-many-queries' });
  void Promise.allSettled(waiting);
});
