/** What a person may ask of a flow in its phase. Pure; held to by the fold. Whether it would be taken, see `nextSteps`. */
import type { FlowSettings } from '../config/sections.ts';
import {
  type FlowAsked,
  type FlowOperation,
  type FlowRetryTerms,
  type FlowStep,
  flowSteps,
} from '../domain/flow-records.ts';
import type { FlowState, LateSuccess } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { unshownSuccess } from '../wire/operations.ts';
import { marksOf, unsaidIn } from './differences.ts';
import { denialOf, isHeldByDenial, lateSuccessOf, maySettle } from './late-successes.ts';
import { unreadMark } from './notes.ts';
import {
  alreadyEndorsed,
  deniedByPerson,
  isOperation,
  readsOnly,
  saidToExist,
  toldBoth,
  toldNo,
  toldNoOfContract,
  toldNothing,
  transitions,
} from './transitions.ts';

/** Asked for without any field they do what is mostly meant. */
export const fieldless: ReadonlySet<FlowStep> = new Set(['simulation', 'proposal', 'installments', 'finalisation']);

/** The person who ordered a flow or asked for its latest step; null for an event. */
export function askedLast({
  by,
  startedAt,
  orderedAt = startedAt,
  steps,
}: Pick<FlowState, 'by' | 'startedAt' | 'orderedAt' | 'steps'>): AskedLast | null {
  const order: AskedLast | null = by === null ? null : { by, at: orderedAt, step: null };
  return steps.reduce<AskedLast | null>(
    (last, { by, at, step }) => (last === null || at >= last.at ? { by, at, step } : last),
    order,
  );
}

/** `step` null: the order. */
export type AskedLast = { by: string; at: EpochMs; step: FlowStep | null };

/** An operation is under way: nothing else may be begun before it has ended. */
export function isBusy(state: FlowState): boolean {
  const status = state.operation?.status;
  return status === 'asked' || status === 'intended' || status === 'unclear';
}

/** Not to be sent again before. Earlier versions waited as long as the service asked for. */
export function dueAgainAt(
  { operation, changedAt }: Pick<FlowState, 'operation' | 'changedAt'>,
  { retryMs, retryMaxMs }: Pick<FlowRetryTerms, 'retryMs' | 'retryMaxMs'>,
): EpochMs {
  return Math.min(operation?.retryAt ?? 0, changedAt + Math.max(retryMs, retryMaxMs));
}

/**
 * With a key, and turned away by all that is known to have been sent: as long as it waits to be sent again nothing was done, as the
 * service says. Once it is due it may be on its way, and whoever sends it may die before an answer is written down.
 */
function isHeldUp(state: FlowState, at: EpochMs): boolean {
  const { flow, operation } = state;
  const retry = operation?.intent?.retry;
  if (flow !== 'withdrawal' || operation?.status !== 'intended' || retry === undefined) return false;
  if (operation.unknowns > 0 || operation.mayBeDone || operation.reason === null) return false;
  return at < dueAgainAt(state, retry);
}

/** The endorsement was refused and may be done all the same: an earlier one was denied by a person, its answer was unclear, or the service says so. */
function mayBeEndorsed(state: FlowState): boolean {
  const { phase, operation, generatedAt, steps } = state;
  if (isContradicted(state)) return true;
  if (phase !== 'endorsement-refused' || operation?.operation !== 'endorsement') return false;
  // What was denied before this contract was generated was its generation.
  const isDenied = ({ step, outcome, at }: FlowState['steps'][number]) =>
    step === 'deny' && outcome === 'done' && at >= (generatedAt ?? 0);
  return steps.some(isDenied) || operation.reason === alreadyEndorsed || operation.wasUnclear === true;
}

/** The service, or a person, has said that the endorsement was done, and not only that it was received. */
export function isToldDone(state: FlowState): boolean {
  const { phase, operation, endorsementEvents = [] } = state;
  if (operation?.operation !== 'endorsement') return false;
  if (operation.toldDone !== undefined) return operation.toldDone;
  // An earlier version folded it: an event or a person made it so. Of one that was refused nobody knows what was told before.
  return phase === 'endorsed' && (endorsementEvents.length > 0 || isConfirmedSince(state));
}

