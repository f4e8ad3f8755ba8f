/**
 * What the owner of a flow does next, read off its state alone: the same after a record, a timer, a restart or a hand-over.
 * Pure.
 */

import type { FlowSettings } from '../config/sections.ts';
import type { FlowOperation, FlowRecord, FlowResult } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { competenceOf, type MarginFact, marginValidityMs } from '../wire/checks/worker-credit.ts';
import { refusedWithCode } from '../wire/operations.ts';
import { doubtsOf } from './differences.ts';
import { nextSlot } from './evolve.ts';
import { denialOf, lateSuccessOf, unsettledBefore } from './late-successes.ts';
import { answerLateAt, dueAgainAt, isContradicted, noteLateAt } from './steps.ts';
import { alreadyEndorsed, deniedByPerson, readsOnly, toldBoth, toldNoOfContract } from './transitions.ts';

export const flowAlarms = [
  'flow-frozen',
  'partition-closed',
  'operation-unclear',
  'operation-late',
  'margin-late',
  'note-late',
  'note-differs',
  'note-unexpected',
  'success-late',
  'success-denied',
  'proposal-differs',
  'flow-refused',
  'event-unclaimed',
] as const;
export type FlowAlarm = (typeof flowAlarms)[number];

export type FlowCommand =
  /** Ask the ledger where the won bid stands. */
  | { kind: 'look-up-proposal' }
  | { kind: 'ask-margin' }
  /** Check what the contract asks, make the bytes, and append them or what keeps them back. */
  | { kind: 'prepare'; operation: FlowOperation; slot: string }
  | { kind: 'send' }
  /** Has somebody told something under this code before we knew it? */
  | { kind: 'look-up-event'; requestCode: string }
  /** A code was confirmed by mistake: an event that came to the flow under it is given up. */
  | { kind: 'give-event-up'; requestCode: string }
  /** Is there a flow for this event now? */
  | { kind: 'look-up-flow' }
  | { kind: 'append'; record: FlowRecord }
  | { kind: 'wait'; until: EpochMs }
  | { kind: 'alarm'; code: FlowAlarm; text?: string };

/** What the state does not say: asked right before. */
export type Surroundings = {
  now: EpochMs;
  instance: string;
  /** The latest detail of the flow's link, if it is in the cache; it may be too old. */
  margin: MarginFact | null;
  /** This process has tried to send the intent, or is at it. */
  tried: (intentId: string) => boolean;
};

const hourMs = 3_600_000;

/** How long the flow of an event is looked for. */
export const unclaimedLookMs = 24 * hourMs;

export function react(state: FlowState, around: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  if (state.frozen !== undefined) {
    return [
      { kind: 'alarm', code: 'flow-frozen', text: state.frozen.problem },
      { kind: 'wait', until: around.now + hourMs },
    ];
  }
  if (state.operation?.status === 'intended') return reactToIntent(state, around, settings);
  if (state.operation?.status === 'asked') return [prepare(state, state.operation.operation)];
  if (state.flow === 'withdrawal') return [];
  if (state.flow === 'lookup') return reactToLookup(state, around, settings);
  switch (state.phase) {
    case 'waiting-proposal':
      return [{ kind: 'look-up-proposal' }, { kind: 'wait', until: around.now + settings.pollMs }];
    case 'preparing':
      // The person who settles it also decides whether to try again.
      if (unsettledBefore(state, generationOf(state)) !== null) return [];
      return reactToOrder(state, around, settings);
    case 'awaiting-note':
      return [...giveUpEvents(state), ...reactToSilence(state, around, settings)];
    case 'awaiting-signature':
      return [...giveUpEvents(state), ...watchCompetence(state, around, settings)];
    case 'endorsement-refused':
      return generatesWhenTurned(state) ? watchCompetence(state, around, settings) : [];
    case 'signed':
      return reactToSignature(state, around, settings);
    case 'unclaimed':
      return reactToEvent(state, around, settings);
    case 'awaiting-answer':
    case 'answered':
    case 'withheld':
    case 'generating':
    case 'unclear':
    case 'refused':
    case 'endorsing':
    case 'endorsement-unclear':
    case 'endorsed':
    case 'renegotiated':
    case 'failed':
    case 'cancelled':
    case 'claimed':
    case 'closed':
    case 'started':
    case 'simulated':
    case 'included':
    case 'finalised':
      return [];
    default:
      return state.phase satisfies never;
  }
}

