/** Two processes on a real broker that fold all flows into files of their own, one of them killed again and again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOnStack } from '../stack/suite.ts';
import { runFlows } from './flows-run.ts';

await describeOnStack('flows of two processes with views in files', (stack) => {
  test('each carries on those of its partitions, and those of the other one that was killed: every flow ends right', {
    timeout: 270_000,
  }, async () => {
    const run = await runFlows({
      ...{ count: 4, kills: 1, seed: '5', faults: false, processes: 2 },
      place: stack,
      onStage: () => undefined,
    });
    assert.deepEqual(run.wrong, []);
    assert.deepEqual([run.endorsed, run.finalised, run.executedTwice], [4, 4, 0]);
    assert.ok(run.kills > 0, 'a process was killed');
  });
});
