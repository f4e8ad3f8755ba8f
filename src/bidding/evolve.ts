/**
 * The fold: the state of a request from its records, in log order. Pure; all business of state changes is here. Settings that it
 * needs are in the records; `earlier` stands for those of records that were written before records carried any: what the log itself
 * states (`earlier-terms.ts`).
 */

import { isDeepStrictEqual } from 'node:util';
import {
  type CapOperation,
  type CapStanding,
  capOperationOf,
  isPromised,
  isWindowKey,
  reservedKeysOf,
  windowEndOf,
} from '../domain/cap-book.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { type Addition, timeAlone } from '../domain/histogram.ts';
import type { BidOutcome, CapReservation, Offer } from '../domain/offer.ts';
import type {
  Answered,
  AuctionRecord,
  Claimed,
  ClaimTerms,
  Contemplated,
  Ended,
  FoldTerms,
  LifeRecord,
  Passed,
  Proposed,
  Requested,
  Resolved,
  Unfrozen,
} from '../domain/records.ts';
import { isSameCode } from '../domain/request-codes.ts';
import type {
  Answer,
  AuctionResult,
  Claim,
  ContradictedError,
  ExposureStatus,
  IncludedProposal,
  LaterList,
  Phase,
  RequestState,
  TimerKind,
  WinnerError,
} from '../domain/states.ts';
import { lessonsOf } from './learning.ts';
import { resultOf, resultsKey, standingKeys, unreadKeys, wonCell } from './ledger-facts.ts';
import { hasMarketFacts, marketLesson } from './market-facts.ts';
import type { ViewChange } from './ports.ts';
import { withReviewAnswered, withReviewAsked } from './review.ts';
import {
  listHashOf,
  mayHaveWon,
  namedAmong,
  readAuction,
  saysOtherwise,
  settle,
  settleByBids,
  settleByLists,
} from './settlement.ts';
import { withSourceAnswered, withSourceAsked } from './sources.ts';
import { type ExposureAction, type Trigger, transitions } from './transitions.ts';
import { problemOf } from './unprocessable.ts';

/** Statistics that nobody could assign to a segment go to the root. */
const rootSegment = 'all';
/** Statistics of own wins by the rate offered; segment keys all begin with the root's. */
export const takenKey = 'acceptance:taken';
export const declinedKey = 'acceptance:declined';

/** The contract lets a bid be valid for at most 7 days: no auction that it could win is open for longer. */
const longestValidityMs = 7 * 86_400_000;
const longestAuctionMs = longestValidityMs;
/** Of one request: each process that sends its claim adds those of its answers. */
const maxCodes = 64;
/** Stands for the id of a claim that cannot be read. */
export const unreadClaimId = 'unreadable';
/** A proposal that is valid for longer than this past its bid is a mistyped date. */
const longestProposalMs = 30 * 86_400_000;

/** Last moment of the auction as far as we know, before any allowance. */
export function deadlineOf(
  { request, windowMs }: Pick<RequestState, 'request' | 'windowMs'>,
  earlier: Pick<FoldTerms, 'windowMs'>,
): EpochMs {
  if (request === null) return 0;
  const { receivedAt } = request;
  const stated = request.closesAt === null ? null : Math.min(request.closesAt, receivedAt + longestAuctionMs);
  const closesAt = stated ?? receivedAt + (windowMs ?? earlier.windowMs);
  return request.expiresAt === null ? closesAt : Math.min(closesAt, request.expiresAt);
}

/** Folds one record in. `state` is null for a request never seen. */
export function evolve(state: RequestState | null, record: AuctionRecord, earlier: FoldTerms): RequestState {
  const known = state ?? unseen(record.requestId);
  switch (record.kind) {
    case 'unreadable':
      return freeze(known, record.at, record.problem, state !== null && awaitsClaim(known));
    case 'frozen':
      return freeze(known, record.at, record.problem, false);
    case 'unfrozen':
      return thaw(known, record, earlier);
    case 'worker-read':
      return known;
    case 'review-asked':
      return withReviewAsked(known, record);
    case 'review-answered':
      return withReviewAnswered(known, record);
    case 'source-asked':
      return withSourceAsked(known, record);
    case 'source-answered':
      return withSourceAnswered(known, record);
    case 'claimed':
      if (isBeyondRequest(known, record)) return freeze(known, record.at, beyondRequest, true);
      return live(known, record, earlier);
    default:
      return live(known, record, earlier);
  }
}

/** The first problem is kept: what came after it may follow from it. */
function freeze(state: RequestState, at: EpochMs, problem: string, mayBeClaim: boolean): RequestState {
  const frozen = state.frozen ?? { at, problem };
  return { ...state, frozen: mayBeClaim ? { ...frozen, mayBeClaim } : frozen };
}

const beyondRequest =
  'claimed: the claim offers more than was asked for, so no process of Lance wrote it; nothing is sent, and the amount asked for counts';

/**
 * No decision offers more than was asked for. A claim that does is forged or broken: what it says is believed as little as what cannot be
 * read, else one record could fill every cap.
 */
function isBeyondRequest(state: RequestState, { offer }: Claimed): boolean {
  return state.request !== null && awaitsClaim(state) && offer.amountCents > (state.request.requestedAmountCents ?? 0);
}

/** A claim may be the next record. Only the first record of a request is surely none. */
function awaitsClaim({ phase, claim }: RequestState): boolean {
  return phase === 'requested' && claim === null;
}

/**
 * A retry is the ledger's, which reads the request's records again; by itself it changes nothing. A cancelled request goes on
 * without what could not be processed: it is not bid for any more, and a claim is not sent any more. What may have been a claim
 * may have been sent, as a claim that is read may.
 */
