/** How an answer changes a flow: accepted > rejected > unknown, whoever asked and however often. */

import { isDeepStrictEqual } from 'node:util';
import type { FlowAnswered, FlowBreach, FlowRetryTerms, LoanFigure, ProposalSaid } from '../domain/flow-records.ts';
import type { FlowOperationState, FlowState, SealedWords } from '../domain/flow-states.ts';
import { isSameCode } from '../domain/request-codes.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { refusedWithCode, unshownSuccess } from '../wire/operations.ts';
import { proposalDifferences, unsaidIn } from './differences.ts';
import {
  codeOf,
  generated,
  isWithdrawn,
  markStep,
  move,
  stray,
  takeCounted,
  undoWithdrawal,
  withoutSignature,
} from './fold-steps.ts';
import { takeLateAnswer } from './late-successes.ts';
import {
  alreadyEndorsed,
  alreadyFinalised,
  isAside,
  readsOnly,
  saidToExist,
  toldBoth,
  toldNoOfContract,
} from './transitions.ts';

/** How often the bytes of an operation are known to have been written. */
export function attemptsOf({ attempts, unknowns }: FlowOperationState): number {
  return attempts ?? unknowns;
}

export function takeAnswer(before: FlowState, record: FlowAnswered, earlier: FlowRetryTerms): FlowState {
  const { result } = record;
  const known = counted(before, record);
  const isOfWithdrawn = isWithdrawn(known) && known.operation?.intent?.intentId === record.intentId;
  if (isOfWithdrawn && !mayBeDone(known.operation!, record)) return stray(known);
  const state = isOfWithdrawn ? undoWithdrawal(known) : known;
  if (state.includedBy === record.intentId) return withOtherProposal(stray(state), proposalIn(record));
  const { operation } = state;
  if (operation?.intent?.intentId !== record.intentId) {
    return isNewAcceptance(record) ? takeLateAnswer(state, record.at, record.intentId, codeIn(record)) : stray(state);
  }
  const retry = operation.intent.retry ?? earlier;
  // Somebody looks before it is sent once more: of what was cancelled nobody wants it done.
  const neverAgain = { ...retry, keyedAttempts: 0 };
  if (isAside(state)) return takeAside(state, operation, record);
  // Turned away, and something was told since then that may be its own.
  const isDoubted = isTurnedAway(operation) && result.kind === 'unknown';
  const waits = operation.status === 'intended' || operation.status === 'unclear' || isDoubted;
  // Somebody said that it was not done, and it is not sent once more yet.
  const isDenied = operation.status === 'not-sent' && isNewAcceptance(record);
  const isTakenAfterAll = result.kind === 'accepted' && operation.status === 'rejected';
  if (!waits && !isTakenAfterAll && !isDenied) return stray(state);
  if (isDenied && state.flow === 'withdrawal' && state.phase === 'cancelled') {
    return takeLateAnswer(state, record.at, record.intentId, codeIn(record));
  }
  switch (result.kind) {
    case 'accepted':
      return accept(state, operation, record);
    case 'rejected': {
      const kept = withRefusal(state, operation, record);
      if (operation.toldDone) return withBothTold(kept, operation, record);
      if (result.saysExists && !provesNothing(operation, record)) {
        return doubtExistence(kept, operation, record, neverAgain);
      }
      if (!provesNothing(operation, record)) return { ...reject(kept, operation, result), errorsIn: answerOf(record) };
      const reason = `rejected after an attempt that may have been taken: ${result.code}`;
      const answered = result.code === alreadyEndorsed ? { ...operation, wasShown: true as const } : operation;
      return doubt(kept, answered, record, reason, isOfWithdrawn ? neverAgain : retry);
    }
    case 'unknown': {
      const terms = result.isFinal || isOfWithdrawn ? neverAgain : retry;
      const isToRead = result.reason === refusedWithCode || result.reason === unshownSuccess;
      const withNames = withNamedProposal(operation, result.proposalCode);
      const known = result.saysDone ? { ...withNames, toldDone: true } : withNames;
      const kept = { ...(isToRead ? withRefusal(state, operation, record) : state), operation: known };
      const doubtful = doubt(kept, known, record, result.reason, terms);
      // What is told under the code that was named says what became of it.
      const isNamed = result.requestCode !== undefined && doubtful.operation?.status === 'unclear';
      return isNamed ? named(doubtful, result.requestCode!) : doubtful;
    }
    case 'not-sent': {
      if (operation.status === 'unclear') return stray(state);
      if (isOfWithdrawn) return doubt(state, operation, record, result.reason, neverAgain);
      const turned = turnedAway(operation, record);
      if (isTurnedAwayForGood(turned, record, retry)) {
        return doubt(state, turned, record, 'turned-away', neverAgain);
      }
      const retryAt = retryTimeOf(turned, record, retry);
      const waiting = { ...state, operation: { ...withUnheard(turned, record), retryAt, reason: result.reason } };
      // With a key the same bytes are sent again; without one it is prepared anew, for a process that dies now knows nothing.
      if (operation.intent.idempotencyKey !== null) return waiting;
      return move({ ...waiting, operation: { ...waiting.operation, status: 'not-sent' } }, 'not-sent') ?? stray(state);
    }
    default:
      return result satisfies never;
  }
}

