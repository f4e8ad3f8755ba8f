/**
 * The terms of this code base. Other files use them in this sense; Portuguese stays in `wire/`.
 *
 * - **request**: a worker's request for a loan, put to auction; known by its `requestId` alone.
 * - **batch**: requests auctioned together; a webhook announces them, another tells how it ended.
 * - **link**: the employment link between a worker and an employer; its **detail** carries the **margin**.
 * - **margin**: the part of the salary that may be discounted each month; an instalment has to fit into it.
 * - **offer**: rate, amount and term that the desk has chosen; it becomes a **bid** when its bytes are sent.
 * - **claim**: the first record that fixes the exact bytes to send for a request. There is one claim, ever.
 * - **pass**: the decision not to bid, always with one **code**.
 * - **exposure**: money promised but not yet settled, reserved under **caps**.
 * - **win curve**: for each rate, the probability that no rival is better.
 * - **segment**: a group of requests that compete alike; statistics are kept per segment and its parents.
 * - **rule set**: the risk team's files at one moment, named by their hash.
 * - **desk**: the loop that turns records into bids. **Door**: where webhooks become records.
 */

/** Decimal digits exactly as the service wrote them; a JSON number on the wire where the contract says so. */
export type RequestId = string;
/** Milliseconds since 1970-01-01T00:00:00Z. Zones are handled in `wire`. */
export type EpochMs = number;
/** Integer cents of a real. */
export type AmountCents = number;
/** Integer hundredths of a percent per month: 332 is 3.32 % a month. */
export type RateHundredths = number;
/** Calendar day in São Paulo, `YYYY-MM-DD`. */
export type Day = string;

/** Lowest and highest rate of a bid: the contract asks for more than 0.01 and less than 4.98 (incluir-lance). */
export const minRateHundredths: RateHundredths = 2;
export const maxRateHundredths: RateHundredths = 497;
/** The cell of a histogram that stands for "no rival bid at all". */
export const noRivalCell = 498;
/** Cells 0 … 498; 0 and 1 hold rival rates below the grid. */
export const cellCount = 499;
