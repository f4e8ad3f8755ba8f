/**
 * Caps that several partitions share. Each is folded in an order of its own, and the log does not say how far one was when another
 * looked for room. So a bid is over its cap when what was surely promised while it went out leaves no room, and room was denied
 * when all that may have been promised at that time leaves some.
 */
import type { EpochMs, RequestId } from '../../domain/glossary.ts';
import type { Usage } from '../../domain/offer.ts';
import { fullCap, noUsage, type Promised } from './exposure.ts';
import type { RequestCase, Run } from './run.ts';
import type { Report } from './violation.ts';

/** Amounts that count from a time on, summed: what counts by then. */
function createSums(parts: readonly { at: EpochMs; amountCents: number }[]): (at: EpochMs) => Usage {
  const sorted = parts.toSorted((a, b) => a.at - b.at);
  let sum = 0;
  const sums = sorted.map(({ amountCents }) => {
    sum += amountCents;
    return sum;
  });
  return (at) => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]!.at <= at) low = middle + 1;
      else high = middle;
    }
    return { amountCents: sums[low - 1] ?? 0, count: low };
  };
}

/**
 * By when a record was surely folded: whoever claims for a request has folded all that stands before the request in its
 * partition. Infinity where nothing says so.
 */
function createFoldTimes(run: Run): (requestId: RequestId, position: number) => EpochMs {
  const positions = new Map<object, number>(run.log.map((record, position) => [record, position]));
  const claims = new Map<number, { position: number; at: EpochMs }[]>();
  for (const { partition, evidence } of run.cases.values()) {
    if (evidence.claim === null || evidence.requested === null) continue;
    const own = claims.get(partition) ?? [];
    claims.set(partition, own);
    own.push({ position: positions.get(evidence.requested)!, at: evidence.claim.at });
  }
  for (const own of claims.values()) {
    own.sort((a, b) => b.position - a.position);
    let at = Number.POSITIVE_INFINITY;
    for (const claim of own) {
      at = Math.min(at, claim.at);
      claim.at = at;
    }
    own.reverse();
  }
  return (requestId, position) => {
    const own = claims.get(run.cases.get(requestId)!.partition) ?? [];
    let [low, high] = [0, own.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (own[middle]!.position > position) high = middle;
      else low = middle + 1;
    }
    return own[low]?.at ?? Number.POSITIVE_INFINITY;
  };
}

type Bounds = {
  /** Surely promised under the key throughout this time, by others than who first wrote in it. */
  least: (from: EpochMs, until: EpochMs) => Usage;
  /** Promised at any moment of this time, at the most. */
  most: (from: EpochMs, until: EpochMs) => Usage;
};

function less(all: Usage, part: Usage): Usage {
  return { amountCents: all.amountCents - part.amountCents, count: all.count - part.count };
}

export function boundsOf(
  run: Run,
  promised: readonly Promised[],
  toleranceMs: number,
): (key: string) => Bounds | undefined {
  const foldedBy = createFoldTimes(run);
  /** Bytes go out only after the claim was folded. */
  const surelyFrom = ({ requestId, from }: Promised): EpochMs => {
    const { calls, evidence } = run.cases.get(requestId)!;
    const isClaim = evidence.claim === run.log[from.position];
    const sentAt = isClaim && calls.length > 0 ? firstCallAt(calls) + toleranceMs : Number.POSITIVE_INFINITY;
    return Math.min(sentAt, foldedBy(requestId, from.position));
  };
  const surelyOver = ({ requestId, until }: Promised): EpochMs =>
    until.position === null ? until.at : foldedBy(requestId, until.position);
  const byKey = new Map<string, Promised[]>();
  for (const own of promised) {
    for (const key of own.keys) {
      const list = byKey.get(key) ?? [];
      byKey.set(key, list);
      list.push(own);
    }
  }
  const bounds = new Map<string, Bounds>();
  for (const [key, list] of byKey) {
    const sumBy = (timeOf: (own: Promised) => EpochMs) =>
      createSums(list.map((own) => ({ at: timeOf(own), amountCents: own.amountCents })));
    const begun = sumBy(({ from }) => from.at);
    const surelyBegun = sumBy(surelyFrom);
    const over = sumBy(({ until }) => until.at);
    const surelyEnded = sumBy(surelyOver);
    bounds.set(key, {
      // One that ended before it began counts negative here. Counting too little is safe.
      least: (from, until) => less(surelyBegun(from), over(until)),
      most: (from, until) => less(begun(until), surelyEnded(from)),
    });
  }
  return (key) => bounds.get(key);
}

function firstCallAt(calls: RequestCase['calls']): EpochMs {
  return Math.min(...calls.map(({ arrivedAt }) => arrivedAt));
}

/** What has to be true of a log of several partitions by itself. `toleranceMs`: how far two clocks may differ. */
export function checkSharedCaps(run: Run, promised: readonly Promised[], toleranceMs: number, report: Report): void {
  const boundsFor = boundsOf(run, promised, toleranceMs);
  for (const { requestId, evidence, calls } of run.cases.values()) {
    const { claim, unsent } = evidence;
    if (claim === null) continue;
    const own = { amountCents: claim.offer.amountCents, count: 1 };
    if (calls.length > 0) {
      const sentAt = firstCallAt(calls) + toleranceMs;
      const usedOf = (key: string) => boundsFor(key)?.least(claim.at - toleranceMs, sentAt) ?? noUsage;
      const full = fullCap(claim.trace.caps, own, usedOf);
      if (full !== null) {
        report('exposure', requestId, `the cap ${full} had no room between the claim and its bid, which went out`);
      }
    } else if (unsent?.code === 'cap') {
      const usedOf = (key: string) => boundsFor(key)?.most(claim.at - toleranceMs, unsent.at + toleranceMs) ?? noUsage;
      if (fullCap(claim.trace.caps, own, usedOf) === null) {
        report(
          'exposure',
          requestId,
          'passed for want of room under a cap; whatever was folded when, every cap had room',
        );
      }
    }
  }
}
