/** The fold: the state of a flow from its records, in log order. Pure; all that changes a flow is here. */
import { problemOf } from '../bidding/unprocessable.ts';
import type {
  FlowAsked,
  FlowFoldTerms,
  FlowFreezeRecord,
  FlowIntended,
  FlowKind,
  FlowLifeRecord,
  FlowLinkTold,
  FlowRecord,
  FlowStarted,
  FlowTold,
} from '../domain/flow-records.ts';
import type { FlowOperationState, FlowState, SealedWords } from '../domain/flow-states.ts';
import { guidOf, isSameCode } from '../domain/request-codes.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { differencesOf } from './differences.ts';
import { attemptsOf, isTurnedAway, takeAnswer } from './fold-answers.ts';
import {
  codeOf,
  generated,
  markStep,
  move,
  signStep,
  stray,
  takeCounted,
  withdraw,
  withoutSignature,
  withProposalSettled,
} from './fold-steps.ts';
import {
  acceptLate,
  denialOf,
  lateOf,
  settleLate,
  takeLateEvent,
  withDenial,
  withGivenUp,
  withNoteDenied,
  withoutPastDenials,
} from './late-successes.ts';
import { isSameNote, noteCodes, notesToldAgain, unreadMark, withToldAgain } from './notes.ts';
import {
  allowsRecord,
  isAsOrdered,
  isMarkedShown,
  isSaidFinalised,
  isShownDone,
  isToldDone,
  isToldNo,
  mayTakeBack,
} from './steps.ts';
import {
  deniedByPerson,
  isAside,
  isFinished,
  isOperation,
  saidToExist,
  toldBoth,
  toldNo,
  toldNoOfContract,
  toldNothing,
} from './transitions.ts';

/** Flow ids of events begin with this; their request code follows. */
export const eventPrefix = 'event:';

/** `earlier`: for records of versions that recorded no terms. Null: a record of a flow that was never begun, which changes nothing. */
export function evolve(state: FlowState | null, record: FlowRecord, earlier: FlowFoldTerms): FlowState | null {
  switch (record.kind) {
    case 'unreadable':
    case 'frozen':
      return freeze(state ?? unread(record.flowId, record.at), record.at, record.problem);
    case 'unfrozen':
      return state === null ? null : thaw(state, record);
    default:
      break;
  }
  if (state === null) {
    if (record.kind === 'started') return begun(record);
    return record.kind === 'told' && record.flowId.startsWith(eventPrefix) ? held(record) : null;
  }
  const next = withoutPastDenials(withGivenUp(state, withoutMarksOfEarlier(state, fold(state, record, earlier))));
  return next === state ? state : { ...next, changedAt: Math.max(state.changedAt, record.at) };
}

/** What was told beside the note of a contract is a doubt about that one: it goes with its code. */
function withoutMarksOfEarlier({ requestCode, noteAgain, unread }: FlowState, next: FlowState): FlowState {
  if (requestCode === null || next.requestCode === null || isSameCode(requestCode, next.requestCode)) return next;
  const again = noteAgain != null && next.noteAgain === noteAgain ? { noteAgain: null } : {};
  const mark = unread != null && next.unread === unread ? { unread: null } : {};
  return { ...next, ...again, ...mark };
}

/** The first problem is kept: what came after it may follow from it. */
function freeze(state: FlowState, at: number, problem: string): FlowState {
  return state.frozen === undefined ? { ...state, frozen: { at, problem } } : state;
}

/** A flow whose beginning cannot be read: what it is, its id says. */
function unread(flowId: string, at: number): FlowState {
  const kinds: Readonly<Record<string, FlowKind>> = {
    ...{ 'c-': 'contract', 'r-': 'renegotiation', 'w-': 'withdrawal', 'q-': 'lookup' },
  };
  const flow = kinds[flowId.slice(0, 2)] ?? 'event';
  const phase = flow === 'event' ? 'unclaimed' : firstPhases[flow];
  return { ...nobody, flowId, flow, phase, startedAt: at, changedAt: at };
}

/**
 * A retry is the ledger's, which reads the flow's records again; by itself it changes nothing. A cancelled flow ends, but for an
 * operation that may have been sent: that is `unclear`, and somebody has to say what became of it.
 */
function thaw(
  state: FlowState,
  { action, at, by, reason }: Extract<FlowFreezeRecord, { kind: 'unfrozen' }>,
): FlowState {
  if (state.frozen === undefined) return state;
  if (action === 'retry') return { ...state, frozen: { ...state.frozen, retriedAt: at } };
  const { frozen: _, ...thawed } = { ...state, changedAt: Math.max(state.changedAt, at) };
  const { operation } = thawed;
  const mayBeDone = operation?.status === 'intended' || operation?.status === 'unclear';
  if (mayBeDone && !isAside(thawed)) {
    const text = `frozen and cancelled by ${by}: ${reason}`;
    const unclear = { ...thawed, operation: { ...operation, status: 'unclear' as const, retryAt: null, reason: text } };
    const marked = markStep(unclear, operation.stepId, 'unclear');
    return state.flow === 'withdrawal' ? marked : (move(marked, 'unclear') ?? marked);
  }
  const left =
    operation?.status === 'asked' || (mayBeDone && operation !== null)
      ? { ...operation, status: 'rejected' as const }
      : operation;
  const ended = markStep({ ...thawed, operation: left }, left?.stepId ?? null, 'rejected');
  if (state.flow === 'event') return { ...ended, phase: 'claimed' };
  if (isFinished(state.phase) || state.phase === 'failed') return ended;
  return withoutSignature({ ...ended, phase: 'cancelled' });
}

/** A record that nothing can be made of freezes its flow, the same wherever it is folded. */
export function evolveOrFreeze(state: FlowState | null, record: FlowRecord, earlier: FlowFoldTerms): FlowState | null {
  try {
    return evolve(state, record, earlier);
  } catch (fault) {
    const problem = `${record.kind}: ${problemOf(fault)}`;
    return freeze(state ?? unread(record.flowId, record.at), record.at, problem);
  }
}

