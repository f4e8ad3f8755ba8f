/**
 * The views of one rule set in a replay: exposure under caps, and statistics. Time only goes forward here. The same changes
 * come in as at the desk, from the same fold.
 */
import TinyQueue from 'tinyqueue';
import type { ViewChange, Views } from '../bidding/ports.ts';
import { createCapBook, isWindowKey, type Promised, type Reserve, windowEndOf } from '../domain/cap-book.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { emptyHistogram, foldSums, type Histogram } from '../domain/histogram.ts';
import type { Usage } from '../domain/offer.ts';

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

export function createMemoryViews(onMove: (move: ExposureMove) => void): MemoryViews {
  const histograms = new Map<string, Histogram>();
  const book = createCapBook();
  const expiries = new TinyQueue<Promised>([], (left, right) => left.expiresAt - right.expiresAt);
  /** Loans whose bids are no longer valid: they count under windows of hours alone. */
  const loans = new Set<RequestId>();
  let now = Number.NEGATIVE_INFINITY;

  function release(requestId: RequestId): void {
    const known = book.find(requestId);
    if (known === null) return;
    book.release(known.status, requestId);
    if (!loans.delete(requestId)) onMove({ requestId, amountCents: -known.amountCents });
  }

  /** A commitment lasts until the same validity as the bid: nobody knows how the loan would have gone on. */
  function commit(requestId: RequestId): void {
    const known = book.find(requestId);
    if (known === null || known.status === 'committed') return;
    book.commit(known.status, requestId, known.expiresAt);
    expiries.push(book.find(requestId)!);
  }

  /** What was won is taken to be paid out, as the desk counts it: under a window of hours until the window has passed it. */
  function expire(promised: Promised): void {
    const { requestId, status, amountCents, keys } = promised;
    const lasting = status === 'committed' && !loans.has(requestId) ? keys.filter(isWindowKey) : [];
    if (lasting.length === 0) {
      release(requestId);
      return;
    }
    loans.add(requestId);
    onMove({ requestId, amountCents: -amountCents });
    book.countUnder(requestId, lasting, Math.max(...lasting.map(windowEndOf)));
    expiries.push(book.find(requestId)!);
  }

  /** Nothing is reserved again here after a release or a refusal, so what counts no more needs no memory. */
  function reserve(order: Reserve): boolean {
    const { requestId, amountCents } = order;
    const before = book.find(requestId)?.status ?? 'none';
    const after = book.reserve(before, order);
    if (before === 'none' && after === 'held') {
      expiries.push(book.find(requestId)!);
      onMove({ requestId, amountCents });
    }
    return after !== 'refused';
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
      usage: async (keys) => new Map(keys.map((key) => [key, book.usage(key, now)])),
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
        else if (change.kind === 'commit') commit(change.requestId);
        else if (change.kind === 'learn') learn(change);
      }
      return fits;
    },
    advance: (at) => {
      now = Math.max(now, at);
      for (let next = expiries.peek(); next !== undefined && next.expiresAt <= at; next = expiries.peek()) {
        expiries.pop();
        if (book.find(next.requestId) === next) expire(next);
      }
    },
    usageOf: (key) => book.usage(key, now),
  };
}