function thaw(state: RequestState, record: Unfrozen, earlier: FoldTerms): RequestState {
  if (state.frozen === undefined) return state;
  const { action, by, reason, requestId, at } = record;
  if (action === 'retry') return { ...state, frozen: { ...state.frozen, retriedAt: at } };
  const { frozen: _, ...thawed } = state;
  const text = `frozen and cancelled by ${by}: ${reason}`;
  if (thawed.phase === 'claimed' || state.frozen.mayBeClaim) {
    const claimId = thawed.claim?.claimId ?? unreadClaimId;
    const nothing = { attempts: 0, earlierAttemptPossible: true, firstByteAt: null, response: null };
    const outcome = { kind: 'unknown', reason: text } as const;
    const answer: Answered = { kind: 'answered', requestId, at, claimId, outcome, ...nothing };
    if (awaitsClaim(thawed) || thawed.phase === 'claimed') return live(thawed, answer, earlier);
  }
  const ended = { kind: 'passed', requestId, at, code: 'internal-error', claimId: null, trace: null } as const;
  const pass: Passed = { ...ended, maybeSent: true, reasons: [{ code: ended.code, rule: null, text }] };
  return thawed.phase === 'requested' || thawed.phase === 'early-ended' ? live(thawed, pass, earlier) : thawed;
}

/** What a record comes to: the state after it, and what changes in the views. */
export type Evolved = { state: RequestState; changes: readonly ViewChange[] };

/** `evolve` with `viewChanges`. A record that nothing can be made of freezes its request, the same wherever it is folded. */
export function evolveOrFreeze(before: RequestState | null, record: AuctionRecord, earlier: FoldTerms): Evolved {
  try {
    const state = evolve(before, record, earlier);
    return { state, changes: viewChanges(before, state, record, earlier) };
  } catch (fault) {
    const problem = `${record.kind}: ${problemOf(fault)}`;
    const known = before ?? unseen(record.requestId);
    const mayBeClaim = awaitsClaim(known) && (before !== null || record.kind === 'claimed');
    return { state: freeze(known, record.at, problem, mayBeClaim), changes: [] };
  }
}

/**
 * The state after all records of a request up to a retry, read again. What earlier retries and freezes found is found again or
 * not; the changes make the views say what the state says, whatever they say now.
 */
export function evolveAgain(
  before: RequestState | null,
  history: readonly AuctionRecord[],
  retry: Unfrozen,
  earlier: FoldTerms,
): Evolved | null {
  let state: RequestState | null = null;
  for (const record of history) {
    const isMark = record.kind === 'frozen' || (record.kind === 'unfrozen' && record.action === 'retry');
    if (!isMark) ({ state } = evolveOrFreeze(state, record, earlier));
  }
  if (state === null) return null;
  if (state.frozen !== undefined) state = { ...state, frozen: { ...state.frozen, retriedAt: retry.at } };
  const isFirstRead = isClaimReadNow(before, state);
  const changes = exposureChanges(state, retry, earlier, isFirstRead);
  // What counted in its place was another amount under other keys.
  const { requestId } = state;
  return { state, changes: isFirstRead ? [{ kind: 'release', requestId }, ...changes] : changes };
}

function isClaimReadNow(before: RequestState | null, { claim }: RequestState): boolean {
  return before?.claim?.unread === true && claim !== null && !claim.unread;
}

/** The state after these records of one request, which are its first ones, as the ledger folds them. Null: there are none. */
export function evolveAll(history: readonly AuctionRecord[], earlier: FoldTerms): RequestState | null {
  let state: RequestState | null = null;
  for (const [index, record] of history.entries()) {
    const isRetry = record.kind === 'unfrozen' && record.action === 'retry';
    const again: Evolved | null =
      isRetry && (state as RequestState | null)?.frozen !== undefined
        ? evolveAgain(state, history.slice(0, index), record, earlier)
        : null;
    ({ state } = again ?? evolveOrFreeze(state, record, earlier));
  }
  return state;
}

function exposureChanges(
  state: RequestState,
  record: AuctionRecord,
  earlier: FoldTerms,
  isFirstRead: boolean,
): readonly ViewChange[] {
  const { requestId, exposure, claim } = state;
  if (claim === null || exposure === 'none') return [];
  if (exposure === 'released') return [{ kind: 'release', requestId }];
  // A claim that nobody has answered has to find room, as when it was folded first.
  const held = reserve(state, record, earlier, isFirstRead || state.phase !== 'claimed');
  if (exposure === 'held') return [held];
  const committed: ViewChange = { kind: 'commit', requestId, expiresAt: validityEnd(state, earlier) };
  return [held, committed, countUnder(state, claim, earlier)];
}

function live(known: RequestState, record: LifeRecord, earlier: FoldTerms): RequestState {
  if ((record.kind === 'contemplated' || record.kind === 'proposed') && record.sharedWith !== undefined) {
    return withUnclaimed(known, record, record.sharedWith);
  }
  const phase = phaseFor(known, record);
  const trigger = triggerOf(known, record);
  const row = trigger === null ? undefined : transitions[phase][trigger];
  let next = absorb(known, record, row !== undefined, earlier);
  if (row !== undefined) {
    const counts = row.exposure === 'hold' || row.exposure === 'commit';
    if (counts && next.claim === null) next = withFoundBid(next, record, earlier);
    next.phase = row.to;
    next.exposure = exposureAfter(next.exposure, row.exposure);
    if (row.timer !== 'keep') next.timer = timerOf(next, row.timer, record.at, earlier);
  }
  next = settleWhenKnown(next, record.at, earlier);
  return record.kind === 'resolved' && row !== undefined ? withoutUnclaimed(next, record, earlier) : next;
}

