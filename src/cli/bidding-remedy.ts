/** What an operator does about the cause that keeps bids from flowing: of a log that takes nothing, by where the log is. */
import type { ClosedCause } from '../bidding/bidding-status.ts';
import type { Texts } from './texts.ts';

/** Reasons that the log on brokers gives, and a log in a file does not. */
const ofBrokers = /\b(?:Kafka|schema registry|topic)\b/i;

export function remedyOf(
  { remedies, brokersRemedy }: Texts['bidding'],
  cause: ClosedCause,
  detail: string | null,
): string {
  return cause === 'log-refused' && ofBrokers.test(detail ?? '') ? brokersRemedy : remedies[cause];
}