/** Somebody looks what is there; the words of the service stand beside it. Asked again with the same key it would be answered the same. */
function doubtExistence(
  state: FlowState,
  operation: FlowOperationState,
  record: FlowAnswered,
  neverAgain: FlowRetryTerms,
): FlowState {
  const { result } = record;
  if (result.kind !== 'rejected') return state;
  const errors = result.errors.length > 0 ? result.errors : [result.code];
  const told = { ...state, errors, errorsIn: answerOf(record) };
  if (operation.status === 'unclear') return { ...told, operation: { ...operation, reason: saidToExist } };
  return doubt(told, operation, record, saidToExist, neverAgain);
}

/** An endorsement was said to be done while it was sent, and its answer refuses it: somebody has to look. */
function withBothTold(state: FlowState, operation: FlowOperationState, record: FlowAnswered): FlowState {
  if (operation.status === 'unclear') return stray(state);
  const told = { wasShown: true as const, status: 'unclear' as const, retryAt: null, reason: toldBoth };
  const known = { ...state, operation: { ...operation, ...told }, errors: [toldBoth], errorsIn: answerOf(record) };
  const marked = markStep(known, operation.stepId, 'unclear');
  return move(marked, 'told-denied') ?? marked;
}

/** Of earlier versions it changes nothing. */
function isNewAcceptance({ result, operation }: FlowAnswered): boolean {
  return result.kind === 'accepted' && operation !== undefined;
}

function codeIn({ result }: FlowAnswered): string | null {
  return result.kind === 'accepted' ? (result.proposalCode ?? result.requestCode) : null;
}

function proposalIn({ result }: FlowAnswered): string | null {
  return result.kind === 'accepted' || result.kind === 'unknown' ? (result.proposalCode ?? null) : null;
}

function withNamedProposal(operation: FlowOperationState, code: string | undefined): FlowOperationState {
  const { namedProposals = [] } = operation;
  if (code === undefined || namedProposals.some((known) => isSameCode(known, code))) return operation;
  return { ...operation, namedProposals: [...namedProposals, code] };
}

/** Another proposal than the one that counts was named for the same inclusion: both may stand, so somebody has to say which one holds. */
function withOtherProposal(state: FlowState, code: string | null): FlowState {
  const { otherProposals: known = [] } = state;
  if (code === null || isSameCode(code, state.proposalCode ?? '')) return state;
  if (known.some((other) => isSameCode(other.code, code))) return state;
  return { ...state, otherProposals: [...known, { code }], noteAccepted: null };
}

/** How often one without a key is sent that the service turns away, before somebody has to look. */
const mostTurnedAway = 3;

/** With a key as often as it may be written; nobody knows how often it was, where nothing was. */
function isTurnedAwayForGood(
  operation: FlowOperationState,
  { attempts = 0 }: FlowAnswered,
  { keyedAttempts }: FlowRetryTerms,
): boolean {
  if (operation.intent!.idempotencyKey !== null) return attempts > 0 && attemptsOf(operation) >= keyedAttempts;
  return operation.turnedAwayAt !== undefined && attemptsOf(operation) >= mostTurnedAway;
}