function withUnclaimed(
  state: RequestState,
  record: Contemplated | Proposed,
  sharedWith: readonly RequestId[],
): RequestState {
  const { kind, at, requestCode, errors } = record;
  const { proposalCode, proposalNumber, validUntil } = kind === 'proposed' ? record : nothingProposed;
  const event = { at, requestCode, proposalCode, proposalNumber, validUntil, errors, sharedWith };
  return { ...state, unclaimed: { ...state.unclaimed, [kind]: event } };
}

const nothingProposed = { proposalCode: null, proposalNumber: null, validUntil: null };

/**
 * A bid of ours of which the log has no claim: what was published of it says what is promised, else as much as was asked for. Ours is the
 * one that a winner event names; said by a person, the best one, which is the one that wins.
 */
function withFoundBid(state: RequestState, record: LifeRecord, earlier: FoldTerms): RequestState {
  const { auction } = state;
  const unread = unreadClaim(state, record.at, earlier);
  const published = auction?.candidates.filter((bid) => !bid.offGrid && bid.amountCents > 0) ?? [];
  const codes =
    record.kind === 'proposed' ? [record.requestCode, record.proposalCode ?? record.requestCode] : codeNamed(record);
  const named = published.filter((bid) => codes.some((code) => isSameCode(bid.bidId, code)));
  const [own] = named.length > 0 ? named : published.filter(({ position }) => position === 1);
  if (auction === null || own === undefined) return { ...state, claim: unread };
  const { rateHundredths, amountCents, installments, placedAt, position } = own;
  const { unread: _, ...claim } = unread;
  const at = placedAt ?? claim.at;
  const offer = { ...claim.offer, rateHundredths, amountCents, installments, validUntil: at + longestValidityMs };
  return { ...state, claim: { ...claim, at, offer }, auction: { ...auction, candidates: [own], position } };
}

function codeNamed(record: LifeRecord): readonly string[] {
  return record.kind === 'contemplated' ? [record.requestCode] : [];
}

/** Somebody has said how the request went on: if the worker chose it, what was kept is its own, else it is of another one. */
function withoutUnclaimed(resolved: RequestState, { as }: Resolved, earlier: FoldTerms): RequestState {
  const { unclaimed, ...state } = resolved;
  if (unclaimed === undefined || as !== 'contemplated') return state;
  const { requestId } = state;
  let next: RequestState = state;
  for (const kind of ['contemplated', 'proposed'] as const) {
    const event = unclaimed[kind];
    if (event === undefined) continue;
    const { sharedWith: _, ...told } = event;
    next = live(next, { ...told, kind, requestId, message: null }, earlier);
  }
  return next;
}

/**
 * A record that strayed in before the request leaves it as unseen as it was. What cannot be read may have been the request: a claim
 * and its answer count after it.
 */
function phaseFor({ phase, request, frozen }: RequestState, { kind }: LifeRecord): Phase | 'unseen' {
  if (phase !== 'requested' || request !== null) return phase;
  return frozen !== undefined && (kind === 'claimed' || kind === 'answered') ? phase : 'unseen';
}

function unseen(requestId: string): RequestState {
  return {
    requestId,
    phase: 'requested',
    batchId: null,
    request: null,
    sealed: null,
    rawHash: null,
    repeats: 0,
    conflicts: 0,
    claim: null,
    lateClaims: 0,
    segmentKeys: [],
    trial: null,
    pass: null,
    answer: null,
    auction: null,
    winner: null,
    resolution: null,
    exposure: 'none',
    decidedAt: null,
    timer: null,
  };
}

function triggerOf(state: RequestState, record: LifeRecord): Trigger | null {
  switch (record.kind) {
    case 'requested':
      if (state.request !== null) return null;
      return state.pass?.unread ? 'readable' : 'requested';
    case 'claimed':
      return state.claim === null ? 'claimed' : null;
    case 'passed':
      if (record.unread && state.request !== null) return null;
      if (record.claimId === null) return 'passed';
      return record.claimId === state.claim?.claimId ? 'unsent' : null;
    case 'answered':
      // Of a proposal it says nothing new.
      if (outlives(state)) return null;
      return outranks(mergedAnswer(state, record), state.answer) ? answerTrigger(mergedAnswer(state, record)) : null;
    case 'ended':
      return state.auction === null ? 'ended' : null;
    case 'contemplated':
    case 'proposed':
      if (isSurelyUnsent(state)) return null;
      if (isContradicted(state, record)) return null;
      return record.errors.length > 0 ? 'winner-error' : record.kind;
    case 'resolved':
      return isSurelyUnsent(state) ? null : resolvedTrigger(state, record);
    default:
      return record satisfies never;
  }
}

function resolvedTrigger(state: RequestState, { as, at, windowsUntil = at }: Resolved): Trigger | null {
  if (as === 'expired' && windowsUntil > at && transitions[state.phase]['resolved-over']) return 'resolved-over';
  const isOver = state.phase === 'expired' && !outlives(state);
  return isOver && (as === 'expired' || as === 'cancelled') ? null : `resolved-${as}`;
}

type WinnerEvent = Contemplated | Proposed;

/** Of each list of winner errors or proposals that a state keeps: of what is contradicted or superseded the last ones, else the first. */
const winnerWordsKept = 100;

