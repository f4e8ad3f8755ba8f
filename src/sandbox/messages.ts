/** What the sandbox writes: webhooks and answers in the casing of the contract, request webhooks in the data processor's layout. */
import type { Day, EpochMs } from '../domain/glossary.ts';
import { bidPath } from '../wire/bid.ts';
import { numberOfDigits } from '../wire/json.ts';
import { linkDetailPath, linkListPath } from '../wire/link-queries.ts';
import { formatDigits, formatWallClock } from '../wire/local-time.ts';
import type { AuctionBid, Lot } from './auction-house.ts';
import type { PlayedLoan } from './credit-arithmetic.ts';
import type { Worker, WorkerRequest } from './population.ts';

const requestsEndpoint = '/contrato/oferta-leilao/novas-solicitacoes';
const endEndpoint = '/contrato/oferta-leilao/fim-lote-solicitacoes';
const dayMs = 86_400_000;

/** Date-time without a zone, São Paulo's wall clock, to the millisecond: a window may be shorter than a second's rounding. */
function wallClock(at: EpochMs): string {
  return `${formatWallClock(at)}.${String(at % 1_000).padStart(3, '0')}`;
}

function reais(cents: number): number {
  return cents / 100;
}

/** `ddMMyyyy` of a day so many days before `at`. */
function dayDigits(at: EpochMs, daysBefore: number): string {
  return formatDigits(at - daysBefore * dayMs).slice(0, 8);
}

/** `ddMMyyyy`. */
function digitsOf(day: Day): string {
  return day.split('-').reverse().join('');
}

/** Employer ids keep every character: digits as a number, letters as a text. */
function employerNumber(worker: Worker) {
  const { id } = worker.employer;
  return /^[1-9]\d*$/.test(id) ? numberOfDigits(id) : id;
}

function registrationKind(worker: Worker) {
  return { codigo: worker.employer.idType, descricao: worker.employer.idType === 1 ? 'CNPJ' : 'CPF' };
}

function exposure(worker: Worker) {
  return worker.politicallyExposed
    ? { codigo: 1, descricao: 'Pessoa exposta politicamente' }
    : { codigo: 0, descricao: 'Pessoa não exposta politicamente' };
}

function alerts(worker: Worker, at: EpochMs) {
  return worker.alertCodes.map((codigo) => ({
    tipoAlerta: { codigo, descricao: `Alerta ${codigo}` },
    dataReferencia: dayDigits(at, 20),
  }));
}

function guaranteeOf(request: WorkerRequest) {
  const { guarantee } = request;
  if (guarantee === null) return { temGarantias: false };
  return {
    temGarantias: true,
    valorSaldoDisponivelGarantiaFgts: reais(guarantee.fgtsBalanceCents),
    valorMultaRescisoriaGarantiaFgts: reais(guarantee.terminationFineCents),
    percVerbaRescisoriaGarantia: guarantee.severancePercent,
  };
}

function requestElement(request: WorkerRequest, at: EpochMs, expiresAt: EpochMs) {
  const { worker } = request;
  return {
    numeroSolicitacao: numberOfDigits(request.requestId),
    cpf: numberOfDigits(worker.cpf.replace(/^0+/, '')),
    matricula: worker.registration,
    inscricaoEmpregador: registrationKind(worker),
    numeroInscricaoEmpregador: worker.employer.id,
    valorLiberado: reais(request.amountCents),
    nroParcelas: request.installments,
    dataHoraValidadeSolicitacao: formatDigits(expiresAt),
    nomeTrabalhador: worker.name,
    dataNascimento: digitsOf(worker.birthDate),
    ...(request.marginOmitted ? {} : { margemDisponivel: reais(worker.marginCents) }),
    elegivelEmprestimo: worker.eligible,
    pessoaExpostaPoliticamente: exposure(worker),
    dataAdmissao: digitsOf(worker.admissionDate),
    garantia: guaranteeOf(request),
    alertas: alerts(worker, at),
    ...(request.authorisationOmitted ? {} : { nsuAutorizacaoDigital: numberOfDigits(worker.authorisationNumber) }),
    cnae: worker.employer.activityCode,
    dataInicioAtividadeEmpregador: digitsOf(worker.employer.startDate),
    codigoCategoriaTrabalhador: worker.categoryCode,
  };
}

/** New auction requests: `CodigoLote` and the id are the contract's, the rest is the data processor's layout. */
export function requestsWebhook(lot: Lot): string {
  return JSON.stringify({
    Endpoint: requestsEndpoint,
    Payload: {
      CodigoLote: lot.batchId,
      DataHoraInicioLeilao: wallClock(lot.startsAt),
      DataHoraFimLeilao: wallClock(lot.endsAt),
      Solicitacoes: lot.requests.map((request) => requestElement(request, lot.startsAt, lot.expiresAt)),
    },
  });
}

/** End of auction, with every bid; `ranked` gives a request's bids, best first. */
export function endWebhook(lot: Lot, ranked: (requestId: string) => readonly AuctionBid[]): string {
  return JSON.stringify({
    Endpoint: endEndpoint,
    Payload: {
      CodigoLote: lot.batchId,
      DataHoraInicioLeilao: wallClock(lot.startsAt),
      DataHoraFimLeilao: wallClock(lot.endsAt),
      Solicitacoes: lot.requests.map(({ requestId }) => ({
        NumeroSolicitacao: requestId,
        Lances: ranked(requestId).map((bid, index) => ({
          CodigoLanceLeilao: bid.bidId,
          TaxaDeJurosMensal: bid.rateHundredths / 100,
          ValorLiberado: reais(bid.amountCents),
          NumeroParcelas: bid.installments,
          Posicao: index + 1,
          DataHoraInclusao: wallClock(bid.placedAt),
        })),
      })),
    },
  });
}

