/** The auditor reads a log in its own way; on histories that can happen it has to come to where the desk's table comes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { evolve } from '../../../src/bidding/evolve.ts';
import { claimedBefore } from '../../../src/bidding/react.ts';
import type { BidOutcome, Offer, PublishedBid } from '../../../src/domain/offer.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import type { RequestState } from '../../../src/domain/states.ts';
import { absorb, noEvidence, standingOf } from '../../../src/sandbox/auditor/evidence.ts';

const { bidding } = JSON.parse(readFileSync(new URL('../../../config/default.json', import.meta.url), 'utf8'));
const requestId = '7';
const at = Date.UTC(2026, 8, 3, 15);
const offer = { rateHundredths: 300, amountCents: 100_000, installments: 12, validUntil: at + 86_400_000 };
const trace = { decidedAt: at, segmentKeys: ['all'], caps: [] };

const requested = {
  kind: 'requested',
  requestId,
  at,
  rawHash: 'raw',
  sealed: '',
  request: {
    requestId,
    batchId: 'b',
    receivedAt: at,
    closesAt: at + 30_000,
    expiresAt: null,
    requestedAmountCents: offer.amountCents,
  },
} as unknown as AuctionRecord;
const claim = (claimId: string) =>
  ({
    kind: 'claimed',
    requestId,
    at,
    claimId,
    instance: claimId,
    body: claimId,
    offer,
    trace,
  }) as unknown as AuctionRecord;
/** Nobody of ours writes it. */
const forged = {
  ...claim('x'),
  offer: { ...offer, amountCents: offer.amountCents + 1 },
} as unknown as AuctionRecord;
const pass = (claimId: string | null): AuctionRecord => {
  const reasons = [{ code: 'deadline', rule: null, text: 'late' }];
  return { kind: 'passed', requestId, at, code: 'deadline', claimId, reasons, trace: null };
};
const unsentByOne = (claimId: string): AuctionRecord => ({ ...pass(claimId), maybeSent: true }) as AuctionRecord;
const answered = (outcome: BidOutcome, earlierAttemptPossible: boolean): AuctionRecord => ({
  kind: 'answered',
  requestId,
  at,
  claimId: 'a',
  outcome,
  attempts: 1,
  earlierAttemptPossible,
  firstByteAt: at,
  response: null,
});
const published = (bidId: string, position: number, rateHundredths = 300): PublishedBid => ({
  bidId,
  rateHundredths,
  offGrid: false,
  amountCents: 100_000,
  installments: 12,
  position,
  placedAt: at + 1_000,
});
const ended = (bids: readonly PublishedBid[]): AuctionRecord => ({
  kind: 'ended',
  requestId,
  at,
  batchId: 'b',
  startedAt: at,
  endedAt: at + 30_000,
  bids,
});
const winner = (kind: 'contemplated' | 'proposed', errors: readonly string[], proposalNumber = '1'): AuctionRecord =>
  kind === 'contemplated'
    ? { kind, requestId, at, requestCode: 'ours', message: null, errors }
    : {
        kind,
        requestId,
        at,
        requestCode: 'ours',
        proposalCode: 'p',
        proposalNumber,
        validUntil: at,
        message: null,
        errors,
      };

/** What really happened to the bid; records are drawn that can be written then. */
const landings = ['inside', 'outside', 'not at all'] as const;
type Landing = (typeof landings)[number];

function endsOf(landing: Landing) {
  return landing === 'inside'
    ? [
        ended([published('ours', 1)]),
        ended([published('rival', 1, 290), published('ours', 2)]),
        ended([published('rival', 1), published('ours', 2)]),
      ]
    : [ended([published('rival', 1, 290)]), ended([])];
}

function answersOf(landing: Landing): AuctionRecord[] {
  const unsure = [
    answered({ kind: 'rejected', code: 'request-expired' }, true),
    answered({ kind: 'duplicate' }, true),
    answered({ kind: 'unknown', reason: 'reset' }, false),
  ];
  switch (landing) {
    case 'inside':
      return [
        ...unsure,
        answered({ kind: 'accepted', bidId: 'ours' }, false),
        // A refusal that the published list gives the lie.
        answered({ kind: 'rejected', code: 'request-expired', names: ['ours'] }, false),
        answered({ kind: 'unknown', reason: 'refused-in-doubt', names: ['ours'] }, false),
      ];
    case 'outside':
      return [...unsure, answered({ kind: 'accepted-outside', bidId: 'ours' }, false)];
    case 'not at all':
      return [
        ...unsure,
        answered({ kind: 'rejected', code: 'request-expired' }, false),
        answered({ kind: 'duplicate' }, false),
      ];
    default:
      return landing satisfies never;
  }
}

const resolutions = (
  ['won', 'contemplated', 'lost', 'not-landed', 'cancelled', 'result-missing', 'expired'] as const
).map((as): AuctionRecord => ({ kind: 'resolved', requestId, at, as, by: 'somebody', reason: 'looked' }));
const histories = fc.constantFrom(...landings).chain((landing) => {
  const winners = [
    winner('contemplated', []),
    winner('proposed', []),
    winner('contemplated', ['no']),
    winner('proposed', ['no']),
  ];
  const event = fc.oneof(
    fc.constant(requested),
    fc.constantFrom(claim('a'), claim('b'), forged),
    fc.constantFrom(pass(null), pass('a'), pass('b'), unsentByOne('a'), unsentByOne('b')),
    fc.constantFrom(...answersOf(landing)),
    fc.constantFrom(...endsOf(landing)),
    fc.constantFrom(...(landing === 'not at all' ? resolutions : winners)),
    fc.constantFrom(...resolutions),
  );
  return fc.array(event, { minLength: 1, maxLength: 9 });
});

