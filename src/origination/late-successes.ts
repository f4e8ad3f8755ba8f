/**
 * What counts as not done and is told later to be done, or was shown to be done and is denied by a person: an endorsement under a code that the flow has given up, or an answer to bytes
 * that somebody said were not taken, or that were given up for another contract. Nothing more is lent before a person has settled it. Pure.
 */
import { isKnown, person } from '../bidding/rule-book.ts';
import type { FlowAsked, FlowBreach, FlowOperation, FlowStep, FlowTold } from '../domain/flow-records.ts';
import type { FlowState, LateSuccess, OperationGivenUp, SealedWords } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { isSameCode } from '../domain/request-codes.ts';
import { stray } from './fold-steps.ts';
import { toldNothing } from './transitions.ts';

/** Operations that lend or pay once more, or make another contract, where they are done once more. */
const lends: ReadonlySet<FlowOperation> = new Set(['contract', 'renegotiation', 'endorsement', 'inclusion', 'splits']);
/** Done while another one waits to be prepared, they would make a second contract. */
const generates: ReadonlySet<FlowStep | FlowOperation> = new Set(['contract', 'renegotiation'] as const);

/** Of many the oldest go first. */
const mostKept = 20;

/** Remembers the operation of the state before, where the next state has another one, or has lost the code or the note of its endorsement. */
export function withGivenUp(before: FlowState, next: FlowState): FlowState {
  const left = inFlight(before);
  if (left === null) return next;
  const isStill = next.operation?.intent?.intentId === left.intentId;
  const hasCode = before.endorsementCode === null || next.endorsementCode === before.endorsementCode;
  // What is known to be done is told again at most; of an endorsement somebody may learn that it was not.
  const isDone = left.operation !== 'endorsement' && before.operation?.status === 'done';
  const hasNote = left.note === null || next.note === before.note;
  if ((isStill && hasCode && hasNote) || isDone) return next;
  const known = next.operationsGivenUp ?? [];
  if (known.some(({ intentId }) => intentId === left.intentId)) return next;
  const isKnownCode = known.some(({ code }) => code !== null && code === left.code);
  const given = isKnownCode ? { ...left, code: null } : left;
  return { ...next, operationsGivenUp: [...known, given].slice(-mostKept) };
}

/** The operation that the flow is at, or was at last, where it lends. */
function inFlight(state: FlowState): OperationGivenUp | null {
  const { operation, endorsementCode, note, requestCode, generatedAt, expected } = state;
  if (operation?.intent == null || !lends.has(operation.operation)) return null;
  const named = { operation: operation.operation, intentId: operation.intent.intentId };
  if (operation.operation !== 'endorsement') return { ...named, code: null, note: null };
  const withoutBytes = { ...operation, intent: { ...operation.intent, sealedBody: '' } };
  return { ...named, code: endorsementCode, note, of: { operation: withoutBytes, requestCode, generatedAt, expected } };
}

/** An answer to bytes that the flow has given up, under the code that it names. Told again it is nothing new. */
export function takeLateAnswer(state: FlowState, at: EpochMs, intentId: string, code: string | null): FlowState {
  const own = inFlight(state);
  const given = (state.operationsGivenUp ?? []).find((each) => each.intentId === intentId);
  const late = given ?? (own?.intentId === intentId ? own : undefined);
  const isTold = late?.code === code && (code !== null || isSettledFor(late, 'success'));
  if (late === undefined || isTold) return stray(state);
  const isFound = late.operation === 'endorsement' || generates.has(late.operation);
  const codes = isFound && code !== null ? [...new Set([...state.codes, code])] : state.codes;
  return marked({ ...state, codes }, { ...late, code: code ?? late.code, at });
}

