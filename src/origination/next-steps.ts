/** Which steps would be taken of a flow where it stands, and why those that are due would be refused. Pure. */
import type { FlowSettings } from '../config/sections.ts';
import { type AcceptedKind, type FlowBreach, type FlowStep, flowSteps } from '../domain/flow-records.ts';
import type { FlowPhase, FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { Check } from '../wire/checks/breach.ts';
import {
  accountUpdatable,
  finalisable,
  noPeriodSimulated,
  type ProposalDoubts,
  proposalSignable,
  splittable,
} from '../wire/checks/withdrawals.ts';
import { noteSignable, noteWithinBid } from '../wire/checks/worker-credit.ts';
import { beyondTolerance, doubtsOf, noteFactsOf, proposalsUnsettled, unsaidIn } from './differences.ts';
import { lateSuccessOf, maySettle, successSettled, unsettledBefore } from './late-successes.ts';
import { unreadMark } from './notes.ts';
import { barsRenegotiated } from './renegotiations-beside.ts';
import { failedSimulation, type OpenSealed, shownAmount, splitsBeyondLoan } from './shown-flows.ts';
import {
  allowsStep,
  bindsLender,
  generatesUnseen,
  isBusy,
  isNoteAwaited,
  isProposalSaid,
  isSaidFinalised,
  isShownDone,
  isUnseen,
  lendsAgain,
  mayDenyAwaited,
  mayDenyContradicted,
  mayTakeOver,
} from './steps.ts';
import { isFinished } from './transitions.ts';

export type StepSettings = Pick<FlowSettings, 'noteTolerance' | 'finalisationEnabled' | 'situations' | 'noteTimeoutMs'>;

/**
 * Why a step that the flow's phase knows would be refused, whatever is sent with it. `open`: null where sealed amounts cannot be
 * read; rules about them keep nothing back then.
 */
export function barriersTo(
  step: FlowStep,
  state: FlowState,
  settings: StepSettings,
  open: OpenSealed,
): readonly FlowBreach[] {
  const late = lateSuccessOf(state);
  // What is to be settled is settled whatever else stands in the way.
  if (late !== null && step === 'accept') return [];
  const lost = bindsLender(state, step) ? lostBidOf(state) : [];
  const unsettled = unsettledBefore(state, step);
  const settled = unsettled === null ? [] : [successSettled(unsettled, mayTakeOver(state))];
  const renegotiated = state.renegotiated !== undefined && barsRenegotiated(step) ? [state.renegotiated] : [];
  return [...lost, ...renegotiated, ...settled, ...checksOf(step, state, settings, open)].filter(
    (check) => check !== null,
  );
}

function lostBidOf({ lostBid }: FlowState): readonly FlowBreach[] {
  return lostBid === undefined ? [] : [lostBid];
}

function checksOf(step: FlowStep, state: FlowState, settings: StepSettings, open: OpenSealed): readonly Check[] {
  switch (step) {
    case 'accept':
      // It stands at the service, and nothing of it is signed here: nothing else is left than to say that somebody has settled it.
      if (state.flow === 'renegotiation') return [];
      return noteWithinBid(noteFactsOf(withNoteToTake(state), settings));
    case 'sign':
      return noteSignable({ ...noteFactsOf(state, settings), doubts: noteDoubts(state, settings) });
    case 'inclusion':
      return [isSimulatedInVain(state, open) ? noPeriodSimulated : null];
    case 'splits': {
      const doubts = doubtsOfProposal(state, settings, open);
      return splittable({ isLoanKnown: open === null || shownAmount(state, open) !== null, doubts });
    }
    case 'signers':
      return [proposalSignable(doubtsOfProposal(state, settings, open))];
    case 'finalisation':
      return finalisable(finalisationFacts(state, settings, open));
    case 'account-update':
      return [accountUpdatable(proposalStateOf(state, settings))];
    default:
      return [];
  }
}

/** The last simulation was of the worker's own balance, and no period of it has values. */
export function isSimulatedInVain(state: FlowState, open: OpenSealed): boolean {
  return open !== null && state.simulatedKey !== null && failedSimulation(state, open) !== null;
}

/** What the step `accept` would take: of a cancelled flow the note that came after its end, if it may still take it up. */
function withNoteToTake(state: FlowState): FlowState {
  const { phase, lateNote } = state;
  if (phase !== 'cancelled') return state;
  return {
    ...state,
    note: lateNote?.isLast ? lateNote.note : null,
    noteAgain: null,
    notesAgain: lateNote?.others ?? [],
  };
}

/** What is doubtful about the note, and nobody has taken as it is. */
export function noteDoubts(state: FlowState, settings: Pick<FlowSettings, 'noteTolerance'>): readonly string[] {
  return state.noteAccepted ? [] : doubtsOf(state, settings);
}

/** What there is to be taken by the step `accept`, where no success that was told late is settled by it first. */
export function kindsToAccept(
  state: FlowState,
  settings: Pick<FlowSettings, 'noteTolerance'>,
): readonly AcceptedKind[] {
  const { lateNote, phase } = state;
  const late: readonly AcceptedKind[] = lateNote == null ? [] : ['late'];
  // The late note of a cancelled flow takes the place of its own.
  return phase === 'cancelled' || ownDoubts(state, settings).length === 0 ? late : ['figures', ...late];
}

/** What is doubtful about the note of the flow itself. */
export function ownDoubts(state: FlowState, settings: Pick<FlowSettings, 'noteTolerance'>): readonly string[] {
  return noteDoubts({ ...state, lateNote: null }, settings);
}

/** What nobody has taken as it is; and what nobody may take so. */
export function doubtsOfProposal(
  state: FlowState,
  settings: Pick<FlowSettings, 'noteTolerance'>,
  open: OpenSealed,
): ProposalDoubts {
  const isRefused = isUnseen(state) && state.results.proposal?.refused === true;
  const others = proposalsUnsettled(state);
  const unmovable = {
    isUnasked: !isProposalSaid(state),
    ...(isRefused ? { refusedQuery: { mayCancel: allowsStep(state, 'cancel') } } : {}),
    splitsBeyond: splitsBeyondLoan(state, open),
    others,
  };
  if (state.noteAccepted) return { ...unmovable, differing: [], unsaid: [], ending: null };
  const differing = beyondTolerance(state, settings);
  return { ...unmovable, differing, unsaid: unsaidIn(state), ending: state.ending ?? null };
}

export function finalisationFacts(state: FlowState, settings: StepSettings, open: OpenSealed) {
  const { subject, signedKeys, phase } = state;
  return {
    signersRegistered: phase === 'signed',
    unsigned: subject.signerKeys.filter((key) => !signedKeys.includes(key)).length,
    enabled: settings.finalisationEnabled,
    doubts: doubtsOfProposal(state, settings, open),
  };
}

/** As the service last said it in a number that the settings explain; else what this flow has done itself. */
export function proposalStateOf(state: FlowState, { situations }: Pick<FlowSettings, 'situations'>): string {
  const told = situations.find(({ code }) => code === state.situation)?.state;
  return told ?? (state.phase === 'finalised' ? 'finalized' : 'unknown');
}

/** The service has said that the money is out. */
export function isReleased(state: FlowState, settings: Pick<FlowSettings, 'situations'>): boolean {
  return proposalStateOf(state, settings) === 'released';
}

/** A withdrawal whose money the service has said to be out; its proposal has not ended since. */
export function isPaid(state: FlowState, settings: Pick<FlowSettings, 'situations'>): boolean {
  return state.flow === 'withdrawal' && isReleased(state, settings) && state.ending == null;
}

/** Finalised, and the service has said neither that it is released nor that it has ended: the money may be still to come, or sent back. */
export function isUnpaid(state: FlowState, settings: Pick<FlowSettings, 'situations'>): boolean {
  return state.phase === 'finalised' && !isReleased(state, settings) && state.ending == null;
}

/** What may be asked for at a time, as in `allowsStep`, and is not refused for where the flow stands. */
export function nextSteps(
  state: FlowState,
  settings: StepSettings,
  open: OpenSealed,
  at: EpochMs = state.changedAt,
): readonly FlowStep[] {
  return flowSteps.filter(
    (step) =>
      allowsStep(state, step, at) &&
      (step !== 'inclusion' || state.simulatedKey !== null) &&
      !lendsAgain(state, step) &&
      !generatesUnseen(state, step, at, settings) &&
      !(step === 'deny' && mayDenyAwaited(state) && isNoteAwaited(state, at, settings)) &&
      barriersTo(step, state, settings, open).length === 0,
  );
}

/** What a flow needs of a person to go on, where it stands. */
const dueSteps: Readonly<Partial<Record<FlowPhase, readonly FlowStep[]>>> = {
  withheld: ['amend'],
  refused: ['amend'],
  'awaiting-signature': ['accept', 'sign'],
  'endorsement-refused': ['confirm', 'deny', 'sign', 'regenerate'],
  renegotiated: ['accept'],
  cancelled: ['accept'],
  started: ['simulation'],
  simulated: ['inclusion'],
  included: ['accept', 'signers'],
  signed: ['accept', 'signers', 'finalisation'],
  finalised: ['accept'],
};

/** Why steps that are due would be refused, as far as the flow does not say so already. */
export function barriersNow(state: FlowState, settings: StepSettings, open: OpenSealed): readonly FlowBreach[] {
  // What a withdrawal comes to is for those who work on it.
  if (state.flow === 'withdrawal' && open === null) return [];
  const due = (dueSteps[state.phase] ?? []).filter((step) => allowsStep(state, step));
  const late = lateSuccessOf(state);
  const ofLate = late === null ? [] : [successSettled(late, mayTakeOver(state))];
  const found = [
    // Whatever is due: nobody may lend of it, and no step says so where none is.
    ...(isFinished(state.phase) ? [] : lostBidOf(state)),
    ...ofLate,
    ...renegotiationBeyond(state, settings),
    ...due.flatMap((step) => barriersTo(step, state, settings, open)),
  ];
  const isSame = (one: FlowBreach) => (other: FlowBreach) => one.rule === other.rule && one.problem === other.problem;
  return found.filter((each, index) => found.findIndex(isSame(each)) === index && !state.breaches.some(isSame(each)));
}

/** The note of a renegotiation that is beyond what was ordered, or cannot be read, as long as nobody has settled it. */
function renegotiationBeyond(state: FlowState, settings: StepSettings): readonly FlowBreach[] {
  const { flow, phase, noteAccepted } = state;
  const isOpen =
    flow === 'renegotiation' && (phase === 'renegotiated' || phase === 'cancelled') && noteAccepted == null;
  const beyond = isOpen ? noteWithinBid(noteFactsOf(withNoteToTake(state), settings)) : [];
  const rules = beyond.flatMap((check) => check?.rule ?? []);
  if (rules.length === 0) return [];
  const problem = `the note of this renegotiation is beyond what was ordered, or cannot be read (${rules.join(', ')}): it stands at the service already, and nothing of it is signed here. Read the printed note and settle it with the service; the step accept with a reason then says that it is taken as it is printed`;
  return [{ rule: 'renegotiation-settled', field: 'step', problem }];
}

/** The steps that a person has to take before it goes on; none: it waits for the service, or for nothing. */
export function waitsFor(
  state: FlowState,
  settings: StepSettings,
  open: OpenSealed,
  at: EpochMs = state.changedAt,
): readonly FlowStep[] {
  const possible = nextSteps(state, settings, open, at);
  // The desk looks for its flow by itself; from the alarm on a person looks too.
  if (state.flow === 'event') return at < state.startedAt + settings.noteTimeoutMs ? [] : possible;
  if (state.operation?.status === 'unclear') return possible.filter((step) => step === 'confirm' || step === 'deny');
  if (isBusy(state)) return [];
  if (lateSuccessOf(state) !== null) return possible.filter((step) => step === 'confirm' || step === 'accept');
  if (isSaidFinalised(state)) return possible.filter((step) => step === 'confirm');
  if (isUnseen(state)) {
    const isRefused = state.results.proposal?.refused === true;
    return possible.filter((step) => step === 'proposal' || (step === 'cancel' && isRefused));
  }
  // Simulated by a balance that somebody gave, or without values: a simulation of the worker's own is still to come.
  const isOwnMissing = state.phase === 'simulated' && (state.simulatedKey === null || isSimulatedInVain(state, open));
  const due: readonly FlowStep[] = isOwnMissing ? ['simulation'] : (dueSteps[state.phase] ?? []);
  const waiting = due.filter((step) => possible.includes(step));
  if (mayDenyAwaited(state)) return possible.filter((step) => step === 'deny');
  // A note that nobody may take, or one that may have come and could not be read.
  const isUnread = state.phase === 'awaiting-note' && unreadMark(state) !== null;
  if (waiting.length === 0 && (state.phase === 'awaiting-signature' || isUnread)) {
    return possible.filter((step) => step === 'regenerate' || step === 'cancel');
  }
  const isSignedByAll =
    state.phase === 'signed' && state.subject.signerKeys.every((key) => state.signedKeys.includes(key));
  const left = isSignedByAll ? waiting.filter((step) => step !== 'signers') : waiting;
  // Nothing is signed before the service has said what it included, and no event tells of the release.
  const isStill = state.phase === 'included' || state.phase === 'signed' || isUnpaid(state, settings);
  const isUnasked = left.length === 0 && isStill;
  return isUnasked ? possible.filter((step) => step === 'proposal') : left;
}

/** Taken only of somebody who is known by a token or a log-in: a name that is typed at the command line is refused. */
export function needsKnownPerson(state: FlowState, step: FlowStep): boolean {
  const late = lateSuccessOf(state);
  if (step === 'accept' && late !== null) return !maySettle(late, { by: '', via: 'offline' }, state);
  return step === 'deny' && (isShownDone(state) || mayDenyAwaited(state) || mayDenyContradicted(state));
}

/** What is frozen waits for somebody to bring it back or end it. */
export function waitsForPerson(
  state: FlowState,
  settings: StepSettings,
  open: OpenSealed,
  at: EpochMs = state.changedAt,
): boolean {
  return state.frozen !== undefined || waitsFor(state, settings, open, at).length > 0;
}