function generationOf({ flow }: FlowState): FlowOperation {
  return flow === 'renegotiation' ? 'renegotiation' : 'contract';
}

function prepare(state: FlowState, operation: FlowOperation): FlowCommand {
  return { kind: 'prepare', operation, slot: nextSlot(state, operation) };
}

/**
 * An intent read back. With a key anybody may send it again, the same bytes; without one only who wrote it, once: found by
 * anybody else it may have been sent, and nobody may send it again.
 */
function reactToIntent(state: FlowState, around: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  const { now, instance, tried } = around;
  const operation = state.operation!;
  const intent = operation.intent!;
  const retryAt = retryTime(state, settings);
  if (isNamedBeside(state)) return [refusedBefore(state, around)];
  if (now < retryAt) return waiting(state, retryAt, around, settings);
  const { intentId } = intent;
  const mine = intent.instance === instance;
  const isHeld = unsettledBefore(state, operation.operation) !== null;
  if (isHeld && (intent.idempotencyKey !== null || (mine && !tried(intentId)))) return [];
  if (maySend(state, intentId, around, settings)) return [{ kind: 'send' }];
  if (mine && tried(intentId)) return [];
  const result: FlowResult = mine
    ? { kind: 'not-sent', reason: 'competence-turned', retryAt: null }
    : { kind: 'unknown', reason: 'the process that was about to send it has gone; it may have been sent' };
  const record: FlowRecord = {
    ...{ kind: 'answered', flowId: state.flowId, at: now, intentId, operation: operation.operation, instance, result },
    ...{ earlierAttemptPossible: !mine, firstByteAt: null, status: null, sealedAnswer: null },
  };
  return [{ kind: 'append', record }];
}

/** Refused beside the code of what was done; earlier versions sent it again by themselves. */
function isNamedBeside({ operation }: FlowState): boolean {
  return operation?.reason === refusedWithCode && !readsOnly(operation.operation);
}

function refusedBefore({ flowId, operation }: FlowState, { now, instance }: Surroundings): FlowCommand {
  const { operation: named, intent } = operation!;
  const result: FlowResult = { kind: 'unknown', reason: refusedWithCode, isFinal: true };
  const record: FlowRecord = {
    ...{ kind: 'answered', flowId, at: now, intentId: intent!.intentId, operation: named, instance, result },
    ...{ earlierAttemptPossible: true, firstByteAt: null, attempts: 0, status: null, sealedAnswer: null },
  };
  return { kind: 'append', record };
}

/** By the terms that its intent was written with: until then a person may count on it not being sent. */
function retryTime(state: FlowState, settings: FlowSettings): EpochMs {
  return dueAgainAt(state, state.operation?.intent?.retry ?? settings);
}

/** What waits longer than the longest pause is told of each time: the service has not taken it since. */
function waiting(
  { operation }: FlowState,
  until: EpochMs,
  { now }: Surroundings,
  { retryMs, retryMaxMs }: FlowSettings,
): readonly FlowCommand[] {
  const intent = operation?.intent ?? null;
  const since = operation?.turnedAwayAt ?? (intent?.idempotencyKey == null ? now : intent.at);
  const wait: FlowCommand = { kind: 'wait', until };
  if (now - since <= Math.max(retryMs, retryMaxMs)) return [wait];
  const text = `${operation!.operation} waits since ${new Date(since).toISOString()}: ${operation!.reason ?? ''}`;
  return [{ kind: 'alarm', code: 'operation-late', text }, wait];
}

