/** What reads the log is begun again until it holds, and left alone once the desk stops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRestarts } from '../../src/bidding/restarts.ts';
import { Fault } from '../../src/errors.ts';
import { createManualClock } from './manual-clock.ts';

const retryMs = 100;

function createReading() {
  const clock = createManualClock(0);
  const told: string[] = [];
  const world = { stopping: false, failures: [] as Fault[], early: null as Fault | null };
  const restarts = createRestarts({
    begin: async () => {
      told.push('begin');
      if (world.early !== null) restarts.onFault(world.early);
      world.early = null;
      const failure = world.failures.shift();
      if (failure !== undefined) throw failure;
    },
    end: async () => void told.push('end'),
    ...{ clock, retryMs, stopping: () => world.stopping },
    observer: ({ code }) => told.push(code),
  });
  /** What was told in the meantime. */
  const after = async (durationMs: number): Promise<string[]> => {
    await clock.advance(durationMs);
    return told.splice(0);
  };
  return { restarts, world, after };
}

const behind = () => new Fault('views-behind', 'views');
const refused = () => new Fault('log-unavailable', 'log');

test('after a fault it is ended and begun again after a rest, as often as it takes, and told once', async () => {
  const { restarts, world, after } = createReading();
  await restarts.start();
  assert.equal(restarts.hasBegun(), true);
  assert.deepEqual(await after(0), ['begin']);
  world.failures = [refused(), refused()];
  restarts.onFault(behind());
  assert.equal(restarts.hasBegun(), false);
  assert.deepEqual(await after(retryMs - 1), ['views-behind', 'end']);
  assert.deepEqual(await after(1), ['begin', 'end']);
  assert.deepEqual(await after(retryMs), ['begin', 'end']);
  assert.equal(restarts.hasBegun(), false);
  assert.deepEqual(await after(retryMs), ['begin']);
  assert.equal(restarts.hasBegun(), true);
  assert.deepEqual(await after(10 * retryMs), []);
});

test('a fault while it begins is dealt with afterwards, at the start as later', async () => {
  const { restarts, world, after } = createReading();
  world.early = behind();
  await restarts.start();
  assert.equal(restarts.hasBegun(), false);
  assert.deepEqual(await after(0), ['begin', 'views-behind', 'end']);
  world.early = refused();
  assert.deepEqual(await after(retryMs), ['begin', 'end']);
  assert.deepEqual(await after(retryMs), ['begin']);
  assert.equal(restarts.hasBegun(), true);
});

test('a desk that stops does not begin again', async () => {
  const { restarts, world, after } = createReading();
  await restarts.start();
  restarts.onFault(behind());
  world.stopping = true;
  assert.deepEqual(await after(retryMs), ['begin', 'views-behind', 'end']);
  restarts.onFault(behind());
  assert.deepEqual(await after(10 * retryMs), []);
});
