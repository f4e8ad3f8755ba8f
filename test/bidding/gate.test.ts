/** Closed when in doubt: paused, stopping, unread for too long, or without a token that works. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from '../../src/bidding/gate.ts';
import { type Control, type ControlState, endedAt, type Service } from '../../src/bidding/ports.ts';
import { Fault } from '../../src/errors.ts';
import { createManualClock } from './manual-clock.ts';
import { settings } from './parts.ts';

const open: ControlState = { revision: 1, pause: null, caps: {}, snoozes: [], ruleOrders: [], changes: [] };
const paused: ControlState = { ...open, revision: 2, pause: { by: 'ana', reason: 'a look at the rules', at: 0 } };

function setUp() {
  const clock = createManualClock(0);
  const world = {
    state: open,
    readable: true,
    ready: true,
    stopping: false,
    hasRules: true,
    viewsWhole: true,
    timeDoubt: null as 'clock-step' | null,
    opened: 0,
  };
  const acknowledged: { revision: number; at: number }[] = [];
  const control: Pick<Control, 'read' | 'acknowledge'> = {
    read: async () => {
      if (!world.readable) throw new Fault('views-unavailable', 'gone');
      return world.state;
    },
    acknowledge: async (_instance, revision, at) => void acknowledged.push({ revision, at }),
  };
  const gate = createGate({
    instance: 'a',
    control: control as Control,
    service: { ready: () => world.ready } as Service,
    clock,
    settings,
    stopping: () => world.stopping,
    policy: () => (world.hasRules ? {} : null),
    timeDoubt: () => world.timeDoubt,
    viewsWhole: () => world.viewsWhole,
    onOpen: () => {
      world.opened += 1;
    },
  });
  return { clock, world, gate, acknowledged };
}

test('closed until the control was read, open afterwards', async () => {
  const { clock, world, gate } = setUp();
  assert.equal(gate.closedBecause(), 'control-stale');
  assert.equal(gate.control(), null);
  await gate.start();
  assert.equal(gate.isOpen(), true);
  await clock.advance(1_000);
  assert.equal(world.opened, 1);
});

test('a pause is obeyed and acknowledged within one poll; resuming opens again', async () => {
  const { clock, world, gate, acknowledged } = setUp();
  await gate.start();
  world.state = paused;
  await clock.advance(settings.controlPollMs);
  assert.equal(gate.closedBecause(), 'paused');
  assert.equal(acknowledged.at(-1)?.revision, 2);
  world.state = { ...open, revision: 3 };
  await clock.advance(settings.controlPollMs);
  assert.equal(gate.isOpen(), true);
  assert.equal(world.opened, 2);
});

test('unread for longer than its greatest age, counted from before the last read', async () => {
  const { clock, world, gate } = setUp();
  await gate.start();
  world.readable = false;
  await clock.advance(settings.controlMaxAgeMs);
  assert.equal(gate.isOpen(), true);
  await clock.advance(1);
  assert.equal(gate.closedBecause(), 'control-stale');
  assert.equal(gate.control(), null);
  world.readable = true;
  await clock.advance(settings.controlPollMs);
  assert.equal(gate.isOpen(), true);
});

test('closed without a token that works, without the rules to follow or all that is promised, and while stopping', async () => {
  const { clock, world, gate } = setUp();
  await gate.start();
  world.ready = false;
  assert.equal(gate.closedBecause(), 'service-unauthorised');
  world.ready = true;
  world.hasRules = false;
  assert.equal(gate.closedBecause(), 'rule-set-missing');
  world.hasRules = true;
  world.viewsWhole = false;
  assert.equal(gate.closedBecause(), 'views-incomplete');
  world.viewsWhole = true;
  world.timeDoubt = 'clock-step';
  assert.equal(gate.closedBecause(), 'clock-step');
  world.timeDoubt = null;
  world.stopping = true;
  assert.equal(gate.closedBecause(), 'stopping');
  await gate.stop();
  await clock.advance(1_000);
  assert.equal(clock.pending(), 0);
});

test('a live process is heard of twice within the age that counts as alive', async () => {
  const { clock, gate, acknowledged } = setUp();
  await gate.start();
  await clock.advance(10_000);
  for (const [index, { at }] of acknowledged.entries()) {
    if (index > 0) assert.ok(at - acknowledged[index - 1]!.at <= settings.controlMaxAgeMs / 2 + settings.controlPollMs);
  }
  assert.ok(acknowledged.length >= 8 && acknowledged.length <= 11);
  const { revision } = acknowledged.at(-1)!;
  await gate.stop();
  assert.deepEqual(acknowledged.at(-1), { revision, at: endedAt }, 'it says that it ends');
});
