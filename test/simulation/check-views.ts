/** The views against own sums: caught up with the log, exposure that adds up, every result learnt once. */
import { marketKeyStart } from '../../src/bidding/market-facts.ts';
import { ranked } from './auction-house.ts';
import { landedElsewhere } from './check-ends.ts';
import type { Report } from './checker.ts';
import { type Entry, ofKind, type Trails } from './log-trails.ts';
import { rowOf, usageOf } from './views.ts';
import type { Evidence } from './world.ts';

export function checkRest({ log, views }: Evidence, report: Report): void {
  for (const [partition, entries] of log.topics.auctions.entries()) {
    const applied = views.data.applied.get(partition) ?? 0;
    if (applied !== entries.length)
      report('view-behind', `partition ${partition}: ${applied} of ${entries.length} folded`);
  }
  for (const requestId of views.releasedTwice.splice(0))
    report('released-twice', `${requestId}: released while nothing was held`);
}

/** While bids are valid: what the views hold, what the states say, and what truly stands must be one. */
export function checkExposure(evidence: Evidence, trails: Trails, report: Report): void {
  const { views, house, now, sender, failedWinners } = evidence;
  const { data } = views;
  const sums = new Map<string, { amountCents: number; count: number }>();
  for (const requestId of data.rows.keys()) {
    const { state, reservation } = rowOf(data, requestId)!;
    const stateHolds = state.exposure === 'held' || state.exposure === 'committed';
    const viewHolds = reservation === 'held' || reservation === 'committed';
    if (stateHolds !== viewHolds) {
      report('exposure', `${requestId}: ${state.phase} is ${state.exposure}, its reservation is ${reservation}`);
    }
    if (!stateHolds || state.claim === null) continue;
    for (const key of [...state.claim.caps.map((cap) => cap.keys[0]!), ...standing(state)]) {
      const sum = sums.get(key) ?? { amountCents: 0, count: 0 };
      sums.set(key, { amountCents: sum.amountCents + state.claim.offer.amountCents, count: sum.count + 1 });
    }
  }
  const used = usageOf(data, [...new Set([...sums.keys(), ...keysOf(evidence)])], now, null);
  for (const [key, usage] of used) {
    const sum = sums.get(key) ?? { amountCents: 0, count: 0 };
    if (sum.amountCents !== usage.amountCents || sum.count !== usage.count) {
      report(
        'exposure',
        `${key}: ${usage.count} bids of ${usage.amountCents} cents in the views, ${sum.count} of ${sum.amountCents} by the states`,
      );
    }
  }
  const toldEnd = new Set(
    sender.acknowledged.flatMap(({ webhook }) => (webhook.content.kind === 'ended' ? webhook.content.requestIds : [])),
  );
  for (const request of house.requests.values()) {
    const order = ranked(request);
    const position = order.findIndex((bid) => bid.by === 'us');
    const bid = order[position];
    if (bid === undefined || failedWinners.has(bid.bidId) || trails.get(request.requestId) === undefined) continue;
    const state = rowOf(data, request.requestId)?.state;
    const told = toldEnd.has(request.requestId);
    if (state?.phase === 'passed' && !told && landedElsewhere(evidence, request.requestId, state.claim)) continue;
    const status = data.reservations.get(request.requestId)?.status ?? 'none';
    const holds = status === 'held' || status === 'committed';
    const twins = order.some(
      (other) => other !== bid && other.rate === bid.rate && other.amountCents === bid.amountCents,
    );
    const lost = position > 0 && told;
    if (!lost && !holds && !twins)
      report('exposure', `${request.requestId}: our bid stands, and its reservation is ${status}`);
    if (lost && holds && !twins)
      report('exposure', `${request.requestId}: our bid lost, and its reservation is ${status}`);
  }
}

/** São Paulo is three hours behind UTC. */
function dayAt(at: number): string {
  return new Date(at - 10_800_000).toISOString().slice(0, 10);
}

/**
 * Every claim counts for the desk's day, its worker and its employer; under a cap of a day also for the eve of the next one, in the last
 * 15 minutes.
 */
function standing({ request, claim }: NonNullable<ReturnType<typeof rowOf>>['state']): string[] {
  const [day, soon] = [dayAt(claim!.at), dayAt(claim!.at + 900_000)];
  const keys = [`standing:desk|${day}`];
  if (soon !== day && claim!.caps.some((cap) => cap.keys[0]?.endsWith(`|${day}`)))
    keys.push(`standing:desk|eve-${soon}`);
  if (claim!.unread) keys.push('standing:unread', `standing:unread|worker.key=${request?.workerKey ?? '?'}`);
  if (request?.workerKey) keys.push(`standing:worker|${request.workerKey}`);
  if (request?.employerId) {
    const isCompany = request.employerIdType === 1 || (!request.employerIdType && request.employerId.length >= 12);
    const key = isCompany ? request.employerId : (request.linkKey ?? request.workerKey);
    if (key !== null) keys.push(`standing:employer|${key}`);
  }
  return keys;
}

function keysOf({ views }: Evidence): string[] {
  return [...views.data.reservations.values()].flatMap((held) => [...held.keys]);
}

