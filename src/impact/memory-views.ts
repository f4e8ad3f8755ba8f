/**
 * The views of one rule set in a replay: exposure under caps, and statistics. Time only goes forward here. The same changes
 * come in as at the desk, from the same fold.
 */
import TinyQueue from 'tinyqueue';
import type { ViewChange, Views } from '../bidding/ports.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { emptyHistogram, foldSums, type Histogram } from '../domain/histogram.ts';
import type { CapReservation, Usage } from '../domain/offer.ts';

type Promised = { requestId: RequestId; amountCents: number; keys: readonly string[]; expiresAt: EpochMs };

/** Money that came under exposure or left it, of one request. */
export type ExposureMove = { requestId: RequestId; amountCents: number };

export type MemoryViews = {
  views: Pick<Views, 'usage' | 'statistics'>;
  /** False: a reservation among the changes found no room under a cap. */
  apply: (changes: readonly ViewChange[]) => boolean;
  /** Lets what expires by then go. */
  advance: (at: EpochMs) => void;
  usageOf: (key: string) => Usage;
};

const nothing: Usage = { amountCents: 0, count: 0 };

export function createMemoryViews(onMove: (move: ExposureMove) => void): MemoryViews {
  const histograms = new Map<string, Histogram>();
  const promised = new Map<RequestId, Promised>();
  const sums = new Map<string, { amountCents: number; count: number }>();
  const expiries = new TinyQueue<Promised>([], (left, right) => left.expiresAt - right.expiresAt);

  function add({ requestId, amountCents, keys }: Promised, sign: 1 | -1): void {
    for (const key of keys) {
      let sum = sums.get(key);
      if (sum === undefined) {
        sum = { amountCents: 0, count: 0 };
        sums.set(key, sum);
      }
      sum.amountCents += sign * amountCents;
      sum.count += sign;
      if (sum.count === 0) sums.delete(key);
    }
    onMove({ requestId, amountCents: sign * amountCents });
  }

  function release(requestId: RequestId): void {
    const known = promised.get(requestId);
    if (known === undefined) return;
    promised.delete(requestId);
    add(known, -1);
  }

  function hasRoom(cap: CapReservation, amountCents: number): boolean {
    let amount = amountCents;
    let count = 1;
    for (const key of cap.keys.length === 1 ? cap.keys : new Set(cap.keys)) {
      const used = sums.get(key) ?? nothing;
      amount += used.amountCents;
      count += used.count;
    }
    const { limitAmountCents, limitCount } = cap;
    return (limitAmountCents === null || amount <= limitAmountCents) && (limitCount === null || count <= limitCount);
  }

  function reserve(change: Extract<ViewChange, { kind: 'reserve' }>): boolean {
    const { requestId, amountCents, caps, expiresAt, force } = change;
    if (promised.has(requestId)) return true;
    if (!force && !caps.every((cap) => hasRoom(cap, amountCents))) return false;
    // Two caps may count in one bucket; a request counts there once.
    const keys = [...new Set(caps.flatMap((cap) => cap.keys.slice(0, 1)))];
    const own = { requestId, amountCents, keys, expiresAt };
    promised.set(requestId, own);
    expiries.push(own);
    add(own, 1);
    return true;
  }

  function learn({ keys, additions, at, halfLives }: Extract<ViewChange, { kind: 'learn' }>): void {
    for (const key of keys) {
      let histogram = histograms.get(key);
      if (histogram === undefined) {
        histogram = emptyHistogram(at);
        histograms.set(key, histogram);
      }
      foldSums(histogram, additions, at, halfLives);
    }
  }

  return {
    views: {
      usage: async (keys) => new Map(keys.map((key) => [key, { ...(sums.get(key) ?? nothing) }])),
      statistics: async (keys) => {
        const found = new Map<string, Histogram>();
        for (const key of keys) {
          const histogram = histograms.get(key);
          if (histogram !== undefined) found.set(key, histogram);
        }
        return found;
      },
    },
    apply: (changes) => {
      let fits = true;
      for (const change of changes) {
        if (change.kind === 'reserve') fits = reserve(change) && fits;
        else if (change.kind === 'release') release(change.requestId);
        else if (change.kind === 'learn') learn(change);
        // A commitment lasts until the same validity as the bid: nobody knows how the loan would have gone on.
      }
      return fits;
    },
    advance: (at) => {
      for (let next = expiries.peek(); next !== undefined && next.expiresAt <= at; next = expiries.peek()) {
        expiries.pop();
        if (promised.get(next.requestId) === next) release(next.requestId);
      }
    },
    usageOf: (key) => sums.get(key) ?? nothing,
  };
}
