/** The cause that keeps bids from flowing in words, and what an operator does about it. Some causes have several of both: the detail tells them apart. */
import type { ClosedCause } from '../bidding/bidding-status.ts';
import { recordsGone, topicsUnsafe as unsafeTopics } from '../domain/audit.ts';
import { reasonText } from './flows.ts';
import type { Texts } from './texts.ts';

/** Reasons that the log on brokers gives, and a log in a file does not. */
const ofBrokers = /\b(?:Kafka|schema registry|topic)\b/i;

/** Of a service that answers, and not as its contract says. */
const ofAnswers = /^(?:status-\d+|answer-unreadable|answer-too-large|unreadable-success)$/;

function says(detail: string | null, code: string): boolean {
  return detail?.includes(`(${code})`) === true;
}

function isAnswered(cause: ClosedCause, detail: string | null): boolean {
  return cause === 'service-unreachable' && ofAnswers.test(detail ?? '');
}

function isUnsafe(cause: ClosedCause, detail: string | null): boolean {
  return cause === 'log-refused' && says(detail, unsafeTopics);
}

export function causeText(
  { causes, answersOtherwise, topicsUnsafe }: Texts['bidding'],
  cause: ClosedCause,
  detail: string | null,
): string {
  if (isUnsafe(cause, detail)) return topicsUnsafe.cause;
  return isAnswered(cause, detail) ? answersOtherwise.cause : causes[cause];
}

export function remedyOf(
  { remedies, brokersRemedy, recordsGoneRemedy, answersOtherwise, topicsUnsafe }: Texts['bidding'],
  cause: ClosedCause,
  detail: string | null,
): string {
  if (isAnswered(cause, detail)) return answersOtherwise.remedy;
  if (isUnsafe(cause, detail)) return topicsUnsafe.remedy;
  if (cause === 'log-changed' && says(detail, recordsGone)) return recordsGoneRemedy;
  return cause === 'log-refused' && ofBrokers.test(detail ?? '') ? brokersRemedy : remedies[cause];
}

/** The detail of a cause that a person did not write, in the language asked for. What the service answered last is a code of ours. */
export function detailText(texts: Texts, detail: string): string {
  const said = reasonText(texts.flows, detail);
  return said === detail ? texts.fault(detail) : `${said} (${detail})`;
}