export function contemplatedEvent(bid: AuctionBid, errors: readonly string[]): string {
  return JSON.stringify({
    CodigoRequisicao: bid.callCode,
    Endpoint: bidPath,
    Payload: { Conteudo: { Mensagem: 'Lance contemplado e enviado para inclusão da proposta' }, Erros: errors },
  });
}

export type Proposal = { code: string; number: string; answerId: number; hash: number; validUntil: EpochMs };

export function proposedEvent(bid: AuctionBid, proposal: Proposal, errors: readonly string[]): string {
  return JSON.stringify({
    CodigoRequisicao: bid.callCode,
    Endpoint: bidPath,
    Payload: {
      conteudo: {
        codigo: proposal.code,
        mensagem: errors.length === 0 ? 'Proposta incluída com sucesso' : 'Proposta não incluída',
        numeroProposta: proposal.number,
        idSolicitacaoResposta: proposal.answerId,
        hashOperacao: proposal.hash,
        dataHoraValidadeProposta: formatDigits(proposal.validUntil),
      },
      errors,
      hashOperacao: String(proposal.hash),
    },
  });
}

export function linkListCallback(requestCode: string, worker: Worker): string {
  return JSON.stringify({
    codigoRequisicao: requestCode,
    endpoint: linkListPath,
    payload: {
      vinculos: [
        {
          cpf: numberOfDigits(worker.cpf.replace(/^0+/, '')),
          matricula: worker.registration,
          inscricaoEmpregador: registrationKind(worker),
          numeroInscricaoEmpregador: employerNumber(worker),
          elegivel: worker.eligible,
          ...(worker.eligible ? {} : { motivoInelegibilidade: { codigo: 3, descricao: 'Vínculo não elegível' } }),
        },
      ],
    },
  });
}

export function linkDetailCallback(requestCode: string, worker: Worker, marginCents: number, at: EpochMs): string {
  return JSON.stringify({
    CodigoRequisicao: requestCode,
    Endpoint: linkDetailPath,
    Payload: {
      cpf: numberOfDigits(worker.cpf.replace(/^0+/, '')),
      matricula: worker.registration,
      inscricaoEmpregador: registrationKind(worker),
      numeroInscricaoEmpregador: employerNumber(worker),
      nome: worker.name,
      sexo: { codigo: worker.sex, descricao: worker.sex === 1 ? 'Masculino' : 'Feminino' },
      dataNascimento: digitsOf(worker.birthDate),
      codigoCategoriaTrabalhador: worker.categoryCode,
      elegivel: worker.eligible,
      valorTotalVencimentos: reais(worker.earningsCents),
      valorBaseMargem: reais(Math.round(worker.earningsCents * 0.9)),
      valorMargemDisponivel: reais(marginCents),
      dataAdmissao: digitsOf(worker.admissionDate),
      dataDesligamento: null,
      codigoMotivoDesligamento: 0,
      pessoaExpostaPoliticamente: exposure(worker),
      nomeEmpregador: worker.employer.name,
      nomeMae: worker.motherName,
      paisNacionalidade: { codigo: 105, descricao: 'Brasil' },
      cbo: { codigo: worker.occupationCode, descricao: `Ocupação ${worker.occupationCode}` },
      cnae: { codigo: worker.employer.activityCode, descricao: `Atividade ${worker.employer.activityCode}` },
      dataInicioAtividadeEmpregador: digitsOf(worker.employer.startDate),
      qtdEmprestimosAtivosSuspensos: worker.activeLoans,
      alertas: alerts(worker, at),
      emprestimosLegados: [],
      ...(worker.eligible ? {} : { motivoInelegibilidade: { codigo: 3, descricao: null } }),
    },
  });
}

const noteEndpoints = {
  contract: '/oferta-leilao/gerar-contrato',
  renegotiation: '/contrato/renegociacao/gerar-contrato',
} as const;

/** The credit note of a contract or a renegotiation: the two name their proposal differently. */
export function creditNoteWebhook(of: keyof typeof noteEndpoints, loan: PlayedLoan): string {
  const { figures, proposalCode } = loan;
  return JSON.stringify({
    CodigoRequisicao: loan.requestCode,
    Endpoint: noteEndpoints[of],
    Payload: {
      NumeroCCB: loan.noteNumber,
      ValorCETAnual: figures.cetAnnualPercent,
      ValorCETMensal: figures.cetMonthlyPercent,
      ValorEmprestimo: reais(figures.financedCents),
      ValorIOF: reais(figures.iofCents),
      ValorParcela: reais(figures.installmentCents),
      ValorTaxaAnual: figures.rateAnnualPercent,
      ValorTaxaMensal: figures.rateMonthlyPercent,
      ValorSeguro: reais(figures.insuranceCents),
      ...(of === 'contract' ? { CodigoProposta: proposalCode } : { ContratoProposta: proposalCode }),
    },
  });
}

/** How a failed generation looks is not shown: the wrapper with an error array, as the bid's events have it. */
export function failedNoteWebhook(
  of: keyof typeof noteEndpoints,
  requestCode: string,
  code: string,
  message: string,
): string {
  const Erros = [{ Codigo: code, Mensagem: message }];
  return JSON.stringify({ CodigoRequisicao: requestCode, Endpoint: noteEndpoints[of], Payload: { Erros } });
}

/** The contract says that all tracking is done through callbacks, and does not show this one: the wrapper of its siblings. */
export function endorsedWebhook(requestCode: string): string {
  return JSON.stringify({
    CodigoRequisicao: requestCode,
    Endpoint: '/contrato/oferta-leilao/averbar-contrato',
    Payload: { Conteudo: { Mensagem: 'Contrato averbado com sucesso' }, Erros: [] },
  });
}