/** The same news: an event of the other kind tells of another step. What earlier versions kept names no kind and is the same as both. */
function isSameError(known: WinnerError, { kind, requestCode, errors }: WinnerError): boolean {
  if (known.requestCode !== requestCode || !isDeepStrictEqual(known.errors, errors)) return false;
  return known.kind === undefined || kind === undefined || known.kind === kind;
}

/** This very error has been contradicted since it was first told: the service delivers its events more than once. */
function isContradicted({ resolution, winner }: RequestState, error: WinnerError): boolean {
  const contradicted = [...(resolution?.contradicts ?? []), ...(winner?.contradicts ?? [])];
  return contradicted.some((known) => isSameError(known, error));
}

/** Errors told so far that stand against a win, each once: whoever says or shows that it stands contradicts all of them. */
function errorsAgainst(state: RequestState): readonly WinnerError[] {
  const { winner, resolution } = state;
  const told = winner === null ? [] : [errorIn(winner), ...(winner.laterErrors ?? [])];
  const open: WinnerError[] = [];
  for (const error of [...told, ...(resolution?.laterErrors ?? [])]) {
    const isNews = error.errors.length > 0 && !isContradicted(state, error);
    if (isNews && !open.some((known) => isSameError(known, error))) open.push(error);
  }
  return open.slice(0, winnerWordsKept);
}

function errorIn({ kind, requestCode, errors }: WinnerError): WinnerError {
  return kind === undefined ? { requestCode, errors } : { kind, requestCode, errors };
}

/**
 * What a person says of the bid. That the win stands contradicts the errors so far, whichever event tells their words again; any other
 * word leaves them as they are.
 */
function errorsResolved(
  state: RequestState,
  { as }: Resolved,
): Pick<NonNullable<RequestState['resolution']>, 'contradicts' | 'laterErrors'> {
  const { contradicts: before = [], laterErrors = [] } = state.resolution ?? {};
  const isWin = as === 'contemplated';
  const against = errorsAgainst(state).map(({ requestCode, errors }) => ({ requestCode, errors }));
  const contradicts = isWin ? [...before, ...against].slice(-winnerWordsKept) : before;
  return {
    ...(contradicts.length === 0 ? {} : { contradicts }),
    ...(isWin || laterErrors.length === 0 ? {} : { laterErrors }),
  };
}

/**
 * The service includes the proposal after it told errors, or tells a further error of it. A proposal that had been told before is only
 * delivered again: it says nothing of the errors that came since.
 */
function winnerOf(state: RequestState, record: WinnerEvent): NonNullable<RequestState['winner']> {
  const { kind, requestCode, errors } = record;
  const { proposalCode, proposalNumber, validUntil } = kind === 'proposed' ? record : (state.winner ?? nothingProposed);
  const earlierProposals = proposalsBefore(state, record);
  const isNewProposal =
    kind === 'proposed' && errors.length === 0 && !proposalsKnown(state).some((known) => isSameProposal(known, record));
  const before = state.winner?.contradicts ?? [];
  const against = errorsAgainst(state);
  const contradicts = isNewProposal ? [...before, ...against].slice(-winnerWordsKept) : before;
  const laterErrors = isNewProposal ? [] : against.filter((known) => !isSameError(known, record));
  return {
    ...{ requestCode, proposalCode, proposalNumber, validUntil, errors },
    ...(errors.length > 0 || kind !== kindBy({ proposalCode, proposalNumber, validUntil }) ? { kind } : {}),
    ...(laterErrors.length === 0 ? {} : { laterErrors }),
    ...(contradicts.length === 0 ? {} : { contradicts }),
    ...(earlierProposals.length === 0 ? {} : { earlierProposals }),
  };
}

/** What kind of event names a proposal so, as a rule: where that is not so, or there are errors, the winner says its kind. */
function kindBy({ proposalCode, proposalNumber, validUntil }: Omit<IncludedProposal, 'requestCode'>) {
  return [proposalCode, proposalNumber, validUntil].some((each) => each !== null) ? 'proposed' : 'contemplated';
}

function withoutLaterErrors<T extends { laterErrors?: readonly WinnerError[] } | null>(said: T): T {
  if (said?.laterErrors === undefined) return said;
  const { laterErrors: _, ...rest } = said;
  return rest as T;
}

/** Included proposals that were told so far. */
function proposalsKnown({ phase, winner }: RequestState): readonly IncludedProposal[] {
  if (winner === null) return [];
  const { requestCode, proposalCode, proposalNumber, validUntil, errors, earlierProposals = [] } = winner;
  const last = { requestCode, proposalCode, proposalNumber, validUntil };
  const kind = phase === 'proposed' ? 'proposed' : (winner.kind ?? kindBy(last));
  return errors.length === 0 && kind === 'proposed' ? [...earlierProposals, last] : earlierProposals;
}

/** Those that `record` leaves behind, each once. */
function proposalsBefore(state: RequestState, record: WinnerEvent): readonly IncludedProposal[] {
  const { earlierProposals = [] } = state.winner ?? {};
  const last = proposalsKnown(state).at(earlierProposals.length);
  const isLeft = last !== undefined && !(record.errors.length === 0 && isSameProposal(last, record));
  if (!isLeft || earlierProposals.some((known) => isSameProposal(known, last))) return earlierProposals;
  return [...earlierProposals, last].slice(-winnerWordsKept);
}

function isSameProposal(known: IncludedProposal, told: IncludedProposal | WinnerEvent): boolean {
  if (!('proposalCode' in told)) return false;
  const { requestCode, proposalCode, proposalNumber, validUntil } = told;
  return isDeepStrictEqual(known, { requestCode, proposalCode, proposalNumber, validUntil });
}

