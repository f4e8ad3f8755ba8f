/** The callbacks about employment links, both ways (contract, Employment link and Link-detail callback). */
import { z } from 'zod';
import { isSameEmployer } from '../domain/employer.ts';
import type { AmountCents, Day } from '../domain/glossary.ts';
import type { WorkerIdentity } from '../domain/request.ts';
import {
  type Decoded,
  decodeBy,
  fieldOf,
  lenient,
  maxElements,
  needed,
  optional,
  tooManyElements,
  type WireFault,
} from './casing.ts';
import { isJsonObject, type JsonValue, numberOfDigits, parseJson } from './json.ts';
import { linkDetailPath } from './link-queries.ts';
import { readCode } from './plain-ids.ts';
import { readEmployerIdType } from './request-mapping.ts';
import {
  describeAdjustment,
  formatDayDigits,
  readAmount,
  readBoolean,
  readCpf,
  readDay,
  readEmployerId,
  readInteger,
  readMargin,
  readText,
} from './values.ts';

/** A code of the data processor's tables with its description. */
type Coded = { code: number; text: string | null };

const coded = z
  .object({ codigo: needed(readInteger), descricao: optional(readText) })
  .nullish()
  .transform((value): Coded | null => (value ? { code: value.codigo, text: value.descricao } : null));

const lenientCoded = coded.catch(null);

const employerType = z.object({ codigo: needed(readEmployerIdType), descricao: optional(readText) });

function writeCoded(value: Coded | null): object | null {
  return value === null ? null : { codigo: value.code, descricao: value.text };
}

function writeEmployerType(type: number): object {
  return { codigo: type, descricao: type === 1 ? 'CNPJ' : 'CPF' };
}

/** As a number where the digits allow it, else as received: letters and leading zeros are part of the id. */
function writeEmployerId(employerId: string): unknown {
  return /^(0|[1-9]\d*)$/.test(employerId) ? numberOfDigits(employerId) : employerId;
}

// --- Link-list callback ---------------------------------------------------------------------------------------------

const linkRow = z.object({
  cpf: needed(readCpf),
  matricula: needed(readText),
  inscricaoEmpregador: employerType,
  numeroInscricaoEmpregador: needed(readEmployerId),
  elegivel: optional(readBoolean),
  motivoInelegibilidade: lenientCoded,
});
const linkList = z.object({
  codigoRequisicao: lenient(readCode),
  payload: z.object({ vinculos: z.array(z.unknown()) }),
});

export type LinkRow = {
  cpf: string;
  registration: string;
  employerId: string;
  employerIdType: number;
  eligible: boolean | null;
  ineligibility: Coded | null;
};
export type LinkList = {
  requestCode: string | null;
  links: readonly LinkRow[];
  unreadable: readonly { faults: readonly WireFault[]; element: JsonValue }[];
};

export function decodeLinkList(value: JsonValue): Decoded<LinkList> {
  const decoded = decodeBy(linkList, value);
  if (decoded.kind === 'refused') return decoded;
  const { length } = decoded.value.payload.vinculos;
  if (length > maxElements) return tooManyElements('/payload/vinculos');
  const links: LinkRow[] = [];
  const unreadable: { faults: readonly WireFault[]; element: JsonValue }[] = [];
  decoded.value.payload.vinculos.forEach((element, index) => {
    const row = decodeBy(linkRow, element);
    if (row.kind === 'refused') {
      const at = `/payload/vinculos/${index}`;
      const faults = row.faults.map(({ pointer, problem }) => ({ pointer: at + pointer, problem }));
      unreadable.push({ faults, element: element as JsonValue });
      return;
    }
    links.push({
      cpf: row.value.cpf,
      registration: row.value.matricula,
      employerId: row.value.numeroInscricaoEmpregador,
      employerIdType: row.value.inscricaoEmpregador.codigo,
      eligible: row.value.elegivel,
      ineligibility: row.value.motivoInelegibilidade,
    });
  });
  return { kind: 'decoded', value: { requestCode: decoded.value.codigoRequisicao, links, unreadable } };
}