/** The state after all records of a flow up to a retry, read again; what earlier retries and freezes found is found again or not. */
export function evolveAgain(
  history: readonly FlowRecord[],
  retry: Extract<FlowRecord, { kind: 'unfrozen' }>,
  earlier: FlowFoldTerms,
): FlowState | null {
  let state: FlowState | null = null;
  for (const record of history) {
    const isMark = record.kind === 'frozen' || (record.kind === 'unfrozen' && record.action === 'retry');
    if (!isMark) state = evolveOrFreeze(state, record, earlier);
  }
  if (state?.frozen === undefined) return state;
  return { ...state, frozen: { ...state.frozen, retriedAt: retry.at } };
}

/** The state after these records of one flow, which are its first ones, as the ledger folds them. Null: there is none. */
export function evolveAll(history: readonly FlowRecord[], earlier: FlowFoldTerms): FlowState | null {
  let state: FlowState | null = null;
  for (const [index, record] of history.entries()) {
    const isRetry = record.kind === 'unfrozen' && record.action === 'retry';
    const evolved: FlowState | null =
      isRetry && (state as FlowState | null)?.frozen !== undefined
        ? evolveAgain(history.slice(0, index), record, earlier)
        : evolveOrFreeze(state, record, earlier);
    state = evolved ?? state;
  }
  return state;
}

function fold(state: FlowState, record: FlowLifeRecord, earlier: FlowFoldTerms): FlowState {
  switch (record.kind) {
    case 'started':
      return record.again === true && state.phase === 'cancelled' ? begunAgain(state, record) : stray(state);
    case 'asked':
      return takeStep(state, record, earlier);
    case 'intended':
      return takeIntent(state, record);
    case 'withheld':
      return record.slot === nextSlot(state, record.operation)
        ? heldBack(state, record.operation, record.slot, record.breaches)
        : stray(state);
    case 'answered':
      return takeAnswer(state, record, earlier);
    case 'told':
      return takeEvent(state, record);
    case 'link-told':
      return takeLink(state, record);
    case 'proposed':
      return takeProposal(state, record);
    case 'margin-asked': {
      const code = record.requestCode ?? null;
      const marginAsks = { last: record.at, count: (state.marginAsks?.count ?? 0) + 1, code };
      if (record.refusal === null) {
        const known = code ?? (state.flow === 'lookup' ? lookupIndex(state.subject.workerKey ?? '') : null);
        const codes = known === null ? state.codes : [...new Set([...state.codes, known])];
        const asked = { ...state, marginAsks, codes };
        return state.flow === 'lookup' ? (move(asked, 'accepted') ?? stray(asked)) : asked;
      }
      const refused = move(state, 'margin-refused');
      return refused === null
        ? { ...state, marginAsks }
        : { ...refused, marginAsks, ...refusalOf(state.flow, record, record.refusal) };
    }
    case 'turned':
      return turn(state);
    case 'shown':
      return state;
    case 'claimed-by': {
      const isGivenUp = record.givenUp === true;
      const moved =
        isGivenUp && state.owner !== record.owner ? null : move(state, isGivenUp ? 'given-up' : 'claimed-by');
      return moved === null ? stray(state) : { ...moved, owner: isGivenUp ? null : record.owner };
    }
    default:
      return record satisfies never;
  }
}

/** Why the link was not asked about. Where we did not ask, a rule of ours says what to do; the service has words of its own. */
function refusalOf(
  flow: FlowKind,
  { flowId, sealedAnswer }: Extract<FlowRecord, { kind: 'margin-asked' }>,
  refusal: string,
): Pick<FlowState, 'errors' | 'errorsIn' | 'breaches'> {
  if (sealedAnswer !== undefined) {
    const errorsIn = { place: sealedPlaces.flowAnswer(flowId), sealed: sealedAnswer };
    return { errors: [refusal], errorsIn, breaches: [] };
  }
  const breaches = flow === 'lookup' && refusal === 'authorisation-missing' ? lookupUnasked : unasked[refusal];
  return { errors: [refusal], errorsIn: null, breaches: breaches ?? [] };
}

/** A lookup is not amended: it has no more to it than its order. */
const lookupUnasked: FlowState['breaches'] = [
  {
    rule: 'authorisation-given',
    field: 'authorisationNumber',
    problem:
      'nobody was asked: the first query about a worker needs the NSU of the authorisation; start another lookup with authorisationNumber',
  },
];

const unasked: Readonly<Record<string, FlowState['breaches']>> = {
  'authorisation-missing': [
    {
      rule: 'authorisation-given',
      field: 'link.authorisationNumber',
      problem:
        'nobody was asked: the first query about a worker needs the NSU of the authorisation; amend the flow with authorisationNumber',
    },
  ],
  'link-unknown': [
    {
      rule: 'link-known',
      field: 'link',
      problem: 'nobody was asked: the request names no link of the worker; amend the flow with link',
    },
  ],
};

const nobody = {
  subject: {
    requestId: null,
    workerKey: null,
    linkKey: null,
    rateLimitHundredths: null,
    closedContract: null,
    signerKeys: [],
  },
  by: null,
  key: null,
  requestHash: null,
  terms: null,
  sealed: null,
  begun: 0,
  operation: null,
  steps: [],
  proposal: null,
  marginAsks: null,
  breaches: [],
  errors: [],
  requestCode: null,
  endorsementCode: null,
  codes: [],
  generatedAt: null,
  generations: 0,
  expected: null,
  note: null,
  differences: [],
  signature: null,
  proposalCode: null,
  simulatedKey: null,
  signedKeys: [],
  situation: null,
  results: {},
  told: null,
  owner: null,
  strays: 0,
} as const;

/** Keys of earlier beginnings: the oldest go first. */
const earlierKept = 50;

const firstPhases = {
  contract: 'waiting-proposal',
  renegotiation: 'preparing',
  withdrawal: 'started',
  lookup: 'preparing',
} as const;

