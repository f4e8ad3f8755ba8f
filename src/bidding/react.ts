/**
 * What the owner of a request does next, read off its state alone. The answer is the same after a record, a timer, a
 * restart or a hand-over, so there is one way to go on and nothing to remember beside the log. Pure.
 */

import type { BiddingSettings } from '../config/sections.ts';
import { lostClaimReason } from '../domain/audit.ts';
import type { Reservation } from '../domain/cap-book.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { type PublishedBid, refusedInDoubt } from '../domain/offer.ts';
import type { Answered, AuctionRecord, LostClaim, Passed, Resolution } from '../domain/records.ts';
import type { Claim, FrozenMark, LaterList, Phase, RequestState } from '../domain/states.ts';
import type { ClosedCause } from './bidding-status.ts';
import { deadlineOf, outlives, unreadClaimId, validityEnd, windowsEnd } from './evolve.ts';
import { expiredText, isAwaitingReview, refusedText } from './review.ts';
import { differingBids, saysOtherwise, saysOtherwiseOfOurs } from './settlement.ts';

/** Pass codes of the desk itself; all others are declared by the risk team in `rules/codes.json`. */
export const deskCodes = [
  'amount-missing',
  'auction-ended',
  'authorisation-expired',
  'authorisation-missing',
  'cap',
  'cap-lowered',
  'claimed-before',
  'deadline',
  'internal-error',
  'link-in-doubt',
  'link-refused',
  'margin-missing',
  'no-send-slot',
  'overload',
  'request-unusable',
  'review-expired',
  'review-refused',
  'term-missing',
] as const;
/** Why bidding is closed is the code of each request that ends meanwhile; a process that stops ends none. */
export type DeskCode = (typeof deskCodes)[number] | Exclude<ClosedCause, 'stopping'>;

export const alarmCodes = [
  'foreign-bid',
  'rejected-unclassified',
  'result-missing',
  'winner-failed',
  'contemplation-late',
  'win-after-loss',
  'bid-after-refusal',
  'bid-differs',
  'list-differs',
  'decision-failed',
  'record-undecodable',
  'request-frozen',
  'partition-closed',
  'service-unauthorised',
  'winner-unknown',
  'code-shared',
  'clock-step',
  'clock-skew',
  'rivals-follow',
  'views-evictable',
] as const;
export type AlarmCode = (typeof alarmCodes)[number];

export type Command =
  | { kind: 'decide' }
  | { kind: 'send'; claim: Claim; deadlineAt: EpochMs }
  | { kind: 'append'; record: AuctionRecord }
  | { kind: 'wait'; until: EpochMs }
  | { kind: 'alarm'; code: AlarmCode; text?: string };

export function react(
  state: RequestState,
  reservation: Reservation,
  now: EpochMs,
  settings: BiddingSettings,
  /** After a restore: what was received before this time may have been bid for in the part of the log that was lost. */
  noBidReceivedBefore: EpochMs = 0,
): readonly Command[] {
  const { phase, timer } = state;
  if (state.frozen !== undefined) return reactToFrozen(state, state.frozen, now, settings);
  if (phase === 'requested') {
    if ((state.request?.receivedAt ?? now) < noBidReceivedBefore) {
      return [{ kind: 'append', record: restoredPass(state.requestId, now, noBidReceivedBefore) }];
    }
    return reactToRequest(state, now, settings);
  }
  if (phase === 'claimed') return reactToClaim(state, reservation, now, settings);
  if (outlives(state)) {
    const isCounted = now < windowsEnd(state.claim!);
    return isCounted ? [] : [resolved(state, 'expired', 'the windows of its caps are over', now)];
  }
  if (timer === null) return [];
  if (now < timer.at) return [{ kind: 'wait', until: timer.at }];
  switch (timer.due) {
    case 'deadline':
      return [];
    case 'result':
      return [resolved(state, 'result-missing', 'no result of the auction came in time', now)];
    case 'contemplation':
      return reactToSilence(state, now, settings);
    case 'validity':
      return [over(state, now)];
    default:
      return timer.due satisfies never;
  }
}

/** A frozen request is looked at again this often; the alarm is raised once, see `frozen-alarms.ts`. */
const frozenAlarmMs = 3_600_000;

/**
 * Nothing is decided, nothing is sent, and what was promised stays promised. It ends explained all the same: undecided at its
 * deadline as a pass, claimed as unknown, without a result as `result-missing`. A record that cannot be read may have been a claim
 * that somebody has sent: where one may have stood, it is unknown at once, so that its money counts.
 */
