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

test('what waited for its decision while the group shared out anew is decided right after it, not at its deadline', async () => {
  const world = await createHandOver();
  world.control.state = { ...world.control.state, caps: { book: 1 } };
  await world.pass(settings.controlPollMs + 100);
  // More than are decided in one go: the others are still in the queue when the first ends come.
  const ids = Array.from({ length: 100 }, (_, index) => String(8_000_000 + index));
  let unsettled = false;
  world.world.onAppended = (_, record) => {
    if (record.kind !== 'passed' || unsettled) return;
    unsettled = true;
    world.unsettle();
  };
  await world.arrive(ids);
  await world.until(() => unsettled);
  await world.pass(200);
  const codes = () => world.records().flatMap((record) => (record.kind === 'passed' ? [record.code] : []));
  assert.ok(codes().length < ids.length, 'all were decided before');
  world.give('a');
  await world.until(() => codes().length === ids.length, settings.windowMs / 4);
  assert.deepEqual([...new Set(codes())], ['cap']);
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

for (const outcome of [{ kind: 'rejected', code: 'request-expired' }, { kind: 'duplicate' }] as const) {
  test(`a claim that others had meanwhile may have been sent by them: ${outcome.kind} is no proof`, async () => {
    const world = await createHandOver();
    world.world.onAppended = (by, record) => {
      if (by === 'a' && record.kind === 'claimed') world.give('b');
    };
    await world.arrive();
    await world.until(() => world.written.length === 1);
    assert.equal(world.written[0]!.by, 'b');
    world.give('a');
    await world.until(() => world.written.length === 2);
    assert.equal(world.written[1]!.by, 'a');
    assert.equal(world.written[1]!.body, world.written[0]!.body);
    world.written[1]!.answer(answered(world, outcome));
    await world.until(() => world.state().phase !== 'claimed');
    const record = world.records().findLast((each) => each.kind === 'answered');
    assert.equal(record?.earlierAttemptPossible, true);
    assert.equal(world.state().phase, outcome.kind === 'rejected' ? 'unknown' : 'accepted-presumed');
  });
}

test('an answer that comes after the partition has gone is no proof either: its new owner may have been first', async () => {
  const world = await createHandOver();
  await world.arrive();
  await world.until(() => world.written.length === 1);
  world.give('b');
  await world.until(() => world.written.length === 2);
  world.written[0]!.answer(answered(world, { kind: 'duplicate' }));
  await world.until(() => world.state().phase !== 'claimed');
  assert.deepEqual([world.written[0]!.by, world.state().phase], ['a', 'accepted-presumed']);
});

test('a claim that stayed with its writer is believed', async () => {
  const world = await createHandOver();
  await world.arrive();
  await world.until(() => world.written.length === 1);
  world.written[0]!.answer(answered(world, { kind: 'rejected', code: 'request-expired' }));
  await world.until(() => world.state().phase !== 'claimed');
  assert.equal(world.state().phase, 'rejected');
});