export function encodeLinkList(list: Omit<LinkList, 'unreadable'>): string {
  return JSON.stringify({
    codigoRequisicao: list.requestCode,
    endpoint: '/trabalhadores/listar-autorizados',
    payload: {
      vinculos: list.links.map((link) => ({
        cpf: Number(link.cpf),
        matricula: link.registration,
        inscricaoEmpregador: writeEmployerType(link.employerIdType),
        numeroInscricaoEmpregador: writeEmployerId(link.employerId),
        elegivel: link.eligible,
        ...(link.ineligibility === null ? {} : { motivoInelegibilidade: writeCoded(link.ineligibility) }),
      })),
    },
  });
}

// --- Link-detail callback -------------------------------------------------------------------------------------------

const linkDetail = z.object({
  CodigoRequisicao: lenient(readCode),
  Payload: z.object({
    cpf: needed(readCpf),
    matricula: needed(readText),
    inscricaoEmpregador: employerType,
    numeroInscricaoEmpregador: needed(readEmployerId),
    nome: lenient(readText),
    sexo: lenientCoded,
    dataNascimento: lenient(readDay),
    codigoCategoriaTrabalhador: lenient(readInteger),
    elegivel: lenient(readBoolean),
    valorTotalVencimentos: lenient(readAmount),
    valorBaseMargem: lenient(readAmount),
    valorMargemDisponivel: optional(readMargin),
    dataAdmissao: lenient(readDay),
    // Unread it would pass for a link that goes on.
    dataDesligamento: optional(readDay),
    codigoMotivoDesligamento: lenient(readInteger),
    pessoaExpostaPoliticamente: lenientCoded,
    nomeEmpregador: lenient(readText),
    nomeMae: lenient(readText),
    paisNacionalidade: lenientCoded,
    cbo: lenientCoded,
    cnae: lenientCoded,
    dataInicioAtividadeEmpregador: lenient(readDay),
    qtdEmprestimosAtivosSuspensos: lenient(readInteger),
    alertas: z.array(z.unknown()).nullish(),
    emprestimosLegados: z.array(z.unknown()).nullish(),
    motivoInelegibilidade: lenientCoded,
  }),
});

/** Everything the callback says, in clear: it becomes a record only with its personal part sealed. */
export type LinkDetailMessage = {
  requestCode: string | null;
  cpf: string;
  registration: string;
  employerId: string;
  employerIdType: number;
  name: string | null;
  motherName: string | null;
  employerName: string | null;
  sex: Coded | null;
  nationality: Coded | null;
  birthDate: Day | null;
  workerCategoryCode: number | null;
  eligible: boolean | null;
  ineligibility: Coded | null;
  totalEarningsCents: AmountCents | null;
  marginBaseCents: AmountCents | null;
  availableMarginCents: AmountCents | null;
  admissionDate: Day | null;
  terminationDate: Day | null;
  terminationReasonCode: number | null;
  politicallyExposed: Coded | null;
  occupation: Coded | null;
  activity: Coded | null;
  employerStartDate: Day | null;
  activeLoans: number | null;
  /** Items have no documented shape; null when the callback did not say. */
  alerts: readonly unknown[] | null;
  legacyLoans: readonly unknown[] | null;
};

/** What of the detail was taken otherwise than it came: a margin below zero or with parts of a cent. */
export function adjustedIn(value: JsonValue): readonly WireFault[] {
  const payload = isJsonObject(value) ? fieldOf(value, 'Payload') : undefined;
  const margin = isJsonObject(payload) ? readMargin(fieldOf(payload, 'valorMargemDisponivel')) : null;
  if (margin?.kind !== 'value' || margin.adjusted === undefined) return [];
  const { adjusted } = margin;
  return [{ pointer: '/Payload/valorMargemDisponivel', problem: describeAdjustment(adjusted), adjusted }];
}

