/** How far a partition is that is being folded, as people are told while they wait for the desk. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIntake } from '../../src/bidding/intake.ts';
import type { ConsumeOptions, EventLog, Views } from '../../src/bidding/ports.ts';
import { manualClock } from '../sandbox/clocks.ts';
import { settings } from './parts.ts';

test('the share of what is folded grows over the partitions that are being caught up', async () => {
  const consumed: ConsumeOptions<'auctions'>[] = [];
  const log = {
    ends: async () =>
      new Map([
        [0, 300],
        [1, 100],
      ]),
    consume: async (options: ConsumeOptions<'auctions'>) => {
      if (options.topic === 'auctions') {
        consumed.push(options);
        for (const partition of [0, 1]) await options.from(partition);
      }
      return { owns: () => true, stop: async () => undefined };
    },
  } as unknown as EventLog;
  const views = { applied: async () => 0, areWhole: async () => false } as unknown as Views;
  const none = async () => undefined;
  const intake = createIntake({
    ...{ log, views, settings, clock: manualClock(0), observer: () => undefined, stopping: () => false },
    ledger: { fold: async () => [] } as never,
    ...{ onFolds: none, onLive: none, onLost: () => undefined, onRestart: () => undefined },
    callbacks: { hear: none, handle: none, lose: () => undefined },
  });
  await intake.start();
  assert.deepEqual([intake.catchingUp(), intake.foldedShare()], [[0, 1], 0]);
  const fold = (partition: number, first: number, next: number) =>
    consumed[0]!.handler({ partition, first, next, entries: [] });
  await fold(0, 0, 150);
  await fold(1, 0, 50);
  assert.deepEqual([intake.catchingUp(), intake.foldedShare()], [[0, 1], 0.5]);
  await fold(1, 50, 100);
  assert.deepEqual([intake.catchingUp(), intake.foldedShare()], [[0], 0.5]);
  await fold(0, 150, 300);
  assert.deepEqual([intake.catchingUp(), intake.foldedShare()], [[], 1]);
  await intake.stop();
});
