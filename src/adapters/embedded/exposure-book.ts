/**
 * Money promised, summed by cap key. What a sum says depends only on the reservations and the time asked about, never on when
 * it was asked before: a replay with other reading times refuses the same requests.
 */
import type { EpochMs, RequestId } from '../../domain/glossary.ts';
import type { Usage } from '../../domain/offer.ts';

type Promised = {
  requestId: RequestId;
  status: 'held' | 'committed';
  amountCents: number;
  keys: readonly string[];
  expiresAt: EpochMs;
};

export type ExposureBook = {
  put: (promised: Promised) => void;
  find: (requestId: RequestId) => Promised | null;
  remove: (requestId: RequestId) => void;
  usage: (key: string, at: EpochMs) => Usage;
};

/** `live` has expiry after the horizon's minute; `lapsed` are looked at one by one: few, for the desk releases what expired. */
type KeySums = { amountCents: number; count: number; lapsed: Set<Promised> | null };

const bucketMs = 60_000;
const none: readonly Promised[] = [];

function isEmpty({ count, lapsed }: KeySums): boolean {
  return count === 0 && (lapsed === null || lapsed.size === 0);
}

export function createExposureBook(): ExposureBook {
  const byRequest = new Map<RequestId, Promised>();
  const byMinute = new Map<number, Set<Promised>>();
  const byKey = new Map<string, KeySums>();
  let horizon = Number.NEGATIVE_INFINITY;

  const sumsOf = (key: string) => {
    let sums = byKey.get(key);
    if (sums === undefined) {
      sums = { amountCents: 0, count: 0, lapsed: null };
      byKey.set(key, sums);
    }
    return sums;
  };
  const count = (promised: Promised, sign: 1 | -1) => {
    for (const key of promised.keys) {
      const sums = sumsOf(key);
      sums.amountCents += sign * promised.amountCents;
      sums.count += sign;
      if (isEmpty(sums)) byKey.delete(key);
    }
  };
  const lapse = (promised: Promised) => {
    for (const key of promised.keys) {
      const sums = sumsOf(key);
      sums.lapsed ??= new Set();
      sums.lapsed.add(promised);
    }
  };
  const minuteOf = (at: EpochMs) => Math.floor(at / bucketMs);

  const lapseMinute = (minute: number) => {
    const bucket = byMinute.get(minute);
    if (bucket === undefined) return;
    byMinute.delete(minute);
    for (const promised of bucket) {
      lapse(promised);
      count(promised, -1);
    }
  };
  const advance = (minute: number) => {
    if (minute <= horizon) return;
    if (minute - horizon > byMinute.size) {
      for (const bucket of [...byMinute.keys()]) if (bucket <= minute) lapseMinute(bucket);
    } else {
      for (let passed = horizon + 1; passed <= minute; passed += 1) lapseMinute(passed);
    }
    horizon = minute;
  };

  const remove = (requestId: RequestId) => {
    const promised = byRequest.get(requestId);
    if (promised === undefined) return;
    byRequest.delete(requestId);
    const minute = minuteOf(promised.expiresAt);
    const bucket = byMinute.get(minute);
    if (bucket?.delete(promised)) {
      if (bucket.size === 0) byMinute.delete(minute);
      count(promised, -1);
      return;
    }
    for (const key of promised.keys) {
      const sums = sumsOf(key);
      sums.lapsed?.delete(promised);
      if (isEmpty(sums)) byKey.delete(key);
    }
  };

  return {
    put: (promised) => {
      remove(promised.requestId);
      byRequest.set(promised.requestId, promised);
      const minute = minuteOf(promised.expiresAt);
      if (minute <= horizon) {
        lapse(promised);
        return;
      }
      const bucket = byMinute.get(minute);
      if (bucket === undefined) byMinute.set(minute, new Set([promised]));
      else bucket.add(promised);
      count(promised, 1);
    },
    find: (requestId) => byRequest.get(requestId) ?? null,
    remove,
    usage: (key, at) => {
      advance(minuteOf(at));
      const sums = byKey.get(key);
      if (sums === undefined) return { amountCents: 0, count: 0 };
      const usage = { amountCents: sums.amountCents, count: sums.count };
      // Beyond the horizon's own minute nothing in `live` can have expired at `at`; in it and before, look.
      for (const { amountCents, expiresAt } of sums.lapsed ?? none) {
        if (expiresAt <= at) continue;
        usage.amountCents += amountCents;
        usage.count += 1;
      }
      return usage;
    },
  };
}
