/** The settings that the desk itself obeys. Their defaults stand in `config/default.json`; rules of the programme change. */

export type BiddingSettings = {
  /** Length of an auction when the request carries no closing time, counted from the first receipt. */
  windowMs: number;
  /** Taken off every deadline for clocks that differ; the service's Date header is only ± 1 s. */
  skewAllowanceMs: number;
  /** Who confirms a step of the machine's clock: the service's Date header, or nobody: then a clock that has come to rest is followed. */
  timeWitness: 'service' | 'none';
  /** How long a bid stays valid; the contract allows 7 days, less 5 minutes for clocks. */
  bidValidityMs: number;
  /** Exposure is kept this long past bid or proposal validity when nothing ended it. */
  graceMs: number;
  /** After the deadline of an answered bid: no result by then is `result-missing`. */
  resultTimeoutMs: number;
  /** After the end of a won auction: no contemplation by then raises an alarm. */
  contemplationTimeoutMs: number;
  /** Offers that may wait for a send slot. */
  queueLimit: number;
  /** Claims that may be under way at once, at most: fewer when the service is slow or fails. */
  sendLimit: number;
  batchEntries: number;
  /** Pause between two attempts of the same bytes: first, and at most. */
  retryFirstMs: number;
  retryMaxMs: number;
  /** How long a request may wait for its margin before `pass(margin-missing)`, at most until its deadline. */
  marginWaitMs: number;
  /** Ask about a worker's links for the first time without an authorisation number: `Authorisations`. For bids and contracts. */
  askWithoutAuthorisation: boolean;
  /** Queries past the service's cache on one day, by all instances together; beyond that its cache is asked instead. */
  directQueriesPerDay: number;
  /** Ask the service's cache first (cheaper) instead of the data processor. */
  askCached: boolean;
  /** Older control states close bidding. */
  controlMaxAgeMs: number;
  controlPollMs: number;
  /** How requests spread over the 24 hours of a day in São Paulo, as weights: what is left of a paced budget is for what is left of them. */
  demandByHour: readonly number[];
  /** Half-life of what an auction teaches. */
  halfLifeMs: number;
};
