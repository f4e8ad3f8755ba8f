import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EndorsementTold, endorsementTold } from '../../src/wire/endorsement-words.ts';
import type { JsonObject, JsonValue } from '../../src/wire/json.ts';

const told = (content: JsonObject): JsonValue => ({ Payload: { Conteudo: content, Erros: [] } });

function holds(verdict: EndorsementTold, bodies: readonly JsonValue[]): void {
  const other = bodies.filter((body) => endorsementTold(body) !== verdict);
  assert.deepEqual(
    other.map((body) => [endorsementTold(body), JSON.stringify(body)?.slice(0, 200)]),
    [],
    `not ${verdict}`,
  );
}

test('what says in words or by a flag that an endorsement was not done is no success', () => {
  holds(
    'denied',
    [
      { Mensagem: 'Margem insuficiente' },
      { Mensagem: 'Averbação desfeita' },
      { Situacao: 'Suspensa' },
      { Mensagem: 'Biometria divergente' },
      { sucesso: 'false' },
      { sucesso: 0 },
      { Averbado: 'NÃO' },
      { sucesso: false },
      { contratoAverbado: false },
      { Cancelado: true },
      { cancelado: 'S' },
      { Situacao: 'NÃO' },
    ].map(told),
  );
});

test('a success stays one, whatever the worker is called and however it says that there were no errors', () => {
  holds(
    'success',
    [
      { Mensagem: 'Averbado. Sem erros.' },
      { Mensagem: 'Contrato averbado sem nenhum erro', NomeTrabalhador: 'Maria Cancela' },
      { sucesso: true },
      { sucesso: 'true' },
      { sucesso: 1 },
      { averbado: true, cancelado: false, pendente: 'NÃO' },
      {},
    ].map(told),
  );
});

test('a known word, a flag or the empty error list of the contract shows a success, and nothing else does', () => {
  holds('success', [
    { Payload: { situacao: 'AVERBADO' } },
    { Payload: { Conteudo: { Mensagem: 'Averbação realizada com sucesso' }, Erros: null } },
    { Payload: { averbado: true } },
    { Payload: { Averbado: 'SIM', NomeTrabalhador: 'Maria Pendente' } },
    { Payload: {}, Erros: [] },
    { Erros: [] },
    { Payload: { Conteudo: {}, Erros: [] } },
    { Payload: { Conteudo: { NumeroContrato: 'N-1', Data: '2026-03-03T10:00:00', Valor: 10.5 }, errors: [] } },
    { Payload: 'Contrato 123 averbado' },
  ]);
  holds('nothing', [
    { Payload: {} },
    {},
    { Payload: null, Erros: null },
    { Payload: { Conteudo: { Mensagem: 'Em análise' } } },
    { Payload: { Conteudo: { Mensagem: 'Em análise' }, Erros: [] } },
    { Payload: { Conteudo: { Mensagem: 'Recebido, aguardando o banco' }, Erros: [] } },
    { Payload: { Situacao: 'Retida' } },
    { Payload: { situacao: 'XPTO', Erros: [] } },
    { Payload: { pendente: true }, Erros: [] },
    { Payload: { Situacao: 3 } },
    { Payload: { Situacao: 3, Erros: [] } },
    { Payload: { Situacao: { codigo: 3 }, Erros: [] } },
    { Payload: { Conteudo: {}, Erros: 'x' }, Erros: [] },
    { Payload: { Mensagem: 'O contrato será averbado' }, Erros: [] },
    [],
  ]);
});

test('what names an event, an error or a condition says something too', () => {
  holds('denied', [
    // Names of persons are left out, and these are none.
    { Payload: { NomeEvento: 'Averbação cancelada' }, Erros: [] },
    { Payload: { statusName: 'DENIED', averbado: true } },
    { Payload: { mensagemErro: 'Matrícula do convênio' }, Erros: [] },
    { Payload: { averbado: true, codigoErro: 17 } },
    { Payload: { elegivel: false }, Erros: [] },
    { Payload: { sucesso: true, MotivoCancelamento: 'A pedido do cliente' } },
    { Payload: { averbado: true, motivoRejeicao: 12 } },
  ]);
  holds('nothing', [
    { Payload: { TipoEvento: 2 }, Erros: [] },
    { Payload: { situacaoAnterior: 'AVERBADO', situacao: null }, Erros: [] },
    { Payload: { averbado: true, MotivoPendencia: 'Matrícula' } },
    { Payload: { averbado: true, erro: { codigo: 17 } } },
  ]);
  holds('success', [
    { Payload: { averbado: true, codigoErro: 0, mensagemErro: null, descricaoErro: 'Nenhum', MotivoRejeicao: '' } },
    { Payload: { averbado: true, erro: {}, erroInterno: false } },
    { Mensagem: 'Solicitação recebida\nContrato averbado' },
  ]);
});

