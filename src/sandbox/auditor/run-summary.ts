/** The figures of a run, as the demo prints them. Money in cents; times in milliseconds. */
import type { RequestId } from '../../domain/glossary.ts';
import type { Phase } from '../../domain/states.ts';
import { type ClairvoyantSettings, clairvoyantSurplus } from './clairvoyant.ts';
import type { RequestCase, Run } from './run.ts';
import { expectedSurplus, realisedSurplus, type Truth } from './surplus.ts';

export type RunSummary = {
  /** Requests that the world emitted. */
  requests: number;
  /** Requests for which bytes arrived at the service. */
  bids: number;
  passed: Readonly<Record<string, number>>;
  /** What the service finally said of the bids, by the log. */
  outcomes: Readonly<Record<string, number>>;
  won: number;
  lost: number;
  /** Bids whose fate the log does not know, and requests without any end. */
  unsettled: number;
  /** From the webhook that was acknowledged leaving the service to the first bytes arriving there; null without bids. */
  latencyMs: { p50: number | null; p99: number | null };
  surplus: { expected: number; realised: number; clairvoyant: number };
};

export function summarise(run: Run, truth: Truth, settings: ClairvoyantSettings): RunSummary {
  const passed: Record<string, number> = {};
  const outcomes: Record<string, number> = {};
  const figures = { requests: 0, bids: 0, won: 0, lost: 0, unsettled: 0 };
  for (const known of run.cases.values()) {
    const { truth: request, calls, standing, evidence } = known;
    if (request !== null) figures.requests += 1;
    if (calls.length > 0) {
      figures.bids += 1;
      count(outcomes, outcomeOf(known));
    }
    if (standing.end === 'passed') count(passed, (evidence.unsent ?? evidence.pass)?.code ?? 'unknown');
    const fate = fateOf(standing.end);
    if (fate !== null) figures[fate] += 1;
  }
  const clairvoyant = clairvoyantSurplus(run, truth, settings).surplusCents;
  return {
    requests: figures.requests,
    bids: figures.bids,
    passed,
    outcomes,
    won: figures.won,
    lost: figures.lost,
    unsettled: figures.unsettled,
    latencyMs: latencies(run),
    surplus: {
      expected: Math.round(expectedSurplus(run)),
      realised: Math.round(realisedSurplus(run, truth)),
      clairvoyant: Math.round(clairvoyant),
    },
  };
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

function outcomeOf({ evidence }: RequestCase): string {
  const { answer } = evidence;
  if (answer === null) return 'unanswered';
  if (answer.proof === 'presumed') return 'accepted-presumed';
  const { outcome } = answer;
  return outcome.kind === 'rejected' ? `rejected(${outcome.code})` : outcome.kind;
}

function fateOf(end: Phase): 'won' | 'lost' | 'unsettled' | null {
  switch (end) {
    case 'won':
    case 'contemplated':
    case 'proposed':
    case 'winner-failed':
      return 'won';
    case 'lost':
      return 'lost';
    case 'requested':
    case 'claimed':
    case 'accepted':
    case 'accepted-presumed':
    case 'accepted-outside':
    case 'unknown':
    case 'ambiguous':
    case 'foreign-bid':
    case 'result-missing':
      return 'unsettled';
    case 'early-ended':
    case 'passed':
    case 'rejected':
    case 'not-landed':
    case 'cancelled':
    case 'expired':
      return null;
    default:
      return end satisfies never;
  }
}

function latencies(run: Run): RunSummary['latencyMs'] {
  const told = new Map<RequestId, number>();
  for (const { delivery, acknowledgedSentAt } of run.tellings) {
    if (delivery.what !== 'requests' || acknowledgedSentAt === null) continue;
    for (const requestId of delivery.requestIds) told.set(requestId, acknowledgedSentAt);
  }
  const times: number[] = [];
  for (const { requestId, calls } of run.cases.values()) {
    const sentAt = told.get(requestId);
    const first = calls[0];
    if (sentAt !== undefined && first !== undefined) times.push(first.arrivedAt - sentAt);
  }
  times.sort((left, right) => left - right);
  const at = (share: number) => times[Math.max(0, Math.ceil(share * times.length) - 1)] ?? null;
  return { p50: at(0.5), p99: at(0.99) };
}
