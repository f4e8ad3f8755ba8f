/** Who counts as alive: an acknowledgement of a dead process may lie in the future, where a clock was ahead and was set right. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import type { Control } from '../../src/bidding/ports.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { changeControl } from '../../src/operating/controls.ts';
import { livesSince, living } from '../../src/operating/living.ts';
import { createManualClock } from '../bidding/manual-clock.ts';

const start = 1_000_000;

/** Waits take no time of their own. */
function quickClock(): Clock {
  let now = start;
  const after: Clock['after'] = (delayMs, run) => {
    const timer = setImmediate(() => {
      now += delayMs;
      run();
    });
    return { cancel: () => clearImmediate(timer) };
  };
  return {
    ...createManualClock(start),
    ...{ now: () => now, monotonicMs: () => now, after },
  };
}

type Sign = { instance: string; revision: number; at: number };
const tenMinutesMs = 600_000;
const dead = { instance: 'dead', revision: 1, at: start + tenMinutesMs };

function controlOf(signs: () => readonly Sign[]): Control {
  return { acknowledged: async () => signs() } as unknown as Control;
}

test('what a process that is gone acknowledged in the future is no sign of life, and no order waits for it long', async () => {
  const clock = quickClock();
  const own = () => ({ instance: 'own', revision: 2, at: clock.now() });
  const outcome = await changeControl({ clock, control: controlOf(() => [dead, own()]) }, async () => 2);
  assert.deepEqual(outcome, { revision: 2, obeyedBy: ['own'], late: [] });
  assert.ok(clock.now() - start < 4_000, `${clock.now() - start} ms`);
  const found = await living(
    controlOf(() => [dead, own()]),
    clock,
  );
  assert.deepEqual(
    found.map(({ instance }) => instance),
    ['own'],
  );
  assert.equal(
    await livesSince(
      controlOf(() => [dead]),
      clock,
      start,
    ),
    false,
  );
});

test('a process whose clock is ahead lives once it is seen to move, and its obedience is waited for', async () => {
  const clock = quickClock();
  const obeysAt = start + 3_000;
  const ahead = (): Sign => {
    const second = Math.floor((clock.now() - start) / 1_000);
    const revision = clock.now() >= obeysAt ? 2 : 1;
    return { instance: 'ahead', revision, at: start + tenMinutesMs + second * 1_000 };
  };
  const control = controlOf(() => [ahead()]);
  assert.deepEqual(await changeControl({ clock, control }, async () => 2), {
    ...{ revision: 2, obeyedBy: ['ahead'], late: [] },
  });
  assert.ok(clock.now() >= obeysAt);
  assert.equal((await living(control, clock)).length, 1);
  assert.equal(await livesSince(control, clock, start), true);
});

test('who lives now needs no second look where every acknowledgement is of now or of before', async () => {
  const clock = quickClock();
  const signs = [
    { instance: 'a', revision: 1, at: start - 1_000 },
    { instance: 'b', revision: 1, at: start + 4_000 },
    { instance: 'c', revision: 1, at: start - 6_000 },
  ];
  const found = await living(
    controlOf(() => signs),
    clock,
  );
  assert.deepEqual(
    found.map(({ instance }) => instance),
    ['a', 'b'],
  );
  assert.equal(clock.now(), start);
});

test('whoever holds a data directory is alone there: those that acknowledged before it are gone', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-living-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const first = await openEmbeddedStore({ directory, onFault: assert.fail });
  await first.control.acknowledge('dead', 1, Date.now() + tenMinutesMs);
  assert.equal((await first.control.acknowledged()).length, 1);
  await first.close();
  const second = await openEmbeddedStore({ directory, onFault: assert.fail });
  await second.control.acknowledge('own', 1, Date.now());
  assert.deepEqual(
    (await second.control.acknowledged()).map(({ instance }) => instance),
    ['own'],
  );
  await second.close();
});
