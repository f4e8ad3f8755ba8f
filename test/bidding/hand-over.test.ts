/** A partition goes to another process and comes back: what this one remembers of it from before is not believed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BidAnswer } from '../../src/bidding/ports.ts';
import { settings } from '../simulation/policy.ts';
import { createHandOver } from './hand-over.ts';

type World = Awaited<ReturnType<typeof createHandOver>>;

function answered(world: World, outcome: Extract<BidAnswer, { kind: 'answered' }>['outcome']): BidAnswer {
  return { kind: 'answered', outcome, response: { status: 200, body: '' }, firstByteAt: world.now() };
}

test('an end that was begun when the partition had gone does not keep a later one back', async () => {
  const world = await createHandOver();
  await world.arrive();
  await world.until(() => world.written.length === 1);
  world.give('b');
  await world.until(() => world.written.length === 2);
  // Its answer is a record of a, read back by b alone.
  world.written[0]!.answer(answered(world, { kind: 'accepted', bidId: 'ours' }));
  await world.until(() => world.state().phase === 'accepted');
  world.give('a');
  await world.pass(settings.windowMs + settings.resultTimeoutMs + 5_000);
  assert.equal(world.state().phase, 'result-missing');
});

test('while the controls are stale nothing is decided, for caps by hand are not known', async () => {
  const world = await createHandOver();
  world.control.state = { ...world.control.state, caps: { book: 1 } };
  world.world.controlCut = true;
  await world.pass(settings.controlMaxAgeMs + settings.controlPollMs);
  await world.arrive();
  await world.pass(1_000);
  world.world.controlCut = false;
  await world.until(() => world.state().phase !== 'requested');
  assert.deepEqual([world.state().phase, world.state().pass?.code, world.written.length], ['passed', 'cap', 0]);
});
