/** Places on the way to the service: never more than the limit says, in order, and nobody waits longer than wanted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots } from '../../src/bidding/slots.ts';
import { createManualClock } from './manual-clock.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('the first come, first let in, and a limit that has grown lets in several', async () => {
  let limit = 2;
  const slots = createSlots(createManualClock(0), () => limit);
  const entered: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) void slots.wait(1_000).then(() => entered.push(name));
  await settled();
  assert.deepEqual(entered, ['a', 'b']);
  slots.leave();
  await settled();
  assert.deepEqual(entered, ['a', 'b', 'c']);
  limit = 4;
  void slots.wait(1_000).then(() => entered.push('f'));
  await settled();
  assert.deepEqual(entered, ['a', 'b', 'c'], 'nobody overtakes those that wait already');
  slots.leave();
  await settled();
  assert.deepEqual(entered, ['a', 'b', 'c', 'd', 'e', 'f']);
  assert.equal(slots.taken(), 4);
});

test('a limit that has shrunk lets nobody in until it is kept', async () => {
  let limit = 3;
  const slots = createSlots(createManualClock(0), () => limit);
  for (let each = 0; each < 3; each += 1) assert.equal(await slots.wait(1_000), true);
  limit = 1;
  let entered = false;
  void slots.wait(1_000).then(() => {
    entered = true;
  });
  slots.leave();
  slots.leave();
  await settled();
  assert.equal(entered, false);
  slots.leave();
  await settled();
  assert.equal(entered, true);
});

test('who waits too long is told so, and takes no place', async () => {
  const clock = createManualClock(0);
  const slots = createSlots(clock, () => 1);
  slots.enter();
  const answers: boolean[] = [];
  void slots.wait(100).then((placed) => answers.push(placed));
  void slots.wait(900).then((placed) => answers.push(placed));
  await clock.advance(100);
  await settled();
  assert.deepEqual(answers, [false]);
  slots.leave();
  await settled();
  assert.deepEqual(answers, [false, true]);
  assert.equal(slots.taken(), 1);
});

test('those that come again and those that come first are let in in turn', async () => {
  const slots = createSlots(createManualClock(0), () => 1);
  assert.equal(await slots.wait(1_000), true);
  const entered: string[] = [];
  for (const name of ['again 1', 'again 2', 'again 3', 'again 4'])
    void slots.wait(1_000, true).then(() => entered.push(name));
  for (const name of ['first 1', 'first 2']) void slots.wait(1_000).then(() => entered.push(name));
  for (let leaves = 0; leaves < 6; leaves += 1) {
    slots.leave();
    await settled();
  }
  assert.deepEqual(entered, ['first 1', 'again 1', 'first 2', 'again 2', 'again 3', 'again 4']);
  assert.equal(slots.taken(), 1);
});

test('a place that rests is nobody’s until then', async () => {
  const clock = createManualClock(0);
  const slots = createSlots(clock, () => 2);
  const entered: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) void slots.wait(9_000).then(() => entered.push(name));
  await settled();
  slots.leave(250);
  await settled();
  assert.deepEqual(entered, ['a', 'b']);
  assert.equal(slots.taken(), 1);
  slots.leave();
  await settled();
  assert.deepEqual(entered, ['a', 'b', 'c']);
  await clock.advance(250);
  await settled();
  assert.deepEqual(entered, ['a', 'b', 'c', 'd']);
  assert.equal(slots.taken(), 2);
});
