/** Withdrawal-backed loans, Pascal case, both ways (contract, /FGTS endpoints and the resources they carry). */
import type { AmountCents } from '../domain/glossary.ts';
import { guidOf, isSameCode } from '../domain/request-codes.ts';
import { isJsonObject, type JsonObject, parseJson, scalarsIn } from './json.ts';
import {
  cpf,
  day,
  dayTime,
  digits,
  instant,
  int32,
  integer,
  money,
  monthlyRate,
  note,
  number,
  term,
  text,
  yesOrNo,
} from './kinds.ts';
import {
  type Input,
  listOf,
  message,
  nullable,
  type Output,
  object,
  objectAsItIs,
  optional,
  required,
  told,
} from './message.ts';

export const simulationPath = '/FGTS/BuscarSimulacaoMultiPeriodo';
export const inclusionPath = '/FGTS/IncluirProposta';
export const proposalQueryPath = '/FGTS/ConsultaProposta';
export const installmentsPath = '/FGTS/ConsultarParcelas';

/** One yearly transfer that secures the loan. */
const transfer = message({ onDay: required('DataRepasse', dayTime), amountCents: required('VlrRepasse', money) });

// --- Requests -------------------------------------------------------------------------------------------------------

/** Which of them are required the contract does not show: all may be left out; the checks ask for what a use needs. */
const simulationFields = {
  balanceCents: optional('Saldo', money),
  amountCents: optional('VlrEmprestimo', money),
  rateHundredths: optional('TaxaMensal', monthlyRate),
  feeCents: optional('VlrTAC', money),
  feePercent: optional('PercTAC', number),
  birthDay: optional('DtAniversario', dayTime),
  cpf: optional('CpfTrabalhador', cpf),
  cached: optional('ConsultaCache', yesOrNo),
  credential: optional('Credencial', digits),
  transfers: optional('Periodos', listOf(transfer)),
};
const simulationDto = message(simulationFields);
export type SimulationRequest = Input<typeof simulationFields>;

/** Account of the disbursement; `holderCpf` has to be the worker's. */
const payoutAccountFields = {
  bankCode: optional('CodigoBanco', integer),
  accountType: optional('TipoConta', integer),
  branch: optional('Agencia', text),
  branchDigit: optional('AgenciaDig', text),
  account: optional('Conta', text),
  accountDigit: optional('ContaDig', text),
  bankNumber: optional('NumeroBanco', text),
  holderCpf: optional('DocumentoFederalPagamento', text),
  holderName: optional('NomePagamento', text),
};
const payoutAccount = message(payoutAccountFields);

const splitFields = {
  fieldId: optional('CampoID', text),
  amountCents: optional('VlrTransacao', money),
  paidOn: optional('DtPagamento', dayTime),
  paymentLine: optional('LinhaDigitavel', text),
  bankCode: optional('CodigoBanco', integer),
  bankNumber: optional('NumeroBanco', text),
  accountType: optional('TipoConta', integer),
  branch: optional('Agencia', text),
  branchDigit: optional('AgenciaDig', text),
  account: optional('Conta', text),
  accountDigit: optional('ContaDig', text),
  document: optional('DocumentoFederal', text),
  payeeName: optional('NomePagamento', text),
  assignorDocument: optional('DocumentoFederalCedente', text),
  assignorName: optional('NomeCedente', text),
  pixKey: optional('PagamentoViaChavePix', object(message({ key: required('ChavePix', text) }))),
  emv: optional('PagamentoViaEmv', object(message({ code: required('Emv', text) }))),
};
const splitMessage = message(splitFields);

