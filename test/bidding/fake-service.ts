/** A service for desks that are not asked for links: it keeps to the time, takes every token, and answers bids as the test says. */
import assert from 'node:assert/strict';
import type { BidAnswer, Service } from '../../src/bidding/ports.ts';

/** `answer` is given the bytes of each bid that is written. */
export function createFakeService(answer: (body: string) => BidAnswer | Promise<BidAnswer>): Service {
  const unasked = async () => assert.fail('no link is asked for');
  return {
    placeBid: async ({ body, mayWrite }) =>
      mayWrite() ? answer(body) : { kind: 'not-landed', reason: 'stopped', retryAt: null },
    listLinks: unasked,
    askLinkDetail: unasked,
    refusalIn: () => 'unclassified',
    isDetailOf: () => true,
    // Measured, so not whole.
    networkP99Ms: () => 40.25,
    clockSkewMs: () => 0,
    askTime: async () => ({ kind: 'told', skewMs: 0 }),
    latestSkewMs: () => 0,
    skewBelieved: () => true,
    askToken: async () => ({ kind: 'refused', reason: 'unclassified', response: { status: 400, body: '' } }),
    ready: () => true,
  };
}

/** The bid stands under this code. */
export function acceptedAs(bidId: string, firstByteAt: number): BidAnswer {
  const outcome = { kind: 'accepted', bidId } as const;
  return { kind: 'answered', outcome, response: { status: 200, body: '' }, firstByteAt };
}
