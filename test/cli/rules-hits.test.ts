/** Where `lance rules hits` begins to read: late enough to be quick, early enough to miss nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createLimiters, fullRuleCap, spanFrom } from '../../src/cli/rules-hits.ts';
import type { DecisionTrace } from '../../src/domain/offer.ts';
import type { Passed, Requested } from '../../src/domain/records.ts';
import { createHitCount } from '../../src/rules/rule-hits.ts';
import { config } from '../impact/recorded.ts';
import { always, at, codesFile, compiledFiles, ruleOf, sampleRequest } from '../rules/sample-request.ts';

type Log = Parameters<typeof spanFrom>[0];

/** A partition whose record at each offset has this time; null: it tells none. */
function logOf(times: readonly (number | null)[]): Log & { asked: () => number } {
  let asked = 0;
  const read = async (_topic: string, partition: number, from: number, limit: number) => {
    asked += 1;
    return times.slice(from, from + limit).map((at, index) => {
      const record = at === null ? { kind: 'unreadable' } : { kind: 'passed', at };
      return { partition, offset: from + index, key: 'k', record };
    });
  };
  return { read, asked: () => asked } as unknown as Log & { asked: () => number };
}

test('no record of the time or later is before the place, which is at most 2 000 records too early', async () => {
  const many = fc.record({ count: fc.integer({ min: 0, max: 30_000 }), at: fc.integer({ min: -10, max: 31_000 }) });
  await fc.assert(
    fc.asyncProperty(many, async ({ count, at }) => {
      const log = logOf(Array.from({ length: count }, (_, offset) => offset));
      const { partition, from, end } = await spanFrom(log, 3, count, at);
      const first = Math.min(count, Math.max(0, at));
      assert.deepEqual([partition, end], [3, count]);
      assert.ok(from <= first && first - from <= 2_000, `${from} for ${first}`);
      assert.ok(log.asked() <= 5);
    }),
    { numRuns: 200 },
  );
});

test('records that tell no time are read rather than passed over', async () => {
  const log = logOf(Array.from({ length: 10_000 }, (_, offset) => (offset < 9_000 ? null : offset)));
  assert.equal((await spanFrom(log, 0, 10_000, 9_500)).from, 0);
});

test('a pass of the price counts for the rules whose limits it goes back to, as the rules saw it then', () => {
  const limit = (name: string, params: object, conditions: object = always) =>
    ruleOf({ name, conditions, event: { type: 'limit', params } });
  const weak = { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: 500 }] };
  const source = {
    ...{ description: 'A score.', endpoint: 'bureau', send: ['request.amountReais'] },
    ...{ reply: { score: { type: 'number', unit: 'points' } }, timeoutMs: 500, maxAskedPerDay: 10 },
  };
  const known = { all: [{ fact: 'extra.channel', operator: 'equal', value: 'app' }] };
  const files = [
    codesFile,
    { path: 'bureau.source.json', text: JSON.stringify(source) },
    {
      path: 'rules.json',
      text: JSON.stringify([
        limit('Short', { maxInstallments: 12 }, weak),
        limit('Long', { maxInstallments: 48 }),
        limit('Cheap', { maxRatePercent: 2 }),
        limit('App', { maxInstallments: 6 }, known),
      ]),
    },
  ];
  const set = compiledFiles(files);
  const limiters = createLimiters(set, config.economics, (request) => request);
  const count = createHitCount(set, { since: 0, until: at }, fullRuleCap, limiters.of);
  const add = (requestId: string, code: string, score: number, sealedGroups: readonly 'extra'[] = []) => {
    const request = { ...sampleRequest, requestId, sealedGroups, extra: { channel: 'web' } };
    const trace = {
      ...{ decidedAt: at, ruleSetHash: set.hash, link: null, usage: {}, rulesFired: [] },
      sources: [{ source: 'bureau', hash: 'h', failure: null, found: { score } }],
    } as unknown as DecisionTrace;
    const records = [
      { kind: 'requested', requestId, at, request, sealed: '', rawHash: '' } as Requested,
      {
        kind: 'passed',
        requestId,
        at,
        code,
        claimId: null,
        reasons: [{ code, rule: null, text: '' }],
        trace,
      } as Passed,
    ];
    for (const record of records) {
      limiters.note(record);
      count.add(record);
      limiters.forget(record);
    }
  };
  add('1', 'installments-out-of-range', 400);
  add('2', 'no-profit', 700);
  add('3', 'no-profit', 400);
  add('4', 'alerts', 400);
  // What the rules saw is not known without the key of the desk.
  add('5', 'installments-out-of-range', 400, ['extra']);
  const limited = Object.fromEntries(count.report().rules.map(({ rule, limited: times }) => [rule, times]));
  assert.deepEqual(limited, { Short: 1, Long: 0, Cheap: 2, App: 0 });
});