/** Keeps an error that changes nothing: whoever looks at a win that failed, or was cancelled, looks at all that was said of it. */
function withLaterError(state: RequestState, record: WinnerEvent): Pick<RequestState, 'winner' | 'resolution'> {
  const { phase, winner, resolution } = state;
  const error = errorIn(record);
  if (error.errors.length === 0) return { winner, resolution };
  if (isContradicted(state, error)) {
    return { winner: toldAgain(winner, error, record.at), resolution: toldAgain(resolution, error, record.at) };
  }
  const against = errorsAgainst(state);
  const isKept = against.length < winnerWordsKept && !against.some((known) => isSameError(known, error));
  if (isKept && phase === 'winner-failed' && winner !== null) {
    return { winner: { ...winner, laterErrors: [...(winner.laterErrors ?? []), error] }, resolution };
  }
  if (isKept && phase === 'cancelled' && resolution !== null) {
    return { winner, resolution: { ...resolution, laterErrors: [...(resolution.laterErrors ?? []), error] } };
  }
  return { winner, resolution };
}

/** What keeps the error as contradicted says when it was last told again. */
function toldAgain<T extends { contradicts?: readonly ContradictedError[] } | null>(
  said: T,
  error: WinnerError,
  at: EpochMs,
): T {
  if (!said?.contradicts?.some((known) => isSameError(known, error))) return said;
  const contradicts = said.contradicts.map((known) =>
    isSameError(known, error) ? { ...known, toldAgainAt: at } : known,
  );
  return { ...said, contradicts };
}

/**
 * A rejection says only that this attempt did not land. After an attempt that may have landed it proves nothing, so the
 * bid stays unknown until the auction's end: releasing its exposure could let a second bid over a cap.
 */
function mergedAnswer(state: RequestState, record: Answered): Answer {
  const earlier = record.earlierAttemptPossible;
  const outcome = earlier ? outcomeAfterEarlier(record.outcome) : record.outcome;
  const attempts = (state.answer?.attempts ?? 0) + record.attempts;
  const presumedOurs = record.outcome.kind === 'duplicate' && earlier;
  return { outcome, presumedOurs, ...toldCodes(record.outcome, earlier), at: record.at, attempts };
}

/** Codes that exclude no other bid. */
function toldCodes(outcome: BidOutcome, earlier: boolean): Pick<Answer, 'told'> {
  const told = 'names' in outcome && (earlier || outcome.kind === 'duplicate') ? outcome.names : undefined;
  return told === undefined ? {} : { told };
}

/** The bid of the earlier attempt may be published under a code that nobody was told, so the codes of this answer exclude nothing. */
function outcomeAfterEarlier(outcome: BidOutcome): BidOutcome {
  switch (outcome.kind) {
    case 'rejected':
      return { kind: 'unknown', reason: `rejected(${outcome.code}) after an attempt that may have landed` };
    case 'unknown':
      return { kind: 'unknown', reason: outcome.reason };
    default:
      return outcome;
  }
}

function answerTrigger(answer: Answer): Trigger {
  switch (answer.outcome.kind) {
    case 'accepted':
      return 'accepted';
    case 'accepted-outside':
      return 'outside';
    case 'rejected':
      return 'rejected';
    case 'duplicate':
      return answer.presumedOurs ? 'presumed' : 'foreign';
    case 'unknown':
      return 'unknown';
    default:
      return answer.outcome satisfies never;
  }
}

/**
 * accepted > duplicate that is ours > duplicate > unknown > rejected > no answer. A rejection is the weakest: it says that its own
 * attempt did not land. Another answer shows that there was another attempt, of the next owner of the partition, say, and the
 * two may come into the log in either order.
 */
function rankOf(answer: Answer): number {
  switch (answer.outcome.kind) {
    case 'accepted':
    case 'accepted-outside':
      return 5;
    case 'duplicate':
      return answer.presumedOurs ? 4 : 3;
    case 'unknown':
      return 2;
    case 'rejected':
      return 1;
    default:
      return answer.outcome satisfies never;
  }
}

function outranks(answer: Answer, known: Answer | null): boolean {
  return known === null || rankOf(answer) > rankOf(known);
}

/** Takes up what the record says, whether or not it changes the phase. Returns a new state. */
function absorb(state: RequestState, record: LifeRecord, moved: boolean, earlier: FoldTerms): RequestState {
  const next: RequestState = { ...state };
  switch (record.kind) {
    case 'requested':
      if (next.pass?.unread && moved) {
        next.pass = null;
        next.decidedAt = null;
      }
      takeRequest(next, record);
      break;
    case 'claimed':
      if (!moved) next.lateClaims += 1;
      else {
        const { claimId, instance, at, body, offer, trace } = record;
        next.claim = { claimId, instance, at, body, offer, caps: trace.caps };
        if (record.terms !== undefined) next.claim.terms = record.terms;
        if (hasMarketFacts(trace)) next.claim.market = true;
        next.sealed = null;
        next.segmentKeys = trace.segmentKeys;
        next.trial = state.auction === null ? (trace.trial ?? null) : null;
        next.decidedAt = trace.decidedAt;
      }
      break;
    case 'passed':
      if (!moved) break;
      next.pass = { code: record.code, reasons: record.reasons, at: record.at, maybeSent: record.maybeSent ?? false };
      if (record.unread) next.pass.unread = true;
      next.sealed = null;
      next.decidedAt ??= record.trace?.decidedAt ?? record.at;
      if (record.trace !== null) {
        next.segmentKeys = record.trace.segmentKeys;
        next.trial = state.auction === null ? (record.trace.trial ?? null) : null;
      }
      break;
    case 'answered':
      if (moved) {
        next.answer = mergedAnswer(state, record);
        next.claim ??= lostClaimIn(record) ?? unreadClaim(state, record.at, earlier);
        next.sealed = null;
      }
      if (record.codes !== undefined)
        next.codes = [...new Set([...(state.codes ?? []), ...record.codes])].slice(0, maxCodes);
      break;
    case 'ended':
      takeAuction(next, record, earlier);
      break;
    case 'contemplated':
    case 'proposed':
      if (!moved) {
        Object.assign(next, withLaterError(state, record));
        break;
      }
      next.winner = winnerOf(state, record);
      // What stands against it stands there now.
      next.resolution = withoutLaterErrors(state.resolution);
      break;
    case 'resolved':
      if (moved && !(state.phase === 'expired' && record.as === 'expired')) {
        const said = { as: record.as, by: record.by, reason: record.reason, at: record.at };
        next.resolution = { ...said, ...errorsResolved(state, record) };
        if (record.as === 'contemplated') next.winner = withoutLaterErrors(state.winner);
      }
      break;
    default:
      record satisfies never;
  }
  return next;
}