const inclusionFields = {
  operationCode: optional('CodigoOperacao', text),
  amountCents: optional('VlrEmprestimo', money),
  period: optional('Periodo', integer),
  birthDay: optional('DtAniversario', dayTime),
  rateHundredths: optional('TaxaMensal', monthlyRate),
  feeCents: optional('VlrTAC', money),
  feePercent: optional('PercTAC', number),
  insuranceCents: optional('VlrSeguro', money),
  cpf: optional('CpfTrabalhador', cpf),
  contractType: optional('TipoContrato', text),
  partnerDocument: optional('DocumentoParceiroCorrespondente', text),
  account: optional('PropostaContaPagamento', object(payoutAccount)),
  pix: optional('PropostaPIXPagamento', object(message({ key: required('ChavePIX', text) }))),
  splits: optional('PropostaLancamentos', listOf(splitMessage)),
  cached: optional('ConsultaCache', yesOrNo),
  transfers: optional('Periodos', listOf(transfer)),
};
const inclusionDto = message(inclusionFields);
export type InclusionRequest = Input<typeof inclusionFields>;

const installmentsFields = {
  installments: optional('QtdeParcelas', term),
  proposalCode: optional('CodigoProposta', text),
  asOf: optional('DtCalculo', day),
};
const installmentsDto = message(installmentsFields);
export type InstallmentsRequest = Input<typeof installmentsFields>;

export const simulationMessage = message({ dto: required('dto', object(simulationDto)) });
export const inclusionMessage = message({ dto: required('dto', object(inclusionDto)) });
/** The fields of this `dto` are not shown: it is passed through whole. */
export const proposalQueryMessage = message({ dto: required('dto', objectAsItIs) });
export type ProposalQueryRequest = { dto: JsonObject };
/** By the name that the proposal's code has in the other messages of this family; for a service that wants another: its own fields. */
export function proposalQueryOf(proposalCode: string): ProposalQueryRequest {
  return { dto: { CodigoProposta: proposalCode } };
}
/** `Dto`, in this one request. */
export const installmentsMessage = message({ dto: required('Dto', object(installmentsDto)) });

// --- Answers --------------------------------------------------------------------------------------------------------

const serviceMessage = message({
  code: told('Code', text),
  context: told('Context', text),
  description: told('Description', note),
  field: told('Field', text),
});

/** Common to every answer of /FGTS; the same keys in lower camel on /Proposta. */
const envelopeFields = {
  text: nullable('Msg', note),
  hasError: told('HasError', yesOrNo),
  messages: nullable('Messages', listOf(serviceMessage)),
};

const simulatedTransfer = message({
  transferCents: told('VlrRepasse', money),
  onDay: told('DtRepasse', dayTime),
  principalCents: told('VlrPrincipal', money),
  iofCents: told('VlrIOF', money),
  additionalIofCents: told('VlrIOFAdicional', money),
  releasedCents: told('VlrLiberado', money),
  interestCents: told('VlrJuros', money),
});

const simulationItem = message({
  balanceCents: told('Saldo', money),
  period: told('Periodo', integer),
  startsOn: told('DtInicio', dayTime),
  endsOn: told('DtFim', dayTime),
  rateMonthlyPercent: told('TaxaMensal', number),
  cetMonthlyPercent: told('TaxaCETMensal', number),
  cetAnnualPercent: told('TaxaCETAnual', number),
  rateAnnualPercent: told('TaxaJurosAnual', number),
  customerLoanCents: told('VlrEmprestimoCliente', money),
  interestCents: told('VlrJuros', money),
  iofCents: told('VlrIOF', money),
  additionalIofCents: told('VlrIOFAdicional', money),
  releasedCents: told('VlrLiberado', money),
  operationCents: told('VlrOperacao', money),
  feeCents: told('VlrTAC', money),
  reserveCents: told('VlrReserva', money),
  amortisedCents: told('VlrAmortizacao', money),
  transferCents: told('VlrTransferencia', money),
  otherCostsCents: told('VlrOutrasDespesas', money),
  transfers: told('SimulacaoParcelas', listOf(simulatedTransfer)),
});

const simulationError = message({
  ...envelopeFields,
  period: told('Periodo', integer),
});

const balanceQuery = message({
  cpf: told('cpfTrabalhador', text),
  balanceOn: told('dataSaldo', text),
  disregardedBalance: told('existeSaldoDesconsiderado', yesOrNo),
  requests: told('qtdPedidos', integer),
  periods: told(
    'periodos',
    listOf(message({ onDay: told('dataRepasse', dayTime), amountCents: told('valor', money) })),
  ),
  cached: told('Cache', yesOrNo),
});

