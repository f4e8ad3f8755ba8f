/** What `doctor` says of views whose stored position is not at the end of the log, and of a server that may lose the cap book. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEviction, checkViews } from '../../src/cli/doctor.ts';
import type { DeskReader } from '../../src/cli/world.ts';

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

test('a policy by which Redis may take away any key is told', async () => {
  const look = async (policy: string | null) => {
    const reader = { views: { evicting: async () => policy } } as unknown as DeskReader;
    return (await checkEviction(reader)).map(({ level, finding, figures }) => [level, finding, figures]);
  };
  assert.deepEqual(await look(null), []);
  assert.deepEqual(await look('allkeys-lru'), [['fail', 'views-evictable', { text: 'allkeys-lru' }]]);
  assert.deepEqual(await checkEviction({ views: {} } as unknown as DeskReader), []);
});
