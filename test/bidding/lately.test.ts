/** What is told of the last bids that were to be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatelyWatch } from '../../src/bidding/lately.ts';
import { windowKeys } from '../../src/domain/cap-book.ts';
import type { Answered, Claimed, Passed } from '../../src/domain/records.ts';

function answered(requestId: string, at: number, outcome: object): Answered {
  return { kind: 'answered', requestId, at, outcome } as unknown as Answered;
}

const unknownWords = { kind: 'rejected', code: 'unclassified' };
const inDoubt = { kind: 'unknown', reason: 'refused-in-doubt' };

const at = Date.parse('2026-07-01T15:00:00Z');
let ids = 0;
function freshId(): string {
  ids += 1;
  return `r-${ids}`;
}
const claim = (requestId = freshId()): Claimed => ({ kind: 'claimed', requestId, at }) as unknown as Claimed;

type Watch = ReturnType<typeof createLatelyWatch>;

/** As they are told now, with the limits by hand that stand and the rule set `a`. */
function capsOf(watch: Watch, byHand: Record<string, number> | null = null, now = at, ruleSetHash = 'a') {
  return watch.caps({ now, byHand, ruleSetHash });
}

function endedBy(...keys: [string, ...string[]]): Passed {
  const [key] = keys;
  return {
    kind: 'passed',
    requestId: freshId(),
    code: 'cap',
    at,
    reasons: [{ code: 'cap', rule: null, text: `the cap ${key} has no room left for this amount` }],
    trace: {
      ruleSetHash: 'a',
      caps: [{ keys, limitAmountCents: 100_000, limitCount: null }],
      usage: { [key]: { amountCents: 99_000, count: 3 } },
    },
  } as unknown as Passed;
}

test('a service that refuses every bid in unknown words is told once, and again once it does not', () => {
  const watch = createLatelyWatch(30_000);
  const note = (requestId: string, at: number, outcome: object) => watch.note(answered(requestId, at, outcome));
  for (const [requestId, at] of [
    ['a', 0],
    ['b', 10_000],
    ['c', 20_000],
    ['d', 29_999],
  ] as const)
    assert.equal(note(requestId, at, unknownWords), null);
  assert.equal(note('e', 29_999, unknownWords), null, 'five, and not for long enough');
  assert.equal(watch.told(at).unknownRefusals, null);
  assert.deepEqual(note('f', 30_000, inDoubt), { kind: 'begun', count: 6, durationMs: 30_000 });
  assert.equal(watch.told(at).unknownRefusals, 6);
  assert.equal(note('g', 31_000, unknownWords), null, 'told once');
  assert.equal(
    note('h', 32_000, { kind: 'unknown', reason: 'no answer' }),
    null,
    'no answer is no refusal, nor its end',
  );
  assert.equal(watch.told(at).unknownRefusals, 7);
  const accepted = { kind: 'accepted', bidId: 'x' };
  assert.deepEqual(note('i', 40_000, accepted), { kind: 'over', count: 7, durationMs: 40_000 });
  assert.equal(watch.told(at).unknownRefusals, null);
  assert.equal(note('j', 50_000, accepted), null);
});

test('a service that refuses every link query is told once, and one refusal among good ones is not', () => {
  const watch = createLatelyWatch(30_000);
  const query = (linkKey: string, at: number, isRefused: boolean) => watch.noteLinkQuery({ linkKey, at, isRefused });
  for (let each = 0; each < 50; each += 1)
    assert.equal(query(`l${each}`, each * 10_000, each % 5 < 4), null, 'four of five are refused');
  for (let each = 0; each < 4; each += 1) assert.equal(query(`m${each}`, 600_000 + each * 10_000, true), null);
  assert.equal(query('m0', 640_000, true), null, 'a link that is asked for again counts once');
  assert.equal(watch.told(at).linkQueryRefusals, null);
  assert.deepEqual(query('m4', 640_000, true), { kind: 'begun', count: 5, durationMs: 40_000 });
  assert.equal(watch.told(at).linkQueryRefusals, 5);
  assert.equal(watch.told(at).unknownRefusals, null);
  watch.note(answered('a', 641_000, { kind: 'accepted', bidId: 'x' }));
  assert.equal(watch.told(at).linkQueryRefusals, 5, 'a bid says nothing of queries');
  assert.deepEqual(query('m5', 650_000, false), { kind: 'over', count: 5, durationMs: 50_000 });
  assert.equal(watch.told(at).linkQueryRefusals, null);
});

