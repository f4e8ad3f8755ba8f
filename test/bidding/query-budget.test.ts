/** Direct link queries on the embedded store: so many a day, then the service's cache. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkQuery, QueryBudget } from '../../src/bidding/ports.ts';
import { withinBudget } from '../../src/bidding/query-budget.ts';
import { Fault } from '../../src/errors.ts';
import { withBackend } from '../conformance/backend.ts';
import { kind } from '../conformance/embedded-backend.ts';
import { manualClock } from '../sandbox/clocks.ts';

const identity = { cpf: '52998224725', name: null, registration: '7', employerId: '12345678', employerIdType: 1 };
const direct: LinkQuery = { identity, authorisationNumber: '1', cached: false };
/** Ten minutes before midnight in São Paulo. */
const startAt = Date.UTC(2026, 10, 22, 2, 50);

function queriesOn(budget: QueryBudget) {
  const clock = manualClock(startAt);
  const asked: boolean[] = [];
  const answer = async ({ cached }: LinkQuery) => {
    asked.push(cached);
    return { kind: 'acknowledged', requestCode: null } as const;
  };
  const service = { listLinks: answer, askLinkDetail: answer };
  return { asked, clock, queries: withinBudget({ service, budget, clock, perDay: 3 }) };
}

test('beyond the budget of a day the cache is asked; a query of the cache costs nothing; the next day begins anew', () =>
  withBackend(kind, async ({ queryBudget }) => {
    const { asked, clock, queries } = queriesOn(queryBudget);
    await queries.askLinkDetail({ ...direct, cached: true });
    for (let count = 0; count < 2; count += 1) await queries.listLinks(direct);
    for (let count = 0; count < 3; count += 1) await queries.askLinkDetail(direct);
    assert.deepEqual(asked, [true, false, false, false, true, true]);
    clock.advance(20 * 60_000);
    await queries.askLinkDetail(direct);
    assert.equal(asked.at(-1), false);
  }));

test('while nobody knows how many there were, the cache is asked', async () => {
  const unknown: QueryBudget = { take: () => Promise.reject(new Fault('views-unavailable', 'gone')) };
  const { asked, queries } = queriesOn(unknown);
  await queries.askLinkDetail(direct);
  assert.deepEqual(asked, [true]);
});
