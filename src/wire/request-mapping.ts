/**
 * From a new-requests webhook of any likely shape to loan requests, driven by the mapping file. The contract shows two of
 * its fields only, so nothing is assumed: what is missing is null, never zero, and what cannot be read is null and a fault.
 */
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { LoanRequest, RequestField, WorkerIdentity } from '../domain/request.ts';
import type { Vault } from '../domain/vault.ts';
import { maxElements, type WireFault } from './casing.ts';
import { extraFactsOf, inheritedLength } from './extra-facts.ts';
import { linkKeyOf, workerKeyOf } from './identity.ts';
import { holdsMoreThan, isJsonObject, type JsonValue, kindOf } from './json.ts';
import { type FactName, factNames, type RequestMapping } from './mapping-table.ts';
import { readRequestId, shownBatch, shownEmployer } from './plain-ids.ts';
import { type Element, elementsOf, type FoundFact, findAlias, findFact, innerValue } from './request-elements.ts';
import {
  describeAdjustment,
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
  const own = { ...context, batches: new Map<string, string>() };
  return { kind: 'requests', items: elements.map((element) => readElement(element, mapping, own)) };
}

/** Keys and items of lists that one request may hold, all together: those that are told take some dozens. */
const mostPieces = 2_000;

/** Characters of facts that wrappers give to all their requests together: each gets a copy. */
const maxInherited = 16_000_000;

const enoughFacts = 2;

export function looksLikeRequest(element: Element, mapping: RequestMapping): boolean {
  if (findFact(element.scope, 'requestId', mapping) !== null) return true;
  const own = { fields: element.scope.fields, parent: null };
  let seen = 0;
  for (const fact of factNames) {
    if (findFact(own, fact, mapping) !== null) seen += 1;
    if (seen >= enoughFacts) return true;
  }
  return false;
}

/** How each fact is read. */
const readers = {
  requestId: readRequestId,
  batchId: readText,
  closesAt: readInstant,
  expiresAt: readInstant,
  requestedAmount: readAmount,
  requestedInstallments: readTerm,
  availableMargin: readMargin,
  eligible: readBoolean,
  cpf: readCpf,
  name: readText,
  birthDate: readDay,
  admissionDate: readDay,
  registration: readText,
  employerId: readEmployerId,
  employerIdType: readEmployerIdType,
  politicallyExposed: readExposed,
  activityCode: readInteger,
  employerStartDate: readDay,
  'guarantee.present': readBoolean,
  'guarantee.fgtsBalance': readAmount,
  'guarantee.terminationFine': readAmount,
  'guarantee.severancePercent': readPercent,
  alerts: readAlertCodes,
  authorisationNumber: readDigits,
} as const satisfies Record<FactName, (value: JsonValue, mapping: RequestMapping) => Reading<unknown>>;

type FactOf<F extends FactName> = ReturnType<(typeof readers)[F]> extends Reading<infer T> ? T : never;

function readFact<F extends FactName>(fact: F, value: JsonValue, mapping: RequestMapping): Reading<FactOf<F>> {
  return readers[fact](value, mapping) as Reading<FactOf<F>>;
}

/** What is wrong with a fact's value, or how it was taken otherwise than it came; null: it is read as it came. */
export function factProblem(fact: FactName, value: JsonValue, mapping: RequestMapping): string | null {
  const reading: Reading<unknown> = readFact(fact, value, mapping);
  if (reading.kind === 'wrong') return reading.problem;
  return reading.kind === 'value' && reading.adjusted !== undefined ? describeAdjustment(reading.adjusted) : null;
}

const givenReadings = new WeakMap<FoundFact, Reading<unknown>>();

/** What a wrapper gives is read once for all its requests: it may be as long as all of them. */
function readingOf<F extends FactName>(fact: F, found: FoundFact, mapping: RequestMapping): Reading<FactOf<F>> {
  if (found.isOwn) return readFact(fact, found.value, mapping);
  const known = givenReadings.get(found);
  if (known !== undefined) return known as Reading<FactOf<F>>;
  const reading = readFact(fact, found.value, mapping);
  givenReadings.set(found, reading);
  return reading;
}

type Facts = {
  /** The fact, or null. What is there and cannot be read as it came is a fault. */
  get: <F extends FactName>(fact: F) => FactOf<F> | null;
  faults: WireFault[];
  unread: RequestField[];
};

