/** What the auditor's verdict and the service say of any crash run, whatever the backend. */
import { availableParallelism, loadavg } from 'node:os';
import type { Verdict } from './verdict.ts';

export type RunFigures = {
  requests: number;
  requestsPerSecond: number;
  bids: number;
  bidShare: number;
  /** Of the requests that came while the run itself kept no bid back; this one is judged. */
  bidShareWithoutOrders: number;
  repeatedBids: number;
  laterClaims: number;
  passed: Readonly<Record<string, number>>;
  /** Played by the service. */
  faults: Readonly<Record<string, number>>;
  records: number;
  /** Processes that wanted to run, in the last minutes, and how many can: recovery takes longer on a busy machine. */
  machine: { load: number; cores: number };
  violations: number;
};

export function runFigures(run: {
  verdict: Verdict;
  sandbox: { faults: Readonly<Record<string, number>> };
  streamMs: number;
}): RunFigures {
  const { requests, bids, withoutOrders, repeatedBids, laterClaims, passed, records, violations } = run.verdict;
  return {
    requests,
    requestsPerSecond: Math.round(requests / (run.streamMs / 1_000)),
    bids,
    bidShare: shareOf(bids, requests),
    bidShareWithoutOrders: shareOf(withoutOrders.bids, withoutOrders.requests),
    repeatedBids,
    laterClaims,
    passed,
    faults: { ...run.sandbox.faults },
    records,
    machine: { load: Math.round(10 * (loadavg()[1] ?? 0)) / 10, cores: availableParallelism() },
    violations: violations.length,
  };
}

function shareOf(part: number, all: number): number {
  return Math.round((1_000 * part) / Math.max(1, all)) / 1_000;
}

/** The middle one of the sorted values, the upper one of two; 0 without values. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const count = new Intl.NumberFormat('en');

export function loadText({ requests, requestsPerSecond, bidShare, bidShareWithoutOrders }: RunFigures): string {
  const shares = `${(100 * bidShare).toFixed(1)} % bid for, ${(100 * bidShareWithoutOrders).toFixed(1)} % outside orders`;
  return `${count.format(requests)} requests at ${requestsPerSecond}/s, ${shares}`;
}

export function shareText(share: number): string {
  return `only ${(100 * share).toFixed(1)} % of the requests outside orders were bid for`;
}

export function closingText({ machine }: RunFigures, missed: readonly string[]): string {
  const judged = missed.length === 0 ? '0 violations' : `FAILED: ${missed.join(', ')}`;
  return `machine load ${machine.load} on ${machine.cores} cores; ${judged}`;
}
