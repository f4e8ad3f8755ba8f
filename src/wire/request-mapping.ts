/**
 * From a new-requests webhook of any likely shape to loan requests, driven by the mapping file. The contract shows two of
 * its fields only, so nothing is assumed: what is missing is null, never zero, and what cannot be read is null and a fault.
 */
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { LoanRequest, WorkerIdentity } from '../domain/request.ts';
import type { Vault } from '../domain/vault.ts';
import { maxElements, type WireFault } from './casing.ts';
import { extraFactsOf, inheritedLength } from './extra-facts.ts';
import { linkKeyOf, workerKeyOf } from './identity.ts';
import { isJsonObject, type JsonValue, kindOf } from './json.ts';
import { type FactName, factNames, type RequestMapping } from './mapping-table.ts';
import { shownBatch, shownEmployer } from './plain-ids.ts';
import { type Element, elementsOf, findAlias, findFact, innerValue } from './request-elements.ts';
import {
  describeAdjustment,
  type Reader,
  type Reading,
  readAmount,
  readBoolean,
  readCpf,
  readDay,
  readDigits,
  readEmployerId,
  readInstant,
  readInteger,
  readMargin,
  readPercent,
  readScore,
  readTerm,
  readText,
} from './values.ts';

type MappedItem =
  | {
      kind: 'request';
      request: LoanRequest;
      identity: WorkerIdentity;
      /** The request's own element as JSON text, digits kept; made when it is asked for. */
      raw: () => string;
      /** Facts that are null because their value could not be read. */
      faults: readonly WireFault[];
    }
  | { kind: 'unusable'; requestId: RequestId | null; faults: readonly WireFault[]; element: Element };

export type MappedRequests =
  | { kind: 'requests'; items: readonly MappedItem[] }
  | { kind: 'not-understood'; reason: string; pointer: string };

export type MappingContext = { receivedAt: EpochMs; vault: Vault };

/** Finds and reads every request in `value`. A request without an id, or with a deadline that cannot be read, is unusable. */
export function mapRequests(value: JsonValue, mapping: RequestMapping, context: MappingContext): MappedRequests {
  const { elements, emptyBatch, tooMany } = elementsOf(value, mapping);
  if (tooMany) {
    const reason = `there are more than ${maxElements} requests in it; send them in several webhooks`;
    return { kind: 'not-understood', reason, pointer: '' };
  }
  if (!elements.some((element) => looksLikeRequest(element, mapping))) {
    if (emptyBatch && elements.length === 0) return { kind: 'requests', items: [] };
    const wanted = mapping.facts.requestId.map((alias) => alias.text).join(', ');
    return {
      kind: 'not-understood',
      reason: `nothing in it looks like a loan request; expected one of ${wanted}, or mend the request mapping`,
      pointer: '',
    };
  }
  let inherited = 0;
  for (const { scope } of elements) inherited += inheritedLength(scope, mapping);
  if (inherited > maxInherited) {
    const reason = `the fields around the requests are too long to be given to all ${elements.length} of them; send fewer at once`;
    return { kind: 'not-understood', reason, pointer: '' };
  }
  return { kind: 'requests', items: elements.map((element) => readElement(element, mapping, context)) };
}

/** Characters of facts that wrappers give to all their requests together: each gets a copy. */
const maxInherited = 16_000_000;

const enoughFacts = 2;

function looksLikeRequest(element: Element, mapping: RequestMapping): boolean {
  if (findFact(element.scope, 'requestId', mapping) !== null) return true;
  const own = { fields: element.scope.fields, parent: null };
  let seen = 0;
  for (const fact of factNames) {
    if (findFact(own, fact, mapping) !== null) seen += 1;
    if (seen >= enoughFacts) return true;
  }
  return false;
}

type Facts = {
  /** The fact, or null. What is there and cannot be read as it came is a fault. */
  get: <T>(fact: FactName, reader: Reader<T>) => T | null;
  faults: WireFault[];
};

function factsOf(element: Element, mapping: RequestMapping): Facts {
  const faults: WireFault[] = [];
  return {
    faults,
    get: (fact, reader) => {
      const found = findFact(element.scope, fact, mapping);
      if (found === null) return null;
      const reading = reader(found.value);
      const pointer = `${element.pointer}/${found.alias.text.replaceAll('.', '/')}`;
      if (reading.kind === 'wrong') faults.push({ pointer, problem: reading.problem });
      if (reading.kind !== 'value') return null;
      const { value, adjusted } = reading;
      if (adjusted !== undefined) faults.push({ pointer, problem: describeAdjustment(adjusted), adjusted });
      return value;
    },
  };
}