/** A person has said what became of the operation. */
function isConfirmedSince({ operation, steps }: FlowState): boolean {
  const sentAt = operation?.intent?.at ?? 0;
  return steps.some(({ step, outcome, at }) => step === 'confirm' && outcome === 'done' && at >= sentAt);
}

/** It is endorsed, and more than a receipt has shown that: before, no money is released on it. */
export function isShownEndorsed(state: FlowState): boolean {
  const { phase, operation, steps } = state;
  if (phase !== 'endorsed' || !isToldDone(state)) return false;
  // Of an earlier version an event may be that of an endorsement before this one.
  const isOnly = steps.filter(({ step }) => step === 'sign').length <= 1;
  return operation?.toldDone === true || isOnly || isConfirmedSince(state);
}

/** An earlier version took a no after a success that was shown for a refusal. */
export function isContradicted(state: FlowState): boolean {
  const { phase, operation } = state;
  return phase === 'endorsement-refused' && operation?.reason !== deniedByPerson && isToldDone(state);
}

/** Nothing settles it but a person who knows: one who has seen that it is endorsed, or two who know that it is not. Of one that is unclear any denial is taken. */
export function mayDenyContradicted(state: FlowState): boolean {
  const { operation } = state;
  return isContradicted(state) && operation?.intent != null && operation.status !== 'unclear';
}

/** A person gave the code of its contract or proposal and may have taken another one's; nothing was signed of it. */
export function mayCorrect(state: FlowState): boolean {
  const { flow, phase, operation, generatedAt, steps } = state;
  if (flow === 'withdrawal') return isProposalConfirmed(state) && !isBusy(state) && !isAnswered(state);
  if (phase === 'refused') return isFailedUnderConfirmed(state);
  const isStill = phase === 'awaiting-note' || (phase === 'awaiting-signature' && flow === 'contract');
  const isBegun = operation?.status === 'asked' || operation?.status === 'intended' || operation?.status === 'unclear';
  // What was confirmed before this contract was generated was another one.
  const isConfirmed = ({ step, outcome, at }: FlowState['steps'][number]) =>
    step === 'confirm' && outcome === 'done' && at >= (generatedAt ?? 0);
  return isStill && !isBegun && steps.some(isConfirmed);
}

/** The code that was told to have failed is a person's word: what is generated after it is another contract. */
function isFailedUnderConfirmed(state: FlowState): boolean {
  const { requestCode, confirmedCode, note } = state;
  return requestCode !== null && requestCode === confirmedCode && note === null && !isBusy(state);
}

/** The code of its proposal is a person's word, not the service's. */
export function isProposalConfirmed({ flow, phase, results, steps }: FlowState): boolean {
  if (flow !== 'withdrawal' || phase !== 'included') return false;
  if (results.inclusion !== undefined && results.inclusion.refused !== true) return false;
  const done = steps.filter(({ outcome }) => outcome === 'done').map(({ step }) => step);
  return done.includes('inclusion') && done.includes('confirm', done.indexOf('inclusion'));
}

/** The service has answered under the code of the proposal, so it knows one. Of old queries the steps are forgotten, not the results. */
function isAnswered({ results, steps }: FlowState): boolean {
  return proposalOperations.some((operation) => {
    const isDone = steps.some(({ step, outcome }) => step === operation && outcome === 'done');
    return isDone || (results[operation] !== undefined && results[operation].refused !== true);
  });
}

const proposalOperations = [
  'proposal',
  'installments',
  'splits',
  'signers',
  'finalisation',
  'account-update',
] as const satisfies readonly FlowOperation[];

/** The contract counts as endorsed, and a person may learn that it is not. */
export function mayTakeBack({ phase, operation }: FlowState): boolean {
  return phase === 'endorsed' && operation?.operation === 'endorsement' && operation.status !== 'unclear';
}

/** The service has said that the endorsement was done, or a person: one person's word does not undo it. */
export function isShownDone(state: FlowState): boolean {
  return isMarkedShown(state) || (state.operation?.status === 'unclear' && isToldDone(state));
}