/** Its bytes are lost with its record, and are never sent again. */
function lostClaimIn({ lostClaim }: Answered): Claim | null {
  return lostClaim === undefined ? null : { ...lostClaim, instance: '', body: '' };
}

/** Nobody can read the claim: the offer is at most what was asked for, and valid for at most as long as the contract lets it be. */
function unreadClaim(state: RequestState, seenAt: EpochMs, earlier: FoldTerms): Claim {
  const { request } = state;
  const at = request === null ? seenAt : Math.min(seenAt, deadlineOf(state, earlier));
  const offer: Offer = {
    ...{
      rateHundredths: 0,
      installments: 0,
      installmentCents: 0,
      financedCents: 0,
      iofCents: 0,
      cetAnnualHundredths: 0,
    },
    ...{ expectedValueCents: 0, winProbability: 0 },
    amountCents: request?.requestedAmountCents ?? 0,
    validUntil: at + longestValidityMs,
  };
  return { claimId: unreadClaimId, instance: '', at, body: '', offer, caps: [], unread: true };
}

function takeRequest(next: RequestState, record: Requested): void {
  if (next.request === null) {
    next.request = record.request;
    if (record.windowMs !== undefined) next.windowMs = record.windowMs;
    if (next.claim === null && next.pass === null) next.sealed = record.sealed;
    next.rawHash = record.rawHash;
    next.batchId ??= record.request.batchId;
    return;
  }
  if (next.rawHash === record.rawHash) next.repeats += 1;
  else next.conflicts += 1;
  // A slow append may come into the log after a faster later one: the deadline counts from the first receipt ever.
  const { receivedAt } = record.request;
  if (receivedAt < next.request.receivedAt) next.request = { ...next.request, receivedAt };
}

function takeAuction(next: RequestState, record: Ended, earlier: FoldTerms): void {
  const first = next.auction;
  if (first === null) {
    next.batchId ??= record.batchId;
    // Scored with this record, and not needed any more.
    next.trial = null;
  }
  // What surely nobody sent is not among the published bids, even where one says the same.
  const mayBeSent = next.frozen?.mayBeClaim || (next.phase === 'passed' && next.pass?.maybeSent);
  const known = mayBeSent ? (next.claim ?? unreadClaim(next, record.at, earlier)) : next.claim;
  const claim = isSurelyUnsent(next) ? null : known;
  // Of a request whose record is lost nobody knows when its auction was to end.
  const unknownEnd = (claim?.at ?? record.at) + longestAuctionMs;
  const deadlineAt = next.request === null ? unknownEnd : deadlineOf(next, earlier);
  const read = readAuction(record, claim, next.answer, deadlineAt);
  const told = claim === null ? read : { ...read, listHash: listHashOf(record.bids) };
  if (first === null) next.auction = told;
  else if (claim !== null) next.auction = withLaterList(first, { ...told, toldAt: record.at });
}

/**
 * The first list counts. One that says otherwise is kept beside it: the last one, unless by the one before our bid may have won. Where it
 * may by both, the bids by which it may have by the one before stay: an answer may name one of them.
 */
function withLaterList(first: AuctionResult, later: LaterList): AuctionResult {
  const { again } = first;
  if (!saysOtherwise(first, later)) return first;
  if (again === undefined || !mayHaveWon(again)) {
    return again !== undefined && !saysOtherwise(again, later) ? first : { ...first, again: later };
  }
  if (!mayHaveWon(later) || !saysOtherwise(again, later)) return first;
  const winning = again.candidates.filter(
    (bid) => bid.position === 1 && !later.candidates.some((other) => isDeepStrictEqual(other, bid)),
  );
  return { ...first, again: { ...later, candidates: [...later.candidates, ...winning.slice(0, maxCodes)] } };
}

/** Once our answer and the published bids are both known, in whichever order, the bid is settled. */
function settleWhenKnown(state: RequestState, at: EpochMs, earlier: FoldTerms): RequestState {
  if (state.auction === null || state.claim === null || isSurelyUnsent(state)) return state;
  // Unsent by the instance that said so: another one may have sent the claim and died before it could tell.
  const unsent = state.answer === null && (state.phase === 'passed' || state.phase === 'lost');
  const auction = matched(state.auction, state.answer);
  const again = state.auction.again && matched(state.auction.again, state.answer);
  const said = (list: Omit<AuctionResult, 'again'>) =>
    unsent ? settleByBids(list) : settle(state.claim, state.answer, list);
  const first = said(auction);
  const trigger = again === undefined ? first : settleByLists(first, said(again), again);
  // What the first list has ended only a later one begins again, and none that a person has said.
  const isEnded = state.phase === 'lost' || state.phase === 'not-landed';
  const mayMove = !isEnded || (again !== undefined && !isResolved(state));
  const row = trigger === null || !mayMove ? undefined : transitions[state.phase][trigger];
  if (row === undefined) return state;
  const next: RequestState = {
    ...state,
    auction: again === undefined ? auction : { ...auction, again },
    phase: row.to,
    exposure: exposureAfter(state.exposure, row.exposure),
  };
  if (row.timer !== 'keep') next.timer = timerOf(next, row.timer, at, earlier);
  return next;
}

