/** What the flows after a win need of the service: one call that sends what was prepared, and says what became of it. */
import type { AnswerOf, OperationName, OperationResult, Prepared } from '../wire/operations.ts';

export type LoanService = {
  /**
   * Sends a prepared operation. With an idempotency key an unknown answer is asked for again, with the same bytes and key,
   * as often as the settings say; without one it is sent at most once, by this call and ever. Never rejects.
   */
  perform: <N extends OperationName>(
    prepared: Prepared<N>,
    /** Asked once more right where the first byte is written; false: nothing is written. */
    mayWrite?: () => boolean,
  ) => Promise<OperationResult<AnswerOf<N>>>;
};
