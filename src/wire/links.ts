/** The callbacks about employment links, both ways (contract, Employment link and Link-detail callback). */
import { z } from 'zod';
import { isSameEmployer } from '../domain/employer.ts';
import type { AmountCents, Day } from '../domain/glossary.ts';
import type { LinkField, WorkerIdentity } from '../domain/request.ts';
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
import { isJsonObject, type JsonValue, kindOf, numberOfDigits, parseJson } from './json.ts';
import { linkDetailPath } from './link-queries.ts';
import { readCode } from './plain-ids.ts';
import { readEmployerIdType } from './request-mapping.ts';
import {
  describeAdjustment,
  formatDayDigits,
  type Reader,
  type Reading,
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

/** A code with its description. One without a code says nothing. */
function readCoded(value: unknown): Reading<Coded> {
  if (value === null || value === undefined) return { kind: 'missing' };
  if (!isJsonObject(value)) return { kind: 'wrong', problem: `is ${kindOf(value)}; send an object with codigo` };
  const code = readInteger(fieldOf(value, 'codigo'));
  if (code.kind !== 'value') return code;
  const text = readText(fieldOf(value, 'descricao'));
  return { kind: 'value', value: { code: code.value, text: text.kind === 'value' ? text.value : null } };
}

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
  motivoInelegibilidade: lenient(readCoded),
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
  /** It is called eligible, and a reason is given why it is not. */
  isEligibleAndNot: boolean;
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
      isEligibleAndNot: isEligibleAndNot(element),
    });
  });
  return { kind: 'decoded', value: { requestCode: decoded.value.codigoRequisicao, links, unreadable } };
}

