/**
 * The operations of the service after a bid, as one table: path, root, how a request becomes bytes and what an answer means.
 * `prepare…` in `checks/` makes the bytes; the client sends them as they are, so that they can be kept before they are sent.
 */
import { createHash } from 'node:crypto';
import { canonicalCode, guidOf } from '../domain/request-codes.ts';
import { fieldOf } from './casing.ts';
import { acknowledgesEndorsement } from './endorsement-words.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts';
import { isId, namesNothing, readCode } from './plain-ids.ts';
import {
  type AccountUpdateRequest,
  accountUpdateMessage,
  accountUpdatePath,
  type FinalisationRequest,
  finalisationMessage,
  finalisationPath,
  type ProposalAnswer,
  proposalAnswer,
  type SignersRequest,
  type SplitsRequest,
  signersMessage,
  signersPath,
  splitsMessage,
  splitsPath,
} from './proposals.ts';
import { errorsOf, reportsError, type ServiceError } from './service-errors.ts';
import {
  type InclusionAnswer,
  type InclusionRequest,
  type InstallmentsAnswer,
  type InstallmentsRequest,
  inclusionAnswer,
  inclusionMessage,
  inclusionPath,
  installmentsAnswer,
  installmentsMessage,
  installmentsPath,
  type ProposalQueryRequest,
  type ProposalRecord,
  proposalQueryMessage,
  proposalQueryPath,
  proposalRecord,
  type SimulationAnswer,
  type SimulationRequest,
  simulationAnswer,
  simulationMessage,
  simulationPath,
} from './withdrawals.ts';
import {
  acknowledgementMessage,
  type ContractRequest,
  contractMessage,
  contractPath,
  type EndorsementRequest,
  endorsementPath,
  type RenegotiationRequest,
  renegotiationMessage,
  renegotiationPath,
} from './worker-credit.ts';

/** The result comes by webhook under this code. */
type Acknowledged = { requestCode: string; message: string | null };
/** `content` is the whole answer. */
type EndorsementAnswer = { requestCode: string | null; content: JsonValue };

type Operations = {
  contract: { request: ContractRequest; answer: Acknowledged };
  endorsement: { request: EndorsementRequest; answer: EndorsementAnswer };
  renegotiation: { request: RenegotiationRequest; answer: Acknowledged };
  simulation: { request: SimulationRequest; answer: SimulationAnswer };
  inclusion: { request: InclusionRequest; answer: InclusionAnswer };
  proposal: { request: ProposalQueryRequest; answer: ProposalRecord };
  installments: { request: InstallmentsRequest; answer: InstallmentsAnswer };
  splits: { request: SplitsRequest; answer: ProposalAnswer };
  signers: { request: SignersRequest; answer: ProposalAnswer };
  finalisation: { request: FinalisationRequest; answer: ProposalAnswer };
  'account-update': { request: AccountUpdateRequest; answer: ProposalAnswer };
};
export type OperationName = keyof Operations;
export type RequestOf<N extends OperationName> = Operations[N]['request'];
export type AnswerOf<N extends OperationName> = Operations[N]['answer'];

/** Which address an operation goes to, and so which casing, headers and kind of answer it has. */
export type Root = 'base' | 'fgts' | 'proposal';

type Row<N extends OperationName> = {
  path: string;
  root: Root;
  /** Asks only: doing it again changes nothing at the service. */
  reads: boolean;
  encode(request: RequestOf<N>): JsonObject;
  /** Null: not an answer that can be relied on. */
  read(value: JsonValue): AnswerOf<N> | null;
};

function readAcknowledgement(value: JsonValue): Acknowledged | null {
  const decoded = acknowledgementMessage.decode(value);
  if (decoded.kind === 'refused') return null;
  const { requestCode } = decoded.value;
  // Under a code of zeros no event is told from another one.
  if (!isId(requestCode) || namesNothing(requestCode)) return null;
  return { requestCode: canonicalCode(requestCode), message: decoded.value.content?.message ?? null };
}

function readEndorsement(value: JsonValue): EndorsementAnswer | null {
  if (!acknowledgesEndorsement(value)) return null;
  return { requestCode: readAcknowledgement(value)?.requestCode ?? null, content: value };
}

function readBy<O>(
  message: { decode: (value: JsonValue) => { kind: 'decoded'; value: O } | { kind: 'refused' } },
  isWhole: (answer: O) => boolean,
) {
  return (value: JsonValue): O | null => {
    const decoded = message.decode(value);
    return decoded.kind === 'decoded' && isWhole(decoded.value) ? decoded.value : null;
  };
}

/** The contract says a UUID; a service may number its proposals otherwise. Without a digit above zero it is a word, or says nothing. */
function namesProposal(code: string): boolean {
  return isId(code) && (guidOf(code) === null ? /[1-9]/.test(code) : /[1-9a-f]/i.test(code));
}

/** The envelope says that nothing failed: lists may then be null (contract, BuscarSimulacaoMultiPeriodo and ConsultarParcelas). */
function saysDone({ hasError }: { hasError: boolean | null }): boolean {
  return hasError === false;
}

