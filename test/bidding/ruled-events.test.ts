/** What those who watch hear of the rules: once for each decision that takes hold. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFoldTeller } from '../../src/bidding/fold-events.ts';
import type { Fold } from '../../src/bidding/ledger.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { accepted, answered, bid, claimed as claimedBid, ended, folded, requested } from './parts.ts';

type Phase = RequestState['phase'];

function stateOf(phase: Phase, claimId: string | null = null): RequestState {
  const claim = claimId === null ? null : { claimId };
  return { requestId: '1', phase, claim, lateClaims: 0, auction: null, pass: null } as unknown as RequestState;
}

const trace = { decidedAt: 0, rulesFired: ['A', 'B'] };
const claimed = { kind: 'claimed', requestId: '1', claimId: 'i:1', trace } as unknown as AuctionRecord;
const passed = { kind: 'passed', requestId: '1', claimId: null, trace } as unknown as AuctionRecord;
const byRule = [
  { code: 'x', rule: 'B', text: '' },
  { code: 'y', rule: 'A', text: '' },
];

function told(record: AuctionRecord, before: RequestState | null, state: RequestState) {
  const events: DeskEvent[] = [];
  const tell = createFoldTeller((event) => void events.push(event));
  tell({ row: { state }, before, record, readBack: [] } as unknown as Fold, 0);
  return events.flatMap((event) => (event.kind === 'ruled' ? [[event.effects, event.decidedBy]] : []));
}

test('a claim that takes hold tells the rules with an effect, a late one nothing', () => {
  assert.deepEqual(told(claimed, stateOf('requested'), stateOf('claimed', 'i:1')), [[['A', 'B'], null]]);
  assert.deepEqual(told(claimed, stateOf('claimed', 'j:2'), stateOf('claimed', 'j:2')), []);
  assert.deepEqual(told(claimed, stateOf('claimed', 'i:1'), stateOf('claimed', 'i:1')), []);
  assert.deepEqual(told(claimed, stateOf('requested'), stateOf('requested')), []);
});

test('a pass tells the rule whose reason comes first, or that it was none', () => {
  const reasons = (given: unknown) => ({ ...passed, reasons: given }) as AuctionRecord;
  assert.deepEqual(told(reasons(byRule), stateOf('requested'), stateOf('passed')), [[['A', 'B'], 'B']]);
  const late = { ...passed, trace: null, reasons: [{ code: 'too-late', rule: null, text: '' }] } as AuctionRecord;
  assert.deepEqual(told(late, stateOf('requested'), stateOf('passed')), [[[], null]]);
  // Once, and only where it ends the request.
  assert.deepEqual(told(reasons(byRule), stateOf('passed'), stateOf('passed')), []);
  assert.deepEqual(told(reasons(byRule), stateOf('claimed', 'i:1'), stateOf('claimed', 'i:1')), []);
});

test('a claim that is given up counts its effects no second time', () => {
  const givenUp = { ...passed, claimId: 'i:1', reasons: [{ code: 'cap', rule: null, text: '' }] } as AuctionRecord;
  assert.deepEqual(told(givenUp, stateOf('claimed', 'i:1'), stateOf('passed', 'i:1')), [[[], null]]);
});

test('a bid published with other figures than were sent is told with both', () => {
  const before = folded(requested(), claimedBid(), answered(accepted));
  const record = ended([bid('ours', { rateHundredths: 251, amountCents: 480_050 })]);
  const events: DeskEvent[] = [];
  const tell = createFoldTeller((event) => void events.push(event));
  const row = { state: folded(requested(), claimedBid(), answered(accepted), record) };
  tell({ row, before, record, readBack: [] } as unknown as Fold, 0);
  const text =
    'the bid was published with other figures than were sent: sent 2.50 % a month, R$ 6500.00, 24 installments; published 2.51 % a month, R$ 4800.50, 24 installments (code ours)';
  assert.deepEqual(
    events.filter(({ kind }) => kind === 'alarm'),
    [{ kind: 'alarm', code: 'bid-differs', requestId: row.state.requestId, text }],
  );
});
