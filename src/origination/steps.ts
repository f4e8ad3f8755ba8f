/** What a person may ask of a flow where it stands. Pure; said by the API, held to by the fold. */
import { type FlowStep, flowSteps } from '../domain/flow-records.ts';
import type { FlowPhase, FlowState } from '../domain/flow-states.ts';
import { noteReleaseWithin } from '../wire/checks/worker-credit.ts';
import { highestNoteRate, highestNoteRelease, marksOf, unsaidIn } from './differences.ts';
import { alreadyEndorsed, isOperation, transitions } from './transitions.ts';

/** An operation is under way: nothing else may be begun before it has ended. */
function isBusy(state: FlowState): boolean {
  const status = state.operation?.status;
  return status === 'asked' || status === 'intended' || status === 'unclear';
}

/** The endorsement was refused and may be done all the same: an earlier one was denied by a person, or the service says so. */
function mayBeEndorsed({ phase, operation, generatedAt, steps }: FlowState): boolean {
  if (phase !== 'endorsement-refused' || operation?.operation !== 'endorsement') return false;
  // What was denied before this contract was generated was its generation.
  const isDenied = ({ step, outcome, at }: FlowState['steps'][number]) =>
    step === 'deny' && outcome === 'done' && at >= (generatedAt ?? 0);
  return steps.some(isDenied) || operation.reason === alreadyEndorsed;
}

/** A person gave the code of its contract and may have taken another one's; nothing was signed of it. */
export function mayCorrect({ flow, phase, operation, generatedAt, steps }: FlowState): boolean {
  const isStill = phase === 'awaiting-note' || (phase === 'awaiting-signature' && flow === 'contract');
  const isBegun = operation?.status === 'asked' || operation?.status === 'intended' || operation?.status === 'unclear';
  // What was confirmed before this contract was generated was another one.
  const isConfirmed = ({ step, outcome, at }: FlowState['steps'][number]) =>
    step === 'confirm' && outcome === 'done' && at >= (generatedAt ?? 0);
  return isStill && !isBegun && steps.some(isConfirmed);
}

export function allowsStep(state: FlowState, step: FlowStep): boolean {
  if (state.frozen !== undefined) return false;
  if (step === 'confirm' && (mayBeEndorsed(state) || mayCorrect(state))) return true;
  if (step === 'confirm' || step === 'deny') return state.operation?.status === 'unclear';
  const isAsOrdered = [state.differences, unsaidIn(state), marksOf(state)].every(({ length }) => length === 0);
  if (step === 'accept' && (isAsOrdered || state.noteAccepted)) return false;
  if (step === 'accept' && state.phase === 'cancelled' && state.lateNote == null) return false;
  const row = transitions[state.flow][state.phase] ?? {};
  return (
    row[step] !== undefined &&
    !((isOperation(step) || step === 'cancel' || step === 'amend' || step === 'regenerate') && isBusy(state))
  );
}

/** Steps that would lead to a second loan where the first one is endorsed. */
const lendingAgain: ReadonlySet<FlowStep> = new Set(['sign', 'regenerate', 'cancel']);

/** The service says that its contract is endorsed already, and the step would make another one. Asked where a step is written: the fold takes those of earlier versions. */
export function lendsAgain({ phase, operation }: FlowState, step: FlowStep): boolean {
  const isEndorsed = phase === 'endorsement-refused' && operation?.reason === alreadyEndorsed;
  return isEndorsed && lendingAgain.has(step);
}

export function nextSteps(state: FlowState): readonly FlowStep[] {
  return flowSteps.filter((step) => allowsStep(state, step) && isReadyFor(state, step) && !lendsAgain(state, step));
}

/** What a flow needs of a person to go on, where it stands. */
const dueSteps: Readonly<Partial<Record<FlowPhase, readonly FlowStep[]>>> = {
  withheld: ['amend'],
  refused: ['amend'],
  'awaiting-signature': ['accept', 'sign'],
  'endorsement-refused': ['confirm', 'sign', 'regenerate'],
  renegotiated: ['accept'],
  cancelled: ['accept'],
  started: ['simulation'],
  simulated: ['inclusion'],
  included: ['accept', 'signers'],
  signed: ['accept', 'signers', 'finalisation'],
  finalised: ['accept'],
};

/** The steps that a person has to take before it goes on; none: it waits for the service, or for nothing. */
export function waitsFor(state: FlowState): readonly FlowStep[] {
  const possible = nextSteps(state);
  if (state.operation?.status === 'unclear') return possible.filter((step) => step === 'confirm' || step === 'deny');
  if (isBusy(state)) return [];
  if (isUnseen(state)) return possible.filter((step) => step === 'proposal');
  // Simulated by a balance that somebody gave: the worker's own is still to come.
  const isOwnMissing = state.phase === 'simulated' && state.simulatedKey === null;
  const due: readonly FlowStep[] = isOwnMissing ? ['simulation'] : (dueSteps[state.phase] ?? []);
  const waiting = due.filter((step) => possible.includes(step));
  // Nothing is signed before the service has said what it included.
  const isUnasked = waiting.length === 0 && (state.phase === 'included' || state.phase === 'signed');
  if (isUnasked) return possible.filter((step) => step === 'proposal');
  return waiting.includes('finalisation') ? waiting.filter((step) => step !== 'signers') : waiting;
}

/** What is frozen waits for somebody to bring it back or end it. */
export function waitsForPerson(state: FlowState): boolean {
  return state.frozen !== undefined || waitsFor(state).length > 0;
}

/** The service goes on with what was done under a code of its own. */
export function needsCode({ operation }: FlowState): boolean {
  const named = operation?.operation;
  return named === 'contract' || named === 'renegotiation' || named === 'inclusion';
}

/** What the step `accept` would take of a cancelled flow: the note that came after its end, if it may still take it up. */
function noteToAccept({ lateNote }: FlowState): FlowState['note'] {
  return lateNote?.isLast ? lateNote.note : null;
}

/** Of a proposal that is said to have ended, or of which nothing was said, nothing of this is done unseen. */
const needsLive: ReadonlySet<FlowStep> = new Set(['splits', 'signers', 'finalisation']);

/** As far as the flow itself shows: asked for all the same, the step is refused with what is missing. */
function isReadyFor(state: FlowState, step: FlowStep): boolean {
  const { simulatedKey, subject, signedKeys } = state;
  if (step === 'inclusion') return simulatedKey !== null;
  if (step === 'accept') {
    const notes =
      state.phase === 'cancelled'
        ? { note: noteToAccept(state), noteAgain: null, notesAgain: state.lateNote?.others ?? [] }
        : state;
    const isWithinRate = (highestNoteRate(notes) ?? 0) <= (subject.rateLimitHundredths ?? Number.POSITIVE_INFINITY);
    return isWithinRate && noteReleaseWithin(highestNoteRelease({ ...state, ...notes })) === null;
  }
  const isDue = isProposalSaid(state) && (!state.ending || Boolean(state.noteAccepted));
  if (needsLive.has(step) && !isDue) return false;
  return step !== 'finalisation' || subject.signerKeys.every((key) => signedKeys.includes(key));
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

/** A proposal made elsewhere that was taken up by a code, and that no answer of the service has shown to exist. */
export function isUnseen({ flow, proposalCode, results }: FlowState): boolean {
  const answered = Object.values(results).some((kept) => kept !== undefined && kept.refused !== true);
  return flow === 'withdrawal' && proposalCode !== null && !answered;
}