const readProposalAnswer = readBy(proposalAnswer, saysDone);

export const operations: { readonly [N in OperationName]: Row<N> } = {
  contract: {
    path: contractPath,
    root: 'base',
    reads: false,
    encode: contractMessage.encode,
    read: readAcknowledgement,
  },
  endorsement: {
    path: endorsementPath,
    root: 'base',
    reads: false,
    encode: ({ content }) => content,
    read: readEndorsement,
  },
  renegotiation: {
    path: renegotiationPath,
    root: 'base',
    reads: false,
    encode: renegotiationMessage.encode,
    read: readAcknowledgement,
  },
  simulation: {
    path: simulationPath,
    root: 'fgts',
    reads: true,
    encode: (dto) => simulationMessage.encode({ dto }),
    read: readBy(
      simulationAnswer,
      (answer) => saysDone(answer) || answer.simulations !== null || answer.failures !== null,
    ),
  },
  inclusion: {
    path: inclusionPath,
    root: 'fgts',
    reads: false,
    encode: (dto) => inclusionMessage.encode({ dto }),
    read: readBy(inclusionAnswer, ({ proposalCode }) => proposalCode !== null && namesProposal(proposalCode)),
  },
  proposal: {
    path: proposalQueryPath,
    root: 'fgts',
    reads: true,
    encode: proposalQueryMessage.encode,
    read: readBy(proposalRecord, (answer) => answer.code !== null || answer.situation !== null),
  },
  installments: {
    path: installmentsPath,
    root: 'fgts',
    reads: true,
    encode: (dto) => installmentsMessage.encode({ dto }),
    read: readBy(installmentsAnswer, (answer) => saysDone(answer) || answer.installments !== null),
  },
  splits: {
    path: splitsPath,
    root: 'proposal',
    reads: false,
    encode: splitsMessage.encode,
    read: readProposalAnswer,
  },
  signers: {
    path: signersPath,
    root: 'proposal',
    reads: false,
    encode: signersMessage.encode,
    read: readProposalAnswer,
  },
  finalisation: {
    path: finalisationPath,
    root: 'proposal',
    reads: false,
    encode: finalisationMessage.encode,
    read: readProposalAnswer,
  },
  'account-update': {
    path: accountUpdatePath,
    root: 'proposal',
    reads: false,
    encode: accountUpdateMessage.encode,
    read: readProposalAnswer,
  },
};

/** One operation, ready to be sent: plain data, so that a log can keep it first. Sent again it is the same bytes and key. */
export type Prepared<N extends OperationName = OperationName> = {
  operation: N;
  /** Names this one execution; the caller's. The same name never stands for two things to be done. */
  operationId: string;
  path: string;
  /** The exact bytes. */
  body: string;
  /** Null where the contract has none: then nothing is ever sent twice. */
  idempotencyKey: string | null;
};

/** The bytes of an operation, unchecked; `prepareContract` and its siblings check first. */
export function writeOperation<N extends OperationName>(
  operation: N,
  operationId: string,
  request: RequestOf<N>,
): Prepared<N> {
  const { path, root, encode } = operations[operation];
  const idempotencyKey = root === 'base' ? null : idempotencyKeyOf(path, operationId);
  return { operation, operationId, path, body: JSON.stringify(encode(request)), idempotencyKey };
}

/**
 * The key of an operation: the same for each attempt, whatever process makes it. In the shape of a UUID (RFC 9562, version
 * 8), because the contract asks for a text and shows no form.
 */