/** An event of an endorsement that no transition of the flow takes. Words that show nothing are a mark too, for they may be a success. */
export function takeLateEvent(
  state: FlowState,
  { at, requestCode, shows: shown, saysDone, endorses }: FlowTold,
  errorsIn: SealedWords,
): FlowState {
  const shows = saysDone ? 'success' : shown;
  const own = inFlight(state);
  // Under the code of a contract that was given up it is about that one's endorsement.
  const isOf = ({ operation, code, of }: OperationGivenUp) =>
    operation === 'endorsement' &&
    (isSameCode(code ?? '', requestCode) || (endorses === true && isSameCode(of?.requestCode ?? '', requestCode)));
  const late = (state.operationsGivenUp ?? []).find(isOf) ?? (own !== null && isOf(own) ? own : undefined);
  if (late === undefined || isSettledFor(late, shows)) return stray(state);
  if (shows === 'success') return marked(state, { ...late, at });
  // Beside what stands there already, whose words stay.
  const told = { errors: [...new Set([...state.errors, toldNothing])], errorsIn: state.errorsIn ?? errorsIn };
  return marked({ ...state, ...told }, { ...late, at, unshown: true });
}

/** Who settled words that showed nothing, or that an earlier version did not tell from others, has said nothing of a success that is shown later. */
function isSettledFor({ isSettled, isSettledShown }: OperationGivenUp, shows: FlowTold['shows']): boolean {
  return isSettled === true && (isSettledShown === true || shows !== 'success');
}

function marked(state: FlowState, told: LateSuccess): FlowState {
  const before = state.lateSuccesses ?? [];
  const { isSettled: _isSettled, isSettledShown: _isShown, isSettledUnshown: _isUnshown, ...late } = told;
  const { at: _, unshown, ...given } = late;
  const others = (state.operationsGivenUp ?? []).filter(({ intentId }) => intentId !== late.intentId);
  const known = { ...stray(state), operationsGivenUp: [...others, given].slice(-mostKept) };
  const earlier = before.find(({ intentId }) => intentId === late.intentId);
  if (earlier === undefined) return { ...known, lateSuccesses: [...before, late] };
  const { denied } = earlier;
  const isFirst = denied?.isOfEarlier === true && !denied.isTold;
  // Shown after all; or told beside the denial of an earlier version, after which it stands alone.
  if (!isFirst && (unshown || !earlier.unshown)) return known;
  const mark = denied === undefined ? late : { ...late, denied: { ...denied, isTold: true as const } };
  return { ...known, lateSuccesses: before.map((each) => (each === earlier ? mark : each)) };
}

/** The one that a person settles next: one that somebody denies before all others, as it bars most; null: there is none. */
export function lateSuccessOf(state: Pick<FlowState, 'lateSuccesses'>): LateSuccess | null {
  return denialOf(state) ?? state.lateSuccesses?.[0] ?? null;
}

/** Steps and operations after which a loan is paid out, or more of it. */
const paysOut: ReadonlySet<FlowStep | FlowOperation> = new Set([
  ...(['sign', 'endorsement', 'inclusion', 'splits', 'signers', 'finalisation'] as const),
]);

/** Steps and operations after which a contract that was shown to be endorsed would be lent once more. */
const lendsOnceMore: ReadonlySet<FlowStep | FlowOperation> = new Set([
  ...(['sign', 'regenerate', 'cancel', 'contract', 'endorsement'] as const),
]);

/** Of a generation that was taken and whose note has not come, the order is not sent again by `amend` either. */
function isBarredBy({ operation }: LateSuccess, what: FlowStep | FlowOperation): boolean {
  return lendsOnceMore.has(what) || (operation === 'renegotiation' && (what === 'amend' || what === 'renegotiation'));
}

/** What has to be settled before a step or an operation; null: nothing. */
export function unsettledBefore(state: FlowState, what: FlowStep | FlowOperation): LateSuccess | null {
  const denied = denialOf(state);
  if (denied !== null && isBarredBy(denied, what)) return denied;
  if (paysOut.has(what)) return lateSuccessOf(state);
  const ofGeneration = () => state.lateSuccesses?.find(({ operation }) => generates.has(operation)) ?? null;
  return generates.has(what) ? ofGeneration() : null;
}

