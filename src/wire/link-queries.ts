/** The two link queries as requests, both ways, and their acknowledgement (contract, listar-autorizados and consultar-dados-vinculo). */

import { z } from 'zod';
import type { WorkerIdentity } from '../domain/request.ts';
import { canonicalCode } from '../domain/request-codes.ts';
import { type Decoded, decodeBy, fieldOf, needed, optional } from './casing.ts';
import { isJsonObject, numberOfDigits, parseJson } from './json.ts';
import { readEmployerIdType } from './request-mapping.ts';
import { errorsOf } from './service-errors.ts';
import { readBoolean, readCpf, readDigits, readEmployerId, readText } from './values.ts';

export const linkListPath = '/trabalhador/listar-autorizados';
export const linkDetailPath = '/trabalhador/consultar-dados-vinculo';

/** `authorisationNumber`: decimal digits of the worker's digital authorisation, required on the worker's first query. */
export type LinkQueryContent = { identity: WorkerIdentity; authorisationNumber: string | null; cached: boolean };

/** Null when the worker is not identified: the query cannot be written. */
export function encodeLinkListQuery(query: LinkQueryContent): string | null {
  if (query.identity.cpf === null) return null;
  return JSON.stringify({ cpfTrabalhador: query.identity.cpf, ...commonFields(query) });
}

/**
 * A CPF that is nobody's: eleven equal digits are never issued. Its check digits hold, so a service that validates the body before the
 * token is most likely to read on; any other CPF whose check digits hold may be a person's.
 */
const nobodysCpf = '00000000000';

/**
 * A query about nobody, with all that the contract requires but an authorisation, which nobody gave. It asks the cache only. The
 * contract has no call that only tries the token, and a service that validates first answers 400 to a body without a CPF, whatever the
 * token is worth.
 */
export const tokenQuery = JSON.stringify({ cpfTrabalhador: nobodysCpf, consultaCacheada: true });

/** Null when CPF, registration or employer is not known: the query cannot be written. */
export function encodeLinkDetailQuery(query: LinkQueryContent): string | null {
  const { cpf, registration, employerId, employerIdType } = query.identity;
  if (cpf === null || registration === null || employerId === null || employerIdType === null) return null;
  return JSON.stringify({
    cpfTrabalhador: cpf,
    matricula: registration,
    codigoInscricaoEmpregador: employerIdType,
    numeroInscricaoEmpregador: employerId,
    ...commonFields(query),
  });
}

function commonFields(query: LinkQueryContent): object {
  const authorisation =
    query.authorisationNumber === null
      ? {}
      : { autorizacao: { nsuAutorizacaoDigital: numberOfDigits(query.authorisationNumber) } };
  return { consultaCacheada: query.cached, ...authorisation };
}

const commonSchema = {
  cpfTrabalhador: needed(readCpf),
  consultaCacheada: optional(readBoolean),
  autorizacao: z.object({ nsuAutorizacaoDigital: optional(readDigits) }).nullish(),
};
const listSchema = z.object(commonSchema);
const detailSchema = z.object({
  ...commonSchema,
  matricula: needed(readText),
  codigoInscricaoEmpregador: needed(readEmployerIdType),
  numeroInscricaoEmpregador: needed(readEmployerId),
});

export function decodeLinkListQuery(text: string): Decoded<LinkQueryContent> {
  const decoded = decodeQuery(listSchema, text);
  if (decoded.kind === 'refused') return decoded;
  const { value } = decoded;
  const identity = {
    cpf: value.cpfTrabalhador,
    name: null,
    registration: null,
    employerId: null,
    employerIdType: null,
  };
  return { kind: 'decoded', value: { identity, ...commonContent(value) } };
}

export function decodeLinkDetailQuery(text: string): Decoded<LinkQueryContent> {
  const decoded = decodeQuery(detailSchema, text);
  if (decoded.kind === 'refused') return decoded;
  const { value } = decoded;
  const identity = {
    cpf: value.cpfTrabalhador,
    name: null,
    registration: value.matricula,
    employerId: value.numeroInscricaoEmpregador,
    employerIdType: value.codigoInscricaoEmpregador,
  };
  return { kind: 'decoded', value: { identity, ...commonContent(value) } };
}

function decodeQuery<T extends z.ZodType>(schema: T, text: string): Decoded<z.output<T>> {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') return { kind: 'refused', faults: [{ pointer: '', problem: parsed.text }] };
  return decodeBy(schema, parsed.value);
}

function commonContent(value: z.output<typeof listSchema>): Omit<LinkQueryContent, 'identity'> {
  return {
    authorisationNumber: value.autorizacao?.nsuAutorizacaoDigital ?? null,
    cached: value.consultaCacheada ?? false,
  };
}

/** Acknowledgement of a query. Its shape is not documented; the one of other asynchronous endpoints is taken. */
export function encodeQueryAcknowledged(answer: { requestCode: string; path: string; message: string }): string {
  return JSON.stringify({
    CodigoRequisicao: answer.requestCode,
    Origem: answer.path,
    Conteudo: { Mensagem: answer.message },
    Erros: [],
  });
}

/** The request code that an acknowledgement carries, in any case; null when it has none. */
export function decodeRequestCode(text: string): string | null {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed' || !isJsonObject(parsed.value)) return null;
  const reading = readText(fieldOf(parsed.value, 'CodigoRequisicao'));
  return reading.kind === 'value' ? canonicalCode(reading.value) : null;
}

/**
 * What an answer is written in. The contract does not show how the service acknowledges a query, so one that is neither JSON nor a page
 * may be its own; a page is that of somebody in front of it.
 */
export function writtenIn(text: string): 'json' | 'markup' | 'other' {
  if (isMarkup(text)) return 'markup';
  try {
    JSON.parse(text.replace(/^\uFEFF/, ''));
    return 'json';
  } catch {
    return 'other';
  }
}

const blanksBefore = /^[\uFEFF\s]*/;

/** Asked of each answer to a bid, so nothing is read but the first letter. */
export function isMarkup(text: string): boolean {
  return text[0] !== '{' && text[blanksBefore.exec(text)![0].length] === '<';
}

/** Whether an acknowledgement carries errors: it is empty of them on success (contract, Errors 3). */
export function reportsErrors(text: string): boolean {
  const parsed = parseJson(text);
  return parsed.kind === 'parsed' && errorsOf(parsed.value).length > 0;
}