export function idempotencyKeyOf(path: string, operationId: string): string {
  const hex = createHash('sha256').update(`${path}\n${operationId}`).digest('hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export type AnswerReading<A> =
  | { kind: 'accepted'; answer: A }
  | { kind: 'rejected'; code: string; errors: readonly ServiceError[] }
  /** It may have been done: nobody said so, and nobody said no; or both were said, and `code` is what it would be known by. */
  | { kind: 'unknown'; reason: string; code?: string };

/** Why it is not known: the answer refuses, and names the code of something that was done. */
export const refusedWithCode = 'refused-with-code';

/** Why it is not known: the answer to an endorsement is not the one that the contract shows. */
export const unshownSuccess = 'unshown-success';

/** What one answer means. 401 and 429 are the client's business before this is asked. */
export function readOperationAnswer<N extends OperationName>(
  operation: N,
  status: number,
  bodyText: string,
): AnswerReading<AnswerOf<N>> {
  if (status < 200 || (status >= 300 && status < 400) || status >= 500 || status === 408 || status === 425) {
    return operation === 'inclusion'
      ? includedBeside(status, bodyText)
      : { kind: 'unknown', reason: `status-${status}` };
  }
  const isEmpty = bodyText.trim() === '';
  const parsed = isEmpty ? null : parseJson(bodyText);
  const value = parsed?.kind === 'parsed' ? parsed.value : null;
  const errors = value === null ? [] : errorsOf(value);
  const isRefused = status >= 400 || errors.length > 0;
  if (isRefused && !operations[operation].reads) {
    const done = doneBeside(operation, value);
    if (done !== null) return done;
    // A conflict says that there is something already, unless an error says more.
    if (status === 409 && errors.length === 0) return { kind: 'unknown', reason: 'status-409' };
  }
  if (status >= 400) return { kind: 'rejected', code: errors[0]?.code ?? `status-${status}`, errors };
  if (errors.length > 0) return { kind: 'rejected', code: errors[0]?.code ?? 'unclassified', errors };
  if (operation === 'endorsement' && readEndorsement(value) === null) return unshown(value);
  if (!isJsonObject(value) || reportsError(value) === null) return { kind: 'unknown', reason: 'unreadable-success' };
  const answer = operations[operation].read(value);
  // An inclusion that does not say whether it failed may be either, as with the operations on it; its code stands in the answer.
  const isUnsaid = operation === 'inclusion' && (answer as InclusionAnswer | null)?.hasError === null;
  if (isUnsaid) return { ...refusedWith(codesWithin(value, 'CodigoProposta'))!, reason: 'incomplete-success' };
  return answer === null ? { kind: 'unknown', reason: 'incomplete-success' } : { kind: 'accepted', answer };
}

/** A status that says nothing: an inclusion may have been refused in its body all the same, and a proposal may be named there. */
function includedBeside(status: number, bodyText: string): Doubt {
  const parsed = parseJson(bodyText);
  const value = parsed.kind === 'parsed' && isJsonObject(parsed.value) ? parsed.value : null;
  const named = value === null ? null : doneBeside('inclusion', value);
  if (named === null) return { kind: 'unknown', reason: `status-${status}` };
  return errorsOf(value!).length > 0 ? named : { ...named, reason: `status-${status}` };
}

/** It names the code that its events come under, where there is one. */
function unshown(value: JsonValue): Doubt {
  const codes = isJsonObject(value) ? codesWithin(value, 'CodigoRequisicao') : [];
  return { ...(refusedWith(codes) ?? { kind: 'unknown' }), reason: unshownSuccess };
}

/** A refusal of any status, 401 and 429 too, that says all the same that the operation was done; null: it is none, or does not. */
export function doneDespiteRefusal(operation: OperationName, status: number, bodyText: string): Doubt | null {
  if (status < 400 || status >= 500 || operations[operation].reads) return null;
  const parsed = parseJson(bodyText);
  return parsed.kind === 'parsed' ? doneBeside(operation, parsed.value) : null;
}

type Doubt = Extract<AnswerReading<never>, { kind: 'unknown' }>;

/**
 * The code of something that was done stands beside the refusal, or the body is that of a success. What stands where the code does
 * and is none that can be read says as much.
 */
function doneBeside(operation: OperationName, value: JsonValue): Doubt | null {
  if (!isJsonObject(value)) return null;
  switch (operation) {
    case 'contract':
    case 'renegotiation':
    case 'endorsement':
      return refusedWith(codesWithin(value, 'CodigoRequisicao'));
    case 'inclusion':
      return refusedWith(codesWithin(value, 'CodigoProposta'));
    case 'splits':
    case 'signers':
    case 'finalisation':
    case 'account-update': {
      const answer = readProposalAnswer(value);
      const isBare = answer !== null && (answer.text ?? '') === '' && (answer.messages ?? []).length === 0;
      return isBare ? { kind: 'unknown', reason: 'refused-as-done' } : null;
    }
    default:
      return null;
  }
}

function refusedWith(codes: readonly JsonValue[]): Doubt | null {
  if (codes.length === 0) return null;
  const readings = codes.map(readCode);
  const known = readings.find((reading) => reading.kind === 'value');
  return { kind: 'unknown', reason: refusedWithCode, ...(known === undefined ? {} : { code: known.value }) };
}

/**
 * What stands under the name of the code, in the answer itself and in the objects that the contract wraps contents in. What was not
 * made may have the default value of its code there, which names nothing.
 */
function codesWithin(value: JsonObject, name: string): readonly JsonValue[] {
  const inner = ['Conteudo', 'Payload'].map((each) => fieldOf(value, each));
  return [value, ...inner.filter((each) => isJsonObject(each))].flatMap((each) => {
    const code = fieldOf(each, name);
    return code === undefined || namesNothing(code) ? [] : [code];
  });
}

/** What became of one operation. */
export type OperationResult<A> =
  | ({ kind: 'accepted'; answer: A } & Heard)
  | ({ kind: 'rejected'; code: string; errors: readonly ServiceError[] } & Heard)
  /** Bytes were written and no answer that can be relied on came. Where there is no key it is never sent again. */
  | {
      kind: 'unknown';
      reason: string;
      code?: string;
      response: RawAnswer | null;
      firstByteAt: number;
      attempts: number;
    }
  /**
   * Not done: nothing was written, or it was turned away with 401 or 429. `attempts`: how often it was written and turned away;
   * absent: nothing was written.
   */
  | {
      kind: 'not-sent';
      attempts?: number;
      reason: 'deadline' | 'stopped' | 'unreachable' | 'unauthorised' | 'throttled' | 'no-address' | 'busy';
      retryAt: number | null;
    };

type RawAnswer = { status: number; body: string };
type Heard = { response: RawAnswer; firstByteAt: number; attempts: number };