/** What the service asks for is heeded up to the longest pause: a flow stands still no longer than is set here. */
function retryTimeOf(
  operation: FlowOperationState,
  { at, result, attempts = 0 }: FlowAnswered,
  { retryMs, retryMaxMs }: FlowRetryTerms,
): number {
  const asked = result.kind === 'not-sent' ? (result.retryAt ?? 0) : 0;
  const longestMs = Math.max(retryMs, retryMaxMs);
  const isWritten = operation.intent!.idempotencyKey !== null && attempts > 0;
  const pauseMs = isWritten ? Math.min(longestMs, retryMs * 2 ** (attemptsOf(operation) - 1)) : retryMs;
  return Math.min(Math.max(asked, at + pauseMs), at + longestMs);
}

/** Without a key and with a byte written: the service said that it did nothing, and may have. */
function turnedAway(operation: FlowOperationState, { attempts = 0 }: FlowAnswered): FlowOperationState {
  const intent = operation.intent!;
  if (intent.idempotencyKey !== null || attempts === 0) return operation;
  return { ...operation, turnedAwayAt: operation.turnedAwayAt ?? intent.at };
}

/** That this attempt was turned away says nothing of one whose process died before it heard. */
function withUnheard(
  operation: FlowOperationState,
  { earlierAttemptPossible, othersMayHaveSent = earlierAttemptPossible }: FlowAnswered,
): FlowOperationState {
  const isKeyed = operation.intent!.idempotencyKey !== null;
  const isPossible = isKeyed && othersMayHaveSent && !readsOnly(operation.operation);
  return isPossible ? { ...operation, mayBeDone: true } : operation;
}

/** It would be prepared and sent once more by itself. */
export function isTurnedAway({ status, turnedAwayAt }: FlowOperationState): boolean {
  return status === 'not-sent' && turnedAwayAt !== undefined;
}

function named(state: FlowState, requestCode: string): FlowState {
  const known = codeOf(state, requestCode);
  const isEndorsement = state.operation?.operation === 'endorsement';
  return isEndorsement ? { ...state, codes: known.codes, endorsementCode: requestCode } : { ...state, ...known };
}

/** The flow stands where it stood, and the query can be asked for again. */
function takeAside(state: FlowState, operation: FlowOperationState, record: FlowAnswered): FlowState {
  if (operation.status !== 'intended') return stray(state);
  const { result } = record;
  const end = (status: 'done' | 'rejected', reason: string | null) =>
    markStep({ ...state, operation: { ...operation, status, reason, retryAt: null } }, operation.stepId, status);
  switch (result.kind) {
    case 'accepted': {
      const kept = { at: record.at, sealedAnswer: record.sealedAnswer };
      return { ...end('done', null), results: { ...state.results, [operation.operation]: kept } };
    }
    case 'rejected':
      return withRefusal({ ...end('rejected', result.code), ...breachesIn(result) }, operation, record);
    case 'unknown':
    case 'not-sent':
      return end('rejected', result.reason);
    default:
      return result satisfies never;
  }
}

function counted(state: FlowState, { intentId, attempts }: FlowAnswered): FlowState {
  const { operation } = state;
  if (operation?.intent?.intentId !== intentId || attempts === undefined) return state;
  // Without a key its bytes are written once, however often that is told.
  const isTold = operation.intent.idempotencyKey === null && operation.status === 'not-sent';
  if (isTold) return state;
  return { ...state, operation: { ...operation, attempts: attemptsOf(operation) + attempts } };
}

/** A rejection says that this attempt was not taken; an earlier one, whose answer was lost, may have been. */
function provesNothing(operation: FlowOperationState, record: FlowAnswered): boolean {
  if (readsOnly(operation.operation)) return false;
  if (operation.intent!.idempotencyKey === null) return record.instance !== operation.intent!.instance;
  return record.earlierAttemptPossible || operation.unknowns > 0;
}

/** Whether an answer that comes after its flow was cancelled leaves open that it was done. What only asks has changed nothing. */
function mayBeDone(operation: FlowOperationState, record: FlowAnswered): boolean {
  if (readsOnly(operation.operation)) return false;
  const { result } = record;
  if (result.kind === 'rejected') return result.saysExists === true || provesNothing(operation, record);
  return result.kind !== 'not-sent' || record.othersMayHaveSent === true;
}