/**
 * Nothing answers, wins or is resolved before there is a claim that counts: whoever writes that has read the claim back.
 * No auction that had ended before the claim has our bid in it, and a bid that everybody says was never sent wins nothing.
 * Who is alone and says that it never sent the bid has no answer to tell of later.
 */
function possible(history: readonly AuctionRecord[]): AuctionRecord[] {
  const seen = { pass: false, answer: false, ended: false, resolved: false };
  let claimId: string | null = null;
  let unsent: 'maybe' | 'surely' | null = null;
  return history.filter((record) => {
    const { kind } = record;
    const isWinner = kind === 'contemplated' || kind === 'proposed';
    if (claimId === null && (isWinner || kind === 'answered' || kind === 'resolved')) return false;
    if (kind === 'ended' && claimId === null && !seen.pass) return false;
    // The desk misses a result only while there is none; what is resolved is long after the last answer could come.
    if (kind === 'resolved' && record.as === 'result-missing' && seen.ended) return false;
    if (kind === 'resolved') seen.resolved = true;
    if (kind === 'answered' && (seen.resolved || unsent === 'surely')) return false;
    // Turned away for certain is what the only attempt is told, not a second word beside another.
    if (kind === 'answered' && seen.answer && !record.earlierAttemptPossible && isTurnedAway(record.outcome))
      return false;
    if (isWinner && unsent === 'surely' && !seen.answer) return false;
    if (kind === 'passed' && record.claimId === null && claimId === null) seen.pass = true;
    if (kind === 'passed' && record.claimId !== null && record.claimId === claimId && !seen.answer)
      unsent ??= record.maybeSent ? 'maybe' : 'surely';
    if (kind === 'claimed' && record !== forged && !seen.pass) claimId ??= record.claimId;
    if (kind === 'answered') seen.answer = true;
    if (kind === 'ended') seen.ended = true;
    return true;
  });
}

const bareProposal: AuctionRecord = {
  ...winner('proposed', []),
  proposalCode: null,
  proposalNumber: null,
  validUntil: null,
} as AuctionRecord;

/** Delivered in any order and more than once: several proposals, errors of both kinds, and what people say in between. */
const tellings = fc.array(
  fc.oneof(
    fc.constantFrom(winner('contemplated', []), winner('proposed', []), winner('proposed', [], '2'), bareProposal),
    fc.constantFrom(winner('contemplated', ['no']), winner('proposed', ['no']), winner('proposed', ['late'])),
    fc.constantFrom(...resolutions.filter((record) => record.kind === 'resolved' && record.as !== 'result-missing')),
  ),
  { minLength: 1, maxLength: 12 },
);

function isTurnedAway({ kind }: BidOutcome): boolean {
  return kind === 'rejected' || kind === 'duplicate';
}

function assertSame(records: readonly AuctionRecord[]): void {
  let state: RequestState | null = null;
  const evidence = noEvidence();
  for (const record of records) {
    state = evolve(state, record, bidding);
    absorb(evidence, record);
    const { end, money } = standingOf(evidence);
    assert.deepEqual({ end, money }, { end: state.phase, money: state.exposure });
  }
}

test('on any history the auditor and the transition table say the same', () => {
  fc.assert(
    fc.property(histories, (history) => assertSame([requested, ...possible(history)])),
    { numRuns: 20_000 },
  );
});

test('of winner events delivered again the auditor and the desk take the same ones for news', () => {
  const won = [requested, claim('a'), answered({ kind: 'accepted', bidId: 'ours' }, false)];
  fc.assert(
    fc.property(fc.constantFrom(ended([published('ours', 1)]), null), tellings, (auction, told) =>
      assertSame([...won, ...(auction === null ? [] : [auction]), ...told]),
    ),
    { numRuns: 20_000 },
  );
  // More of them than either keeps.
  const errors = Array.from({ length: 130 }, (_, index) => winner('proposed', [`error ${index}`]));
  const proposals = Array.from({ length: 130 }, (_, index) => winner('proposed', [], `number ${index}`));
  assertSame([...won, ...errors, winner('proposed', []), ...errors, winner('proposed', [], '2'), ...errors]);
  assertSame([...won, ...proposals, ...errors.slice(0, 1), ...proposals.slice(40), ...errors.slice(0, 1)]);
});

test('a request that ends because the log has lost its claim stands where the desk has it, published or not', () => {
  const kept = { claimId: 'a', at, offer: offer as Offer, caps: [] };
  const endings = [
    [],
    [published('ours', 1)],
    [published('rival', 1, 290), published('ours', 2)],
    [published('x', 1, 1)],
  ];
  for (const lost of [kept, null]) {
    for (const bids of [null, ...endings]) {
      const history = [requested, ...claimedBefore(requestId, lost, at), ...(bids === null ? [] : [ended(bids)])];
      const evidence = noEvidence();
      let state: RequestState | null = null;
      for (const record of history) {
        absorb(evidence, record);
        state = evolve(state, record, bidding);
      }
      const { end, money } = standingOf(evidence);
      assert.deepEqual([end, money], [state?.phase, state?.exposure], JSON.stringify([lost, bids]));
    }
  }
});