const acknowledged = {
  CodigoRequisicao: '0b6f3c9e-2b6a-4c39-9d57-0a4a4f6f1a11',
  Endpoint: '/contrato/oferta-leilao/averbar-contrato',
};

test('the words count wherever they stand', () => {
  holds('success', [
    { ...acknowledged, Conteudo: { Mensagem: 'Contrato averbado' }, Erros: [] },
    { ...acknowledged, Conteudo: null, Erros: [] },
    { ...acknowledged, Origem: acknowledged.Endpoint, Conteudo: {}, Erros: [] },
    { ...acknowledged, Status: 'AVERBADO' },
  ]);
  holds('denied', [
    { ...acknowledged, Conteudo: { Mensagem: 'Averbação não efetivada' }, Erros: [] },
    { ...acknowledged, Msg: 'Averbação recusada', Payload: { sucesso: true } },
    { ...acknowledged, Mensagem: 'Margem insuficiente', Erros: [] },
    { ...acknowledged, Status: 'REJEITADO', Payload: {}, Erros: [] },
    { ...acknowledged, Payload: '{"Mensagem":"Não averbado"}' },
    { ...acknowledged, Payload: '{"Mensagem":"N\\u00e3o averbado"}' },
    { ...acknowledged, Payload: '{"Mensagem":"Averbado","Erros":[{"Codigo":17}]}' },
    { ...acknowledged, Retorno: { codigo: 'NAO_AVERBADO-17' }, Erros: [] },
  ]);
  holds('nothing', [
    { ...acknowledged, Conteudo: { Mensagem: 'Contrato enviado para averbação' }, Erros: [] },
    { ...acknowledged, Status: 'PENDENTE', Payload: { averbado: true } },
    { ...acknowledged, Mensagem: 'XPTO', Erros: [] },
    // A success that does not say of what, beside words that may say anything.
    { ...acknowledged, Msg: 'OK', Payload: { Situacao: 'Bilhete' }, Erros: [] },
    { ...acknowledged, Msg: 'Sucesso', Payload: { Mensagem: 'Solicitação recebida' }, Erros: [] },
    { ...acknowledged, sucesso: true, Situacao: 4 },
  ]);
});

test('an error flag that is set, and an error list with something in it, deny at any depth', () => {
  holds('denied', [
    { Payload: { HasError: true, Msg: 'Solicitação processada' } },
    { Payload: { hasError: true, Msg: 'Averbado' }, Erros: [] },
    { Conteudo: { Mensagem: 'Averbado', Erros: [{ Codigo: 17 }] } },
    { Payload: { itens: [{ retorno: { errors: [17] } }] }, Erros: [], Msg: 'Sucesso' },
    { Payload: { temErro: true }, Erros: [] },
  ]);
  // Of another kind: it cannot be told.
  holds('nothing', [
    { Payload: { HasError: 'x', Msg: 'Averbado' } },
    { Conteudo: { Mensagem: 'Averbado', Erros: {} } },
  ]);
  holds('success', [{ HasError: false, Payload: { HasError: false, Msg: 'Averbado', Erros: [] } }]);
});

test('what cannot be read whole is no success', () => {
  const long = `Contrato averbado. ${'x '.repeat(1_000)}não`;
  const many = { ...Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`k${i}`, i])), Situacao: 'NEGADA' };
  holds('nothing', [
    { Payload: { Situacao: 'AVERBADO', Mensagem: long } },
    { Payload: { averbado: true, Mensagem: 'y'.repeat(3_000) }, Erros: [] },
    { Payload: { averbado: true, ...many }, Erros: [] },
    { Payload: { averbado: true, [`k${'k'.repeat(500)}`]: 1 }, Erros: [] },
    { Payload: { averbado: true, Mensagem: '{"a":' }, Erros: [] },
    { Mensagem: 'NÃ£o foi averbado', Erros: [] },
    { Mensagem: 'N?o averbado', Payload: { averbado: true } },
    { Mensagem: 'N&atilde;o averbado', Payload: { averbado: true } },
  ]);
  holds('denied', [{ Payload: { Mensagem: long, Situacao: 'NEGADA' } }, { Mensagem: 'N\u00ad\u00e3o averbado' }]);
});

