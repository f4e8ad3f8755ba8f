/** A process that may not run on a log, though the desk lives there: it is told at its start, and later while it runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enterHouse, watchHouse } from '../../src/bidding/house.ts';
import type { Control, House } from '../../src/bidding/ports.ts';
import { Fault } from '../../src/errors.ts';
import { createManualClock } from './manual-clock.ts';

const fault = new Fault('configuration-invalid', 'another way of keeping the views');

function visitorOf(house: Pick<House, 'read' | 'refusal'>) {
  const shown: string[] = [];
  const control: Partial<Control> = {
    read: async () => ({ revision: 1, pause: null, caps: {}, snoozes: [], ruleOrders: [], changes: [] }),
    acknowledge: async (instance) => void shown.push(instance),
  };
  return { shown, visitor: { house, control: control as Control, clock: createManualClock(0), instance: 'one' } };
}

test('it shows itself first and is refused then', async () => {
  const { shown, visitor } = visitorOf({ read: async () => null, refusal: async () => fault });
  await assert.rejects(enterHouse(visitor), fault);
  assert.deepEqual(shown, ['one']);
  await enterHouse(visitorOf({ read: async () => null, refusal: async () => null }).visitor);
  await enterHouse(visitorOf({ read: async () => null }).visitor);
});

test('a desk that was moved says so, whatever else there is against it', async () => {
  const mark = { kind: 'moved', file: 'desk.gz', at: 1 } as const;
  const { visitor } = visitorOf({ read: async () => mark, refusal: async () => fault });
  await assert.rejects(enterHouse(visitor), { code: 'desk-moved' });
});

test('one that runs is told when others have taken the log over', async () => {
  let refusal: Fault | null = null;
  const { visitor } = visitorOf({ read: async () => null, refusal: async () => refusal });
  await enterHouse(visitor);
  const told: Fault[] = [];
  const watch = watchHouse({ ...visitor, shows: false, onMoved: (heard) => told.push(heard) });
  const { clock } = visitor;
  await clock.advance(5_000);
  assert.deepEqual(told, []);
  refusal = fault;
  await clock.advance(5_000);
  assert.deepEqual(told, [fault]);
  watch.stop();
});
