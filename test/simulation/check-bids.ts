/** Promises 1 and 3: one payload a request, sent only as the first claim read back, in time and inside every limit. */
import { ranked, readBody, type Written } from './auction-house.ts';
import type { Report } from './checker.ts';
import { type Entry, ofKind, type Trails } from './log-trails.ts';
import { dayNumber, installmentOf } from './own-arithmetic.ts';
import { type Limits, marginBufferCents, settings } from './policy.ts';
import type { HouseRequest } from './workload.ts';
import type { Evidence } from './world.ts';

export function checkBids(evidence: Evidence, trails: Trails, report: Report): void {
  const hashes = new Map<string, string>();
  for (const written of evidence.house.written) {
    const { requestId, hash, instance } = written;
    const request = evidence.house.requests.get(requestId ?? '');
    if (requestId === null || request === undefined) {
      report('limit', `${instance} sent a bid for a request that never was`);
      continue;
    }
    const known = hashes.get(requestId);
    if (known === undefined) hashes.set(requestId, hash);
    else if (known !== hash) report('two-payloads', `${requestId}: two forms of bytes were written`);
    const trail = trails.get(requestId);
    checkClaim(evidence, written, trail, report);
    checkTime(evidence, written, request, trail, report);
    if (known === undefined) checkLimits(evidence, written, request, trail, report);
  }
  checkReservations(evidence, report);
  for (const { requestId, instance, writtenAt } of evidence.unowned)
    report('not-owner', `${requestId}: ${instance} wrote at ${writtenAt}, and knew that the partition was not its own`);
  checkCap(evidence, trails, report);
}

function checkClaim(
  { seen }: Evidence,
  { requestId, instance, body, writtenAt }: Written,
  trail: readonly Entry[] | undefined,
  report: Report,
): void {
  const first = ofKind(trail, 'claimed')[0];
  if (first === undefined || first.landedAt > writtenAt) {
    report('no-claim', `${requestId}: ${instance} wrote at ${writtenAt} without a claim in the log`);
    return;
  }
  const { claimId } = first.record;
  if (body !== first.record.body)
    report('not-first-claim', `${requestId}: ${instance} wrote other bytes than the first claim's`);
  const seenAt = seen.get(`${instance}|${claimId}`);
  if (seenAt === undefined || seenAt > writtenAt) {
    report('unread-claim', `${requestId}: ${instance} wrote at ${writtenAt}, before it had read claim ${claimId} back`);
  }
}

function checkTime(
  { control }: Evidence,
  { requestId, instance, writtenAt }: Written,
  request: HouseRequest,
  trail: readonly Entry[] | undefined,
  report: Report,
): void {
  // What the log says after the claim may not have been read yet when its bytes are written.
  const claimedAt = (trail ?? []).findIndex(({ record }) => record.kind === 'claimed');
  const receipts = ofKind(trail?.slice(0, Math.max(0, claimedAt)), 'requested');
  const firstReceipt = Math.min(...receipts.map(({ record }) => record.request.receivedAt));
  // The receipt is stamped by a clock that may be 200 ms ahead.
  const closesAt =
    request.statesClose || receipts.length === 0 ? request.closesAt : firstReceipt + settings.windowMs + 200;
  const deadlineAt = Math.min(closesAt, request.expiresAt ?? Infinity);
  if (writtenAt >= deadlineAt) {
    report('late', `${requestId}: ${instance} wrote ${writtenAt - deadlineAt} ms after the deadline`);
  }
  for (const span of control.obeyed) {
    if (span.instance === instance && span.from < writtenAt && writtenAt < (span.until ?? Infinity)) {
      report('paused', `${requestId}: ${instance} wrote ${writtenAt - span.from} ms after it had acknowledged a pause`);
    }
  }
  const pausedMs = pausedSince(control, writtenAt);
  if (pausedMs > settings.controlMaxAgeMs + 1) {
    report('paused', `${requestId}: ${instance} wrote ${pausedMs} ms after a pause was ordered, and it was not lifted`);
  }
}