function accept(state: FlowState, operation: FlowOperationState, record: FlowAnswered): FlowState {
  const { result } = record;
  if (result.kind !== 'accepted') return state;
  const told = result.saysDone ? { toldDone: true } : {};
  const done = {
    ...state,
    errors: [],
    operation: { ...operation, ...told, status: 'done' as const, retryAt: null, reason: null },
  };
  const kept = { at: record.at, sealedAnswer: record.sealedAnswer };
  // It was denied already, and is no more than sent.
  if (operation.status === 'unclear' && (operation.reason === toldNoOfContract || operation.reason === toldBoth)) {
    const shown = { ...operation, ...told, wasShown: true as const };
    const known = { ...state, operation: shown, results: { ...state.results, [operation.operation]: kept } };
    return result.requestCode === null ? known : named(known, result.requestCode);
  }
  const marked = markStep(done, operation.stepId, 'done');
  const ofInclusion = operation.operation === 'inclusion' && operation.sealedRequest !== null;
  const whole = ofInclusion ? { ...kept, sealedRequest: operation.sealedRequest } : kept;
  const answered = { ...marked, results: { ...state.results, [operation.operation]: whole } };
  if (state.flow === 'withdrawal') {
    const moved = takeCounted(move(answered, operation.operation) ?? answered, operation);
    const taken = {
      ...(result.said === undefined ? moved : takeSaid(moved, result.said)),
      situation: result.situation ?? state.situation,
    };
    if (operation.operation !== 'inclusion') return taken;
    const included = { ...taken, proposalCode: result.proposalCode, includedBy: record.intentId };
    return (operation.namedProposals ?? []).reduce(withOtherProposal, included);
  }
  const moved = isStillWanted(state, operation, record) ? move(answered, 'accepted') : null;
  if (moved === null) {
    return isNewAcceptance(record) ? takeLateAnswer(state, record.at, record.intentId, codeIn(record)) : stray(state);
  }
  if (operation.operation === 'endorsement') {
    const { requestCode } = result;
    const codes = requestCode === null ? state.codes : [...new Set([...state.codes, requestCode])];
    const endorsed = { ...moved, endorsementCode: requestCode, codes };
    return isNewAcceptance(record) ? withoutSignature(endorsed) : endorsed;
  }
  return { ...generated(moved, record.firstByteAt ?? operation.intent!.at), ...codeOf(moved, result.requestCode) };
}

/**
 * What is about to be prepared, or sent, is done already. Of earlier versions that changes nothing; an endorsement says nothing of a
 * contract that is prepared, and a generation nothing of one that was amended since.
 */
function isStillWanted(
  { phase, begun }: FlowState,
  { operation, slot }: FlowOperationState,
  record: FlowAnswered,
): boolean {
  if (phase === 'signed') return operation === 'endorsement' && isNewAcceptance(record);
  if (phase !== 'preparing') return true;
  return operation !== 'endorsement' && isNewAcceptance(record) && slot === `${operation}#${begun}`;
}

/** What somebody has taken stays taken, until something else is said. */
function takeSaid(state: FlowState, said: ProposalSaid): FlowState {
  const { ending } = said;
  const differences = proposalDifferences(state, said);
  const next = {
    ...state,
    saidFigures: { ...state.saidFigures, ...said.figures },
    unusableFigures: unusableFigures(state, said),
  };
  const isSame = ending === (state.ending ?? null) && isDeepStrictEqual(differences, state.differences);
  // What it leaves out once it was taken stays taken.
  if (isSame && isDeepStrictEqual(unsaidIn(next), unsaidIn(state))) return next;
  if (isSame && state.noteAccepted && unsaidIn(next).length === 0) return next;
  return { ...next, differences, ending, noteAccepted: null };
}

/** What was never said may be empty, and what is left out stands as it was said. */
function unusableFigures(
  { saidFigures = {}, unusableFigures: before = [] }: Pick<FlowState, 'saidFigures' | 'unusableFigures'>,
  { figures, unread = [], empty = [] }: ProposalSaid,
): readonly LoanFigure[] {
  const lost = empty.filter((field) => saidFigures[field] !== undefined);
  const still = before.filter((field) => figures[field] === undefined);
  return [...new Set([...unread, ...lost, ...still])].toSorted();
}