/** As of the marks that earlier versions knew too. */
export function isMarkedShown(state: FlowState): boolean {
  const { operation } = state;
  if (mayTakeBack(state)) return true;
  return operation?.operation === 'endorsement' && operation.status === 'unclear' && operation.wasShown === true;
}

const saysNo: ReadonlySet<string> = new Set([
  saidToExist,
  unshownSuccess,
  toldBoth,
  toldNo,
  toldNoOfContract,
  toldNothing,
]);

/** The service said no to an endorsement, in whatever form: the same signature is not sent to it once more by itself. */
export function isToldNo({ phase, operation }: FlowState): boolean {
  const reason = operation?.reason ?? null;
  return phase === 'endorsement-unclear' && reason !== null && saysNo.has(reason);
}

/** The contract that is told late is endorsed, says who has looked: nothing of another one is under way. */
export function mayTakeOver(state: FlowState): boolean {
  const { phase } = state;
  return lateSuccessOf(state)?.operation === 'endorsement' && phase !== 'endorsed' && !isBusy(state);
}

/** Earlier versions took it of anybody, and wrote not how they knew who it was. They had no mark of a denial, but one of what was told since. */
function isOfEarlierVersion({ denied }: LateSuccess, { via }: Pick<FlowAsked, 'via'>): boolean {
  return via === undefined && (denied === undefined || denied.isTold === true);
}

/** What a step that is written means stands in its record: since it was asked for the flow may have gone on. */
export function allowsRecord(
  state: FlowState,
  record: Pick<
    FlowAsked,
    'step' | 'at' | 'by' | 'via' | 'corrects' | 'lateIntentId' | 'accepts' | 'ofAwaited' | 'ofContradicted'
  >,
): boolean {
  const { step, at, corrects, lateIntentId, ofAwaited, ofContradicted } = record;
  if (state.frozen !== undefined) return false;
  if (step === 'deny' && mayDenyAwaited(state)) return ofAwaited === true;
  if (step === 'deny' && mayDenyContradicted(state)) return ofContradicted === true;
  if (ofAwaited || ofContradicted) return false;
  if (lateIntentId !== undefined) {
    const late = state.lateSuccesses?.find(({ intentId }) => intentId === lateIntentId);
    if (late === undefined) return false;
    if (step === 'accept') return isOfEarlierVersion(late, record) || maySettle(late, record, state);
    // Earlier versions took over the oldest one.
    const isNext = late === lateSuccessOf(state) || late === state.lateSuccesses?.[0];
    return isNext && late.operation === 'endorsement' && mayTakeOver(state);
  }
  if (step === 'confirm') return corrects ? mayCorrect(state) : mayConfirm(state);
  return step === 'accept' ? mayAccept(state) && isNamedFor(state, record) : allowsStep(state, step, at);
}

/** A note that came late is taken by no step that does not name it: whoever asked may not have seen it. */
function isNamedFor({ lateNote }: FlowState, { accepts }: Pick<FlowAsked, 'accepts'>): boolean {
  if (accepts === undefined) return true;
  return lateNote == null ? accepts.includes('figures') : accepts.includes('late');
}

/** The service refused the finalisation as done already, and nothing else is under way: a person who has seen that it is confirms it. */
export function isSaidFinalised(state: FlowState): boolean {
  return state.saidFinalised === true && state.phase === 'signed' && !isBusy(state);
}

/** What was unclear or refused was done. */
function mayConfirm(state: FlowState): boolean {
  return state.operation?.status === 'unclear' || mayBeEndorsed(state) || isSaidFinalised(state);
}

/** To the last cent, and nothing is doubtful about its note or proposal. */
export function isAsOrdered(state: FlowState): boolean {
  return [state.differences, unsaidIn(state), marksOf(state)].every(({ length }) => length === 0);
}

/** The note, or what is said of the proposal, as it is. */
function mayAccept(state: FlowState): boolean {
  if (isAsOrdered(state) || state.noteAccepted) return false;
  if (state.phase === 'cancelled' && state.lateNote == null) return false;
  return transitions[state.flow][state.phase]?.accept !== undefined;
}

