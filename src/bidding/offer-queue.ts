/** Offers that wait for a send slot: the most valuable first, bounded, the least valuable dropped. */
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { DecisionTrace, Offer } from '../domain/offer.ts';
import { createHeap, type Heap } from './heap.ts';

export type WaitingOffer = {
  requestId: RequestId;
  offer: Offer;
  trace: DecisionTrace;
  body: string;
  deadlineAt: EpochMs;
  queuedAt: EpochMs;
  /** Of what operators had said when it was decided. */
  controlRevision: number;
};

export type OfferQueue = {
  /** Returns the offer that had to go when the queue was full: the least valuable, maybe the new one. */
  push: (offer: WaitingOffer) => WaitingOffer | null;
  pop: () => WaitingOffer | null;
  has: (requestId: RequestId) => boolean;
  get: (requestId: RequestId) => WaitingOffer | null;
  remove: (requestId: RequestId) => void;
  size: () => number;
  /** When the one that waits longest came; null when none waits. */
  oldestAt: () => EpochMs | null;
};

/** For the reason of an offer that ends without a bid for want of room: what was lost by it. */
export function worthText({ offer }: WaitingOffer): string {
  return `the bid was expected to bring R$ ${(offer.expectedValueCents / 100).toFixed(2)}`;
}

/** Worth more first, then closer to its deadline, then by id, so that a replay orders alike. */
function compare(a: WaitingOffer, b: WaitingOffer): number {
  const byValue = b.offer.expectedValueCents - a.offer.expectedValueCents;
  if (byValue !== 0) return byValue;
  const byDeadline = a.deadlineAt - b.deadlineAt;
  if (byDeadline !== 0) return byDeadline;
  return a.requestId < b.requestId ? -1 : 1;
}

const idOf = ({ requestId }: WaitingOffer): RequestId => requestId;

export function createOfferQueue(limit: number): OfferQueue {
  /** In order of arrival. */
  const waiting = new Map<RequestId, WaitingOffer>();
  const best = createHeap(compare, waiting, idOf);
  /** Only a queue that was full has one: most never drop an offer, and each push into a second heap costs as much again. */
  let least: Heap<WaitingOffer> | null = null;

  return {
    push: (offer) => {
      waiting.set(offer.requestId, offer);
      best.push(offer);
      least?.push(offer);
      if (waiting.size <= limit) {
        if (2 * waiting.size < limit) least = null;
        return null;
      }
      least ??= createHeap((a, b) => compare(b, a), waiting, idOf);
      const dropped = least.pop();
      if (dropped !== null) waiting.delete(dropped.requestId);
      return dropped;
    },
    pop: () => {
      const top = best.pop();
      if (top !== null) waiting.delete(top.requestId);
      return top;
    },
    has: (requestId) => waiting.has(requestId),
    get: (requestId) => waiting.get(requestId) ?? null,
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