test('a message is words, also with a digit and without a blank', () => {
  holds('nothing', [
    { Payload: { Mensagem: 'PENDENTE-01' }, Erros: [] },
    { Payload: { Mensagem: 'PENDENTE01', averbado: true }, Erros: [] },
    { Payload: { Situacao: 'X7' }, Erros: [] },
    { Payload: { Descricao: 'ANALISE_2', sucesso: true }, Erros: [] },
    { Payload: { codigo: 'PENDENTE-01' }, Erros: [] },
  ]);
  holds('denied', [{ Payload: { Mensagem: 'NEGADO-17' } }, { Payload: { codigo: 'NEGADO-17' }, Erros: [] }]);
});

const sentences: readonly (readonly [verdict: EndorsementTold, why: string, sentences: readonly string[]])[] = [
  [
    'success',
    'says of the contract or the endorsement that it is done',
    [
      'Contrato averbado',
      'CONTRATO AVERBADO',
      'AVERBADO',
      'Averbada',
      'Operação averbada com sucesso',
      'A CCB nº 123/2026 foi averbada',
      'Cédula de Crédito Bancário número 77 averbada na folha de pagamento',
      'CONTRATO_AVERBADO',
      'Averbação realizada com sucesso',
      'AVERBACAO REALIZADA COM SUCESSO',
      'Averbação efetivada',
      'Averbação finalizada com êxito',
      'Averbação confirmada pelo empregador',
      'Averbação concluída em 12/03/2026 às 10:00',
      'Averbação aceita',
      'Averbação registrada com sucesso',
      'Realizada com sucesso a averbação do contrato 77',
      'Status: averbado',
      'Contract endorsed',
      'The contract has been successfully endorsed',
      'Endorsement completed successfully',
      'Endorsement approved',
    ],
  ],
  [
    'success',
    'says that it is done, and nothing of another thing',
    ['Sucesso', 'OK', 'Concluído', 'CONCLUIDA', 'Operação realizada com sucesso', 'Contrato aprovado', 'Success'],
  ],
  [
    'success',
    'a process that goes on is over where the same clause says so, or another clause says what came of it',
    [
      'Processamento concluído com sucesso',
      'PROCESSAMENTO CONCLUIDO COM SUCESSO',
      'Análise concluída: contrato averbado',
      'Solicitação recebida. Contrato averbado.',
      'Pedido recebido e contrato averbado',
      'Contrato averbado e enviado ao banco',
    ],
  ],
  [
    'success',
    'no pendency is none',
    [
      'Averbado, sem pendências',
      'Averbado sem pendencia',
      'Contrato averbado - não há pendências',
      'Endorsed without errors',
    ],
  ],
  [
    'success',
    'what follows an endorsement may be to come',
    [
      'O desconto será iniciado na próxima folha. Contrato averbado.',
      'Contrato averbado. Aguardando o pagamento.',
      'Contrato averbado; a primeira parcela será descontada em maio',
    ],
  ],
  [
    'denied',
    'says no',
    [
      'Contrato NÃO averbado',
      'CONTRATO_NAO_AVERBADO',
      'Averbação não efetivada',
      'Averbação recusada pelo empregador',
      'Recusado',
      'Rejeitada',
      'Falha ao averbar',
      'Averbado: não',
      'Averbado: N',
      'Sem sucesso na averbação',
      'Sem margem',
      'Processamento concluído com erro',
      'Análise concluída: contrato reprovado',
      'Contrato averbado. Pagamento negado.',
      'Contract not endorsed',
      'Endorsement denied',
      'Unable to endorse the contract',
      'Unsuccessful',
    ],
  ],
  [
    'denied',
    'takes an endorsement back',
    [
      'Exclusão da averbação realizada com sucesso',
      'EXCLUSAO EFETUADA',
      'Estorno realizado com sucesso',
      'Desaverbação concluída',
      'Contrato desaverbado',
      'Cancelamento efetuado',
      'Averbação removida',
      'Remoção da averbação confirmada',
      'Endorsement deleted',
      'Averbação revertida com sucesso',
    ],
  ],
  [
    'nothing',
    'may take an endorsement back, or speak of another thing',
    [
      'Baixa efetuada',
      'Contrato baixado com sucesso',
      'Contrato liquidado com sucesso',
      'Contrato encerrado',
      'Contrato averbado e rescindido',
      'Averbado por engano',
    ],
  ],
  [
    'nothing',
    'is still open',
    [
      'Em análise',
      'EM ANALISE',
      'Aguardando averbação',
      'Averbação pendente',
      'O contrato será averbado',
      'Contrato a ser averbado',
      'Contrato parcialmente averbado',
      'Em processamento',
      'Processamento concluído em parte, averbando',
      'Averbado, aguardando confirmação do empregador',
      'Averbado com pendências',
      'Averbado com ressalvas',
      'Averbado: a confirmar',
      'Averbado, favor regularizar',
      '0 contrato averbado',
      'Contrato averbado se aprovado pelo empregador',
      'Pending',
      'Awaiting endorsement',
      'The contract will be endorsed',
      'Processing',
    ],
  ],
  [
    'nothing',
    'is a step on the way to it',
    [
      'Solicitação recebida',
      'Solicitação recebida com sucesso',
      'SOLICITACAO RECEBIDA COM SUCESSO',
      'Enviada',
      'Contrato enviado para averbação',
      'Solicitação registrada para nova tentativa',
      'Averbação agendada',
      'Averbação agendada com sucesso',
      'Solicitação de averbação registrada com sucesso',
      'Envio realizado com sucesso',
      'Efetuado o envio',
      'Recebimento confirmado',
      'Biometria aprovada',
      'Análise concluída',
      'Consulta realizada com sucesso',
      'Solicitação recebida. Operação realizada com sucesso.',
      'Successfully received',
      'Request accepted',
    ],
  ],
  [
    'nothing',
    'speaks of what nobody knows, or of another contract',
    [
      'Nenhum contrato averbado',
      'Contrato averbado por outra instituição',
      'Contrato anterior averbado',
      'Contrato averbado?',
      'Pagamento realizado com sucesso',
      'Empregador confirmado',
      'Crédito aprovado',
      'Leilão concluído',
      'Número confirmado',
      'Margem confirmada',
      'Sucesso: XPTO',
      'Retorno 17 do convênio',
      'Contrato já averbado',
      'Aceito',
    ],
  ],
];