function begun(record: FlowStarted): FlowState {
  const { flowId, at, flow, by, key, requestHash, subject, terms, sealed, proposalCode = null, logId } = record;
  const phase = proposalCode === null ? firstPhases[flow] : 'included';
  const ofLog = logId === undefined ? {} : { logId };
  const order = { by, key, requestHash, subject, terms, sealed, proposalCode, ...ofLog };
  return { ...nobody, flowId, flow, phase, startedAt: at, changedAt: at, ...order };
}

/** What the service may still tell of the contract that was cancelled is known by its codes. */
function begunAgain(state: FlowState, record: FlowStarted): FlowState {
  const { startedAt, steps, codes, generations, strays } = state;
  const earlier = [...(state.earlier ?? []), state.key ?? ''].slice(-earlierKept);
  const notes = { ...earlierNotesOf(state), ...lateNoteOf(state), ...lateOf(state) };
  const kept = { startedAt, steps, codes, generations, strays, earlier };
  return { ...begun(record), ...notes, ...kept, orderedAt: record.at, begun: state.begun + 1 };
}

/** Nothing of before can be taken up any more. */
function lateNoteOf({ lateNote }: FlowState): Pick<FlowState, 'lateNote'> {
  return lateNote == null ? {} : { lateNote: { ...lateNote, isLast: false } };
}

function bodyOf({ requestCode, sealed }: FlowTold): SealedWords {
  return { place: sealedPlaces.callback(requestCode), sealed };
}

function held(record: FlowTold): FlowState {
  const { flowId, at, errors, note } = record;
  return {
    ...nobody,
    flowId,
    flow: 'event',
    phase: 'unclaimed',
    startedAt: at,
    changedAt: at,
    errors,
    errorsIn: bodyOf(record),
    note,
    told: record,
  };
}

/** The slot that an operation begun now would have: what was prepared for an earlier one counts no more. */
export function nextSlot(state: FlowState, operation: string): string {
  const asked = state.operation;
  if (asked?.status === 'asked') return asked.slot;
  if (state.flow === 'withdrawal') return '';
  return `${operation}#${state.begun + 1}`;
}

// --- Steps of a person ----------------------------------------------------------------------------------------------

function takeStep(state: FlowState, record: FlowAsked, earlier: FlowFoldTerms): FlowState {
  const { stepId, step, by, at, requestHash } = record;
  if (state.steps.some((known) => known.stepId === stepId)) return stray(state);
  const steps = keepLatest(state, record.stepsKept ?? earlier.stepsKept);
  const entry = (outcome: 'pending' | 'done' | 'ignored') => [...steps, { stepId, step, by, at, requestHash, outcome }];
  const takesBack = step === 'deny' && mayTakeBack(state);
  const isUnmarked = takesBack && record.ofEndorsed !== true;
  // Whoever asked it knew of no success; earlier versions wrote neither how they knew who it was nor what was shown.
  const isOutdated = step === 'deny' && record.via !== undefined && !record.ofShown && isMarkedShown(state);
  if (!allowsRecord(state, record) || isUnmarked || isOutdated) return { ...state, steps: entry('ignored') };
  if (isOperation(step)) {
    const operation: FlowOperationState = {
      operation: step,
      slot: `${step}#${state.begun + 1}`,
      status: 'asked',
      stepId,
      sealedRequest: record.sealed,
      personKeys: record.personKeys,
      ...(record.splitCents === undefined ? {} : { splitCents: record.splitCents }),
      intent: null,
      unknowns: 0,
      retryAt: null,
      reason: null,
    };
    return { ...state, steps: entry('pending'), begun: state.begun + 1, operation, breaches: [], errors: [] };
  }
  switch (step) {
    case 'amend': {
      const amended = {
        ...move(state, 'amend')!,
        steps: entry('done'),
        begun: state.begun + 1,
        breaches: [],
        errors: [],
      };
      const { terms, sealed, linkKey, personKeys } = record;
      const { subject } = state;
      const about =
        linkKey === undefined
          ? subject
          : { ...subject, linkKey, workerKey: subject.workerKey ?? personKeys[0] ?? null };
      return {
        ...amended,
        subject: about,
        terms: terms ?? state.terms,
        sealed: sealed ?? state.sealed,
        marginAsks: null,
      };
    }
    case 'sign': {
      const signed = {
        ...move(state, 'sign')!,
        steps: entry('pending'),
        begun: state.begun + 1,
        breaches: [],
        errors: [],
      };
      return { ...signed, signature: { signedAt: record.signedAt ?? at, sealed: record.sealed ?? '' } };
    }
    case 'cancel':
      return withoutSignature(withdraw({ ...move(state, 'cancel')!, steps: entry('done') }));
    case 'regenerate':
      return { ...anew(move(state, 'regenerate')!), steps: entry('done'), marginAsks: null };
    case 'accept':
      if (record.lateIntentId !== undefined) return acceptLate({ ...state, steps: entry('done') }, record.lateIntentId);
      return { ...acceptNote(state, record), steps: entry('done') };
    case 'confirm':
      if (record.lateIntentId !== undefined) return takeOver({ ...state, steps: entry('done') }, record.lateIntentId);
      if (record.corrects) return correct({ ...state, steps: entry('done') }, record);
      return confirm({ ...state, steps: entry('done') }, record);
    case 'deny': {
      const entered = { ...state, steps: entry('done') };
      // What was done before stays so in the history: it is the denial that is new.
      if (record.ofContradicted) return withDenial(state, refusedByPerson(entered), { ...record, ofShown: true });
      if (record.ofAwaited) return withNoteDenied(state, deniedAwaited(entered), record);
      if (record.ofShown && isShownDone(state)) return withDenial(state, refusedByPerson(entered), record);
      return takesBack ? withDenial(state, notEndorsed(entered), record) : deny(entered);
    }
    default:
      return step satisfies never;
  }
}

/** Old queries are forgotten first: asked again they do no harm. */
function keepLatest(state: FlowState, most: number) {
  if (state.steps.length < most) return state.steps;
  const queries = ['simulation', 'proposal', 'installments'];
  const oldest = state.steps.findIndex(({ step, outcome }) => queries.includes(step) && outcome !== 'pending');
  return oldest === -1 ? state.steps : state.steps.toSpliced(oldest, 1);
}

