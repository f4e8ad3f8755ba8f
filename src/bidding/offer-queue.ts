/** Offers that wait for a send slot: the most valuable first, bounded, the least valuable dropped. */
import TinyQueue from 'tinyqueue';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { DecisionTrace, Offer } from '../domain/offer.ts';

export type WaitingOffer = {
  requestId: RequestId;
  offer: Offer;
  trace: DecisionTrace;
  body: string;
  deadlineAt: EpochMs;
  queuedAt: EpochMs;
};

export type OfferQueue = {
  /** Returns the offer that had to go when the queue was full: the least valuable, maybe the new one. */
  push: (offer: WaitingOffer) => WaitingOffer | null;
  pop: () => WaitingOffer | null;
  has: (requestId: RequestId) => boolean;
  remove: (requestId: RequestId) => void;
  size: () => number;
  /** When the one that waits longest came; null when none waits. */
  oldestAt: () => EpochMs | null;
};

/** Worth more first, then closer to its deadline, then by id, so that a replay orders alike. */
function compare(a: WaitingOffer, b: WaitingOffer): number {
  const byValue = b.offer.expectedValueCents - a.offer.expectedValueCents;
  if (byValue !== 0) return byValue;
  const byDeadline = a.deadlineAt - b.deadlineAt;
  if (byDeadline !== 0) return byDeadline;
  return a.requestId < b.requestId ? -1 : 1;
}

export function createOfferQueue(limit: number): OfferQueue {
  const queue = new TinyQueue<WaitingOffer>([], compare);
  /** In order of arrival. What was removed stays in `queue` until it surfaces; this says which still count. */
  const waiting = new Map<RequestId, WaitingOffer>();

  /** Only when full, which is rare: a plain scan is enough. */
  function dropLeast(): WaitingOffer | null {
    let least: WaitingOffer | null = null;
    for (const offer of waiting.values()) if (least === null || compare(offer, least) > 0) least = offer;
    if (least !== null) waiting.delete(least.requestId);
    return least;
  }

  return {
    push: (offer) => {
      waiting.set(offer.requestId, offer);
      queue.push(offer);
      return waiting.size > limit ? dropLeast() : null;
    },
    pop: () => {
      for (let top = queue.pop(); top !== undefined; top = queue.pop()) {
        if (waiting.get(top.requestId) !== top) continue;
        waiting.delete(top.requestId);
        return top;
      }
      return null;
    },
    has: (requestId) => waiting.has(requestId),
    remove: (requestId) => {
      waiting.delete(requestId);
    },
    size: () => waiting.size,
    oldestAt: () => {
      for (const offer of waiting.values()) return offer.queuedAt;
      return null;
    },
  };
}
