/** What kept a request from its end is told with it, short and by time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hindered, hindrancesIn, noteHindrance } from '../../src/bidding/hindrances.ts';
import { readRecord } from '../../src/domain/record-shapes.ts';
import type { AuctionRecord, Hindrance, Passed } from '../../src/domain/records.ts';

const attempt = (cause: string, from: number): Hindrance => ({
  kind: 'attempt',
  cause,
  count: 1,
  from,
  until: from + 5,
});
const wait = (cause: string, from: number, until: number): Hindrance => ({
  kind: 'wait',
  cause,
  count: 1,
  from,
  until,
});

test('attempts in a row that ended alike are one, and a list stays short with its ends kept', () => {
  const list: Hindrance[] = [];
  for (const from of [10, 20, 30]) noteHindrance(list, attempt('throttled', from));
  noteHindrance(list, attempt('unauthorised', 40));
  assert.deepEqual(list, [{ ...attempt('throttled', 10), count: 3, until: 35 }, attempt('unauthorised', 40)]);
  for (let from = 50; from < 1_000; from += 10)
    noteHindrance(list, attempt(from % 20 === 0 ? 'throttled' : 'status-503', from));
  assert.equal(list.length, 16);
  assert.deepEqual([list[0]!.from, list.at(-1)!.from], [10, 990]);
});

const passed: Passed = {
  kind: 'passed',
  requestId: '7',
  at: 100,
  code: 'paused',
  claimId: null,
  reasons: [],
  trace: null,
};

test('waits and attempts come by time, and a record without any stays byte for byte what it was', () => {
  assert.equal(hindered(passed, []), passed);
  const told = hindered({ ...passed, hindrances: [attempt('unauthorised', 50)] }, [wait('paused', 10, 40)]);
  assert.deepEqual(told.hindrances, [wait('paused', 10, 40), attempt('unauthorised', 50)]);
  const many = hindered(
    passed,
    Array.from({ length: 40 }, (_, index) => wait('paused', index, index + 1)),
  );
  assert.equal(many.hindrances!.length, 16);
});

test('a refusal of the service is an attempt of the story; an answer yes is none', () => {
  const answered = (status: number): AuctionRecord => ({
    ...{ kind: 'answered', requestId: '7', at: 90, claimId: 'a:1', attempts: 1, earlierAttemptPossible: false },
    ...{ outcome: { kind: 'duplicate' }, firstByteAt: 80, response: { status, body: null } },
  });
  assert.deepEqual(hindrancesIn([answered(422)]), [{ ...attempt('status-422', 80), until: 90 }]);
  assert.deepEqual(hindrancesIn([answered(200)]), []);
});

test('a record that tells of it is read back, and one that tells nonsense is not', () => {
  const place = { partition: 0, offset: 0, key: '7' };
  const told = { ...passed, hindrances: [wait('paused', 10, 40)] };
  assert.deepEqual(readRecord('auctions', place, told), told);
  const wrong = { ...passed, hindrances: [{ kind: 'wait', cause: 'paused' }] };
  assert.equal(readRecord('auctions', place, wrong).kind, 'unreadable');
});

test('waits told twice, by two records or by an earlier version, are told once', () => {
  const first: Passed = {
    ...passed,
    hindrances: [wait('paused', 10, 40), wait('paused', 10, 60), attempt('late', 20)],
  };
  const second: Passed = { ...passed, hindrances: [wait('paused', 10, 70), wait('control-stale', 70, 80)] };
  assert.deepEqual(hindrancesIn([first, second]), [
    wait('paused', 10, 70),
    attempt('late', 20),
    wait('control-stale', 70, 80),
  ]);
});
