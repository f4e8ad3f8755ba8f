import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCurves } from '../../src/bidding/curves.ts';
import type { Histogram } from '../../src/domain/histogram.ts';
import { configOf, shippedPolicy } from './house.ts';
import { createManualClock } from './manual-clock.ts';
import { at, settings } from './parts.ts';

const keys = ['all', 'all|sector'];

function setUp(learning = true) {
  const clock = createManualClock(at);
  let reads = 0;
  let whenRead = (): void => undefined;
  const views = {
    statistics: async () => {
      reads += 1;
      whenRead();
      return new Map<string, Histogram>();
    },
  };
  const curves = createCurves({ views, clock, settings, learning, observer: () => undefined });
  const policy = shippedPolicy(
    configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' }),
  );
  return {
    clock,
    curves,
    policy,
    reads: () => reads,
    read: async () => (await curves.read([keys], policy))[0]!,
    onRead: (hear: () => void) => {
      whenRead = hear;
    },
  };
}

test('a curve that has learnt is made again a quarter of a second after it was made, not at each result', async () => {
  const { clock, curves, read, reads } = setUp();
  await read();
  for (let index = 0; index < 10; index += 1) {
    curves.learnt(['all']);
    await clock.advance(20);
    await read();
  }
  assert.equal(reads(), 1, 'within 200 ms the curve stays, however much it learns');
  await clock.advance(50);
  await read();
  assert.equal(reads(), 2);
  await clock.advance(1_900);
  await read();
  assert.equal(reads(), 2, 'what learnt nothing stays');
  await clock.advance(100);
  await read();
  assert.equal(reads(), 3, 'for others may have learnt, it is made again after two seconds');
});

test('a curve of other statistics stays', async () => {
  const { clock, curves, read, reads } = setUp();
  await read();
  curves.learnt(['all|other']);
  await clock.advance(1_000);
  await read();
  assert.equal(reads(), 1);
});

test('a result that comes while the statistics are read is in the curve a quarter of a second later', async () => {
  const { clock, curves, read, reads, onRead } = setUp();
  onRead(() => curves.learnt(['all']));
  await read();
  onRead(() => undefined);
  await clock.advance(250);
  await read();
  assert.equal(reads(), 2);
});

test('other settings make every curve anew at once', async () => {
  const { curves, policy, read, reads } = setUp();
  await read();
  await curves.read([keys], { ...policy, settingsHash: 'other' });
  assert.equal(reads(), 2);
});
