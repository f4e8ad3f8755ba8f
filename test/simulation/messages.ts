/** What the service writes to our door, in the contract's own shape and casing. */

import type { LinkQuery } from '../../src/bidding/ports.ts';
import type { EpochMs } from '../../src/domain/glossary.ts';
import { ranked } from './auction-house.ts';
import { type Batch, type HouseRequest, type Worker, wallClock, wallDigits } from './workload.ts';

/** Ids of 18 digits are written by hand: JSON.stringify would round them. */
function requestElement(request: HouseRequest): string {
  const { worker } = request;
  const told = request.margin === 'told';
  const fields = {
    cpf: worker.cpf,
    nomeTrabalhador: 'Maria de Teste',
    ...(request.margin === 'by-list'
      ? {}
      : { matricula: worker.registration, inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' } }),
    numeroInscricaoEmpregador: worker.employer,
    valorLiberado: request.amountCents / 100,
    nroParcelas: request.installments,
    ...(told ? { margemDisponivel: worker.marginCents / 100 } : {}),
    elegivelEmprestimo: true,
    pessoaExpostaPoliticamente: { codigo: worker.exposed ? 1 : 0, descricao: '' },
    dataNascimento: '02031988',
    dataAdmissao: '10052021',
    garantia: { temGarantias: request.guaranteed },
    alertas: [],
    ...(request.expiresAt === null ? {} : { dataHoraValidadeSolicitacao: wallDigits(request.expiresAt) }),
    ...(request.statesClose ? { DataHoraFimLeilao: wallClock(request.announcedCloseAt) } : {}),
    ...(worker.nsu === null ? {} : { nsuAutorizacaoDigital: Number(worker.nsu) }),
  };
  return `{"numeroSolicitacao":${request.requestId},${JSON.stringify(fields).slice(1)}`;
}

export function newRequests(batch: Batch, requests: readonly HouseRequest[]): string {
  const elements = requests.map(requestElement).join(',');
  return `{"CodigoLote":"${batch.batchId}","Solicitacoes":[${elements}]}`;
}

export function endOfAuction(batch: Batch, requests: readonly HouseRequest[]): string {
  const first = requests[0]!;
  return JSON.stringify({
    Endpoint: '/contrato/oferta-leilao/fim-lote-solicitacoes',
    Payload: {
      CodigoLote: batch.batchId,
      DataHoraInicioLeilao: wallClock(batch.announcedAt),
      DataHoraFimLeilao: wallClock(first.closesAt),
      Solicitacoes: requests.map((request) => ({
        NumeroSolicitacao: request.requestId,
        Lances: ranked(request).map((bid, index) => ({
          CodigoLanceLeilao: bid.bidId,
          TaxaDeJurosMensal: bid.rate / 100,
          ValorLiberado: bid.amountCents / 100,
          NumeroParcelas: bid.installments,
          Posicao: index + 1,
          DataHoraInclusao: wallClock(bid.placedAt),
        })),
      })),
    },
  });
}

const bidEndpoint = '/contrato/oferta-leilao/incluir-lance';

export function contemplated(bidId: string, errors: readonly string[]): string {
  return JSON.stringify({
    CodigoRequisicao: bidId,
    Endpoint: bidEndpoint,
    Payload: { Conteudo: { Mensagem: 'Lance contemplado' }, Erros: errors },
  });
}

export function proposed(bidId: string, validUntil: EpochMs, errors: readonly string[]): string {
  return JSON.stringify({
    CodigoRequisicao: bidId,
    Endpoint: bidEndpoint,
    Payload: {
      conteudo: {
        codigo: 'P1',
        mensagem: 'Proposta incluída',
        numeroProposta: '4711',
        idSolicitacaoResposta: 12,
        hashOperacao: 99,
        dataHoraValidadeProposta: wallDigits(validUntil),
      },
      errors,
      hashOperacao: '99',
    },
  });
}

export function linkList(worker: Worker, requestCode: string): string {
  return JSON.stringify({
    codigoRequisicao: requestCode,
    endpoint: '/trabalhadores/listar-autorizados',
    payload: {
      vinculos: [
        {
          cpf: Number(worker.cpf),
          matricula: worker.registration,
          inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' },
          numeroInscricaoEmpregador: worker.employer,
          elegivel: true,
          motivoInelegibilidade: null,
        },
      ],
    },
  });
}

export function linkDetail(worker: Worker, requestCode: string): string {
  return JSON.stringify({
    CodigoRequisicao: requestCode,
    Endpoint: '/trabalhador/consultar-dados-vinculo',
    Payload: {
      cpf: Number(worker.cpf),
      matricula: worker.registration,
      inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' },
      numeroInscricaoEmpregador: worker.employer,
      nome: 'Maria de Teste',
      sexo: { codigo: 2, descricao: 'F' },
      dataNascimento: '02031988',
      codigoCategoriaTrabalhador: 101,
      elegivel: true,
      valorTotalVencimentos: 4_100.5,
      valorBaseMargem: 3_900,
      valorMargemDisponivel: worker.marginCents / 100,
      dataAdmissao: '10052021',
      dataDesligamento: null,
      codigoMotivoDesligamento: 0,
      pessoaExpostaPoliticamente: { codigo: worker.exposed ? 1 : 0, descricao: '' },
      nomeEmpregador: 'Empresa de Teste',
      nomeMae: 'Ana de Teste',
      paisNacionalidade: { codigo: 105, descricao: 'BRASIL' },
      cbo: { codigo: 411010, descricao: '' },
      cnae: { codigo: 4711302, descricao: '' },
      dataInicioAtividadeEmpregador: '01022001',
      qtdEmprestimosAtivosSuspensos: 0,
      alertas: [],
      emprestimosLegados: [],
      motivoInelegibilidade: null,
    },
  });
}

export function queriedWorker(requests: Iterable<HouseRequest>, query: LinkQuery): Worker | null {
  for (const { worker } of requests) if (worker.cpf === query.identity.cpf) return worker;
  return null;
}
