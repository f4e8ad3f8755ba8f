/** Why there was no offer, as the worker is told, in English. */
import type { OwnCode } from './worker-reasons-texts-pt.ts';

const ourFault =
  'Because of a technical problem of ours we could not make an offer in time. You may make a new request.';
const tooLate = 'The time for the request ended before we could make an offer. You may make a new request.';
const noRoom = 'We are making no more offers like this one at the moment. The decision is not about you.';
const noMatch = 'The amount or the term asked for is not among those that we offer in your case.';
const serviceFault = 'The service of Crédito do Trabalhador did not answer in time. You may make a new request.';
const notTaken = 'The service of Crédito do Trabalhador did not take our offer. You may make a new request.';

export const workerReasonsEn: Readonly<Record<OwnCode, string>> = {
  'amount-missing': 'The request came without the amount of the loan. Make a new request with the amount.',
  'term-missing':
    'The request came without the number of instalments. Make a new request with the number of instalments.',
  'margin-missing': 'We did not learn how much of your pay may be deducted, and without that we can make no offer.',
  'fact-missing': 'Something that we need to know for a decision was missing, and we did not learn it in time.',
  'authorisation-expired':
    'Your authorisation for us to look up your employment has expired or was withdrawn. Authorise it again.',
  'authorisation-missing': 'Your authorisation for us to look up your employment was missing. Authorise it.',
  'link-in-doubt': 'What we were told of your employment could not be used.',
  'link-refused': 'The service of Crédito do Trabalhador refused to tell us of your employment.',
  'margin-too-small': 'What may still be deducted from your pay carries no loan that we offer.',
  'installments-out-of-range': 'The number of instalments asked for is not among those that we offer in your case.',
  'amount-out-of-range': 'The amount asked for is not among those that we offer in your case.',
  'limits-conflict': noMatch,
  'no-admissible-rate': 'There is no rate within our limits that we could offer for this request.',
  'no-profit': 'We cannot offer this loan at a rate that we may ask for.',
  cap: noRoom,
  'cap-lowered': noRoom,
  paused: noRoom,
  'auction-ended': tooLate,
  deadline: tooLate,
  'no-send-slot': tooLate,
  overload: tooLate,
  'request-expired': tooLate,
  'request-unusable': 'The request came in a form that we could not read. Make a new request.',
  'internal-error': ourFault,
  'clock-step': ourFault,
  'clock-skew': ourFault,
  'log-changed': ourFault,
  'control-stale': ourFault,
  'rule-set-missing': ourFault,
  'views-incomplete': ourFault,
  'partitions-not-live': ourFault,
  'log-refused': ourFault,
  'claimed-before': ourFault,
  restored: ourFault,
  'service-unauthorised': ourFault,
  'service-unreachable': serviceFault,
  'service-throttled': serviceFault,
  'request-not-found': notTaken,
  'validity-too-long': notTaken,
  unclassified: notTaken,
};
