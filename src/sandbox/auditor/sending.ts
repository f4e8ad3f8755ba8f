/** What arrived: at most one form of bytes, the first claim's, before the deadline and inside every limit. */
import { dayOf } from '../../domain/clock.ts';
import {
  type AmountCents,
  type EpochMs,
  maxRateHundredths,
  minRateHundredths,
  type RequestId,
} from '../../domain/glossary.ts';
import { dayNumber, dueDays, loanOf } from '../loan.ts';
import type { EmittedRequest } from '../record.ts';
import { type BidBytes, readBidBytes } from './bid-bytes.ts';
import { limitsFor, type RequestCase, type Run } from './run.ts';
import type { AuditSettings, Report } from './violation.ts';

export function checkPayloads({ requestId, calls }: RequestCase, report: Report): void {
  const hashes = new Set(calls.map((call) => call.sha256));
  if (hashes.size > 1) report('two-payloads', requestId, `${hashes.size} forms of bytes arrived for it`);
}

export function checkClaimed(known: RequestCase, toleranceMs: number, report: Report): void {
  const { requestId, calls, evidence } = known;
  const { claim } = evidence;
  if (calls.length === 0) return;
  if (claim === null) {
    report('sent-without-claim', requestId, 'bytes arrived and no claim in the log counts');
    return;
  }
  if (calls.some((call) => call.body !== claim.body)) {
    report('sent-without-claim', requestId, 'bytes arrived that are not those of the first claim');
  }
  if (calls.some((call) => call.arrivedAt + toleranceMs < claim.at)) {
    report('sent-without-claim', requestId, 'bytes arrived before the first claim was written');
  }
}

export function checkDeadline(known: RequestCase, settings: AuditSettings, report: Report): void {
  const { requestId, truth, calls } = known;
  if (truth === null) return;
  for (const call of calls) {
    if (call.arrivedAt < truth.deadlineAt) continue;
    if (settings.allowOutside && call.outcome === 'accepted-outside') continue;
    report('late-first-byte', requestId, `bytes arrived ${call.arrivedAt - truth.deadlineAt} ms after the deadline`);
  }
}

/** Whatever the deadline was: once the desk has taken the end of an auction, a bid in it binds outside of it or not at all. */
export function checkAfterEnds(run: Run, settings: AuditSettings, report: Report): void {
  const { controlMaxAgeMs, onTheWayMs, clockToleranceMs } = settings;
  const takenAt = new Map<RequestId, EpochMs>();
  for (const { delivery, acknowledgedAt } of run.tellings) {
    if (delivery.what !== 'ended' || acknowledgedAt === null) continue;
    for (const id of delivery.requestIds) takenAt.set(id, Math.min(takenAt.get(id) ?? acknowledgedAt, acknowledgedAt));
  }
  for (const { requestId, calls } of run.cases.values()) {
    const endAt = takenAt.get(requestId);
    if (endAt === undefined) continue;
    for (const { arrivedAt } of calls) {
      if (arrivedAt <= endAt + controlMaxAgeMs + onTheWayMs + clockToleranceMs) continue;
      report(
        'sent-after-end',
        requestId,
        `bytes arrived ${arrivedAt - endAt} ms after the end of its auction was taken`,
      );
    }
  }
}

/** A request that does not say its margin is bid for by the link's, which may have drifted from the world's. */
function marginOf(truth: EmittedRequest, marginDrift: number): AmountCents {
  return truth.marginOmitted ? Math.ceil(truth.marginCents * (1 + marginDrift)) : truth.marginCents;
}

export function checkLimits(known: RequestCase, settings: AuditSettings, report: Report): void {
  const { requestId, truth, calls } = known;
  if (truth === null) return;
  for (const body of new Set(calls.map((call) => call.body))) {
    const first = calls.find((call) => call.body === body)!;
    const bid = readBidBytes(body);
    const problems =
      bid === null
        ? ['the bytes are not a bid of the contract']
        : [
            ...contractProblems(bid, first.arrivedAt, truth, settings),
            ...limitProblems(bid, truth, limitsFor(known, truth, settings)),
            ...installmentProblems(bid, first.arrivedAt, known, truth, settings),
          ];
    for (const text of problems) report('outside-limits', requestId, text);
  }
}

