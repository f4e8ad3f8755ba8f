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
    checkAfterEnd(evidence, written, report);
    if (known === undefined) checkLimits(evidence, written, request, trail, report);
  }
  checkReservations(evidence, report);
  for (const { requestId, instance, writtenAt } of evidence.unowned)
    report('not-owner', `${requestId}: ${instance} wrote at ${writtenAt}, and knew that the partition was not its own`);
  checkCap(evidence, trails, report);
  checkRoom(evidence, trails, report);
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
    request.statesClose || receipts.length === 0 ? request.announcedCloseAt : firstReceipt + settings.windowMs + 200;
  const deadlineAt = Math.min(closesAt, request.expiresAt ?? Infinity);
  if (writtenAt >= deadlineAt) {
    report('late', `${requestId}: ${instance} wrote ${writtenAt - deadlineAt} ms after the deadline`);
  }
  for (const [index, { at, state }] of control.history.entries()) {
    const until = control.history.slice(index).find((later) => later.state.pause === null)?.at ?? Infinity;
    const heardBy = at + settings.controlMaxAgeMs;
    // Whoever has not heard of a pause by then may not write either, for it does not know that there is none.
    if (state.pause !== null && heardBy < writtenAt && writtenAt < until)
      report('paused', `${requestId}: ${instance} wrote ${writtenAt - at} ms after operators had paused`);
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

/** Whatever the deadline is: a bid after the end would bind us outside of the auction. */
function checkAfterEnd({ endsHeard }: Evidence, { requestId, instance, writtenAt }: Written, report: Report): void {
  const heardAt = endsHeard.get(`${instance}|${requestId}`);
  if (heardAt === undefined || writtenAt <= heardAt) return;
  const text = `${instance} wrote ${writtenAt - heardAt} ms after it had read that the auction is over`;
  report('after-end', `${requestId}: ${text}`);
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
  const { ruleOrders } = control.state;
  const order = ruleOrders.findLast(({ liveAt }) => liveAt <= at) ?? ruleOrders[0];
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

type Sent = {
  request: HouseRequest;
  amountCents: number;
  decidedAt: number;
  /** When its claim was in the log. */
  claimedAt: number;
  /** When its first byte was out, and when the log first said anything that may have let go of its money. */
  writtenAt: number;
  releasedAt: number;
};

/** The first time that each request's claim was written, by the service's record, with what the log says of it. */
function sentBids({ house }: Evidence, trails: Trails): Sent[] {
  const sent = new Map<string, Sent>();
  for (const { requestId, body, writtenAt } of house.written) {
    if (requestId === null || sent.has(requestId)) continue;
    const trail = trails.get(requestId);
    const claim = ofKind(trail, 'claimed')[0];
    const content = readBody(body);
    const request = house.requests.get(requestId);
    if (claim === undefined || content === null || request === undefined) continue;
    const releasing = trail!.find(({ record }) => record !== claim.record && mayRelease(record));
    sent.set(requestId, {
      request,
      amountCents: content.amountCents,
      decidedAt: claim.record.trace.decidedAt,
      claimedAt: claim.landedAt,
      writtenAt,
      releasedAt: releasing?.landedAt ?? Number.POSITIVE_INFINITY,
    });
  }
  return [...sent.values()];
}

function mayRelease(record: Entry['record']): boolean {
  if (record.kind === 'answered') return record.outcome.kind === 'rejected' || record.outcome.kind === 'duplicate';
  return record.kind !== 'requested' && record.kind !== 'claimed';
}

/** The widest limit by hand that a process may have known when the first byte went out; null: there may have been none. */
function capByHand({ control }: Evidence, writtenAt: number): number | null {
  const first = control.history.findLastIndex(({ at }) => at <= writtenAt - settings.controlMaxAgeMs);
  const possible = control.history.filter(({ at }, index) => index >= first && at <= writtenAt);
  const limits = possible.map(({ state }) => state.caps.book ?? Number.POSITIVE_INFINITY);
  const most = Math.max(...limits);
  return Number.isFinite(most) ? most : null;
}

/**
 * Bids whose bytes were out before a claim was written, and of whose money nothing was let go before that claim's own bytes were,
 * surely stood under the same caps: with them the claim has to keep the limits of the rules and of the operators.
 */
function checkRoom(evidence: Evidence, trails: Trails, report: Report): void {
  const sent = sentBids(evidence, trails);
  const underHand = new Map(sent.map((bid) => [bid, capByHand(evidence, bid.writtenAt)]));
  for (const bid of sent) {
    const others = sent.filter(
      (other) => other !== bid && other.writtenAt < bid.claimedAt && other.releasedAt > bid.writtenAt,
    );
    const day = dayNumber(bid.decidedAt);
    const ofDay = others.filter((other) => dayNumber(other.decidedAt) === day);
    const limits = limitsAt(evidence, bid.decidedAt);
    const demand = (name: string, used: number, limit: number) => {
      if (used > limit) report('over-cap', `${bid.request.requestId}: ${name}: ${used} where ${limit} are allowed`);
    };
    const sum = (bids: readonly Sent[]) =>
      bids.reduce((total, { amountCents }) => total + amountCents, bid.amountCents);
    const { worker } = bid.request;
    const sameEmployer = ofDay.filter(({ request }) => request.worker.employer === worker.employer);
    demand('cents for an employer', sum(sameEmployer), limits.employerDayCents);
    const sameWorker = ofDay.filter(({ request }) => request.worker === worker);
    demand('bids for a worker', sameWorker.length + 1, limits.workerDayCount);
    demand('bids of the desk', others.length + 1, limits.deskHoursCount);
    const byHand = underHand.get(bid);
    // Only what surely began under a cap by hand counts against it.
    if (byHand !== null) demand('cents by hand', sum(ofDay.filter((other) => underHand.get(other) !== null)), byHand!);
  }
}
