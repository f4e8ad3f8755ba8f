/** Run by `npm test` around all test files: one stack for all of them. What they need to know goes by environment. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningStack, startStack } from './stack.ts';
import { announce } from './suite.ts';

let running: RunningStack | null = null;
let compiled: string | null = null;

export async function globalSetup(): Promise<void> {
  // Half of the start of a process is compiling the program. The tests start about a thousand of them.
  if (process.env.NODE_COMPILE_CACHE === undefined) {
    compiled = mkdtempSync(join(tmpdir(), 'lance-compiled-'));
    process.env.NODE_COMPILE_CACHE = compiled;
  }
  const stack = await startStack({ tell: (text) => process.stderr.write(`${text}\n`) });
  if (stack.kind === 'running') running = stack;
  announce(stack);
}

export async function globalTeardown(): Promise<void> {
  await running?.stop();
  if (compiled !== null) rmSync(compiled, { recursive: true, force: true });
}
