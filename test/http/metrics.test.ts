/** Metrics that Prometheus' own checker accepts, with a budget of series; a journal that writes what is on its list and no more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createJournal, createRepeatLimit, type JournalFields } from '../../src/http/journal.ts';
import { createMetrics, type Metrics } from '../../src/http/metrics.ts';

function fill(metrics: Metrics): void {
  const fault = { pointer: '/Payload/valorMargemDisponivel', problem: 'is wrong' };
  const report = {
    status: 200,
    event: 'requests',
    requests: 5,
    deadLetters: 0,
    faults: [fault, { ...fault, adjusted: 'negative' }],
    problem: null,
    durationMs: 4,
  } as const;
  metrics.observeDoor(report);
  metrics.observeDesk({
    kind: 'folded',
    record: 'requested',
    requestId: '1',
    from: null,
    to: 'requested',
    code: null,
    at: 0,
  });
  metrics.observeDesk({
    kind: 'folded',
    record: 'passed',
    requestId: '1',
    from: 'requested',
    to: 'passed',
    code: 'margin-missing',
    at: 0,
  });
  metrics.observeDesk({ kind: 'ruled', effects: ['One alert', 'Age ≥ 21: "só maiores"'], decidedBy: 'One alert' });
  metrics.observeDesk({ kind: 'ruled', effects: ['One alert'], decidedBy: null });
  metrics.observeDesk({ kind: 'duration', stage: 'received-to-decided', durationMs: 12 });
  metrics.observeDesk({ kind: 'attempt', outcome: 'accepted', durationMs: 4 });
  metrics.observeDesk({ kind: 'late-claim', requestId: '1' });
  metrics.countAlarm('operation-unclear');
  const settled = { kind: 'settled', at: 0, winProbability: 0.25, position: 2, gapHundredths: -3 } as const;
  const surplus = { earnedHundredths: 10, hindsightHundredths: 16 };
  metrics.observeDesk({ ...settled, expectedCents: 500, wonCents: 0, surplus });
  metrics.observeDesk({
    ...settled,
    position: 1,
    gapHundredths: null,
    expectedCents: 500,
    wonCents: 2_000,
    surplus: null,
  });
  metrics.observeDesk({ kind: 'rivals', following: { slope: 0.5, low: 0.3, high: 0.7, auctions: 400 } });
  metrics.observeAppend(3);
  const now = 1_772_550_010_000;
  metrics.setGauges({
    now,
    desk: {
      ...{ queued: 2, oldestQueuedAt: now - 1_500, sending: 1, sendLimit: 16, circuit: 'open', gate: 'paused' },
      unknown: { count: 3, oldestAt: now - 2_500 },
      exposure: { held: 12_345, committed: 0 },
      reviews: { 'large-amounts': 3, compliance: 0 },
      bidding: { kind: 'closed', cause: 'paused', since: now, by: 'ana', detail: null },
      timeDoubt: { doubt: 'clock-step', movedMs: 3_000 },
    },
    doorInFlight: 0,
    lag: { records: 7, ageMs: 1_250 },
    ruleSetRefused: true,
    logLinesLost: 4,
    serviceAnsweredAt: 1_772_550_000_500,
    unknownRefusals: 7,
    linkQueryRefusals: 8,
    cappedRequests: 12,
    ready: { gate: true, webhooks: false },
  });
}

test('what happened is counted, in base units', async () => {
  const metrics = createMetrics();
  fill(metrics);
  const text = await metrics.text();
  for (const line of [
    'lance_webhooks_total{event="requests",status="200"} 1',
    'lance_requests_received_total 5',
    'lance_ready{check="webhooks"} 0',
    'lance_service_last_answer_timestamp_seconds 1772550000.5',
    'lance_unknown_refusals 7',
    'lance_link_query_refusals 8',
    'lance_capped_requests 12',
    'lance_phases_total{phase="passed"} 1',
    'lance_passes_total{code="margin-missing"} 1',
    'lance_rule_effects_total{rule="One alert"} 2',
    'lance_rule_effects_total{rule="Age ≥ 21: \\"só maiores\\""} 1',
    'lance_rule_passes_total{rule="One alert"} 1',
    'lance_bid_attempts_total{outcome="accepted"} 1',
    'lance_late_claims_total 1',
    'lance_alarms_total{code="operation-unclear"} 1',
    'lance_alarms_total{code="foreign-bid"} 0',
    'lance_bidding_status{cause="paused"} 1',
    'lance_bidding_status{cause="none"} 0',
    'lance_stage_duration_seconds_sum{stage="received-to-decided"} 0.012',
    'lance_stage_duration_seconds_sum{stage="received-to-durable"} 0.004',
    'lance_log_append_duration_seconds_sum 0.003',
    'lance_queue_oldest_age_seconds 1.5',
    'lance_exposure_reais{status="held"} 123.45',
    'lance_reviews_waiting{queue="large-amounts"} 3',
    'lance_reviews_waiting{queue="compliance"} 0',
    'lance_consumer_lag_records{topic="auctions"} 7',
    'lance_consumer_lag_seconds{topic="auctions"} 1.25',
    'lance_unreadable_facts_total 1',
    'lance_adjusted_margins_total{how="negative"} 1',
    'lance_unknown_bids 3',
    'lance_unknown_oldest_age_seconds 2.5',
    'lance_rule_set_refused 1',
    'lance_time_doubted 1',
    'lance_log_lines_lost_total 4',
    'lance_paused 1',
    'lance_auctions_settled_total{chance="20-40"} 2',
    'lance_auctions_won_total{chance="20-40"} 1',
    'lance_wins_expected_total{chance="20-40"} 0.5',
    'lance_wins_expected_variance_total{chance="20-40"} 0.375',
    'lance_profit_expected_reais_total 10',
    'lance_profit_won_reais_total 20',
    'lance_surplus_percent_total 0.1',
    'lance_surplus_hindsight_percent_total 0.16',
    'lance_bid_position_bucket{le="1"} 1',
    'lance_next_bid_gap_percent_sum -0.03',
    'lance_rivals_follow_share{bound="low"} 0.3',
  ]) {
    assert.ok(text.includes(`${line}\n`), `missing: ${line}`);
  }
  assert.match(text, /^nodejs_eventloop_lag_p99_seconds /m);
});

test('names and kinds follow the rules of promtool check metrics', async () => {
  const metrics = createMetrics();
  fill(metrics);
  for (const line of (await metrics.text()).split('\n').filter((text) => text.startsWith('# '))) {
    const [, what, name, ...rest] = line.split(' ');
    assert.match(name!, /^[a-z][a-z0-9_]*$/);
    if (what === 'HELP') assert.ok(rest.join(' ').length > 3, `${name} has no help`);
    if (what !== 'TYPE') continue;
    assert.equal(name!.endsWith('_total'), rest[0] === 'counter', `${name} is a ${rest[0]}`);
    assert.doesNotMatch(name!, /_(ms|milliseconds|cents|count|sum|bucket|info_total)$/);
  }
});

test('labels from outside cannot grow without end', async () => {
  const metrics = createMetrics();
  for (let index = 0; index < 1_000; index += 1) {
    const requestId = String(index);
    metrics.observeDesk({
      kind: 'folded',
      record: 'passed',
      requestId,
      from: 'requested',
      to: 'passed',
      code: `code-${index}`,
      at: 0,
    });
    metrics.observeDesk({ kind: 'fault', code: `fault ${index}`, message: '' });
    metrics.observeDesk({ kind: 'ruled', effects: [`Rule ${index}`, 'two\nlines'], decidedBy: `Rule ${index}` });
  }
  const text = await metrics.text();
  assert.equal(text.match(/^lance_passes_total/gm)?.length, 101);
  assert.ok(text.includes('lance_passes_total{code="other"} 900'));
  assert.equal(text.match(/^lance_faults_total/gm)?.length, 1);
  assert.equal(text.match(/^lance_rule_(?:effects|passes)_total/gm)?.length, 202);
  assert.ok(text.includes('lance_rule_effects_total{rule="other"} 1900'));
  assert.ok(text.split('\n').length < 760, 'the budget of series');
});

test('the journal writes allow-listed fields in their form and drops the rest', () => {
  const lines: string[] = [];
  const journal = createJournal('info', { write: (line: string) => void lines.push(line) });
  const smuggled = { requestId: '9007199254740993123', cpf: '91582575436', nested: { nome: 'Fulana' }, durationMs: 12 };
  journal.info('bid-sent', smuggled as JournalFields);
  journal.warn('odd', {
    phase: 'Fulana de Tal',
    batchId: 'Fulana de Tal',
    status: Number.NaN,
    text: 'worker 915.825.754-36 refused',
  });
  journal.error('Fulana de Tal 91582575436');
  const written = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    written.map(({ time, ...rest }) => rest),
    [
      { level: 30, requestId: '9007199254740993123', durationMs: 12, msg: 'bid-sent' },
      { level: 40, text: 'worker *** refused', msg: 'odd' },
      { level: 50, msg: 'unnamed-event' },
    ],
  );
});

test('what comes again and again is told once in five seconds for each cause, with how often it was not told', () => {
  let nowMs = 0;
  const limit = createRepeatLimit(() => nowMs);
  const told: [cause: string, atMs: number, leftOut: number][] = [];
  for (nowMs = 0; nowMs < 12_000; nowMs += 100) {
    limit('full', (leftOut) => told.push(['full', nowMs, leftOut]));
    if (nowMs === 7_000) limit('broken', (leftOut) => told.push(['broken', nowMs, leftOut]));
  }
  assert.deepEqual(told, [
    ['full', 0, 0],
    ['full', 5_000, 49],
    ['broken', 7_000, 0],
    ['full', 10_000, 49],
  ]);
});