const simulationAnswerFields = {
  ...envelopeFields,
  withdrawableCents: told('VlrDispSaque', money),
  leastPeriod: told('PeriodoMin', int32),
  mostPeriod: told('PeriodoMax', int32),
  batchCode: nullable('CodigoBatch', text),
  simulations: nullable('Simulacoes', listOf(simulationItem)),
  failures: nullable('SimulacoesErro', listOf(simulationError)),
  query: told('Consulta', object(balanceQuery)),
  credential: nullable('Credencial', text),
};
export const simulationAnswer = message(simulationAnswerFields);
export type SimulationAnswer = Output<typeof simulationAnswerFields>;

/** What a simulation is held to, in lower case: said in a way that cannot be read, nothing of it counts. */
const bindingKeys: ReadonlySet<string> = new Set([
  'vlrdispsaque',
  'consulta',
  'cpftrabalhador',
  'simulacoes',
  'simulacoeserro',
]);

/** Digits and what is written between them; a CPF that is masked, or left out, says nothing. */
const wholeCpf = /^[\d.-]+$/;

/**
 * Why nobody can rely on a simulation of a worker's own balance: it is of another worker, or releases more than it says may be
 * withdrawn (contract, BuscarSimulacaoMultiPeriodo: Consulta and VlrDispSaque). Null: nothing speaks against it.
 */
export function simulationProblem(
  cpf: string,
  { query, withdrawableCents, simulations, extra }: SimulationAnswer,
): 'simulation-readable' | 'simulation-of-worker' | 'simulation-within-balance' | null {
  const unread = [...Object.keys(extra), ...Object.keys(query?.extra ?? {})].map((key) => key.toLowerCase());
  if (unread.some((key) => bindingKeys.has(key))) return 'simulation-readable';
  const told = query?.cpf?.trim() ?? '';
  if (wholeCpf.test(told) && told.replaceAll(/\D/g, '').padStart(11, '0') !== cpf) return 'simulation-of-worker';
  const isBeyond = (cents: number | null) => withdrawableCents !== null && cents !== null && cents > withdrawableCents;
  const beyond = (simulations ?? []).some((each) => isBeyond(each.releasedCents) || isBeyond(each.customerLoanCents));
  return beyond ? 'simulation-within-balance' : null;
}

/** Nothing is reckoned with the days of a period. */
const daysOfPeriod: ReadonlySet<string> = new Set(['dtinicio', 'dtfim']);
const keysOfPeriod: ReadonlySet<string> = new Set(simulationItem.keys.map((key) => key.toLowerCase()));

/**
 * The periods that were simulated: one that an error names was not (contract, Errors 2), nor one that is there twice, or whose figures
 * cannot be read. An error that names none may be of any.
 */
export function periodsSimulated({ simulations, failures }: SimulationAnswer): NonNullable<typeof simulations> {
  const failed = (failures ?? []).map(({ period }) => period);
  if (failed.includes(null)) return [];
  const isUnread = (key: string) => keysOfPeriod.has(key.toLowerCase()) && !daysOfPeriod.has(key.toLowerCase());
  return (simulations ?? []).filter(({ period, extra }, index, all) => {
    const isOnce = all.every((other, at) => at === index || other.period !== period);
    return isOnce && !failed.includes(period) && !Object.keys(extra).some(isUnread);
  });
}

/** The same of the bytes of a query; one by a balance that was given is of nobody's own. */
export function simulationProblemOfAsked(
  asked: string,
  answer: SimulationAnswer,
): ReturnType<typeof simulationProblem> {
  const query = parseJson(asked);
  const read = query.kind === 'parsed' ? simulationMessage.decode(query.value) : null;
  if (read?.kind !== 'decoded') return null;
  const { cpf: ofWorker, balanceCents } = read.value.dto;
  return ofWorker == null || balanceCents != null ? null : simulationProblem(ofWorker, answer);
}

const inclusionAnswerFields = { ...envelopeFields, proposalCode: told('CodigoProposta', text) };
export const inclusionAnswer = message(inclusionAnswerFields);
export type InclusionAnswer = Output<typeof inclusionAnswerFields>;