/** Somebody has looked: what was unclear, or refused as done already, was done. */
function confirm(state: FlowState, record: FlowAsked): FlowState {
  if (isSaidFinalised(state)) {
    const { saidFinalised: _, ...rest } = state;
    const own = state.operation?.operation === 'finalisation' ? { ...state.operation, status: 'done' as const } : null;
    const known = { ...rest, operation: own ?? state.operation, breaches: [], errors: [], errorsIn: null };
    return move(own === null ? known : markStep(known, own.stepId, 'done'), 'finalisation')!;
  }
  const operation = state.operation!;
  const told = operation.operation === 'endorsement' ? { toldDone: true } : {};
  // What is there is its own: the refusal that said so is none.
  const known = operation.reason === saidToExist ? { ...state, errors: [], errorsIn: null } : state;
  const done = markStep({ ...known, operation: { ...operation, ...told, status: 'done' } }, operation.stepId, 'done');
  if (state.flow === 'withdrawal') {
    const moved = takeCounted(move(done, operation.operation) ?? done, operation);
    if (operation.operation !== 'inclusion') return moved;
    const includedBy = operation.intent!.intentId;
    return withProposalSettled({ ...moved, proposalCode: record.requestCode, includedBy });
  }
  const moved = move(done, 'confirm') ?? done;
  if (operation.operation === 'endorsement') return { ...moved, errors: [], errorsIn: null };
  const confirmed = record.requestCode === null ? {} : { confirmedCode: record.requestCode };
  return { ...generated(moved, operation.intent!.at), ...codeOf(moved, record.requestCode), ...confirmed };
}

/** Somebody has looked: the contract that counted as given up is endorsed, and what was generated since is signed by nobody. */
function takeOver(state: FlowState, lateIntentId: string): FlowState {
  const { code, note, of } = state.lateSuccesses!.find(({ intentId }) => intentId === lateIntentId)!;
  const settled = settleLate(withoutSignature(state), lateIntentId);
  const isOwn = state.operation?.intent?.intentId === lateIntentId;
  const before = of?.operation ?? (isOwn ? state.operation : null);
  const operation = before && { ...before, toldDone: true, status: 'done' as const, retryAt: null, reason: null };
  const taken = {
    ...markStep(settled, operation?.stepId ?? null, 'done'),
    phase: 'endorsed' as const,
    operation,
    endorsementCode: code,
    breaches: [],
    errors: [],
    errorsIn: null,
  };
  const isSame = note !== null && state.note !== null && isSameNote(note, state.note);
  if (isSame || (isOwn && note === null)) return taken;
  const { notesAgain: _notes, ...rest } = taken;
  const { requestCode = null, generatedAt = null, expected = null } = of ?? {};
  const differences = note === null ? [] : differencesOf(expected, note);
  return {
    ...{ ...rest, ...earlierNotesOf(state), note, expected, differences, requestCode, generatedAt, signature: null },
    ...{ noteHolder: null, noteAgain: null, noteAccepted: null },
  };
}

/** Codes that are given up and remembered: the oldest go first. */
const codesGivenUpKept = 20;

/** The code that was confirmed is of another contract: its note is given up, and that of the right one is waited for. */
function correct(state: FlowState, record: FlowAsked): FlowState {
  if (state.flow === 'withdrawal') return correctProposal(state, record);
  const { requestCode, givesCodeUp } = record;
  const { signature: _, noteHolder: _holder, noteAgain: _again, notesAgain: _notes, unread: _unread, ...rest } = state;
  const isOther =
    givesCodeUp === true && state.requestCode !== null && !isSameCode(state.requestCode, requestCode ?? '');
  const left = isOther ? withoutCode(state, state.requestCode!) : earlierNotesOf(state);
  const known = codeOf({ ...state, ...left }, requestCode);
  const confirmed = requestCode === null ? {} : { confirmedCode: requestCode };
  // That of the other contract was forgotten when it failed.
  const generatedAt = state.generatedAt ?? state.operation?.intent?.at ?? null;
  return {
    ...{ ...rest, ...left, ...known, ...confirmed, generatedAt, phase: move(state, 'confirm')!.phase },
    ...{ note: null, differences: [], noteAccepted: null, signature: null, breaches: [], errors: [], errorsIn: null },
  };
}

/** What the service refused to say of another proposal says nothing of this one. */
function correctProposal(state: FlowState, { requestCode }: FlowAsked): FlowState {
  const { proposal: _proposal, installments: _installments, ...results } = state.results;
  const before = state.proposalCode!;
  const given = { requestCode: before, indexes: proposalIndexes(before) };
  return {
    ...{ ...state, results, proposalCode: requestCode, breaches: [], errors: [], errorsIn: null },
    codesGivenUp: [...(state.codesGivenUp ?? []), given].slice(-codesGivenUpKept),
  };
}

/** Neither the code nor the note that was told under it has ever been this flow's. */
function withoutCode(
  { codes, codesGivenUp = [], note }: FlowState,
  requestCode: string,
): Partial<FlowState> & Pick<FlowState, 'codes'> {
  const given = { requestCode, indexes: [requestCode, ...(note === null ? [] : noteCodes(note))] };
  return {
    codes: codes.filter((code) => code !== requestCode),
    codesGivenUp: [...codesGivenUp, given].slice(-codesGivenUpKept),
  };
}

/** Somebody has looked: what was unclear was not done, and is prepared anew. */
function deny(state: FlowState): FlowState {
  if (isToldNo(state)) return notEndorsed(state);
  const operation = state.operation!;
  const { turnedAwayAt: _, ...rest } = operation;
  const settled = withProposalSettled(state);
  // The service has refused it, and nothing of it is there: it stays refused.
  const refused = {
    ...settled,
    operation: { ...rest, status: 'rejected' as const, retryAt: null, reason: deniedByPerson },
  };
  const after = operation.reason === saidToExist ? move(refused, 'rejected') : null;
  if (after !== null) return markStep(after, operation.stepId, 'rejected');
  const denied: FlowState = { ...settled, operation: { ...rest, status: 'not-sent', retryAt: null } };
  return move(denied, 'deny') ?? markStep(denied, operation.stepId, 'rejected');
}

