/** From what was sent to what the front is asked: days and times become ours, and what was left out stays out. */
import type { z } from 'zod';
import type {
  ContractAsked,
  LookupAsked,
  RenegotiationAsked,
  StepAsked,
  WithdrawalAsked,
} from '../../origination/orders.ts';
import { isJsonObject, type JsonObject, type JsonValue, membersIn, parseJson, repeatedKey } from '../../wire/json.ts';
import { keyText } from './remedies.ts';
import type { contractBody, lookupBody, renegotiationBody, stepBodies, withdrawalBody } from './schemas.ts';

type Without<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** zod leaves what was not sent as undefined; the house has no such values. */
function given<T extends object>(body: T): Without<T> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as Without<T>;
}

export function contractAsked(body: z.infer<typeof contractBody>): ContractAsked {
  const { workerAccepted, link, despiteEvents, despiteBid, ...contract } = body;
  const named = link === undefined ? null : { ...link, authorisationNumber: link.authorisationNumber ?? null };
  return {
    contract: given(contract),
    acceptedByWorker: workerAccepted,
    link: named,
    ...given({ despiteEvents, despiteBid }),
  };
}

export function renegotiationAsked(body: z.infer<typeof renegotiationBody>): RenegotiationAsked {
  const { closedContract, cpf, registration, employerIdType, employerId } = body;
  const { agentCpf, contractType, installments, rateHundredths } = body;
  return {
    renegotiation: {
      ...{ closedContract, cpf, registration, employerIdType, employerId },
      ...{ agentCpf, contractType, installments, rateHundredths },
    },
    originalRateHundredths: body.originalRateHundredths ?? null,
    closedByTermination: body.closedByTermination ?? null,
    openInstallments: body.openInstallments ?? null,
    pendingCharges: body.pendingCharges ?? null,
    linkValid: body.linkValid ?? null,
    estimatedInstallmentCents: body.estimatedInstallmentCents ?? null,
    authorisationNumber: body.authorisationNumber ?? null,
    ...given({ despiteEvents: body.despiteEvents, despiteOriginal: body.despiteOriginal }),
  };
}

export function withdrawalAsked(body: z.infer<typeof withdrawalBody>): WithdrawalAsked {
  const { cpf, birthDate = null, signerCpfs = [], proposalCode, alongside } = body;
  const more = given({ proposalCode, alongside });
  return { cpf, birthDate, signerCpfs, ...more };
}

export function lookupAsked(body: z.infer<typeof lookupBody>): LookupAsked {
  const { cpf, link = null, authorisationNumber = null, cached = null, reason } = body;
  return { cpf, link, authorisationNumber, cached, reason };
}

/** The day of birth under the name that the contract's messages have for it here. */
function born<T extends { birthDate?: string | undefined; birthDay?: string | undefined }>({ birthDate, ...body }: T) {
  return { ...body, birthDay: birthDate ?? body.birthDay };
}

/** Parts of steps that go to the service as they came: what their fields are the contract does not show. */
const carried = ['content', 'fields', 'dto'];

/** A body that was read from the text, its carried parts with every number as it was written. */
export function withCarriedNumbers(value: JsonValue, text: Buffer | string): JsonValue {
  if (!isJsonObject(value)) return value;
  const object: JsonObject = value;
  const names = carried.filter((name) => isJsonObject(object[name]));
  const exact = names.length === 0 ? null : parseJson(text, { maxBytes: text.length * 4, maxDepth: 64, exact: true });
  if (exact?.kind !== 'parsed') return value;
  const kept = exact.value as JsonObject;
  return { ...object, ...Object.fromEntries(names.map((name) => [name, kept[name]!])) };
}

/** JSON nested no deeper than anything that is meant: functions that call themselves write it again. `why` quotes no value. */
export function readJson(
  body: Buffer | string,
): { kind: 'read'; value: JsonValue } | { kind: 'unreadable'; why: string } {
  const read = parseJson(body);
  if (read.kind === 'malformed') return { kind: 'unreadable', why: read.text };
  if (membersIn(read.value) === read.members) return { kind: 'read', value: withCarriedNumbers(read.value, body) };
  const key = keyText(repeatedKey(body.toString()) ?? '');
  const why = `an object in the body says a key twice, and which value is meant nobody knows; send ${key} once`;
  return { kind: 'unreadable', why };
}

type Bodies = { [S in keyof typeof stepBodies]: z.infer<(typeof stepBodies)[S]> };

const readers: { readonly [S in keyof Bodies]: (body: Bodies[S]) => StepAsked } = {
  amend: ({ contract, renegotiation, link, authorisationNumber, ...despite }) => ({
    step: 'amend',
    ...(contract === undefined ? {} : { contract: given(contract) }),
    ...(renegotiation === undefined ? {} : { renegotiation }),
    ...(link === undefined ? {} : { link }),
    ...(authorisationNumber === undefined ? {} : { authorisationNumber }),
    ...given(despite),
  }),
  sign: ({ signedAt, content, despiteEvents }) => ({
    step: 'sign',
    signedAt: Date.parse(signedAt),
    content,
    ...given({ despiteEvents }),
  }),
  cancel: (body) => ({ step: 'cancel', ...given(body) }),
  deny: (body) => ({ step: 'deny', ...given(body) }),
  regenerate: (body) => ({ step: 'regenerate', ...given(body) }),
  accept: (body) => ({ step: 'accept', ...given(body) }),
  confirm: ({ requestCode = null, ...body }) => ({ step: 'confirm', ...given(body), requestCode }),
  simulation: ({ balanceAlone, ...body }) => ({
    step: 'simulation',
    request: { ...given(born(body)), ...(balanceAlone === true ? { cpf: null } : {}) },
  }),
  inclusion: ({ account, splits, despiteSimulation, despitePayee, ...body }) => ({
    step: 'inclusion',
    ...given({ despiteSimulation, despitePayee }),
    request: {
      ...given(born(body)),
      ...(account === undefined ? {} : { account: given(account) }),
      ...(splits === undefined ? {} : { splits: splits.map(given) }),
    },
  }),
  proposal: ({ dto }) => ({ step: 'proposal', request: { dto: (dto ?? {}) as JsonObject } }),
  installments: (body) => ({ step: 'installments', request: given(body) }),
  splits: ({ splits, parameters, despitePayee }) => ({
    step: 'splits',
    ...given({ despitePayee }),
    request: {
      ...(splits === undefined ? {} : { splits: splits.map(given) }),
      ...(parameters === undefined ? {} : { parameters }),
    },
  }),
  signers: ({ signers }) => ({
    step: 'signers',
    request: { signers: signers.map((signer) => ({ ...given(signer), signedAt: Date.parse(signer.signedAt) })) },
  }),
  finalisation: (body) => ({ step: 'finalisation', request: given(body) }),
  'account-update': ({ fields, otherNames }) => ({
    step: 'account-update',
    request: { extra: fields as JsonObject, ...given({ otherNames }) },
  }),
};

/** `body` was checked against the schema of the same step. */
export function stepAsked<S extends keyof Bodies>(step: S, body: Bodies[S]): StepAsked {
  return readers[step](body);
}