test('one request that is refused again and again is one, and whatever is known ends the count', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 50; each += 1) watch.note(answered('same', each * 1_000, unknownWords));
  assert.equal(watch.told(at).unknownRefusals, null);
  for (const outcome of [
    { kind: 'accepted', bidId: 'x' },
    { kind: 'accepted-outside', bidId: null },
    { kind: 'duplicate' },
    { kind: 'rejected', code: 'request-expired' },
  ]) {
    for (let each = 0; each < 4; each += 1) watch.note(answered(`r${each}`, each * 20_000, unknownWords));
    watch.note(answered('known', 80_000, outcome));
    assert.equal(watch.note(answered('last', 100_000, unknownWords)), null, JSON.stringify(outcome));
  }
  // What is kept of them does not grow with them.
  for (let each = 0; each < 5_000; each += 1) watch.note(answered(`m${each}`, 100_000 + each, unknownWords));
  watch.note(answered('later', 140_000, unknownWords));
  assert.equal(watch.told(at).unknownRefusals, 5_002);
});

test('a claim that a cap refuses is one would-be bid, and ended by the cap', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 6; each += 1) {
    watch.note(claim(`r${each}`));
    if (each < 3) watch.note({ ...endedBy('desk-day|2026-07-01'), requestId: `r${each}` });
    // Another process has claim() it too.
    else watch.note(claim(`r${each}`));
  }
  const { ended, of } = capsOf(watch)!;
  assert.deepEqual([ended, of], [3, 6]);
});

test('where most of the last would-be bids ended by a cap, it is named without the values of its key', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 20; each += 1) watch.note(claim());
  for (let each = 0; each < 9; each += 1) watch.note(endedBy('worker-day|w-1|2026-07-01'));
  assert.equal(capsOf(watch), null, 'less than half');
  watch.note(endedBy('worker-day|w-1|2026-07-01'));
  const { cap, ended, of } = capsOf(watch)!;
  assert.deepEqual([cap.name, cap.byHand, ended, of], ['worker-day', false, 10, 20]);
  watch.note(endedBy('operator:noite|2026-07-01'));
  assert.deepEqual(capsOf(watch)?.cap, {
    ...{ name: 'noite', byHand: true, usedCents: 99_000, limitCents: 100_000, usedCount: 3, limitCount: null },
    windowHours: null,
  });
  for (let each = 0; each < 12; each += 1) watch.note(claim());
  assert.equal(capsOf(watch), null);
});

test('answers to bids that take a tenth of an auction and more are told with their median, while they do', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 9; each += 1) watch.noteAnswerTime(4_000, at);
  assert.equal(watch.told(at).slowAnswers, null, 'too few to tell');
  watch.noteAnswerTime(4_100, at);
  assert.deepEqual(watch.told(at).slowAnswers, { medianMs: 4_000, of: 10, windowMs: 30_000 });
  // Half of the last twenty are quick, and the longest of them is the median.
  for (let each = 0; each < 10; each += 1) watch.noteAnswerTime(40, at);
  assert.equal(watch.told(at).slowAnswers, null);
  for (let each = 0; each < 20; each += 1) watch.noteAnswerTime(3_000, at);
  assert.deepEqual(watch.told(at).slowAnswers, { medianMs: 3_000, of: 20, windowMs: 30_000 });
  for (let each = 0; each < 20; each += 1) watch.noteAnswerTime(2_999, at);
  assert.equal(watch.told(at).slowAnswers, null);
});

test('a cap by hand that ended the latest three is named, however many bids there were before', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 20; each += 1) watch.note(claim());
  for (let each = 0; each < 2; each += 1) watch.note(endedBy('operator:tonight|2026-07-01'));
  assert.equal(capsOf(watch), null);
  watch.note(endedBy('operator:tonight|2026-07-01'));
  const { cap, ended, of } = capsOf(watch)!;
  assert.deepEqual([cap.name, cap.byHand, ended, of], ['tonight', true, 3, 20]);
  watch.note(claim());
  assert.equal(capsOf(watch), null, 'a bid went out');
});

test('a cap by hand that ended bids in the last minutes is named while it stands, also after a bid went out and was refused', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 14; each += 1) watch.note(claim());
  for (let each = 0; each < 3; each += 1) watch.note(endedBy('operator:tonight|2026-07-01'));
  watch.note(endedBy('worker-day|w-1|2026-07-01'));
  watch.note(claim());
  for (let each = 0; each < 5; each += 1) watch.note(answered(`r${each}`, each * 10_000, unknownWords));
  const { cap, ended, of } = capsOf(watch, { tonight: 100_000 }, at + 600_000)!;
  assert.deepEqual([cap.name, ended, of, watch.told(at).unknownRefusals], ['tonight', 4, 19, 5]);
  assert.equal(capsOf(watch, { tonight: 100_000 }, at + 600_001), null, 'long ago');
  assert.equal(capsOf(watch, {}), null, 'lifted');
  assert.equal(capsOf(watch, { tonight: 200_000 }), null, 'raised');
  assert.equal(capsOf(watch), null, 'nobody knows');
});