/** Somebody has looked: it is to be signed or generated again, or ended. */
function notEndorsed(state: FlowState): FlowState {
  return markStep(refusedByPerson(state), state.operation!.stepId, 'rejected');
}

/** Somebody has looked: nothing came of what the service took. Its note is still taken, should it come. */
function deniedAwaited(state: FlowState): FlowState {
  const refused = { errors: [deniedByPerson], errorsIn: null, generatedAt: null };
  const own = isAside(state)
    ? state.operation
    : { ...state.operation!, status: 'rejected' as const, reason: deniedByPerson };
  return { ...state, ...refused, phase: 'refused', operation: own };
}

function refusedByPerson(state: FlowState): FlowState {
  const { wasShown: _, ...rest } = state.operation!;
  const operation = { ...rest, toldDone: false, status: 'rejected' as const, retryAt: null, reason: deniedByPerson };
  return { ...state, operation, phase: 'endorsement-refused', errors: [deniedByPerson], errorsIn: null };
}

// --- Intents --------------------------------------------------------------------------------------------------------

function takeIntent(state: FlowState, record: FlowIntended): FlowState {
  const { intentId, instance, path, idempotencyKey, sealedBody, at, operation, slot, retry } = record;
  if (slot !== nextSlot(state, operation)) return stray(state);
  const bytes = { intentId, instance, path, idempotencyKey, sealedBody, at };
  const intent = retry === undefined ? bytes : { ...bytes, retry };
  if (state.operation?.status === 'asked') {
    const expected = record.expected ?? state.expected;
    const most = record.most === undefined ? {} : { most: record.most };
    return { ...state, expected, ...most, operation: { ...state.operation, status: 'intended', intent } };
  }
  // The table has no such operation here: prepared for where the flow stood before.
  const fits = operation === 'endorsement' ? state.phase === 'signed' : state.phase === 'preparing';
  const moved = fits ? move(state, 'intended') : null;
  if (moved === null) return stray(state);
  const sign = operation === 'endorsement' ? signStep(state) : undefined;
  const { confirmedCode, ...rest } = moved;
  const isConfirmed = operation === 'endorsement' && confirmedCode !== undefined;
  return {
    ...rest,
    ...(isConfirmed ? { confirmedCode } : {}),
    begun: state.begun + 1,
    breaches: [],
    errors: [],
    expected: record.expected ?? state.expected,
    ...(record.forgetsCode ? { endorsementCode: null } : {}),
    operation: {
      operation,
      slot,
      status: 'intended',
      stepId: sign?.stepId ?? null,
      sealedRequest: null,
      personKeys: [],
      intent,
      unknowns: 0,
      ...(operation === 'endorsement' ? { toldDone: false } : {}),
      ...sentBefore(state, operation),
      retryAt: null,
      reason: null,
    },
  };
}

/** What was turned away is sent once more: that counts on. */
function sentBefore({ operation: before }: FlowState, operation: string): Partial<FlowOperationState> {
  if (before === null || before.operation !== operation || !isTurnedAway(before)) return {};
  return { attempts: attemptsOf(before), turnedAwayAt: before.turnedAwayAt! };
}

function heldBack(state: FlowState, operation: string, slot: string, breaches: FlowState['breaches']): FlowState {
  if (state.operation?.status === 'asked') {
    const withheld = { ...state, breaches, operation: { ...state.operation, status: 'withheld' as const } };
    return markStep(withheld, state.operation.stepId, 'withheld');
  }
  const fits = operation === 'endorsement' ? state.phase === 'signed' : state.phase === 'preparing';
  const moved = fits ? move(state, 'withheld') : null;
  if (moved === null) return stray(state);
  const sign = operation === 'endorsement' ? signStep(state) : undefined;
  return markStep({ ...moved, breaches, begun: Number(slot.split('#')[1]) }, sign?.stepId ?? null, 'withheld');
}

// --- What the service tells -----------------------------------------------------------------------------------------

/** The contract that counts: its code, or, while that is not known, the proposal that the note names. */
function isOurs(state: FlowState, record: FlowTold): boolean {
  if (record.of !== state.flow) return false;
  if (state.requestCode !== null) return isSameCode(record.requestCode, state.requestCode);
  const code = record.note?.proposalCode ?? null;
  const waits = state.phase === 'generating' || state.phase === 'unclear';
  return (
    waits &&
    code !== null &&
    state.proposal !== null &&
    isSameCode(code, state.proposal.code ?? '') &&
    !state.codes.includes(record.requestCode)
  );
}

function takeEvent(before: FlowState, told: FlowTold): FlowState {
  if (tellsOfEndorsement(before, told)) return takeEndorsementEvent(before, told, true);
  const isOfOtherKind = isUnderOwnCode(before, told) && told.of !== before.flow;
  if (isUnderOwnCode(before, told) && (told.unread || !isGeneration(told.of))) return takeUnread(before, told);
  const record = isOfOtherKind ? { ...told, of: before.flow as FlowTold['of'] } : told;
  const state = record.of === before.flow ? doneAfterAll(before, record) : before;
  if (state.flow === 'event') {
    return state.phase === 'unclaimed' || state.phase === 'closed' ? takeToldAgain(state, record) : stray(state);
  }
  if (record.of === 'operation') return takeEndorsementEvent(state, record);
  if (record.of === 'link-query') {
    // Other flows ask once more by themselves.
    if (record.unread && state.flow !== 'lookup') return stray(state);
    const failed = isSameCode(record.requestCode, state.marginAsks?.code ?? '') ? move(state, 'margin-refused') : null;
    if (failed === null) return stray(state);
    if (record.unread) return { ...failed, errors: ['callback-unread'], errorsIn: null };
    return { ...failed, errors: record.errors, errorsIn: bodyOf(record) };
  }
  if (record.unread) return stray(state);
  if (!isOurs(state, record)) return takeLateNote(state, record);
  const { note, errors, holder } = record;
  if (state.note !== null && holder !== undefined) return takeNoteAgain(state, record);
  if (note === null) {
    const failed = move(state, 'note-failed');
    if (failed === null) return withNoteFailed(state, record);
    return { ...settled(failed), errors, errorsIn: bodyOf(record), generatedAt: null };
  }
  const noted = move(state, 'noted');
  if (noted === null) return takeLateNote(state, record);
  const dated = state.generatedAt === null ? generated(noted, state.operation?.intent?.at ?? record.at) : noted;
  const known = { ...settled(dated), ...codeOf(dated, record.requestCode) };
  // A note that comes with errors, under the endpoint of another kind or beside what is unread is not signed before somebody has looked.
  const unreadBefore = state.noteAgain?.unread ? state.noteAgain : null;
  const again = isOfOtherKind ? { at: record.at, note: null, unread: true as const } : unreadBefore;
  const noteAgain = errors.length > 0 ? { at: record.at, note: null } : again;
  const unread = isOfOtherKind ? { unread: { at: record.at } } : stillUnread(state);
  const doubts = holder === undefined ? {} : { noteHolder: holder, noteAgain, ...unread };
  const expected = record.reckoned === undefined ? state.expected : { ...state.expected, ...record.reckoned };
  return {
    ...known,
    note,
    ...doubts,
    expected,
    differences: differencesOf(expected, note),
    noteAccepted: null,
    errors,
    errorsIn: errors.length > 0 ? bodyOf(record) : null,
  };
}

