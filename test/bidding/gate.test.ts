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
    /** How long a reading takes. */
    slowMs: 0,
  };
  const acknowledged: { revision: number; at: number }[] = [];
  const control: Pick<Control, 'server' | 'read' | 'acknowledge'> = {
    server: 'Redis at redis:6379',
    read: async () => {
      if (world.slowMs > 0) await new Promise<void>((resolve) => void clock.after(world.slowMs, resolve));
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

test('a server that answers late closes once, and opens when it answers in time (defect line 20)', async () => {
  const { clock, world, gate } = setUp();
  await gate.start();
  // Each answer is fresh for a moment, and too old before the next one comes.
  world.slowMs = settings.controlMaxAgeMs * 0.75;
  await clock.advance(settings.controlPollMs + 1);
  const causes: (string | null)[] = [];
  for (let step = 0; step < 100; step += 1) {
    await clock.advance(settings.controlMaxAgeMs / 20);
    const cause = gate.closedBecause();
    if (causes.at(-1) !== cause) causes.push(cause);
  }
  assert.deepEqual(causes, [null, 'control-stale']);
  world.slowMs = 0;
  await clock.advance(2 * settings.controlMaxAgeMs);
  assert.equal(gate.isOpen(), true);
  assert.equal(gate.controlTrouble(), null);
});

test('a server that gives no answer is named with the time of the last one, also before a reading has failed', async () => {
  const { clock, world, gate } = setUp();
  await gate.start();
  const last = 'the orders of operators were read last at 1970-01-01T00:00:00.000Z.';
  world.slowMs = 100 * settings.controlMaxAgeMs;
  await clock.advance(settings.controlMaxAgeMs + 1);
  assert.equal(gate.closedBecause(), 'control-stale');
  assert.equal(gate.controlTrouble(), `Redis at redis:6379 does not answer; ${last}`);
  const failing = setUp();
  await failing.gate.start();
  failing.world.readable = false;
  await failing.clock.advance(settings.controlMaxAgeMs + settings.controlPollMs);
  assert.equal(failing.gate.controlTrouble(), `gone; ${last}`);
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
