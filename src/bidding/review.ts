/**
 * A person is asked before a bid, because rules say so. The last step of a decision, after price and caps: what would be no bid anyway asks
 * nobody, and an answer lifts nothing but the review. Pure.
 */
import type { EpochMs } from '../domain/glossary.ts';
import type { Reason, Review } from '../domain/offer.ts';
import type { ReviewAnswered, ReviewAsked } from '../domain/records.ts';
import type { RequestState } from '../domain/states.ts';
import { joinedReview, type ReviewWanted } from '../rules/evaluate.ts';
import type { Draft } from './decide.ts';

const minuteMs = 60_000;

/** What is asked, at most until `latestAt`; null: nobody is. */
export function reviewOf(wanted: readonly ReviewWanted[], askedAt: EpochMs, latestAt: EpochMs): Review | null {
  const joined = joinedReview(wanted);
  if (joined === null) return null;
  const { queue, minutes, otherwise } = joined;
  const until = Math.max(askedAt, Math.min(askedAt + minutes * minuteMs, latestAt));
  return { queue, rules: wanted.map(({ rule }) => rule), askedAt, until, otherwise, answer: null };
}

/** Waits for a person just now. */
export function isAwaitingReview({ review, phase }: Pick<RequestState, 'review' | 'phase'>, now: EpochMs): boolean {
  return phase === 'requested' && review !== undefined && review.answer === null && now < review.until;
}

/**
 * The draft under the review: as it is, or a pass. Rules that want one now and did not ask when the person was asked are not answered: what
 * they say otherwise holds.
 */
export function heedReview(draft: Draft, review: Review | null, wanted: readonly ReviewWanted[]): Draft {
  if (draft.kind === 'pass' || review === null) return draft;
  const { answer, rules } = review;
  const unasked = wanted.filter(({ rule }) => !rules.includes(rule));
  const reason = (code: 'review-refused' | 'review-expired', rule: string, text: string): Reason[] => [
    { code, rule, text },
  ];
  if (answer?.decision === 'pass') return passed(draft, reason('review-refused', rules[0]!, refusedText(review)));
  if (joinedReview(unasked)?.otherwise === 'pass')
    return passed(draft, reason('review-expired', unasked[0]!.rule, unaskedText));
  if (answer === null && review.otherwise === 'pass')
    return passed(draft, reason('review-expired', rules[0]!, expiredText(review)));
  return draft;
}

/**
 * Whether an offer for other facts would be sent, with the review as it was. `wanted` is what the rules ask for on those facts: where they ask
 * for nothing, nobody would have been asked; a rule that did not ask then is not answered.
 */
export function wouldBeSent(review: Review | null, wanted: readonly ReviewWanted[]): boolean {
  const wasAsked = ({ rule }: ReviewWanted) => review?.rules.includes(rule) ?? false;
  const answer = wanted.some(wasAsked) ? (review?.answer ?? null) : null;
  if (answer !== null && answer.decision === 'pass') return false;
  const unanswered = answer === null ? wanted : wanted.filter((each) => !wasAsked(each));
  return joinedReview(unanswered)?.otherwise !== 'pass';
}

function passed(draft: Extract<Draft, { kind: 'offer' }>, reasons: readonly Reason[]): Draft {
  const { trace, offerFacts } = draft;
  return { kind: 'pass', code: reasons[0]!.code, reasons, trace: { ...trace, reasons }, offerFacts };
}

const unaskedText =
  'the rule wants a review that was not asked for when the person was asked, and nobody is asked twice';

export function refusedText({ queue }: Review): string {
  return `a person of the queue ${queue} refused it`;
}

export function expiredText({ queue, askedAt, until }: Review): string {
  return until > askedAt
    ? `nobody of the queue ${queue} answered the review in time`
    : `no time was left to ask the queue ${queue}`;
}

/** Takes up that a person is asked; the first asking of an undecided request counts. */
export function withReviewAsked(state: RequestState, record: ReviewAsked): RequestState {
  if (state.phase !== 'requested' || state.request === null || state.review !== undefined) return state;
  const { queue, rules, at, until, otherwise } = record;
  return { ...state, review: { queue, rules, askedAt: at, until, otherwise, answer: null } };
}

/** Takes up an answer; the first one between the question and the end of the wait counts. An earlier time can only come from a wrong clock. */
export function withReviewAnswered(state: RequestState, record: ReviewAnswered): RequestState {
  const { review, phase } = state;
  if (phase !== 'requested' || review === undefined || review.answer !== null) return state;
  if (record.at < review.askedAt || record.at >= review.until) return state;
  const { decision, by, via, reason, at } = record;
  return { ...state, review: { ...review, answer: { decision, by, ...(via && { via }), reason, at } } };
}

/** Series of a gauge are as many as this at most. */
const queuesTold = 100;

/** How many wait in each queue of the set that decides; those that another set asked for are `other`. */
export function waitingByQueue(
  waiting: ReadonlyMap<string, number>,
  queues: readonly string[],
): Record<string, number> {
  const named = queues.slice(0, queuesTold).map((queue) => [queue, 0]);
  const told: Record<string, number> = Object.fromEntries([...named, ['other', 0]]);
  for (const [queue, count] of waiting) {
    const name = Object.hasOwn(told, queue) ? queue : 'other';
    told[name]! += count;
  }
  return told;
}
