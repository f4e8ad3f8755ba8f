/** The auditor reads rules and orders by itself: caps that a claim names wrongly, and pauses that the desk did not heed, are named. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { readRuleFiles } from '../../../src/adapters/system/rule-files.ts';
import { checkTakenBack } from '../../../src/sandbox/auditor/obedience.ts';
import { type Orders, readCapRules } from '../../../src/sandbox/auditor/orders.ts';
import { playSmallRun, runOf, type SmallRun } from './small-run.ts';
import { callOf, judged, named, only } from './tamper.ts';

let small: SmallRun;

before(async () => {
  small = await playSmallRun();
});

/** The desk of the small run knows no rules, so its claims name none of their caps: cap-keys.test.ts judges that. */
const judge = async (orders: Orders) =>
  (await judged(small, () => undefined, { orders })).filter(({ code }) => code !== 'cap-keys');
const nothing: Orders = { ruleSets: [{ from: 0, caps: [] }], caps: [], pauses: [] };

function rulesOf(...caps: { conditions?: object; params: object }[]): Orders['ruleSets'][number]['caps'] {
  const rules = caps.map(({ conditions, params }, index) => ({
    name: `cap ${index}`,
    conditions: conditions ?? { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    event: { type: 'cap', params: { keyFacts: [], window: 'day', ...params } },
  }));
  const read = readCapRules([{ path: 'caps.json', text: JSON.stringify({ rules }) }]);
  assert.deepEqual(read.unread, []);
  return read.caps;
}

const under = (...caps: Parameters<typeof rulesOf>): Orders => ({
  ...nothing,
  ruleSets: [{ from: 0, caps: rulesOf(...caps) }],
});

async function bids(): Promise<{ at: number; count: number; totalReais: number; lastAt: number }> {
  const run = await runOf(small.evidence);
  const sent = [...run.cases.values()].filter(({ calls }) => calls.length > 0);
  const times = sent.map(({ evidence }) => evidence.claim!.at);
  const totalReais = sent.reduce((sum, { evidence }) => sum + evidence.claim!.offer.amountCents / 100, 0);
  return { at: Math.min(...times), lastAt: Math.max(...times), count: sent.length, totalReais };
}

test('every cap of the shipped rules is one that the auditor can judge', () => {
  const { caps, unread } = readCapRules(readRuleFiles(new URL('../../../rules', import.meta.url).pathname));
  assert.deepEqual(unread, []);
  assert.deepEqual(caps.map(({ name }) => name).sort(), ['desk-day', 'employer-day', 'high-rate-day', 'worker-day']);
});

test('over-cap: more than the rules allow, though every claim names wide caps (defect line 26)', async () => {
  const { count, totalReais } = await bids();
  assert.deepEqual(await judge(under({ params: { name: 'desk', maxAmountReais: totalReais, maxCount: count } })), []);
  for (const params of [{ maxAmountReais: totalReais / 20 }, { maxCount: 2 }, { maxCount: 2, window: { hours: 2 } }]) {
    const violations = await judge(under({ params: { name: 'desk', ...params } }));
    assert.ok(violations.length > 0, JSON.stringify(params));
    only(violations, 'over-cap', violations[0]!.requestId, /left no room: desk/);
  }
});

test('over-cap: only what a condition does not surely leave out counts, and each key by itself', async () => {
  const sector = (operator: string, value: string) => ({ all: [{ fact: 'employer.sector', operator, value }] });
  const none = { conditions: sector('equal', 'public'), params: { name: 'nobody', maxCount: 0 } };
  const all = { conditions: { not: sector('equal', 'public') }, params: { name: 'everybody', maxCount: 0 } };
  const { count } = await bids();
  assert.deepEqual(await judge(under(none)), []);
  assert.equal((await judge(under(all))).length, count);
  const perWorker = { keyFacts: ['worker.key'], name: 'worker', maxCount: 30 };
  assert.deepEqual(await judge(under({ params: perWorker })), []);
});

test('over-cap: the rules and the cap by hand in force at the decision count, the wider of two at a change', async () => {
  const { at, lastAt, count } = await bids();
  const ruleSets = (from: number) => [
    { from: 0, caps: rulesOf({ params: { name: 'desk', maxCount: 1_000 } }) },
    { from, caps: rulesOf({ params: { name: 'desk', maxCount: 0 } }) },
  ];
  assert.deepEqual(await judge({ ...nothing, ruleSets: ruleSets(lastAt + 1_000) }), []);
  assert.equal((await judge({ ...nothing, ruleSets: ruleSets(at - 1_000) })).length, count);
  const byHand = (...caps: Orders['caps']) => judge({ ...nothing, caps });
  const old = at - small.settings.controlMaxAgeMs - 1_000;
  assert.equal((await byHand({ at: old, name: 'hand', limitCents: 0 })).length, count);
  assert.deepEqual(await byHand({ at: lastAt - 100, name: 'hand', limitCents: 0 }), []);
  const removed = [
    { at: old, name: 'hand', limitCents: 0 },
    { at: at - 100, name: 'hand', limitCents: null },
  ];
  assert.deepEqual(await byHand(...removed), []);
});

test('sent-while-paused: bytes that arrive when the pause must have been heard (defect line 26)', async () => {
  const call = callOf(small.evidence);
  const { controlMaxAgeMs, onTheWayMs, clockToleranceMs } = small.settings;
  const heardMs = controlMaxAgeMs + onTheWayMs + clockToleranceMs;
  const paused = (from: number, until: number | null) => judge({ ...nothing, pauses: [{ from, until }] });
  named(await paused(call.arrivedAt - heardMs - 1, null), 'sent-while-paused', call.requestId, /after a pause/);
  const last = Math.max(...small.evidence.entries.flatMap((entry) => (entry.kind === 'call' ? [entry.arrivedAt] : [])));
  assert.deepEqual(await paused(last - heardMs, null), []);
  assert.deepEqual(await paused(0, call.arrivedAt - 10_000), []);
});

test('a claim that was taken back for a cap by hand needs the order, before its end and after its decision', () => {
  const { controlMaxAgeMs, clockToleranceMs } = small.settings;
  const evidence = { claim: { trace: { decidedAt: 100_000 } }, unsent: { code: 'cap-lowered', at: 103_000 } };
  const told = (at: number, limitCents: number | null) => {
    const texts: string[] = [];
    const orders = { ...nothing, caps: [{ at, name: 'hand', limitCents }] };
    checkTakenBack({ requestId: '1', evidence } as never, orders, small.settings, (code) => void texts.push(code));
    return texts;
  };
  assert.deepEqual(told(102_000, 5), []);
  assert.deepEqual(told(102_000, null), ['exposure']);
  assert.deepEqual(told(103_001 + clockToleranceMs, 5), ['exposure']);
  assert.deepEqual(told(99_999 - controlMaxAgeMs - clockToleranceMs, 5), ['exposure']);
});
