/** From a won bid to its contract: whose word it takes that the bid is won. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, claimed, folded, requested, requestId, resolved } from '../bidding/parts.ts';
import { orderOf, startFlowHouse } from './flow-house.ts';

const outside = { ...answered({ kind: 'accepted-outside', bidId: 'bid' }), codes: ['call'] };

test('a person says that a bid is contemplated, and its contract goes on without the codes of a proposal', async (context) => {
  const { front, won, reaches, state } = await startFlowHouse(context);
  const asker = { by: 'ana', key: 'k1' };
  won.set(requestId, folded(requested(), claimed(), outside, resolved('won')));
  const early = await front.startContract(asker, orderOf(requestId));
  assert(early.kind === 'refused');
  assert.match(early.breaches[0]!.problem, /is won, not contemplated.*lance bids resolve .* --as contemplated/);
  won.set(requestId, folded(requested(), claimed(), outside, resolved('won'), resolved('contemplated')));
  const begun = await front.startContract(asker, orderOf(requestId));
  assert.equal(begun.kind, 'taken', JSON.stringify(begun));
  await reaches(`c-${requestId}`, 'preparing');
  const { proposal } = (await state(`c-${requestId}`))!;
  assert.deepEqual(proposal, { code: null, number: null, validUntil: null });
});
