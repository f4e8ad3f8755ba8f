/** What `lance review` says in English. */
import type { reviewPt } from './review-texts-pt.ts';
import type { Widened } from './texts.ts';

export const reviewEn: Widened<typeof reviewPt> = {
  help: {
    review: 'requests that wait for a person before a bid, because rules say so',
    list: 'those that wait now, the latest first',
    decide: 'the answer for one of them; the first answer counts',
    queue: 'only those of this queue',
    bid: 'it is decided again, and bid for where rules, limits and caps still allow it',
    pass: 'it is not bid for',
  },
  oneOfTwo: 'Write --bid or --pass.',
  queueForm:
    'A queue is written with a to z without accents, digits and hyphens, a letter first, at most 40 characters, like large-amounts.',
  header: ['request', 'queue', 'until', 'otherwise', 'amount', 'terms', 'rules'],
  empty: 'No request waits for a review.',
  decisions: { bid: 'bid', pass: 'no bid' },
  done: {
    bid: (id) => `Answered. Request ${id} is decided again: lance bids show ${id}`,
    pass: (id) => `Answered. Request ${id} is not bid for.`,
  },
  stored: (id) =>
    `Recorded. No desk runs; the next one that starts decides request ${id} with the first answer that was recorded in time, which may be an earlier one.`,
  late: (id) =>
    `The answer for request ${id} is recorded, and the desk has not taken it up in time: see lance bids show ${id}.`,
  notWaiting: (id, state) => `Request ${id} does not wait for a review: ${state}.`,
  answered: (id, by, decision) =>
    `The review of request ${id} was answered by ${by}: ${decision}. The first answer counts.`,
  over: (id, until, decision) =>
    `The time to answer for request ${id} ended at ${until}; without an answer in time it is: ${decision}.`,
  overtaken: (id, state) => `Another record came first: request ${id} is ${state}, and the answer changed nothing.`,
  title: 'Review by a person',
  asked: 'asked at',
  rules: 'rules',
  until: 'answer until',
  otherwise: 'without an answer',
  answer: 'answer',
  said: (decision, by, reason) => `${decision}, by ${by}: ${reason}`,
  waits: 'nobody has answered yet',
  unanswered: (decision) => `nobody answered in time, so: ${decision}`,
  noTime: (decision) => `no time was left to ask, so: ${decision}`,
  historyAsked: (queue, until, decision) => `${queue}, until ${until}; otherwise ${decision}`,
};