function contractProblems(bid: BidBytes, arrivedAt: number, truth: EmittedRequest, settings: AuditSettings): string[] {
  const problems: string[] = [];
  const { rateHundredths: rate, amountCents, installments, validUntil } = bid;
  if (!Number.isInteger(rate) || rate < minRateHundredths || rate > maxRateHundredths) {
    problems.push(`a rate of ${rate} hundredths is not on the grid from ${minRateHundredths} to ${maxRateHundredths}`);
  }
  if (!Number.isInteger(amountCents) || amountCents <= 0) problems.push(`${amountCents} cents cannot be lent`);
  if (amountCents > truth.amountCents) problems.push(`${amountCents} cents offered, ${truth.amountCents} asked`);
  if (!Number.isInteger(installments) || installments < 1) problems.push(`${installments} instalments cannot be paid`);
  if (validUntil <= arrivedAt) problems.push('it was not valid any more when it arrived');
  if (validUntil > arrivedAt + settings.maxValidityMs) problems.push('it is valid for longer than the service allows');
  return problems;
}

type LimitsOf = ReturnType<AuditSettings['limitsOf']>;

function limitProblems(bid: BidBytes, truth: EmittedRequest, limits: LimitsOf): string[] {
  const bounds = [
    ['rate', bid.rateHundredths, limits.minRateHundredths, limits.maxRateHundredths],
    ['amount', bid.amountCents, limits.minAmountCents, limits.maxAmountCents],
    ['number of instalments', bid.installments, limits.minInstallments, limits.maxInstallments],
  ] as const;
  const problems = bounds.flatMap(([name, value, least, most]) => outside(name, value, least, most));
  if (Math.abs(bid.installments - truth.installments) > (limits.maxTermChange ?? 0)) {
    problems.push(`${bid.installments} instalments offered, ${truth.installments} asked`);
  }
  return problems;
}

function outside(name: string, value: number, least: number | null, most: number | null): string[] {
  if (least !== null && value < least) return [`the ${name} ${value} is below the limit of ${least}`];
  if (most !== null && value > most) return [`the ${name} ${value} is above the limit of ${most}`];
  return [];
}

/** Around midnight either day may be the day of release: what fits on one of them is not held against the desk. */
function installmentProblems(
  bid: BidBytes,
  arrivedAt: number,
  known: RequestCase,
  truth: EmittedRequest,
  settings: AuditSettings,
): string[] {
  const { rateHundredths, amountCents, installments } = bid;
  if (!(amountCents > 0 && installments >= 1 && installments <= 600 && rateHundredths > 0)) return [];
  const [year, month, day] = dayOf(arrivedAt).split('-').map(Number) as [number, number, number];
  const days = new Set([truth.releasedOn, dayNumber(year, month, day)]);
  const computed = [...days].map((releasedOn) => {
    const due = dueDays(releasedOn, installments, settings.world.calendar);
    return loanOf(amountCents, rateHundredths, releasedOn, due).installmentCents;
  });
  const installmentCents = Math.min(...computed);
  const limits = limitsFor(known, truth, settings);
  const marginCents = marginOf(truth, settings.marginDrift);
  const usableCents = Math.floor(marginCents * (limits.maxMarginShare ?? 1) + 1e-6);
  const problems = outside('instalment', installmentCents, null, limits.maxInstallmentCents);
  if (Math.max(...computed) < (limits.minInstallmentCents ?? 0)) problems.push('the instalment is below its limit');
  if (installmentCents > usableCents) {
    problems.push(
      `an instalment of ${installmentCents} cents does not fit ${usableCents} of a margin of ${marginCents}`,
    );
  }
  return problems;
}

/** Bytes that name no request cannot belong to a claim. */
export function checkNameless(run: Run, report: Report): void {
  for (const call of run.nameless) {
    report('sent-without-claim', null, `bytes without a request id arrived at ${call.path}`);
  }
}
