/** What `doctor` says of views whose stored position is not at the end of the log, and of those that lost something. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLosses, checkViews } from '../../src/cli/doctor.ts';
import type { CommandWorld, DeskReader } from '../../src/cli/world.ts';

test('views that a running desk is about to store are not called behind, nor those of a stopped desk', async () => {
  let stored = 90;
  const log = { ends: async () => new Map([[0, 100]]) };
  const views = { applied: async () => stored };
  const look = async (isRunning: boolean) => {
    const { level, finding, figures } = await checkViews({ log, views }, isRunning);
    return [level, finding, figures?.count];
  };
  assert.deepEqual(await look(false), ['ok', 'views-stopped', 10]);
  const storing = setTimeout(() => (stored = 104), 500);
  assert.deepEqual(await look(true), ['ok', 'views-current', 100]);
  clearTimeout(storing);
  stored = 90;
  assert.deepEqual(await look(true), ['warn', 'views-behind', 10]);
});

test('a loss of the last day is told with its partition and key, and a policy by which there may be more', async () => {
  const now = 1_763_700_000_000;
  const world = { clock: { now: () => now }, format: { minute: String } } as unknown as CommandWorld;
  const look = async (evicting: string | null) => {
    const lost = [
      { partition: 3, at: now - 3_600_000, what: 'sums (0 of 2)' },
      { partition: 4, at: now - 90_000_000, what: 'rows (0 of 9)' },
    ];
    const reader = { views: { losses: async () => ({ lost, evicting }) } } as unknown as DeskReader;
    return (await checkLosses(world, reader)).map(({ level, finding, figures }) => [level, finding, figures]);
  };
  const told = ['warn', 'views-lost', { partition: 3, since: String(now - 3_600_000), text: 'sums (0 of 2)' }];
  assert.deepEqual(await look(null), [told]);
  assert.deepEqual(await look('allkeys-lru'), [told, ['fail', 'views-evictable', { text: 'allkeys-lru' }]]);
  assert.deepEqual(await checkLosses(world, { views: {} } as unknown as DeskReader), []);
});
