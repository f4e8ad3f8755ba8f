/** What is told of the last bids that were to be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatelyWatch } from '../../src/bidding/lately.ts';
import type { Answered, Claimed, Passed } from '../../src/domain/records.ts';

function answered(outcome: object): Answered {
  return { kind: 'answered', outcome } as unknown as Answered;
}

const claimed = { kind: 'claimed' } as unknown as Claimed;

function endedBy(key: string): Passed {
  return {
    kind: 'passed',
    code: 'cap',
    reasons: [{ code: 'cap', rule: null, text: `the cap ${key} has no room left for this amount` }],
    trace: {
      caps: [{ keys: [key], limitAmountCents: 100_000, limitCount: null }],
      usage: { [key]: { amountCents: 99_000, count: 3 } },
    },
  } as unknown as Passed;
}

test('twenty refusals in a row that nobody understands are told, until an answer is another one', () => {
  const watch = createLatelyWatch(30_000);
  const refused = answered({ kind: 'rejected', code: 'unclassified' });
  for (let each = 0; each < 19; each += 1) watch.note(refused);
  assert.equal(watch.told().unknownRefusals, null);
  watch.note(refused);
  assert.equal(watch.told().unknownRefusals, 20);
  watch.note(answered({ kind: 'rejected', code: 'request-expired' }));
  assert.equal(watch.told().unknownRefusals, null);
});

test('where most of the last would-be bids ended by a cap, it is named without the values of its key', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 20; each += 1) watch.note(claimed);
  for (let each = 0; each < 10; each += 1) watch.note(endedBy('worker-day|w-1|2026-07-01'));
  assert.equal(watch.told().caps, null, 'half is not most');
  watch.note(endedBy('worker-day|w-1|2026-07-01'));
  const { cap, ended, of } = watch.told().caps!;
  assert.deepEqual([cap.name, cap.byHand, ended, of], ['worker-day', false, 11, 20]);
  watch.note(endedBy('operator:noite|2026-07-01'));
  assert.deepEqual(watch.told().caps?.cap, {
    ...{ name: 'noite', byHand: true, usedCents: 99_000, limitCents: 100_000, usedCount: 3, limitCount: null },
  });
  for (let each = 0; each < 12; each += 1) watch.note(claimed);
  assert.equal(watch.told().caps, null);
});

test('answers to bids that take a tenth of an auction and more are told with their median, while they do', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 9; each += 1) watch.noteAnswerTime(4_000);
  assert.equal(watch.told().slowAnswers, null, 'too few to tell');
  watch.noteAnswerTime(4_100);
  assert.deepEqual(watch.told().slowAnswers, { medianMs: 4_000, of: 10, windowMs: 30_000 });
  // Half of the last twenty are quick, and the longest of them is the median.
  for (let each = 0; each < 10; each += 1) watch.noteAnswerTime(40);
  assert.equal(watch.told().slowAnswers, null);
  for (let each = 0; each < 20; each += 1) watch.noteAnswerTime(3_000);
  assert.deepEqual(watch.told().slowAnswers, { medianMs: 3_000, of: 20, windowMs: 30_000 });
  for (let each = 0; each < 20; each += 1) watch.noteAnswerTime(2_999);
  assert.equal(watch.told().slowAnswers, null);
});

test('a cap by hand that ended the latest three is named, however many bids there were before', () => {
  const watch = createLatelyWatch(30_000);
  for (let each = 0; each < 20; each += 1) watch.note(claimed);
  for (let each = 0; each < 2; each += 1) watch.note(endedBy('operator:tonight|2026-07-01'));
  assert.equal(watch.told().caps, null);
  watch.note(endedBy('operator:tonight|2026-07-01'));
  const { cap, ended, of } = watch.told().caps!;
  assert.deepEqual([cap.name, cap.byHand, ended, of], ['tonight', true, 3, 20]);
  watch.note(claimed);
  assert.equal(watch.told().caps, null, 'a bid went out');
});
