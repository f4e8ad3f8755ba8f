/** From a won bid to its contract: whose word it takes that the bid is won. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackRecord } from '../../src/domain/records.ts';
import {
  accepted,
  answered,
  claimed,
  contemplated,
  folded,
  proposed,
  requested,
  requestId,
  resolved,
} from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
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

test('a link query that fails by callback stops the flow with an alarm, and is not asked again', async (context) => {
  const { front, world, won, queries, alarms, tell, reaches, state } = await startFlowHouse(context);
  won.set(requestId, folded(requested(), claimed(), answered(accepted), contemplated(), proposed()));
  const flowId = `c-${requestId}`;
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: 'q-1' });
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  await eventually(async () => (await state(flowId))?.codes.includes('q-1') === true);
  const failed: CallbackRecord = {
    kind: 'operation-event',
    at: Date.now(),
    requestCode: 'q-last',
    endpoint: '/trabalhador/consultar-dados-vinculo',
    errors: ['VINCULO_INVALIDO'],
    sealed: '{}',
  };
  // The house asks again at once; the code of an earlier query counts no longer.
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: `q-${queries.length}` });
  await eventually(() => alarms.includes('margin-late'));
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: 'q-last' });
  await eventually(async () => (await state(flowId))?.marginAsks?.code === 'q-last');
  await tell('q-1', { ...failed, requestCode: 'q-1' });
  await tell('q-last', failed);
  await reaches(flowId, 'withheld');
  assert.deepEqual((await state(flowId))!.errors, ['VINCULO_INVALIDO']);
  assert.ok(alarms.includes('flow-refused'));
  const asked = queries.length;
  await sleep(200);
  assert.equal(queries.length, asked);
});

test('a link query of nobody here is no event of a flow', async (context) => {
  const { tell, front, won, reaches, state } = await startFlowHouse(context);
  const event = {
    kind: 'operation-event',
    at: Date.now(),
    requestCode: 'q-9',
    errors: ['no-links'],
    sealed: '{}',
  } as const;
  await tell('q-9', { ...event, endpoint: '/trabalhador/listar-autorizados' });
  won.set(requestId, folded(requested(), claimed(), answered(accepted), contemplated(), proposed()));
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  await reaches(`c-${requestId}`, 'preparing');
  assert.equal(await state('event:q-9'), undefined);
});
