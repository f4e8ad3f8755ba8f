/** What the tests of the desk share: settings with round numbers, and one record of each kind. */

import { evolve } from '../../src/bidding/evolve.ts';
import type { BiddingSettings } from '../../src/config/sections.ts';
import type { DecisionTrace, Offer, PublishedBid } from '../../src/domain/offer.ts';
import type {
  Answered,
  AuctionRecord,
  Claimed,
  Contemplated,
  Ended,
  Passed,
  Proposed,
  Requested,
  Resolved,
} from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { at as sampleAt, sampleRequest } from '../rules/sample-request.ts';

export const at = sampleAt;
export const { requestId } = sampleRequest;

export const settings: BiddingSettings = {
  windowMs: 30_000,
  skewAllowanceMs: 1_000,
  timeWitness: 'service',
  bidValidityMs: 172_800_000,
  graceMs: 86_400_000,
  resultTimeoutMs: 600_000,
  contemplationTimeoutMs: 3_600_000,
  queueLimit: 100,
  sendLimit: 8,
  batchEntries: 256,
  retryFirstMs: 100,
  retryMaxMs: 2_000,
  marginWaitMs: 20_000,
  askWithoutAuthorisation: false,
  directQueriesPerDay: 100,
  askCached: true,
  controlMaxAgeMs: 2_000,
  controlPollMs: 250,
  demandByHour: Array.from({ length: 24 }, () => 1),
  halfLifeMs: 1_000_000,
};

export const deadlineAt = at + settings.windowMs;

export const offer: Offer = {
  rateHundredths: 250,
  amountCents: 650_000,
  installments: 24,
  installmentCents: 38_000,
  financedCents: 670_000,
  iofCents: 20_000,
  cetAnnualHundredths: 4_000,
  expectedValueCents: 9_000,
  winProbability: 0.4,
  validUntil: at + settings.bidValidityMs,
};

export const trace: DecisionTrace = {
  decidedAt: at + 1,
  ruleSetHash: 'rules',
  settingsHash: 'settings',
  curveHash: 'curve',
  segmentKeys: ['all', 'all/private'],
  trial: null,
  link: null,
  usage: {},
  shadowPricePerCent: 0,
  caps: [{ keys: ['day|2026-11-20'], limitAmountCents: 1_000_000, limitCount: null }],
  rulesFired: [],
  reasons: [],
};

export function requested(change: Partial<Requested> = {}): Requested {
  return { kind: 'requested', requestId, at, request: sampleRequest, sealed: 'sealed', rawHash: 'raw', ...change };
}

export function claimed(claimId = 'a:1', change: Partial<Claimed> = {}): Claimed {
  const instance = claimId.split(':')[0]!;
  return {
    kind: 'claimed',
    requestId,
    at: at + 2,
    claimId,
    instance,
    body: `bytes of ${claimId}`,
    offer,
    trace,
    ...change,
  };
}

export function passed(claimId: string | null, code = 'deadline'): Passed {
  return { kind: 'passed', requestId, at: at + 3, code, claimId, reasons: [], trace: null };
}

export function unread(): Passed {
  return { ...passed(null, 'request-unusable'), unread: true };
}

export function answered(outcome: Answered['outcome'], earlierAttemptPossible = false): Answered {
  return {
    kind: 'answered',
    requestId,
    at: at + 4,
    claimId: 'a:1',
    outcome,
    attempts: 1,
    earlierAttemptPossible,
    firstByteAt: at + 3,
    response: { status: 200, body: '' },
  };
}

export const accepted: Answered['outcome'] = { kind: 'accepted', bidId: 'ours' };
export const outside: Answered['outcome'] = { kind: 'accepted-outside', bidId: null };
export const rejected: Answered['outcome'] = { kind: 'rejected', code: 'request-expired' };
export const duplicate: Answered['outcome'] = { kind: 'duplicate' };
export const unknown: Answered['outcome'] = { kind: 'unknown', reason: 'lost' };

/** A published bid; by default one that says what our bytes say. */
export function bid(bidId: string, change: Partial<PublishedBid> = {}): PublishedBid {
  const { rateHundredths, amountCents, installments } = offer;
  const placedAt = at + 1_000;
  return { bidId, rateHundredths, offGrid: false, amountCents, installments, position: 1, placedAt, ...change };
}

export function ended(bids: readonly PublishedBid[]): Ended {
  const endedAt = deadlineAt;
  return { kind: 'ended', requestId, at: endedAt + 500, batchId: 'batch-1', startedAt: at, endedAt, bids };
}

export function contemplated(errors: readonly string[] = []): Contemplated {
  return { kind: 'contemplated', requestId, at: deadlineAt + 900, requestCode: 'ours', message: null, errors };
}

export function proposed(errors: readonly string[] = [], validUntil = at + 400_000_000): Proposed {
  return {
    kind: 'proposed',
    requestId,
    at: deadlineAt + 1_500,
    requestCode: 'ours',
    proposalCode: 'proposal',
    proposalNumber: '77',
    validUntil,
    message: null,
    errors,
  };
}

export function resolved(as: Resolved['as']): Resolved {
  return { kind: 'resolved', requestId, at: deadlineAt + 10_000, as, by: 'ana', reason: 'seen at the service' };
}

/** The state after these records. */
export function folded(...records: readonly AuctionRecord[]): RequestState {
  let state: RequestState | null = null;
  for (const record of records) state = evolve(state, record, settings);
  return state!;
}