test('a sentence is judged by its clauses, and in doubt it shows nothing', () => {
  assert(sentences.flatMap(([, , each]) => each).length >= 60);
  const other = sentences.flatMap(([verdict, why, each]) =>
    each
      .map((sentence) => [verdict, endorsementTold({ Payload: { Mensagem: sentence } }), sentence, why])
      .filter(([expected, found]) => expected !== found),
  );
  assert.deepEqual(other, []);
});

test('no error code, no flag that is a figure, no day of a cancellation and nothing of an earlier contract is a success', () => {
  const withList = (more: JsonObject): JsonValue => ({ Erros: [], Payload: more });
  const bodies = [
    { errorCode: 27 },
    { erroCodigo: '27' },
    { errorName: 'InsufficientMargin' },
    { nomeErro: 'Margem' },
    { cancelado: 1 },
    { recusado: '1' },
    { pendente: 1 },
    { contratoAverbado: 0 },
    { cancelado: '2026-11-20' },
    { dataCancelamento: '2026-11-20T10:00:00' },
    { statusAntigo: 'Averbado' },
    { contratosAnteriores: [{ situacao: 'Averbado' }] },
    { situacao: 'Contrato finalizado' },
    { Mensagem: 'Contrato confirmado pelo trabalhador' },
    { Mensagem: 'Averbado: negativo' },
    { Mensagem: 'Averbado: nenhum' },
  ].map(withList);
  assert.deepEqual(
    bodies.filter((body) => endorsementTold(body) === 'success'),
    [],
  );
  holds('denied', [{ errorCode: 27 }, { cancelado: 1 }, { recusado: '1' }, { contratoAverbado: 0 }].map(withList));
  holds(
    'success',
    [
      { errorCode: 0 },
      { cancelado: 0, pendente: '0', averbado: 1 },
      { dataCancelamento: null, situacao: 'Averbado' },
      { valorExcedente: '0.00', Mensagem: 'Contrato averbado' },
    ].map(withList),
  );
});
