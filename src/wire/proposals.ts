/** What is done with a proposal once it is included: splits, signers, finalisation, account; lower camel (contract, /Proposta endpoints). */
import type { JsonObject } from './json.ts';
import { dayTime, digits, instant, integer, money, note, text, yesOrNo } from './kinds.ts';
import { type Input, listOf, message, nullable, type Output, object, optional, required, told } from './message.ts';

export const splitsPath = '/Proposta/SalvarLancamento';
export const signersPath = '/Proposta/IncluirAssinaturaCCBFinalizada';
export const finalisationPath = '/Proposta/Finalizar';
export const accountUpdatePath = '/Proposta/AtualizarContaPagamento';

/** Which of the three is required the contract does not show. */
const locatorFields = {
  proposalCode: optional('codigoProposta', text),
  operationCode: optional('codigoOperacao', text),
  proposalNumber: optional('numeroProposta', digits),
};
const locator = message(locatorFields);
/** In lower case. */
export const locatorKeys: ReadonlySet<string> = new Set(locator.keys.map((key) => key.toLowerCase()));
export type ProposalLocator = Input<typeof locatorFields>;

const parameter = message({ name: required('nome', text), value: required('valor', text) });

const splitFields = {
  amountCents: optional('vlrTransacao', money),
  paidOn: optional('dtPagamento', dayTime),
  paymentLine: optional('linhaDigitavel', text),
  document: optional('documentoFederal', text),
  fieldId: optional('campoID', text),
  bankCode: optional('codigoBanco', integer),
  bankNumber: optional('numeroBanco', text),
  accountType: optional('tipoConta', integer),
  branch: optional('agencia', text),
  branchDigit: optional('agenciaDig', text),
  account: optional('conta', text),
  accountDigit: optional('contaDig', text),
  payeeName: optional('nomePagamento', text),
  assignorDocument: optional('documentoFederalCedente', text),
  assignorName: optional('nomeCedente', text),
  pixKey: optional('pagamentoViaChavePix', object(message({ key: required('chavePix', text) }))),
  emv: optional('pagamentoViaEmv', object(message({ code: required('emv', text) }))),
  portability: optional('portabilidadeCLT', object(message({ number: required('nuPortIddCTC', text) }))),
};
const splitMessage = message(splitFields);

const signerFields = {
  name: optional('nome', text),
  email: optional('email', text),
  document: optional('documento', text),
  description: optional('descricao', text),
  mobile: optional('telefoneCelular', text),
  notifyByEmail: optional('notificarPorEmail', yesOrNo),
  notifyByWhatsapp: optional('notificarPorWhatsApp', yesOrNo),
  signedAt: optional('dtAssinatura', instant),
  ip: optional('ipAssinatura', text),
};
const signerMessage = message(signerFields);
export type Signer = Input<typeof signerFields>;

const splitsFields = {
  dto: required('dto', object(locator)),
  splits: optional('lancamentos', listOf(splitMessage)),
  parameters: optional('parametros', listOf(parameter)),
};
export const splitsMessage = message(splitsFields);
export type SplitsRequest = Input<typeof splitsFields>;

const signersFields = { dto: required('dto', object(locator)), signers: optional('assinantes', listOf(signerMessage)) };
export const signersMessage = message(signersFields);
export type SignersRequest = Input<typeof signersFields>;

const finalisationFields = {
  dto: required('dto', object(locator)),
  parameters: optional('parametros', listOf(parameter)),
};
export const finalisationMessage = message(finalisationFields);
export type FinalisationRequest = Input<typeof finalisationFields>;

/**
 * Names that the contract has for the parts of an account in its other messages, as it writes them there, and ours. A slip or a Pix
 * code is nobody's account.
 */
const accountNames = {
  codigoBanco: 'bankCode',
  numeroBanco: 'bankNumber',
  tipoConta: 'accountType',
  agencia: 'branch',
  agenciaDig: 'branchDigit',
  conta: 'account',
  contaDig: 'accountDigit',
  documentoFederalPagamento: 'holderDocument',
  documentoFederal: 'holderDocument',
  nomePagamento: 'holderName',
  chavePIX: 'pixKey',
} as const;
type AccountField = (typeof accountNames)[keyof typeof accountNames];

/** And for the objects that they stand in. */
const accountObjects = ['dto', 'propostaContaPagamento', 'propostaPIXPagamento', 'pagamentoViaChavePix'];
export const accountKeys: readonly string[] = [...Object.keys(accountNames), ...accountObjects];
const fieldsByKey = new Map(Object.entries(accountNames).map(([key, field]) => [key.toLowerCase(), field] as const));
const keysInLowerCase = new Set(accountKeys.map((key) => key.toLowerCase()));

/** Which part of an account a field is, by the end of its dotted place; null: the contract has no such name. */
export function accountFieldOf(path: string): AccountField | null {
  return fieldsByKey.get(path.split('.').at(-1)!.toLowerCase()) ?? null;
}

export function isAccountKey(key: string): boolean {
  return keysInLowerCase.has(key.toLowerCase());
}

/** The fields of the new bank data are not shown: they stand in `extra`, of the `dto` or beside it, as the partner names them. */
const accountUpdateFields = { dto: required('dto', object(locator)) };
export const accountUpdateMessage = message(accountUpdateFields);
export type AccountUpdateRequest = Input<typeof accountUpdateFields> & { extra?: JsonObject };

const proposalMessage = message({
  code: told('code', text),
  context: told('context', text),
  description: told('description', note),
  field: told('field', text),
});

const proposalAnswerFields = {
  text: nullable('msg', note),
  hasError: told('hasError', yesOrNo),
  messages: nullable('messages', listOf(proposalMessage)),
  parameters: nullable('parametros', listOf(parameter)),
};
export const proposalAnswer = message(proposalAnswerFields);
export type ProposalAnswer = Output<typeof proposalAnswerFields>;
