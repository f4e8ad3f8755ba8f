/** The cause that keeps bids from flowing in words, and what an operator does about it. Some causes have several of both: the detail tells them apart. */
import type { ClosedCause } from '../bidding/bidding-status.ts';
import { recordsGone } from '../domain/audit.ts';
import type { Texts } from './texts.ts';

/** Reasons that the log on brokers gives, and a log in a file does not. */
const ofBrokers = /\b(?:Kafka|schema registry|topic)\b/i;

/** Of a service that answers, and not as its contract says. */
const ofAnswers = /^(?:status-\d+|answer-unreadable|answer-too-large|unreadable-success)$/;

function isAnswered(cause: ClosedCause, detail: string | null): boolean {
  return cause === 'service-unreachable' && ofAnswers.test(detail ?? '');
}

export function causeText(
  { causes, answersOtherwise }: Texts['bidding'],
  cause: ClosedCause,
  detail: string | null,
): string {
  return isAnswered(cause, detail) ? answersOtherwise.cause : causes[cause];
}

export function remedyOf(
  { remedies, brokersRemedy, recordsGoneRemedy, answersOtherwise }: Texts['bidding'],
  cause: ClosedCause,
  detail: string | null,
): string {
  if (isAnswered(cause, detail)) return answersOtherwise.remedy;
  if (cause === 'log-changed' && detail?.includes(`(${recordsGone})`)) return recordsGoneRemedy;
  return cause === 'log-refused' && ofBrokers.test(detail ?? '') ? brokersRemedy : remedies[cause];
}
