/** The settings that flows obey. Their defaults stand in `config/default.json`. */

export type FlowSettings = {
  /** Last day of the month that still counts for its competence; 31: calendar months. */
  cutoffDay: number;
  /** How often the ledger is asked whether the proposal was included, and the cache whether the margin came. */
  pollMs: number;
  /** A link that did not answer is asked again after this, doubled each time up to an hour: a query may be charged. */
  marginRetryMs: number;
  /** Ask the service's cache, which is cheaper than the data processor; what it says may be a day old already. */
  askCached: boolean;
  /** No credit note by then after its operation was acknowledged: an alarm. */
  noteTimeoutMs: number;
  /** Cents, or hundredths of a percent of the CET: how far a credit note may lie from our arithmetic, which is shown, without an alarm. */
  noteTolerance: number;
  /** Before what was certainly not done is tried again, and before an unknown answer is asked for again with the same key; doubled up to `retryMaxMs`. */
  retryMs: number;
  retryMaxMs: number;
  /** How often an operation with a key is sent in all, the same bytes under the same key, until somebody has to look. */
  keyedAttempts: number;
  /** How often a flow that waits for a person is looked at: its competence may have turned. */
  competenceLookMs: number;
  /** Steps kept in a flow's state; the log keeps all. */
  stepsKept: number;
  /** The service was set up for the finalisation of withdrawals. */
  finalisationEnabled: boolean;
  /** What the service's numbers for the state of a proposal mean; the contract does not show it. */
  situations: readonly { code: number; state: string }[];
};
