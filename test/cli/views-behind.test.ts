/** What `doctor` says of views whose stored position is not at the end of the log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkViews } from '../../src/cli/doctor.ts';

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