export function decodeLinkDetail(value: JsonValue): Decoded<LinkDetailMessage> {
  const decoded = decodeBy(linkDetail, value);
  if (decoded.kind === 'refused') return decoded;
  const { CodigoRequisicao, Payload: link } = decoded.value;
  return {
    kind: 'decoded',
    value: {
      requestCode: CodigoRequisicao,
      cpf: link.cpf,
      registration: link.matricula,
      employerId: link.numeroInscricaoEmpregador,
      employerIdType: link.inscricaoEmpregador.codigo,
      name: link.nome,
      motherName: link.nomeMae,
      employerName: link.nomeEmpregador,
      sex: link.sexo,
      nationality: link.paisNacionalidade,
      birthDate: link.dataNascimento,
      workerCategoryCode: link.codigoCategoriaTrabalhador,
      eligible: link.elegivel,
      ineligibility: link.motivoInelegibilidade,
      totalEarningsCents: link.valorTotalVencimentos,
      marginBaseCents: link.valorBaseMargem,
      availableMarginCents: link.valorMargemDisponivel,
      admissionDate: link.dataAdmissao,
      terminationDate: link.dataDesligamento,
      terminationReasonCode: link.codigoMotivoDesligamento,
      politicallyExposed: link.pessoaExpostaPoliticamente,
      occupation: link.cbo,
      activity: link.cnae,
      employerStartDate: link.dataInicioAtividadeEmpregador,
      activeLoans: link.qtdEmprestimosAtivosSuspensos,
      alerts: link.alertas ?? null,
      legacyLoans: link.emprestimosLegados ?? null,
    },
  };
}

/**
 * Whether the body of a link-detail callback tells of the link that was asked about. The service may write a registration and an
 * employer otherwise than they were sent: without leading zeros, in other letters, as the root of the CNPJ. Another registration or
 * employer is another link, under whatever code it comes. False for a body that cannot be read.
 */
export function isDetailOf(
  body: string,
  { registration, employerId, employerIdType }: Pick<WorkerIdentity, 'registration' | 'employerId' | 'employerIdType'>,
): boolean {
  const parsed = parseJson(body);
  const decoded = parsed.kind === 'parsed' ? decodeLinkDetail(parsed.value) : null;
  if (decoded?.kind !== 'decoded' || registration === null || employerId === null) return false;
  const told = decoded.value;
  return (
    plainRegistration(told.registration) === plainRegistration(registration) &&
    isSameEmployer(told, { employerId, employerIdType })
  );
}

function plainRegistration(registration: string): string {
  return registration
    .replace(/[^\dA-Za-z]/g, '')
    .replace(/^0+(?=.)/, '')
    .toUpperCase();
}

export function encodeLinkDetail(link: LinkDetailMessage): string {
  const day = (value: Day | null): string | null => (value === null ? null : formatDayDigits(value));
  const reais = (cents: AmountCents | null): number | null => (cents === null ? null : cents / 100);
  return JSON.stringify({
    CodigoRequisicao: link.requestCode,
    Endpoint: linkDetailPath,
    Payload: {
      cpf: Number(link.cpf),
      matricula: link.registration,
      inscricaoEmpregador: writeEmployerType(link.employerIdType),
      numeroInscricaoEmpregador: writeEmployerId(link.employerId),
      nome: link.name,
      sexo: writeCoded(link.sex),
      dataNascimento: day(link.birthDate),
      codigoCategoriaTrabalhador: link.workerCategoryCode,
      elegivel: link.eligible,
      valorTotalVencimentos: reais(link.totalEarningsCents),
      valorBaseMargem: reais(link.marginBaseCents),
      valorMargemDisponivel: reais(link.availableMarginCents),
      dataAdmissao: day(link.admissionDate),
      dataDesligamento: day(link.terminationDate),
      codigoMotivoDesligamento: link.terminationReasonCode,
      pessoaExpostaPoliticamente: writeCoded(link.politicallyExposed),
      nomeEmpregador: link.employerName,
      nomeMae: link.motherName,
      paisNacionalidade: writeCoded(link.nationality),
      cbo: writeCoded(link.occupation),
      cnae: writeCoded(link.activity),
      dataInicioAtividadeEmpregador: day(link.employerStartDate),
      qtdEmprestimosAtivosSuspensos: link.activeLoans,
      alertas: link.alerts,
      emprestimosLegados: link.legacyLoans,
      motivoInelegibilidade: writeCoded(link.ineligibility),
    },
  });
}