/** `at`: when it is asked for; by default right after the flow's last record. */
export function allowsStep(state: FlowState, step: FlowStep, at: EpochMs = state.changedAt): boolean {
  if (state.frozen !== undefined || isHeldByDenial(state, step)) return false;
  if (step === 'confirm') return mayConfirm(state) || mayCorrect(state) || mayTakeOver(state);
  if (step === 'accept') return mayAccept(state) || lateSuccessOf(state) !== null;
  if (step === 'deny' && (mayTakeBack(state) || mayDenyAwaited(state) || mayDenyContradicted(state))) return true;
  if (step === 'deny') return state.operation?.status === 'unclear';
  const row = transitions[state.flow][state.phase] ?? {};
  if (step === 'cancel' && state.phase === 'included') return mayGiveUp(state);
  if (step === 'cancel' && isHeldUp(state, at)) return row.cancel !== undefined;
  return (
    row[step] !== undefined &&
    !((isOperation(step) || step === 'cancel' || step === 'amend' || step === 'regenerate') && isBusy(state))
  );
}

/** Steps that would lead to a second loan where the first one is endorsed. */
const lendingAgain: ReadonlySet<FlowStep> = new Set(['sign', 'regenerate', 'cancel']);

/** The service says that its contract is endorsed already, or has shown it, and the step would make another one. Asked where a step is written: the fold takes those of earlier versions. */
export function lendsAgain(state: FlowState, step: FlowStep): boolean {
  const { phase, operation } = state;
  const isEndorsed = phase === 'endorsement-refused' && operation?.reason === alreadyEndorsed;
  return (isEndorsed || isContradicted(state)) && lendingAgain.has(step);
}

/** A note that has not come by then is late. */
export function noteLateAt(
  { generatedAt, changedAt }: Pick<FlowState, 'generatedAt' | 'changedAt'>,
  { noteTimeoutMs }: Pick<FlowSettings, 'noteTimeoutMs'>,
): EpochMs {
  return (generatedAt ?? changedAt) + noteTimeoutMs;
}

/** Of a lookup: an answer that has not come by then is late. */
export function answerLateAt(
  { marginAsks, changedAt }: Pick<FlowState, 'marginAsks' | 'changedAt'>,
  { noteTimeoutMs }: Pick<FlowSettings, 'noteTimeoutMs'>,
): EpochMs {
  return (marginAsks?.last ?? changedAt) + noteTimeoutMs;
}

/** The service took the generation, and nothing says what became of it. A callback of a contract that cannot be read is looked at by a person at once. */
export function isNoteAwaited(state: FlowState, at: EpochMs, settings: Pick<FlowSettings, 'noteTimeoutMs'>): boolean {
  const { flow, phase, requestCode, generatedAt, note, lateNote, lostBid } = state;
  // Of a bid that is lost nothing is ordered anew.
  if (requestCode === null || lostBid !== undefined || (flow === 'contract' && unreadMark(state) !== null))
    return false;
  // Cancelled by an earlier version, or while its flow was frozen.
  const isPending = phase === 'cancelled' && generatedAt !== null && note === null && lateNote == null;
  return (phase === 'awaiting-note' || isPending) && at < noteLateAt(state, settings);
}

/** Steps after which the same loan would be generated once more. */
const generatingAgain: ReadonlySet<FlowStep> = new Set(['regenerate', 'cancel']);

/** The loan of a renegotiation stands without a signature: once its note is late, a person says first that nothing came of it. */
export function generatesUnseen(
  state: FlowState,
  step: FlowStep,
  at: EpochMs,
  settings: Pick<FlowSettings, 'noteTimeoutMs'>,
): boolean {
  if (!generatingAgain.has(step) || state.phase !== 'awaiting-note') return false;
  return state.flow === 'renegotiation' || isNoteAwaited(state, at, settings);
}