/** `mayTakeOver`: the step confirm would be taken where the flow stands. */
export function successSettled(
  { operation, code, unshown, denied, of }: LateSuccess,
  mayTakeOver: boolean,
): FlowBreach {
  const named = `${operation}${code === null ? '' : ` (${code})`}`;
  if (denied !== undefined && operation === 'renegotiation') {
    const problem = `the service took this operation, its note has not come, and ${denied.by} says that nothing came of it: ${named}. Find out there: another one would be a second loan. If it stands there, leave it: its note is still taken; once it is known not to stand, another person than ${denied.by} takes the step accept with a reason, with a token or a log-in of their own`;
    return { rule: 'success-settled', field: 'step', problem };
  }
  if (denied !== undefined) {
    const shown =
      of?.operation.status === 'done' && of.operation.toldDone === false
        ? 'the service has received this endorsement, and has not shown that it was done'
        : 'it was shown that this operation was done';
    const problem = `${shown}, and ${denied.by} says that it was not: ${named}. Find out there: another one would be a second loan. If its contract is endorsed, take the step confirm; once it is undone or settled there, another person than ${denied.by} takes the step accept with a reason, with a token or a log-in of their own`;
    return { rule: 'success-settled', field: 'step', problem };
  }
  const isShown = operation === 'endorsement' && !unshown;
  const way = isShown
    ? 'a person who neither ordered the contract nor signed or confirmed it takes the step accept with a reason, with a token or a log-in of their own'
    : 'take the step accept with a reason';
  const wayOut = mayTakeOver
    ? `If its contract is endorsed, take the step confirm; once it is undone or settled there, ${way}`
    : `Once it is undone or settled there, ${way}`;
  const told = unshown
    ? 'the service told late of an operation, in words that do not show whether it was done, and it counts as not done here, or as given up'
    : 'the service told late that an operation was done that counts as not done here, or as given up';
  const problem = `${told}: ${named}. Find out there: another one would be a second loan or payment. ${wayOut}`;
  return { rule: 'success-settled', field: 'step', problem };
}

/** Of an endorsement that was shown to be done: one that nobody has settled; null: there is none. */
export function denialOf({ lateSuccesses = [] }: Pick<FlowState, 'lateSuccesses'>): LateSuccess | null {
  return lateSuccesses.find(({ denied }) => denied !== undefined) ?? null;
}

/** Whether the step is one that the fold itself takes no more: it was asked for before it was known that somebody denies a success. */
export function isHeldByDenial(state: FlowState, step: FlowStep): boolean {
  const denial = denialOf(state);
  return denial !== null && !denial.denied?.isOfEarlier && isBarredBy(denial, step);
}

/** Somebody denies what was shown: that stays a fact of the flow until the service, or a second person, says otherwise. */
export function withDenial(
  before: FlowState,
  denied: FlowState,
  { at, by, ofShown }: Pick<FlowAsked, 'at' | 'by' | 'ofShown'>,
): FlowState {
  const own = inFlight(before);
  if (own === null) return denied;
  const others = (before.lateSuccesses ?? []).filter(({ intentId }) => intentId !== own.intentId);
  const mark = { ...own, at, denied: { by, ...(ofShown ? {} : { isOfEarlier: true as const }) } };
  return { ...denied, lateSuccesses: [...others, mark] };
}

/** The same of a generation that the service took and whose note has not come: one person's word sends no second one. */
export function withNoteDenied(
  before: FlowState,
  denied: FlowState,
  { at, by }: Pick<FlowAsked, 'at' | 'by'>,
): FlowState {
  const { flowId, requestCode, generations, lateSuccesses = [] } = before;
  const named = { operation: 'renegotiation' as const, intentId: `${flowId}:note#${generations}`, code: requestCode };
  return { ...denied, lateSuccesses: [...lateSuccesses, { ...named, note: null, at, denied: { by } }] };
}