const proposalEntry = message({
  fieldId: told('CampoID', text),
  fieldText: told('DescricaoCampo', text),
  amountCents: told('VlrTransacao', money),
  dueOn: told('DtPrevPagto', dayTime),
  paidOn: told('DtPagamento', dayTime),
  situation: told('Situacao', int32),
  paymentLine: told('LinhaDigitavel', text),
  slipDueOn: told('DtVenctoBoleto', dayTime),
  slipCents: told('VlrBoleto', money),
  bankCode: told('CodigoBanco', integer),
  bankNumber: told('NumeroBanco', text),
  accountType: told('TipoConta', integer),
  branch: told('Agencia', text),
  branchDigit: told('AgenciaDig', text),
  account: told('Conta', text),
  accountDigit: told('ContaDig', text),
  document: told('DocumentoFederal', text),
  payeeName: told('NomePagamento', text),
  paymentText: told('TextoRetornoPagamento', note),
  bankAuthentication: told('AutenticacaoBancaria', text),
  bankControl: told('ControleBancario', text),
  occurrence: told('DescricaoOcorrencia', note),
});

const cancellation = message({
  details: told('Detalhes', note),
  context: told('ContextoEvento', text),
  kindCode: told('TipoEvento', integer),
  name: told('NomeEvento', text),
  on: told('DtEvento', text),
  barcode: told('NumCodigoBarras', text),
  paymentLine: told('NumLinhaDigitavel', text),
  pixCode: told('PixCopiaCola', text),
  slipCents: told('VlrBoleto', money),
  dueOn: told('DtVencimento', dayTime),
  slipNumber: told('NumeroBoleto', digits),
  slipUrl: told('UrlImpressaoBoleto', text),
});

/** The last text's real key carries the name of a bank: it comes in `extra` under whatever name it has. */
const proposalRecordFields = {
  ...envelopeFields,
  code: told('Codigo', text),
  includedAt: nullable('DtInclusao', instant),
  /** The contract does not show what its values mean. */
  situation: told('Situacao', int32),
  financedCents: nullable('VlrFinanciado', money),
  feeCents: nullable('VlrTAC', money),
  insuranceCents: nullable('VlrSeguro', money),
  iofCents: nullable('VlrIOF', money),
  otherCostsCents: nullable('VlrOutrasDespesas', money),
  otherServicesCents: nullable('VlrOutrosServicos', money),
  totalCreditCents: nullable('VlrTotalCredito', money),
  totalDebtCents: nullable('VlrTotalDivida', money),
  installments: nullable('QtdeParcelas', integer),
  cetMonthlyPercent: nullable('PercCETMensal', number),
  cetAnnualPercent: nullable('PercCETAnual', number),
  interestMonthlyPercent: nullable('PercJurosMensal', number),
  interestAnnualPercent: nullable('PercJurosAnual', number),
  proposalCode: nullable('CodigoProposta', text),
  noteNumber: nullable('NumeroCCB', text),
  rejectionReason: nullable('MotivoRejeicao', note),
  pendingReason: nullable('MotivoPendencia', note),
  cancellationReason: nullable('MotivoCancelamento', note),
  paymentText: nullable('TextoRetornoPagamento', note),
  bankAuthentication: nullable('AutenticacaoBancaria', text),
  bankControl: nullable('ControleBancario', text),
  guaranteeProtocol: nullable('StatusProtocoloFED', text),
  entries: nullable('PropostaLancamentos', listOf(proposalEntry)),
  cancellations: nullable('CancelamentoFGTS', listOf(cancellation)),
};
export const proposalRecord = message(proposalRecordFields);
export type ProposalRecord = Output<typeof proposalRecordFields>;
export type ProposalEntry = NonNullable<ProposalRecord['entries']>[number];

type ProposalField = keyof typeof proposalRecordFields;

