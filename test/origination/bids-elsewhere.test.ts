/** Flows are shown where another process has their bids, without what only the bid says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../../src/errors.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { withLostBids } from '../../src/origination/lost-bids.ts';
import type { FlowQuery } from '../../src/origination/ports.ts';
import { stateOf } from '../conformance/samples.ts';
import { settings, started } from './orders.ts';

const flow = evolve(null, started('contract'), settings)!;
const contracts = ['here', 'elsewhere'].map((requestId) => ({
  ...flow,
  flowId: `c-${requestId}`,
  subject: { ...flow.subject, requestId },
}));
const stored = {
  read: async (_flowIds: readonly string[]) => new Map(contracts.map((state) => [state.flowId, state])),
  query: async (_query: FlowQuery) => contracts,
};
const lost = { state: stateOf('here', 'lost', 1), reservation: 'none' as const, hadRoom: true };
const read = async (requestIds: readonly string[]) => {
  if (requestIds.includes('elsewhere')) throw new Fault('views-unavailable', 'another process has it');
  return new Map([['here', lost]]);
};
const query = { flow: null, phase: null, code: null, limit: 9, before: null };

test('of a bid whose owner cannot be asked nothing is shown, and of the others it is', async () => {
  const readKnown = async () => new Map([['here', lost]]);
  const shown = withLostBids(stored, { read, readKnown });
  const marks = (await shown.query(query)).map(({ flowId, lostBid }) => [flowId, lostBid !== undefined]);
  assert.deepEqual(marks, [
    ['c-here', true],
    ['c-elsewhere', false],
  ]);
  assert.equal((await shown.read(['c-here', 'c-elsewhere'])).get('c-here')?.lostBid !== undefined, true);
});

test('where nobody else is asked, views that do not answer are told', async () => {
  await assert.rejects(withLostBids(stored, { read }).query(query), { code: 'views-unavailable' });
});