/** The note of a renegotiation has not come, and a person may know that nothing came of it. */
export function mayDenyAwaited(state: FlowState): boolean {
  if (state.flow !== 'renegotiation' || isBusy(state)) return false;
  return state.phase === 'awaiting-note' || isCancelledUnseen(state);
}

/** A renegotiation that was cancelled while its note was awaited, by an earlier version or while its flow was frozen: its loan may stand. */
export function isCancelledUnseen({ flow, phase, generatedAt, note, lateNote }: FlowState): boolean {
  const isUnseen = generatedAt !== null && note === null && lateNote?.isLast !== true;
  return flow === 'renegotiation' && phase === 'cancelled' && isUnseen;
}

/** Whether a start under another key begins it anew. */
export function mayBeginAgain(state: FlowState, at: EpochMs, settings: Pick<FlowSettings, 'noteTimeoutMs'>): boolean {
  if (state.flow === 'event' || state.phase !== 'cancelled' || state.frozen !== undefined) return false;
  return denialOf(state) === null && !isNoteAwaited(state, at, settings) && !isCancelledUnseen(state);
}

/** Stands still, and may be amended without a change. */
export function goesOnAsItIs({ phase }: FlowState): boolean {
  return phase === 'refused' || phase === 'withheld' || phase === 'failed';
}

/** Steps that bind the lender further. */
const bindingSteps: ReadonlySet<FlowStep> = new Set(['sign', 'regenerate', 'amend', 'deny']);

/** Not taken of a contract whose bid is lost. That what was told late is settled binds nobody. */
export function bindsLender(state: FlowState, step: FlowStep): boolean {
  // What was shown and contradicted two people settle, and nothing is sent for it.
  const isContradiction = (isShownDone(state) && !mayTakeBack(state)) || mayDenyContradicted(state);
  if (step === 'deny' && isContradiction) return false;
  const takesNote = step === 'accept' && state.phase === 'cancelled' && lateSuccessOf(state) === null;
  return state.flow === 'contract' && (bindingSteps.has(step) || takesNote);
}

/** The service goes on with what was done under a code of its own. */
export function needsCode({ operation }: FlowState): boolean {
  const named = operation?.operation;
  return named === 'contract' || named === 'renegotiation' || named === 'inclusion';
}

/** Steps that the table of a kind knows at all, and the two that any unclear operation has. */
export function stepsOf(flow: keyof typeof transitions): readonly FlowStep[] {
  const named = new Set(Object.values(transitions[flow]).flatMap((row) => Object.keys(row)));
  const hasOperations = flow !== 'lookup' && flow !== 'event';
  return flowSteps.filter((step) => named.has(step) || (hasOperations && (step === 'confirm' || step === 'deny')));
}

/** The service has said what it included, and its last answer was no refusal. A proposal can be asked for once there is one. */
export function isProposalSaid({ results }: Pick<FlowState, 'results'>): boolean {
  return results.proposal !== undefined && results.proposal.refused !== true;
}

/** Its code may be mistyped: the service has shown no such proposal, and nothing was sent that may have changed one. */
function mayGiveUp(state: FlowState): boolean {
  // What a person denied was unclear before, and ends as what the service refused.
  const isDenied = state.steps.some(({ step, outcome }) => step === 'deny' && outcome === 'done');
  const without = [...(isDenied ? [] : ['rejected']), 'withheld', 'ignored'];
  const mayHaveChanged = state.steps.some(
    ({ step, outcome }) => isOperation(step) && !readsOnly(step) && !without.includes(outcome),
  );
  return isUnseen(state) && !isBusy(state) && !mayHaveChanged;
}

/** A proposal made elsewhere that was taken up by a code, and that no answer of the service has ever shown to exist. */
export function isUnseen(state: FlowState): boolean {
  const { flow, proposalCode, results, situation, saidFigures, saidFinalised } = state;
  if (flow !== 'withdrawal' || proposalCode === null) return false;
  const answered = Object.values(results).some((kept) => kept !== undefined && kept.refused !== true);
  // The result of a query that is refused later takes the place of what was shown.
  const wasSaid = situation !== null || saidFigures !== undefined || saidFinalised === true;
  return !answered && !wasSaid && !isAnswered(state);
}
