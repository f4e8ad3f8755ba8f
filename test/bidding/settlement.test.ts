/** What the published bids say of ours and of its best rival. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readAuction, settle } from '../../src/bidding/settlement.ts';
import { noRivalCell } from '../../src/domain/glossary.ts';
import type { PublishedBid } from '../../src/domain/offer.ts';
import type { Answered } from '../../src/domain/records.ts';
import type { Answer, AuctionResult } from '../../src/domain/states.ts';
import {
  accepted,
  answered,
  at,
  bid,
  claimed,
  deadlineAt,
  duplicate,
  ended,
  folded,
  outside,
  rejected,
  requested,
  unknown,
} from './parts.ts';

const claim = folded(requested(), claimed()).claim!;

function answerOf(outcome: Answered['outcome'], earlier = false): Answer {
  return folded(requested(), claimed(), answered(outcome, earlier)).answer!;
}

function read(bids: readonly PublishedBid[], answer: Answer | null = answerOf(accepted)): AuctionResult {
  return readAuction(ended(bids), claim, answer, deadlineAt);
}

const cheaper = bid('cheaper', { rateHundredths: 240, position: 1 });
const dearer = bid('dearer', { rateHundredths: 260, position: 2 });

test('matched by the id of the answer, whatever else looks alike', () => {
  const won = read([bid('twin'), bid('ours'), dearer]);
  assert.deepEqual(
    won.candidates.map(({ bidId }) => bidId),
    ['ours'],
  );
  assert.equal(won.bestRivalCell, 250);
  assert.equal(settle(claim, answerOf(accepted), won), 'settled-won');
  const lost = read([cheaper, bid('ours', { position: 2 })]);
  assert.equal(lost.position, 2);
  assert.equal(settle(claim, answerOf(accepted), lost), 'settled-lost');
});

test('an answer that was stored in capitals is matched by a bid in small letters', () => {
  const code = '4092d844-5a1b-4c3d-9e8f-0a1b2c3d4e5f';
  const answer = answerOf({ kind: 'accepted', bidId: code.toUpperCase() });
  assert.equal(read([bid(code), dearer], answer).candidates.length, 1);
  const state = folded(
    requested(),
    claimed(),
    ended([bid(code), dearer]),
    answered({ kind: 'accepted', bidId: code.toUpperCase() }),
  );
  assert.equal(state.phase, 'won');
});

test('presumed or unknown: one bid with our content and send window is ours', () => {
  for (const answer of [answerOf(duplicate, true), answerOf(unknown)]) {
    const auction = read([bid('some-id'), dearer], answer);
    assert.equal(auction.bestRivalCell, 260);
    assert.equal(settle(claim, answer, auction), 'settled-won');
  }
  const others = [
    bid('rate', { rateHundredths: 251 }),
    bid('amount', { amountCents: 650_001 }),
    bid('term', { installments: 23 }),
    bid('off-grid', { offGrid: true }),
    bid('before', { placedAt: claim.at - 3_001 }),
    bid('after', { placedAt: deadlineAt + 3_001 }),
  ];
  assert.deepEqual(read(others, answerOf(unknown)).candidates, []);
  const edges = [
    bid('first', { placedAt: claim.at - 3_000 }),
    bid('last', { placedAt: deadlineAt + 3_000 }),
    bid('undated', { placedAt: null }),
  ];
  assert.equal(read(edges, answerOf(unknown)).candidates.length, 3);
});

test('several that may be ours: ambiguous, and the best rival is the same whichever copy is taken out', () => {
  const answer = answerOf(duplicate, true);
  fc.assert(
    fc.property(
      fc.shuffledSubarray([bid('one'), bid('two', { position: 2 }), bid('three', { position: 3 }), cheaper, dearer], {
        minLength: 5,
      }),
      fc.boolean(),
      (order, withCheaper) => {
        const bids = withCheaper ? order : order.filter((one) => one !== cheaper);
        const auction = read(bids, answer);
        assert.equal(auction.candidates.length, 3);
        assert.equal(auction.position, null);
        assert.equal(auction.bestRivalCell, withCheaper ? 240 : 250);
        assert.equal(settle(claim, answer, auction), 'settled-ambiguous');
      },
    ),
  );
});

test('absent: nobody has our content', () => {
  const auction = read([dearer], answerOf(unknown));
  assert.equal(settle(claim, answerOf(unknown), auction), 'settled-absent');
  assert.equal(auction.bestRivalCell, 260);
  assert.equal(read([]).bestRivalCell, noRivalCell);
});

test('not settled without an answer, nor for an answer that keeps the bid out of the auction', () => {
  const auction = read([bid('ours')]);
  assert.equal(settle(claim, null, auction), null);
  assert.equal(settle(claim, answerOf(rejected), auction), null);
  assert.equal(settle(claim, answerOf(outside), auction), null);
  assert.equal(settle(claim, answerOf(accepted), null), null);
});

test('an off-grid rival beats the cell above it, and is told apart from a tie', () => {
  const offGrid = bid('between', { rateHundredths: 245, offGrid: true });
  const onGrid = bid('on', { rateHundredths: 245 });
  for (const bids of [[offGrid], [onGrid, offGrid], [offGrid, onGrid]]) {
    assert.deepEqual([read(bids).bestRivalCell, read(bids).bestRivalOffGrid], [245, true]);
  }
  const better = bid('better', { rateHundredths: 244 });
  assert.deepEqual([read([offGrid, better]).bestRivalCell, read([offGrid, better]).bestRivalOffGrid], [244, false]);
  assert.equal(read([bid('gift', { rateHundredths: -3 })]).bestRivalCell, 0);
});

test('bids dated after the end are kept by the log and not learnt', () => {
  const late = bid('late', { rateHundredths: 200, placedAt: deadlineAt + 3_001 });
  const auction = read([late, dearer]);
  assert.equal(auction.bestRivalCell, 260);
  assert.equal(auction.bidCount, 1);
  const inTime = bid('in-time', { rateHundredths: 200, placedAt: deadlineAt + 3_000 });
  assert.equal(read([inTime, dearer]).bestRivalCell, 200);
});

test('without a claim every bid is a rival', () => {
  const auction = readAuction(ended([bid('ours'), dearer]), null, null, at);
  assert.equal(auction.bestRivalCell, 250);
  assert.equal(auction.position, null);
});