/** A refusal is looked for where answers are; what an earlier attempt brought stays in the history. */
function withRefusal(state: FlowState, { operation }: FlowOperationState, record: FlowAnswered): FlowState {
  const { at, sealedAnswer } = record;
  if (sealedAnswer === null) return state;
  return { ...state, results: { ...state.results, [operation]: { at, sealedAnswer, refused: true } } };
}

/** Codes of our own for answers that cannot be of what was asked. */
export type Contradiction =
  | 'proposal-of-flow'
  | 'simulation-readable'
  | 'simulation-of-worker'
  | 'simulation-within-balance';

const contradictions: Readonly<Record<Contradiction, Omit<FlowBreach, 'rule'>>> = {
  'proposal-of-flow': {
    field: 'step',
    problem:
      'the service answered with another proposal than it was asked for, or named none, so nothing of it counts (namedProposal says which): find out from the service why, and ask again; where it knows the proposal of a withdrawal by that code alone, begin a withdrawal with that code as proposalCode',
  },
  'simulation-readable': {
    field: 'step',
    problem:
      'the service answered in a way that cannot be read what may be withdrawn, whose balance it is or which periods failed, so nothing was simulated: find out from the service why, and simulate again',
  },
  'simulation-of-worker': {
    field: 'step',
    problem:
      'the service answered with the balance of another worker, so nothing was simulated: find out from the service why, and simulate again',
  },
  'simulation-within-balance': {
    field: 'step',
    problem:
      'the service answered with a loan above what it says may be withdrawn, so nothing was simulated: find out from the service why, and simulate again',
  },
};

/** Of a rejection of ours; the service gives errors, or its status, with each of its own. */
function breachesIn({ code, errors }: { code: string; errors: readonly string[] }): Pick<FlowState, 'breaches'> | null {
  const known = errors.length === 0 && Object.hasOwn(contradictions, code);
  return known ? { breaches: [{ rule: code, ...contradictions[code as Contradiction] }] } : null;
}

function answerOf({ flowId, sealedAnswer }: FlowAnswered): SealedWords | null {
  return sealedAnswer === null ? null : { place: sealedPlaces.flowAnswer(flowId), sealed: sealedAnswer };
}

function reject(
  state: FlowState,
  operation: FlowOperationState,
  { code, errors }: { code: string; errors: readonly string[] },
): FlowState {
  const rejected: FlowState = {
    ...state,
    errors: errors.length > 0 ? errors : [code],
    ...breachesIn({ code, errors }),
    operation: { ...operation, status: 'rejected', reason: code, retryAt: null },
  };
  const marked = markStep(rejected, operation.stepId, 'rejected');
  const isDoneAlready = operation.operation === 'finalisation' && code === alreadyFinalised;
  if (state.flow === 'withdrawal') return isDoneAlready ? { ...marked, saidFinalised: true } : marked;
  return move(marked, 'rejected') ?? stray(state);
}

/** Asked for again with the same key, some times; without a key never. */
function doubt(
  state: FlowState,
  operation: FlowOperationState,
  { at, operation: named }: FlowAnswered,
  reason: string,
  { keyedAttempts, retryMs, retryMaxMs }: FlowRetryTerms,
): FlowState {
  if (operation.status === 'unclear') return stray(state);
  const unknowns = operation.unknowns + 1;
  if (operation.intent!.idempotencyKey !== null && Math.max(unknowns, attemptsOf(operation)) < keyedAttempts) {
    const retryAt = at + Math.min(retryMaxMs, retryMs * 2 ** (unknowns - 1));
    return { ...state, operation: { ...operation, unknowns, retryAt, reason } };
  }
  const unclear = {
    ...state,
    operation: { ...operation, status: 'unclear' as const, unknowns, retryAt: null, reason },
  };
  const marked = markStep(unclear, operation.stepId, 'unclear');
  if (state.flow === 'withdrawal') return marked;
  // Where its phase has gone on, somebody looks all the same; earlier versions, which named no operation, wrote it again and again.
  return move(marked, 'unclear') ?? (named === undefined ? stray(state) : marked);
}