function reactToFrozen(
  state: RequestState,
  { at, problem, mayBeClaim }: FrozenMark,
  now: EpochMs,
  settings: BiddingSettings,
): readonly Command[] {
  const { phase, requestId, request, claim, timer } = state;
  const alarm: Command = { kind: 'alarm', code: 'request-frozen', text: problem };
  const end = (record: AuctionRecord): readonly Command[] => [alarm, { kind: 'append', record }];
  const deadlineAt = request === null ? at + settings.windowMs : deadlineOf(state, settings);
  let until = now + frozenAlarmMs;
  if (phase === 'requested' && claim === null && mayBeClaim) {
    const reason = `a record that cannot be read may have been a claim: ${problem}`;
    return end(unanswered(requestId, { claimId: unreadClaimId }, reason, now));
  }
  if (phase === 'requested') {
    if (now >= deadlineAt || state.auction !== null) {
      const text = `it was frozen until it could not be bid for any more: ${problem}`;
      return end({ ...deskPass(requestId, 'internal-error', text, now, null), maybeSent: true });
    }
    until = Math.min(until, deadlineAt);
  } else if (phase === 'claimed' && claim !== null) {
    if (now >= deadlineAt) return end(unanswered(requestId, claim, `frozen until the deadline: ${problem}`, now));
    until = Math.min(until, deadlineAt);
  } else if (timer?.due === 'result') {
    if (now >= timer.at)
      return [alarm, resolved(state, 'result-missing', 'no result of the auction came in time', now)];
    until = Math.min(until, timer.at);
  }
  return [alarm, { kind: 'wait', until }];
}

function reactToRequest(state: RequestState, now: EpochMs, settings: BiddingSettings): readonly Command[] {
  if (state.auction !== null) return [pass(state, 'auction-ended', 'the auction had ended before it was decided', now)];
  const deadlineAt = deadlineOf(state, settings);
  const { review } = state;
  if (now >= deadlineAt) {
    if (review?.answer?.decision === 'pass') return [pass(state, 'review-refused', refusedText(review), now)];
    // No process ran at the end of the wait.
    if (review?.answer === null && review.otherwise === 'pass')
      return [pass(state, 'review-expired', expiredText(review), now)];
    return [pass(state, 'deadline', 'the deadline had passed before it was decided', now)];
  }
  if (review !== undefined && isAwaitingReview(state, now))
    return [{ kind: 'wait', until: Math.min(review.until, deadlineAt) }];
  return [{ kind: 'decide' }, { kind: 'wait', until: deadlineAt }];
}

/** A claim read back is sent, whoever wrote it: the bytes are the same. */
function reactToClaim(
  state: RequestState,
  reservation: Reservation,
  now: EpochMs,
  settings: BiddingSettings,
): readonly Command[] {
  const { claim } = state;
  if (claim === null) return [];
  if (reservation === 'refused') {
    return [pass(state, 'cap', 'a cap had no room left when the claim was read back; nothing was sent', now)];
  }
  // It came in time and was not heard by the decision: the log has it before the claim, so nobody sends it.
  if (state.review?.answer?.decision === 'pass')
    return [pass(state, 'review-refused', `${refusedText(state.review)}; nothing was sent`, now)];
  const deadlineAt = deadlineOf(state, settings);
  if (now >= deadlineAt)
    return [{ kind: 'append', record: unanswered(state.requestId, claim, 'no answer before the deadline', now) }];
  return [
    { kind: 'send', claim, deadlineAt },
    { kind: 'wait', until: deadlineAt },
  ];
}

/** Position 1 and no word of it: somebody has to look, and in the end the promise runs out. */
function reactToSilence(state: RequestState, now: EpochMs, settings: BiddingSettings): readonly Command[] {
  const until = validityEnd(state, settings);
  if (now >= until) return [resolved(state, 'expired', 'never contemplated within its validity and grace', now)];
  const wait: Command = { kind: 'wait', until };
  return state.phase === 'won' ? [{ kind: 'alarm', code: 'contemplation-late' }, wait] : [wait];
}

/** A worker chose a proposal whose time is over: that nothing came of it is not known, so windows of hours count it on. */
function over(state: RequestState, now: EpochMs): Command {
  const { phase, claim, requestId } = state;
  const reason = 'the validity of the bid and the time of grace are over';
  const windowsUntil = claim === null ? now : windowsEnd(claim);
  if ((phase !== 'contemplated' && phase !== 'proposed') || windowsUntil <= now) {
    return resolved(state, 'expired', reason, now);
  }
  const record: AuctionRecord = {
    kind: 'resolved',
    requestId,
    at: now,
    as: 'expired',
    by: 'desk',
    reason,
    windowsUntil,
  };
  return { kind: 'append', record };
}

function resolved(state: RequestState, as: Resolution, reason: string, at: EpochMs): Command {
  return { kind: 'append', record: { kind: 'resolved', requestId: state.requestId, at, as, by: 'desk', reason } };
}

function pass(state: RequestState, code: DeskCode, text: string, at: EpochMs): Command {
  return { kind: 'append', record: deskPass(state.requestId, code, text, at, state.claim?.claimId ?? null) };
}

/** A pass of the desk itself, not of a rule. */
export function deskPass(requestId: string, code: DeskCode, text: string, at: EpochMs, claimId: string | null): Passed {
  const reasons = [{ code, rule: null, text }];
  return { kind: 'passed', requestId, at, code, claimId, reasons, trace: null };
}