/** What somebody said of a note that had not come, the service says too: nothing is left to be settled. */
function withNoteFailed(state: FlowState, told: FlowTold): FlowState {
  const denied = denialOf(state);
  if (state.phase !== 'refused' || denied?.operation !== 'renegotiation' || told.errors.length === 0)
    return stray(state);
  const lateSuccesses = (state.lateSuccesses ?? []).filter((late) => late !== denied);
  return { ...state, lateSuccesses, errors: told.errors, errorsIn: bodyOf(told) };
}

function isGeneration(of: FlowTold['of']): boolean {
  return of === 'contract' || of === 'renegotiation';
}

/**
 * Told under a code of its own generation: it is about its contract, whatever kind of event it says to be. Earlier versions wrote no
 * holder, and their records fold as they did.
 */
function isUnderOwnCode(
  { flow, requestCode, codes, endorsementCode, marginAsks }: FlowState,
  { of, requestCode: code, holder, unread }: FlowTold,
): boolean {
  if (!isGeneration(flow as FlowTold['of']) || holder === undefined) return false;
  const isOfOther = [endorsementCode, marginAsks?.code ?? null].some((each) => isSameCode(each ?? '', code));
  if (isGeneration(of) && !unread) return codes.some((known) => isSameCode(known, code));
  if (!isGeneration(of) && isOfOther) return false;
  return requestCode !== null && isSameCode(requestCode, code);
}

/**
 * Told of its endorsement under the code of its contract, once that was sent. Words that show nothing bar what would lend again where
 * it was refused, as all that is unread does.
 */
function tellsOfEndorsement(state: FlowState, told: FlowTold): boolean {
  if (!told.endorses || told.unread || !isUnderOwnCode(state, told)) return false;
  const isSent = state.operation?.operation === 'endorsement' && move(state, 'told-done') !== null;
  return isSent && !(state.phase === 'endorsement-refused' && told.shows === 'nothing');
}

/** Callbacks that could not be read and are remembered: the oldest go first. */
const unreadBodiesKept = 20;

/**
 * Nobody knows what it says of the contract: somebody has to look before it is signed or generated again. One that came before may be
 * delivered again much later, and changes nothing.
 */
function takeUnread(state: FlowState, { at, bodyKey }: FlowTold): FlowState {
  const ofEarlierVersion = state.noteAgain?.bodyKey;
  const before = state.unreadBodies ?? (ofEarlierVersion === undefined ? [] : [ofEarlierVersion]);
  if (bodyKey !== undefined && before.includes(bodyKey)) return stray(state);
  const unreadBodies = [...before, ...(bodyKey === undefined ? [] : [bodyKey])].slice(-unreadBodiesKept);
  const known = unreadBodies.length === 0 ? stray(state) : { ...stray(state), unreadBodies };
  const noteAgain = { at, note: null, unread: true as const };
  return { ...known, errors: ['callback-unread'], errorsIn: null, noteAgain, unread: { at }, noteAccepted: null };
}

/** What was told after it leaves it as it is; of an earlier version it is taken over. */
function stillUnread(state: FlowState): Pick<FlowState, 'unread'> {
  const unread = unreadMark(state);
  return unread === null ? {} : { unread };
}

/**
 * Its flow will be given all that the log has of it. What was told well stands for it, for then something was done; what was told
 * beside that is shown.
 */
function takeToldAgain(state: FlowState, record: FlowTold): FlowState {
  const { at, note, errors, unread } = record;
  if (state.told === null) return stray(state);
  // Of whatever kind it said to be: now it can be read.
  if (state.told.unread && note !== null) {
    const noteAgain = { at: state.told.at, note: null, unread: true as const };
    return {
      ...stray(state),
      told: record,
      note,
      errors,
      errorsIn: errors.length > 0 ? bodyOf(record) : null,
      noteAgain,
    };
  }
  if (state.told.of !== record.of) return stray(state);
  const isBetter = state.told.errors.length > 0 && errors.length === 0;
  if (isBetter) return { ...stray(state), told: record, note, errors, errorsIn: null, noteAgain: { at, note: null } };
  if (state.note === null) return stray(state);
  const known = [state.note, ...notesToldAgain(state)];
  if (note !== null && known.some((each) => isSameNote(note, each))) return stray(state);
  const notesAgain = note === null ? notesToldAgain(state) : withToldAgain(notesToldAgain(state), note);
  const noteAgain = { at, note, ...(unread ? { unread } : {}) };
  return { ...stray(state), noteAgain, ...(notesAgain.length === 0 ? {} : { notesAgain }) };
}

/** A note that comes for a contract that was turned away: it is not sent once more, whatever note it is. */
function doneAfterAll(state: FlowState, { note, holder }: FlowTold): FlowState {
  const { operation } = state;
  if (note === null || holder === undefined || operation === null || !isTurnedAway(operation)) return state;
  const unclear = { ...operation, status: 'unclear' as const, retryAt: null, reason: 'turned-away-and-noted' };
  return move({ ...state, operation: unclear }, 'unclear') ?? state;
}

