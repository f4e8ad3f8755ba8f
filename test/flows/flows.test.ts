/** The daemon killed at each of its durable steps, with answers lost besides: every flow goes on, nothing is executed twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowSteps } from '../../src/origination/desk.ts';
import { runFlows } from './flows-run.ts';

test('killed after an intent, before and after an answer: every flow ends right, no operation is executed twice', async () => {
  const run = await runFlows({
    count: 3,
    kills: 0,
    crashAt: flowSteps.map((step) => `${step}:3`),
    seed: '3',
    faults: false,
    place: null,
    onStage: () => undefined,
  });
  assert.deepEqual(run.wrong, []);
  assert.equal(run.kills, flowSteps.length);
  assert.deepEqual([run.endorsed, run.finalised, run.executedTwice], [3, 3, 0]);
  assert.ok(run.resolvedByPerson > 0, 'an operation without a key that was cut off is settled by a person');
});