/** The first result of each request received counts once, under the segments known when it was read. */
export function checkStatistics({ views, house }: Evidence, trails: Trails, report: Report): void {
  const expected = new Map<string, number>();
  for (const trail of trails.values()) {
    for (const key of learntUnder(trail)) expected.set(key, (expected.get(key) ?? 0) + 1);
  }
  const { histograms } = views.data;
  const winners = [...trails.values()].filter(
    (trail) => ofKind(trail, 'claimed').length > 0 && hasWinner(trail),
  ).length;
  const taken = histograms.get('acceptance:taken')?.count ?? 0;
  if (taken > winners) report('statistics', `${taken} offers taken were folded in, ${winners} winners told`);
  for (const key of new Set([...expected.keys(), ...histograms.keys()])) {
    if (key.startsWith('acceptance:')) continue;
    if (key === ownResults || key.startsWith(marketKeyStart)) continue;
    const count = histograms.get(key)?.count ?? 0;
    // Scores and what features teach depend on what was noted; the other windows of a segment saw what the segment saw.
    if (key.endsWith('~scored') || key.includes('~features-')) continue;
    const wanted = expected.get(key.replace(/~(?:middle|recent)$/, '')) ?? 0;
    if (count !== wanted) report('statistics', `${key}: ${count} results folded in, ${wanted} in the log`);
  }
  checkCells({ views, house }, trails, report);
  checkOwnResults(views.data, report);
}

const ownResults = 'standing:results';

/** Each auction that we won or lost counts once among our results; what ended otherwise may have been won before. */
function checkOwnResults(data: Evidence['views']['data'], report: Report): void {
  const states = [...data.rows.keys()].map((requestId) => rowOf(data, requestId)!.state);
  const decided = states.filter(({ phase }) =>
    ['won', 'contemplated', 'proposed', 'winner-failed', 'lost'].includes(phase),
  ).length;
  const most = states.filter(({ claim }) => claim !== null).length;
  const count = data.histograms.get(ownResults)?.count ?? 0;
  if (count < decided || count > most) {
    report('statistics', `${count} results of ours folded in; ${decided} are won or lost, ${most} were claimed`);
  }
}

function hasWinner(trail: readonly Entry[]): boolean {
  return ofKind(trail, 'contemplated').length + ofKind(trail, 'proposed').length > 0;
}

function learntUnder(trail: readonly Entry[]): readonly string[] {
  let keys: readonly string[] | null = null;
  let isReceived = false;
  for (const { record } of trail) {
    isReceived ||= record.kind === 'requested';
    if (record.kind === 'ended' && !isReceived) return [];
    if (record.kind === 'ended') return keys === null || keys.length === 0 ? ['all'] : keys;
    if (keys !== null) continue;
    if (record.kind === 'claimed') keys = record.trace.segmentKeys;
    else if (record.kind === 'passed' && record.claimId === null) keys = record.trace?.segmentKeys ?? [];
  }
  return [];
}

/** Where no other bid could be taken for ours, the best rival is known exactly. */
function checkCells({ views, house }: Pick<Evidence, 'views' | 'house'>, trails: Trails, report: Report): void {
  const expected = new Map<number, number>();
  for (const [requestId, trail] of trails) {
    if (learntUnder(trail).length === 0) continue;
    const request = house.requests.get(requestId)!;
    const order = ranked(request);
    const claim = ofKind(trail, 'claimed')[0]?.record.offer;
    const others = order.filter((bid) => bid.by !== 'us');
    if (claim && others.some((bid) => bid.rate === claim.rateHundredths && bid.amountCents === claim.amountCents))
      return;
    const rate = others[0]?.rate ?? 498;
    const cell = Number.isInteger(rate) ? rate : 499 + Math.ceil(rate);
    expected.set(cell, (expected.get(cell) ?? 0) + 1);
  }
  const cells = views.data.histograms.get('all')?.cells ?? new Float64Array(499);
  for (const [cell, weight] of cells.entries()) {
    const wanted = expected.get(cell) ?? 0;
    if (Math.abs(weight - wanted) > 1e-9)
      report('statistics', `cell ${cell}: weight ${weight}, ${wanted} auctions had it as the best rival`);
  }
}

/**
 * When all times have run out, loans still count in the two hours after their decision: those that workers took, and of which the log
 * says nothing but that the time of the proposal is over.
 */
export function checkLoans(evidence: Evidence, trails: Trails, report: Report): void {
  const loans = new Map<string, number>();
  for (const trail of trails.values()) {
    const decidedAt = ofKind(trail, 'claimed')[0]?.record.trace.decidedAt;
    if (decidedAt === undefined || !isLoan(trail)) continue;
    const key = `desk-hours|hour-${Math.floor(decidedAt / 3_600_000)}`;
    loans.set(key, (loans.get(key) ?? 0) + 1);
  }
  const usage = usageOf(evidence.views.data, [...loans.keys()], evidence.now, null);
  for (const [key, count] of loans) {
    const counted = usage.get(key)!.count;
    if (counted < count) report('exposure', `${key}: ${counted} bids count, and ${count} loans were made`);
  }
}

function isLoan(trail: readonly Entry[]): boolean {
  const isSmooth = ({ record }: Entry): boolean => {
    if (record.kind === 'answered') return record.outcome.kind === 'accepted';
    if (record.kind === 'contemplated' || record.kind === 'proposed') {
      return record.errors.length === 0 && record.sharedWith === undefined;
    }
    if (record.kind === 'resolved') return record.as === 'expired' && record.by === 'desk';
    return record.kind === 'requested' || record.kind === 'claimed' || record.kind === 'ended';
  };
  const isTaken = trail.some(({ record }) => record.kind === 'contemplated' || record.kind === 'proposed');
  return isTaken && trail.every(isSmooth);
}
