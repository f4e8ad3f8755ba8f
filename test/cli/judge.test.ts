/**
 * The limits that a run is judged by are those that its decisions knew: from the same facts, at the same time. The verdict in
 * either language.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFormat } from '../../src/cli/format.ts';
import { type DemoReport, limitsBy, reportText } from '../../src/cli/judge.ts';
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

const report: DemoReport = {
  requests: 1_300,
  bids: 900,
  passed: { 'no-profit': 100, 'margin-missing': 300 },
  outcomes: { accepted: 899, 'rejected(cap)': 1 },
  won: 400,
  lost: 498,
  unsettled: 1,
  latencyMs: { p50: 12, p99: null },
  surplus: { expected: 1, realised: 123_456, clairvoyant: 200_000 },
  ruleSet: '0123456789abcdef',
  violations: [{ code: 'two-claims', requestId: '7', text: 'two payloads' } as never],
};

test('the report of the demo follows the language, with one column of figures and the same codes', () => {
  assert.deepEqual(reportText(report, createFormat('pt')).split('\n'), [
    'Solicitações      1300',
    'Lances            900 (899 accepted, 1 rejected(cap))',
    'Ganhos, perdidos  400, 498; em aberto 1',
    'Sem lance         400',
    '     300  margin-missing',
    '     100  no-profit',
    'Latência          p50 12 ms, p99 – ms do webhook ao primeiro byte',
    'Excedente         R$ 1.234,56: 61,7 % do que ganharia quem conhecesse as distribuições',
    'Regras            0123456789ab',
    'Auditor           1 violação',
    '  two-claims 7 two payloads',
  ]);
  const good = { ...report, violations: [], surplus: { ...report.surplus, clairvoyant: 0 } };
  const lines = reportText(good, createFormat('en')).split('\n');
  assert.equal(lines[2], 'Won, lost  400, 498; unsettled 1');
  assert.equal(lines[7], 'Surplus    R$ 1,234.56: – of what somebody who knows the distributions would have earned');
  assert.equal(lines.at(-1), 'Auditor    no violations');
});
