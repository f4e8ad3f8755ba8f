/** Frozen requests raise one alarm each, and a start or a take-over one for all that it finds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFrozenAlarms } from '../../src/bidding/frozen-alarms.ts';

function openAlarms() {
  const said: [string | null, string][] = [];
  const timers: (() => void)[] = [];
  const alarms = createFrozenAlarms({
    clock: {
      after: (_ms, then) => {
        timers.push(then);
        return { cancel: () => void timers.splice(timers.indexOf(then), 1) };
      },
    },
    of: { plural: 'requests', list: 'lance bids list marks them' },
    tell: (id, text) => said.push([id, text]),
  });
  return {
    ...alarms,
    said: () => said.splice(0),
    pass: () => {
      for (const then of timers.splice(0)) then();
    },
  };
}

const mark = (problem: string, at = 1) => ({ at, problem });

test('what is just frozen is told at once, and not again however often it is looked at', () => {
  const alarms = openAlarms();
  alarms.found('a', mark('no key'), true);
  assert.deepEqual(alarms.said(), [['a', 'no key']]);
  alarms.found('a', mark('no key'), true);
  alarms.found('a', mark('no key'), false);
  alarms.pass();
  assert.deepEqual(alarms.said(), []);
  alarms.found('a', mark('another', 2), true);
  assert.deepEqual(alarms.said(), [['a', 'another']]);
  alarms.thawed('a');
  alarms.found('a', mark('another', 2), true);
  assert.deepEqual(alarms.said(), [['a', 'another']]);
});

test('what is found frozen is told together and once, none left out', () => {
  const alarms = openAlarms();
  alarms.found('a', mark('no key'), false);
  alarms.found('b', mark('no key'), false);
  alarms.thawed('b');
  alarms.pass();
  assert.deepEqual(alarms.said(), [['a', 'no key']]);
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) alarms.found(id, mark('no key'), false);
  assert.deepEqual(alarms.said(), []);
  alarms.pass();
  assert.deepEqual(alarms.said(), [
    [null, '7 requests are frozen: b, c, d, e, f and 2 more; lance bids list marks them'],
  ]);
  for (const id of ['a', 'b', 'h']) alarms.found(id, mark('no key'), false);
  alarms.pass();
  assert.deepEqual(alarms.said(), []);
  alarms.found('i', mark('no key'), false);
  alarms.stop();
  alarms.pass();
  assert.deepEqual(alarms.said(), []);
});