export function encodeLinkList(list: {
  requestCode: string | null;
  links: readonly Omit<LinkRow, 'isEligibleAndNot'>[];
}): string {
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

function readEmployerTypeOf(value: unknown): Reading<number> {
  const coded = readCoded(value);
  return coded.kind === 'value' ? readEmployerIdType(coded.value.code) : coded;
}

/** Whether something stands there as the reason why a link is not eligible. A code of 0 and a field of blanks say that there is none. */
function givesReason(value: unknown): boolean {
  if (!isJsonObject(value)) return readText(value).kind !== 'missing';
  const code = readInteger(fieldOf(value, 'codigo'));
  if (code.kind === 'value') return code.value !== 0;
  return code.kind === 'wrong' || readText(fieldOf(value, 'descricao')).kind !== 'missing';
}

/** The link is called eligible, and a reason is given why it is not. */
function isEligibleAndNot(link: unknown): boolean {
  if (!isJsonObject(link)) return false;
  const eligible = readBoolean(fieldOf(link, 'elegivel'));
  return eligible.kind === 'value' && eligible.value && givesReason(fieldOf(link, 'motivoInelegibilidade'));
}

/** A single object is a list of one. */
function readList(value: unknown): Reading<readonly unknown[]> {
  if (value === null || value === undefined) return { kind: 'missing' };
  if (Array.isArray(value)) return { kind: 'value', value };
  if (isJsonObject(value)) return { kind: 'value', value: [value] };
  return { kind: 'wrong', problem: `is ${kindOf(value)}; send a list` };
}

/** A day of zeros alone is how some write that there is none. */
function readDayIfAny(value: unknown): Reading<Day> {
  const text = typeof value === 'number' ? String(value) : value;
  const isNone = typeof text === 'string' && text.includes('0') && /^[0/-]+$/.test(text.trim());
  return isNone ? { kind: 'missing' } : readDay(value);
}

/** How each field is read that says something of the link. Each is read by itself: one that cannot be read leaves the others as they are. */
const detailReaders = {
  dataNascimento: readDayIfAny,
  codigoCategoriaTrabalhador: readInteger,
  elegivel: readBoolean,
  valorTotalVencimentos: readAmount,
  valorBaseMargem: readAmount,
  valorMargemDisponivel: readMargin,
  dataAdmissao: readDayIfAny,
  dataDesligamento: readDayIfAny,
  pessoaExpostaPoliticamente: readCoded,
  cbo: readCoded,
  cnae: readCoded,
  dataInicioAtividadeEmpregador: readDayIfAny,
  qtdEmprestimosAtivosSuspensos: readInteger,
  alertas: readList,
  motivoInelegibilidade: readCoded,
} as const satisfies Record<string, Reader<unknown>>;

/** Which field of the detail each of them becomes. */
const fieldNames: Readonly<Record<keyof typeof detailReaders, LinkField>> = {
  dataNascimento: 'birthDate',
  codigoCategoriaTrabalhador: 'workerCategoryCode',
  elegivel: 'eligible',
  valorTotalVencimentos: 'totalEarningsCents',
  valorBaseMargem: 'marginBaseCents',
  valorMargemDisponivel: 'availableMarginCents',
  dataAdmissao: 'admissionDate',
  dataDesligamento: 'terminationDate',
  pessoaExpostaPoliticamente: 'politicallyExposed',
  cbo: 'occupationCode',
  cnae: 'activityCode',
  dataInicioAtividadeEmpregador: 'employerStartDate',
  qtdEmprestimosAtivosSuspensos: 'activeLoans',
  alertas: 'alertCount',
  motivoInelegibilidade: 'ineligibilityCode',
};

const linkDetail = z.object({
  CodigoRequisicao: lenient(readCode),
  Payload: z.object({
    // Without these nobody knows whose link it is.
    cpf: needed(readCpf),
    matricula: needed(readText),
    numeroInscricaoEmpregador: needed(readEmployerId),
    inscricaoEmpregador: lenient(readEmployerTypeOf),
    nome: lenient(readText),
    sexo: lenient(readCoded),
    dataNascimento: lenient(detailReaders.dataNascimento),
    codigoCategoriaTrabalhador: lenient(detailReaders.codigoCategoriaTrabalhador),
    elegivel: lenient(detailReaders.elegivel),
    valorTotalVencimentos: lenient(detailReaders.valorTotalVencimentos),
    valorBaseMargem: lenient(detailReaders.valorBaseMargem),
    valorMargemDisponivel: lenient(detailReaders.valorMargemDisponivel),
    dataAdmissao: lenient(detailReaders.dataAdmissao),
    dataDesligamento: lenient(detailReaders.dataDesligamento),
    codigoMotivoDesligamento: lenient(readInteger),
    pessoaExpostaPoliticamente: lenient(detailReaders.pessoaExpostaPoliticamente),
    nomeEmpregador: lenient(readText),
    nomeMae: lenient(readText),
    paisNacionalidade: lenient(readCoded),
    cbo: lenient(detailReaders.cbo),
    cnae: lenient(detailReaders.cnae),
    dataInicioAtividadeEmpregador: lenient(detailReaders.dataInicioAtividadeEmpregador),
    qtdEmprestimosAtivosSuspensos: lenient(detailReaders.qtdEmprestimosAtivosSuspensos),
    alertas: lenient(detailReaders.alertas),
    emprestimosLegados: lenient(readList),
    motivoInelegibilidade: lenient(detailReaders.motivoInelegibilidade),
  }),
});

/** Everything the callback says, in clear: it becomes a record only with its personal part sealed. */
export type LinkDetailMessage = {
  requestCode: string | null;
  cpf: string;
  registration: string;
  employerId: string;
  /** Null: it was not said, or cannot be read. */
  employerIdType: number | null;
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

/**
 * A field that cannot be read (`unread`) or of which two things are said (`contradicted`), or one that was taken otherwise than it came: a
 * margin below zero or with parts of a cent.
 */
export type DetailFault = WireFault & { unread?: LinkField; contradicted?: LinkField };

export function faultsInDetail(value: JsonValue): readonly DetailFault[] {
  const payload = isJsonObject(value) ? fieldOf(value, 'Payload') : undefined;
  if (!isJsonObject(payload)) return [];
  const problem = 'is true beside a motivoInelegibilidade; send false, or no reason why the link is not eligible';
  const denied: DetailFault[] = isEligibleAndNot(payload)
    ? [{ pointer: '/Payload/elegivel', problem, contradicted: 'eligible' }]
    : [];
  const faults = Object.entries(detailReaders).flatMap(([name, reader]): DetailFault[] => {
    const reading: Reading<unknown> = reader(fieldOf(payload, name));
    const pointer = `/Payload/${name}`;
    if (reading.kind === 'wrong')
      return [{ pointer, problem: reading.problem, unread: fieldNames[name as keyof typeof detailReaders] }];
    if (reading.kind !== 'value' || reading.adjusted === undefined) return [];
    const { adjusted } = reading;
    return [{ pointer, problem: describeAdjustment(adjusted), adjusted }];
  });
  return [...faults, ...denied];
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
      employerIdType: link.inscricaoEmpregador,
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
      alerts: link.alertas,
      legacyLoans: link.emprestimosLegados,
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
      inscricaoEmpregador: link.employerIdType === null ? null : writeEmployerType(link.employerIdType),
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