function readElement(element: Element, mapping: RequestMapping, context: MappingContext): MappedItem {
  const facts = factsOf(element, mapping);
  const requestId = facts.get('requestId', readDigits);
  const closesAt = facts.get('closesAt', readInstant);
  const expiresAt = facts.get('expiresAt', readInstant);
  if (requestId === null && facts.faults.length === 0) {
    const found = element.scope.fields.length === 0 ? `is ${kindOf(element.own)}` : 'has no request id';
    facts.faults.push({ pointer: element.pointer, problem: `${found}; send an object with numeroSolicitacao` });
  }
  // An unreadable deadline is not a missing one: guessing it could mean a late bid.
  if (requestId === null || facts.faults.length > 0) {
    return { kind: 'unusable', requestId, faults: facts.faults, element };
  }
  const identity = {
    cpf: facts.get('cpf', readCpf),
    name: facts.get('name', readText),
    registration: facts.get('registration', readText),
    employerId: facts.get('employerId', readEmployerId),
    employerIdType: facts.get('employerIdType', readEmployerIdType),
  };
  const batchId = facts.get('batchId', readText);
  const request: LoanRequest = {
    requestId,
    batchId: batchId === null ? null : shownBatch(context.vault, batchId),
    receivedAt: context.receivedAt,
    closesAt,
    expiresAt,
    requestedAmountCents: facts.get('requestedAmount', readAmount),
    requestedInstallments: facts.get('requestedInstallments', readTerm),
    availableMarginCents: facts.get('availableMargin', readMargin),
    eligible: facts.get('eligible', readBoolean),
    ...keysOf(identity, context.vault),
    employerId: shownEmployer(context.vault, identity.employerId, identity.employerIdType),
    employerIdType: identity.employerIdType,
    birthDate: facts.get('birthDate', readDay),
    admissionDate: facts.get('admissionDate', readDay),
    politicallyExposed: facts.get('politicallyExposed', (value) => readExposed(value, mapping)),
    activityCode: facts.get('activityCode', readInteger),
    employerStartDate: facts.get('employerStartDate', readDay),
    guarantee: {
      present: facts.get('guarantee.present', readBoolean),
      fgtsBalanceCents: facts.get('guarantee.fgtsBalance', readAmount),
      terminationFineCents: facts.get('guarantee.terminationFine', readAmount),
      severancePercent: facts.get('guarantee.severancePercent', readPercent),
    },
    alertCodes: facts.get('alerts', (value) => readAlertCodes(value as JsonValue, mapping)),
    authorisationNumber: facts.get('authorisationNumber', readDigits),
    ...scoresOf(element, mapping, facts.faults),
    extra: extraFactsOf(element.scope, mapping),
  };
  return { kind: 'request', request, identity, raw: () => JSON.stringify(element.own), faults: facts.faults };
}

/** Nothing where the mapping names no scores. A score that cannot be read is absent, and a fault. */
function scoresOf(element: Element, mapping: RequestMapping, faults: WireFault[]): Pick<LoanRequest, 'scores'> {
  if (mapping.scores.length === 0) return {};
  const scores: Record<string, number> = {};
  for (const [name, aliases] of mapping.scores) {
    const found = findAlias(element.scope, aliases);
    if (found === null) continue;
    const reading = readScore(found.value);
    if (reading.kind === 'value') scores[name] = reading.value;
    if (reading.kind !== 'wrong') continue;
    const pointer = `${element.pointer}/${found.alias.text.replaceAll('.', '/')}`;
    faults.push({ pointer, problem: reading.problem });
  }
  return { scores };
}

function keysOf(identity: WorkerIdentity, vault: Vault): { workerKey: string | null; linkKey: string | null } {
  const { cpf, registration, employerId, employerIdType } = identity;
  if (cpf === null) return { workerKey: null, linkKey: null };
  const linkKey =
    registration === null || employerId === null
      ? null
      : linkKeyOf(vault, cpf, registration, employerIdType, employerId);
  return { workerKey: workerKeyOf(vault, cpf), linkKey };
}

/** 1 = CNPJ, 2 = CPF (contract, Employment link). */
export function readEmployerIdType(value: unknown): Reading<number> {
  const reading = readInteger(value);
  if (reading.kind !== 'value' || reading.value === 1 || reading.value === 2) return reading;
  return { kind: 'wrong', problem: 'is a number that is neither 1 (CNPJ) nor 2 (CPF); send one of them' };
}

/** A truth value, or a code that the mapping file knows. */
export function readExposed(value: unknown, mapping: RequestMapping): Reading<boolean> {
  if (typeof value === 'boolean') return { kind: 'value', value };
  const code = readInteger(value);
  if (code.kind !== 'value') return code;
  if (mapping.exposedCodes.has(code.value)) return { kind: 'value', value: true };
  if (mapping.notExposedCodes.has(code.value)) return { kind: 'value', value: false };
  return {
    kind: 'wrong',
    problem: 'is a code that politicallyExposedCodes of the request mapping does not list; add it there',
  };
}

function readAlertCodes(value: JsonValue, mapping: RequestMapping): Reading<readonly string[]> {
  const codes = Array.isArray(value) ? value.map((item) => alertCodeOf(item, mapping)) : null;
  if (codes?.every((code) => code !== null)) return { kind: 'value', value: codes };
  const wanted = mapping.alertCode.map((path) => path.join('.')).join(' or ');
  return { kind: 'wrong', problem: `is ${kindOf(value)} with an alert that has no code; send a list with ${wanted}` };
}

function alertCodeOf(item: JsonValue, mapping: RequestMapping): string | null {
  for (const path of isJsonObject(item) ? mapping.alertCode : []) {
    const found = path.reduce<JsonValue | undefined>(
      (inner, step) => (isJsonObject(inner) ? innerValue(inner, step) : undefined),
      item,
    );
    const reading = readText(found);
    if (reading.kind === 'value') return reading.value;
  }
  const reading = readText(item);
  return reading.kind === 'value' ? reading.value : null;
}