/** What nobody sent, no event and no person makes a bid of. */
export function isSurelyUnsent({ phase, pass, answer }: Pick<RequestState, 'phase' | 'pass' | 'answer'>): boolean {
  return phase === 'passed' && answer === null && pass !== null && !pass.maybeSent;
}

/** Whether its end was said and not read in a list: by a person, or, of a bid that did not land, by its time that is over. */
function isResolved({ phase, resolution }: RequestState): boolean {
  return resolution !== null && (resolution.as === phase || resolution.as === 'expired');
}

/** An answer that came after the end may name our bid among the candidates kept. */
function matched<L extends Omit<AuctionResult, 'again'>>(auction: L, answer: Answer | null): L {
  const candidates = namedAmong(auction.candidates, answer);
  if (candidates === null) return auction;
  return { ...auction, candidates, position: candidates[0]?.position ?? null };
}

function exposureAfter(exposure: ExposureStatus, action: ExposureAction): ExposureStatus {
  switch (action) {
    case 'keep':
      return exposure;
    case 'hold':
      return 'held';
    case 'release':
      return exposure === 'none' ? 'none' : 'released';
    case 'commit':
      return 'committed';
    default:
      return action satisfies never;
  }
}

function timerOf(state: RequestState, due: TimerKind | null, at: EpochMs, earlier: FoldTerms): RequestState['timer'] {
  // The request cannot be read: its auction is over a window after the first record that can.
  const deadlineAt = state.request === null ? (state.claim?.at ?? at) + earlier.windowMs : deadlineOf(state, earlier);
  switch (due) {
    case null:
      return null;
    case 'deadline':
      return { at: deadlineAt, due };
    case 'result':
      return { at: deadlineAt + termsOf(state, earlier).resultTimeoutMs, due };
    case 'contemplation':
      return { at: at + termsOf(state, earlier).contemplationTimeoutMs, due };
    case 'validity':
      return { at: validityEnd(state, earlier), due };
    default:
      return due satisfies never;
  }
}

function termsOf({ claim }: RequestState, earlier: ClaimTerms): ClaimTerms {
  return claim?.terms ?? earlier;
}

/** When what we promised is surely over. A proposal ends after its bid was made, and not absurdly long after the bid's own validity. */
export function validityEnd(state: RequestState, earlier: ClaimTerms): EpochMs {
  const { claim, winner, decidedAt, request } = state;
  const madeAt = claim?.at ?? decidedAt ?? request?.receivedAt ?? 0;
  const validUntil = claim?.offer.validUntil ?? 0;
  const told = winner?.validUntil ?? validUntil;
  const latest = Math.max(madeAt, validUntil) + longestProposalMs;
  return (told <= madeAt ? validUntil : Math.min(told, latest)) + termsOf(state, earlier).graceMs;
}

/** Its time is over, and its money counts on under caps over a window of hours. */
export function outlives({ phase, exposure }: Pick<RequestState, 'phase' | 'exposure'>): boolean {
  return phase === 'expired' && exposure === 'committed';
}

/** When no window of hours counts the claim any more; `-Infinity`: it stands under none. */
export function windowsEnd({ caps }: Pick<Claim, 'caps'>): EpochMs {
  return Math.max(...reservedKeysOf(caps).map(windowEndOf), Number.NEGATIVE_INFINITY);
}