/** Asked before an intent is sent, and once more where its first byte is written. */
export function maySend(
  state: FlowState,
  intentId: string,
  { now, instance, tried }: Omit<Surroundings, 'margin'>,
  settings: FlowSettings,
): boolean {
  const { operation, frozen } = state;
  if (frozen !== undefined) return false;
  const intent = operation?.intent ?? null;
  if (intent?.intentId !== intentId || operation?.status !== 'intended') return false;
  if (now < retryTime(state, settings) || isNamedBeside(state)) return false;
  // It may be a second one: whoever settles that lets it go on, or gives it up.
  if (unsettledBefore(state, operation.operation) !== null) return false;
  if (intent.idempotencyKey !== null) return true;
  // What was checked and reckoned for one competence is not for the next.
  return (
    intent.instance === instance &&
    !tried(intentId) &&
    competenceOf(intent.at, settings.cutoffDay) === competenceOf(now, settings.cutoffDay)
  );
}

function reactToOrder(state: FlowState, around: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  const { now, margin } = around;
  const retryAt = state.operation?.status === 'not-sent' ? retryTime(state, settings) : 0;
  if (now < retryAt) return waiting(state, retryAt, around, settings);
  if (margin !== null && now - margin.receivedAt <= marginValidityMs) {
    return [prepare(state, generationOf(state))];
  }
  const { marginAsks } = state;
  const pauseMs = Math.min(hourMs, settings.marginRetryMs * 2 ** Math.max(0, (marginAsks?.count ?? 0) - 1));
  const wait: FlowCommand = { kind: 'wait', until: now + settings.pollMs };
  if (marginAsks === null) return [{ kind: 'ask-margin' }, wait];
  if (now < marginAsks.last + pauseMs) return [wait];
  // Each further query may be charged: somebody should see that the earlier ones brought nothing.
  return [{ kind: 'alarm', code: 'margin-late' }, { kind: 'ask-margin' }, wait];
}

/** Until the flow goes on from where codes are corrected: whoever takes it up meanwhile looks again. */
function giveUpEvents({ codesGivenUp = [] }: FlowState): FlowCommand[] {
  return codesGivenUp.map(({ requestCode }) => ({ kind: 'give-event-up', requestCode }));
}

function reactToSilence(state: FlowState, { now }: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  const lateAt = noteLateAt(state, settings);
  const commands: FlowCommand[] = [];
  if (state.requestCode !== null) commands.push({ kind: 'look-up-event', requestCode: state.requestCode });
  if (now < lateAt) commands.push({ kind: 'wait', until: lateAt });
  else commands.push({ kind: 'alarm', code: 'note-late' }, { kind: 'wait', until: now + settings.noteTimeoutMs });
  return commands;
}

/** Asked once: whoever wants to know again asks with another lookup. */
function reactToLookup(state: FlowState, { now }: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  if (state.phase === 'preparing') return [{ kind: 'ask-margin' }, { kind: 'wait', until: now + settings.pollMs }];
  if (state.phase !== 'awaiting-answer') return [];
  const lateAt = answerLateAt(state, settings);
  if (now < lateAt) return [{ kind: 'wait', until: lateAt }];
  return [
    { kind: 'alarm', code: 'margin-late' },
    { kind: 'wait', until: now + settings.noteTimeoutMs },
  ];
}

/** The contract is generated again by itself when its competence turns. Where a person said what became of its endorsement, or knows better, that person goes on. */
export function generatesWhenTurned(state: FlowState): boolean {
  const { phase, operation } = state;
  if (phase === 'awaiting-signature' || phase === 'signed') return true;
  if (phase !== 'endorsement-refused' || lateSuccessOf(state) !== null || isContradicted(state)) return false;
  return operation?.reason !== deniedByPerson && operation?.reason !== alreadyEndorsed && !operation?.wasUnclear;
}