test('a cap that was removed or raised, has begun a new day, or is of rules that were replaced is told no more', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 10; each += 1) watch.note(endedBy('operator:desk-day|2026-07-01'));
  for (let each = 0; each < 5; each += 1) watch.note(endedBy('desk-day|2026-07-01'));
  const { cap, ended, of } = capsOf(watch, { 'desk-day': 100_000 })!;
  assert.deepEqual([cap.name, cap.byHand, ended, of], ['desk-day', true, 15, 15]);
  const ofRules = capsOf(watch, {})!;
  assert.deepEqual(
    [ofRules.cap.byHand, ofRules.ended, ofRules.of],
    [false, 5, 5],
    'removed: what it ended counts no more',
  );
  assert.deepEqual(capsOf(watch, { 'desk-day': 200_000 })?.ended, 5, 'raised');
  assert.equal(capsOf(watch, {}, at, 'b'), null, 'other rules are followed');
  assert.equal(capsOf(watch, { 'desk-day': 100_000 }, at + 86_400_000), null, 'a new day has room');
});

test('bids from before the start count among those that came since, each once and in the order of their times', () => {
  const watch = createLatelyWatch(30_000);
  const of = (requestId: string, record: Claimed | Passed, minute: number) => ({
    ...record,
    requestId,
    at: at + minute,
  });
  watch.note(of('10', endedBy('operator:noite|2026-07-01'), 10));
  watch.noteEarlier([
    of('10', endedBy('operator:noite|2026-07-01'), 10),
    ...Array.from({ length: 4 }, (_, each) => of(`${each}`, endedBy('desk-day|2026-07-01'), each)),
    of('5', claim(), 5),
  ]);
  const { cap, ended, of: all } = capsOf(watch)!;
  assert.deepEqual([cap.name, ended, all], ['noite', 5, 6]);
  watch.noteEarlier(Array.from({ length: 50 }, (_, each) => of(`e${each}`, claim(), -100 + each)));
  assert.deepEqual(capsOf(watch), null, 'of the last twenty, five ended by a cap');
});

test('a cap of a rolling window is told with its hours, until they are over', () => {
  const watch = createLatelyWatch(30_000);
  const hours = [0, 1, 2].map((back) => `hourly|hour-${495_000 - back}`) as [string, ...string[]];
  for (let each = 0; each < 5; each += 1) watch.note(endedBy(...hours));
  assert.equal(capsOf(watch)?.cap.windowHours, 2);
  assert.equal(capsOf(watch, {}, at + 2 * 3_600_000)?.ended, 5);
  assert.equal(capsOf(watch, {}, at + 2 * 3_600_000 + 1), null);
});

test('20, line 10: a cap of a window beyond a week is told with its hours too', () => {
  const watch = createLatelyWatch(30_000);
  const buckets = windowKeys('month', 720, at) as [string, ...string[]];
  for (let each = 0; each < 5; each += 1) watch.note(endedBy(...buckets));
  assert.equal(capsOf(watch)?.cap.windowHours, 720);
  assert.equal(capsOf(watch, {}, at + 24 * 3_600_000)?.ended, 5, 'a new day gives it no room');
});

test('answers that were slow minutes ago are told no more', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 20; each += 1) watch.noteAnswerTime(4_000, at);
  assert.equal(watch.told(at + 300_000).slowAnswers?.medianMs, 4_000);
  assert.equal(watch.told(at + 300_001).slowAnswers, null);
  for (let each = 0; each < 9; each += 1) watch.noteAnswerTime(4_000, at + 400_000);
  assert.equal(watch.told(at + 400_000).slowAnswers, null, 'too few of late');
});

test('a source of whose last answers half or more failed is told, with the last reason, for as long as they are recent', () => {
  const watch = createLatelyWatch(30_000);
  const note = (source: string, failure: 'time-out' | 'refused' | null, place: number) =>
    watch.noteSource({ source, failure, at: at + place });
  for (let place = 0; place < 4; place += 1) note('bureau', 'time-out', place);
  assert.equal(watch.failingSources(at), null, 'four are too few');
  for (let place = 0; place < 20; place += 1) note('other', place % 3 === 0 ? 'refused' : null, place);
  assert.equal(watch.failingSources(at), null, 'seven of twenty are fewer than half');
  note('bureau', 'refused', 4);
  for (let place = 5; place < 9; place += 1) note('bureau', null, place);
  const told = [{ source: 'bureau', failure: 'refused' as const, failed: 5, of: 9 }];
  assert.deepEqual(watch.failingSources(at), told);
  assert.deepEqual(watch.failingSources(at + 600_000), told);
  assert.equal(watch.failingSources(at + 600_009), null);
  for (let place = 9; place < 22; place += 1) note('bureau', null, place);
  assert.equal(watch.failingSources(at + 22), null);
});