/** Which field of the request is null where a fact cannot be read. Those that are missing here say nothing of the worker or the loan. */
const fieldOfFact: Readonly<Partial<Record<FactName, RequestField>>> = {
  requestedAmount: 'requestedAmountCents',
  requestedInstallments: 'requestedInstallments',
  availableMargin: 'availableMarginCents',
  eligible: 'eligible',
  cpf: 'workerKey',
  birthDate: 'birthDate',
  admissionDate: 'admissionDate',
  employerId: 'employerId',
  employerIdType: 'employerIdType',
  politicallyExposed: 'politicallyExposed',
  activityCode: 'activityCode',
  employerStartDate: 'employerStartDate',
  'guarantee.present': 'guarantee.present',
  'guarantee.fgtsBalance': 'guarantee.fgtsBalanceCents',
  'guarantee.terminationFine': 'guarantee.terminationFineCents',
  'guarantee.severancePercent': 'guarantee.severancePercent',
  alerts: 'alertCodes',
};

function factsOf(element: Element, mapping: RequestMapping): Facts {
  const faults: WireFault[] = [];
  const unread: RequestField[] = [];
  return {
    faults,
    unread,
    get: (fact) => {
      const found = findFact(element.scope, fact, mapping);
      if (found === null) return null;
      const reading = readingOf(fact, found, mapping);
      const pointer = `${element.pointer}/${found.alias.text.replaceAll('.', '/')}`;
      if (reading.kind === 'wrong') {
        faults.push({ pointer, problem: reading.problem });
        const field = fieldOfFact[fact];
        if (field !== undefined) unread.push(field);
      }
      if (reading.kind !== 'value') return null;
      const { value, adjusted } = reading;
      if (adjusted !== undefined) faults.push({ pointer, problem: describeAdjustment(adjusted), adjusted });
      return value;
    },
  };
}

/** `batches`: how those of this webhook are shown, each worked out once. */
type ElementContext = MappingContext & { batches: Map<string, string> };

function batchOf(batchId: string, { vault, batches }: ElementContext): string {
  const shown = batches.get(batchId) ?? shownBatch(vault, batchId);
  batches.set(batchId, shown);
  return shown;
}

function readElement(element: Element, mapping: RequestMapping, context: ElementContext): MappedItem {
  const facts = factsOf(element, mapping);
  const requestId = facts.get('requestId');
  const closesAt = facts.get('closesAt');
  const expiresAt = facts.get('expiresAt');
  if (requestId === null && facts.faults.length === 0) {
    const found = element.scope.fields.length === 0 ? `is ${kindOf(element.own)}` : 'has no request id';
    facts.faults.push({ pointer: element.pointer, problem: `${found}; send an object with numeroSolicitacao` });
  }
  if (holdsMoreThan(element.own, mostPieces)) {
    const problem = `holds more than the ${mostPieces} keys and list items that one request may have; send it without them`;
    facts.faults.push({ pointer: element.pointer, problem });
  }
  // An unreadable deadline is not a missing one: guessing it could mean a late bid.
  if (requestId === null || facts.faults.length > 0) {
    return { kind: 'unusable', requestId, faults: facts.faults, element };
  }
  const identity = {
    cpf: facts.get('cpf'),
    name: facts.get('name'),
    registration: facts.get('registration'),
    employerId: facts.get('employerId'),
    employerIdType: facts.get('employerIdType'),
  };
  const batchId = facts.get('batchId');
  const request: LoanRequest = {
    requestId,
    batchId: batchId === null ? null : batchOf(batchId, context),
    receivedAt: context.receivedAt,
    closesAt,
    expiresAt,
    requestedAmountCents: facts.get('requestedAmount'),
    requestedInstallments: facts.get('requestedInstallments'),
    availableMarginCents: facts.get('availableMargin'),
    eligible: facts.get('eligible'),
    ...keysOf(identity, context.vault),
    employerId: shownEmployer(context.vault, identity.employerId, identity.employerIdType),
    employerIdType: identity.employerIdType,
    birthDate: facts.get('birthDate'),
    admissionDate: facts.get('admissionDate'),
    politicallyExposed: facts.get('politicallyExposed'),
    activityCode: facts.get('activityCode'),
    employerStartDate: facts.get('employerStartDate'),
    guarantee: {
      present: facts.get('guarantee.present'),
      fgtsBalanceCents: facts.get('guarantee.fgtsBalance'),
      terminationFineCents: facts.get('guarantee.terminationFine'),
      severancePercent: facts.get('guarantee.severancePercent'),
    },
    alertCodes: facts.get('alerts'),
    authorisationNumber: facts.get('authorisationNumber'),
    ...scoresOf(element, mapping, facts.faults),
    extra: extraFactsOf(element.scope, mapping),
    ...(facts.unread.length === 0 ? {} : { unread: facts.unread }),
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
