/** A test file that stack.test.ts runs where there is no stack. */
import { test } from 'node:test';
import { describeOnStack } from './suite.ts';

await describeOnStack('needs the stack', () => {
  test('is never reached', () => {
    throw new Error('a suite ran without its stack');
  });
});
