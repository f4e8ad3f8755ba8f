/** The played service over real HTTP: answers, tokens, queries, webhooks. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { bidPath } from '../../src/wire/bid.ts';
import { readBidAnswer, readOutcomeTable } from '../../src/wire/outcomes.ts';
import { bidBody, type Partner, requestIdsIn, startPartner } from './partner.ts';

const quick = { auction: { windowMs: 400, contemplationDelayMs: 10, proposalDelayMs: 10 }, pace: { batchRequests: 5 } };
const listPath = '/trabalhador/listar-autorizados';
const detailPath = '/trabalhador/consultar-dados-vinculo';
const endEndpoint = '/contrato/oferta-leilao/fim-lote-solicitacoes';

function outcomeTable() {
  const file = readFileSync(new URL('../../config/outcomes.json', import.meta.url), 'utf8');
  const read = readOutcomeTable(JSON.parse(file));
  assert.ok(read.kind === 'read');
  return read.table;
}

async function withPartner(overrides: unknown, run: (partner: Partner) => Promise<void>) {
  const partner = await startPartner(overrides);
  try {
    await run(partner);
  } finally {
    await partner.stop();
  }
}

test('every outcome has an answer that the shipped table classifies', async () => {
  const table = outcomeTable();
  await withPartner(quick, async ({ sandbox, call, until }) => {
    const done = sandbox.run(5);
    const [inside, late] = requestIdsIn((await until(({ json }) => json.Payload.CodigoLote)).body) as [string, string];
    const outcome = async (body: string) => {
      const answer = await call(bidPath, body);
      return { answer, outcome: readBidAnswer(table, answer.status, answer.text).outcome };
    };
    const accepted = await outcome(bidBody(inside));
    assert.equal(accepted.outcome.kind, 'accepted');
    assert.ok(accepted.answer.headers.get('date') !== null);
    const parsed = JSON.parse(accepted.answer.text);
    assert.equal(parsed.Origem, bidPath);
    assert.equal(parsed.CodigoRequisicao, parsed.Conteudo.CodigoLanceLeilao);
    assert.deepEqual((await outcome(bidBody(inside))).outcome, { kind: 'duplicate' });
    assert.deepEqual((await outcome(bidBody('123'))).outcome, { kind: 'rejected', code: 'request-not-found' });
    assert.deepEqual((await outcome(bidBody(late, { validForMs: 8 * 86_400_000 }))).outcome, {
      kind: 'rejected',
      code: 'validity-too-long',
    });
    assert.equal((await call(bidPath, '{')).status, 400);
    await done;
    const outsider = await outcome(bidBody(late));
    assert.deepEqual(outsider.outcome, { kind: 'rejected', code: 'request-expired' });
    assert.equal(sandbox.summary().outcomes.duplicate, 1);
  });
});

test('nobody bid: the first late bid counts, outside the auction', async () => {
  const alone = { ...quick, world: { lenders: [{ participation: 0 }].map((none) => ({ ...lender, ...none })) } };
  await withPartner(alone, async ({ sandbox, call, received, until }) => {
    await sandbox.run(2);
    const [requestId] = requestIdsIn(received[0]!.body) as [string];
    const answer = await call(bidPath, bidBody(requestId));
    assert.equal(readBidAnswer(outcomeTable(), answer.status, answer.text).outcome.kind, 'accepted-outside');
    const code = JSON.parse(answer.text).CodigoRequisicao;
    const proposed = await until(({ json }) => json.CodigoRequisicao === code && json.Payload.conteudo !== undefined);
    assert.match(proposed.json.Payload.conteudo.dataHoraValidadeProposta, /^\d{14}$/);
    assert.deepEqual(proposed.json.Payload.errors, []);
    const won = sandbox.record.of('won')[0]!;
    const bidId = JSON.parse(answer.text).Conteudo.CodigoLanceLeilao;
    assert.notEqual(bidId, code);
    assert.ok(won.outside && won.bidId === bidId);
  });
});

const lender = {
  name: 'none',
  participation: 0.5,
  markupHundredths: 90,
  noiseHundredths: 10,
  roundHundredths: 1,
  belowRoundHundredths: 0,
  floorHundredths: 150,
};

test('a win is told by the end of the auction, the contemplation and the proposal', async () => {
  await withPartner(quick, async ({ sandbox, call, react, until }) => {
    const codes = new Map<string, string>();
    react(({ json, body }) => {
      if (json.Payload?.CodigoLote === undefined || json.Endpoint === endEndpoint) return;
      for (const requestId of requestIdsIn(body)) {
        void call(bidPath, bidBody(requestId, { rate: 2 })).then((answer) => {
          codes.set(requestId, JSON.parse(answer.text).CodigoRequisicao);
        });
      }
    });
    const summary = await sandbox.run(5);
    assert.equal(summary.won, 5);
    const { json } = await until((message) => message.json.Endpoint === endEndpoint);
    const requests = await until(
      (message) => message.json.Endpoint !== endEndpoint && message.json.Payload?.CodigoLote,
    );
    assert.equal(json.Payload.CodigoLote, requests.json.Payload.CodigoLote, 'the batch code is that of its requests');
    for (const request of json.Payload.Solicitacoes) {
      assert.equal(request.Lances[0].CodigoLanceLeilao, codes.get(request.NumeroSolicitacao));
      assert.equal(request.Lances[0].TaxaDeJurosMensal, 0.02);
    }
    const code = [...codes.values()][0]!;
    const contemplated = await until(
      (message) => message.json.Payload?.Conteudo && message.json.CodigoRequisicao === code,
    );
    assert.equal(contemplated.json.Endpoint, bidPath);
    assert.deepEqual(contemplated.json.Payload.Erros, []);
    const request = sandbox.record.of('request')[0]!;
    const { installments } = request;
    const worth = sandbox.trueValue(request, { rateHundredths: 2, amountCents: request.amountCents, installments });
    assert.ok(worth.valueCents < 0 && worth.acceptance > 0.8);
  });
});

test('requests come in the layout of the data processor', async () => {
  await withPartner(quick, async ({ sandbox, received }) => {
    await sandbox.run(5);
    const { Payload } = received[0]!.json;
    assert.match(Payload.DataHoraFimLeilao, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/);
    const request = Payload.Solicitacoes.find((item: object) => 'margemDisponivel' in item);
    const keys = ['numeroSolicitacao', 'cpf', 'matricula', 'inscricaoEmpregador', 'numeroInscricaoEmpregador'];
    keys.push('valorLiberado', 'nroParcelas', 'dataHoraValidadeSolicitacao', 'nomeTrabalhador', 'dataNascimento');
    keys.push('elegivelEmprestimo', 'pessoaExpostaPoliticamente', 'dataAdmissao', 'garantia', 'alertas', 'cnae');
    for (const key of keys) assert.ok(key in request, key);
    assert.match(request.dataNascimento, /^\d{8}$/);
    assert.equal(typeof request.garantia.temGarantias, 'boolean');
  });
});

test('without a good token nothing lands; tokens expire and can be renewed', async () => {
  await withPartner({ ...quick, tokens: { lifetimeMs: 300 } }, async ({ call, sandbox, url }) => {
    assert.equal((await call(bidPath, bidBody('1'), 'wrong')).status, 401);
    assert.equal((await call(bidPath, bidBody('1'))).status, 404);
    await new Promise((resolve) => setTimeout(resolve, 320));
    assert.equal((await call(bidPath, bidBody('1'))).status, 401);
    const issued = await (await fetch(`${url}/sandbox/token`)).json();
    assert.equal((await call(bidPath, bidBody('1'), (issued as { token: string }).token)).status, 404);
    const landed = sandbox.record.of('call').map((entry) => entry.landed);
    assert.deepEqual(landed, [false, true, false, true]);
  });
});

test('link queries: authorisation on the first query, cache, callbacks', async () => {
  await withPartner({ ...quick, links: { callbackMinMs: 1, callbackMaxMs: 5 } }, async (partner) => {
    const { sandbox, call, until, received } = partner;
    await sandbox.run(5);
    const request = received[0]!.json.Payload.Solicitacoes.find((item: object) => 'nsuAutorizacaoDigital' in item);
    const query = {
      cpfTrabalhador: String(request.cpf).padStart(11, '0'),
      matricula: request.matricula,
      codigoInscricaoEmpregador: request.inscricaoEmpregador.codigo,
      numeroInscricaoEmpregador: request.numeroInscricaoEmpregador,
    };
    const autorizacao = { nsuAutorizacaoDigital: request.nsuAutorizacaoDigital };
    const ask = async (path: string, body: object) => {
      const answer = await call(path, JSON.stringify(body));
      return { status: answer.status, json: JSON.parse(answer.text) };
    };
    const refused = await ask(detailPath, query);
    assert.equal(refused.status, 422);
    assert.equal(refused.json.Erros[0].Codigo, 'AUTORIZACAO_AUSENTE');
    const first = await ask(detailPath, { ...query, autorizacao });
    assert.equal(first.status, 200);
    const detail = await until(({ json }) => json.CodigoRequisicao === first.json.CodigoRequisicao);
    assert.equal(detail.json.Endpoint, detailPath);
    assert.equal(detail.json.Payload.matricula, request.matricula);
    assert.equal(String(detail.json.Payload.numeroInscricaoEmpregador), request.numeroInscricaoEmpregador);
    assert.ok(detail.json.Payload.valorMargemDisponivel > 0);
    assert.equal(detail.json.Payload.cnae.codigo, request.cnae);
    await ask(detailPath, { ...query, consultaCacheada: true });
    await ask(detailPath, query);
    const outcomes = sandbox.record.of('call').map((entry) => entry.outcome);
    assert.deepEqual(outcomes, [
      'authorisation-missing',
      'acknowledged-processor',
      'acknowledged-cache',
      'acknowledged-processor',
    ]);
    const list = await ask(listPath, { cpfTrabalhador: query.cpfTrabalhador });
    const links = await until(({ json }) => json.codigoRequisicao === list.json.CodigoRequisicao);
    assert.equal(links.json.endpoint, listPath);
    assert.equal(links.json.payload.vinculos[0].matricula, request.matricula);
    assert.equal((await ask(detailPath, { ...query, matricula: 'other' })).status, 404);
    const wrong = await ask(detailPath, { cpfTrabalhador: 5, codigoInscricaoEmpregador: 3 });
    assert.equal(wrong.status, 400);
    assert.match(wrong.json.Erros[0].Mensagem, /cpfTrabalhador.*matricula.*codigoInscricaoEmpregador/);
  });
});
