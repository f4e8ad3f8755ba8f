/** What the published bids say of ours and of its best rival. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { capOperations, viewChanges } from '../../src/bidding/evolve.ts';
import { resultsKey } from '../../src/bidding/ledger-facts.ts';
import { readAuction, settle } from '../../src/bidding/settlement.ts';
import { noRivalCell } from '../../src/domain/glossary.ts';
import type { PublishedBid } from '../../src/domain/offer.ts';
import type { Answered } from '../../src/domain/records.ts';
import type { Answer, AuctionResult, RequestState } from '../../src/domain/states.ts';
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
  settings,
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

/** As the log has it: the answer gave these codes. */
const answerWith = (outcome: Answered['outcome'], names: readonly string[]): Answered =>
  answered({ ...outcome, names } as Answered['outcome']);
const standing = ({ phase, exposure, auction }: RequestState) => [phase, exposure, auction?.position ?? null];

test('a refused bid that the published list names by its own code stood, whatever its figures: the list counts', () => {
  const start = [requested(), claimed(), answerWith(rejected, ['ours'])] as const;
  assert.deepEqual(standing(folded(...start)), ['rejected', 'released', null]);
  const other = { rateHundredths: 245, amountCents: 600_000 };
  const won = folded(...start, ended([bid('OURS-NOT'), bid('ours', other), dearer]));
  assert.deepEqual(standing(won), ['won', 'committed', 1]);
  // Our own bid is no rival: the best of the others teaches.
  assert.equal(won.auction?.bestRivalCell, 250);
  assert.deepEqual(standing(folded(...start, ended([cheaper, bid('ours', { position: 2 })]))), ['lost', 'released', 2]);
  // A bid under another code that says the same is a rival's.
  const [phase, exposure] = standing(folded(...start, ended([bid('twin'), dearer])));
  assert.deepEqual([phase, exposure], ['rejected', 'released']);
});

test('a code that the service wrote in capitals is ours in small letters', () => {
  const code = '4092d844-5a1b-4c3d-9e8f-0a1b2c3d4e5f';
  const start = [requested(), claimed(), answerWith(rejected, [code])] as const;
  assert.equal(folded(...start, ended([bid(code.toUpperCase())])).phase, 'won');
});

test('a refusal without a code is believed, though exactly our figures are published: a rival may have bid the same', () => {
  // So were all refusals of earlier versions, which did not say whether they kept a code.
  for (const refusal of [answered(rejected), { ...answered(rejected), codes: ['ours'] }]) {
    const start = [requested(), claimed(), refusal] as const;
    assert.deepEqual(standing(folded(...start, ended([bid('ours'), dearer]))).slice(0, 2), ['rejected', 'released']);
    const early = folded(requested(), claimed(), ended([bid('ours'), dearer]), refusal);
    assert.deepEqual(standing(early).slice(0, 2), ['rejected', 'released']);
  }
});

test('the list may come before the refusal that names the bid', () => {
  const early = folded(requested(), claimed(), ended([bid('ours'), dearer]), answerWith(rejected, ['ours']));
  assert.deepEqual(standing(early), ['won', 'committed', 1]);
  const twin = folded(requested(), claimed(), ended([bid('twin'), dearer]), answerWith(rejected, ['ours']));
  assert.deepEqual(standing(twin).slice(0, 2), ['rejected', 'released']);
});

test('what the list says of a refused bid counts again under its caps, and is learnt', () => {
  const refusal = answerWith(rejected, ['ours']);
  const before = folded(requested(), claimed(), refusal);
  const list = ended([bid('ours'), dearer]);
  const after = folded(requested(), claimed(), refusal, list);
  const changes = viewChanges(before, after, list, settings);
  const [reserve, commit] = changes;
  assert(reserve?.kind === 'reserve' && reserve.force && reserve.amountCents === claim.offer.amountCents);
  assert.ok(reserve.caps.some(({ keys }) => keys.includes('day|2026-11-20')));
  assert.equal(commit?.kind, 'commit');
  assert.ok(changes.some((change) => change.kind === 'learn' && change.keys[0] === resultsKey));
  const [operation, ...rest] = capOperations(before, after, 9);
  assert.deepEqual([operation?.kind, rest], ['hold', []]);
});

test('a bid refused in doubt is found by its code alone where it has one, else by its figures', () => {
  const start = [
    requested(),
    claimed(),
    answerWith({ kind: 'unknown', reason: 'refused-in-doubt' }, ['ours']),
  ] as const;
  assert.deepEqual(standing(folded(...start)), ['unknown', 'held', null]);
  const odd = bid('ours', { amountCents: 640_000, position: 2 });
  assert.deepEqual(standing(folded(...start, ended([bid('twin'), odd]))), ['lost', 'released', 2]);
  // A bid of a rival that says the same: the money stays promised, and nobody is told whose loan it is.
  assert.deepEqual(standing(folded(...start, ended([bid('twin'), dearer]))), ['not-landed', 'held', null]);
  const unnamed = answered({ kind: 'unknown', reason: 'refused-in-doubt' });
  assert.deepEqual(standing(folded(requested(), claimed(), unnamed, ended([bid('any'), dearer]))), [
    'won',
    'committed',
    1,
  ]);
  // The bid of an attempt before may be published under a code that no answer gave.
  const retried = answered({ kind: 'unknown', reason: 'refused-in-doubt', names: ['second call'] }, true);
  assert.deepEqual(standing(folded(requested(), claimed(), retried, ended([bid('first')]))), ['won', 'committed', 1]);
  const late = folded(requested(), claimed(), ended([bid('ours'), bid('twin', { position: 2 })]), start[2]);
  assert.deepEqual(standing(late), ['won', 'committed', 1]);
});

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

test('a bid with our figures under a code that a duplicate or a later answer gave is ours, whatever its time (integrator, session 48)', () => {
  const early = { placedAt: claim.at - 3 * 3_600_000 };
  for (const answer of [
    answerWith(duplicate, ['told']),
    { ...answerWith(unknown, ['told']), earlierAttemptPossible: true },
    { ...answerWith(rejected, ['told']), earlierAttemptPossible: true },
  ]) {
    const settled = (...bids: readonly PublishedBid[]) => folded(requested(), claimed(), answer, ended(bids));
    const own = bid('TOLD'.toLowerCase(), early);
    assert.deepEqual(standing(settled(own, dearer)), ['won', 'committed', 1], JSON.stringify(answer));
    // A rival with the same figures in the window is not ours then.
    assert.equal(settled({ ...own, position: 2 }, bid('rival', { position: 1 })).phase, 'lost');
    // Other figures under that code, or our figures under another one so early, are not.
    for (const other of [bid('told', { ...early, amountCents: 650_001 }), bid('some', early)]) {
      assert.ok(!['won', 'lost', 'ambiguous'].includes(settled(other, dearer).phase), JSON.stringify(other));
    }
    // The code excludes nothing: without it among the bids, figures and time count as before.
    assert.equal(settled(bid('some'), dearer).phase, 'won');
  }
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
  assert.equal(settle(claim, answerOf(rejected), read([dearer], answerOf(rejected))), null);
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