/** For how long a pause has been ordered without a break, by the orders alone; 0 where none is in force. */
function pausedSince({ history }: Evidence['control'], at: number): number {
  const before = history.filter((entry) => entry.at < at);
  const lifted = before.findLastIndex(({ state }) => state.pause === null);
  const ordered = before[lifted + 1];
  return ordered === undefined ? 0 : at - ordered.at;
}

/** The limits of the rule set that operators had put in force by then, as the process's clock said. */
function limitsAt({ control, rules }: Evidence, at: number): Limits {
  const order = control.state.ruleOrders.findLast(({ liveAt }) => liveAt <= at);
  return rules.ofHash(order!.hash).limits;
}

function checkLimits(
  evidence: Evidence,
  { requestId, body, writtenAt }: Written,
  request: HouseRequest,
  trail: readonly Entry[] | undefined,
  report: Report,
): void {
  const content = readBody(body);
  const wrong = (text: string) => report('limit', `${requestId}: ${text}`);
  if (content === null) {
    wrong('the body is not JSON');
    return;
  }
  const { rate, amountCents, installments, validUntil } = content;
  const decidedAt = ofKind(trail, 'claimed')[0]?.record.trace.decidedAt ?? writtenAt;
  const { leastRate, leastRateGuaranteed, highestRate } = limitsAt(evidence, decidedAt);
  const least = request.guaranteed ? leastRateGuaranteed : leastRate;
  if (!(rate >= least && rate <= highestRate)) wrong(`rate ${rate} is outside ${least} to ${highestRate}`);
  if (!(amountCents > 0 && amountCents <= request.amountCents))
    wrong(`${amountCents} cents of ${request.amountCents} asked`);
  if (installments !== request.installments) wrong(`${installments} instalments of ${request.installments} asked`);
  if (request.worker.exposed) wrong('the worker is politically exposed');
  if (!(validUntil > writtenAt && validUntil <= writtenAt + 7 * 86_400_000)) wrong(`valid until ${validUntil}`);
  const installment = installmentOf(amountCents, rate, installments, decidedAt);
  // Rounding of the exact schedule moves an instalment by less than a cent.
  if (installment > request.worker.marginCents - marginBufferCents + 1) {
    wrong(`an instalment of ${installment.toFixed(1)} cents does not fit a margin of ${request.worker.marginCents}`);
  }
}

/** A view that was set back has forgotten reservations that were made before: then only force can bring them back. */
function checkReservations({ views, unreserved }: Evidence, report: Report): void {
  if (views.setbacks > 0) return;
  for (const { requestId, instance } of unreserved)
    report('unreserved', `${requestId}: ${instance} wrote without a reservation`);
}

/**
 * Money that truly stands under one cap, by the service's record: whichever claim was folded last found room for all of it, by
 * the limit of the set that it was decided by. Forced reservations may go over it.
 */
function checkCap(evidence: Evidence, trails: Trails, report: Report): void {
  const { views, house, failedWinners } = evidence;
  if ([...views.data.reservations.values()].some((held) => held.forced)) return;
  const totals = new Map<string, { totalCents: number; limitCents: number }>();
  for (const request of house.requests.values()) {
    const ours = ranked(request)[0];
    if (ours?.by !== 'us' || failedWinners.has(ours.bidId)) continue;
    const claim = ofKind(trails.get(request.requestId), 'claimed')[0];
    const decidedAt = claim?.record.trace.decidedAt ?? ours.placedAt;
    const key = `${request.worker.employer}/${dayNumber(decidedAt)}`;
    const { totalCents, limitCents } = totals.get(key) ?? { totalCents: 0, limitCents: 0 };
    const limit = Math.max(limitCents, limitsAt(evidence, decidedAt).employerDayCents);
    totals.set(key, { totalCents: totalCents + ours.amountCents, limitCents: limit });
  }
  for (const [key, { totalCents, limitCents }] of totals) {
    if (totalCents > limitCents) report('over-cap', `${key}: ${totalCents} cents won under a cap of ${limitCents}`);
  }
}
