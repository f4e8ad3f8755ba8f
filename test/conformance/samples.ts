/** Records, states and details for the suites; only what the ports look at varies. */
import type { NewEntry } from '../../src/bidding/ports.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import type { LinkDetail } from '../../src/domain/request.ts';
import type { Phase, RequestState } from '../../src/domain/states.ts';

export function auctionEntry(requestId: string, note: string): NewEntry & { record: AuctionRecord } {
  return {
    topic: 'auctions',
    key: requestId,
    record: { kind: 'resolved', requestId, at: 1_763_700_000_000, as: 'lost', by: 'suite', reason: note },
  };
}

export function stateOf(requestId: string, phase: Phase, decidedAt: number | null): RequestState {
  return {
    requestId,
    phase,
    batchId: 'L1',
    request: null,
    sealed: 'çÿ\u2028"\\',
    rawHash: null,
    repeats: 0,
    conflicts: 0,
    claim: null,
    lateClaims: 0,
    segmentKeys: ['*'],
    trial: null,
    pass: null,
    answer: null,
    auction: null,
    winner: null,
    resolution: null,
    exposure: 'none',
    decidedAt,
    timer: null,
  };
}

export function linkDetail(linkKey: string, receivedAt: number, availableMarginCents: number | null): LinkDetail {
  return {
    linkKey,
    workerKey: 'w',
    receivedAt,
    eligible: true,
    ineligibilityCode: null,
    availableMarginCents,
    marginBaseCents: null,
    totalEarningsCents: null,
    admissionDate: null,
    terminationDate: null,
    birthDate: null,
    workerCategoryCode: null,
    politicallyExposed: null,
    occupationCode: null,
    activityCode: null,
    employerStartDate: null,
    activeLoans: null,
    alertCount: null,
  };
}