/** What one folded record changes in the views, besides the state itself. */
export function viewChanges(
  before: RequestState | null,
  after: RequestState,
  record: AuctionRecord,
  earlier: FoldTerms,
): ViewChange[] {
  const changes: ViewChange[] = [];
  const was = before?.exposure ?? 'none';
  const is = after.exposure;
  const { claim, requestId } = after;
  if (claim !== null && was !== is) {
    const expiresAt = validityEnd(after, earlier);
    if (is === 'released') {
      // Of a claim that nobody could read, the refusal may be the first that is known: nothing was reserved then.
      if (was !== 'none') changes.push({ kind: 'release', requestId });
    } else if (was === 'none' || was === 'released' || record.kind !== 'claimed')
      changes.push(reserve(after, record, earlier, record.kind !== 'claimed'));
    if (is === 'committed') changes.push({ kind: 'commit', requestId, expiresAt });
  } else if (claim !== null && is === 'held' && before?.phase === 'claimed' && after.phase !== 'claimed') {
    // Views made again may have refused what once had room: an answer shows that the bid went out, so it is held.
    changes.push(reserve(after, record, earlier, true));
  } else if (claim !== null && is === 'committed' && after.winner !== before?.winner) {
    changes.push({ kind: 'commit', requestId, expiresAt: validityEnd(after, earlier) });
  }
  if (claim !== null && before !== null && isCountedOtherwise(before, after)) {
    changes.push(countUnder(after, claim, earlier));
  }
  // Anybody who knows the webhook's address can tell of auctions: what was never asked of us is kept, and teaches no price.
  const isFirstResult = before !== null && before.request !== null && before.auction === null;
  const learnt = record.kind === 'ended' && isFirstResult ? after.auction : null;
  if (record.kind === 'ended' && learnt !== null && learnt.bestRivalCell !== null) {
    const keys = after.segmentKeys.length === 0 ? [rootSegment] : after.segmentKeys;
    const { bestRivalCell, bestRivalOffGrid, endedAt, position } = learnt;
    const trial = before?.trial ?? null;
    // Our own clock bounds it: a result ahead of its time would make all that was learnt before weigh nothing.
    const at = Math.min(endedAt ?? record.at, record.at);
    const { halfLifeMs = earlier.halfLifeMs } = record;
    const wonHundredths = position === 1 && claim !== null && !claim.unread ? claim.offer.rateHundredths : null;
    const seen = { bestRivalCell, bestRivalOffGrid, wonHundredths };
    changes.push(...lessonsOf({ segmentKeys: keys, trial, ...seen, at, halfLifeMs }));
  }
  const answer = workerAnswer(before, after);
  if (answer !== null && claim !== null && !claim.unread)
    changes.push(ownLesson(answer, [[claim.offer.rateHundredths, 1]], record.at, termsOf(after, earlier)));
  const result = before === null || resultOf(before) === null ? resultOf(after) : null;
  if (result !== null) {
    const terms = termsOf(after, earlier);
    changes.push(ownLesson(resultsKey, [[result, 1]], record.at, terms));
    const lesson = marketLesson(after, result === wonCell, record.at);
    if (lesson !== null) changes.push(ownLesson(lesson.key, lesson.additions, record.at, terms));
  }
  return changes;
}

/** What an end of our own bid teaches; it grows old with time alone. */
function ownLesson(key: string, additions: readonly Addition[], at: EpochMs, { halfLifeMs }: ClaimTerms): ViewChange {
  return { kind: 'learn', keys: [key], additions, at, halfLives: timeAlone(halfLifeMs) };
}

/** What a worker made of an offer of ours that won: known when a winner event comes, or when none came in all its validity. */
function workerAnswer(before: RequestState | null, after: RequestState): string | null {
  // What was once resolved has been counted as declined or was ended by hand; whatever is told later, it stays so.
  if (before === null || before.winner !== null || before.resolution !== null) return null;
  if (after.winner !== null) return after.winner.errors.length === 0 ? takenKey : null;
  return before.phase === 'won' && after.phase === 'expired' ? declinedKey : null;
}

/** What the record at `offset`, which led from one state to the other, does to the cap book. */
export function capOperations(
  before: RequestState | null,
  after: RequestState,
  offset: number,
): readonly CapOperation[] {
  const [was, is] = [capStandingOf(before), capStandingOf(after)];
  const operation = (state: RequestState, from: CapStanding, to: CapStanding) => {
    const { claim, requestId } = state;
    if (claim === null) return null;
    const { amountCents } = claim.offer;
    const caps = countedNow(state, claim);
    return capOperationOf(from, to, { offset, requestId, amountCents, caps });
  };
  const uncounted: CapStanding = { isCounted: false, awaitsVerdict: false };
  const { requestId, claim } = after;
  if (before !== null && claim !== null && isCountedOtherwise(before, after)) {
    const { amountCents } = claim.offer;
    const caps = countedUnder(after.request, claim).filter(({ keys }) => !isWindowKey(keys[0] ?? ''));
    const operation = { offset, requestId, amountCents, keys: reservedKeysOf(caps) };
    return [outlives(after) ? { ...operation, kind: 'release' } : { ...operation, kind: 'hold', reserved: false }];
  }
  // Read again after a freeze, a request may have lost its claim, or have one that can be read now.
  const operations =
    before !== null && isClaimReadNow(before, after)
      ? [operation(before, was, uncounted), operation(after, uncounted, is)]
      : [operation(is.isCounted || before === null ? after : before, was, is)];
  return operations.filter((each) => each !== null);
}

function countedUnder(request: RequestState['request'], claim: Claim): CapReservation[] {
  const own = claim.unread ? unreadKeys(request) : claim.caps;
  return [...own, ...standingKeys(request, claim)];
}

/** What counts under the windows of its caps alone, or did before, and counts before and after. */
function isCountedOtherwise(before: RequestState, after: RequestState): boolean {
  return isPromised(before.exposure) && isPromised(after.exposure) && outlives(before) !== outlives(after);
}

function countedNow(state: RequestState, claim: Claim): CapReservation[] {
  const caps = countedUnder(state.request, claim);
  return outlives(state) ? caps.filter(({ keys }) => isWindowKey(keys[0] ?? '')) : caps;
}

function countUnder(state: RequestState, claim: Claim, earlier: FoldTerms): ViewChange {
  const expiresAt = outlives(state) ? windowsEnd(claim) : validityEnd(state, earlier);
  return { kind: 'count-under', requestId: state.requestId, keys: reservedKeysOf(countedNow(state, claim)), expiresAt };
}

function capStandingOf(state: RequestState | null): CapStanding {
  const isCounted = state !== null && state.claim !== null && isPromised(state.exposure);
  return { isCounted, awaitsVerdict: isCounted && state.phase === 'claimed' };
}

function reserve(state: RequestState, record: AuctionRecord, earlier: FoldTerms, force: boolean): ViewChange {
  const claim = state.claim!;
  return {
    kind: 'reserve',
    requestId: state.requestId,
    at: record.at,
    amountCents: claim.offer.amountCents,
    caps: countedUnder(state.request, claim),
    expiresAt: validityEnd(state, earlier),
    force,
  };
}