/** What an answer names without a use: what cannot be read, or is said twice under one name; and what is null or blank. */
export function unusableIn(
  { extra }: Pick<ProposalRecord, 'extra'>,
  body: string,
): { unread: readonly ProposalField[]; empty: readonly ProposalField[] } {
  const read = parseJson(body);
  const raw: JsonObject = read.kind === 'parsed' && isJsonObject(read.value) ? read.value : {};
  const isBlank = (value: unknown) => value === null || (typeof value === 'string' && value.trim() === '');
  const namedIn = (keys: readonly string[]) => {
    const named = new Set(keys.map((key) => key.toLowerCase()));
    const fields = Object.entries(proposalRecordFields) as [ProposalField, { key: string }][];
    return fields.filter(([, { key }]) => named.has(key.toLowerCase())).map(([field]) => field);
  };
  return { unread: namedIn(Object.keys(extra)), empty: namedIn(Object.keys(raw).filter((key) => isBlank(raw[key]))) };
}

/** What an entry comes to, whatever sign it has and wherever it is said; null: it is not, or not in a way that can be read. */
export function entryCents({ amountCents, slipCents, extra }: ProposalEntry): AmountCents | null {
  const unread = Object.keys(extra).some((key) => /^vlr(?:transacao|boleto)$/i.test(key));
  const said = [amountCents, slipCents].filter((cents) => cents !== null);
  return unread || said.length === 0 ? null : Math.max(...said.map(Math.abs));
}

/** Whether the answer to a proposal query is of what the query named. `asked`: the bytes of the query. */
export function isToldOfAsked(asked: string, answer: ProposalRecord): boolean {
  const query = parseJson(asked);
  const named = query.kind === 'parsed' ? scalarsIn(query.value, { longest: 128, most: 1_000 }) : [];
  const naming = named.filter(({ path, text }) => namesProposal(path) || guidOf(text) !== null);
  return isToldOf(
    answer,
    naming.map(({ text }) => text),
  );
}

/** A page or a status of a query may be the number of another proposal. */
function namesProposal(path: string): boolean {
  const name = path.split('.').findLast((part) => !/^\d+$/.test(part)) ?? '';
  return /propost|proposal/i.test(name) || /^(?:codigo|numero|id)$/i.test(name);
}

/**
 * Whether an answer is of a proposal with one of these codes. `Codigo` says so where it stands there. Beside a code that no other
 * proposal has, `CodigoProposta` may be a number of another form (contract, Proposal record); beside a number both have to match.
 */
export function isToldOf(
  { code, proposalCode }: Pick<ProposalRecord, 'code' | 'proposalCode'>,
  codes: readonly string[],
): boolean {
  const isOwn = (told: string) => codes.some((known) => isSameCode(known, told));
  const [named, beside] = [said(code), said(proposalCode)];
  if (named === null) return beside !== null && isOwn(beside);
  const isOfOtherForm = guidOf(named) !== null && beside !== null && guidOf(beside) === null;
  return isOwn(named) && (beside === null || isOfOtherForm || isOwn(beside));
}

/** What an answer names its proposal by that is none of these codes; null: nothing else. */
export function namedOtherwise(
  { code, proposalCode }: Pick<ProposalRecord, 'code' | 'proposalCode'>,
  codes: readonly string[],
): string | null {
  const told = [code, proposalCode].map(said);
  return told.find((each) => each !== null && !codes.some((known) => isSameCode(known, each))) ?? null;
}

function said(code: string | null): string | null {
  return code === null || code.trim() === '' ? null : code;
}

const updatedInstallment = message({
  number: told('NroParcela', integer),
  dueOn: told('DtVencimentoAtual', dayTime),
  computed: told(
    'Calculado',
    object(
      message({
        fineCents: told('VlrMulta', money),
        lateInterestCents: told('VlrMora', money),
        contractInterestCents: told('VlrJurosContrato', money),
        chargesCents: told('VlrEncargos', money),
        rebateCents: told('VlrAbatimento', money),
        balanceCents: told('VlrSaldoAtualizado', money),
      }),
    ),
  ),
});

const installmentsAnswerFields = {
  ...envelopeFields,
  asOf: nullable('DtCalculo', dayTime),
  installments: nullable('Parcelas', listOf(updatedInstallment)),
};
export const installmentsAnswer = message(installmentsAnswerFields);
export type InstallmentsAnswer = Output<typeof installmentsAnswerFields>;