/** Events of an endorsement that are remembered: the oldest go first. */
const endorsementEventsKept = 20;

/** The latest of different events counts. One that was told before may be delivered again much later, and changes nothing. */
function takeEndorsementEvent(state: FlowState, record: FlowTold, isOfContract = false): FlowState {
  const { requestCode, bodyKey, errors } = record;
  const before = state.endorsementEvents ?? [];
  const isRepeated = bodyKey !== undefined && before.includes(bodyKey);
  const isCurrent = isOfContract || isSameCode(requestCode, state.endorsementCode ?? '');
  // One that shows neither may be a success.
  const mayBeDone = record.saysDone === true || (errors.length === 0 && record.shows !== undefined);
  if (isRepeated || (!isCurrent && !mayBeDone)) return stray(state);
  const endorsementEvents = [...before, ...(bodyKey === undefined ? [] : [bodyKey])].slice(-endorsementEventsKept);
  const known = endorsementEvents.length === 0 ? state : { ...state, endorsementEvents };
  if (!isCurrent) return takeLateEvent(known, record, bodyOf(record));
  if (record.saysDone) return takeDoubt(known, record, toldBoth) ?? takeLateEvent(known, record, bodyOf(record));
  const saysNo = errors.length > 0 || record.denies === true;
  if (isOfContract && saysNo) {
    return takeDoubt(known, record, toldNoOfContract) ?? besideDenial(known, record, toldNoOfContract);
  }
  const latest = denialOf(known);
  const denial = latest !== null && isSameCode(requestCode, latest.code ?? '') ? latest : null;
  if (saysNo && record.keepsDone && (denial?.of?.operation.toldDone ?? isToldDone(state))) {
    return takeDoubt(known, record, toldBoth) ?? besideDenial(known, record, toldBoth);
  }
  if (denial !== null && saysNo) {
    const told = { errors: errors.length > 0 ? errors : [toldNo], errorsIn: bodyOf(record) };
    return { ...settleLate(known, denial.intentId), ...told };
  }
  if (errors.length === 0 && record.denies) return takeDoubt(known, record, toldNo) ?? stray(known);
  if (record.shows === 'nothing') {
    return takeDoubt(known, record, toldNothing) ?? takeLateEvent(known, record, bodyOf(record));
  }
  const isDone = errors.length === 0;
  const moved = move(known, isDone ? 'told-done' : 'told-failed');
  if (moved === null) return mayBeDone ? takeLateEvent(known, record, bodyOf(record)) : stray(known);
  const told = isDone ? withToldDone(moved) : moved;
  const settled = record.settles ? endorsementSettled(told, isDone ? 'done' : 'rejected') : told;
  // A mark of the same endorsement is settled by this.
  const { intentId = '' } = state.operation?.intent ?? {};
  const next =
    isDone && settled.lateSuccesses !== undefined ? settleLate(withoutPastDenials(settled), intentId) : settled;
  return { ...next, errors, errorsIn: bodyOf(record) };
}

function withToldDone(state: FlowState): FlowState {
  const { operation } = state;
  return operation?.operation === 'endorsement' ? { ...state, operation: { ...operation, toldDone: true } } : state;
}

/** Its words say no, or nothing that is known, and its error list is empty; or it is told under the code of the contract: somebody has to say what it is. Null: nobody waits for it. */
function takeDoubt(state: FlowState, record: FlowTold, reason: string): FlowState | null {
  const moved = move(state, 'told-denied');
  if (moved === null || moved.operation?.operation !== 'endorsement') return null;
  const { wasShown: _, ...rest } = moved.operation;
  // Only a no under its own code says that what was shown is none.
  const isBoth = reason === toldBoth;
  const shown = { wasShown: true as const, ...(isBoth ? { toldDone: true } : {}) };
  const isShown = isBoth || (reason !== toldNo && isShownDone(state)) ? shown : {};
  const operation = { ...rest, ...isShown, status: 'unclear' as const, retryAt: null, reason };
  const told = { errors: [reason], errorsIn: bodyOf(record) };
  return { ...markStep({ ...moved, operation }, operation.stepId, 'unclear'), ...told };
}

/** A no that does not say which endorsement it is about, or that contradicts a success: beside a denial it is shown, and settles nothing. */
function besideDenial(state: FlowState, record: FlowTold, reason: string): FlowState {
  if (denialOf(state) === null) return stray(state);
  return { ...stray(state), errors: [...new Set([...state.errors, reason])], errorsIn: bodyOf(record) };
}

/** Nobody is asked any more what became of it; that it failed may be wrong all the same. */
function endorsementSettled(state: FlowState, status: 'done' | 'rejected'): FlowState {
  const { operation } = state;
  if (operation?.operation !== 'endorsement' || operation.status !== 'unclear') return state;
  const settled = {
    ...operation,
    status,
    retryAt: null,
    ...(status === 'rejected' ? { wasUnclear: true as const } : {}),
  };
  return markStep({ ...state, operation: settled }, operation.stepId, status);
}

/** The first note stands. Whatever else is told under its code, somebody has to look at before anything is signed. */
function takeNoteAgain(state: FlowState, record: FlowTold): FlowState {
  const { at, note, errors } = record;
  if (state.phase === 'cancelled') return takeLateNote(state, record);
  const told = notesToldAgain(state);
  // One that was told before is delivered again: somebody has seen it, or has still to.
  if (note !== null && [state.note!, ...told].some((each) => isSameNote(note, each))) return stray(state);
  const notesAgain = note === null ? told : withToldAgain(told, note);
  const said = note === null ? { errors, errorsIn: bodyOf(record) } : {};
  const kept = notesAgain.length === 0 ? {} : { notesAgain };
  return { ...stray(state), ...said, ...kept, ...stillUnread(state), noteAgain: { at, note }, noteAccepted: null };
}

