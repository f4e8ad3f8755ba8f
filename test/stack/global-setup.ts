/** Run by `npm test` around all test files: one stack for all of them. What they need to know goes by environment. */
import { type RunningStack, startStack } from './stack.ts';
import { announce } from './suite.ts';

let running: RunningStack | null = null;

export async function globalSetup(): Promise<void> {
  const stack = await startStack({ tell: (text) => process.stderr.write(`${text}\n`) });
  if (stack.kind === 'running') running = stack;
  announce(stack);
}

export async function globalTeardown(): Promise<void> {
  await running?.stop();
}
