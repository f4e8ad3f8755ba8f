/** The limits that a run is judged by are those that its decisions knew: from the same facts, at the same time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitsBy } from '../../src/cli/judge.ts';
import type { LoanRequest } from '../../src/domain/request.ts';
import { configOf, shippedPolicy } from '../bidding/house.ts';
import { trace } from '../bidding/parts.ts';
import { at, compiled, ruleOf, sampleLink, sampleRequest } from '../rules/sample-request.ts';

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });

/** What `limitsBy` makes of one rule that caps the rate where its condition holds. */
function capped(fact: string, operator: string, value: number) {
  const event = { type: 'limit', params: { maxRatePercent: 2 } };
  const ruleSet = compiled([ruleOf({ conditions: { all: [{ fact, operator, value }] }, event })]);
  const limitsOf = limitsBy({ ...shippedPolicy(config), ruleSet });
  return (request: LoanRequest | null, change: Partial<typeof trace> | null) =>
    limitsOf({} as never, request, change && { ...trace, ...change }).maxRateHundredths;
}

test('where request and link name different margins, the smaller one counts', () => {
  const maxRate = capped('margin.availableReais', 'lessThan', 500);
  const narrow = { ...sampleLink, availableMarginCents: 49_999 };
  assert.equal(maxRate(sampleRequest, { link: narrow }), 200);
  assert.equal(maxRate(sampleRequest, { link: sampleLink }), null);
  assert.equal(maxRate({ ...sampleRequest, availableMarginCents: 49_999 }, { link: sampleLink }), 200);
});

test('facts of the ledger are those that the decision noted; unknown ones cap, as they do in a decision', () => {
  const maxRate = capped('worker.openBids', 'greaterThanInclusive', 3);
  assert.equal(maxRate(sampleRequest, { ledger: { 'worker.openBids': 2 } }), null);
  assert.equal(maxRate(sampleRequest, { ledger: { 'worker.openBids': 3 } }), 200);
  assert.equal(maxRate(sampleRequest, null), 200);
  assert.equal(maxRate(null, null), 200);
});

test('time is that of the decision, and of the request where none was made', () => {
  const maxRate = capped('worker.ageYears', 'lessThan', 39);
  const born = { ...sampleRequest, birthDate: '1987-11-21', receivedAt: at };
  assert.equal(maxRate(born, { decidedAt: at }), 200);
  assert.equal(maxRate(born, { decidedAt: at + 24 * 3_600_000 }), null);
  assert.equal(maxRate(born, null), 200);
  assert.equal(maxRate({ ...born, receivedAt: at + 24 * 3_600_000 }, null), null);
});
