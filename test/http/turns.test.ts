/** Orders and steps that come at once under one key: one after the other, and other keys are not held up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from '../../src/http/api/turns.ts';
import type { FrontResult } from '../../src/origination/front.ts';

const known = { kind: 'known' } as unknown as FrontResult;

test('one key is worked on one at a time, another key at once', async () => {
  const turns = createTurns();
  const gate = Promise.withResolvers<FrontResult>();
  const worked: string[] = [];
  const work = (name: string, result: Promise<FrontResult> | FrontResult) => async () => {
    worked.push(name);
    return result;
  };
  const first = turns('a', work('first', gate.promise));
  const second = turns('a', work('second', known));
  await turns('b', work('other', known));
  assert.deepEqual(worked, ['first', 'other']);
  gate.resolve(known);
  await Promise.all([first, second]);
  assert.deepEqual(worked, ['first', 'other', 'second']);
});

test('what comes to nothing is not tried by all who wait, one after the other', async () => {
  const turns = createTurns();
  let tried = 0;
  const failing = async (): Promise<FrontResult> => {
    tried += 1;
    throw new Error('no log');
  };
  const settled = await Promise.allSettled(Array.from({ length: 5 }, () => turns('a', failing)));
  assert.deepEqual([tried, settled.filter(({ status }) => status === 'rejected').length], [1, 5]);
  const written = async (): Promise<FrontResult> => {
    tried += 1;
    return { kind: 'written', flowId: 'w-1' };
  };
  const answers = await Promise.all(Array.from({ length: 5 }, () => turns('a', written)));
  assert.deepEqual([tried, answers.every(({ kind }) => kind === 'written')], [2, true]);
  assert.equal((await turns('a', async () => known)).kind, 'known');
});