/** The person who ordered the contract, had it endorsed or confirmed the endorsement. */
export function standingForLoan({ by, steps }: Pick<FlowState, 'by' | 'steps'>): readonly string[] {
  const own = steps.filter(({ step, outcome }) => (step === 'sign' || step === 'confirm') && outcome !== 'ignored');
  return [...(by === null ? [] : [by]), ...own.map((step) => step.by)];
}

/**
 * Of one that was denied a person other than who denied it; of an endorsement that the service has shown to be done one who did not
 * stand for the loan. Each is known by a token or a log-in: a name that was typed says nothing of who typed it.
 */
export function maySettle(late: LateSuccess, who: Pick<FlowAsked, 'by' | 'via'>, state: FlowState): boolean {
  const { denied, operation, unshown } = late;
  if (denied === undefined && (operation !== 'endorsement' || unshown)) return true;
  const others = denied === undefined ? standingForLoan(state) : [denied.by];
  return isKnown(who) && !others.some((name) => person(name) === person(who.by));
}

/** Its contract counts as endorsed again; or the flow has gone on, as an earlier version let it. */
export function withoutPastDenials(state: FlowState): FlowState {
  const { lateSuccesses, phase, operation } = state;
  const isDone = ({ intentId }: LateSuccess) => phase === 'endorsed' && operation?.intent?.intentId === intentId;
  const toldBeside = (late: LateSuccess) => {
    const { denied, ...told } = late;
    return denied?.isTold && !isDone(late) ? told : [];
  };
  const isPast = (late: LateSuccess) => {
    const { denied } = late;
    if (denied === undefined) return false;
    // Its note has come, or its acknowledgement once more.
    if (late.operation === 'renegotiation') return phase === 'renegotiated' || phase === 'awaiting-note';
    if (phase === 'endorsed') return isDone(late);
    return denied.isOfEarlier === true && phase !== 'endorsement-refused';
  };
  if (!lateSuccesses?.some(isPast)) return state;
  const left = { ...state, lateSuccesses: lateSuccesses.flatMap((late) => (isPast(late) ? toldBeside(late) : late)) };
  if (phase !== 'endorsed' || operation?.status !== 'rejected') return left;
  return { ...left, operation: { ...operation, status: 'done', reason: null } };
}

/** Somebody says that it is undone, or settled otherwise. */
export function acceptLate(state: FlowState, intentId: string): FlowState {
  // Should the service still tell of its success, that is news.
  const late = state.lateSuccesses?.find((each) => each.intentId === intentId);
  const isUnshown = late?.unshown === true;
  if (late?.denied !== undefined && !isUnshown) return settleLate(state, intentId);
  const said = {
    isSettled: true as const,
    ...(isUnshown ? { isSettledUnshown: true as const } : { isSettledShown: true as const }),
  };
  const known = (state.operationsGivenUp ?? []).map((each) =>
    each.intentId === intentId ? { ...each, ...said } : each,
  );
  return settleLate({ ...state, operationsGivenUp: known }, intentId);
}

/** Nobody has to say any more what became of it. */
export function settleLate(state: FlowState, intentId: string): FlowState {
  return { ...state, lateSuccesses: (state.lateSuccesses ?? []).filter((each) => each.intentId !== intentId) };
}

/** What a flow that is begun again, or generated again, has to remember. */
export function lateOf(state: FlowState): Partial<FlowState> {
  const { operationsGivenUp, lateSuccesses, endorsementEvents } = state;
  return {
    ...(operationsGivenUp === undefined ? {} : { operationsGivenUp }),
    ...(lateSuccesses === undefined ? {} : { lateSuccesses }),
    ...(operationsGivenUp === undefined || endorsementEvents === undefined ? {} : { endorsementEvents }),
  };
}
