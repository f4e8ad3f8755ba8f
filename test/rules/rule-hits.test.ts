/** What the rules of a set did, counted from the records of decisions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullRuleCap } from '../../src/cli/rules-hits.ts';
import type { DecisionTrace, Reason } from '../../src/domain/offer.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { createHitCount, type HitsReport, type RuleHits } from '../../src/rules/rule-hits.ts';
import { codesFile, compiledFiles, ruleOf } from './sample-request.ts';

const ruleSet = compiledFiles([
  codesFile,
  { path: 'rules.json', text: JSON.stringify(['A', 'B', 'C'].map((name) => ruleOf({ name }))) },
]);

const span = { since: 1_000, until: 2_000 };

function traceOf(change: Partial<DecisionTrace> = {}): DecisionTrace {
  return { decidedAt: 1_500, ruleSetHash: ruleSet.hash, rulesFired: [], reasons: [], ...change } as DecisionTrace;
}

function reason(rule: string | null, code = 'age-outside'): Reason {
  return { code, rule, text: 'said' };
}

type Given = { trace?: Partial<DecisionTrace> | null; reasons?: readonly Reason[]; claimId?: string | null };

function record(kind: 'claimed' | 'passed', requestId: string, { trace = {}, ...given }: Given = {}): AuctionRecord {
  const own = trace === null ? null : traceOf(trace);
  const both = { kind, requestId, at: 1_500, trace: own, claimId: kind === 'claimed' ? 'i:1' : null, reasons: [] };
  return { ...both, ...given } as unknown as AuctionRecord;
}

function count(...records: readonly AuctionRecord[]): HitsReport {
  const counted = createHitCount(ruleSet, span, fullRuleCap, () => []);
  for (const one of records) counted.add(one);
  return counted.report();
}

function hitsOf({ rules }: HitsReport, name: string): Omit<RuleHits, 'rule' | 'stage' | 'event'> {
  const { rule: _, stage: __, event: ___, ...figures } = rules.find(({ rule }) => rule === name)!;
  return figures;
}

const nothing = { effects: 0, decided: 0, alone: 0, unknown: 0, full: 0, limited: 0, asleep: 0 };

test('effects, first reasons, reasons alone, missing facts and sleep are counted by rule', () => {
  const report = count(
    record('claimed', '1', { trace: { rulesFired: ['A', 'B'] } }),
    record('passed', '2', { trace: { rulesFired: ['A', 'C'] }, reasons: [reason('A'), reason('C')] }),
    record('passed', '3', { trace: { rulesFired: ['C'] }, reasons: [reason('C')] }),
    record('passed', '4', {
      trace: { rulesFired: ['A', 'C'], snoozed: [{ rule: 'B', digest: 'd' }] },
      reasons: [reason('A'), reason('C', 'fact-missing:worker.ageYears'), reason('C', 'fact-missing:employer.key')],
    }),
    record('passed', '5', { reasons: [reason(null, 'no-profit')] }),
  );
  const { rules: _, hash, ...total } = report;
  assert.equal(hash, ruleSet.hash);
  assert.deepEqual(total, { decisions: 5, bids: 1, passes: 4, byRules: 3, byOtherSets: 0 });
  assert.deepEqual(hitsOf(report, 'A'), { ...nothing, effects: 3, decided: 2 });
  assert.deepEqual(hitsOf(report, 'B'), { ...nothing, effects: 1, asleep: 1 });
  assert.deepEqual(hitsOf(report, 'C'), { ...nothing, effects: 3, decided: 1, alone: 1, unknown: 1 });
});

test('rules come by their effects, then by name, and those without any are told', () => {
  const report = count(record('claimed', '1', { trace: { rulesFired: ['C'] } }));
  assert.deepEqual(
    report.rules.map(({ rule, effects, stage, event }) => [rule, effects, stage, event]),
    [
      ['C', 1, 'request', 'pass'],
      ['A', 0, 'request', 'pass'],
      ['B', 0, 'request', 'pass'],
    ],
  );
});

test('only decisions of the span by this set count, both ends included', () => {
  const at = (decidedAt: number) => ({ trace: { decidedAt, rulesFired: ['A'] } });
  const other = { trace: { ruleSetHash: 'other', rulesFired: ['A', 'Z'] }, reasons: [reason('A')] };
  const report = count(
    record('claimed', '1', at(999)),
    record('claimed', '2', at(1_000)),
    record('claimed', '3', at(2_000)),
    record('claimed', '4', at(2_001)),
    record('passed', '5', other),
    record('passed', '6', { trace: null, reasons: [reason(null, 'too-late')] }),
    record('passed', '7', { trace: { rulesFired: ['Z'] }, reasons: [reason('Z')] }),
  );
  assert.deepEqual([report.decisions, report.bids, report.byOtherSets, report.byRules], [3, 2, 1, 0]);
  assert.equal(hitsOf(report, 'A').effects, 2);
});

test('a request is decided once: by its first claim, which may be given up', () => {
  const fired = { trace: { rulesFired: ['A'] } };
  const report = count(
    record('claimed', '1', fired),
    record('claimed', '1', { ...fired, claimId: 'j:7' }),
    record('passed', '1', { ...fired, claimId: 'j:7', reasons: [reason('A')] }),
    record('claimed', '2', fired),
    record('passed', '2', { ...fired, claimId: 'i:1', reasons: [reason(null, 'cap')] }),
    record('passed', '2', { ...fired, claimId: 'i:1', reasons: [reason('A')] }),
    record('passed', '3', { ...fired, reasons: [reason('A')] }),
    record('claimed', '3', fired),
    record('claimed', '4', { trace: { decidedAt: 10 } }),
    record('passed', '4', { claimId: 'i:1', reasons: [reason('A')] }),
  );
  assert.deepEqual([report.decisions, report.bids, report.passes, report.byRules], [3, 1, 2, 1]);
  assert.deepEqual(hitsOf(report, 'A'), { ...nothing, effects: 3, decided: 1, alone: 1 });
});

test('a pass for want of room counts for the rule of the cap, and for none where the cap is by hand', () => {
  const params = { name: 'daily', keyFacts: [], window: 'day', maxCount: 1 };
  const capping = ruleOf({ name: 'Cap', event: { type: 'cap', params } });
  const set = compiledFiles([
    codesFile,
    { path: 'rules.json', text: JSON.stringify([capping, ruleOf({ name: 'A' })]) },
  ]);
  const counted = createHitCount(set, span, fullRuleCap, () => []);
  const claimed = { trace: { ruleSetHash: set.hash, rulesFired: ['Cap'] } };
  const full = (key: string): Reason[] => [
    { code: 'cap', rule: null, text: `the cap ${key} has no room left for this amount` },
  ];
  counted.add(record('passed', '1', { ...claimed, reasons: full('daily|2026-11-20') }));
  counted.add(record('claimed', '2', claimed));
  counted.add(record('passed', '2', { ...claimed, claimId: 'i:1', reasons: full('daily|2026-11-20') }));
  counted.add(record('passed', '3', { ...claimed, reasons: full('operator:daily|2026-11-20') }));
  counted.add(record('passed', '4', { ...claimed, reasons: [reason('A')] }));
  const report = counted.report();
  assert.deepEqual(hitsOf(report, 'Cap'), { ...nothing, effects: 4, full: 2 });
  assert.deepEqual(hitsOf(report, 'A'), { ...nothing, decided: 1, alone: 1 });
});
