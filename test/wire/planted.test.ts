/** Whatever is planted in a webhook, nothing of it is in clear in what the door makes durable. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import { joinRequest } from '../../src/domain/sealed-facts.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { plantedCpf, plantedFields, plantedIn, plantedText } from './planted.ts';
import { createTestVault } from './vault.ts';

const vault = createTestVault();
const read = readRequestMapping(mappingFile);
assert.ok(read.kind === 'read');
const { mapping } = read;

const reading = (body: unknown) => readWebhook(JSON.stringify(body), { mapping, vault, receivedAt: 1_000, now: 1_000 });
const planted = plantedFields();

const short = 'Zulmira Plantada 915.825.754-36';

const link = {
  cpf: plantedCpf,
  matricula: plantedText.slice(0, 40),
  nome: 'Zulmira Plantada',
  inscricaoEmpregador: { codigo: 2, descricao: short },
  numeroInscricaoEmpregador: plantedCpf,
  nomeEmpregador: 'Zulmira Plantada',
};
const request = { numeroSolicitacao: 7, valorLiberado: 1_000, numeroParcelas: 12, ...link, ...planted };

/** Every kind of webhook, and of each what can be wrong with it, full of what must not be found. */
export const plantedBodies: Record<string, unknown> = {
  requests: [
    request,
    { ...request, numeroSolicitacao: 8, alertas: [plantedText, { codigo: 'Zulmira' }] },
    { ...request, numeroSolicitacao: 9, alertas: [{ tipoAlerta: { codigo: 'ZULMIRA', descricao: plantedText } }] },
    { ...request, numeroSolicitacao: 10, inscricaoEmpregador: { codigo: 1 }, numeroInscricaoEmpregador: plantedCpf },
    { ...request, numeroSolicitacao: 11, inscricaoEmpregador: null, numeroInscricaoEmpregador: '915 825 754 36' },
    {
      ...request,
      numeroSolicitacao: 12,
      inscricaoEmpregador: { codigo: 1 },
      numeroInscricaoEmpregador: `000${plantedCpf}`,
    },
    { ...request, numeroSolicitacao: 13, CodigoLote: 'Zulmira Plantada 915.825.754-36' },
    { ...request, numeroSolicitacao: 14, DataHoraFimLeilao: plantedText, dataNascimento: plantedText },
    { ...request, numeroSolicitacao: plantedText },
  ],
  wrapped: { CodigoLote: '915.825.754-36', ...planted, Payload: { ...planted, Solicitacoes: [request, plantedText] } },
  'end-of-auction': {
    Endpoint: '/contrato/oferta-leilao/fim-lote-solicitacoes',
    ...planted,
    Payload: {
      ...planted,
      CodigoLote: 'Lote da Zulmira Plantada',
      Solicitacoes: [
        { NumeroSolicitacao: 7, Lances: [], ...planted },
        {
          NumeroSolicitacao: 8,
          Lances: [
            {
              ...{ CodigoLanceLeilao: 'Zulmira Plantada', TaxaDeJurosMensal: 2, ValorLiberado: 1, NumeroParcelas: 6 },
              Posicao: 1,
            },
          ],
        },
      ],
    },
  },
  'link-detail': {
    CodigoRequisicao: '915.825.754-36',
    Endpoint: '/trabalhador/consultar-dados-vinculo',
    ...planted,
    Payload: { ...link, ...planted, valorBaseMargem: 10, valorMargemDisponivel: 100, alertas: [planted] },
  },
  'link-list': {
    codigoRequisicao: 'Zulmira Plantada',
    endpoint: '/trabalhadores/listar-autorizados',
    ...planted,
    payload: { ...planted, vinculos: [{ ...link, ...planted }, { ...link, cpf: plantedText }, plantedText] },
  },
  contemplated: {
    CodigoRequisicao: 'c-1',
    Endpoint: '/contrato/oferta-leilao/incluir-lance',
    ...planted,
    Payload: {
      Conteudo: { Mensagem: plantedText },
      Erros: [plantedText, planted, { codigo: 'Zulmira', mensagem: 'x' }],
    },
  },
  proposed: {
    CodigoRequisicao: 'c-1',
    Endpoint: '/contrato/oferta-leilao/incluir-lance',
    Payload: {
      conteudo: { ...planted, codigo: short, mensagem: plantedText, numeroProposta: '915.825.754-36' },
      errors: [{ code: 'E7', message: plantedText }, plantedText],
      hashOperacao: plantedText,
    },
  },
  'contract-failed': {
    CodigoRequisicao: 'c-2',
    Endpoint: '/oferta-leilao/gerar-contrato',
    Payload: planted,
    HasError: true,
    Msg: plantedText,
    Messages: [{ Code: 'Zulmira Plantada', Description: plantedText, Field: 'Zulmira' }],
  },
  'contract-code': {
    CodigoRequisicao: 'Zulmira Plantada',
    Endpoint: '/oferta-leilao/gerar-contrato',
    Payload: planted,
    Erros: [plantedText],
  },
  operation: {
    CodigoRequisicao: 'c-3',
    Endpoint: '/oferta-leilao/averbar-contrato',
    Payload: { ...planted, Erros: [planted, plantedText, { Codigo: '915.825.754-36' }] },
  },
  unknown: planted,
  list: [planted, plantedText],
  text: plantedText,
};

for (const [kind, body] of Object.entries(plantedBodies)) {
  test(`of names and CPFs in a webhook nothing is stored in clear: ${kind} (defect line 13)`, () => {
    assert.notDeepEqual(plantedIn(JSON.stringify(body)), [], 'nothing is planted in it');
    const result = reading(body);
    assert.notEqual(result.kind, 'malformed');
    assert.deepEqual(plantedIn(JSON.stringify(result)), []);
  });
}

test('what is sealed beside a request is there for the rules (defect line 13)', () => {
  const result = reading([{ ...request, regiao: 'SUL', alertas: ['por extenso'] }]);
  assert.ok(result.kind === 'entries');
  const [entry] = result.entries;
  assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
  const { requestId, sealed } = entry.record;
  assert.deepEqual(entry.record.request.extra, {});
  assert.deepEqual(entry.record.request.sealedGroups, ['extra', 'alerts']);
  const whole = joinRequest(entry.record.request, vault.open(sealedPlaces.request(requestId), sealed));
  assert.equal(whole.extra.regiao, 'SUL');
  assert.deepEqual(whole.alertCodes, ['por extenso']);
  assert.equal(whole.sealedGroups, undefined);
});

test('the number of an employer that is a company stays as it is (defect line 13)', () => {
  const employers = [
    ['01234567000195', 1],
    ['01.234.567/0001-95', 1],
    ['01234567', 1],
    ['01234567000195', null],
    ['00000000000191', 1],
    ['12ABC34501DE35', 1],
  ] as const;
  for (const [numeroInscricaoEmpregador, codigo] of employers) {
    const result = reading([{ ...request, inscricaoEmpregador: { codigo }, numeroInscricaoEmpregador }]);
    assert.ok(result.kind === 'entries');
    const [entry] = result.entries;
    assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
    assert.equal(entry.record.request.employerId, numeroInscricaoEmpregador);
  }
});
