/** Contract, renegotiation and endorsement of worker credit, as messages both ways (contract, Worker-credit endpoints and webhooks). */
import type { JsonObject } from './json.ts';
import {
  cpf,
  employerId,
  integer,
  money,
  moneyAsText,
  monthlyRate,
  note,
  number,
  requestIdAsText,
  term,
  text,
} from './kinds.ts';
import { type Input, listAsItIs, message, object, optional, required, told } from './message.ts';

export const contractPath = '/contrato/oferta-leilao/gerar-contrato';
export const endorsementPath = '/contrato/oferta-leilao/averbar-contrato';
export const renegotiationPath = '/contrato/renegociacao/gerar-contrato';

/** Value of `Endpoint` in the webhook: not the path of its call, as the renegotiation's is. */
export const ccbEndpoint = '/oferta-leilao/gerar-contrato';

/** Customer's account. Lower camel, as the contract's sample writes it. */
const workerAccountFields = {
  accountType: required('tipoConta', integer),
  branch: required('agencia', text),
  branchDigit: required('agenciaDig', text),
  account: required('conta', text),
  accountDigit: required('contaDig', text),
  bankNumber: required('numeroBanco', text),
};
const workerAccount = message(workerAccountFields);
export type WorkerAccount = Input<typeof workerAccountFields>;

const contractFields = {
  requestId: required('numeroSolicitacao', requestIdAsText),
  amountCents: optional('valorLiberado', money),
  installmentCents: optional('valorParcela', money),
  installments: required('numeroParcelas', term),
  rateHundredths: required('valorTaxaMensal', monthlyRate),
  insuranceCents: optional('valorSeguro', moneyAsText),
  policyNumber: optional('numeroApolice', text),
  contractType: optional('tipoContrato', text),
  agentCpf: required('cpfAgenteCredito', cpf),
  account: required('propostaContaPagamento', object(workerAccount)),
};
export const contractMessage = message(contractFields);
/** Exactly one of `amountCents` (released) and `installmentCents`. */
export type ContractRequest = Input<typeof contractFields>;

const renegotiationFields = {
  closedContract: required('numeroContratoEncerrado', text),
  cpf: required('cpfTrabalhador', cpf),
  registration: required('matricula', text),
  employerIdType: required('codigoInscricaoEmpregador', integer),
  employerId: required('numeroInscricaoEmpregador', employerId),
  agentCpf: required('cpfAgenteCredito', cpf),
  contractType: required('tipoContrato', text),
  installments: required('numeroParcelas', term),
  rateHundredths: required('valorTaxaMensal', monthlyRate),
};
export const renegotiationMessage = message(renegotiationFields);
export type RenegotiationRequest = Input<typeof renegotiationFields>;

/** The contract does not show the fields of an endorsement: they are the partner's, passed through whole. */
export type EndorsementRequest = { content: JsonObject };

/** Immediate answer of an asynchronous operation; only the code of the auction contract's is shown, the rest is the renegotiation's. */
const acknowledgementFields = {
  requestCode: required('CodigoRequisicao', text),
  origin: told('Origem', text),
  content: told('Conteudo', object(message({ message: told('Mensagem', note) }))),
  errors: told('Erros', listAsItIs),
};
export const acknowledgementMessage = message(acknowledgementFields);

/** What both kinds of credit note say. Percentages are as the service computed them. */
const noteFields = {
  noteNumber: required('NumeroCCB', text),
  cetAnnualPercent: told('ValorCETAnual', number),
  cetMonthlyPercent: told('ValorCETMensal', number),
  /** Released value, IOF and insurance together. */
  loanCents: told('ValorEmprestimo', money),
  iofCents: told('ValorIOF', money),
  installmentCents: told('ValorParcela', money),
  rateAnnualPercent: told('ValorTaxaAnual', number),
  rateMonthlyPercent: told('ValorTaxaMensal', number),
  insuranceCents: told('ValorSeguro', money),
};
const { noteNumber: _, ...figures } = noteFields;
export const noteFigures = figures;
const ccbFields = { ...noteFields, proposalCode: told('CodigoProposta', text) };
const renegotiatedFields = { ...noteFields, proposalCode: told('ContratoProposta', text) };
export const ccbPayload = message(ccbFields);
export const renegotiatedPayload = message(renegotiatedFields);

/** The two webhooks with their wrapper. */
function eventOf(payload: typeof ccbPayload | typeof renegotiatedPayload) {
  return message({
    requestCode: required('CodigoRequisicao', text),
    endpoint: told('Endpoint', text),
    note: required('Payload', object(payload)),
  });
}
export const ccbEvent = eventOf(ccbPayload);
export const renegotiatedEvent = eventOf(renegotiatedPayload);