/**
 * A note that nobody waits for any more: it stands at the service and could be signed there, so somebody has to look. Earlier
 * versions wrote no holder, and their records fold as they did.
 */
function takeLateNote(state: FlowState, { at, of, requestCode, note, holder }: FlowTold): FlowState {
  if (note === null || holder === undefined || of !== state.flow) return stray(state);
  const { lateNote } = state;
  const known = [state.note, lateNote?.note ?? null, ...(lateNote?.others ?? [])].some(
    (other) => other !== null && isSameNote(note, other),
  );
  if (known || state.earlierNotes?.includes(note.noteNumber)) return stray(state);
  const isLast = state.requestCode !== null && isSameCode(requestCode, state.requestCode);
  const before = lateNote ?? null;
  const isSameCall = before !== null && isSameCode(before.requestCode, requestCode);
  const others = isSameCall ? withToldAgain(before.others ?? [], before.note) : [];
  const late = { at, requestCode, note, isLast, ...(others.length === 0 ? {} : { others }) };
  return { ...stray(state), lateNote: late, noteAccepted: null };
}

/** Somebody has looked: the note is taken as it is, or the late one of a cancelled flow in its place. */
function acceptNote(state: FlowState, { by, at, accepts }: Pick<FlowAsked, 'by' | 'at' | 'accepts'>): FlowState {
  const { lateNote, phase } = state;
  const late = lateNote == null ? {} : { lateNote: null, earlierNotes: withNote(state, lateNote.note.noteNumber) };
  // The note of the flow still waits to be looked at, unless nothing is doubtful about it.
  if (phase !== 'cancelled' && accepts?.includes('figures') === false) {
    const left = { ...state, ...late };
    return isAsOrdered(left) ? { ...left, noteAccepted: { by, at } } : left;
  }
  const seen = unreadMark(state) === null ? late : { ...late, unread: null };
  if (phase !== 'cancelled')
    return { ...move(withProposalSettled(state), 'accept')!, ...seen, noteAccepted: { by, at } };
  if (lateNote == null || !lateNote.isLast) return { ...state, ...seen };
  const { note, others = [] } = lateNote;
  const { notesAgain: _, ...rest } = state;
  const again = others.length === 0 ? {} : { notesAgain: others };
  const taken = { note, differences: differencesOf(state.expected, note), noteAgain: null, signature: null };
  return { ...move(rest, 'accept')!, ...again, ...seen, ...taken, noteAccepted: { by, at }, breaches: [], errors: [] };
}

function withNote({ earlierNotes = [] }: FlowState, noteNumber: string): readonly string[] {
  return [...earlierNotes, noteNumber].slice(-earlierKept);
}

/** Of a note that is given up. */
function earlierNotesOf(state: FlowState): Pick<FlowState, 'earlierNotes'> {
  if (state.note === null || state.noteHolder === undefined) {
    return state.earlierNotes === undefined ? {} : { earlierNotes: state.earlierNotes };
  }
  return { earlierNotes: withNote(state, state.note.noteNumber) };
}

/** The service may name a link otherwise than it was asked about: its margin stands under that name. */
function takeLink(state: FlowState, record: FlowLinkTold): FlowState {
  const { requestCode, workerKey, linkKey } = record;
  const { subject, marginAsks } = state;
  const isOurs = marginAsks !== null && requestCode === (marginAsks.code ?? null);
  const isWorkers = subject.workerKey === null || subject.workerKey === workerKey;
  if (!isOurs || !isWorkers) return stray(state);
  if (state.flow === 'lookup') return takeLookup(state, record);
  if (requestCode === null || linkKey === null) return stray(state);
  return subject.linkKey === linkKey ? state : { ...state, subject: { ...subject, linkKey } };
}

function takeLookup(state: FlowState, { at, workerKey, sealed }: FlowLinkTold): FlowState {
  const moved = move(state, 'link-told');
  if (moved === null) return stray(state);
  const links = { at, sealedAnswer: sealed, place: sealedPlaces.callback(workerKey) };
  return { ...moved, errors: [], results: { ...state.results, links } };
}

/** Under which a lookup is found whose query the service gave no code. */
export function lookupIndex(workerKey: string): string {
  return `lookup:${workerKey}`;
}

/** The event says what the answer did not. */
function settled(state: FlowState): FlowState {
  return state.operation === null || isAside(state)
    ? state
    : { ...state, operation: { ...state.operation, status: 'done' } };
}

function takeProposal(state: FlowState, record: Extract<FlowRecord, { kind: 'proposed' }>): FlowState {
  const moved = move(state, record.errors.length > 0 ? 'winner-failed' : 'proposed');
  if (moved === null) return stray(state);
  const { proposalCode: code, proposalNumber: number, validUntil, errors } = record;
  const codes = code === null ? state.codes : [...new Set([...state.codes, proposalIndex(code)])];
  return { ...moved, proposal: { code, number, validUntil }, codes, errors, errorsIn: null };
}

/** Under which a flow is found by its proposal: apart from request codes. */
export function proposalIndex(code: string): string {
  return `proposal:${code}`;
}

/** Also as the GUID that it is: however it is written, its other spellings find it. */
export function proposalIndexes(code: string): readonly string[] {
  return [...new Set([code, guidOf(code) ?? code])].map(proposalIndex);
}

/** What was generated and signed counts no more: all of it again, in the competence that has begun. */
function turn(state: FlowState): FlowState {
  const moved = move(state, 'turned');
  if (moved === null) return stray(state);
  return withoutSignature(anew(moved));
}

function anew({ notesAgain: _, ...state }: FlowState): FlowState {
  return {
    ...state,
    ...earlierNotesOf(state),
    ...lateNoteOf(state),
    begun: state.begun + 1,
    requestCode: null,
    endorsementCode: null,
    generatedAt: null,
    expected: null,
    note: null,
    differences: [],
    ...(state.noteHolder === undefined ? {} : { noteHolder: null }),
    ...(state.noteAgain === undefined ? {} : { noteAgain: null }),
    ...(unreadMark(state) === null ? {} : { unread: null }),
    noteAccepted: null,
    signature: null,
    breaches: [],
    errors: [],
  };
}