/** A request that may have been bid for in a part of the log that was lost. `before`: as everything received before that time. */
export function restoredPass(requestId: string, at: EpochMs, before?: EpochMs): Passed {
  const all = before === undefined ? '' : `, as any that was received before ${new Date(before).toISOString()}`;
  const text = `the log was set back and restored: the request may have been bid for in the part that was lost${all}`;
  return { ...deskPass(requestId, 'restored', text, at, null), maybeSent: true };
}

/** A request whose claim the log has lost: it may have been bid for, and is not claimed again. What is kept of the claim counts. */
export function claimedBefore(requestId: string, claim: LostClaim | null, at: EpochMs): readonly [Passed, Answered] {
  const text =
    'a claim stood for the request, as the list of claims beside the log says, and the log has lost it: a bid may have been sent, and another one would have other bytes';
  const pass = deskPass(requestId, 'claimed-before', text, at, null);
  return [{ ...pass, maybeSent: true }, lostAnswer(requestId, claim, at)];
}

/** What is known of a bid whose claim stood in a part of the log that was lost: that it may have been sent. */
export function lostAnswer(requestId: string, claim: LostClaim | null, at: EpochMs): Answered {
  const answer = unanswered(requestId, { claimId: claim?.claimId ?? unreadClaimId }, lostClaimReason, at);
  return claim === null ? answer : { ...answer, lostClaim: claim };
}

/** A claim that is not sent from here on, and may have been sent by whoever wrote it. */
export function unanswered(
  requestId: string,
  { claimId }: Pick<Claim, 'claimId'>,
  reason: string,
  at: EpochMs,
): Answered {
  return {
    kind: 'answered',
    requestId,
    at,
    claimId,
    outcome: { kind: 'unknown', reason },
    attempts: 0,
    earlierAttemptPossible: true,
    firstByteAt: null,
    response: null,
  };
}

const notWon: ReadonlySet<Phase> = new Set(['passed', 'lost', 'rejected']);

/** Phases that only a published list leads to from a refusal. */
const published: ReadonlySet<Phase> = new Set(['won', 'lost', 'ambiguous']);

/** Alarms of one step, raised once by whoever folds it. */
export function alarmsOf(before: RequestState | null, after: RequestState): readonly AlarmCode[] {
  const isNewlyOther = differingKept(after).length > 0 && (before === null || differingKept(before).length === 0);
  const ofPhase = before?.phase === after.phase ? [] : alarmsOfPhase(before, after);
  const isNewlyLike = isLikePublished(after) && (before === null || !isLikePublished(before));
  return [
    ...ofPhase,
    ...(isNewlyLike ? ['bid-after-refusal' as const] : []),
    ...(isNewlyOther ? ['bid-differs' as const] : []),
    ...(isToldAnew(before, after) ? ['list-differs' as const] : []),
  ];
}

/** Refused without a code, and a published bid says the same and came in its time. The refusal counts, for it may be a rival's. */
export function isLikePublished({ phase, auction }: RequestState): boolean {
  return phase === 'rejected' && auction !== null && auction.candidates.length > 0;
}

/** A later list of published bids says otherwise of ours than the first one. */
function isToldAnew(before: RequestState | null, { auction }: RequestState): boolean {
  const later = laterOfOurs(auction);
  const known = before === null ? null : laterOfOurs(before.auction);
  return later !== null && (known === null || saysOtherwise(known, later));
}

/** The later list of published bids that says otherwise of ours than the first one; null: none does. */
function laterOfOurs(auction: RequestState['auction']): LaterList | null {
  const again = auction?.again;
  return auction && again && saysOtherwiseOfOurs(auction, again) ? again : null;
}

/** Of those that the state keeps. One that was published before its answer came is in the log alone (`late-differences.ts`). */
export function differingKept(state: RequestState): readonly PublishedBid[] {
  return differingBids(state, state.auction?.candidates ?? []);
}

function alarmsOfPhase(before: RequestState | null, after: RequestState): readonly AlarmCode[] {
  const isNewAnswer = isUnclassified(after) && (before === null || !isUnclassified(before));
  const alarms: AlarmCode[] = isNewAnswer ? ['rejected-unclassified'] : [];
  const isRefused = after.answer?.outcome.kind === 'rejected' && after.resolution === null;
  if (isRefused && published.has(after.phase)) alarms.push('bid-after-refusal');
  switch (after.phase) {
    case 'foreign-bid':
    case 'result-missing':
    case 'winner-failed':
      return [...alarms, after.phase];
    case 'contemplated':
    case 'proposed':
      return before !== null && notWon.has(before.phase) ? [...alarms, 'win-after-loss'] : alarms;
    default:
      return alarms;
  }
}

/** The service refused in words that the table of outcomes does not know. */
function isUnclassified({ answer }: RequestState): boolean {
  if (answer?.outcome.kind === 'rejected') return answer.outcome.code === 'unclassified';
  return answer?.outcome.kind === 'unknown' && answer.outcome.reason === refusedInDoubt;
}