function hasTurned(state: FlowState, now: EpochMs, { cutoffDay }: FlowSettings): boolean {
  const { generatedAt } = state;
  return generatedAt !== null && competenceOf(generatedAt, cutoffDay) !== competenceOf(now, cutoffDay);
}

function watchCompetence(state: FlowState, { now }: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  if (hasTurned(state, now, settings)) return [turned(state, now)];
  return [{ kind: 'wait', until: now + settings.competenceLookMs }];
}

function reactToSignature(state: FlowState, around: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  const { now } = around;
  if (hasTurned(state, now, settings)) return [turned(state, now)];
  const retryAt = state.operation?.status === 'not-sent' ? retryTime(state, settings) : 0;
  if (now < retryAt) return waiting(state, retryAt, around, settings);
  return [prepare(state, 'endorsement')];
}

function turned(state: FlowState, at: EpochMs): FlowCommand {
  return { kind: 'append', record: { kind: 'turned', flowId: state.flowId, at } };
}

/** Looked for at ever longer intervals; after a day it is shown, and nobody looks. */
function reactToEvent(state: FlowState, { now }: Surroundings, settings: FlowSettings): readonly FlowCommand[] {
  const ageMs = now - state.startedAt;
  if (ageMs > unclaimedLookMs) return [];
  const looks: FlowCommand[] = [
    { kind: 'look-up-flow' },
    { kind: 'wait', until: now + Math.max(settings.pollMs, ageMs) },
  ];
  // An event may come before the answer that names its code; later than this nobody will.
  return ageMs < settings.noteTimeoutMs ? looks : [{ kind: 'alarm', code: 'event-unclaimed' }, ...looks];
}

/** Alarms of one step, raised once by whoever folds it. */
export function alarmsOf(before: FlowState | null, after: FlowState, settings: FlowSettings): readonly FlowAlarm[] {
  const alarms: FlowAlarm[] = [];
  if (after.operation?.status === 'unclear' && before?.operation?.status !== 'unclear')
    alarms.push('operation-unclear');
  // It was done while somebody cancelled it.
  else if (before?.phase === 'cancelled' && after.phase === 'included') alarms.push('operation-unclear');
  const isNew = after.note !== null && before?.note === null && doubtsOf(after, settings).length > 0;
  const isOtherwise = after.noteAgain != null && after.noteAgain !== before?.noteAgain;
  if (isNew || isOtherwise) alarms.push('note-differs');
  if (after.lateNote != null && after.lateNote.at !== before?.lateNote?.at) alarms.push('note-unexpected');
  const isDenied = denialOf(after) !== null && denialOf(after)?.at !== (before && denialOf(before)?.at);
  const isToldAnew = after.errorsIn !== before?.errorsIn;
  const isDeniedToo =
    denialOf(after) !== null && isToldAnew && [toldBoth, toldNoOfContract].some((each) => after.errors.includes(each));
  const { status, reason } = after.operation ?? {};
  const isContradiction = status === 'unclear' && reason === toldBoth && isToldAnew;
  if (isDenied || isDeniedToo || isContradiction) alarms.push('success-denied');
  else if ((after.lateSuccesses ?? []).length > (before?.lateSuccesses ?? []).length) alarms.push('success-late');
  const isNamedAnew = after.otherProposals !== before?.otherProposals;
  const isSaidAnew = isNamedAnew || after.differences !== before?.differences || after.ending !== before.ending;
  const isDoubtful = after.flow === 'withdrawal' && doubtsOf(after, settings).length > 0;
  if (isDoubtful && isSaidAnew) alarms.push('proposal-differs');
  const withoutMargin = after.phase === 'withheld' && after.errors.length > 0;
  const refused =
    withoutMargin || after.phase === 'refused' || after.phase === 'endorsement-refused' || after.phase === 'failed';
  if (refused && before?.phase !== after.phase && !isDenied) alarms.push('flow-refused');
  return alarms;
}
